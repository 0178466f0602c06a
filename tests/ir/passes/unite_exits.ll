; A loop that ends by several counts ends by the lowest of them.
; RUN: opt --passes=unite_exits

; `for (i, &element) in slice.iter().enumerate().take(count)`: the elements before the loop, as it may
; not run at all, and what the exit reads.
define i64 @enumerated(ptr %start, i64 %n, i64 %count, float %least) {
entry:
  %bytes = shl nuw nsw i64 %n, 2
  %end = getelementptr inbounds i8, ptr %start, i64 %bytes
  br label %before
before:
  br label %header
header:
  %best = phi i64 [ -1, %before ], [ %better, %latch ]
  %left = phi i64 [ %count, %before ], [ %others, %latch ]
  %i = phi i64 [ 0, %before ], [ %next_i, %latch ]
  %p = phi ptr [ %start, %before ], [ %next, %latch ]
  %others = add i64 %left, -1
  %done = icmp eq ptr %p, %end
  br i1 %done, label %exit, label %latch
latch:
  %next = getelementptr inbounds i8, ptr %p, i64 4
  %next_i = add i64 %i, 1
  %element = load float, ptr %p, align 4
  %is_better = fcmp ogt float %element, %least
  %better = select i1 %is_better, i64 %i, i64 %best
  %last = icmp eq i64 %others, 0
  br i1 %last, label %exit, label %header
exit:
  %result = phi i64 [ %best, %header ], [ %better, %latch ]
  %same = phi i64 [ %n, %header ], [ %n, %latch ]
  %sum = add i64 %result, %same
  ret i64 %sum
}
; CHECK-LABEL: define i64 @enumerated(ptr %start, i64 %n, i64 %count, float %least) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %bytes = shl nuw nsw i64 %n, 2
; CHECK-NEXT:   %end = getelementptr inbounds i8, ptr %start, i64 %bytes
; CHECK-NEXT:   br label %before
; CHECK-NEXT: before:
; CHECK-NEXT:   %0 = sub i64 %n, 1
; CHECK-NEXT:   %1 = sub i64 %count, 1
; CHECK-NEXT:   %2 = icmp ult i64 %1, %0
; CHECK-NEXT:   %3 = select i1 %2, i64 %1, i64 %0
; CHECK-NEXT:   %4 = add i64 %3, 1
; CHECK-NEXT:   %5 = icmp eq i64 %n, 0
; CHECK-NEXT:   br i1 %5, label %exit, label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %6 = phi i64 [ 0, %before ], [ %7, %latch ]
; CHECK-NEXT:   %best = phi i64 [ -1, %before ], [ %better, %latch ]
; CHECK-NEXT:   %left = phi i64 [ %count, %before ], [ %others, %latch ]
; CHECK-NEXT:   %i = phi i64 [ 0, %before ], [ %next_i, %latch ]
; CHECK-NEXT:   %p = phi ptr [ %start, %before ], [ %next, %latch ]
; CHECK-NEXT:   %others = add i64 %left, -1
; CHECK-NEXT:   %done = icmp eq ptr %p, %end
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = getelementptr inbounds i8, ptr %p, i64 4
; CHECK-NEXT:   %next_i = add i64 %i, 1
; CHECK-NEXT:   %element = load float, ptr %p, align 4
; CHECK-NEXT:   %is_better = fcmp ogt float %element, %least
; CHECK-NEXT:   %better = select i1 %is_better, i64 %i, i64 %best
; CHECK-NEXT:   %last = icmp eq i64 %others, 0
; CHECK-NEXT:   %7 = add i64 %6, 1
; CHECK-NEXT:   %8 = icmp eq i64 %7, %4
; CHECK-NEXT:   br i1 %8, label %exit, label %header
; CHECK-NEXT: exit:
; CHECK-NEXT:   %result = phi i64 [ %better, %latch ], [ -1, %before ]
; CHECK-NEXT:   %same = phi i64 [ %n, %latch ], [ %n, %before ]
; CHECK-NEXT:   %sum = add i64 %result, %same
; CHECK-NEXT:   ret i64 %sum
; CHECK-NEXT: }

; An array has elements, so that no branch is needed before the loop.
@array = addrspace(3) global [64 x i32] undef, align 4
define void @of_array(i64 %count, ptr %out) {
entry:
  %some = icmp ne i64 %count, 0
  br i1 %some, label %header, label %exit
header:
  %left = phi i64 [ %count, %entry ], [ %others, %latch ]
  %p = phi ptr [ addrspacecast (ptr addrspace(3) @array to ptr), %entry ], [ %next, %latch ]
  %others = add i64 %left, -1
  %more = icmp ne ptr addrspacecast (ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @array, i64 256) to ptr), %p
  br i1 %more, label %latch, label %exit
