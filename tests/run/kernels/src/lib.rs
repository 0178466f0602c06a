//! The device tests' code. A case is an ordinary function of a number that records what it
//! computes; each thread of its kernel runs it with another number, the host runs the same
//! function, and the records must be equal. There is one module for each part of the language.
//!
//! [`cases!`] makes a case's function and its row in the module's table, [`all`] is the table of all,
//! and [`run_case_0`] one of the kernels that run them. What is not a pure function has kernels of its own: parameters
//! ([`parameters`]), blocks of threads ([`blocks`]), panics ([`panics`]). The tests look up kernels by
//! their names, so in single-source sessions the kernels are `#[no_mangle]`.

#![no_std]
#![feature(
    coroutine_trait,
    coroutines,
    f128,
    f16,
    float_minimum_maximum,
    iter_from_coroutine,
    stmt_expr_attributes
)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, asm_goto_with_outputs)
)]
// The cases are about what the language allows, not about how it is best written; and what only
// the device uses of the prelude is unused on the host.
#![allow(
    clippy::all,
    missing_docs,
    unused_imports,
    unused_assignments,
    irrefutable_let_patterns
)]
#![allow(
    dead_code,
    unconditional_panic,
    arithmetic_overflow,
    unnecessary_transmutes
)]

extern crate alloc;

mod record;
pub use record::{Kind, Put, Record, mix};

pub mod blocks;
pub mod litmus;
pub mod panics;
pub mod parameters;

mod aliasing;
mod arrays;
mod assembly;
mod cells;
mod closures;
mod collections;
mod control;
mod drops;
mod enums;
mod floats;
mod futures;
mod generics;
mod hashing;
mod integers;
mod iterators;
mod layouts;
mod matching;
mod math;
mod pointers;
mod programs;
mod quads;
mod reflection;
mod slices;
mod statics;
mod strings;
mod traits;
mod virtual_calls;
mod wide;

/// A case: its name and its function.
#[derive(Clone, Copy)]
pub struct Case {
    /// The name of the case.
    pub name: &'static str,
    /// The function that the kernel's threads and the host run.
    pub run: fn(u32, &mut Record),
}

/// Makes cases: `fn name(i, record) { … }`, where `i: u32` is the thread's number and
/// `record: &mut Record` takes the results.
macro_rules! cases {
    ($($(#[$doc:meta])* fn $name:ident($i:pat, $record:ident) $body:block)*) => {
        $(
            $(#[$doc])*
            pub mod $name {
                use super::*;

                pub fn run($i: u32, $record: &mut $crate::Record) $body
            }
        )*

        /// The cases of this module.
        pub const CASES: &[$crate::Case] =
            &[$($crate::Case { name: stringify!($name), run: $name::run }),*];
    };
}
pub(crate) use cases;

/// Groups of cases, each with a kernel that runs one of its cases, by its place there. ptxas compiles
/// all that an entry reaches once for each entry, so that few entries for hundreds of cases save it
/// minutes; but all cases together, unoptimized, make it crash. So no group reaches another's
/// cases.
macro_rules! groups {
    ($($name:ident = [$($module:expr),* $(,)?];)*) => {
        $(
            /// Runs a case of the group.
            ///
            /// # Safety
            /// There is a record for each thread.
            #[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
            #[cuda_std::kernel]
            pub unsafe fn $name(case: u32, records: *mut Record) {
                const MODULES: &[&[Case]] = &[$($module),*];
                let i = cuda_std::thread::index_1d();
                let mut cases = MODULES.iter().copied().flatten();
                let case = cases.nth(case as usize).expect("a case of that number");
                unsafe { (case.run)(i, &mut *records.add(i as usize)) };
            }
        )*

        /// The cases of each group.
        pub const GROUPS: &[&[&[Case]]] = &[$(&[$($module),*]),*];
    };
}
groups! {
    run_case_0 = [
        aliasing::CASES,
        closures::CASES,
        enums::CASES,
        hashing::CASES,
        math::CASES,
        programs::interpreters::CASES,
        reflection::CASES,
        traits::CASES,
        virtual_calls::CASES,
    ];
    run_case_1 = [
        arrays::CASES,
        collections::CASES,
        floats::CASES,
        integers::CASES,
        matching::CASES,
        programs::numerics::CASES,
        slices::CASES,
        wide::CASES,
    ];
    run_case_2 = [
        assembly::CASES,
        control::CASES,
        futures::CASES,
        iterators::CASES,
        pointers::CASES,
        programs::searches::CASES,
        statics::CASES,
    ];
    run_case_3 = [
        cells::CASES,
        drops::CASES,
        generics::CASES,
        layouts::CASES,
        programs::codecs::CASES,
        quads::CASES,
        strings::CASES,
    ];
}

/// All cases, each with its group and its place there.
pub fn all() -> impl Iterator<Item = (usize, u32, Case)> {
    GROUPS.iter().enumerate().flat_map(|(group, modules)| {
        let cases = modules.iter().copied().flatten().zip(0..);
        cases.map(move |(case, place)| (group, place, *case))
    })
}

#[cfg(test)]
mod tests {
    /// The reference that the device is compared with must run, and record something.
    #[test]
    fn all_cases_run_on_the_host() {
        for (_, _, case) in super::all() {
            for i in 0..96 {
                let mut record = super::Record::default();
                (case.run)(i, &mut record);
                assert!(!record.is_empty(), "{} records nothing for {i}", case.name);
            }
        }
    }
}
