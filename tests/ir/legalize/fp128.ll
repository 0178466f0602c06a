; `f128` is `i128`; operations call soft-float functions.
; RUN: opt --passes=legalize --sm=120

define fp128 @arithmetic(fp128 %a, fp128 %b) {
start:
  %1 = fadd fp128 %a, %b
  %2 = fsub fp128 %1, %b
  %3 = fmul fp128 %2, %b
  %4 = fdiv fp128 %3, %b
  %5 = frem fp128 %4, %b
  %6 = fneg fp128 %5
  ret fp128 %6
}
; CHECK-LABEL: define i128 @arithmetic(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i128 @__addtf3(i128 %a, i128 %b)
; CHECK-NEXT:   %1 = call i128 @__subtf3(i128 %0, i128 %b)
; CHECK-NEXT:   %2 = call i128 @__multf3(i128 %1, i128 %b)
; CHECK-NEXT:   %3 = call i128 @__divtf3(i128 %2, i128 %b)
; CHECK-NEXT:   %4 = call i128 @fmodf128(i128 %3, i128 %b)
; CHECK-NEXT:   %5 = xor i128 %4, -170141183460469231731687303715884105728
; CHECK-NEXT:   ret i128 %5
; CHECK-NEXT: }

define i1 @compares(fp128 %a, fp128 %b) {
start:
  %1 = fcmp olt fp128 %a, %b
  %2 = fcmp uge fp128 %a, %b
  %3 = fcmp ueq fp128 %a, %b
  %4 = fcmp one fp128 %a, %b
  %5 = fcmp uno fp128 %a, %b
  %6 = fcmp true fp128 %a, %b
  %7 = xor i1 %1, %2
  %8 = xor i1 %3, %4
  %9 = xor i1 %5, %6
  %10 = xor i1 %7, %8
  %11 = xor i1 %9, %10
  ret i1 %11
}
; CHECK-LABEL: define i1 @compares(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i64 @__lttf2(i128 %a, i128 %b)
; CHECK-NEXT:   %1 = icmp slt i64 %0, 0
; CHECK-NEXT:   %2 = call i64 @__lttf2(i128 %a, i128 %b)
; CHECK-NEXT:   %3 = icmp sge i64 %2, 0
; CHECK-NEXT:   %4 = call i64 @__eqtf2(i128 %a, i128 %b)
; CHECK-NEXT:   %5 = icmp eq i64 %4, 0
; CHECK-NEXT:   %6 = call i64 @__unordtf2(i128 %a, i128 %b)
; CHECK-NEXT:   %7 = icmp ne i64 %6, 0
; CHECK-NEXT:   %8 = or i1 %5, %7
; CHECK-NEXT:   %9 = call i64 @__eqtf2(i128 %a, i128 %b)
; CHECK-NEXT:   %10 = icmp ne i64 %9, 0
; CHECK-NEXT:   %11 = call i64 @__unordtf2(i128 %a, i128 %b)
; CHECK-NEXT:   %12 = icmp eq i64 %11, 0
; CHECK-NEXT:   %13 = and i1 %10, %12
; CHECK-NEXT:   %14 = call i64 @__unordtf2(i128 %a, i128 %b)
; CHECK-NEXT:   %15 = icmp ne i64 %14, 0
; CHECK-NEXT:   %16 = xor i1 %1, %3
; CHECK-NEXT:   %17 = xor i1 %8, %13
; CHECK-NEXT:   %18 = xor i1 %15, true
; CHECK-NEXT:   %19 = xor i1 %16, %17
; CHECK-NEXT:   %20 = xor i1 %18, %19
; CHECK-NEXT:   ret i1 %20
; CHECK-NEXT: }

define double @float_conversions(half %h, float %f, double %d) {
start:
  %1 = fpext half %h to fp128
  %2 = fpext float %f to fp128
  %3 = fpext double %d to fp128
  %4 = fptrunc fp128 %1 to double
  %5 = fptrunc fp128 %2 to float
  %6 = fptrunc fp128 %3 to half
  ret double %4
}
; CHECK-LABEL: define double @float_conversions(half %h, float %f, double %d) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i128 @__extendhftf2(half %h)
; CHECK-NEXT:   %1 = call i128 @__extendsftf2(float %f)
; CHECK-NEXT:   %2 = call i128 @__extenddftf2(double %d)
; CHECK-NEXT:   %3 = call double @__trunctfdf2(i128 %0)
; CHECK-NEXT:   %4 = call float @__trunctfsf2(i128 %1)
; CHECK-NEXT:   %5 = call half @__trunctfhf2(i128 %2)
; CHECK-NEXT:   ret double %3
; CHECK-NEXT: }

