; The PTX of single accesses: scopes, orderings, address spaces and types.
; RUN: opt --passes=legalize --sm=90
; RUN: opt --passes=legalize --sm=80 --dialect=llvm7 --check-prefix=OLD

define void @fences() {
start:
  fence syncscope("block") acquire
  fence syncscope("cluster") release
  fence syncscope("device") acq_rel
  fence seq_cst
  ret void
}
; CHECK-LABEL: define void @fences() {
; CHECK-NEXT: start:
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.cta;", "~{memory}"()
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.cluster;", "~{memory}"()
; CHECK-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; CHECK-NEXT:   call void asm sideeffect "fence.sc.sys;", "~{memory}"()
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
; OLD-LABEL: define void @fences() {
; OLD-NEXT: start:
; OLD-NEXT:   call void asm sideeffect "fence.acq_rel.cta;", "~{memory}"()
; OLD-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; OLD-NEXT:   call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
; OLD-NEXT:   call void asm sideeffect "fence.sc.sys;", "~{memory}"()
; OLD-NEXT:   ret void
; OLD-NEXT: }

define i32 @loads(ptr addrspace(1) %global, ptr addrspace(3) %shared, ptr %any) {
start:
  %a = load atomic i32, ptr addrspace(1) %global syncscope("device") monotonic, align 4
  %b = load atomic i32, ptr addrspace(3) %shared syncscope("block") acquire, align 4
  %c = load atomic i32, ptr %any seq_cst, align 4
  %1 = add i32 %a, %b
  %2 = add i32 %1, %c
  ret i32 %2
}
; CHECK-LABEL: define i32 @loads(ptr addrspace(1) %global, ptr addrspace(3) %shared, ptr %any) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %a = call i32 asm sideeffect "ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %global)
; CHECK-NEXT:   %b = call i32 asm sideeffect "ld.acquire.cta.shared.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(3) %shared)
; CHECK-NEXT:   call void asm sideeffect "fence.sc.sys;", "~{memory}"()
; CHECK-NEXT:   %c = call i32 asm sideeffect "ld.acquire.sys.b32 $0, [$1];", "=r,l,~{memory}"(ptr %any)
; CHECK-NEXT:   %0 = add i32 %a, %b
; CHECK-NEXT:   %1 = add i32 %0, %c
; CHECK-NEXT:   ret i32 %1
; CHECK-NEXT: }

