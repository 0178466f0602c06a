; Fields beside an array become variables of their own.
; RUN: opt --passes=separate_fields

; The length of a stack. A branch bounds the index.
define i32 @stack(i64 %n, i32 %x) {
; CHECK-LABEL: define i32 @stack(i64 %n, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = alloca { [16 x i8] }, align 16
; CHECK-NEXT:   %stack = alloca { [4 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 24
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %0, i64 8
; CHECK-NEXT:   store i64 %n, ptr %1, align 8
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %0, i64 8
; CHECK-NEXT:   %index = load i64, ptr %2, align 8
; CHECK-NEXT:   %is_free = icmp ult i64 %index, 6
; CHECK-NEXT:   br i1 %is_free, label %push, label %full
; CHECK-NEXT: push:
; CHECK-NEXT:   %place = getelementptr [4 x i8], ptr %stack, i64 %index
; CHECK-NEXT:   store i32 %x, ptr %place, align 4
; CHECK-NEXT:   %next = add i64 %index, 1
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %0, i64 8
; CHECK-NEXT:   store i64 %next, ptr %3, align 8
; CHECK-NEXT:   br label %full
; CHECK-NEXT: full:
; CHECK-NEXT:   %first = load i32, ptr %stack, align 4
; CHECK-NEXT:   ret i32 %first
; CHECK-NEXT: }
start:
  %stack = alloca { [4 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 24
  store i64 %n, ptr %len, align 8
  %index = load i64, ptr %len, align 8
  %is_free = icmp ult i64 %index, 6
  br i1 %is_free, label %push, label %full

push:
  %place = getelementptr [4 x i8], ptr %stack, i64 %index
  store i32 %x, ptr %place, align 4
  %next = add i64 %index, 1
  store i64 %next, ptr %len, align 8
  br label %full

full:
  %first = load i32, ptr %stack, align 4
  ret i32 %first
}

; An index may be that of the length.
define i64 @overlapping(i64 %n, i32 %x) {
; CHECK-LABEL: define i64 @overlapping(i64 %n, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stack = alloca { [4 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 24
; CHECK-NEXT:   store i64 %n, ptr %len, align 8
; CHECK-NEXT:   %is_free = icmp ult i64 %n, 7
; CHECK-NEXT:   br i1 %is_free, label %push, label %full
; CHECK-NEXT: push:
; CHECK-NEXT:   %place = getelementptr [4 x i8], ptr %stack, i64 %n
; CHECK-NEXT:   store i32 %x, ptr %place, align 4
; CHECK-NEXT:   br label %full
; CHECK-NEXT: full:
; CHECK-NEXT:   %index = load i64, ptr %len, align 8
; CHECK-NEXT:   ret i64 %index
; CHECK-NEXT: }
start:
  %stack = alloca { [4 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 24
  store i64 %n, ptr %len, align 8
  %is_free = icmp ult i64 %n, 7
  br i1 %is_free, label %push, label %full

push:
  %place = getelementptr [4 x i8], ptr %stack, i64 %n
  store i32 %x, ptr %place, align 4
  br label %full

full:
  %index = load i64, ptr %len, align 8
  ret i64 %index
}
