; Swaps of the operands of commutative operations are removed.
; RUN: opt --passes=skip_swaps

; Floats that a shuffle exchanges as integers.
define float @branch(float %x, float %y, i32 %other_x, i32 %other_y, i1 %is_first) {
; CHECK-LABEL: define float @branch(float %x, float %y, i32 %other_x, i32 %other_y, i1 %is_first) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %0 = bitcast i32 %other_x to float
; CHECK-NEXT:   %sum = fadd float %0, %x
; CHECK-NEXT:   %1 = bitcast i32 %other_y to float
; CHECK-NEXT:   %most = call float @llvm.maxnum.f32(float %1, float %y)
; CHECK-NEXT:   %all = fmul float %sum, %most
; CHECK-NEXT:   ret float %all
; CHECK-NEXT: }
start:
  %own_x = bitcast float %x to i32
  %own_y = bitcast float %y to i32
  br i1 %is_first, label %join, label %swap

swap:
  %to_x = bitcast i32 %other_x to float
  %to_y = bitcast i32 %other_y to float
  br label %join

join:
  %low_y = phi float [ %to_y, %swap ], [ %y, %start ]
  %low_x = phi float [ %to_x, %swap ], [ %x, %start ]
  %high_y = phi i32 [ %own_y, %swap ], [ %other_y, %start ]
  %high_x = phi i32 [ %own_x, %swap ], [ %other_x, %start ]
  %second_x = bitcast i32 %high_x to float
  %second_y = bitcast i32 %high_y to float
  %sum = fadd float %low_x, %second_x
  %most = call float @llvm.maxnum.f32(float %low_y, float %second_y)
  %all = fmul float %sum, %most
  ret float %all
}

; One side is a constant, which is 1.0 as a float.
define float @constant(i32 %other, i1 %is_first) {
; CHECK-LABEL: define float @constant(i32 %other, i1 %is_first) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %0 = bitcast i32 %other to float
; CHECK-NEXT:   %sum = fadd float %0, 0x3FF0000000000000
; CHECK-NEXT:   ret float %sum
; CHECK-NEXT: }
start:
  br i1 %is_first, label %join, label %swap

swap:
  %to = bitcast i32 %other to float
  br label %join

join:
  %low = phi float [ %to, %swap ], [ 1.0, %start ]
  %high = phi i32 [ 1065353216, %swap ], [ %other, %start ]
  %second = bitcast i32 %high to float
  %sum = fadd float %low, %second
  ret float %sum
}

define i64 @select(i64 %x, double %y, i1 %is_first) {
; CHECK-LABEL: define i64 @select(i64 %x, double %y, i1 %is_first) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = bitcast double %y to i64
; CHECK-NEXT:   %both = xor i64 %x, %0
; CHECK-NEXT:   ret i64 %both
; CHECK-NEXT: }
start:
  %y_bits = bitcast double %y to i64
  %x_float = bitcast i64 %x to double
  %low = select i1 %is_first, i64 %x, i64 %y_bits
  %high = select i1 %is_first, double %y, double %x_float
  %high_bits = bitcast double %high to i64
  %both = xor i64 %low, %high_bits
  ret i64 %both
}

; A difference depends on the order, and so does the value of the lower lane.
define float @ordered(float %x, float %y, i1 %is_first) {
; CHECK-LABEL: define float @ordered(float %x, float %y, i1 %is_first) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %is_first, label %join, label %swap
; CHECK-NEXT: swap:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %low = phi float [ %y, %swap ], [ %x, %start ]
; CHECK-NEXT:   %high = phi float [ %x, %swap ], [ %y, %start ]
; CHECK-NEXT:   %sum = fadd float %y, %x
; CHECK-NEXT:   %difference = fsub float %low, %high
; CHECK-NEXT:   %all = fmul float %sum, %difference
; CHECK-NEXT:   ret float %all
; CHECK-NEXT: }
start:
  br i1 %is_first, label %join, label %swap

swap:
  br label %join

join:
  %low = phi float [ %y, %swap ], [ %x, %start ]
  %high = phi float [ %x, %swap ], [ %y, %start ]
  %sum = fadd float %low, %high
  %difference = fsub float %low, %high
  %all = fmul float %sum, %difference
  ret float %all
}

