; Accesses to small local arrays at variable indices become selects among all elements.
; RUN: opt --passes=select_elements

define float @advance(float %a, float %b, i32 %c, i32 %axis) {
; CHECK-LABEL: define float @advance(float %a, float %b, i32 %c, i32 %axis) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %next = alloca { [3 x i32] }, align 4
; CHECK-NEXT:   %cell = alloca { [2 x i32] }, align 4
; CHECK-NEXT:   call void @llvm.lifetime.start.p0(i64 12, ptr %next)
; CHECK-NEXT:   call void @llvm.memset.p0.i64(ptr align 4 %next, i8 0, i64 8, i1 false)
; CHECK-NEXT:   %next.2 = getelementptr inbounds i8, ptr %next, i64 8
; CHECK-NEXT:   store i32 %c, ptr %next.2, align 4
; CHECK-NEXT:   store i64 0, ptr %cell, align 4
; CHECK-NEXT:   %wide = zext i32 %axis to i64
; CHECK-NEXT:   %0 = trunc i64 %wide to i32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %next, i64 8
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %next, i64 4
; CHECK-NEXT:   %3 = load float, ptr %1, align 4
; CHECK-NEXT:   %4 = load float, ptr %2, align 4
; CHECK-NEXT:   %5 = icmp eq i32 %0, 1
; CHECK-NEXT:   %6 = select i1 %5, float %4, float %3
; CHECK-NEXT:   %7 = load float, ptr %next, align 4
; CHECK-NEXT:   %8 = icmp eq i32 %0, 0
; CHECK-NEXT:   %distance = select i1 %8, float %7, float %6
; CHECK-NEXT:   br label %moved
; CHECK-NEXT: moved:
; CHECK-NEXT:   %further = fadd float %distance, %a
; CHECK-NEXT:   %9 = trunc i64 %wide to i32
; CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %next, i64 8
; CHECK-NEXT:   %11 = load float, ptr %10, align 4
; CHECK-NEXT:   %12 = icmp eq i32 %9, 2
; CHECK-NEXT:   %13 = select i1 %12, float %further, float %11
; CHECK-NEXT:   store float %13, ptr %10, align 4
; CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %next, i64 4
; CHECK-NEXT:   %15 = load float, ptr %14, align 4
; CHECK-NEXT:   %16 = icmp eq i32 %9, 1
; CHECK-NEXT:   %17 = select i1 %16, float %further, float %15
; CHECK-NEXT:   store float %17, ptr %14, align 4
; CHECK-NEXT:   %18 = load float, ptr %next, align 4
; CHECK-NEXT:   %19 = icmp eq i32 %9, 0
; CHECK-NEXT:   %20 = select i1 %19, float %further, float %18
; CHECK-NEXT:   store float %20, ptr %next, align 4
; CHECK-NEXT:   %21 = trunc i64 %wide to i32
; CHECK-NEXT:   %22 = getelementptr inbounds i8, ptr %cell, i64 4
; CHECK-NEXT:   %23 = load i32, ptr %22, align 4
; CHECK-NEXT:   %24 = icmp eq i32 %21, 1
; CHECK-NEXT:   %25 = select i1 %24, i32 %c, i32 %23
; CHECK-NEXT:   store i32 %25, ptr %22, align 4
; CHECK-NEXT:   %26 = load i32, ptr %cell, align 4
; CHECK-NEXT:   %27 = icmp eq i32 %21, 0
; CHECK-NEXT:   %28 = select i1 %27, i32 %c, i32 %26
; CHECK-NEXT:   store i32 %28, ptr %cell, align 4
; CHECK-NEXT:   %both = load i64, ptr %cell, align 4
; CHECK-NEXT:   %least = load float, ptr %next, align 4
; CHECK-NEXT:   call void @llvm.lifetime.end.p0(i64 12, ptr %next)
; CHECK-NEXT:   ret float %least
; CHECK-NEXT: }
start:
  %next = alloca { [3 x i32] }, align 4
  %cell = alloca { [2 x i32] }, align 4
  call void @llvm.lifetime.start.p0(i64 12, ptr %next)
  call void @llvm.memset.p0.i64(ptr align 4 %next, i8 0, i64 8, i1 false)
  %next.2 = getelementptr inbounds i8, ptr %next, i64 8
  store i32 %c, ptr %next.2, align 4
  store i64 0, ptr %cell, align 4
  %wide = zext i32 %axis to i64
  %at = getelementptr inbounds [4 x i8], ptr %next, i64 %wide
  %distance = load float, ptr %at, align 4
  br label %moved

