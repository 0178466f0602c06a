; Statics whose initializers form a reference cycle become module-level PTX, with all statics that they
; refer to and that refer to them; functions take their addresses by inline PTX.
; RUN: opt --passes=legalize --sm=90

@plain = addrspace(1) global i32 7, align 4
@a = addrspace(1) global { ptr, i32 } { ptr addrspacecast (ptr addrspace(1) @b to ptr), i32 1 }, align 8
@b = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @a to ptr), align 8
@itself = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @itself to ptr), align 8
@user = addrspace(1) global [2 x ptr] [ptr @f, ptr addrspacecast (ptr addrspace(1) @a to ptr)], align 8
; CHECK: module asm ".extern .global .align 8 .u64 a[2];"
; CHECK-NEXT: module asm ".extern .global .align 8 .u64 b[1];"
; CHECK-NEXT: module asm ".extern .global .align 8 .u64 itself[1];"
; CHECK-NEXT: module asm ".extern .global .align 8 .u64 user[2];"
; CHECK-NEXT: module asm ".visible .global .align 8 .u64 a[2] = {generic(b), 1};"
; CHECK-NEXT: module asm ".visible .global .align 8 .u64 b[1] = {generic(a)};"
; CHECK-NEXT: module asm ".visible .global .align 8 .u64 itself[1] = {generic(itself)};"
; CHECK-NEXT: module asm ".visible .global .align 8 .u64 user[2] = {f, generic(a)};"
; CHECK-NEXT: @plain = addrspace(1) global i32 7, align 4
; CHECK-NEXT: @a = external addrspace(1) global { ptr, i32 }, align 8
; CHECK-NEXT: @b = external addrspace(1) global ptr, align 8
; CHECK-NEXT: @itself = external addrspace(1) global ptr, align 8
; CHECK-NEXT: @user = external addrspace(1) global [2 x ptr], align 8

define internal void @f() {
start:
  ret void
}
; CHECK-LABEL: define void @f() {
; CHECK-NEXT: start:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define ptr @generic() {
start:
  %p = load ptr, ptr addrspacecast (ptr addrspace(1) @b to ptr), align 8
  ret ptr %p
}
; CHECK-LABEL: define ptr @generic() {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call ptr asm "{ .reg .b64 t; mov.b64 t, b; cvta.global.u64 $0, t; }", "=l"()
; CHECK-NEXT:   %p = load ptr, ptr %0, align 8
; CHECK-NEXT:   ret ptr %p
; CHECK-NEXT: }

define i32 @global() {
start:
  %r = load i32, ptr addrspace(1) @itself, align 4
  ret i32 %r
}
; CHECK-LABEL: define i32 @global() {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call ptr addrspace(1) asm "mov.b64 $0, itself;", "=l"()
; CHECK-NEXT:   %r = load i32, ptr addrspace(1) %0, align 4
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }

define i32 @others() {
start:
  %r = load i32, ptr addrspace(1) @plain, align 4
  ret i32 %r
}
; CHECK-LABEL: define i32 @others() {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = load i32, ptr addrspace(1) @plain, align 4
; CHECK-NEXT:   ret i32 %r
; CHECK-NEXT: }
