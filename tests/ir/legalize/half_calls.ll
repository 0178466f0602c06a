; libnvvm's LLVM 7 dialect does not pass `half` to functions and from them; integers carry the bits.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7
; RUN: opt --passes=legalize --sm=120 --check-prefix=MODERN

define half @scalar(half %x, half %y) {
start:
  %r = fadd half %x, %y
  ret half %r
}
; CHECK-LABEL: define i16 @scalar(i16, i16) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %2 = bitcast i16 %0 to half
; CHECK-NEXT:   %3 = bitcast i16 %1 to half
; CHECK-NEXT:   %r = fadd half %2, %3
; CHECK-NEXT:   %4 = bitcast half %r to i16
; CHECK-NEXT:   ret i16 %4
; CHECK-NEXT: }
; MODERN-LABEL: define half @scalar(half %x, half %y) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %r = fadd half %x, %y
; MODERN-NEXT:   ret half %r
; MODERN-NEXT: }

define { i32, half } @in_struct({ i32, half } %x) {
start:
  ret { i32, half } %x
}
; CHECK-LABEL: define { i32, i16 } @in_struct({ i32, i16 }) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %1 = extractvalue { i32, i16 } %0, 0
; CHECK-NEXT:   %2 = extractvalue { i32, i16 } %0, 1
; CHECK-NEXT:   %3 = bitcast i16 %2 to half
; CHECK-NEXT:   %4 = insertvalue { i32, half } undef, i32 %1, 0
; CHECK-NEXT:   %5 = insertvalue { i32, half } %4, half %3, 1
; CHECK-NEXT:   %6 = extractvalue { i32, half } %5, 0
; CHECK-NEXT:   %7 = extractvalue { i32, half } %5, 1
; CHECK-NEXT:   %8 = bitcast half %7 to i16
; CHECK-NEXT:   %9 = insertvalue { i32, i16 } undef, i32 %6, 0
; CHECK-NEXT:   %10 = insertvalue { i32, i16 } %9, i16 %8, 1
; CHECK-NEXT:   ret { i32, i16 } %10
; CHECK-NEXT: }

define <2 x half> @vector(<2 x half> %x) {
start:
  ret <2 x half> %x
}
; CHECK-LABEL: define <2 x i16> @vector(<2 x i16>) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %1 = bitcast <2 x i16> %0 to <2 x half>
; CHECK-NEXT:   %2 = bitcast <2 x half> %1 to <2 x i16>
; CHECK-NEXT:   ret <2 x i16> %2
; CHECK-NEXT: }

; Calls convert too, also those through pointers.
define half @calls(ptr %f, half %x) {
start:
  %1 = call half @scalar(half %x, half 0xH3C00)
  %2 = call [2 x half] %f(half %1)
  %3 = extractvalue [2 x half] %2, 1
  ret half %3
}
; CHECK-LABEL: define i16 @calls(i8* %f, i16) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %1 = bitcast i16 %0 to half
; CHECK-NEXT:   %2 = bitcast half %1 to i16
; CHECK-NEXT:   %3 = bitcast half 0xH3C00 to i16
; CHECK-NEXT:   %4 = call i16 @scalar(i16 %2, i16 %3)
; CHECK-NEXT:   %5 = bitcast i16 %4 to half
; CHECK-NEXT:   %6 = bitcast half %5 to i16
; CHECK-NEXT:   %.0 = bitcast i8* %f to [2 x i16] (i16)*
; CHECK-NEXT:   %7 = call [2 x i16] %.0(i16 %6)
; CHECK-NEXT:   %8 = extractvalue [2 x i16] %7, 0
; CHECK-NEXT:   %9 = bitcast i16 %8 to half
; CHECK-NEXT:   %10 = extractvalue [2 x i16] %7, 1
; CHECK-NEXT:   %11 = bitcast i16 %10 to half
; CHECK-NEXT:   %12 = insertvalue [2 x half] undef, half %9, 0
; CHECK-NEXT:   %13 = insertvalue [2 x half] %12, half %11, 1
; CHECK-NEXT:   %14 = extractvalue [2 x half] %13, 1
; CHECK-NEXT:   %15 = bitcast half %14 to i16
; CHECK-NEXT:   ret i16 %15
; CHECK-NEXT: }

define void @without_result(half %x) {
start:
  call void @without_result(half %x)
  ret void
}
; CHECK-LABEL: define void @without_result(i16) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %1 = bitcast i16 %0 to half
; CHECK-NEXT:   %2 = bitcast half %1 to i16
; CHECK-NEXT:   call void @without_result(i16 %2)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Memory and intrinsics keep `half`.
define void @memory(ptr %p) {
start:
  %x = load half, ptr %p, align 2
  %r = call half @llvm.fma.f16(half %x, half %x, half %x)
  store half %r, ptr %p, align 2
  ret void
}
; CHECK-LABEL: define void @memory(i8* %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %.0 = bitcast i8* %p to half*
; CHECK-NEXT:   %x = load half, half* %.0, align 2
; CHECK-NEXT:   %r = call half @llvm.fma.f16(half %x, half %x, half %x)
; CHECK-NEXT:   %.1 = bitcast i8* %p to half*
; CHECK-NEXT:   store half %r, half* %.1, align 2
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
