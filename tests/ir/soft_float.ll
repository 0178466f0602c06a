; A module with `fp128` keeps the functions that the legalizer calls for it.
; RUN: opt --passes=dead_functions

; CHECK: define fp128 @__addtf3
define fp128 @__addtf3(fp128 %a, fp128 %b) {
start:
  ret fp128 %a
}
