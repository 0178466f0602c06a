//! Values that an option does not take.
//@ compile-flags: -Cllvm-args=--fma=yes -Cllvm-args=--dump=
#![no_std]
//~? ERROR invalid value `yes` of the backend's option `--fma`
//~? HELP the option is `--fma=on|off`
//~? ERROR invalid value `` of the backend's option `--dump`
