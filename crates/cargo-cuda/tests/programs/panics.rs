//! Panics of `std` with payloads, and what ends a process on the host. Each is an error of the
//! launch, with the message that the host would print, at its location.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::panic::{panic_any, resume_unwind};

/// The line of the first panic below.
const LINE: usize = 21;

#[derive(Debug)]
struct Payload {
    _number: u32,
}

#[kernel]
fn panics(which: u32, mut to: PerThread<u32>) {
    let text = || format!("number {which}");
    for (i, to) in to.own() {
        match which + i as u32 {
            0 => panic_any("text"),
            1 => panic_any(text()),
            2 => panic_any(Payload { _number: which }),
            3 => resume_unwind(Box::new("text")),
            4 => resume_unwind(Box::new(text())),
            5 => resume_unwind(Box::new(which)),
            6 => std::process::abort(),
            _ => *to = which,
        }
    }
}

fn main() -> CudaResult<()> {
    cust::init_auto()?;
    for (which, message) in [
        "text",
        "number 1",
        "Box<dyn Any>",
        "text",
        "number 4",
        "Box<dyn Any>",
        "the program called `std::process::abort`",
    ]
    .into_iter()
    .enumerate()
    {
        let mut to = [0];
        let error = cust::launch((1, 1), panics::args(which as u32, &mut to)).unwrap_err();
        let error = error.to_string();
        let expected = format!(
            "the kernel `panics` panicked at {}:{}:18 in block (0, 0, 0), thread (0, 0, 0): {message}",
            file!(),
            LINE + which
        );
        assert_eq!(error, expected);
        assert_eq!(to, [0]);
    }
    let mut to = [0];
    cust::launch((1, 1), panics::args(7, &mut to))?;
    assert_eq!(to, [7]);
    println!("the panics have their messages");
    Ok(())
}
