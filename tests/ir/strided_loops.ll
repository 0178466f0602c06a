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
; CHECK: !0 = !{!"llvm.loop.unroll.disable"}
; CHECK: !1 = distinct !{!1, !0}
