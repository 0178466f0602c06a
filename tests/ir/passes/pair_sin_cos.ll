; Functions that store a sine and a cosine return both, and those that return both store them again.
; RUN: opt --passes=pair_sin_cos --check-prefix=PAIR
; RUN: opt --passes=store_sin_cos --check-prefix=STORE

declare void @__nv_sincosf(float, ptr, ptr)
declare void @__nv_sincos(double, ptr, ptr)
declare double @__nv_sin(double)
declare { float, float } @__nv_sincosf_pair(float, i32, i32, i32, i32)
declare { double, double } @__nv_sincospi_pair(double, i32, i32, i32, i32)

; PAIR: define void @single
; PAIR-NEXT: entry:
; PAIR-NEXT: %0 = call { float, float } @__nv_sincosf_pair(float %x, i32 0, i32 0, i32 0, i32 0)
; PAIR-NEXT: %1 = extractvalue { float, float } %0, 0
; PAIR-NEXT: store float %1, ptr %sine, align 4
; PAIR-NEXT: %2 = extractvalue { float, float } %0, 1
; PAIR-NEXT: store float %2, ptr %cosine, align 4
; PAIR-NEXT: ret void
define void @single(float %x, ptr %sine, ptr %cosine) {
entry:
  call void @__nv_sincosf(float %x, ptr %sine, ptr %cosine)
  ret void
}

; Both may be stored at the same address: the cosine is stored last. Other functions remain.
; PAIR: define double @double
; PAIR: call { double, double } @__nv_sincos_pair(double %x, i32 0, i32 0, i32 0, i32 0)
; PAIR: call { double, double } @__nv_sincos_pair(double
; PAIR: , ptr %both, align 8
; PAIR: , ptr %both, align 8
; PAIR: call double @__nv_sin(
define double @double(double %x, ptr %both) {
entry:
  call void @__nv_sincos(double %x, ptr %both, ptr %both)
  %y = load double, ptr %both, align 8
  call void @__nv_sincos(double %y, ptr %both, ptr %both)
  %z = call double @__nv_sin(double %y)
  ret double %z
}


; The variables are in the first block, also if the call is in a loop.
; STORE: define float @loop
; STORE-NEXT: entry:
; STORE-NEXT: %0 = alloca float, align 4
; STORE-NEXT: %1 = alloca float, align 4
; STORE: call void @__nv_sincosf(float %angle, ptr %1, ptr %0)
; STORE-NEXT: %2 = load float, ptr %1, align 4
; STORE-NEXT: %3 = insertvalue { float, float } undef, float %2, 0
; STORE-NEXT: %4 = load float, ptr %0, align 4
; STORE-NEXT: %5 = insertvalue { float, float } %3, float %4, 1
; STORE-NEXT: %sine = extractvalue { float, float } %5, 0
define float @loop(float %x) {
entry:
  br label %body
body:
  %angle = phi float [ %x, %entry ], [ %next, %body ]
  %pair = call { float, float } @__nv_sincosf_pair(float %angle, i32 0, i32 0, i32 0, i32 0)
  %sine = extractvalue { float, float } %pair, 0
  %cosine = extractvalue { float, float } %pair, 1
  %next = fadd float %sine, %cosine
  %more = fcmp olt float %next, 1.0
  br i1 %more, label %body, label %done
done:
  ret float %next
}

; LLVM merges pairs of two ways.
; STORE: define double @merged
; STORE: call void @__nv_sincospi(
; STORE: call void @__nv_sincospi(
; STORE: phi { double, double }
define double @merged(i1 %way, double %x, double %y) {
entry:
  br i1 %way, label %a, label %b
a:
  %first = call { double, double } @__nv_sincospi_pair(double %x, i32 0, i32 0, i32 0, i32 0)
  br label %done
b:
  %second = call { double, double } @__nv_sincospi_pair(double %y, i32 0, i32 0, i32 0, i32 0)
  br label %done
done:
  %pair = phi { double, double } [ %first, %a ], [ %second, %b ]
  %sine = extractvalue { double, double } %pair, 0
  ret double %sine
}
