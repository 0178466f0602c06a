; Blocks without a path from the entry go, and with them their edges into phis.
; RUN: opt --passes=remove_unreachable_blocks

define i32 @f(i32 %x, i1 %c) {
start:
  br i1 %c, label %a, label %join

a:
  br label %join

; CHECK-NOT: dead
dead:
  %d = add i32 %x, 1
  br label %dead2

dead2:
  %e = add i32 %d, 1
  br i1 %c, label %join, label %dead

; CHECK: %r = phi i32 [ %x, %start ], [ 2, %a ]
join:
  %r = phi i32 [ %x, %start ], [ 2, %a ], [ %e, %dead2 ]
  ret i32 %r
}

; A loop that nothing enters is removed; one that is reachable stays.
define void @loops(i1 %c) {
start:
  br label %live
live:
  br i1 %c, label %live, label %end
dead:
  br i1 %c, label %dead, label %end
end:
  ret void
}
; CHECK-LABEL: define void @loops(i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %live
; CHECK-NEXT: live:
; CHECK-NEXT:   br i1 %c, label %live, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The targets of a switch are reachable.
define i32 @switches(i32 %x) {
start:
  switch i32 %x, label %default [
    i32 1, label %one
    i32 2, label %default
  ]
one:
  ret i32 1
unused:
  br label %default
default:
  %r = phi i32 [ 0, %start ], [ 0, %start ], [ 3, %unused ]
  ret i32 %r
}
; CHECK-LABEL: define i32 @switches(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %x, label %default [
; CHECK-NEXT:     i32 1, label %one
; CHECK-NEXT:     i32 2, label %default
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   ret i32 1
; CHECK-NEXT: default:
; CHECK-NEXT:   %r = phi i32 [ 0, %start ], [ 0, %start ]
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
