; Vector operations that libnvvm lacks are scalarized, and each element is legalized.
; RUN: opt --passes=legalize --sm=90 --dialect=llvm7

define <2 x i128> @divides(<2 x i128> %a, <2 x i128> %b) {
start:
  %r = udiv exact <2 x i128> %a, %b
  ret <2 x i128> %r
}
; CHECK-LABEL: define <2 x i128> @divides(<2 x i128> %a, <2 x i128> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i128> %a, i32 0
; CHECK-NEXT:   %1 = extractelement <2 x i128> %b, i32 0
; CHECK-NEXT:   %2 = trunc i128 %1 to i64
; CHECK-NEXT:   %3 = lshr i128 %1, 64
; CHECK-NEXT:   %4 = trunc i128 %3 to i64
; CHECK-NEXT:   %5 = icmp ne i64 %4, 0
; CHECK-NEXT:   %6 = select i1 %5, i64 %4, i64 %2
; CHECK-NEXT:   %7 = call i64 @llvm.ctlz.i64(i64 %6, i1 false)
; CHECK-NEXT:   %8 = shl i64 %6, %7
; CHECK-NEXT:   %9 = shl i64 %2, %7
; CHECK-NEXT:   %10 = select i1 %5, i64 %9, i64 0
; CHECK-NEXT:   %11 = lshr i64 %2, 1
; CHECK-NEXT:   %12 = xor i64 %7, 63
; CHECK-NEXT:   %13 = lshr i64 %11, %12
; CHECK-NEXT:   %14 = select i1 %5, i64 %13, i64 0
; CHECK-NEXT:   %15 = or i64 %8, %14
; CHECK-NEXT:   %16 = lshr i64 %15, 40
; CHECK-NEXT:   %17 = trunc i64 %16 to i32
; CHECK-NEXT:   %18 = add i32 %17, 1056964609
; CHECK-NEXT:   %19 = bitcast i32 %18 to float
; CHECK-NEXT:   %20 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %19) nounwind readnone
; CHECK-NEXT:   %21 = bitcast float %20 to i32
; CHECK-NEXT:   %22 = sub i32 %21, 1048576002
; CHECK-NEXT:   %23 = zext i32 %22 to i64
; CHECK-NEXT:   %24 = lshr i64 %15, 24
; CHECK-NEXT:   %25 = add i64 %24, 1
; CHECK-NEXT:   %26 = mul i64 %23, %25
; CHECK-NEXT:   %27 = sub i64 -9223372036854775808, %26
; CHECK-NEXT:   %28 = lshr i64 %27, 11
; CHECK-NEXT:   %29 = mul i64 %23, %28
; CHECK-NEXT:   %30 = lshr i64 %29, 42
; CHECK-NEXT:   %31 = shl i64 %23, 10
; CHECK-NEXT:   %32 = add i64 %31, %30
; CHECK-NEXT:   %33 = and i64 %15, 1
; CHECK-NEXT:   %34 = lshr i64 %15, 1
; CHECK-NEXT:   %35 = add i64 %34, %33
; CHECK-NEXT:   %36 = mul i64 %32, %35
; CHECK-NEXT:   %37 = sub i64 0, %33
; CHECK-NEXT:   %38 = lshr i64 %32, 1
; CHECK-NEXT:   %39 = and i64 %38, %37
; CHECK-NEXT:   %40 = sub i64 %39, %36
; CHECK-NEXT:   %41 = zext i64 %32 to i128
; CHECK-NEXT:   %42 = zext i64 %40 to i128
; CHECK-NEXT:   %43 = mul i128 %41, %42
; CHECK-NEXT:   %44 = trunc i128 %43 to i64
; CHECK-NEXT:   %45 = lshr i128 %43, 64
; CHECK-NEXT:   %46 = trunc i128 %45 to i64
; CHECK-NEXT:   %47 = lshr i64 %46, 1
; CHECK-NEXT:   %48 = shl i64 %32, 31
; CHECK-NEXT:   %49 = add i64 %48, %47
; CHECK-NEXT:   %50 = zext i64 %49 to i128
; CHECK-NEXT:   %51 = zext i64 %15 to i128
; CHECK-NEXT:   %52 = mul i128 %50, %51
; CHECK-NEXT:   %53 = zext i64 %15 to i128
; CHECK-NEXT:   %54 = add i128 %52, %53
; CHECK-NEXT:   %55 = trunc i128 %54 to i64
; CHECK-NEXT:   %56 = lshr i128 %54, 64
; CHECK-NEXT:   %57 = trunc i128 %56 to i64
; CHECK-NEXT:   %58 = add i64 %57, %15
; CHECK-NEXT:   %59 = sub i64 %49, %58
; CHECK-NEXT:   %60 = trunc i128 %0 to i64
; CHECK-NEXT:   %61 = lshr i128 %0, 64
; CHECK-NEXT:   %62 = trunc i128 %61 to i64
; CHECK-NEXT:   %63 = lshr i64 %62, 1
; CHECK-NEXT:   %64 = xor i64 %7, 63
; CHECK-NEXT:   %65 = lshr i64 %63, %64
; CHECK-NEXT:   %66 = shl i64 %62, %7
; CHECK-NEXT:   %67 = lshr i64 %60, 1
; CHECK-NEXT:   %68 = xor i64 %7, 63
; CHECK-NEXT:   %69 = lshr i64 %67, %68
; CHECK-NEXT:   %70 = or i64 %66, %69
; CHECK-NEXT:   %71 = shl i64 %60, %7
; CHECK-NEXT:   %72 = icmp ne i64 %65, 0
; CHECK-NEXT:   %73 = icmp uge i64 %70, %15
; CHECK-NEXT:   %74 = or i1 %72, %73
; CHECK-NEXT:   br i1 %74, label %div_large, label %div_small
; CHECK-NEXT: div_large:
; CHECK-NEXT:   %75 = zext i64 %59 to i128
; CHECK-NEXT:   %76 = zext i64 %65 to i128
; CHECK-NEXT:   %77 = mul i128 %75, %76
; CHECK-NEXT:   %78 = zext i64 %70 to i128
; CHECK-NEXT:   %79 = zext i64 %65 to i128
; CHECK-NEXT:   %80 = shl i128 %79, 64
; CHECK-NEXT:   %81 = or i128 %80, %78
; CHECK-NEXT:   %82 = add i128 %77, %81
; CHECK-NEXT:   %83 = trunc i128 %82 to i64
; CHECK-NEXT:   %84 = lshr i128 %82, 64
; CHECK-NEXT:   %85 = trunc i128 %84 to i64
; CHECK-NEXT:   %86 = add i64 %85, 1
; CHECK-NEXT:   %87 = mul i64 %86, %15
; CHECK-NEXT:   %88 = sub i64 %70, %87
; CHECK-NEXT:   %89 = icmp ugt i64 %88, %83
; CHECK-NEXT:   %90 = add i64 %88, %15
; CHECK-NEXT:   %91 = select i1 %89, i64 %85, i64 %86
; CHECK-NEXT:   %92 = select i1 %89, i64 %90, i64 %88
; CHECK-NEXT:   %93 = icmp uge i64 %92, %15
; CHECK-NEXT:   %94 = add i64 %91, 1
; CHECK-NEXT:   %95 = sub i64 %92, %15
; CHECK-NEXT:   %96 = select i1 %93, i64 %94, i64 %91
; CHECK-NEXT:   %97 = select i1 %93, i64 %95, i64 %92
; CHECK-NEXT:   br label %div_small
; CHECK-NEXT: div_small:
; CHECK-NEXT:   %98 = phi i64 [ 0, %start ], [ %96, %div_large ]
; CHECK-NEXT:   %99 = phi i64 [ %70, %start ], [ %97, %div_large ]
; CHECK-NEXT:   br i1 %5, label %div_wide, label %div_narrow
; CHECK-NEXT: div_wide:
; CHECK-NEXT:   %100 = zext i64 %10 to i128
; CHECK-NEXT:   %101 = zext i64 %15 to i128
; CHECK-NEXT:   %102 = shl i128 %101, 64
; CHECK-NEXT:   %103 = or i128 %102, %100
; CHECK-NEXT:   %104 = zext i64 %98 to i128
; CHECK-NEXT:   %105 = zext i64 %10 to i128
; CHECK-NEXT:   %106 = mul i128 %104, %105
; CHECK-NEXT:   %107 = zext i64 %71 to i128
; CHECK-NEXT:   %108 = zext i64 %99 to i128
; CHECK-NEXT:   %109 = shl i128 %108, 64
; CHECK-NEXT:   %110 = or i128 %109, %107
; CHECK-NEXT:   %111 = icmp ult i128 %110, %106
; CHECK-NEXT:   %112 = sub i128 %110, %106
; CHECK-NEXT:   %113 = select i1 %111, i128 %103, i128 0
; CHECK-NEXT:   %114 = add i128 %112, %113
; CHECK-NEXT:   %115 = icmp ult i128 %114, %113
; CHECK-NEXT:   %116 = xor i1 %115, true
; CHECK-NEXT:   %117 = and i1 %111, %116
; CHECK-NEXT:   %118 = zext i1 %111 to i64
; CHECK-NEXT:   %119 = zext i1 %117 to i64
; CHECK-NEXT:   %120 = sub i64 %98, %118
; CHECK-NEXT:   %121 = sub i64 %120, %119
; CHECK-NEXT:   %122 = zext i64 %121 to i128
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_narrow:
; CHECK-NEXT:   %123 = zext i64 %59 to i128
; CHECK-NEXT:   %124 = zext i64 %99 to i128
; CHECK-NEXT:   %125 = mul i128 %123, %124
; CHECK-NEXT:   %126 = zext i64 %71 to i128
; CHECK-NEXT:   %127 = zext i64 %99 to i128
; CHECK-NEXT:   %128 = shl i128 %127, 64
; CHECK-NEXT:   %129 = or i128 %128, %126
; CHECK-NEXT:   %130 = add i128 %125, %129
; CHECK-NEXT:   %131 = trunc i128 %130 to i64
; CHECK-NEXT:   %132 = lshr i128 %130, 64
; CHECK-NEXT:   %133 = trunc i128 %132 to i64
; CHECK-NEXT:   %134 = add i64 %133, 1
; CHECK-NEXT:   %135 = mul i64 %134, %15
; CHECK-NEXT:   %136 = sub i64 %71, %135
; CHECK-NEXT:   %137 = icmp ugt i64 %136, %131
; CHECK-NEXT:   %138 = add i64 %136, %15
; CHECK-NEXT:   %139 = select i1 %137, i64 %133, i64 %134
; CHECK-NEXT:   %140 = select i1 %137, i64 %138, i64 %136
; CHECK-NEXT:   %141 = icmp uge i64 %140, %15
; CHECK-NEXT:   %142 = add i64 %139, 1
; CHECK-NEXT:   %143 = sub i64 %140, %15
; CHECK-NEXT:   %144 = select i1 %141, i64 %142, i64 %139
; CHECK-NEXT:   %145 = select i1 %141, i64 %143, i64 %140
; CHECK-NEXT:   %146 = zext i64 %144 to i128
; CHECK-NEXT:   %147 = zext i64 %98 to i128
; CHECK-NEXT:   %148 = shl i128 %147, 64
; CHECK-NEXT:   %149 = or i128 %148, %146
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_done:
; CHECK-NEXT:   %150 = phi i128 [ %122, %div_wide ], [ %149, %div_narrow ]
; CHECK-NEXT:   %151 = extractelement <2 x i128> %a, i32 1
; CHECK-NEXT:   %152 = extractelement <2 x i128> %b, i32 1
; CHECK-NEXT:   %153 = trunc i128 %152 to i64
; CHECK-NEXT:   %154 = lshr i128 %152, 64
; CHECK-NEXT:   %155 = trunc i128 %154 to i64
; CHECK-NEXT:   %156 = icmp ne i64 %155, 0
; CHECK-NEXT:   %157 = select i1 %156, i64 %155, i64 %153
; CHECK-NEXT:   %158 = call i64 @llvm.ctlz.i64(i64 %157, i1 false)
; CHECK-NEXT:   %159 = shl i64 %157, %158
; CHECK-NEXT:   %160 = shl i64 %153, %158
; CHECK-NEXT:   %161 = select i1 %156, i64 %160, i64 0
; CHECK-NEXT:   %162 = lshr i64 %153, 1
; CHECK-NEXT:   %163 = xor i64 %158, 63
; CHECK-NEXT:   %164 = lshr i64 %162, %163
; CHECK-NEXT:   %165 = select i1 %156, i64 %164, i64 0
; CHECK-NEXT:   %166 = or i64 %159, %165
; CHECK-NEXT:   %167 = lshr i64 %166, 40
; CHECK-NEXT:   %168 = trunc i64 %167 to i32
; CHECK-NEXT:   %169 = add i32 %168, 1056964609
; CHECK-NEXT:   %170 = bitcast i32 %169 to float
; CHECK-NEXT:   %171 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %170) nounwind readnone
; CHECK-NEXT:   %172 = bitcast float %171 to i32
; CHECK-NEXT:   %173 = sub i32 %172, 1048576002
; CHECK-NEXT:   %174 = zext i32 %173 to i64
; CHECK-NEXT:   %175 = lshr i64 %166, 24
; CHECK-NEXT:   %176 = add i64 %175, 1
; CHECK-NEXT:   %177 = mul i64 %174, %176
; CHECK-NEXT:   %178 = sub i64 -9223372036854775808, %177
; CHECK-NEXT:   %179 = lshr i64 %178, 11
; CHECK-NEXT:   %180 = mul i64 %174, %179
; CHECK-NEXT:   %181 = lshr i64 %180, 42
; CHECK-NEXT:   %182 = shl i64 %174, 10
; CHECK-NEXT:   %183 = add i64 %182, %181
; CHECK-NEXT:   %184 = and i64 %166, 1
; CHECK-NEXT:   %185 = lshr i64 %166, 1
; CHECK-NEXT:   %186 = add i64 %185, %184
; CHECK-NEXT:   %187 = mul i64 %183, %186
; CHECK-NEXT:   %188 = sub i64 0, %184
; CHECK-NEXT:   %189 = lshr i64 %183, 1
; CHECK-NEXT:   %190 = and i64 %189, %188
; CHECK-NEXT:   %191 = sub i64 %190, %187
; CHECK-NEXT:   %192 = zext i64 %183 to i128
; CHECK-NEXT:   %193 = zext i64 %191 to i128
; CHECK-NEXT:   %194 = mul i128 %192, %193
; CHECK-NEXT:   %195 = trunc i128 %194 to i64
; CHECK-NEXT:   %196 = lshr i128 %194, 64
; CHECK-NEXT:   %197 = trunc i128 %196 to i64
; CHECK-NEXT:   %198 = lshr i64 %197, 1
; CHECK-NEXT:   %199 = shl i64 %183, 31
; CHECK-NEXT:   %200 = add i64 %199, %198
; CHECK-NEXT:   %201 = zext i64 %200 to i128
; CHECK-NEXT:   %202 = zext i64 %166 to i128
; CHECK-NEXT:   %203 = mul i128 %201, %202
; CHECK-NEXT:   %204 = zext i64 %166 to i128
; CHECK-NEXT:   %205 = add i128 %203, %204
; CHECK-NEXT:   %206 = trunc i128 %205 to i64
; CHECK-NEXT:   %207 = lshr i128 %205, 64
; CHECK-NEXT:   %208 = trunc i128 %207 to i64
; CHECK-NEXT:   %209 = add i64 %208, %166
; CHECK-NEXT:   %210 = sub i64 %200, %209
; CHECK-NEXT:   %211 = trunc i128 %151 to i64
; CHECK-NEXT:   %212 = lshr i128 %151, 64
; CHECK-NEXT:   %213 = trunc i128 %212 to i64
; CHECK-NEXT:   %214 = lshr i64 %213, 1
; CHECK-NEXT:   %215 = xor i64 %158, 63
; CHECK-NEXT:   %216 = lshr i64 %214, %215
; CHECK-NEXT:   %217 = shl i64 %213, %158
; CHECK-NEXT:   %218 = lshr i64 %211, 1
; CHECK-NEXT:   %219 = xor i64 %158, 63
; CHECK-NEXT:   %220 = lshr i64 %218, %219
; CHECK-NEXT:   %221 = or i64 %217, %220
; CHECK-NEXT:   %222 = shl i64 %211, %158
; CHECK-NEXT:   %223 = icmp ne i64 %216, 0
; CHECK-NEXT:   %224 = icmp uge i64 %221, %166
; CHECK-NEXT:   %225 = or i1 %223, %224
; CHECK-NEXT:   br i1 %225, label %div_large.1, label %div_small.1
; CHECK-NEXT: div_large.1:
; CHECK-NEXT:   %226 = zext i64 %210 to i128
; CHECK-NEXT:   %227 = zext i64 %216 to i128
; CHECK-NEXT:   %228 = mul i128 %226, %227
; CHECK-NEXT:   %229 = zext i64 %221 to i128
; CHECK-NEXT:   %230 = zext i64 %216 to i128
; CHECK-NEXT:   %231 = shl i128 %230, 64
; CHECK-NEXT:   %232 = or i128 %231, %229
; CHECK-NEXT:   %233 = add i128 %228, %232
; CHECK-NEXT:   %234 = trunc i128 %233 to i64
; CHECK-NEXT:   %235 = lshr i128 %233, 64
; CHECK-NEXT:   %236 = trunc i128 %235 to i64
; CHECK-NEXT:   %237 = add i64 %236, 1
; CHECK-NEXT:   %238 = mul i64 %237, %166
; CHECK-NEXT:   %239 = sub i64 %221, %238
; CHECK-NEXT:   %240 = icmp ugt i64 %239, %234
; CHECK-NEXT:   %241 = add i64 %239, %166
; CHECK-NEXT:   %242 = select i1 %240, i64 %236, i64 %237
; CHECK-NEXT:   %243 = select i1 %240, i64 %241, i64 %239
; CHECK-NEXT:   %244 = icmp uge i64 %243, %166
; CHECK-NEXT:   %245 = add i64 %242, 1
; CHECK-NEXT:   %246 = sub i64 %243, %166
; CHECK-NEXT:   %247 = select i1 %244, i64 %245, i64 %242
; CHECK-NEXT:   %248 = select i1 %244, i64 %246, i64 %243
; CHECK-NEXT:   br label %div_small.1
; CHECK-NEXT: div_small.1:
; CHECK-NEXT:   %249 = phi i64 [ 0, %div_done ], [ %247, %div_large.1 ]
; CHECK-NEXT:   %250 = phi i64 [ %221, %div_done ], [ %248, %div_large.1 ]
; CHECK-NEXT:   br i1 %156, label %div_wide.1, label %div_narrow.1
; CHECK-NEXT: div_wide.1:
; CHECK-NEXT:   %251 = zext i64 %161 to i128
; CHECK-NEXT:   %252 = zext i64 %166 to i128
; CHECK-NEXT:   %253 = shl i128 %252, 64
; CHECK-NEXT:   %254 = or i128 %253, %251
; CHECK-NEXT:   %255 = zext i64 %249 to i128
; CHECK-NEXT:   %256 = zext i64 %161 to i128
; CHECK-NEXT:   %257 = mul i128 %255, %256
; CHECK-NEXT:   %258 = zext i64 %222 to i128
; CHECK-NEXT:   %259 = zext i64 %250 to i128
; CHECK-NEXT:   %260 = shl i128 %259, 64
; CHECK-NEXT:   %261 = or i128 %260, %258
; CHECK-NEXT:   %262 = icmp ult i128 %261, %257
; CHECK-NEXT:   %263 = sub i128 %261, %257
; CHECK-NEXT:   %264 = select i1 %262, i128 %254, i128 0
; CHECK-NEXT:   %265 = add i128 %263, %264
; CHECK-NEXT:   %266 = icmp ult i128 %265, %264
; CHECK-NEXT:   %267 = xor i1 %266, true
; CHECK-NEXT:   %268 = and i1 %262, %267
; CHECK-NEXT:   %269 = zext i1 %262 to i64
; CHECK-NEXT:   %270 = zext i1 %268 to i64
; CHECK-NEXT:   %271 = sub i64 %249, %269
; CHECK-NEXT:   %272 = sub i64 %271, %270
; CHECK-NEXT:   %273 = zext i64 %272 to i128
; CHECK-NEXT:   br label %div_done.1
; CHECK-NEXT: div_narrow.1:
; CHECK-NEXT:   %274 = zext i64 %210 to i128
; CHECK-NEXT:   %275 = zext i64 %250 to i128
; CHECK-NEXT:   %276 = mul i128 %274, %275
; CHECK-NEXT:   %277 = zext i64 %222 to i128
; CHECK-NEXT:   %278 = zext i64 %250 to i128
; CHECK-NEXT:   %279 = shl i128 %278, 64
; CHECK-NEXT:   %280 = or i128 %279, %277
; CHECK-NEXT:   %281 = add i128 %276, %280
; CHECK-NEXT:   %282 = trunc i128 %281 to i64
; CHECK-NEXT:   %283 = lshr i128 %281, 64
; CHECK-NEXT:   %284 = trunc i128 %283 to i64
; CHECK-NEXT:   %285 = add i64 %284, 1
; CHECK-NEXT:   %286 = mul i64 %285, %166
; CHECK-NEXT:   %287 = sub i64 %222, %286
; CHECK-NEXT:   %288 = icmp ugt i64 %287, %282
; CHECK-NEXT:   %289 = add i64 %287, %166
; CHECK-NEXT:   %290 = select i1 %288, i64 %284, i64 %285
; CHECK-NEXT:   %291 = select i1 %288, i64 %289, i64 %287
; CHECK-NEXT:   %292 = icmp uge i64 %291, %166
; CHECK-NEXT:   %293 = add i64 %290, 1
; CHECK-NEXT:   %294 = sub i64 %291, %166
; CHECK-NEXT:   %295 = select i1 %292, i64 %293, i64 %290
; CHECK-NEXT:   %296 = select i1 %292, i64 %294, i64 %291
; CHECK-NEXT:   %297 = zext i64 %295 to i128
; CHECK-NEXT:   %298 = zext i64 %249 to i128
; CHECK-NEXT:   %299 = shl i128 %298, 64
; CHECK-NEXT:   %300 = or i128 %299, %297
; CHECK-NEXT:   br label %div_done.1
; CHECK-NEXT: div_done.1:
; CHECK-NEXT:   %301 = phi i128 [ %273, %div_wide.1 ], [ %300, %div_narrow.1 ]
; CHECK-NEXT:   %302 = insertelement <2 x i128> undef, i128 %150, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %302, i128 %301, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

