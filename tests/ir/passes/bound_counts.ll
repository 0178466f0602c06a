; Checks of numbers that loops over slices count are removed.
; RUN: opt --passes=bound_counts

; `text.split_at(text.iter().take_while(|c| …).count())` in a loop over the rest of the text.
define i64 @numbers(ptr %text, i64 %length) {
; CHECK-LABEL: define i64 @numbers(ptr %text, i64 %length) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %none = icmp eq i64 %length, 0
; CHECK-NEXT:   br i1 %none, label %exit, label %number
; CHECK-NEXT: number:
; CHECK-NEXT:   %rest = phi ptr [ %text, %start ], [ %behind, %next ]
; CHECK-NEXT:   %left = phi i64 [ %length, %start ], [ %fewer, %next ]
; CHECK-NEXT:   %empty = phi i1 [ %none, %start ], [ %is.empty, %next ]
; CHECK-NEXT:   br i1 %empty, label %exit, label %digits
; CHECK-NEXT: digits:
; CHECK-NEXT:   %count = phi i64 [ 0, %number ], [ %more, %digit ]
; CHECK-NEXT:   %address = getelementptr inbounds i8, ptr %rest, i64 %count
; CHECK-NEXT:   %byte = load i8, ptr %address, align 1
; CHECK-NEXT:   %is.digit = icmp ult i8 %byte, 10
; CHECK-NEXT:   br i1 %is.digit, label %digit, label %other
; CHECK-NEXT: digit:
; CHECK-NEXT:   %more = add i64 %count, 1
; CHECK-NEXT:   %done = icmp eq i64 %more, %left
; CHECK-NEXT:   br i1 %done, label %counted, label %digits
; CHECK-NEXT: other:
; CHECK-NEXT:   %exceeds = icmp ugt i64 %count, %left
; CHECK-NEXT:   br label %counted
; CHECK-NEXT: counted:
; CHECK-NEXT:   %digits.count = phi i64 [ %count, %other ], [ %left, %digit ]
; CHECK-NEXT:   %late = icmp ule i64 %digits.count, %left
; CHECK-NEXT:   br label %next
; CHECK-NEXT: next:
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %rest, i64 %digits.count
; CHECK-NEXT:   %fewer = sub i64 %left, %digits.count
; CHECK-NEXT:   %is.empty = icmp eq i64 %fewer, 0
; CHECK-NEXT:   br label %number
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 0
; CHECK-NEXT: }
start:
  %none = icmp eq i64 %length, 0
  br i1 %none, label %exit, label %number
number:
  %rest = phi ptr [ %text, %start ], [ %behind, %next ]
  %left = phi i64 [ %length, %start ], [ %fewer, %next ]
  %empty = phi i1 [ %none, %start ], [ %is.empty, %next ]
  br i1 %empty, label %exit, label %digits
digits:
  %count = phi i64 [ 0, %number ], [ %more, %digit ]
  %address = getelementptr inbounds i8, ptr %rest, i64 %count
  %byte = load i8, ptr %address, align 1
  %is.digit = icmp ult i8 %byte, 10
  br i1 %is.digit, label %digit, label %other
digit:
  %more = add i64 %count, 1
  %done = icmp eq i64 %more, %left
  br i1 %done, label %counted, label %digits
other:
  %exceeds = icmp ugt i64 %count, %left
  br i1 %exceeds, label %panic, label %counted
counted:
  %digits.count = phi i64 [ %count, %other ], [ %left, %digit ]
  %late = icmp ule i64 %digits.count, %left
  br i1 %late, label %next, label %panic
next:
  %behind = getelementptr inbounds i8, ptr %rest, i64 %digits.count
  %fewer = sub i64 %left, %digits.count
  %is.empty = icmp eq i64 %fewer, 0
  br label %number
panic:
  call void @panic()
  unreachable
exit:
  ret i64 0
}

