; A part of 64 bits of a product of 128 bits is computed from both halves of the product.
; RUN: opt --passes=narrow_products

define i64 @part(i64 %a, i64 %b) {
entry:
  %x = sext i64 %a to i128
  %y = sext i64 %b to i128
; CHECK: %0 = call i64 @llvm.nvvm.mulhi.ll(i64 %a, i64 %b)
; CHECK: %1 = mul i64 %a, %b
; CHECK: %2 = lshr i64 %1, 24
; CHECK: %3 = shl i64 %0, 40
; CHECK: %4 = or i64 %2, %3
  %product = mul nsw i128 %x, %y
  %shifted = lshr i128 %product, 24
  %result = trunc i128 %shifted to i64
; CHECK: ret i64 %4
  ret i64 %result
}

; A chain of products: LLVM has combined the shifts. An integer is constant in its low 96 bits, which
; alone matter.
; CHECK: define i32 @chain
define i32 @chain(i64 %a, i32 %b) {
entry:
  %x = sext i64 %a to i128
  %y = sext i32 %b to i128
  %moved = shl nsw i128 %x, 32
; CHECK: %0 = sext i32 %b to i64
; CHECK: %1 = call i64 @llvm.nvvm.mulhi.ll(i64 %a, i64 %0)
  %product = mul i128 %moved, %y
; CHECK: %high = sext i64 %5 to i128
  %high = ashr i128 %product, 64
; CHECK: call i64 @llvm.nvvm.mulhi.ll(i64 %5, i64 -852176)
  %scaled = mul i128 %high, 79228162514264337593543098160
  %shifted = lshr i128 %scaled, 32
; CHECK: %result = trunc i64 %10 to i32
  %result = trunc i128 %shifted to i32
  ret i32 %result
}

; The product is shifted to the left; several parts are used.
; CHECK: define i64 @parts
define i64 @parts(i64 %a, i64 %b) {
entry:
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %product = mul nuw i128 %x, %y
  %moved = shl i128 %product, 16
; CHECK: call i64 @llvm.nvvm.mulhi.ull(i64 %a, i64 %b)
; CHECK: lshr i64 %1, 48
; CHECK: %high = zext i64 %4 to i128
  %high = lshr i128 %moved, 64
; CHECK: %5 = mul i64 %a, %b
  %low = trunc i128 %product to i64
  %masked = lshr i128 %product, 8
; CHECK: %middle = zext i64 %10 to i128
  %middle = and i128 %masked, 18446744073709551615
  %sum = add i128 %high, %middle
  %short = trunc i128 %sum to i64
  %result = xor i64 %short, %low
  ret i64 %result
}

; The high half.
; CHECK: define i64 @high
define i64 @high(i64 %a) {
entry:
  %x = zext i64 %a to i128
; CHECK: %0 = call i64 @llvm.nvvm.mulhi.ull(i64 %a, i64 -1)
  %product = mul nuw i128 %x, 18446744073709551615
  %shifted = lshr i128 %product, 64
  %result = trunc i128 %shifted to i64
; CHECK: %shifted = zext i64 %0 to i128
  ret i64 %result
}

; Products of 64 bits, if shifts have been combined.
; CHECK: define i32 @words
define i32 @words(i32 %a, i32 %b, i16 %c) {
entry:
  %x = sext i32 %a to i64
  %y = sext i32 %b to i64
  %z = zext i16 %c to i64
  %moved = shl nsw i64 %x, 16
; CHECK: %0 = call i64 asm "mul.wide.s32 $0, $1, $2;", "=l,r,r"(i32 %a, i32 %b)
; CHECK: %1 = lshr i64 %0, 16
; CHECK: %2 = trunc i64 %1 to i32
  %product = mul i64 %moved, %y
; CHECK: %high = sext i32 %2 to i64
  %high = ashr i64 %product, 32
; CHECK: %3 = zext i16 %c to i32
; CHECK: %4 = call i64 asm "mul.wide.s32 $0, $1, $2;", "=l,r,r"(i32 %2, i32 %3)
  %next = mul nsw i64 %high, %z
  %shifted = lshr i64 %next, 16
  %result = trunc i64 %shifted to i32
; CHECK: ret i32 %6
  ret i32 %result
}

; libnvvm recognizes products without combined shifts.
; CHECK: define i32 @word
define i32 @word(i32 %a, i32 %b) {
entry:
  %x = sext i32 %a to i64
  %y = sext i32 %b to i64
; CHECK: %product = mul nsw i64 %x, %y
  %product = mul nsw i64 %x, %y
  %shifted = lshr i64 %product, 16
  %result = trunc i64 %shifted to i32
  ret i32 %result
}

; Unchanged: an operand of another sign, an operand with more bits, more bits of the product, bits
; that the shift has moved in, a constant that differs in the bits that matter, another use.
; CHECK-NOT: mulhi
; CHECK: define i64 @signs
define i64 @signs(i64 %a, i64 %b) {
entry:
  %x = sext i64 %a to i128
  %y = zext i64 %b to i128
  %product = mul i128 %x, %y
  %shifted = lshr i128 %product, 32
  %result = trunc i128 %shifted to i64
  ret i64 %result
}

define i64 @wide(i64 %a, i65 %b) {
entry:
  %x = zext i64 %a to i128
  %y = zext i65 %b to i128
  %product = mul i128 %x, %y
  %shifted = lshr i128 %product, 32
  %result = trunc i128 %shifted to i64
  ret i64 %result
}

define i80 @many(i64 %a, i64 %b) {
entry:
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %product = mul i128 %x, %y
  %shifted = lshr i128 %product, 32
  %result = trunc i128 %shifted to i80
  ret i80 %result
}

define i64 @moved_in(i64 %a, i64 %b) {
entry:
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %product = mul i128 %x, %y
  %shifted = lshr i128 %product, 65
  %result = trunc i128 %shifted to i64
  ret i64 %result
}

define i64 @zeros(i64 %a, i64 %b) {
entry:
  %x = zext i64 %a to i128
  %moved = shl i128 %x, 33
  %y = zext i64 %b to i128
  %product = mul i128 %moved, %y
  %shifted = lshr i128 %product, 32
  %result = trunc i128 %shifted to i64
  ret i64 %result
}

define i64 @constant(i64 %a) {
entry:
  %x = sext i64 %a to i128
  %product = mul i128 %x, 79228162514264337593543098160
  %shifted = lshr i128 %product, 33
  %result = trunc i128 %shifted to i64
  ret i64 %result
}

define i1 @other_use(i64 %a, i64 %b) {
entry:
  %x = sext i64 %a to i128
  %y = sext i64 %b to i128
  %product = mul i128 %x, %y
  %low = trunc i128 %product to i64
  %extended = sext i64 %low to i128
  %overflows = icmp ne i128 %extended, %product
  ret i1 %overflows
}
