; Signs, remainders, rounding, minimum and maximum, and fp16.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7
; RUN: opt --passes=legalize --sm=75 --dialect=llvm7 --check-prefix=OLD
; RUN: opt --passes=legalize --sm=120 --check-prefix=MODERN

; PTX's `neg` and `abs` do not preserve the payload of a NaN.
define float @signs(float %x) {
start:
  %negated = fneg float %x
  %r = call float @llvm.fabs.f32(float %negated)
  ret float %r
}
; CHECK-LABEL: define float @signs(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = bitcast float %x to i32
; CHECK-NEXT:   %1 = xor i32 %0, -2147483648
; CHECK-NEXT:   %negated = bitcast i32 %1 to float
; CHECK-NEXT:   %2 = bitcast float %negated to i32
; CHECK-NEXT:   %3 = and i32 %2, 2147483647
; CHECK-NEXT:   %r = bitcast i32 %3 to float
; CHECK-NEXT:   ret float %r
; CHECK-NEXT: }
; MODERN-LABEL: define float @signs(float %x) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = bitcast float %x to i32
; MODERN-NEXT:   %1 = call i32 asm "xor.b32 $0, $1, 0x80000000;", "=r,r"(i32 %0)
; MODERN-NEXT:   %negated = bitcast i32 %1 to float
; MODERN-NEXT:   %2 = bitcast float %negated to i32
; MODERN-NEXT:   %3 = call i32 asm "and.b32 $0, $1, 0x7fffffff;", "=r,r"(i32 %2)
; MODERN-NEXT:   %r = bitcast i32 %3 to float
; MODERN-NEXT:   ret float %r
; MODERN-NEXT: }

; Arithmetic does not observe the sign of a NaN, so negation and absolute value stay foldable.
define double @folded_signs(double %x, double %y) {
start:
  %negated = fneg double %x
  %absolute = call double @llvm.fabs.f64(double %y)
  %r = fadd double %negated, %absolute
  ret double %r
}
; CHECK-LABEL: define double @folded_signs(double %x, double %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %negated = fsub double 0x8000000000000000, %x
; CHECK-NEXT:   %absolute = call double @llvm.nvvm.fabs.d(double %y)
; CHECK-NEXT:   %r = fadd double %negated, %absolute
; CHECK-NEXT:   ret double %r
; CHECK-NEXT: }

; A single use that is not arithmetic prevents folding.
define float @observed_sign(float %x, ptr %p) {
start:
  %negated = fneg float %x
  store float %negated, ptr %p, align 4
  %r = fmul float %negated, %negated
  ret float %r
}
; CHECK-LABEL: define float @observed_sign(float %x, i8* %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = bitcast float %x to i32
; CHECK-NEXT:   %1 = xor i32 %0, -2147483648
; CHECK-NEXT:   %negated = bitcast i32 %1 to float
; CHECK-NEXT:   %.0 = bitcast i8* %p to float*
; CHECK-NEXT:   store float %negated, float* %.0, align 4
; CHECK-NEXT:   %r = fmul float %negated, %negated
; CHECK-NEXT:   ret float %r
; CHECK-NEXT: }

define float @constant_sign() {
start:
  %r = fneg float 1.0
  ret float %r
}
; CHECK-LABEL: define float @constant_sign() {
; CHECK-NEXT: start:
; CHECK-NEXT:   ret float 0xBFF0000000000000
; CHECK-NEXT: }

define half @half_sign(half %x) {
start:
  %r = fneg half %x
  ret half %r
}
; MODERN-LABEL: define half @half_sign(half %x) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = bitcast half %x to i16
; MODERN-NEXT:   %1 = call i16 asm "xor.b16 $0, $1, 0x8000;", "=h,h"(i16 %0)
; MODERN-NEXT:   %r = bitcast i16 %1 to half
; MODERN-NEXT:   ret half %r
; MODERN-NEXT: }

define float @copysign(float %x, float %y) {
start:
  %r = call float @llvm.copysign.f32(float %x, float %y)
  ret float %r
}
; CHECK-LABEL: define float @copysign(float %x, float %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = bitcast float %x to i32
; CHECK-NEXT:   %1 = and i32 %0, 2147483647
; CHECK-NEXT:   %2 = bitcast float %y to i32
; CHECK-NEXT:   %3 = and i32 %2, -2147483648
; CHECK-NEXT:   %4 = or i32 %1, %3
; CHECK-NEXT:   %r = bitcast i32 %4 to float
; CHECK-NEXT:   ret float %r
; CHECK-NEXT: }

define double @frem(double %x, double %y) {
start:
  %r = frem double %x, %y
  ret double %r
}
; CHECK-LABEL: define double @frem(double %x, double %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = call double @__nv_fmod(double %x, double %y)
; CHECK-NEXT:   ret double %r
; CHECK-NEXT: }

define half @frem_of_half(half %x, half %y) {
start:
  %r = frem half %x, %y
  ret half %r
}
; MODERN-LABEL: define half @frem_of_half(half %x, half %y) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = fpext half %x to float
; MODERN-NEXT:   %1 = fpext half %y to float
; MODERN-NEXT:   %2 = call float @__nv_fmodf(float %0, float %1)
; MODERN-NEXT:   %r = fptrunc float %2 to half
; MODERN-NEXT:   ret half %r
; MODERN-NEXT: }

