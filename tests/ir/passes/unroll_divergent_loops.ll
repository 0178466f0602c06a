; libnvvm makes four iterations one, and ptxas no more, if each thread has loaded its own number of
; iterations.
; RUN: opt --passes=unroll_divergent_loops

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @f(float)

; The row of a thread in a sparse matrix.
; CHECK: define void @rows
define void @rows(ptr %offsets, ptr %values) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr inbounds i32, ptr %offsets, i32 %t
  %start = load i32, ptr %p, align 4
  %q = getelementptr inbounds i8, ptr %p, i64 4
  %end = load i32, ptr %q, align 4
  br label %loop

loop:
  %k = phi i32 [ %start, %entry ], [ %next, %loop ]
  %r = getelementptr inbounds float, ptr %values, i32 %k
  store float 1.0, ptr %r, align 4
  %next = add i32 %k, 1
  %done = icmp eq i32 %next, %end
; CHECK: br i1 %done, label %exit, label %loop, !llvm.loop !
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; An iterator over as many elements as a value in the stack says.
; CHECK: define void @slices
define void @slices(ptr %values) {
entry:
  %stack = alloca i64, align 8
  %n = load i64, ptr %stack, align 8
  %end = getelementptr inbounds float, ptr %values, i64 %n
  br label %loop

loop:
  %p = phi ptr [ %values, %entry ], [ %next, %loop ]
  store float 1.0, ptr %p, align 4
  %next = getelementptr inbounds i8, ptr %p, i64 4
  %more = icmp ne ptr %end, %next
; CHECK: br i1 %more, label %loop, label %exit, !llvm.loop !
  br i1 %more, label %loop, label %exit

exit:
  ret void
}

; The row of a sparse matrix, whose columns are places in a vector.
; CHECK: define void @gather
; CHECK-NOT: !llvm.loop
; CHECK: define void @uniform
define void @gather(ptr %offsets, ptr %columns, ptr %xs, ptr %to) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr inbounds i32, ptr %offsets, i32 %t
  %start = load i32, ptr %p, align 4
  %q = getelementptr inbounds i8, ptr %p, i64 4
  %end = load i32, ptr %q, align 4
  br label %loop

loop:
  %k = phi i32 [ %start, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %total, %loop ]
  %r = getelementptr inbounds i32, ptr %columns, i32 %k
  %column = load i32, ptr %r, align 4
  %s = getelementptr inbounds i32, ptr %xs, i32 %column
  %x = load i32, ptr %s, align 4
  %total = add i32 %sum, %x
  %next = add i32 %k, 1
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  store i32 %total, ptr %to, align 4
  ret void
}

; The row of a block or of a row of threads, rows of equal length that start at different elements,
; and elements in steps of a warp.
; CHECK-NOT: !llvm.loop
define void @uniform(ptr %offsets, ptr %values, i32 %length) {
entry:
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %row = add i32 %b, %y
  %p = getelementptr inbounds i32, ptr %offsets, i32 %row
  %end = load i32, ptr %p, align 4
  br label %loop

loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %r = getelementptr inbounds float, ptr %values, i32 %k
  store float 1.0, ptr %r, align 4
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %end
  br i1 %more, label %loop, label %own

own:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = mul i32 %t, %length
  %last = add i32 %start, %length
  %first = getelementptr inbounds float, ptr %values, i32 %start
  %behind = getelementptr inbounds float, ptr %first, i32 %length
  br label %numbers

numbers:
  %i = phi i32 [ %start, %own ], [ %i1, %numbers ]
  %x = getelementptr inbounds float, ptr %values, i32 %i
  store float 1.0, ptr %x, align 4
  %i1 = add i32 %i, 1
  %stop = icmp eq i32 %i1, %last
  br i1 %stop, label %addresses, label %numbers

addresses:
  %a = phi ptr [ %first, %numbers ], [ %a1, %addresses ]
  store float 1.0, ptr %a, align 4
  %a1 = getelementptr inbounds i8, ptr %a, i64 4
  %ends = icmp eq ptr %a1, %behind
  br i1 %ends, label %steps, label %addresses

steps:
  %s = phi i32 [ %t, %addresses ], [ %s1, %steps ]
  %z = getelementptr inbounds float, ptr %values, i32 %s
  store float 1.0, ptr %z, align 4
  %s1 = add i32 %s, 32
  %again = icmp ult i32 %s1, %length
  br i1 %again, label %steps, label %exit

exit:
  ret void
}

; A call, and a counter that changes by a variable.
; CHECK: define void @others
; CHECK-NOT: !llvm.loop
define void @others(ptr %values, i32 %step) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr inbounds i32, ptr %values, i32 %t
  %n = load i32, ptr %p, align 4
  br label %calls

