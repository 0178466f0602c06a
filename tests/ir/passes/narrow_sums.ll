; A sum of 64 bits in a loop, of which 32 bits are used, has 32 bits.
; RUN: opt --passes=narrow_sums

define i32 @count(ptr %p, i32 %n) {
entry:
  br label %loop

loop:
; CHECK: %sum = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %x = load i32, ptr %p, align 4
  %is = icmp eq i32 %x, %i
; CHECK: %0 = zext i1 %is to i32
  %one = zext i1 %is to i64
; CHECK: %next = add i32 %sum, %0
  %next = add nuw nsw i64 %sum, %one
  %j = add i32 %i, 1
  %done = icmp eq i32 %j, %n
  br i1 %done, label %exit, label %loop

exit:
; CHECK: ret i32 %next
  %result = trunc i64 %next to i32
  ret i32 %result
}

; Through several operations, with constants, truncations to fewer bits, and operands that are
; extended words.
; CHECK: define i8 @operations
define i8 @operations(i32 %a, i32 %b, i1 %c, ptr %p) {
entry:
  %start = zext i32 %a to i64
  br label %loop

loop:
; CHECK: %x = phi i32 [ %a, %entry ], [ %y, %loop ]
  %x = phi i64 [ %start, %entry ], [ %y, %loop ]
  %wide = sext i32 %b to i64
; CHECK: %sub = sub i32 %b, %x
  %sub = sub i64 %wide, %x
; CHECK: %mul = mul i32 %sub, -5
  %mul = mul i64 %sub, -5
; CHECK: %shl = shl i32 %mul, 31
  %shl = shl nuw i64 %mul, 31
; CHECK: %sel = select i1 %c, i32 %shl, i32 1
  %sel = select i1 %c, i64 %shl, i64 4294967297
  %byte = load i8, ptr %p, align 1
  %long = sext i8 %byte to i64
; CHECK: %0 = sext i8 %byte to i32
; CHECK: %y = xor i32 %sel, %0
  %y = xor i64 %sel, %long
  br i1 %c, label %loop, label %exit

exit:
; CHECK: trunc i32 %y to i8
  %result = trunc i64 %y to i8
  ret i8 %result
}

declare void @llvm.assume(i1)

; An assumption about the sum, and a comparison that is used for more than that.
; CHECK: define i32 @assumed
define i32 @assumed(ptr %p, i64 %n) {
entry:
  br label %loop

loop:
; CHECK: %sum = phi i32
  %sum = phi i64 [ 0, %entry ], [ %next, %loop ]
; CHECK: %other = phi i64
  %other = phi i64 [ 0, %entry ], [ %more, %loop ]
; CHECK: %next = add i32 %sum, 1
; CHECK-NOT: %bounded
  %next = add i64 %sum, 1
  %bounded = icmp ule i64 %next, %n
  call void @llvm.assume(i1 %bounded)
  %more = add i64 %other, 3
; CHECK: %below = icmp ult i64 %more, %n
  %below = icmp ult i64 %more, %n
; CHECK: call void @llvm.assume(i1 %below)
  call void @llvm.assume(i1 %below)
  br i1 %below, label %loop, label %exit

exit:
  %low = trunc i64 %next to i32
  %high = trunc i64 %more to i32
  %result = add i32 %low, %high
  ret i32 %result
}

; Operands that have 64 bits: a loaded one, and an address.
@static = addrspace(1) global i32 0, align 4
; CHECK: define i32 @address
define i32 @address(i1 %c) {
entry:
  br label %loop

loop:
; CHECK: %sum = phi i64
  %sum = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %sum, ptrtoint (ptr addrspace(1) @static to i64)
  br i1 %c, label %loop, label %exit

exit:
  %result = trunc i64 %next to i32
  ret i32 %result
}

; CHECK: define i32 @long
define i32 @long(i64 %n, ptr %p) {
entry:
  br label %loop

loop:
; CHECK: %sum = phi i64
  %sum = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = load i64, ptr %p, align 8
  %next = add i64 %sum, %x
  %done = icmp eq i64 %x, %n
  br i1 %done, label %exit, label %loop

exit:
  %result = trunc i64 %next to i32
  ret i32 %result
}

; All 64 bits are used: by a store, a shift to the right, a comparison or an address.
; CHECK: define i32 @wide
define i32 @wide(ptr %p, i64 %n) {
entry:
  br label %loop

loop:
; CHECK: %a = phi i64
  %a = phi i64 [ 0, %entry ], [ %a1, %loop ]
; CHECK: %b = phi i64
  %b = phi i64 [ 0, %entry ], [ %b1, %loop ]
; CHECK: %c = phi i64
  %c = phi i64 [ 0, %entry ], [ %c1, %loop ]
; CHECK: %d = phi i64
  %d = phi i64 [ 0, %entry ], [ %d1, %loop ]
; CHECK: %e = phi i64
  %e = phi i64 [ 0, %entry ], [ %e1, %loop ]
  %a1 = add i64 %a, %n
  store i64 %a1, ptr %p, align 8
  %b0 = lshr i64 %b, 1
  %b1 = add i64 %b0, %n
  %c1 = add i64 %c, 1
  %q = getelementptr i8, ptr %p, i64 %d
  store i8 0, ptr %q, align 1
  %d1 = add i64 %d, 3
  %e1 = shl i64 %e, 32
  %more = icmp ult i64 %c1, %n
  br i1 %more, label %loop, label %exit

exit:
  %s = add i64 %a1, %b1
  %t = add i64 %c1, %d1
  %u = add i64 %e1, 1
  %v = xor i64 %s, %t
  %w = xor i64 %v, %u
; CHECK: trunc i64
  %result = trunc i64 %w to i32
  ret i32 %result
}

; LLVM narrows what no loop repeats.
; CHECK: define i32 @straight
define i32 @straight(i64 %a, i64 %b) {
entry:
; CHECK: add i64 %a, %b
  %sum = add i64 %a, %b
  %result = trunc i64 %sum to i32
  ret i32 %result
}
