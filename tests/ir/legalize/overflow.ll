; Checked arithmetic of 8 bits is computed in 32 bits, and of 128 bits in halves. libnvvm has that of
; 16, 32 and 64 bits, but emits long code for signed sums, and for signed products of 64 bits.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7

define { i8, i1 } @sadd8(i8 %a, i8 %b) {
start:
  %r = call { i8, i1 } @llvm.sadd.with.overflow.i8(i8 %a, i8 %b)
  ret { i8, i1 } %r
}
; CHECK-LABEL: define { i8, i1 } @sadd8(i8 %a, i8 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sext i8 %a to i32
; CHECK-NEXT:   %1 = sext i8 %b to i32
; CHECK-NEXT:   %2 = add i32 %0, %1
; CHECK-NEXT:   %3 = trunc i32 %2 to i8
; CHECK-NEXT:   %4 = sext i8 %3 to i32
; CHECK-NEXT:   %5 = icmp ne i32 %4, %2
; CHECK-NEXT:   %6 = insertvalue { i8, i1 } undef, i8 %3, 0
; CHECK-NEXT:   %r = insertvalue { i8, i1 } %6, i1 %5, 1
; CHECK-NEXT:   ret { i8, i1 } %r
; CHECK-NEXT: }

define { i8, i1 } @umul8(i8 %a, i8 %b) {
start:
  %r = call { i8, i1 } @llvm.umul.with.overflow.i8(i8 %a, i8 %b)
  ret { i8, i1 } %r
}
; CHECK-LABEL: define { i8, i1 } @umul8(i8 %a, i8 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i8 %a to i32
; CHECK-NEXT:   %1 = zext i8 %b to i32
; CHECK-NEXT:   %2 = mul i32 %0, %1
; CHECK-NEXT:   %3 = trunc i32 %2 to i8
; CHECK-NEXT:   %4 = zext i8 %3 to i32
; CHECK-NEXT:   %5 = icmp ne i32 %4, %2
; CHECK-NEXT:   %6 = insertvalue { i8, i1 } undef, i8 %3, 0
; CHECK-NEXT:   %r = insertvalue { i8, i1 } %6, i1 %5, 1
; CHECK-NEXT:   ret { i8, i1 } %r
; CHECK-NEXT: }

