; RUN: print
define i32 @f() {
start:
  ret i32 %x ; ERROR: `%x` is not defined
}
