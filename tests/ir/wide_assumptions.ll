; RUN: opt --passes=legalize --dialect=llvm7
; Assumptions about integers of more than 64 bits crash libnvvm's LLVM 7; others stay.

define void @wide(i128 %a, i128 %b) {
entry:
  %le = icmp ule i128 %a, %b
  call void @llvm.assume(i1 %le)
  %ne = icmp ne i128 %a, 0
  %both = and i1 %le, %ne
  call void @llvm.assume(i1 %both)
  ret void
}
; CHECK: define void @wide
; CHECK-NOT: call void @llvm.assume

define void @narrow(i64 %a, i64 %b) {
entry:
  %le = icmp ule i64 %a, %b
  call void @llvm.assume(i1 %le)
  ret void
}
; CHECK: define void @narrow
; CHECK: call void @llvm.assume

declare void @llvm.assume(i1)
