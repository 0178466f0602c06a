//! Passes arguments of all kinds.

use crate::cases::{OnDevice, compare};
use crate::{Build, Session, trial};
use cust::prelude::*;
use device_tests_kernels::Record;
use device_tests_kernels::parameters::*;
use libtest_mimic::{Failed, Trial};
use std::cmp::{Ordering, Reverse};
use std::num::Saturating;
use std::ptr::NonNull;
use std::time::Duration;

/// A trial for each kernel.
pub fn trials(build: Build) -> Vec<Trial> {
    vec![
        trial(build, "parameter_scalars", scalars),
        trial(build, "parameter_aggregates", aggregates),
        trial(build, "parameter_small", small),
        trial(build, "parameter_of_core", of_core),
        trial(build, "parameter_references", references),
        trial(build, "parameter_none", none),
    ]
}

fn plain(n: u8) -> Plain {
    Plain {
        a: n,
        b: 0x0102_0304_0506_0708,
        c: [9, 10, u16::from(n)],
        d: Some(11),
        e: -1.5,
        f: i128::MIN + 3,
        g: (),
        h: 'é',
        i: true,
    }
}

/// Compares the one record that a launch wrote.
fn check(
    session: &Session,
    records: &DeviceBuffer<OnDevice>,
    expected: impl FnOnce(&mut Record),
) -> Result<(), Failed> {
    session.stream.synchronize()?;
    let mut record = Record::default();
    expected(&mut record);
    compare(&records.as_host_vec()?[0].0, &record)
}

fn record() -> CudaResult<DeviceBuffer<OnDevice>> {
    DeviceBuffer::from_slice(&[OnDevice(Record::default())])
}

fn scalars(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let record = record()?;
    let scalars: Scalars = (
        (0xfe, -3, 0xfffd, -4, 0xffff_fffc, -5),
        (u64::MAX - 1, -6, u128::MAX - 2, -7, 8, -9),
        (1.25, -2.5e300, true, '😀'),
    );
    let ((a, b, c, d, e, f), (g, h, i, j, k, l), (m, n, o, p)) = scalars;
    // SAFETY: the arguments are of the parameters' types.
    unsafe {
        launch!(module.parameter_scalars<<<1, 1, 0, stream>>>(
            record.as_device_ptr(), a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p
        ))?;
    }
    check(session, &record, |record| put_scalars(scalars, record))
}

fn aggregates(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let (array, pair) = ([1u16, 2, 3, 4, 5], (6u8, 7u64));
    let mut large = Large {
        table: [3; 100],
        last: 8,
    };
    large.table[99] = 1000;
    for shape in [
        Shape::Circle(0.5),
        Shape::Box {
            width: 9,
            height: 1 << 50,
        },
        Shape::Nothing,
    ] {
        let record = record()?;
        // SAFETY: the arguments are of the parameters' types.
        unsafe {
            launch!(module.parameter_aggregates<<<1, 1, 0, stream>>>(
                plain(1), array, pair, Color::Green, shape, large, record.as_device_ptr()
            ))?;
        }
        check(session, &record, |record| {
            put_aggregates(plain(1), array, pair, Color::Green, shape, large, record);
        })?;
    }
    Ok(())
}

fn of_core(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let values = (
        Ordering::Less,
        Reverse(300),
        Saturating(77),
        Duration::new(1 << 40, 999_999_999),
    );
    let record = record()?;
    let address = NonNull::new(record.as_device_ptr().as_mut_ptr()).ok_or("a null pointer")?;
    // SAFETY: the arguments are of the parameters' types.
    unsafe {
        launch!(module.parameter_of_core<<<1, 1, 0, stream>>>(
            address, values.0, values.1, values.2, values.3
        ))?;
    }
    check(session, &record, |record| put_of_core(values, record))
}

fn small(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    for optional in [Some(u32::MAX), None] {
        let record = record()?;
        let none: [u64; 0] = [];
        // SAFETY: the arguments are of the parameters' types.
        unsafe {
            launch!(module.parameter_small<<<1, 1, 0, stream>>>(
                record.as_device_ptr(),
                Empty,
                Meters(1.5),
                Id(1 << 40),
                (),
                Aligned(2, 3),
                optional,
                none,
                [4u8]
            ))?;
        }
        check(session, &record, |record| {
            put_small(
                Meters(1.5),
                Id(1 << 40),
                Aligned(2, 3),
                optional,
                [4],
                record,
            );
        })?;
    }
    Ok(())
}

fn references(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let bytes = [1u8, 2, 3];
    let plains = [plain(4), plain(5), plain(6)];
    let text = "text on the device: ü";
    let pairs = [(1u8, 2u32), (3, 4), (5, 6)];
    let record = record()?;
    let bytes_device = bytes.as_dbuf()?;
    let plains_device = plains.as_dbuf()?;
    let text_device = text.as_bytes().as_dbuf()?;
    let pairs_device = pairs.as_dbuf()?;
    // SAFETY: the arguments are of the parameters' types, and the text is UTF-8.
    unsafe {
        launch!(module.parameter_references<<<1, 1, 0, stream>>>(
            bytes_device.as_device_ptr(),
            bytes_device.len(),
            plains_device.as_device_ptr(),
            plains_device.as_device_ptr(),
            plains_device.len(),
            text_device.as_device_ptr(),
            text_device.len(),
            pairs_device.as_device_ptr(),
            record.as_device_ptr()
        ))?;
    }
    check(session, &record, |record| {
        put_references(&bytes, &plains[0], &plains, text, &pairs, record);
    })
}

fn none(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    // SAFETY: the kernel has no parameters and touches no memory.
    unsafe { launch!(module.add<<<1, 1, 0, stream>>>())? };
    Ok(stream.synchronize()?)
}
