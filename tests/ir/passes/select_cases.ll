; Cases that skip the computation of the default become selects.
; RUN: opt --passes=select_cases

define i32 @number(ptr %text, i64 %len) {
; CHECK-LABEL: define i32 @number(ptr %text, i64 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %next
; CHECK-NEXT: next:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %following, %joined ]
; CHECK-NEXT:   %value = phi i32 [ 0, %start ], [ %joint, %joined ]
; CHECK-NEXT:   %negative = phi i1 [ false, %start ], [ %sign, %joined ]
; CHECK-NEXT:   %at = getelementptr i8, ptr %text, i64 %i
; CHECK-NEXT:   %byte = load i8, ptr %at, align 1
; CHECK-NEXT:   %following = add i64 %i, 1
; CHECK-NEXT:   switch i8 %byte, label %digit [
; CHECK-NEXT:     i8 44, label %end
; CHECK-NEXT:   ]
; CHECK-NEXT: digit:
; CHECK-NEXT:   %wide = zext i8 %byte to i32
; CHECK-NEXT:   %tens = mul i32 %value, 10
; CHECK-NEXT:   %sum = add i32 %tens, %wide
; CHECK-NEXT:   %0 = icmp eq i8 %byte, 45
; CHECK-NEXT:   %1 = icmp eq i8 %byte, 43
; CHECK-NEXT:   %2 = or i1 %0, %1
; CHECK-NEXT:   %3 = select i1 %2, i32 %value, i32 %sum
; CHECK-NEXT:   %4 = select i1 %2, i1 true, i1 %negative
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %joint = phi i32 [ %3, %digit ]
; CHECK-NEXT:   %sign = phi i1 [ %4, %digit ]
; CHECK-NEXT:   %same = phi i64 [ %len, %digit ]
; CHECK-NEXT:   %more = icmp ne i64 %following, %same
; CHECK-NEXT:   br i1 %more, label %next, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i32 [ %value, %next ], [ %joint, %joined ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }
start:
  br label %next

next:
  %i = phi i64 [ 0, %start ], [ %following, %joined ]
  %value = phi i32 [ 0, %start ], [ %joint, %joined ]
  %negative = phi i1 [ false, %start ], [ %sign, %joined ]
  %at = getelementptr i8, ptr %text, i64 %i
  %byte = load i8, ptr %at, align 1
  %following = add i64 %i, 1
  switch i8 %byte, label %digit [
    i8 44, label %end
    i8 45, label %joined
    i8 43, label %joined
  ]

digit:
  %wide = zext i8 %byte to i32
  %tens = mul i32 %value, 10
  %sum = add i32 %tens, %wide
  br label %joined

joined:
  %joint = phi i32 [ %sum, %digit ], [ %value, %next ], [ %value, %next ]
  %sign = phi i1 [ %negative, %digit ], [ true, %next ], [ true, %next ]
  %same = phi i64 [ %len, %digit ], [ %len, %next ], [ %len, %next ]
  %more = icmp ne i64 %following, %same
  br i1 %more, label %next, label %end

end:
  %result = phi i32 [ %value, %next ], [ %joint, %joined ]
  ret i32 %result
}

; The default stores, divides, or is reached by another case, and a switch with one other arm.
define void @kept(i32 %x, ptr %p) {
; CHECK-LABEL: define void @kept(i32 %x, ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %x, label %default [
; CHECK-NEXT:     i32 1, label %first
; CHECK-NEXT:     i32 2, label %joined
; CHECK-NEXT:   ]
; CHECK-NEXT: default:
; CHECK-NEXT:   store i32 %x, ptr %p, align 4
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   switch i32 %x, label %divides [
; CHECK-NEXT:     i32 1, label %first
; CHECK-NEXT:     i32 2, label %divided
; CHECK-NEXT:   ]
; CHECK-NEXT: divides:
; CHECK-NEXT:   %quotient = udiv i32 7, %x
; CHECK-NEXT:   br label %divided
; CHECK-NEXT: divided:
; CHECK-NEXT:   %number = phi i32 [ %quotient, %divides ], [ 0, %joined ]
; CHECK-NEXT:   switch i32 %x, label %shared [
; CHECK-NEXT:     i32 1, label %first
; CHECK-NEXT:     i32 2, label %both
; CHECK-NEXT:     i32 3, label %shared
; CHECK-NEXT:   ]
; CHECK-NEXT: shared:
; CHECK-NEXT:   %sum = add i32 %number, 1
; CHECK-NEXT:   br label %both
; CHECK-NEXT: both:
; CHECK-NEXT:   %last = phi i32 [ %sum, %shared ], [ %number, %divided ]
; CHECK-NEXT:   switch i32 %last, label %adds [
; CHECK-NEXT:     i32 2, label %end
; CHECK-NEXT:   ]
; CHECK-NEXT: adds:
; CHECK-NEXT:   %more = add i32 %last, 1
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %stored = phi i32 [ %more, %adds ], [ 1, %both ]
; CHECK-NEXT:   store i32 %stored, ptr %p, align 4
; CHECK-NEXT:   br label %first
; CHECK-NEXT: first:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  switch i32 %x, label %default [
    i32 1, label %first
    i32 2, label %joined
  ]

default:
  store i32 %x, ptr %p, align 4
  br label %joined

joined:
  switch i32 %x, label %divides [
    i32 1, label %first
    i32 2, label %divided
  ]

divides:
  %quotient = udiv i32 7, %x
  br label %divided

divided:
  %number = phi i32 [ %quotient, %divides ], [ 0, %joined ]
  switch i32 %x, label %shared [
    i32 1, label %first
    i32 2, label %both
    i32 3, label %shared
  ]

shared:
  %sum = add i32 %number, 1
  br label %both

both:
  %last = phi i32 [ %sum, %shared ], [ %number, %divided ]
  switch i32 %last, label %adds [
    i32 2, label %end
  ]

adds:
  %more = add i32 %last, 1
  br label %end

end:
  %stored = phi i32 [ %more, %adds ], [ 1, %both ]
  store i32 %stored, ptr %p, align 4
  br label %first

first:
  ret void
}
