; What LLVM 23 prints, and this crate does not: attribute groups, inferred attributes and flags, an entry
; without a label, constant expressions, bundles, special floats.
; RUN: print --dialect=modern

source_filename = "kernels"

@table = internal unnamed_addr addrspace(1) constant [4 x i8] c"a\\\00b", align 1
; CHECK: @numbers = addrspace(1) global [2 x float] [float 0x7FF0000000000000, float 0xFFF8000020000000], align 4
@numbers = local_unnamed_addr addrspace(1) global [2 x float] [float +inf, float -nan(0x1)], align 4

; CHECK: define internal i64 @f(ptr readonly nocapture %0, i64 %1) noinline {
; CHECK-NOT: #
define internal fastcc noundef range(i64 0, 10) i64 @f(ptr nofree noundef readonly captures(none) %0, i64 %1) unnamed_addr #0 {
; CHECK: icmp ult i64 %1, 5
  %3 = icmp samesign ult i64 %1, 5, !prof !1
  br i1 %3, label %4, label %7

; CHECK: add nuw nsw i64 %1, 8
; CHECK: getelementptr inbounds i32, ptr %0, i64 %
4:                                                ; preds = %2
  %5 = or disjoint i64 %1, 8
  %6 = getelementptr inbounds nuw i32, ptr %0, i64 %5
  call void @llvm.assume(i1 true) [ "align"(ptr %6, i64 4) ]
  tail call void @llvm.experimental.noalias.scope.decl(metadata !2)
  call void @llvm.lifetime.start.p0(ptr nonnull %6)
  br label %7

; CHECK: phi i64 [ 0, %
; CHECK-NOT: lifetime
; CHECK: fadd reassoc nsz arcp contract float
; CHECK: fadd float
7:
  %8 = phi i64 [ 0, %2 ], [ %5, %4 ]
  %9 = fadd reassoc nnan contract float f0x3F800000, 2.500000e-01
  %10 = fadd nnan ninf float %9, +qnan
  %11 = insertvalue { i32, { i32, i64 } } poison, i64 %8, 1, 1
  %12 = extractvalue { i32, { i32, i64 } } %11, 1, 1
  ret i64 %12
}

; CHECK: define void @g(
define ptx_kernel void @g(ptr %p, <2 x i32> %v) #1 {
start:
; CHECK: = trunc i64 ptrtoint (ptr addrspacecast (ptr addrspace(1) @table to ptr) to i64) to i7
; CHECK: = add i64 ptrtoint (ptr addrspacecast (ptr addrspace(1) @table to ptr) to i64), 1
; CHECK: = getelementptr i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 %
; CHECK: lshr exact i64 4, 1
  %len = lshr exact i64 sub (i64 ptrtoint (ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 4) to i64), i64 ptrtoint (ptr addrspacecast (ptr addrspace(1) @table to ptr) to i64)), 1
; CHECK: add <2 x i32> %v, <i32 7, i32 7>
  %w = add <2 x i32> %v, splat (i32 7)
; CHECK: shufflevector <2 x i32> %w, <2 x i32> poison, <2 x i32> <i32 0, i32 0>
  %s = shufflevector <2 x i32> %w, <2 x i32> poison, <2 x i32> zeroinitializer
; CHECK: call i64 @f(ptr %p, i64 %len)
  %r = tail call fastcc i64 @f(ptr noundef %p, i64 %len) #2
; CHECK: icmp ult i64 %r, 3
; CHECK: icmp ugt i64 %r, 3
; CHECK: sub i8
  %c = call i8 @llvm.ucmp.i8.i64(i64 %r, i64 3)
  store i8 %c, ptr %p, align 1
; CHECK: call void asm sideeffect "bar.sync 0;", ""() convergent
  tail call void asm sideeffect "bar.sync 0;", ""() #3
  %aligned = icmp eq i7 ptrtoint (ptr addrspacecast (ptr addrspace(1) @table to ptr) to i7), 0
  %far = icmp eq ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 add (i64 ptrtoint (ptr addrspacecast (ptr addrspace(1) @table to ptr) to i64), i64 1)), %p
  store i1 %aligned, ptr %p, align 1
  ret void
}

declare void @llvm.assume(i1 noundef) #4
declare i8 @llvm.ucmp.i8.i64(i64, i64) #4

attributes #0 = { mustprogress noinline nofree norecurse memory(argmem: read) "no-jump-tables"="true" }
attributes #1 = { convergent nounwind }
attributes #2 = { nounwind }
attributes #3 = { convergent nounwind }
attributes #4 = { nocallback nofree nosync nounwind willreturn memory(none) }

!1 = !{!"branch_weights", i32 1, i32 2000}
!2 = !{}
