; A loop whose step is a variable is not unrolled by libnvvm; one whose step is a number may be.
; RUN: opt --passes=keep_strided_loops

define void @k(ptr %p, i64 %n, i64 %step) {
start:
  br label %strided

strided:
  %i = phi i64 [ 0, %start ], [ %next, %strided ]
  %next = add i64 %i, %step
  store i64 %i, ptr %p, align 8
  %more = icmp ult i64 %next, %n
; CHECK: br i1 %more, label %strided, label %counted, !llvm.loop !1
  br i1 %more, label %strided, label %counted

counted:
  %j = phi i64 [ 0, %strided ], [ %then, %counted ]
  %then = add i64 %j, 2
  store i64 %j, ptr %p, align 8
  %again = icmp ult i64 %then, %n
; CHECK: br i1 %again, label %counted, label %end
  br i1 %again, label %counted, label %end

end:
  ret void
}

; The test may compare the counter before its increment, and be negated.
; CHECK: define void @before_increment
define void @before_increment(ptr %p, i64 %n, i64 %step) {
start:
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  store i64 %i, ptr %p, align 8
  %next = add i64 %step, %i
  %done = icmp uge i64 %i, %n
; CHECK: br i1 %done, label %end, label %loop, !llvm.loop !
  br i1 %done, label %end, label %loop

end:
  ret void
}

; Not a counter: the value that is tested does not depend on the step.
; CHECK: define void @other_test
define void @other_test(ptr %p, i64 %n, i64 %step) {
start:
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %next = add i64 %i, %step
  %x = load i64, ptr %p, align 8
  %more = icmp ult i64 %x, %n
; CHECK: br i1 %more, label %loop, label %end
; CHECK-NOT: llvm.loop
  br i1 %more, label %loop, label %end

end:
  ret void
}

; Not a loop: the branch leads forward.
; CHECK: define void @forward
define void @forward(i64 %n, i64 %step) {
start:
  br label %next

next:
  %i = phi i64 [ 0, %start ]
  %sum = add i64 %i, %step
  %more = icmp ult i64 %sum, %n
  br i1 %more, label %then, label %end

then:
  br label %end

; CHECK-NOT: llvm.loop
; CHECK: }
end:
  ret void
}
; CHECK: !{!"llvm.loop.unroll.disable"}
