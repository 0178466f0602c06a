; RUN: print
define i32 @f(i64 %x) {
start:
  %y = add i32 %x, 1 ; ERROR: `%x` is of another type
  ret i32 %y
}
