; Operations that PTX lacks are compare-exchange loops; 8 and 16 bits use the word around them.
; RUN: opt --passes=legalize --sm=90

define i32 @nand(ptr addrspace(1) %p, i32 %x) {
start:
  %old = atomicrmw nand ptr addrspace(1) %p, i32 %x seq_cst
  ret i32 %old
}
; CHECK-LABEL: define i32 @nand(ptr addrspace(1) %p, i32 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   call void asm sideeffect "fence.sc.sys;", "~{memory}"()
; CHECK-NEXT:   %0 = call i32 asm sideeffect "ld.relaxed.sys.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %p)
; CHECK-NEXT:   br label %cas
; CHECK-NEXT: cas:
; CHECK-NEXT:   %old = phi i32 [ %0, %start ], [ %3, %cas ]
; CHECK-NEXT:   %1 = and i32 %old, %x
; CHECK-NEXT:   %2 = xor i32 %1, -1
; CHECK-NEXT:   %3 = call i32 asm sideeffect "atom.relaxed.sys.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr addrspace(1) %p, i32 %old, i32 %2)
; CHECK-NEXT:   %4 = icmp eq i32 %3, %old
; CHECK-NEXT:   br i1 %4, label %cas_done, label %cas
; CHECK-NEXT: cas_done:
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.sys;", "~{memory}"()
; CHECK-NEXT:   ret i32 %old
; CHECK-NEXT: }

define i128 @wide(ptr addrspace(1) %p, i128 %x) {
start:
  %old = atomicrmw add ptr addrspace(1) %p, i128 %x syncscope("device") monotonic
  ret i128 %old
}
; CHECK-LABEL: define i128 @wide(ptr addrspace(1) %p, i128 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call { i64, i64 } asm sideeffect "{ .reg .b128 t; ld.relaxed.gpu.global.b128 t, [$2]; mov.b128 {$0, $1}, t; }", "=l,=l,l,~{memory}"(ptr addrspace(1) %p)
; CHECK-NEXT:   %1 = extractvalue { i64, i64 } %0, 0
; CHECK-NEXT:   %2 = extractvalue { i64, i64 } %0, 1
; CHECK-NEXT:   %3 = zext i64 %1 to i128
; CHECK-NEXT:   %4 = zext i64 %2 to i128
; CHECK-NEXT:   %5 = shl i128 %4, 64
; CHECK-NEXT:   %6 = or i128 %5, %3
; CHECK-NEXT:   br label %cas
; CHECK-NEXT: cas:
; CHECK-NEXT:   %old = phi i128 [ %6, %start ], [ %20, %cas ]
; CHECK-NEXT:   %7 = add i128 %old, %x
; CHECK-NEXT:   %8 = trunc i128 %old to i64
; CHECK-NEXT:   %9 = lshr i128 %old, 64
; CHECK-NEXT:   %10 = trunc i128 %9 to i64
; CHECK-NEXT:   %11 = trunc i128 %7 to i64
; CHECK-NEXT:   %12 = lshr i128 %7, 64
; CHECK-NEXT:   %13 = trunc i128 %12 to i64
; CHECK-NEXT:   %14 = call { i64, i64 } asm sideeffect "{ .reg .b128 o, e, n; mov.b128 e, {$3, $4}; mov.b128 n, {$5, $6}; atom.relaxed.gpu.global.cas.b128 o, [$2], e, n; mov.b128 {$0, $1}, o; }", "=l,=l,l,l,l,l,l,~{memory}"(ptr addrspace(1) %p, i64 %8, i64 %10, i64 %11, i64 %13)
; CHECK-NEXT:   %15 = extractvalue { i64, i64 } %14, 0
; CHECK-NEXT:   %16 = extractvalue { i64, i64 } %14, 1
; CHECK-NEXT:   %17 = zext i64 %15 to i128
; CHECK-NEXT:   %18 = zext i64 %16 to i128
; CHECK-NEXT:   %19 = shl i128 %18, 64
; CHECK-NEXT:   %20 = or i128 %19, %17
; CHECK-NEXT:   %21 = icmp eq i128 %20, %old
; CHECK-NEXT:   br i1 %21, label %cas_done, label %cas
; CHECK-NEXT: cas_done:
; CHECK-NEXT:   ret i128 %old
; CHECK-NEXT: }

