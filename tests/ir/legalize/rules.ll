; What the dialect lacks and no family replaces: assumptions that crash libnvvm are dropped, `freeze`
; and `poison` become the operand and `undef`.
; RUN: opt --passes=legalize --dialect=llvm7
; RUN: opt --passes=legalize --check-prefix=MODERN

; CHECK: @poisoned = addrspace(1) global [2 x i32] [i32 undef, i32 2], align 4
; MODERN: @poisoned = addrspace(1) global [2 x i32] [i32 poison, i32 2], align 4
@poisoned = addrspace(1) global [2 x i32] [i32 poison, i32 2], align 4

; Assumptions about integers of more than 64 bits crash libnvvm's LLVM 7, and so do those about values
; that may turn out to be such integers: orderings, loads and calls. Others stay.
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

; LLVM 7 has neither `freeze` nor `poison`.
define i32 @freezes(i32 %x) {
entry:
  %frozen = freeze i32 %x
  %r = add i32 %frozen, poison
  ret i32 %r
}
; CHECK-LABEL: define i32 @freezes(i32 %x) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %r = add i32 %x, undef
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
; MODERN-LABEL: define i32 @freezes(i32 %x) {
; MODERN-NEXT: entry:
; MODERN-NEXT:   %frozen = freeze i32 %x
; MODERN-NEXT:   %r = add i32 %frozen, poison
; MODERN-NEXT:   ret i32 %r
; MODERN-NEXT: }

define [2 x i32] @poisoned_fields() {
entry:
  ret [2 x i32] [i32 1, i32 poison]
}
; CHECK-LABEL: define [2 x i32] @poisoned_fields() {
; CHECK-NEXT: entry:
; CHECK-NEXT:   ret [2 x i32] [i32 1, i32 undef]
; CHECK-NEXT: }
; MODERN-LABEL: define [2 x i32] @poisoned_fields() {
; MODERN-NEXT: entry:
; MODERN-NEXT:   ret [2 x i32] [i32 1, i32 poison]
; MODERN-NEXT: }

; LLVM's passes have answered, or did not run.
define i1 @is_constant(i32 %a) {
start:
  %known = call i1 @llvm.is.constant.i32(i32 %a)
  ret i1 %known
}
; CHECK-LABEL: define i1 @is_constant(i32 %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   ret i1 false
; CHECK-NEXT: }
