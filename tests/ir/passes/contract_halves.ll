; Sums and products of 16-bit floats that may be fused.
; RUN: opt --passes=contract_halves
; RUN: opt --passes=contract_halves_separately --check-prefix=SEPARATELY

; A product on the right of a sum.
define i32 @right(i32 %a, i32 %b, i32 %c) {
  %product = call i32 asm "mul.f16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  %sum = call i32 asm "add.f16x2 $0, $1, $2;", "=r,r,r"(i32 %c, i32 %product)
  ret i32 %sum
}
; CHECK-LABEL: define i32 @right(i32 %a, i32 %b, i32 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %sum = call i32 asm "fma.rn.f16x2 $0, $1, $2, $3;", "=r,r,r,r"(i32 %a, i32 %b, i32 %c) nounwind memory(none)
; CHECK-NEXT:   ret i32 %sum
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i32 @right(i32 %a, i32 %b, i32 %c) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %product = call i32 asm "mul.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b) nounwind memory(none)
; SEPARATELY-NEXT:   %sum = call i32 asm "add.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %c, i32 %product) nounwind memory(none)
; SEPARATELY-NEXT:   ret i32 %sum
; SEPARATELY-NEXT: }

; Two products: the left one is fused.
define i16 @two(i16 %a, i16 %b, i16 %c, i16 %d) {
  %left = call i16 asm "mul.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b)
  %right = call i16 asm "mul.f16 $0, $1, $2;", "=h,h,h"(i16 %c, i16 %d)
  %sum = call i16 asm "add.f16 $0, $1, $2;", "=h,h,h"(i16 %left, i16 %right)
  ret i16 %sum
}
; CHECK-LABEL: define i16 @two(i16 %a, i16 %b, i16 %c, i16 %d) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %right = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %c, i16 %d) nounwind memory(none)
; CHECK-NEXT:   %sum = call i16 asm "fma.rn.f16 $0, $1, $2, $3;", "=h,h,h,h"(i16 %a, i16 %b, i16 %right) nounwind memory(none)
; CHECK-NEXT:   ret i16 %sum
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i16 @two(i16 %a, i16 %b, i16 %c, i16 %d) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %left = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; SEPARATELY-NEXT:   %right = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %c, i16 %d) nounwind memory(none)
; SEPARATELY-NEXT:   %sum = call i16 asm "add.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %left, i16 %right) nounwind memory(none)
; SEPARATELY-NEXT:   ret i16 %sum
; SEPARATELY-NEXT: }

; A difference from a product, and one of which a product is subtracted.
define i32 @differences(i32 %a, i32 %b, i32 %c) {
  %product = call i32 asm "mul.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  %less = call i32 asm "sub.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %product, i32 %c)
  %other = call i32 asm "mul.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %less)
  %difference = call i32 asm "sub.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %b, i32 %other)
  ret i32 %difference
}
; CHECK-LABEL: define i32 @differences(i32 %a, i32 %b, i32 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 asm "neg.bf16x2 $0, $1;", "=r,r"(i32 %c) nounwind memory(none)
; CHECK-NEXT:   %less = call i32 asm "fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r"(i32 %a, i32 %b, i32 %0) nounwind memory(none)
; CHECK-NEXT:   %1 = call i32 asm "neg.bf16x2 $0, $1;", "=r,r"(i32 %a) nounwind memory(none)
; CHECK-NEXT:   %difference = call i32 asm "fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r"(i32 %1, i32 %less, i32 %b) nounwind memory(none)
; CHECK-NEXT:   ret i32 %difference
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i32 @differences(i32 %a, i32 %b, i32 %c) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %product = call i32 asm "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b) nounwind memory(none)
; SEPARATELY-NEXT:   %less = call i32 asm "sub.rn.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %product, i32 %c) nounwind memory(none)
; SEPARATELY-NEXT:   %other = call i32 asm "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %less) nounwind memory(none)
; SEPARATELY-NEXT:   %difference = call i32 asm "sub.rn.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %b, i32 %other) nounwind memory(none)
; SEPARATELY-NEXT:   ret i32 %difference
; SEPARATELY-NEXT: }

; A product with two uses stays.
define i16 @used(i16 %a, i16 %b, i16 %c) {
  %product = call i16 asm "mul.bf16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b)
  %sum = call i16 asm "add.bf16 $0, $1, $2;", "=h,h,h"(i16 %product, i16 %c)
  %twice = call i16 asm "sub.bf16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %product)
  ret i16 %twice
}
; CHECK-LABEL: define i16 @used(i16 %a, i16 %b, i16 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %product = call i16 asm "mul.rn.bf16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; CHECK-NEXT:   %sum = call i16 asm "add.rn.bf16 $0, $1, $2;", "=h,h,h"(i16 %product, i16 %c) nounwind memory(none)
; CHECK-NEXT:   %twice = call i16 asm "sub.rn.bf16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %product) nounwind memory(none)
; CHECK-NEXT:   ret i16 %twice
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i16 @used(i16 %a, i16 %b, i16 %c) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %product = call i16 asm "mul.rn.bf16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; SEPARATELY-NEXT:   %sum = call i16 asm "add.rn.bf16 $0, $1, $2;", "=h,h,h"(i16 %product, i16 %c) nounwind memory(none)
; SEPARATELY-NEXT:   %twice = call i16 asm "sub.rn.bf16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %product) nounwind memory(none)
; SEPARATELY-NEXT:   ret i16 %twice
; SEPARATELY-NEXT: }