calls:
  %k = phi i32 [ 0, %entry ], [ %k1, %calls ]
  %x = phi float [ 1.0, %entry ], [ %y, %calls ]
  %y = call float @f(float %x)
  %k1 = add i32 %k, 1
  %done = icmp eq i32 %k1, %n
  br i1 %done, label %strided, label %calls

strided:
  %i = phi i32 [ 0, %calls ], [ %i1, %strided ]
  %q = getelementptr inbounds float, ptr %values, i32 %i
  store float 1.0, ptr %q, align 4
  %i1 = add i32 %i, %step
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %strided, label %exit

exit:
  ret void
}

; Long iterations over 64-bit integers are not unrolled; libnvvm chooses for others.
; CHECK: define void @heavy
define void @heavy(ptr %offsets, i64 %s) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr inbounds i32, ptr %offsets, i32 %t
  %end = load i32, ptr %p, align 4
  br label %loop

loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x0 = phi i64 [ %s, %entry ], [ %x16, %loop ]
  %x1 = xor i64 %x0, %s
  %y1 = add i64 %x1, %x0
  %x2 = xor i64 %x1, %s
  %y2 = add i64 %x2, %x1
  %x3 = xor i64 %x2, %s
  %y3 = add i64 %x3, %x2
  %x4 = xor i64 %x3, %s
  %y4 = add i64 %x4, %x3
  %x5 = xor i64 %x4, %s
  %y5 = add i64 %x5, %x4
  %x6 = xor i64 %x5, %s
  %y6 = add i64 %x6, %x5
  %x7 = xor i64 %x6, %s
  %y7 = add i64 %x7, %x6
  %x8 = xor i64 %x7, %s
  %y8 = add i64 %x8, %x7
  %x9 = xor i64 %x8, %s
  %y9 = add i64 %x9, %x8
  %x10 = xor i64 %x9, %s
  %y10 = add i64 %x10, %x9
  %x11 = xor i64 %x10, %s
  %y11 = add i64 %x11, %x10
  %x12 = xor i64 %x11, %s
  %y12 = add i64 %x12, %x11
  %x13 = xor i64 %x12, %s
  %y13 = add i64 %x13, %x12
  %x14 = xor i64 %x13, %s
  %y14 = add i64 %x14, %x13
  %x15 = xor i64 %x14, %s
  %y15 = add i64 %x15, %x14
  %x16 = xor i64 %x15, %s
  %y16 = add i64 %x16, %x15
  %next = add i32 %k, 1
  %done = icmp eq i32 %next, %end
; CHECK: br i1 %done, label %exit, label %loop, !llvm.loop !
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; CHECK: define void @long
; CHECK-NOT: !llvm.loop
; CHECK: define void @last
define void @long(ptr %offsets, i32 %s) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr inbounds i32, ptr %offsets, i32 %t
  %end = load i32, ptr %p, align 4
  br label %loop

loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x0 = phi i32 [ %s, %entry ], [ %x16, %loop ]
  %x1 = xor i32 %x0, %s
  %y1 = add i32 %x1, %x0
  %x2 = xor i32 %x1, %s
  %y2 = add i32 %x2, %x1
  %x3 = xor i32 %x2, %s
  %y3 = add i32 %x3, %x2
  %x4 = xor i32 %x3, %s
  %y4 = add i32 %x4, %x3
  %x5 = xor i32 %x4, %s
  %y5 = add i32 %x5, %x4
  %x6 = xor i32 %x5, %s
  %y6 = add i32 %x6, %x5
  %x7 = xor i32 %x6, %s
  %y7 = add i32 %x7, %x6
  %x8 = xor i32 %x7, %s
  %y8 = add i32 %x8, %x7
  %x9 = xor i32 %x8, %s
  %y9 = add i32 %x9, %x8
  %x10 = xor i32 %x9, %s
  %y10 = add i32 %x10, %x9
  %x11 = xor i32 %x10, %s
  %y11 = add i32 %x11, %x10
  %x12 = xor i32 %x11, %s
  %y12 = add i32 %x12, %x11
  %x13 = xor i32 %x12, %s
  %y13 = add i32 %x13, %x12
  %x14 = xor i32 %x13, %s
  %y14 = add i32 %x14, %x13
  %x15 = xor i32 %x14, %s
  %y15 = add i32 %x15, %x14
  %x16 = xor i32 %x15, %s
  %y16 = add i32 %x16, %x15
  %next = add i32 %k, 1
  %done = icmp eq i32 %next, %end
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

define void @last() {
  ret void
}

; CHECK: !{!"llvm.loop.unroll.count", i32 4}
!nvvm.annotations = !{!0, !1, !2, !3}
!0 = !{ptr @rows, !"kernel", i32 1}
!1 = !{ptr @slices, !"kernel", i32 1}
!2 = !{ptr @uniform, !"kernel", i32 1}
!3 = !{ptr @others, !"kernel", i32 1}
; CHECK: !{!"llvm.loop.unroll.count", i32 1}
