; Division and remainder of 128 bits multiply with a reciprocal, which depends on the divisor only.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7

define i128 @urem(i128 %a, i128 %b) {
start:
  %r = urem i128 %a, %b
  ret i128 %r
}
; CHECK-LABEL: define i128 @urem(i128 %a, i128 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = trunc i128 %b to i64
; CHECK-NEXT:   %1 = lshr i128 %b, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = icmp ne i64 %2, 0
; CHECK-NEXT:   %4 = select i1 %3, i64 %2, i64 %0
; CHECK-NEXT:   %5 = call i64 @llvm.ctlz.i64(i64 %4, i1 false)
; CHECK-NEXT:   %6 = shl i64 %4, %5
; CHECK-NEXT:   %7 = shl i64 %0, %5
; CHECK-NEXT:   %8 = select i1 %3, i64 %7, i64 0
; CHECK-NEXT:   %9 = lshr i64 %0, 1
; CHECK-NEXT:   %10 = xor i64 %5, 63
; CHECK-NEXT:   %11 = lshr i64 %9, %10
; CHECK-NEXT:   %12 = select i1 %3, i64 %11, i64 0
; CHECK-NEXT:   %13 = or i64 %6, %12
; CHECK-NEXT:   %14 = lshr i64 %13, 40
; CHECK-NEXT:   %15 = trunc i64 %14 to i32
; CHECK-NEXT:   %16 = add i32 %15, 1056964609
; CHECK-NEXT:   %17 = bitcast i32 %16 to float
; CHECK-NEXT:   %18 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %17) nounwind readnone
; CHECK-NEXT:   %19 = bitcast float %18 to i32
; CHECK-NEXT:   %20 = sub i32 %19, 1048576002
; CHECK-NEXT:   %21 = zext i32 %20 to i64
; CHECK-NEXT:   %22 = lshr i64 %13, 24
; CHECK-NEXT:   %23 = add i64 %22, 1
; CHECK-NEXT:   %24 = mul i64 %21, %23
; CHECK-NEXT:   %25 = sub i64 -9223372036854775808, %24
; CHECK-NEXT:   %26 = lshr i64 %25, 11
; CHECK-NEXT:   %27 = mul i64 %21, %26
; CHECK-NEXT:   %28 = lshr i64 %27, 42
; CHECK-NEXT:   %29 = shl i64 %21, 10
; CHECK-NEXT:   %30 = add i64 %29, %28
; CHECK-NEXT:   %31 = and i64 %13, 1
; CHECK-NEXT:   %32 = lshr i64 %13, 1
; CHECK-NEXT:   %33 = add i64 %32, %31
; CHECK-NEXT:   %34 = mul i64 %30, %33
; CHECK-NEXT:   %35 = sub i64 0, %31
; CHECK-NEXT:   %36 = lshr i64 %30, 1
; CHECK-NEXT:   %37 = and i64 %36, %35
; CHECK-NEXT:   %38 = sub i64 %37, %34
; CHECK-NEXT:   %39 = zext i64 %30 to i128
; CHECK-NEXT:   %40 = zext i64 %38 to i128
; CHECK-NEXT:   %41 = mul i128 %39, %40
; CHECK-NEXT:   %42 = trunc i128 %41 to i64
; CHECK-NEXT:   %43 = lshr i128 %41, 64
; CHECK-NEXT:   %44 = trunc i128 %43 to i64
; CHECK-NEXT:   %45 = lshr i64 %44, 1
; CHECK-NEXT:   %46 = shl i64 %30, 31
; CHECK-NEXT:   %47 = add i64 %46, %45
; CHECK-NEXT:   %48 = zext i64 %47 to i128
; CHECK-NEXT:   %49 = zext i64 %13 to i128
; CHECK-NEXT:   %50 = mul i128 %48, %49
; CHECK-NEXT:   %51 = zext i64 %13 to i128
; CHECK-NEXT:   %52 = add i128 %50, %51
; CHECK-NEXT:   %53 = trunc i128 %52 to i64
; CHECK-NEXT:   %54 = lshr i128 %52, 64
; CHECK-NEXT:   %55 = trunc i128 %54 to i64
; CHECK-NEXT:   %56 = add i64 %55, %13
; CHECK-NEXT:   %57 = sub i64 %47, %56
; CHECK-NEXT:   %58 = trunc i128 %a to i64
; CHECK-NEXT:   %59 = lshr i128 %a, 64
; CHECK-NEXT:   %60 = trunc i128 %59 to i64
; CHECK-NEXT:   %61 = lshr i64 %60, 1
; CHECK-NEXT:   %62 = xor i64 %5, 63
; CHECK-NEXT:   %63 = lshr i64 %61, %62
; CHECK-NEXT:   %64 = shl i64 %60, %5
; CHECK-NEXT:   %65 = lshr i64 %58, 1
; CHECK-NEXT:   %66 = xor i64 %5, 63
; CHECK-NEXT:   %67 = lshr i64 %65, %66
; CHECK-NEXT:   %68 = or i64 %64, %67
; CHECK-NEXT:   %69 = shl i64 %58, %5
; CHECK-NEXT:   %70 = icmp ne i64 %63, 0
; CHECK-NEXT:   %71 = icmp uge i64 %68, %13
; CHECK-NEXT:   %72 = or i1 %70, %71
; CHECK-NEXT:   br i1 %72, label %div_large, label %div_small
; CHECK-NEXT: div_large:
; CHECK-NEXT:   %73 = zext i64 %57 to i128
; CHECK-NEXT:   %74 = zext i64 %63 to i128
; CHECK-NEXT:   %75 = mul i128 %73, %74
; CHECK-NEXT:   %76 = zext i64 %68 to i128
; CHECK-NEXT:   %77 = zext i64 %63 to i128
; CHECK-NEXT:   %78 = shl i128 %77, 64
; CHECK-NEXT:   %79 = or i128 %78, %76
; CHECK-NEXT:   %80 = add i128 %75, %79
; CHECK-NEXT:   %81 = trunc i128 %80 to i64
; CHECK-NEXT:   %82 = lshr i128 %80, 64
; CHECK-NEXT:   %83 = trunc i128 %82 to i64
; CHECK-NEXT:   %84 = add i64 %83, 1
; CHECK-NEXT:   %85 = mul i64 %84, %13
; CHECK-NEXT:   %86 = sub i64 %68, %85
; CHECK-NEXT:   %87 = icmp ugt i64 %86, %81
; CHECK-NEXT:   %88 = add i64 %86, %13
; CHECK-NEXT:   %89 = select i1 %87, i64 %83, i64 %84
; CHECK-NEXT:   %90 = select i1 %87, i64 %88, i64 %86
; CHECK-NEXT:   %91 = icmp uge i64 %90, %13
; CHECK-NEXT:   %92 = add i64 %89, 1
; CHECK-NEXT:   %93 = sub i64 %90, %13
; CHECK-NEXT:   %94 = select i1 %91, i64 %92, i64 %89
; CHECK-NEXT:   %95 = select i1 %91, i64 %93, i64 %90
; CHECK-NEXT:   br label %div_small
; CHECK-NEXT: div_small:
; CHECK-NEXT:   %96 = phi i64 [ 0, %start ], [ %94, %div_large ]
; CHECK-NEXT:   %97 = phi i64 [ %68, %start ], [ %95, %div_large ]
; CHECK-NEXT:   br i1 %3, label %div_wide, label %div_narrow
; CHECK-NEXT: div_wide:
; CHECK-NEXT:   %98 = zext i64 %8 to i128
; CHECK-NEXT:   %99 = zext i64 %13 to i128
; CHECK-NEXT:   %100 = shl i128 %99, 64
; CHECK-NEXT:   %101 = or i128 %100, %98
; CHECK-NEXT:   %102 = zext i64 %96 to i128
; CHECK-NEXT:   %103 = zext i64 %8 to i128
; CHECK-NEXT:   %104 = mul i128 %102, %103
; CHECK-NEXT:   %105 = zext i64 %69 to i128
; CHECK-NEXT:   %106 = zext i64 %97 to i128
; CHECK-NEXT:   %107 = shl i128 %106, 64
; CHECK-NEXT:   %108 = or i128 %107, %105
; CHECK-NEXT:   %109 = icmp ult i128 %108, %104
; CHECK-NEXT:   %110 = sub i128 %108, %104
; CHECK-NEXT:   %111 = select i1 %109, i128 %101, i128 0
; CHECK-NEXT:   %112 = add i128 %110, %111
; CHECK-NEXT:   %113 = icmp ult i128 %112, %111
; CHECK-NEXT:   %114 = xor i1 %113, true
; CHECK-NEXT:   %115 = and i1 %109, %114
; CHECK-NEXT:   %116 = zext i1 %109 to i64
; CHECK-NEXT:   %117 = zext i1 %115 to i64
; CHECK-NEXT:   %118 = sub i64 %96, %116
; CHECK-NEXT:   %119 = sub i64 %118, %117
; CHECK-NEXT:   %120 = zext i64 %119 to i128
; CHECK-NEXT:   %121 = select i1 %115, i128 %101, i128 0
; CHECK-NEXT:   %122 = add i128 %112, %121
; CHECK-NEXT:   %123 = zext i64 %5 to i128
; CHECK-NEXT:   %124 = lshr i128 %122, %123
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_narrow:
; CHECK-NEXT:   %125 = zext i64 %57 to i128
; CHECK-NEXT:   %126 = zext i64 %97 to i128
; CHECK-NEXT:   %127 = mul i128 %125, %126
; CHECK-NEXT:   %128 = zext i64 %69 to i128
; CHECK-NEXT:   %129 = zext i64 %97 to i128
; CHECK-NEXT:   %130 = shl i128 %129, 64
; CHECK-NEXT:   %131 = or i128 %130, %128
; CHECK-NEXT:   %132 = add i128 %127, %131
; CHECK-NEXT:   %133 = trunc i128 %132 to i64
; CHECK-NEXT:   %134 = lshr i128 %132, 64
; CHECK-NEXT:   %135 = trunc i128 %134 to i64
; CHECK-NEXT:   %136 = add i64 %135, 1
; CHECK-NEXT:   %137 = mul i64 %136, %13
; CHECK-NEXT:   %138 = sub i64 %69, %137
; CHECK-NEXT:   %139 = icmp ugt i64 %138, %133
; CHECK-NEXT:   %140 = add i64 %138, %13
; CHECK-NEXT:   %141 = select i1 %139, i64 %135, i64 %136
; CHECK-NEXT:   %142 = select i1 %139, i64 %140, i64 %138
; CHECK-NEXT:   %143 = icmp uge i64 %142, %13
; CHECK-NEXT:   %144 = add i64 %141, 1
; CHECK-NEXT:   %145 = sub i64 %142, %13
; CHECK-NEXT:   %146 = select i1 %143, i64 %144, i64 %141
; CHECK-NEXT:   %147 = select i1 %143, i64 %145, i64 %142
; CHECK-NEXT:   %148 = zext i64 %146 to i128
; CHECK-NEXT:   %149 = zext i64 %96 to i128
; CHECK-NEXT:   %150 = shl i128 %149, 64
; CHECK-NEXT:   %151 = or i128 %150, %148
; CHECK-NEXT:   %152 = lshr i64 %147, %5
; CHECK-NEXT:   %153 = zext i64 %152 to i128
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_done:
; CHECK-NEXT:   %154 = phi i128 [ %120, %div_wide ], [ %151, %div_narrow ]
; CHECK-NEXT:   %r = phi i128 [ %124, %div_wide ], [ %153, %div_narrow ]
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

