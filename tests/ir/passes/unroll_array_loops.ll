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
