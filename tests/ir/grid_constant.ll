; Parameters that nobody writes are listed by their numbers, from 1 on.
; RUN: opt --passes=remove_unreachable_blocks

; CHECK: define void @kernel(i32 %first, ptr align 64 byval([16 x i64]) %map, ptr align 8 byval([1 x i64]) %copied)
define void @kernel(i32 %first, ptr align 64 byval([16 x i64]) %map, ptr align 8 byval([1 x i64]) %copied) {
start:
  ret void
}

!nvvm.annotations = !{!0, !1}
!0 = !{ptr @kernel, !"kernel", i32 1}
!1 = !{ptr @kernel, !"grid_constant", !2}
; CHECK: !{i32 2}
; CHECK: !{ptr @kernel, !"grid_constant", !2}
!2 = !{i32 2}
