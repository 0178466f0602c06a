; LLVM 7 lacks saturating arithmetic.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7
; RUN: opt --passes=legalize --sm=120 --check-prefix=MODERN

define i32 @uadd(i32 %a, i32 %b) {
start:
  %r = call i32 @llvm.uadd.sat.i32(i32 %a, i32 %b)
  ret i32 %r
}
; CHECK-LABEL: define i32 @uadd(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = add i32 %a, %b
; CHECK-NEXT:   %1 = icmp ult i32 %0, %a
; CHECK-NEXT:   %r = select i1 %1, i32 -1, i32 %0
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
; MODERN-LABEL: define i32 @uadd(i32 %a, i32 %b) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %r = call i32 @llvm.uadd.sat.i32(i32 %a, i32 %b)
; MODERN-NEXT:   ret i32 %r
; MODERN-NEXT: }

define i64 @usub(i64 %a, i64 %b) {
start:
  %r = call i64 @llvm.usub.sat.i64(i64 %a, i64 %b)
  ret i64 %r
}
; CHECK-LABEL: define i64 @usub(i64 %a, i64 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i64 %a, %b
; CHECK-NEXT:   %1 = icmp ult i64 %a, %b
; CHECK-NEXT:   %r = select i1 %1, i64 0, i64 %0
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }
; MODERN-LABEL: define i64 @usub(i64 %a, i64 %b) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %r = call i64 @llvm.usub.sat.i64(i64 %a, i64 %b)
; MODERN-NEXT:   ret i64 %r
; MODERN-NEXT: }

; The bound has the sign of the first operand.
define i32 @sadd(i32 %a, i32 %b) {
start:
  %r = call i32 @llvm.sadd.sat.i32(i32 %a, i32 %b)
  ret i32 %r
}
; CHECK-LABEL: define i32 @sadd(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = add i32 %a, %b
; CHECK-NEXT:   %1 = xor i32 %a, %0
; CHECK-NEXT:   %2 = xor i32 %b, %0
; CHECK-NEXT:   %3 = and i32 %1, %2
; CHECK-NEXT:   %4 = icmp slt i32 %3, 0
; CHECK-NEXT:   %5 = ashr i32 %a, 31
; CHECK-NEXT:   %6 = xor i32 %5, 2147483647
; CHECK-NEXT:   %r = select i1 %4, i32 %6, i32 %0
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define i128 @ssub(i128 %a, i128 %b) {
start:
  %r = call i128 @llvm.ssub.sat.i128(i128 %a, i128 %b)
  ret i128 %r
}
; CHECK-LABEL: define i128 @ssub(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i128 %a, %b
; CHECK-NEXT:   %1 = xor i128 %a, %0
; CHECK-NEXT:   %2 = xor i128 %b, %a
; CHECK-NEXT:   %3 = and i128 %1, %2
; CHECK-NEXT:   %4 = icmp slt i128 %3, 0
; CHECK-NEXT:   %5 = ashr i128 %a, 127
; CHECK-NEXT:   %6 = xor i128 %5, 170141183460469231731687303715884105727
; CHECK-NEXT:   %r = select i1 %4, i128 %6, i128 %0
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; Narrow signed operations are clamped in 32 bits.
define i16 @narrow(i16 %a, i16 %b) {
start:
  %r = call i16 @llvm.ssub.sat.i16(i16 %a, i16 %b)
  ret i16 %r
}
; CHECK-LABEL: define i16 @narrow(i16 %a, i16 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sext i16 %a to i32
; CHECK-NEXT:   %1 = sext i16 %b to i32
; CHECK-NEXT:   %2 = sub i32 %0, %1
; CHECK-NEXT:   %3 = icmp sgt i32 %2, 32767
; CHECK-NEXT:   %4 = select i1 %3, i32 32767, i32 %2
; CHECK-NEXT:   %5 = icmp slt i32 %4, -32768
; CHECK-NEXT:   %6 = select i1 %5, i32 -32768, i32 %4
; CHECK-NEXT:   %r = trunc i32 %6 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define <2 x i32> @lanes(<2 x i32> %a, <2 x i32> %b) {
start:
  %r = call <2 x i32> @llvm.uadd.sat.v2i32(<2 x i32> %a, <2 x i32> %b)
  ret <2 x i32> %r
}
; CHECK-LABEL: define <2 x i32> @lanes(<2 x i32> %a, <2 x i32> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i32> %a, i32 0
; CHECK-NEXT:   %1 = extractelement <2 x i32> %b, i32 0
; CHECK-NEXT:   %2 = add i32 %0, %1
; CHECK-NEXT:   %3 = icmp ult i32 %2, %0
; CHECK-NEXT:   %4 = select i1 %3, i32 -1, i32 %2
; CHECK-NEXT:   %5 = extractelement <2 x i32> %a, i32 1
; CHECK-NEXT:   %6 = extractelement <2 x i32> %b, i32 1
; CHECK-NEXT:   %7 = add i32 %5, %6
; CHECK-NEXT:   %8 = icmp ult i32 %7, %5
; CHECK-NEXT:   %9 = select i1 %8, i32 -1, i32 %7
; CHECK-NEXT:   %10 = insertelement <2 x i32> undef, i32 %4, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i32> %10, i32 %9, i32 1
; CHECK-NEXT:   ret <2 x i32> %r
; CHECK-NEXT: }
