; RUN: opt --passes=convergence,hoist_calls

declare void @llvm.lifetime.start.p0(i64, ptr)
declare void @llvm.nvvm.barrier0() convergent

define internal i32 @number(ptr %text) {
start:
  br label %next

next:
  %digit = load i32, ptr %text, align 4
  %is_last = icmp eq i32 %digit, 0
  br i1 %is_last, label %end, label %next

end:
  ret i32 %digit
}

; Calls a function with a loop.
define internal i32 @token(ptr %text) {
start:
  %number = call i32 @number(ptr %text)
  ret i32 %number
}

define internal i32 @letter(ptr %text) {
start:
  %letter = load i32, ptr %text, align 4
  ret i32 %letter
}

define internal i32 @wait(ptr %text) {
start:
  call void @llvm.nvvm.barrier0()
  %number = call i32 @number(ptr %text)
  ret i32 %number
}

; Three of five arms begin with the same call. One of them starts the lifetime of a variable.
define i32 @some(ptr %text, i8 %kind) {
start:
  %variable = alloca i32, align 4
  switch i8 %kind, label %none [
    i8 77, label %point
    i8 76, label %point
    i8 72, label %across
    i8 86, label %down
    i8 90, label %none
  ]

point:
  call void @llvm.lifetime.start.p0(i64 4, ptr %variable)
  %x = call i32 @token(ptr %text)
  %y = call i32 @token(ptr %text)
  %sum = add i32 %x, %y
  br label %end

across:
  %width = zext i8 %kind to i32
  %dx = call i32 @token(ptr %text)
  %scaled = mul i32 %dx, %width
  br label %end

down:
  %dy = call i32 @token(ptr %text)
  br label %end

none:
  br label %end

end:
  %result = phi i32 [ %sum, %point ], [ %scaled, %across ], [ %dy, %down ], [ 0, %none ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @some(ptr %text, i8 %kind) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %variable = alloca i32, align 4
; CHECK-NEXT:   switch i8 %kind, label %none [
; CHECK-NEXT:     i8 77, label %hoisted
; CHECK-NEXT:     i8 76, label %hoisted
; CHECK-NEXT:     i8 72, label %hoisted
; CHECK-NEXT:     i8 86, label %hoisted
; CHECK-NEXT:     i8 90, label %none
; CHECK-NEXT:   ]
; CHECK-NEXT: point:
; CHECK-NEXT:   call void @llvm.lifetime.start.p0(i64 4, ptr %variable)
; CHECK-NEXT:   %y = call i32 @token(ptr %text)
; CHECK-NEXT:   %sum = add i32 %x, %y
; CHECK-NEXT:   br label %end
; CHECK-NEXT: across:
; CHECK-NEXT:   %width = zext i8 %kind to i32
; CHECK-NEXT:   %scaled = mul i32 %x, %width
; CHECK-NEXT:   br label %end
; CHECK-NEXT: down:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: none:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i32 [ %sum, %point ], [ %scaled, %across ], [ %x, %down ], [ 0, %none ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: hoisted:
; CHECK-NEXT:   %x = call i32 @token(ptr %text)
; CHECK-NEXT:   switch i8 %kind, label %down [
; CHECK-NEXT:     i8 77, label %point
; CHECK-NEXT:     i8 76, label %point
; CHECK-NEXT:     i8 72, label %across
; CHECK-NEXT:   ]
; CHECK-NEXT: }

; The default begins with the call, too.
define i32 @default(ptr %text, i8 %kind) {
start:
  switch i8 %kind, label %other [
    i8 1, label %one
    i8 2, label %two
  ]

one:
  %a = call i32 @number(ptr %text)
  br label %end

two:
  br label %end

other:
  %b = call i32 @number(ptr %text)
  %c = add i32 %b, 1
  br label %end

end:
  %result = phi i32 [ %a, %one ], [ 0, %two ], [ %c, %other ]
  ret i32 %result
}
; CHECK-LABEL: define i32 @default(ptr %text, i8 %kind) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i8 %kind, label %hoisted [
; CHECK-NEXT:     i8 1, label %hoisted
; CHECK-NEXT:     i8 2, label %two
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: other:
; CHECK-NEXT:   %c = add i32 %a, 1
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i32 [ %a, %one ], [ 0, %two ], [ %c, %other ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: hoisted:
; CHECK-NEXT:   %a = call i32 @number(ptr %text)
; CHECK-NEXT:   switch i8 %kind, label %other [
; CHECK-NEXT:     i8 1, label %one
; CHECK-NEXT:   ]
; CHECK-NEXT: }

; All arms that are reached begin with the call: no other branch is needed, so the function may be short.
define i32 @all(ptr %text, i8 %kind, i1 %which) {
start:
  br i1 %which, label %first, label %second

first:
  %a = call i32 @letter(ptr %text)
  switch i8 %kind, label %never [
    i8 1, label %one
    i8 2, label %two
  ]

second:
  %b = call i32 @letter(ptr %text)
  %c = mul i32 %b, 3
  ret i32 %c

one:
  %d = call i32 @letter(ptr %text)
  ret i32 %d

two:
  %e = call i32 @letter(ptr %text)
  %f = mul i32 %e, %a
  ret i32 %f

never:
  unreachable
}
; CHECK-LABEL: define i32 @all(ptr %text, i8 %kind, i1 %which) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %a = call i32 @letter(ptr %text)
; CHECK-NEXT:   br i1 %which, label %first, label %second
; CHECK-NEXT: first:
; CHECK-NEXT:   %d = call i32 @letter(ptr %text)
; CHECK-NEXT:   switch i8 %kind, label %never [
; CHECK-NEXT:     i8 1, label %one
; CHECK-NEXT:     i8 2, label %two
; CHECK-NEXT:   ]
; CHECK-NEXT: second:
; CHECK-NEXT:   %c = mul i32 %a, 3
; CHECK-NEXT:   ret i32 %c
; CHECK-NEXT: one:
; CHECK-NEXT:   ret i32 %d
; CHECK-NEXT: two:
; CHECK-NEXT:   %f = mul i32 %d, %a
; CHECK-NEXT:   ret i32 %f
; CHECK-NEXT: never:
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; A short function is not worth another branch.
define i32 @short(ptr %text, i8 %kind) {
start:
  switch i8 %kind, label %other [
    i8 1, label %one
    i8 2, label %two
  ]

one:
  %a = call i32 @letter(ptr %text)
  ret i32 %a

two:
  %b = call i32 @letter(ptr %text)
  ret i32 %b

other:
  ret i32 0
}
; CHECK-LABEL: define i32 @short(ptr %text, i8 %kind) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i8 %kind, label %other [
; CHECK-NEXT:     i8 1, label %one
; CHECK-NEXT:     i8 2, label %two
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   %a = call i32 @letter(ptr %text)
; CHECK-NEXT:   ret i32 %a
; CHECK-NEXT: two:
; CHECK-NEXT:   %b = call i32 @letter(ptr %text)
; CHECK-NEXT:   ret i32 %b
; CHECK-NEXT: other:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

; Calls remain that have other arguments, that a store precedes, whose arm has another predecessor, that
; use the variable whose lifetime starts, or that are convergent.
define i32 @others(ptr %text, ptr %other, i8 %kind, i1 %again) {
start:
  %variable = alloca i32, align 4
  switch i8 %kind, label %zero [
    i8 1, label %one
    i8 2, label %two
    i8 3, label %three
    i8 4, label %four
    i8 5, label %five
    i8 6, label %six
    i8 7, label %seven
    i8 8, label %eight
  ]

one:
  %a = call i32 @number(ptr %text)
  ret i32 %a

two:
  %b = call i32 @number(ptr %other)
  ret i32 %b

three:
  store i32 0, ptr %other, align 4
  %c = call i32 @number(ptr %text)
  ret i32 %c

four:
  %d = call i32 @number(ptr %text)
  br i1 %again, label %four, label %zero

five:
  call void @llvm.lifetime.start.p0(i64 4, ptr %variable)
  %e = call i32 @number(ptr %variable)
  ret i32 %e

six:
  call void @llvm.lifetime.start.p0(i64 4, ptr %variable)
  %f = call i32 @number(ptr %variable)
  ret i32 %f

seven:
  %g = call i32 @wait(ptr %text)
  ret i32 %g

eight:
  %h = call i32 @wait(ptr %text)
  ret i32 %h

zero:
  ret i32 0
}
; CHECK-LABEL: define i32 @others(ptr %text, ptr %other, i8 %kind, i1 %again) convergent {
; CHECK-NEXT: start:
; CHECK-NEXT:   %variable = alloca i32, align 4
; CHECK-NEXT:   switch i8 %kind, label %zero [
; CHECK-NEXT:     i8 1, label %one
; CHECK-NEXT:     i8 2, label %two
; CHECK-NEXT:     i8 3, label %three
; CHECK-NEXT:     i8 4, label %four
; CHECK-NEXT:     i8 5, label %five
; CHECK-NEXT:     i8 6, label %six
; CHECK-NEXT:     i8 7, label %seven
; CHECK-NEXT:     i8 8, label %eight
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   %a = call i32 @number(ptr %text)
; CHECK-NEXT:   ret i32 %a
; CHECK-NEXT: two:
; CHECK-NEXT:   %b = call i32 @number(ptr %other)
; CHECK-NEXT:   ret i32 %b
; CHECK-NEXT: three:
; CHECK-NEXT:   store i32 0, ptr %other, align 4
; CHECK-NEXT:   %c = call i32 @number(ptr %text)
; CHECK-NEXT:   ret i32 %c
; CHECK-NEXT: four:
; CHECK-NEXT:   %d = call i32 @number(ptr %text)
; CHECK-NEXT:   br i1 %again, label %four, label %zero
; CHECK-NEXT: five:
; CHECK-NEXT:   call void @llvm.lifetime.start.p0(i64 4, ptr %variable)
; CHECK-NEXT:   %e = call i32 @number(ptr %variable)
; CHECK-NEXT:   ret i32 %e
; CHECK-NEXT: six:
; CHECK-NEXT:   call void @llvm.lifetime.start.p0(i64 4, ptr %variable)
; CHECK-NEXT:   %f = call i32 @number(ptr %variable)
; CHECK-NEXT:   ret i32 %f
; CHECK-NEXT: seven:
; CHECK-NEXT:   %g = call i32 @wait(ptr %text) convergent
; CHECK-NEXT:   ret i32 %g
; CHECK-NEXT: eight:
; CHECK-NEXT:   %h = call i32 @wait(ptr %text) convergent
; CHECK-NEXT:   ret i32 %h
; CHECK-NEXT: zero:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }
