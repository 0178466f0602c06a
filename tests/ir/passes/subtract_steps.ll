; RUN: opt --passes=subtract_steps

; The loop has the value of the range, and compares it with the end.
define void @strided(ptr %to, i64 %start, i64 %end, i64 %step) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %frozen = freeze i64 %length
  %quotient = udiv i64 %frozen, %step
  %product = mul i64 %quotient, %step
  %differs = icmp ne i64 %frozen, %product
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %none = icmp eq i64 %count, 0
  br i1 %none, label %exit, label %loop
loop:
  %left = phi i64 [ %next, %pass ], [ %count, %start ]
  %i = phi i64 [ %sum, %pass ], [ %start, %start ]
  %below = icmp ult i64 %i, %end
  br i1 %below, label %pass, label %panic
pass:
  %sum = add i64 %i, %step
  %next = add i64 %left, -1
  %address = getelementptr inbounds i32, ptr %to, i64 %i
  store i32 0, ptr %address, align 4
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret void
}
; CHECK-LABEL: define void @strided(ptr %to, i64 %start.1, i64 %end, i64 %step) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %frozen = freeze i64 %length
; CHECK-NEXT:   %quotient = udiv i64 %frozen, %step
; CHECK-NEXT:   %product = mul i64 %quotient, %step
; CHECK-NEXT:   %differs = icmp ne i64 %frozen, %product
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %none = icmp eq i64 %frozen, 0
; CHECK-NEXT:   %0 = icmp uge i64 %end, %step
; CHECK-NEXT:   %1 = sub i64 %end, %step
; CHECK-NEXT:   %2 = select i1 %0, i64 %1, i64 0
; CHECK-NEXT:   br i1 %none, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %pass ], [ 0, %start ]
; CHECK-NEXT:   %i = phi i64 [ %sum, %pass ], [ %start.1, %start ]
; CHECK-NEXT:   %below = icmp ult i64 %i, %end
; CHECK-NEXT:   br label %pass
; CHECK-NEXT: pass:
; CHECK-NEXT:   %sum = add i64 %i, %step
; CHECK-NEXT:   %next = add i64 %left, -1
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %to, i64 %i
; CHECK-NEXT:   store i32 0, ptr %address, align 4
; CHECK-NEXT:   %done = icmp uge i64 %i, %2
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Only the number of iterations is used, and the remainder is computed as such.
define void @counted(ptr %to, i32 %length, i32 %step) {
start:
  %quotient = udiv i32 %length, %step
  %rest = urem i32 %length, %step
  %differs = icmp ne i32 %rest, 0
  %one = zext i1 %differs to i32
  %count = add i32 %one, %quotient
  %some = icmp ne i32 %count, 0
  br i1 %some, label %before, label %exit
before:
  br label %loop
loop:
  %left = phi i32 [ %count, %before ], [ %next, %loop ]
  store volatile i32 0, ptr %to, align 4
  %next = add i32 %left, -1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @counted(ptr %to, i32 %length, i32 %step) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %quotient = udiv i32 %length, %step
; CHECK-NEXT:   %rest = urem i32 %length, %step
; CHECK-NEXT:   %differs = icmp ne i32 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i32
; CHECK-NEXT:   %count = add i32 %one, %quotient
; CHECK-NEXT:   %some = icmp ne i32 %length, 0
; CHECK-NEXT:   br i1 %some, label %before, label %exit
; CHECK-NEXT: before:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i32 [ %length, %before ], [ %next, %loop ]
; CHECK-NEXT:   store volatile i32 0, ptr %to, align 4
; CHECK-NEXT:   %next = sub i32 %left, %step
; CHECK-NEXT:   %more = icmp ugt i32 %left, %step
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Not guarded: with a count of 0, the loop has 2^32 iterations.
define void @unguarded(ptr %to, i32 %length, i32 %step) {
start:
  %quotient = udiv i32 %length, %step
  %rest = urem i32 %length, %step
  %differs = icmp ne i32 %rest, 0
  %one = zext i1 %differs to i32
  %count = add i32 %one, %quotient
  br label %loop
loop:
  %left = phi i32 [ %count, %start ], [ %next, %loop ]
  store volatile i32 0, ptr %to, align 4
  %next = add i32 %left, -1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @unguarded(ptr %to, i32 %length, i32 %step) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %quotient = udiv i32 %length, %step
; CHECK-NEXT:   %rest = urem i32 %length, %step
; CHECK-NEXT:   %differs = icmp ne i32 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i32
; CHECK-NEXT:   %count = add i32 %one, %quotient
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i32 [ %count, %start ], [ %next, %loop ]
; CHECK-NEXT:   store volatile i32 0, ptr %to, align 4
; CHECK-NEXT:   %next = add i32 %left, -1
; CHECK-NEXT:   %more = icmp ne i32 %next, 0
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The guard skips the loop if there are iterations.
define void @wrong_guard(ptr %to, i32 %length, i32 %step) {
start:
  %quotient = udiv i32 %length, %step
  %rest = urem i32 %length, %step
  %differs = icmp ne i32 %rest, 0
  %one = zext i1 %differs to i32
  %count = add i32 %one, %quotient
  %some = icmp ne i32 %count, 0
  br i1 %some, label %exit, label %loop
loop:
  %left = phi i32 [ %count, %start ], [ %next, %loop ]
  store volatile i32 0, ptr %to, align 4
  %next = add i32 %left, -1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @wrong_guard(ptr %to, i32 %length, i32 %step) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %quotient = udiv i32 %length, %step
; CHECK-NEXT:   %rest = urem i32 %length, %step
; CHECK-NEXT:   %differs = icmp ne i32 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i32
; CHECK-NEXT:   %count = add i32 %one, %quotient
; CHECK-NEXT:   %some = icmp ne i32 %count, 0
; CHECK-NEXT:   br i1 %some, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i32 [ %count, %start ], [ %next, %loop ]
; CHECK-NEXT:   store volatile i32 0, ptr %to, align 4
; CHECK-NEXT:   %next = add i32 %left, -1
; CHECK-NEXT:   %more = icmp ne i32 %next, 0
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The counter has another use.
define void @used(ptr %to, i32 %length, i32 %step) {
start:
  %quotient = udiv i32 %length, %step
  %rest = urem i32 %length, %step
  %differs = icmp ne i32 %rest, 0
  %one = zext i1 %differs to i32
  %count = add i32 %one, %quotient
  %some = icmp ne i32 %count, 0
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i32 [ %count, %start ], [ %next, %loop ]
  store volatile i32 %left, ptr %to, align 4
  %next = add i32 %left, -1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @used(ptr %to, i32 %length, i32 %step) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %quotient = udiv i32 %length, %step
; CHECK-NEXT:   %rest = urem i32 %length, %step
; CHECK-NEXT:   %differs = icmp ne i32 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i32
; CHECK-NEXT:   %count = add i32 %one, %quotient
; CHECK-NEXT:   %some = icmp ne i32 %count, 0
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i32 [ %count, %start ], [ %next, %loop ]
; CHECK-NEXT:   store volatile i32 %left, ptr %to, align 4
; CHECK-NEXT:   %next = add i32 %left, -1
; CHECK-NEXT:   %more = icmp ne i32 %next, 0
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The remainder is that of another division, the step is a constant, and the value of the range
; starts elsewhere: the first two stay, and the last compares what remains.
define void @others(ptr %to, i32 %length, i32 %step) {
start:
  %quotient = udiv i32 %length, %step
  %rest = urem i32 %step, %length
  %differs = icmp ne i32 %rest, 0
  %one = zext i1 %differs to i32
  %count = add i32 %one, %quotient
  %some = icmp ne i32 %count, 0
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i32 [ %count, %start ], [ %next, %loop ]
  store volatile i32 0, ptr %to, align 4
  %next = add i32 %left, -1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @others(ptr %to, i32 %length, i32 %step) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %quotient = udiv i32 %length, %step
; CHECK-NEXT:   %rest = urem i32 %step, %length
; CHECK-NEXT:   %differs = icmp ne i32 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i32
; CHECK-NEXT:   %count = add i32 %one, %quotient
; CHECK-NEXT:   %some = icmp ne i32 %count, 0
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i32 [ %count, %start ], [ %next, %loop ]
; CHECK-NEXT:   store volatile i32 0, ptr %to, align 4
; CHECK-NEXT:   %next = add i32 %left, -1
; CHECK-NEXT:   %more = icmp ne i32 %next, 0
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define void @constant(ptr %to, i32 %length) {
start:
  %quotient = udiv i32 %length, 7
  %rest = urem i32 %length, 7
  %differs = icmp ne i32 %rest, 0
  %one = zext i1 %differs to i32
  %count = add i32 %one, %quotient
  %some = icmp ne i32 %count, 0
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i32 [ %count, %start ], [ %next, %loop ]
  store volatile i32 0, ptr %to, align 4
  %next = add i32 %left, -1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @constant(ptr %to, i32 %length) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %quotient = udiv i32 %length, 7
; CHECK-NEXT:   %rest = urem i32 %length, 7
; CHECK-NEXT:   %differs = icmp ne i32 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i32
; CHECK-NEXT:   %count = add i32 %one, %quotient
; CHECK-NEXT:   %some = icmp ne i32 %count, 0
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i32 [ %count, %start ], [ %next, %loop ]
; CHECK-NEXT:   store volatile i32 0, ptr %to, align 4
; CHECK-NEXT:   %next = add i32 %left, -1
; CHECK-NEXT:   %more = icmp ne i32 %next, 0
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define void @elsewhere(ptr %to, i64 %start, i64 %end, i64 %step, i64 %other) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %quotient = udiv i64 %length, %step
  %product = mul i64 %step, %quotient
  %differs = icmp ne i64 %length, %product
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %none = icmp eq i64 %count, 0
  br i1 %none, label %exit, label %loop
loop:
  %left = phi i64 [ %next, %pass ], [ %count, %start ]
  %i = phi i64 [ %sum, %pass ], [ %other, %start ]
  %below = icmp ult i64 %i, %end
  br i1 %below, label %pass, label %panic
pass:
  %sum = add i64 %i, %step
  %next = add i64 %left, -1
  %address = getelementptr inbounds i32, ptr %to, i64 %i
  store i32 0, ptr %address, align 4
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret void
}
; CHECK-LABEL: define void @elsewhere(ptr %to, i64 %start.1, i64 %end, i64 %step, i64 %other) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %quotient = udiv i64 %length, %step
; CHECK-NEXT:   %product = mul i64 %step, %quotient
; CHECK-NEXT:   %differs = icmp ne i64 %length, %product
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %none = icmp eq i64 %length, 0
; CHECK-NEXT:   br i1 %none, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %pass ], [ %length, %start ]
; CHECK-NEXT:   %i = phi i64 [ %sum, %pass ], [ %other, %start ]
; CHECK-NEXT:   %below = icmp ult i64 %i, %end
; CHECK-NEXT:   br i1 %below, label %pass, label %panic
; CHECK-NEXT: pass:
; CHECK-NEXT:   %sum = add i64 %i, %step
; CHECK-NEXT:   %next = sub i64 %left, %step
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %to, i64 %i
; CHECK-NEXT:   store i32 0, ptr %address, align 4
; CHECK-NEXT:   %done = icmp ule i64 %left, %step
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @panic()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define void @elsewhere_in_another_order(ptr %to, i64 %start, i64 %end, i64 %step, i64 %other) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %quotient = udiv i64 %length, %step
  %product = mul i64 %step, %quotient
  %differs = icmp ne i64 %length, %product
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %none = icmp eq i64 %count, 0
  br i1 %none, label %exit, label %loop
loop:
  %left = phi i64 [ %next, %pass ], [ %count, %start ]
  %i = phi i64 [ %other, %start ], [ %sum, %pass ]
  %below = icmp ult i64 %i, %end
  br i1 %below, label %pass, label %panic
pass:
  %sum = add i64 %i, %step
  %next = add i64 %left, -1
  %address = getelementptr inbounds i32, ptr %to, i64 %i
  store i32 0, ptr %address, align 4
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret void
}
; CHECK-LABEL: define void @elsewhere_in_another_order(ptr %to, i64 %start.1, i64 %end, i64 %step, i64 %other) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %quotient = udiv i64 %length, %step
; CHECK-NEXT:   %product = mul i64 %step, %quotient
; CHECK-NEXT:   %differs = icmp ne i64 %length, %product
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %none = icmp eq i64 %length, 0
; CHECK-NEXT:   br i1 %none, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %pass ], [ %length, %start ]
; CHECK-NEXT:   %i = phi i64 [ %other, %start ], [ %sum, %pass ]
; CHECK-NEXT:   %below = icmp ult i64 %i, %end
; CHECK-NEXT:   br i1 %below, label %pass, label %panic
; CHECK-NEXT: pass:
; CHECK-NEXT:   %sum = add i64 %i, %step
; CHECK-NEXT:   %next = sub i64 %left, %step
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %to, i64 %i
; CHECK-NEXT:   store i32 0, ptr %address, align 4
; CHECK-NEXT:   %done = icmp ule i64 %left, %step
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @panic()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

declare void @panic()
declare i64 @llvm.usub.sat.i64(i64, i64)

; The step is 32. No other check is left, so the loop keeps its counter.
define void @warp(ptr %to, i64 %start, i64 %end) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %quotient = lshr i64 %length, 5
  %rest = and i64 %length, 31
  %differs = icmp ne i64 %rest, 0
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %some = icmp ugt i64 %end, %start
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i64 [ %next, %pass ], [ %count, %start ]
  %i = phi i64 [ %sum, %pass ], [ %start, %start ]
  %below = icmp ult i64 %i, %end
  br i1 %below, label %pass, label %panic
pass:
  %sum = add i64 %i, 32
  %next = add i64 %left, -1
  %address = getelementptr inbounds i32, ptr %to, i64 %i
  store i32 0, ptr %address, align 4
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret void
}
; CHECK-LABEL: define void @warp(ptr %to, i64 %start.1, i64 %end) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %quotient = lshr i64 %length, 5
; CHECK-NEXT:   %rest = and i64 %length, 31
; CHECK-NEXT:   %differs = icmp ne i64 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %some = icmp ugt i64 %end, %start.1
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %pass ], [ %count, %start ]
; CHECK-NEXT:   %i = phi i64 [ %sum, %pass ], [ %start.1, %start ]
; CHECK-NEXT:   %below = icmp ult i64 %i, %end
; CHECK-NEXT:   br label %pass
; CHECK-NEXT: pass:
; CHECK-NEXT:   %sum = add i64 %i, 32
; CHECK-NEXT:   %next = add i64 %left, -1
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %to, i64 %i
; CHECK-NEXT:   store i32 0, ptr %address, align 4
; CHECK-NEXT:   %done = icmp eq i64 %next, 0
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Another check.
define void @warp_checked(ptr %to, i64 %start, i64 %end, i64 %len) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %quotient = lshr i64 %length, 5
  %rest = and i64 %length, 31
  %differs = icmp ne i64 %rest, 0
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %some = icmp ugt i64 %end, %start
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i64 [ %next, %pass ], [ %count, %start ]
  %i = phi i64 [ %sum, %pass ], [ %start, %start ]
  %below = icmp ult i64 %i, %len
  br i1 %below, label %pass, label %panic
