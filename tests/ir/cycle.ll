; A cycle of statics is no error before legalization.
; RUN: verify

@a = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @b to ptr), align 8
@b = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @a to ptr), align 8
