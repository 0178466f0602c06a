; Accesses have the alignment of their addresses, as far as it follows from the low bits of the terms.
; RUN: opt --passes=align_accesses

@tile = internal addrspace(3) global [4096 x i8] undef, align 16

; Two neighbors in a row of 80 bytes: the first one is aligned like both together.
; CHECK: define void @neighbors
define void @neighbors(i64 %row, i64 %lane, i64 %at, ptr align 4 %out) {
start:
  %tile = getelementptr [80 x i8], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 %row
  %part = getelementptr i8, ptr %tile, i64 640
  %pair = shl i64 %lane, 1
  %even = and i64 %pair, 6
  %odd = or i64 %even, 1
  %first = getelementptr [2 x i8], ptr %part, i64 %even
  %second = getelementptr [2 x i8], ptr %part, i64 %odd
  %any = getelementptr [2 x i8], ptr %part, i64 %at
; CHECK: %a = load i16, ptr %first, align 4
  %a = load i16, ptr %first, align 2
; CHECK: %b = load i16, ptr %second, align 2
  %b = load i16, ptr %second, align 2
; CHECK: %c = load i16, ptr %any, align 2
  %c = load i16, ptr %any, align 2
; CHECK: store i16 %a, ptr %out, align 4
  store i16 %a, ptr %out, align 2
; CHECK: store i16 %b, ptr %part, align 16
  store i16 %b, ptr %part, align 2
  %middle = getelementptr i8, ptr %part, i64 8
; CHECK: store i16 %c, ptr %middle, align 8
  store i16 %c, ptr %middle, align 2
  ret void
}

; The alignment that every iteration keeps, and the smaller one of two that are selected.
; CHECK: define void @selected
define void @selected(i64 %n, i1 %which, ptr align 8 %p, ptr align 4 %q) {
start:
  %chosen = select i1 %which, ptr %p, ptr %q
; CHECK: store i8 0, ptr %chosen, align 4
  store i8 0, ptr %chosen, align 1
  br label %body

body:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %j = phi i64 [ 0, %start ], [ %uneven, %body ]
  %here = getelementptr i8, ptr %p, i64 %i
; CHECK: store i8 1, ptr %here, align 8
  store i8 1, ptr %here, align 1
  %there = getelementptr i8, ptr %p, i64 %j
; CHECK: store i8 2, ptr %there, align 2
  store i8 2, ptr %there, align 1
  %next = add i64 %i, 24
  %uneven = add i64 %j, 6
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %end

end:
  ret void
}

; Nothing is known of a frozen value, which may be poison, and of what is shifted by a variable to the
; right.
; CHECK: define void @unknown
define void @unknown(i64 %i, i64 %by, ptr align 16 %p) {
start:
  %four = shl nuw i64 %i, 2
  %frozen = freeze i64 %four
  %first = getelementptr i8, ptr %p, i64 %frozen
; CHECK: store i8 1, ptr %first, align 1
  store i8 1, ptr %first, align 1
  %shifted = lshr i64 %four, %by
  %second = getelementptr i8, ptr %p, i64 %shifted
; CHECK: store i8 2, ptr %second, align 1
  store i8 2, ptr %second, align 1
  %third = getelementptr i8, ptr %p, i64 %four
; CHECK: store i8 3, ptr %third, align 4
  store i8 3, ptr %third, align 1
  ret void
}

; Local variables that are accessed as words, or as bytes at variable indices, have the alignment of
; their largest access. Each element of a stack of four words is aligned like it.
; CHECK: define float @stack
define float @stack(i64 %len, float %x, i16 %half, i8 %small) {
start:
; CHECK: %items = alloca { [32 x float] }, align 16
  %items = alloca { [32 x float] }, align 4
; CHECK: %bytes = alloca [13 x i8], align 8
  %bytes = alloca [13 x i8], align 1
; CHECK: %fixed = alloca [16 x i8], align 1
  %fixed = alloca [16 x i8], align 1
; CHECK: %halves = alloca [16 x i16], align 2
  %halves = alloca [16 x i16], align 2
; CHECK: %cleared = alloca [33 x i32], align 4
  %cleared = alloca [33 x i32], align 4
; CHECK: %passed = alloca [4 x float], align 4
  %passed = alloca [4 x float], align 4
; CHECK: %counted = alloca float, i64 %len, align 4
  %counted = alloca float, i64 %len, align 4
  %item = getelementptr [16 x i8], ptr %items, i64 %len
  %second = getelementptr i8, ptr %item, i64 4
  %third = getelementptr i8, ptr %item, i64 8
  %odd = getelementptr [20 x i8], ptr %items, i64 %len
; CHECK: store float %x, ptr %item, align 16
  store float %x, ptr %item, align 4
; CHECK: store float %x, ptr %second, align 4
  store float %x, ptr %second, align 4
; CHECK: store float %x, ptr %third, align 8
  store float %x, ptr %third, align 4
  %byte = getelementptr i8, ptr %bytes, i64 %len
  store i8 %small, ptr %byte, align 1
  store i8 %small, ptr %fixed, align 1
  %one = getelementptr i16, ptr %halves, i64 %len
  store i16 %half, ptr %one, align 2
  store float %x, ptr %cleared, align 4
  call void @llvm.memset.p0.i64(ptr align 4 %cleared, i8 0, i64 132, i1 false)
  store float %x, ptr %passed, align 4
  call void @takes(ptr %passed)
  store float %x, ptr %counted, align 4
; CHECK: %value = load float, ptr %odd, align 4
  %value = load float, ptr %odd, align 4
  ret float %value
}

declare void @takes(ptr)

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
