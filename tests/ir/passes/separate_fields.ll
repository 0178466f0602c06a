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

; A stack that pops two elements. The second index is checked by what the first one is compared with.
define i32 @pops(i64 %n, i32 %x) {
; CHECK-LABEL: define i32 @pops(i64 %n, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = alloca { [8 x i8] }, align 16
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   store i64 %n, ptr %1, align 8
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   %top = load i64, ptr %2, align 8
; CHECK-NEXT:   %first = add i64 %top, -1
; CHECK-NEXT:   %is_large = icmp ugt i64 %top, 8
; CHECK-NEXT:   %is_one = icmp eq i64 %first, 0
; CHECK-NEXT:   %is_none = icmp eq i64 %top, 0
; CHECK-NEXT:   %fails = or i1 %is_large, %is_one
; CHECK-NEXT:   br i1 %is_none, label %full, label %some
; CHECK-NEXT: some:
; CHECK-NEXT:   br i1 %fails, label %full, label %both
; CHECK-NEXT: both:
; CHECK-NEXT:   %a = getelementptr [4 x i8], ptr %stack, i64 %first
; CHECK-NEXT:   store i32 %x, ptr %a, align 4
; CHECK-NEXT:   %second = add i64 %top, -2
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   store i64 %second, ptr %3, align 8
; CHECK-NEXT:   %b = getelementptr [4 x i8], ptr %stack, i64 %second
; CHECK-NEXT:   store i32 %x, ptr %b, align 4
; CHECK-NEXT:   br label %full
; CHECK-NEXT: full:
; CHECK-NEXT:   %word = load i32, ptr %stack, align 4
; CHECK-NEXT:   ret i32 %word
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  store i64 %n, ptr %len, align 8
  %top = load i64, ptr %len, align 8
  %first = add i64 %top, -1
  %is_large = icmp ugt i64 %top, 8
  %is_one = icmp eq i64 %first, 0
  %is_none = icmp eq i64 %top, 0
  %fails = or i1 %is_large, %is_one
  br i1 %is_none, label %full, label %some

some:
  br i1 %fails, label %full, label %both

both:
  %a = getelementptr [4 x i8], ptr %stack, i64 %first
  store i32 %x, ptr %a, align 4
  %second = add i64 %top, -2
  store i64 %second, ptr %len, align 8
  %b = getelementptr [4 x i8], ptr %stack, i64 %second
  store i32 %x, ptr %b, align 4
  br label %full

full:
  %word = load i32, ptr %stack, align 4
  ret i32 %word
}

; Without the comparison with 1, the second index may be -1.
define i32 @pops_unchecked(i64 %n, i32 %x) {
; CHECK-LABEL: define i32 @pops_unchecked(i64 %n, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   store i64 %n, ptr %len, align 8
; CHECK-NEXT:   %top = load i64, ptr %len, align 8
; CHECK-NEXT:   %first = add i64 %top, -1
; CHECK-NEXT:   %fits = icmp ult i64 %first, 8
; CHECK-NEXT:   br i1 %fits, label %both, label %full
; CHECK-NEXT: both:
; CHECK-NEXT:   %second = add i64 %top, -2
; CHECK-NEXT:   store i64 %second, ptr %len, align 8
; CHECK-NEXT:   %b = getelementptr [4 x i8], ptr %stack, i64 %second
; CHECK-NEXT:   store i32 %x, ptr %b, align 4
; CHECK-NEXT:   br label %full
; CHECK-NEXT: full:
; CHECK-NEXT:   %word = load i32, ptr %stack, align 4
; CHECK-NEXT:   ret i32 %word
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  store i64 %n, ptr %len, align 8
  %top = load i64, ptr %len, align 8
  %first = add i64 %top, -1
  %fits = icmp ult i64 %first, 8
  br i1 %fits, label %both, label %full

both:
  %second = add i64 %top, -2
  store i64 %second, ptr %len, align 8
  %b = getelementptr [4 x i8], ptr %stack, i64 %second
  store i32 %x, ptr %b, align 4
  br label %full

full:
  %word = load i32, ptr %stack, align 4
  ret i32 %word
}

; `while let Some(item) = stack.pop()` compares the length with 0 before each iteration but the first,
; whose length is 1. The check is in front of a branch.
define void @nonzero(i32 %x, i1 %c) {
; CHECK-LABEL: define void @nonzero(i32 %x, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = alloca { [8 x i8] }, align 16
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %top = phi i64 [ 1, %start ], [ %left, %again ]
; CHECK-NEXT:   %last = add i64 %top, -1
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   store i64 %last, ptr %1, align 8
; CHECK-NEXT:   %fits = icmp ult i64 %top, 9
; CHECK-NEXT:   br i1 %fits, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   br i1 %c, label %either, label %or
; CHECK-NEXT: or:
; CHECK-NEXT:   br label %either
; CHECK-NEXT: either:
; CHECK-NEXT:   %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %last
; CHECK-NEXT:   store i32 %x, ptr %a, align 4
; CHECK-NEXT:   br label %again
; CHECK-NEXT: again:
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   %left = load i64, ptr %2, align 8
; CHECK-NEXT:   %is_empty = icmp eq i64 %left, 0
; CHECK-NEXT:   br i1 %is_empty, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  br label %loop

loop:
  %top = phi i64 [ 1, %start ], [ %left, %again ]
  %last = add i64 %top, -1
  store i64 %last, ptr %len, align 8
  %fits = icmp ult i64 %top, 9
  br i1 %fits, label %inside, label %end

inside:
  br i1 %c, label %either, label %or

or:
  br label %either

either:
  %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %last
  store i32 %x, ptr %a, align 4
  br label %again

again:
  %left = load i64, ptr %len, align 8
  %is_empty = icmp eq i64 %left, 0
  br i1 %is_empty, label %end, label %loop

end:
  ret void
}

; The length of the first iteration is 0, and that of another one is not compared.
define void @zero(i32 %x) {
; CHECK-LABEL: define void @zero(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %top = phi i64 [ 0, %start ], [ %left, %again ]
; CHECK-NEXT:   %last = add i64 %top, -1
; CHECK-NEXT:   store i64 %last, ptr %len, align 8
; CHECK-NEXT:   %fits = icmp ult i64 %top, 9
; CHECK-NEXT:   br i1 %fits, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %last
; CHECK-NEXT:   store i32 %x, ptr %a, align 4
; CHECK-NEXT:   br label %again
; CHECK-NEXT: again:
; CHECK-NEXT:   %left = load i64, ptr %len, align 8
; CHECK-NEXT:   %is_empty = icmp eq i64 %left, 0
; CHECK-NEXT:   br i1 %is_empty, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  br label %loop

loop:
  %top = phi i64 [ 0, %start ], [ %left, %again ]
  %last = add i64 %top, -1
  store i64 %last, ptr %len, align 8
  %fits = icmp ult i64 %top, 9
  br i1 %fits, label %inside, label %end

inside:
  %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %last
  store i32 %x, ptr %a, align 4
  br label %again

again:
  %left = load i64, ptr %len, align 8
  %is_empty = icmp eq i64 %left, 0
  br i1 %is_empty, label %end, label %loop

end:
  ret void
}

define void @uncompared(i32 %x) {
; CHECK-LABEL: define void @uncompared(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %top = phi i64 [ 1, %start ], [ %left, %again ]
; CHECK-NEXT:   %last = add i64 %top, -1
; CHECK-NEXT:   store i64 %last, ptr %len, align 8
; CHECK-NEXT:   %fits = icmp ult i64 %top, 9
; CHECK-NEXT:   br i1 %fits, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %last
; CHECK-NEXT:   store i32 %x, ptr %a, align 4
; CHECK-NEXT:   br label %again
; CHECK-NEXT: again:
; CHECK-NEXT:   %left = load i64, ptr %len, align 8
; CHECK-NEXT:   %is_empty = icmp eq i64 %last, 0
; CHECK-NEXT:   br i1 %is_empty, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  br label %loop

loop:
  %top = phi i64 [ 1, %start ], [ %left, %again ]
  %last = add i64 %top, -1
  store i64 %last, ptr %len, align 8
  %fits = icmp ult i64 %top, 9
  br i1 %fits, label %inside, label %end

inside:
  %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %last
  store i32 %x, ptr %a, align 4
  br label %again

again:
  %left = load i64, ptr %len, align 8
  %is_empty = icmp eq i64 %last, 0
  br i1 %is_empty, label %end, label %loop

end:
  ret void
}

; The check is behind one of two branches that lead to the access.
define void @half(i64 %n, i32 %x, i1 %c) {
; CHECK-LABEL: define void @half(i64 %n, i32 %x, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   store i64 %n, ptr %len, align 8
; CHECK-NEXT:   %top = load i64, ptr %len, align 8
; CHECK-NEXT:   br i1 %c, label %check, label %inside
; CHECK-NEXT: check:
; CHECK-NEXT:   %fits = icmp ult i64 %top, 8
; CHECK-NEXT:   br i1 %fits, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %top
; CHECK-NEXT:   store i32 %x, ptr %a, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  store i64 %n, ptr %len, align 8
  %top = load i64, ptr %len, align 8
  br i1 %c, label %check, label %inside

check:
  %fits = icmp ult i64 %top, 8
  br i1 %fits, label %inside, label %end

inside:
  %a = getelementptr inbounds [4 x i8], ptr %stack, i64 %top
  store i32 %x, ptr %a, align 4
  br label %end

end:
  ret void
}

; The index is four times a checked number.
define void @shifted(i64 %n, i64 %i, i32 %x) {
; CHECK-LABEL: define void @shifted(i64 %n, i64 %i, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = alloca { [8 x i8] }, align 16
; CHECK-NEXT:   %stack = alloca { [5 x i64] }, align 8
; CHECK-NEXT:   %len = getelementptr inbounds i8, ptr %stack, i64 32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   store i64 %n, ptr %1, align 8
; CHECK-NEXT:   %fits = icmp ult i64 %i, 8
; CHECK-NEXT:   br i1 %fits, label %inside, label %end
; CHECK-NEXT: inside:
; CHECK-NEXT:   %by = shl i64 %i, 2
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %stack, i64 %by
; CHECK-NEXT:   store i32 %x, ptr %a, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %stack = alloca { [5 x i64] }, align 8
  %len = getelementptr inbounds i8, ptr %stack, i64 32
  store i64 %n, ptr %len, align 8
  %fits = icmp ult i64 %i, 8
  br i1 %fits, label %inside, label %end

inside:
  %by = shl i64 %i, 2
  %a = getelementptr inbounds i8, ptr %stack, i64 %by
  store i32 %x, ptr %a, align 4
  br label %end

end:
  ret void
}
