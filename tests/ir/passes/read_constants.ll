; Local variables whose only contents are a copy of a constant become constants.
; RUN: opt --passes=read_constants

@rounds = internal addrspace(1) constant [4 x i8] c"\01\02\03\04", align 4
; CHECK: @rounds_0_8_12 = internal addrspace(1) constant [12 x i8] c"\00\00\00\00\00\00\00\00\01\02\03\04", align 8
@changes = internal addrspace(1) global [4 x i8] c"\01\02\03\04", align 4

; The range of the elements that are left is in registers, so that its bytes are never written.
define i8 @iterated(i64 %i) {
start:
  %iter = alloca { [12 x i8] }, align 8
  call void @llvm.lifetime.start.p0(i64 12, ptr %iter)
  %data = getelementptr inbounds i8, ptr %iter, i64 8
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %data, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
  %element = getelementptr inbounds i8, ptr %data, i64 %i
  %round = load i8, ptr %element, align 1
  call void @llvm.lifetime.end.p0(i64 12, ptr %iter)
  ret i8 %round
}
; CHECK-LABEL: define i8 @iterated(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %data = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @rounds_0_8_12 to ptr), i64 8
; CHECK-NEXT:   %element = getelementptr inbounds i8, ptr %data, i64 %i
; CHECK-NEXT:   %round = load i8, ptr %element, align 1
; CHECK-NEXT:   ret i8 %round
; CHECK-NEXT: }

; Another store, another address, a constant index, a static that may change.
define i8 @stored(i64 %i, i8 %value) {
start:
  %iter = alloca { [4 x i8] }, align 4
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
  %element = getelementptr inbounds i8, ptr %iter, i64 %i
  store i8 %value, ptr %element, align 1
  %round = load i8, ptr %element, align 1
  ret i8 %round
}
; CHECK-LABEL: define i8 @stored(i64 %i, i8 %value) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %iter = alloca { [4 x i8] }, align 4
; CHECK-NEXT:   call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
; CHECK-NEXT:   %element = getelementptr inbounds i8, ptr %iter, i64 %i
; CHECK-NEXT:   store i8 %value, ptr %element, align 1
; CHECK-NEXT:   %round = load i8, ptr %element, align 1
; CHECK-NEXT:   ret i8 %round
; CHECK-NEXT: }

define ptr @escapes(i64 %i) {
start:
  %iter = alloca { [4 x i8] }, align 4
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
  %element = getelementptr inbounds i8, ptr %iter, i64 %i
  ret ptr %element
}
; CHECK-LABEL: define ptr @escapes(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %iter = alloca { [4 x i8] }, align 4
; CHECK-NEXT:   call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
; CHECK-NEXT:   %element = getelementptr inbounds i8, ptr %iter, i64 %i
; CHECK-NEXT:   ret ptr %element
; CHECK-NEXT: }

define i8 @constant_index() {
start:
  %iter = alloca { [4 x i8] }, align 4
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
  %element = getelementptr inbounds i8, ptr %iter, i64 2
  %round = load i8, ptr %element, align 1
  ret i8 %round
}
; CHECK-LABEL: define i8 @constant_index() {
; CHECK-NEXT: start:
; CHECK-NEXT:   %iter = alloca { [4 x i8] }, align 4
; CHECK-NEXT:   call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
; CHECK-NEXT:   %element = getelementptr inbounds i8, ptr %iter, i64 2
; CHECK-NEXT:   %round = load i8, ptr %element, align 1
; CHECK-NEXT:   ret i8 %round
; CHECK-NEXT: }

define i8 @changing(i64 %i) {
start:
  %iter = alloca { [4 x i8] }, align 4
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @changes, i64 4, i1 false)
  %element = getelementptr inbounds i8, ptr %iter, i64 %i
  %round = load i8, ptr %element, align 1
  ret i8 %round
}
; CHECK-LABEL: define i8 @changing(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %iter = alloca { [4 x i8] }, align 4
; CHECK-NEXT:   call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @changes, i64 4, i1 false)
; CHECK-NEXT:   %element = getelementptr inbounds i8, ptr %iter, i64 %i
; CHECK-NEXT:   %round = load i8, ptr %element, align 1
; CHECK-NEXT:   ret i8 %round
; CHECK-NEXT: }

; A second copy.
define i8 @copied_twice(i64 %i) {
start:
  %iter = alloca { [8 x i8] }, align 4
  %behind = getelementptr inbounds i8, ptr %iter, i64 2
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
  call void @llvm.memcpy.p0.p1.i64(ptr align 2 %behind, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
  %element = getelementptr inbounds i8, ptr %iter, i64 %i
  %round = load i8, ptr %element, align 1
  ret i8 %round
}
; CHECK-LABEL: define i8 @copied_twice(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %iter = alloca { [8 x i8] }, align 4
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %iter, i64 2
; CHECK-NEXT:   call void @llvm.memcpy.p0.p1.i64(ptr align 4 %iter, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
; CHECK-NEXT:   call void @llvm.memcpy.p0.p1.i64(ptr align 2 %behind, ptr addrspace(1) align 4 @rounds, i64 4, i1 false)
; CHECK-NEXT:   %element = getelementptr inbounds i8, ptr %iter, i64 %i
; CHECK-NEXT:   %round = load i8, ptr %element, align 1
; CHECK-NEXT:   ret i8 %round
; CHECK-NEXT: }
