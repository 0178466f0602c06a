; In the LLVM 7 dialect pointers are `i8*`, and what needs another type casts first.
; RUN: print --dialect=llvm7

; CHECK: @pair = addrspace(1) global { i32, i8* } { i32 1, i8* bitcast (i32 (i8*)* @get to i8*) }
@pair = addrspace(1) global { i32, ptr } { i32 1, ptr @get }, align 8

; CHECK: define i32 @get(i8* %p)
define i32 @get(ptr %p) {
start:
; CHECK: %.0 = alloca { i32, i64 }, align 8
; CHECK: %slot = bitcast { i32, i64 }* %.0 to i8*
  %slot = alloca { i32, i64 }, align 8
; CHECK: %.1 = bitcast i8* %slot to { i32, i64 }*
; CHECK: %.2 = getelementptr inbounds { i32, i64 }, { i32, i64 }* %.1, i32 0, i32 1
; CHECK: %field = bitcast i64* %.2 to i8*
  %field = getelementptr inbounds { i32, i64 }, ptr %slot, i32 0, i32 1
; CHECK: %.3 = bitcast i8* %field to i64*
; CHECK: store i64 5, i64* %.3, align 8
  store i64 5, ptr %field, align 8
; CHECK: %byte = load i8, i8* %p, align 1
  %byte = load i8, ptr %p, align 1
; CHECK: %.4 = bitcast i8* %p to i8**
; CHECK: %q = load i8*, i8** %.4, align 8
  %q = load ptr, ptr %p, align 8
; CHECK: %.5 = bitcast i8* %q to i32 (i8*)*
; CHECK: %r = call i32 %.5(i8* %p)
  %r = call i32 %q(ptr %p)
  ret i32 %r
}
