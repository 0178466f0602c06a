//! Options that the backend does not have.
//@ compile-flags: -Cllvm-args=--fmaa=on -Cllvm-args=-nonsense
#![no_std]
//~? ERROR the backend has no option `--fmaa`
//~? HELP a similar option is `--fma=on|off`
//~? ERROR the backend has no option `-nonsense`
//~? HELP `-Cllvm-args=--help` lists the options
