; Each way to accesses of one of several local variables gets a copy of them.
; RUN: opt --passes=separate_locals

; `let nearest = if first { &mut x } else { &mut y }; nearest.advance()`
define float @advance(float %a, float %b, i1 %first, i1 %again) {
start:
  %x = alloca { [8 x i8] }, align 4
  %y = alloca { [8 x i8] }, align 4
  store float %a, ptr %x, align 4
  %step.x = getelementptr inbounds i8, ptr %x, i64 4
  store float %b, ptr %step.x, align 4
  store float %b, ptr %y, align 4
  %step.y = getelementptr inbounds i8, ptr %y, i64 4
  store float %a, ptr %step.y, align 4
  br label %header

header:
  %sum = phi float [ 0.0, %start ], [ %more, %chosen ]
  br i1 %first, label %left, label %right

left:
  br label %chosen

right:
  %twice = fadd float %sum, %sum
  br label %chosen

chosen:
  %before = phi float [ %sum, %left ], [ %twice, %right ]
  %nearest = phi ptr [ %x, %left ], [ %y, %right ]
  %distance = load float, ptr %nearest, align 4
  %step = getelementptr inbounds i8, ptr %nearest, i64 4
  %delta = load float, ptr %step, align 4
  %next = fadd float %distance, %delta
  store float %next, ptr %nearest, align 4
  %more = fadd float %before, %distance
  br i1 %again, label %header, label %end

end:
  %result = fadd float %more, %delta
  ret float %result
}
; CHECK-LABEL: define float @advance(float %a, float %b, i1 %first, i1 %again) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %x = alloca { [8 x i8] }, align 4
; CHECK-NEXT:   %y = alloca { [8 x i8] }, align 4
; CHECK-NEXT:   store float %a, ptr %x, align 4
; CHECK-NEXT:   %step.x = getelementptr inbounds i8, ptr %x, i64 4
; CHECK-NEXT:   store float %b, ptr %step.x, align 4
; CHECK-NEXT:   store float %b, ptr %y, align 4
; CHECK-NEXT:   %step.y = getelementptr inbounds i8, ptr %y, i64 4
; CHECK-NEXT:   store float %a, ptr %step.y, align 4
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %sum = phi float [ 0x0000000000000000, %start ], [ %more, %chosen ]
; CHECK-NEXT:   br i1 %first, label %left, label %right
; CHECK-NEXT: left:
; CHECK-NEXT:   br label %separate
; CHECK-NEXT: right:
; CHECK-NEXT:   %twice = fadd float %sum, %sum
; CHECK-NEXT:   br label %separate.1
; CHECK-NEXT: chosen:
; CHECK-NEXT:   %0 = phi float [ %sum, %separate ], [ %twice, %separate.1 ]
; CHECK-NEXT:   %1 = phi float [ %3, %separate ], [ %7, %separate.1 ]
; CHECK-NEXT:   %2 = phi float [ %5, %separate ], [ %9, %separate.1 ]
; CHECK-NEXT:   %more = fadd float %0, %1
; CHECK-NEXT:   br i1 %again, label %header, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = fadd float %more, %2
; CHECK-NEXT:   ret float %result
; CHECK-NEXT: separate:
; CHECK-NEXT:   %3 = load float, ptr %x, align 4
; CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %x, i64 4
; CHECK-NEXT:   %5 = load float, ptr %4, align 4
; CHECK-NEXT:   %6 = fadd float %3, %5
; CHECK-NEXT:   store float %6, ptr %x, align 4
; CHECK-NEXT:   br label %chosen
; CHECK-NEXT: separate.1:
; CHECK-NEXT:   %7 = load float, ptr %y, align 4
; CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %y, i64 4
; CHECK-NEXT:   %9 = load float, ptr %8, align 4
; CHECK-NEXT:   %10 = fadd float %7, %9
; CHECK-NEXT:   store float %10, ptr %y, align 4
; CHECK-NEXT:   br label %chosen
; CHECK-NEXT: }

