use crate::{Outcome, close, floats, integers, start};
use cust::prelude::*;
use samples_kernels::language::*;

#[test]
fn printing() -> Outcome {
    let (module, stream) = start();
    module.launch(&stream, (2, 2), simple_printf::args(10))?;
    stream.synchronize()?;
    Ok(())
}

#[test]
fn clocks() -> Outcome {
    let (module, stream) = start();
    let from = floats(100);
    let mut to = DeviceBuffer::<[f32; 2]>::zeroed(64)?;
    module.launch(&stream, (1, 64), clock::args(&from.as_dbuf()?, &mut to))?;
    let least = from.iter().copied().fold(f32::INFINITY, f32::min);
    for [found, cycles] in to.as_host_vec()? {
        assert_eq!(found, least);
        assert!(cycles > 0.0);
    }
    Ok(())
}

#[test]
fn pointers_to_functions() -> Outcome {
    let (module, stream) = start();
    let which = integers(200, 3);
    let numbers = floats(200);
    let mut device = numbers.as_dbuf()?;
    module.launch(
        &stream,
        (2, 128),
        function_pointers::args(&which.as_dbuf()?, &mut device),
    )?;
    let expected: Vec<f32> = which
        .iter()
        .zip(&numbers)
        .map(|(&which, &x)| [x + x, x * x, -x][which as usize])
        .collect();
    assert_eq!(device.as_host_vec()?, expected);

    module.launch(
        &stream,
        (2, 128),
        virtual_functions::args(&numbers.as_dbuf()?, &mut device),
    )?;
    let area = |(i, &x): (usize, &f32)| {
        if i % 3 == 0 {
            x * x
        } else {
            std::f32::consts::PI * x * x
        }
    };
    let expected: Vec<f32> = numbers.iter().enumerate().map(area).collect();
    close(&device.as_host_vec()?, &expected, 1e-6);
    Ok(())
}

#[test]
fn templates() -> Outcome {
    let (module, stream) = start();
    let config = LaunchConfig::for_elements(100, 64);
    let (x, mut y) = (vec![2.0f32; 100].as_dbuf()?, vec![1.0f32; 100].as_dbuf()?);
    module.launch(&stream, config, axpy_f32::args(3.0, &x, &mut y))?;
    assert_eq!(y.as_host_vec()?, [7.0; 100]);
    let (x, mut y) = (vec![2.0f64; 100].as_dbuf()?, vec![1.0f64; 100].as_dbuf()?);
    module.launch(&stream, config, axpy_f64::args(3.0, &x, &mut y))?;
    assert_eq!(y.as_host_vec()?, [7.0; 100]);
    let (x, mut y) = (vec![2i32; 100].as_dbuf()?, vec![1i32; 100].as_dbuf()?);
    module.launch(&stream, config, axpy_i32::args(3, &x, &mut y))?;
    assert_eq!(y.as_host_vec()?, [7; 100]);
    Ok(())
}

#[test]
fn graphs() -> Outcome {
    let (module, stream) = start();
    let kernel = module.kernel::<increment>()?;
    let mut graph = GraphBuilder::new()?;
    let host = graph.buffer(LockedBuffer::from_slice(&[1u32; 100])?);
    let device = graph.buffer(DeviceBuffer::<u32>::zeroed(100)?);
    graph.copy(host, device)?;
    graph.launch(
        &kernel,
        LaunchConfig::for_elements(100, 64),
        increment::args(5, device.write()),
    )?;
    graph.copy(device, host)?;
    let mut graph = graph.instantiate()?;
    for round in 1..4 {
        graph.launch(&stream)?;
        assert_eq!(graph.get(host)[..], [1 + 5 * round; 100]);
    }
    Ok(())
}

