; A byte of a loop that is extended there has 32 bits.
; RUN: opt --passes=widen_bytes

define i8 @channel(ptr %p, i32 %n, i8 %start) {
entry:
; CHECK: %0 = zext i8 %start to i32
  br label %loop

loop:
; CHECK: %1 = phi i32 [ %0, %entry ], [ %4, %loop ]
; CHECK: %x = trunc i32 %1 to i8
  %x = phi i8 [ %start, %entry ], [ %y, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %loaded = load i8, ptr %p, align 1
; CHECK: %2 = zext i8 %loaded to i32
  %wide = zext i8 %x to i32
  %factor = zext i8 %loaded to i32
; CHECK: %product = mul nuw nsw i32 %1, %factor
  %product = mul nuw nsw i32 %wide, %factor
  %rounded = add nuw nsw i32 %product, 128
  %upper = lshr i32 %rounded, 8
  %sum = add nuw nsw i32 %rounded, %upper
; CHECK: %quotient = lshr i32 %sum, 8
  %quotient = lshr i32 %sum, 8
  %short = trunc i32 %quotient to i8
; CHECK: xor i32 %quotient, 255
  %not = xor i8 %short, -1
; CHECK: %is = icmp ult i32 %1, 128
  %is = icmp sgt i8 %x, -1
  %y = select i1 %is, i8 %not, i8 %loaded
  %j = add i32 %i, 1
  %done = icmp eq i32 %j, %n
  br i1 %done, label %exit, label %loop

exit:
  ret i8 %x
}

; Upper bits are cleared unless the range of a value shows that they are clear.
; CHECK: define i32 @ranges
define i32 @ranges(i32 %a, i64 %b, i16 %c, i1 %d) {
entry:
  br label %loop

loop:
; CHECK: %0 = phi i32 [ 0, %entry ], [ %15, %loop ]
  %x = phi i8 [ undef, %entry ], [ %z, %loop ]
  %wide = zext i8 %x to i64
  %short = zext i8 %x to i16
  %word = zext i8 %x to i32
; CHECK: %1 = shl i32 %0, 1
; CHECK: %2 = and i32 %1, 255
  %moved = shl i8 %x, 1
; CHECK: %3 = and i32 %a, 255
  %t = trunc i32 %a to i8
; CHECK: %4 = trunc i64 %b to i32
; CHECK: %5 = and i32 %4, 255
  %u = trunc i64 %b to i8
; CHECK: %6 = zext i16 %c to i32
; CHECK: %7 = and i32 %6, 255
  %v = trunc i16 %c to i8
  %least = icmp ult i64 %b, 256
  %limited = select i1 %least, i64 %b, i64 255
  %w = trunc i64 %limited to i8
; CHECK: %10 = select i1 %d, i32 %3, i32 %5
  %s = select i1 %d, i8 %t, i8 %u
  %s2 = select i1 %d, i8 %v, i8 %w
; CHECK: %12 = add i32 %10, %11
; CHECK: %13 = and i32 %12, 255
  %q = add i8 %s, %s2
; CHECK: %14 = add i32 %13, %2
  %r = add nuw i8 %q, %moved
; CHECK: %15 = lshr i32 %14, 2
  %z = lshr i8 %r, 2
  %m = zext i8 %moved to i32
  %n = zext i8 %q to i32
  %o = zext i8 %r to i32
  %p = zext i8 %z to i32
  %sum1 = add i32 %m, %n
  %sum2 = add i32 %o, %p
  %sum3 = add i32 %sum1, %sum2
  %e1 = zext i8 %t to i32
  %e2 = zext i8 %u to i32
  %e3 = zext i8 %v to i32
  %sum4 = add i32 %e1, %e2
  %sum5 = add i32 %sum4, %e3
  %sum6 = add i32 %sum5, %sum3
; CHECK: %sum6 = add i32 %sum5, %sum3
  %h = zext i16 %short to i32
  %g = trunc i64 %wide to i32
  %sum7 = add i32 %h, %g
  %sum8 = add i32 %sum7, %word
  %sum9 = add i32 %sum8, %sum6
  br i1 %d, label %loop, label %exit

exit:
  ret i32 %sum9
}

; Unchanged: a byte that is only copied, and one in which more bits must be cleared than are
; extended.
; CHECK: define i8 @copied
define i8 @copied(ptr %p, i1 %c) {
entry:
  br label %loop

loop:
; CHECK: %x = phi i8
  %x = phi i8 [ 0, %entry ], [ %y, %loop ]
  %y = load i8, ptr %p, align 1
  br i1 %c, label %loop, label %exit

exit:
  ret i8 %x
}

; CHECK: define i32 @wraps
define i32 @wraps(i8 %a, i1 %c) {
entry:
  br label %loop

loop:
; CHECK: %x = phi i8
  %x = phi i8 [ 0, %entry ], [ %z, %loop ]
  %y = add i8 %x, %a
  %z = sub i8 %y, 3
  br i1 %c, label %loop, label %exit

exit:
  %wide = zext i8 %x to i32
  ret i32 %wide
}

; A set of 16 bits that is compared has 32 bits, and so have products of counts of its elements.
; CHECK: define i32 @sets
define i32 @sets(ptr %p, i1 %c) {
entry:
  br label %loop

loop:
; CHECK: %0 = phi i32 [ 0, %entry ], [ %3, %loop ]
; CHECK: %1 = phi i32 [ 0, %entry ], [ %6, %loop ]
  %x = phi i16 [ 0, %entry ], [ %y, %loop ]
  %sum = phi i16 [ 0, %entry ], [ %next, %loop ]
  %row = load i16, ptr %p, align 2
; CHECK: %2 = zext i16 %row to i32
; CHECK: %3 = or i32 %0, %2
  %y = or i16 %x, %row
; CHECK: %4 = call i32 @llvm.ctpop.i32(i32 %3)
  %count = call i16 @llvm.ctpop.i16(i16 %y)
; CHECK: %5 = mul i32 %4, 51
  %product = mul nuw i16 %count, 51
; CHECK: %6 = add i32 %1, %5
  %next = add nuw i16 %sum, %product
; CHECK: %full = icmp eq i32 %3, 1023
  %full = icmp eq i16 %y, 1023
  %stops = and i1 %full, %c
  br i1 %stops, label %exit, label %loop

exit:
; CHECK: ret i32 %6
  %wide = zext i16 %next to i32
  ret i32 %wide
}

declare i16 @llvm.ctpop.i16(i16)

; A product that may wrap around stays, and a signed comparison extends a truncation.
; CHECK: define i32 @products
define i32 @products(i16 %a, i1 %c) {
entry:
  br label %loop

loop:
; CHECK: %0 = phi i32
; CHECK: %x = trunc i32 %0 to i16
; CHECK: %y = mul i16 %x, %a
; CHECK: zext i16 %y to i32
  %x = phi i16 [ 1, %entry ], [ %z, %loop ]
  %y = mul i16 %x, %a
  %z = or i16 %y, 1
  %ends = icmp eq i16 %z, 7
; CHECK: %less = icmp slt i16 %x, %a
  %less = icmp slt i16 %x, %a
  %both = and i1 %ends, %less
  %again = and i1 %both, %c
  br i1 %again, label %loop, label %exit

exit:
  %wide = zext i16 %z to i32
  ret i32 %wide
}

; The least byte has 32 bits: GPUs have no minimum of 8 or 16 bits.
; CHECK-LABEL: define i32 @least(ptr %p, i32 %n) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %loop
define i32 @least(ptr %p, i32 %n) {
entry:
  br label %loop

; CHECK: loop:
; CHECK-NEXT:   %0 = phi i32 [ 255, %entry ], [ %2, %loop ]
loop:
  %x = phi i8 [ -1, %entry ], [ %y, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %place = phi i32 [ 0, %entry ], [ %best, %loop ]
  %loaded = load i8, ptr %p, align 1
; CHECK: %1 = zext i8 %loaded to i32
; CHECK: %less = icmp ult i32 %1, %0
  %less = icmp ult i8 %loaded, %x
  %best = select i1 %less, i32 %i, i32 %place
; CHECK: %2 = call i32 @llvm.umin.i32(i32 %1, i32 %0)
  %y = call i8 @llvm.umin.i8(i8 %loaded, i8 %x)
  %j = add i32 %i, 1
  %done = icmp eq i32 %j, %n
  br i1 %done, label %exit, label %loop

exit:
  ret i32 %best
}

declare i8 @llvm.umin.i8(i8, i8)
