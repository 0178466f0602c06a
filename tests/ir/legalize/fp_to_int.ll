; Saturating casts use `cvt`, which saturates; where `cvt` does not convert NaN to zero, a comparison
; does.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7

define i32 @f32_to_i32(float %x) {
start:
  %r = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  ret i32 %r
}
; CHECK-LABEL: define i32 @f32_to_i32(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = call i32 asm "cvt.rzi.s32.f32 $0, $1;", "=r,f"(float %x)
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define i8 @f32_to_u8(float %x) {
start:
  %r = call i8 @llvm.fptoui.sat.i8.f32(float %x)
  ret i8 %r
}
; CHECK-LABEL: define i8 @f32_to_u8(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 asm "cvt.rzi.u32.f32 $0, $1;", "=r,f"(float %x)
; CHECK-NEXT:   %1 = icmp ugt i32 %0, 255
; CHECK-NEXT:   %2 = select i1 %1, i32 255, i32 %0
; CHECK-NEXT:   %r = trunc i32 %2 to i8
; CHECK-NEXT:   ret i8 %r
; CHECK-NEXT: }

define i16 @f64_to_i16(double %x) {
start:
  %r = call i16 @llvm.fptosi.sat.i16.f64(double %x)
  ret i16 %r
}
; CHECK-LABEL: define i16 @f64_to_i16(double %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 asm "cvt.rzi.s32.f64 $0, $1;", "=r,d"(double %x)
; CHECK-NEXT:   %1 = fcmp uno double %x, 0x0000000000000000
; CHECK-NEXT:   %2 = select i1 %1, i32 0, i32 %0
; CHECK-NEXT:   %3 = icmp sgt i32 %2, 32767
; CHECK-NEXT:   %4 = select i1 %3, i32 32767, i32 %2
; CHECK-NEXT:   %5 = icmp slt i32 %4, -32768
; CHECK-NEXT:   %6 = select i1 %5, i32 -32768, i32 %4
; CHECK-NEXT:   %r = trunc i32 %6 to i16
; CHECK-NEXT:   ret i16 %r
; CHECK-NEXT: }

define i64 @f32_to_u64(float %x) {
start:
  %r = call i64 @llvm.fptoui.sat.i64.f32(float %x)
  ret i64 %r
}
; CHECK-LABEL: define i64 @f32_to_u64(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i64 asm "cvt.rzi.u64.f32 $0, $1;", "=l,f"(float %x)
; CHECK-NEXT:   %1 = fcmp uno float %x, 0x0000000000000000
; CHECK-NEXT:   %r = select i1 %1, i64 0, i64 %0
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }

define i64 @f64_to_i64(double %x) {
start:
  %r = call i64 @llvm.fptosi.sat.i64.f64(double %x)
  ret i64 %r
}
; CHECK-LABEL: define i64 @f64_to_i64(double %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i64 asm "cvt.rzi.s64.f64 $0, $1;", "=l,d"(double %x)
; CHECK-NEXT:   %1 = fcmp uno double %x, 0x0000000000000000
; CHECK-NEXT:   %r = select i1 %1, i64 0, i64 %0
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }

define i128 @f32_to_u128(float %x) {
start:
  %r = call i128 @llvm.fptoui.sat.i128.f32(float %x)
  ret i128 %r
}
; CHECK-LABEL: define i128 @f32_to_u128(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = fptoui float %x to i128
; CHECK-NEXT:   %1 = fcmp oge float %x, 0x7FF0000000000000
; CHECK-NEXT:   %2 = select i1 %1, i128 -1, i128 %0
; CHECK-NEXT:   %3 = fcmp ogt float %x, 0x0000000000000000
; CHECK-NEXT:   %r = select i1 %3, i128 %2, i128 0
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

define i128 @f64_to_i128(double %x) {
start:
  %r = call i128 @llvm.fptosi.sat.i128.f64(double %x)
  ret i128 %r
}
; CHECK-LABEL: define i128 @f64_to_i128(double %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = fptosi double %x to i128
; CHECK-NEXT:   %1 = fcmp oge double %x, 0x47E0000000000000
; CHECK-NEXT:   %2 = select i1 %1, i128 170141183460469231731687303715884105727, i128 %0
; CHECK-NEXT:   %3 = fcmp olt double %x, 0xC7E0000000000000
; CHECK-NEXT:   %4 = select i1 %3, i128 -170141183460469231731687303715884105728, i128 %2
; CHECK-NEXT:   %5 = fcmp uno double %x, 0x0000000000000000
; CHECK-NEXT:   %r = select i1 %5, i128 0, i128 %4
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; fp16 is converted in single precision.
define i32 @f16_to_i32(half %x) {
start:
  %r = call i32 @llvm.fptosi.sat.i32.f16(half %x)
  ret i32 %r
}
; CHECK-LABEL: define i32 @f16_to_i32(i16) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %1 = bitcast i16 %0 to half
; CHECK-NEXT:   %2 = fpext half %1 to float
; CHECK-NEXT:   %r = call i32 asm "cvt.rzi.s32.f32 $0, $1;", "=r,f"(float %2)
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define i128 @f16_to_i128(half %x) {
start:
  %r = call i128 @llvm.fptosi.sat.i128.f16(half %x)
  ret i128 %r
}
; CHECK-LABEL: define i128 @f16_to_i128(i16) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %1 = bitcast i16 %0 to half
; CHECK-NEXT:   %2 = fpext half %1 to float
; CHECK-NEXT:   %3 = call i32 asm "cvt.rzi.s32.f32 $0, $1;", "=r,f"(float %2)
; CHECK-NEXT:   %4 = sext i32 %3 to i128
; CHECK-NEXT:   %5 = fcmp oge float %2, 0x47E0000000000000
; CHECK-NEXT:   %6 = select i1 %5, i128 170141183460469231731687303715884105727, i128 %4
; CHECK-NEXT:   %7 = fcmp olt float %2, 0xC7E0000000000000
; CHECK-NEXT:   %8 = select i1 %7, i128 -170141183460469231731687303715884105728, i128 %6
; CHECK-NEXT:   %9 = fcmp uno float %2, 0x0000000000000000
; CHECK-NEXT:   %r = select i1 %9, i128 0, i128 %8
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

define <2 x i32> @lanes(<2 x float> %x) {
start:
  %r = call <2 x i32> @llvm.fptosi.sat.v2i32.v2f32(<2 x float> %x)
  ret <2 x i32> %r
}
; CHECK-LABEL: define <2 x i32> @lanes(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = call i32 asm "cvt.rzi.s32.f32 $0, $1;", "=r,f"(float %0)
; CHECK-NEXT:   %2 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %3 = call i32 asm "cvt.rzi.s32.f32 $0, $1;", "=r,f"(float %2)
; CHECK-NEXT:   %4 = insertelement <2 x i32> undef, i32 %1, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i32> %4, i32 %3, i32 1
; CHECK-NEXT:   ret <2 x i32> %r
; CHECK-NEXT: }