moved:
  %further = fadd float %distance, %a
  store float %further, ptr %at, align 4
  %which = getelementptr inbounds i32, ptr %cell, i64 %wide
  store i32 %c, ptr %which, align 4
  %both = load i64, ptr %cell, align 4
  %least = load float, ptr %next, align 4
  call void @llvm.lifetime.end.p0(i64 12, ptr %next)
  ret float %least
}

; Fields of structs, at another distance before the index or behind it.
define i16 @fields(i64 %i, i16 %x) {
; CHECK-LABEL: define i16 @fields(i64 %i, i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pairs = alloca [8 x i8], align 2
; CHECK-NEXT:   %one = getelementptr inbounds i16, ptr %pairs, i64 1
; CHECK-NEXT:   %0 = trunc i64 %i to i32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %pairs, i64 6
; CHECK-NEXT:   %2 = load i16, ptr %1, align 2
; CHECK-NEXT:   %3 = icmp eq i32 %0, 1
; CHECK-NEXT:   %4 = select i1 %3, i16 %x, i16 %2
; CHECK-NEXT:   store i16 %4, ptr %1, align 2
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %pairs, i64 2
; CHECK-NEXT:   %6 = load i16, ptr %5, align 2
; CHECK-NEXT:   %7 = icmp eq i32 %0, 0
; CHECK-NEXT:   %8 = select i1 %7, i16 %x, i16 %6
; CHECK-NEXT:   store i16 %8, ptr %5, align 2
; CHECK-NEXT:   %9 = trunc i64 %i to i32
; CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %pairs, i64 4
; CHECK-NEXT:   %11 = load i16, ptr %10, align 2
; CHECK-NEXT:   %12 = load i16, ptr %pairs, align 2
; CHECK-NEXT:   %13 = icmp eq i32 %9, 1
; CHECK-NEXT:   %first = select i1 %13, i16 %12, i16 %11
; CHECK-NEXT:   %all = load i64, ptr %pairs, align 2
; CHECK-NEXT:   ret i16 %first
; CHECK-NEXT: }
start:
  %pairs = alloca [8 x i8], align 2
  %one = getelementptr inbounds i16, ptr %pairs, i64 1
  %second = getelementptr inbounds [4 x i8], ptr %one, i64 %i
  store i16 %x, ptr %second, align 2
  %pair = getelementptr inbounds [4 x i8], ptr %pairs, i64 %i
  %before = getelementptr inbounds i8, ptr %pair, i64 -4
  %first = load i16, ptr %before, align 2
  %all = load i64, ptr %pairs, align 2
  ret i16 %first
}

; One element.
define double @single(i64 %i, double %x) {
; CHECK-LABEL: define double @single(i64 %i, double %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [1 x double], align 8
; CHECK-NEXT:   store double %x, ptr %array, align 8
; CHECK-NEXT:   %0 = trunc i64 %i to i32
; CHECK-NEXT:   %loaded = load double, ptr %array, align 8
; CHECK-NEXT:   ret double %loaded
; CHECK-NEXT: }
start:
  %array = alloca [1 x double], align 8
  store double %x, ptr %array, align 8
  %at = getelementptr inbounds double, ptr %array, i64 %i
  %loaded = load double, ptr %at, align 8
  ret double %loaded
}

