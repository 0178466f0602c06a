; Functions that are unreachable from kernels and used statics are removed, declarations too.
; RUN: opt --passes=dead_functions
; RUN: opt --passes=dead_functions --check-prefix=SOFT

@table = internal addrspace(1) constant [1 x ptr] [ptr @in_table], align 8
@unused_table = addrspace(1) constant [1 x ptr] [ptr @in_unused_table], align 8
@kept_table = addrspace(1) constant [1 x ptr] [ptr @in_kept_table], align 8
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @kept_table to ptr)], section "llvm.metadata"

; CHECK-NOT: @in_unused_table(
; CHECK-NOT: @recursive
; CHECK-NOT: @external
; CHECK-NOT: @removed
; CHECK: declare void @called
declare void @called()
declare void @external()

; CHECK: define i32 @in_table
define i32 @in_table(i32 %x) {
start:
  ret i32 %x
}

define i32 @in_unused_table(i32 %x) {
start:
  ret i32 %x
}

; CHECK-NOT: @recursive
; CHECK-NOT: @external
; CHECK-NOT: @removed
; CHECK: define i32 @in_kept_table
define i32 @in_kept_table(i32 %x) {
start:
  ret i32 %x
}

define void @recursive() {
start:
  call void @recursive()
  call void @external()
  ret void
}

; CHECK-NOT: @recursive
; CHECK-NOT: @external
; CHECK-NOT: @removed
; CHECK: define void @kernel
define void @kernel(ptr %p) {
start:
  %f = load ptr, ptr addrspacecast (ptr addrspace(1) @table to ptr), align 8
  %r = call i32 %f(i32 1)
  store i32 %r, ptr %p, align 4
  call void @called()
  ret void
}

define void @removed() {
start:
  ret void
}

; A module with `fp128` keeps the functions that the legalizer calls for it.
; SOFT: define fp128 @__addtf3
define fp128 @__addtf3(fp128 %a, fp128 %b) {
start:
  ret fp128 %a
}
; CHECK-NOT: @removed

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
