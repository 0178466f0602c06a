; Slots whose parts are accessed apart become several slots: `t` has two halves, of which the first one
; is dead when `c` is used, so `c` can have its place. A slot that is not split stays as it is, since
; there is no memory to share then.
; RUN: opt --passes=share_slots

declare void @use(ptr)
declare void @look(ptr nocapture)
declare i1 @more()

; Accesses 3200 bytes from its parameter on, and keeps no copy of the address, though it does not say so.
define internal void @half(ptr %p) {
start:
  %q = getelementptr inbounds i8, ptr %p, i64 3192
  %v = load i64, ptr %q, align 8
  store i64 %v, ptr %p, align 8
  ret void
}

define internal void @calls_half(ptr %p) {
start:
  call void @half(ptr %p)
  ret void
}

define internal void @anywhere(ptr %p, i64 %i) {
start:
  %q = getelementptr inbounds i8, ptr %p, i64 %i
  store i64 1, ptr %q, align 8
  ret void
}

define internal void @negative(ptr %p) {
start:
  %q = getelementptr inbounds i64, ptr %p, i32 -1
  store i64 1, ptr %q, align 8
  ret void
}

define internal void @too_far(ptr %p) {
start:
  %q = getelementptr inbounds i8, ptr %p, i64 3196
  %v = load i64, ptr %q, align 4
  ret void
}

define internal void @again(ptr %p) {
start:
  %v = load i64, ptr %p, align 8
  %more = call i1 @more()
  br i1 %more, label %on, label %end
on:
  call void @again(ptr %p)
  br label %end
end:
  ret void
}

define weak void @replaced(ptr %p) {
start:
  %v = load i64, ptr %p, align 8
  ret void
}

; CHECK: define void @splits
; CHECK: %arena = alloca { [800 x i64] }, align 8
define void @splits() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @calls_half(ptr %t)
  call void @calls_half(ptr %second)
  call void @look(ptr %c)
  call void @calls_half(ptr %second)
  ret void
}

; The parts get the markers of the slot.
; CHECK: define void @in_a_loop
; CHECK: %arena = alloca { [400 x i64] }, align 8
define void @in_a_loop() {
start:
  %t = alloca [800 x i64], align 8
  br label %loop
loop:
  call void @llvm.lifetime.start.p0(i64 6400, ptr %t)
  %second = getelementptr inbounds [400 x i64], ptr %t, i64 1
  call void @half(ptr %t)
  call void @half(ptr %second)
  call void @llvm.lifetime.end.p0(i64 6400, ptr %t)
  %again = call i1 @more()
  br i1 %again, label %loop, label %end
end:
  ret void
}

; Without markers both halves keep their values around the back edge.
; CHECK: define void @around_the_loop
; CHECK: alloca { [3200 x i8] }, align 8
; CHECK: alloca { [3200 x i8] }, align 8
define void @around_the_loop() {
start:
  %t = alloca [800 x i64], align 8
  br label %loop
loop:
  %second = getelementptr inbounds [400 x i64], ptr %t, i64 1
  call void @half(ptr %t)
  call void @half(ptr %second)
  %again = call i1 @more()
  br i1 %again, label %loop, label %end
end:
  ret void
}

; A part has the alignment of its place, and bytes that nobody accesses go.
; CHECK: define void @aligned
; CHECK: alloca { [8 x i8] }, align 4
; CHECK: alloca { [8 x i8] }, align 16
define void @aligned() {
start:
  %t = alloca [800 x i64], align 16
  %a = getelementptr inbounds i8, ptr %t, i64 4
  %b = getelementptr inbounds i8, ptr %t, i64 4800
  store i64 1, ptr %a, align 4
  store i64 1, ptr %b, align 16
  ret void
}

; The second access of the second part is of an address that is a multiple of 8, and stays one.
; CHECK: define void @aligned_inside
; CHECK: alloca { [4 x i8] }, align 16
; CHECK: alloca { [16 x i8] }, align 16
; CHECK: , i64 4
; CHECK: , i64 8
define void @aligned_inside() {
start:
  %t = alloca [800 x i64], align 16
  %a = getelementptr inbounds i8, ptr %t, i64 4
  %b = getelementptr inbounds i8, ptr %t, i64 8
  store i32 1, ptr %t, align 16
  store i64 1, ptr %a, align 4
  store i64 1, ptr %b, align 8
  ret void
}

; The address is kept.
; CHECK: define void @kept
; CHECK: %t = alloca [800 x i64]
define void @kept() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  call void @use(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @stored
; CHECK: %t = alloca [800 x i64]
define void @stored(ptr %to) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  store ptr %second, ptr %to, align 8
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @compared
; CHECK: %t = alloca [800 x i64]
define void @compared(ptr %to) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  %same = icmp eq ptr %second, %to
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; Any of the bytes may be accessed.
; CHECK: define void @declared
; CHECK: %t = alloca [800 x i64]
define void @declared() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @look(ptr %t)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @by_index
; CHECK: %t = alloca [800 x i64]
define void @by_index(i64 %i) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @anywhere(ptr %t, i64 %i)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @before
; CHECK: %t = alloca [800 x i64]
define void @before() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @negative(ptr %second)
  ret void
}

; CHECK: define void @selected
; CHECK: %t = alloca [800 x i64]
define void @selected(i1 %x) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  call void @half(ptr %second)
  call void @look(ptr %c)
  %p = select i1 %x, ptr %t, ptr %second
  call void @half(ptr %p)
  ret void
}

; The first half's callee accesses four bytes of the second half.
; CHECK: define void @overlaps
; CHECK: %t = alloca [800 x i64]
define void @overlaps() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @too_far(ptr %t)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @copied_whole
; CHECK: %t = alloca [800 x i64]
define void @copied_whole(ptr %to) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  call void @half(ptr %second)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %t, i64 6400, i1 false)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @volatile_copy
; CHECK: %t = alloca [800 x i64]
define void @volatile_copy(ptr %to) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %t, i64 3200, i1 true)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @unknown_length
; CHECK: %t = alloca [800 x i64]
define void @unknown_length(ptr %to, i64 %n) {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %t, i64 %n, i1 false)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @volatile_load
; CHECK: %t = alloca [800 x i64]
define void @volatile_load() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  %v = load volatile i64, ptr %t, align 8
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; A function in a cycle of calls, and one whose body may be another.
; CHECK: define void @recursive
; CHECK: %t = alloca [800 x i64]
define void @recursive() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @again(ptr %t)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; CHECK: define void @by_weak
; CHECK: %t = alloca [800 x i64]
define void @by_weak() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @replaced(ptr %t)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}

; The marker is of one part alone.
; CHECK: define void @marks_a_part
; CHECK: %t = alloca [800 x i64]
define void @marks_a_part() {
start:
  %t = alloca [800 x i64], align 8
  %c = alloca [400 x i64], align 8
  %second = getelementptr inbounds i8, ptr %t, i64 3200
  call void @half(ptr %t)
  call void @llvm.lifetime.start.p0(i64 3200, ptr %second)
  call void @half(ptr %second)
  call void @look(ptr %c)
  call void @half(ptr %second)
  ret void
}
