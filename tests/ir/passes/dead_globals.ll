; Statics that are unreachable from kernels and used statics are removed.
; RUN: opt --passes=dead_globals

; CHECK-NOT: @unused
; CHECK: @direct = internal addrspace(1)
@direct = internal addrspace(1) constant ptr addrspacecast (ptr addrspace(1) @indirect to ptr), align 8
; CHECK-NOT: @unused
; CHECK: @indirect = internal addrspace(1)
@indirect = internal addrspace(1) global i32 0, align 4
@unused = internal addrspace(1) global i32 0, align 4
@unused_cycle = internal addrspace(1) global ptr addrspacecast (ptr addrspace(1) @unused_cycle to ptr), align 8
@unused_by_dead_code = internal addrspace(1) global i32 0, align 4
; CHECK-NOT: @unused
; CHECK: @kept = addrspace(1)
@kept = addrspace(1) global i32 0, align 4
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @kept to ptr)], section "llvm.metadata"

; CHECK-NOT: @unused
; CHECK: define void @kernel
define void @kernel(ptr %p) {
start:
  %x = load ptr, ptr addrspacecast (ptr addrspace(1) @direct to ptr), align 8
  store ptr %x, ptr %p, align 8
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