define <2 x float> @negates(<2 x float> %x) {
start:
  %r = fneg <2 x float> %x
  ret <2 x float> %r
}
; CHECK-LABEL: define <2 x float> @negates(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = bitcast float %0 to i32
; CHECK-NEXT:   %2 = xor i32 %1, -2147483648
; CHECK-NEXT:   %3 = bitcast i32 %2 to float
; CHECK-NEXT:   %4 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %5 = bitcast float %4 to i32
; CHECK-NEXT:   %6 = xor i32 %5, -2147483648
; CHECK-NEXT:   %7 = bitcast i32 %6 to float
; CHECK-NEXT:   %8 = insertelement <2 x float> undef, float %3, i32 0
; CHECK-NEXT:   %r = insertelement <2 x float> %8, float %7, i32 1
; CHECK-NEXT:   ret <2 x float> %r
; CHECK-NEXT: }

define <2 x i128> @converts(<2 x float> %x) {
start:
  %r = fptoui <2 x float> %x to <2 x i128>
  ret <2 x i128> %r
}
; CHECK-LABEL: define <2 x i128> @converts(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = fptoui float %0 to i128
; CHECK-NEXT:   %2 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %3 = fptoui float %2 to i128
; CHECK-NEXT:   %4 = insertelement <2 x i128> undef, i128 %1, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %4, i128 %3, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

; The flag is the same for all elements.
define <2 x i128> @counts(<2 x i128> %x) {
start:
  %r = call <2 x i128> @llvm.ctlz.v2i128(<2 x i128> %x, i1 true)
  ret <2 x i128> %r
}
; CHECK-LABEL: define <2 x i128> @counts(<2 x i128> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x i128> %x, i32 0
; CHECK-NEXT:   %1 = trunc i128 %0 to i64
; CHECK-NEXT:   %2 = lshr i128 %0, 64
; CHECK-NEXT:   %3 = trunc i128 %2 to i64
; CHECK-NEXT:   %4 = icmp eq i64 %3, 0
; CHECK-NEXT:   %5 = call i64 @llvm.ctlz.i64(i64 %3, i1 false)
; CHECK-NEXT:   %6 = call i64 @llvm.ctlz.i64(i64 %1, i1 true)
; CHECK-NEXT:   %7 = add i64 %6, 64
; CHECK-NEXT:   %8 = select i1 %4, i64 %7, i64 %5
; CHECK-NEXT:   %9 = zext i64 %8 to i128
; CHECK-NEXT:   %10 = extractelement <2 x i128> %x, i32 1
; CHECK-NEXT:   %11 = trunc i128 %10 to i64
; CHECK-NEXT:   %12 = lshr i128 %10, 64
; CHECK-NEXT:   %13 = trunc i128 %12 to i64
; CHECK-NEXT:   %14 = icmp eq i64 %13, 0
; CHECK-NEXT:   %15 = call i64 @llvm.ctlz.i64(i64 %13, i1 false)
; CHECK-NEXT:   %16 = call i64 @llvm.ctlz.i64(i64 %11, i1 true)
; CHECK-NEXT:   %17 = add i64 %16, 64
; CHECK-NEXT:   %18 = select i1 %14, i64 %17, i64 %15
; CHECK-NEXT:   %19 = zext i64 %18 to i128
; CHECK-NEXT:   %20 = insertelement <2 x i128> undef, i128 %9, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %20, i128 %19, i32 1
; CHECK-NEXT:   ret <2 x i128> %r
; CHECK-NEXT: }

; Elements of constants are constants.
define <2 x float> @constants(<2 x float> %x) {
start:
  %r = call <2 x float> @llvm.copysign.v2f32(<2 x float> <float 1.0, float 2.0>, <2 x float> %x)
  ret <2 x float> %r
}
; CHECK-LABEL: define <2 x float> @constants(<2 x float> %x) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %0 = extractelement <2 x float> %x, i32 0
; CHECK-NEXT:   %1 = bitcast float 0x3FF0000000000000 to i32
; CHECK-NEXT:   %2 = and i32 %1, 2147483647
; CHECK-NEXT:   %3 = bitcast float %0 to i32
; CHECK-NEXT:   %4 = and i32 %3, -2147483648
; CHECK-NEXT:   %5 = or i32 %2, %4
; CHECK-NEXT:   %6 = bitcast i32 %5 to float
; CHECK-NEXT:   %7 = extractelement <2 x float> %x, i32 1
; CHECK-NEXT:   %8 = bitcast float 0x4000000000000000 to i32
; CHECK-NEXT:   %9 = and i32 %8, 2147483647
; CHECK-NEXT:   %10 = bitcast float %7 to i32
; CHECK-NEXT:   %11 = and i32 %10, -2147483648
; CHECK-NEXT:   %12 = or i32 %9, %11
; CHECK-NEXT:   %13 = bitcast i32 %12 to float
; CHECK-NEXT:   %14 = insertelement <2 x float> undef, float %6, i32 0
; CHECK-NEXT:   %r = insertelement <2 x float> %14, float %13, i32 1
; CHECK-NEXT:   ret <2 x float> %r
; CHECK-NEXT: }

define <2 x i32> @native(<2 x i32> %a, <2 x i32> %b) {
start:
  %r = udiv <2 x i32> %a, %b
  ret <2 x i32> %r
}
; CHECK-LABEL: define <2 x i32> @native(<2 x i32> %a, <2 x i32> %b) {
; CHECK-NEXT: start:
; CHECK-NEXT:   %r = udiv <2 x i32> %a, %b
; CHECK-NEXT:   ret <2 x i32> %r
; CHECK-NEXT: }
