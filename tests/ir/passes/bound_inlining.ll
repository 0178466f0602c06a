; Functions that would grow beyond 2000 instructions by inlining are `noinline`, as is the largest
; function of each cycle.
; RUN: opt --passes=bound_inlining

; 20 instructions.
; CHECK: define internal i32 @leaf(i32 %x) {
define internal i32 @leaf(i32 %x) {
start:
  %v0 = add i32 %x, 0
  %v1 = add i32 %x, 1
  %v2 = add i32 %x, 2
  %v3 = add i32 %x, 3
  %v4 = add i32 %x, 4
  %v5 = add i32 %x, 5
  %v6 = add i32 %x, 6
  %v7 = add i32 %x, 7
  %v8 = add i32 %x, 8
  %v9 = add i32 %x, 9
  %v10 = add i32 %x, 10
  %v11 = add i32 %x, 11
  %v12 = add i32 %x, 12
  %v13 = add i32 %x, 13
  %v14 = add i32 %x, 14
  %v15 = add i32 %x, 15
  %v16 = add i32 %x, 16
  %v17 = add i32 %x, 17
  %v18 = add i32 %x, 18
  ret i32 %x
}

; 21 + 16 * 20 = 341.
; CHECK: define internal i32 @small(i32 %x) {
define internal i32 @small(i32 %x) {
start:
  %v0 = add i32 %x, 0
  %v1 = add i32 %x, 1
  %v2 = add i32 %x, 2
  %v3 = add i32 %x, 3
  %c0 = call i32 @leaf(i32 %x)
  %c1 = call i32 @leaf(i32 %x)
  %c2 = call i32 @leaf(i32 %x)
  %c3 = call i32 @leaf(i32 %x)
  %c4 = call i32 @leaf(i32 %x)
  %c5 = call i32 @leaf(i32 %x)
  %c6 = call i32 @leaf(i32 %x)
  %c7 = call i32 @leaf(i32 %x)
  %c8 = call i32 @leaf(i32 %x)
  %c9 = call i32 @leaf(i32 %x)
  %c10 = call i32 @leaf(i32 %x)
  %c11 = call i32 @leaf(i32 %x)
  %c12 = call i32 @leaf(i32 %x)
  %c13 = call i32 @leaf(i32 %x)
  %c14 = call i32 @leaf(i32 %x)
  %c15 = call i32 @leaf(i32 %x)
  ret i32 %x
}

; 6 + 5 * 341 = 1711 do not exceed the limit.
; CHECK: define internal i32 @fits(i32 %x) {
define internal i32 @fits(i32 %x) {
start:
  %c0 = call i32 @small(i32 %x)
  %c1 = call i32 @small(i32 %x)
  %c2 = call i32 @small(i32 %x)
  %c3 = call i32 @small(i32 %x)
  %c4 = call i32 @small(i32 %x)
  ret i32 %x
}

; 7 + 6 * 341 = 2053 do.
; CHECK: define internal i32 @exceeds(i32 %x) noinline {
define internal i32 @exceeds(i32 %x) inlinehint {
start:
  %c0 = call i32 @small(i32 %x)
  %c1 = call i32 @small(i32 %x)
  %c2 = call i32 @small(i32 %x)
  %c3 = call i32 @small(i32 %x)
  %c4 = call i32 @small(i32 %x)
  %c5 = call i32 @small(i32 %x)
  ret i32 %x
}

; With one caller the limit is 20000.
; CHECK: define internal i32 @once(i32 %x) {
define internal i32 @once(i32 %x) {
start:
  %c0 = call i32 @fits(i32 %x)
  %c1 = call i32 @fits(i32 %x)
  ret i32 %x
}

; The callees that stay calls do not count.
; CHECK: define internal i32 @calls(i32 %x) {
define internal i32 @calls(i32 %x) {
start:
  %c0 = call i32 @exceeds(i32 %x)
  %c1 = call i32 @exceeds(i32 %x)
  %c2 = call i32 @exceeds(i32 %x)
  %c3 = call i32 @exceeds(i32 %x)
  ret i32 %x
}

; The attribute wins.
; CHECK: define internal i32 @always(i32 %x) alwaysinline {
define internal i32 @always(i32 %x) alwaysinline {
start:
  %c0 = call i32 @small(i32 %x)
  %c1 = call i32 @small(i32 %x)
  %c2 = call i32 @small(i32 %x)
  %c3 = call i32 @small(i32 %x)
  %c4 = call i32 @small(i32 %x)
  %c5 = call i32 @small(i32 %x)
  ret i32 %x
}

; Mutual recursion stops at the larger function, and recursion of one function is unchanged.
; CHECK: define internal i32 @even(i32 %x) noinline {
define internal i32 @even(i32 %x) {
start:
  %v0 = add i32 %x, 0
  %v1 = add i32 %x, 1
  %v2 = add i32 %x, 2
  %c0 = call i32 @odd(i32 %x)
  ret i32 %x
}

; CHECK: define internal i32 @odd(i32 %x) {
define internal i32 @odd(i32 %x) {
start:
  %c0 = call i32 @even(i32 %x)
  ret i32 %x
}

; CHECK: define internal i32 @itself(i32 %x) {
define internal i32 @itself(i32 %x) {
start:
  %c0 = call i32 @itself(i32 %x)
  ret i32 %x
}

; CHECK: define void @kernel(i32 %x)
define void @kernel(i32 %x) {
start:
  %c0 = call i32 @calls(i32 %x)
  %c1 = call i32 @calls(i32 %x)
  %c2 = call i32 @always(i32 %x)
  %c3 = call i32 @always(i32 %x)
  %c4 = call i32 @even(i32 %x)
  %c5 = call i32 @itself(i32 %x)
  %c6 = call i32 @once(i32 %x)
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
