; Constants of every kind.
; RUN: print

; CHECK: @a = addrspace(1) global <{ i8, i64 }> <{ i8 -1, i64 -9223372036854775808 }>, align 1
@a = addrspace(1) global <{ i8, i64 }> <{ i8 255, i64 9223372036854775808 }>, align 1
; CHECK: @b = addrspace(1) global [2 x float] [float 0x3FF8000000000000, float 0x7FF8000000000000], align 4
@b = addrspace(1) global [2 x float] [float 1.5, float 0x7FF8000000000000], align 4
; CHECK: @c = addrspace(1) global half 0xH3C00, align 2
@c = addrspace(1) global half 0xH3C00, align 2
; CHECK: @d = addrspace(1) global i128 -170141183460469231731687303715884105728, align 16
@d = addrspace(1) global i128 -170141183460469231731687303715884105728, align 16
; CHECK: @e = addrspace(1) global [4 x i8] c"a\22\5C\00", align 1
@e = addrspace(1) global [4 x i8] c"a\22\5C\00", align 1
; CHECK: @f = addrspace(1) global { {}, [0 x i32] } { {} zeroinitializer, [0 x i32] zeroinitializer }, align 4
@f = addrspace(1) global { {}, [0 x i32] } { {} zeroinitializer, [0 x i32] zeroinitializer }, align 4
; CHECK: @g = addrspace(1) global ptr addrspacecast (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @e, i64 -2) to ptr), align 8
@g = addrspace(1) global ptr addrspacecast (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @e, i64 -2) to ptr), align 8
; CHECK: @h = addrspace(1) global i64 ptrtoint (ptr @later to i64), align 8
@h = addrspace(1) global i64 ptrtoint (ptr @later to i64), align 8
; CHECK: @i = addrspace(1) global ptr inttoptr (i64 8 to ptr), align 8
@i = addrspace(1) global ptr inttoptr (i64 8 to ptr), align 8
; CHECK: @j = addrspace(1) global fp128 0xL00000000000000003FFF000000000000, align 16
@j = addrspace(1) global fp128 0xL00000000000000003FFF000000000000, align 16
; CHECK: @k = addrspace(1) global <2 x i16> <i16 1, i16 -1>, align 4
@k = addrspace(1) global <2 x i16> <i16 1, i16 -1>, align 4

define void @later() {
start:
  ret void
}
