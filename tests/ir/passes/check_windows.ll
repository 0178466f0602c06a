; Checks that the range around an element does not end before it starts.
; RUN: opt --passes=check_windows

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare void @llvm.assume(i1)
declare void @fail()

; `x < width`, so the start is at most the end.
define i64 @checked(i64 %x, i64 %width) {
start:
  %is_inside = icmp ult i64 %x, %width
  br i1 %is_inside, label %inside, label %outside
inside:
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %after = add nuw i64 %x, 2
  %high = call i64 @llvm.umin.i64(i64 %after, i64 %width)
  %fails = icmp ugt i64 %low, %high
  br i1 %fails, label %panic, label %exit
exit:
  %count = sub i64 %high, %low
  ret i64 %count
panic:
  call void @fail()
  unreachable
outside:
  ret i64 0
}
; CHECK-LABEL: define i64 @checked(i64 %x, i64 %width) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, %width
; CHECK-NEXT:   br i1 %is_inside, label %inside, label %outside
; CHECK-NEXT: inside:
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %after = add nuw i64 %x, 2
; CHECK-NEXT:   %high = call i64 @llvm.umin.i64(i64 %after, i64 %width)
; CHECK-NEXT:   %fails = icmp ugt i64 %low, %high
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   %count = sub i64 %high, %low
; CHECK-NEXT:   ret i64 %count
; CHECK-NEXT: outside:
; CHECK-NEXT:   ret i64 0
; CHECK-NEXT: }

; The same with a constant width, which an assumption states for a shorter integer.
define i64 @assumed(i32 %x) {
start:
  %is_inside = icmp ult i32 %x, 256
  call void @llvm.assume(i1 %is_inside)
  %wide = zext i32 %x to i64
  %low = call i64 @llvm.usub.sat.i64(i64 %wide, i64 1)
  %nearest = call i64 @llvm.umin.i64(i64 %wide, i64 254)
  %high = add nuw i64 %nearest, 2
  %fails = icmp ult i64 %high, %low
  br i1 %fails, label %panic, label %exit
exit:
  ret i64 %high
panic:
  call void @fail()
  unreachable
}
; CHECK-LABEL: define i64 @assumed(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i32 %x, 256
; CHECK-NEXT:   call void @llvm.assume(i1 %is_inside)
; CHECK-NEXT:   %wide = zext i32 %x to i64
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %wide, i64 1)
; CHECK-NEXT:   %nearest = call i64 @llvm.umin.i64(i64 %wide, i64 254)
; CHECK-NEXT:   %high = add nuw i64 %nearest, 2
; CHECK-NEXT:   %fails = icmp ult i64 %high, %low
; CHECK-NEXT:   br label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %high
; CHECK-NEXT: }

; Nothing says that `x` is at most `width`.
define i64 @unchecked(i64 %x, i64 %width) {
start:
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %after = add nuw i64 %x, 2
  %high = call i64 @llvm.umin.i64(i64 %after, i64 %width)
  %fails = icmp ugt i64 %low, %high
  br i1 %fails, label %panic, label %exit
exit:
  ret i64 %high
panic:
  call void @fail()
  unreachable
}
; CHECK-LABEL: define i64 @unchecked(i64 %x, i64 %width) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %after = add nuw i64 %x, 2
; CHECK-NEXT:   %high = call i64 @llvm.umin.i64(i64 %after, i64 %width)
; CHECK-NEXT:   %fails = icmp ugt i64 %low, %high
; CHECK-NEXT:   br i1 %fails, label %panic, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %high
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @fail()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; `x + 2` may be a small number.
define i64 @may_wrap(i64 %x, i64 %width) {
start:
  %is_inside = icmp ult i64 %x, %width
  br i1 %is_inside, label %inside, label %outside
inside:
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %after = add i64 %x, 2
  %high = call i64 @llvm.umin.i64(i64 %after, i64 %width)
  %fails = icmp ugt i64 %low, %high
  br i1 %fails, label %panic, label %exit
exit:
  ret i64 %high
panic:
  call void @fail()
  unreachable
outside:
  ret i64 0
}
; CHECK-LABEL: define i64 @may_wrap(i64 %x, i64 %width) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, %width
; CHECK-NEXT:   br i1 %is_inside, label %inside, label %outside
; CHECK-NEXT: inside:
; CHECK-NEXT:   %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
; CHECK-NEXT:   %after = add i64 %x, 2
; CHECK-NEXT:   %high = call i64 @llvm.umin.i64(i64 %after, i64 %width)
; CHECK-NEXT:   %fails = icmp ugt i64 %low, %high
; CHECK-NEXT:   br i1 %fails, label %panic, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 %high
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @fail()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: outside:
; CHECK-NEXT:   ret i64 0
; CHECK-NEXT: }

; Both ways lead to the check, also that of large `x`.
define i64 @joined(i64 %x, i64 %width) {
start:
  %is_inside = icmp ult i64 %x, %width
  br i1 %is_inside, label %inside, label %check
inside:
  br label %check
check:
  %fails = icmp ugt i64 %x, %width
  br i1 %fails, label %panic, label %exit
exit:
  ret i64 1
panic:
  call void @fail()
  unreachable
}
; CHECK-LABEL: define i64 @joined(i64 %x, i64 %width) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, %width
; CHECK-NEXT:   br i1 %is_inside, label %inside, label %check
; CHECK-NEXT: inside:
; CHECK-NEXT:   br label %check
; CHECK-NEXT: check:
; CHECK-NEXT:   %fails = icmp ugt i64 %x, %width
; CHECK-NEXT:   br i1 %fails, label %panic, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 1
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @fail()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }

; Where `x < width` does not hold, `x` may be larger.
define i64 @other_way(i64 %x, i64 %width) {
start:
  %is_inside = icmp ult i64 %x, %width
  br i1 %is_inside, label %exit, label %check
check:
  %fails = icmp ugt i64 %x, %width
  br i1 %fails, label %panic, label %exit
exit:
  ret i64 1
panic:
  call void @fail()
  unreachable
}
; CHECK-LABEL: define i64 @other_way(i64 %x, i64 %width) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %is_inside = icmp ult i64 %x, %width
; CHECK-NEXT:   br i1 %is_inside, label %exit, label %check
; CHECK-NEXT: check:
; CHECK-NEXT:   %fails = icmp ugt i64 %x, %width
; CHECK-NEXT:   br i1 %fails, label %panic, label %exit
; CHECK-NEXT: exit:
; CHECK-NEXT:   ret i64 1
; CHECK-NEXT: panic:
; CHECK-NEXT:   call void @fail()
; CHECK-NEXT:   unreachable
; CHECK-NEXT: }
