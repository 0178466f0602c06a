; Loops that search.
; RUN: opt --passes=keep_searches

; The end depends on whether the key is found.
define i32 @search(ptr %keys, i32 %key) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %address = getelementptr inbounds i32, ptr %keys, i64 %i
  %value = load i32, ptr %address, align 4
  %same = icmp eq i32 %value, %key
  br i1 %same, label %found, label %latch
latch:
  %next = add i64 %i, 1
  %ends = icmp eq i64 %next, 2048
  br i1 %ends, label %exit, label %loop
found:
  store i32 1, ptr %keys, align 4
  br label %exit
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @search(ptr %keys, i32 %key) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %keys, i64 %i
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %same = icmp eq i32 %value, %key
; CHECK-NEXT:   br i1 %same, label %found, label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 2048
; CHECK-NEXT:   br i1 %ends, label %exit, label %loop, !llvm.loop !1
; CHECK-NEXT: found:
; CHECK-NEXT:   store i32 1, ptr %keys, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

; A loop with few iterations, which libnvvm unrolls completely.
define i32 @few(ptr %keys, i32 %key) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %address = getelementptr inbounds i32, ptr %keys, i64 %i
  %value = load i32, ptr %address, align 4
  %same = icmp eq i32 %value, %key
  br i1 %same, label %found, label %latch
latch:
  %next = add i64 %i, 1
  %ends = icmp eq i64 %next, 8
  br i1 %ends, label %exit, label %loop
found:
  store i32 1, ptr %keys, align 4
  br label %exit
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @few(ptr %keys, i32 %key) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %keys, i64 %i
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %same = icmp eq i32 %value, %key
; CHECK-NEXT:   br i1 %same, label %found, label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 8
; CHECK-NEXT:   br i1 %ends, label %exit, label %loop
; CHECK-NEXT: found:
; CHECK-NEXT:   store i32 1, ptr %keys, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

; A single end, and one that panics.
define i32 @checked(ptr %keys, i32 %key, i64 %length) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %inside = icmp ult i64 %i, %length
  br i1 %inside, label %latch, label %panic
latch:
  %next = add i64 %i, 1
  %ends = icmp eq i64 %next, 2048
  br i1 %ends, label %exit, label %loop
panic:
  call void @panic()
  unreachable
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @checked(ptr %keys, i32 %key, i64 %length) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %inside = icmp ult i64 %i, %length
; CHECK-NEXT:   br i1 %inside, label %latch, label %panic
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 2048
; CHECK-NEXT:   br i1 %ends, label %exit, label %loop
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @panic()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

declare void @panic()
