; Removes branches on the least length of a range around an element.
; RUN: opt --passes=compare_ends

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare void @llvm.assume(i1)

; `x.saturating_sub(1)..=(x + 1).min(255)` is neither empty nor of length 1.
define i64 @two_at_least(i32 %x) {
start:
  %is_inside = icmp ult i32 %x, 256
  call void @llvm.assume(i1 %is_inside)
  %wide = zext i32 %x to i64
  %low = call i64 @llvm.usub.sat.i64(i64 %wide, i64 1)
  %nearest = call i64 @llvm.umin.i64(i64 %wide, i64 254)
  %high = add nuw i64 %nearest, 2
  %is_empty = icmp eq i64 %low, %high
  br i1 %is_empty, label %empty, label %first
first:
  %counter = phi i64 [ 0, %start ]
  %length = sub nuw i64 %high, %low
  %next = add nuw i64 %counter, 1
  %is_one = icmp eq i64 %next, %length
  br i1 %is_one, label %one, label %second
second:
  %is_two = icmp eq i64 2, %length
  br i1 %is_two, label %two, label %three
empty:
  ret i64 0
one:
  ret i64 1
two:
  ret i64 2
three:
  ret i64 3
}
; CHECK-LABEL: define i64 @two_at_least(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i32 %x, 256
; CHECK-NEXT:   call void @llvm.assume(i1 %is_inside)
; CHECK-NEXT:   %wide = zext i32 %x to i64
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %wide, i64 1)
; CHECK-NEXT:   %nearest = call i64 @llvm.umin.i64(i64 %wide, i64 254)
; CHECK-NEXT:   %high = add nuw i64 %nearest, 2
; CHECK-NEXT:   %is_empty = icmp eq i64 %low, %high
; CHECK-NEXT:   br label %first
; CHECK-NEXT: first:
; CHECK-NEXT:   %counter = phi i64 [ 0, %start ]
; CHECK-NEXT:   %length = sub nuw i64 %high, %low
; CHECK-NEXT:   %next = add nuw i64 %counter, 1
; CHECK-NEXT:   %is_one = icmp eq i64 %next, %length
; CHECK-NEXT:   br label %second
; CHECK-NEXT: second:
; CHECK-NEXT:   %is_two = icmp eq i64 2, %length
; CHECK-NEXT:   br i1 %is_two, label %two, label %three
; CHECK-NEXT: two:
; CHECK-NEXT:   ret i64 2
; CHECK-NEXT: three:
; CHECK-NEXT:   ret i64 3
; CHECK-NEXT: }

; A branch says where the element is.
define i64 @branch(i64 %x) {
start:
  %is_inside = icmp ult i64 %x, 100
  br i1 %is_inside, label %inside, label %outside
inside:
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %nearest = call i64 @llvm.umin.i64(i64 %x, i64 98)
  %high = add nuw i64 %nearest, 2
  %is_short = icmp ult i64 %high, %low
  br i1 %is_short, label %outside, label %exit
exit:
  ret i64 1
outside:
  ret i64 0
}
; CHECK-LABEL: define i64 @branch(i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, 100
; CHECK-NEXT:   br i1 %is_inside, label %inside, label %outside
; CHECK-NEXT: inside:
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %nearest = call i64 @llvm.umin.i64(i64 %x, i64 98)
; CHECK-NEXT:   %high = add nuw i64 %nearest, 2
; CHECK-NEXT:   %is_short = icmp ult i64 %high, %low
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 1
; CHECK-NEXT: outside:
; CHECK-NEXT:   ret i64 0
; CHECK-NEXT: }

; `x` may be 256. Then the range has one element.
define i64 @one_at_least(i64 %x) {
start:
  %is_inside = icmp ult i64 %x, 257
  call void @llvm.assume(i1 %is_inside)
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %nearest = call i64 @llvm.umin.i64(i64 %x, i64 254)
  %high = add nuw i64 %nearest, 2
  %length = sub nuw i64 %high, %low
  %is_empty = icmp eq i64 %length, 0
  br i1 %is_empty, label %empty, label %first
first:
  %is_one = icmp eq i64 %length, 1
  br i1 %is_one, label %one, label %exit
empty:
  ret i64 0
one:
  ret i64 1
exit:
  ret i64 2
}
; CHECK-LABEL: define i64 @one_at_least(i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, 257
; CHECK-NEXT:   call void @llvm.assume(i1 %is_inside)
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %nearest = call i64 @llvm.umin.i64(i64 %x, i64 254)
; CHECK-NEXT:   %high = add nuw i64 %nearest, 2
; CHECK-NEXT:   %length = sub nuw i64 %high, %low
; CHECK-NEXT:   %is_empty = icmp eq i64 %length, 0
; CHECK-NEXT:   br label %first
; CHECK-NEXT: first:
; CHECK-NEXT:   %is_one = icmp eq i64 %length, 1
; CHECK-NEXT:   br i1 %is_one, label %one, label %exit
; CHECK-NEXT: one:
; CHECK-NEXT:   ret i64 1
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 2
; CHECK-NEXT: }

; Nothing says that `x` is small.
define i64 @anywhere(i64 %x) {
start:
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %nearest = call i64 @llvm.umin.i64(i64 %x, i64 254)
  %high = add nuw i64 %nearest, 2
  %is_empty = icmp eq i64 %low, %high
  br i1 %is_empty, label %empty, label %exit
empty:
  ret i64 0
exit:
  ret i64 1
}
; CHECK-LABEL: define i64 @anywhere(i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %nearest = call i64 @llvm.umin.i64(i64 %x, i64 254)
; CHECK-NEXT:   %high = add nuw i64 %nearest, 2
; CHECK-NEXT:   %is_empty = icmp eq i64 %low, %high
; CHECK-NEXT:   br i1 %is_empty, label %empty, label %exit
; CHECK-NEXT: empty:
; CHECK-NEXT:   ret i64 0
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 1
; CHECK-NEXT: }

; Without `nuw`, the difference may be a large number.
define i64 @may_wrap(i64 %x) {
start:
  %is_inside = icmp ult i64 %x, 256
  call void @llvm.assume(i1 %is_inside)
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %nearest = call i64 @llvm.umin.i64(i64 %x, i64 254)
  %high = add nuw i64 %nearest, 2
  %length = sub i64 %high, %low
  %is_one = icmp eq i64 %length, 1
  br i1 %is_one, label %one, label %exit
one:
  ret i64 1
exit:
  ret i64 2
}
; CHECK-LABEL: define i64 @may_wrap(i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, 256
; CHECK-NEXT:   call void @llvm.assume(i1 %is_inside)
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %nearest = call i64 @llvm.umin.i64(i64 %x, i64 254)
; CHECK-NEXT:   %high = add nuw i64 %nearest, 2
; CHECK-NEXT:   %length = sub i64 %high, %low
; CHECK-NEXT:   %is_one = icmp eq i64 %length, 1
; CHECK-NEXT:   br i1 %is_one, label %one, label %exit
; CHECK-NEXT: one:
; CHECK-NEXT:   ret i64 1
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 2
; CHECK-NEXT: }
