; Elements of constant arrays that are a linear function of the index are computed.
; RUN: opt --passes=compute_elements

@states = internal addrspace(1) constant [8 x i8] c"\05\00\08\00\0B\00\0E\00", align 2
@bumpy = internal addrspace(1) constant [4 x i8] c"\00\01\02\04", align 1

; A local variable whose elements are the same constants wherever they are written.
define i32 @local(i32 %x, i1 %again) {
; CHECK-LABEL: define i32 @local(i32 %x, i1 %again) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %all = alloca { [4 x i8] }, align 1
; CHECK-NEXT:   %one = getelementptr inbounds i8, ptr %all, i64 1
; CHECK-NEXT:   %two = getelementptr inbounds i8, ptr %all, i64 2
; CHECK-NEXT:   store i8 0, ptr %all, align 1
; CHECK-NEXT:   store i8 1, ptr %one, align 1
; CHECK-NEXT:   store i16 770, ptr %two, align 1
; CHECK-NEXT:   br i1 %again, label %more, label %last
; CHECK-NEXT: more:
; CHECK-NEXT:   store i8 1, ptr %one, align 1
; CHECK-NEXT:   br label %last
; CHECK-NEXT: last:
; CHECK-NEXT:   %bits = and i32 %x, 3
; CHECK-NEXT:   %index = zext i32 %bits to i64
; CHECK-NEXT:   %address = getelementptr inbounds i8, ptr %all, i64 %index
; CHECK-NEXT:   %0 = trunc i64 %index to i8
; CHECK-NEXT:   %element = add i8 %0, 0
; CHECK-NEXT:   %wide = zext i8 %element to i32
; CHECK-NEXT:   ret i32 %wide
; CHECK-NEXT: }
start:
  %all = alloca { [4 x i8] }, align 1
  %one = getelementptr inbounds i8, ptr %all, i64 1
  %two = getelementptr inbounds i8, ptr %all, i64 2
  store i8 0, ptr %all, align 1
  store i8 1, ptr %one, align 1
  store i16 770, ptr %two, align 1
  br i1 %again, label %more, label %last
more:
  store i8 1, ptr %one, align 1
  br label %last
last:
  %bits = and i32 %x, 3
  %index = zext i32 %bits to i64
  %address = getelementptr inbounds i8, ptr %all, i64 %index
  %element = load i8, ptr %address, align 1, !range !0
  %wide = zext i8 %element to i32
  ret i32 %wide
}

; A constant; the rows of 4 bytes begin with 5 and 11.
define i16 @constant(i64 %index) {
; CHECK-LABEL: define i16 @constant(i64 %index) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %address = getelementptr inbounds i16, ptr addrspacecast (ptr addrspace(1) @states to ptr), i64 %index
; CHECK-NEXT:   %0 = trunc i64 %index to i16
; CHECK-NEXT:   %1 = mul i16 %0, 3
; CHECK-NEXT:   %element = add i16 %1, 5
; CHECK-NEXT:   %row = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(1) @states to ptr), i64 %index
; CHECK-NEXT:   %2 = trunc i64 %index to i16
; CHECK-NEXT:   %3 = mul i16 %2, 6
; CHECK-NEXT:   %first = add i16 %3, 5
; CHECK-NEXT:   %behind = getelementptr inbounds i16, ptr %row, i64 1
; CHECK-NEXT:   %4 = trunc i64 %index to i16
; CHECK-NEXT:   %5 = mul i16 %4, 6
; CHECK-NEXT:   %second = add i16 %5, 8
; CHECK-NEXT:   %sum = add i16 %element, %first
; CHECK-NEXT:   %all = add i16 %sum, %second
; CHECK-NEXT:   ret i16 %all
; CHECK-NEXT: }
start:
  %address = getelementptr inbounds i16, ptr addrspacecast (ptr addrspace(1) @states to ptr), i64 %index
  %element = load i16, ptr %address, align 2
  %row = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(1) @states to ptr), i64 %index
  %first = load i16, ptr %row, align 2
  %behind = getelementptr inbounds i16, ptr %row, i64 1
  %second = load i16, ptr %behind, align 2
  %sum = add i16 %element, %first
  %all = add i16 %sum, %second
  ret i16 %all
}

; Either of two local variables.
define i8 @joined(i64 %index, i1 %either) {
; CHECK-LABEL: define i8 @joined(i64 %index, i1 %either) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %a = alloca { [2 x i8] }, align 1
; CHECK-NEXT:   %b = alloca { [2 x i8] }, align 1
; CHECK-NEXT:   br i1 %either, label %left, label %right
; CHECK-NEXT: left:
; CHECK-NEXT:   store i16 2055, ptr %a, align 1
; CHECK-NEXT:   br label %join
; CHECK-NEXT: right:
; CHECK-NEXT:   store i16 2055, ptr %b, align 1
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %array = phi ptr [ %a, %left ], [ %b, %right ]
; CHECK-NEXT:   %address = getelementptr inbounds i8, ptr %array, i64 %index
; CHECK-NEXT:   %0 = trunc i64 %index to i8
; CHECK-NEXT:   %element = add i8 %0, 7
; CHECK-NEXT:   ret i8 %element
; CHECK-NEXT: }
start:
  %a = alloca { [2 x i8] }, align 1
  %b = alloca { [2 x i8] }, align 1
  br i1 %either, label %left, label %right
left:
  store i16 2055, ptr %a, align 1
  br label %join
