; Loops that access one more element of a local array in each iteration are unrolled completely.
; RUN: opt --passes=unroll_array_loops

; `for (to, &value) in to.iter_mut().zip(&array)`: the loop has at most two iterations.
define void @zip(ptr %to, i64 %n, float %a, float %b) {
start:
  %array = alloca [2 x float], align 4
  %second = getelementptr inbounds i8, ptr %array, i64 4
  store float %a, ptr %array, align 4
  store float %b, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %address = getelementptr inbounds float, ptr %to, i64 %i
  %element = getelementptr inbounds float, ptr %array, i64 %i
  %next = add nuw nsw i64 %i, 1
  %value = load float, ptr %element, align 4
  store float %value, ptr %address, align 4
  %ends = icmp eq i64 %next, %n
  br i1 %ends, label %end, label %loop

end:
  ret void
}
; CHECK-LABEL: define void @zip(ptr %to, i64 %n, float %a, float %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   store float %b, ptr %second, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ]
; CHECK-NEXT:   %address = getelementptr inbounds float, ptr %to, i64 0
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %array, i64 0
; CHECK-NEXT:   %next = add nuw nsw i64 0, 1
; CHECK-NEXT:   %value = load float, ptr %element, align 4
; CHECK-NEXT:   store float %value, ptr %address, align 4
; CHECK-NEXT:   %ends = icmp eq i64 1, %n
; CHECK-NEXT:   br i1 %ends, label %end, label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = getelementptr inbounds float, ptr %to, i64 1
; CHECK-NEXT:   %1 = getelementptr inbounds float, ptr %array, i64 1
; CHECK-NEXT:   %2 = load float, ptr %1, align 4
; CHECK-NEXT:   store float %2, ptr %0, align 4
; CHECK-NEXT:   %3 = icmp eq i64 2, %n
; CHECK-NEXT:   br i1 %3, label %end, label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %4 = getelementptr inbounds float, ptr %to, i64 2
; CHECK-NEXT:   %5 = getelementptr inbounds float, ptr %array, i64 2
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; A loop of several blocks that tests first, counts down in 32 bits, and whose results are used: the
; index by what panics, the sum by two blocks behind.
define float @downward(ptr %from, i64 %len, i32 %n, float %a) {
start:
  %array = alloca { [8 x i8] }, align 4
  %second = getelementptr inbounds i8, ptr %array, i64 4
  store float %a, ptr %array, align 4
  store float %a, ptr %second, align 4
  br label %header

header:
  %i = phi i32 [ 1, %start ], [ %next, %latch ]
  %sum = phi float [ 0.0, %start ], [ %more, %latch ]
  %before = phi float [ %a, %start ], [ %sum, %latch ]
  %goes_on = icmp ult i32 %n, %i
  br i1 %goes_on, label %check, label %end

check:
  %index = zext i32 %i to i64
  %is_inside = icmp ult i64 %index, %len
  br i1 %is_inside, label %latch, label %panic

latch:
  %address = getelementptr inbounds float, ptr %from, i64 %index
  %factor = load float, ptr %address, align 4
  %element = getelementptr inbounds [4 x i8], ptr %array, i64 %index
  %value = load float, ptr %element, align 4
  %product = fmul float %value, %factor
  %more = fadd float %sum, %product
  %next = add i32 %i, -1
  br label %header

panic:
  call void @index_out_of_bounds(i64 %index, i64 %len)
  unreachable

end:
  %wanted = fcmp ogt float %sum, 0.0
  br i1 %wanted, label %more_than_zero, label %out

more_than_zero:
  %both = fadd float %sum, %before
  br label %out

out:
  %result = phi float [ %both, %more_than_zero ], [ 0.0, %end ]
  ret float %result
}
; CHECK-LABEL: define float @downward(ptr %from, i64 %len, i32 %n, float %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca { [8 x i8] }, align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %i = phi i32 [ 1, %start ]
; CHECK-NEXT:   %sum = phi float [ 0x0000000000000000, %start ]
; CHECK-NEXT:   %before = phi float [ %a, %start ]
; CHECK-NEXT:   %goes_on = icmp ult i32 %n, 1
; CHECK-NEXT:   br i1 %goes_on, label %check, label %end
; CHECK-NEXT: check:
; CHECK-NEXT:   %index = zext i32 1 to i64
; CHECK-NEXT:   %is_inside = icmp ult i64 1, %len
; CHECK-NEXT:   br i1 %is_inside, label %latch, label %panic
; CHECK-NEXT: latch:
; CHECK-NEXT:   %address = getelementptr inbounds float, ptr %from, i64 1
; CHECK-NEXT:   %factor = load float, ptr %address, align 4
; CHECK-NEXT:   %element = getelementptr inbounds [4 x i8], ptr %array, i64 1
; CHECK-NEXT:   %value = load float, ptr %element, align 4
; CHECK-NEXT:   %product = fmul float %value, %factor
; CHECK-NEXT:   %more = fadd float %sum, %product
; CHECK-NEXT:   %next = add i32 1, -1
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: panic:
; CHECK-NEXT:   %0 = phi i64 [ %index, %check ], [ 0, %iteration.1 ], [ 4294967295, %iteration.4 ]
; CHECK-NEXT:   call void @index_out_of_bounds(i64 %0, i64 %len)
; CHECK-NEXT:   unreachable
; CHECK-NEXT: end:
; CHECK-NEXT:   %1 = phi float [ %before, %header ], [ %sum, %iteration ], [ %more, %iteration.3 ]
; CHECK-NEXT:   %2 = phi float [ %sum, %header ], [ %more, %iteration ], [ %10, %iteration.3 ]
; CHECK-NEXT:   %wanted = fcmp ogt float %2, 0x0000000000000000
; CHECK-NEXT:   br i1 %wanted, label %more_than_zero, label %out
; CHECK-NEXT: more_than_zero:
; CHECK-NEXT:   %both = fadd float %2, %1
; CHECK-NEXT:   br label %out
; CHECK-NEXT: out:
; CHECK-NEXT:   %result = phi float [ %both, %more_than_zero ], [ 0x0000000000000000, %end ]
; CHECK-NEXT:   ret float %result
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %3 = icmp ult i32 %n, 0
; CHECK-NEXT:   br i1 %3, label %iteration.1, label %end
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %4 = icmp ult i64 0, %len
; CHECK-NEXT:   br i1 %4, label %iteration.2, label %panic
; CHECK-NEXT: iteration.2:
; CHECK-NEXT:   %5 = getelementptr inbounds float, ptr %from, i64 0
; CHECK-NEXT:   %6 = load float, ptr %5, align 4
; CHECK-NEXT:   %7 = getelementptr inbounds [4 x i8], ptr %array, i64 0
; CHECK-NEXT:   %8 = load float, ptr %7, align 4
; CHECK-NEXT:   %9 = fmul float %8, %6
; CHECK-NEXT:   %10 = fadd float %more, %9
; CHECK-NEXT:   br label %iteration.3
; CHECK-NEXT: iteration.3:
; CHECK-NEXT:   %11 = icmp ult i32 %n, -1
; CHECK-NEXT:   br i1 %11, label %iteration.4, label %end
; CHECK-NEXT: iteration.4:
; CHECK-NEXT:   %12 = icmp ult i64 4294967295, %len
; CHECK-NEXT:   br i1 %12, label %iteration.5, label %panic
; CHECK-NEXT: iteration.5:
; CHECK-NEXT:   %13 = getelementptr inbounds float, ptr %from, i64 4294967295
; CHECK-NEXT:   %14 = load float, ptr %13, align 4
; CHECK-NEXT:   %15 = getelementptr inbounds [4 x i8], ptr %array, i64 4294967295
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

declare void @index_out_of_bounds(i64, i64)

; Two blocks behind the loop pass on the same value to a third one.
define float @two_ways_out(ptr %from, i64 %n, float %a) {
start:
  %array = alloca [2 x float], align 4
  %second = getelementptr inbounds i8, ptr %array, i64 4
  store float %a, ptr %array, align 4
  store float %a, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %element = getelementptr inbounds float, ptr %array, i64 %i
  %value = load float, ptr %element, align 4
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, %n
  br i1 %ends, label %first, label %latch

latch:
  %large = fcmp ogt float %value, 1.0
  br i1 %large, label %other, label %loop

first:
  call void @takes(ptr %from)
  br label %out

other:
  br label %out

out:
  %result = phi float [ %value, %first ], [ %value, %other ]
  ret float %result
}
; CHECK-LABEL: define float @two_ways_out(ptr %from, i64 %n, float %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ]
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %array, i64 0
; CHECK-NEXT:   %value = load float, ptr %element, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 0, 1
; CHECK-NEXT:   %ends = icmp eq i64 1, %n
; CHECK-NEXT:   br i1 %ends, label %first, label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %large = fcmp ogt float %value, 0x3FF0000000000000
; CHECK-NEXT:   br i1 %large, label %other, label %iteration
; CHECK-NEXT: first:
; CHECK-NEXT:   %0 = phi float [ %value, %loop ], [ %3, %iteration ]
; CHECK-NEXT:   call void @takes(ptr %from)
; CHECK-NEXT:   br label %out
; CHECK-NEXT: other:
; CHECK-NEXT:   %1 = phi float [ %value, %latch ], [ %3, %iteration.1 ]
; CHECK-NEXT:   br label %out
; CHECK-NEXT: out:
; CHECK-NEXT:   %result = phi float [ %0, %first ], [ %1, %other ]
; CHECK-NEXT:   ret float %result
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %2 = getelementptr inbounds float, ptr %array, i64 1
; CHECK-NEXT:   %3 = load float, ptr %2, align 4
; CHECK-NEXT:   %4 = icmp eq i64 2, %n
; CHECK-NEXT:   br i1 %4, label %first, label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %5 = fcmp ogt float %3, 0x3FF0000000000000
; CHECK-NEXT:   br i1 %5, label %other, label %iteration.2
; CHECK-NEXT: iteration.2:
; CHECK-NEXT:   %6 = getelementptr inbounds float, ptr %array, i64 2
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; The array stays in memory: another index is variable, or the address is passed on.
define float @others(i64 %n, i64 %which) {
start:
  %array = alloca [2 x float], align 4
  %passed = alloca [2 x float], align 4
  %chosen = getelementptr inbounds float, ptr %array, i64 %which
  %before = load float, ptr %chosen, align 4
  call void @takes(ptr %passed)
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %element = getelementptr inbounds float, ptr %array, i64 %i
  %other = getelementptr inbounds float, ptr %passed, i64 %i
  %next = add nuw nsw i64 %i, 1
  store float 0.0, ptr %element, align 4
  store float 0.0, ptr %other, align 4
  %ends = icmp eq i64 %next, %n
  br i1 %ends, label %end, label %loop

end:
  ret float %before
}
; CHECK-LABEL: define float @others(i64 %n, i64 %which) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   %passed = alloca [2 x float], align 4
; CHECK-NEXT:   %chosen = getelementptr inbounds float, ptr %array, i64 %which
; CHECK-NEXT:   %before = load float, ptr %chosen, align 4
; CHECK-NEXT:   call void @takes(ptr %passed)
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %array, i64 %i
; CHECK-NEXT:   %other = getelementptr inbounds float, ptr %passed, i64 %i
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   store float 0x0000000000000000, ptr %element, align 4
; CHECK-NEXT:   store float 0x0000000000000000, ptr %other, align 4
; CHECK-NEXT:   %ends = icmp eq i64 %next, %n
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   ret float %before
; CHECK-NEXT: }