define { i128, i1 } @uadd128(i128 %a, i128 %b) {
start:
  %r = call { i128, i1 } @llvm.uadd.with.overflow.i128(i128 %a, i128 %b)
  ret { i128, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @uadd128(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = add i128 %a, %b
; CHECK-NEXT:   %1 = icmp ult i128 %0, %a
; CHECK-NEXT:   %2 = insertvalue { i128, i1 } undef, i128 %0, 0
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %2, i1 %1, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

define { i128, i1 } @usub128(i128 %a, i128 %b) {
start:
  %r = call { i128, i1 } @llvm.usub.with.overflow.i128(i128 %a, i128 %b)
  ret { i128, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @usub128(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i128 %a, %b
; CHECK-NEXT:   %1 = icmp ult i128 %a, %b
; CHECK-NEXT:   %2 = insertvalue { i128, i1 } undef, i128 %0, 0
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %2, i1 %1, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

define { i128, i1 } @sadd128(i128 %a, i128 %b) {
start:
  %r = call { i128, i1 } @llvm.sadd.with.overflow.i128(i128 %a, i128 %b)
  ret { i128, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @sadd128(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = add i128 %a, %b
; CHECK-NEXT:   %1 = xor i128 %a, %0
; CHECK-NEXT:   %2 = xor i128 %b, %0
; CHECK-NEXT:   %3 = and i128 %1, %2
; CHECK-NEXT:   %4 = icmp slt i128 %3, 0
; CHECK-NEXT:   %5 = insertvalue { i128, i1 } undef, i128 %0, 0
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %5, i1 %4, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

define { i128, i1 } @ssub128(i128 %a, i128 %b) {
start:
  %r = call { i128, i1 } @llvm.ssub.with.overflow.i128(i128 %a, i128 %b)
  ret { i128, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @ssub128(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i128 %a, %b
; CHECK-NEXT:   %1 = xor i128 %a, %0
; CHECK-NEXT:   %2 = xor i128 %b, %a
; CHECK-NEXT:   %3 = and i128 %1, %2
; CHECK-NEXT:   %4 = icmp slt i128 %3, 0
; CHECK-NEXT:   %5 = insertvalue { i128, i1 } undef, i128 %0, 0
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %5, i1 %4, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

define { i128, i1 } @umul128(i128 %a, i128 %b) {
start:
  %r = call { i128, i1 } @llvm.umul.with.overflow.i128(i128 %a, i128 %b)
  ret { i128, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @umul128(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %a to i64
; CHECK-NEXT:   %1 = lshr i128 %a, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = trunc i128 %b to i64
; CHECK-NEXT:   %4 = lshr i128 %b, 64
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
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %38, i1 %33, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

; The magnitudes are multiplied; the limit depends on the sign of the result.
define { i128, i1 } @smul128(i128 %a, i128 %b) {
start:
  %r = call { i128, i1 } @llvm.smul.with.overflow.i128(i128 %a, i128 %b)
  ret { i128, i1 } %r
}
; CHECK-LABEL: define { i128, i1 } @smul128(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = ashr i128 %a, 127
; CHECK-NEXT:   %1 = xor i128 %a, %0
; CHECK-NEXT:   %2 = sub i128 %1, %0
; CHECK-NEXT:   %3 = ashr i128 %b, 127
; CHECK-NEXT:   %4 = xor i128 %b, %3
; CHECK-NEXT:   %5 = sub i128 %4, %3
; CHECK-NEXT:   %6 = trunc i128 %2 to i64
; CHECK-NEXT:   %7 = lshr i128 %2, 64
; CHECK-NEXT:   %8 = trunc i128 %7 to i64
; CHECK-NEXT:   %9 = trunc i128 %5 to i64
; CHECK-NEXT:   %10 = lshr i128 %5, 64
; CHECK-NEXT:   %11 = trunc i128 %10 to i64
; CHECK-NEXT:   %12 = zext i64 %6 to i128
; CHECK-NEXT:   %13 = zext i64 %9 to i128
; CHECK-NEXT:   %14 = mul i128 %12, %13
; CHECK-NEXT:   %15 = trunc i128 %14 to i64
; CHECK-NEXT:   %16 = lshr i128 %14, 64
; CHECK-NEXT:   %17 = trunc i128 %16 to i64
; CHECK-NEXT:   %18 = zext i64 %8 to i128
; CHECK-NEXT:   %19 = zext i64 %9 to i128
; CHECK-NEXT:   %20 = mul i128 %18, %19
; CHECK-NEXT:   %21 = trunc i128 %20 to i64
; CHECK-NEXT:   %22 = lshr i128 %20, 64
; CHECK-NEXT:   %23 = trunc i128 %22 to i64
; CHECK-NEXT:   %24 = zext i64 %11 to i128
; CHECK-NEXT:   %25 = zext i64 %6 to i128
; CHECK-NEXT:   %26 = mul i128 %24, %25
; CHECK-NEXT:   %27 = trunc i128 %26 to i64
; CHECK-NEXT:   %28 = lshr i128 %26, 64
; CHECK-NEXT:   %29 = trunc i128 %28 to i64
; CHECK-NEXT:   %30 = add i64 %21, %27
; CHECK-NEXT:   %31 = add i64 %17, %30
; CHECK-NEXT:   %32 = icmp ne i64 %8, 0
; CHECK-NEXT:   %33 = icmp ne i64 %11, 0
; CHECK-NEXT:   %34 = and i1 %32, %33
; CHECK-NEXT:   %35 = or i64 %23, %29
; CHECK-NEXT:   %36 = icmp ne i64 %35, 0
; CHECK-NEXT:   %37 = icmp ult i64 %31, %17
; CHECK-NEXT:   %38 = or i1 %34, %36
; CHECK-NEXT:   %39 = or i1 %38, %37
; CHECK-NEXT:   %40 = zext i64 %15 to i128
; CHECK-NEXT:   %41 = zext i64 %31 to i128
; CHECK-NEXT:   %42 = shl i128 %41, 64
; CHECK-NEXT:   %43 = or i128 %42, %40
; CHECK-NEXT:   %44 = xor i128 %a, %b
; CHECK-NEXT:   %45 = ashr i128 %44, 127
; CHECK-NEXT:   %46 = xor i128 %43, %45
; CHECK-NEXT:   %47 = sub i128 %46, %45
; CHECK-NEXT:   %48 = sub i128 170141183460469231731687303715884105727, %45
; CHECK-NEXT:   %49 = icmp ugt i128 %43, %48
; CHECK-NEXT:   %50 = or i1 %39, %49
; CHECK-NEXT:   %51 = insertvalue { i128, i1 } undef, i128 %47, 0
; CHECK-NEXT:   %r = insertvalue { i128, i1 } %51, i1 %50, 1
; CHECK-NEXT:   ret { i128, i1 } %r
; CHECK-NEXT: }

define { i64, i1 } @native(i64 %a, i64 %b) {
start:
  %r = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %a, i64 %b)
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @native(i64 %a, i64 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %a, i64 %b)
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }

define { i32, i1 } @smul32(i32 %a, i32 %b) {
start:
  %r = call { i32, i1 } @llvm.smul.with.overflow.i32(i32 %a, i32 %b)
  ret { i32, i1 } %r
}
; CHECK-LABEL: define { i32, i1 } @smul32(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = call { i32, i1 } @llvm.smul.with.overflow.i32(i32 %a, i32 %b)
; CHECK-NEXT:   ret { i32, i1 } %r
; CHECK-NEXT: }

define { i64, i1 } @smul64(i64 %a, i64 %b) {
start:
  %r = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 %b)
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @smul64(i64 %a, i64 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = or i64 %a, %b
; CHECK-NEXT:   %1 = icmp ult i64 %0, 4294967296
; CHECK-NEXT:   br i1 %1, label %short_product, label %long_product
; CHECK-NEXT: short_product:
; CHECK-NEXT:   %2 = trunc i64 %a to i32
; CHECK-NEXT:   %3 = zext i32 %2 to i64
; CHECK-NEXT:   %4 = trunc i64 %b to i32
; CHECK-NEXT:   %5 = zext i32 %4 to i64
; CHECK-NEXT:   %6 = mul i64 %3, %5
; CHECK-NEXT:   %7 = icmp slt i64 %6, 0
; CHECK-NEXT:   br label %product
; CHECK-NEXT: long_product:
; CHECK-NEXT:   %8 = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 %b)
; CHECK-NEXT:   %9 = extractvalue { i64, i1 } %8, 0
; CHECK-NEXT:   %10 = extractvalue { i64, i1 } %8, 1
; CHECK-NEXT:   br label %product
; CHECK-NEXT: product:
; CHECK-NEXT:   %11 = phi i64 [ %6, %short_product ], [ %9, %long_product ]
; CHECK-NEXT:   %12 = phi i1 [ %7, %short_product ], [ %10, %long_product ]
; CHECK-NEXT:   %13 = insertvalue { i64, i1 } undef, i64 %11, 0
; CHECK-NEXT:   %r = insertvalue { i64, i1 } %13, i1 %12, 1
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }

define { i64, i1 } @smul64_by_ten(i64 %a) {
start:
  %r = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 10)
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @smul64_by_ten(i64 %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = mul i64 %a, 10
; CHECK-NEXT:   %1 = sub i64 %a, -922337203685477580
; CHECK-NEXT:   %2 = icmp ugt i64 %1, 1844674407370955160
; CHECK-NEXT:   %3 = insertvalue { i64, i1 } undef, i64 %0, 0
; CHECK-NEXT:   %r = insertvalue { i64, i1 } %3, i1 %2, 1
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }

define { i64, i1 } @smul64_by_minus_three(i64 %a) {
start:
  %r = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 -3)
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @smul64_by_minus_three(i64 %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = mul i64 %a, -3
; CHECK-NEXT:   %1 = sub i64 %a, -3074457345618258602
; CHECK-NEXT:   %2 = icmp ugt i64 %1, 6148914691236517204
; CHECK-NEXT:   %3 = insertvalue { i64, i1 } undef, i64 %0, 0
; CHECK-NEXT:   %r = insertvalue { i64, i1 } %3, i1 %2, 1
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }

define { i64, i1 } @negated(i64 %a) {
start:
  %r = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 -1, i64 %a)
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @negated(i64 %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = mul i64 %a, -1
; CHECK-NEXT:   %1 = sub i64 %a, -9223372036854775807
; CHECK-NEXT:   %2 = icmp ugt i64 %1, -2
; CHECK-NEXT:   %3 = insertvalue { i64, i1 } undef, i64 %0, 0
; CHECK-NEXT:   %r = insertvalue { i64, i1 } %3, i1 %2, 1
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }

define { i64, i1 } @sadd64(i64 %a, i64 %b) {
start:
  %r = call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 %a, i64 %b)
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @sadd64(i64 %a, i64 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = add i64 %a, %b
; CHECK-NEXT:   %1 = xor i64 %a, %0
; CHECK-NEXT:   %2 = xor i64 %b, %0
; CHECK-NEXT:   %3 = and i64 %1, %2
; CHECK-NEXT:   %4 = icmp slt i64 %3, 0
; CHECK-NEXT:   %5 = insertvalue { i64, i1 } undef, i64 %0, 0
; CHECK-NEXT:   %r = insertvalue { i64, i1 } %5, i1 %4, 1
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }

define { i32, i1 } @ssub32(i32 %a, i32 %b) {
start:
  %r = call { i32, i1 } @llvm.ssub.with.overflow.i32(i32 %a, i32 %b)
  ret { i32, i1 } %r
}
; CHECK-LABEL: define { i32, i1 } @ssub32(i32 %a, i32 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = sub i32 %a, %b
; CHECK-NEXT:   %1 = xor i32 %a, %0
; CHECK-NEXT:   %2 = xor i32 %b, %a
; CHECK-NEXT:   %3 = and i32 %1, %2
; CHECK-NEXT:   %4 = icmp slt i32 %3, 0
; CHECK-NEXT:   %5 = insertvalue { i32, i1 } undef, i32 %0, 0
; CHECK-NEXT:   %r = insertvalue { i32, i1 } %5, i1 %4, 1
; CHECK-NEXT:   ret { i32, i1 } %r
; CHECK-NEXT: }