right:
  store i16 2055, ptr %b, align 1
  br label %join
join:
  %array = phi ptr [ %a, %left ], [ %b, %right ]
  %address = getelementptr inbounds i8, ptr %array, i64 %index
  %element = load i8, ptr %address, align 1
  ret i8 %element
}

; Arrays that are not linear, not constant, written at a variable index, or whose address is used
; otherwise stay.
define i8 @others(i64 %index, i8 %x, ptr %p, i1 %either) {
; CHECK-LABEL: define i8 @others(i64 %index, i8 %x, ptr %p, i1 %either) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %bumpy = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @bumpy to ptr), i64 %index
; CHECK-NEXT:   %a = load i8, ptr %bumpy, align 1
; CHECK-NEXT:   %stored = alloca { [2 x i8] }, align 1
; CHECK-NEXT:   %one = getelementptr inbounds i8, ptr %stored, i64 1
; CHECK-NEXT:   store i8 0, ptr %stored, align 1
; CHECK-NEXT:   store i8 1, ptr %one, align 1
; CHECK-NEXT:   store i8 %x, ptr %one, align 1
; CHECK-NEXT:   %address = getelementptr inbounds i8, ptr %stored, i64 %index
; CHECK-NEXT:   %b = load i8, ptr %address, align 1
; CHECK-NEXT:   %moved = alloca { [2 x i8] }, align 1
; CHECK-NEXT:   store i16 256, ptr %moved, align 1
; CHECK-NEXT:   %moved.at = getelementptr inbounds i8, ptr %moved, i64 %index
; CHECK-NEXT:   store i8 0, ptr %moved.at, align 1
; CHECK-NEXT:   %c = load i8, ptr %moved.at, align 1
; CHECK-NEXT:   %given = alloca { [2 x i8] }, align 1
; CHECK-NEXT:   store i16 256, ptr %given, align 1
; CHECK-NEXT:   call void @write(ptr %given)
; CHECK-NEXT:   %given.at = getelementptr inbounds i8, ptr %given, i64 %index
; CHECK-NEXT:   %d = load i8, ptr %given.at, align 1
; CHECK-NEXT:   %mixed = alloca { [2 x i8] }, align 1
; CHECK-NEXT:   store i16 256, ptr %mixed, align 1
; CHECK-NEXT:   %mix = select i1 %either, ptr %mixed, ptr %p
; CHECK-NEXT:   %mixed.at = getelementptr inbounds i8, ptr %mix, i64 %index
; CHECK-NEXT:   %e = load i8, ptr %mixed.at, align 1
; CHECK-NEXT:   %volatile.at = getelementptr inbounds i16, ptr addrspacecast (ptr addrspace(1) @states to ptr), i64 %index
; CHECK-NEXT:   %f = load volatile i8, ptr %volatile.at, align 1
; CHECK-NEXT:   %0 = trunc i64 %index to i8
; CHECK-NEXT:   %1 = mul i8 %0, 3
; CHECK-NEXT:   %part = add i8 %1, 5
; CHECK-NEXT:   %s1 = add i8 %a, %b
; CHECK-NEXT:   %s2 = add i8 %c, %d
; CHECK-NEXT:   %s3 = add i8 %e, %f
; CHECK-NEXT:   %s4 = add i8 %s1, %s2
; CHECK-NEXT:   %s5 = add i8 %s3, %s4
; CHECK-NEXT:   %s6 = add i8 %s5, %part
; CHECK-NEXT:   ret i8 %s6
; CHECK-NEXT: }
start:
  %bumpy = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(1) @bumpy to ptr), i64 %index
  %a = load i8, ptr %bumpy, align 1
  %stored = alloca { [2 x i8] }, align 1
  %one = getelementptr inbounds i8, ptr %stored, i64 1
  store i8 0, ptr %stored, align 1
  store i8 1, ptr %one, align 1
  store i8 %x, ptr %one, align 1
  %address = getelementptr inbounds i8, ptr %stored, i64 %index
  %b = load i8, ptr %address, align 1
  %moved = alloca { [2 x i8] }, align 1
  store i16 256, ptr %moved, align 1
  %moved.at = getelementptr inbounds i8, ptr %moved, i64 %index
  store i8 0, ptr %moved.at, align 1
  %c = load i8, ptr %moved.at, align 1
  %given = alloca { [2 x i8] }, align 1
  store i16 256, ptr %given, align 1
  call void @write(ptr %given)
  %given.at = getelementptr inbounds i8, ptr %given, i64 %index
  %d = load i8, ptr %given.at, align 1
  %mixed = alloca { [2 x i8] }, align 1
  store i16 256, ptr %mixed, align 1
  %mix = select i1 %either, ptr %mixed, ptr %p
  %mixed.at = getelementptr inbounds i8, ptr %mix, i64 %index
  %e = load i8, ptr %mixed.at, align 1
  %volatile.at = getelementptr inbounds i16, ptr addrspacecast (ptr addrspace(1) @states to ptr), i64 %index
  %f = load volatile i8, ptr %volatile.at, align 1
  %part = load i8, ptr %volatile.at, align 1
  %s1 = add i8 %a, %b
  %s2 = add i8 %c, %d
  %s3 = add i8 %e, %f
  %s4 = add i8 %s1, %s2
  %s5 = add i8 %s3, %s4
  %s6 = add i8 %s5, %part
  ret i8 %s6
}

declare void @write(ptr)

!0 = !{i8 0, i8 4}