pass:
  %sum = add i64 %i, 32
  %next = add i64 %left, -1
  %address = getelementptr inbounds i32, ptr %to, i64 %i
  store i32 0, ptr %address, align 4
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret void
}
; CHECK-LABEL: define void @warp_checked(ptr %to, i64 %start.1, i64 %end, i64 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %quotient = lshr i64 %length, 5
; CHECK-NEXT:   %rest = and i64 %length, 31
; CHECK-NEXT:   %differs = icmp ne i64 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %some = icmp ugt i64 %end, %start.1
; CHECK-NEXT:   %0 = icmp uge i64 %end, 32
; CHECK-NEXT:   %1 = sub i64 %end, 32
; CHECK-NEXT:   %2 = select i1 %0, i64 %1, i64 0
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %pass ], [ 0, %start ]
; CHECK-NEXT:   %i = phi i64 [ %sum, %pass ], [ %start.1, %start ]
; CHECK-NEXT:   %below = icmp ult i64 %i, %len
; CHECK-NEXT:   br i1 %below, label %pass, label %panic
; CHECK-NEXT: pass:
; CHECK-NEXT:   %sum = add i64 %i, 32
; CHECK-NEXT:   %next = add i64 %left, -1
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %to, i64 %i
; CHECK-NEXT:   store i32 0, ptr %address, align 4
; CHECK-NEXT:   %done = icmp uge i64 %i, %2
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @panic()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The mask is not that of the shift, and the guard not that of the range.
define void @other_rest(ptr %to, i64 %start, i64 %end, i64 %len) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %quotient = lshr i64 %length, 5
  %rest = and i64 %length, 15
  %differs = icmp ne i64 %rest, 0
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %some = icmp ugt i64 %end, %start
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i64 [ %next, %loop ], [ %count, %start ]
  %i = phi i64 [ %sum, %loop ], [ %start, %start ]
  %sum = add i64 %i, 32
  %next = add i64 %left, -1
  %below = icmp ult i64 %i, %end
  store volatile i1 %below, ptr %to, align 1
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
; CHECK-LABEL: define void @other_rest(ptr %to, i64 %start.1, i64 %end, i64 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %quotient = lshr i64 %length, 5
; CHECK-NEXT:   %rest = and i64 %length, 15
; CHECK-NEXT:   %differs = icmp ne i64 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %some = icmp ugt i64 %end, %start.1
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %loop ], [ %count, %start ]
; CHECK-NEXT:   %i = phi i64 [ %sum, %loop ], [ %start.1, %start ]
; CHECK-NEXT:   %sum = add i64 %i, 32
; CHECK-NEXT:   %next = add i64 %left, -1
; CHECK-NEXT:   %below = icmp ult i64 %i, %end
; CHECK-NEXT:   store volatile i1 %below, ptr %to, align 1
; CHECK-NEXT:   %done = icmp eq i64 %next, 0
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define void @other_guard(ptr %to, i64 %start, i64 %end, i64 %len) {
start:
  %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start)
  %quotient = lshr i64 %length, 5
  %rest = and i64 %length, 31
  %differs = icmp ne i64 %rest, 0
  %one = zext i1 %differs to i64
  %count = add i64 %quotient, %one
  %some = icmp ugt i64 %len, %start
  br i1 %some, label %loop, label %exit
