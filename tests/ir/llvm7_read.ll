; The casts of the LLVM 7 dialect are no instructions.
; RUN: print --dialect=modern

@table = addrspace(1) constant [2 x i32] [i32 1, i32 2], align 4

; CHECK: define void @f(ptr %0, ptr align 4 byval({ i32, i32 }) %pair)
define void @f(i8*, { i32, i32 }* align 4 byval %.0) {
start:
  %pair = bitcast { i32, i32 }* %.0 to i8*
; CHECK: %1 = load i32, ptr %pair, align 4
  %.1 = bitcast i8* %pair to i32*
  %1 = load i32, i32* %.1, align 4
; CHECK: %2 = load i32, ptr addrspace(1) @table, align 4
  %2 = load i32, i32 addrspace(1)* bitcast ([2 x i32] addrspace(1)* @table to i32 addrspace(1)*), align 4
; CHECK: %3 = getelementptr [2 x i32], ptr %0, i64 0, i64 1
; CHECK: store i32 %1, ptr %3, align 4
  %.2 = bitcast i8* %0 to [2 x i32]*
  %.3 = getelementptr [2 x i32], [2 x i32]* %.2, i64 0, i64 1
  %3 = bitcast i32* %.3 to i8*
  %.4 = bitcast i8* %3 to i32*
  store i32 %1, i32* %.4, align 4
  ret void
}
