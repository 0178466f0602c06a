; RUN: opt --passes=convergence
; Functions and calls that can reach a convergent operation are `convergent`, and no others.

@table = addrspace(1) constant [1 x ptr] [ptr @pointee], align 8

; Attributes that nothing needs are removed, those of declarations stay.
declare void @llvm.nvvm.barrier0() convergent
declare void @vprintf(ptr, ptr)

define void @kernel(ptr %f, i32 %n) {
entry:
  call void @caller()
  call void @even(i32 %n)
  call void @plain() convergent
  call void %f()
  call void %f(i32 %n)
  call void %f(i64 3)
  call void %f(i16 3)
  call void @takes(ptr @argument)
  call void asm sideeffect "exit;", ""()
  ret void
}
; CHECK: define void @kernel(ptr %f, i32 %n) convergent
; CHECK: call void @caller() convergent
; CHECK: call void @even(i32 %n) convergent
; CHECK: call void @plain()
; CHECK-NOT: convergent
; Only `plain`, whose address is not taken, and `pointee` have the signature.
; CHECK: call void %f()
; CHECK: call void %f(i32 %n)
; CHECK-NOT: convergent
; CHECK: call void %f(i64 3) convergent
; Nothing in the module has this signature.
; CHECK: call void %f(i16 3) convergent
; CHECK: call void @takes(ptr @argument)
; CHECK-NOT: convergent
; CHECK: ret void

define internal void @caller() {
entry:
  call void @waits()
  ret void
}
; CHECK: define internal void @caller() convergent

define internal void @waits() {
entry:
  call void @llvm.nvvm.barrier0()
  ret void
}
; CHECK: define internal void @waits() convergent
; CHECK: call void @llvm.nvvm.barrier0() convergent

; Recursion through each other, with a vote in one of the two.
define internal void @even(i32 %n) {
entry:
  call void @odd(i32 %n)
  ret void
}
; CHECK: define internal void @even(i32 %n) convergent

define internal void @odd(i32 %n) {
entry:
  call void @even(i32 %n)
  %vote = call i32 asm sideeffect "vote.sync.ballot.b32 $0, 1, -1;", "=r"() convergent
  ret void
}
; CHECK: define internal void @odd(i32 %n) convergent
; CHECK: call void @even(i32 %n) convergent
; CHECK: "=r"() convergent

define internal void @plain() convergent {
entry:
  call void @vprintf(ptr null, ptr null)
  ret void
}
; CHECK: define internal void @plain()
; CHECK-NOT: convergent
; CHECK: ret void

define internal void @pointee(i32 %n) {
entry:
  call void @plain()
  ret void
}
; CHECK: define internal void @pointee(i32 %n)
; CHECK-NOT: convergent
; CHECK: ret void

define internal void @argument(i64 %n) {
entry:
  call void @waits()
  ret void
}
; CHECK: define internal void @argument(i64 %n) convergent

define internal void @takes(ptr %f) {
entry:
  ret void
}
; CHECK: define internal void @takes(ptr %f)
; CHECK-NOT: convergent
; CHECK: ret void

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