; Not if a variable stays in memory: its address is passed on, or an index is variable; nor with calls
; that all threads may have to reach together.
define float @others(float %a, i1 %first, i64 %which) {
start:
  %x = alloca [2 x float], align 4
  %y = alloca [2 x float], align 4
  %z = alloca [2 x float], align 4
  %w = alloca [2 x float], align 4
  call void @takes(ptr %y)
  %element = getelementptr inbounds float, ptr %w, i64 %which
  store float %a, ptr %element, align 4
  br i1 %first, label %left, label %right

left:
  br label %chosen

right:
  br label %chosen

chosen:
  %passed = phi ptr [ %x, %left ], [ %y, %right ]
  store float %a, ptr %passed, align 4
  br i1 %first, label %left.2, label %right.2

left.2:
  br label %chosen.2

right.2:
  br label %chosen.2

chosen.2:
  %indexed = phi ptr [ %z, %left.2 ], [ %w, %right.2 ]
  store float %a, ptr %indexed, align 4
  br i1 %first, label %left.3, label %right.3

left.3:
  br label %chosen.3

right.3:
  br label %chosen.3

chosen.3:
  %called = phi ptr [ %z, %left.3 ], [ %x, %right.3 ]
  call void @together()
  store float %a, ptr %called, align 4
  ret float %a
}
; CHECK-LABEL: define float @others(float %a, i1 %first, i64 %which) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %x = alloca [2 x float], align 4
; CHECK-NEXT:   %y = alloca [2 x float], align 4
; CHECK-NEXT:   %z = alloca [2 x float], align 4
; CHECK-NEXT:   %w = alloca [2 x float], align 4
; CHECK-NEXT:   call void @takes(ptr %y)
; CHECK-NEXT:   %element = getelementptr inbounds float, ptr %w, i64 %which
; CHECK-NEXT:   store float %a, ptr %element, align 4
; CHECK-NEXT:   br i1 %first, label %left, label %right
; CHECK-NEXT: left:
; CHECK-NEXT:   br label %chosen
; CHECK-NEXT: right:
; CHECK-NEXT:   br label %chosen
; CHECK-NEXT: chosen:
; CHECK-NEXT:   %passed = phi ptr [ %x, %left ], [ %y, %right ]
; CHECK-NEXT:   store float %a, ptr %passed, align 4
; CHECK-NEXT:   br i1 %first, label %left.2, label %right.2
; CHECK-NEXT: left.2:
; CHECK-NEXT:   br label %chosen.2
; CHECK-NEXT: right.2:
; CHECK-NEXT:   br label %chosen.2
; CHECK-NEXT: chosen.2:
; CHECK-NEXT:   %indexed = phi ptr [ %z, %left.2 ], [ %w, %right.2 ]
; CHECK-NEXT:   store float %a, ptr %indexed, align 4
; CHECK-NEXT:   br i1 %first, label %left.3, label %right.3
; CHECK-NEXT: left.3:
; CHECK-NEXT:   br label %chosen.3
; CHECK-NEXT: right.3:
; CHECK-NEXT:   br label %chosen.3
; CHECK-NEXT: chosen.3:
; CHECK-NEXT:   %called = phi ptr [ %z, %left.3 ], [ %x, %right.3 ]
; CHECK-NEXT:   call void @together()
; CHECK-NEXT:   store float %a, ptr %called, align 4
; CHECK-NEXT:   ret float %a
; CHECK-NEXT: }

declare void @takes(ptr)

declare void @together()

; `max_by_key` with a pair as key: the second parts decide if the first ones are equal.
define i64 @greater(i64 %key, i64 %second, i64 %other, i64 %third) {
start:
  %pairs = alloca { [4 x i64] }, align 8
  %pairs.1 = getelementptr inbounds i8, ptr %pairs, i64 8
  %b = getelementptr inbounds i8, ptr %pairs, i64 16
  %b.1 = getelementptr inbounds i8, ptr %pairs, i64 24
  store i64 %key, ptr %pairs, align 8
  store i64 %second, ptr %pairs.1, align 8
  store i64 %other, ptr %b, align 8
  store i64 %third, ptr %b.1, align 8
  %equal = icmp eq i64 %key, %other
  br i1 %equal, label %seconds, label %firsts

firsts:
  br label %join

seconds:
  %less = icmp ult i64 %second, %third
  %selected = select i1 %less, ptr %b, ptr %pairs
  %twice = shl i64 %second, 1
  br label %join

join:
  %number = phi i64 [ %second, %firsts ], [ %twice, %seconds ]
  %pair = phi ptr [ %b, %firsts ], [ %selected, %seconds ]
  %part = getelementptr inbounds i8, ptr %pair, i64 8
  %loaded = load i64, ptr %part, align 8
  %sum = add i64 %loaded, %number
  ret i64 %sum
}
; CHECK-LABEL: define i64 @greater(i64 %key, i64 %second, i64 %other, i64 %third) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pairs = alloca { [4 x i64] }, align 8
; CHECK-NEXT:   %pairs.1 = getelementptr inbounds i8, ptr %pairs, i64 8
; CHECK-NEXT:   %b = getelementptr inbounds i8, ptr %pairs, i64 16
; CHECK-NEXT:   %b.1 = getelementptr inbounds i8, ptr %pairs, i64 24
; CHECK-NEXT:   store i64 %key, ptr %pairs, align 8
; CHECK-NEXT:   store i64 %second, ptr %pairs.1, align 8
; CHECK-NEXT:   store i64 %other, ptr %b, align 8
; CHECK-NEXT:   store i64 %third, ptr %b.1, align 8
; CHECK-NEXT:   %equal = icmp eq i64 %key, %other
; CHECK-NEXT:   br i1 %equal, label %seconds, label %firsts
; CHECK-NEXT: firsts:
; CHECK-NEXT:   br label %separate
; CHECK-NEXT: seconds:
; CHECK-NEXT:   %less = icmp ult i64 %second, %third
; CHECK-NEXT:   %twice = shl i64 %second, 1
; CHECK-NEXT:   br i1 %less, label %selected, label %selected.1
; CHECK-NEXT: join:
; CHECK-NEXT:   %0 = phi i64 [ %second, %separate ], [ %twice, %separate.1 ], [ %twice, %separate.2 ]
; CHECK-NEXT:   %1 = phi i64 [ %3, %separate ], [ %5, %separate.1 ], [ %7, %separate.2 ]
; CHECK-NEXT:   %sum = add i64 %1, %0
; CHECK-NEXT:   ret i64 %sum
; CHECK-NEXT: selected:
; CHECK-NEXT:   br label %separate.1
; CHECK-NEXT: selected.1:
; CHECK-NEXT:   br label %separate.2
; CHECK-NEXT: separate:
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %b, i64 8
; CHECK-NEXT:   %3 = load i64, ptr %2, align 8
; CHECK-NEXT:   br label %join
; CHECK-NEXT: separate.1:
; CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %b, i64 8
; CHECK-NEXT:   %5 = load i64, ptr %4, align 8
; CHECK-NEXT:   br label %join
; CHECK-NEXT: separate.2:
; CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %pairs, i64 8
; CHECK-NEXT:   %7 = load i64, ptr %6, align 8
; CHECK-NEXT:   br label %join
; CHECK-NEXT: }

