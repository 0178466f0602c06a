; Loops that call a function that libnvvm expands may be unrolled again, and the loops around them.
; RUN: opt --passes=resume_unrolling

declare double @__nv_exp(double)
declare float @__nv_expf(float)

define void @k(ptr %p, i64 %n, double %x, float %y) {
start:
  br label %outer

outer:
  %i = phi i64 [ 0, %start ], [ %next, %end_of_inner ]
  br label %inner

inner:
  %j = phi i64 [ 0, %outer ], [ %then, %inner ]
  %then = add i64 %j, 1
  %e = call double @__nv_exp(double %x)
  store double %e, ptr %p, align 8
  %again = icmp ult i64 %then, %n
; CHECK: br i1 %again, label %inner, label %end_of_inner
; CHECK-NOT: llvm.loop
  br i1 %again, label %inner, label %end_of_inner, !llvm.loop !0

end_of_inner:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
; CHECK: br i1 %more, label %outer, label %other
  br i1 %more, label %outer, label %other, !llvm.loop !1

other:
  %k = phi i64 [ 0, %end_of_inner ], [ %last, %other ]
  %last = add i64 %k, 1
  %f = call float @__nv_expf(float %y)
  store float %f, ptr %p, align 4
  %rest = icmp ult i64 %last, %n
; CHECK: br i1 %rest, label %other, label %end, !llvm.loop !
  br i1 %rest, label %other, label %end, !llvm.loop !2

end:
  ret void
}

!0 = distinct !{!0, !3}
!1 = distinct !{!1, !3}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.unroll.disable"}
