; A loop goes back from one block.
; RUN: opt --passes=unite_latches

; CHECK: define i32 @continues
define i32 @continues(i32 %n, i1 %far) {
start:
  br label %header

; CHECK: header:
; CHECK-NEXT: %i = phi i32 [ 0, %start ], [ %0, %latch ]
; CHECK-NEXT: %found = phi i32 [ 0, %start ], [ %1, %latch ]
header:
  %i = phi i32 [ 0, %start ], [ %next, %header ], [ %next, %near ], [ %after, %last ]
  %found = phi i32 [ 0, %start ], [ %found, %header ], [ %more, %near ], [ %more, %last ]
  %next = add i32 %i, 1
; CHECK: br i1 %far, label %latch, label %near
  br i1 %far, label %header, label %near

near:
  %more = add i32 %found, 1
  %even = icmp ult i32 %more, %n
; CHECK: br i1 %even, label %latch, label %last
  br i1 %even, label %header, label %last

last:
  %after = add i32 %next, 1
  %goes_on = icmp ult i32 %after, %n
; CHECK: br i1 %goes_on, label %latch, label %end
  br i1 %goes_on, label %header, label %end

end:
  ret i32 %more
; CHECK: latch:
; CHECK-NEXT: %0 = phi i32 [ %next, %header ], [ %next, %near ], [ %after, %last ]
; CHECK-NEXT: %1 = phi i32 [ %found, %header ], [ %more, %near ], [ %more, %last ]
; CHECK-NEXT: br label %header
}

; Two edges from one block are one way back, and each of two nested loops has its own.
; CHECK: define void @others
; CHECK-NOT: latch:
define void @others(i32 %n, i32 %what, i1 %again) {
start:
  br label %outer

outer:
  br label %inner

inner:
  switch i32 %what, label %end [
    i32 0, label %inner
    i32 1, label %inner
    i32 2, label %between
  ]

between:
  br i1 %again, label %outer, label %end

end:
  ret void
}

; All latches pass on the same value.
define i32 @same(i32 %n, i1 %far) {
start:
  br label %header

header:
  %i = phi i32 [ 0, %start ], [ %next, %header ], [ %next, %near ]
  %first = phi i32 [ %n, %start ], [ 0, %header ], [ 0, %near ]
  %next = add i32 %i, 1
  br i1 %far, label %header, label %near

near:
  %goes_on = icmp ult i32 %next, %first
  br i1 %goes_on, label %header, label %end

end:
  ret i32 %next
}
; CHECK-LABEL: define i32 @same(i32 %n, i1 %far) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %header
; CHECK-NEXT: header:
; CHECK-NEXT:   %i = phi i32 [ 0, %start ], [ %next, %latch ]
; CHECK-NEXT:   %first = phi i32 [ %n, %start ], [ 0, %latch ]
; CHECK-NEXT:   %next = add i32 %i, 1
; CHECK-NEXT:   br i1 %far, label %latch, label %near
; CHECK-NEXT: near:
; CHECK-NEXT:   %goes_on = icmp ult i32 %next, %first
; CHECK-NEXT:   br i1 %goes_on, label %latch, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i32 %next
; CHECK-NEXT: latch:
; CHECK-NEXT:   br label %header
; CHECK-NEXT: }
