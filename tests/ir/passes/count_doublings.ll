; Loops whose variables have known bounds in each iteration.
; RUN: opt --passes=count_doublings

; A tree of 255 nodes has eight levels. After the last one, the node is between 256 and 511.
define i32 @tree(ptr %nodes, i32 %key) {
start:
  br label %loop
loop:
  %node = phi i64 [ 1, %start ], [ %next, %loop ]
  %address = getelementptr inbounds i32, ptr %nodes, i64 %node
  %value = load i32, ptr %address, align 4
  %more = icmp ugt i32 %key, %value
  %bit = zext i1 %more to i64
  %twice = shl i64 %node, 1
  %next = add i64 %twice, %bit
  %continues = icmp ult i64 %node, 128
  br i1 %continues, label %loop, label %exit
exit:
  %leaf = add i64 %next, -256
  %inside = icmp ult i64 %leaf, 256
  %narrow = trunc i64 %leaf to i32
  %result = select i1 %inside, i32 %narrow, i32 -1
  ret i32 %result
}
; CHECK-LABEL: define i32 @tree(ptr %nodes, i32 %key) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %0 = phi i32 [ 0, %start ], [ %1, %loop ]
; CHECK-NEXT:   %node = phi i64 [ 1, %start ], [ %next, %loop ]
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %nodes, i64 %node
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %more = icmp ugt i32 %key, %value
; CHECK-NEXT:   %bit = zext i1 %more to i64
; CHECK-NEXT:   %twice = shl i64 %node, 1
; CHECK-NEXT:   %next = add i64 %twice, %bit
; CHECK-NEXT:   %continues = icmp ult i64 %node, 128
; CHECK-NEXT:   %1 = add nuw nsw i32 %0, 1
; CHECK-NEXT:   %2 = icmp ne i32 %1, 8
; CHECK-NEXT:   br i1 %2, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %3 = and i64 %next, 255
; CHECK-NEXT:   %4 = or i64 %3, 256
; CHECK-NEXT:   %leaf = add i64 %4, -256
; CHECK-NEXT:   %inside = icmp ult i64 %leaf, 256
; CHECK-NEXT:   %narrow = trunc i64 %leaf to i32
; CHECK-NEXT:   %result = select i1 %inside, i32 %narrow, i32 -1
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }

