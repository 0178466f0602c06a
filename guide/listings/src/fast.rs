//! Programs of the chapter "Making it fast".

use crate::{KERNELS, Outcome};
use cust::prelude::*;

pub fn compare() -> Outcome {
    use guide_kernels::fast::*;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (rows, n) = (50, 30);
    let a: Vec<f32> = (0..rows * n).map(|i| (i % 5) as f32).collect();
    let x: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
    let row = |row: &[f32]| row.iter().zip(&x).map(|(a, x)| a * x).sum::<f32>();
    let expected: Vec<f32> = a.chunks(n).map(row).collect();
    let (a, x) = (a.as_dbuf()?, x.as_dbuf()?);
    let mut y = DeviceBuffer::<f32>::zeroed(rows)?;

    module.launch(&stream, (1, 64), matvec_indexed::args(&a, &x, &mut y))?;
    assert_eq!(y.as_host_vec()?, expected);
    y.set_zero()?;
    module.launch(&stream, (1, 64), matvec_sliced::args(&a, &x, &mut y))?;
    assert_eq!(y.as_host_vec()?, expected);
    y.set_zero()?;
    module.launch(&stream, (1, 256), matvec_bounded::args(&a, &x, &mut y))?;
    assert_eq!(y.as_host_vec()?, expected);
    y.set_zero()?;
    // SAFETY: `a` has `n` elements for each of `y`.
    let args = unsafe { matvec_unchecked::args(&a, &x, &mut y) };
    module.launch(&stream, (1, 64), args)?;
    assert_eq!(y.as_host_vec()?, expected);
    Ok(())
}

pub fn resources() -> Outcome {
    use guide_kernels::fast::matvec_bounded;

    let module = KERNELS.load()?;
    // ANCHOR: resources
    let kernel = module.kernel::<matvec_bounded>()?;
    let registers = kernel.get_attribute(FunctionAttribute::NumRegisters)?;
    let local = kernel.get_attribute(FunctionAttribute::LocalSizeBytes)?;
    let shared = kernel.get_attribute(FunctionAttribute::SharedMemorySizeBytes)?;
    let blocks = kernel.max_active_blocks_per_multiprocessor(256.into(), 0)?;
    println!(
        "{registers} registers, {local} bytes of local memory, {shared} bytes of shared memory, \
         {blocks} blocks per multiprocessor"
    );
    // ANCHOR_END: resources
    Ok(())
}

pub fn wide_accesses() -> Outcome {
    use cust::vector::F32x4;
    use guide_kernels::fast::scale4;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: vector
    let mut data = DeviceBuffer::from_slice(&[3.0f32; 400])?;
    let vectors = data.as_vectors_mut::<F32x4>()?;
    module.launch(&stream, (1, 128), scale4::args(2.0, vectors))?;
    // ANCHOR_END: vector
    assert_eq!(data.as_host_vec()?, [6.0; 400]);
    Ok(())
}