; All indices are constant, or an array has too many elements.
define float @kept(i64 %i, float %x) {
; CHECK-LABEL: define float @kept(i64 %i, float %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %constant = alloca [2 x float], align 4
; CHECK-NEXT:   %large = alloca [5 x float], align 4
; CHECK-NEXT:   %second = getelementptr inbounds float, ptr %constant, i64 1
; CHECK-NEXT:   store float %x, ptr %second, align 4
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %large, i64 %i
; CHECK-NEXT:   store float %x, ptr %at, align 4
; CHECK-NEXT:   %loaded = load float, ptr %at, align 4
; CHECK-NEXT:   ret float %loaded
; CHECK-NEXT: }
start:
  %constant = alloca [2 x float], align 4
  %large = alloca [5 x float], align 4
  %second = getelementptr inbounds float, ptr %constant, i64 1
  store float %x, ptr %second, align 4
  %at = getelementptr inbounds float, ptr %large, i64 %i
  store float %x, ptr %at, align 4
  %loaded = load float, ptr %at, align 4
  ret float %loaded
}

; An array has to be in memory: its address is passed on, stored or selected, or an access is
; volatile.
define void @in_memory(i64 %i, float %x, i1 %first, ptr %to, i64 %bytes) {
; CHECK-LABEL: define void @in_memory(i64 %i, float %x, i1 %first, ptr %to, i64 %bytes) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %passed = alloca [2 x float], align 4
; CHECK-NEXT:   %stored = alloca [2 x float], align 4
; CHECK-NEXT:   %selected = alloca [2 x float], align 4
; CHECK-NEXT:   %volatile = alloca [2 x float], align 4
; CHECK-NEXT:   %copied = alloca [2 x float], align 4
; CHECK-NEXT:   call void @takes(ptr %passed)
; CHECK-NEXT:   %passed.i = getelementptr inbounds float, ptr %passed, i64 %i
; CHECK-NEXT:   store float %x, ptr %passed.i, align 4
; CHECK-NEXT:   store ptr %stored, ptr %to, align 8
; CHECK-NEXT:   %stored.i = getelementptr inbounds float, ptr %stored, i64 %i
; CHECK-NEXT:   store float %x, ptr %stored.i, align 4
; CHECK-NEXT:   %selected.i = getelementptr inbounds float, ptr %selected, i64 %i
; CHECK-NEXT:   store float %x, ptr %selected.i, align 4
; CHECK-NEXT:   %one = select i1 %first, ptr %selected, ptr %to
; CHECK-NEXT:   store float %x, ptr %one, align 4
; CHECK-NEXT:   %volatile.i = getelementptr inbounds float, ptr %volatile, i64 %i
; CHECK-NEXT:   store float %x, ptr %volatile.i, align 4
; CHECK-NEXT:   store volatile float %x, ptr %volatile, align 4
; CHECK-NEXT:   %copied.i = getelementptr inbounds float, ptr %copied, i64 %i
; CHECK-NEXT:   store float %x, ptr %copied.i, align 4
; CHECK-NEXT:   call void @llvm.memcpy.p0.p0.i64(ptr align 4 %to, ptr align 4 %copied, i64 %bytes, i1 false)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %passed = alloca [2 x float], align 4
  %stored = alloca [2 x float], align 4
  %selected = alloca [2 x float], align 4
  %volatile = alloca [2 x float], align 4
  %copied = alloca [2 x float], align 4
  call void @takes(ptr %passed)
  %passed.i = getelementptr inbounds float, ptr %passed, i64 %i
  store float %x, ptr %passed.i, align 4
  store ptr %stored, ptr %to, align 8
  %stored.i = getelementptr inbounds float, ptr %stored, i64 %i
  store float %x, ptr %stored.i, align 4
  %selected.i = getelementptr inbounds float, ptr %selected, i64 %i
  store float %x, ptr %selected.i, align 4
  %one = select i1 %first, ptr %selected, ptr %to
  store float %x, ptr %one, align 4
  %volatile.i = getelementptr inbounds float, ptr %volatile, i64 %i
  store float %x, ptr %volatile.i, align 4
  store volatile float %x, ptr %volatile, align 4
  %copied.i = getelementptr inbounds float, ptr %copied, i64 %i
  store float %x, ptr %copied.i, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %to, ptr align 4 %copied, i64 %bytes, i1 false)
  ret void
}

