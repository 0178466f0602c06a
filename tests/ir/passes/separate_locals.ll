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
