//! Programs of the chapter "Streams and overlap".

use crate::{KERNELS, Outcome};
use cust::prelude::*;
use guide_kernels::threads::scale;

pub fn overlap() -> Outcome {
    let module = KERNELS.load()?;
    // ANCHOR: overlap
    const CHUNK: usize = 4096;
    // For each stream a buffer on the device and one in pinned memory.
    let mut lanes = Vec::new();
    for _ in 0..2 {
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let pinned = LockedBuffer::<f32>::zeroed(CHUNK)?;
        lanes.push((stream, pinned, DeviceBuffer::<f32>::zeroed(CHUNK)?));
    }
    let mut data = vec![1.0f32; 10 * CHUNK];
    let mut pending: [Option<usize>; 2] = [None; 2];
    for chunk in 0..10 + 2 {
        let (stream, pinned, device) = &mut lanes[chunk % 2];
        if let Some(start) = pending[chunk % 2].take() {
            // Waits for this stream alone; the other one goes on.
            data[start..][..CHUNK].copy_from_slice(pinned);
        }
        if chunk < 10 {
            let start = chunk * CHUNK;
            pinned.copy_from_slice(&data[start..][..CHUNK]);
            // These calls return at once.
            stream.upload(pinned, &mut *device)?;
            module.launch(stream, (16, 256), scale::args(2.0, &mut *device))?;
            stream.download(&*device, pinned)?;
            pending[chunk % 2] = Some(start);
        }
    }
    // ANCHOR_END: overlap
    assert!(data.iter().all(|&x| x == 2.0));
    Ok(())
}

pub fn order() -> Outcome {
    let module = KERNELS.load()?;
    // ANCHOR: order
    let first = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let second = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut data = DeviceBuffer::from_slice(&[1.0f32; 1000])?;
    module.launch(&first, (4, 256), scale::args(2.0, &mut data))?;
    // Another stream, the same buffer: `second` waits for the kernel in `first`.
    module.launch(&second, (4, 256), scale::args(3.0, &mut data))?;
    // Waits for both, and then copies.
    assert_eq!(data.as_host_vec()?, [6.0; 1000]);
    // ANCHOR_END: order
    Ok(())
}

pub fn time_a_launch() -> Outcome {
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut data = DeviceBuffer::from_slice(&[1.0f32; 1000])?;
    // ANCHOR: timing
    let kernel = module.kernel::<scale>()?; // looked up once
    kernel.launch(&stream, (4, 256), scale::args(2.0, &mut data))?; // loads the code
    let before = Event::new(EventFlags::DEFAULT)?;
    let after = Event::new(EventFlags::DEFAULT)?;
    before.record(&stream)?;
    for _ in 0..10 {
        kernel.launch(&stream, (4, 256), scale::args(2.0, &mut data))?;
    }
    after.record(&stream)?;
    after.synchronize()?;
    println!("{:?} per launch", after.elapsed(&before)? / 10);
    // ANCHOR_END: timing
    Ok(())
}

pub fn replay() -> Outcome {
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: graph
    let kernel = module.kernel::<scale>()?;
    let mut graph = GraphBuilder::new()?;
    let input = graph.buffer(LockedBuffer::from_slice(&[1.0f32, 2.0, 3.0])?);
    let device = graph.buffer(DeviceBuffer::<f32>::zeroed(3)?);
    let output = graph.buffer(LockedBuffer::<f32>::zeroed(3)?);
    // The order of the nodes follows from the buffers that they use.
    graph.copy(input, device)?;
    graph.launch(&kernel, (1, 32), scale::args(2.0, device.write()))?;
    graph.copy(device, output)?;

    let mut graph = graph.instantiate()?;
    for round in 0..3 {
        graph.get_mut(input)[0] = round as f32;
        graph.launch(&stream)?; // one call for all three nodes
        assert_eq!(graph.get(output)[..], [2.0 * round as f32, 4.0, 6.0]);
    }
    // ANCHOR_END: graph
    Ok(())
}