define void @stores(ptr addrspace(1) %global, ptr addrspace(3) %shared, ptr %any) {
start:
  store atomic i64 1, ptr addrspace(1) %global syncscope("device") monotonic, align 8
  store atomic i64 2, ptr addrspace(3) %shared syncscope("block") release, align 8
  store atomic i64 3, ptr %any seq_cst, align 8
  ret void
}
; CHECK-LABEL: define void @stores(ptr addrspace(1) %global, ptr addrspace(3) %shared, ptr %any) {
; CHECK-NEXT: start:
; CHECK-NEXT:   call void asm sideeffect "st.relaxed.gpu.global.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %global, i64 1)
; CHECK-NEXT:   call void asm sideeffect "st.release.cta.shared.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(3) %shared, i64 2)
; CHECK-NEXT:   call void asm sideeffect "fence.sc.sys;", "~{memory}"()
; CHECK-NEXT:   call void asm sideeffect "st.relaxed.sys.b64 [$0], $1;", "l,l,~{memory}"(ptr %any, i64 3)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

; Registers have 16 bits or more; floats are moved as integers.
define void @types(ptr addrspace(1) %p, i8 %byte, half %h, double %d, ptr %q) {
start:
  store atomic i8 %byte, ptr addrspace(1) %p monotonic, align 1
  store atomic half %h, ptr addrspace(1) %p monotonic, align 2
  store atomic double %d, ptr addrspace(1) %p monotonic, align 8
  store atomic ptr %q, ptr addrspace(1) %p monotonic, align 8
  ret void
}
; CHECK-LABEL: define void @types(ptr addrspace(1) %p, i8 %byte, half %h, double %d, ptr %q) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = zext i8 %byte to i16
; CHECK-NEXT:   call void asm sideeffect "st.relaxed.sys.global.u8 [$0], $1;", "l,h,~{memory}"(ptr addrspace(1) %p, i16 %0)
; CHECK-NEXT:   %1 = bitcast half %h to i16
; CHECK-NEXT:   call void asm sideeffect "st.relaxed.sys.global.b16 [$0], $1;", "l,h,~{memory}"(ptr addrspace(1) %p, i16 %1)
; CHECK-NEXT:   %2 = bitcast double %d to i64
; CHECK-NEXT:   call void asm sideeffect "st.relaxed.sys.global.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %p, i64 %2)
; CHECK-NEXT:   call void asm sideeffect "st.relaxed.sys.global.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %p, ptr %q)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define void @operations(ptr addrspace(1) %p, i32 %x, float %f) {
start:
  %1 = atomicrmw xchg ptr addrspace(1) %p, i32 %x monotonic
  %2 = atomicrmw add ptr addrspace(1) %p, i32 %x acquire
  %3 = atomicrmw sub ptr addrspace(1) %p, i32 %x release
  %4 = atomicrmw and ptr addrspace(1) %p, i32 %x acq_rel
  %5 = atomicrmw or ptr addrspace(1) %p, i32 %x seq_cst
  %6 = atomicrmw xor ptr addrspace(1) %p, i32 %x monotonic
  %7 = atomicrmw max ptr addrspace(1) %p, i32 %x monotonic
  %8 = atomicrmw min ptr addrspace(1) %p, i32 %x monotonic
  %9 = atomicrmw umax ptr addrspace(1) %p, i32 %x monotonic
  %10 = atomicrmw umin ptr addrspace(1) %p, i32 %x monotonic
  %11 = atomicrmw fadd ptr addrspace(1) %p, float %f monotonic
  ret void
}
; CHECK-LABEL: define void @operations(ptr addrspace(1) %p, i32 %x, float %f) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i32 asm sideeffect "atom.relaxed.sys.global.exch.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %1 = call i32 asm sideeffect "atom.acquire.sys.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %2 = sub i32 0, %x
; CHECK-NEXT:   %3 = call i32 asm sideeffect "atom.release.sys.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %2)
; CHECK-NEXT:   %4 = call i32 asm sideeffect "atom.acq_rel.sys.global.and.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   call void asm sideeffect "fence.sc.sys;", "~{memory}"()
; CHECK-NEXT:   %5 = call i32 asm sideeffect "atom.acquire.sys.global.or.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %6 = call i32 asm sideeffect "atom.relaxed.sys.global.xor.b32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %7 = call i32 asm sideeffect "atom.relaxed.sys.global.max.s32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %8 = call i32 asm sideeffect "atom.relaxed.sys.global.min.s32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %9 = call i32 asm sideeffect "atom.relaxed.sys.global.max.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %10 = call i32 asm sideeffect "atom.relaxed.sys.global.min.u32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspace(1) %p, i32 %x)
; CHECK-NEXT:   %11 = call float asm sideeffect "atom.relaxed.sys.global.add.f32 $0, [$1], $2;", "=f,l,f,~{memory}"(ptr addrspace(1) %p, float %f)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }

define ptr @exchanges_pointers(ptr addrspace(1) %p, ptr %q) {
start:
  %old = atomicrmw xchg ptr addrspace(1) %p, ptr %q acq_rel
  ret ptr %old
}
; CHECK-LABEL: define ptr @exchanges_pointers(ptr addrspace(1) %p, ptr %q) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %old = call ptr asm sideeffect "atom.acq_rel.sys.global.exch.b64 $0, [$1], $2;", "=l,l,l,~{memory}"(ptr addrspace(1) %p, ptr %q)
; CHECK-NEXT:   ret ptr %old
; CHECK-NEXT: }

define { i64, i1 } @compares(ptr addrspace(1) %p, i64 %x) {
start:
  %r = cmpxchg ptr addrspace(1) %p, i64 %x, i64 1 acquire monotonic
  ret { i64, i1 } %r
}
; CHECK-LABEL: define { i64, i1 } @compares(ptr addrspace(1) %p, i64 %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = call i64 asm sideeffect "atom.acquire.sys.global.cas.b64 $0, [$1], $2, $3;", "=l,l,l,l,~{memory}"(ptr addrspace(1) %p, i64 %x, i64 1)
; CHECK-NEXT:   %1 = icmp eq i64 %0, %x
; CHECK-NEXT:   %2 = insertvalue { i64, i1 } undef, i64 %0, 0
; CHECK-NEXT:   %r = insertvalue { i64, i1 } %2, i1 %1, 1
; CHECK-NEXT:   ret { i64, i1 } %r
; CHECK-NEXT: }
