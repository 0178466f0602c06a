; Numbers that a branch decides are constants behind the branch.
; RUN: opt --passes=use_conditions

declare void @take(ptr)
declare void @number(i64)

; The address of the next element is known where there is an element.
; CHECK: define void @next
; CHECK: phi ptr [ %start.1, %start ], [ %0, %body ]
; CHECK: body:
; CHECK-NEXT: %0 = getelementptr inbounds i8, ptr %at, i64 1
define void @next(ptr %start, ptr %end) {
start:
  br label %head
head:
  %at = phi ptr [ %start, %start ], [ %next, %body ]
  %more = icmp ne ptr %at, %end
  %step = zext i1 %more to i64
  %next = getelementptr inbounds i8, ptr %at, i64 %step
  br i1 %more, label %body, label %done
body:
  call void @take(ptr %at)
  br label %head
done:
  ret void
}

; Both ways have their own value.
; CHECK: define void @both
; CHECK: call void @number(i64 1)
; CHECK: call void @number(i64 -1)
; CHECK: call void @number(i64 %a)
; CHECK: call void @number(i64 0)
; CHECK: call void @number(i64 0)
; CHECK: call void @number(i64 %b)
define void @both(i64 %a, i64 %b) {
start:
  %p = icmp ult i64 %a, %b
  %zero = zext i1 %p to i64
  %sign = sext i1 %p to i64
  %least = select i1 %p, i64 %a, i64 %b
  br i1 %p, label %yes, label %no
yes:
  call void @number(i64 %zero)
  call void @number(i64 %sign)
  call void @number(i64 %least)
  br label %done
no:
  call void @number(i64 %zero)
  call void @number(i64 %sign)
  call void @number(i64 %least)
  br label %done
done:
  ret void
}

; A phi of a block behind both ways takes the value of each way.
; CHECK: define void @meet
; CHECK: phi i64 [ 1, %yes ], [ 0, %no ]
define void @meet(i1 %q, i64 %a, i64 %b) {
start:
  %p = icmp ult i64 %a, %b
  %zero = zext i1 %p to i64
  br i1 %p, label %yes, label %no
yes:
  br label %done
no:
  br label %done
done:
  %n = phi i64 [ %zero, %yes ], [ %zero, %no ]
  call void @number(i64 %n)
  ret void
}

; A block with another predecessor, and the block of the branch itself, do not know the outcome.
; CHECK: define void @unknown
; CHECK: call void @number(i64 %zero)
; CHECK: call void @number(i64 %zero)
; CHECK: call void @number(i64 %zero)
define void @unknown(i1 %q, i64 %a, i64 %b) {
start:
  %p = icmp ult i64 %a, %b
  %zero = zext i1 %p to i64
  br i1 %q, label %test, label %yes
test:
  call void @number(i64 %zero)
  br i1 %p, label %yes, label %no
yes:
  call void @number(i64 %zero)
  br label %done
no:
  br label %done
done:
  call void @number(i64 %zero)
  ret void
}

; The condition of the next iteration is not that of the branch.
; CHECK: define void @again
; CHECK: %kept = phi i64
; CHECK: call void @number(i64 %kept)
; CHECK: body:
; CHECK: br label %head
define void @again(i64 %a) {
start:
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %j, %body ]
  %kept = phi i64 [ 7, %start ], [ %zero, %body ]
  call void @number(i64 %kept)
  %p = icmp ult i64 %i, %a
  %zero = zext i1 %p to i64
  br i1 %p, label %body, label %done
body:
  %j = add i64 %i, 1
  br label %head
done:
  call void @number(i64 %kept)
  ret void
}

; A sum that the other way uses too is computed once.
; CHECK: define void @shared
; CHECK: %next = getelementptr
; CHECK: call void @take(ptr %next)
; CHECK: call void @take(ptr %next)
define void @shared(ptr %at, ptr %end) {
start:
  %more = icmp ne ptr %at, %end
  %step = zext i1 %more to i64
  %next = getelementptr inbounds i8, ptr %at, i64 %step
  br i1 %more, label %yes, label %no
yes:
  call void @take(ptr %next)
  ret void
no:
  call void @take(ptr %next)
  ret void
}
