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
