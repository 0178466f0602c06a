; Illegal-width integers are read and written in chunks, so that adjacent bytes are unchanged.
; RUN: opt --passes=legalize --sm=120

define i24 @loads(ptr %p) {
start:
  %r = load i24, ptr %p, align 4
  ret i24 %r
}
; CHECK-LABEL: define i32 @loads(ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = load i16, ptr %p, align 2
; CHECK-NEXT:   %1 = zext i16 %0 to i32
; CHECK-NEXT:   %2 = getelementptr i8, ptr %p, i64 2
; CHECK-NEXT:   %3 = load i8, ptr %2, align 1
; CHECK-NEXT:   %4 = zext i8 %3 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 16
; CHECK-NEXT:   %r = or i32 %1, %5
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define void @stores(i24 %x, ptr %p) {
start:
  store i24 %x, ptr %p, align 1
  ret void
}
; CHECK-LABEL: define void @stores(i32 %x, ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i32 %x to i16
; CHECK-NEXT:   store i16 %0, ptr %p, align 1
; CHECK-NEXT:   %1 = lshr i32 %x, 16
; CHECK-NEXT:   %2 = trunc i32 %1 to i8
; CHECK-NEXT:   %3 = getelementptr i8, ptr %p, i64 2
; CHECK-NEXT:   store i8 %2, ptr %3, align 1
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define i72 @wide(ptr %p) {
start:
  %r = load volatile i72, ptr %p, align 8
  ret i72 %r
}
; CHECK-LABEL: define i128 @wide(ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = load volatile i64, ptr %p, align 8
; CHECK-NEXT:   %1 = zext i64 %0 to i128
; CHECK-NEXT:   %2 = getelementptr i8, ptr %p, i64 8
; CHECK-NEXT:   %3 = load volatile i8, ptr %2, align 1
; CHECK-NEXT:   %4 = zext i8 %3 to i128
; CHECK-NEXT:   %5 = shl i128 %4, 64
; CHECK-NEXT:   %r = or i128 %1, %5
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; The bits above the width are unspecified in memory.
define i20 @partial_byte(ptr %p) {
start:
  %r = load i20, ptr %p, align 4
  ret i20 %r
}
; CHECK-LABEL: define i32 @partial_byte(ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = load i16, ptr %p, align 2
; CHECK-NEXT:   %1 = zext i16 %0 to i32
; CHECK-NEXT:   %2 = getelementptr i8, ptr %p, i64 2
; CHECK-NEXT:   %3 = load i8, ptr %2, align 1
; CHECK-NEXT:   %4 = zext i8 %3 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 16
; CHECK-NEXT:   %6 = or i32 %1, %5
; CHECK-NEXT:   %r = and i32 %6, 1048575
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define void @aggregates(ptr %p, ptr %q) {
start:
  %x = load { i8, i24, [2 x i16] }, ptr %p, align 4
  store { i8, i24, [2 x i16] } %x, ptr %q, align 4
  ret void
}
; CHECK-LABEL: define void @aggregates(ptr %p, ptr %q) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = load i8, ptr %p, align 4
; CHECK-NEXT:   %1 = getelementptr i8, ptr %p, i64 4
; CHECK-NEXT:   %2 = load i16, ptr %1, align 2
; CHECK-NEXT:   %3 = zext i16 %2 to i32
; CHECK-NEXT:   %4 = getelementptr i8, ptr %1, i64 2
; CHECK-NEXT:   %5 = load i8, ptr %4, align 1
; CHECK-NEXT:   %6 = zext i8 %5 to i32
; CHECK-NEXT:   %7 = shl i32 %6, 16
; CHECK-NEXT:   %8 = or i32 %3, %7
; CHECK-NEXT:   %9 = getelementptr i8, ptr %p, i64 8
; CHECK-NEXT:   %10 = load [2 x i16], ptr %9, align 4
; CHECK-NEXT:   %11 = insertvalue { i8, i32, [2 x i16] } undef, i8 %0, 0
; CHECK-NEXT:   %12 = insertvalue { i8, i32, [2 x i16] } %11, i32 %8, 1
; CHECK-NEXT:   %x = insertvalue { i8, i32, [2 x i16] } %12, [2 x i16] %10, 2
; CHECK-NEXT:   %13 = extractvalue { i8, i32, [2 x i16] } %x, 0
; CHECK-NEXT:   store i8 %13, ptr %q, align 4
; CHECK-NEXT:   %14 = extractvalue { i8, i32, [2 x i16] } %x, 1
; CHECK-NEXT:   %15 = getelementptr i8, ptr %q, i64 4
; CHECK-NEXT:   %16 = trunc i32 %14 to i16
; CHECK-NEXT:   store i16 %16, ptr %15, align 2
; CHECK-NEXT:   %17 = lshr i32 %14, 16
; CHECK-NEXT:   %18 = trunc i32 %17 to i8
; CHECK-NEXT:   %19 = getelementptr i8, ptr %15, i64 2
; CHECK-NEXT:   store i8 %18, ptr %19, align 1
; CHECK-NEXT:   %20 = extractvalue { i8, i32, [2 x i16] } %x, 2
; CHECK-NEXT:   %21 = getelementptr i8, ptr %q, i64 8
; CHECK-NEXT:   store [2 x i16] %20, ptr %21, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The alignment of a field is at most that of its offset.
define { i24, i32 } @fields(ptr %p) {
start:
  %r = load { i24, i32 }, ptr %p, align 8
  ret { i24, i32 } %r
}
; CHECK-LABEL: define { i32, i32 } @fields(ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = load i16, ptr %p, align 2
; CHECK-NEXT:   %1 = zext i16 %0 to i32
; CHECK-NEXT:   %2 = getelementptr i8, ptr %p, i64 2
; CHECK-NEXT:   %3 = load i8, ptr %2, align 1
; CHECK-NEXT:   %4 = zext i8 %3 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 16
; CHECK-NEXT:   %6 = or i32 %1, %5
; CHECK-NEXT:   %7 = getelementptr i8, ptr %p, i64 4
; CHECK-NEXT:   %8 = load i32, ptr %7, align 4
; CHECK-NEXT:   %9 = insertvalue { i32, i32 } undef, i32 %6, 0
; CHECK-NEXT:   %r = insertvalue { i32, i32 } %9, i32 %8, 1
; CHECK-NEXT:   ret { i32, i32 } %r
; CHECK-NEXT: }

define i32 @native(ptr %p) {
start:
  %r = load i32, ptr %p, align 4
  ret i32 %r
}
; CHECK-LABEL: define i32 @native(ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = load i32, ptr %p, align 4
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
