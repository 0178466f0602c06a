; Branches that some threads skip.
; RUN: opt --passes=rejoin_branches

; Threads with `x == 0` skip the test of `x == 255`.
define i32 @neighbors(ptr %row, i32 %x, i32 %own) {
start:
  %is_first = icmp eq i32 %x, 0
  br i1 %is_first, label %right, label %left
left:
  %before = getelementptr i8, ptr %row, i64 -4
  %a = load i32, ptr %before, align 4
  %least = add i32 %own, %a
  %is_last = icmp eq i32 %x, 255
  br i1 %is_last, label %exit, label %right
right:
  %found = phi i32 [ %least, %left ], [ %own, %start ]
  %after = getelementptr i8, ptr %row, i64 4
  %b = load i32, ptr %after, align 4
  %both = add i32 %found, %b
  br label %exit
exit:
  %result = phi i32 [ %both, %right ], [ %least, %left ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @neighbors(ptr %row, i32 %x, i32 %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_first = icmp eq i32 %x, 0
; CHECK-NEXT:   br i1 %is_first, label %rejoined, label %left
; CHECK-NEXT: left:
; CHECK-NEXT:   %before = getelementptr i8, ptr %row, i64 -4
; CHECK-NEXT:   %a = load i32, ptr %before, align 4
; CHECK-NEXT:   %least = add i32 %own, %a
; CHECK-NEXT:   %is_last = icmp eq i32 %x, 255
; CHECK-NEXT:   br label %rejoined
; CHECK-NEXT: right:
; CHECK-NEXT:   %found = phi i32 [ %0, %rejoined ]
; CHECK-NEXT:   %after = getelementptr i8, ptr %row, i64 4
; CHECK-NEXT:   %b = load i32, ptr %after, align 4
; CHECK-NEXT:   %both = add i32 %found, %b
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i32 [ %both, %right ], [ %0, %rejoined ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: rejoined:
; CHECK-NEXT:   %0 = phi i32 [ %own, %start ], [ %least, %left ]
; CHECK-NEXT:   %1 = icmp eq i32 %x, 255
; CHECK-NEXT:   br i1 %1, label %exit, label %right
; CHECK-NEXT: }

; The same with signed comparisons, the second one of which is outside the arm.
define i32 @signed(ptr %row, i32 %x, i32 %own) {
start:
  %is_inside = icmp sgt i32 %x, 0
  %is_below = icmp slt i32 %x, 255
  br i1 %is_inside, label %left, label %right
left:
  %a = load i32, ptr %row, align 4
  br i1 %is_below, label %right, label %exit
right:
  %found = phi i32 [ %a, %left ], [ %own, %start ]
  store i32 %found, ptr %row, align 4
  br label %exit
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @signed(ptr %row, i32 %x, i32 %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp sgt i32 %x, 0
; CHECK-NEXT:   %is_below = icmp slt i32 %x, 255
; CHECK-NEXT:   br i1 %is_inside, label %left, label %rejoined
; CHECK-NEXT: left:
; CHECK-NEXT:   %a = load i32, ptr %row, align 4
; CHECK-NEXT:   br label %rejoined
; CHECK-NEXT: right:
; CHECK-NEXT:   %found = phi i32 [ %0, %rejoined ]
; CHECK-NEXT:   store i32 %found, ptr %row, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: rejoined:
; CHECK-NEXT:   %0 = phi i32 [ %own, %start ], [ %a, %left ]
; CHECK-NEXT:   %1 = icmp slt i32 %x, 255
; CHECK-NEXT:   br i1 %1, label %right, label %exit
; CHECK-NEXT: }

; Whether `x < 9` is not known where `x < 10`.
define i32 @not_implied(ptr %row, i32 %x, i32 %own) {
start:
  %is_first = icmp ult i32 %x, 10
  br i1 %is_first, label %right, label %left
left:
  %a = load i32, ptr %row, align 4
  %is_last = icmp ult i32 %x, 9
  br i1 %is_last, label %right, label %exit
right:
  %found = phi i32 [ %a, %left ], [ %own, %start ]
  store i32 %found, ptr %row, align 4
  br label %exit
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @not_implied(ptr %row, i32 %x, i32 %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_first = icmp ult i32 %x, 10
; CHECK-NEXT:   br i1 %is_first, label %right, label %left
; CHECK-NEXT: left:
; CHECK-NEXT:   %a = load i32, ptr %row, align 4
; CHECK-NEXT:   %is_last = icmp ult i32 %x, 9
; CHECK-NEXT:   br i1 %is_last, label %right, label %exit
; CHECK-NEXT: right:
; CHECK-NEXT:   %found = phi i32 [ %a, %left ], [ %own, %start ]
; CHECK-NEXT:   store i32 %found, ptr %row, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

; The way leads where the test fails.
define i32 @other_result(ptr %row, i32 %x, i32 %own) {
start:
  %is_first = icmp eq i32 %x, 0
  br i1 %is_first, label %right, label %left
left:
  %a = load i32, ptr %row, align 4
  %is_last = icmp eq i32 %x, 255
  br i1 %is_last, label %right, label %exit
right:
  %found = phi i32 [ %a, %left ], [ %own, %start ]
  store i32 %found, ptr %row, align 4
  br label %exit
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @other_result(ptr %row, i32 %x, i32 %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_first = icmp eq i32 %x, 0
; CHECK-NEXT:   br i1 %is_first, label %right, label %left
; CHECK-NEXT: left:
; CHECK-NEXT:   %a = load i32, ptr %row, align 4
; CHECK-NEXT:   %is_last = icmp eq i32 %x, 255
; CHECK-NEXT:   br i1 %is_last, label %right, label %exit
; CHECK-NEXT: right:
; CHECK-NEXT:   %found = phi i32 [ %a, %left ], [ %own, %start ]
; CHECK-NEXT:   store i32 %found, ptr %row, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

; A signed comparison says nothing about one of integers without sign.
define i32 @mixed(ptr %row, i32 %x, i32 %own) {
start:
  %is_inside = icmp sgt i32 %x, 0
  br i1 %is_inside, label %left, label %right
left:
  %a = load i32, ptr %row, align 4
  %is_below = icmp ult i32 %x, 255
  br i1 %is_below, label %right, label %exit
right:
  %found = phi i32 [ %a, %left ], [ %own, %start ]
  store i32 %found, ptr %row, align 4
  br label %exit
exit:
  ret i32 0
}
; CHECK-LABEL: define i32 @mixed(ptr %row, i32 %x, i32 %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp sgt i32 %x, 0
; CHECK-NEXT:   br i1 %is_inside, label %left, label %right
; CHECK-NEXT: left:
; CHECK-NEXT:   %a = load i32, ptr %row, align 4
; CHECK-NEXT:   %is_below = icmp ult i32 %x, 255
; CHECK-NEXT:   br i1 %is_below, label %right, label %exit
; CHECK-NEXT: right:
; CHECK-NEXT:   %found = phi i32 [ %a, %left ], [ %own, %start ]
; CHECK-NEXT:   store i32 %found, ptr %row, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

; The other target uses a value of the arm that does not reach it otherwise.
define i32 @used_elsewhere(ptr %row, i32 %x, i32 %own) {
start:
  %is_first = icmp eq i32 %x, 0
  br i1 %is_first, label %right, label %left
left:
  %a = load i32, ptr %row, align 4
  %is_last = icmp eq i32 %x, 255
  br i1 %is_last, label %exit, label %right
right:
  store i32 %own, ptr %row, align 4
  br label %exit
exit:
  %result = phi i32 [ %a, %left ], [ %own, %right ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @used_elsewhere(ptr %row, i32 %x, i32 %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_first = icmp eq i32 %x, 0
; CHECK-NEXT:   br i1 %is_first, label %right, label %left
; CHECK-NEXT: left:
; CHECK-NEXT:   %a = load i32, ptr %row, align 4
; CHECK-NEXT:   %is_last = icmp eq i32 %x, 255
; CHECK-NEXT:   br i1 %is_last, label %exit, label %right
; CHECK-NEXT: right:
; CHECK-NEXT:   store i32 %own, ptr %row, align 4
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i32 [ %a, %left ], [ %own, %right ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }
