; The square of an absolute difference is that of a difference.
; RUN: opt --passes=square_differences

define i64 @square(i64 %a, i64 %b) {
; CHECK-LABEL: define i64 @square(i64 %a, i64 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %greater = icmp ugt i64 %a, %b
; CHECK-NEXT:   %down = sub nuw i64 %a, %b
; CHECK-NEXT:   %up = sub nuw i64 %b, %a
; CHECK-NEXT:   %difference = select i1 %greater, i64 %down, i64 %up
; CHECK-NEXT:   %0 = sub i64 %a, %b
; CHECK-NEXT:   %square = mul i64 %0, %0
; CHECK-NEXT:   ret i64 %square
; CHECK-NEXT: }
  %greater = icmp ugt i64 %a, %b
  %down = sub nuw i64 %a, %b
  %up = sub nuw i64 %b, %a
  %difference = select i1 %greater, i64 %down, i64 %up
  %square = mul nuw nsw i64 %difference, %difference
  ret i64 %square
}

; Products of other values stay.
define i64 @others(i64 %a, i64 %b, i64 %c, i1 %d) {
; CHECK-LABEL: define i64 @others(i64 %a, i64 %b, i64 %c, i1 %d) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %down = sub i64 %a, %b
; CHECK-NEXT:   %up = sub i64 %b, %a
; CHECK-NEXT:   %same = sub i64 %a, %b
; CHECK-NEXT:   %other = sub i64 %c, %a
; CHECK-NEXT:   %difference = select i1 %d, i64 %down, i64 %up
; CHECK-NEXT:   %x = mul i64 %difference, %down
; CHECK-NEXT:   %one = select i1 %d, i64 %down, i64 %same
; CHECK-NEXT:   %y = mul i64 %one, %one
; CHECK-NEXT:   %two = select i1 %d, i64 %down, i64 %other
; CHECK-NEXT:   %z = mul i64 %two, %two
; CHECK-NEXT:   %sum = add i64 %difference, %difference
; CHECK-NEXT:   %0 = xor i64 %x, %y
; CHECK-NEXT:   %1 = xor i64 %z, %sum
; CHECK-NEXT:   %2 = xor i64 %0, %1
; CHECK-NEXT:   ret i64 %2
; CHECK-NEXT: }
  %down = sub i64 %a, %b
  %up = sub i64 %b, %a
  %same = sub i64 %a, %b
  %other = sub i64 %c, %a
  %difference = select i1 %d, i64 %down, i64 %up
  %x = mul i64 %difference, %down
  %one = select i1 %d, i64 %down, i64 %same
  %y = mul i64 %one, %one
  %two = select i1 %d, i64 %down, i64 %other
  %z = mul i64 %two, %two
  %sum = add i64 %difference, %difference
  %1 = xor i64 %x, %y
  %2 = xor i64 %z, %sum
  %3 = xor i64 %1, %2
  ret i64 %3
}
