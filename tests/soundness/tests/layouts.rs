//! Alignments, packed structs, unions, empty slices, and dynamic shared memory of any size.

#![forbid(unsafe_code)]

use cust::error::Error;
use cust::prelude::*;
use soundness_tests::KERNELS;
use soundness_tests_kernels::layouts::{self, Either, Line, Packed};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn values_lie_where_their_alignment_says() -> Outcome {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let slice = DeviceBuffer::from_slice(&[Line(100), Line(1000)])?;
    let mut to = DeviceBuffer::from_slice(&[[7u32; 8]; 3])?;
    let kernel = module.kernel::<layouts::alignment>()?;
    let pair = (1, Line(10));
    let args = layouts::alignment::args(Line(1), Line(20_000), pair, &slice, &mut to);
    kernel.launch(&stream, (1, 3, 16), args)?;
    assert_eq!(to.as_host_vec()?, [[0, 0, 0, 0, 0, 0, 0, 21_016]; 3]);
    Ok(())
}

#[test]
fn odd_structs_are_the_same_on_both_sides() -> Outcome {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let packed = Packed {
        first: 3,
        rest: [u64::MAX, 4],
    };
    let packed = DeviceBox::new(&packed)?;
    let mut to = DeviceBuffer::from_slice(&[[7u64; 4]])?;
    let kernel = module.kernel::<layouts::values>()?;
    let either = Either { halves: [1, 2] };
    kernel.launch(
        &stream,
        (1, 1),
        layouts::values::args(&packed, either, &mut to),
    )?;
    assert_eq!(to.as_host_vec()?, [[3, u64::MAX, 4, 17]]);
    Ok(())
}

#[test]
fn dynamic_memory_has_whole_elements() -> Outcome {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let kernel = module.kernel::<layouts::dynamic>()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 4])?;
    for (bytes, elements) in [(0, 0u32), (5, 0), (6, 1), (17, 2), (48_000, 8000)] {
        kernel.launch(&stream, (1, 4, bytes), layouts::dynamic::args(&mut to))?;
        let own = |thread: u32| (elements + 3 - thread) / 4;
        let expected: Vec<u32> = (0..4).map(|i| 6 * elements + 1000 * own(i)).collect();
        assert_eq!(to.as_host_vec()?, expected, "{bytes} bytes");
    }
    for bytes in [1 << 20, i32::MAX as u32 + 1, u32::MAX] {
        let launched = kernel.launch(&stream, (1, 4, bytes), layouts::dynamic::args(&mut to));
        assert!(matches!(launched, Err(Error::SharedMemory(_))), "{bytes}");
    }
    Ok(())
}

/// No parameter is null or misaligned, even if it refers to no elements.
#[test]
fn empty_slices_are_references() -> Outcome {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let kernel = module.kernel::<layouts::present>()?;
    for len in [0, 1] {
        let n = len as u32;
        let expected = [[1; 8], [n; 8], [n; 8]];

        let slice = DeviceBuffer::from_slice(&vec![1u64; len])?;
        let lines = DeviceBuffer::from_slice(&vec![Line(1); len])?;
        let mut outputs = [(); 6].map(|()| DeviceBuffer::<u64>::zeroed(len).expect("it fits"));
        let mut to = DeviceBuffer::from_slice(&[[[7u32; 8]; 3]])?;
        let [linear, block, matrix, volume, rows, columns] = &mut outputs;
        let args = layouts::present::args(
            &slice,
            &lines,
            linear,
            block,
            matrix.rows_mut(2),
            volume.volume_mut(2, 2),
            rows.rows_mut(2),
            columns.rows_mut(2),
            &mut to,
        );
        kernel.launch(&stream, (1, 1), args)?;
        assert_eq!(
            to.as_host_vec()?,
            [expected],
            "{len} elements on the device"
        );

        let (slice, lines) = (vec![1u64; len], vec![Line(1); len]);
        let mut outputs = [(); 6].map(|()| vec![0u64; len]);
        for on_cpu in [false, true] {
            let mut to = [[[7u32; 8]; 3]];
            let [linear, block, matrix, volume, rows, columns] = &mut outputs;
            let args = layouts::present::args(
                &slice,
                &lines,
                linear,
                block,
                matrix.rows_mut(2),
                volume.volume_mut(2, 2),
                rows.rows_mut(2),
                columns.rows_mut(2),
                &mut to,
            );
            match on_cpu {
                false => kernel.launch(&stream, (1, 1), args)?,
                true => cust::launch_cpu((1, 1), args)?,
            }
            assert_eq!(to, [expected], "{len} elements on the host, CPU: {on_cpu}");
        }
    }
    Ok(())
}
