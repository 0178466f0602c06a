; Atomic operations become PTX of the same ordering and scope. A compare-exchange has one ordering,
; that of success and failure together. Operations of 8 and 16 bits become loops, whose ordering is
; that of fences.
; RUN: opt --passes=legalize --sm=90

define void @f(ptr addrspace(1) %p, i32 %x, i16 %y) {
start:
; CHECK-NOT: fence
; CHECK: atom.acq_rel.gpu.global.cas.b32
  %a = cmpxchg ptr addrspace(1) %p, i32 %x, i32 1 syncscope("device") release acquire
; CHECK: atom.release.cta.global.cas.b32
  %b = cmpxchg ptr addrspace(1) %p, i32 %x, i32 1 syncscope("block") release monotonic
; CHECK: atom.acquire.cluster.global.exch.b32
  %c = atomicrmw xchg ptr addrspace(1) %p, i32 %x syncscope("cluster") acquire
; CHECK: atom.relaxed.sys.global.add.u32
  %d = atomicrmw add ptr addrspace(1) %p, i32 %x monotonic
; CHECK: atom.relaxed.gpu.global.cas.b32
; CHECK: fence.acq_rel.gpu;
  %e = atomicrmw add ptr addrspace(1) %p, i16 %y syncscope("device") acquire
; CHECK-NOT: atom
; CHECK: fence.acq_rel.cta;
; CHECK-NOT: fence
; CHECK: atom.relaxed.cta.global.cas.b32
  %g = atomicrmw add ptr addrspace(1) %p, i16 %y syncscope("block") release
; CHECK: atom.relaxed.sys.global.cas.b32
  %h = atomicrmw add ptr addrspace(1) %p, i16 %y monotonic
; CHECK: ret void
  ret void
}
