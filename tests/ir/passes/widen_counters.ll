; Loops with one exit count in 64 bits if they compute addresses from a counter of 32 bits.
; RUN: opt --passes=widen_counters

; The comparison at the end is that of the wide counter.
define void @fill(ptr %to, i32 %from, i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ %from, %entry ], [ %next, %loop ]
  %next = add nuw i32 %i, 1
  %index = zext i32 %i to i64
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
  store i32 0, ptr %p, align 4
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}
; CHECK-LABEL: define void @fill(ptr %to, i32 %from, i32 %end) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %0 = zext i32 %from to i64
; CHECK-NEXT:   %1 = zext i32 %end to i64
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %2 = phi i64 [ %0, %entry ], [ %3, %loop ]
; CHECK-NEXT:   %i = phi i32 [ %from, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %3 = add nuw nsw i64 %2, 1
; CHECK-NEXT:   %next = add nuw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %to, i64 %2
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   %4 = icmp eq i64 %3, %1
; CHECK-NEXT:   br i1 %4, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Signed, downward, with a neighbor and the next number.
define void @down(ptr %to, i32 %from) {
entry:
  br label %loop

loop:
  %i = phi i32 [ %from, %entry ], [ %next, %loop ]
  %next = add nsw i32 %i, -1
  %right = add nsw i32 %i, 1
  %index = sext i32 %i to i64
  %left = sext i32 %next to i64
  %wide = sext i32 %right to i64
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
  %q = getelementptr inbounds [4 x i8], ptr %to, i64 %left
  %r = getelementptr inbounds [4 x i8], ptr %to, i64 %wide
  store i32 0, ptr %p, align 4
  store i32 0, ptr %q, align 4
  store i32 0, ptr %r, align 4
  %more = icmp sgt i32 %next, -5
  br i1 %more, label %loop, label %exit

exit:
  ret void
}
; CHECK-LABEL: define void @down(ptr %to, i32 %from) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %0 = sext i32 %from to i64
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %1 = phi i64 [ %0, %entry ], [ %2, %loop ]
; CHECK-NEXT:   %i = phi i32 [ %from, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %2 = add nsw i64 %1, -1
; CHECK-NEXT:   %next = add nsw i32 %i, -1
; CHECK-NEXT:   %right = add nsw i32 %i, 1
; CHECK-NEXT:   %index = sext i32 %i to i64
; CHECK-NEXT:   %left = sext i32 %next to i64
; CHECK-NEXT:   %wide = add nsw i64 %1, 1
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %to, i64 %1
; CHECK-NEXT:   %q = getelementptr inbounds [4 x i8], ptr %to, i64 %2
; CHECK-NEXT:   %r = getelementptr inbounds [4 x i8], ptr %to, i64 %wide
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   store i32 0, ptr %q, align 4
; CHECK-NEXT:   store i32 0, ptr %r, align 4
; CHECK-NEXT:   %more = icmp sgt i32 %next, -5
; CHECK-NEXT:   %3 = icmp sgt i64 %2, -5
; CHECK-NEXT:   br i1 %3, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The counter is stored, too: the comparison stays.
define void @iota(ptr %to, i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add nuw nsw i32 %i, 1
  %index = zext i32 %i to i64
  %offset = shl nuw nsw i64 %index, 3
  %p = getelementptr inbounds i8, ptr %to, i64 %offset
  store i32 %i, ptr %p, align 4
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}
; CHECK-LABEL: define void @iota(ptr %to, i32 %end) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %0 = phi i64 [ 0, %entry ], [ %1, %loop ]
; CHECK-NEXT:   %i = phi i32 [ 0, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %1 = add nuw nsw i64 %0, 1
; CHECK-NEXT:   %next = add nuw nsw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %offset = shl nuw nsw i64 %0, 3
; CHECK-NEXT:   %p = getelementptr inbounds i8, ptr %to, i64 %offset
; CHECK-NEXT:   store i32 %i, ptr %p, align 4
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; A signed comparison of an unsigned counter stays.
define void @signed_end(ptr %to, i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ -9, %entry ], [ %next, %loop ]
  %next = add nuw i32 %i, 1
  %index = zext i32 %i to i64
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
  store i32 0, ptr %p, align 4
  %done = icmp sge i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}
; CHECK-LABEL: define void @signed_end(ptr %to, i32 %end) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %0 = phi i64 [ 4294967287, %entry ], [ %1, %loop ]
; CHECK-NEXT:   %i = phi i32 [ -9, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %1 = add nuw nsw i64 %0, 1
; CHECK-NEXT:   %next = add nuw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %to, i64 %0
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %done = icmp sge i32 %next, %end
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; A panic is no exit.
define void @checked(ptr %to, i32 %end, i64 %len) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %next = add nuw i32 %i, 1
  %index = zext i32 %i to i64
  %inside = icmp ult i64 %index, %len
  br i1 %inside, label %latch, label %panic

latch:
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
  store i32 0, ptr %p, align 4
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

panic:
  unreachable

exit:
  ret void
}
; CHECK-LABEL: define void @checked(ptr %to, i32 %end, i64 %len) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %0 = zext i32 %end to i64
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %1 = phi i64 [ 0, %entry ], [ %2, %latch ]
; CHECK-NEXT:   %i = phi i32 [ 0, %entry ], [ %next, %latch ]
; CHECK-NEXT:   %2 = add nuw nsw i64 %1, 1
; CHECK-NEXT:   %next = add nuw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %inside = icmp ult i64 %1, %len
; CHECK-NEXT:   br i1 %inside, label %latch, label %panic
; CHECK-NEXT: latch:
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %to, i64 %1
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   %3 = icmp eq i64 %2, %0
; CHECK-NEXT:   br i1 %3, label %exit, label %loop
; CHECK-NEXT: panic:
; CHECK-NEXT:   unreachable
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; It may wrap around.
define void @wraps(ptr %to, i32 %from, i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ %from, %entry ], [ %next, %loop ]
  %next = add nsw i32 %i, 1
  %index = zext i32 %i to i64
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
  store i32 0, ptr %p, align 4
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}
; CHECK-LABEL: define void @wraps(ptr %to, i32 %from, i32 %end) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i32 [ %from, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %next = add nsw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The end is computed in the loop.
define void @moving_end(ptr %to, i32 %from) {
entry:
  br label %loop

loop:
  %i = phi i32 [ %from, %entry ], [ %next, %loop ]
  %next = add nuw i32 %i, 1
  %index = zext i32 %i to i64
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
  %end = load i32, ptr %p, align 4
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}
; CHECK-LABEL: define void @moving_end(ptr %to, i32 %from) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %0 = zext i32 %from to i64
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %1 = phi i64 [ %0, %entry ], [ %2, %loop ]
; CHECK-NEXT:   %i = phi i32 [ %from, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %2 = add nuw nsw i64 %1, 1
; CHECK-NEXT:   %next = add nuw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %to, i64 %1
; CHECK-NEXT:   %end = load i32, ptr %p, align 4
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; libnvvm does not unroll a loop with two exits.
define i32 @search(ptr %from, i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %index = zext i32 %i to i64
  %p = getelementptr inbounds [4 x i8], ptr %from, i64 %index
  %value = load i32, ptr %p, align 4
  %found = icmp eq i32 %value, 0
  br i1 %found, label %exit, label %latch

latch:
  %next = add nuw i32 %i, 1
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  %result = phi i32 [ %i, %loop ], [ %end, %latch ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @search(ptr %from, i32 %end) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i32 [ 0, %entry ], [ %next, %latch ]
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %from, i64 %index
; CHECK-NEXT:   %value = load i32, ptr %p, align 4
; CHECK-NEXT:   %found = icmp eq i32 %value, 0
; CHECK-NEXT:   br i1 %found, label %exit, label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add nuw i32 %i, 1
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i32 [ %i, %loop ], [ %end, %latch ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }

; Of two nested loops, libnvvm unrolls the inner one.
define void @nested(ptr %to, i32 %rows, i32 %columns) {
entry:
  br label %outer

outer:
  %y = phi i32 [ 0, %entry ], [ %below, %latch ]
  %row = zext i32 %y to i64
  %start = getelementptr inbounds [4096 x i8], ptr %to, i64 %row
  br label %inner

inner:
  %x = phi i32 [ 0, %outer ], [ %right, %inner ]
  %column = zext i32 %x to i64
  %p = getelementptr inbounds [4 x i8], ptr %start, i64 %column
  store i32 0, ptr %p, align 4
  %right = add nuw i32 %x, 1
  %ends = icmp eq i32 %right, %columns
  br i1 %ends, label %latch, label %inner

latch:
  %below = add nuw i32 %y, 1
  %done = icmp eq i32 %below, %rows
  br i1 %done, label %exit, label %outer

exit:
  ret void
}
; CHECK-LABEL: define void @nested(ptr %to, i32 %rows, i32 %columns) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %outer
; CHECK-NEXT: outer:
; CHECK-NEXT:   %y = phi i32 [ 0, %entry ], [ %below, %latch ]
; CHECK-NEXT:   %row = zext i32 %y to i64
; CHECK-NEXT:   %start = getelementptr inbounds [4096 x i8], ptr %to, i64 %row
; CHECK-NEXT:   %0 = zext i32 %columns to i64
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %1 = phi i64 [ 0, %outer ], [ %2, %inner ]
; CHECK-NEXT:   %x = phi i32 [ 0, %outer ], [ %right, %inner ]
; CHECK-NEXT:   %2 = add nuw nsw i64 %1, 1
; CHECK-NEXT:   %column = zext i32 %x to i64
; CHECK-NEXT:   %p = getelementptr inbounds [4 x i8], ptr %start, i64 %1
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %right = add nuw i32 %x, 1
; CHECK-NEXT:   %ends = icmp eq i32 %right, %columns
; CHECK-NEXT:   %3 = icmp eq i64 %2, %0
; CHECK-NEXT:   br i1 %3, label %latch, label %inner
; CHECK-NEXT: latch:
; CHECK-NEXT:   %below = add nuw i32 %y, 1
; CHECK-NEXT:   %done = icmp eq i32 %below, %rows
; CHECK-NEXT:   br i1 %done, label %exit, label %outer
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; A loop of 50 instructions, which libnvvm does not unroll.
define void @long(ptr %to, i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add nuw i32 %i, 1
  %index = zext i32 %i to i64
  %p = getelementptr inbounds [4 x i8], ptr %to, i64 %index
; CHECK: getelementptr inbounds [4 x i8], ptr %to, i64 %index
  store i32 0, ptr %p, align 4
  store i32 1, ptr %p, align 4
  store i32 2, ptr %p, align 4
  store i32 3, ptr %p, align 4
  store i32 4, ptr %p, align 4
  store i32 5, ptr %p, align 4
  store i32 6, ptr %p, align 4
  store i32 7, ptr %p, align 4
  store i32 8, ptr %p, align 4
  store i32 9, ptr %p, align 4
  store i32 10, ptr %p, align 4
  store i32 11, ptr %p, align 4
  store i32 12, ptr %p, align 4
  store i32 13, ptr %p, align 4
  store i32 14, ptr %p, align 4
  store i32 15, ptr %p, align 4
  store i32 16, ptr %p, align 4
  store i32 17, ptr %p, align 4
  store i32 18, ptr %p, align 4
  store i32 19, ptr %p, align 4
  store i32 20, ptr %p, align 4
  store i32 21, ptr %p, align 4
  store i32 22, ptr %p, align 4
  store i32 23, ptr %p, align 4
  store i32 24, ptr %p, align 4
  store i32 25, ptr %p, align 4
  store i32 26, ptr %p, align 4
  store i32 27, ptr %p, align 4
  store i32 28, ptr %p, align 4
  store i32 29, ptr %p, align 4
  store i32 30, ptr %p, align 4
  store i32 31, ptr %p, align 4
  store i32 32, ptr %p, align 4
  store i32 33, ptr %p, align 4
  store i32 34, ptr %p, align 4
  store i32 35, ptr %p, align 4
  store i32 36, ptr %p, align 4
  store i32 37, ptr %p, align 4
  store i32 38, ptr %p, align 4
  store i32 39, ptr %p, align 4
  store i32 40, ptr %p, align 4
  store i32 41, ptr %p, align 4
  store i32 42, ptr %p, align 4
  store i32 43, ptr %p, align 4
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; No address depends on it.
define i64 @sum(i32 %end) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %total = phi i64 [ 0, %entry ], [ %more, %loop ]
  %next = add nuw i32 %i, 1
  %index = zext i32 %i to i64
  %more = add i64 %total, %index
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret i64 %more
}
; CHECK-LABEL: define i64 @sum(i32 %end) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i32 [ 0, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %total = phi i64 [ 0, %entry ], [ %more, %loop ]
; CHECK-NEXT:   %next = add nuw i32 %i, 1
; CHECK-NEXT:   %index = zext i32 %i to i64
; CHECK-NEXT:   %more = add i64 %total, %index
; CHECK-NEXT:   %done = icmp eq i32 %next, %end
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %more
; CHECK-NEXT: }
