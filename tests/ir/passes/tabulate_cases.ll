; Cases that only choose constants become loads from tables.
; RUN: opt --passes=tabulate_cases

; The default and two cases continue elsewhere.
define i8 @partly(i8 %letter, i8 %last) {
; CHECK-LABEL: define i8 @partly(i8 %letter, i8 %last) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i8 %letter, 98
; CHECK-NEXT:   %1 = icmp ult i8 %0, 19
; CHECK-NEXT:   %2 = select i1 %1, i8 %0, i8 19
; CHECK-NEXT:   %3 = zext i8 %2 to i32
; CHECK-NEXT:   %4 = lshr i32 262199, %3
; CHECK-NEXT:   %5 = and i32 %4, 1
; CHECK-NEXT:   %6 = icmp ne i32 %5, 0
; CHECK-NEXT:   br i1 %6, label %chosen, label %other
; CHECK-NEXT: use:
; CHECK-NEXT:   %digit = phi i8 [ %9, %chosen ]
; CHECK-NEXT:   %narrow = phi i1 [ %13, %chosen ]
; CHECK-NEXT:   %kept = phi i8 [ %last, %chosen ]
; CHECK-NEXT:   %sum = add i8 %digit, %kept
; CHECK-NEXT:   %chosen.1 = select i1 %narrow, i8 %sum, i8 %kept
; CHECK-NEXT:   br label %end
; CHECK-NEXT: silent:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: vowel:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i8 [ %chosen.1, %use ], [ %last, %silent ], [ 0, %vowel ]
; CHECK-NEXT:   ret i8 %result
; CHECK-NEXT: chosen:
; CHECK-NEXT:   %7 = zext i8 %2 to i64
; CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @switch_table_0 to ptr), i64 %7
; CHECK-NEXT:   %9 = load i8, ptr %8, align 1, !invariant.load !0
; CHECK-NEXT:   %10 = zext i8 %2 to i64
; CHECK-NEXT:   %11 = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @switch_table_1 to ptr), i64 %10
; CHECK-NEXT:   %12 = load i8, ptr %11, align 1, !invariant.load !0
; CHECK-NEXT:   %13 = trunc i8 %12 to i1
; CHECK-NEXT:   br label %use
; CHECK-NEXT: other:
; CHECK-NEXT:   switch i8 %letter, label %vowel [
; CHECK-NEXT:     i8 104, label %silent
; CHECK-NEXT:     i8 119, label %silent
; CHECK-NEXT:   ]
; CHECK-NEXT: }
start:
  switch i8 %letter, label %vowel [
    i8 98, label %use
    i8 99, label %two
    i8 100, label %three
    i8 102, label %use
    i8 103, label %two
    i8 104, label %silent
    i8 116, label %three
    i8 119, label %silent
  ]
two:
  br label %use
three:
  br label %use
use:
  %digit = phi i8 [ 49, %start ], [ 49, %start ], [ 50, %two ], [ 51, %three ]
  %narrow = phi i1 [ true, %start ], [ true, %start ], [ false, %two ], [ true, %three ]
  %kept = phi i8 [ %last, %start ], [ %last, %start ], [ %last, %two ], [ %last, %three ]
  %sum = add i8 %digit, %kept
  %chosen = select i1 %narrow, i8 %sum, i8 %kept
  br label %end
silent:
  br label %end
vowel:
  br label %end
end:
  %result = phi i8 [ %chosen, %use ], [ %last, %silent ], [ 0, %vowel ]
  ret i8 %result
}

