; Illegal-width integers: the bits of the register above the width are zero.
; RUN: opt --passes=legalize --sm=120

define i24 @arithmetic(i24 %a, i24 %b) {
start:
  %1 = add i24 %a, %b
  %2 = mul i24 %1, %b
  %3 = shl i24 %2, 3
  %4 = and i24 %3, %a
  %5 = udiv i24 %4, %b
  %6 = sdiv i24 %5, %b
  %7 = ashr i24 %6, 1
  ret i24 %7
}
; CHECK-LABEL: define i32 @arithmetic(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = add i32 %a, %b
; CHECK-NEXT:   %1 = and i32 %0, 16777215
; CHECK-NEXT:   %2 = mul i32 %1, %b
; CHECK-NEXT:   %3 = and i32 %2, 16777215
; CHECK-NEXT:   %4 = shl i32 %3, 3
; CHECK-NEXT:   %5 = and i32 %4, 16777215
; CHECK-NEXT:   %6 = and i32 %5, %a
; CHECK-NEXT:   %7 = udiv i32 %6, %b
; CHECK-NEXT:   %8 = shl i32 %7, 8
; CHECK-NEXT:   %9 = ashr i32 %8, 8
; CHECK-NEXT:   %10 = shl i32 %b, 8
; CHECK-NEXT:   %11 = ashr i32 %10, 8
; CHECK-NEXT:   %12 = sdiv i32 %9, %11
; CHECK-NEXT:   %13 = and i32 %12, 16777215
; CHECK-NEXT:   %14 = shl i32 %13, 8
; CHECK-NEXT:   %15 = ashr i32 %14, 8
; CHECK-NEXT:   %16 = ashr i32 %15, 1
; CHECK-NEXT:   %17 = and i32 %16, 16777215
; CHECK-NEXT:   ret i32 %17
; CHECK-NEXT: }

define i1 @compares(i24 %a, i24 %b) {
start:
  %1 = icmp slt i24 %a, %b
  %2 = icmp ult i24 %a, %b
  %r = xor i1 %1, %2
  ret i1 %r
}
; CHECK-LABEL: define i1 @compares(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = shl i32 %a, 8
; CHECK-NEXT:   %1 = ashr i32 %0, 8
; CHECK-NEXT:   %2 = shl i32 %b, 8
; CHECK-NEXT:   %3 = ashr i32 %2, 8
; CHECK-NEXT:   %4 = icmp slt i32 %1, %3
; CHECK-NEXT:   %5 = icmp ult i32 %a, %b
; CHECK-NEXT:   %r = xor i1 %4, %5
; CHECK-NEXT:   ret i1 %r
; CHECK-NEXT: }

define i64 @extends(i24 %x) {
start:
  %1 = sext i24 %x to i64
  %2 = zext i24 %x to i64
  %r = xor i64 %1, %2
  ret i64 %r
}
; CHECK-LABEL: define i64 @extends(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = shl i32 %x, 8
; CHECK-NEXT:   %1 = ashr i32 %0, 8
; CHECK-NEXT:   %2 = sext i32 %1 to i64
; CHECK-NEXT:   %3 = zext i32 %x to i64
; CHECK-NEXT:   %r = xor i64 %2, %3
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }

define i48 @truncates(i128 %x, i24 %y) {
start:
  %1 = trunc i128 %x to i48
  %2 = sext i24 %y to i48
  %r = xor i48 %1, %2
  ret i48 %r
}
; CHECK-LABEL: define i64 @truncates(i128 %x, i32 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = and i64 %0, 281474976710655
; CHECK-NEXT:   %2 = shl i32 %y, 8
; CHECK-NEXT:   %3 = ashr i32 %2, 8
; CHECK-NEXT:   %4 = sext i32 %3 to i64
; CHECK-NEXT:   %5 = and i64 %4, 281474976710655
; CHECK-NEXT:   %r = xor i64 %1, %5
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }

