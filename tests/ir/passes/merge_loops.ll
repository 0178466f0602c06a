; Nested loops that visit a local array together become one.
; RUN: opt --passes=merge_loops

; `for (to, x) in to.iter_mut().zip(array.iter().filter(|x| **x > limit))`.
define void @filter(ptr %to, i64 %n, float %a, float %limit) {
start:
  %array = alloca [2 x float], align 4
  store float %a, ptr %array, align 4
  br label %outer

outer:
  %from = phi i64 [ 0, %start ], [ %next, %use ]
  %count = phi i64 [ 0, %start ], [ %more, %use ]
  %address = getelementptr inbounds float, ptr %to, i64 %count
  br label %inner

inner:
  %i = phi i64 [ %from, %outer ], [ %next, %skip ]
  %ends = icmp eq i64 %i, 2
  br i1 %ends, label %end, label %test

test:
  %element = getelementptr inbounds float, ptr %array, i64 %i
  %value = load float, ptr %element, align 4
  %next = add nuw nsw i64 %i, 1
  %passes = fcmp ogt float %value, %limit
  br i1 %passes, label %use, label %skip

skip:
  br label %inner

use:
  store float %value, ptr %address, align 4
  %more = add nuw nsw i64 %count, 1
  %is_full = icmp eq i64 %more, %n
  br i1 %is_full, label %end, label %outer

end:
  ret void
}
; CHECK-LABEL: define void @filter(ptr %to, i64 %n, float %a, float %limit) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %from = phi i64 [ 0, %start ], [ %0, %latch ]
; CHECK-NEXT:   %count = phi i64 [ 0, %start ], [ %1, %latch ]
; CHECK-NEXT:   %address = getelementptr inbounds float, ptr %to, i64 %count
; CHECK-NEXT:   %ends = icmp eq i64 %i, 2
; CHECK-NEXT:   br i1 %ends, label %end, label %test
; CHECK-NEXT: test:
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %array, i64 %i
; CHECK-NEXT:   %value = load float, ptr %element, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %passes = fcmp ogt float %value, %limit
; CHECK-NEXT:   br i1 %passes, label %use, label %skip
; CHECK-NEXT: skip:
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: use:
; CHECK-NEXT:   store float %value, ptr %address, align 4
; CHECK-NEXT:   %more = add nuw nsw i64 %count, 1
; CHECK-NEXT:   %is_full = icmp eq i64 %more, %n
; CHECK-NEXT:   br i1 %is_full, label %end, label %latch
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: latch:
; CHECK-NEXT:   %0 = phi i64 [ %next, %use ], [ %from, %skip ]
; CHECK-NEXT:   %1 = phi i64 [ %more, %use ], [ %count, %skip ]
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: }

; The outer loop has a counter of its own: its next iteration visits elements again.
define void @two_counters(ptr %to, i64 %n, float %a, float %limit) {
start:
  %array = alloca [2 x float], align 4
  store float %a, ptr %array, align 4
  br label %outer

outer:
  %j = phi i64 [ 0, %start ], [ %more, %use ]
  %address = getelementptr inbounds float, ptr %to, i64 %j
  br label %inner

inner:
  %i = phi i64 [ %j, %outer ], [ %next, %inner ]
  %element = getelementptr inbounds float, ptr %array, i64 %i
  %value = load float, ptr %element, align 4
  %next = add nuw nsw i64 %i, 1
  %passes = fcmp ogt float %value, %limit
  br i1 %passes, label %use, label %inner

use:
  store float %value, ptr %address, align 4
  %more = add nuw nsw i64 %j, 1
  %is_full = icmp eq i64 %more, %n
  br i1 %is_full, label %end, label %outer

end:
  ret void
}
; CHECK-LABEL: define void @two_counters(ptr %to, i64 %n, float %a, float %limit) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   br label %outer
; CHECK-NEXT: outer:
; CHECK-NEXT:   %j = phi i64 [ 0, %start ], [ %more, %use ]
; CHECK-NEXT:   %address = getelementptr inbounds float, ptr %to, i64 %j
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %i = phi i64 [ %j, %outer ], [ %next, %inner ]
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %array, i64 %i
; CHECK-NEXT:   %value = load float, ptr %element, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %passes = fcmp ogt float %value, %limit
; CHECK-NEXT:   br i1 %passes, label %use, label %inner
; CHECK-NEXT: use:
; CHECK-NEXT:   store float %value, ptr %address, align 4
; CHECK-NEXT:   %more = add nuw nsw i64 %j, 1
; CHECK-NEXT:   %is_full = icmp eq i64 %more, %n
; CHECK-NEXT:   br i1 %is_full, label %end, label %outer
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The outer loop computes a value that the inner one starts with.
define i64 @start(ptr %to, i64 %n, float %a, float %limit) {
start:
  %array = alloca [2 x float], align 4
  store float %a, ptr %array, align 4
  br label %outer

outer:
  %from = phi i64 [ 0, %start ], [ %next, %use ]
  %sum = phi i64 [ 0, %start ], [ %more, %use ]
  %first = add i64 %sum, %n
  br label %inner

inner:
  %i = phi i64 [ %from, %outer ], [ %next, %inner ]
  %more = phi i64 [ %first, %outer ], [ %next, %inner ]
  %element = getelementptr inbounds float, ptr %array, i64 %i
  %value = load float, ptr %element, align 4
  %next = add nuw nsw i64 %i, 1
  %passes = fcmp ogt float %value, %limit
  br i1 %passes, label %use, label %inner

use:
  %is_full = icmp eq i64 %next, %n
  br i1 %is_full, label %end, label %outer

end:
  ret i64 %more
}
; CHECK-LABEL: define i64 @start(ptr %to, i64 %n, float %a, float %limit) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   br label %outer
; CHECK-NEXT: outer:
; CHECK-NEXT:   %from = phi i64 [ 0, %start ], [ %next, %use ]
; CHECK-NEXT:   %sum = phi i64 [ 0, %start ], [ %more, %use ]
; CHECK-NEXT:   %first = add i64 %sum, %n
; CHECK-NEXT:   br label %inner
; CHECK-NEXT: inner:
; CHECK-NEXT:   %i = phi i64 [ %from, %outer ], [ %next, %inner ]
; CHECK-NEXT:   %more = phi i64 [ %first, %outer ], [ %next, %inner ]
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %array, i64 %i
; CHECK-NEXT:   %value = load float, ptr %element, align 4
; CHECK-NEXT:   %next = add nuw nsw i64 %i, 1
; CHECK-NEXT:   %passes = fcmp ogt float %value, %limit
; CHECK-NEXT:   br i1 %passes, label %use, label %inner
; CHECK-NEXT: use:
; CHECK-NEXT:   %is_full = icmp eq i64 %next, %n
; CHECK-NEXT:   br i1 %is_full, label %end, label %outer
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i64 %more
; CHECK-NEXT: }