define i16 @narrow(ptr addrspace(1) %p, i16 %x) {
start:
  %old = atomicrmw max ptr addrspace(1) %p, i16 %x syncscope("device") acq_rel
  ret i16 %old
}
; CHECK-LABEL: define i16 @narrow(ptr addrspace(1) %p, i16 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = ptrtoint ptr addrspace(1) %p to i64
; CHECK-NEXT:   %1 = and i64 %0, 3
; CHECK-NEXT:   %2 = sub i64 0, %1
; CHECK-NEXT:   %3 = getelementptr i8, ptr addrspace(1) %p, i64 %2
; CHECK-NEXT:   %4 = trunc i64 %1 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 3
; CHECK-NEXT:   %6 = shl i32 65535, %5
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; CHECK-NEXT:   %7 = call i32 asm sideeffect "ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %3)
; CHECK-NEXT:   br label %cas
; CHECK-NEXT: cas:
; CHECK-NEXT:   %8 = phi i32 [ %7, %start ], [ %18, %cas ]
; CHECK-NEXT:   %9 = lshr i32 %8, %5
; CHECK-NEXT:   %10 = trunc i32 %9 to i16
; CHECK-NEXT:   %11 = icmp sgt i16 %10, %x
; CHECK-NEXT:   %12 = select i1 %11, i16 %10, i16 %x
; CHECK-NEXT:   %13 = xor i32 %6, -1
; CHECK-NEXT:   %14 = and i32 %8, %13
; CHECK-NEXT:   %15 = zext i16 %12 to i32
; CHECK-NEXT:   %16 = shl i32 %15, %5
; CHECK-NEXT:   %17 = or i32 %14, %16
; CHECK-NEXT:   %18 = call i32 asm sideeffect "atom.relaxed.gpu.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr addrspace(1) %3, i32 %8, i32 %17)
; CHECK-NEXT:   %19 = icmp eq i32 %18, %8
; CHECK-NEXT:   br i1 %19, label %cas_done, label %cas
; CHECK-NEXT: cas_done:
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; CHECK-NEXT:   %20 = lshr i32 %8, %5
; CHECK-NEXT:   %old = trunc i32 %20 to i16
; CHECK-NEXT:   ret i16 %old
; CHECK-NEXT: }

define half @narrow_float(ptr addrspace(1) %p, half %x) {
start:
  %old = atomicrmw fadd ptr addrspace(1) %p, half %x syncscope("device") monotonic
  ret half %old
}
; CHECK-LABEL: define half @narrow_float(ptr addrspace(1) %p, half %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = ptrtoint ptr addrspace(1) %p to i64
; CHECK-NEXT:   %1 = and i64 %0, 3
; CHECK-NEXT:   %2 = sub i64 0, %1
; CHECK-NEXT:   %3 = getelementptr i8, ptr addrspace(1) %p, i64 %2
; CHECK-NEXT:   %4 = trunc i64 %1 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 3
; CHECK-NEXT:   %6 = shl i32 65535, %5
; CHECK-NEXT:   %7 = call i32 asm sideeffect "ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %3)
; CHECK-NEXT:   br label %cas
; CHECK-NEXT: cas:
; CHECK-NEXT:   %8 = phi i32 [ %7, %start ], [ %19, %cas ]
; CHECK-NEXT:   %9 = lshr i32 %8, %5
; CHECK-NEXT:   %10 = trunc i32 %9 to i16
; CHECK-NEXT:   %11 = bitcast i16 %10 to half
; CHECK-NEXT:   %12 = fadd half %11, %x
; CHECK-NEXT:   %13 = bitcast half %12 to i16
; CHECK-NEXT:   %14 = xor i32 %6, -1
; CHECK-NEXT:   %15 = and i32 %8, %14
; CHECK-NEXT:   %16 = zext i16 %13 to i32
; CHECK-NEXT:   %17 = shl i32 %16, %5
; CHECK-NEXT:   %18 = or i32 %15, %17
; CHECK-NEXT:   %19 = call i32 asm sideeffect "atom.relaxed.gpu.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr addrspace(1) %3, i32 %8, i32 %18)
; CHECK-NEXT:   %20 = icmp eq i32 %19, %8
; CHECK-NEXT:   br i1 %20, label %cas_done, label %cas
; CHECK-NEXT: cas_done:
; CHECK-NEXT:   %21 = lshr i32 %8, %5
; CHECK-NEXT:   %22 = trunc i32 %21 to i16
; CHECK-NEXT:   %old = bitcast i16 %22 to half
; CHECK-NEXT:   ret half %old
; CHECK-NEXT: }

; The bits around the byte are unchanged: zeros for `or` and `xor`, ones for `and`.
define i8 @bitwise(ptr addrspace(1) %p, i8 %x) {
start:
  %1 = atomicrmw and ptr addrspace(1) %p, i8 %x syncscope("device") release
  %2 = atomicrmw or ptr addrspace(1) %p, i8 %1 syncscope("device") seq_cst
  ret i8 %2
}
; CHECK-LABEL: define i8 @bitwise(ptr addrspace(1) %p, i8 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = ptrtoint ptr addrspace(1) %p to i64
; CHECK-NEXT:   %1 = and i64 %0, 3
; CHECK-NEXT:   %2 = sub i64 0, %1
; CHECK-NEXT:   %3 = getelementptr i8, ptr addrspace(1) %p, i64 %2
; CHECK-NEXT:   %4 = trunc i64 %1 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 3
; CHECK-NEXT:   %6 = shl i32 255, %5
; CHECK-NEXT:   %7 = zext i8 %x to i32
; CHECK-NEXT:   %8 = shl i32 %7, %5
; CHECK-NEXT:   %9 = xor i32 %6, -1
; CHECK-NEXT:   %10 = or i32 %8, %9
; CHECK-NEXT:   %11 = call i32 asm sideeffect "atom.release.gpu.global.and.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %3, i32 %10)
; CHECK-NEXT:   %12 = lshr i32 %11, %5
; CHECK-NEXT:   %13 = trunc i32 %12 to i8
; CHECK-NEXT:   %14 = ptrtoint ptr addrspace(1) %p to i64
; CHECK-NEXT:   %15 = and i64 %14, 3
; CHECK-NEXT:   %16 = sub i64 0, %15
; CHECK-NEXT:   %17 = getelementptr i8, ptr addrspace(1) %p, i64 %16
; CHECK-NEXT:   %18 = trunc i64 %15 to i32
; CHECK-NEXT:   %19 = shl i32 %18, 3
; CHECK-NEXT:   %20 = shl i32 255, %19
; CHECK-NEXT:   %21 = zext i8 %13 to i32
; CHECK-NEXT:   %22 = shl i32 %21, %19
; CHECK-NEXT:   call void asm sideeffect "fence.sc.gpu;", "~{memory}"()
; CHECK-NEXT:   %23 = call i32 asm sideeffect "atom.acquire.gpu.global.or.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %17, i32 %22)
; CHECK-NEXT:   %24 = lshr i32 %23, %19
; CHECK-NEXT:   %25 = trunc i32 %24 to i8
; CHECK-NEXT:   ret i8 %25
; CHECK-NEXT: }

