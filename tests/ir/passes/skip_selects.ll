; Selects are skipped where their condition is known to be false.
; RUN: opt --passes=skip_selects

define void @first(ptr %p, float %x, float %limit, i32 %n) {
; CHECK-LABEL: define void @first(ptr %p, float %x, float %limit, i32 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %i = phi i32 [ 0, %start ], [ %next, %join ]
; CHECK-NEXT:   %least = phi float [ 0x3FF0000000000000, %start ], [ %new, %join ]
; CHECK-NEXT:   %at = phi i32 [ 0, %start ], [ %place, %join ]
; CHECK-NEXT:   %y = fmul float %x, %least
; CHECK-NEXT:   %is_far = fcmp ogt float %y, %limit
; CHECK-NEXT:   br i1 %is_far, label %join, label %near
; CHECK-NEXT: near:
; CHECK-NEXT:   %z = fadd float %y, 0x4000000000000000
; CHECK-NEXT:   %is_hit = fcmp ogt float %z, 0x0000000000000000
; CHECK-NEXT:   br i1 %is_hit, label %hit, label %join
; CHECK-NEXT: hit:
; CHECK-NEXT:   %some = fcmp olt float %z, 0x4010000000000000
; CHECK-NEXT:   br label %selected
; CHECK-NEXT: join:
; CHECK-NEXT:   %new = phi float [ %least, %loop ], [ %least, %near ], [ %4, %selected ]
; CHECK-NEXT:   %place = phi i32 [ %at, %loop ], [ %at, %near ], [ %3, %selected ]
; CHECK-NEXT:   %is_some = phi i1 [ false, %loop ], [ false, %near ], [ %some, %selected ]
; CHECK-NEXT:   %distance = phi float [ 0x0000000000000000, %loop ], [ 0x0000000000000000, %near ], [ %z, %selected ]
; CHECK-NEXT:   %is_less = fcmp olt float %distance, %least
; CHECK-NEXT:   %is_first = select i1 %is_some, i1 %is_less, i1 false
; CHECK-NEXT:   %shifted = add i32 %i, 7
; CHECK-NEXT:   %next = add i32 %i, 1
; CHECK-NEXT:   %more = icmp ult i32 %next, %n
; CHECK-NEXT:   br i1 %more, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   store float %new, ptr %p, align 4
; CHECK-NEXT:   store i32 %place, ptr %p, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: selected:
; CHECK-NEXT:   %0 = fcmp olt float %z, %least
; CHECK-NEXT:   %1 = select i1 %some, i1 %0, i1 false
; CHECK-NEXT:   %2 = add i32 %i, 7
; CHECK-NEXT:   %3 = select i1 %1, i32 %2, i32 %at
; CHECK-NEXT:   %4 = select i1 %1, float %z, float %least
; CHECK-NEXT:   br label %join
; CHECK-NEXT: }
start:
  br label %loop

loop:
  %i = phi i32 [ 0, %start ], [ %next, %join ]
  %least = phi float [ 1.0, %start ], [ %new, %join ]
  %at = phi i32 [ 0, %start ], [ %place, %join ]
  %y = fmul float %x, %least
  %is_far = fcmp ogt float %y, %limit
  br i1 %is_far, label %join, label %near

near:
  %z = fadd float %y, 2.0
  %is_hit = fcmp ogt float %z, 0.0
  br i1 %is_hit, label %hit, label %join

hit:
  %some = fcmp olt float %z, 4.0
  br label %join

join:
  %is_some = phi i1 [ false, %loop ], [ false, %near ], [ %some, %hit ]
  %distance = phi float [ 0.0, %loop ], [ 0.0, %near ], [ %z, %hit ]
  %is_less = fcmp olt float %distance, %least
  %is_first = select i1 %is_some, i1 %is_less, i1 false
  %shifted = add i32 %i, 7
  %place = select i1 %is_first, i32 %shifted, i32 %at
  %new = select i1 %is_first, float %distance, float %least
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end

end:
  store float %new, ptr %p, align 4
  store i32 %place, ptr %p, align 4
  ret void
}

