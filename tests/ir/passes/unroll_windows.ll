; Loops over the few elements around another one.
; RUN: opt --passes=unroll_windows

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)

; `for &v in &row[x.saturating_sub(1)..(x + 2).min(n)] { sum += v }`: at most three iterations. The
; sum with `x` may wrap around.
define i32 @counted_from_zero(ptr %row, i64 %x, i64 %n) {
start:
  %after = add i64 %x, 2
  %high = call i64 @llvm.umin.i64(i64 %after, i64 %n)
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %is_some = icmp ult i64 %low, %high
  br i1 %is_some, label %before, label %exit
before:
  %count = sub nuw i64 %high, %low
  %first = getelementptr inbounds i32, ptr %row, i64 %low
  br label %loop
loop:
  %i = phi i64 [ 0, %before ], [ %next, %loop ]
  %sum = phi i32 [ 0, %before ], [ %more, %loop ]
  %address = getelementptr inbounds i32, ptr %first, i64 %i
  %value = load i32, ptr %address, align 4
  %more = add i32 %sum, %value
  %next = add nuw i64 %i, 1
  %ends = icmp eq i64 %next, %count
  br i1 %ends, label %exit, label %loop
exit:
  %result = phi i32 [ 0, %start ], [ %more, %loop ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @counted_from_zero(ptr %row, i64 %x, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %after = add i64 %x, 2
; CHECK-NEXT:   %high = call i64 @llvm.umin.i64(i64 %after, i64 %n)
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %is_some = icmp ult i64 %low, %high
; CHECK-NEXT:   br i1 %is_some, label %before, label %exit
; CHECK-NEXT: before:
; CHECK-NEXT:   %count = sub nuw i64 %high, %low
; CHECK-NEXT:   %first = getelementptr inbounds i32, ptr %row, i64 %low
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %before ]
; CHECK-NEXT:   %sum = phi i32 [ 0, %before ]
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %first, i64 %i
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %more = add i32 %sum, %value
; CHECK-NEXT:   %next = add nuw i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, %count
; CHECK-NEXT:   br i1 %ends, label %exit, label %iteration
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i32 [ 0, %start ], [ %more, %loop ], [ %2, %iteration ], [ %7, %iteration.1 ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = getelementptr inbounds i32, ptr %first, i64 %next
; CHECK-NEXT:   %1 = load i32, ptr %0, align 4
; CHECK-NEXT:   %2 = add i32 %more, %1
; CHECK-NEXT:   %3 = add nuw i64 %next, 1
; CHECK-NEXT:   %4 = icmp eq i64 %3, %count
; CHECK-NEXT:   br i1 %4, label %exit, label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %5 = getelementptr inbounds i32, ptr %first, i64 %3
; CHECK-NEXT:   %6 = load i32, ptr %5, align 4
; CHECK-NEXT:   %7 = add i32 %2, %6
; CHECK-NEXT:   %8 = add nuw i64 %3, 1
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: }

; `for k in (x - 1).max(0)..=(x + 1).min(last)` with signed integers, and another way out.
define i32 @from_low_to_high(ptr %row, i32 %x, i32 %last) {
start:
  %before_x = add i32 %x, -1
  %low = call i32 @llvm.smax.i32(i32 %before_x, i32 0)
  %after = add i32 %x, 1
  %high = call i32 @llvm.smin.i32(i32 %after, i32 %last)
  %is_some = icmp sle i32 %low, %high
  br i1 %is_some, label %loop, label %exit
loop:
  %k = phi i32 [ %low, %start ], [ %next, %latch ]
  %wide = sext i32 %k to i64
  %address = getelementptr inbounds i32, ptr %row, i64 %wide
  %value = load i32, ptr %address, align 4
  %found = icmp eq i32 %value, 7
  br i1 %found, label %exit, label %latch
latch:
  %next = add i32 %k, 1
  %continues = icmp slt i32 %k, %high
  br i1 %continues, label %loop, label %exit
exit:
  %result = phi i32 [ -1, %start ], [ %k, %loop ], [ -2, %latch ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @from_low_to_high(ptr %row, i32 %x, i32 %last) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %before_x = add i32 %x, -1
; CHECK-NEXT:   %low = call i32 @llvm.smax.i32(i32 %before_x, i32 0)
; CHECK-NEXT:   %after = add i32 %x, 1
; CHECK-NEXT:   %high = call i32 @llvm.smin.i32(i32 %after, i32 %last)
; CHECK-NEXT:   %is_some = icmp sle i32 %low, %high
; CHECK-NEXT:   br i1 %is_some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i32 [ %low, %start ]
; CHECK-NEXT:   %wide = sext i32 %k to i64
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %row, i64 %wide
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %found = icmp eq i32 %value, 7
; CHECK-NEXT:   br i1 %found, label %exit, label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i32 %k, 1
; CHECK-NEXT:   %continues = icmp slt i32 %k, %high
; CHECK-NEXT:   br i1 %continues, label %iteration, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i32 [ -1, %start ], [ %k, %loop ], [ -2, %latch ], [ %next, %iteration ], [ -2, %iteration.1 ], [ %4, %iteration.2 ], [ -2, %iteration.3 ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = sext i32 %next to i64
; CHECK-NEXT:   %1 = getelementptr inbounds i32, ptr %row, i64 %0
; CHECK-NEXT:   %2 = load i32, ptr %1, align 4
; CHECK-NEXT:   %3 = icmp eq i32 %2, 7
; CHECK-NEXT:   br i1 %3, label %exit, label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %4 = add i32 %next, 1
; CHECK-NEXT:   %5 = icmp slt i32 %next, %high
; CHECK-NEXT:   br i1 %5, label %iteration.2, label %exit
; CHECK-NEXT: iteration.2:
; CHECK-NEXT:   %6 = sext i32 %4 to i64
; CHECK-NEXT:   %7 = getelementptr inbounds i32, ptr %row, i64 %6
; CHECK-NEXT:   %8 = load i32, ptr %7, align 4
; CHECK-NEXT:   %9 = icmp eq i32 %8, 7
; CHECK-NEXT:   br i1 %9, label %exit, label %iteration.3
; CHECK-NEXT: iteration.3:
; CHECK-NEXT:   %10 = add i32 %4, 1
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: }

; The counter may wrap around before it reaches the bound.
define void @may_wrap(ptr %row, i64 %x) {
start:
  %high = add i64 %x, 2
  br label %loop
loop:
  %k = phi i64 [ %x, %start ], [ %next, %loop ]
  store i64 %k, ptr %row, align 8
  %next = add i64 %k, 1
  %continues = icmp ult i64 %next, %high
  br i1 %continues, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @may_wrap(ptr %row, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %high = add i64 %x, 2
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ %x, %start ], [ %next, %loop ]
; CHECK-NEXT:   store i64 %k, ptr %row, align 8
; CHECK-NEXT:   %next = add i64 %k, 1
; CHECK-NEXT:   %continues = icmp ult i64 %next, %high
; CHECK-NEXT:   br i1 %continues, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; If the bound is the largest integer, the loop never ends.
define void @inclusive_may_wrap(ptr %row, i64 %x) {
start:
  %high = add i64 %x, 2
  br label %loop
loop:
  %k = phi i64 [ %x, %start ], [ %next, %loop ]
  store i64 %k, ptr %row, align 8
  %next = add i64 %k, 1
  %continues = icmp ule i64 %next, %high
  br i1 %continues, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @inclusive_may_wrap(ptr %row, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %high = add i64 %x, 2
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ %x, %start ], [ %next, %loop ]
; CHECK-NEXT:   store i64 %k, ptr %row, align 8
; CHECK-NEXT:   %next = add i64 %k, 1
; CHECK-NEXT:   %continues = icmp ule i64 %next, %high
; CHECK-NEXT:   br i1 %continues, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The start is not known to be near the end: `x - 2` may be a large integer.
define void @end_may_wrap(ptr %row, i64 %x) {
start:
  %high = add i64 %x, -2
  br label %loop
loop:
  %k = phi i64 [ %x, %start ], [ %next, %loop ]
  store i64 %k, ptr %row, align 8
  %next = add nuw i64 %k, 1
  %continues = icmp ult i64 %next, %high
  br i1 %continues, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @end_may_wrap(ptr %row, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %high = add i64 %x, -2
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ %x, %start ], [ %next, %loop ]
; CHECK-NEXT:   store i64 %k, ptr %row, align 8
; CHECK-NEXT:   %next = add nuw i64 %k, 1
; CHECK-NEXT:   %continues = icmp ult i64 %next, %high
; CHECK-NEXT:   br i1 %continues, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The start is at most `x + 1`, but may be 0.
define void @start_may_wrap(ptr %row, i64 %x) {
start:
  %low = add i64 %x, 1
  %high = add nuw i64 %x, 3
  br label %loop
loop:
  %k = phi i64 [ %low, %start ], [ %next, %loop ]
  store i64 %k, ptr %row, align 8
  %next = add nuw i64 %k, 1
  %continues = icmp ult i64 %next, %high
  br i1 %continues, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @start_may_wrap(ptr %row, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %low = add i64 %x, 1
; CHECK-NEXT:   %high = add nuw i64 %x, 3
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ %low, %start ], [ %next, %loop ]
; CHECK-NEXT:   store i64 %k, ptr %row, align 8
; CHECK-NEXT:   %next = add nuw i64 %k, 1
; CHECK-NEXT:   %continues = icmp ult i64 %next, %high
; CHECK-NEXT:   br i1 %continues, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Nothing relates both ends.
define void @unrelated(ptr %row, i64 %x, i64 %y) {
start:
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %high = add nuw i64 %y, 2
  br label %loop
loop:
  %k = phi i64 [ %low, %start ], [ %next, %loop ]
  store i64 %k, ptr %row, align 8
  %next = add nuw i64 %k, 1
  %continues = icmp ult i64 %next, %high
  br i1 %continues, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @unrelated(ptr %row, i64 %x, i64 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %high = add nuw i64 %y, 2
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ %low, %start ], [ %next, %loop ]
; CHECK-NEXT:   store i64 %k, ptr %row, align 8
; CHECK-NEXT:   %next = add nuw i64 %k, 1
; CHECK-NEXT:   %continues = icmp ult i64 %next, %high
; CHECK-NEXT:   br i1 %continues, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Too many iterations.
define void @many(ptr %row, i64 %x) {
start:
  %high = add nuw i64 %x, 10
  br label %loop
loop:
  %k = phi i64 [ %x, %start ], [ %next, %loop ]
  store i64 %k, ptr %row, align 8
  %next = add nuw i64 %k, 1
  %continues = icmp ult i64 %next, %high
  br i1 %continues, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @many(ptr %row, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %high = add nuw i64 %x, 10
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ %x, %start ], [ %next, %loop ]
; CHECK-NEXT:   store i64 %k, ptr %row, align 8
; CHECK-NEXT:   %next = add nuw i64 %k, 1
; CHECK-NEXT:   %continues = icmp ult i64 %next, %high
; CHECK-NEXT:   br i1 %continues, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
