; Indices are compared instead of the addresses that a table has at them.
; RUN: opt --passes=compare_indices

@circle = internal addrspace(1) constant [4 x i64] zeroinitializer, align 8
@square = internal addrspace(1) constant [4 x i64] zeroinitializer, align 8
@line = internal addrspace(1) constant [4 x i64] zeroinitializer, align 8
@two = internal addrspace(1) constant [4 x i8] c"\00\00\00@", align 4
@three = internal addrspace(1) constant [4 x i8] c"\00\00@@", align 4
@shapes = internal addrspace(1) constant [3 x { ptr, ptr }] [{ ptr, ptr } { ptr inttoptr (i64 1 to ptr), ptr addrspacecast (ptr addrspace(1) @circle to ptr) }, { ptr, ptr } { ptr addrspacecast (ptr addrspace(1) @two to ptr), ptr addrspacecast (ptr addrspace(1) @square to ptr) }, { ptr, ptr } { ptr addrspacecast (ptr addrspace(1) @three to ptr), ptr addrspacecast (ptr addrspace(1) @square to ptr) }], align 8
@pair = internal addrspace(1) constant [8 x i8] zeroinitializer, align 4
@pairs = internal addrspace(1) constant [2 x { ptr, ptr }] [{ ptr, ptr } { ptr addrspacecast (ptr addrspace(1) @pair to ptr), ptr addrspacecast (ptr addrspace(1) @circle to ptr) }, { ptr, ptr } { ptr addrspacecast (ptr addrspace(1) @two to ptr), ptr addrspacecast (ptr addrspace(1) @square to ptr) }], align 8
@mutable = internal addrspace(1) global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr addrspacecast (ptr addrspace(1) @square to ptr)], align 8

declare void @seen(ptr)

define internal void @first() {
start:
  ret void
}

define internal void @second() {
start:
  ret void
}

define internal void @third() {
start:
  ret void
}

; A local table. The object of the last element is known because all other indices are excluded.
define float @local(i64 %i) {
; CHECK-LABEL: define float @local(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca { [6 x i64] }, align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   %b = getelementptr inbounds i8, ptr %table, i64 16
; CHECK-NEXT:   %c = getelementptr inbounds i8, ptr %table, i64 24
; CHECK-NEXT:   %d = getelementptr inbounds i8, ptr %table, i64 32
; CHECK-NEXT:   %e = getelementptr inbounds i8, ptr %table, i64 40
; CHECK-NEXT:   store ptr inttoptr (i64 1 to ptr), ptr %table, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %a, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @two to ptr), ptr %b, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %c, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @three to ptr), ptr %d, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @line to ptr), ptr %e, align 8
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr %table, i64 %i
; CHECK-NEXT:   %object = load ptr, ptr %place, align 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %place, i64 8
; CHECK-NEXT:   %vtable = load ptr, ptr %behind, align 8
; CHECK-NEXT:   %address = addrspacecast ptr %vtable to ptr addrspace(1)
; CHECK-NEXT:   %is_circle = icmp eq i64 %i, 0
; CHECK-NEXT:   br i1 %is_circle, label %circle, label %other
; CHECK-NEXT: circle:
; CHECK-NEXT:   ret float 0x0000000000000000
; CHECK-NEXT: other:
; CHECK-NEXT:   %is_not_square = icmp ne i64 %i, 1
; CHECK-NEXT:   br i1 %is_not_square, label %line, label %square
; CHECK-NEXT: square:
; CHECK-NEXT:   %side = load float, ptr addrspacecast (ptr addrspace(1) @two to ptr), align 4
; CHECK-NEXT:   ret float %side
; CHECK-NEXT: line:
; CHECK-NEXT:   %length = load float, ptr addrspacecast (ptr addrspace(1) @three to ptr), align 4
; CHECK-NEXT:   ret float %length
; CHECK-NEXT: }
start:
  %table = alloca { [6 x i64] }, align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  %b = getelementptr inbounds i8, ptr %table, i64 16
  %c = getelementptr inbounds i8, ptr %table, i64 24
  %d = getelementptr inbounds i8, ptr %table, i64 32
  %e = getelementptr inbounds i8, ptr %table, i64 40
  store ptr inttoptr (i64 1 to ptr), ptr %table, align 8
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %a, align 8
  store ptr addrspacecast (ptr addrspace(1) @two to ptr), ptr %b, align 8
  store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %c, align 8
  store ptr addrspacecast (ptr addrspace(1) @three to ptr), ptr %d, align 8
  store ptr addrspacecast (ptr addrspace(1) @line to ptr), ptr %e, align 8
  %place = getelementptr inbounds [16 x i8], ptr %table, i64 %i
  %object = load ptr, ptr %place, align 8
  %behind = getelementptr inbounds i8, ptr %place, i64 8
  %vtable = load ptr, ptr %behind, align 8
  %address = addrspacecast ptr %vtable to ptr addrspace(1)
  %is_circle = icmp eq ptr addrspace(1) %address, @circle
  br i1 %is_circle, label %circle, label %other
