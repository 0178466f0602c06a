; A loop over elements whose size is not a power of two ends by the number of its iterations.
; RUN: opt --passes=count_iterations

define void @points(ptr %start, i64 %n) {
entry:
  %end = getelementptr inbounds [12 x i8], ptr %start, i64 %n
  br label %loop

loop:
; CHECK: %0 = phi i64 [ 0, %entry ], [ %1, %loop ]
  %p = phi ptr [ %start, %entry ], [ %next, %loop ]
  %next = getelementptr inbounds i8, ptr %p, i64 12
  store i32 0, ptr %p, align 4
  %done = icmp eq ptr %next, %end
; CHECK: %1 = add nuw nsw i64 %0, 1
; CHECK: icmp eq i64 %1, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; The number that the loop has already, whatever the order of operands.
; CHECK: define void @enumerated
define void @enumerated(ptr %start, i64 %n) {
entry:
  %end = getelementptr inbounds { i64, i64, i64 }, ptr %start, i64 %n
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
; CHECK: %i = phi i64
; CHECK-NOT: phi i64
  %p = phi ptr [ %start, %entry ], [ %next, %loop ]
  %next = getelementptr inbounds i8, ptr %p, i64 24
  %following = add i64 1, %i
  store i64 %i, ptr %p, align 8
  %more = icmp ne ptr %end, %next
; CHECK: icmp ne i64 %following, %n
  br i1 %more, label %loop, label %exit

exit:
  ret void
}

; The same for a power of two.
; CHECK: define void @enumerated_words
define void @enumerated_words(ptr %start, i64 %n) {
entry:
  %end = getelementptr inbounds i32, ptr %start, i64 %n
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
  %p = phi ptr [ %start, %entry ], [ %next, %loop ]
  %next = getelementptr inbounds i32, ptr %p, i64 1
  %following = add i64 %i, 1
  store i32 0, ptr %p, align 4
  %done = icmp eq ptr %next, %end
; CHECK: icmp eq i64 %following, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; An array at a constant address.
@array = addrspace(3) global [64 x i32] undef, align 4
; CHECK: define void @enumerated_array
define void @enumerated_array() {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
  %p = phi ptr [ addrspacecast (ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @array, i64 16) to ptr), %entry ], [ %next, %loop ]
  %next = getelementptr inbounds i8, ptr %p, i64 4
  %following = add i64 %i, 1
  store i32 0, ptr %p, align 4
  %done = icmp eq ptr %next, addrspacecast (ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @array, i64 256) to ptr)
; CHECK: icmp eq i64 %following, 60
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; An array of which a part of an element is left, and two arrays.
@other = addrspace(3) global [64 x i32] undef, align 4
; CHECK: define void @parts
define void @parts() {
entry:
  br label %loop1

loop1:
  %i1 = phi i64 [ 0, %entry ], [ %following1, %loop1 ]
  %p1 = phi ptr [ addrspacecast (ptr addrspace(3) @array to ptr), %entry ], [ %next1, %loop1 ]
  %next1 = getelementptr inbounds i8, ptr %p1, i64 4
  %following1 = add i64 %i1, 1
  store i32 0, ptr %p1, align 4
  %done1 = icmp eq ptr %next1, addrspacecast (ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @array, i64 255) to ptr)
; CHECK: br i1 %done1,
  br i1 %done1, label %second, label %loop1

second:
  br label %loop2

loop2:
  %i2 = phi i64 [ 0, %second ], [ %following2, %loop2 ]
  %p2 = phi ptr [ addrspacecast (ptr addrspace(3) @array to ptr), %second ], [ %next2, %loop2 ]
  %next2 = getelementptr inbounds i8, ptr %p2, i64 4
  %following2 = add i64 %i2, 1
  store i32 0, ptr %p2, align 4
  %done2 = icmp eq ptr %next2, addrspacecast (ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @other, i64 256) to ptr)
; CHECK: br i1 %done2,
  br i1 %done2, label %exit, label %loop2

exit:
  ret void
}

; A shift suffices for a power of two if the loop does not count.
; CHECK: define void @words
define void @words(ptr %start, i64 %n) {
entry:
  %end = getelementptr inbounds i32, ptr %start, i64 %n
  br label %loop

loop:
  %p = phi ptr [ %start, %entry ], [ %next, %loop ]
  %next = getelementptr inbounds i32, ptr %p, i64 1
  store i32 0, ptr %p, align 4
  %done = icmp eq ptr %next, %end
; CHECK: br i1 %done,
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; Another start, step, or size; an end that changes; addresses that may wrap around.
; CHECK: define void @others
define void @others(ptr %start, ptr %other, i64 %n) {
entry:
  %end1 = getelementptr inbounds [12 x i8], ptr %other, i64 %n
  br label %loop1

loop1:
  %p1 = phi ptr [ %start, %entry ], [ %next1, %loop1 ]
  %next1 = getelementptr inbounds i8, ptr %p1, i64 12
  %done1 = icmp eq ptr %next1, %end1
; CHECK: br i1 %done1,
  br i1 %done1, label %second, label %loop1

second:
  %end2 = getelementptr inbounds [12 x i8], ptr %start, i64 %n
  br label %loop2

loop2:
  %p2 = phi ptr [ %start, %second ], [ %next2, %loop2 ]
  %next2 = getelementptr inbounds i8, ptr %p2, i64 24
  %done2 = icmp eq ptr %next2, %end2
; CHECK: br i1 %done2,
  br i1 %done2, label %third, label %loop2

third:
  br label %loop3

loop3:
  %p3 = phi ptr [ %start, %third ], [ %next3, %loop3 ]
  %n3 = load i64, ptr %other, align 8
  %end3 = getelementptr inbounds [12 x i8], ptr %start, i64 %n3
  %next3 = getelementptr inbounds i8, ptr %p3, i64 12
  %done3 = icmp eq ptr %next3, %end3
; CHECK: br i1 %done3,
  br i1 %done3, label %fourth, label %loop3

fourth:
  %end4 = getelementptr [12 x i8], ptr %start, i64 %n
  br label %loop4

loop4:
  %p4 = phi ptr [ %start, %fourth ], [ %next4, %loop4 ]
  %next4 = getelementptr inbounds i8, ptr %p4, i64 12
  %done4 = icmp eq ptr %next4, %end4
; CHECK: br i1 %done4,
  br i1 %done4, label %exit, label %loop4

exit:
  ret void
}
