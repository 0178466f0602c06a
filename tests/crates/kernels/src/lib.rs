//! Crates from crates.io, as they are, in device code. A case is a function of an input's number:
//! it derives the input from it (the first are edge cases, the others random), gives it to the
//! crate, and puts what comes out into a [`Record`]. Each thread of [`run_case`] takes another
//! input; the host runs the same functions, and the records must be equal.

#![no_std]
// Items of the prelude that only the device uses are unused on the host.
#![allow(missing_docs, unused_imports)]

extern crate alloc;

mod record;
pub use record::{Put, Record};

mod input;
pub use input::Input;

#[cfg(feature = "algebra")]
mod algebra;
#[cfg(feature = "bignums")]
mod bignums;
#[cfg(feature = "containers")]
mod containers;
#[cfg(feature = "curves")]
mod curves;
#[cfg(feature = "hashes")]
mod hashes;
#[cfg(feature = "numbers")]
mod numbers;
#[cfg(feature = "packing")]
mod packing;
#[cfg(feature = "parsers")]
mod parsers;
#[cfg(feature = "random")]
mod random;
#[cfg(feature = "regex")]
mod regex;
#[cfg(feature = "science")]
mod science;
#[cfg(feature = "structures")]
mod structures;
#[cfg(feature = "text")]
mod text;

/// A case.
#[derive(Clone, Copy)]
pub struct Case {
    /// The crate's name on crates.io.
    pub krate: &'static str,
    /// The tested part of the crate.
    pub name: &'static str,
    /// How many inputs are compared, and thus how many threads run.
    pub inputs: u32,
    /// The function that the kernel's threads and the host run.
    pub run: fn(Input, &mut Record),
}

/// Makes cases: `"crate", inputs: fn name(input, record) { … }`, where `input: Input` and
/// `record: &mut Record`.
macro_rules! cases {
    ($($krate:literal, $inputs:expr; fn $name:ident($input:pat, $record:ident) $body:block)*) => {
        $(fn $name($input: $crate::Input, $record: &mut $crate::Record) $body)*

        /// The cases of this module.
        pub const CASES: &[$crate::Case] = &[$($crate::Case {
            krate: $krate,
            name: stringify!($name),
            inputs: $inputs,
            run: $name,
        }),*];
    };
}
pub(crate) use cases;

/// The kernel that runs a case, by its place among [`all`]. One entry for all: ptxas compiles
/// whatever an entry reaches once for each entry.
///
/// # Safety
/// There is a record for each of the case's inputs.
#[cuda_std::kernel]
pub unsafe fn run_case(case: u32, records: *mut Record, len: usize) {
    let i = cuda_std::thread::index_1d();
    if (i as usize) < len {
        let case = all().nth(case as usize).expect("a case of that number");
        // SAFETY: each thread has a record of its own.
        unsafe { (case.run)(Input::new(i), &mut *records.add(i as usize)) };
    }
}

/// The modules of cases, each with its name, which is also its feature. A program for the device
/// has one of them.
pub const MODULES: &[(&str, &[Case])] = &[
    #[cfg(feature = "algebra")]
    ("algebra", algebra::CASES),
    #[cfg(feature = "bignums")]
    ("bignums", bignums::CASES),
    #[cfg(feature = "containers")]
    ("containers", containers::CASES),
    #[cfg(feature = "curves")]
    ("curves", curves::CASES),
    #[cfg(feature = "hashes")]
    ("hashes", hashes::CASES),
    #[cfg(feature = "numbers")]
    ("numbers", numbers::CASES),
    #[cfg(feature = "packing")]
    ("packing", packing::CASES),
    #[cfg(feature = "parsers")]
    ("parsers", parsers::CASES),
    #[cfg(feature = "random")]
    ("random", random::CASES),
    #[cfg(feature = "regex")]
    ("regex", regex::CASES),
    #[cfg(feature = "science")]
    ("science", science::CASES),
    #[cfg(feature = "structures")]
    ("structures", structures::CASES),
    #[cfg(feature = "text")]
    ("text", text::CASES),
];

/// All cases.
pub fn all() -> impl Iterator<Item = Case> {
    MODULES.iter().flat_map(|(_, cases)| *cases).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference that the device is compared with must run, and record something for every
    /// input; and not the same for all.
    #[test]
    fn all_cases_run_on_the_host() {
        for case in all() {
            let mut first = None;
            let mut differ = false;
            for i in 0..case.inputs {
                let mut record = Record::default();
                (case.run)(Input::new(i), &mut record);
                assert!(!record.is_empty(), "{} records nothing for {i}", case.name);
                differ |= *first.get_or_insert(record) != record;
            }
            assert!(differ, "{} has one result for all inputs", case.name);
        }
    }
}
