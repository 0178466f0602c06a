; Loops over slices that get shorter count elements in 32 bits.
; RUN: opt --passes=index_walks

; Merges two slices. The loop leaves elements of either behind.
define i64 @merge(ptr %a, i32 %m, ptr %b, i32 %n) {
; CHECK-LABEL: define i64 @merge(ptr %a, i32 %m, ptr %b, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %m.long = zext i32 %m to i64
; CHECK-NEXT:   %n.long = zext i32 %n to i64
; CHECK-NEXT:   %some.a = icmp ne i64 %m.long, 0
; CHECK-NEXT:   %some.b = icmp ne i64 %n.long, 0
; CHECK-NEXT:   %enters = select i1 %some.a, i1 %some.b, i1 false
; CHECK-NEXT:   br i1 %enters, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left.a = phi i32 [ 0, %start ], [ %rest.a, %latch ]
; CHECK-NEXT:   %left.b = phi i32 [ 0, %start ], [ %rest.b, %latch ]
; CHECK-NEXT:   %0 = zext i32 %left.b to i64
; CHECK-NEXT:   %1 = getelementptr inbounds [4 x i8], ptr %b, i64 %0
; CHECK-NEXT:   %2 = zext i32 %left.a to i64
; CHECK-NEXT:   %3 = getelementptr inbounds [4 x i8], ptr %a, i64 %2
; CHECK-NEXT:   %behind.a = getelementptr inbounds i8, ptr %3, i64 4
; CHECK-NEXT:   %less.a = add nuw i32 %left.a, 1
; CHECK-NEXT:   %behind.b = getelementptr inbounds i8, ptr %1, i64 4
; CHECK-NEXT:   %less.b = add nuw i32 %left.b, 1
; CHECK-NEXT:   %x = load i32, ptr %3, align 4
; CHECK-NEXT:   %y = load i32, ptr %1, align 4
; CHECK-NEXT:   %is.less = icmp ult i32 %x, %y
; CHECK-NEXT:   br i1 %is.less, label %latch, label %greater
; CHECK-NEXT: greater:
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %rest.a = phi i32 [ %less.a, %loop ], [ %left.a, %greater ]
; CHECK-NEXT:   %rest.b = phi i32 [ %left.b, %loop ], [ %less.b, %greater ]
; CHECK-NEXT:   %4 = zext i32 %rest.b to i64
; CHECK-NEXT:   %5 = getelementptr inbounds [4 x i8], ptr %b, i64 %4
; CHECK-NEXT:   %6 = sub nuw i32 %m, %rest.a
; CHECK-NEXT:   %7 = zext i32 %6 to i64
; CHECK-NEXT:   %8 = zext i32 %rest.a to i64
; CHECK-NEXT:   %9 = getelementptr inbounds [4 x i8], ptr %a, i64 %8
; CHECK-NEXT:   %more.a = icmp ne i32 %rest.a, %m
; CHECK-NEXT:   %more.b = icmp ne i32 %rest.b, %n
; CHECK-NEXT:   %more = select i1 %more.a, i1 %more.b, i1 false
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %end = phi i64 [ 0, %start ], [ %7, %latch ]
; CHECK-NEXT:   ret i64 %end
; CHECK-NEXT: }
start:
  %m.long = zext i32 %m to i64
  %n.long = zext i32 %n to i64
  %some.a = icmp ne i64 %m.long, 0
  %some.b = icmp ne i64 %n.long, 0
  %enters = select i1 %some.a, i1 %some.b, i1 false
  br i1 %enters, label %loop, label %exit
loop:
  %at.a = phi ptr [ %a, %start ], [ %next.a, %latch ]
  %left.a = phi i64 [ %m.long, %start ], [ %rest.a, %latch ]
  %at.b = phi ptr [ %b, %start ], [ %next.b, %latch ]
  %left.b = phi i64 [ %n.long, %start ], [ %rest.b, %latch ]
  %behind.a = getelementptr inbounds i8, ptr %at.a, i64 4
  %less.a = add nsw i64 %left.a, -1
  %behind.b = getelementptr inbounds i8, ptr %at.b, i64 4
  %less.b = add nsw i64 %left.b, -1
  %x = load i32, ptr %at.a, align 4
  %y = load i32, ptr %at.b, align 4
  %is.less = icmp ult i32 %x, %y
  br i1 %is.less, label %latch, label %greater
greater:
  br label %latch
latch:
  %next.a = phi ptr [ %behind.a, %loop ], [ %at.a, %greater ]
  %rest.a = phi i64 [ %less.a, %loop ], [ %left.a, %greater ]
  %next.b = phi ptr [ %at.b, %loop ], [ %behind.b, %greater ]
  %rest.b = phi i64 [ %left.b, %loop ], [ %less.b, %greater ]
  %more.a = icmp ne i64 %rest.a, 0
  %more.b = icmp ne i64 %rest.b, 0
  %more = select i1 %more.a, i1 %more.b, i1 false
  br i1 %more, label %loop, label %exit
exit:
  %end = phi i64 [ 0, %start ], [ %rest.a, %latch ]
  ret i64 %end
}

