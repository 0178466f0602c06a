; Bit counts, byte swaps and funnel shifts of the widths that libnvvm lacks or crashes on. LLVM 7 also
; lacks the minimum, the maximum and the absolute value of integers.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7
; RUN: opt --passes=legalize --sm=120 --check-prefix=MODERN

define i128 @ctpop(i128 %x) {
start:
  %r = call i128 @llvm.ctpop.i128(i128 %x)
  ret i128 %r
}
; CHECK-LABEL: define i128 @ctpop(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = lshr i128 %x, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = call i64 @llvm.ctpop.i64(i64 %0)
; CHECK-NEXT:   %4 = call i64 @llvm.ctpop.i64(i64 %2)
; CHECK-NEXT:   %5 = add i64 %3, %4
; CHECK-NEXT:   %r = zext i64 %5 to i128
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; The zeros of the lower half only count if the upper half is zero.
define i128 @ctlz(i128 %x) {
start:
  %r = call i128 @llvm.ctlz.i128(i128 %x, i1 false)
  ret i128 %r
}
; CHECK-LABEL: define i128 @ctlz(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = lshr i128 %x, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = icmp eq i64 %2, 0
; CHECK-NEXT:   %4 = call i64 @llvm.ctlz.i64(i64 %2, i1 false)
; CHECK-NEXT:   %5 = call i64 @llvm.ctlz.i64(i64 %0, i1 false)
; CHECK-NEXT:   %6 = add i64 %5, 64
; CHECK-NEXT:   %7 = select i1 %3, i64 %6, i64 %4
; CHECK-NEXT:   %r = zext i64 %7 to i128
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; The second half may be zero only if the whole may be.
define i128 @cttz(i128 %x) {
start:
  %r = call i128 @llvm.cttz.i128(i128 %x, i1 true)
  ret i128 %r
}
; CHECK-LABEL: define i128 @cttz(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = lshr i128 %x, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = icmp eq i64 %0, 0
; CHECK-NEXT:   %4 = call i64 @llvm.cttz.i64(i64 %0, i1 false)
; CHECK-NEXT:   %5 = call i64 @llvm.cttz.i64(i64 %2, i1 true)
; CHECK-NEXT:   %6 = add i64 %5, 64
; CHECK-NEXT:   %7 = select i1 %3, i64 %6, i64 %4
; CHECK-NEXT:   %r = zext i64 %7 to i128
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

define i1 @one_bit(i1 %x) {
start:
  %ones = call i1 @llvm.ctpop.i1(i1 %x)
  %zeros = call i1 @llvm.ctlz.i1(i1 %x, i1 false)
  %r = xor i1 %ones, %zeros
  ret i1 %r
}
; CHECK-LABEL: define i1 @one_bit(i1 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %zeros = xor i1 %x, true
; CHECK-NEXT:   %r = xor i1 %x, %zeros
; CHECK-NEXT:   ret i1 %r
; CHECK-NEXT: }

define i128 @bswap(i128 %x) {
start:
  %r = call i128 @llvm.bswap.i128(i128 %x)
  ret i128 %r
}
; CHECK-LABEL: define i128 @bswap(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = lshr i128 %x, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = call i64 @llvm.bswap.i64(i64 %0)
; CHECK-NEXT:   %4 = call i64 @llvm.bswap.i64(i64 %2)
; CHECK-NEXT:   %5 = zext i64 %4 to i128
; CHECK-NEXT:   %6 = zext i64 %3 to i128
; CHECK-NEXT:   %7 = shl i128 %6, 64
; CHECK-NEXT:   %r = or i128 %7, %5
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

define i8 @bswap_of_a_byte(i8 %x) {
start:
  %r = call i8 @llvm.bswap.i8(i8 %x)
  ret i8 %r
}
; CHECK-LABEL: define i8 @bswap_of_a_byte(i8 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   ret i8 %x
; CHECK-NEXT: }

define i128 @fshl(i128 %a, i128 %b, i128 %by) {
start:
  %r = call i128 @llvm.fshl.i128(i128 %a, i128 %b, i128 %by)
  ret i128 %r
}
; CHECK-LABEL: define i128 @fshl(i128 %a, i128 %b, i128 %by) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = and i128 %by, 127
; CHECK-NEXT:   %1 = xor i128 %0, 127
; CHECK-NEXT:   %2 = shl i128 %a, %0
; CHECK-NEXT:   %3 = lshr i128 %b, 1
; CHECK-NEXT:   %4 = lshr i128 %3, %1
; CHECK-NEXT:   %r = or i128 %2, %4
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; LLVM 7 does not reduce the distance of a 64-bit rotation.
define i64 @rotate(i64 %x, i64 %by) {
start:
  %r = call i64 @llvm.fshl.i64(i64 %x, i64 %x, i64 %by)
  ret i64 %r
}
; CHECK-LABEL: define i64 @rotate(i64 %x, i64 %by) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = and i64 %by, 63
; CHECK-NEXT:   %1 = xor i64 %0, 63
; CHECK-NEXT:   %2 = shl i64 %x, %0
; CHECK-NEXT:   %3 = lshr i64 %x, 1
; CHECK-NEXT:   %4 = lshr i64 %3, %1
; CHECK-NEXT:   %r = or i64 %2, %4
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }
; MODERN-LABEL: define i64 @rotate(i64 %x, i64 %by) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %r = call i64 @llvm.fshl.i64(i64 %x, i64 %x, i64 %by)
; MODERN-NEXT:   ret i64 %r
; MODERN-NEXT: }

define i128 @fshr(i128 %a, i128 %b, i128 %by) {
start:
  %r = call i128 @llvm.fshr.i128(i128 %a, i128 %b, i128 %by)
  ret i128 %r
}
; CHECK-LABEL: define i128 @fshr(i128 %a, i128 %b, i128 %by) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = and i128 %by, 127
; CHECK-NEXT:   %1 = xor i128 %0, 127
; CHECK-NEXT:   %2 = shl i128 %a, 1
; CHECK-NEXT:   %3 = shl i128 %2, %1
; CHECK-NEXT:   %4 = lshr i128 %b, %0
; CHECK-NEXT:   %r = or i128 %3, %4
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

define i32 @abs(i32 %x) {
start:
  %r = call i32 @llvm.abs.i32(i32 %x, i1 false)
  ret i32 %r
}
; CHECK-LABEL: define i32 @abs(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = icmp slt i32 %x, 0
; CHECK-NEXT:   %1 = sub i32 0, %x
; CHECK-NEXT:   %r = select i1 %0, i32 %1, i32 %x
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
; MODERN-LABEL: define i32 @abs(i32 %x) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %r = call i32 @llvm.abs.i32(i32 %x, i1 false)
; MODERN-NEXT:   ret i32 %r
; MODERN-NEXT: }

define i32 @extremes(i32 %a, i32 %b) {
start:
  %1 = call i32 @llvm.smax.i32(i32 %a, i32 %b)
  %2 = call i32 @llvm.smin.i32(i32 %1, i32 %b)
  %3 = call i32 @llvm.umax.i32(i32 %2, i32 %b)
  %4 = call i32 @llvm.umin.i32(i32 %3, i32 %b)
  ret i32 %4
}
; CHECK-LABEL: define i32 @extremes(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = icmp sgt i32 %a, %b
; CHECK-NEXT:   %1 = select i1 %0, i32 %a, i32 %b
; CHECK-NEXT:   %2 = icmp slt i32 %1, %b
; CHECK-NEXT:   %3 = select i1 %2, i32 %1, i32 %b
; CHECK-NEXT:   %4 = icmp ugt i32 %3, %b
; CHECK-NEXT:   %5 = select i1 %4, i32 %3, i32 %b
; CHECK-NEXT:   %6 = icmp ult i32 %5, %b
; CHECK-NEXT:   %7 = select i1 %6, i32 %5, i32 %b
; CHECK-NEXT:   ret i32 %7
; CHECK-NEXT: }
; MODERN-LABEL: define i32 @extremes(i32 %a, i32 %b) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = call i32 @llvm.smax.i32(i32 %a, i32 %b)
; MODERN-NEXT:   %1 = call i32 @llvm.smin.i32(i32 %0, i32 %b)
; MODERN-NEXT:   %2 = call i32 @llvm.umax.i32(i32 %1, i32 %b)
; MODERN-NEXT:   %3 = call i32 @llvm.umin.i32(i32 %2, i32 %b)
; MODERN-NEXT:   ret i32 %3
; MODERN-NEXT: }

; Supported widths are unchanged.
define i64 @native(i64 %x) {
start:
  %count = call i64 @llvm.ctlz.i64(i64 %x, i1 true)
  %swapped = call i64 @llvm.bswap.i64(i64 %count)
  %r = call i64 @llvm.fshl.i64(i64 %swapped, i64 %x, i64 25)
  ret i64 %r
}
; CHECK-LABEL: define i64 @native(i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %count = call i64 @llvm.ctlz.i64(i64 %x, i1 true)
; CHECK-NEXT:   %swapped = call i64 @llvm.bswap.i64(i64 %count)
; CHECK-NEXT:   %r = call i64 @llvm.fshl.i64(i64 %swapped, i64 %x, i64 25)
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }
