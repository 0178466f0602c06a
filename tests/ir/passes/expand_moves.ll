; Moves of a few words in memory.
; RUN: opt --passes=expand_moves

; `array.rotate_left(1)`: all words are loaded before the first is stored.
define void @rotate(float %last) {
  %array = alloca [4 x float], align 4
  %second = getelementptr inbounds i8, ptr %array, i64 4
  %first = load float, ptr %array, align 4
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %array, ptr align 4 %second, i64 12, i1 false)
  %end = getelementptr inbounds i8, ptr %array, i64 12
  store float %first, ptr %end, align 4
  ret void
}
; CHECK-LABEL: define void @rotate(float %last) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [4 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %first = load float, ptr %array, align 4
; CHECK-NEXT:   %0 = load i32, ptr %second, align 4
; CHECK-NEXT:   %1 = getelementptr inbounds i32, ptr %second, i64 1
; CHECK-NEXT:   %2 = load i32, ptr %1, align 4
; CHECK-NEXT:   %3 = getelementptr inbounds i32, ptr %second, i64 2
; CHECK-NEXT:   %4 = load i32, ptr %3, align 4
; CHECK-NEXT:   store i32 %0, ptr %array, align 4
; CHECK-NEXT:   %5 = getelementptr inbounds i32, ptr %array, i64 1
; CHECK-NEXT:   store i32 %2, ptr %5, align 4
; CHECK-NEXT:   %6 = getelementptr inbounds i32, ptr %array, i64 2
; CHECK-NEXT:   store i32 %4, ptr %6, align 4
; CHECK-NEXT:   %end = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   store float %first, ptr %end, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The words have the smaller alignment.
define void @alignment(ptr %to, ptr %from) {
  call void @llvm.memmove.p0.p0.i64(ptr align 8 %to, ptr align 2 %from, i64 4, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 16 %to, ptr align 32 %from, i64 16, i1 false)
  ret void
}
; CHECK-LABEL: define void @alignment(ptr %to, ptr %from) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = load i16, ptr %from, align 2
; CHECK-NEXT:   %1 = getelementptr inbounds i16, ptr %from, i64 1
; CHECK-NEXT:   %2 = load i16, ptr %1, align 2
; CHECK-NEXT:   store i16 %0, ptr %to, align 2
; CHECK-NEXT:   %3 = getelementptr inbounds i16, ptr %to, i64 1
; CHECK-NEXT:   store i16 %2, ptr %3, align 2
; CHECK-NEXT:   %4 = load i64, ptr %from, align 8
; CHECK-NEXT:   %5 = getelementptr inbounds i64, ptr %from, i64 1
; CHECK-NEXT:   %6 = load i64, ptr %5, align 8
; CHECK-NEXT:   store i64 %4, ptr %to, align 8
; CHECK-NEXT:   %7 = getelementptr inbounds i64, ptr %to, i64 1
; CHECK-NEXT:   store i64 %6, ptr %7, align 8
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Too many words, a part of a word, no constant size, and volatile accesses.
define void @stay(ptr %to, ptr %from, i64 %size) {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 33, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 7, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 %size, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 8, i1 true)
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 0, i1 false)
  ret void
}
; CHECK-LABEL: define void @stay(ptr %to, ptr %from, i64 %size) {
; CHECK-NEXT: start:
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 33, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 7, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 %size, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 8, i1 true)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 0, i1 false)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
