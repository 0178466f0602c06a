//! Device-only functions panic on the host with their name, and all others work there: on a plain
//! host, and in a single-source session, whose host code is other code.

use cuda_std::prelude::*;
use std::panic::{UnwindSafe, catch_unwind};

fn message(f: impl FnOnce() + UnwindSafe) -> String {
    let error = catch_unwind(f).expect_err("it panics on the host");
    let text = error.downcast_ref::<String>();
    text.cloned().expect("a message with a name")
}

fn assembly<const N: u32>(x: u32) -> (u32, u64) {
    let (zeros, sum): (u32, u64);
    let mut both = 1u16;
    // SAFETY: it computes registers.
    unsafe {
        cuda_std::ptx!(
            "{{ clz.b32 {zeros}, {};",
            "add.u64 {sum}, {n}, {m}; mov.b16 {}, {l}; }}",
            in(reg32) x,
            inout(reg16) both,
            zeros = out(reg32) zeros,
            sum = lateout(reg64) sum,
            _unused = out(reg32) _,
            n = const N,
            m = const size_of::<u64>() as u64,
            l = const -1,
            options(pure, nomem, nostack),
        );
    }
    (zeros + u32::from(both), sum)
}

fn ends() -> ! {
    // SAFETY: it ends the thread.
    unsafe { cuda_std::ptx!("exit;", options(noreturn)) }
}

fn waits() {
    // SAFETY: all threads do.
    unsafe { cuda_std::ptx!("bar.sync 0;") }
}

#[test]
fn what_only_a_device_has_panics_with_its_name() {
    let functions: [(fn(), &str); 9] = [
        (|| _ = assembly::<3>(5), "ptx!"),
        (|| ends(), "ptx!"),
        (waits, "ptx!"),
        (|| _ = shared_array![f32; 32], "shared_array!"),
        (
            || _ = shared::dynamic_shared_mem::<u32>(),
            "dynamic_shared_mem",
        ),
        (|| _ = thread::thread_idx_x(), "tid_x"),
        (
            || _ = cuda_std::intrinsics::libdevice::__nv_sinf(1.0),
            "__nv_sinf",
        ),
        (cuda_std::copy::commit, "cp_async_commit_group"),
        (
            // SAFETY: it panics.
            || _ = unsafe { cuda_std::intrinsics::malloc(8) },
            "malloc",
        ),
    ];
    for (function, name) in functions {
        assert_eq!(
            message(function),
            format!("`{name}` works only in a kernel, and was called on the host")
        );
    }
}

#[test]
fn the_rest_works_on_the_host() {
    assert!(!cuda_std::is_device());
    assert_eq!(GpuFloat::sin(1.0f32), 1.0f32.sin());
    assert_eq!(GpuFloat::rem_euclid(-5.5f64, 2.0), 0.5);
    assert_eq!(FloatExt::rsqrt(4.0f64), 0.5);
    assert_eq!(cuda_std::float::fast::exp(0.0), 1.0);
    let x = cuda_std::half::F16::from_f32(1.5);
    assert_eq!((x + x).to_f32(), 3.0);
    // The prelude's macros are the standard library's.
    println!("printed");
    cuda_std::println!("printed, too");
}

/// A type that no register holds is refused on every side, with rustc's rules for nvptx64.
#[test]
fn operands_fit_their_registers() {
    fn operand<const BITS: u32, T: cuda_std::assembly::Operand<BITS>>() {}
    operand::<16, i8>();
    operand::<32, f32>();
    operand::<64, f32>();
    operand::<64, *const [u8; 3]>();
    operand::<64, std::mem::MaybeUninit<usize>>();
}