circle:
  ret float 0.0
other:
  %is_not_square = icmp ne ptr addrspace(1) %address, @square
  br i1 %is_not_square, label %line, label %square
square:
  %side = load float, ptr %object, align 4
  ret float %side
line:
  %length = load float, ptr %object, align 4
  ret float %length
}

; A constant table. Two elements have the same vtable, so that comparison stays, and the object is not
; known behind it.
define float @constant(i64 %i) {
; CHECK-LABEL: define float @constant(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
; CHECK-NEXT:   %object = load ptr, ptr %place, align 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %place, i64 8
; CHECK-NEXT:   %vtable = load ptr, ptr %behind, align 8
; CHECK-NEXT:   %address = addrspacecast ptr %vtable to ptr addrspace(1)
; CHECK-NEXT:   %is_square = icmp eq ptr addrspace(1) %address, @square
; CHECK-NEXT:   %is_circle = icmp eq i64 %i, 0
; CHECK-NEXT:   br i1 %is_circle, label %circle, label %other
; CHECK-NEXT: circle:
; CHECK-NEXT:   call void @seen(ptr inttoptr (i64 1 to ptr))
; CHECK-NEXT:   ret float 0x0000000000000000
; CHECK-NEXT: other:
; CHECK-NEXT:   %side = load float, ptr %object, align 4
; CHECK-NEXT:   br i1 %is_square, label %square, label %circle2
; CHECK-NEXT: square:
; CHECK-NEXT:   ret float %side
; CHECK-NEXT: circle2:
; CHECK-NEXT:   ret float 0x3FF0000000000000
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
  %object = load ptr, ptr %place, align 8
  %behind = getelementptr inbounds i8, ptr %place, i64 8
  %vtable = load ptr, ptr %behind, align 8
  %address = addrspacecast ptr %vtable to ptr addrspace(1)
  %is_square = icmp eq ptr addrspace(1) %address, @square
  %is_circle = icmp eq ptr addrspace(1) %address, @circle
  br i1 %is_circle, label %circle, label %other
circle:
  call void @seen(ptr %object)
  ret float 0.0
other:
  %side = load float, ptr %object, align 4
  br i1 %is_square, label %square, label %circle2
square:
  ret float %side
circle2:
  ret float 1.0
}

; LLVM computes the address of a field before the comparisons, and other blocks are between them and
; the loads.
define float @fields(i64 %i, i1 %c) {
; CHECK-LABEL: define float @fields(i64 %i, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @pairs to ptr), i64 %i
; CHECK-NEXT:   %object = load ptr, ptr %place, align 8
; CHECK-NEXT:   %field = getelementptr inbounds i8, ptr %object, i64 4
; CHECK-NEXT:   %beyond = getelementptr inbounds i8, ptr %object, i64 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %place, i64 8
; CHECK-NEXT:   %vtable = load ptr, ptr %behind, align 8
; CHECK-NEXT:   %is_circle = icmp eq i64 %i, 0
; CHECK-NEXT:   br i1 %is_circle, label %circle, label %other
; CHECK-NEXT: circle:
; CHECK-NEXT:   br i1 %c, label %yes, label %no
; CHECK-NEXT: yes:
; CHECK-NEXT:   br label %both
; CHECK-NEXT: no:
; CHECK-NEXT:   br label %both
; CHECK-NEXT: both:
; CHECK-NEXT:   %a = load float, ptr addrspacecast (ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) @pair, i64 4) to ptr), align 4
; CHECK-NEXT:   %b = load float, ptr %beyond, align 4
; CHECK-NEXT:   %sum = fadd float %a, %b
; CHECK-NEXT:   ret float %sum
; CHECK-NEXT: other:
; CHECK-NEXT:   %d = load float, ptr %field, align 4
; CHECK-NEXT:   ret float %d
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @pairs to ptr), i64 %i
  %object = load ptr, ptr %place, align 8
  %field = getelementptr inbounds i8, ptr %object, i64 4
  %beyond = getelementptr inbounds i8, ptr %object, i64 8
  %behind = getelementptr inbounds i8, ptr %place, i64 8
  %vtable = load ptr, ptr %behind, align 8
  %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
  br i1 %is_circle, label %circle, label %other
