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

; The elements of an array in a loop.
; CHECK: define void @elements
; CHECK-NOT: icmp eq
; CHECK: call void @take(i1 false)
; CHECK: ret void
define void @elements(i1 %p, i64 %n) {
start:
  br label %loop
loop:
  %at = phi ptr [ addrspacecast (ptr addrspace(3) @tile to ptr), %start ], [ %next, %loop ]
  %null = icmp eq ptr %at, null
  call void @take(i1 %null)
  %one = getelementptr inbounds i8, ptr %at, i64 %n
  %next = select i1 %p, ptr %one, ptr addrspacecast (ptr addrspace(1) @table to ptr)
  %goes = icmp ne ptr %next, getelementptr (i8, ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 8)
  br i1 %goes, label %loop, label %done
done:
  ret void
}

; Another address may reach the phi, and an offset without `inbounds` may wrap around.
; CHECK: define void @unknown
; CHECK: icmp eq ptr %at, null
; CHECK: icmp eq ptr %far, null
define void @unknown(i1 %p, i64 %n, ptr %q) {
start:
  br i1 %p, label %other, label %done
other:
  br label %done
done:
  %at = phi ptr [ addrspacecast (ptr addrspace(3) @tile to ptr), %start ], [ %q, %other ]
  %null = icmp eq ptr %at, null
  call void @take(i1 %null)
  %far = getelementptr i8, ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 %n
  %zero = icmp eq ptr %far, null
  call void @take(i1 %zero)
  ret void
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

; The address of the smallest element, as an integer, and one that may be null.
define void @smallest(ptr nonnull %from, ptr %other, i64 %n, ptr %to) {
start:
  %first = ptrtoint ptr %from to i64
  %maybe = ptrtoint ptr %other to i64
  br label %next

next:
  %i = phi i64 [ 0, %start ], [ %after, %next ]
  %least = phi i64 [ %first, %start ], [ %less, %next ]
  %at = getelementptr inbounds i32, ptr %from, i64 %i
  %value = load i32, ptr %at, align 4
  %here = ptrtoint ptr %at to i64
  %is = icmp slt i32 %value, 7
  %less = select i1 %is, i64 %here, i64 %least
  %after = add i64 %i, 1
  %more = icmp ult i64 %after, %n
  br i1 %more, label %next, label %end

end:
  %none = icmp eq i64 %less, 0
  %a = zext i1 %none to i32
  %unknown = icmp eq i64 %maybe, 0
  %b = zext i1 %unknown to i32
  %far = getelementptr i32, ptr %from, i64 %i
  %wrapped = icmp eq ptr %far, null
  %c = zext i1 %wrapped to i32
  %d = or i32 %a, %b
  %e = or i32 %c, %d
  store i32 %e, ptr %to, align 4
  ret void
}
; CHECK-LABEL: define void @smallest(ptr nonnull %from, ptr %other, i64 %n, ptr %to) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %first = ptrtoint ptr %from to i64
; CHECK-NEXT:   %maybe = ptrtoint ptr %other to i64
; CHECK-NEXT:   br label %next
; CHECK-NEXT: next:
; CHECK-NEXT:   %i = phi i64 [ 0, %start ], [ %after, %next ]
; CHECK-NEXT:   %least = phi i64 [ %first, %start ], [ %less, %next ]
; CHECK-NEXT:   %at = getelementptr inbounds i32, ptr %from, i64 %i
; CHECK-NEXT:   %value = load i32, ptr %at, align 4
; CHECK-NEXT:   %here = ptrtoint ptr %at to i64
; CHECK-NEXT:   %is = icmp slt i32 %value, 7
; CHECK-NEXT:   %less = select i1 %is, i64 %here, i64 %least
; CHECK-NEXT:   %after = add i64 %i, 1
; CHECK-NEXT:   %more = icmp ult i64 %after, %n
; CHECK-NEXT:   br i1 %more, label %next, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %a = zext i1 false to i32
; CHECK-NEXT:   %unknown = icmp eq i64 %maybe, 0
; CHECK-NEXT:   %b = zext i1 %unknown to i32
; CHECK-NEXT:   %far = getelementptr i32, ptr %from, i64 %i
; CHECK-NEXT:   %wrapped = icmp eq ptr %far, null
; CHECK-NEXT:   %c = zext i1 %wrapped to i32
; CHECK-NEXT:   %d = or i32 %a, %b
; CHECK-NEXT:   %e = or i32 %c, %d
; CHECK-NEXT:   store i32 %e, ptr %to, align 4
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
