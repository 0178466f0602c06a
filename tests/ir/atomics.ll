; Atomics and fences are written in LLVM's form, scopes and orderings too.
; RUN: print

define void @f(ptr %p, i32 %x) {
start:
; CHECK: load atomic i32, ptr %p acquire, align 4
  %a = load atomic i32, ptr %p acquire, align 4
; CHECK: store atomic volatile i32 %x, ptr %p syncscope("block") release, align 4
  store atomic volatile i32 %x, ptr %p syncscope("block") release, align 4
; CHECK: atomicrmw umax ptr %p, i32 %x syncscope("device") seq_cst
  %b = atomicrmw umax ptr %p, i32 %x syncscope("device") seq_cst
; CHECK: cmpxchg ptr %p, i32 %x, i32 1 acq_rel monotonic
  %c = cmpxchg ptr %p, i32 %x, i32 1 acq_rel monotonic
; CHECK: fence syncscope("cluster") acq_rel
  fence syncscope("cluster") acq_rel
  ret void
}
