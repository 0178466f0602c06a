; Checks of the indices of binary searches.
; RUN: opt --passes=bound_searches

; The index is less than the first end, which is the length.
define i64 @search(ptr %p, i64 %length, i32 %wanted) {
start:
  %empty = icmp eq i64 %length, 0
  br i1 %empty, label %exit, label %loop
loop:
  %low = phi i64 [ 0, %start ], [ %new.low, %pass ]
  %high = phi i64 [ %length, %start ], [ %new.high, %pass ]
  %sum = add i64 %high, %low
  %middle = lshr i64 %sum, 1
  %check = icmp ult i64 %middle, %length
  br i1 %check, label %pass, label %panic
pass:
  %address = getelementptr inbounds i32, ptr %p, i64 %middle
  %value = load i32, ptr %address, align 4
  %less = icmp ult i32 %value, %wanted
  %next = add i64 %middle, 1
  %new.high = select i1 %less, i64 %high, i64 %middle
  %new.low = select i1 %less, i64 %next, i64 %low
  %more = icmp ult i64 %new.low, %new.high
  br i1 %more, label %loop, label %exit
panic:
  call void @panic()
  unreachable
exit:
  %result = phi i64 [ 0, %start ], [ %new.low, %pass ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @search(ptr %p, i64 %length, i32 %wanted) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %empty = icmp eq i64 %length, 0
; CHECK-NEXT:   br i1 %empty, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %low = phi i64 [ 0, %start ], [ %new.low, %pass ]
; CHECK-NEXT:   %high = phi i64 [ %length, %start ], [ %new.high, %pass ]
; CHECK-NEXT:   %sum = add i64 %high, %low
; CHECK-NEXT:   %middle = lshr i64 %sum, 1
; CHECK-NEXT:   %check = icmp ult i64 %middle, %length
; CHECK-NEXT:   br label %pass
; CHECK-NEXT: pass:
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %p, i64 %middle
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %less = icmp ult i32 %value, %wanted
; CHECK-NEXT:   %next = add i64 %middle, 1
; CHECK-NEXT:   %new.high = select i1 %less, i64 %high, i64 %middle
; CHECK-NEXT:   %new.low = select i1 %less, i64 %next, i64 %low
; CHECK-NEXT:   %more = icmp ult i64 %new.low, %new.high
; CHECK-NEXT:   br i1 %more, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i64 [ 0, %start ], [ %new.low, %pass ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: }

; A constant end, a sum that is compared, a phi, and a check of the result.
define i64 @constant(ptr %p, i32 %wanted) {
start:
  br label %loop
loop:
  %low = phi i64 [ 0, %start ], [ %new.low, %join ]
  %high = phi i64 [ 31, %start ], [ %new.high, %join ]
  %sum = add i64 %high, %low
  %middle = lshr i64 %sum, 1
  %check = icmp ult i64 %sum, 62
  br i1 %check, label %pass, label %panic
pass:
  %address = getelementptr inbounds i32, ptr %p, i64 %middle
  %value = load i32, ptr %address, align 4
  %less = icmp ult i32 %value, %wanted
  br i1 %less, label %right, label %join
right:
  %next = add i64 %middle, 1
  br label %join
join:
  %new.low = phi i64 [ %low, %pass ], [ %next, %right ]
  %new.high = phi i64 [ %middle, %pass ], [ %high, %right ]
  %done = icmp uge i64 %new.low, %new.high
  br i1 %done, label %after, label %loop
after:
  %found = icmp ult i64 %new.low, 32
  br i1 %found, label %exit, label %panic
panic:
  call void @panic()
  unreachable
exit:
  ret i64 %new.low
}
; CHECK-LABEL: define i64 @constant(ptr %p, i32 %wanted) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %low = phi i64 [ 0, %start ], [ %new.low, %join ]
; CHECK-NEXT:   %high = phi i64 [ 31, %start ], [ %new.high, %join ]
; CHECK-NEXT:   %sum = add i64 %high, %low
; CHECK-NEXT:   %middle = lshr i64 %sum, 1
; CHECK-NEXT:   %check = icmp ult i64 %sum, 62
; CHECK-NEXT:   br label %pass
; CHECK-NEXT: pass:
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %p, i64 %middle
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %less = icmp ult i32 %value, %wanted
; CHECK-NEXT:   br i1 %less, label %right, label %join
; CHECK-NEXT: right:
; CHECK-NEXT:   %next = add i64 %middle, 1
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %new.low = phi i64 [ %low, %pass ], [ %next, %right ]
; CHECK-NEXT:   %new.high = phi i64 [ %middle, %pass ], [ %high, %right ]
; CHECK-NEXT:   %done = icmp uge i64 %new.low, %new.high
; CHECK-NEXT:   br i1 %done, label %after, label %loop
; CHECK-NEXT: after:
; CHECK-NEXT:   %found = icmp ult i64 %new.low, 32
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %new.low
; CHECK-NEXT: }

; The index may be greater than the end: the loop does not end where the limits meet.
define i64 @other_end(ptr %p, i64 %length, i32 %wanted) {
start:
  %empty = icmp eq i64 %length, 0
  br i1 %empty, label %exit, label %loop
loop:
  %low = phi i64 [ 0, %start ], [ %new.low, %pass ]
  %high = phi i64 [ %length, %start ], [ %new.high, %pass ]
  %sum = add i64 %high, %low
  %middle = lshr i64 %sum, 1
; CHECK: %check = icmp ult i64 %middle, %length
; CHECK-NEXT: br i1 %check, label %pass, label %panic
  %check = icmp ult i64 %middle, %length
  br i1 %check, label %pass, label %panic
pass:
  %address = getelementptr inbounds i32, ptr %p, i64 %middle
  %value = load i32, ptr %address, align 4
  %less = icmp ult i32 %value, %wanted
  %next = add i64 %middle, 1
  %new.high = select i1 %less, i64 %high, i64 %middle
  %new.low = select i1 %less, i64 %next, i64 %low
  %more = icmp ule i64 %new.low, %new.high
  br i1 %more, label %loop, label %exit
panic:
  call void @panic()
  unreachable
exit:
  %result = phi i64 [ 0, %start ], [ %new.low, %pass ]
  ret i64 %result
}

declare void @panic()
