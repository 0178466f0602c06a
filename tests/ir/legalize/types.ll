; Types that libnvvm lacks are replaced everywhere, with unchanged sizes and offsets: illegal-width
; integers by the next wider width, `f128` by `i128`, `bf16` by `i16`.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7
; RUN: opt --passes=legalize --sm=120 --check-prefix=MODERN

@ints = addrspace(1) constant { i24, [2 x i48] } { i24 -1, [2 x i48] [i48 5, i48 undef] }, align 8
; CHECK: @ints = addrspace(1) constant { i32, [2 x i64] } { i32 16777215, [2 x i64] [i64 5, i64 0] }, align 8
@quad = addrspace(1) constant fp128 0xL00000000000000003FFF000000000000, align 16
; CHECK-NEXT: @quad = addrspace(1) constant i128 85065399433376081038215121361612832768, align 16
@brain = addrspace(1) constant [2 x bfloat] [bfloat 0xR3F80, bfloat poison], align 2
; CHECK-NEXT: @brain = addrspace(1) constant [2 x i16] [i16 16256, i16 0], align 2

define { i24, fp128 } @signature(i24 %x, fp128 %q, <2 x bfloat> %b) {
start:
  %1 = insertvalue { i24, fp128 } undef, i24 %x, 0
  %2 = insertvalue { i24, fp128 } %1, fp128 %q, 1
  ret { i24, fp128 } %2
}
; CHECK-LABEL: define { i32, i128 } @signature(i32 %x, i128 %q, <2 x i16> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = insertvalue { i32, i128 } undef, i32 %x, 0
; CHECK-NEXT:   %1 = insertvalue { i32, i128 } %0, i128 %q, 1
; CHECK-NEXT:   ret { i32, i128 } %1
; CHECK-NEXT: }
; MODERN-LABEL: define { i32, i128 } @signature(i32 %x, i128 %q, <2 x i16> %b) {
; MODERN-NEXT: start:
; MODERN-NEXT:   %0 = insertvalue { i32, i128 } undef, i32 %x, 0
; MODERN-NEXT:   %1 = insertvalue { i32, i128 } %0, i128 %q, 1
; MODERN-NEXT:   ret { i32, i128 } %1
; MODERN-NEXT: }

define void @by_value(ptr byval({ i24, i8 }) %p, ptr %q) {
start:
  %slot = alloca { i24, bfloat }, align 4
  %field = getelementptr inbounds { i24, bfloat }, ptr %slot, i32 0, i32 1
  call void @by_value(ptr byval({ i24, i8 }) %p, ptr %field)
  ret void
}
; CHECK-LABEL: define void @by_value({ i32, i8 }* byval %.0, i8* %q) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %p = bitcast { i32, i8 }* %.0 to i8*
; CHECK-NEXT:   %.1 = alloca { i32, i16 }, align 4
; CHECK-NEXT:   %slot = bitcast { i32, i16 }* %.1 to i8*
; CHECK-NEXT:   %.2 = bitcast i8* %slot to { i32, i16 }*
; CHECK-NEXT:   %.3 = getelementptr inbounds { i32, i16 }, { i32, i16 }* %.2, i32 0, i32 1
; CHECK-NEXT:   %field = bitcast i16* %.3 to i8*
; CHECK-NEXT:   %.4 = bitcast i8* %p to { i32, i8 }*
; CHECK-NEXT:   call void @by_value({ i32, i8 }* byval %.4, i8* %field)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; The operand is zero-extended, and so are the cases.
define i32 @switches(i24 %x) {
start:
  switch i24 %x, label %other [
    i24 -1, label %minus
    i24 3, label %three
  ]
minus:
  ret i32 -1
three:
  ret i32 3
other:
  ret i32 0
}
; CHECK-LABEL: define i32 @switches(i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   switch i32 %x, label %other [
; CHECK-NEXT:     i32 16777215, label %minus
; CHECK-NEXT:     i32 3, label %three
; CHECK-NEXT:   ]
; CHECK-NEXT: minus:
; CHECK-NEXT:   ret i32 -1
; CHECK-NEXT: three:
; CHECK-NEXT:   ret i32 3
; CHECK-NEXT: other:
; CHECK-NEXT:   ret i32 0
; CHECK-NEXT: }

define i48 @merges(i1 %c, i48 %x) {
start:
  br i1 %c, label %then, label %end
then:
  br label %end
end:
  %r = phi i48 [ %x, %start ], [ -1, %then ]
  %s = select i1 %c, i48 %r, i48 undef
  ret i48 %s
}
; CHECK-LABEL: define i64 @merges(i1 %c, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %then, label %end
; CHECK-NEXT: then:
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %r = phi i64 [ %x, %start ], [ 281474976710655, %then ]
; CHECK-NEXT:   %s = select i1 %c, i64 %r, i64 0
; CHECK-NEXT:   ret i64 %s
; CHECK-NEXT: }