; Several ways to the selects, and an old value that depends on the way.
define i32 @several(i32 %kind, i1 %a, i1 %b, i32 %x) {
; CHECK-LABEL: define i32 @several(i32 %kind, i1 %a, i1 %b, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %kind, label %none [
; CHECK-NEXT:     i32 1, label %one
; CHECK-NEXT:     i32 2, label %two
; CHECK-NEXT:     i32 3, label %always
; CHECK-NEXT:     i32 4, label %never
; CHECK-NEXT:   ]
; CHECK-NEXT: one:
; CHECK-NEXT:   br label %selected
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %selected
; CHECK-NEXT: always:
; CHECK-NEXT:   br label %selected
; CHECK-NEXT: never:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: none:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %result = phi i32 [ 4, %never ], [ 5, %none ], [ %4, %selected ]
; CHECK-NEXT:   %is_some = phi i1 [ false, %never ], [ false, %none ], [ %0, %selected ]
; CHECK-NEXT:   %old = phi i32 [ 4, %never ], [ 5, %none ], [ %1, %selected ]
; CHECK-NEXT:   %is_less = icmp ult i32 %old, %x
; CHECK-NEXT:   %both = and i1 %is_less, %is_some
; CHECK-NEXT:   ret i32 %result
; CHECK-NEXT: selected:
; CHECK-NEXT:   %0 = phi i1 [ %a, %one ], [ %b, %two ], [ true, %always ]
; CHECK-NEXT:   %1 = phi i32 [ 1, %one ], [ 2, %two ], [ 3, %always ]
; CHECK-NEXT:   %2 = icmp ult i32 %1, %x
; CHECK-NEXT:   %3 = and i1 %2, %0
; CHECK-NEXT:   %4 = select i1 %3, i32 %x, i32 %1
; CHECK-NEXT:   br label %join
; CHECK-NEXT: }
start:
  switch i32 %kind, label %none [
    i32 1, label %one
    i32 2, label %two
    i32 3, label %always
    i32 4, label %never
  ]

one:
  br label %join

two:
  br label %join

always:
  br label %join

never:
  br label %join

none:
  br label %join

join:
  %is_some = phi i1 [ %a, %one ], [ %b, %two ], [ true, %always ], [ false, %never ], [ false, %none ]
  %old = phi i32 [ 1, %one ], [ 2, %two ], [ 3, %always ], [ 4, %never ], [ 5, %none ]
  %is_less = icmp ult i32 %old, %x
  %both = and i1 %is_less, %is_some
  %result = select i1 %both, i32 %x, i32 %old
  ret i32 %result
}

; The condition has another user; the old value is computed in the block; and it is a load.
define i1 @others(i1 %way, i1 %a, i32 %x, ptr %p) {
; CHECK-LABEL: define i1 @others(i1 %way, i1 %a, i32 %x, ptr %p) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %way, label %some, label %join
; CHECK-NEXT: some:
; CHECK-NEXT:   br label %join
; CHECK-NEXT: join:
; CHECK-NEXT:   %is_some = phi i1 [ %a, %some ], [ false, %start ]
; CHECK-NEXT:   %is_less = icmp ult i32 %x, 7
; CHECK-NEXT:   %used = and i1 %is_some, %is_less
; CHECK-NEXT:   %first = select i1 %used, i32 %x, i32 0
; CHECK-NEXT:   store i32 %first, ptr %p, align 4
; CHECK-NEXT:   %old = add i32 %x, 1
; CHECK-NEXT:   %two = and i1 %is_some, %way
; CHECK-NEXT:   %second = select i1 %two, i32 %x, i32 %old
; CHECK-NEXT:   store i32 %second, ptr %p, align 4
; CHECK-NEXT:   %loaded = load i32, ptr %p, align 4
; CHECK-NEXT:   %three = select i1 %is_some, i1 %way, i1 false
; CHECK-NEXT:   %third = select i1 %three, i32 %loaded, i32 0
; CHECK-NEXT:   store i32 %third, ptr %p, align 4
; CHECK-NEXT:   ret i1 %used
; CHECK-NEXT: }
start:
  br i1 %way, label %some, label %join

some:
  br label %join

join:
  %is_some = phi i1 [ %a, %some ], [ false, %start ]
  %is_less = icmp ult i32 %x, 7
  %used = and i1 %is_some, %is_less
  %first = select i1 %used, i32 %x, i32 0
  store i32 %first, ptr %p, align 4
  %old = add i32 %x, 1
  %two = and i1 %is_some, %way
  %second = select i1 %two, i32 %x, i32 %old
  store i32 %second, ptr %p, align 4
  %loaded = load i32, ptr %p, align 4
  %three = select i1 %is_some, i1 %way, i1 false
  %third = select i1 %three, i32 %loaded, i32 0
  store i32 %third, ptr %p, align 4
  ret i1 %used
}