; The address does not change: the length itself has 32 bits.
define i64 @from_end(ptr %a, i32 %m) {
; CHECK-LABEL: define i64 @from_end(ptr %a, i32 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = zext i32 %m to i64
; CHECK-NEXT:   br label %check
; CHECK-NEXT: check:
; CHECK-NEXT:   %left = phi i32 [ %m, %start ], [ %less, %loop ]
; CHECK-NEXT:   %0 = zext i32 %left to i64
; CHECK-NEXT:   %empty = icmp eq i32 %left, 0
; CHECK-NEXT:   br i1 %empty, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %less = add i32 %left, -1
; CHECK-NEXT:   %1 = zext i32 %less to i64
; CHECK-NEXT:   %at = getelementptr inbounds i8, ptr %a, i64 %1
; CHECK-NEXT:   %x = load i8, ptr %at, align 1
; CHECK-NEXT:   %is.space = icmp eq i8 %x, 32
; CHECK-NEXT:   br i1 %is.space, label %check, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %end = phi i64 [ 0, %check ], [ %0, %loop ]
; CHECK-NEXT:   ret i64 %end
; CHECK-NEXT: }
start:
  %length = zext i32 %m to i64
  br label %check
check:
  %left = phi i64 [ %length, %start ], [ %less, %loop ]
  %empty = icmp eq i64 %left, 0
  br i1 %empty, label %exit, label %loop
loop:
  %less = add nsw i64 %left, -1
  %at = getelementptr inbounds i8, ptr %a, i64 %less
  %x = load i8, ptr %at, align 1
  %is.space = icmp eq i8 %x, 32
  br i1 %is.space, label %check, label %exit
exit:
  %end = phi i64 [ 0, %check ], [ %left, %loop ]
  ret i64 %end
}

; The length may have more than 32 bits.
define i64 @long(ptr %a, i64 %length) {
; CHECK-LABEL: define i64 @long(ptr %a, i64 %length) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %check
; CHECK-NEXT: check:
; CHECK-NEXT:   %at = phi ptr [ %a, %start ], [ %behind, %loop ]
; CHECK-NEXT:   %left = phi i64 [ %length, %start ], [ %less, %loop ]
; CHECK-NEXT:   %empty = icmp eq i64 %left, 0
; CHECK-NEXT:   br i1 %empty, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %less = add nsw i64 %left, -1
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %x = load i8, ptr %at, align 1
; CHECK-NEXT:   %is.space = icmp eq i8 %x, 32
; CHECK-NEXT:   br i1 %is.space, label %check, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %left
; CHECK-NEXT: }
start:
  br label %check
check:
  %at = phi ptr [ %a, %start ], [ %behind, %loop ]
  %left = phi i64 [ %length, %start ], [ %less, %loop ]
  %empty = icmp eq i64 %left, 0
  br i1 %empty, label %exit, label %loop
loop:
  %less = add nsw i64 %left, -1
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %x = load i8, ptr %at, align 1
  %is.space = icmp eq i8 %x, 32
  br i1 %is.space, label %check, label %exit
exit:
  ret i64 %left
}