; An access may be to parts of two elements or to a part of one, sizes differ, or without `inbounds`
; other indices have the same address.
define void @parts(i64 %i, float %x, i8 %byte, double %y) {
; CHECK-LABEL: define void @parts(i64 %i, float %x, i8 %byte, double %y) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %between = alloca [2 x float], align 4
; CHECK-NEXT:   %bytes = alloca [2 x float], align 4
; CHECK-NEXT:   %odd = alloca [2 x float], align 4
; CHECK-NEXT:   %sizes = alloca [2 x double], align 8
; CHECK-NEXT:   %wraps = alloca [2 x float], align 4
; CHECK-NEXT:   %between.i = getelementptr inbounds [2 x i8], ptr %between, i64 %i
; CHECK-NEXT:   store float %x, ptr %between.i, align 2
; CHECK-NEXT:   %bytes.i = getelementptr inbounds float, ptr %bytes, i64 %i
; CHECK-NEXT:   store float %x, ptr %bytes.i, align 4
; CHECK-NEXT:   store i8 %byte, ptr %bytes, align 1
; CHECK-NEXT:   %odd.2 = getelementptr inbounds i8, ptr %odd, i64 2
; CHECK-NEXT:   %odd.i = getelementptr inbounds float, ptr %odd.2, i64 %i
; CHECK-NEXT:   store float %x, ptr %odd.i, align 2
; CHECK-NEXT:   %sizes.i = getelementptr inbounds double, ptr %sizes, i64 %i
; CHECK-NEXT:   store double %y, ptr %sizes.i, align 8
; CHECK-NEXT:   store float %x, ptr %sizes.i, align 4
; CHECK-NEXT:   %wraps.i = getelementptr float, ptr %wraps, i64 %i
; CHECK-NEXT:   store float %x, ptr %wraps.i, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %between = alloca [2 x float], align 4
  %bytes = alloca [2 x float], align 4
  %odd = alloca [2 x float], align 4
  %sizes = alloca [2 x double], align 8
  %wraps = alloca [2 x float], align 4
  %between.i = getelementptr inbounds [2 x i8], ptr %between, i64 %i
  store float %x, ptr %between.i, align 2
  %bytes.i = getelementptr inbounds float, ptr %bytes, i64 %i
  store float %x, ptr %bytes.i, align 4
  store i8 %byte, ptr %bytes, align 1
  %odd.2 = getelementptr inbounds i8, ptr %odd, i64 2
  %odd.i = getelementptr inbounds float, ptr %odd.2, i64 %i
  store float %x, ptr %odd.i, align 2
  %sizes.i = getelementptr inbounds double, ptr %sizes, i64 %i
  store double %y, ptr %sizes.i, align 8
  store float %x, ptr %sizes.i, align 4
  %wraps.i = getelementptr float, ptr %wraps, i64 %i
  store float %x, ptr %wraps.i, align 4
  ret void
}

declare void @takes(ptr)

declare void @llvm.lifetime.start.p0(i64, ptr)

declare void @llvm.lifetime.end.p0(i64, ptr)

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; The index is a counter of a loop that libnvvm may unroll.
define float @counted(float %a) {
; CHECK-LABEL: define float @counted(float %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [2 x float], align 4
; CHECK-NEXT:   store float %a, ptr %array, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT:   %at = getelementptr inbounds float, ptr %array, i64 %i
; CHECK-NEXT:   %value = load float, ptr %at, align 4
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   %more = icmp ult i64 %next, 2
; CHECK-NEXT:   br i1 %more, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret float %value
; CHECK-NEXT: }
start:
  %array = alloca [2 x float], align 4
  store float %a, ptr %array, align 4
  br label %loop

loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %at = getelementptr inbounds float, ptr %array, i64 %i
  %value = load float, ptr %at, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 2
  br i1 %more, label %loop, label %end

end:
  ret float %value
}

