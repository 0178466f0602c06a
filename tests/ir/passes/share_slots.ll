; Slots that are never live together share memory.
; RUN: opt --passes=share_slots

declare void @use(ptr)
declare void @look(ptr nocapture)
declare i1 @more()

; The address of each goes elsewhere, and its lifetime ends before the next begins.
; CHECK: define void @scopes
; CHECK: %arena = alloca { [400 x i64] }, align 8
; CHECK: getelementptr inbounds i8, ptr %arena, i64 0
; CHECK: getelementptr inbounds i8, ptr %arena, i64 0
; CHECK-NOT: lifetime
define void @scopes() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  call void @llvm.lifetime.start.p0(i64 3200, ptr %a)
  call void @use(ptr %a)
  call void @llvm.lifetime.end.p0(i64 3200, ptr %a)
  call void @llvm.lifetime.start.p0(i64 2400, ptr %b)
  call void @use(ptr %b)
  call void @llvm.lifetime.end.p0(i64 2400, ptr %b)
  ret void
}

; The address of `a` is elsewhere when `b` is used.
; CHECK: define void @escapes
; CHECK: %a = alloca [400 x i64]
; CHECK: %b = alloca [300 x i64]
define void @escapes() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  call void @llvm.lifetime.start.p0(i64 3200, ptr %a)
  call void @use(ptr %a)
  call void @llvm.lifetime.start.p0(i64 2400, ptr %b)
  call void @use(ptr %b)
  call void @llvm.lifetime.end.p0(i64 2400, ptr %b)
  call void @llvm.lifetime.end.p0(i64 3200, ptr %a)
  ret void
}

; No marker tells when the escaped ones end.
; CHECK: define void @unmarked
; CHECK: alloca [400 x i64]
; CHECK: alloca [300 x i64]
define void @unmarked() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  call void @use(ptr %a)
  call void @use(ptr %b)
  ret void
}

; Without markers: the address stays here, so the last use ends the lifetime.
; CHECK: define void @uses
; CHECK: %arena = alloca { [400 x i64] }
define void @uses() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  %p = getelementptr inbounds i8, ptr %a, i64 8
  call void @look(ptr %p)
  call void @look(ptr %b)
  ret void
}

; Used again behind the other's use, through a selected address.
; CHECK: define void @used_later
; CHECK: %a = alloca [400 x i64]
; CHECK: %b = alloca [300 x i64]
define void @used_later(i1 %x, ptr %y) {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  %p = select i1 %x, ptr %a, ptr %y
  call void @look(ptr %a)
  call void @look(ptr %b)
  %v = load i8, ptr %p, align 1
  ret void
}

; `a` holds its value around the back edge, where `b` is used.
; CHECK: define void @around_the_loop
; CHECK: %a = alloca [400 x i64]
; CHECK: %b = alloca [300 x i64]
define void @around_the_loop() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  br label %loop
loop:
  call void @look(ptr %a)
  call void @look(ptr %b)
  %again = call i1 @more()
  br i1 %again, label %loop, label %end
end:
  ret void
}

; The same, but each iteration starts anew.
; CHECK: define void @in_the_loop
; CHECK: %arena = alloca { [400 x i64] }
define void @in_the_loop() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [300 x i64], align 8
  br label %loop
loop:
  call void @llvm.lifetime.start.p0(i64 3200, ptr %a)
  call void @look(ptr %a)
  call void @llvm.lifetime.end.p0(i64 3200, ptr %a)
  call void @llvm.lifetime.start.p0(i64 2400, ptr %b)
  call void @look(ptr %b)
  call void @llvm.lifetime.end.p0(i64 2400, ptr %b)
  %again = call i1 @more()
  br i1 %again, label %loop, label %end
end:
  ret void
}

; What is copied at last becomes one with its copy, and the copy goes.
; CHECK: define void @moved
; CHECK: %arena = alloca { [400 x i64] }
; CHECK-NOT: memcpy
define void @moved() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [400 x i64], align 8
  call void @look(ptr %a)
  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 3200, i1 false)
  call void @look(ptr %b)
  ret void
}

; Both are needed behind the copy.
; CHECK: define void @copied
; CHECK: alloca [400 x i64]
; CHECK: alloca [400 x i64]
; CHECK: memcpy
define void @copied() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [400 x i64], align 8
  call void @look(ptr %a)
  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 3200, i1 false)
  call void @look(ptr %b)
  call void @look(ptr %a)
  ret void
}

; If `p` were the start of `w`, the source and the destination of the second copy would overlap.
; CHECK: define void @to_and_fro
; CHECK: memcpy
; CHECK: memcpy
define void @to_and_fro() {
start:
  %p = alloca [400 x i64], align 8
  %w = alloca [600 x i64], align 8
  %o = alloca [600 x i64], align 8
  call void @look(ptr %o)
  call void @look(ptr %p)
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %p, i64 3200, i1 false)
  call void @look(ptr %w)
  %in = getelementptr inbounds i8, ptr %w, i64 1600
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %in, i64 3200, i1 false)
  call void @look(ptr %p)
  ret void
}

; A callee's slots lie in its caller's arena: apart from what is live at the call, over the rest.
; CHECK: define internal void @callee(ptr nonnull align 8 %arena)
; CHECK-NOT: alloca
; CHECK: define void @caller
; CHECK: %arena = alloca { [600 x i64] }
; CHECK: call void @callee(ptr
define internal void @callee() {
start:
  %a = alloca [400 x i64], align 8
  call void @use(ptr %a)
  ret void
}

define void @caller() {
start:
  %a = alloca [300 x i64], align 8
  %b = alloca [200 x i64], align 8
  call void @look(ptr %a)
  call void @look(ptr %b)
  call void @callee()
  call void @look(ptr %b)
  ret void
}

; A function that calls itself, one whose address is taken, and one that is not inlined have
; memory of their own.
; CHECK: define internal void @recursive()
; CHECK: %arena = alloca { [400 x i64] }
; CHECK: define internal void @addressed()
; CHECK: %arena = alloca { [400 x i64] }
; CHECK: define internal void @apart()
; CHECK: %arena = alloca { [400 x i64] }
define internal void @recursive() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [400 x i64], align 8
  call void @look(ptr %a)
  call void @look(ptr %b)
  call void @recursive()
  ret void
}

define internal void @addressed() {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [400 x i64], align 8
  call void @look(ptr %a)
  call void @look(ptr %b)
  ret void
}

define internal void @apart() noinline {
start:
  %a = alloca [400 x i64], align 8
  %b = alloca [400 x i64], align 8
  call void @look(ptr %a)
  call void @look(ptr %b)
  ret void
}

define void @calls_them() {
start:
  call void @recursive()
  call void @addressed()
  call void @use(ptr @addressed)
  call void @apart()
  ret void
}