; A third value.
define float @other(float %x, float %y, float %z, i1 %is_first) {
; CHECK-LABEL: define float @other(float %x, float %y, float %z, i1 %is_first) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %is_first, label %join, label %swap
; CHECK-NEXT: swap:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %low = phi float [ %y, %swap ], [ %x, %start ]
; CHECK-NEXT:   %high = phi float [ %z, %swap ], [ %y, %start ]
; CHECK-NEXT:   %sum = fadd float %low, %high
; CHECK-NEXT:   ret float %sum
; CHECK-NEXT: }
start:
  br i1 %is_first, label %join, label %swap

swap:
  br label %join

join:
  %low = phi float [ %y, %swap ], [ %x, %start ]
  %high = phi float [ %z, %swap ], [ %y, %start ]
  %sum = fadd float %low, %high
  ret float %sum
}

; Twice the same value on each way is no swap.
define float @twice(float %x, float %y, i1 %is_first) {
; CHECK-LABEL: define float @twice(float %x, float %y, i1 %is_first) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %is_first, label %join, label %swap
; CHECK-NEXT: swap:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %low = phi float [ %y, %swap ], [ %x, %start ]
; CHECK-NEXT:   %sum = fadd float %low, %low
; CHECK-NEXT:   ret float %sum
; CHECK-NEXT: }
start:
  br i1 %is_first, label %join, label %swap

swap:
  br label %join

join:
  %low = phi float [ %y, %swap ], [ %x, %start ]
  %sum = fadd float %low, %low
  ret float %sum
}

; The values of two iterations.
define float @loop(float %x, float %y, i32 %n) {
; CHECK-LABEL: define float @loop(float %x, float %y, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %a = phi float [ %x, %start ], [ %b, %loop ]
; CHECK-NEXT:   %b = phi float [ %y, %start ], [ %a, %loop ]
; CHECK-NEXT:   %i = phi i32 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT:   %sum = fadd float %a, %b
; CHECK-NEXT:   %next = add i32 %i, 1
; CHECK-NEXT:   %more = icmp ult i32 %next, %n
; CHECK-NEXT:   br i1 %more, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret float %sum
; CHECK-NEXT: }
start:
  br label %loop

loop:
  %a = phi float [ %x, %start ], [ %b, %loop ]
  %b = phi float [ %y, %start ], [ %a, %loop ]
  %i = phi i32 [ 0, %start ], [ %next, %loop ]
  %sum = fadd float %a, %b
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end

end:
  ret float %sum
}

; Constants whose bits differ, and selects with different conditions.
define float @different(i32 %other, float %x, float %y, i1 %is_first, i1 %is_last) {
; CHECK-LABEL: define float @different(i32 %other, float %x, float %y, i1 %is_first, i1 %is_last) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %is_first, label %join, label %swap
; CHECK-NEXT: swap:
; CHECK-NEXT:   %to = bitcast i32 %other to float
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %low = phi float [ %to, %swap ], [ 0x3FF0000000000000, %start ]
; CHECK-NEXT:   %high = phi i32 [ 1, %swap ], [ %other, %start ]
; CHECK-NEXT:   %second = bitcast i32 %high to float
; CHECK-NEXT:   %sum = fadd float %low, %second
; CHECK-NEXT:   %a = select i1 %is_first, float %x, float %y
; CHECK-NEXT:   %b = select i1 %is_last, float %y, float %x
; CHECK-NEXT:   %all = fadd float %a, %b
; CHECK-NEXT:   %result = fmul float %sum, %all
; CHECK-NEXT:   ret float %result
; CHECK-NEXT: }
start:
  br i1 %is_first, label %join, label %swap

swap:
  %to = bitcast i32 %other to float
  br label %join

join:
  %low = phi float [ %to, %swap ], [ 1.0, %start ]
  %high = phi i32 [ 1, %swap ], [ %other, %start ]
  %second = bitcast i32 %high to float
  %sum = fadd float %low, %second
  %a = select i1 %is_first, float %x, float %y
  %b = select i1 %is_last, float %y, float %x
  %all = fadd float %a, %b
  %result = fmul float %sum, %all
  ret float %result
}

declare float @llvm.maxnum.f32(float, float)