; The square of a sum.
define i16 @square(i16 %a, i16 %b) {
  %sum = call i16 asm "add.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b)
  %square = call i16 asm "mul.f16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %sum)
  ret i16 %square
}
; CHECK-LABEL: define i16 @square(i16 %a, i16 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %sum = call i16 asm "add.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; CHECK-NEXT:   %square = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %sum) nounwind memory(none)
; CHECK-NEXT:   ret i16 %square
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i16 @square(i16 %a, i16 %b) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %sum = call i16 asm "add.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; SEPARATELY-NEXT:   %square = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %sum) nounwind memory(none)
; SEPARATELY-NEXT:   ret i16 %square
; SEPARATELY-NEXT: }

; A product before a loop stays there.
define i16 @before(i16 %a, i16 %b, i1 %again) {
start:
  %product = call i16 asm "mul.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b)
  br label %loop
loop:
  %sum = phi i16 [ 0, %start ], [ %next, %loop ]
  %next = call i16 asm "add.f16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %product)
  br i1 %again, label %loop, label %end
end:
  ret i16 %next
}
; CHECK-LABEL: define i16 @before(i16 %a, i16 %b, i1 %again) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %product = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; CHECK-NEXT:   br label %loop
; CHECK-NEXT: loop:
; CHECK-NEXT:   %sum = phi i16 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT:   %next = call i16 asm "add.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %product) nounwind memory(none)
; CHECK-NEXT:   br i1 %again, label %loop, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   ret i16 %next
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i16 @before(i16 %a, i16 %b, i1 %again) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %product = call i16 asm "mul.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %a, i16 %b) nounwind memory(none)
; SEPARATELY-NEXT:   br label %loop
; SEPARATELY-NEXT: loop:
; SEPARATELY-NEXT:   %sum = phi i16 [ 0, %start ], [ %next, %loop ]
; SEPARATELY-NEXT:   %next = call i16 asm "add.rn.f16 $0, $1, $2;", "=h,h,h"(i16 %sum, i16 %product) nounwind memory(none)
; SEPARATELY-NEXT:   br i1 %again, label %loop, label %end
; SEPARATELY-NEXT: end:
; SEPARATELY-NEXT:   ret i16 %next
; SEPARATELY-NEXT: }

; Instructions with a rounding mode, other types and effects stay.
define i32 @rounded(i32 %a, i32 %b, i32 %c) {
  %product = call i32 asm "mul.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  %sum = call i32 asm "add.f16x2 $0, $1, $2;", "=r,r,r"(i32 %product, i32 %c)
  %integer = call i32 asm "add.u32 $0, $1, $2;", "=r,r,r"(i32 %sum, i32 %c)
  %effect = call i32 asm sideeffect "mul.f16x2 $0, $1, $2;", "=r,r,r"(i32 %integer, i32 %c)
  %brain = call i32 asm "mul.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %effect, i32 %c)
  %mixed = call i32 asm "add.f16x2 $0, $1, $2;", "=r,r,r"(i32 %brain, i32 %c)
  ret i32 %mixed
}
; CHECK-LABEL: define i32 @rounded(i32 %a, i32 %b, i32 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %product = call i32 asm "mul.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
; CHECK-NEXT:   %sum = call i32 asm "add.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %product, i32 %c) nounwind memory(none)
; CHECK-NEXT:   %integer = call i32 asm "add.u32 $0, $1, $2;", "=r,r,r"(i32 %sum, i32 %c)
; CHECK-NEXT:   %effect = call i32 asm sideeffect "mul.f16x2 $0, $1, $2;", "=r,r,r"(i32 %integer, i32 %c)
; CHECK-NEXT:   %brain = call i32 asm "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %effect, i32 %c) nounwind memory(none)
; CHECK-NEXT:   %mixed = call i32 asm "add.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %brain, i32 %c) nounwind memory(none)
; CHECK-NEXT:   ret i32 %mixed
; CHECK-NEXT: }
; SEPARATELY-LABEL: define i32 @rounded(i32 %a, i32 %b, i32 %c) {
; SEPARATELY-NEXT: start:
; SEPARATELY-NEXT:   %product = call i32 asm "mul.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
; SEPARATELY-NEXT:   %sum = call i32 asm "add.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %product, i32 %c) nounwind memory(none)
; SEPARATELY-NEXT:   %integer = call i32 asm "add.u32 $0, $1, $2;", "=r,r,r"(i32 %sum, i32 %c)
; SEPARATELY-NEXT:   %effect = call i32 asm sideeffect "mul.f16x2 $0, $1, $2;", "=r,r,r"(i32 %integer, i32 %c)
; SEPARATELY-NEXT:   %brain = call i32 asm "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r"(i32 %effect, i32 %c) nounwind memory(none)
; SEPARATELY-NEXT:   %mixed = call i32 asm "add.rn.f16x2 $0, $1, $2;", "=r,r,r"(i32 %brain, i32 %c) nounwind memory(none)
; SEPARATELY-NEXT:   ret i32 %mixed
; SEPARATELY-NEXT: }
