; Loops with checks over every n-th element of a slice end by a counter.
; RUN: opt --passes=count_strides

declare void @panic(i64)

; `slice.iter().skip(lane).step_by(32)`: an address of the element, and one of the rest behind it.
define i32 @every_32nd(ptr %slice, i64 %len, ptr %first, i64 %limit) {
start:
  %end = getelementptr inbounds [4 x i8], ptr %slice, i64 %len
  %e = ptrtoint ptr %end to i64
  %rest = getelementptr inbounds i8, ptr %first, i64 4
  br label %loop

loop:
  %a = phi ptr [ %a2, %go ], [ %rest, %start ]
  %b = phi ptr [ %b2, %go ], [ %first, %start ]
  %sum = phi i32 [ %sum2, %go ], [ 0, %start ]
  %x = load i32, ptr %b, align 4
  %wide = zext i32 %x to i64
  %ok = icmp ult i64 %wide, %limit
  br i1 %ok, label %go, label %fails

go:
  %sum2 = add i32 %sum, %x
  %at = ptrtoint ptr %a to i64
  %left = sub nuw i64 %e, %at
  %more = icmp ugt i64 %left, 124
  %b2 = getelementptr inbounds i8, ptr %a, i64 124
  %a2 = getelementptr inbounds i8, ptr %a, i64 128
  br i1 %more, label %loop, label %exit

fails:
  call void @panic(i64 %wide)
  unreachable

exit:
  ret i32 %sum2
}
; CHECK-LABEL: define i32 @every_32nd(
; CHECK-NEXT: start:
; CHECK-NEXT:   %end = getelementptr inbounds [4 x i8], ptr %slice, i64 %len
; CHECK-NEXT:   %e = ptrtoint ptr %end to i64
; CHECK-NEXT:   %rest = getelementptr inbounds i8, ptr %first, i64 4
; CHECK-NEXT:   %0 = ptrtoint ptr %rest to i64
; CHECK-NEXT:   %1 = sub i64 %e, %0
; CHECK-NEXT:   %2 = add i64 %1, 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %3 = phi i64 [ 0, %start ], [ %5, %go ]
; CHECK-NEXT:   %b = phi ptr [ %7, %go ], [ %first, %start ]
; CHECK-NEXT:   %sum = phi i32 [ %sum2, %go ], [ 0, %start ]
; CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %b, i64 4
; CHECK-NEXT:   %x = load i32, ptr %b, align 4
; CHECK:      go:
; CHECK:        %5 = add nuw nsw i64 %3, 128
; CHECK-NEXT:   %6 = icmp ult i64 %5, %2
; CHECK-NEXT:   %7 = getelementptr inbounds i8, ptr %b, i64 128
; CHECK-NEXT:   br i1 %6, label %loop, label %exit

; The second address lags one iteration behind, and the branch is inverted.
define i32 @every_8th(ptr %slice, i64 %len, ptr %first, i64 %limit) {
start:
  %end = getelementptr inbounds [4 x i8], ptr %slice, i64 %len
  %e = ptrtoint ptr %end to i64
  %b0 = getelementptr inbounds i8, ptr %first, i64 4
  %a0 = getelementptr inbounds i8, ptr %first, i64 36
  br label %loop

loop:
  %a = phi ptr [ %a2, %go ], [ %a0, %start ]
  %b = phi ptr [ %a, %go ], [ %b0, %start ]
  %address = getelementptr inbounds i8, ptr %b, i64 28
  %x = load i32, ptr %address, align 4
  %wide = zext i32 %x to i64
  %ok = icmp ult i64 %wide, %limit
  br i1 %ok, label %go, label %fails

go:
  %at = ptrtoint ptr %a to i64
  %left = sub nuw i64 %e, %at
  %done = icmp ult i64 %left, 32
  %a2 = getelementptr inbounds i8, ptr %a, i64 32
  br i1 %done, label %exit, label %loop

fails:
  call void @panic(i64 %wide)
  unreachable

exit:
  ret i32 %x
}
; CHECK-LABEL: define i32 @every_8th(
; CHECK:        %2 = add i64 %1, 1
; CHECK:      loop:
; CHECK-NEXT:   %3 = phi i64 [ 0, %start ], [ %5, %go ]
; CHECK-NEXT:   %b = phi ptr [ %7, %go ], [ %b0, %start ]
; CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %b, i64 32
; CHECK:        %5 = add nuw nsw i64 %3, 32
; CHECK-NEXT:   %6 = icmp uge i64 %5, %2
; CHECK-NEXT:   %7 = getelementptr inbounds i8, ptr %b, i64 32
; CHECK-NEXT:   br i1 %6, label %exit, label %loop

; The distance is that from the element behind.
define i32 @every_256th(i64 %e, ptr %first, i64 %limit) {
start:
  br label %loop

loop:
  %a = phi ptr [ %a2, %go ], [ %first, %start ]
  %x = load i32, ptr %a, align 4
  %wide = zext i32 %x to i64
  %ok = icmp ult i64 %wide, %limit
  br i1 %ok, label %go, label %fails

go:
  %behind = getelementptr inbounds i8, ptr %a, i64 4
  %at = ptrtoint ptr %behind to i64
  %left = sub nuw i64 %e, %at
  %done = icmp ule i64 %left, 1000
  %a2 = getelementptr inbounds i8, ptr %a, i64 1024
  br i1 %done, label %exit, label %loop

fails:
  call void @panic(i64 %wide)
  unreachable

exit:
  ret i32 %x
}
; CHECK-LABEL: define i32 @every_256th(
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = ptrtoint ptr %first to i64
; CHECK-NEXT:   %1 = sub i64 %e, %0
; CHECK-NEXT:   %2 = add i64 %1, 20
; CHECK:        %4 = add nuw nsw i64 %3, 1024
; CHECK-NEXT:   %5 = icmp uge i64 %4, %2

; The other address does not begin as far behind: only the comparison is replaced.
define i32 @elsewhere(i64 %e, ptr %a0, ptr %b0, i64 %limit) {
start:
  br label %loop

loop:
  %a = phi ptr [ %a2, %go ], [ %a0, %start ]
  %b = phi ptr [ %a, %go ], [ %b0, %start ]
  %x = load i32, ptr %b, align 4
  %wide = zext i32 %x to i64
  %ok = icmp ult i64 %wide, %limit
  br i1 %ok, label %go, label %fails

go:
  %at = ptrtoint ptr %a to i64
  %left = sub nuw i64 %e, %at
  %more = icmp uge i64 %left, 32
  %a2 = getelementptr inbounds i8, ptr %a, i64 32
  br i1 %more, label %loop, label %exit

fails:
  call void @panic(i64 %wide)
  unreachable

exit:
  ret i32 %x
}
; CHECK-LABEL: define i32 @elsewhere(
; CHECK:        %3 = phi i64 [ 0, %start ], [ %4, %go ]
; CHECK-NEXT:   %a = phi ptr [ %a2, %go ], [ %a0, %start ]
; CHECK-NEXT:   %b = phi ptr [ %a, %go ], [ %b0, %start ]
; CHECK:        %a2 = getelementptr inbounds i8, ptr %a, i64 32
; CHECK:        %4 = add nuw nsw i64 %3, 32
; CHECK-NEXT:   %5 = icmp ult i64 %4, %2

; Unchanged: the distance of the elements is no power of two.
define i32 @every_third(i64 %e, ptr %a0, i64 %limit) {
start:
  br label %loop

loop:
  %a = phi ptr [ %a2, %go ], [ %a0, %start ]
  %x = load i32, ptr %a, align 4
  %wide = zext i32 %x to i64
  %ok = icmp ult i64 %wide, %limit
  br i1 %ok, label %go, label %fails

go:
  %at = ptrtoint ptr %a to i64
  %left = sub nuw i64 %e, %at
  %more = icmp uge i64 %left, 12
  %a2 = getelementptr inbounds i8, ptr %a, i64 12
; CHECK-LABEL: define i32 @every_third(
; CHECK:        br i1 %more, label %loop, label %exit
  br i1 %more, label %loop, label %exit

fails:
  call void @panic(i64 %wide)
  unreachable

exit:
  ret i32 %x
}

; Unchanged: the last distance may be less than the step, so one more subtraction would wrap around.
define i32 @too_few(i64 %e, ptr %a0, i64 %limit) {
start:
  br label %loop

loop:
  %a = phi ptr [ %a2, %go ], [ %a0, %start ]
  %x = load i32, ptr %a, align 4
  %wide = zext i32 %x to i64
  %ok = icmp ult i64 %wide, %limit
  br i1 %ok, label %go, label %fails

go:
  %at = ptrtoint ptr %a to i64
  %left = sub nuw i64 %e, %at
  %more = icmp uge i64 %left, 33
  %a2 = getelementptr inbounds i8, ptr %a, i64 32
; CHECK-LABEL: define i32 @too_few(
; CHECK:        br i1 %more, label %loop, label %exit
  br i1 %more, label %loop, label %exit

fails:
  call void @panic(i64 %wide)
  unreachable

exit:
  ret i32 %x
}

; Unchanged: no check. libnvvm unrolls the loop.
define i32 @unchecked(i64 %e, ptr %a0) {
start:
  br label %loop

loop:
  %a = phi ptr [ %a2, %loop ], [ %a0, %start ]
  %x = load i32, ptr %a, align 4
  %at = ptrtoint ptr %a to i64
  %left = sub nuw i64 %e, %at
  %more = icmp uge i64 %left, 32
  %a2 = getelementptr inbounds i8, ptr %a, i64 32
; CHECK-LABEL: define i32 @unchecked(
; CHECK:        br i1 %more, label %loop, label %exit
  br i1 %more, label %loop, label %exit

exit:
  ret i32 %x
}
