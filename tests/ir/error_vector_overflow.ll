; Checked arithmetic on vectors of a width that libnvvm lacks has no replacement.
; RUN: opt --passes=legalize
; ERROR: `f` uses llvm.sadd.with.overflow on vectors, which has no equivalent on NVIDIA GPUs

define { <2 x i8>, <2 x i1> } @f(<2 x i8> %a, <2 x i8> %b) {
start:
  %r = call { <2 x i8>, <2 x i1> } @llvm.sadd.with.overflow.v2i8(<2 x i8> %a, <2 x i8> %b)
  ret { <2 x i8>, <2 x i1> } %r
}