#[test]
fn streams_and_events() -> Outcome {
    let (module, _) = start();
    const N: usize = 1000;
    let streams = [(); 3].map(|()| Stream::new(StreamFlags::NON_BLOCKING, None));
    let (begin, end) = (
        Event::new(EventFlags::DEFAULT)?,
        Event::new(EventFlags::DEFAULT)?,
    );
    let mut parts = Vec::new();
    for (i, stream) in streams.iter().enumerate() {
        let stream = stream.as_ref().map_err(Clone::clone)?;
        if i == 0 {
            begin.record(stream)?;
        }
        let from = LockedBuffer::from_slice(&[i as u32; N])?;
        let mut device = DeviceBuffer::<u32>::zeroed(N)?;
        let mut to = LockedBuffer::<u32>::zeroed(N)?;
        stream.upload(&from, &mut device)?;
        module.launch(stream, (4, 256), increment::args(7, &mut device))?;
        stream.download(&device, &mut to)?;
        if i == 0 {
            end.record(stream)?;
        }
        parts.push(to);
    }
    end.synchronize()?;
    assert!(end.elapsed(&begin)?.as_secs() < 60);
    for (i, part) in parts.iter().enumerate() {
        assert_eq!(part[..], [i as u32 + 7; N]);
    }
    Ok(())
}

#[test]
fn zero_copy() -> Outcome {
    let (module, stream) = start();
    let mut mapped = LockedBuffer::from_slice(&[3u32; 500])?;
    let address = mapped.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the device has the same address for the memory, which stays until the stream is done.
    let args = unsafe { increment_mapped::args(4, DevicePointer::from_raw(address), 500) };
    module.launch(&stream, (2, 256), args)?;
    stream.synchronize()?;
    assert_eq!(mapped[..], [7; 500]);
    Ok(())
}

#[test]
fn unified_memory() -> Outcome {
    let (module, stream) = start();
    let mut unified = UnifiedBuffer::from_slice(&[3u32; 500])?;
    unified[0] = 10;
    module.launch(&stream, (2, 256), increment::args(4, &mut unified))?;
    assert_eq!((unified[0], unified[1]), (14, 7));
    Ok(())
}

