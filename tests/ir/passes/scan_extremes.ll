; The maximum of a number and itself is the number, which a shuffle returns without another lane.
; RUN: opt --passes=scan_extremes

define i32 @maximum(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @maximum(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   %kept = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
  %kept = select i1 %test, i32 %own, i32 %both
  ret i32 %kept
}

define i32 @union(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @union(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp ne i32 %exists, 0
; CHECK-NEXT:   %both = or i32 %own, %other
; CHECK-NEXT:   %kept = or i32 %own, %other
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp ne i32 %exists, 0
  %both = or disjoint i32 %own, %other
  %kept = select i1 %test, i32 %both, i32 %own
  ret i32 %kept
}

; A sum counts the own number twice, and other numbers are no part of the maximum.
define i32 @sum(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @sum(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = add i32 %other, %own
; CHECK-NEXT:   %kept = select i1 %test, i32 %own, i32 %both
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = add i32 %other, %own
  %kept = select i1 %test, i32 %own, i32 %both
  ret i32 %kept
}

define i32 @another(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @another(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %else)
; CHECK-NEXT:   %kept = select i1 %test, i32 %own, i32 %both
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %else)
  %kept = select i1 %test, i32 %own, i32 %both
  ret i32 %kept
}

define i32 @kept(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @kept(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   %kept = select i1 %test, i32 %else, i32 %both
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
  %kept = select i1 %test, i32 %else, i32 %both
  ret i32 %kept
}

define i32 @passed(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @passed(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %else, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   %kept = select i1 %test, i32 %own, i32 %both
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %else, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
  %kept = select i1 %test, i32 %own, i32 %both
  ret i32 %kept
}

define i32 @swapped(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @swapped(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   %kept = select i1 %test, i32 %both, i32 %own
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
  %kept = select i1 %test, i32 %both, i32 %own
  ret i32 %kept
}

define i32 @compared(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @compared(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp ugt i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   %kept = select i1 %test, i32 %own, i32 %both
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09shfl.sync.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp ugt i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
  %kept = select i1 %test, i32 %own, i32 %both
  ret i32 %kept
}

define i32 @not_a_shuffle(i32 %own, i32 %else) {
; CHECK-LABEL: define i32 @not_a_shuffle(i32 %own, i32 %else) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09match.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
; CHECK-NEXT:   %other = extractvalue { i32, i32 } %pair, 0
; CHECK-NEXT:   %exists = extractvalue { i32, i32 } %pair, 1
; CHECK-NEXT:   %test = icmp eq i32 %exists, 0
; CHECK-NEXT:   %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
; CHECK-NEXT:   %kept = select i1 %test, i32 %own, i32 %both
; CHECK-NEXT:   ret i32 %kept
; CHECK-NEXT: }
  %pair = call { i32, i32 } asm sideeffect "{\0A\09.reg .pred %p_ret_1;\0A\09match.up.b32 $0|%p_ret_1, $2, $3, $4, $5;\0A\09selp.b32 $1, 1, 0, %p_ret_1;\0A\09}", "=&r,=&r,r,r,r,r"(i32 %own, i32 1, i32 0, i32 -1) convergent
  %other = extractvalue { i32, i32 } %pair, 0
  %exists = extractvalue { i32, i32 } %pair, 1
  %test = icmp eq i32 %exists, 0
  %both = call i32 @llvm.smax.i32(i32 %other, i32 %own)
  %kept = select i1 %test, i32 %own, i32 %both
  ret i32 %kept
}

declare i32 @llvm.smax.i32(i32, i32)
