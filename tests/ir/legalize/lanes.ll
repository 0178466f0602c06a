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
; CHECK-NEXT:   %123 = select i1 %117, i128 %103, i128 0
; CHECK-NEXT:   %124 = add i128 %114, %123
; CHECK-NEXT:   %125 = zext i64 %7 to i128
; CHECK-NEXT:   %126 = lshr i128 %124, %125
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_narrow:
; CHECK-NEXT:   %127 = zext i64 %59 to i128
; CHECK-NEXT:   %128 = zext i64 %99 to i128
; CHECK-NEXT:   %129 = mul i128 %127, %128
; CHECK-NEXT:   %130 = zext i64 %71 to i128
; CHECK-NEXT:   %131 = zext i64 %99 to i128
; CHECK-NEXT:   %132 = shl i128 %131, 64
; CHECK-NEXT:   %133 = or i128 %132, %130
; CHECK-NEXT:   %134 = add i128 %129, %133
; CHECK-NEXT:   %135 = trunc i128 %134 to i64
; CHECK-NEXT:   %136 = lshr i128 %134, 64
; CHECK-NEXT:   %137 = trunc i128 %136 to i64
; CHECK-NEXT:   %138 = add i64 %137, 1
; CHECK-NEXT:   %139 = mul i64 %138, %15
; CHECK-NEXT:   %140 = sub i64 %71, %139
; CHECK-NEXT:   %141 = icmp ugt i64 %140, %135
; CHECK-NEXT:   %142 = add i64 %140, %15
; CHECK-NEXT:   %143 = select i1 %141, i64 %137, i64 %138
; CHECK-NEXT:   %144 = select i1 %141, i64 %142, i64 %140
; CHECK-NEXT:   %145 = icmp uge i64 %144, %15
; CHECK-NEXT:   %146 = add i64 %143, 1
; CHECK-NEXT:   %147 = sub i64 %144, %15
; CHECK-NEXT:   %148 = select i1 %145, i64 %146, i64 %143
; CHECK-NEXT:   %149 = select i1 %145, i64 %147, i64 %144
; CHECK-NEXT:   %150 = zext i64 %148 to i128
; CHECK-NEXT:   %151 = zext i64 %98 to i128
; CHECK-NEXT:   %152 = shl i128 %151, 64
; CHECK-NEXT:   %153 = or i128 %152, %150
; CHECK-NEXT:   %154 = lshr i64 %149, %7
; CHECK-NEXT:   %155 = zext i64 %154 to i128
; CHECK-NEXT:   br label %div_done
; CHECK-NEXT: div_done:
; CHECK-NEXT:   %156 = phi i128 [ %122, %div_wide ], [ %153, %div_narrow ]
; CHECK-NEXT:   %157 = phi i128 [ %126, %div_wide ], [ %155, %div_narrow ]
; CHECK-NEXT:   %158 = extractelement <2 x i128> %a, i32 1
; CHECK-NEXT:   %159 = extractelement <2 x i128> %b, i32 1
; CHECK-NEXT:   %160 = trunc i128 %159 to i64
; CHECK-NEXT:   %161 = lshr i128 %159, 64
; CHECK-NEXT:   %162 = trunc i128 %161 to i64
; CHECK-NEXT:   %163 = icmp ne i64 %162, 0
; CHECK-NEXT:   %164 = select i1 %163, i64 %162, i64 %160
; CHECK-NEXT:   %165 = call i64 @llvm.ctlz.i64(i64 %164, i1 false)
; CHECK-NEXT:   %166 = shl i64 %164, %165
; CHECK-NEXT:   %167 = shl i64 %160, %165
; CHECK-NEXT:   %168 = select i1 %163, i64 %167, i64 0
; CHECK-NEXT:   %169 = lshr i64 %160, 1
; CHECK-NEXT:   %170 = xor i64 %165, 63
; CHECK-NEXT:   %171 = lshr i64 %169, %170
; CHECK-NEXT:   %172 = select i1 %163, i64 %171, i64 0
; CHECK-NEXT:   %173 = or i64 %166, %172
; CHECK-NEXT:   %174 = lshr i64 %173, 40
; CHECK-NEXT:   %175 = trunc i64 %174 to i32
; CHECK-NEXT:   %176 = add i32 %175, 1056964609
; CHECK-NEXT:   %177 = bitcast i32 %176 to float
; CHECK-NEXT:   %178 = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %177) nounwind readnone
; CHECK-NEXT:   %179 = bitcast float %178 to i32
; CHECK-NEXT:   %180 = sub i32 %179, 1048576002
; CHECK-NEXT:   %181 = zext i32 %180 to i64
; CHECK-NEXT:   %182 = lshr i64 %173, 24
; CHECK-NEXT:   %183 = add i64 %182, 1
; CHECK-NEXT:   %184 = mul i64 %181, %183
; CHECK-NEXT:   %185 = sub i64 -9223372036854775808, %184
; CHECK-NEXT:   %186 = lshr i64 %185, 11
; CHECK-NEXT:   %187 = mul i64 %181, %186
; CHECK-NEXT:   %188 = lshr i64 %187, 42
; CHECK-NEXT:   %189 = shl i64 %181, 10
; CHECK-NEXT:   %190 = add i64 %189, %188
; CHECK-NEXT:   %191 = and i64 %173, 1
; CHECK-NEXT:   %192 = lshr i64 %173, 1
; CHECK-NEXT:   %193 = add i64 %192, %191
; CHECK-NEXT:   %194 = mul i64 %190, %193
; CHECK-NEXT:   %195 = sub i64 0, %191
; CHECK-NEXT:   %196 = lshr i64 %190, 1
; CHECK-NEXT:   %197 = and i64 %196, %195
; CHECK-NEXT:   %198 = sub i64 %197, %194
; CHECK-NEXT:   %199 = zext i64 %190 to i128
; CHECK-NEXT:   %200 = zext i64 %198 to i128
; CHECK-NEXT:   %201 = mul i128 %199, %200
; CHECK-NEXT:   %202 = trunc i128 %201 to i64
; CHECK-NEXT:   %203 = lshr i128 %201, 64
; CHECK-NEXT:   %204 = trunc i128 %203 to i64
; CHECK-NEXT:   %205 = lshr i64 %204, 1
; CHECK-NEXT:   %206 = shl i64 %190, 31
; CHECK-NEXT:   %207 = add i64 %206, %205
; CHECK-NEXT:   %208 = zext i64 %207 to i128
; CHECK-NEXT:   %209 = zext i64 %173 to i128
; CHECK-NEXT:   %210 = mul i128 %208, %209
; CHECK-NEXT:   %211 = zext i64 %173 to i128
; CHECK-NEXT:   %212 = add i128 %210, %211
; CHECK-NEXT:   %213 = trunc i128 %212 to i64
; CHECK-NEXT:   %214 = lshr i128 %212, 64
; CHECK-NEXT:   %215 = trunc i128 %214 to i64
; CHECK-NEXT:   %216 = add i64 %215, %173
; CHECK-NEXT:   %217 = sub i64 %207, %216
; CHECK-NEXT:   %218 = trunc i128 %158 to i64
; CHECK-NEXT:   %219 = lshr i128 %158, 64
; CHECK-NEXT:   %220 = trunc i128 %219 to i64
; CHECK-NEXT:   %221 = lshr i64 %220, 1
; CHECK-NEXT:   %222 = xor i64 %165, 63
; CHECK-NEXT:   %223 = lshr i64 %221, %222
; CHECK-NEXT:   %224 = shl i64 %220, %165
; CHECK-NEXT:   %225 = lshr i64 %218, 1
; CHECK-NEXT:   %226 = xor i64 %165, 63
; CHECK-NEXT:   %227 = lshr i64 %225, %226
; CHECK-NEXT:   %228 = or i64 %224, %227
; CHECK-NEXT:   %229 = shl i64 %218, %165
; CHECK-NEXT:   %230 = icmp ne i64 %223, 0
; CHECK-NEXT:   %231 = icmp uge i64 %228, %173
; CHECK-NEXT:   %232 = or i1 %230, %231
; CHECK-NEXT:   br i1 %232, label %div_large.1, label %div_small.1
; CHECK-NEXT: div_large.1:
; CHECK-NEXT:   %233 = zext i64 %217 to i128
; CHECK-NEXT:   %234 = zext i64 %223 to i128
; CHECK-NEXT:   %235 = mul i128 %233, %234
; CHECK-NEXT:   %236 = zext i64 %228 to i128
; CHECK-NEXT:   %237 = zext i64 %223 to i128
; CHECK-NEXT:   %238 = shl i128 %237, 64
; CHECK-NEXT:   %239 = or i128 %238, %236
; CHECK-NEXT:   %240 = add i128 %235, %239
; CHECK-NEXT:   %241 = trunc i128 %240 to i64
; CHECK-NEXT:   %242 = lshr i128 %240, 64
; CHECK-NEXT:   %243 = trunc i128 %242 to i64
; CHECK-NEXT:   %244 = add i64 %243, 1
; CHECK-NEXT:   %245 = mul i64 %244, %173
; CHECK-NEXT:   %246 = sub i64 %228, %245
; CHECK-NEXT:   %247 = icmp ugt i64 %246, %241
; CHECK-NEXT:   %248 = add i64 %246, %173
; CHECK-NEXT:   %249 = select i1 %247, i64 %243, i64 %244
; CHECK-NEXT:   %250 = select i1 %247, i64 %248, i64 %246
; CHECK-NEXT:   %251 = icmp uge i64 %250, %173
; CHECK-NEXT:   %252 = add i64 %249, 1
; CHECK-NEXT:   %253 = sub i64 %250, %173
; CHECK-NEXT:   %254 = select i1 %251, i64 %252, i64 %249
; CHECK-NEXT:   %255 = select i1 %251, i64 %253, i64 %250
; CHECK-NEXT:   br label %div_small.1
; CHECK-NEXT: div_small.1:
; CHECK-NEXT:   %256 = phi i64 [ 0, %div_done ], [ %254, %div_large.1 ]
; CHECK-NEXT:   %257 = phi i64 [ %228, %div_done ], [ %255, %div_large.1 ]
; CHECK-NEXT:   br i1 %163, label %div_wide.1, label %div_narrow.1
; CHECK-NEXT: div_wide.1:
; CHECK-NEXT:   %258 = zext i64 %168 to i128
; CHECK-NEXT:   %259 = zext i64 %173 to i128
; CHECK-NEXT:   %260 = shl i128 %259, 64
; CHECK-NEXT:   %261 = or i128 %260, %258
; CHECK-NEXT:   %262 = zext i64 %256 to i128
; CHECK-NEXT:   %263 = zext i64 %168 to i128
; CHECK-NEXT:   %264 = mul i128 %262, %263
; CHECK-NEXT:   %265 = zext i64 %229 to i128
; CHECK-NEXT:   %266 = zext i64 %257 to i128
; CHECK-NEXT:   %267 = shl i128 %266, 64
; CHECK-NEXT:   %268 = or i128 %267, %265
; CHECK-NEXT:   %269 = icmp ult i128 %268, %264
; CHECK-NEXT:   %270 = sub i128 %268, %264
; CHECK-NEXT:   %271 = select i1 %269, i128 %261, i128 0
; CHECK-NEXT:   %272 = add i128 %270, %271
; CHECK-NEXT:   %273 = icmp ult i128 %272, %271
; CHECK-NEXT:   %274 = xor i1 %273, true
; CHECK-NEXT:   %275 = and i1 %269, %274
; CHECK-NEXT:   %276 = zext i1 %269 to i64
; CHECK-NEXT:   %277 = zext i1 %275 to i64
; CHECK-NEXT:   %278 = sub i64 %256, %276
; CHECK-NEXT:   %279 = sub i64 %278, %277
; CHECK-NEXT:   %280 = zext i64 %279 to i128
; CHECK-NEXT:   %281 = select i1 %275, i128 %261, i128 0
; CHECK-NEXT:   %282 = add i128 %272, %281
; CHECK-NEXT:   %283 = zext i64 %165 to i128
; CHECK-NEXT:   %284 = lshr i128 %282, %283
; CHECK-NEXT:   br label %div_done.1
; CHECK-NEXT: div_narrow.1:
; CHECK-NEXT:   %285 = zext i64 %217 to i128
; CHECK-NEXT:   %286 = zext i64 %257 to i128
; CHECK-NEXT:   %287 = mul i128 %285, %286
; CHECK-NEXT:   %288 = zext i64 %229 to i128
; CHECK-NEXT:   %289 = zext i64 %257 to i128
; CHECK-NEXT:   %290 = shl i128 %289, 64
; CHECK-NEXT:   %291 = or i128 %290, %288
; CHECK-NEXT:   %292 = add i128 %287, %291
; CHECK-NEXT:   %293 = trunc i128 %292 to i64
; CHECK-NEXT:   %294 = lshr i128 %292, 64
; CHECK-NEXT:   %295 = trunc i128 %294 to i64
; CHECK-NEXT:   %296 = add i64 %295, 1
; CHECK-NEXT:   %297 = mul i64 %296, %173
; CHECK-NEXT:   %298 = sub i64 %229, %297
; CHECK-NEXT:   %299 = icmp ugt i64 %298, %293
; CHECK-NEXT:   %300 = add i64 %298, %173
; CHECK-NEXT:   %301 = select i1 %299, i64 %295, i64 %296
; CHECK-NEXT:   %302 = select i1 %299, i64 %300, i64 %298
; CHECK-NEXT:   %303 = icmp uge i64 %302, %173
; CHECK-NEXT:   %304 = add i64 %301, 1
; CHECK-NEXT:   %305 = sub i64 %302, %173
; CHECK-NEXT:   %306 = select i1 %303, i64 %304, i64 %301
; CHECK-NEXT:   %307 = select i1 %303, i64 %305, i64 %302
; CHECK-NEXT:   %308 = zext i64 %306 to i128
; CHECK-NEXT:   %309 = zext i64 %256 to i128
; CHECK-NEXT:   %310 = shl i128 %309, 64
; CHECK-NEXT:   %311 = or i128 %310, %308
; CHECK-NEXT:   %312 = lshr i64 %307, %165
; CHECK-NEXT:   %313 = zext i64 %312 to i128
; CHECK-NEXT:   br label %div_done.1
; CHECK-NEXT: div_done.1:
; CHECK-NEXT:   %314 = phi i128 [ %280, %div_wide.1 ], [ %311, %div_narrow.1 ]
; CHECK-NEXT:   %315 = phi i128 [ %284, %div_wide.1 ], [ %313, %div_narrow.1 ]
; CHECK-NEXT:   %316 = insertelement <2 x i128> undef, i128 %156, i32 0
; CHECK-NEXT:   %r = insertelement <2 x i128> %316, i128 %314, i32 1
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