define i24 @converts(float %x, i24 %y) {
start:
  %1 = fptosi float %x to i24
  %2 = sitofp i24 %y to float
  %3 = fptoui float %2 to i24
  %r = xor i24 %1, %3
  ret i24 %r
}
; CHECK-LABEL: define i32 @converts(float %x, i32 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = fptosi float %x to i32
; CHECK-NEXT:   %1 = and i32 %0, 16777215
; CHECK-NEXT:   %2 = shl i32 %y, 8
; CHECK-NEXT:   %3 = ashr i32 %2, 8
; CHECK-NEXT:   %4 = sitofp i32 %3 to float
; CHECK-NEXT:   %5 = fptoui float %4 to i32
; CHECK-NEXT:   %6 = and i32 %5, 16777215
; CHECK-NEXT:   %r = xor i32 %1, %6
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define i24 @from_lanes(<3 x i8> %x) {
start:
  %r = bitcast <3 x i8> %x to i24
  ret i24 %r
}
; CHECK-LABEL: define i32 @from_lanes(<3 x i8> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <3 x i8> %x, i32 0
; CHECK-NEXT:   %1 = zext i8 %0 to i32
; CHECK-NEXT:   %2 = shl i32 %1, 0
; CHECK-NEXT:   %3 = or i32 0, %2
; CHECK-NEXT:   %4 = extractelement <3 x i8> %x, i32 1
; CHECK-NEXT:   %5 = zext i8 %4 to i32
; CHECK-NEXT:   %6 = shl i32 %5, 8
; CHECK-NEXT:   %7 = or i32 %3, %6
; CHECK-NEXT:   %8 = extractelement <3 x i8> %x, i32 2
; CHECK-NEXT:   %9 = zext i8 %8 to i32
; CHECK-NEXT:   %10 = shl i32 %9, 16
; CHECK-NEXT:   %r = or i32 %7, %10
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define <3 x i16> @to_lanes(i48 %x) {
start:
  %r = bitcast i48 %x to <3 x i16>
  ret <3 x i16> %r
}
; CHECK-LABEL: define <3 x i16> @to_lanes(i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = lshr i64 %x, 0
; CHECK-NEXT:   %1 = trunc i64 %0 to i16
; CHECK-NEXT:   %2 = lshr i64 %x, 16
; CHECK-NEXT:   %3 = trunc i64 %2 to i16
; CHECK-NEXT:   %4 = lshr i64 %x, 32
; CHECK-NEXT:   %5 = trunc i64 %4 to i16
; CHECK-NEXT:   %6 = insertelement <3 x i16> undef, i16 %1, i32 0
; CHECK-NEXT:   %7 = insertelement <3 x i16> %6, i16 %3, i32 1
; CHECK-NEXT:   %r = insertelement <3 x i16> %7, i16 %5, i32 2
; CHECK-NEXT:   ret <3 x i16> %r
; CHECK-NEXT: }

; Indices are signed.
define ptr @indexes(ptr %p, i24 %i) {
start:
  %q = getelementptr inbounds i32, ptr %p, i24 %i
  ret ptr %q
}
; CHECK-LABEL: define ptr @indexes(ptr %p, i32 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = shl i32 %i, 8
; CHECK-NEXT:   %1 = ashr i32 %0, 8
; CHECK-NEXT:   %q = getelementptr inbounds i32, ptr %p, i32 %1
; CHECK-NEXT:   ret ptr %q
; CHECK-NEXT: }

define i24 @counts(i24 %x) {
start:
  %1 = call i24 @llvm.ctpop.i24(i24 %x)
  %2 = call i24 @llvm.ctlz.i24(i24 %1, i1 false)
  %3 = call i24 @llvm.cttz.i24(i24 %2, i1 false)
  ret i24 %3
}
; CHECK-LABEL: define i32 @counts(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 @llvm.ctpop.i32(i32 %x)
; CHECK-NEXT:   %1 = call i32 @llvm.ctlz.i32(i32 %0, i1 false)
; CHECK-NEXT:   %2 = sub i32 %1, 8
; CHECK-NEXT:   %3 = or i32 %2, 16777216
; CHECK-NEXT:   %4 = call i32 @llvm.cttz.i32(i32 %3, i1 false)
; CHECK-NEXT:   ret i32 %4
; CHECK-NEXT: }

define i24 @reverses(i24 %x) {
start:
  %1 = call i24 @llvm.bitreverse.i24(i24 %x)
  ret i24 %1
}
; CHECK-LABEL: define i32 @reverses(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 @llvm.bitreverse.i32(i32 %x)
; CHECK-NEXT:   %1 = lshr i32 %0, 8
; CHECK-NEXT:   ret i32 %1
; CHECK-NEXT: }

define i48 @swaps(i48 %x, i48 %y, i48 %by) {
start:
  %1 = call i48 @llvm.bswap.i48(i48 %x)
  %2 = call i48 @llvm.fshl.i48(i48 %1, i48 %y, i48 %by)
  %3 = call i48 @llvm.fshr.i48(i48 %2, i48 %y, i48 %by)
  ret i48 %3
}
; CHECK-LABEL: define i64 @swaps(i64 %x, i64 %y, i64 %by) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i64 @llvm.bswap.i64(i64 %x)
; CHECK-NEXT:   %1 = lshr i64 %0, 16
; CHECK-NEXT:   %2 = urem i64 %by, 48
; CHECK-NEXT:   %3 = sub i64 48, %2
; CHECK-NEXT:   %4 = shl i64 %1, %2
; CHECK-NEXT:   %5 = lshr i64 %y, %3
; CHECK-NEXT:   %6 = or i64 %4, %5
; CHECK-NEXT:   %7 = and i64 %6, 281474976710655
; CHECK-NEXT:   %8 = urem i64 %by, 48
; CHECK-NEXT:   %9 = sub i64 48, %8
; CHECK-NEXT:   %10 = shl i64 %7, %9
; CHECK-NEXT:   %11 = lshr i64 %y, %8
; CHECK-NEXT:   %12 = or i64 %10, %11
; CHECK-NEXT:   %13 = and i64 %12, 281474976710655
; CHECK-NEXT:   ret i64 %13
; CHECK-NEXT: }

define i24 @extremes(i24 %x, i24 %y) {
start:
  %1 = call i24 @llvm.smax.i24(i24 %x, i24 %y)
  %2 = call i24 @llvm.umin.i24(i24 %1, i24 %y)
  %3 = call i24 @llvm.abs.i24(i24 %2, i1 false)
  ret i24 %3
}
; CHECK-LABEL: define i32 @extremes(i32 %x, i32 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = shl i32 %x, 8
; CHECK-NEXT:   %1 = ashr i32 %0, 8
; CHECK-NEXT:   %2 = shl i32 %y, 8
; CHECK-NEXT:   %3 = ashr i32 %2, 8
; CHECK-NEXT:   %4 = call i32 @llvm.smax.i32(i32 %1, i32 %3)
; CHECK-NEXT:   %5 = and i32 %4, 16777215
; CHECK-NEXT:   %6 = call i32 @llvm.umin.i32(i32 %5, i32 %y)
; CHECK-NEXT:   %7 = shl i32 %6, 8
; CHECK-NEXT:   %8 = ashr i32 %7, 8
; CHECK-NEXT:   %9 = call i32 @llvm.abs.i32(i32 %8, i1 false)
; CHECK-NEXT:   %10 = and i32 %9, 16777215
; CHECK-NEXT:   ret i32 %10
; CHECK-NEXT: }

define { i24, i1 } @overflows(i24 %x, i24 %y) {
start:
  %r = call { i24, i1 } @llvm.smul.with.overflow.i24(i24 %x, i24 %y)
  ret { i24, i1 } %r
}
; CHECK-LABEL: define { i32, i1 } @overflows(i32 %x, i32 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = shl i32 %x, 8
; CHECK-NEXT:   %1 = ashr i32 %0, 8
; CHECK-NEXT:   %2 = sext i32 %1 to i64
; CHECK-NEXT:   %3 = shl i32 %y, 8
; CHECK-NEXT:   %4 = ashr i32 %3, 8
; CHECK-NEXT:   %5 = sext i32 %4 to i64
; CHECK-NEXT:   %6 = mul i64 %2, %5
; CHECK-NEXT:   %7 = trunc i64 %6 to i32
; CHECK-NEXT:   %8 = and i32 %7, 16777215
; CHECK-NEXT:   %9 = shl i32 %8, 8
; CHECK-NEXT:   %10 = ashr i32 %9, 8
; CHECK-NEXT:   %11 = sext i32 %10 to i64
; CHECK-NEXT:   %12 = icmp ne i64 %11, %6
; CHECK-NEXT:   %13 = insertvalue { i32, i1 } undef, i32 %8, 0
; CHECK-NEXT:   %r = insertvalue { i32, i1 } %13, i1 %12, 1
; CHECK-NEXT:   ret { i32, i1 } %r
; CHECK-NEXT: }

; No width holds all products, so the overflow of 128 bits counts too.
define { i72, i1 } @overflows_widely(i72 %x, i72 %y) {
start:
  %r = call { i72, i1 } @llvm.umul.with.overflow.i72(i72 %x, i72 %y)
  ret { i72, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @overflows_widely(i128 %x, i128 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %x to i64
; CHECK-NEXT:   %1 = lshr i128 %x, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = trunc i128 %y to i64
; CHECK-NEXT:   %4 = lshr i128 %y, 64
; CHECK-NEXT:   %5 = trunc i128 %4 to i64
; CHECK-NEXT:   %6 = zext i64 %0 to i128
; CHECK-NEXT:   %7 = zext i64 %3 to i128
; CHECK-NEXT:   %8 = mul i128 %6, %7
; CHECK-NEXT:   %9 = trunc i128 %8 to i64
; CHECK-NEXT:   %10 = lshr i128 %8, 64
; CHECK-NEXT:   %11 = trunc i128 %10 to i64
; CHECK-NEXT:   %12 = zext i64 %2 to i128
; CHECK-NEXT:   %13 = zext i64 %3 to i128
; CHECK-NEXT:   %14 = mul i128 %12, %13
; CHECK-NEXT:   %15 = trunc i128 %14 to i64
; CHECK-NEXT:   %16 = lshr i128 %14, 64
; CHECK-NEXT:   %17 = trunc i128 %16 to i64
; CHECK-NEXT:   %18 = zext i64 %5 to i128
; CHECK-NEXT:   %19 = zext i64 %0 to i128
; CHECK-NEXT:   %20 = mul i128 %18, %19
; CHECK-NEXT:   %21 = trunc i128 %20 to i64
; CHECK-NEXT:   %22 = lshr i128 %20, 64
; CHECK-NEXT:   %23 = trunc i128 %22 to i64
; CHECK-NEXT:   %24 = add i64 %15, %21
; CHECK-NEXT:   %25 = add i64 %11, %24
; CHECK-NEXT:   %26 = icmp ne i64 %2, 0
; CHECK-NEXT:   %27 = icmp ne i64 %5, 0
; CHECK-NEXT:   %28 = and i1 %26, %27
; CHECK-NEXT:   %29 = or i64 %17, %23
; CHECK-NEXT:   %30 = icmp ne i64 %29, 0
; CHECK-NEXT:   %31 = icmp ult i64 %25, %11
; CHECK-NEXT:   %32 = or i1 %28, %30
; CHECK-NEXT:   %33 = or i1 %32, %31
; CHECK-NEXT:   %34 = zext i64 %9 to i128
; CHECK-NEXT:   %35 = zext i64 %25 to i128
; CHECK-NEXT:   %36 = shl i128 %35, 64
; CHECK-NEXT:   %37 = or i128 %36, %34
; CHECK-NEXT:   %38 = insertvalue { i128, i1 } undef, i128 %37, 0
; CHECK-NEXT:   %39 = insertvalue { i128, i1 } %38, i1 %33, 1
; CHECK-NEXT:   %40 = extractvalue { i128, i1 } %39, 0
; CHECK-NEXT:   %41 = extractvalue { i128, i1 } %39, 1
; CHECK-NEXT:   %42 = and i128 %40, 4722366482869645213695
; CHECK-NEXT:   %43 = icmp ne i128 %42, %40
; CHECK-NEXT:   %44 = or i1 %43, %41
; CHECK-NEXT:   %45 = insertvalue { i128, i1 } undef, i128 %42, 0
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %45, i1 %44, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

define i24 @saturates(i24 %x, i24 %y) {
start:
  %1 = call i24 @llvm.sadd.sat.i24(i24 %x, i24 %y)
  %2 = call i24 @llvm.uadd.sat.i24(i24 %1, i24 %y)
  %3 = call i24 @llvm.usub.sat.i24(i24 %2, i24 %y)
  ret i24 %3
}
; CHECK-LABEL: define i32 @saturates(i32 %x, i32 %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = shl i32 %x, 8
; CHECK-NEXT:   %1 = ashr i32 %0, 8
; CHECK-NEXT:   %2 = shl i32 %y, 8
; CHECK-NEXT:   %3 = ashr i32 %2, 8
; CHECK-NEXT:   %4 = add i32 %1, %3
; CHECK-NEXT:   %5 = icmp sgt i32 %4, 8388607
; CHECK-NEXT:   %6 = select i1 %5, i32 8388607, i32 %4
; CHECK-NEXT:   %7 = icmp slt i32 %6, -8388608
; CHECK-NEXT:   %8 = select i1 %7, i32 -8388608, i32 %6
; CHECK-NEXT:   %9 = and i32 %8, 16777215
; CHECK-NEXT:   %10 = add i32 %9, %y
; CHECK-NEXT:   %11 = icmp ugt i32 %10, 16777215
; CHECK-NEXT:   %12 = select i1 %11, i32 16777215, i32 %10
; CHECK-NEXT:   %13 = sub i32 %12, %y
; CHECK-NEXT:   %14 = icmp ugt i32 %13, 16777215
; CHECK-NEXT:   %15 = select i1 %14, i32 0, i32 %13
; CHECK-NEXT:   ret i32 %15
; CHECK-NEXT: }

define i24 @saturating_cast(float %x) {
start:
  %r = call i24 @llvm.fptosi.sat.i24.f32(float %x)
  ret i24 %r
}
; CHECK-LABEL: define i32 @saturating_cast(float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 asm "cvt.rzi.s32.f32 $0, $1;", "=r,f"(float %x)
; CHECK-NEXT:   %1 = icmp sgt i32 %0, 8388607
; CHECK-NEXT:   %2 = select i1 %1, i32 8388607, i32 %0
; CHECK-NEXT:   %3 = icmp slt i32 %2, -8388608
; CHECK-NEXT:   %4 = select i1 %3, i32 -8388608, i32 %2
; CHECK-NEXT:   %r = and i32 %4, 16777215
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
