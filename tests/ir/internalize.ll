; Only kernels and used statics stay visible.
; RUN: opt --passes=internalize

; CHECK: @data = internal addrspace(1) global
@data = addrspace(1) global i32 7, align 4
; CHECK: @kept = addrspace(1) global
@kept = addrspace(1) global i32 7, align 4
; CHECK: @dynamic = external addrspace(3) global
@dynamic = external addrspace(3) global [0 x i8], align 16
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @kept to ptr)], section "llvm.metadata"

; CHECK: define internal void @helper
define void @helper() {
start:
  ret void
}

; CHECK: declare void @external
declare void @external()

; CHECK: define void @kernel
define void @kernel() {
start:
  call void @helper()
  call void @external()
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
