; Atomic operations become PTX of the same ordering and scope. A compare-exchange has one ordering,
; that of success and failure together. Operations of 8 and 16 bits become loops, whose ordering is
; that of fences.
; RUN: opt --passes=legalize --sm=90

define void @f(ptr addrspace(1) %p, i32 %x, i16 %y) {
start:
; CHECK-NOT: fence
; CHECK: atom.acq_rel.gpu.global.cas.b32
  %a = cmpxchg ptr addrspace(1) %p, i32 %x, i32 1 syncscope("device") release acquire
; CHECK: atom.release.cta.global.cas.b32
  %b = cmpxchg ptr addrspace(1) %p, i32 %x, i32 1 syncscope("block") release monotonic
; CHECK: atom.acquire.cluster.global.exch.b32
  %c = atomicrmw xchg ptr addrspace(1) %p, i32 %x syncscope("cluster") acquire
; CHECK: atom.relaxed.sys.global.add.u32
  %d = atomicrmw add ptr addrspace(1) %p, i32 %x monotonic
; CHECK: atom.relaxed.gpu.global.cas.b32
; CHECK: fence.acq_rel.gpu;
  %e = atomicrmw add ptr addrspace(1) %p, i16 %y syncscope("device") acquire
; CHECK-NOT: atom
; CHECK: fence.acq_rel.cta;
; CHECK-NOT: fence
; CHECK: atom.relaxed.cta.global.cas.b32
  %g = atomicrmw add ptr addrspace(1) %p, i16 %y syncscope("block") release
; CHECK: atom.relaxed.sys.global.cas.b32
  %h = atomicrmw add ptr addrspace(1) %p, i16 %y monotonic
; CHECK: ret void
  ret void
}

