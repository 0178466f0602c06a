; Each check gets its own call of the panic.
; RUN: opt --passes=convergence,separate_panics

declare void @panic(i64) noreturn
declare void @meets() convergent

define void @reports() noreturn {
start:
  call void @meets()
  unreachable
}

; CHECK: define void @checks
; CHECK: br i1 %p, label %next, label %fails
; CHECK: br i1 %q, label %done, label %fails.1
; CHECK: fails:
; CHECK: phi i64 [ %a, %start ]
; CHECK: call void @panic
; CHECK: fails.1:
; CHECK-NOT: phi
; CHECK: call void @panic(i64 %b)
; CHECK: unreachable
define void @checks(i64 %a, i64 %b, i64 %len) {
start:
  %p = icmp ult i64 %a, %len
  br i1 %p, label %next, label %fails
next:
  %q = icmp ult i64 %b, %len
  br i1 %q, label %done, label %fails
done:
  ret void
fails:
  %i = phi i64 [ %a, %start ], [ %b, %next ]
  call void @panic(i64 %i) noreturn
  unreachable
}

; A panic that can reach a convergent operation is not copied.
; CHECK: define void @convergent
; CHECK: br i1 %p, label %next, label %fails
; CHECK: br i1 %q, label %done, label %fails
; CHECK: phi i64 [ %a, %start ], [ %b, %next ]
define void @convergent(i64 %a, i64 %b, i64 %len) {
start:
  %p = icmp ult i64 %a, %len
  br i1 %p, label %next, label %fails
next:
  %q = icmp ult i64 %b, %len
  br i1 %q, label %done, label %fails
done:
  ret void
fails:
  %i = phi i64 [ %a, %start ], [ %b, %next ]
  call void @reports() noreturn
  unreachable
}