define i64 @modular(i64 %a, i64 %b, i64 %m) {
start:
  %wide_a = zext i64 %a to i128
  %wide_b = zext i64 %b to i128
  %wide_m = zext i64 %m to i128
  br label %body
body:
  %product = mul i128 %wide_a, %wide_b
  %rest = urem i128 %product, %wide_m
  %r = trunc i128 %rest to i64
  %again = icmp eq i64 %r, 0
  br i1 %again, label %body, label %end
end:
  %from = phi i64 [ %r, %body ]
  ret i64 %from
}
; CHECK-LABEL: define i64 @modular(i64 %a, i64 %b, i64 %m) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %wide_a = zext i64 %a to i128
; CHECK-NEXT:   %wide_b = zext i64 %b to i128
; CHECK-NEXT:   %wide_m = zext i64 %m to i128
; CHECK-NEXT:   br label %body
; CHECK-NEXT: body:
; CHECK-NEXT:   %product = mul i128 %wide_a, %wide_b
; CHECK-NEXT:   %0 = trunc i128 %wide_m to i64
; CHECK-NEXT:   %1 = lshr i128 %wide_m, 64
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = icmp ne i64 %2, 0
; CHECK-NEXT:   %4 = select i1 %3, i64 %2, i64 %0
; CHECK-NEXT:   %5 = call i64 @llvm.ctlz.i64(i64 %4, i1 false)
; CHECK-NEXT:   %6 = shl i64 %4, %5
; CHECK-NEXT:   %7 = shl i64 %0, %5
; CHECK-NEXT:   %8 = select i1 %3, i64 %7, i64 0
; CHECK-NEXT:   %9 = lshr i64 %0, 1
; CHECK-NEXT:   %10 = xor i64 %5, 63
; CHECK-NEXT:   %11 = lshr i64 %9, %10
; CHECK-NEXT:   %12 = select i1 %3, i64 %11, i64 0
; CHECK-NEXT:   %13 = or i64 %6, %12
; CHECK-NEXT:   %14 = lshr i64 %13, 40
; CHECK-NEXT:   %15 = trunc i64 %14 to i32
; CHECK-NEXT:   %16 = add i32 %15, 1056964609
; CHECK-NEXT:   %17 = bitcast i32 %16 to float
; CHECK-NEXT:   %18 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %17) nounwind readnone
; CHECK-NEXT:   %19 = bitcast float %18 to i32
; CHECK-NEXT:   %20 = sub i32 %19, 1048576002
; CHECK-NEXT:   %21 = zext i32 %20 to i64
; CHECK-NEXT:   %22 = lshr i64 %13, 24
; CHECK-NEXT:   %23 = add i64 %22, 1
; CHECK-NEXT:   %24 = mul i64 %21, %23
; CHECK-NEXT:   %25 = sub i64 -9223372036854775808, %24
; CHECK-NEXT:   %26 = lshr i64 %25, 11
; CHECK-NEXT:   %27 = mul i64 %21, %26
; CHECK-NEXT:   %28 = lshr i64 %27, 42
; CHECK-NEXT:   %29 = shl i64 %21, 10
; CHECK-NEXT:   %30 = add i64 %29, %28
; CHECK-NEXT:   %31 = and i64 %13, 1
; CHECK-NEXT:   %32 = lshr i64 %13, 1
; CHECK-NEXT:   %33 = add i64 %32, %31
; CHECK-NEXT:   %34 = mul i64 %30, %33
; CHECK-NEXT:   %35 = sub i64 0, %31
; CHECK-NEXT:   %36 = lshr i64 %30, 1
; CHECK-NEXT:   %37 = and i64 %36, %35
; CHECK-NEXT:   %38 = sub i64 %37, %34
; CHECK-NEXT:   %39 = zext i64 %30 to i128
; CHECK-NEXT:   %40 = zext i64 %38 to i128
; CHECK-NEXT:   %41 = mul i128 %39, %40
; CHECK-NEXT:   %42 = trunc i128 %41 to i64
; CHECK-NEXT:   %43 = lshr i128 %41, 64
; CHECK-NEXT:   %44 = trunc i128 %43 to i64
; CHECK-NEXT:   %45 = lshr i64 %44, 1
; CHECK-NEXT:   %46 = shl i64 %30, 31
; CHECK-NEXT:   %47 = add i64 %46, %45
; CHECK-NEXT:   %48 = zext i64 %47 to i128
; CHECK-NEXT:   %49 = zext i64 %13 to i128
; CHECK-NEXT:   %50 = mul i128 %48, %49
; CHECK-NEXT:   %51 = zext i64 %13 to i128
; CHECK-NEXT:   %52 = add i128 %50, %51
; CHECK-NEXT:   %53 = trunc i128 %52 to i64
; CHECK-NEXT:   %54 = lshr i128 %52, 64
; CHECK-NEXT:   %55 = trunc i128 %54 to i64
; CHECK-NEXT:   %56 = add i64 %55, %13
; CHECK-NEXT:   %57 = sub i64 %47, %56
; CHECK-NEXT:   %58 = trunc i128 %product to i64
; CHECK-NEXT:   %59 = lshr i128 %product, 64
; CHECK-NEXT:   %60 = trunc i128 %59 to i64
; CHECK-NEXT:   %61 = lshr i64 %60, 1
; CHECK-NEXT:   %62 = xor i64 %5, 63
; CHECK-NEXT:   %63 = lshr i64 %61, %62
; CHECK-NEXT:   %64 = shl i64 %60, %5
; CHECK-NEXT:   %65 = lshr i64 %58, 1
; CHECK-NEXT:   %66 = xor i64 %5, 63
; CHECK-NEXT:   %67 = lshr i64 %65, %66
; CHECK-NEXT:   %68 = or i64 %64, %67
; CHECK-NEXT:   %69 = shl i64 %58, %5
; CHECK-NEXT:   %70 = icmp ne i64 %63, 0
; CHECK-NEXT:   %71 = icmp uge i64 %68, %13
; CHECK-NEXT:   %72 = or i1 %70, %71
; CHECK-NEXT:   br i1 %72, label %div_large, label %div_small
; CHECK-NEXT: div_large:
; CHECK-NEXT:   %73 = zext i64 %57 to i128
; CHECK-NEXT:   %74 = zext i64 %63 to i128
; CHECK-NEXT:   %75 = mul i128 %73, %74
; CHECK-NEXT:   %76 = zext i64 %68 to i128
; CHECK-NEXT:   %77 = zext i64 %63 to i128
; CHECK-NEXT:   %78 = shl i128 %77, 64
; CHECK-NEXT:   %79 = or i128 %78, %76
; CHECK-NEXT:   %80 = add i128 %75, %79
; CHECK-NEXT:   %81 = trunc i128 %80 to i64
; CHECK-NEXT:   %82 = lshr i128 %80, 64
; CHECK-NEXT:   %83 = trunc i128 %82 to i64
; CHECK-NEXT:   %84 = add i64 %83, 1
; CHECK-NEXT:   %85 = mul i64 %84, %13
; CHECK-NEXT:   %86 = sub i64 %68, %85
; CHECK-NEXT:   %87 = icmp ugt i64 %86, %81
; CHECK-NEXT:   %88 = add i64 %86, %13
; CHECK-NEXT:   %89 = select i1 %87, i64 %83, i64 %84
; CHECK-NEXT:   %90 = select i1 %87, i64 %88, i64 %86
; CHECK-NEXT:   %91 = icmp uge i64 %90, %13
; CHECK-NEXT:   %92 = add i64 %89, 1
; CHECK-NEXT:   %93 = sub i64 %90, %13
; CHECK-NEXT:   %94 = select i1 %91, i64 %92, i64 %89
; CHECK-NEXT:   %95 = select i1 %91, i64 %93, i64 %90
; CHECK-NEXT:   br label %div_small
; CHECK-NEXT: div_small:
; CHECK-NEXT:   %96 = phi i64 [ 0, %body ], [ %94, %div_large ]
; CHECK-NEXT:   %97 = phi i64 [ %68, %body ], [ %95, %div_large ]
; CHECK-NEXT:   br i1 %3, label %div_wide, label %div_narrow
; CHECK-NEXT: div_wide:
; CHECK-NEXT:   %98 = zext i64 %8 to i128
; CHECK-NEXT:   %99 = zext i64 %13 to i128
; CHECK-NEXT:   %100 = shl i128 %99, 64
; CHECK-NEXT:   %101 = or i128 %100, %98
; CHECK-NEXT:   %102 = zext i64 %96 to i128
; CHECK-NEXT:   %103 = zext i64 %8 to i128
; CHECK-NEXT:   %104 = mul i128 %102, %103
; CHECK-NEXT:   %105 = zext i64 %69 to i128
; CHECK-NEXT:   %106 = zext i64 %97 to i128
; CHECK-NEXT:   %107 = shl i128 %106, 64
; CHECK-NEXT:   %108 = or i128 %107, %105
; CHECK-NEXT:   %109 = icmp ult i128 %108, %104
; CHECK-NEXT:   %110 = sub i128 %108, %104
; CHECK-NEXT:   %111 = select i1 %109, i128 %101, i128 0
; CHECK-NEXT:   %112 = add i128 %110, %111
; CHECK-NEXT:   %113 = icmp ult i128 %112, %111
; CHECK-NEXT:   %114 = xor i1 %113, true
; CHECK-NEXT:   %115 = and i1 %109, %114
; CHECK-NEXT:   %116 = zext i1 %109 to i64
; CHECK-NEXT:   %117 = zext i1 %115 to i64
; CHECK-NEXT:   %118 = sub i64 %96, %116
; CHECK-NEXT:   %119 = sub i64 %118, %117
; CHECK-NEXT:   %120 = zext i64 %119 to i128
; CHECK-NEXT:   %121 = select i1 %115, i128 %101, i128 0
; CHECK-NEXT:   %122 = add i128 %112, %121
; CHECK-NEXT:   %123 = zext i64 %5 to i128
; CHECK-NEXT:   %124 = lshr i128 %122, %123
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_narrow:
; CHECK-NEXT:   %125 = zext i64 %57 to i128
; CHECK-NEXT:   %126 = zext i64 %97 to i128
; CHECK-NEXT:   %127 = mul i128 %125, %126
; CHECK-NEXT:   %128 = zext i64 %69 to i128
; CHECK-NEXT:   %129 = zext i64 %97 to i128
; CHECK-NEXT:   %130 = shl i128 %129, 64
; CHECK-NEXT:   %131 = or i128 %130, %128
; CHECK-NEXT:   %132 = add i128 %127, %131
; CHECK-NEXT:   %133 = trunc i128 %132 to i64
; CHECK-NEXT:   %134 = lshr i128 %132, 64
; CHECK-NEXT:   %135 = trunc i128 %134 to i64
; CHECK-NEXT:   %136 = add i64 %135, 1
; CHECK-NEXT:   %137 = mul i64 %136, %13
; CHECK-NEXT:   %138 = sub i64 %69, %137
; CHECK-NEXT:   %139 = icmp ugt i64 %138, %133
; CHECK-NEXT:   %140 = add i64 %138, %13
; CHECK-NEXT:   %141 = select i1 %139, i64 %135, i64 %136
; CHECK-NEXT:   %142 = select i1 %139, i64 %140, i64 %138
; CHECK-NEXT:   %143 = icmp uge i64 %142, %13
; CHECK-NEXT:   %144 = add i64 %141, 1
; CHECK-NEXT:   %145 = sub i64 %142, %13
; CHECK-NEXT:   %146 = select i1 %143, i64 %144, i64 %141
; CHECK-NEXT:   %147 = select i1 %143, i64 %145, i64 %142
; CHECK-NEXT:   %148 = zext i64 %146 to i128
; CHECK-NEXT:   %149 = zext i64 %96 to i128
; CHECK-NEXT:   %150 = shl i128 %149, 64
; CHECK-NEXT:   %151 = or i128 %150, %148
; CHECK-NEXT:   %152 = lshr i64 %147, %5
; CHECK-NEXT:   %153 = zext i64 %152 to i128
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_done:
; CHECK-NEXT:   %154 = phi i128 [ %120, %div_wide ], [ %151, %div_narrow ]
; CHECK-NEXT:   %rest = phi i128 [ %124, %div_wide ], [ %153, %div_narrow ]
; CHECK-NEXT:   %r = trunc i128 %rest to i64
; CHECK-NEXT:   %again = icmp eq i64 %r, 0
; CHECK-NEXT:   br i1 %again, label %body, label %end
; CHECK-NEXT: end:
; CHECK-NEXT:   %from = phi i64 [ %r, %div_done ]
; CHECK-NEXT:   ret i64 %from
; CHECK-NEXT: }

