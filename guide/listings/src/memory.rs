//! Programs of the chapter "Memory".

use crate::{KERNELS, Outcome};
use cust::prelude::*;

pub fn buffers() -> Outcome {
    use guide_kernels::threads::scale;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: buffers
    // Global memory: allocated and copied to.
    let mut data = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    // Launches take parts of buffers as well.
    let mut right = data.as_mut_slice().split_at_mut(2)?.1;
    module.launch(&stream, (1, 32), scale::args(10.0, &mut right))?;
    // Copies back, after the kernel.
    assert_eq!(data.as_host_vec()?, [1.0, 2.0, 30.0, 40.0]);

    // Pinned host memory: the only kind that copies asynchronously.
    let mut pinned = LockedBuffer::<f32>::zeroed(4)?;
    stream.download(&data, &mut pinned)?; // returns at once
    assert_eq!(pinned[..], [1.0, 2.0, 30.0, 40.0]); // waits for the copy

    // A slice of the host: copied to the device and back by the launch.
    let mut host = vec![1.0f32; 100];
    module.launch(&stream, (1, 128), scale::args(3.0, &mut host))?;
    assert_eq!(host, [3.0; 100]);
    // ANCHOR_END: buffers
    Ok(())
}

pub fn coalescing() -> Outcome {
    use guide_kernels::memory::{column_sums, row_sums};

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (width, height) = (64, 48);
    let matrix: Vec<f32> = (0..width * height).map(|i| (i % 7) as f32).collect();
    let from = matrix.as_dbuf()?;
    let mut columns = DeviceBuffer::<f32>::zeroed(width)?;
    let mut rows = DeviceBuffer::<f32>::zeroed(height)?;
    module.launch(
        &stream,
        (1, 64),
        column_sums::args(&from, width, &mut columns),
    )?;
    module.launch(&stream, (1, 64), row_sums::args(&from, width, &mut rows))?;
    let column = |x: usize| matrix[x..].iter().step_by(width).sum::<f32>();
    assert!(
        columns
            .as_host_vec()?
            .into_iter()
            .eq((0..width).map(column))
    );
    let row = |row: &[f32]| row.iter().sum::<f32>();
    assert!(
        rows.as_host_vec()?
            .into_iter()
            .eq(matrix.chunks(width).map(row))
    );
    Ok(())
}

pub fn particles() -> Outcome {
    use guide_kernels::memory::{Particle, step, step_arrays};

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let particle = |i: usize| Particle {
        position: i as f32,
        velocity: 2.0,
        mass: 1.0,
    };
    let mut particles: Vec<Particle> = (0..100).map(particle).collect();
    let velocity: Vec<f32> = particles.iter().map(|p| p.velocity).collect();
    let mut position: Vec<f32> = particles.iter().map(|p| p.position).collect();
    module.launch(&stream, (1, 128), step::args(0.5, &mut particles))?;
    module.launch(
        &stream,
        (1, 128),
        step_arrays::args(0.5, &velocity, &mut position),
    )?;
    assert!((0..100).all(|i| particles[i].position == i as f32 + 1.0));
    assert!((0..100).all(|i| position[i] == i as f32 + 1.0));
    Ok(())
}

pub fn constant() -> Outcome {
    let mut module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: constant
    use guide_kernels::memory::{COEFFICIENTS, polynomial};

    // 1 + 2x + 3x²
    module
        .global_mut::<COEFFICIENTS>()?
        .set(&[1.0, 2.0, 3.0, 0.0])?;
    let mut values = [0.0; 3];
    module.launch(
        &stream,
        (1, 32),
        polynomial::args(&[0.0, 1.0, 2.0], &mut values),
    )?;
    assert_eq!(values, [1.0, 6.0, 17.0]);
    // ANCHOR_END: constant
    Ok(())
}
