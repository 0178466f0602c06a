//! Runs every case in 64 threads, and compares what they record with what the host records.

use crate::{Build, Session, expect, trial};
use cust::prelude::*;
use device_tests_kernels::{Case, Kind, Record};
use libtest_mimic::{Failed, Trial};

const BLOCKS: u32 = 2;
const THREADS: u32 = 32;

/// A trial for each case.
pub fn trials(build: Build) -> Vec<Trial> {
    let of = |(group, place, case): (usize, u32, Case)| {
        trial(build, case.name, move |session, build| {
            run(session, build, (group, place), case)
        })
    };
    device_tests_kernels::all().map(of).collect()
}

/// A record in a buffer.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct OnDevice(pub Record);

// SAFETY: a record is numbers and enums without data, of the same layout on both sides.
unsafe impl DeviceCopy for OnDevice {}

fn run(
    session: &Session,
    build: Build,
    (group, place): (usize, u32),
    case: Case,
) -> Result<(), Failed> {
    let threads = BLOCKS * THREADS;
    let records = DeviceBuffer::from_slice(&vec![OnDevice(Record::default()); threads as usize])?;
    let kernel = session
        .cases(build, group)?
        .get_function(format!("run_case_{group}"))?;
    let stream = &session.stream;
    // SAFETY: the kernel writes one record for each thread.
    unsafe {
        launch!(kernel<<<BLOCKS, THREADS, 0, stream>>>(place, records.as_device_ptr()))?;
    }
    stream.synchronize()?;
    let mut words = Vec::new();
    for (i, OnDevice(record)) in records.as_host_vec()?.iter().enumerate() {
        let mut expected = Record::default();
        (case.run)(i as u32, &mut expected);
        compare(record, &expected).map_err(|error| {
            Failed::from(format!(
                "thread {i}: {}",
                error.message().unwrap_or_default()
            ))
        })?;
        // Without contraction, floats are the same on all devices, too, except those of libdevice: it
        // uses approximations, which a GPU computes with other rounding errors than the emulator.
        let exact = record.words().filter(|&(_, kind)| kind == Kind::Exact);
        words.extend(exact.flat_map(|(word, _)| word.to_le_bytes()));
        words.extend(record.checksum().to_le_bytes());
    }
    test_outcome::observe_bytes("results", &words);
    Ok(())
}

/// Compares the records of device and host.
pub fn compare(found: &Record, expected: &Record) -> Result<(), Failed> {
    for (k, ((word, _), (other, kind))) in found.words().zip(expected.words()).enumerate() {
        if !equal(word, other, kind) {
            let show = |word: u64| match kind {
                Kind::Exact => format!("{word:#x} ({word})"),
                Kind::Near32 => format!("{:?}", f32::from_bits(word as u32)),
                Kind::Near64 => format!("{:?}", f64::from_bits(word)),
            };
            let (word, other) = (show(word), show(other));
            return Err(format!("result {k} is {word}, but on the host {other}").into());
        }
    }
    expect(found.len(), expected.len(), "the number of results")?;
    expect(
        found.checksum(),
        expected.checksum(),
        "the checksum of the other results",
    )
}

fn equal(a: u64, b: u64, kind: Kind) -> bool {
    /// More than libdevice's functions here differ from the exact result, in last places.
    const PLACES: f64 = 20.0;
    let near = |a: f64, b: f64, epsilon: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= PLACES * epsilon * b.abs()
    };
    match kind {
        Kind::Exact => a == b,
        Kind::Near32 => {
            let float = |word: u64| f64::from(f32::from_bits(word as u32));
            near(float(a), float(b), f32::EPSILON.into())
        }
        Kind::Near64 => near(f64::from_bits(a), f64::from_bits(b), f64::EPSILON),
    }
}
