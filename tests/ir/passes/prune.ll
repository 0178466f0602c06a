; Branches on constants become unconditional, and what they skip is removed.
; RUN: opt --passes=prune

define i32 @branches(i1 %unknown) {
start:
  br i1 true, label %yes, label %no
yes:
  br i1 %unknown, label %end, label %other
no:
  br label %end
other:
  br i1 false, label %no, label %end
end:
  %x = phi i32 [ 1, %yes ], [ 2, %no ], [ 3, %other ]
  ret i32 %x
}
; CHECK-LABEL: define i32 @branches(i1 %unknown) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %yes
; CHECK-NEXT: yes:
; CHECK-NEXT:   br i1 %unknown, label %end, label %other
; CHECK-NEXT: other:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %x = phi i32 [ 1, %yes ], [ 3, %other ]
; CHECK-NEXT:   ret i32 %x
; CHECK-NEXT: }

define i32 @switches() {
start:
  switch i32 2, label %default [
    i32 1, label %one
    i32 2, label %two
  ]
one:
  br label %default
two:
  switch i8 0, label %default [
    i8 1, label %one
  ]
default:
  %x = phi i32 [ 0, %start ], [ 1, %one ], [ 2, %two ]
  ret i32 %x
}
; CHECK-LABEL: define i32 @switches() {
; CHECK-NEXT: start:
; CHECK-NEXT:   br label %two
; CHECK-NEXT: two:
; CHECK-NEXT:   br label %default
; CHECK-NEXT: default:
; CHECK-NEXT:   %x = phi i32 [ 2, %two ]
; CHECK-NEXT:   ret i32 %x
; CHECK-NEXT: }

; Several edges become one, with one value of the phi.
define i32 @merges(i1 %c) {
start:
  br i1 %c, label %branch, label %switch
branch:
  br i1 true, label %end, label %end
switch:
  switch i32 1, label %end [
    i32 1, label %end
    i32 2, label %other
  ]
other:
  br label %end
end:
  %x = phi i32 [ 1, %branch ], [ 1, %branch ], [ 2, %switch ], [ 2, %switch ], [ 3, %other ]
  ret i32 %x
}
; CHECK-LABEL: define i32 @merges(i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %branch, label %switch
; CHECK-NEXT: branch:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: switch:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %x = phi i32 [ 1, %branch ], [ 2, %switch ]
; CHECK-NEXT:   ret i32 %x
; CHECK-NEXT: }
