use crate::{Outcome, close, floats, integers, start};
use cust::error::Error;
use cust::prelude::*;
use samples_kernels::language::*;

#[test]
fn assertions() -> Outcome {
    let (module, stream) = start();
    module.launch(&stream, (2, 32), simple_assert::args(64))?;
    stream.synchronize()?;
    module.launch(&stream, (2, 32), simple_assert::args(60))?;
    match stream.synchronize() {
        Err(Error::KernelPanic(panic)) => {
            assert!(panic.to_string().contains("is beyond 60"), "{panic}");
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

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