circle:
  br i1 %c, label %yes, label %no
yes:
  br label %both
no:
  br label %both
both:
  %a = load float, ptr %field, align 4
  %b = load float, ptr %beyond, align 4
  %sum = fadd float %a, %b
  ret float %sum
other:
  %d = load float, ptr %field, align 4
  ret float %d
}

; The block has two predecessors, so the index is not known there.
define void @joined(i64 %i, i1 %c) {
; CHECK-LABEL: define void @joined(i64 %i, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
; CHECK-NEXT:   %object = load ptr, ptr %place, align 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %place, i64 8
; CHECK-NEXT:   %vtable = load ptr, ptr %behind, align 8
; CHECK-NEXT:   %address = addrspacecast ptr %vtable to ptr addrspace(1)
; CHECK-NEXT:   %is_circle = icmp eq i64 %i, 0
; CHECK-NEXT:   br i1 %is_circle, label %joined, label %other
; CHECK-NEXT: other:
; CHECK-NEXT:   br i1 %c, label %joined, label %end
; CHECK-NEXT: joined:
; CHECK-NEXT:   call void @seen(ptr %object)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
  %object = load ptr, ptr %place, align 8
  %behind = getelementptr inbounds i8, ptr %place, i64 8
  %vtable = load ptr, ptr %behind, align 8
  %address = addrspacecast ptr %vtable to ptr addrspace(1)
  %is_circle = icmp eq ptr addrspace(1) %address, @circle
  br i1 %is_circle, label %joined, label %other
other:
  br i1 %c, label %joined, label %end
joined:
  call void @seen(ptr %object)
  br label %end
end:
  ret void
}

; The object is of the index of this iteration, and the comparison of the iteration before.
define void @iterations(i64 %n) {
; CHECK-LABEL: define void @iterations(i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %loop ], [ %next, %again ]
; CHECK-NEXT:   %was_circle = phi i1 [ true, %start ], [ %is_circle, %loop ], [ true, %again ]
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
; CHECK-NEXT:   %object = load ptr, ptr %place, align 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %place, i64 8
; CHECK-NEXT:   %vtable = load ptr, ptr %behind, align 8
; CHECK-NEXT:   %address = addrspacecast ptr %vtable to ptr addrspace(1)
; CHECK-NEXT:   %is_circle = icmp eq i64 %i, 0
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   br i1 %was_circle, label %again, label %loop
; CHECK-NEXT: again:
; CHECK-NEXT:   call void @seen(ptr %object)
; CHECK-NEXT:   %more = icmp ult i64 %next, %n
; CHECK-NEXT:   br i1 %more, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ], [ %next, %again ]
  %was_circle = phi i1 [ true, %start ], [ %is_circle, %loop ], [ true, %again ]
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
  %object = load ptr, ptr %place, align 8
  %behind = getelementptr inbounds i8, ptr %place, i64 8
  %vtable = load ptr, ptr %behind, align 8
  %address = addrspacecast ptr %vtable to ptr addrspace(1)
  %is_circle = icmp eq ptr addrspace(1) %address, @circle
  %next = add i64 %i, 1
  br i1 %was_circle, label %again, label %loop
again:
  call void @seen(ptr %object)
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; Both targets of the branch are the same block.
define void @same(i64 %i) {
; CHECK-LABEL: define void @same(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
; CHECK-NEXT:   %object = load ptr, ptr %place, align 8
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %place, i64 8
; CHECK-NEXT:   %vtable = load ptr, ptr %behind, align 8
; CHECK-NEXT:   %address = addrspacecast ptr %vtable to ptr addrspace(1)
; CHECK-NEXT:   %is_circle = icmp eq i64 %i, 0
; CHECK-NEXT:   br i1 %is_circle, label %end, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   call void @seen(ptr %object)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @shapes to ptr), i64 %i
  %object = load ptr, ptr %place, align 8
  %behind = getelementptr inbounds i8, ptr %place, i64 8
  %vtable = load ptr, ptr %behind, align 8
  %address = addrspacecast ptr %vtable to ptr addrspace(1)
  %is_circle = icmp eq ptr addrspace(1) %address, @circle
  br i1 %is_circle, label %end, label %end
end:
  call void @seen(ptr %object)
  ret void
}

; A variable that is not constant stays.
define i1 @variable(i64 %i) {
; CHECK-LABEL: define i1 @variable(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @mutable to ptr), i64 %i
; CHECK-NEXT:   %vtable = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
; CHECK-NEXT:   ret i1 %is_circle
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @mutable to ptr), i64 %i
  %vtable = load ptr, ptr %place, align 8
  %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
  ret i1 %is_circle
}

