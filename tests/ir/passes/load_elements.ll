; Fields of an element of a slice are loaded where the first of them is.
; RUN: opt --passes=load_elements

declare void @panic() noreturn

; Each byte is loaded behind the check of the previous one.
define void @joints(ptr noalias readonly align 4 "element"="4" %joints, ptr %out, i64 %i, i8 %len) {
start:
  %joint = getelementptr [4 x i8], ptr %joints, i64 %i
  %a = load i8, ptr %joint, align 4
  %p = icmp ult i8 %a, %len
  br i1 %p, label %second, label %fails
second:
  %at1 = getelementptr i8, ptr %joint, i64 1
  %b = load i8, ptr %at1, align 1
  %q = icmp ult i8 %b, %len
  br i1 %q, label %third, label %fails
third:
  %at3 = getelementptr i8, ptr %joint, i64 3
  %d = load i8, ptr %at3, align 1
  %sum = add i8 %b, %d
  store i8 %sum, ptr %out, align 1
  ret void
fails:
  call void @panic() noreturn
  unreachable
}
; CHECK-LABEL: define void @joints(ptr noalias readonly align 4 %joints, ptr %out, i64 %i, i8 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %joint = getelementptr [4 x i8], ptr %joints, i64 %i
; CHECK-NEXT:   %0 = getelementptr inbounds i8, ptr %joint, i64 0
; CHECK-NEXT:   %1 = load <4 x i8>, ptr %0, align 4
; CHECK-NEXT:   %a = extractelement <4 x i8> %1, i32 0
; CHECK-NEXT:   %p = icmp ult i8 %a, %len
; CHECK-NEXT:   br i1 %p, label %second, label %fails
; CHECK-NEXT: second:
; CHECK-NEXT:   %at1 = getelementptr i8, ptr %joint, i64 1
; CHECK-NEXT:   %b = extractelement <4 x i8> %1, i32 1
; CHECK-NEXT:   %q = icmp ult i8 %b, %len
; CHECK-NEXT:   br i1 %q, label %third, label %fails
; CHECK-NEXT: third:
; CHECK-NEXT:   %at3 = getelementptr i8, ptr %joint, i64 3
; CHECK-NEXT:   %d = extractelement <4 x i8> %1, i32 3
; CHECK-NEXT:   %sum = add i8 %b, %d
; CHECK-NEXT:   store i8 %sum, ptr %out, align 1
; CHECK-NEXT:   ret void
; CHECK-NEXT: fails:
; CHECK-NEXT:   call void @panic() noreturn
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; The last field is loaded before the loop, in which not every iteration reads it.
define void @ray(ptr noalias readonly align 4 "element"="12" %rays, ptr %out, i64 %i, i64 %n) {
start:
  %ray = getelementptr [12 x i8], ptr %rays, i64 %i
  %first = load float, ptr %ray, align 4
  br label %header
header:
  %k = phi i64 [ 0, %start ], [ %next, %latch ]
  %odd = and i64 %k, 1
  %reads = icmp eq i64 %odd, 0
  br i1 %reads, label %then, label %latch
then:
  %at = getelementptr i8, ptr %ray, i64 8
  %last = load float, ptr %at, align 4
  %sum = fadd float %first, %last
  store float %sum, ptr %out, align 4
  br label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %header, label %end
end:
  ret void
}
; CHECK-LABEL: define void @ray(ptr noalias readonly align 4 %rays, ptr %out, i64 %i, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %ray = getelementptr [12 x i8], ptr %rays, i64 %i
; CHECK-NEXT:   %first = load float, ptr %ray, align 4
; CHECK-NEXT:   %0 = getelementptr inbounds i8, ptr %ray, i64 8
; CHECK-NEXT:   %last = load float, ptr %0, align 4
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %k = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %odd = and i64 %k, 1
; CHECK-NEXT:   %reads = icmp eq i64 %odd, 0
; CHECK-NEXT:   br i1 %reads, label %then, label %latch
; CHECK-NEXT: then:
; CHECK-NEXT:   %at = getelementptr i8, ptr %ray, i64 8
; CHECK-NEXT:   %sum = fadd float %first, %last
; CHECK-NEXT:   store float %sum, ptr %out, align 4
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %k, 1
; CHECK-NEXT:   %more = icmp ult i64 %next, %n
; CHECK-NEXT:   br i1 %more, label %header, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; An iterator's pointer advances by whole elements.
define void @iterator(ptr noalias readonly align 8 "element"="8" %from, ptr %out, ptr %end) {
start:
  br label %header
header:
  %at = phi ptr [ %from, %start ], [ %next, %latch ]
  %a = load i32, ptr %at, align 8
  %positive = icmp sgt i32 %a, 0
  br i1 %positive, label %then, label %latch
then:
  %second = getelementptr i8, ptr %at, i64 4
  %b = load i32, ptr %second, align 4
  store i32 %b, ptr %out, align 4
  br label %latch
latch:
  %next = getelementptr [8 x i8], ptr %at, i64 1
  %more = icmp ne ptr %next, %end
  br i1 %more, label %header, label %done
done:
  ret void
}
; CHECK-LABEL: define void @iterator(ptr noalias readonly align 8 %from, ptr %out, ptr %end) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %at = phi ptr [ %from, %start ], [ %next, %latch ]
; CHECK-NEXT:   %0 = getelementptr inbounds i8, ptr %at, i64 0
; CHECK-NEXT:   %1 = load <2 x i32>, ptr %0, align 8
; CHECK-NEXT:   %a = extractelement <2 x i32> %1, i32 0
; CHECK-NEXT:   %positive = icmp sgt i32 %a, 0
; CHECK-NEXT:   br i1 %positive, label %then, label %latch
; CHECK-NEXT: then:
; CHECK-NEXT:   %second = getelementptr i8, ptr %at, i64 4
; CHECK-NEXT:   %b = extractelement <2 x i32> %1, i32 1
; CHECK-NEXT:   store i32 %b, ptr %out, align 4
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = getelementptr [8 x i8], ptr %at, i64 1
; CHECK-NEXT:   %more = icmp ne ptr %next, %end
; CHECK-NEXT:   br i1 %more, label %header, label %done
; CHECK-NEXT: done:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; A step that is not one of whole elements: the second number may be that of the next element.
define void @other_stride(ptr noalias readonly align 8 "element"="8" %from, ptr %out, i64 %i, i64 %n) {
start:
  %at = getelementptr [4 x i8], ptr %from, i64 %i
  %a = load i32, ptr %at, align 4
  br label %header
header:
  %k = phi i64 [ 0, %start ], [ %next, %latch ]
  %odd = and i64 %k, 1
  %reads = icmp eq i64 %odd, 0
  br i1 %reads, label %then, label %latch
then:
  %second = getelementptr i8, ptr %at, i64 4
  %b = load i32, ptr %second, align 4
  %sum = add i32 %a, %b
  store i32 %sum, ptr %out, align 4
  br label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %header, label %end
end:
  ret void
}
; CHECK-LABEL: define void @other_stride(ptr noalias readonly align 8 %from, ptr %out, i64 %i, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %at = getelementptr [4 x i8], ptr %from, i64 %i
; CHECK-NEXT:   %a = load i32, ptr %at, align 4
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %k = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %odd = and i64 %k, 1
; CHECK-NEXT:   %reads = icmp eq i64 %odd, 0
; CHECK-NEXT:   br i1 %reads, label %then, label %latch
; CHECK-NEXT: then:
; CHECK-NEXT:   %second = getelementptr i8, ptr %at, i64 4
; CHECK-NEXT:   %b = load i32, ptr %second, align 4
; CHECK-NEXT:   %sum = add i32 %a, %b
; CHECK-NEXT:   store i32 %sum, ptr %out, align 4
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %k, 1
; CHECK-NEXT:   %more = icmp ult i64 %next, %n
; CHECK-NEXT:   br i1 %more, label %header, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The next element may be behind the end.
define void @next_element(ptr noalias readonly align 8 "element"="8" %from, ptr %out, i64 %i, i1 %p) {
start:
  %at = getelementptr [8 x i8], ptr %from, i64 %i
  %second = getelementptr i8, ptr %at, i64 4
  %a = load i32, ptr %second, align 4
  br i1 %p, label %then, label %end
then:
  %third = getelementptr i8, ptr %at, i64 8
  %b = load i32, ptr %third, align 8
  %sum = add i32 %a, %b
  store i32 %sum, ptr %out, align 4
  br label %end
end:
  ret void
}
; CHECK-LABEL: define void @next_element(ptr noalias readonly align 8 %from, ptr %out, i64 %i, i1 %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %at = getelementptr [8 x i8], ptr %from, i64 %i
; CHECK-NEXT:   %second = getelementptr i8, ptr %at, i64 4
; CHECK-NEXT:   %a = load i32, ptr %second, align 4
; CHECK-NEXT:   br i1 %p, label %then, label %end
; CHECK-NEXT: then:
; CHECK-NEXT:   %third = getelementptr i8, ptr %at, i64 8
; CHECK-NEXT:   %b = load i32, ptr %third, align 8
; CHECK-NEXT:   %sum = add i32 %a, %b
; CHECK-NEXT:   store i32 %sum, ptr %out, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Neither load dominates the other.
define void @either(ptr noalias readonly align 8 "element"="8" %from, ptr %out, i64 %i, i1 %p) {
start:
  %at = getelementptr [8 x i8], ptr %from, i64 %i
  br i1 %p, label %then, label %otherwise
then:
  %a = load i32, ptr %at, align 8
  store i32 %a, ptr %out, align 4
  ret void
otherwise:
  %second = getelementptr i8, ptr %at, i64 4
  %b = load i32, ptr %second, align 4
  store i32 %b, ptr %out, align 4
  ret void
}
; CHECK-LABEL: define void @either(ptr noalias readonly align 8 %from, ptr %out, i64 %i, i1 %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %at = getelementptr [8 x i8], ptr %from, i64 %i
; CHECK-NEXT:   br i1 %p, label %then, label %otherwise
; CHECK-NEXT: then:
; CHECK-NEXT:   %a = load i32, ptr %at, align 8
; CHECK-NEXT:   store i32 %a, ptr %out, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: otherwise:
; CHECK-NEXT:   %second = getelementptr i8, ptr %at, i64 4
; CHECK-NEXT:   %b = load i32, ptr %second, align 4
; CHECK-NEXT:   store i32 %b, ptr %out, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; A slice that the kernel may write, and volatile loads.
define void @others(ptr noalias align 8 "element"="8" %own, ptr noalias readonly align 8 "element"="8" %from, i1 %p) {
start:
  %a = load i32, ptr %own, align 8
  %b = load i32, ptr %from, align 8
  br i1 %p, label %then, label %end
then:
  store i32 %b, ptr %own, align 4
  %at1 = getelementptr i8, ptr %own, i64 4
  %c = load i32, ptr %at1, align 4
  %at2 = getelementptr i8, ptr %from, i64 4
  %d = load volatile i32, ptr %at2, align 4
  %sum = add i32 %c, %d
  store i32 %sum, ptr %own, align 4
  br label %end
end:
  ret void
}
; CHECK-LABEL: define void @others(ptr noalias align 8 %own, ptr noalias readonly align 8 %from, i1 %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %a = load i32, ptr %own, align 8
; CHECK-NEXT:   %b = load i32, ptr %from, align 8
; CHECK-NEXT:   br i1 %p, label %then, label %end
; CHECK-NEXT: then:
; CHECK-NEXT:   store i32 %b, ptr %own, align 4
; CHECK-NEXT:   %at1 = getelementptr i8, ptr %own, i64 4
; CHECK-NEXT:   %c = load i32, ptr %at1, align 4
; CHECK-NEXT:   %at2 = getelementptr i8, ptr %from, i64 4
; CHECK-NEXT:   %d = load volatile i32, ptr %at2, align 4
; CHECK-NEXT:   %sum = add i32 %c, %d
; CHECK-NEXT:   store i32 %sum, ptr %own, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The index is below the length before the loop, in which not every iteration reads the element.
define void @own(ptr noalias readonly align 8 "element"="8" %items, i64 %len, ptr %out, i64 %i, i64 %n) {
start:
  %inside = icmp ult i64 %i, %len
  br i1 %inside, label %checked, label %fails
checked:
  %item = getelementptr [8 x i8], ptr %items, i64 %i
  %some = icmp ne i64 %n, 0
  br i1 %some, label %before, label %end
before:
  br label %outer
outer:
  %k = phi i64 [ 0, %before ], [ %following, %outer_latch ]
  br label %header
header:
  %j = phi i64 [ 0, %outer ], [ %next, %latch ]
  %reads = icmp ugt i64 %j, %k
  br i1 %reads, label %then, label %latch
then:
  %at4 = getelementptr i8, ptr %item, i64 4
  %a = load float, ptr %at4, align 4
  %b = load float, ptr %item, align 4
  %sum = fadd float %a, %b
  store float %sum, ptr %out, align 4
  br label %latch
latch:
  %next = add i64 %j, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %header, label %outer_latch
outer_latch:
  %following = add i64 %k, 1
  %again = icmp ult i64 %following, %n
  br i1 %again, label %outer, label %end
end:
  ret void
fails:
  call void @panic() noreturn
  unreachable
}
; CHECK-LABEL: define void @own(ptr noalias readonly align 8 %items, i64 %len, ptr %out, i64 %i, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %inside = icmp ult i64 %i, %len
; CHECK-NEXT:   br i1 %inside, label %checked, label %fails
; CHECK-NEXT: checked:
; CHECK-NEXT:   %item = getelementptr [8 x i8], ptr %items, i64 %i
; CHECK-NEXT:   %some = icmp ne i64 %n, 0
; CHECK-NEXT:   br i1 %some, label %before, label %end
; CHECK-NEXT: before:
; CHECK-NEXT:   %0 = getelementptr [8 x i8], ptr %items, i64 %i
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %0, i64 4
; CHECK-NEXT:   %a = load float, ptr %1, align 4
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %0, i64 0
; CHECK-NEXT:   %b = load float, ptr %2, align 4
; CHECK-NEXT:   br label %outer
; CHECK-NEXT: outer:
; CHECK-NEXT:   %k = phi i64 [ 0, %before ], [ %following, %outer_latch ]
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %j = phi i64 [ 0, %outer ], [ %next, %latch ]
; CHECK-NEXT:   %reads = icmp ugt i64 %j, %k
; CHECK-NEXT:   br i1 %reads, label %then, label %latch
; CHECK-NEXT: then:
; CHECK-NEXT:   %at4 = getelementptr i8, ptr %item, i64 4
; CHECK-NEXT:   %sum = fadd float %a, %b
; CHECK-NEXT:   store float %sum, ptr %out, align 4
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %j, 1
; CHECK-NEXT:   %more = icmp ult i64 %next, %n
; CHECK-NEXT:   br i1 %more, label %header, label %outer_latch
; CHECK-NEXT: outer_latch:
; CHECK-NEXT:   %following = add i64 %k, 1
; CHECK-NEXT:   %again = icmp ult i64 %following, %n
; CHECK-NEXT:   br i1 %again, label %outer, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: fails:
; CHECK-NEXT:   call void @panic() noreturn
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; The index is compared in the loop, with another number, or only on one of the ways to the loop, and
; the next element is another one.
define void @unchecked(ptr noalias readonly align 8 "element"="8" %items, i64 %len, ptr %out, i64 %i, i64 %n, i1 %p) {
start:
  br i1 %p, label %first, label %loop
first:
  %inside = icmp ult i64 %i, %n
  br i1 %inside, label %second, label %fails
second:
  %item = getelementptr [8 x i8], ptr %items, i64 %i
  br label %header
header:
  %j = phi i64 [ 0, %second ], [ %next, %latch ]
  %reads = icmp ugt i64 %j, %i
  br i1 %reads, label %then, label %latch
then:
  %a = load float, ptr %item, align 4
  store float %a, ptr %out, align 4
  br label %latch
latch:
  %next = add i64 %j, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %header, label %loop
loop:
  %k = phi i64 [ 0, %start ], [ 0, %latch ], [ %after, %then2 ]
  %below = icmp ult i64 %k, %len
  br i1 %below, label %then2, label %third
then2:
  %other = getelementptr [8 x i8], ptr %items, i64 %k
  %b = load float, ptr %other, align 4
  store float %b, ptr %out, align 4
  %after = add i64 %k, 1
  br label %loop
third:
  %within = icmp ult i64 %i, %len
  br i1 %within, label %fourth, label %fails
fourth:
  %start_of_it = getelementptr [8 x i8], ptr %items, i64 %i
  br label %header2
header2:
  %m = phi i64 [ 0, %fourth ], [ %next2, %latch2 ]
  %reads2 = icmp ugt i64 %m, %i
  br i1 %reads2, label %then3, label %latch2
then3:
  %after_it = getelementptr i8, ptr %start_of_it, i64 8
  %c = load float, ptr %after_it, align 4
  store float %c, ptr %out, align 4
  br label %latch2
latch2:
  %next2 = add i64 %m, 1
  %more2 = icmp ult i64 %next2, %n
  br i1 %more2, label %header2, label %end
end:
  ret void
fails:
  call void @panic() noreturn
  unreachable
}
; CHECK-LABEL: define void @unchecked(ptr noalias readonly align 8 %items, i64 %len, ptr %out, i64 %i, i64 %n, i1 %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %p, label %first, label %loop
; CHECK-NEXT: first:
; CHECK-NEXT:   %inside = icmp ult i64 %i, %n
; CHECK-NEXT:   br i1 %inside, label %second, label %fails
; CHECK-NEXT: second:
; CHECK-NEXT:   %item = getelementptr [8 x i8], ptr %items, i64 %i
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %j = phi i64 [ 0, %second ], [ %next, %latch ]
; CHECK-NEXT:   %reads = icmp ugt i64 %j, %i
; CHECK-NEXT:   br i1 %reads, label %then, label %latch
; CHECK-NEXT: then:
; CHECK-NEXT:   %a = load float, ptr %item, align 4
; CHECK-NEXT:   store float %a, ptr %out, align 4
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = add i64 %j, 1
; CHECK-NEXT:   %more = icmp ult i64 %next, %n
; CHECK-NEXT:   br i1 %more, label %header, label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %k = phi i64 [ 0, %start ], [ 0, %latch ], [ %after, %then2 ]
; CHECK-NEXT:   %below = icmp ult i64 %k, %len
; CHECK-NEXT:   br i1 %below, label %then2, label %third
; CHECK-NEXT: then2:
; CHECK-NEXT:   %other = getelementptr [8 x i8], ptr %items, i64 %k
; CHECK-NEXT:   %b = load float, ptr %other, align 4
; CHECK-NEXT:   store float %b, ptr %out, align 4
; CHECK-NEXT:   %after = add i64 %k, 1
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: third:
; CHECK-NEXT:   %within = icmp ult i64 %i, %len
; CHECK-NEXT:   br i1 %within, label %fourth, label %fails
; CHECK-NEXT: fourth:
; CHECK-NEXT:   %start_of_it = getelementptr [8 x i8], ptr %items, i64 %i
; CHECK-NEXT:   br label %header2
; CHECK-NEXT: header2:
; CHECK-NEXT:   %m = phi i64 [ 0, %fourth ], [ %next2, %latch2 ]
; CHECK-NEXT:   %reads2 = icmp ugt i64 %m, %i
; CHECK-NEXT:   br i1 %reads2, label %then3, label %latch2
; CHECK-NEXT: then3:
; CHECK-NEXT:   %after_it = getelementptr i8, ptr %start_of_it, i64 8
; CHECK-NEXT:   %c = load float, ptr %after_it, align 4
; CHECK-NEXT:   store float %c, ptr %out, align 4
; CHECK-NEXT:   br label %latch2
; CHECK-NEXT: latch2:
; CHECK-NEXT:   %next2 = add i64 %m, 1
; CHECK-NEXT:   %more2 = icmp ult i64 %next2, %n
; CHECK-NEXT:   br i1 %more2, label %header2, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: fails:
; CHECK-NEXT:   call void @panic() noreturn
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }


; The value of a reference is readable before a check, but not that of a slice. Many values stay in the
; loop.
define void @reference(ptr noalias readonly align 4 "element"="8" "readable" %value, ptr noalias readonly align 4 "element"="8" %slice, ptr noalias readonly align 8 "element"="80" "readable" %large, i64 %n, ptr %out) {
start:
  br label %header
header:
  %i = phi i64 [ 0, %start ], [ %next, %latch ]
  %inside = icmp ult i64 %i, %n
  br i1 %inside, label %latch, label %fails
latch:
  %second = getelementptr i8, ptr %value, i64 4
  %a = load float, ptr %second, align 4
  %b = load float, ptr %value, align 4
  %c = load float, ptr %slice, align 4
  %l0 = load i64, ptr %large, align 8
  %at1 = getelementptr i8, ptr %large, i64 16
  %l1 = load i64, ptr %at1, align 8
  %at2 = getelementptr i8, ptr %large, i64 32
  %l2 = load i64, ptr %at2, align 8
  %at3 = getelementptr i8, ptr %large, i64 48
  %l3 = load i64, ptr %at3, align 8
  %at4 = getelementptr i8, ptr %large, i64 64
  %l4 = load i64, ptr %at4, align 8
  %l5 = load i64, ptr %large, align 8
  %l6 = load i64, ptr %large, align 8
  %l7 = load i64, ptr %large, align 8
  %l8 = load i64, ptr %large, align 8
  %sum = fadd float %a, %b
  store float %sum, ptr %out, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 100
  br i1 %more, label %header, label %end
end:
  ret void
fails:
  call void @panic() noreturn
  unreachable
}
; CHECK-LABEL: define void @reference(ptr noalias readonly align 4 %value, ptr noalias readonly align 4 %slice, ptr noalias readonly align 8 %large, i64 %n, ptr %out) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = getelementptr inbounds i8, ptr %value, i64 4
; CHECK-NEXT:   %a = load float, ptr %0, align 4
; CHECK-NEXT:   %1 = getelementptr inbounds i8, ptr %value, i64 0
; CHECK-NEXT:   %b = load float, ptr %1, align 4
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %inside = icmp ult i64 %i, %n
; CHECK-NEXT:   br i1 %inside, label %latch, label %fails
; CHECK-NEXT: latch:
; CHECK-NEXT:   %second = getelementptr i8, ptr %value, i64 4
; CHECK-NEXT:   %c = load float, ptr %slice, align 4
; CHECK-NEXT:   %l0 = load i64, ptr %large, align 8
; CHECK-NEXT:   %at1 = getelementptr i8, ptr %large, i64 16
; CHECK-NEXT:   %l1 = load i64, ptr %at1, align 8
; CHECK-NEXT:   %at2 = getelementptr i8, ptr %large, i64 32
; CHECK-NEXT:   %l2 = load i64, ptr %at2, align 8
; CHECK-NEXT:   %at3 = getelementptr i8, ptr %large, i64 48
; CHECK-NEXT:   %l3 = load i64, ptr %at3, align 8
; CHECK-NEXT:   %at4 = getelementptr i8, ptr %large, i64 64
; CHECK-NEXT:   %l4 = load i64, ptr %at4, align 8
; CHECK-NEXT:   %l5 = load i64, ptr %large, align 8
; CHECK-NEXT:   %l6 = load i64, ptr %large, align 8
; CHECK-NEXT:   %l7 = load i64, ptr %large, align 8
; CHECK-NEXT:   %l8 = load i64, ptr %large, align 8
; CHECK-NEXT:   %sum = fadd float %a, %b
; CHECK-NEXT:   store float %sum, ptr %out, align 4
; CHECK-NEXT:   %next = add i64 %i, 1
; CHECK-NEXT:   %more = icmp ult i64 %next, 100
; CHECK-NEXT:   br i1 %more, label %header, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret void
; CHECK-NEXT: fails:
; CHECK-NEXT:   call void @panic() noreturn
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; The value of the slot that has the key is loaded with the key, unless another way loads no key, or the
; slots are large.
define void @slots(ptr noalias readonly align 16 "element"="16" %slots, ptr noalias readonly align 16 "element"="32" %large, i64 %i, i64 %j, i64 %key, ptr %to, i1 %p) {
start:
  %at1 = getelementptr [16 x i8], ptr %slots, i64 %i
  %key1 = load i64, ptr %at1, align 16
  %is1 = icmp eq i64 %key1, %key
  br i1 %is1, label %found, label %second
second:
  %at2 = getelementptr [16 x i8], ptr %slots, i64 %j
  %key2 = load i64, ptr %at2, align 16
  %is2 = icmp eq i64 %key2, %key
  br i1 %is2, label %found, label %none
found:
  %index = phi i64 [ %i, %start ], [ %j, %second ]
  %at = getelementptr [16 x i8], ptr %slots, i64 %index
  %field = getelementptr i8, ptr %at, i64 8
  %value = load i64, ptr %field, align 8
  store i64 %value, ptr %to, align 8
  br i1 %p, label %fourth, label %fifth
none:
  ret void
fourth:
  %at4 = getelementptr [32 x i8], ptr %large, i64 %i
  %key4 = load i64, ptr %at4, align 16
  br label %sixth
fifth:
  %at5 = getelementptr [32 x i8], ptr %large, i64 %j
  %key5 = load i64, ptr %at5, align 16
  br label %sixth
sixth:
  %other = phi i64 [ %i, %fourth ], [ %j, %fifth ]
  %k = phi i64 [ %i, %fourth ], [ %key, %fifth ]
  %keys = phi i64 [ %key4, %fourth ], [ %key5, %fifth ]
  %at6 = getelementptr [32 x i8], ptr %large, i64 %other
  %field6 = getelementptr i8, ptr %at6, i64 8
  %value6 = load i64, ptr %field6, align 8
  %at7 = getelementptr [16 x i8], ptr %slots, i64 %k
  %field7 = getelementptr i8, ptr %at7, i64 8
  %value7 = load i64, ptr %field7, align 8
  %sum = add i64 %value6, %keys
  %all = add i64 %sum, %value7
  store i64 %all, ptr %to, align 8
  ret void
}
; CHECK-LABEL: define void @slots(ptr noalias readonly align 16 %slots, ptr noalias readonly align 16 %large, i64 %i, i64 %j, i64 %key, ptr %to, i1 %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %at1 = getelementptr [16 x i8], ptr %slots, i64 %i
; CHECK-NEXT:   %0 = getelementptr inbounds i8, ptr %at1, i64 0
; CHECK-NEXT:   %1 = load <2 x i64>, ptr %0, align 16
; CHECK-NEXT:   %key1 = extractelement <2 x i64> %1, i32 0
; CHECK-NEXT:   %is1 = icmp eq i64 %key1, %key
; CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %at1, i64 8
; CHECK-NEXT:   %3 = extractelement <2 x i64> %1, i32 1
; CHECK-NEXT:   br i1 %is1, label %found, label %second
; CHECK-NEXT: second:
; CHECK-NEXT:   %at2 = getelementptr [16 x i8], ptr %slots, i64 %j
; CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %at2, i64 0
; CHECK-NEXT:   %5 = load <2 x i64>, ptr %4, align 16
; CHECK-NEXT:   %key2 = extractelement <2 x i64> %5, i32 0
; CHECK-NEXT:   %is2 = icmp eq i64 %key2, %key
; CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %at2, i64 8
; CHECK-NEXT:   %7 = extractelement <2 x i64> %5, i32 1
; CHECK-NEXT:   br i1 %is2, label %found, label %none
; CHECK-NEXT: found:
; CHECK-NEXT:   %value = phi i64 [ %3, %start ], [ %7, %second ]
; CHECK-NEXT:   %index = phi i64 [ %i, %start ], [ %j, %second ]
; CHECK-NEXT:   %at = getelementptr [16 x i8], ptr %slots, i64 %index
; CHECK-NEXT:   %field = getelementptr i8, ptr %at, i64 8
; CHECK-NEXT:   store i64 %value, ptr %to, align 8
; CHECK-NEXT:   br i1 %p, label %fourth, label %fifth
; CHECK-NEXT: none:
; CHECK-NEXT:   ret void
; CHECK-NEXT: fourth:
; CHECK-NEXT:   %at4 = getelementptr [32 x i8], ptr %large, i64 %i
; CHECK-NEXT:   %key4 = load i64, ptr %at4, align 16
; CHECK-NEXT:   br label %sixth
; CHECK-NEXT: fifth:
; CHECK-NEXT:   %at5 = getelementptr [32 x i8], ptr %large, i64 %j
; CHECK-NEXT:   %key5 = load i64, ptr %at5, align 16
; CHECK-NEXT:   br label %sixth
; CHECK-NEXT: sixth:
; CHECK-NEXT:   %other = phi i64 [ %i, %fourth ], [ %j, %fifth ]
; CHECK-NEXT:   %k = phi i64 [ %i, %fourth ], [ %key, %fifth ]
; CHECK-NEXT:   %keys = phi i64 [ %key4, %fourth ], [ %key5, %fifth ]
; CHECK-NEXT:   %at6 = getelementptr [32 x i8], ptr %large, i64 %other
; CHECK-NEXT:   %field6 = getelementptr i8, ptr %at6, i64 8
; CHECK-NEXT:   %value6 = load i64, ptr %field6, align 8
; CHECK-NEXT:   %at7 = getelementptr [16 x i8], ptr %slots, i64 %k
; CHECK-NEXT:   %field7 = getelementptr i8, ptr %at7, i64 8
; CHECK-NEXT:   %value7 = load i64, ptr %field7, align 8
; CHECK-NEXT:   %sum = add i64 %value6, %keys
; CHECK-NEXT:   %all = add i64 %sum, %value7
; CHECK-NEXT:   store i64 %all, ptr %to, align 8
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
