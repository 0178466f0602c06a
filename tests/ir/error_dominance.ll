; A verifier's error shows the instructions around it.
; RUN: verify
; ERROR: in `f`: an operand does not dominate its use (rule 9: Dominance)
; ERROR: ->  %y = add i32 %x, 1
define i32 @f(i1 %c) {
start:
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  %y = add i32 %x, 1
  ret i32 %y
}