; A case that continues at the same block with a value that is no constant, and 64 entries: remains.
define i64 @not_constant(i64 %index, i64 %other) {
; CHECK-LABEL: define i64 @not_constant(i64 %index, i64 %other) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i64 %index, label %join [
; CHECK-NEXT:     i64 1000, label %one
; CHECK-NEXT:     i64 1001, label %two
; CHECK-NEXT:     i64 1002, label %three
; CHECK-NEXT:     i64 1003, label %one
; CHECK-NEXT:     i64 1004, label %two
; CHECK-NEXT:     i64 1062, label %three
; CHECK-NEXT:     i64 1063, label %one
; CHECK-NEXT:     i64 7, label %seven
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: three:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: seven:
; CHECK-NEXT:   %sum = add i64 %other, 7
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %result = phi i64 [ 5, %start ], [ 1, %one ], [ 72623859790382856, %two ], [ -1, %three ], [ %sum, %seven ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: }
start:
  switch i64 %index, label %join [
    i64 1000, label %one
    i64 1001, label %two
    i64 1002, label %three
    i64 1003, label %one
    i64 1004, label %two
    i64 1062, label %three
    i64 1063, label %one
    i64 7, label %seven
  ]
one:
  br label %join
two:
  br label %join
three:
  br label %join
seven:
  %sum = add i64 %other, 7
  br label %join
join:
  %result = phi i64 [ 5, %start ], [ 1, %one ], [ 72623859790382856, %two ], [ -1, %three ], [ %sum, %seven ]
  ret i64 %result
}

; The default continues at the same block.
define i64 @default_at_the_join(i64 %index) {
; CHECK-LABEL: define i64 @default_at_the_join(i64 %index) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i64 %index, 1000
; CHECK-NEXT:   %1 = icmp ult i64 %0, 63
; CHECK-NEXT:   %2 = select i1 %1, i64 %0, i64 63
; CHECK-NEXT:   %3 = lshr i64 4611686018427387935, %2
; CHECK-NEXT:   %4 = and i64 %3, 1
; CHECK-NEXT:   %5 = icmp ne i64 %4, 0
; CHECK-NEXT:   br i1 %5, label %chosen, label %other
; CHECK-NEXT: join:
; CHECK-NEXT:   %result = phi i64 [ 5, %other ], [ %7, %chosen ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: chosen:
; CHECK-NEXT:   %6 = getelementptr inbounds i64, ptr addrspacecast (ptr addrspace(1) @switch_table_2 to ptr), i64 %2
; CHECK-NEXT:   %7 = load i64, ptr %6, align 8, !invariant.load !0
; CHECK-NEXT:   br label %join
; CHECK-NEXT: other:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: }
start:
  switch i64 %index, label %join [
    i64 1000, label %one
    i64 1001, label %two
    i64 1002, label %three
    i64 1003, label %one
    i64 1004, label %two
    i64 1062, label %three
  ]
one:
  br label %join
two:
  br label %join
three:
  br label %join
join:
  %result = phi i64 [ 5, %start ], [ 1, %one ], [ 72623859790382856, %two ], [ -1, %three ]
  ret i64 %result
}

; Two values only, and values that are no constants: remain.
define i32 @remain(i32 %index, i32 %other) {
; CHECK-LABEL: define i32 @remain(i32 %index, i32 %other) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %index, label %far [
; CHECK-NEXT:     i32 0, label %one
; CHECK-NEXT:     i32 1, label %two
; CHECK-NEXT:     i32 2, label %one
; CHECK-NEXT:     i32 3, label %two
; CHECK-NEXT:     i32 4, label %one
; CHECK-NEXT:     i32 5, label %two
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: far:
; CHECK-NEXT:   switch i32 %other, label %end [
; CHECK-NEXT:     i32 0, label %a
; CHECK-NEXT:     i32 1, label %b
; CHECK-NEXT:     i32 2, label %c
; CHECK-NEXT:     i32 3, label %a
; CHECK-NEXT:     i32 4, label %b
; CHECK-NEXT:     i32 5, label %c
; CHECK-NEXT:   ]
; CHECK-NEXT: a:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: b:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: c:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %result = phi i32 [ 1, %one ], [ 2, %two ], [ 3, %a ], [ %index, %b ], [ 5, %c ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }
start:
  switch i32 %index, label %far [
    i32 0, label %one
    i32 1, label %two
    i32 2, label %one
    i32 3, label %two
    i32 4, label %one
    i32 5, label %two
  ]
one:
  br label %join
two:
  br label %join
far:
  switch i32 %other, label %end [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %a
    i32 4, label %b
    i32 5, label %c
  ]
a:
  br label %join
b:
  br label %join
c:
  br label %join
join:
  %result = phi i32 [ 1, %one ], [ 2, %two ], [ 3, %a ], [ %index, %b ], [ 5, %c ]
  ret i32 %result
end:
  ret i32 0
}

; Floats, and negative cases of 16 bits.
define double @floats(i16 %index, double %last) {
; CHECK-LABEL: define double @floats(i16 %index, double %last) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i16 %index, -9
; CHECK-NEXT:   %1 = icmp ult i16 %0, 9
; CHECK-NEXT:   %2 = select i1 %1, i16 %0, i16 9
; CHECK-NEXT:   %3 = zext i16 %2 to i32
; CHECK-NEXT:   %4 = lshr i32 455, %3
; CHECK-NEXT:   %5 = and i32 %4, 1
; CHECK-NEXT:   %6 = icmp ne i32 %5, 0
; CHECK-NEXT:   br i1 %6, label %chosen, label %other
; CHECK-NEXT: join:
; CHECK-NEXT:   %small = phi float [ %9, %chosen ]
; CHECK-NEXT:   %large = phi double [ %12, %chosen ]
; CHECK-NEXT:   %wide = fpext float %small to double
; CHECK-NEXT:   %result = fadd double %wide, %large
; CHECK-NEXT:   ret double %result
; CHECK-NEXT: far:
; CHECK-NEXT:   ret double %last
; CHECK-NEXT: chosen:
; CHECK-NEXT:   %7 = zext i16 %2 to i64
; CHECK-NEXT:   %8 = getelementptr inbounds float, ptr addrspacecast (ptr addrspace(1) @switch_table_3 to ptr), i64 %7
; CHECK-NEXT:   %9 = load float, ptr %8, align 4, !invariant.load !0
; CHECK-NEXT:   %10 = zext i16 %2 to i64
; CHECK-NEXT:   %11 = getelementptr inbounds double, ptr addrspacecast (ptr addrspace(1) @switch_table_4 to ptr), i64 %10
; CHECK-NEXT:   %12 = load double, ptr %11, align 8, !invariant.load !0
; CHECK-NEXT:   br label %join
; CHECK-NEXT: other:
; CHECK-NEXT:   br label %far
; CHECK-NEXT: }
start:
  switch i16 %index, label %far [
    i16 -3, label %one
    i16 -2, label %two
    i16 -1, label %three
    i16 -7, label %one
    i16 -8, label %two
    i16 -9, label %three
  ]
one:
  br label %join
two:
  br label %join
three:
  br label %join
join:
  %small = phi float [ 1.5, %one ], [ -0.0, %two ], [ 0.0, %three ]
  %large = phi double [ 1.5, %one ], [ 0.1, %two ], [ undef, %three ]
  %wide = fpext float %small to double
  %result = fadd double %wide, %large
  ret double %result
far:
  ret double %last
}
