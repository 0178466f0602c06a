; RUN: verify
target datalayout = "e-m:e-i64:64" ; ERROR: the datalayout is not that of nvptx64