define double @rounding(double %x) {
start:
  %1 = call double @llvm.trunc.f64(double %x)
  %2 = call double @llvm.rint.f64(double %1)
  %3 = call double @llvm.roundeven.f64(double %2)
  ret double %3
}
; CHECK-LABEL: define double @rounding(double %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call double @llvm.nvvm.trunc.d(double %x)
; CHECK-NEXT:   %1 = call double @llvm.nvvm.round.d(double %0)
; CHECK-NEXT:   %2 = call double @llvm.nvvm.round.d(double %1)
; CHECK-NEXT:   ret double %2
; CHECK-NEXT: }

; Ties are rounded away from zero.
define float @round(float %x) {
start:
  %r = call float @llvm.round.f32(float %x)
  ret float %r
}
; CHECK-LABEL: define float @round(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call float @llvm.nvvm.trunc.f(float %x)
; CHECK-NEXT:   %1 = fsub float %x, %0
; CHECK-NEXT:   %2 = call float @llvm.nvvm.fabs.f(float %1)
; CHECK-NEXT:   %3 = fcmp oge float %2, 0x3FE0000000000000
; CHECK-NEXT:   %4 = bitcast float 0x3FF0000000000000 to i32
; CHECK-NEXT:   %5 = and i32 %4, 2147483647
; CHECK-NEXT:   %6 = bitcast float %x to i32
; CHECK-NEXT:   %7 = and i32 %6, -2147483648
; CHECK-NEXT:   %8 = or i32 %5, %7
; CHECK-NEXT:   %9 = bitcast i32 %8 to float
; CHECK-NEXT:   %10 = fadd float %0, %9
; CHECK-NEXT:   %r = select i1 %3, float %10, float %0
; CHECK-NEXT:   ret float %r
; CHECK-NEXT: }

; `.NaN` is available from sm_80 on.
define float @minimum(float %x, float %y) {
start:
  %r = call float @llvm.minimum.f32(float %x, float %y)
  ret float %r
}
; CHECK-LABEL: define float @minimum(float %x, float %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = call float asm "min.NaN.f32 $0, $1, $2;", "=f,f,f"(float %x, float %y)
; CHECK-NEXT:   ret float %r
; CHECK-NEXT: }
; OLD-LABEL: define float @minimum(float %x, float %y) {
; OLD-NEXT: start:
; OLD-NEXT:   %0 = call float asm "min.f32 $0, $1, $2;", "=f,f,f"(float %x, float %y)
; OLD-NEXT:   %1 = fcmp uno float %x, %y
; OLD-NEXT:   %2 = fadd float %x, %y
; OLD-NEXT:   %r = select i1 %1, float %2, float %0
; OLD-NEXT:   ret float %r
; OLD-NEXT: }
; MODERN-LABEL: define float @minimum(float %x, float %y) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %r = call float @llvm.minimum.f32(float %x, float %y)
; MODERN-NEXT:   ret float %r
; MODERN-NEXT: }

define double @maximum(double %x, double %y) {
start:
  %r = call double @llvm.maximum.f64(double %x, double %y)
  ret double %r
}
; CHECK-LABEL: define double @maximum(double %x, double %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call double asm "max.f64 $0, $1, $2;", "=d,d,d"(double %x, double %y)
; CHECK-NEXT:   %1 = fcmp uno double %x, %y
; CHECK-NEXT:   %2 = fadd double %x, %y
; CHECK-NEXT:   %r = select i1 %1, double %2, double %0
; CHECK-NEXT:   ret double %r
; CHECK-NEXT: }

; libnvvm considers identical constant expressions equal, so the comparison is with zero.
define i1 @tests_nan(float %x) {
start:
  %nan = fcmp une float %x, %x
  %number = fcmp oeq float %x, %x
  %other = fcmp olt float %x, %x
  %1 = and i1 %nan, %number
  %r = or i1 %1, %other
  ret i1 %r
}
; CHECK-LABEL: define i1 @tests_nan(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %nan = fcmp uno float %x, 0x0000000000000000
; CHECK-NEXT:   %number = fcmp ord float %x, 0x0000000000000000
; CHECK-NEXT:   %other = fcmp olt float %x, %x
; CHECK-NEXT:   %0 = and i1 %nan, %number
; CHECK-NEXT:   %r = or i1 %0, %other
; CHECK-NEXT:   ret i1 %r
; CHECK-NEXT: }

define i128 @half_to_wide(half %x) {
start:
  %r = fptosi half %x to i128
  ret i128 %r
}
; MODERN-LABEL: define i128 @half_to_wide(half %x) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = fptosi half %x to i32
; MODERN-NEXT:   %r = sext i32 %0 to i128
; MODERN-NEXT:   ret i128 %r
; MODERN-NEXT: }

define half @wide_to_half(i128 %x) {
start:
  %r = uitofp i128 %x to half
  ret half %r
}
; MODERN-LABEL: define half @wide_to_half(i128 %x) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = uitofp i128 %x to float
; MODERN-NEXT:   %r = fptrunc float %0 to half
; MODERN-NEXT:   ret half %r
; MODERN-NEXT: }
