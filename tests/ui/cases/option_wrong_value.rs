//! Values that an option does not take.
//@ compile-flags: -Cllvm-args=--fma=yes -Cllvm-args=--dump=
#![no_std]
//~? ERROR the backend's option `--fma` takes no `yes`
//~? HELP it is `--fma=on|off`
//~? ERROR the backend's option `--dump` takes no ``
