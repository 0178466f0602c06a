; RUN: opt --passes=convergence,merge_calls

declare void @llvm.lifetime.end.p0(i64, ptr)
declare void @llvm.nvvm.barrier0() convergent

define internal { ptr, i64 } @nth(ptr %it, i64 %n) {
start:
  %a = insertvalue { ptr, i64 } undef, ptr %it, 0
  %b = insertvalue { ptr, i64 } %a, i64 %n, 1
  ret { ptr, i64 } %b
}

define internal i64 @wait(i64 %n) {
start:
  call void @llvm.nvvm.barrier0()
  ret i64 %n
}

; As in `Skip::nth`: three calls with other numbers and the same addresses become one.
define void @numbers_differ(ptr %skip, ptr %result, i32 %kind, i64 %n, i64 %m) {
start:
  switch i32 %kind, label %first [
    i32 1, label %second
    i32 2, label %third
  ]

first:
  %it1 = getelementptr inbounds i8, ptr %skip, i64 8
  %r1 = call { ptr, i64 } @nth(ptr %it1, i64 %n)
  %p1 = extractvalue { ptr, i64 } %r1, 0
  store ptr %p1, ptr %result, align 8
  call void @llvm.lifetime.end.p0(i64 8, ptr %skip)
  br label %end

second:
  %it2 = getelementptr inbounds i8, ptr %skip, i64 8
  %r2 = call { ptr, i64 } @nth(ptr %it2, i64 %m)
  %p2 = extractvalue { ptr, i64 } %r2, 0
  store ptr %p2, ptr %result, align 8
  call void @llvm.lifetime.end.p0(i64 8, ptr %skip)
  br label %end

third:
  %sum = add i64 %n, %m
  %it3 = getelementptr inbounds i8, ptr %skip, i64 8
  %r3 = call { ptr, i64 } @nth(ptr %it3, i64 %sum)
  %p3 = extractvalue { ptr, i64 } %r3, 0
  store ptr %p3, ptr %result, align 8
  call void @llvm.lifetime.end.p0(i64 8, ptr %skip)
  br label %end

end:
  ret void
}
; CHECK-LABEL: define void @numbers_differ(ptr %skip, ptr %result, i32 %kind, i64 %n, i64 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %kind, label %first [
; CHECK-NEXT:     i32 1, label %second
; CHECK-NEXT:     i32 2, label %third
; CHECK-NEXT:   ]
; CHECK-NEXT: first:
; CHECK-NEXT:   %it1 = getelementptr inbounds i8, ptr %skip, i64 8
; CHECK-NEXT:   br label %merged
; CHECK-NEXT: second:
; CHECK-NEXT:   %it2 = getelementptr inbounds i8, ptr %skip, i64 8
; CHECK-NEXT:   br label %merged
; CHECK-NEXT: third:
; CHECK-NEXT:   %sum = add i64 %n, %m
; CHECK-NEXT:   %it3 = getelementptr inbounds i8, ptr %skip, i64 8
; CHECK-NEXT:   br label %merged.1
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: merged:
; CHECK-NEXT:   %0 = phi i64 [ %n, %first ], [ %m, %second ]
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %skip, i64 8
; CHECK-NEXT:   br label %merged.1
; CHECK-NEXT: merged.1:
; CHECK-NEXT:   %2 = phi i64 [ %0, %merged ], [ %sum, %third ]
; CHECK-NEXT:   %3 = getelementptr inbounds i8, ptr %skip, i64 8
; CHECK-NEXT:   %r1 = call { ptr, i64 } @nth(ptr %3, i64 %2)
; CHECK-NEXT:   %p1 = extractvalue { ptr, i64 } %r1, 0
; CHECK-NEXT:   store ptr %p1, ptr %result, align 8
; CHECK-NEXT:   call void @llvm.lifetime.end.p0(i64 8, ptr %skip)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: }

