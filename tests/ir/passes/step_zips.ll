; Iterators over zipped slices skip elements without a loop.
; RUN: opt --passes=step_zips

; `a.iter().zip(b).skip(1).step_by(256)`: the loop skips 255 elements behind each one.
define i64 @steps(ptr %a, ptr %b, i64 %len) {
start:
  %some = icmp ugt i64 %len, 1
  br i1 %some, label %first, label %end

first:
  %rest = sub i64 %len, 2
  %min = call i64 @llvm.umin.i64(i64 %rest, i64 255)
  %sum = add i64 %min, 2
  %max = call i64 @llvm.umax.i64(i64 2, i64 %sum)
  %more = icmp ult i64 %max, %len
  br i1 %more, label %skips, label %end

skips:
  %place = phi i64 [ %max, %first ], [ %max2, %found ]
  %skipped = phi i64 [ %min, %first ], [ %min2, %found ]
  %total = phi i64 [ 0, %first ], [ %total2, %found ]
  %left = xor i64 %skipped, 255
  br label %skip

skip:
  %count = phi i64 [ %left, %skips ], [ %minus, %on ]
  %at = phi i64 [ %place, %skips ], [ %next, %on ]
  %next = add i64 %at, 1
  %is = icmp eq i64 %count, 0
  br i1 %is, label %found, label %on

on:
  %minus = add i64 %count, -1
  %ends = icmp eq i64 %next, %len
  br i1 %ends, label %end, label %skip

found:
  %x = getelementptr inbounds i64, ptr %a, i64 %at
  %y = getelementptr inbounds i64, ptr %b, i64 %at
  %vx = load i64, ptr %x, align 8
  %vy = load i64, ptr %y, align 8
  %product = mul i64 %vx, %vy
  %total2 = add i64 %total, %product
  %rest2 = sub i64 %len, %next
  %min2 = call i64 @llvm.umin.i64(i64 %rest2, i64 255)
  %sum2 = add i64 %min2, %next
  %max2 = call i64 @llvm.umax.i64(i64 %next, i64 %sum2)
  %more2 = icmp ult i64 %max2, %len
  br i1 %more2, label %skips, label %end

end:
  %result = phi i64 [ 0, %start ], [ 0, %first ], [ %total, %on ], [ %total2, %found ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @steps(ptr %a, ptr %b, i64 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %some = icmp ugt i64 %len, 1
; CHECK-NEXT:   br i1 %some, label %first, label %end
; CHECK-NEXT: first:
; CHECK-NEXT:   %rest = sub i64 %len, 2
; CHECK-NEXT:   %min = call i64 @llvm.umin.i64(i64 %rest, i64 255)
; CHECK-NEXT:   %sum = add i64 %min, 2
; CHECK-NEXT:   %max = call i64 @llvm.umax.i64(i64 2, i64 %sum)
; CHECK-NEXT:   %more = icmp ult i64 %max, %len
; CHECK-NEXT:   %0 = icmp ult i64 2, %len
; CHECK-NEXT:   %1 = icmp ugt i64 %rest, 255
; CHECK-NEXT:   %2 = and i1 %0, %1
; CHECK-NEXT:   %3 = add i64 2, 255
; CHECK-NEXT:   br i1 %2, label %skips, label %end
; CHECK-NEXT: skips:
; CHECK-NEXT:   %place = phi i64 [ %3, %first ], [ %7, %found ]
; CHECK-NEXT:   %total = phi i64 [ 0, %first ], [ %total2, %found ]
; CHECK-NEXT:   br label %skip
; CHECK-NEXT: skip:
; CHECK-NEXT:   %count = phi i64 [ 0, %skips ]
; CHECK-NEXT:   %at = phi i64 [ %place, %skips ]
; CHECK-NEXT:   %next = add i64 %at, 1
; CHECK-NEXT:   %is = icmp eq i64 %count, 0
; CHECK-NEXT:   br label %found
; CHECK-NEXT: found:
; CHECK-NEXT:   %x = getelementptr inbounds i64, ptr %a, i64 %at
; CHECK-NEXT:   %y = getelementptr inbounds i64, ptr %b, i64 %at
; CHECK-NEXT:   %vx = load i64, ptr %x, align 8
; CHECK-NEXT:   %vy = load i64, ptr %y, align 8
; CHECK-NEXT:   %product = mul i64 %vx, %vy
; CHECK-NEXT:   %total2 = add i64 %total, %product
; CHECK-NEXT:   %rest2 = sub i64 %len, %next
; CHECK-NEXT:   %min2 = call i64 @llvm.umin.i64(i64 %rest2, i64 255)
; CHECK-NEXT:   %sum2 = add i64 %min2, %next
; CHECK-NEXT:   %max2 = call i64 @llvm.umax.i64(i64 %next, i64 %sum2)
; CHECK-NEXT:   %more2 = icmp ult i64 %max2, %len
; CHECK-NEXT:   %4 = icmp ult i64 %next, %len
; CHECK-NEXT:   %5 = icmp ugt i64 %rest2, 255
; CHECK-NEXT:   %6 = and i1 %4, %5
; CHECK-NEXT:   %7 = add nuw i64 %place, 256
; CHECK-NEXT:   %8 = icmp ult i64 %7, %len
; CHECK-NEXT:   br i1 %8, label %skips, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i64 [ 0, %start ], [ 0, %first ], [ %total2, %found ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: }

; The number to skip is not known, the slices are skipped from the beginning, and the branch is inverted.
define i64 @begins(i64 %len, i64 %count) {
start:
  %min = call i64 @llvm.umin.i64(i64 %count, i64 %len)
  %left = sub i64 %count, %min
  %outside = icmp ule i64 %len, %count
  br i1 %outside, label %end, label %skip

skip:
  %c = phi i64 [ %left, %start ], [ %minus, %on ]
  %at = phi i64 [ %min, %start ], [ %next, %on ]
  %next = add i64 %at, 1
  %is = icmp ne i64 %c, 0
  br i1 %is, label %on, label %end

on:
  %minus = add i64 %c, -1
  %ends = icmp eq i64 %next, %len
  br i1 %ends, label %end, label %skip

end:
  %result = phi i64 [ 0, %start ], [ %at, %skip ], [ 1, %on ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @begins(i64 %len, i64 %count) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %min = call i64 @llvm.umin.i64(i64 %count, i64 %len)
; CHECK-NEXT:   %left = sub i64 %count, %min
; CHECK-NEXT:   %outside = icmp ule i64 %len, %count
; CHECK-NEXT:   br i1 %outside, label %end, label %skip
; CHECK-NEXT: skip:
; CHECK-NEXT:   %c = phi i64 [ 0, %start ]
; CHECK-NEXT:   %at = phi i64 [ %count, %start ]
; CHECK-NEXT:   %next = add i64 %at, 1
; CHECK-NEXT:   %is = icmp ne i64 %c, 0
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i64 [ 0, %start ], [ %at, %skip ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: }

; Unchanged: the comparison is with another length, and the count goes on elsewhere.
define i64 @others(i64 %len, i64 %other, i64 %start, i64 %count) {
entry:
  %rest = sub i64 %len, %start
  %min = call i64 @llvm.umin.i64(i64 %rest, i64 %count)
  %sum = add i64 %min, %start
  %max = call i64 @llvm.umax.i64(i64 %start, i64 %sum)
  %more = icmp ult i64 %max, %other
  %left = sub i64 %count, %min
  br i1 %more, label %skip, label %end

skip:
  %c = phi i64 [ %left, %entry ], [ 0, %on ]
  %is = icmp eq i64 %c, 0
  br i1 %is, label %end, label %on

on:
  br label %skip

end:
  %result = phi i64 [ 0, %entry ], [ %max, %skip ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @others(i64 %len, i64 %other, i64 %start, i64 %count) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   %rest = sub i64 %len, %start
; CHECK-NEXT:   %min = call i64 @llvm.umin.i64(i64 %rest, i64 %count)
; CHECK-NEXT:   %sum = add i64 %min, %start
; CHECK-NEXT:   %max = call i64 @llvm.umax.i64(i64 %start, i64 %sum)
; CHECK-NEXT:   %more = icmp ult i64 %max, %other
; CHECK-NEXT:   %left = sub i64 %count, %min
; CHECK-NEXT:   br i1 %more, label %skip, label %end
; CHECK-NEXT: skip:
; CHECK-NEXT:   %c = phi i64 [ %left, %entry ], [ 0, %on ]
; CHECK-NEXT:   %is = icmp eq i64 %c, 0
; CHECK-NEXT:   br i1 %is, label %end, label %on
; CHECK-NEXT: on:
; CHECK-NEXT:   br label %skip
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i64 [ 0, %entry ], [ %max, %skip ]
; CHECK-NEXT:   ret i64 %result
; CHECK-NEXT: }

; Unchanged: the block with the branch is entered again behind the other target, too.
define i64 @again(i64 %len, i64 %count) {
entry:
  br label %skip

skip:
  %c = phi i64 [ 0, %entry ], [ %count, %found ]
  %is = icmp eq i64 %c, 0
  br i1 %is, label %found, label %on

on:
  br label %end

found:
  %more = icmp ult i64 %count, %len
  br i1 %more, label %skip, label %end

end:
  %result = phi i64 [ 1, %on ], [ 2, %found ]
  %min = call i64 @llvm.umin.i64(i64 %count, i64 %len)
  %both = add i64 %result, %min
  ret i64 %both
}
; CHECK-LABEL: define i64 @again(i64 %len, i64 %count) {
; CHECK-NEXT: entry:
; CHECK-NEXT:   br label %skip
; CHECK-NEXT: skip:
; CHECK-NEXT:   %c = phi i64 [ 0, %entry ], [ %count, %found ]
; CHECK-NEXT:   %is = icmp eq i64 %c, 0
; CHECK-NEXT:   br i1 %is, label %found, label %on
; CHECK-NEXT: on:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: found:
; CHECK-NEXT:   %more = icmp ult i64 %count, %len
; CHECK-NEXT:   br i1 %more, label %skip, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i64 [ 1, %on ], [ 2, %found ]
; CHECK-NEXT:   %min = call i64 @llvm.umin.i64(i64 %count, i64 %len)
; CHECK-NEXT:   %both = add i64 %result, %min
; CHECK-NEXT:   ret i64 %both
; CHECK-NEXT: }

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

; A branch has shown that the first element is before the end.
define i64 @begins_in_front(ptr %a, i64 %len, i64 %lane) {
start:
  %some = icmp ugt i64 %len, %lane
  br i1 %some, label %skips, label %end

skips:
  %place = phi i64 [ %lane, %start ], [ %max, %found ]
  %left = phi i64 [ 0, %start ], [ %left2, %found ]
  %total = phi i64 [ 0, %start ], [ %total2, %found ]
  br label %skip

skip:
  %count = phi i64 [ %left, %skips ], [ %count2, %on ]
  %at = phi i64 [ %place, %skips ], [ %next, %on ]
  %next = add i64 %at, 1
  %is = icmp eq i64 %count, 0
  br i1 %is, label %found, label %on

on:
  %count2 = add i64 %count, -1
  %more = icmp eq i64 %next, %len
  br i1 %more, label %end, label %skip

found:
  %address = getelementptr inbounds i64, ptr %a, i64 %at
  %x = load i64, ptr %address, align 8
  %total2 = add i64 %total, %x
  %rest = sub i64 %len, %next
  %min = call i64 @llvm.umin.i64(i64 %rest, i64 31)
  %left2 = sub i64 31, %min
  %sum = add i64 %min, %next
  %max = call i64 @llvm.umax.i64(i64 %next, i64 %sum)
  %again = icmp ult i64 %max, %len
  br i1 %again, label %skips, label %end

end:
  %result = phi i64 [ 0, %start ], [ %total, %on ], [ %total2, %found ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @begins_in_front(
; CHECK:        %place = phi i64 [ %lane, %start ], [ %3, %found ]
; CHECK:        %3 = add nuw i64 %place, 32
; CHECK-NEXT:   %4 = icmp ult i64 %3, %len
; CHECK-NEXT:   br i1 %4, label %skips, label %end

; The first element may be behind the end.
define i64 @begins_anywhere(ptr %a, i64 %len, i64 %lane) {
start:
  %some = icmp ugt i64 %len, 0
  br i1 %some, label %skips, label %end

skips:
  %place = phi i64 [ %lane, %start ], [ %max, %found ]
  %left = phi i64 [ 0, %start ], [ %left2, %found ]
  %total = phi i64 [ 0, %start ], [ %total2, %found ]
  br label %skip

skip:
  %count = phi i64 [ %left, %skips ], [ %count2, %on ]
  %at = phi i64 [ %place, %skips ], [ %next, %on ]
  %next = add i64 %at, 1
  %is = icmp eq i64 %count, 0
  br i1 %is, label %found, label %on

on:
  %count2 = add i64 %count, -1
  %more = icmp eq i64 %next, %len
  br i1 %more, label %end, label %skip

found:
  %address = getelementptr inbounds i64, ptr %a, i64 %at
  %x = load i64, ptr %address, align 8
  %total2 = add i64 %total, %x
  %rest = sub i64 %len, %next
  %min = call i64 @llvm.umin.i64(i64 %rest, i64 31)
  %left2 = sub i64 31, %min
  %sum = add i64 %min, %next
  %max = call i64 @llvm.umax.i64(i64 %next, i64 %sum)
  %again = icmp ult i64 %max, %len
  br i1 %again, label %skips, label %end

end:
  %result = phi i64 [ 0, %start ], [ %total, %on ], [ %total2, %found ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @begins_anywhere(
; CHECK:        %2 = and i1 %0, %1
; CHECK-NEXT:   %3 = add i64 %next, 31
; CHECK-NEXT:   br i1 %2, label %skips, label %end

; The elements may have no size, so the index of the next one may wrap around.
define i64 @reads_nothing(ptr %a, i64 %len, i64 %lane) {
start:
  %some = icmp ult i64 %lane, %len
  br i1 %some, label %skips, label %end

skips:
  %place = phi i64 [ %lane, %start ], [ %max, %found ]
  %left = phi i64 [ 0, %start ], [ %left2, %found ]
  %total = phi i64 [ 0, %start ], [ %total2, %found ]
  br label %skip

skip:
  %count = phi i64 [ %left, %skips ], [ %count2, %on ]
  %at = phi i64 [ %place, %skips ], [ %next, %on ]
  %next = add i64 %at, 1
  %is = icmp eq i64 %count, 0
  br i1 %is, label %found, label %on

on:
  %count2 = add i64 %count, -1
  %more = icmp eq i64 %next, %len
  br i1 %more, label %end, label %skip

found:
  %x = add i64 %at, 5
  %total2 = add i64 %total, %x
  %rest = sub i64 %len, %next
  %min = call i64 @llvm.umin.i64(i64 %rest, i64 31)
  %left2 = sub i64 31, %min
  %sum = add i64 %min, %next
  %max = call i64 @llvm.umax.i64(i64 %next, i64 %sum)
  %again = icmp ult i64 %max, %len
  br i1 %again, label %skips, label %end

end:
  %result = phi i64 [ 0, %start ], [ %total, %on ], [ %total2, %found ]
  ret i64 %result
}
; CHECK-LABEL: define i64 @reads_nothing(
; CHECK:        %3 = add i64 %place, 32
; CHECK-NEXT:   %4 = sub i64 %len, %place
; CHECK-NEXT:   %5 = icmp ugt i64 %4, 32
; CHECK-NEXT:   br i1 %5, label %skips, label %end
