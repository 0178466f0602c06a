; LLVM's `or disjoint` of a loop's variable is an addition: libnvvm has no such flag, and would not
; see that the index grows by the same value in each iteration. The others stay.
;
; RUN: print --dialect=modern

define i64 @f(i64 %n, i64 %thread) {
start:
  %straight = or disjoint i64 %thread, 64
  br label %body
body:
  %row = phi i64 [ 0, %start ], [ %next, %body ]
  %sum = phi i64 [ %straight, %start ], [ %total, %body ]
  %begin = shl i64 %row, 6
  %index = or disjoint i64 %begin, %thread
  %common = or i64 %begin, %thread
  %factor = or disjoint i64 %begin, 1
  %term = add i64 %factor, 5
  %product = mul i64 %term, %n
  %first = add i64 %index, %common
  %second = add i64 %first, %product
  %total = add i64 %sum, %second
  %next = add i64 %row, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret i64 %total
}
; CHECK: define i64 @f(
; CHECK: %straight = or i64 %thread, 64
; CHECK: %index = add nuw nsw i64 %begin, %thread
; CHECK-NEXT: %common = or i64 %begin, %thread
; CHECK-NEXT: %factor = or i64 %begin, 1

; A constant part of an index is added, too.
define float @g(ptr %from, i64 %lane, i64 %row) {
start:
  %index = or disjoint i64 %lane, 32
  %element = getelementptr float, ptr %from, i64 %index
  %a = load float, ptr %element, align 4
  %variable = or disjoint i64 %lane, %row
  %other = getelementptr float, ptr %from, i64 %variable
  %b = load float, ptr %other, align 4
  %both = or disjoint i64 %lane, 64
  %third = getelementptr float, ptr %from, i64 %both
  %factor = mul i64 %both, 3
  store i64 %factor, ptr %third, align 8
  %sum = fadd float %a, %b
  ret float %sum
}
; CHECK: define float @g(
; CHECK:   %index = add nuw nsw i64 %lane, 32
; CHECK:   %variable = or i64 %lane, %row
; CHECK:   %both = or i64 %lane, 64
