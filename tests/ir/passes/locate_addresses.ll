; Addresses from tables of constants are in global memory.
; RUN: opt --passes=locate_addresses

@one = internal addrspace(1) constant [4 x i8] c"one.", align 1
@two = internal addrspace(1) constant [4 x i8] c"two.", align 1
@count = internal addrspace(1) global [4 x i8] zeroinitializer, align 1
@tile = internal addrspace(3) global [4 x i8] undef, align 1
@names = internal addrspace(1) constant [3 x { ptr, i64 }] [{ ptr, i64 } { ptr addrspacecast (ptr addrspace(1) @one to ptr), i64 4 }, { ptr, i64 } { ptr addrspacecast (ptr addrspace(1) @two to ptr), i64 4 }, { ptr, i64 } { ptr inttoptr (i64 1 to ptr), i64 0 }], align 8
@places = internal addrspace(1) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @one to ptr), ptr addrspacecast (ptr addrspace(1) @count to ptr)], align 8
@both = internal addrspace(1) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @one to ptr), ptr addrspacecast (ptr addrspace(3) @tile to ptr)], align 8
@far = internal addrspace(1) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @one to ptr), ptr inttoptr (i64 65536 to ptr)], align 8
@pointers = internal addrspace(1) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @one to ptr), ptr @code], align 8
@mutable = internal addrspace(1) global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @one to ptr), ptr addrspacecast (ptr addrspace(1) @two to ptr)], align 8

declare void @seen(ptr)

define internal void @code() {
; CHECK-LABEL: define internal void @code() {
; CHECK-NEXT: start:
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  ret void
}

; Slices. The last one is empty.
define i8 @slices(i64 %i, i64 %j) {
; CHECK-LABEL: define i8 @slices(i64 %i, i64 %j) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @names to ptr), i64 %i
; CHECK-NEXT:   %name = load ptr, ptr %place, align 8
; CHECK-NEXT:   %0 = addrspacecast ptr %name to ptr addrspace(1)
; CHECK-NEXT:   %1 = addrspacecast ptr addrspace(1) %0 to ptr
; CHECK-NEXT:   %at = getelementptr inbounds i8, ptr %1, i64 %j
; CHECK-NEXT:   %byte = load i8, ptr %at, align 1, !invariant.load !0
; CHECK-NEXT:   call void @seen(ptr %1)
; CHECK-NEXT:   ret i8 %byte
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @names to ptr), i64 %i
  %name = load ptr, ptr %place, align 8
  %at = getelementptr inbounds i8, ptr %name, i64 %j
  %byte = load i8, ptr %at, align 1
  call void @seen(ptr %name)
  ret i8 %byte
}

; What is not constant may change.
define i8 @changes(i64 %i) {
; CHECK-LABEL: define i8 @changes(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @places to ptr), i64 %i
; CHECK-NEXT:   %name = load ptr, ptr %place, align 8
; CHECK-NEXT:   %0 = addrspacecast ptr %name to ptr addrspace(1)
; CHECK-NEXT:   %1 = addrspacecast ptr addrspace(1) %0 to ptr
; CHECK-NEXT:   %byte = load i8, ptr %1, align 1
; CHECK-NEXT:   ret i8 %byte
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @places to ptr), i64 %i
  %name = load ptr, ptr %place, align 8
  %byte = load i8, ptr %name, align 1
  ret i8 %byte
}

; Volatile loads stay.
define i8 @volatile(i64 %i) {
; CHECK-LABEL: define i8 @volatile(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @names to ptr), i64 %i
; CHECK-NEXT:   %name = load ptr, ptr %place, align 8
; CHECK-NEXT:   %0 = addrspacecast ptr %name to ptr addrspace(1)
; CHECK-NEXT:   %1 = addrspacecast ptr addrspace(1) %0 to ptr
; CHECK-NEXT:   %byte = load volatile i8, ptr %1, align 1
; CHECK-NEXT:   ret i8 %byte
; CHECK-NEXT: }
start:
  %place = getelementptr inbounds [16 x i8], ptr addrspacecast (ptr addrspace(1) @names to ptr), i64 %i
  %name = load ptr, ptr %place, align 8
  %byte = load volatile i8, ptr %name, align 1
  ret i8 %byte
}

; Shared memory, an unknown address, a function, and a table that may change.
define void @stay(i64 %i) {
; CHECK-LABEL: define void @stay(i64 %i) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %a = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @both to ptr), i64 %i
; CHECK-NEXT:   %b = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @far to ptr), i64 %i
; CHECK-NEXT:   %c = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @pointers to ptr), i64 %i
; CHECK-NEXT:   %d = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @mutable to ptr), i64 %i
; CHECK-NEXT:   %w = load ptr, ptr %a, align 8
; CHECK-NEXT:   %x = load ptr, ptr %b, align 8
; CHECK-NEXT:   %y = load ptr, ptr %c, align 8
; CHECK-NEXT:   %z = load ptr, ptr %d, align 8
; CHECK-NEXT:   call void @seen(ptr %w)
; CHECK-NEXT:   call void @seen(ptr %x)
; CHECK-NEXT:   call void @seen(ptr %y)
; CHECK-NEXT:   call void @seen(ptr %z)
; CHECK-NEXT:   ret void
; CHECK-NEXT: }
start:
  %a = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @both to ptr), i64 %i
  %b = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @far to ptr), i64 %i
  %c = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @pointers to ptr), i64 %i
  %d = getelementptr inbounds ptr, ptr addrspacecast (ptr addrspace(1) @mutable to ptr), i64 %i
  %w = load ptr, ptr %a, align 8
  %x = load ptr, ptr %b, align 8
  %y = load ptr, ptr %c, align 8
  %z = load ptr, ptr %d, align 8
  call void @seen(ptr %w)
  call void @seen(ptr %x)
  call void @seen(ptr %y)
  call void @seen(ptr %z)
  ret void
}
