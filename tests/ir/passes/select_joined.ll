; Nested branches that only choose values become selects if all their arms meet.
; RUN: opt --passes=select_joined

define i64 @count(ptr %keys, float %own) {
; CHECK-LABEL: define i64 @count(ptr %keys, float %own) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %next
; CHECK-NEXT: next:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %following, %joined ]
; CHECK-NEXT:   %less = phi i64 [ 0, %start ], [ %less.new, %joined ]
; CHECK-NEXT:   %equal = phi i64 [ 0, %start ], [ %equal.new, %joined ]
; CHECK-NEXT:   %at = getelementptr float, ptr %keys, i64 %i
; CHECK-NEXT:   %key = load float, ptr %at, align 4
; CHECK-NEXT:   %following = add nuw i64 %i, 1
; CHECK-NEXT:   %is.greater = fcmp ugt float %key, %own
; CHECK-NEXT:   %is.less = fcmp ult float %key, %own
; CHECK-NEXT:   %less.more = add i64 %less, 1
; CHECK-NEXT:   %equal.more = add i64 %equal, 1
; CHECK-NEXT:   %0 = select i1 %is.less, i64 %less.more, i64 %less
; CHECK-NEXT:   %1 = select i1 %is.less, i64 %equal, i64 %equal.more
; CHECK-NEXT:   %2 = select i1 %is.greater, i64 %less, i64 %0
; CHECK-NEXT:   %3 = select i1 %is.greater, i64 %equal, i64 %1
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %less.new = phi i64 [ %2, %next ]
; CHECK-NEXT:   %equal.new = phi i64 [ %3, %next ]
; CHECK-NEXT:   %more = icmp ult i64 %following, 512
; CHECK-NEXT:   br i1 %more, label %next, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %both = mul i64 %less.new, %equal.new
; CHECK-NEXT:   ret i64 %both
; CHECK-NEXT: }
start:
  br label %next

next:
  %i = phi i64 [ 0, %start ], [ %following, %joined ]
  %less = phi i64 [ 0, %start ], [ %less.new, %joined ]
  %equal = phi i64 [ 0, %start ], [ %equal.new, %joined ]
  %at = getelementptr float, ptr %keys, i64 %i
  %key = load float, ptr %at, align 4
  %following = add nuw i64 %i, 1
  %is.greater = fcmp ugt float %key, %own
  br i1 %is.greater, label %joined, label %ordered

ordered:
  %is.less = fcmp ult float %key, %own
  br i1 %is.less, label %lesser, label %same

lesser:
  %less.more = add nuw nsw i64 %less, 1
  br label %joined

same:
  %equal.more = add nuw nsw i64 %equal, 1
  br label %joined

joined:
  %less.new = phi i64 [ %less, %next ], [ %less.more, %lesser ], [ %less, %same ]
  %equal.new = phi i64 [ %equal, %next ], [ %equal, %lesser ], [ %equal.more, %same ]
  %more = icmp ult i64 %following, 512
  br i1 %more, label %next, label %end

end:
  %both = mul i64 %less.new, %equal.new
  ret i64 %both
}

; Two arms that meet alone are left to LLVM.
define i32 @alone(i1 %cond, i32 %x) {
; CHECK-LABEL: define i32 @alone(i1 %cond, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %cond, label %more, label %end
; CHECK-NEXT: more:
; CHECK-NEXT:   %sum = add i32 %x, 1
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i32 [ %x, %start ], [ %sum, %more ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }
start:
  br i1 %cond, label %more, label %end

more:
  %sum = add i32 %x, 1
  br label %end

end:
  %result = phi i32 [ %x, %start ], [ %sum, %more ]
  ret i32 %result
}

; A load may fault, a division by zero is undefined behavior, and a store has an effect.
define i32 @effects(i32 %kind, i32 %x, ptr %at) {
; CHECK-LABEL: define i32 @effects(i32 %kind, i32 %x, ptr %at) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is.zero = icmp eq i32 %kind, 0
; CHECK-NEXT:   br i1 %is.zero, label %end, label %first
; CHECK-NEXT: first:
; CHECK-NEXT:   %is.one = icmp eq i32 %kind, 1
; CHECK-NEXT:   br i1 %is.one, label %load, label %second
; CHECK-NEXT: load:
; CHECK-NEXT:   %loaded = load i32, ptr %at, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: second:
; CHECK-NEXT:   %is.two = icmp eq i32 %kind, 2
; CHECK-NEXT:   br i1 %is.two, label %divide, label %store
; CHECK-NEXT: divide:
; CHECK-NEXT:   %quotient = udiv i32 %x, %kind
; CHECK-NEXT:   br label %end
; CHECK-NEXT: store:
; CHECK-NEXT:   store i32 %x, ptr %at, align 4
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i32 [ 0, %start ], [ %loaded, %load ], [ %quotient, %divide ], [ %x, %store ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }
start:
  %is.zero = icmp eq i32 %kind, 0
  br i1 %is.zero, label %end, label %first

first:
  %is.one = icmp eq i32 %kind, 1
  br i1 %is.one, label %load, label %second

load:
  %loaded = load i32, ptr %at, align 4
  br label %end

second:
  %is.two = icmp eq i32 %kind, 2
  br i1 %is.two, label %divide, label %store

divide:
  %quotient = udiv i32 %x, %kind
  br label %end

store:
  store i32 %x, ptr %at, align 4
  br label %end

end:
  %result = phi i32 [ 0, %start ], [ %loaded, %load ], [ %quotient, %divide ], [ %x, %store ]
  ret i32 %result
}

; Conditions and constants decide later branches. An arm with two predecessors stays, too.
define i32 @decided(i32 %kind, i32 %x, i1 %known) {
; CHECK-LABEL: define i32 @decided(i32 %kind, i32 %x, i1 %known) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is.zero = icmp eq i32 %kind, 0
; CHECK-NEXT:   br i1 %is.zero, label %shared, label %first
; CHECK-NEXT: first:
; CHECK-NEXT:   %is.one = icmp eq i32 %kind, 1
; CHECK-NEXT:   br i1 %is.one, label %shared, label %second
; CHECK-NEXT: second:
; CHECK-NEXT:   %is.two = icmp eq i32 %kind, 2
; CHECK-NEXT:   br i1 %is.two, label %other, label %last
; CHECK-NEXT: last:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: other:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: shared:
; CHECK-NEXT:   %twice = add i32 %x, %x
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %valid = phi i1 [ true, %shared ], [ %known, %other ], [ false, %last ]
; CHECK-NEXT:   %number = phi i32 [ %twice, %shared ], [ 7, %other ], [ 8, %last ]
; CHECK-NEXT:   br i1 %valid, label %good, label %bad
; CHECK-NEXT: good:
; CHECK-NEXT:   ret i32 %number
; CHECK-NEXT: bad:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }
start:
  %is.zero = icmp eq i32 %kind, 0
  br i1 %is.zero, label %shared, label %first

first:
  %is.one = icmp eq i32 %kind, 1
  br i1 %is.one, label %shared, label %second

second:
  %is.two = icmp eq i32 %kind, 2
  br i1 %is.two, label %other, label %last

last:
  br label %end

other:
  br label %end

shared:
  %twice = add i32 %x, %x
  br label %end

end:
  %valid = phi i1 [ true, %shared ], [ %known, %other ], [ false, %last ]
  %number = phi i32 [ %twice, %shared ], [ 7, %other ], [ 8, %last ]
  br i1 %valid, label %good, label %bad

good:
  ret i32 %number

bad:
  ret i32 0
}

; A branch back to its own block, and one whose arms are the same block.
define i32 @loops(i32 %x, i1 %cond, i1 %again) {
; CHECK-LABEL: define i32 @loops(i32 %x, i1 %cond, i1 %again) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %cond, label %loop, label %same
; CHECK-NEXT: same:
; CHECK-NEXT:   br i1 %again, label %arm, label %arm
; CHECK-NEXT: arm:
; CHECK-NEXT:   %three = add i32 %x, 3
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %value = phi i32 [ %x, %start ], [ %three, %arm ], [ %sum, %loop ], [ %sum, %back ]
; CHECK-NEXT:   %sum = add i32 %value, 1
; CHECK-NEXT:   %small = icmp ult i32 %sum, 100
; CHECK-NEXT:   br i1 %small, label %loop, label %leave
; CHECK-NEXT: leave:
; CHECK-NEXT:   %odd = icmp eq i32 %sum, 101
; CHECK-NEXT:   br i1 %odd, label %back, label %end
; CHECK-NEXT: back:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i32 %sum
; CHECK-NEXT: }
start:
  br i1 %cond, label %loop, label %same

same:
  br i1 %again, label %arm, label %arm

arm:
  %three = add i32 %x, 3
  br label %loop

loop:
  %value = phi i32 [ %x, %start ], [ %three, %arm ], [ %sum, %loop ], [ %sum, %back ]
  %sum = add i32 %value, 1
  %small = icmp ult i32 %sum, 100
  br i1 %small, label %loop, label %leave

leave:
  %odd = icmp eq i32 %sum, 101
  br i1 %odd, label %back, label %end

back:
  br label %loop

end:
  ret i32 %sum
}

; The block between the branches loads: ptxas replaces the inner branch.
define i32 @between(i32 %x, i1 %cond, ptr %at) {
; CHECK-LABEL: define i32 @between(i32 %x, i1 %cond, ptr %at) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %cond, label %end, label %load
; CHECK-NEXT: load:
; CHECK-NEXT:   %value = load i32, ptr %at, align 4
; CHECK-NEXT:   %small = icmp ult i32 %value, 100
; CHECK-NEXT:   br i1 %small, label %more, label %end
; CHECK-NEXT: more:
; CHECK-NEXT:   %sum = add i32 %x, 1
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %result = phi i32 [ %x, %start ], [ %x, %load ], [ %sum, %more ]
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: }
start:
  br i1 %cond, label %end, label %load

load:
  %value = load i32, ptr %at, align 4
  %small = icmp ult i32 %value, 100
  br i1 %small, label %more, label %end

more:
  %sum = add i32 %x, 1
  br label %end

end:
  %result = phi i32 [ %x, %start ], [ %x, %load ], [ %sum, %more ]
  ret i32 %result
}
