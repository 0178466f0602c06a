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

; `array[..=place].rotate_right(1)`: each word that may change is selected.
define void @rotate_part(i64 %place) {
; CHECK-LABEL: define void @rotate_part(i64 %place) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca { [4 x i32], i64 }, align 8
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %is_inside = icmp ult i64 %place, 4
; CHECK-NEXT:   br i1 %is_inside, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   %size = shl nuw nsw i64 %place, 2
; CHECK-NEXT:   %0 = trunc i64 %size to i32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %array, i64 0
; CHECK-NEXT:   %2 = load i32, ptr %1, align 4
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %4 = load i32, ptr %3, align 4
; CHECK-NEXT:   %5 = icmp ult i32 0, %0
; CHECK-NEXT:   %6 = select i1 %5, i32 %2, i32 %4
; CHECK-NEXT:   %7 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %8 = load i32, ptr %7, align 4
; CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %10 = load i32, ptr %9, align 4
; CHECK-NEXT:   %11 = icmp ult i32 4, %0
; CHECK-NEXT:   %12 = select i1 %11, i32 %8, i32 %10
; CHECK-NEXT:   %13 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %14 = load i32, ptr %13, align 4
; CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   %16 = load i32, ptr %15, align 4
; CHECK-NEXT:   %17 = icmp ult i32 8, %0
; CHECK-NEXT:   %18 = select i1 %17, i32 %14, i32 %16
; CHECK-NEXT:   %19 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   store i32 %6, ptr %19, align 4
; CHECK-NEXT:   %20 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   store i32 %12, ptr %20, align 4
; CHECK-NEXT:   %21 = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   store i32 %18, ptr %21, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %array = alloca { [4 x i32], i64 }, align 8
  %second = getelementptr inbounds i8, ptr %array, i64 4
  %is_inside = icmp ult i64 %place, 4
  br i1 %is_inside, label %inside, label %end
inside:
  %size = shl nuw nsw i64 %place, 2
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %second, ptr align 8 %array, i64 %size, i1 false)
  br label %end
end:
  ret void
}

; A word that changes in any case is not selected. The check is in front of a branch.
define void @at_least(i64 %len, i1 %c) {
; CHECK-LABEL: define void @at_least(i64 %len, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [4 x i64], align 8
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %is_inside = icmp ult i64 %len, 4
; CHECK-NEXT:   br i1 %is_inside, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   %is_empty = icmp eq i64 %len, 0
; CHECK-NEXT:   br i1 %is_empty, label %end, label %some
; CHECK-NEXT: some:
; CHECK-NEXT:   br i1 %c, label %one, label %two
; CHECK-NEXT: one:
; CHECK-NEXT:   br label %both
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %both
; CHECK-NEXT: both:
; CHECK-NEXT:   %size = shl i64 %len, 3
; CHECK-NEXT:   %0 = trunc i64 %size to i32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %2 = load i64, ptr %1, align 8
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %array, i64 16
; CHECK-NEXT:   %4 = load i64, ptr %3, align 8
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %6 = load i64, ptr %5, align 8
; CHECK-NEXT:   %7 = icmp ult i32 8, %0
; CHECK-NEXT:   %8 = select i1 %7, i64 %4, i64 %6
; CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %array, i64 24
; CHECK-NEXT:   %10 = load i64, ptr %9, align 8
; CHECK-NEXT:   %11 = getelementptr inbounds i8, ptr %array, i64 16
; CHECK-NEXT:   %12 = load i64, ptr %11, align 8
; CHECK-NEXT:   %13 = icmp ult i32 16, %0
; CHECK-NEXT:   %14 = select i1 %13, i64 %10, i64 %12
; CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %array, i64 0
; CHECK-NEXT:   store i64 %2, ptr %15, align 8
; CHECK-NEXT:   %16 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   store i64 %8, ptr %16, align 8
; CHECK-NEXT:   %17 = getelementptr inbounds i8, ptr %array, i64 16
; CHECK-NEXT:   store i64 %14, ptr %17, align 8
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %array = alloca [4 x i64], align 8
  %second = getelementptr inbounds i8, ptr %array, i64 8
  %is_inside = icmp ult i64 %len, 4
  br i1 %is_inside, label %inside, label %end
inside:
  %is_empty = icmp eq i64 %len, 0
  br i1 %is_empty, label %end, label %some
some:
  br i1 %c, label %one, label %two
one:
  br label %both
two:
  br label %both
both:
  %size = shl i64 %len, 3
  call void @llvm.memmove.p0.p0.i64(ptr align 8 %array, ptr align 8 %second, i64 %size, i1 false)
  br label %end
end:
  ret void
}

; `array.copy_within(place..len, place + 1)`: the first word may be any.
define void @insert(i64 %place, i64 %count) {
; CHECK-LABEL: define void @insert(i64 %place, i64 %count) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [4 x i32], align 4
; CHECK-NEXT:   %from = getelementptr inbounds [4 x i8], ptr %array, i64 %place
; CHECK-NEXT:   %to = getelementptr inbounds i8, ptr %from, i64 4
; CHECK-NEXT:   %size = shl i64 %count, 2
; CHECK-NEXT:   %0 = trunc i64 %size to i32
; CHECK-NEXT:   %1 = trunc i64 %place to i32
; CHECK-NEXT:   %2 = mul i32 %1, 4
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %array, i64 0
; CHECK-NEXT:   %4 = load i32, ptr %3, align 4
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %6 = load i32, ptr %5, align 4
; CHECK-NEXT:   %7 = sub i32 0, %2
; CHECK-NEXT:   %8 = icmp ult i32 %7, %0
; CHECK-NEXT:   %9 = select i1 %8, i32 %4, i32 %6
; CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %11 = load i32, ptr %10, align 4
; CHECK-NEXT:   %12 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %13 = load i32, ptr %12, align 4
; CHECK-NEXT:   %14 = sub i32 4, %2
; CHECK-NEXT:   %15 = icmp ult i32 %14, %0
; CHECK-NEXT:   %16 = select i1 %15, i32 %11, i32 %13
; CHECK-NEXT:   %17 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %18 = load i32, ptr %17, align 4
; CHECK-NEXT:   %19 = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   %20 = load i32, ptr %19, align 4
; CHECK-NEXT:   %21 = sub i32 8, %2
; CHECK-NEXT:   %22 = icmp ult i32 %21, %0
; CHECK-NEXT:   %23 = select i1 %22, i32 %18, i32 %20
; CHECK-NEXT:   %24 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   store i32 %9, ptr %24, align 4
; CHECK-NEXT:   %25 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   store i32 %16, ptr %25, align 4
; CHECK-NEXT:   %26 = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   store i32 %23, ptr %26, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %array = alloca [4 x i32], align 4
  %from = getelementptr inbounds [4 x i8], ptr %array, i64 %place
  %to = getelementptr inbounds i8, ptr %from, i64 4
  %size = shl i64 %count, 2
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 %size, i1 false)
  ret void
}