#[test]
fn vector_addition() -> Outcome {
    let (module, stream) = start();
    let (a, b) = (floats(1000), floats(1500)[500..].to_vec());
    let mut c = DeviceBuffer::<f32>::zeroed(1000)?;
    module.launch(
        &stream,
        (4, 256),
        vector_add::args(&a.as_dbuf()?, &b.as_dbuf()?, &mut c),
    )?;
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(c.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn instructions_by_name() -> Outcome {
    let (module, stream) = start();
    let mut masks = DeviceBuffer::<u32>::zeroed(64)?;
    module.launch(&stream, (1, 64), inline_ptx::args(&mut masks))?;
    let expected: Vec<u32> = (0..64).map(|i| (1 << (i % 32)) - 1).collect();
    assert_eq!(masks.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn memory_of_the_devices_heap() -> Outcome {
    let (module, stream) = start();
    let mut sums = DeviceBuffer::<u64>::zeroed(100)?;
    module.launch(&stream, (2, 64), new_delete::args(&mut sums))?;
    let sum = |i: u64| {
        (0..i % 7)
            .chain([1, 2, 3])
            .filter(|x| x % 2 == 0)
            .map(|x| x * x)
            .sum()
    };
    assert_eq!(sums.as_host_vec()?, (0..100).map(sum).collect::<Vec<u64>>());
    Ok(())
}

#[test]
fn directed_rounding() -> Outcome {
    let (module, stream) = start();
    let factors = [0.1f32, -0.7, 1.3, 0.2, -1.9];
    let from: Vec<Interval> = floats(100)
        .iter()
        .map(|&x| Interval {
            low: x * 4.0 - 2.0,
            high: x * 4.0 - 1.999,
        })
        .collect();
    let mut device = from.as_dbuf()?;
    module.launch(&stream, (1, 128), intervals::args(factors, &mut device))?;
    for (from, to) in from.iter().zip(device.as_host_vec()?) {
        for x in [from.low, from.high] {
            let exact = factors
                .iter()
                .fold(0.0, |sum, &f| sum * f64::from(x) + f64::from(f));
            assert!(
                f64::from(to.low) < exact && exact < f64::from(to.high),
                "{x}: {to:?}, {exact}"
            );
            assert!(to.high - to.low < 0.1, "{to:?}");
        }
    }
    Ok(())
}

#[test]
fn recursion_over_enums() -> Outcome {
    let (module, stream) = start();
    let list: Vec<Task> = (0..64)
        .map(|i| match i % 3 {
            0 => Task::Rest,
            1 => Task::Ackermann(2, i / 8),
            _ => Task::Sort {
                seed: i,
                count: (i % 32) as u8,
            },
        })
        .collect();
    let mut results = DeviceBuffer::<u64>::zeroed(64)?;
    module.launch(
        &stream,
        (1, 64),
        tasks::args(&list.as_dbuf()?, &mut results),
    )?;
    assert_eq!(
        results.as_host_vec()?,
        list.into_iter().map(perform).collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn variables_of_the_module() -> Outcome {
    let (module, stream) = start();
    for round in 1..4 {
        module.launch(&stream, (3, 32), visit::args())?;
        assert_eq!(module.global::<VISITS>()?.load()?, 96 * round);
    }
    Ok(())
}

#[test]
fn callbacks_and_threads() -> Outcome {
    let (module, _) = start();
    let (module, done) = (&module, &std::sync::atomic::AtomicU32::new(0));
    std::thread::scope(|scope| {
        let threads = [1u32, 2, 3].map(|by| {
            scope.spawn(move || -> Result<Vec<u32>, cust::error::Error> {
                let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
                let mut data = DeviceBuffer::<u32>::zeroed(100)?;
                for _ in 0..5 {
                    module.launch(&stream, (1, 128), increment::args(by, &mut data))?;
                }
                let (sender, receiver) = std::sync::mpsc::channel();
                stream.add_callback(move || sender.send(by).unwrap_or_default())?;
                stream.synchronize()?;
                done.fetch_add(
                    receiver.recv().unwrap_or_default(),
                    std::sync::atomic::Ordering::Relaxed,
                );
                data.as_host_vec()
            })
        });
        for (by, thread) in [1, 2, 3].into_iter().zip(threads) {
            assert_eq!(thread.join().expect("no panic")?, [5 * by; 100]);
        }
        assert_eq!(done.load(std::sync::atomic::Ordering::Relaxed), 6);
        Ok(())
    })
}

#[test]
fn occupancy() -> Outcome {
    let (module, stream) = start();
    let kernel = module.kernel::<increment>()?;
    let (blocks, threads) = kernel.suggested_launch_configuration(0, 0.into())?;
    let mut data = DeviceBuffer::<u32>::zeroed(1000)?;
    kernel.launch(
        &stream,
        (blocks.min(4), threads),
        increment::args(2, &mut data),
    )?;
    assert_eq!(data.as_host_vec()?, [2; 1000]);
    Ok(())
}

#[test]
fn prime_numbers() -> Outcome {
    let (module, stream) = start();
    let mut numbers: Vec<u64> = (0..100).chain((1 << 61) - 30..(1 << 61) + 10).collect();
    // A product of two primes, and a number that some tests take for a prime.
    numbers.extend([4_294_967_291 * 4_294_967_279, 3_215_031_751, u64::MAX - 58]);
    let mut to = DeviceBuffer::<u8>::zeroed(numbers.len())?;
    module.launch(&stream, (3, 64), primes::args(&numbers.as_dbuf()?, &mut to))?;
    let found = to.as_host_vec()?;
    let expected: Vec<u8> = numbers.iter().map(|&n| is_prime(n).into()).collect();
    assert_eq!(found, expected);
    assert_eq!(found[..100].iter().filter(|&&prime| prime == 1).count(), 25);
    // 2⁶¹ - 1 and 2⁶⁴ - 59.
    assert_eq!([found[129], found[found.len() - 1]], [1, 1]);
    Ok(())
}

#[test]
fn numbers_in_a_text() -> Outcome {
    let (module, stream) = start();
    let lines: [&[u8]; 7] = [
        b"1;2.5; -3e2 ",
        b"0.1;0.2",
        b"x",
        b" 7\n",
        b"1e400;1",
        b"\xff;1",
        b"123456789.123456789",
    ];
    let mut ends = Vec::new();
    for line in lines {
        ends.push(ends.last().unwrap_or(&0) + line.len() as u32);
    }
    let text = lines.concat();
    let mut to = DeviceBuffer::<f64>::zeroed(lines.len())?;
    module.launch(
        &stream,
        (1, 32),
        sum_lines::args(&text.as_dbuf()?, &ends.as_dbuf()?, &mut to),
    )?;
    let expected = [
        1.0 + 2.5 - 300.0,
        0.1 + 0.2,
        -2.0,
        7.0,
        f64::INFINITY,
        -5.0,
        123_456_789.123_456_79,
    ];
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}
