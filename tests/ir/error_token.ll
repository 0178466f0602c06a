; RUN: print
define void @f() {
start:
  %x = frobnicate i32 1 ; ERROR: there is no instruction `frobnicate`
  ret void
}
