; RUN: opt --passes=legalize --dialect=llvm7
; Assumptions about integers of more than 64 bits crash libnvvm's LLVM 7, and so do those about what may
; turn out to be such: orderings, and what is loaded or called for. Others stay.

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

define void @ordering(i8 %order, i8* %at) {
entry:
  %ge = icmp sge i8 %order, 0
  %less = icmp eq i1 %ge, false
  call void @llvm.assume(i1 %less)
  %loaded = load i8, i8* %at, align 1
  %yes = trunc i8 %loaded to i1
  call void @llvm.assume(i1 %yes)
  ret void
}
; CHECK: define void @ordering
; CHECK-NOT: call void @llvm.assume

define void @narrow(i64 %a, i64 %b, i8* %at) {
entry:
  %le = icmp ule i64 %a, %b
  call void @llvm.assume(i1 %le)
  %not = icmp eq i1 %le, false
  %null = icmp eq i8* %at, null
  %neither = and i1 %not, %null
  call void @llvm.assume(i1 %neither)
  ret void
}
; CHECK: define void @narrow
; CHECK: call void @llvm.assume
; CHECK: call void @llvm.assume

declare void @llvm.assume(i1)
