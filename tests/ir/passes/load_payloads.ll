; The payload of an element of a local array is loaded with its tag.
; RUN: opt --passes=load_payloads

; `if let Some(other) = array[i]`.
define i8 @option(i64 %i, i8 %x) {
; CHECK-LABEL: define i8 @option(i64 %i, i8 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 16
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %array, i64 32
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %second, i64 %i
; CHECK-NEXT:   store i8 %x, ptr %at, align 1
; CHECK-NEXT:   %0 = getelementptr inbounds i8, ptr %at, i64 0
; CHECK-NEXT:   %1 = load <2 x i8>, ptr %0, align 2
; CHECK-NEXT:   %tag = extractelement <2 x i8> %1, i32 0
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   %fits = icmp ult i64 %i, 16
; CHECK-NEXT:   br i1 %fits, label %inside, label %none
; CHECK-NEXT: inside:
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %payload = extractelement <2 x i8> %1, i32 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 16
  %second = getelementptr inbounds i8, ptr %array, i64 32
  %at = getelementptr inbounds [2 x i8], ptr %second, i64 %i
  store i8 %x, ptr %at, align 1
  %tag = load i8, ptr %at, align 2
  %is = trunc i8 %tag to i1
  br i1 %is, label %some, label %none
some:
  %fits = icmp ult i64 %i, 16
  br i1 %fits, label %inside, label %none
inside:
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

; Something is written in between; the index differs; the other half belongs to another part; the
; variable may end within the part; both loads are in one block.
define i8 @written(i64 %i, i8 %x) {
; CHECK-LABEL: define i8 @written(i64 %i, i8 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 16
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
; CHECK-NEXT:   %tag = load i8, ptr %at, align 2
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   store i8 %x, ptr %array, align 1
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 16
  %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
  %tag = load i8, ptr %at, align 2
  %is = trunc i8 %tag to i1
  br i1 %is, label %some, label %none
some:
  store i8 %x, ptr %array, align 1
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

define i8 @index(i64 %i, i64 %j) {
; CHECK-LABEL: define i8 @index(i64 %i, i64 %j) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 16
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
; CHECK-NEXT:   %tag = load i8, ptr %at, align 2
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   %other = getelementptr inbounds [2 x i8], ptr %array, i64 %j
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %other, i64 1
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 16
  %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
  %tag = load i8, ptr %at, align 2
  %is = trunc i8 %tag to i1
  br i1 %is, label %some, label %none
some:
  %other = getelementptr inbounds [2 x i8], ptr %array, i64 %j
  %behind = getelementptr inbounds i8, ptr %other, i64 1
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

define i8 @part(i64 %i) {
; CHECK-LABEL: define i8 @part(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 16
; CHECK-NEXT:   %at = getelementptr inbounds [4 x i8], ptr %array, i64 %i
; CHECK-NEXT:   %second = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %tag = load i8, ptr %second, align 1
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 2
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 16
  %at = getelementptr inbounds [4 x i8], ptr %array, i64 %i
  %second = getelementptr inbounds i8, ptr %at, i64 1
  %tag = load i8, ptr %second, align 1
  %is = trunc i8 %tag to i1
  br i1 %is, label %some, label %none
some:
  %behind = getelementptr inbounds i8, ptr %at, i64 2
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

define i8 @end(i64 %i) {
; CHECK-LABEL: define i8 @end(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [63 x i8], align 16
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
; CHECK-NEXT:   %tag = load i8, ptr %at, align 2
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [63 x i8], align 16
  %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
  %tag = load i8, ptr %at, align 2
  %is = trunc i8 %tag to i1
  br i1 %is, label %some, label %none
some:
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

define i8 @alignment(i64 %i) {
; CHECK-LABEL: define i8 @alignment(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 1
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
; CHECK-NEXT:   %tag = load i8, ptr %at, align 1
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %some, label %none
; CHECK-NEXT: some:
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 1
  %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
  %tag = load i8, ptr %at, align 1
  %is = trunc i8 %tag to i1
  br i1 %is, label %some, label %none
some:
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

; The payload is also loaded where the tag was not.
define i8 @joined(i64 %i, i1 %c) {
; CHECK-LABEL: define i8 @joined(i64 %i, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 16
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
; CHECK-NEXT:   br i1 %c, label %first, label %both
; CHECK-NEXT: first:
; CHECK-NEXT:   %tag = load i8, ptr %at, align 2
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %both, label %none
; CHECK-NEXT: both:
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: none:
; CHECK-NEXT:   ret i8 0
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 16
  %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
  br i1 %c, label %first, label %both
first:
  %tag = load i8, ptr %at, align 2
  %is = trunc i8 %tag to i1
  br i1 %is, label %both, label %none
both:
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
none:
  ret i8 0
}

; One of two ways writes.
define i8 @half(i64 %i, i8 %x) {
; CHECK-LABEL: define i8 @half(i64 %i, i8 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %array = alloca [64 x i8], align 16
; CHECK-NEXT:   %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
; CHECK-NEXT:   %behind = getelementptr inbounds i8, ptr %at, i64 1
; CHECK-NEXT:   %tag = load i8, ptr %at, align 2
; CHECK-NEXT:   %is = trunc i8 %tag to i1
; CHECK-NEXT:   br i1 %is, label %write, label %both
; CHECK-NEXT: write:
; CHECK-NEXT:   store i8 %x, ptr %array, align 1
; CHECK-NEXT:   br label %both
; CHECK-NEXT: both:
; CHECK-NEXT:   %payload = load i8, ptr %behind, align 1
; CHECK-NEXT:   ret i8 %payload
; CHECK-NEXT: }
start:
  %array = alloca [64 x i8], align 16
  %at = getelementptr inbounds [2 x i8], ptr %array, i64 %i
  %behind = getelementptr inbounds i8, ptr %at, i64 1
  %tag = load i8, ptr %at, align 2
  %is = trunc i8 %tag to i1
  br i1 %is, label %write, label %both
write:
  store i8 %x, ptr %array, align 1
  br label %both
both:
  %payload = load i8, ptr %behind, align 1
  ret i8 %payload
}
