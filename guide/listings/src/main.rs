//! The host programs of the guide, a module for each chapter. The chapters include the regions
//! between `ANCHOR` and `ANCHOR_END`.
//!
//! `cargo run -p guide-listings` runs all programs, `cargo run -p guide-listings NAME` one.

mod atomics;
mod debugging;
mod fast;
mod interop;
mod memory;
mod shared;
mod streams;
mod threads;
mod warps;

use cust::prelude::*;
use std::error::Error;

/// The module that `build.rs` compiled from the crate `kernels`.
static KERNELS: Embedded = cust::include_module!("kernels");

/// The result of each program.
type Outcome = Result<(), Box<dyn Error>>;

/// A program and its name.
type Program = (&'static str, fn() -> Outcome);

/// All programs.
const PROGRAMS: &[Program] = &[
    ("square", threads::square_all),
    ("square_raw", threads::square_through_a_pointer),
    ("brighten", threads::brighten_an_image),
    ("buffers", memory::buffers),
    ("coalescing", memory::coalescing),
    ("particles", memory::particles),
    ("constant", memory::constant),
    ("smooth", shared::smooth_a_signal),
    ("transpose", shared::transpose_a_matrix),
    ("block_sums", shared::sum_blocks),
    ("warps", warps::sum_warps),
    ("compact", warps::compact_positive),
    ("count", atomics::count),
    ("histogram", atomics::count_bytes),
    ("last_block", atomics::sum_in_one_launch),
    ("overlap", streams::overlap),
    ("order", streams::order),
    ("timing", streams::time_a_launch),
    ("graph", streams::replay),
    ("panic", debugging::catch_a_panic),
    ("matvec", fast::compare),
    ("resources", fast::resources),
    ("scale4", fast::wide_accesses),
    ("foreign_ptx", interop::launch_foreign_ptx),
];

/// The program that loses the context; not among those that run together.
const FAULT: &str = "fault";

fn main() -> Outcome {
    let name = std::env::args().nth(1);
    let selected = |program: &&Program| name.as_deref().is_none_or(|name| name == program.0);
    let device = cust::init_auto()?;
    println!("running on {device}");
    for (name, run) in PROGRAMS.iter().filter(selected) {
        println!("{name}");
        run()?;
    }
    if name.as_deref() == Some(FAULT) {
        debugging::find_a_fault()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs the programs, all in one test: they share the device's context.
    #[test]
    fn all_programs_run() -> Outcome {
        for (name, run) in PROGRAMS {
            // As each would be started: the context is the process's default one.
            let _device = cust::init_auto()?;
            run().map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    /// Runs the program that loses the context in a process of its own.
    #[test]
    fn a_fault_is_an_error() -> Outcome {
        const CHILD: &str = "GUIDE_FAULT";
        if std::env::var_os(CHILD).is_some() {
            let _device = cust::init_auto()?;
            return debugging::find_a_fault();
        }
        let output = Command::new(std::env::current_exe()?)
            .args(["--exact", "tests::a_fault_is_an_error", "--nocapture"])
            .env(CHILD, "1")
            .output()?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{stdout}");
        assert!(stdout.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{stdout}");
        Ok(())
    }
}