; A word with two values stays.
define i1 @written(i64 %i, i1 %c) {
; CHECK-LABEL: define i1 @written(i64 %i, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca [2 x ptr], align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
; CHECK-NEXT:   br i1 %c, label %more, label %last
; CHECK-NEXT: more:
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @line to ptr), ptr %table, align 8
; CHECK-NEXT:   br label %last
; CHECK-NEXT: last:
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr %table, i64 %i
; CHECK-NEXT:   %vtable = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
; CHECK-NEXT:   ret i1 %is_circle
; CHECK-NEXT: }
start:
  %table = alloca [2 x ptr], align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
  store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
  br i1 %c, label %more, label %last
more:
  store ptr addrspacecast (ptr addrspace(1) @line to ptr), ptr %table, align 8
  br label %last
last:
  %place = getelementptr inbounds ptr, ptr %table, i64 %i
  %vtable = load ptr, ptr %place, align 8
  %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
  ret i1 %is_circle
}

; A table whose address is passed to a function stays, and so does one that is written at a variable
; index or in halves of words.
define i1 @passed(i64 %i) {
; CHECK-LABEL: define i1 @passed(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca [2 x ptr], align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
; CHECK-NEXT:   call void @seen(ptr %table)
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr %table, i64 %i
; CHECK-NEXT:   %vtable = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
; CHECK-NEXT:   ret i1 %is_circle
; CHECK-NEXT: }
start:
  %table = alloca [2 x ptr], align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
  store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
  call void @seen(ptr %table)
  %place = getelementptr inbounds ptr, ptr %table, i64 %i
  %vtable = load ptr, ptr %place, align 8
  %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
  ret i1 %is_circle
}

define i1 @indexed(i64 %i, i64 %j) {
; CHECK-LABEL: define i1 @indexed(i64 %i, i64 %j) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca [2 x ptr], align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
; CHECK-NEXT:   %b = getelementptr inbounds ptr, ptr %table, i64 %j
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %b, align 8
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr %table, i64 %i
; CHECK-NEXT:   %vtable = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
; CHECK-NEXT:   ret i1 %is_circle
; CHECK-NEXT: }
start:
  %table = alloca [2 x ptr], align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
  store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
  %b = getelementptr inbounds ptr, ptr %table, i64 %j
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %b, align 8
  %place = getelementptr inbounds ptr, ptr %table, i64 %i
  %vtable = load ptr, ptr %place, align 8
  %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
  ret i1 %is_circle
}

define i1 @halves(i64 %i) {
; CHECK-LABEL: define i1 @halves(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca [2 x ptr], align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
; CHECK-NEXT:   store i32 0, ptr %a, align 4
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr %table, i64 %i
; CHECK-NEXT:   %vtable = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
; CHECK-NEXT:   ret i1 %is_circle
; CHECK-NEXT: }
start:
  %table = alloca [2 x ptr], align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
  store ptr addrspacecast (ptr addrspace(1) @square to ptr), ptr %a, align 8
  store i32 0, ptr %a, align 4
  %place = getelementptr inbounds ptr, ptr %table, i64 %i
  %vtable = load ptr, ptr %place, align 8
  %is_circle = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @circle to ptr)
  ret i1 %is_circle
}

