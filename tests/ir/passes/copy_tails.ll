; A variable number of a few bytes is copied into a local array one by one.
; RUN: opt --passes=copy_tails

define i64 @tail(ptr %from, i64 %n) {
; CHECK-LABEL: define i64 @tail(ptr %from, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %last = alloca i32, align 4
; CHECK-NEXT:   store i32 0, ptr %last, align 4
; CHECK-NEXT:   %len = urem i64 %n, 3
; CHECK-NEXT:   %to = getelementptr inbounds i8, ptr %last, i64 1
; CHECK-NEXT:   %0 = icmp eq i64 %len, 0
; CHECK-NEXT:   br i1 %0, label %after, label %copy
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i64 [ %wide, %after ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: after:
; CHECK-NEXT:   %word = load i32, ptr %last, align 4
; CHECK-NEXT:   %wide = zext i32 %word to i64
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: copy:
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %from, i64 0
; CHECK-NEXT:   %2 = load i8, ptr %1, align 1
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %to, i64 0
; CHECK-NEXT:   store i8 %2, ptr %3, align 1
; CHECK-NEXT:   %4 = icmp eq i64 %len, 1
; CHECK-NEXT:   br i1 %4, label %after, label %copy.1
; CHECK-NEXT: copy.1:
; CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %from, i64 1
; CHECK-NEXT:   %6 = load i8, ptr %5, align 1
; CHECK-NEXT:   %7 = getelementptr inbounds i8, ptr %to, i64 1
; CHECK-NEXT:   store i8 %6, ptr %7, align 1
; CHECK-NEXT:   br label %after
; CHECK-NEXT: }
start:
  %last = alloca i32, align 4
  store i32 0, ptr %last, align 4
  %len = urem i64 %n, 3
  %to = getelementptr inbounds i8, ptr %last, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %to, ptr align 1 %from, i64 %len, i1 false)
  %word = load i32, ptr %last, align 4
  %wide = zext i32 %word to i64
  br label %exit
exit:
  %result = phi i64 [ %wide, %start ]
  ret i64 %result
}

; Many bytes, an array that a call or a variable index keeps in memory, a copy from the array, and
; memory that is not local.
define i64 @others(ptr %from, ptr %out, i64 %n) {
start:
  %many = alloca [64 x i8], align 8
  %len = and i64 %n, 63
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 8 %many, ptr align 1 %from, i64 %len, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %many, ptr align 1 %from, i64 %len, i1 false)
  %a = load i64, ptr %many, align 8
  %given = alloca i64, align 8
  %short = and i64 %n, 7
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 8 %given, ptr align 1 %from, i64 %short, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %given, ptr align 1 %from, i64 %short, i1 false)
  call void @use(ptr %given)
  %indexed = alloca [8 x i8], align 8
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 8 %indexed, ptr align 1 %from, i64 %short, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %indexed, ptr align 1 %from, i64 %short, i1 false)
  %at = getelementptr inbounds i8, ptr %indexed, i64 %short
  %b = load i8, ptr %at, align 1
  %source = alloca i64, align 8
  store i64 %n, ptr %source, align 8
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 1 %out, ptr align 8 %source, i64 %short, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %out, ptr align 8 %source, i64 %short, i1 false)
  %c = zext i8 %b to i64
  %sum = add i64 %a, %c
  ret i64 %sum
}

declare void @use(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