loop:
  %left = phi i64 [ %next, %loop ], [ %count, %start ]
  %i = phi i64 [ %sum, %loop ], [ %start, %start ]
  %sum = add i64 %i, 32
  %next = add i64 %left, -1
  %below = icmp ult i64 %i, %end
  store volatile i1 %below, ptr %to, align 1
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
; CHECK-LABEL: define void @other_guard(ptr %to, i64 %start.1, i64 %end, i64 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %start.1)
; CHECK-NEXT:   %quotient = lshr i64 %length, 5
; CHECK-NEXT:   %rest = and i64 %length, 31
; CHECK-NEXT:   %differs = icmp ne i64 %rest, 0
; CHECK-NEXT:   %one = zext i1 %differs to i64
; CHECK-NEXT:   %count = add i64 %quotient, %one
; CHECK-NEXT:   %some = icmp ugt i64 %len, %start.1
; CHECK-NEXT:   br i1 %some, label %loop, label %exit
; CHECK-NEXT: loop:
; CHECK-NEXT:   %left = phi i64 [ %next, %loop ], [ %count, %start ]
; CHECK-NEXT:   %i = phi i64 [ %sum, %loop ], [ %start.1, %start ]
; CHECK-NEXT:   %sum = add i64 %i, 32
; CHECK-NEXT:   %next = add i64 %left, -1
; CHECK-NEXT:   %below = icmp ult i64 %i, %end
; CHECK-NEXT:   store volatile i1 %below, ptr %to, align 1
; CHECK-NEXT:   %done = icmp eq i64 %next, 0
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