; A load from an element that a phi or a select chooses becomes a choice of elements. Only the elements
; that are read are stored to at a variable index.
define i32 @found(i64 %i, i32 %x, i1 %c, i1 %d) {
; CHECK-LABEL: define i32 @found(i64 %i, i32 %x, i1 %c, i1 %d) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [5 x i32], align 4
; CHECK-NEXT:   %one = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %three = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   %0 = trunc i64 %i to i32
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %array, i64 16
; CHECK-NEXT:   %2 = load i32, ptr %1, align 4
; CHECK-NEXT:   %3 = icmp eq i32 %0, 4
; CHECK-NEXT:   %4 = select i1 %3, i32 %x, i32 %2
; CHECK-NEXT:   store i32 %4, ptr %1, align 4
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %6 = load i32, ptr %5, align 4
; CHECK-NEXT:   %7 = icmp eq i32 %0, 2
; CHECK-NEXT:   %8 = select i1 %7, i32 %x, i32 %6
; CHECK-NEXT:   store i32 %8, ptr %5, align 4
; CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %10 = load i32, ptr %9, align 4
; CHECK-NEXT:   %11 = icmp eq i32 %0, 1
; CHECK-NEXT:   %12 = select i1 %11, i32 %x, i32 %10
; CHECK-NEXT:   store i32 %12, ptr %9, align 4
; CHECK-NEXT:   br i1 %c, label %first, label %second
; CHECK-NEXT: first:
; CHECK-NEXT:   %13 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %14 = load i32, ptr %13, align 4
; CHECK-NEXT:   br label %join
; CHECK-NEXT: second:
; CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %16 = load i32, ptr %15, align 4
; CHECK-NEXT:   %17 = getelementptr inbounds i8, ptr %array, i64 16
; CHECK-NEXT:   %18 = load i32, ptr %17, align 4
; CHECK-NEXT:   %19 = select i1 %d, i32 %16, i32 %18
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %20 = phi i32 [ %14, %first ], [ %19, %second ]
; CHECK-NEXT:   %is_some = phi i1 [ %d, %first ], [ true, %second ]
; CHECK-NEXT:   br i1 %is_some, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   ret i32 %20
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }
start:
  %array = alloca [5 x i32], align 4
  %one = getelementptr inbounds i8, ptr %array, i64 4
  %three = getelementptr inbounds i8, ptr %array, i64 12
  %at = getelementptr inbounds i32, ptr %array, i64 %i
  store i32 %x, ptr %at, align 4
  br i1 %c, label %first, label %second

first:
  br label %join

second:
  %chosen = select i1 %d, ptr %one, ptr %three
  br label %join

join:
  %found = phi ptr [ %array, %first ], [ %chosen, %second ]
  %is_some = phi i1 [ %d, %first ], [ true, %second ]
  br i1 %is_some, label %some, label %none

some:
  %next = getelementptr inbounds i8, ptr %found, i64 4
  %value = load i32, ptr %next, align 4
  ret i32 %value

none:
  ret i32 0
}