; PTX has no atomics on local memory; no other thread accesses it, so plain accesses suffice.
define i32 @own(i32 %x) {
start:
  %p = alloca i32, align 4
  store atomic i32 %x, ptr %p seq_cst, align 4
  %a = load atomic i32, ptr %p acquire, align 4
  %b = atomicrmw umax ptr %p, i32 %a acq_rel
  %c = cmpxchg ptr %p, i32 %b, i32 7 seq_cst seq_cst
  %r = extractvalue { i32, i1 } %c, 0
  ret i32 %r
}
; CHECK-LABEL: define i32 @own(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %p = alloca i32, align 4
; CHECK-NEXT:   store i32 %x, ptr %p, align 4
; CHECK-NEXT:   %a = load i32, ptr %p, align 4
; CHECK-NEXT:   %b = load i32, ptr %p, align 4
; CHECK-NEXT:   %0 = icmp ugt i32 %b, %a
; CHECK-NEXT:   %1 = select i1 %0, i32 %b, i32 %a
; CHECK-NEXT:   store i32 %1, ptr %p, align 4
; CHECK-NEXT:   %2 = load i32, ptr %p, align 4
; CHECK-NEXT:   %3 = icmp eq i32 %2, %b
; CHECK-NEXT:   %4 = select i1 %3, i32 7, i32 %2
; CHECK-NEXT:   store i32 %4, ptr %p, align 4
; CHECK-NEXT:   %5 = icmp eq i32 %2, %b
; CHECK-NEXT:   %6 = insertvalue { i32, i1 } undef, i32 %2, 0
; CHECK-NEXT:   %c = insertvalue { i32, i1 } %6, i1 %5, 1
; CHECK-NEXT:   %r = extractvalue { i32, i1 } %c, 0
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

; A generic pointer may point to local memory.
define i32 @anywhere(ptr %p, i32 %x) {
start:
  %r = atomicrmw xor ptr %p, i32 %x syncscope("device") monotonic
  ret i32 %r
}
; CHECK-LABEL: define i32 @anywhere(ptr %p, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i1 @llvm.nvvm.isspacep.local(ptr %p)
; CHECK-NEXT:   br i1 %0, label %own, label %shared
; CHECK-NEXT: own:
; CHECK-NEXT:   %1 = load i32, ptr %p, align 4
; CHECK-NEXT:   %2 = xor i32 %1, %x
; CHECK-NEXT:   store i32 %2, ptr %p, align 4
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: shared:
; CHECK-NEXT:   %3 = call i32 asm sideeffect "atom.relaxed.gpu.xor.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p, i32 %x)
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %r = phi i32 [ %1, %own ], [ %3, %shared ]
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

; The address space is found behind casts and offsets.
@counter = addrspace(1) global [2 x i32] zeroinitializer, align 4
define i32 @known(i32 %x) {
start:
  %p = getelementptr i32, ptr addrspacecast (ptr addrspace(1) @counter to ptr), i64 1
  %r = atomicrmw add ptr %p, i32 %x syncscope("device") monotonic
  ret i32 %r
}
; CHECK-LABEL: define i32 @known(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %p = getelementptr i32, ptr addrspacecast (ptr addrspace(1) @counter to ptr), i64 1
; CHECK-NEXT:   %0 = addrspacecast ptr %p to ptr addrspace(1)
; CHECK-NEXT:   %r = call i32 asm sideeffect "atom.relaxed.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %0, i32 %x)
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

; 128 bits are moved in two registers.
define i128 @wide(ptr addrspace(1) %p, i128 %x) {
start:
  store atomic i128 %x, ptr addrspace(1) %p monotonic, align 16
  %1 = load atomic i128, ptr addrspace(1) %p acquire, align 16
  %2 = atomicrmw xchg ptr addrspace(1) %p, i128 %1 acq_rel
  ret i128 %2
}
; CHECK-LABEL: define i128 @wide(ptr addrspace(1) %p, i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = lshr i128 %x, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   call void asm sideeffect "{ .reg .b128 t; mov.b128 t, {$1, $2}; st.relaxed.sys.global.b128 [$0], t; }", "l,l,l,~{memory}"(ptr addrspace(1) %p, i64 %0, i64 %2)
; CHECK-NEXT:   %3 = call { i64, i64 } asm sideeffect "{ .reg .b128 t; ld.acquire.sys.global.b128 t, [$2]; mov.b128 {$0, $1}, t; }", "=l,=l,l,~{memory}"(ptr addrspace(1) %p)
; CHECK-NEXT:   %4 = extractvalue { i64, i64 } %3, 0
; CHECK-NEXT:   %5 = extractvalue { i64, i64 } %3, 1
; CHECK-NEXT:   %6 = zext i64 %4 to i128
; CHECK-NEXT:   %7 = zext i64 %5 to i128
; CHECK-NEXT:   %8 = shl i128 %7, 64
; CHECK-NEXT:   %9 = or i128 %8, %6
; CHECK-NEXT:   %10 = trunc i128 %9 to i64
; CHECK-NEXT:   %11 = lshr i128 %9, 64
; CHECK-NEXT:   %12 = trunc i128 %11 to i64
; CHECK-NEXT:   %13 = call { i64, i64 } asm sideeffect "{ .reg .b128 o, n; mov.b128 n, {$3, $4}; atom.acq_rel.sys.global.exch.b128 o, [$2], n; mov.b128 {$0, $1}, o; }", "=l,=l,l,l,l,~{memory}"(ptr addrspace(1) %p, i64 %10, i64 %12)
; CHECK-NEXT:   %14 = extractvalue { i64, i64 } %13, 0
; CHECK-NEXT:   %15 = extractvalue { i64, i64 } %13, 1
; CHECK-NEXT:   %16 = zext i64 %14 to i128
; CHECK-NEXT:   %17 = zext i64 %15 to i128
; CHECK-NEXT:   %18 = shl i128 %17, 64
; CHECK-NEXT:   %19 = or i128 %18, %16
; CHECK-NEXT:   ret i128 %19
; CHECK-NEXT: }
