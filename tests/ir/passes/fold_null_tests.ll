; Comparisons of the generic address of a static with null are folded.
; RUN: opt --passes=fold_null_tests

@table = internal addrspace(1) constant [8 x i8] zeroinitializer, align 4
@tile = internal addrspace(3) global [8 x i8] undef, align 4

declare void @take(i1)

; CHECK: define void @addresses
; CHECK-NOT: icmp
; CHECK: call void @take(i1 false)
; CHECK: call void @take(i1 true)
; CHECK: call void @take(i1 false)
; CHECK: call void @take(i1 true)
; CHECK: ret void
define void @addresses() {
start:
  %eq = icmp eq ptr addrspacecast (ptr addrspace(1) @table to ptr), null
  call void @take(i1 %eq)
  %ne = icmp ne ptr null, addrspacecast (ptr addrspace(3) @tile to ptr)
  call void @take(i1 %ne)
  %end = icmp eq ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 8), null
  call void @take(i1 %end)
  %frozen = freeze ptr addrspacecast (ptr addrspace(1) @table to ptr)
  %thawed = icmp ne ptr %frozen, null
  call void @take(i1 %thawed)
  ret void
}

; A phi takes the result.
; CHECK: define i1 @merges
; CHECK: phi i1 [ false, %start ], [ %q, %other ]
define i1 @merges(i1 %p, i1 %q) {
start:
  %eq = icmp eq ptr addrspacecast (ptr addrspace(1) @table to ptr), null
  br i1 %p, label %other, label %done
other:
  br label %done
done:
  %result = phi i1 [ %eq, %start ], [ %q, %other ]
  ret i1 %result
}

; Shared memory begins at address 0 of its own address space, and an address outside a static may
; be 0.
; CHECK: define void @others
; CHECK: icmp eq ptr addrspace(3) @tile, null
; CHECK: icmp eq ptr
; CHECK: icmp eq ptr
; CHECK: icmp eq ptr
define void @others(ptr %p) {
start:
  %own = icmp eq ptr addrspace(3) @tile, null
  call void @take(i1 %own)
  %past = icmp eq ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 9), null
  call void @take(i1 %past)
  %before = icmp eq ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 -1), null
  call void @take(i1 %before)
  %unknown = icmp eq ptr %p, null
  call void @take(i1 %unknown)
  ret void
}