; An address behind a global variable may be that of another variable.
define i1 @behind(i64 %i) {
; CHECK-LABEL: define i1 @behind(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca [2 x ptr], align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
; CHECK-NEXT:   store ptr addrspacecast (ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) @circle, i64 32) to ptr), ptr %a, align 8
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr %table, i64 %i
; CHECK-NEXT:   %vtable = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_square = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @square to ptr)
; CHECK-NEXT:   ret i1 %is_square
; CHECK-NEXT: }
start:
  %table = alloca [2 x ptr], align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  store ptr addrspacecast (ptr addrspace(1) @circle to ptr), ptr %table, align 8
  store ptr addrspacecast (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @circle, i64 32) to ptr), ptr %a, align 8
  %place = getelementptr inbounds ptr, ptr %table, i64 %i
  %vtable = load ptr, ptr %place, align 8
  %is_square = icmp eq ptr %vtable, addrspacecast (ptr addrspace(1) @square to ptr)
  ret i1 %is_square
}

; A local table of functions.
define i1 @functions(i64 %i) {
; CHECK-LABEL: define i1 @functions(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca { [3 x i64] }, align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   %b = getelementptr inbounds i8, ptr %table, i64 16
; CHECK-NEXT:   store i64 ptrtoint (ptr @first to i64), ptr %table, align 8
; CHECK-NEXT:   store ptr @second, ptr %a, align 8
; CHECK-NEXT:   store i64 ptrtoint (ptr @third to i64), ptr %b, align 8
; CHECK-NEXT:   %place = getelementptr inbounds [8 x i8], ptr %table, i64 %i
; CHECK-NEXT:   %function = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_second = icmp eq i64 %i, 1
; CHECK-NEXT:   %is_third = icmp eq i64 %i, 2
; CHECK-NEXT:   %either = or i1 %is_second, %is_third
; CHECK-NEXT:   ret i1 %either
; CHECK-NEXT: }
start:
  %table = alloca { [3 x i64] }, align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  %b = getelementptr inbounds i8, ptr %table, i64 16
  store i64 ptrtoint (ptr @first to i64), ptr %table, align 8
  store ptr @second, ptr %a, align 8
  store i64 ptrtoint (ptr @third to i64), ptr %b, align 8
  %place = getelementptr inbounds [8 x i8], ptr %table, i64 %i
  %function = load ptr, ptr %place, align 8
  %is_second = icmp eq ptr %function, @second
  %is_third = icmp eq ptr %function, @third
  %either = or i1 %is_second, %is_third
  ret i1 %either
}

; A declaration may be another name of one of the others.
define i1 @declared(i64 %i) {
; CHECK-LABEL: define i1 @declared(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %table = alloca { [2 x i64] }, align 8
; CHECK-NEXT:   %a = getelementptr inbounds i8, ptr %table, i64 8
; CHECK-NEXT:   store i64 ptrtoint (ptr @seen to i64), ptr %table, align 8
; CHECK-NEXT:   store ptr @second, ptr %a, align 8
; CHECK-NEXT:   %place = getelementptr inbounds [8 x i8], ptr %table, i64 %i
; CHECK-NEXT:   %function = load ptr, ptr %place, align 8
; CHECK-NEXT:   %is_second = icmp eq ptr %function, @second
; CHECK-NEXT:   ret i1 %is_second
; CHECK-NEXT: }
start:
  %table = alloca { [2 x i64] }, align 8
  %a = getelementptr inbounds i8, ptr %table, i64 8
  store i64 ptrtoint (ptr @seen to i64), ptr %table, align 8
  store ptr @second, ptr %a, align 8
  %place = getelementptr inbounds [8 x i8], ptr %table, i64 %i
  %function = load ptr, ptr %place, align 8
  %is_second = icmp eq ptr %function, @second
  ret i1 %is_second
}