; The function for the next wider width converts, then the result is narrowed.
define i24 @to_ints(fp128 %x) {
start:
  %1 = fptosi fp128 %x to i16
  %2 = fptoui fp128 %x to i64
  %3 = fptoui fp128 %x to i128
  %4 = fptosi fp128 %x to i24
  ret i24 %4
}
; CHECK-LABEL: define i32 @to_ints(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 @__fixtfsi(i128 %x)
; CHECK-NEXT:   %1 = trunc i32 %0 to i16
; CHECK-NEXT:   %2 = call i64 @__fixunstfdi(i128 %x)
; CHECK-NEXT:   %3 = call i128 @__fixunstfti(i128 %x)
; CHECK-NEXT:   %4 = call i32 @__fixtfsi(i128 %x)
; CHECK-NEXT:   %5 = and i32 %4, 16777215
; CHECK-NEXT:   ret i32 %5
; CHECK-NEXT: }

define fp128 @from_ints(i8 %a, i24 %b, i64 %c) {
start:
  %1 = sitofp i8 %a to fp128
  %2 = sitofp i24 %b to fp128
  %3 = uitofp i64 %c to fp128
  %4 = fadd fp128 %1, %2
  %5 = fadd fp128 %4, %3
  ret fp128 %5
}
; CHECK-LABEL: define i128 @from_ints(i8 %a, i32 %b, i64 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sext i8 %a to i32
; CHECK-NEXT:   %1 = call i128 @__floatsitf(i32 %0)
; CHECK-NEXT:   %2 = shl i32 %b, 8
; CHECK-NEXT:   %3 = ashr i32 %2, 8
; CHECK-NEXT:   %4 = call i128 @__floatsitf(i32 %3)
; CHECK-NEXT:   %5 = call i128 @__floatunditf(i64 %c)
; CHECK-NEXT:   %6 = call i128 @__addtf3(i128 %1, i128 %4)
; CHECK-NEXT:   %7 = call i128 @__addtf3(i128 %6, i128 %5)
; CHECK-NEXT:   ret i128 %7
; CHECK-NEXT: }

define fp128 @intrinsics(fp128 %a, fp128 %b) {
start:
  %1 = call fp128 @llvm.fabs.f128(fp128 %a)
  %2 = call fp128 @llvm.copysign.f128(fp128 %1, fp128 %b)
  %3 = call fp128 @llvm.sqrt.f128(fp128 %2)
  %4 = call fp128 @llvm.fma.f128(fp128 %3, fp128 %a, fp128 %b)
  %5 = call fp128 @llvm.minimum.f128(fp128 %4, fp128 %a)
  ret fp128 %5
}
; CHECK-LABEL: define i128 @intrinsics(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = and i128 %a, 170141183460469231731687303715884105727
; CHECK-NEXT:   %1 = and i128 %0, 170141183460469231731687303715884105727
; CHECK-NEXT:   %2 = and i128 %b, -170141183460469231731687303715884105728
; CHECK-NEXT:   %3 = or i128 %1, %2
; CHECK-NEXT:   %4 = call i128 @sqrtf128(i128 %3)
; CHECK-NEXT:   %5 = call i128 @fmaf128(i128 %4, i128 %a, i128 %b)
; CHECK-NEXT:   %6 = call i128 @fminimumf128(i128 %5, i128 %a)
; CHECK-NEXT:   ret i128 %6
; CHECK-NEXT: }

define i16 @saturates(fp128 %x) {
start:
  %r = call i16 @llvm.fptosi.sat.i16.f128(fp128 %x)
  ret i16 %r
}
; CHECK-LABEL: define i16 @saturates(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 @__fixtfsi(i128 %x)
; CHECK-NEXT:   %1 = icmp sgt i32 %0, 32767
; CHECK-NEXT:   %2 = select i1 %1, i32 32767, i32 %0
; CHECK-NEXT:   %3 = icmp slt i32 %2, -32768
; CHECK-NEXT:   %4 = select i1 %3, i32 -32768, i32 %2
; CHECK-NEXT:   %r = trunc i32 %4 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define <2 x fp128> @lanes(<2 x fp128> %a, <2 x fp128> %b) {
start:
  %r = fadd <2 x fp128> %a, %b
  ret <2 x fp128> %r
}
; CHECK-LABEL: define <2 x i128> @lanes(<2 x i128> %a, <2 x i128> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i128> %a, i32 0
; CHECK-NEXT:   %1 = extractelement <2 x i128> %b, i32 0
; CHECK-NEXT:   %2 = call i128 @__addtf3(i128 %0, i128 %1)
; CHECK-NEXT:   %3 = extractelement <2 x i128> %a, i32 1
; CHECK-NEXT:   %4 = extractelement <2 x i128> %b, i32 1
; CHECK-NEXT:   %5 = call i128 @__addtf3(i128 %3, i128 %4)
; CHECK-NEXT:   %6 = insertelement <2 x i128> undef, i128 %2, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %6, i128 %5, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

define i128 @bits(fp128 %x) {
start:
  %r = bitcast fp128 %x to i128
  ret i128 %r
}
; CHECK-LABEL: define i128 @bits(i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   ret i128 %x
; CHECK-NEXT: }