; The largest element of a loop. Nothing loads from the null address, or behind the end.
define i32 @largest(i32 %n, i32 %x) {
; CHECK-LABEL: define i32 @largest(i32 %n, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [3 x i32], align 4
; CHECK-NEXT:   %one = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %two = getelementptr inbounds i8, ptr %array, i64 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %array, i64 12
; CHECK-NEXT:   store i32 %x, ptr %array, align 4
; CHECK-NEXT:   store i32 %n, ptr %one, align 4
; CHECK-NEXT:   store i32 7, ptr %two, align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %0 = phi i32 [ undef, %start ], [ %4, %loop ]
; CHECK-NEXT:   %i = phi i32 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT:   %odd = trunc i32 %i to i1
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %array, i64 4
; CHECK-NEXT:   %2 = load i32, ptr %1, align 4
; CHECK-NEXT:   %3 = select i1 %odd, i32 %2, i32 undef
; CHECK-NEXT:   %few = icmp ult i32 %i, %x
; CHECK-NEXT:   %4 = select i1 %few, i32 %0, i32 %3
; CHECK-NEXT:   %next = add i32 %i, 1
; CHECK-NEXT:   %more = icmp ult i32 %next, %n
; CHECK-NEXT:   br i1 %more, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i32 %4
; CHECK-NEXT: }
start:
  %array = alloca [3 x i32], align 4
  %one = getelementptr inbounds i8, ptr %array, i64 4
  %two = getelementptr inbounds i8, ptr %array, i64 8
  %behind = getelementptr inbounds i8, ptr %array, i64 12
  store i32 %x, ptr %array, align 4
  store i32 %n, ptr %one, align 4
  store i32 7, ptr %two, align 4
  br label %loop

loop:
  %i = phi i32 [ 0, %start ], [ %next, %loop ]
  %best = phi ptr [ null, %start ], [ %better, %loop ]
  %odd = trunc i32 %i to i1
  %other = select i1 %odd, ptr %one, ptr %behind
  %few = icmp ult i32 %i, %x
  %better = select i1 %few, ptr %best, ptr %other
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end

end:
  %value = load i32, ptr %better, align 4
  ret i32 %value
}

; A store, a copy and the start of a lifetime change elements after the choice.
define i32 @changed(i32 %x, i1 %c) {
; CHECK-LABEL: define i32 @changed(i32 %x, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stored = alloca [2 x i32], align 4
; CHECK-NEXT:   %copied = alloca [2 x i32], align 4
; CHECK-NEXT:   %started = alloca [2 x i32], align 4
; CHECK-NEXT:   %stored.1 = getelementptr inbounds i8, ptr %stored, i64 4
; CHECK-NEXT:   %copied.1 = getelementptr inbounds i8, ptr %copied, i64 4
; CHECK-NEXT:   %started.1 = getelementptr inbounds i8, ptr %started, i64 4
; CHECK-NEXT:   %first = select i1 %c, ptr %stored, ptr %stored.1
; CHECK-NEXT:   %second = select i1 %c, ptr %copied, ptr %copied.1
; CHECK-NEXT:   %third = select i1 %c, ptr %started, ptr %started.1
; CHECK-NEXT:   br i1 %c, label %change, label %end
; CHECK-NEXT: change:
; CHECK-NEXT:   store i32 %x, ptr %stored.1, align 4
; CHECK-NEXT:   call void @llvm.memset.p0.i64(ptr %copied, i8 0, i64 4, i1 false)
; CHECK-NEXT:   call void @llvm.lifetime.start.p0(i64 8, ptr %started)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %a = load i32, ptr %first, align 4
; CHECK-NEXT:   %b = load i32, ptr %second, align 4
; CHECK-NEXT:   %d = load i32, ptr %third, align 4
; CHECK-NEXT:   %ab = add i32 %a, %b
; CHECK-NEXT:   %abd = add i32 %ab, %d
; CHECK-NEXT:   ret i32 %abd
; CHECK-NEXT: }
start:
  %stored = alloca [2 x i32], align 4
  %copied = alloca [2 x i32], align 4
  %started = alloca [2 x i32], align 4
  %stored.1 = getelementptr inbounds i8, ptr %stored, i64 4
  %copied.1 = getelementptr inbounds i8, ptr %copied, i64 4
  %started.1 = getelementptr inbounds i8, ptr %started, i64 4
  %first = select i1 %c, ptr %stored, ptr %stored.1
  %second = select i1 %c, ptr %copied, ptr %copied.1
  %third = select i1 %c, ptr %started, ptr %started.1
  br i1 %c, label %change, label %end

change:
  store i32 %x, ptr %stored.1, align 4
  call void @llvm.memset.p0.i64(ptr %copied, i8 0, i64 4, i1 false)
  call void @llvm.lifetime.start.p0(i64 8, ptr %started)
  br label %end

end:
  %a = load i32, ptr %first, align 4
  %b = load i32, ptr %second, align 4
  %d = load i32, ptr %third, align 4
  %ab = add i32 %a, %b
  %abd = add i32 %ab, %d
  ret i32 %abd
}