; The select has another use, so it remains.
define ptr @used(i1 %first, i1 %second) {
start:
  %pair = alloca { [2 x i64] }, align 8
  %b = getelementptr inbounds i8, ptr %pair, i64 8
  br i1 %first, label %left, label %right

left:
  br label %join

right:
  %selected = select i1 %second, ptr %pair, ptr %b
  store i64 1, ptr %selected, align 8
  br label %join

join:
  %part = phi ptr [ %b, %left ], [ %selected, %right ]
  ret ptr %part
}
; CHECK-LABEL: define ptr @used(i1 %first, i1 %second) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = alloca { [2 x i64] }, align 8
; CHECK-NEXT:   %b = getelementptr inbounds i8, ptr %pair, i64 8
; CHECK-NEXT:   br i1 %first, label %left, label %right
; CHECK-NEXT: left:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: right:
; CHECK-NEXT:   %selected = select i1 %second, ptr %pair, ptr %b
; CHECK-NEXT:   store i64 1, ptr %selected, align 8
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %part = phi ptr [ %b, %left ], [ %selected, %right ]
; CHECK-NEXT:   ret ptr %part
; CHECK-NEXT: }

; Two selects on one way remain.
define i64 @two(i64 %x, i1 %first, i1 %second) {
start:
  %pair = alloca { [2 x i64] }, align 8
  %b = getelementptr inbounds i8, ptr %pair, i64 8
  store i64 %x, ptr %pair, align 8
  store i64 %x, ptr %b, align 8
  br i1 %first, label %left, label %right

left:
  br label %join

right:
  %one = select i1 %second, ptr %pair, ptr %b
  %other = select i1 %second, ptr %b, ptr %pair
  br label %join

join:
  %p = phi ptr [ %b, %left ], [ %one, %right ]
  %q = phi ptr [ %pair, %left ], [ %other, %right ]
  %a = load i64, ptr %p, align 8
  %c = load i64, ptr %q, align 8
  %sum = add i64 %a, %c
  ret i64 %sum
}
; CHECK-LABEL: define i64 @two(i64 %x, i1 %first, i1 %second) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = alloca { [2 x i64] }, align 8
; CHECK-NEXT:   %b = getelementptr inbounds i8, ptr %pair, i64 8
; CHECK-NEXT:   store i64 %x, ptr %pair, align 8
; CHECK-NEXT:   store i64 %x, ptr %b, align 8
; CHECK-NEXT:   br i1 %first, label %left, label %right
; CHECK-NEXT: left:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: right:
; CHECK-NEXT:   %one = select i1 %second, ptr %pair, ptr %b
; CHECK-NEXT:   %other = select i1 %second, ptr %b, ptr %pair
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %p = phi ptr [ %b, %left ], [ %one, %right ]
; CHECK-NEXT:   %q = phi ptr [ %pair, %left ], [ %other, %right ]
; CHECK-NEXT:   %a = load i64, ptr %p, align 8
; CHECK-NEXT:   %c = load i64, ptr %q, align 8
; CHECK-NEXT:   %sum = add i64 %a, %c
; CHECK-NEXT:   ret i64 %sum
; CHECK-NEXT: }