declare void @takes(ptr)

; `for column in 0..3 { for k in column + 1..3 { row[k] -= row[column] } }`: the inner loop begins at
; the outer counter, and not at all in the last iteration.
define void @nested(ptr %from, ptr %to) {
start:
  %row = alloca [3 x float], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %third = getelementptr inbounds i8, ptr %row, i64 8
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 4
  store float %a, ptr %second, align 4
  store float %a, ptr %third, align 4
  br label %outer

outer:
  %column = phi i64 [ 0, %start ], [ %first, %next_column ]
  %one = getelementptr inbounds float, ptr %row, i64 %column
  %first = add nuw nsw i64 %column, 1
  %x = load float, ptr %one, align 4
  %has = icmp ult i64 %column, 2
  br i1 %has, label %inner, label %next_column

inner:
  %k = phi i64 [ %first, %outer ], [ %next, %inner ]
  %other = getelementptr inbounds float, ptr %row, i64 %k
  %y = load float, ptr %other, align 4
  %z = fsub float %y, %x
  store float %z, ptr %other, align 4
  %next = add nuw nsw i64 %k, 1
  %ends = icmp eq i64 %next, 3
  br i1 %ends, label %next_column, label %inner

next_column:
  %all = icmp eq i64 %first, 3
  br i1 %all, label %end, label %outer

end:
  %result = load float, ptr %third, align 4
  store float %result, ptr %to, align 4
  ret void
}
; CHECK-LABEL: define void @nested(ptr %from, ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [3 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %third = getelementptr inbounds i8, ptr %row, i64 8
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   store float %a, ptr %third, align 4
; CHECK-NEXT:   br label %outer
; CHECK-NEXT: outer:
; CHECK-NEXT:   %column = phi i64 [ 0, %start ]
; CHECK-NEXT:   %one = getelementptr inbounds float, ptr %row, i64 0
; CHECK-NEXT:   %first = add nuw nsw i64 0, 1
; CHECK-NEXT:   %x = load float, ptr %one, align 4
; CHECK-NEXT:   %has = icmp ult i64 0, 2
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %k = phi i64 [ 1, %outer ]
; CHECK-NEXT:   %other = getelementptr inbounds float, ptr %row, i64 1
; CHECK-NEXT:   %y = load float, ptr %other, align 4
; CHECK-NEXT:   %z = fsub float %y, %x
; CHECK-NEXT:   store float %z, ptr %other, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 1, 1
; CHECK-NEXT:   %ends = icmp eq i64 2, 3
; CHECK-NEXT:   br label %iteration.5
; CHECK-NEXT: next_column:
; CHECK-NEXT:   %all = icmp eq i64 1, 3
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = load float, ptr %third, align 4
; CHECK-NEXT:   store float %result, ptr %to, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = getelementptr inbounds float, ptr %row, i64 1
; CHECK-NEXT:   %1 = load float, ptr %0, align 4
; CHECK-NEXT:   br label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %2 = phi i64 [ 2, %iteration ]
; CHECK-NEXT:   %3 = getelementptr inbounds float, ptr %row, i64 2
; CHECK-NEXT:   %4 = load float, ptr %3, align 4
; CHECK-NEXT:   %5 = fsub float %4, %1
; CHECK-NEXT:   store float %5, ptr %3, align 4
; CHECK-NEXT:   %6 = add nuw nsw i64 2, 1
; CHECK-NEXT:   %7 = icmp eq i64 3, 3
; CHECK-NEXT:   br label %iteration.2
; CHECK-NEXT: iteration.2:
; CHECK-NEXT:   br label %iteration.3
; CHECK-NEXT: iteration.3:
; CHECK-NEXT:   %8 = getelementptr inbounds float, ptr %row, i64 2
; CHECK-NEXT:   %9 = load float, ptr %8, align 4
; CHECK-NEXT:   br label %iteration.4
; CHECK-NEXT: iteration.4:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: iteration.5:
; CHECK-NEXT:   %10 = getelementptr inbounds float, ptr %row, i64 2
; CHECK-NEXT:   %11 = load float, ptr %10, align 4
; CHECK-NEXT:   %12 = fsub float %11, %x
; CHECK-NEXT:   store float %12, ptr %10, align 4
; CHECK-NEXT:   br label %next_column
; CHECK-NEXT: }

; The inner loop has no test before it: in the last iteration, its first access is outside the array,
; so the last iteration does not get there.
define void @outside(ptr %from, i64 %n) {
start:
  %row = alloca [2 x i32], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load i32, ptr %from, align 4
  store i32 %a, ptr %row, align 4
  store i32 %a, ptr %second, align 4
  br label %outer

outer:
  %column = phi i64 [ 0, %start ], [ %first, %next_column ]
  %first = add nuw nsw i64 %column, 1
  %leaves = icmp eq i64 %first, %n
  br i1 %leaves, label %end, label %inner

inner:
  %k = phi i64 [ %first, %outer ], [ %next, %inner ]
  %other = getelementptr inbounds i32, ptr %row, i64 %k
  %y = load i32, ptr %other, align 4
  store i32 %y, ptr %from, align 4
  %next = add nuw nsw i64 %k, 1
  %ends = icmp eq i64 %next, 2
  br i1 %ends, label %next_column, label %inner

next_column:
  %more = icmp ult i64 %first, 5
  br i1 %more, label %outer, label %end

end:
  ret void
}
; CHECK-LABEL: define void @outside(ptr %from, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [2 x i32], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load i32, ptr %from, align 4
; CHECK-NEXT:   store i32 %a, ptr %row, align 4
; CHECK-NEXT:   store i32 %a, ptr %second, align 4
; CHECK-NEXT:   br label %outer
; CHECK-NEXT: outer:
; CHECK-NEXT:   %column = phi i64 [ 0, %start ]
; CHECK-NEXT:   %first = add nuw nsw i64 0, 1
; CHECK-NEXT:   %leaves = icmp eq i64 1, %n
; CHECK-NEXT:   br i1 %leaves, label %end, label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %k = phi i64 [ 1, %outer ]
; CHECK-NEXT:   %other = getelementptr inbounds i32, ptr %row, i64 1
; CHECK-NEXT:   %y = load i32, ptr %other, align 4
; CHECK-NEXT:   store i32 %y, ptr %from, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 1, 1
; CHECK-NEXT:   %ends = icmp eq i64 2, 2
; CHECK-NEXT:   br label %next_column
; CHECK-NEXT: next_column:
; CHECK-NEXT:   %more = icmp ult i64 1, 5
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = icmp eq i64 2, %n
; CHECK-NEXT:   br i1 %0, label %end, label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %1 = phi i64 [ 2, %iteration ]
; CHECK-NEXT:   %2 = getelementptr inbounds i32, ptr %row, i64 2
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; LLVM makes flags and constants of the counter of two iterations.
define void @two(ptr %a, ptr %b) {
start:
  %pairs = alloca [2 x i64], align 8
  %second = getelementptr inbounds i8, ptr %pairs, i64 8
  %first_address = ptrtoint ptr %a to i64
  %second_address = ptrtoint ptr %b to i64
  store i64 %first_address, ptr %pairs, align 8
  store i64 %second_address, ptr %second, align 8
  br label %loop

loop:
  %is_second = phi i1 [ false, %start ], [ true, %loop ]
  %i = phi i64 [ 0, %start ], [ 1, %loop ]
  %at = getelementptr inbounds i64, ptr %pairs, i64 %i
  %address = load i64, ptr %at, align 8
  %to = inttoptr i64 %address to ptr
  store i64 %i, ptr %to, align 8
  br i1 %is_second, label %end, label %loop

end:
  ret void
}
; CHECK-LABEL: define void @two(ptr %a, ptr %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pairs = alloca [2 x i64], align 8
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %pairs, i64 8
; CHECK-NEXT:   %first_address = ptrtoint ptr %a to i64
; CHECK-NEXT:   %second_address = ptrtoint ptr %b to i64
; CHECK-NEXT:   store i64 %first_address, ptr %pairs, align 8
; CHECK-NEXT:   store i64 %second_address, ptr %second, align 8
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %is_second = phi i1 [ false, %start ]
; CHECK-NEXT:   %i = phi i64 [ 0, %start ]
; CHECK-NEXT:   %at = getelementptr inbounds i64, ptr %pairs, i64 0
; CHECK-NEXT:   %address = load i64, ptr %at, align 8
; CHECK-NEXT:   %to = inttoptr i64 %address to ptr
; CHECK-NEXT:   store i64 0, ptr %to, align 8
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = getelementptr inbounds i64, ptr %pairs, i64 1
; CHECK-NEXT:   %1 = load i64, ptr %0, align 8
; CHECK-NEXT:   %2 = inttoptr i64 %1 to ptr
; CHECK-NEXT:   store i64 1, ptr %2, align 8
; CHECK-NEXT:   br label %end
; CHECK-NEXT: }

; The inner loop begins at a number that is not known, and at a counter of a loop that is over.
define void @unknown_starts(ptr %from, ptr %to) {
start:
  %row = alloca [4 x i32], align 4
  %other = alloca [4 x i32], align 4
  %n = load i64, ptr %from, align 8
  br label %unknown

unknown:
  %x = phi i64 [ %n, %start ], [ %next_x, %unknown ]
  %x_at = getelementptr inbounds i32, ptr %row, i64 %x
  store i32 1, ptr %x_at, align 4
  %next_x = add nuw nsw i64 %x, 1
  %ends_x = icmp eq i64 %next_x, 4
  br i1 %ends_x, label %before, label %unknown

before:
  %w = phi i64 [ 0, %unknown ], [ %next_w, %before ]
  %next_w = add nuw nsw i64 %w, 1
  %ends_w = icmp eq i64 %next_w, %n
  br i1 %ends_w, label %last, label %before

last:
  %y_start = add i64 %w, 1
  br label %after

after:
  %y = phi i64 [ %y_start, %last ], [ %next_y, %after ]
  %y_at = getelementptr inbounds i32, ptr %other, i64 %y
  store i32 1, ptr %y_at, align 4
  %next_y = add nuw nsw i64 %y, 1
  %ends_y = icmp eq i64 %next_y, 4
  br i1 %ends_y, label %end, label %after

end:
  %x_result = load i32, ptr %row, align 4
  store i32 %x_result, ptr %to, align 4
  %y_result = load i32, ptr %other, align 4
  store i32 %y_result, ptr %to, align 4
  ret void
}
; CHECK-LABEL: define void @unknown_starts(ptr %from, ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [4 x i32], align 4
; CHECK-NEXT:   %other = alloca [4 x i32], align 4
; CHECK-NEXT:   %n = load i64, ptr %from, align 8
; CHECK-NEXT:   br label %unknown
; CHECK-NEXT: unknown:
; CHECK-NEXT:   %x = phi i64 [ %n, %start ], [ %next_x, %unknown ]
; CHECK-NEXT:   %x_at = getelementptr inbounds i32, ptr %row, i64 %x
; CHECK-NEXT:   store i32 1, ptr %x_at, align 4
; CHECK-NEXT:   %next_x = add nuw nsw i64 %x, 1
; CHECK-NEXT:   %ends_x = icmp eq i64 %next_x, 4
; CHECK-NEXT:   br i1 %ends_x, label %before, label %unknown
; CHECK-NEXT: before:
; CHECK-NEXT:   %w = phi i64 [ 0, %unknown ], [ %next_w, %before ]
; CHECK-NEXT:   %next_w = add nuw nsw i64 %w, 1
; CHECK-NEXT:   %ends_w = icmp eq i64 %next_w, %n
; CHECK-NEXT:   br i1 %ends_w, label %last, label %before
; CHECK-NEXT: last:
; CHECK-NEXT:   %y_start = add i64 %w, 1
; CHECK-NEXT:   br label %after
; CHECK-NEXT: after:
; CHECK-NEXT:   %y = phi i64 [ %y_start, %last ], [ %next_y, %after ]
; CHECK-NEXT:   %y_at = getelementptr inbounds i32, ptr %other, i64 %y
; CHECK-NEXT:   store i32 1, ptr %y_at, align 4
; CHECK-NEXT:   %next_y = add nuw nsw i64 %y, 1
; CHECK-NEXT:   %ends_y = icmp eq i64 %next_y, 4
; CHECK-NEXT:   br i1 %ends_y, label %end, label %after
; CHECK-NEXT: end:
; CHECK-NEXT:   %x_result = load i32, ptr %row, align 4
; CHECK-NEXT:   store i32 %x_result, ptr %to, align 4
; CHECK-NEXT:   %y_result = load i32, ptr %other, align 4
; CHECK-NEXT:   store i32 %y_result, ptr %to, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; A counter with a condition: signed comparisons, selects and shifts.
define void @computed(ptr %to) {
start:
  %row = alloca [4 x i32], align 4
  br label %loop

loop:
  %i = phi i8 [ -2, %start ], [ %next, %loop ]
  %is_negative = icmp slt i8 %i, 0
  %index = select i1 %is_negative, i8 3, i8 %i
  %wide = zext i8 %index to i64
  %at = getelementptr inbounds i32, ptr %row, i64 %wide
  store i32 7, ptr %at, align 4
  %next = add i8 %i, 1
  %more = icmp sle i8 %next, 1
  br i1 %more, label %loop, label %end

end:
  %result = load i32, ptr %row, align 4
  store i32 %result, ptr %to, align 4
  ret void
}
; CHECK-LABEL: define void @computed(ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [4 x i32], align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i8 [ -2, %start ]
; CHECK-NEXT:   %is_negative = icmp slt i8 -2, 0
; CHECK-NEXT:   %index = select i1 true, i8 3, i8 -2
; CHECK-NEXT:   %wide = zext i8 3 to i64
; CHECK-NEXT:   %at = getelementptr inbounds i32, ptr %row, i64 3
; CHECK-NEXT:   store i32 7, ptr %at, align 4
; CHECK-NEXT:   %next = add i8 -2, 1
; CHECK-NEXT:   %more = icmp sle i8 -1, 1
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = load i32, ptr %row, align 4
; CHECK-NEXT:   store i32 %result, ptr %to, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %0 = getelementptr inbounds i32, ptr %row, i64 3
; CHECK-NEXT:   store i32 7, ptr %0, align 4
; CHECK-NEXT:   br label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %1 = getelementptr inbounds i32, ptr %row, i64 0
; CHECK-NEXT:   store i32 7, ptr %1, align 4
; CHECK-NEXT:   br label %iteration.2
; CHECK-NEXT: iteration.2:
; CHECK-NEXT:   %2 = getelementptr inbounds i32, ptr %row, i64 1
; CHECK-NEXT:   store i32 7, ptr %2, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: }

declare float @__nv_powf(float, float)

declare void @may_exit()

; A loop with ballots, too large to unroll: a copy for whole warps is unrolled. The other one has a copy
; of the array.
define void @reduced(ptr %from, i32 %n) {
start:
  %row = alloca [8 x float], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 4
  store float %a, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at = getelementptr inbounds float, ptr %row, i64 %i
  %value = load float, ptr %at, align 4
  %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
  %is_whole = icmp eq i32 %mask, -1
  br i1 %is_whole, label %fast, label %slow

fast:
  %bits = bitcast float %value to i32
  %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
  %fast_result = bitcast i32 %other to float
  br label %latch

slow:
  %p0 = call float @__nv_powf(float %value, float %value)
  %p1 = call float @__nv_powf(float %p0, float %p0)
  %p2 = call float @__nv_powf(float %p1, float %p1)
  %p3 = call float @__nv_powf(float %p2, float %p2)
  %p4 = call float @__nv_powf(float %p3, float %p3)
  %p5 = call float @__nv_powf(float %p4, float %p4)
  %p6 = call float @__nv_powf(float %p5, float %p5)
  %p7 = call float @__nv_powf(float %p6, float %p6)
  %p8 = call float @__nv_powf(float %p7, float %p7)
  %p9 = call float @__nv_powf(float %p8, float %p8)
  %p10 = call float @__nv_powf(float %p9, float %p9)
  %p11 = call float @__nv_powf(float %p10, float %p10)
  %p12 = call float @__nv_powf(float %p11, float %p11)
  br label %latch

latch:
  %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
  store float %result, ptr %at, align 4
  store float %result, ptr %second, align 4
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, 8
  br i1 %ends, label %end, label %loop

end:
  %last = phi float [ %result, %latch ]
  store float %last, ptr %from, align 4
  %left = load float, ptr %second, align 4
  store float %left, ptr %from, align 4
  ret void
}
; CHECK-LABEL: define void @reduced(ptr %from, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [8 x float], align 4
; CHECK-NEXT:   %0 = alloca [8 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %whole
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %whole ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %row, i64 0
; CHECK-NEXT:   %value = load float, ptr %at, align 4
; CHECK-NEXT:   %is_whole = icmp eq i32 -1, -1
; CHECK-NEXT:   br label %fast
; CHECK-NEXT: fast:
; CHECK-NEXT:   %bits = bitcast float %value to i32
; CHECK-NEXT:   %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %fast_result = bitcast i32 %other to float
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %result = phi float [ %fast_result, %fast ]
; CHECK-NEXT:   store float %result, ptr %at, align 4
; CHECK-NEXT:   store float %result, ptr %second, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 0, 1
; CHECK-NEXT:   %ends = icmp eq i64 1, 8
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   %last = phi float [ %49, %copied ], [ %117, %iteration.20 ]
; CHECK-NEXT:   store float %last, ptr %from, align 4
; CHECK-NEXT:   %left = load float, ptr %second, align 4
; CHECK-NEXT:   store float %left, ptr %from, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: whole:
; CHECK-NEXT:   %1 = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %2 = icmp eq i32 %1, -1
; CHECK-NEXT:   br i1 %2, label %loop, label %others
; CHECK-NEXT: others:
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %row, i64 0
; CHECK-NEXT:   %4 = load i32, ptr %3, align 4
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   store i32 %4, ptr %5, align 4
; CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %7 = load i32, ptr %6, align 4
; CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %0, i64 4
; CHECK-NEXT:   store i32 %7, ptr %8, align 4
; CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %row, i64 8
; CHECK-NEXT:   %10 = load i32, ptr %9, align 4
; CHECK-NEXT:   %11 = getelementptr inbounds i8, ptr %0, i64 8
; CHECK-NEXT:   store i32 %10, ptr %11, align 4
; CHECK-NEXT:   %12 = getelementptr inbounds i8, ptr %row, i64 12
; CHECK-NEXT:   %13 = load i32, ptr %12, align 4
; CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %0, i64 12
; CHECK-NEXT:   store i32 %13, ptr %14, align 4
; CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %row, i64 16
; CHECK-NEXT:   %16 = load i32, ptr %15, align 4
; CHECK-NEXT:   %17 = getelementptr inbounds i8, ptr %0, i64 16
; CHECK-NEXT:   store i32 %16, ptr %17, align 4
; CHECK-NEXT:   %18 = getelementptr inbounds i8, ptr %row, i64 20
; CHECK-NEXT:   %19 = load i32, ptr %18, align 4
; CHECK-NEXT:   %20 = getelementptr inbounds i8, ptr %0, i64 20
; CHECK-NEXT:   store i32 %19, ptr %20, align 4
; CHECK-NEXT:   %21 = getelementptr inbounds i8, ptr %row, i64 24
; CHECK-NEXT:   %22 = load i32, ptr %21, align 4
; CHECK-NEXT:   %23 = getelementptr inbounds i8, ptr %0, i64 24
; CHECK-NEXT:   store i32 %22, ptr %23, align 4
; CHECK-NEXT:   %24 = getelementptr inbounds i8, ptr %row, i64 28
; CHECK-NEXT:   %25 = load i32, ptr %24, align 4
; CHECK-NEXT:   %26 = getelementptr inbounds i8, ptr %0, i64 28
; CHECK-NEXT:   store i32 %25, ptr %26, align 4
; CHECK-NEXT:   %27 = getelementptr inbounds i8, ptr %0, i64 4
; CHECK-NEXT:   br label %copy
; CHECK-NEXT: copy:
; CHECK-NEXT:   %28 = phi i64 [ 0, %others ], [ %50, %copy.3 ]
; CHECK-NEXT:   %29 = getelementptr inbounds float, ptr %0, i64 %28
; CHECK-NEXT:   %30 = load float, ptr %29, align 4
; CHECK-NEXT:   %31 = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %32 = icmp eq i32 %31, -1
; CHECK-NEXT:   br i1 %32, label %copy.1, label %copy.2
; CHECK-NEXT: copy.1:
; CHECK-NEXT:   %33 = bitcast float %30 to i32
; CHECK-NEXT:   %34 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %33, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %35 = bitcast i32 %34 to float
; CHECK-NEXT:   br label %copy.3
; CHECK-NEXT: copy.2:
; CHECK-NEXT:   %36 = call float @__nv_powf(float %30, float %30)
; CHECK-NEXT:   %37 = call float @__nv_powf(float %36, float %36)
; CHECK-NEXT:   %38 = call float @__nv_powf(float %37, float %37)
; CHECK-NEXT:   %39 = call float @__nv_powf(float %38, float %38)
; CHECK-NEXT:   %40 = call float @__nv_powf(float %39, float %39)
; CHECK-NEXT:   %41 = call float @__nv_powf(float %40, float %40)
; CHECK-NEXT:   %42 = call float @__nv_powf(float %41, float %41)
; CHECK-NEXT:   %43 = call float @__nv_powf(float %42, float %42)
; CHECK-NEXT:   %44 = call float @__nv_powf(float %43, float %43)
; CHECK-NEXT:   %45 = call float @__nv_powf(float %44, float %44)
; CHECK-NEXT:   %46 = call float @__nv_powf(float %45, float %45)
; CHECK-NEXT:   %47 = call float @__nv_powf(float %46, float %46)
; CHECK-NEXT:   %48 = call float @__nv_powf(float %47, float %47)
; CHECK-NEXT:   br label %copy.3
; CHECK-NEXT: copy.3:
; CHECK-NEXT:   %49 = phi float [ %35, %copy.1 ], [ %48, %copy.2 ]
; CHECK-NEXT:   store float %49, ptr %29, align 4
; CHECK-NEXT:   store float %49, ptr %27, align 4
; CHECK-NEXT:   %50 = add nuw nsw i64 %28, 1
; CHECK-NEXT:   %51 = icmp eq i64 %50, 8
; CHECK-NEXT:   br i1 %51, label %copied, label %copy, !llvm.loop !1
; CHECK-NEXT: copied:
; CHECK-NEXT:   %52 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   %53 = load i32, ptr %52, align 4
; CHECK-NEXT:   %54 = getelementptr inbounds i8, ptr %row, i64 0
; CHECK-NEXT:   store i32 %53, ptr %54, align 4
; CHECK-NEXT:   %55 = getelementptr inbounds i8, ptr %0, i64 4
; CHECK-NEXT:   %56 = load i32, ptr %55, align 4
; CHECK-NEXT:   %57 = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   store i32 %56, ptr %57, align 4
; CHECK-NEXT:   %58 = getelementptr inbounds i8, ptr %0, i64 8
; CHECK-NEXT:   %59 = load i32, ptr %58, align 4
; CHECK-NEXT:   %60 = getelementptr inbounds i8, ptr %row, i64 8
; CHECK-NEXT:   store i32 %59, ptr %60, align 4
; CHECK-NEXT:   %61 = getelementptr inbounds i8, ptr %0, i64 12
; CHECK-NEXT:   %62 = load i32, ptr %61, align 4
; CHECK-NEXT:   %63 = getelementptr inbounds i8, ptr %row, i64 12
; CHECK-NEXT:   store i32 %62, ptr %63, align 4
; CHECK-NEXT:   %64 = getelementptr inbounds i8, ptr %0, i64 16
; CHECK-NEXT:   %65 = load i32, ptr %64, align 4
; CHECK-NEXT:   %66 = getelementptr inbounds i8, ptr %row, i64 16
; CHECK-NEXT:   store i32 %65, ptr %66, align 4
; CHECK-NEXT:   %67 = getelementptr inbounds i8, ptr %0, i64 20
; CHECK-NEXT:   %68 = load i32, ptr %67, align 4
; CHECK-NEXT:   %69 = getelementptr inbounds i8, ptr %row, i64 20
; CHECK-NEXT:   store i32 %68, ptr %69, align 4
; CHECK-NEXT:   %70 = getelementptr inbounds i8, ptr %0, i64 24
; CHECK-NEXT:   %71 = load i32, ptr %70, align 4
; CHECK-NEXT:   %72 = getelementptr inbounds i8, ptr %row, i64 24
; CHECK-NEXT:   store i32 %71, ptr %72, align 4
; CHECK-NEXT:   %73 = getelementptr inbounds i8, ptr %0, i64 28
; CHECK-NEXT:   %74 = load i32, ptr %73, align 4
; CHECK-NEXT:   %75 = getelementptr inbounds i8, ptr %row, i64 28
; CHECK-NEXT:   store i32 %74, ptr %75, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %76 = getelementptr inbounds float, ptr %row, i64 1
; CHECK-NEXT:   %77 = load float, ptr %76, align 4
; CHECK-NEXT:   br label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %78 = bitcast float %77 to i32
; CHECK-NEXT:   %79 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %78, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %80 = bitcast i32 %79 to float
; CHECK-NEXT:   br label %iteration.2
; CHECK-NEXT: iteration.2:
; CHECK-NEXT:   %81 = phi float [ %80, %iteration.1 ]
; CHECK-NEXT:   store float %81, ptr %76, align 4
; CHECK-NEXT:   store float %81, ptr %second, align 4
; CHECK-NEXT:   br label %iteration.3
; CHECK-NEXT: iteration.3:
; CHECK-NEXT:   %82 = getelementptr inbounds float, ptr %row, i64 2
; CHECK-NEXT:   %83 = load float, ptr %82, align 4
; CHECK-NEXT:   br label %iteration.4
; CHECK-NEXT: iteration.4:
; CHECK-NEXT:   %84 = bitcast float %83 to i32
; CHECK-NEXT:   %85 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %84, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %86 = bitcast i32 %85 to float
; CHECK-NEXT:   br label %iteration.5
; CHECK-NEXT: iteration.5:
; CHECK-NEXT:   %87 = phi float [ %86, %iteration.4 ]
; CHECK-NEXT:   store float %87, ptr %82, align 4
; CHECK-NEXT:   store float %87, ptr %second, align 4
; CHECK-NEXT:   br label %iteration.6
; CHECK-NEXT: iteration.6:
; CHECK-NEXT:   %88 = getelementptr inbounds float, ptr %row, i64 3
; CHECK-NEXT:   %89 = load float, ptr %88, align 4
; CHECK-NEXT:   br label %iteration.7
; CHECK-NEXT: iteration.7:
; CHECK-NEXT:   %90 = bitcast float %89 to i32
; CHECK-NEXT:   %91 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %90, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %92 = bitcast i32 %91 to float
; CHECK-NEXT:   br label %iteration.8
; CHECK-NEXT: iteration.8:
; CHECK-NEXT:   %93 = phi float [ %92, %iteration.7 ]
; CHECK-NEXT:   store float %93, ptr %88, align 4
; CHECK-NEXT:   store float %93, ptr %second, align 4
; CHECK-NEXT:   br label %iteration.9
; CHECK-NEXT: iteration.9:
; CHECK-NEXT:   %94 = getelementptr inbounds float, ptr %row, i64 4
; CHECK-NEXT:   %95 = load float, ptr %94, align 4
; CHECK-NEXT:   br label %iteration.10
; CHECK-NEXT: iteration.10:
; CHECK-NEXT:   %96 = bitcast float %95 to i32
; CHECK-NEXT:   %97 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %96, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %98 = bitcast i32 %97 to float
; CHECK-NEXT:   br label %iteration.11
; CHECK-NEXT: iteration.11:
; CHECK-NEXT:   %99 = phi float [ %98, %iteration.10 ]
; CHECK-NEXT:   store float %99, ptr %94, align 4
; CHECK-NEXT:   store float %99, ptr %second, align 4
; CHECK-NEXT:   br label %iteration.12
; CHECK-NEXT: iteration.12:
; CHECK-NEXT:   %100 = getelementptr inbounds float, ptr %row, i64 5
; CHECK-NEXT:   %101 = load float, ptr %100, align 4
; CHECK-NEXT:   br label %iteration.13
; CHECK-NEXT: iteration.13:
; CHECK-NEXT:   %102 = bitcast float %101 to i32
; CHECK-NEXT:   %103 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %102, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %104 = bitcast i32 %103 to float
; CHECK-NEXT:   br label %iteration.14
; CHECK-NEXT: iteration.14:
; CHECK-NEXT:   %105 = phi float [ %104, %iteration.13 ]
; CHECK-NEXT:   store float %105, ptr %100, align 4
; CHECK-NEXT:   store float %105, ptr %second, align 4
; CHECK-NEXT:   br label %iteration.15
; CHECK-NEXT: iteration.15:
; CHECK-NEXT:   %106 = getelementptr inbounds float, ptr %row, i64 6
; CHECK-NEXT:   %107 = load float, ptr %106, align 4
; CHECK-NEXT:   br label %iteration.16
; CHECK-NEXT: iteration.16:
; CHECK-NEXT:   %108 = bitcast float %107 to i32
; CHECK-NEXT:   %109 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %108, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %110 = bitcast i32 %109 to float
; CHECK-NEXT:   br label %iteration.17
; CHECK-NEXT: iteration.17:
; CHECK-NEXT:   %111 = phi float [ %110, %iteration.16 ]
; CHECK-NEXT:   store float %111, ptr %106, align 4
; CHECK-NEXT:   store float %111, ptr %second, align 4
; CHECK-NEXT:   br label %iteration.18
; CHECK-NEXT: iteration.18:
; CHECK-NEXT:   %112 = getelementptr inbounds float, ptr %row, i64 7
; CHECK-NEXT:   %113 = load float, ptr %112, align 4
; CHECK-NEXT:   br label %iteration.19
; CHECK-NEXT: iteration.19:
; CHECK-NEXT:   %114 = bitcast float %113 to i32
; CHECK-NEXT:   %115 = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %114, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %116 = bitcast i32 %115 to float
; CHECK-NEXT:   br label %iteration.20
; CHECK-NEXT: iteration.20:
; CHECK-NEXT:   %117 = phi float [ %116, %iteration.19 ]
; CHECK-NEXT:   store float %117, ptr %112, align 4
; CHECK-NEXT:   store float %117, ptr %second, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: }

; Not if the words of the array need not be aligned, so that the copy could not be made in words.
define void @halves(ptr %from, i32 %n) {
start:
  %row = alloca [8 x float], align 2
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 2
  store float %a, ptr %second, align 2
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at = getelementptr inbounds float, ptr %row, i64 %i
  %value = load float, ptr %at, align 2
  %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
  %is_whole = icmp eq i32 %mask, -1
  br i1 %is_whole, label %fast, label %slow

fast:
  %bits = bitcast float %value to i32
  %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
  %fast_result = bitcast i32 %other to float
  br label %latch

slow:
  %p0 = call float @__nv_powf(float %value, float %value)
  %p1 = call float @__nv_powf(float %p0, float %p0)
  %p2 = call float @__nv_powf(float %p1, float %p1)
  %p3 = call float @__nv_powf(float %p2, float %p2)
  %p4 = call float @__nv_powf(float %p3, float %p3)
  %p5 = call float @__nv_powf(float %p4, float %p4)
  %p6 = call float @__nv_powf(float %p5, float %p5)
  %p7 = call float @__nv_powf(float %p6, float %p6)
  %p8 = call float @__nv_powf(float %p7, float %p7)
  %p9 = call float @__nv_powf(float %p8, float %p8)
  %p10 = call float @__nv_powf(float %p9, float %p9)
  %p11 = call float @__nv_powf(float %p10, float %p10)
  %p12 = call float @__nv_powf(float %p11, float %p11)
  br label %latch

latch:
  %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
  store float %result, ptr %at, align 2
  store float %result, ptr %second, align 2
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, 8
  br i1 %ends, label %end, label %loop

end:
  %last = phi float [ %result, %latch ]
  store float %last, ptr %from, align 4
  %left = load float, ptr %second, align 2
  store float %left, ptr %from, align 4
  ret void
}
; CHECK-LABEL: define void @halves(ptr %from, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [8 x float], align 2
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 2
; CHECK-NEXT:   store float %a, ptr %second, align 2
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %row, i64 %i
; CHECK-NEXT:   %value = load float, ptr %at, align 2
; CHECK-NEXT:   %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %is_whole = icmp eq i32 %mask, -1
; CHECK-NEXT:   br i1 %is_whole, label %fast, label %slow
; CHECK-NEXT: fast:
; CHECK-NEXT:   %bits = bitcast float %value to i32
; CHECK-NEXT:   %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %fast_result = bitcast i32 %other to float
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: slow:
; CHECK-NEXT:   %p0 = call float @__nv_powf(float %value, float %value)
; CHECK-NEXT:   %p1 = call float @__nv_powf(float %p0, float %p0)
; CHECK-NEXT:   %p2 = call float @__nv_powf(float %p1, float %p1)
; CHECK-NEXT:   %p3 = call float @__nv_powf(float %p2, float %p2)
; CHECK-NEXT:   %p4 = call float @__nv_powf(float %p3, float %p3)
; CHECK-NEXT:   %p5 = call float @__nv_powf(float %p4, float %p4)
; CHECK-NEXT:   %p6 = call float @__nv_powf(float %p5, float %p5)
; CHECK-NEXT:   %p7 = call float @__nv_powf(float %p6, float %p6)
; CHECK-NEXT:   %p8 = call float @__nv_powf(float %p7, float %p7)
; CHECK-NEXT:   %p9 = call float @__nv_powf(float %p8, float %p8)
; CHECK-NEXT:   %p10 = call float @__nv_powf(float %p9, float %p9)
; CHECK-NEXT:   %p11 = call float @__nv_powf(float %p10, float %p10)
; CHECK-NEXT:   %p12 = call float @__nv_powf(float %p11, float %p11)
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
; CHECK-NEXT:   store float %result, ptr %at, align 2
; CHECK-NEXT:   store float %result, ptr %second, align 2
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 8
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   %last = phi float [ %result, %latch ]
; CHECK-NEXT:   store float %last, ptr %from, align 4
; CHECK-NEXT:   %left = load float, ptr %second, align 2
; CHECK-NEXT:   store float %left, ptr %from, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Not if a thread has effects before the first ballot, 
define void @stores_first(ptr %from, i32 %n) {
start:
  %row = alloca [8 x float], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 4
  store float %a, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at = getelementptr inbounds float, ptr %row, i64 %i
  %value = load float, ptr %at, align 4
  store float %value, ptr %from, align 4
  %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
  %is_whole = icmp eq i32 %mask, -1
  br i1 %is_whole, label %fast, label %slow

fast:
  %bits = bitcast float %value to i32
  %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
  %fast_result = bitcast i32 %other to float
  br label %latch

slow:
  %p0 = call float @__nv_powf(float %value, float %value)
  %p1 = call float @__nv_powf(float %p0, float %p0)
  %p2 = call float @__nv_powf(float %p1, float %p1)
  %p3 = call float @__nv_powf(float %p2, float %p2)
  %p4 = call float @__nv_powf(float %p3, float %p3)
  %p5 = call float @__nv_powf(float %p4, float %p4)
  %p6 = call float @__nv_powf(float %p5, float %p5)
  %p7 = call float @__nv_powf(float %p6, float %p6)
  %p8 = call float @__nv_powf(float %p7, float %p7)
  %p9 = call float @__nv_powf(float %p8, float %p8)
  %p10 = call float @__nv_powf(float %p9, float %p9)
  %p11 = call float @__nv_powf(float %p10, float %p10)
  %p12 = call float @__nv_powf(float %p11, float %p11)
  br label %latch

latch:
  %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
  store float %result, ptr %at, align 4
  store float %result, ptr %second, align 4
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, 8
  br i1 %ends, label %end, label %loop

end:
  %last = phi float [ %result, %latch ]
  store float %last, ptr %from, align 4
  %left = load float, ptr %second, align 4
  store float %left, ptr %from, align 4
  ret void
}
; CHECK-LABEL: define void @stores_first(ptr %from, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [8 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %row, i64 %i
; CHECK-NEXT:   %value = load float, ptr %at, align 4
; CHECK-NEXT:   store float %value, ptr %from, align 4
; CHECK-NEXT:   %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %is_whole = icmp eq i32 %mask, -1
; CHECK-NEXT:   br i1 %is_whole, label %fast, label %slow
; CHECK-NEXT: fast:
; CHECK-NEXT:   %bits = bitcast float %value to i32
; CHECK-NEXT:   %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %fast_result = bitcast i32 %other to float
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: slow:
; CHECK-NEXT:   %p0 = call float @__nv_powf(float %value, float %value)
; CHECK-NEXT:   %p1 = call float @__nv_powf(float %p0, float %p0)
; CHECK-NEXT:   %p2 = call float @__nv_powf(float %p1, float %p1)
; CHECK-NEXT:   %p3 = call float @__nv_powf(float %p2, float %p2)
; CHECK-NEXT:   %p4 = call float @__nv_powf(float %p3, float %p3)
; CHECK-NEXT:   %p5 = call float @__nv_powf(float %p4, float %p4)
; CHECK-NEXT:   %p6 = call float @__nv_powf(float %p5, float %p5)
; CHECK-NEXT:   %p7 = call float @__nv_powf(float %p6, float %p6)
; CHECK-NEXT:   %p8 = call float @__nv_powf(float %p7, float %p7)
; CHECK-NEXT:   %p9 = call float @__nv_powf(float %p8, float %p8)
; CHECK-NEXT:   %p10 = call float @__nv_powf(float %p9, float %p9)
; CHECK-NEXT:   %p11 = call float @__nv_powf(float %p10, float %p10)
; CHECK-NEXT:   %p12 = call float @__nv_powf(float %p11, float %p11)
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
; CHECK-NEXT:   store float %result, ptr %at, align 4
; CHECK-NEXT:   store float %result, ptr %second, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 8
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   %last = phi float [ %result, %latch ]
; CHECK-NEXT:   store float %last, ptr %from, align 4
; CHECK-NEXT:   %left = load float, ptr %second, align 4
; CHECK-NEXT:   store float %left, ptr %from, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; if a thread may exit in the loop, 
define void @exits(ptr %from, i32 %n) {
start:
  %row = alloca [8 x float], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 4
  store float %a, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at = getelementptr inbounds float, ptr %row, i64 %i
  %value = load float, ptr %at, align 4
  %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
  %is_whole = icmp eq i32 %mask, -1
  br i1 %is_whole, label %fast, label %slow

fast:
  %bits = bitcast float %value to i32
  %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
  %fast_result = bitcast i32 %other to float
  br label %latch

slow:
  %p0 = call float @__nv_powf(float %value, float %value)
  %p1 = call float @__nv_powf(float %p0, float %p0)
  %p2 = call float @__nv_powf(float %p1, float %p1)
  %p3 = call float @__nv_powf(float %p2, float %p2)
  %p4 = call float @__nv_powf(float %p3, float %p3)
  %p5 = call float @__nv_powf(float %p4, float %p4)
  %p6 = call float @__nv_powf(float %p5, float %p5)
  %p7 = call float @__nv_powf(float %p6, float %p6)
  %p8 = call float @__nv_powf(float %p7, float %p7)
  %p9 = call float @__nv_powf(float %p8, float %p8)
  %p10 = call float @__nv_powf(float %p9, float %p9)
  %p11 = call float @__nv_powf(float %p10, float %p10)
  %p12 = call float @__nv_powf(float %p11, float %p11)
  br label %latch

latch:
  %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
  store float %result, ptr %at, align 4
  store float %result, ptr %second, align 4
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, 8
  call void @may_exit()
  br i1 %ends, label %end, label %loop

end:
  %last = phi float [ %result, %latch ]
  store float %last, ptr %from, align 4
  %left = load float, ptr %second, align 4
  store float %left, ptr %from, align 4
  ret void
}
; CHECK-LABEL: define void @exits(ptr %from, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [8 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %row, i64 %i
; CHECK-NEXT:   %value = load float, ptr %at, align 4
; CHECK-NEXT:   %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %is_whole = icmp eq i32 %mask, -1
; CHECK-NEXT:   br i1 %is_whole, label %fast, label %slow
; CHECK-NEXT: fast:
; CHECK-NEXT:   %bits = bitcast float %value to i32
; CHECK-NEXT:   %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %fast_result = bitcast i32 %other to float
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: slow:
; CHECK-NEXT:   %p0 = call float @__nv_powf(float %value, float %value)
; CHECK-NEXT:   %p1 = call float @__nv_powf(float %p0, float %p0)
; CHECK-NEXT:   %p2 = call float @__nv_powf(float %p1, float %p1)
; CHECK-NEXT:   %p3 = call float @__nv_powf(float %p2, float %p2)
; CHECK-NEXT:   %p4 = call float @__nv_powf(float %p3, float %p3)
; CHECK-NEXT:   %p5 = call float @__nv_powf(float %p4, float %p4)
; CHECK-NEXT:   %p6 = call float @__nv_powf(float %p5, float %p5)
; CHECK-NEXT:   %p7 = call float @__nv_powf(float %p6, float %p6)
; CHECK-NEXT:   %p8 = call float @__nv_powf(float %p7, float %p7)
; CHECK-NEXT:   %p9 = call float @__nv_powf(float %p8, float %p8)
; CHECK-NEXT:   %p10 = call float @__nv_powf(float %p9, float %p9)
; CHECK-NEXT:   %p11 = call float @__nv_powf(float %p10, float %p10)
; CHECK-NEXT:   %p12 = call float @__nv_powf(float %p11, float %p11)
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
; CHECK-NEXT:   store float %result, ptr %at, align 4
; CHECK-NEXT:   store float %result, ptr %second, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 8
; CHECK-NEXT:   call void @may_exit()
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   %last = phi float [ %result, %latch ]
; CHECK-NEXT:   store float %last, ptr %from, align 4
; CHECK-NEXT:   %left = load float, ptr %second, align 4
; CHECK-NEXT:   store float %left, ptr %from, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; if the threads of a warp may run different blocks, 
define void @not_uniform(ptr %from, i32 %n) {
start:
  %row = alloca [8 x float], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 4
  store float %a, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at = getelementptr inbounds float, ptr %row, i64 %i
  %value = load float, ptr %at, align 4
  %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
  %is_whole = icmp eq i32 %mask, %n
  br i1 %is_whole, label %fast, label %slow

fast:
  %bits = bitcast float %value to i32
  %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
  %fast_result = bitcast i32 %other to float
  br label %latch

slow:
  %p0 = call float @__nv_powf(float %value, float %value)
  %p1 = call float @__nv_powf(float %p0, float %p0)
  %p2 = call float @__nv_powf(float %p1, float %p1)
  %p3 = call float @__nv_powf(float %p2, float %p2)
  %p4 = call float @__nv_powf(float %p3, float %p3)
  %p5 = call float @__nv_powf(float %p4, float %p4)
  %p6 = call float @__nv_powf(float %p5, float %p5)
  %p7 = call float @__nv_powf(float %p6, float %p6)
  %p8 = call float @__nv_powf(float %p7, float %p7)
  %p9 = call float @__nv_powf(float %p8, float %p8)
  %p10 = call float @__nv_powf(float %p9, float %p9)
  %p11 = call float @__nv_powf(float %p10, float %p10)
  %p12 = call float @__nv_powf(float %p11, float %p11)
  br label %latch

latch:
  %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
  store float %result, ptr %at, align 4
  store float %result, ptr %second, align 4
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, 8
  br i1 %ends, label %end, label %loop

end:
  %last = phi float [ %result, %latch ]
  store float %last, ptr %from, align 4
  %left = load float, ptr %second, align 4
  store float %left, ptr %from, align 4
  ret void
}
; CHECK-LABEL: define void @not_uniform(ptr %from, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [8 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %row, i64 %i
; CHECK-NEXT:   %value = load float, ptr %at, align 4
; CHECK-NEXT:   %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %is_whole = icmp eq i32 %mask, %n
; CHECK-NEXT:   br i1 %is_whole, label %fast, label %slow
; CHECK-NEXT: fast:
; CHECK-NEXT:   %bits = bitcast float %value to i32
; CHECK-NEXT:   %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %fast_result = bitcast i32 %other to float
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: slow:
; CHECK-NEXT:   %p0 = call float @__nv_powf(float %value, float %value)
; CHECK-NEXT:   %p1 = call float @__nv_powf(float %p0, float %p0)
; CHECK-NEXT:   %p2 = call float @__nv_powf(float %p1, float %p1)
; CHECK-NEXT:   %p3 = call float @__nv_powf(float %p2, float %p2)
; CHECK-NEXT:   %p4 = call float @__nv_powf(float %p3, float %p3)
; CHECK-NEXT:   %p5 = call float @__nv_powf(float %p4, float %p4)
; CHECK-NEXT:   %p6 = call float @__nv_powf(float %p5, float %p5)
; CHECK-NEXT:   %p7 = call float @__nv_powf(float %p6, float %p6)
; CHECK-NEXT:   %p8 = call float @__nv_powf(float %p7, float %p7)
; CHECK-NEXT:   %p9 = call float @__nv_powf(float %p8, float %p8)
; CHECK-NEXT:   %p10 = call float @__nv_powf(float %p9, float %p9)
; CHECK-NEXT:   %p11 = call float @__nv_powf(float %p10, float %p10)
; CHECK-NEXT:   %p12 = call float @__nv_powf(float %p11, float %p11)
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
; CHECK-NEXT:   store float %result, ptr %at, align 4
; CHECK-NEXT:   store float %result, ptr %second, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 8
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   %last = phi float [ %result, %latch ]
; CHECK-NEXT:   store float %last, ptr %from, align 4
; CHECK-NEXT:   %left = load float, ptr %second, align 4
; CHECK-NEXT:   store float %left, ptr %from, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; or if the result of a ballot is used after the loop.
define void @used_outside(ptr %from, i32 %n) {
start:
  %row = alloca [8 x float], align 4
  %second = getelementptr inbounds i8, ptr %row, i64 4
  %a = load float, ptr %from, align 4
  store float %a, ptr %row, align 4
  store float %a, ptr %second, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %at = getelementptr inbounds float, ptr %row, i64 %i
  %value = load float, ptr %at, align 4
  %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
  %is_whole = icmp eq i32 %mask, -1
  br i1 %is_whole, label %fast, label %slow

fast:
  %bits = bitcast float %value to i32
  %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
  %fast_result = bitcast i32 %other to float
  br label %latch

slow:
  %p0 = call float @__nv_powf(float %value, float %value)
  %p1 = call float @__nv_powf(float %p0, float %p0)
  %p2 = call float @__nv_powf(float %p1, float %p1)
  %p3 = call float @__nv_powf(float %p2, float %p2)
  %p4 = call float @__nv_powf(float %p3, float %p3)
  %p5 = call float @__nv_powf(float %p4, float %p4)
  %p6 = call float @__nv_powf(float %p5, float %p5)
  %p7 = call float @__nv_powf(float %p6, float %p6)
  %p8 = call float @__nv_powf(float %p7, float %p7)
  %p9 = call float @__nv_powf(float %p8, float %p8)
  %p10 = call float @__nv_powf(float %p9, float %p9)
  %p11 = call float @__nv_powf(float %p10, float %p10)
  %p12 = call float @__nv_powf(float %p11, float %p11)
  br label %latch

latch:
  %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
  store float %result, ptr %at, align 4
  store float %result, ptr %second, align 4
  %next = add nuw nsw i64 %i, 1
  %ends = icmp eq i64 %next, 8
  br i1 %ends, label %end, label %loop

end:
  %last = phi float [ %result, %latch ]
  store float %last, ptr %from, align 4
  %left = load float, ptr %second, align 4
  store float %left, ptr %from, align 4
  store i32 %mask, ptr %from, align 4
  ret void
}
; CHECK-LABEL: define void @used_outside(ptr %from, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %row = alloca [8 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %row, i64 4
; CHECK-NEXT:   %a = load float, ptr %from, align 4
; CHECK-NEXT:   store float %a, ptr %row, align 4
; CHECK-NEXT:   store float %a, ptr %second, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %row, i64 %i
; CHECK-NEXT:   %value = load float, ptr %at, align 4
; CHECK-NEXT:   %mask = call i32 asm sideeffect "{\0A\09.reg .pred %p_predicate;\0A\09setp.ne.b32 %p_predicate, $1, 0;\0A\09vote.sync.ballot.b32 $0, %p_predicate, $2;\0A\09}", "=&r,r,r"(i32 1, i32 -1)
; CHECK-NEXT:   %is_whole = icmp eq i32 %mask, -1
; CHECK-NEXT:   br i1 %is_whole, label %fast, label %slow
; CHECK-NEXT: fast:
; CHECK-NEXT:   %bits = bitcast float %value to i32
; CHECK-NEXT:   %other = call i32 asm sideeffect "shfl.sync.bfly.b32 $0, $1, $2, $3, $4;", "=&r,r,r,r,r"(i32 %bits, i32 1, i32 31, i32 -1)
; CHECK-NEXT:   %fast_result = bitcast i32 %other to float
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: slow:
; CHECK-NEXT:   %p0 = call float @__nv_powf(float %value, float %value)
; CHECK-NEXT:   %p1 = call float @__nv_powf(float %p0, float %p0)
; CHECK-NEXT:   %p2 = call float @__nv_powf(float %p1, float %p1)
; CHECK-NEXT:   %p3 = call float @__nv_powf(float %p2, float %p2)
; CHECK-NEXT:   %p4 = call float @__nv_powf(float %p3, float %p3)
; CHECK-NEXT:   %p5 = call float @__nv_powf(float %p4, float %p4)
; CHECK-NEXT:   %p6 = call float @__nv_powf(float %p5, float %p5)
; CHECK-NEXT:   %p7 = call float @__nv_powf(float %p6, float %p6)
; CHECK-NEXT:   %p8 = call float @__nv_powf(float %p7, float %p7)
; CHECK-NEXT:   %p9 = call float @__nv_powf(float %p8, float %p8)
; CHECK-NEXT:   %p10 = call float @__nv_powf(float %p9, float %p9)
; CHECK-NEXT:   %p11 = call float @__nv_powf(float %p10, float %p10)
; CHECK-NEXT:   %p12 = call float @__nv_powf(float %p11, float %p11)
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %result = phi float [ %fast_result, %fast ], [ %p12, %slow ]
; CHECK-NEXT:   store float %result, ptr %at, align 4
; CHECK-NEXT:   store float %result, ptr %second, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 8
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   %last = phi float [ %result, %latch ]
; CHECK-NEXT:   store float %last, ptr %from, align 4
; CHECK-NEXT:   %left = load float, ptr %second, align 4
; CHECK-NEXT:   store float %left, ptr %from, align 4
; CHECK-NEXT:   store i32 %mask, ptr %from, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The indices are elements of a constant table: the order in which a round reads the words of a block.
@order = internal addrspace(1) constant [6 x i8] c"\01\02\00\01\03\00", align 1

define i64 @ordered(ptr %words) {
start:
  %array = alloca [3 x i64], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %words, i64 24, i1 false)
  br label %loop

loop:
  %round = phi i64 [ 0, %start ], [ %next, %loop ]
  %sum = phi i64 [ 0, %start ], [ %total, %loop ]
  %place = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @order to ptr), i64 %round
  %byte = load i8, ptr %place, align 1
  %index = zext i8 %byte to i64
  %element = getelementptr inbounds i64, ptr %array, i64 %index
  %word = load i64, ptr %element, align 8
  %total = add i64 %sum, %word
  %next = add nuw nsw i64 %round, 1
  %ends = icmp eq i64 %next, 3
  br i1 %ends, label %end, label %loop

end:
  ret i64 %total
}
; CHECK-LABEL: define i64 @ordered(ptr %words) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [3 x i64], align 8
; CHECK-NEXT:   call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %words, i64 24, i1 false)
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %round = phi i64 [ 0, %start ]
; CHECK-NEXT:   %sum = phi i64 [ 0, %start ]
; CHECK-NEXT:   %place = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @order to ptr), i64 0
; CHECK-NEXT:   %byte = load i8, ptr %place, align 1
; CHECK-NEXT:   %index = zext i8 1 to i64
; CHECK-NEXT:   %element = getelementptr inbounds i64, ptr %array, i64 1
; CHECK-NEXT:   %word = load i64, ptr %element, align 8
; CHECK-NEXT:   %total = add i64 0, %word
; CHECK-NEXT:   %next = add nuw nsw i64 0, 1
; CHECK-NEXT:   %ends = icmp eq i64 1, 3
; CHECK-NEXT:   br label %iteration
; CHECK-NEXT: end:
; CHECK-NEXT:   %0 = phi i64 [ %8, %iteration.1 ]
; CHECK-NEXT:   ret i64 %0
; CHECK-NEXT: iteration:
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @order to ptr), i64 1
; CHECK-NEXT:   %2 = getelementptr inbounds i64, ptr %array, i64 2
; CHECK-NEXT:   %3 = load i64, ptr %2, align 8
; CHECK-NEXT:   %4 = add i64 %total, %3
; CHECK-NEXT:   br label %iteration.1
; CHECK-NEXT: iteration.1:
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @order to ptr), i64 2
; CHECK-NEXT:   %6 = getelementptr inbounds i64, ptr %array, i64 0
; CHECK-NEXT:   %7 = load i64, ptr %6, align 8
; CHECK-NEXT:   %8 = add i64 %4, %7
; CHECK-NEXT:   br label %end
; CHECK-NEXT: }

; The table is no constant, or the number of the round is not known.
@changes = internal addrspace(1) global [6 x i8] c"\01\02\00\01\03\00", align 1

define i64 @changing(ptr %words) {
start:
  %array = alloca [3 x i64], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %words, i64 24, i1 false)
  br label %loop

loop:
  %round = phi i64 [ 0, %start ], [ %next, %loop ]
  %sum = phi i64 [ 0, %start ], [ %total, %loop ]
  %place = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @changes to ptr), i64 %round
  %byte = load i8, ptr %place, align 1
  %index = zext i8 %byte to i64
  %element = getelementptr inbounds i64, ptr %array, i64 %index
  %word = load i64, ptr %element, align 8
  %total = add i64 %sum, %word
  %next = add nuw nsw i64 %round, 1
  %ends = icmp eq i64 %next, 3
  br i1 %ends, label %end, label %loop

end:
  ret i64 %total
}
; CHECK-LABEL: define i64 @changing(ptr %words) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [3 x i64], align 8
; CHECK-NEXT:   call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %words, i64 24, i1 false)
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %round = phi i64 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT:   %sum = phi i64 [ 0, %start ], [ %total, %loop ]
; CHECK-NEXT:   %place = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @changes to ptr), i64 %round
; CHECK-NEXT:   %byte = load i8, ptr %place, align 1
; CHECK-NEXT:   %index = zext i8 %byte to i64
; CHECK-NEXT:   %element = getelementptr inbounds i64, ptr %array, i64 %index
; CHECK-NEXT:   %word = load i64, ptr %element, align 8
; CHECK-NEXT:   %total = add i64 %sum, %word
; CHECK-NEXT:   %next = add nuw nsw i64 %round, 1
; CHECK-NEXT:   %ends = icmp eq i64 %next, 3
; CHECK-NEXT:   br i1 %ends, label %end, label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i64 %total
; CHECK-NEXT: }

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