; Retries while only the rest of the word changes.
define { i8, i1 } @compares(ptr addrspace(1) %p, i8 %x) {
start:
  %r = cmpxchg ptr addrspace(1) %p, i8 %x, i8 1 syncscope("device") acq_rel acquire
  ret { i8, i1 } %r
}
; CHECK-LABEL: define { i8, i1 } @compares(ptr addrspace(1) %p, i8 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; CHECK-NEXT:   %0 = ptrtoint ptr addrspace(1) %p to i64
; CHECK-NEXT:   %1 = and i64 %0, 3
; CHECK-NEXT:   %2 = sub i64 0, %1
; CHECK-NEXT:   %3 = getelementptr i8, ptr addrspace(1) %p, i64 %2
; CHECK-NEXT:   %4 = trunc i64 %1 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 3
; CHECK-NEXT:   %6 = shl i32 255, %5
; CHECK-NEXT:   %7 = call i32 asm sideeffect "ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %3)
; CHECK-NEXT:   br label %cas
; CHECK-NEXT: cas:
; CHECK-NEXT:   %8 = phi i32 [ %7, %start ], [ %17, %cas_try ]
; CHECK-NEXT:   %9 = lshr i32 %8, %5
; CHECK-NEXT:   %10 = trunc i32 %9 to i8
; CHECK-NEXT:   %11 = icmp eq i8 %10, %x
; CHECK-NEXT:   br i1 %11, label %cas_try, label %cas_done
; CHECK-NEXT: cas_try:
; CHECK-NEXT:   %12 = xor i32 %6, -1
; CHECK-NEXT:   %13 = and i32 %8, %12
; CHECK-NEXT:   %14 = zext i8 1 to i32
; CHECK-NEXT:   %15 = shl i32 %14, %5
; CHECK-NEXT:   %16 = or i32 %13, %15
; CHECK-NEXT:   %17 = call i32 asm sideeffect "atom.relaxed.gpu.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr addrspace(1) %3, i32 %8, i32 %16)
; CHECK-NEXT:   %18 = icmp eq i32 %17, %8
; CHECK-NEXT:   br i1 %18, label %cas_done, label %cas
; CHECK-NEXT: cas_done:
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; CHECK-NEXT:   %19 = icmp eq i8 %10, %x
; CHECK-NEXT:   %20 = insertvalue { i8, i1 } undef, i8 %10, 0
; CHECK-NEXT:   %r = insertvalue { i8, i1 } %20, i1 %19, 1
; CHECK-NEXT:   ret { i8, i1 } %r
; CHECK-NEXT: }

; A phi that follows names the block in which the loop ends.
define i8 @joins(ptr addrspace(1) %p, i1 %c) {
start:
  br i1 %c, label %add, label %end
add:
  %old = atomicrmw add ptr addrspace(1) %p, i8 1 monotonic
  br label %end
end:
  %r = phi i8 [ 0, %start ], [ %old, %add ]
  ret i8 %r
}
; CHECK-LABEL: define i8 @joins(ptr addrspace(1) %p, i1 %c) {
; CHECK-NEXT: start:
; CHECK-NEXT:   br i1 %c, label %add, label %end
; CHECK-NEXT: add:
; CHECK-NEXT:   %0 = ptrtoint ptr addrspace(1) %p to i64
; CHECK-NEXT:   %1 = and i64 %0, 3
; CHECK-NEXT:   %2 = sub i64 0, %1
; CHECK-NEXT:   %3 = getelementptr i8, ptr addrspace(1) %p, i64 %2
; CHECK-NEXT:   %4 = trunc i64 %1 to i32
; CHECK-NEXT:   %5 = shl i32 %4, 3
; CHECK-NEXT:   %6 = shl i32 255, %5
; CHECK-NEXT:   %7 = call i32 asm sideeffect "ld.relaxed.sys.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %3)
; CHECK-NEXT:   br label %cas
; CHECK-NEXT: cas:
; CHECK-NEXT:   %8 = phi i32 [ %7, %add ], [ %17, %cas ]
; CHECK-NEXT:   %9 = lshr i32 %8, %5
; CHECK-NEXT:   %10 = trunc i32 %9 to i8
; CHECK-NEXT:   %11 = add i8 %10, 1
; CHECK-NEXT:   %12 = xor i32 %6, -1
; CHECK-NEXT:   %13 = and i32 %8, %12
; CHECK-NEXT:   %14 = zext i8 %11 to i32
; CHECK-NEXT:   %15 = shl i32 %14, %5
; CHECK-NEXT:   %16 = or i32 %13, %15
; CHECK-NEXT:   %17 = call i32 asm sideeffect "atom.relaxed.sys.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(ptr addrspace(1) %3, i32 %8, i32 %16)
; CHECK-NEXT:   %18 = icmp eq i32 %17, %8
; CHECK-NEXT:   br i1 %18, label %cas_done, label %cas
; CHECK-NEXT: cas_done:
; CHECK-NEXT:   %19 = lshr i32 %8, %5
; CHECK-NEXT:   %old = trunc i32 %19 to i8
; CHECK-NEXT:   br label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %r = phi i8 [ 0, %start ], [ %old, %cas_done ]
; CHECK-NEXT:   ret i8 %r
; CHECK-NEXT: }
