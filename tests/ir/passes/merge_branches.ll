; Arms of a branch that branch to the same targets become one branch.
; RUN: opt --passes=merge_branches

; CHECK: define i32 @same
define i32 @same(i1 %up, i32 %a, i32 %b) {
start:
  br i1 %up, label %rising, label %falling

rising:
  %less = icmp ult i32 %a, %b
; CHECK: %less = icmp ult i32 %a, %b
; CHECK: br label %merged
  br i1 %less, label %take, label %end

falling:
  %more = icmp ugt i32 %a, %b
; CHECK: %more = icmp ugt i32 %a, %b
; CHECK: br label %merged
  br i1 %more, label %take, label %end

take:
  br label %end

end:
; CHECK: phi i32 [ %a, %merged ], [ %b, %take ]
  %result = phi i32 [ %a, %rising ], [ %a, %falling ], [ %b, %take ]
  ret i32 %result
; CHECK: merged:
; CHECK: %0 = phi i1 [ %less, %rising ], [ %more, %falling ]
; CHECK: br i1 %0, label %take, label %end
}

; Exchanged targets: the second condition is negated.
; CHECK: define void @exchanged
define void @exchanged(i1 %up, i1 %x, i1 %y, ptr %p) {
start:
  br i1 %up, label %first, label %second

first:
  br i1 %x, label %store, label %end

second:
; CHECK: second:
; CHECK: %0 = xor i1 %y, true
  br i1 %y, label %end, label %store

store:
  store i32 1, ptr %p, align 4
  br label %end

end:
  ret void
; CHECK: merged:
; CHECK: %1 = phi i1 [ %x, %first ], [ %0, %second ]
; CHECK: br i1 %1, label %store, label %end
}

; Arms that pass different values on or are large keep their branches.
; CHECK: define i32 @different
define i32 @different(i1 %up, i1 %x, i1 %y, i32 %a, i32 %b) {
start:
; CHECK: br i1 %up, label %first, label %second
  br i1 %up, label %first, label %second

first:
; CHECK: br i1 %x, label %take, label %end
  br i1 %x, label %take, label %end

second:
; CHECK: br i1 %y, label %take, label %end
  br i1 %y, label %take, label %end

take:
  br label %end

end:
; CHECK: phi i32 [ 1, %first ], [ 2, %second ], [ %b, %take ]
  %result = phi i32 [ 1, %first ], [ 2, %second ], [ %b, %take ]
  ret i32 %result
}

; CHECK: define void @large
define void @large(i1 %up, i32 %a, i32 %b, ptr %p) {
start:
  br i1 %up, label %first, label %second

first:
  %sum = add i32 %a, %b
  %product = mul i32 %sum, %a
  %difference = sub i32 %product, %b
  %x = icmp eq i32 %difference, 1
; CHECK: br i1 %x, label %store, label %end
  br i1 %x, label %store, label %end

second:
  %y = icmp eq i32 %a, %b
; CHECK: br i1 %y, label %store, label %end
  br i1 %y, label %store, label %end

store:
  store i32 1, ptr %p, align 4
  br label %end

end:
  ret void
}

; An arm with another predecessor, and an arm that is a loop, keep their branches.
; CHECK: define void @shared
define void @shared(i1 %up, i1 %again, i1 %x, i1 %y, ptr %p) {
start:
; CHECK: br i1 %again, label %head, label %first
  br i1 %again, label %head, label %first

head:
; CHECK: br i1 %up, label %first, label %second
  br i1 %up, label %first, label %second

first:
; CHECK: br i1 %x, label %store, label %end
  br i1 %x, label %store, label %end

second:
; CHECK: br i1 %y, label %store, label %end
  br i1 %y, label %store, label %end

store:
  store i32 1, ptr %p, align 4
  br label %end

end:
  ret void
}

; CHECK: define void @looping
define void @looping(i1 %up, i1 %x, i1 %y) {
start:
; CHECK: br i1 %up, label %first, label %second
  br i1 %up, label %first, label %second

first:
; CHECK: br i1 %x, label %first, label %end
  br i1 %x, label %first, label %end

second:
; CHECK: br i1 %y, label %first, label %end
  br i1 %y, label %first, label %end

end:
  ret void
}