; `for x in from { if keep(x) { to[count] = x; count += 1; } }` with an array of 32 elements.
define i64 @filter(ptr %from, ptr %to) {
; CHECK-LABEL: define i64 @filter(ptr %from, ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %join ]
; CHECK-NEXT:   %count = phi i64 [ 0, %start ], [ %counted, %join ]
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %from, i64 %i
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %keep = icmp sgt i32 %value, 0
; CHECK-NEXT:   br i1 %keep, label %kept, label %join
; CHECK-NEXT: kept:
; CHECK-NEXT:   %inside = icmp ult i64 %count, 32
; CHECK-NEXT:   br label %store
; CHECK-NEXT: store:
; CHECK-NEXT:   %slot = getelementptr inbounds i32, ptr %to, i64 %count
; CHECK-NEXT:   store i32 %value, ptr %slot, align 4
; CHECK-NEXT:   %more = add i64 %count, 1
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %counted = phi i64 [ %count, %loop ], [ %more, %store ]
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   %done = icmp eq i64 %next, 32
; CHECK-NEXT:   br i1 %done, label %exit, label %loop
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %counted
; CHECK-NEXT: }
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %join ]
  %count = phi i64 [ 0, %start ], [ %counted, %join ]
  %address = getelementptr inbounds i32, ptr %from, i64 %i
  %value = load i32, ptr %address, align 4
  %keep = icmp sgt i32 %value, 0
  br i1 %keep, label %kept, label %join
kept:
  %inside = icmp ult i64 %count, 32
  br i1 %inside, label %store, label %panic
store:
  %slot = getelementptr inbounds i32, ptr %to, i64 %count
  store i32 %value, ptr %slot, align 4
  %more = add i64 %count, 1
  br label %join
join:
  %counted = phi i64 [ %count, %loop ], [ %more, %store ]
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, 32
  br i1 %done, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret i64 %counted
}

; The length may be 0, so that the loop does not end at it.
define i64 @may_be_0(ptr %text, i64 %length) {
start:
  br label %loop
loop:
  %count = phi i64 [ 0, %start ], [ %more, %next ]
  %address = getelementptr inbounds i8, ptr %text, i64 %count
  %byte = load i8, ptr %address, align 1
  %goes.on = icmp ult i8 %byte, 10
  br i1 %goes.on, label %next, label %other
next:
  %more = add i64 %count, 1
  %done = icmp eq i64 %more, %length
  br i1 %done, label %exit, label %loop
other:
; CHECK: %exceeds = icmp ugt i64 %count, %length
; CHECK-NEXT: br i1 %exceeds, label %panic, label %exit
  %exceeds = icmp ugt i64 %count, %length
  br i1 %exceeds, label %panic, label %exit
panic:
  call void @panic()
  unreachable
exit:
  %result = phi i64 [ %count, %other ], [ %length, %next ]
  ret i64 %result
}

; The count is that of the last row, the length that of this one.
define i64 @stale(ptr %text, ptr %lengths) {
start:
  br label %row
row:
  %before = phi i64 [ 0, %start ], [ %counted, %end ]
  %length = load i64, ptr %lengths, align 8
; CHECK: %exceeds = icmp ugt i64 %before, %length
; CHECK-NEXT: br i1 %exceeds, label %panic, label %guard
  %exceeds = icmp ugt i64 %before, %length
  br i1 %exceeds, label %panic, label %guard
guard:
  %none = icmp eq i64 %length, 0
  br i1 %none, label %end, label %loop
loop:
  %count = phi i64 [ 0, %guard ], [ %more, %next ]
  %address = getelementptr inbounds i8, ptr %text, i64 %count
  %byte = load i8, ptr %address, align 1
  %goes.on = icmp ult i8 %byte, 10
  br i1 %goes.on, label %next, label %end
next:
  %more = add i64 %count, 1
  %done = icmp eq i64 %more, %length
  br i1 %done, label %end, label %loop
end:
  %counted = phi i64 [ 0, %guard ], [ %count, %loop ], [ %length, %next ]
  %last = icmp eq i64 %counted, 7
  br i1 %last, label %exit, label %row
panic:
  call void @panic()
  unreachable
exit:
  ret i64 %counted
}

declare void @panic()