; The end of the other branch, a signed comparison of the next value, and a phi after the loop.
define i32 @next(ptr %nodes, i32 %key, i1 %skip) {
start:
  br i1 %skip, label %exit, label %loop
loop:
  %node = phi i32 [ 1, %start ], [ %next, %loop ]
  %less = icmp ult i32 %key, %node
  %step = select i1 %less, i32 3, i32 2
  %next = mul i32 %node, %step
  %ends = icmp sgt i32 %next, 1
  br i1 %ends, label %second, label %loop
second:
  br label %inner
inner:
  %i = phi i32 [ 16, %second ], [ %half, %inner ]
  %odd = and i32 %key, 1
  %half = lshr i32 %i, 1
  %with = or i32 %half, %odd
  %ended = icmp eq i32 %half, 0
  br i1 %ended, label %exit, label %inner
exit:
  %result = phi i32 [ 0, %start ], [ %with, %inner ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @next(ptr %nodes, i32 %key, i1 %skip) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %skip, label %exit, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %node = phi i32 [ 1, %start ], [ %next, %loop ]
; CHECK-NEXT:   %less = icmp ult i32 %key, %node
; CHECK-NEXT:   %step = select i1 %less, i32 3, i32 2
; CHECK-NEXT:   %next = mul i32 %node, %step
; CHECK-NEXT:   %ends = icmp sgt i32 %next, 1
; CHECK-NEXT:   br i1 %ends, label %second, label %loop
; CHECK-NEXT: second:
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %i = phi i32 [ 16, %second ], [ %half, %inner ]
; CHECK-NEXT:   %odd = and i32 %key, 1
; CHECK-NEXT:   %half = lshr i32 %i, 1
; CHECK-NEXT:   %with = or i32 %half, %odd
; CHECK-NEXT:   %ended = icmp eq i32 %half, 0
; CHECK-NEXT:   br i1 %ended, label %exit, label %inner
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i32 [ 0, %start ], [ %with, %inner ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }

; Some iterations may or may not be the last one.
define i32 @unknown(i32 %key, i32 %end) {
start:
  br label %loop
loop:
  %node = phi i32 [ 1, %start ], [ %next, %loop ]
  %bits = and i32 %key, 3
  %twice = shl i32 %node, 1
  %next = add i32 %twice, %bits
  %continues = icmp ult i32 %next, 100
  br i1 %continues, label %loop, label %other
other:
  %variable = phi i32 [ 1, %loop ], [ %more, %other ]
  %bit = and i32 %key, 1
  %double = shl i32 %variable, 1
  %more = or i32 %double, %bit
  %below = icmp ult i32 %more, %end
  br i1 %below, label %other, label %wrap
wrap:
  %large = phi i8 [ 1, %other ], [ %larger, %wrap ]
  %low = trunc i32 %bit to i8
  %quadruple = shl i8 %large, 2
  %larger = or i8 %quadruple, %low
  %small = icmp ult i8 %large, -128
  br i1 %small, label %wrap, label %exit
exit:
  ret i32 %next
}
; CHECK-LABEL: define i32 @unknown(i32 %key, i32 %end) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %node = phi i32 [ 1, %start ], [ %next, %loop ]
; CHECK-NEXT:   %bits = and i32 %key, 3
; CHECK-NEXT:   %twice = shl i32 %node, 1
; CHECK-NEXT:   %next = add i32 %twice, %bits
; CHECK-NEXT:   %continues = icmp ult i32 %next, 100
; CHECK-NEXT:   br i1 %continues, label %loop, label %other
; CHECK-NEXT: other:
; CHECK-NEXT:   %variable = phi i32 [ 1, %loop ], [ %more, %other ]
; CHECK-NEXT:   %bit = and i32 %key, 1
; CHECK-NEXT:   %double = shl i32 %variable, 1
; CHECK-NEXT:   %more = or i32 %double, %bit
; CHECK-NEXT:   %below = icmp ult i32 %more, %end
; CHECK-NEXT:   br i1 %below, label %other, label %wrap
; CHECK-NEXT: wrap:
; CHECK-NEXT:   %large = phi i8 [ 1, %other ], [ %larger, %wrap ]
; CHECK-NEXT:   %low = trunc i32 %bit to i8
; CHECK-NEXT:   %quadruple = shl i8 %large, 2
; CHECK-NEXT:   %larger = or i8 %quadruple, %low
; CHECK-NEXT:   %small = icmp ult i8 %large, -128
; CHECK-NEXT:   br i1 %small, label %wrap, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 %next
; CHECK-NEXT: }

; Another way out: the value after the loop may be that of an earlier iteration.
define i64 @leaves(ptr %nodes, i32 %key) {
start:
  br label %loop
loop:
  %node = phi i64 [ 1, %start ], [ %next, %latch ]
  %address = getelementptr inbounds i32, ptr %nodes, i64 %node
  %value = load i32, ptr %address, align 4
  %more = icmp ugt i32 %key, %value
  %bit = zext i1 %more to i64
  %twice = shl i64 %node, 1
  %next = add i64 %twice, %bit
  %found = icmp eq i32 %key, %value
  br i1 %found, label %exit, label %latch
latch:
  %continues = icmp ult i64 %next, 256
  br i1 %continues, label %loop, label %exit
exit:
  %leaf = add i64 %next, -256
  ret i64 %leaf
}
; CHECK-LABEL: define i64 @leaves(ptr %nodes, i32 %key) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %0 = phi i32 [ 0, %start ], [ %1, %latch ]
; CHECK-NEXT:   %node = phi i64 [ 1, %start ], [ %next, %latch ]
; CHECK-NEXT:   %address = getelementptr inbounds i32, ptr %nodes, i64 %node
; CHECK-NEXT:   %value = load i32, ptr %address, align 4
; CHECK-NEXT:   %more = icmp ugt i32 %key, %value
; CHECK-NEXT:   %bit = zext i1 %more to i64
; CHECK-NEXT:   %twice = shl i64 %node, 1
; CHECK-NEXT:   %next = add i64 %twice, %bit
; CHECK-NEXT:   %found = icmp eq i32 %key, %value
; CHECK-NEXT:   br i1 %found, label %exit, label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %continues = icmp ult i64 %next, 256
; CHECK-NEXT:   %1 = add nuw nsw i32 %0, 1
; CHECK-NEXT:   %2 = icmp ne i32 %1, 8
; CHECK-NEXT:   br i1 %2, label %loop, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %leaf = add i64 %next, -256
; CHECK-NEXT:   ret i64 %leaf
; CHECK-NEXT: }