; Stores through choices, comparisons of addresses, addresses that leave the function, and other
; variables.
define i1 @used(i32 %x, i1 %c) {
; CHECK-LABEL: define i1 @used(i32 %x, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %stored = alloca [2 x i32], align 4
; CHECK-NEXT:   %compared = alloca [2 x i32], align 4
; CHECK-NEXT:   %passed = alloca [2 x i32], align 4
; CHECK-NEXT:   %one = alloca [2 x i32], align 4
; CHECK-NEXT:   %two = alloca [2 x i32], align 4
; CHECK-NEXT:   %stored.1 = getelementptr inbounds i8, ptr %stored, i64 4
; CHECK-NEXT:   %compared.1 = getelementptr inbounds i8, ptr %compared, i64 4
; CHECK-NEXT:   %passed.1 = getelementptr inbounds i8, ptr %passed, i64 4
; CHECK-NEXT:   %first = select i1 %c, ptr %stored, ptr %stored.1
; CHECK-NEXT:   store i32 %x, ptr %first, align 4
; CHECK-NEXT:   %second = select i1 %c, ptr %compared, ptr %compared.1
; CHECK-NEXT:   %same = icmp eq ptr %second, %compared
; CHECK-NEXT:   %a = load i32, ptr %second, align 4
; CHECK-NEXT:   %third = select i1 %c, ptr %passed, ptr %passed.1
; CHECK-NEXT:   call void @takes(ptr %passed)
; CHECK-NEXT:   %b = load i32, ptr %third, align 4
; CHECK-NEXT:   %fourth = select i1 %c, ptr %one, ptr %two
; CHECK-NEXT:   %d = load i32, ptr %fourth, align 4
; CHECK-NEXT:   ret i1 %same
; CHECK-NEXT: }
start:
  %stored = alloca [2 x i32], align 4
  %compared = alloca [2 x i32], align 4
  %passed = alloca [2 x i32], align 4
  %one = alloca [2 x i32], align 4
  %two = alloca [2 x i32], align 4
  %stored.1 = getelementptr inbounds i8, ptr %stored, i64 4
  %compared.1 = getelementptr inbounds i8, ptr %compared, i64 4
  %passed.1 = getelementptr inbounds i8, ptr %passed, i64 4
  %first = select i1 %c, ptr %stored, ptr %stored.1
  store i32 %x, ptr %first, align 4
  %second = select i1 %c, ptr %compared, ptr %compared.1
  %same = icmp eq ptr %second, %compared
  %a = load i32, ptr %second, align 4
  %third = select i1 %c, ptr %passed, ptr %passed.1
  call void @takes(ptr %passed)
  %b = load i32, ptr %third, align 4
  %fourth = select i1 %c, ptr %one, ptr %two
  %d = load i32, ptr %fourth, align 4
  ret i1 %same
}

; An address that moves on in each iteration.
define i32 @walked(i32 %n) {
; CHECK-LABEL: define i32 @walked(i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [4 x i32], align 4
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %at = phi ptr [ %array, %start ], [ %after, %loop ]
; CHECK-NEXT:   %value = load i32, ptr %at, align 4
; CHECK-NEXT:   %after = getelementptr inbounds i8, ptr %at, i64 4
; CHECK-NEXT:   %more = icmp ult i32 %value, %n
; CHECK-NEXT:   br i1 %more, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i32 %value
; CHECK-NEXT: }
start:
  %array = alloca [4 x i32], align 4
  br label %loop

loop:
  %at = phi ptr [ %array, %start ], [ %after, %loop ]
  %value = load i32, ptr %at, align 4
  %after = getelementptr inbounds i8, ptr %at, i64 4
  %more = icmp ult i32 %value, %n
  br i1 %more, label %loop, label %end

end:
  ret i32 %value
}
