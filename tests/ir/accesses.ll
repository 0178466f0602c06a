; Accesses and addresses are written with all that is known about them.
; RUN: print

define void @f(ptr %p) {
start:
; CHECK: load volatile i32, ptr %p, align 2
  %a = load volatile i32, ptr %p, align 2
; CHECK: store volatile i32 %a, ptr %p, align 1
  store volatile i32 %a, ptr %p, align 1
; CHECK: load i8, ptr %p, align 1, !range !0
  %b = load i8, ptr %p, align 1, !range !0
; CHECK: load ptr, ptr %p, align 8, !nonnull !1, !noundef !1
  %q = load ptr, ptr %p, align 8, !nonnull !1, !noundef !1
; CHECK: getelementptr i32, ptr %p, i64 1
  %c = getelementptr i32, ptr %p, i64 1
; CHECK: getelementptr inbounds i32, ptr %p, i64 2
  %d = getelementptr inbounds i32, ptr %p, i64 2
  ret void
}

; CHECK: !{i8 0, i8 2}
; CHECK: !{}
!0 = !{i8 0, i8 2}
!1 = !{}