latch:
  %next = getelementptr inbounds i8, ptr %p, i64 4
  store i32 0, ptr %p, align 4
  %again = icmp ne i64 %others, 0
  br i1 %again, label %header, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @of_array(i64 %count, ptr %out) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %some = icmp ne i64 %count, 0
; CHECK-NEXT:   %0 = sub i64 %count, 1
; CHECK-NEXT:   %1 = icmp ult i64 %0, 63
; CHECK-NEXT:   %2 = select i1 %1, i64 %0, i64 63
; CHECK-NEXT:   %3 = add i64 %2, 1
; CHECK-NEXT:   br i1 %some, label %header, label %exit
; CHECK-NEXT: header:
; CHECK-NEXT:   %4 = phi i64 [ 0, %entry ], [ %5, %latch ]
; CHECK-NEXT:   %left = phi i64 [ %count, %entry ], [ %others, %latch ]
; CHECK-NEXT:   %p = phi ptr [ addrspacecast (ptr addrspace(3) @array to ptr), %entry ], [ %next, %latch ]
; CHECK-NEXT:   %others = add i64 %left, -1
; CHECK-NEXT:   %more = icmp ne ptr addrspacecast (ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @array, i64 256) to ptr), %p
; CHECK-NEXT:   br label %latch
; CHECK-NEXT: latch:
; CHECK-NEXT:   %next = getelementptr inbounds i8, ptr %p, i64 4
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %again = icmp ne i64 %others, 0
; CHECK-NEXT:   %5 = add i64 %4, 1
; CHECK-NEXT:   %6 = icmp eq i64 %5, %3
; CHECK-NEXT:   br i1 %6, label %exit, label %header
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; One exit with two conditions, in both directions. The distance is constant.
define void @selected(ptr %start, i64 %n, i64 %count) {
entry:
  %end = getelementptr inbounds [12 x i8], ptr %start, i64 %n
  br label %loop
loop:
  %left = phi i64 [ %count, %entry ], [ %others, %loop ]
  %p = phi ptr [ %start, %entry ], [ %next, %loop ]
  %others = add i64 %left, -1
  %next = getelementptr inbounds i8, ptr %p, i64 12
  store i32 0, ptr %p, align 4
  %last = icmp eq i64 %others, 0
  %done = icmp eq ptr %next, %end
  %ends = select i1 %last, i1 true, i1 %done
  br i1 %ends, label %second, label %loop
second:
  br label %loop2
loop2:
  %offset = phi i64 [ 8, %second ], [ %next_offset, %loop2 ]
  %i = phi i64 [ 0, %second ], [ %next_i, %loop2 ]
  %next_offset = add i64 %offset, 4
  %next_i = add i64 %i, 1
  %q = getelementptr inbounds i8, ptr %start, i64 %offset
  store i32 0, ptr %q, align 4
  %before_count = icmp ne i64 %next_i, %count
  %before_end = icmp ne i64 %next_offset, 128
  %more = select i1 %before_end, i1 %before_count, i1 false
  br i1 %more, label %loop2, label %exit
exit:
  ret void
}
; CHECK-LABEL: define void @selected(ptr %start, i64 %n, i64 %count) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %end = getelementptr inbounds [12 x i8], ptr %start, i64 %n
; CHECK-NEXT:   %0 = sub i64 %n, 1
; CHECK-NEXT:   %1 = sub i64 %count, 1
; CHECK-NEXT:   %2 = icmp ult i64 %1, %0
; CHECK-NEXT:   %3 = select i1 %2, i64 %1, i64 %0
; CHECK-NEXT:   %4 = add i64 %3, 1
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %5 = phi i64 [ 0, %entry ], [ %6, %loop ]
; CHECK-NEXT:   %left = phi i64 [ %count, %entry ], [ %others, %loop ]
; CHECK-NEXT:   %p = phi ptr [ %start, %entry ], [ %next, %loop ]
; CHECK-NEXT:   %others = add i64 %left, -1
; CHECK-NEXT:   %next = getelementptr inbounds i8, ptr %p, i64 12
; CHECK-NEXT:   store i32 0, ptr %p, align 4
; CHECK-NEXT:   %last = icmp eq i64 %others, 0
; CHECK-NEXT:   %done = icmp eq ptr %next, %end
; CHECK-NEXT:   %ends = select i1 %last, i1 true, i1 %done
; CHECK-NEXT:   %6 = add i64 %5, 1
; CHECK-NEXT:   %7 = icmp eq i64 %6, %4
; CHECK-NEXT:   br i1 %7, label %second, label %loop
; CHECK-NEXT: second:
; CHECK-NEXT:   %8 = sub i64 %count, 1
; CHECK-NEXT:   %9 = icmp ult i64 29, %8
; CHECK-NEXT:   %10 = select i1 %9, i64 29, i64 %8
; CHECK-NEXT:   %11 = add i64 %10, 1
; CHECK-NEXT:   br label %loop2
; CHECK-NEXT: loop2:
; CHECK-NEXT:   %12 = phi i64 [ 0, %second ], [ %13, %loop2 ]
; CHECK-NEXT:   %offset = phi i64 [ 8, %second ], [ %next_offset, %loop2 ]
; CHECK-NEXT:   %i = phi i64 [ 0, %second ], [ %next_i, %loop2 ]
; CHECK-NEXT:   %next_offset = add i64 %offset, 4
; CHECK-NEXT:   %next_i = add i64 %i, 1
; CHECK-NEXT:   %q = getelementptr inbounds i8, ptr %start, i64 %offset
; CHECK-NEXT:   store i32 0, ptr %q, align 4
; CHECK-NEXT:   %before_count = icmp ne i64 %next_i, %count
; CHECK-NEXT:   %before_end = icmp ne i64 %next_offset, 128
; CHECK-NEXT:   %more = select i1 %before_end, i1 %before_count, i1 false
; CHECK-NEXT:   %13 = add i64 %12, 1
; CHECK-NEXT:   %14 = icmp eq i64 %13, %11
; CHECK-NEXT:   br i1 %14, label %exit, label %loop2
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The header stores, the exit reads a value of the header, or of an earlier iteration, and the numbers
; of iterations of one of the exits is not known.
declare void @use(i64)
define void @others(ptr %start, i64 %n, i64 %count, ptr %out) {
entry:
  %end = getelementptr inbounds [4 x i8], ptr %start, i64 %n
  br label %header1
header1:
  %left1 = phi i64 [ %count, %entry ], [ %others1, %latch1 ]
  %p1 = phi ptr [ %start, %entry ], [ %next1, %latch1 ]
  %others1 = add i64 %left1, -1
  store i64 %others1, ptr %out, align 8
  %done1 = icmp eq ptr %p1, %end
  br i1 %done1, label %exit1, label %latch1
latch1:
  %next1 = getelementptr inbounds i8, ptr %p1, i64 4
  %last1 = icmp eq i64 %others1, 0
  br i1 %last1, label %exit1, label %header1
exit1:
  br label %header2
header2:
  %left2 = phi i64 [ %count, %exit1 ], [ %others2, %latch2 ]
  %p2 = phi ptr [ %start, %exit1 ], [ %next2, %latch2 ]
  %others2 = add i64 %left2, -1
  %done2 = icmp eq ptr %p2, %end
  br i1 %done2, label %exit2, label %latch2
latch2:
  %next2 = getelementptr inbounds i8, ptr %p2, i64 4
  %last2 = icmp eq i64 %others2, 0
  br i1 %last2, label %exit2, label %header2
exit2:
  br label %uses
uses:
  call void @use(i64 %left2)
  br label %header3
header3:
  %left3 = phi i64 [ %count, %uses ], [ %others3, %latch3 ]
  %p3 = phi ptr [ %start, %uses ], [ %next3, %latch3 ]
  %others3 = add i64 %left3, -1
  %done3 = icmp eq ptr %p3, %end
  br i1 %done3, label %exit3, label %latch3
latch3:
  %next3 = getelementptr inbounds i8, ptr %p3, i64 4
  %last3 = icmp eq i64 %others3, 0
  br i1 %last3, label %exit3, label %header3
exit3:
  %at = phi i64 [ %left3, %header3 ], [ %left3, %latch3 ]
  call void @use(i64 %at)
  br label %header4
header4:
  %left4 = phi i64 [ %count, %exit3 ], [ %others4, %latch4 ]
  %p4 = phi ptr [ %start, %exit3 ], [ %next4, %latch4 ]
  %others4 = add i64 %left4, -2
  %done4 = icmp eq ptr %p4, %end
  br i1 %done4, label %exit4, label %latch4
latch4:
  %next4 = getelementptr inbounds i8, ptr %p4, i64 4
  %last4 = icmp eq i64 %others4, 0
  br i1 %last4, label %exit4, label %header4
exit4:
  br label %header5
header5:
  %left5 = phi i64 [ %count, %exit4 ], [ %others5, %latch5 ]
  %i5 = phi i64 [ 0, %exit4 ], [ %next5, %latch5 ]
  %others5 = add i64 %left5, -1
  %done5 = icmp eq i64 %i5, 62
  br i1 %done5, label %exit5, label %latch5
latch5:
  %next5 = add i64 %i5, 4
  %last5 = icmp eq i64 %others5, 0
  br i1 %last5, label %exit5, label %header5
exit5:
  br label %header6
header6:
  %left6 = phi i64 [ %count, %exit5 ], [ %others6, %latch6 ]
  %i6 = phi i64 [ 0, %exit5 ], [ %next6, %latch6 ]
  %others6 = add i64 %left6, -1
  %done6 = icmp eq i64 %i6, 64
  br i1 %done6, label %exit6, label %latch6
latch6:
  %next6 = add i64 %i6, 4
  %changing = load i64, ptr %out, align 8
  %last6 = icmp eq i64 %next6, %changing
  br i1 %last6, label %exit6, label %header6
exit6:
  br label %header7
header7:
  %left7 = phi i64 [ %count, %exit6 ], [ %others7, %latch7 ]
  %p7 = phi ptr [ %start, %exit6 ], [ %next7, %latch7 ]
  %others7 = add i64 %left7, -1
  %done7 = icmp eq ptr %p7, %end
  br i1 %done7, label %exit7, label %latch7
latch7:
  %next7 = getelementptr inbounds i8, ptr %p7, i64 4
  %last7 = icmp eq i64 %others7, 0
  br i1 %last7, label %exit8, label %header7
exit7:
  call void @use(i64 0)
  br label %exit8
exit8:
  ret void
}
; CHECK-LABEL: define void @others(ptr %start, i64 %n, i64 %count, ptr %out) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %end = getelementptr inbounds [4 x i8], ptr %start, i64 %n
; CHECK-NEXT:   br label %header1
; CHECK-NEXT: header1:
; CHECK-NEXT:   %left1 = phi i64 [ %count, %entry ], [ %others1, %latch1 ]
; CHECK-NEXT:   %p1 = phi ptr [ %start, %entry ], [ %next1, %latch1 ]
; CHECK-NEXT:   %others1 = add i64 %left1, -1
; CHECK-NEXT:   store i64 %others1, ptr %out, align 8
; CHECK-NEXT:   %done1 = icmp eq ptr %p1, %end
; CHECK-NEXT:   br i1 %done1, label %exit1, label %latch1
; CHECK-NEXT: latch1:
; CHECK-NEXT:   %next1 = getelementptr inbounds i8, ptr %p1, i64 4
; CHECK-NEXT:   %last1 = icmp eq i64 %others1, 0
; CHECK-NEXT:   br i1 %last1, label %exit1, label %header1
; CHECK-NEXT: exit1:
; CHECK-NEXT:   br label %header2
; CHECK-NEXT: header2:
; CHECK-NEXT:   %left2 = phi i64 [ %count, %exit1 ], [ %others2, %latch2 ]
; CHECK-NEXT:   %p2 = phi ptr [ %start, %exit1 ], [ %next2, %latch2 ]
; CHECK-NEXT:   %others2 = add i64 %left2, -1
; CHECK-NEXT:   %done2 = icmp eq ptr %p2, %end
; CHECK-NEXT:   br i1 %done2, label %exit2, label %latch2
; CHECK-NEXT: latch2:
; CHECK-NEXT:   %next2 = getelementptr inbounds i8, ptr %p2, i64 4
; CHECK-NEXT:   %last2 = icmp eq i64 %others2, 0
; CHECK-NEXT:   br i1 %last2, label %exit2, label %header2
; CHECK-NEXT: exit2:
; CHECK-NEXT:   br label %uses
; CHECK-NEXT: uses:
; CHECK-NEXT:   call void @use(i64 %left2)
; CHECK-NEXT:   br label %header3
; CHECK-NEXT: header3:
; CHECK-NEXT:   %left3 = phi i64 [ %count, %uses ], [ %others3, %latch3 ]
; CHECK-NEXT:   %p3 = phi ptr [ %start, %uses ], [ %next3, %latch3 ]
; CHECK-NEXT:   %others3 = add i64 %left3, -1
; CHECK-NEXT:   %done3 = icmp eq ptr %p3, %end
; CHECK-NEXT:   br i1 %done3, label %exit3, label %latch3
; CHECK-NEXT: latch3:
; CHECK-NEXT:   %next3 = getelementptr inbounds i8, ptr %p3, i64 4
; CHECK-NEXT:   %last3 = icmp eq i64 %others3, 0
; CHECK-NEXT:   br i1 %last3, label %exit3, label %header3
; CHECK-NEXT: exit3:
; CHECK-NEXT:   %at = phi i64 [ %left3, %header3 ], [ %left3, %latch3 ]
; CHECK-NEXT:   call void @use(i64 %at)
; CHECK-NEXT:   br label %header4
; CHECK-NEXT: header4:
; CHECK-NEXT:   %left4 = phi i64 [ %count, %exit3 ], [ %others4, %latch4 ]
; CHECK-NEXT:   %p4 = phi ptr [ %start, %exit3 ], [ %next4, %latch4 ]
; CHECK-NEXT:   %others4 = add i64 %left4, -2
; CHECK-NEXT:   %done4 = icmp eq ptr %p4, %end
; CHECK-NEXT:   br i1 %done4, label %exit4, label %latch4
; CHECK-NEXT: latch4:
; CHECK-NEXT:   %next4 = getelementptr inbounds i8, ptr %p4, i64 4
; CHECK-NEXT:   %last4 = icmp eq i64 %others4, 0
; CHECK-NEXT:   br i1 %last4, label %exit4, label %header4
; CHECK-NEXT: exit4:
; CHECK-NEXT:   br label %header5
; CHECK-NEXT: header5:
; CHECK-NEXT:   %left5 = phi i64 [ %count, %exit4 ], [ %others5, %latch5 ]
; CHECK-NEXT:   %i5 = phi i64 [ 0, %exit4 ], [ %next5, %latch5 ]
; CHECK-NEXT:   %others5 = add i64 %left5, -1
; CHECK-NEXT:   %done5 = icmp eq i64 %i5, 62
; CHECK-NEXT:   br i1 %done5, label %exit5, label %latch5
; CHECK-NEXT: latch5:
; CHECK-NEXT:   %next5 = add i64 %i5, 4
; CHECK-NEXT:   %last5 = icmp eq i64 %others5, 0
; CHECK-NEXT:   br i1 %last5, label %exit5, label %header5
; CHECK-NEXT: exit5:
; CHECK-NEXT:   br label %header6
; CHECK-NEXT: header6:
; CHECK-NEXT:   %left6 = phi i64 [ %count, %exit5 ], [ %others6, %latch6 ]
; CHECK-NEXT:   %i6 = phi i64 [ 0, %exit5 ], [ %next6, %latch6 ]
; CHECK-NEXT:   %others6 = add i64 %left6, -1
; CHECK-NEXT:   %done6 = icmp eq i64 %i6, 64
; CHECK-NEXT:   br i1 %done6, label %exit6, label %latch6
; CHECK-NEXT: latch6:
; CHECK-NEXT:   %next6 = add i64 %i6, 4
; CHECK-NEXT:   %changing = load i64, ptr %out, align 8
; CHECK-NEXT:   %last6 = icmp eq i64 %next6, %changing
; CHECK-NEXT:   br i1 %last6, label %exit6, label %header6
; CHECK-NEXT: exit6:
; CHECK-NEXT:   br label %header7
; CHECK-NEXT: header7:
; CHECK-NEXT:   %left7 = phi i64 [ %count, %exit6 ], [ %others7, %latch7 ]
; CHECK-NEXT:   %p7 = phi ptr [ %start, %exit6 ], [ %next7, %latch7 ]
; CHECK-NEXT:   %others7 = add i64 %left7, -1
; CHECK-NEXT:   %done7 = icmp eq ptr %p7, %end
; CHECK-NEXT:   br i1 %done7, label %exit7, label %latch7
; CHECK-NEXT: latch7:
; CHECK-NEXT:   %next7 = getelementptr inbounds i8, ptr %p7, i64 4
; CHECK-NEXT:   %last7 = icmp eq i64 %others7, 0
; CHECK-NEXT:   br i1 %last7, label %exit8, label %header7
; CHECK-NEXT: exit7:
; CHECK-NEXT:   call void @use(i64 0)
; CHECK-NEXT:   br label %exit8
; CHECK-NEXT: exit8:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
