; A switch on a three-way comparison becomes two branches on the comparisons.
; RUN: opt --passes=branch_on_orderings

declare i8 @llvm.ucmp.i8.i32(i32, i32)
declare i8 @llvm.scmp.i8.i64(i64, i64)

; CHECK: define i32 @unsigned
define i32 @unsigned(i32 %a, i32 %b, i32 %x) {
start:
; CHECK: %0 = icmp ult i32 %a, %b
; CHECK: %2 = icmp ugt i32 %a, %b
; CHECK: br i1 %0, label %less, label %not_less
  %order = call i8 @llvm.ucmp.i8.i32(i32 %a, i32 %b)
  switch i8 %order, label %never [
    i8 -1, label %less
    i8 0, label %equal
    i8 1, label %greater
  ]

; CHECK-NOT: never:
never:
  unreachable

less:
  br label %end

; CHECK: equal:
; CHECK: %y = phi i32 [ %x, %not_less ]
equal:
  %y = phi i32 [ %x, %start ]
  br label %end

greater:
  br label %end

end:
; CHECK: phi i32 [ 1, %less ], [ %y, %equal ], [ 3, %greater ]
  %result = phi i32 [ 1, %less ], [ %y, %equal ], [ 3, %greater ]
  ret i32 %result
; CHECK: not_less:
; CHECK: br i1 %2, label %greater, label %equal
}

; The default is a result's target, and the function's other predecessors keep their values.
; CHECK: define i32 @signed
define i32 @signed(i1 %skip, i64 %a, i64 %b) {
start:
  br i1 %skip, label %end, label %compare

compare:
; CHECK: %0 = icmp slt i64 %a, %b
; CHECK: %2 = icmp sgt i64 %a, %b
; CHECK: br i1 %0, label %less, label %not_less
  %order = call i8 @llvm.scmp.i8.i64(i64 %a, i64 %b)
  switch i8 %order, label %end [
    i8 -1, label %less
    i8 7, label %end
    i8 0, label %equal
  ]

less:
  ret i32 1

equal:
  ret i32 2

end:
; CHECK: phi i32 [ 3, %start ], [ 4, %not_less ]
  %result = phi i32 [ 3, %start ], [ 4, %compare ], [ 4, %compare ]
  ret i32 %result
; CHECK: not_less:
; CHECK: br i1 %2, label %end, label %equal
}

; Other differences, and results that share a target, keep the switch.
; CHECK: define i32 @other
define i32 @other(i32 %a, i32 %b, i32 %c) {
start:
; CHECK: switch i8
  %less = icmp ult i32 %a, %b
  %more = icmp ugt i32 %a, %c
  %x = zext i1 %less to i8
  %y = zext i1 %more to i8
  %order = sub i8 %y, %x
  switch i8 %order, label %greater [
    i8 -1, label %less_block
    i8 0, label %equal
  ]

less_block:
  ret i32 1

equal:
  ret i32 2

greater:
  ret i32 3
}

; CHECK: define i32 @two
define i32 @two(i32 %a, i32 %b) {
start:
; CHECK: switch i8
  %order = call i8 @llvm.ucmp.i8.i32(i32 %a, i32 %b)
  switch i8 %order, label %equal [
    i8 -1, label %less
    i8 1, label %less
  ]

less:
  ret i32 1

equal:
  ret i32 2
}

; LLVM writes the comparison with a power of two as a sign.
; CHECK: define i32 @selected
; CHECK: br i1 %0, label %less, label %not_less
; CHECK: br i1 %1, label %greater, label %equal
define i32 @selected(i64 %a) {
  %1 = icmp sgt i64 %a, -1
  %2 = icmp ne i64 %a, -9223372036854775808
  %3 = zext i1 %2 to i8
  %4 = select i1 %1, i8 -1, i8 %3
  switch i8 %4, label %less [
    i8 0, label %equal
    i8 1, label %greater
  ]
less:
  ret i32 10
equal:
  ret i32 20
greater:
  ret i32 30
}

; Neither comparison tells which of other results it is.
; CHECK: define i32 @other_results
; CHECK: switch i8
define i32 @other_results(i64 %a, i8 %b) {
  %1 = icmp sgt i64 %a, -1
  %2 = select i1 %1, i8 -1, i8 %b
  switch i8 %2, label %less [
    i8 0, label %equal
    i8 1, label %greater
  ]
less:
  ret i32 10
equal:
  ret i32 20
greater:
  ret i32 30
}