; The reciprocal of a constant is a constant.
define i128 @sdiv_by_ten(i128 %a) {
start:
  %r = sdiv i128 %a, -10
  ret i128 %r
}
; CHECK-LABEL: define i128 @sdiv_by_ten(i128 %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = ashr i128 %a, 127
; CHECK-NEXT:   %1 = xor i128 %a, %0
; CHECK-NEXT:   %2 = sub i128 %1, %0
; CHECK-NEXT:   %3 = trunc i128 %2 to i64
; CHECK-NEXT:   %4 = lshr i128 %2, 64
; CHECK-NEXT:   %5 = trunc i128 %4 to i64
; CHECK-NEXT:   %6 = lshr i64 %5, 1
; CHECK-NEXT:   %7 = xor i64 60, 63
; CHECK-NEXT:   %8 = lshr i64 %6, %7
; CHECK-NEXT:   %9 = shl i64 %5, 60
; CHECK-NEXT:   %10 = lshr i64 %3, 1
; CHECK-NEXT:   %11 = xor i64 60, 63
; CHECK-NEXT:   %12 = lshr i64 %10, %11
; CHECK-NEXT:   %13 = or i64 %9, %12
; CHECK-NEXT:   %14 = shl i64 %3, 60
; CHECK-NEXT:   %15 = icmp ne i64 %8, 0
; CHECK-NEXT:   %16 = icmp uge i64 %13, -6917529027641081856
; CHECK-NEXT:   %17 = or i1 %15, %16
; CHECK-NEXT:   br i1 %17, label %div_large, label %div_small
; CHECK-NEXT: div_large:
; CHECK-NEXT:   %18 = zext i64 -7378697629483820647 to i128
; CHECK-NEXT:   %19 = zext i64 %8 to i128
; CHECK-NEXT:   %20 = mul i128 %18, %19
; CHECK-NEXT:   %21 = zext i64 %13 to i128
; CHECK-NEXT:   %22 = zext i64 %8 to i128
; CHECK-NEXT:   %23 = shl i128 %22, 64
; CHECK-NEXT:   %24 = or i128 %23, %21
; CHECK-NEXT:   %25 = add i128 %20, %24
; CHECK-NEXT:   %26 = trunc i128 %25 to i64
; CHECK-NEXT:   %27 = lshr i128 %25, 64
; CHECK-NEXT:   %28 = trunc i128 %27 to i64
; CHECK-NEXT:   %29 = add i64 %28, 1
; CHECK-NEXT:   %30 = mul i64 %29, -6917529027641081856
; CHECK-NEXT:   %31 = sub i64 %13, %30
; CHECK-NEXT:   %32 = icmp ugt i64 %31, %26
; CHECK-NEXT:   %33 = add i64 %31, -6917529027641081856
; CHECK-NEXT:   %34 = select i1 %32, i64 %28, i64 %29
; CHECK-NEXT:   %35 = select i1 %32, i64 %33, i64 %31
; CHECK-NEXT:   %36 = icmp uge i64 %35, -6917529027641081856
; CHECK-NEXT:   %37 = add i64 %34, 1
; CHECK-NEXT:   %38 = sub i64 %35, -6917529027641081856
; CHECK-NEXT:   %39 = select i1 %36, i64 %37, i64 %34
; CHECK-NEXT:   %40 = select i1 %36, i64 %38, i64 %35
; CHECK-NEXT:   br label %div_small
; CHECK-NEXT: div_small:
; CHECK-NEXT:   %41 = phi i64 [ 0, %start ], [ %39, %div_large ]
; CHECK-NEXT:   %42 = phi i64 [ %13, %start ], [ %40, %div_large ]
; CHECK-NEXT:   br i1 false, label %div_wide, label %div_narrow
; CHECK-NEXT: div_wide:
; CHECK-NEXT:   %43 = zext i64 0 to i128
; CHECK-NEXT:   %44 = zext i64 -6917529027641081856 to i128
; CHECK-NEXT:   %45 = shl i128 %44, 64
; CHECK-NEXT:   %46 = or i128 %45, %43
; CHECK-NEXT:   %47 = zext i64 %41 to i128
; CHECK-NEXT:   %48 = zext i64 0 to i128
; CHECK-NEXT:   %49 = mul i128 %47, %48
; CHECK-NEXT:   %50 = zext i64 %14 to i128
; CHECK-NEXT:   %51 = zext i64 %42 to i128
; CHECK-NEXT:   %52 = shl i128 %51, 64
; CHECK-NEXT:   %53 = or i128 %52, %50
; CHECK-NEXT:   %54 = icmp ult i128 %53, %49
; CHECK-NEXT:   %55 = sub i128 %53, %49
; CHECK-NEXT:   %56 = select i1 %54, i128 %46, i128 0
; CHECK-NEXT:   %57 = add i128 %55, %56
; CHECK-NEXT:   %58 = icmp ult i128 %57, %56
; CHECK-NEXT:   %59 = xor i1 %58, true
; CHECK-NEXT:   %60 = and i1 %54, %59
; CHECK-NEXT:   %61 = zext i1 %54 to i64
; CHECK-NEXT:   %62 = zext i1 %60 to i64
; CHECK-NEXT:   %63 = sub i64 %41, %61
; CHECK-NEXT:   %64 = sub i64 %63, %62
; CHECK-NEXT:   %65 = zext i64 %64 to i128
; CHECK-NEXT:   %66 = select i1 %60, i128 %46, i128 0
; CHECK-NEXT:   %67 = add i128 %57, %66
; CHECK-NEXT:   %68 = zext i64 60 to i128
; CHECK-NEXT:   %69 = lshr i128 %67, %68
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_narrow:
; CHECK-NEXT:   %70 = zext i64 -7378697629483820647 to i128
; CHECK-NEXT:   %71 = zext i64 %42 to i128
; CHECK-NEXT:   %72 = mul i128 %70, %71
; CHECK-NEXT:   %73 = zext i64 %14 to i128
; CHECK-NEXT:   %74 = zext i64 %42 to i128
; CHECK-NEXT:   %75 = shl i128 %74, 64
; CHECK-NEXT:   %76 = or i128 %75, %73
; CHECK-NEXT:   %77 = add i128 %72, %76
; CHECK-NEXT:   %78 = trunc i128 %77 to i64
; CHECK-NEXT:   %79 = lshr i128 %77, 64
; CHECK-NEXT:   %80 = trunc i128 %79 to i64
; CHECK-NEXT:   %81 = add i64 %80, 1
; CHECK-NEXT:   %82 = mul i64 %81, -6917529027641081856
; CHECK-NEXT:   %83 = sub i64 %14, %82
; CHECK-NEXT:   %84 = icmp ugt i64 %83, %78
; CHECK-NEXT:   %85 = add i64 %83, -6917529027641081856
; CHECK-NEXT:   %86 = select i1 %84, i64 %80, i64 %81
; CHECK-NEXT:   %87 = select i1 %84, i64 %85, i64 %83
; CHECK-NEXT:   %88 = icmp uge i64 %87, -6917529027641081856
; CHECK-NEXT:   %89 = add i64 %86, 1
; CHECK-NEXT:   %90 = sub i64 %87, -6917529027641081856
; CHECK-NEXT:   %91 = select i1 %88, i64 %89, i64 %86
; CHECK-NEXT:   %92 = select i1 %88, i64 %90, i64 %87
; CHECK-NEXT:   %93 = zext i64 %91 to i128
; CHECK-NEXT:   %94 = zext i64 %41 to i128
; CHECK-NEXT:   %95 = shl i128 %94, 64
; CHECK-NEXT:   %96 = or i128 %95, %93
; CHECK-NEXT:   %97 = lshr i64 %92, 60
; CHECK-NEXT:   %98 = zext i64 %97 to i128
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_done:
; CHECK-NEXT:   %99 = phi i128 [ %65, %div_wide ], [ %96, %div_narrow ]
; CHECK-NEXT:   %100 = phi i128 [ %69, %div_wide ], [ %98, %div_narrow ]
; CHECK-NEXT:   %101 = xor i128 %0, -1
; CHECK-NEXT:   %102 = xor i128 %99, %101
; CHECK-NEXT:   %r = sub i128 %102, %101
; CHECK-NEXT:   %103 = xor i128 %100, %0
; CHECK-NEXT:   %104 = sub i128 %103, %0
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; The result is undefined: nothing is emitted that could fail.
define i128 @by_zero(i128 %a) {
start:
  %r = udiv i128 %a, 0
  ret i128 %r
}
; CHECK-LABEL: define i128 @by_zero(i128 %a) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = udiv i128 %a, 0
; CHECK-NEXT:   ret i128 %r
; CHECK-NEXT: }

; libnvvm has divisions of 64 bits.
define i64 @narrow(i64 %a, i64 %b) {
start:
  %r = udiv i64 %a, %b
  ret i64 %r
}
; CHECK-LABEL: define i64 @narrow(i64 %a, i64 %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = udiv i64 %a, %b
; CHECK-NEXT:   ret i64 %r
; CHECK-NEXT: }
