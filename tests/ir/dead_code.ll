; What no kernel and no used static reaches is dropped, declarations and statics too.
; RUN: opt --passes=dead_functions,dead_globals

; CHECK-NOT: @unused_static
; CHECK: @table = internal addrspace(1)
@table = internal addrspace(1) constant [1 x ptr] [ptr @in_table], align 8
@unused_static = addrspace(1) constant [1 x ptr] [ptr @in_unused_table], align 8
; CHECK: @kept = addrspace(1)
@kept = addrspace(1) global i32 0, align 4
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @kept to ptr)], section "llvm.metadata"

; CHECK-NOT: in_unused_table
; CHECK-NOT: recursive
; CHECK-NOT: declare
; CHECK: define i32 @in_table
define i32 @in_table(i32 %x) {
start:
  ret i32 %x
}

define i32 @in_unused_table(i32 %x) {
start:
  ret i32 %x
}

define void @recursive() {
start:
  call void @recursive()
  call void @external()
  ret void
}

declare void @external()

; CHECK: define void @kernel
define void @kernel(ptr %p) {
start:
  %f = load ptr, ptr addrspacecast (ptr addrspace(1) @table to ptr), align 8
  %r = call i32 %f(i32 1)
  store i32 %r, ptr %p, align 4
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