; Other addresses: two iterators would have to be in memory.
define void @addresses_differ(ptr %x, ptr %y, i1 %c, i64 %n, i64 %m) {
start:
  br i1 %c, label %first, label %second

first:
  %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
  br label %end

second:
  %r2 = call { ptr, i64 } @nth(ptr %y, i64 %m)
  br label %end

end:
  ret void
}
; CHECK-LABEL: define void @addresses_differ(ptr %x, ptr %y, i1 %c, i64 %n, i64 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %first, label %second
; CHECK-NEXT: first:
; CHECK-NEXT:   %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %r2 = call { ptr, i64 } @nth(ptr %y, i64 %m)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The callee may be simplified for a constant.
define void @constant(ptr %x, i1 %c, i64 %n) {
start:
  br i1 %c, label %first, label %second

first:
  %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
  br label %end

second:
  %r2 = call { ptr, i64 } @nth(ptr %x, i64 2)
  br label %end

end:
  ret void
}
; CHECK-LABEL: define void @constant(ptr %x, i1 %c, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %first, label %second
; CHECK-NEXT: first:
; CHECK-NEXT:   %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %r2 = call { ptr, i64 } @nth(ptr %x, i64 2)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; What follows the calls differs: the second result is stored elsewhere, or the other part of it.
define void @results_differ(ptr %x, ptr %y, i32 %kind, i64 %n, i64 %m) {
start:
  switch i32 %kind, label %first [
    i32 1, label %second
    i32 2, label %third
    i32 3, label %fourth
  ]

first:
  %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
  %p1 = extractvalue { ptr, i64 } %r1, 1
  store i64 %p1, ptr %x, align 8
  br label %end

second:
  %r2 = call { ptr, i64 } @nth(ptr %x, i64 %m)
  %p2 = extractvalue { ptr, i64 } %r2, 1
  store i64 %p2, ptr %y, align 8
  br label %end

third:
  %r3 = call { ptr, i64 } @nth(ptr %x, i64 %m)
  %p3 = extractvalue { ptr, i64 } %r3, 1
  store i64 %m, ptr %x, align 8
  br label %end

fourth:
  %r4 = call { ptr, i64 } @nth(ptr %x, i64 %m)
  br label %end

end:
  ret void
}
; CHECK-LABEL: define void @results_differ(ptr %x, ptr %y, i32 %kind, i64 %n, i64 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %kind, label %first [
; CHECK-NEXT:     i32 1, label %second
; CHECK-NEXT:     i32 2, label %third
; CHECK-NEXT:     i32 3, label %fourth
; CHECK-NEXT:   ]
; CHECK-NEXT: first:
; CHECK-NEXT:   %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
; CHECK-NEXT:   %p1 = extractvalue { ptr, i64 } %r1, 1
; CHECK-NEXT:   store i64 %p1, ptr %x, align 8
; CHECK-NEXT:   br label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %r2 = call { ptr, i64 } @nth(ptr %x, i64 %m)
; CHECK-NEXT:   %p2 = extractvalue { ptr, i64 } %r2, 1
; CHECK-NEXT:   store i64 %p2, ptr %y, align 8
; CHECK-NEXT:   br label %end
; CHECK-NEXT: third:
; CHECK-NEXT:   %r3 = call { ptr, i64 } @nth(ptr %x, i64 %m)
; CHECK-NEXT:   %p3 = extractvalue { ptr, i64 } %r3, 1
; CHECK-NEXT:   store i64 %m, ptr %x, align 8
; CHECK-NEXT:   br label %end
; CHECK-NEXT: fourth:
; CHECK-NEXT:   %r4 = call { ptr, i64 } @nth(ptr %x, i64 %m)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The threads that wait together may not change.
define void @convergent(i1 %c, i64 %n, i64 %m) {
start:
  br i1 %c, label %first, label %second

first:
  %r1 = call i64 @wait(i64 %n)
  br label %end

second:
  %r2 = call i64 @wait(i64 %m)
  br label %end

end:
  ret void
}
; CHECK-LABEL: define void @convergent(i1 %c, i64 %n, i64 %m) convergent {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %first, label %second
; CHECK-NEXT: first:
; CHECK-NEXT:   %r1 = call i64 @wait(i64 %n) convergent
; CHECK-NEXT:   br label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %r2 = call i64 @wait(i64 %m) convergent
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The blocks go to different blocks, or one of them goes to two.
define void @other_successors(ptr %x, i32 %kind, i1 %c, i64 %n, i64 %m) {
start:
  switch i32 %kind, label %first [
    i32 1, label %second
    i32 2, label %third
  ]

first:
  %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
  br label %end

second:
  %r2 = call { ptr, i64 } @nth(ptr %x, i64 %m)
  br label %other

third:
  %r3 = call { ptr, i64 } @nth(ptr %x, i64 %m)
  br i1 %c, label %end, label %other

other:
  br label %end

end:
  ret void
}
; CHECK-LABEL: define void @other_successors(ptr %x, i32 %kind, i1 %c, i64 %n, i64 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %kind, label %first [
; CHECK-NEXT:     i32 1, label %second
; CHECK-NEXT:     i32 2, label %third
; CHECK-NEXT:   ]
; CHECK-NEXT: first:
; CHECK-NEXT:   %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
; CHECK-NEXT:   br label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %r2 = call { ptr, i64 } @nth(ptr %x, i64 %m)
; CHECK-NEXT:   br label %other
; CHECK-NEXT: third:
; CHECK-NEXT:   %r3 = call { ptr, i64 } @nth(ptr %x, i64 %m)
; CHECK-NEXT:   br i1 %c, label %end, label %other
; CHECK-NEXT: other:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The result of the first call is used after the block, and the second block goes back to the loop.
define i64 @loop(ptr %x, i64 %n, i64 %m) {
start:
  br label %first

first:
  %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
  br label %header

header:
  %p1 = extractvalue { ptr, i64 } %r1, 1
  %more = icmp ult i64 %p1, %n
  br i1 %more, label %second, label %end

second:
  %r2 = call { ptr, i64 } @nth(ptr %x, i64 %m)
  br label %header

end:
  ret i64 %p1
}
; CHECK-LABEL: define i64 @loop(ptr %x, i64 %n, i64 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %first
; CHECK-NEXT: first:
; CHECK-NEXT:   %r1 = call { ptr, i64 } @nth(ptr %x, i64 %n)
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %p1 = extractvalue { ptr, i64 } %r1, 1
; CHECK-NEXT:   %more = icmp ult i64 %p1, %n
; CHECK-NEXT:   br i1 %more, label %second, label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %r2 = call { ptr, i64 } @nth(ptr %x, i64 %m)
; CHECK-NEXT:   br label %header
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i64 %p1
; CHECK-NEXT: }