; A part of a word may move, so words are smaller.
define void @bytes(i64 %size) {
; CHECK-LABEL: define void @bytes(i64 %size) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [4 x i8], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 2
; CHECK-NEXT:   %0 = trunc i64 %size to i32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %array, i64 2
; CHECK-NEXT:   %2 = load i8, ptr %1, align 1
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %array, i64 0
; CHECK-NEXT:   %4 = load i8, ptr %3, align 1
; CHECK-NEXT:   %5 = icmp ult i32 0, %0
; CHECK-NEXT:   %6 = select i1 %5, i8 %2, i8 %4
; CHECK-NEXT:   %7 = getelementptr inbounds i8, ptr %array, i64 3
; CHECK-NEXT:   %8 = load i8, ptr %7, align 1
; CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %array, i64 1
; CHECK-NEXT:   %10 = load i8, ptr %9, align 1
; CHECK-NEXT:   %11 = icmp ult i32 1, %0
; CHECK-NEXT:   %12 = select i1 %11, i8 %8, i8 %10
; CHECK-NEXT:   %13 = getelementptr inbounds i8, ptr %array, i64 0
; CHECK-NEXT:   store i8 %6, ptr %13, align 1
; CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %array, i64 1
; CHECK-NEXT:   store i8 %12, ptr %14, align 1
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %array = alloca [4 x i8], align 4
  %second = getelementptr inbounds i8, ptr %array, i64 2
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %array, ptr align 2 %second, i64 %size, i1 false)
  ret void
}

; Too many words, a variable distance, two variables, no local variable, and volatile accesses.
define void @remain(ptr %memory, i64 %i, i64 %j, i64 %size) {
; CHECK-LABEL: define void @remain(ptr %memory, i64 %i, i64 %j, i64 %size) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [18 x i8], align 2
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 1
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr align 1 %second, ptr align 2 %array, i64 %size, i1 false)
; CHECK-NEXT:   %small = alloca [4 x i8], align 1
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %small, i64 %i
; CHECK-NEXT:   %b = getelementptr inbounds i8, ptr %small, i64 %j
; CHECK-NEXT:   %next = getelementptr inbounds i8, ptr %small, i64 1
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %b, i64 %size, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %small, i64 %size, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %small, ptr %second, i64 %size, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %next, i64 %size, i1 false)
; CHECK-NEXT:   %c = getelementptr inbounds i8, ptr %b, i64 1
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %c, i64 %size, i1 false)
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %next, ptr %small, i64 %size, i1 true)
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %memory, i64 1
; CHECK-NEXT:   call void @llvm.memmove.p0.p0.i64(ptr %behind, ptr %memory, i64 %size, i1 false)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %array = alloca [18 x i8], align 2
  %second = getelementptr inbounds i8, ptr %array, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr align 1 %second, ptr align 2 %array, i64 %size, i1 false)
  %small = alloca [4 x i8], align 1
  %a = getelementptr inbounds i8, ptr %small, i64 %i
  %b = getelementptr inbounds i8, ptr %small, i64 %j
  %next = getelementptr inbounds i8, ptr %small, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %b, i64 %size, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %small, i64 %size, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %small, ptr %second, i64 %size, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %next, i64 %size, i1 false)
  %c = getelementptr inbounds i8, ptr %b, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %c, i64 %size, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %next, ptr %small, i64 %size, i1 true)
  %behind = getelementptr inbounds i8, ptr %memory, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %behind, ptr %memory, i64 %size, i1 false)
  ret void
}
