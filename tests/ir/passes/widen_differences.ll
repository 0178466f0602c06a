; Absolute differences of short integers are computed in 32 bits.
; RUN: opt --passes=widen_differences

define i32 @signed(i16 %a, i16 %b) {
; CHECK-LABEL: define i32 @signed(i16 %a, i16 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %less = icmp slt i16 %a, %b
; CHECK-NEXT:   %greater.by = sub i16 %b, %a
; CHECK-NEXT:   %less.by = sub i16 %a, %b
; CHECK-NEXT:   %0 = sext i16 %a to i32
; CHECK-NEXT:   %1 = sext i16 %b to i32
; CHECK-NEXT:   %2 = sub nsw i32 %0, %1
; CHECK-NEXT:   %3 = sub nsw i32 0, %2
; CHECK-NEXT:   %4 = icmp slt i32 %2, 0
; CHECK-NEXT:   %5 = select i1 %4, i32 %3, i32 %2
; CHECK-NEXT:   %difference = trunc i32 %5 to i16
; CHECK-NEXT:   %wide = select i1 %4, i32 %3, i32 %2
; CHECK-NEXT:   ret i32 %wide
; CHECK-NEXT: }
  %less = icmp slt i16 %a, %b
  %greater.by = sub i16 %b, %a
  %less.by = sub i16 %a, %b
  %difference = select i1 %less, i16 %greater.by, i16 %less.by
  %wide = zext i16 %difference to i32
  ret i32 %wide
}

; The other order, a wider use, one that extends the sign, and the difference itself.
define i64 @unsigned(i8 %a, i8 %b, ptr %to) {
; CHECK-LABEL: define i64 @unsigned(i8 %a, i8 %b, ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %greater = icmp ugt i8 %a, %b
; CHECK-NEXT:   %greater.by = sub i8 %a, %b
; CHECK-NEXT:   %less.by = sub i8 %b, %a
; CHECK-NEXT:   %0 = zext i8 %b to i32
; CHECK-NEXT:   %1 = zext i8 %a to i32
; CHECK-NEXT:   %2 = sub nsw i32 %0, %1
; CHECK-NEXT:   %3 = sub nsw i32 0, %2
; CHECK-NEXT:   %4 = icmp slt i32 %2, 0
; CHECK-NEXT:   %5 = select i1 %4, i32 %3, i32 %2
; CHECK-NEXT:   %difference = trunc i32 %5 to i8
; CHECK-NEXT:   %wide = zext i32 %5 to i64
; CHECK-NEXT:   %short = zext i8 %difference to i16
; CHECK-NEXT:   %signed = sext i8 %difference to i64
; CHECK-NEXT:   store i8 %difference, ptr %to, align 1
; CHECK-NEXT:   store i16 %short, ptr %to, align 2
; CHECK-NEXT:   %both = add i64 %wide, %signed
; CHECK-NEXT:   ret i64 %both
; CHECK-NEXT: }
  %greater = icmp ugt i8 %a, %b
  %greater.by = sub i8 %a, %b
  %less.by = sub i8 %b, %a
  %difference = select i1 %greater, i8 %greater.by, i8 %less.by
  %wide = zext i8 %difference to i64
  %short = zext i8 %difference to i16
  %signed = sext i8 %difference to i64
  store i8 %difference, ptr %to, align 1
  store i16 %short, ptr %to, align 2
  %both = add i64 %wide, %signed
  ret i64 %both
}

; Not an absolute difference: swapped, equal, other operands, or too wide.
define i32 @others(i16 %a, i16 %b, i16 %c, i32 %d, i32 %e) {
; CHECK-LABEL: define i32 @others(i16 %a, i16 %b, i16 %c, i32 %d, i32 %e) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %less = icmp slt i16 %a, %b
; CHECK-NEXT:   %equal = icmp eq i16 %a, %b
; CHECK-NEXT:   %ab = sub i16 %a, %b
; CHECK-NEXT:   %ba = sub i16 %b, %a
; CHECK-NEXT:   %ca = sub i16 %c, %a
; CHECK-NEXT:   %negative = select i1 %less, i16 %ab, i16 %ba
; CHECK-NEXT:   %either = select i1 %equal, i16 %ba, i16 %ab
; CHECK-NEXT:   %other = select i1 %less, i16 %ca, i16 %ab
; CHECK-NEXT:   %wider = icmp slt i32 %d, %e
; CHECK-NEXT:   %de = sub i32 %d, %e
; CHECK-NEXT:   %ed = sub i32 %e, %d
; CHECK-NEXT:   %word = select i1 %wider, i32 %ed, i32 %de
; CHECK-NEXT:   %x = zext i16 %negative to i32
; CHECK-NEXT:   %y = zext i16 %either to i32
; CHECK-NEXT:   %z = zext i16 %other to i32
; CHECK-NEXT:   %xy = add i32 %x, %y
; CHECK-NEXT:   %xyz = add i32 %xy, %z
; CHECK-NEXT:   %all = add i32 %xyz, %word
; CHECK-NEXT:   ret i32 %all
; CHECK-NEXT: }
  %less = icmp slt i16 %a, %b
  %equal = icmp eq i16 %a, %b
  %ab = sub i16 %a, %b
  %ba = sub i16 %b, %a
  %ca = sub i16 %c, %a
  %negative = select i1 %less, i16 %ab, i16 %ba
  %either = select i1 %equal, i16 %ba, i16 %ab
  %other = select i1 %less, i16 %ca, i16 %ab
  %wider = icmp slt i32 %d, %e
  %de = sub i32 %d, %e
  %ed = sub i32 %e, %d
  %word = select i1 %wider, i32 %ed, i32 %de
  %x = zext i16 %negative to i32
  %y = zext i16 %either to i32
  %z = zext i16 %other to i32
  %xy = add i32 %x, %y
  %xyz = add i32 %xy, %z
  %all = add i32 %xyz, %word
  ret i32 %all
}