; Nothing shows that the length is not 0.
define i64 @unchecked(ptr %a, i32 %m) {
; CHECK-LABEL: define i64 @unchecked(ptr %a, i32 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = zext i32 %m to i64
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %at = phi ptr [ %a, %start ], [ %behind, %loop ]
; CHECK-NEXT:   %left = phi i64 [ %length, %start ], [ %less, %loop ]
; CHECK-NEXT:   %less = add nsw i64 %left, -1
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %x = load i8, ptr %at, align 1
; CHECK-NEXT:   %is.space = icmp eq i8 %x, 32
; CHECK-NEXT:   br i1 %is.space, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %left
; CHECK-NEXT: }
start:
  %length = zext i32 %m to i64
  br label %loop
loop:
  %at = phi ptr [ %a, %start ], [ %behind, %loop ]
  %left = phi i64 [ %length, %start ], [ %less, %loop ]
  %less = add nsw i64 %left, -1
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %x = load i8, ptr %at, align 1
  %is.space = icmp eq i8 %x, 32
  br i1 %is.space, label %loop, label %exit
exit:
  ret i64 %left
}

; The branch of a block to itself says nothing about its first execution.
define i64 @unchecked_first(ptr %a, i32 %m) {
; CHECK-LABEL: define i64 @unchecked_first(ptr %a, i32 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = zext i32 %m to i64
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %at = phi ptr [ %a, %start ], [ %behind, %loop ]
; CHECK-NEXT:   %left = phi i64 [ %length, %start ], [ %less, %loop ]
; CHECK-NEXT:   %less = add nsw i64 %left, -1
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %x = load i8, ptr %at, align 1
; CHECK-NEXT:   %more = icmp ne i64 %less, 0
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %left
; CHECK-NEXT: }
start:
  %length = zext i32 %m to i64
  br label %loop
loop:
  %at = phi ptr [ %a, %start ], [ %behind, %loop ]
  %left = phi i64 [ %length, %start ], [ %less, %loop ]
  %less = add nsw i64 %left, -1
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %x = load i8, ptr %at, align 1
  %more = icmp ne i64 %less, 0
  br i1 %more, label %loop, label %exit
exit:
  ret i64 %left
}

; The address increases without the length: only the length has 32 bits.
define i8 @apart(ptr %a, i32 %m) {
; CHECK-LABEL: define i8 @apart(ptr %a, i32 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = zext i32 %m to i64
; CHECK-NEXT:   br label %check
; CHECK-NEXT: check:
; CHECK-NEXT:   %at = phi ptr [ %a, %start ], [ %next, %latch ]
; CHECK-NEXT:   %left = phi i32 [ %m, %start ], [ %less, %latch ]
; CHECK-NEXT:   %empty = icmp eq i32 %left, 0
; CHECK-NEXT:   br i1 %empty, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %less = add i32 %left, -1
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %x = load i8, ptr %at, align 1
; CHECK-NEXT:   %is.space = icmp eq i8 %x, 32
; CHECK-NEXT:   br i1 %is.space, label %latch, label %other
; CHECK-NEXT: other:
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = phi ptr [ %behind, %loop ], [ %at, %other ]
; CHECK-NEXT:   br label %check
; CHECK-NEXT: exit:
; CHECK-NEXT:   %last = load i8, ptr %at, align 1
; CHECK-NEXT:   ret i8 %last
; CHECK-NEXT: }
start:
  %length = zext i32 %m to i64
  br label %check
check:
  %at = phi ptr [ %a, %start ], [ %next, %latch ]
  %left = phi i64 [ %length, %start ], [ %less, %latch ]
  %empty = icmp eq i64 %left, 0
  br i1 %empty, label %exit, label %loop
loop:
  %less = add nsw i64 %left, -1
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %x = load i8, ptr %at, align 1
  %is.space = icmp eq i8 %x, 32
  br i1 %is.space, label %latch, label %other
other:
  br label %latch
latch:
  %next = phi ptr [ %behind, %loop ], [ %at, %other ]
  br label %check
exit:
  %last = load i8, ptr %at, align 1
  ret i8 %last
}
