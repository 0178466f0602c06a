; `bf16` is `i16`; operations are computed in single precision and rounded.
; RUN: opt --passes=legalize --sm=120

define bfloat @adds(bfloat %a, bfloat %b) {
start:
  %r = fadd bfloat %a, %b
  ret bfloat %r
}
; CHECK-LABEL: define i16 @adds(i16 %a, i16 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i16 %a to i32
; CHECK-NEXT:   %1 = shl i32 %0, 16
; CHECK-NEXT:   %2 = bitcast i32 %1 to float
; CHECK-NEXT:   %3 = zext i16 %b to i32
; CHECK-NEXT:   %4 = shl i32 %3, 16
; CHECK-NEXT:   %5 = bitcast i32 %4 to float
; CHECK-NEXT:   %6 = fadd float %2, %5
; CHECK-NEXT:   %7 = bitcast float %6 to i32
; CHECK-NEXT:   %8 = lshr i32 %7, 16
; CHECK-NEXT:   %9 = and i32 %8, 1
; CHECK-NEXT:   %10 = add i32 %7, 32767
; CHECK-NEXT:   %11 = add i32 %10, %9
; CHECK-NEXT:   %12 = lshr i32 %11, 16
; CHECK-NEXT:   %13 = fcmp uno float %6, 0x0000000000000000
; CHECK-NEXT:   %14 = or i32 %8, 64
; CHECK-NEXT:   %15 = select i1 %13, i32 %14, i32 %12
; CHECK-NEXT:   %r = trunc i32 %15 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define i1 @compares(bfloat %a, bfloat %b) {
start:
  %r = fcmp olt bfloat %a, %b
  ret i1 %r
}
; CHECK-LABEL: define i1 @compares(i16 %a, i16 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i16 %a to i32
; CHECK-NEXT:   %1 = shl i32 %0, 16
; CHECK-NEXT:   %2 = bitcast i32 %1 to float
; CHECK-NEXT:   %3 = zext i16 %b to i32
; CHECK-NEXT:   %4 = shl i32 %3, 16
; CHECK-NEXT:   %5 = bitcast i32 %4 to float
; CHECK-NEXT:   %r = fcmp olt float %2, %5
; CHECK-NEXT:   ret i1 %r
; CHECK-NEXT: }

define bfloat @negates(bfloat %x) {
start:
  %r = fneg bfloat %x
  ret bfloat %r
}
; CHECK-LABEL: define i16 @negates(i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = xor i16 %x, -32768
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define double @widens(bfloat %x) {
start:
  %r = fpext bfloat %x to double
  ret double %r
}
; CHECK-LABEL: define double @widens(i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i16 %x to i32
; CHECK-NEXT:   %1 = shl i32 %0, 16
; CHECK-NEXT:   %2 = bitcast i32 %1 to float
; CHECK-NEXT:   %r = fpext float %2 to double
; CHECK-NEXT:   ret double %r
; CHECK-NEXT: }

define bfloat @from_float(float %x) {
start:
  %r = fptrunc float %x to bfloat
  ret bfloat %r
}
; CHECK-LABEL: define i16 @from_float(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = bitcast float %x to i32
; CHECK-NEXT:   %1 = lshr i32 %0, 16
; CHECK-NEXT:   %2 = and i32 %1, 1
; CHECK-NEXT:   %3 = add i32 %0, 32767
; CHECK-NEXT:   %4 = add i32 %3, %2
; CHECK-NEXT:   %5 = lshr i32 %4, 16
; CHECK-NEXT:   %6 = fcmp uno float %x, 0x0000000000000000
; CHECK-NEXT:   %7 = or i32 %1, 64
; CHECK-NEXT:   %8 = select i1 %6, i32 %7, i32 %5
; CHECK-NEXT:   %r = trunc i32 %8 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

; Rounding to odd in between avoids double rounding.
define bfloat @from_double(double %x) {
start:
  %r = fptrunc double %x to bfloat
  ret bfloat %r
}
; CHECK-LABEL: define i16 @from_double(double %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = fptrunc double %x to float
; CHECK-NEXT:   %1 = fpext float %0 to double
; CHECK-NEXT:   %2 = fcmp one double %1, %x
; CHECK-NEXT:   %3 = bitcast double %1 to i64
; CHECK-NEXT:   %4 = and i64 %3, 9223372036854775807
; CHECK-NEXT:   %5 = bitcast double %x to i64
; CHECK-NEXT:   %6 = and i64 %5, 9223372036854775807
; CHECK-NEXT:   %7 = icmp ugt i64 %4, %6
; CHECK-NEXT:   %8 = bitcast float %0 to i32
; CHECK-NEXT:   %9 = sub i32 %8, 1
; CHECK-NEXT:   %10 = select i1 %7, i32 %9, i32 %8
; CHECK-NEXT:   %11 = or i32 %10, 1
; CHECK-NEXT:   %12 = select i1 %2, i32 %11, i32 %8
; CHECK-NEXT:   %13 = bitcast i32 %12 to float
; CHECK-NEXT:   %14 = bitcast float %13 to i32
; CHECK-NEXT:   %15 = lshr i32 %14, 16
; CHECK-NEXT:   %16 = and i32 %15, 1
; CHECK-NEXT:   %17 = add i32 %14, 32767
; CHECK-NEXT:   %18 = add i32 %17, %16
; CHECK-NEXT:   %19 = lshr i32 %18, 16
; CHECK-NEXT:   %20 = fcmp uno float %13, 0x0000000000000000
; CHECK-NEXT:   %21 = or i32 %15, 64
; CHECK-NEXT:   %22 = select i1 %20, i32 %21, i32 %19
; CHECK-NEXT:   %r = trunc i32 %22 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define i24 @to_int(bfloat %x) {
start:
  %r = fptosi bfloat %x to i24
  ret i24 %r
}
; CHECK-LABEL: define i32 @to_int(i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i16 %x to i32
; CHECK-NEXT:   %1 = shl i32 %0, 16
; CHECK-NEXT:   %2 = bitcast i32 %1 to float
; CHECK-NEXT:   %3 = fptosi float %2 to i32
; CHECK-NEXT:   %r = and i32 %3, 16777215
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define bfloat @from_int(i32 %x) {
start:
  %r = sitofp i32 %x to bfloat
  ret bfloat %r
}
; CHECK-LABEL: define i16 @from_int(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sitofp i32 %x to double
; CHECK-NEXT:   %1 = fptrunc double %0 to float
; CHECK-NEXT:   %2 = fpext float %1 to double
; CHECK-NEXT:   %3 = fcmp one double %2, %0
; CHECK-NEXT:   %4 = bitcast double %2 to i64
; CHECK-NEXT:   %5 = and i64 %4, 9223372036854775807
; CHECK-NEXT:   %6 = bitcast double %0 to i64
; CHECK-NEXT:   %7 = and i64 %6, 9223372036854775807
; CHECK-NEXT:   %8 = icmp ugt i64 %5, %7
; CHECK-NEXT:   %9 = bitcast float %1 to i32
; CHECK-NEXT:   %10 = sub i32 %9, 1
; CHECK-NEXT:   %11 = select i1 %8, i32 %10, i32 %9
; CHECK-NEXT:   %12 = or i32 %11, 1
; CHECK-NEXT:   %13 = select i1 %3, i32 %12, i32 %9
; CHECK-NEXT:   %14 = bitcast i32 %13 to float
; CHECK-NEXT:   %15 = bitcast float %14 to i32
; CHECK-NEXT:   %16 = lshr i32 %15, 16
; CHECK-NEXT:   %17 = and i32 %16, 1
; CHECK-NEXT:   %18 = add i32 %15, 32767
; CHECK-NEXT:   %19 = add i32 %18, %17
; CHECK-NEXT:   %20 = lshr i32 %19, 16
; CHECK-NEXT:   %21 = fcmp uno float %14, 0x0000000000000000
; CHECK-NEXT:   %22 = or i32 %16, 64
; CHECK-NEXT:   %23 = select i1 %21, i32 %22, i32 %20
; CHECK-NEXT:   %r = trunc i32 %23 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define bfloat @signs(bfloat %x, bfloat %y) {
start:
  %1 = call bfloat @llvm.fabs.bf16(bfloat %x)
  %2 = call bfloat @llvm.copysign.bf16(bfloat %1, bfloat %y)
  ret bfloat %2
}
; CHECK-LABEL: define i16 @signs(i16 %x, i16 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = and i16 %x, 32767
; CHECK-NEXT:   %1 = and i16 %0, 32767
; CHECK-NEXT:   %2 = and i16 %y, -32768
; CHECK-NEXT:   %3 = or i16 %1, %2
; CHECK-NEXT:   ret i16 %3
; CHECK-NEXT: }

define bfloat @root(bfloat %x) {
start:
  %r = call bfloat @llvm.sqrt.bf16(bfloat %x)
  ret bfloat %r
}
; CHECK-LABEL: define i16 @root(i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i16 %x to i32
; CHECK-NEXT:   %1 = shl i32 %0, 16
; CHECK-NEXT:   %2 = bitcast i32 %1 to float
; CHECK-NEXT:   %3 = call float @llvm.sqrt.f32(float %2)
; CHECK-NEXT:   %4 = bitcast float %3 to i32
; CHECK-NEXT:   %5 = lshr i32 %4, 16
; CHECK-NEXT:   %6 = and i32 %5, 1
; CHECK-NEXT:   %7 = add i32 %4, 32767
; CHECK-NEXT:   %8 = add i32 %7, %6
; CHECK-NEXT:   %9 = lshr i32 %8, 16
; CHECK-NEXT:   %10 = fcmp uno float %3, 0x0000000000000000
; CHECK-NEXT:   %11 = or i32 %5, 64
; CHECK-NEXT:   %12 = select i1 %10, i32 %11, i32 %9
; CHECK-NEXT:   %r = trunc i32 %12 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define i8 @saturates(bfloat %x) {
start:
  %r = call i8 @llvm.fptoui.sat.i8.bf16(bfloat %x)
  ret i8 %r
}
; CHECK-LABEL: define i8 @saturates(i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i16 %x to i32
; CHECK-NEXT:   %1 = shl i32 %0, 16
; CHECK-NEXT:   %2 = bitcast i32 %1 to float
; CHECK-NEXT:   %3 = call i32 asm "cvt.rzi.u32.f32 $0, $1;", "=r,f"(float %2)
; CHECK-NEXT:   %4 = icmp ugt i32 %3, 255
; CHECK-NEXT:   %5 = select i1 %4, i32 255, i32 %3
; CHECK-NEXT:   %r = trunc i32 %5 to i8
; CHECK-NEXT:   ret i8 %r
; CHECK-NEXT: }

define <2 x bfloat> @lanes(<2 x bfloat> %a, <2 x bfloat> %b) {
start:
  %r = fmul <2 x bfloat> %a, %b
  ret <2 x bfloat> %r
}
; CHECK-LABEL: define <2 x i16> @lanes(<2 x i16> %a, <2 x i16> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i16> %a, i32 0
; CHECK-NEXT:   %1 = extractelement <2 x i16> %b, i32 0
; CHECK-NEXT:   %2 = zext i16 %0 to i32
; CHECK-NEXT:   %3 = shl i32 %2, 16
; CHECK-NEXT:   %4 = bitcast i32 %3 to float
; CHECK-NEXT:   %5 = zext i16 %1 to i32
; CHECK-NEXT:   %6 = shl i32 %5, 16
; CHECK-NEXT:   %7 = bitcast i32 %6 to float
; CHECK-NEXT:   %8 = fmul float %4, %7
; CHECK-NEXT:   %9 = bitcast float %8 to i32
; CHECK-NEXT:   %10 = lshr i32 %9, 16
; CHECK-NEXT:   %11 = and i32 %10, 1
; CHECK-NEXT:   %12 = add i32 %9, 32767
; CHECK-NEXT:   %13 = add i32 %12, %11
; CHECK-NEXT:   %14 = lshr i32 %13, 16
; CHECK-NEXT:   %15 = fcmp uno float %8, 0x0000000000000000
; CHECK-NEXT:   %16 = or i32 %10, 64
; CHECK-NEXT:   %17 = select i1 %15, i32 %16, i32 %14
; CHECK-NEXT:   %18 = trunc i32 %17 to i16
; CHECK-NEXT:   %19 = extractelement <2 x i16> %a, i32 1
; CHECK-NEXT:   %20 = extractelement <2 x i16> %b, i32 1
; CHECK-NEXT:   %21 = zext i16 %19 to i32
; CHECK-NEXT:   %22 = shl i32 %21, 16
; CHECK-NEXT:   %23 = bitcast i32 %22 to float
; CHECK-NEXT:   %24 = zext i16 %20 to i32
; CHECK-NEXT:   %25 = shl i32 %24, 16
; CHECK-NEXT:   %26 = bitcast i32 %25 to float
; CHECK-NEXT:   %27 = fmul float %23, %26
; CHECK-NEXT:   %28 = bitcast float %27 to i32
; CHECK-NEXT:   %29 = lshr i32 %28, 16
; CHECK-NEXT:   %30 = and i32 %29, 1
; CHECK-NEXT:   %31 = add i32 %28, 32767
; CHECK-NEXT:   %32 = add i32 %31, %30
; CHECK-NEXT:   %33 = lshr i32 %32, 16
; CHECK-NEXT:   %34 = fcmp uno float %27, 0x0000000000000000
; CHECK-NEXT:   %35 = or i32 %29, 64
; CHECK-NEXT:   %36 = select i1 %34, i32 %35, i32 %33
; CHECK-NEXT:   %37 = trunc i32 %36 to i16
; CHECK-NEXT:   %38 = insertelement <2 x i16> undef, i16 %18, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i16> %38, i16 %37, i32 1
; CHECK-NEXT:   ret <2 x i16> %r
; CHECK-NEXT: }
