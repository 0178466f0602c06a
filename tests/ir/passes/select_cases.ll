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

; A switch that only chooses values becomes selects.
define void @chosen(i8 %byte, ptr %to) {
start:
  switch i8 %byte, label %joined [
    i8 123, label %opens
    i8 91, label %opens
    i8 125, label %closes
    i8 93, label %closes
  ]

opens:
  br label %joined

closes:
  br label %joined

joined:
  %step = phi i32 [ 0, %start ], [ 1, %opens ], [ -1, %closes ]
  %is = phi i1 [ false, %start ], [ true, %opens ], [ true, %closes ]
  store i32 %step, ptr %to, align 4
  store i1 %is, ptr %to, align 1
  ret void
}
; CHECK-LABEL: define void @chosen(i8 %byte, ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = icmp eq i8 %byte, 123
; CHECK-NEXT:   %1 = icmp eq i8 %byte, 91
; CHECK-NEXT:   %2 = icmp eq i8 %byte, 125
; CHECK-NEXT:   %3 = icmp eq i8 %byte, 93
; CHECK-NEXT:   %4 = or i1 %0, %1
; CHECK-NEXT:   %5 = select i1 %4, i32 1, i32 0
; CHECK-NEXT:   %6 = or i1 %2, %3
; CHECK-NEXT:   %7 = select i1 %6, i32 -1, i32 %5
; CHECK-NEXT:   %8 = or i1 %0, %1
; CHECK-NEXT:   %9 = or i1 %8, %2
; CHECK-NEXT:   %10 = or i1 %9, %3
; CHECK-NEXT:   %11 = select i1 %10, i1 true, i1 false
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %step = phi i32 [ %7, %start ]
; CHECK-NEXT:   %is = phi i1 [ %11, %start ]
; CHECK-NEXT:   store i32 %step, ptr %to, align 4
; CHECK-NEXT:   store i1 %is, ptr %to, align 1
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The default is unreachable, and the join consists of a branch.
define i32 @exhaustive(i32 %tag, i32 %x) {
start:
  switch i32 %tag, label %never [
    i32 0, label %first
    i32 1, label %second
    i32 2, label %joined
  ]

never:
  unreachable

first:
  br label %joined

second:
  br label %joined

joined:
  %value = phi i32 [ %x, %first ], [ 5, %second ], [ %tag, %start ]
  br label %end

end:
  ret i32 %value
}
; CHECK-LABEL: define i32 @exhaustive(i32 %tag, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = icmp eq i32 %tag, 1
; CHECK-NEXT:   %1 = icmp eq i32 %tag, 2
; CHECK-NEXT:   %2 = select i1 %0, i32 5, i32 %x
; CHECK-NEXT:   %3 = select i1 %1, i32 %tag, i32 %2
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %value = phi i32 [ %3, %start ]
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i32 %value
; CHECK-NEXT: }

; A target computes its value, there are too many cases, and a target that other blocks reach.
define i32 @computed(i32 %tag, i32 %x, i1 %other) {
start:
  switch i32 %tag, label %joined [
    i32 0, label %first
    i32 1, label %second
  ]

first:
  %twice = mul i32 %x, %x
  br label %joined

second:
  br label %joined

joined:
  %value = phi i32 [ %twice, %first ], [ 5, %second ], [ 7, %start ]
  switch i32 %value, label %last [
    i32 1, label %one
    i32 2, label %two
    i32 3, label %one
    i32 4, label %two
    i32 5, label %one
    i32 6, label %two
    i32 7, label %one
  ]

one:
  br label %last

two:
  br label %last

last:
  %many = phi i32 [ 0, %joined ], [ 1, %one ], [ 2, %two ]
  br i1 %other, label %choose, label %shared

choose:
  switch i32 %many, label %done [
    i32 8, label %shared
    i32 9, label %done
  ]

shared:
  br label %done

done:
  %result = phi i32 [ 3, %choose ], [ 3, %choose ], [ 4, %shared ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @computed(i32 %tag, i32 %x, i1 %other) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %tag, label %joined [
; CHECK-NEXT:     i32 0, label %first
; CHECK-NEXT:     i32 1, label %second
; CHECK-NEXT:   ]
; CHECK-NEXT: first:
; CHECK-NEXT:   %twice = mul i32 %x, %x
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: second:
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %value = phi i32 [ %twice, %first ], [ 5, %second ], [ 7, %start ]
; CHECK-NEXT:   switch i32 %value, label %last [
; CHECK-NEXT:     i32 1, label %one
; CHECK-NEXT:     i32 2, label %two
; CHECK-NEXT:     i32 3, label %one
; CHECK-NEXT:     i32 4, label %two
; CHECK-NEXT:     i32 5, label %one
; CHECK-NEXT:     i32 6, label %two
; CHECK-NEXT:     i32 7, label %one
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   br label %last
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %last
; CHECK-NEXT: last:
; CHECK-NEXT:   %many = phi i32 [ 0, %joined ], [ 1, %one ], [ 2, %two ]
; CHECK-NEXT:   br i1 %other, label %choose, label %shared
; CHECK-NEXT: choose:
; CHECK-NEXT:   %0 = icmp eq i32 %many, 8
; CHECK-NEXT:   %1 = select i1 %0, i32 4, i32 3
; CHECK-NEXT:   br label %done
; CHECK-NEXT: shared:
; CHECK-NEXT:   br label %done
; CHECK-NEXT: done:
; CHECK-NEXT:   %result = phi i32 [ 4, %shared ], [ %1, %choose ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }
