; A branch past a block that chooses again among the same values becomes selects.
; RUN: opt --passes=select_refined

declare i64 @llvm.umin.i64(i64, i64)

define i64 @nearest(i1 %found, i1 %exists, i64 %key, i64 %best.key, i32 %place, i32 %best) {
; CHECK-LABEL: define i64 @nearest(i1 %found, i1 %exists, i64 %key, i64 %best.key, i32 %place, i32 %best) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %found, label %new, label %joined
; CHECK-NEXT: new:
; CHECK-NEXT:   %less = icmp ult i64 %key, %best.key
; CHECK-NEXT:   %least = call i64 @llvm.umin.i64(i64 %key, i64 %best.key)
; CHECK-NEXT:   %nearest = select i1 %less, i32 %place, i32 %best
; CHECK-NEXT:   %0 = select i1 %less, i1 false, i1 true
; CHECK-NEXT:   %1 = select i1 %exists, i1 %0, i1 false
; CHECK-NEXT:   %2 = select i1 %1, i64 %best.key, i64 %key
; CHECK-NEXT:   %3 = select i1 %1, i32 %best, i32 %place
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %any = phi i64 [ 0, %start ], [ 1, %new ]
; CHECK-NEXT:   %key.new = phi i64 [ %best.key, %start ], [ %2, %new ]
; CHECK-NEXT:   %best.new = phi i32 [ %best, %start ], [ %3, %new ]
; CHECK-NEXT:   %wide = zext i32 %best.new to i64
; CHECK-NEXT:   %sum = add i64 %key.new, %wide
; CHECK-NEXT:   %all = add i64 %sum, %any
; CHECK-NEXT:   ret i64 %all
; CHECK-NEXT: }
start:
  br i1 %found, label %new, label %joined

new:
  br i1 %exists, label %compare, label %joined

compare:
  %less = icmp ult i64 %key, %best.key
  %least = tail call i64 @llvm.umin.i64(i64 %key, i64 %best.key)
  %nearest = select i1 %less, i32 %place, i32 %best
  br label %joined

joined:
  %any = phi i64 [ 0, %start ], [ 1, %new ], [ 1, %compare ]
  %key.new = phi i64 [ %best.key, %start ], [ %key, %new ], [ %least, %compare ]
  %best.new = phi i32 [ %best, %start ], [ %place, %new ], [ %nearest, %compare ]
  %wide = zext i32 %best.new to i64
  %sum = add i64 %key.new, %wide
  %all = add i64 %sum, %any
  ret i64 %all
}

; The block chooses in the other order, runs if the condition is false, and compares otherwise.
define i64 @inverted(i1 %none, float %key, float %best.key, i32 %place, i32 %best) {
; CHECK-LABEL: define i64 @inverted(i1 %none, float %key, float %best.key, i32 %place, i32 %best) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %greater = fcmp ogt float %best.key, %key
; CHECK-NEXT:   %least = select i1 %greater, float %key, float %best.key
; CHECK-NEXT:   %nearest = select i1 %greater, i32 %place, i32 %best
; CHECK-NEXT:   %0 = select i1 %greater, i1 false, i1 true
; CHECK-NEXT:   %1 = select i1 %none, i1 false, i1 %0
; CHECK-NEXT:   %2 = select i1 %1, float %best.key, float %key
; CHECK-NEXT:   %3 = select i1 %none, i1 false, i1 %greater
; CHECK-NEXT:   %4 = select i1 %3, i32 %place, i32 %best
; CHECK-NEXT:   br label %joined
; CHECK-NEXT: joined:
; CHECK-NEXT:   %key.new = phi float [ %2, %start ]
; CHECK-NEXT:   %best.new = phi i32 [ %4, %start ]
; CHECK-NEXT:   %bits = bitcast float %key.new to i32
; CHECK-NEXT:   %sum = add i32 %best.new, %bits
; CHECK-NEXT:   %all = zext i32 %sum to i64
; CHECK-NEXT:   ret i64 %all
; CHECK-NEXT: }
start:
  br i1 %none, label %joined, label %compare

compare:
  %greater = fcmp ogt float %best.key, %key
  %least = select i1 %greater, float %key, float %best.key
  %nearest = select i1 %greater, i32 %place, i32 %best
  br label %joined

joined:
  %key.new = phi float [ %key, %start ], [ %least, %compare ]
  %best.new = phi i32 [ %best, %start ], [ %nearest, %compare ]
  %bits = bitcast float %key.new to i32
  %sum = add i32 %best.new, %bits
  %all = zext i32 %sum to i64
  ret i64 %all
}

; Unchanged: a block that computes, a choice of other values, a single choice, and a block with another
; predecessor.
define i32 @unchanged(i1 %c, i1 %d, i32 %a, i32 %b, i32 %e) {
; CHECK-LABEL: define i32 @unchanged(i1 %c, i1 %d, i32 %a, i32 %b, i32 %e) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %compute, label %one
; CHECK-NEXT: compute:
; CHECK-NEXT:   %less.1 = icmp ult i32 %a, %b
; CHECK-NEXT:   %x.1 = select i1 %less.1, i32 %a, i32 %b
; CHECK-NEXT:   %y.1 = mul i32 %a, %b
; CHECK-NEXT:   br label %one
; CHECK-NEXT: one:
; CHECK-NEXT:   %p.1 = phi i32 [ %b, %start ], [ %x.1, %compute ]
; CHECK-NEXT:   %q.1 = phi i32 [ %b, %start ], [ %y.1, %compute ]
; CHECK-NEXT:   br i1 %d, label %other, label %two
; CHECK-NEXT: other:
; CHECK-NEXT:   %less.2 = icmp ult i32 %a, %b
; CHECK-NEXT:   %x.2 = select i1 %less.2, i32 %a, i32 %b
; CHECK-NEXT:   %y.2 = select i1 %less.2, i32 %a, i32 %q.1
; CHECK-NEXT:   br label %two
; CHECK-NEXT: two:
; CHECK-NEXT:   %p.2 = phi i32 [ %p.1, %one ], [ %x.2, %other ]
; CHECK-NEXT:   %q.2 = phi i32 [ %a, %one ], [ %y.2, %other ]
; CHECK-NEXT:   br i1 %c, label %single, label %three
; CHECK-NEXT: single:
; CHECK-NEXT:   %less.3 = icmp ult i32 %p.2, %b
; CHECK-NEXT:   %x.3 = select i1 %less.3, i32 %p.2, i32 %b
; CHECK-NEXT:   br label %three
; CHECK-NEXT: three:
; CHECK-NEXT:   %p.3 = phi i32 [ %b, %two ], [ %x.3, %single ]
; CHECK-NEXT:   br i1 %d, label %shared, label %four
; CHECK-NEXT: four:
; CHECK-NEXT:   br i1 %c, label %shared, label %end
; CHECK-NEXT: shared:
; CHECK-NEXT:   %less.4 = icmp ult i32 %a, %e
; CHECK-NEXT:   %x.4 = select i1 %less.4, i32 %a, i32 %e
; CHECK-NEXT:   %y.4 = select i1 %less.4, i32 %b, i32 %e
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %p.4 = phi i32 [ %e, %four ], [ %x.4, %shared ]
; CHECK-NEXT:   %q.4 = phi i32 [ %e, %four ], [ %y.4, %shared ]
; CHECK-NEXT:   %sum.1 = add i32 %p.3, %q.2
; CHECK-NEXT:   %sum.2 = add i32 %p.4, %q.4
; CHECK-NEXT:   %sum = add i32 %sum.1, %sum.2
; CHECK-NEXT:   ret i32 %sum
; CHECK-NEXT: }
start:
  br i1 %c, label %compute, label %one

compute:
  %less.1 = icmp ult i32 %a, %b
  %x.1 = select i1 %less.1, i32 %a, i32 %b
  %y.1 = mul i32 %a, %b
  br label %one

one:
  %p.1 = phi i32 [ %b, %start ], [ %x.1, %compute ]
  %q.1 = phi i32 [ %b, %start ], [ %y.1, %compute ]
  br i1 %d, label %other, label %two

other:
  %less.2 = icmp ult i32 %a, %b
  %x.2 = select i1 %less.2, i32 %a, i32 %b
  %y.2 = select i1 %less.2, i32 %a, i32 %q.1
  br label %two

two:
  %p.2 = phi i32 [ %p.1, %one ], [ %x.2, %other ]
  %q.2 = phi i32 [ %a, %one ], [ %y.2, %other ]
  br i1 %c, label %single, label %three

single:
  %less.3 = icmp ult i32 %p.2, %b
  %x.3 = select i1 %less.3, i32 %p.2, i32 %b
  br label %three

three:
  %p.3 = phi i32 [ %b, %two ], [ %x.3, %single ]
  br i1 %d, label %shared, label %four

four:
  br i1 %c, label %shared, label %end

shared:
  %less.4 = icmp ult i32 %a, %e
  %x.4 = select i1 %less.4, i32 %a, i32 %e
  %y.4 = select i1 %less.4, i32 %b, i32 %e
  br label %end

end:
  %p.4 = phi i32 [ %e, %four ], [ %x.4, %shared ]
  %q.4 = phi i32 [ %e, %four ], [ %y.4, %shared ]
  %sum.1 = add i32 %p.3, %q.2
  %sum.2 = add i32 %p.4, %q.4
  %sum = add i32 %sum.1, %sum.2
  ret i32 %sum
}
