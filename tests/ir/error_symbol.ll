; RUN: verify
@a = addrspace(1) global ptr @missing, align 8 ; ERROR: there is no `@missing`
