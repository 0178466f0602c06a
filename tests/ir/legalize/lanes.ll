; Vector operations that libnvvm lacks are scalarized, and each element is legalized.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7

define <2 x i128> @divides(<2 x i128> %a, <2 x i128> %b) {
start:
  %r = udiv exact <2 x i128> %a, %b
  ret <2 x i128> %r
}
; CHECK-LABEL: define <2 x i128> @divides(<2 x i128> %a, <2 x i128> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i128> %a, i32 0
; CHECK-NEXT:   %1 = extractelement <2 x i128> %b, i32 0
; CHECK-NEXT:   %2 = udiv exact i128 %0, %1
; CHECK-NEXT:   %3 = extractelement <2 x i128> %a, i32 1
; CHECK-NEXT:   %4 = extractelement <2 x i128> %b, i32 1
; CHECK-NEXT:   %5 = udiv exact i128 %3, %4
; CHECK-NEXT:   %6 = insertelement <2 x i128> undef, i128 %2, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %6, i128 %5, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

define <2 x float> @negates(<2 x float> %x) {
start:
  %r = fneg <2 x float> %x
  ret <2 x float> %r
}
; CHECK-LABEL: define <2 x float> @negates(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = bitcast float %0 to i32
; CHECK-NEXT:   %2 = xor i32 %1, -2147483648
; CHECK-NEXT:   %3 = bitcast i32 %2 to float
; CHECK-NEXT:   %4 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %5 = bitcast float %4 to i32
; CHECK-NEXT:   %6 = xor i32 %5, -2147483648
; CHECK-NEXT:   %7 = bitcast i32 %6 to float
; CHECK-NEXT:   %8 = insertelement <2 x float> undef, float %3, i32 0
; CHECK-NEXT:   %r = insertelement <2 x float> %8, float %7, i32 1
; CHECK-NEXT:   ret <2 x float> %r
; CHECK-NEXT: }

define <2 x i128> @converts(<2 x float> %x) {
start:
  %r = fptoui <2 x float> %x to <2 x i128>
  ret <2 x i128> %r
}
; CHECK-LABEL: define <2 x i128> @converts(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = fptoui float %0 to i128
; CHECK-NEXT:   %2 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %3 = fptoui float %2 to i128
; CHECK-NEXT:   %4 = insertelement <2 x i128> undef, i128 %1, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %4, i128 %3, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

; The flag is the same for all elements.
define <2 x i128> @counts(<2 x i128> %x) {
start:
  %r = call <2 x i128> @llvm.ctlz.v2i128(<2 x i128> %x, i1 true)
  ret <2 x i128> %r
}
; CHECK-LABEL: define <2 x i128> @counts(<2 x i128> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i128> %x, i32 0
; CHECK-NEXT:   %1 = trunc i128 %0 to i64
; CHECK-NEXT:   %2 = lshr i128 %0, 64
; CHECK-NEXT:   %3 = trunc i128 %2 to i64
; CHECK-NEXT:   %4 = icmp eq i64 %3, 0
; CHECK-NEXT:   %5 = call i64 @llvm.ctlz.i64(i64 %3, i1 false)
; CHECK-NEXT:   %6 = call i64 @llvm.ctlz.i64(i64 %1, i1 true)
; CHECK-NEXT:   %7 = add i64 %6, 64
; CHECK-NEXT:   %8 = select i1 %4, i64 %7, i64 %5
; CHECK-NEXT:   %9 = zext i64 %8 to i128
; CHECK-NEXT:   %10 = extractelement <2 x i128> %x, i32 1
; CHECK-NEXT:   %11 = trunc i128 %10 to i64
; CHECK-NEXT:   %12 = lshr i128 %10, 64
; CHECK-NEXT:   %13 = trunc i128 %12 to i64
; CHECK-NEXT:   %14 = icmp eq i64 %13, 0
; CHECK-NEXT:   %15 = call i64 @llvm.ctlz.i64(i64 %13, i1 false)
; CHECK-NEXT:   %16 = call i64 @llvm.ctlz.i64(i64 %11, i1 true)
; CHECK-NEXT:   %17 = add i64 %16, 64
; CHECK-NEXT:   %18 = select i1 %14, i64 %17, i64 %15
; CHECK-NEXT:   %19 = zext i64 %18 to i128
; CHECK-NEXT:   %20 = insertelement <2 x i128> undef, i128 %9, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %20, i128 %19, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

; Elements of constants are constants.
define <2 x float> @constants(<2 x float> %x) {
start:
  %r = call <2 x float> @llvm.copysign.v2f32(<2 x float> <float 1.0, float 2.0>, <2 x float> %x)
  ret <2 x float> %r
}
; CHECK-LABEL: define <2 x float> @constants(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = bitcast float 0x3FF0000000000000 to i32
; CHECK-NEXT:   %2 = and i32 %1, 2147483647
; CHECK-NEXT:   %3 = bitcast float %0 to i32
; CHECK-NEXT:   %4 = and i32 %3, -2147483648
; CHECK-NEXT:   %5 = or i32 %2, %4
; CHECK-NEXT:   %6 = bitcast i32 %5 to float
; CHECK-NEXT:   %7 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %8 = bitcast float 0x4000000000000000 to i32
; CHECK-NEXT:   %9 = and i32 %8, 2147483647
; CHECK-NEXT:   %10 = bitcast float %7 to i32
; CHECK-NEXT:   %11 = and i32 %10, -2147483648
; CHECK-NEXT:   %12 = or i32 %9, %11
; CHECK-NEXT:   %13 = bitcast i32 %12 to float
; CHECK-NEXT:   %14 = insertelement <2 x float> undef, float %6, i32 0
; CHECK-NEXT:   %r = insertelement <2 x float> %14, float %13, i32 1
; CHECK-NEXT:   ret <2 x float> %r
; CHECK-NEXT: }

define <2 x i32> @native(<2 x i32> %a, <2 x i32> %b) {
start:
  %r = udiv <2 x i32> %a, %b
  ret <2 x i32> %r
}
; CHECK-LABEL: define <2 x i32> @native(<2 x i32> %a, <2 x i32> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = udiv <2 x i32> %a, %b
; CHECK-NEXT:   ret <2 x i32> %r
; CHECK-NEXT: }
