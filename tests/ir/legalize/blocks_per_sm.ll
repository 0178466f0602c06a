; The minimum number of blocks is limited to what every multiprocessor from the target on holds: 1536
; threads, or 1024 before sm_80.
; RUN: opt --passes=legalize --sm=90
; RUN: opt --passes=legalize --sm=75 --dialect=llvm7 --check-prefix=OLD

define void @many() {
start:
  ret void
}

define void @some() {
start:
  ret void
}

define void @none() {
start:
  ret void
}

define void @unbounded() {
start:
  ret void
}

!nvvm.annotations = !{!0, !1, !2, !3, !4, !5, !6, !7, !8, !9, !10, !11, !12, !13, !14, !15, !16}
!0 = !{ptr @many, !"kernel", i32 1}
!1 = !{ptr @many, !"maxntidx", i32 256}
!2 = !{ptr @many, !"maxntidy", i32 1}
!3 = !{ptr @many, !"maxntidz", i32 1}
!4 = !{ptr @many, !"minctasm", i32 32}
!5 = !{ptr @some, !"kernel", i32 1}
!6 = !{ptr @some, !"maxntidx", i32 16}
!7 = !{ptr @some, !"maxntidy", i32 16}
!8 = !{ptr @some, !"maxntidz", i32 1}
!9 = !{ptr @some, !"minctasm", i32 2}
!10 = !{ptr @none, !"kernel", i32 1}
!11 = !{ptr @none, !"maxntidx", i32 1024}
!12 = !{ptr @none, !"maxntidy", i32 2}
!13 = !{ptr @none, !"maxntidz", i32 1}
!14 = !{ptr @none, !"minctasm", i32 2}
!15 = !{ptr @unbounded, !"kernel", i32 1}
!16 = !{ptr @unbounded, !"minctasm", i32 64}

; CHECK: !{ptr @many, !"minctasm", i32 6}
; CHECK: !{ptr @some, !"minctasm", i32 2}
; CHECK-NOT: !{ptr @none, !"minctasm"
; CHECK: !{ptr @unbounded, !"minctasm", i32 64}
; OLD: @many, !"minctasm", i32 4}
; OLD: @some, !"minctasm", i32 2}
; OLD-NOT: @none, !"minctasm"
; OLD: @unbounded, !"minctasm", i32 64}
