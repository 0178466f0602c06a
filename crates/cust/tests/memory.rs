//! Buffers, boxes, pinned and unified memory, copies between them, and errors.

mod common;

use common::{init, stream};
use cust::error::Error;
use cust::memory::{GrowableBuffer, mem_get_info};
use cust::prelude::*;
use cust::vector::{U32x2, U32x4};
use test_outcome::Failure;

#[derive(Debug, Clone, Copy, PartialEq, cust::DeviceCopy)]
struct Pair<T> {
    first: T,
    second: [u16; 2],
}

#[test]
fn buffers_keep_what_is_copied_into_them() {
    let _context = init();
    let mut buffer = DeviceBuffer::from_slice(&[1u32, 2, 3, 4]).unwrap();
    assert_eq!(buffer.len(), 4);
    assert_eq!(buffer.as_host_vec().unwrap(), [1, 2, 3, 4]);
    buffer.copy_from(&[5, 6, 7, 8]).unwrap();
    let mut back = vec![0; 4];
    buffer.copy_to(&mut back).unwrap();
    assert_eq!(back, [5, 6, 7, 8]);
    buffer.set_zero().unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), [0; 4]);
    let zeroed = DeviceBuffer::<f64>::zeroed(1000).unwrap();
    assert!(zeroed.as_host_vec().unwrap().iter().all(|&x| x == 0.0));
}

#[test]
fn derived_types_are_copied() {
    let _context = init();
    let pairs = [1u64, 2, 3].map(|first| Pair {
        first,
        second: [4, 5],
    });
    let buffer = pairs.as_dbuf().unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), pairs);
}

#[test]
fn lengths_that_differ_are_an_error() {
    let _context = init();
    let mut buffer = DeviceBuffer::<u8>::zeroed(3).unwrap();
    let error = buffer.copy_from(&[1, 2, 3, 4]).failure();
    assert_eq!(
        error.to_string(),
        "copying to the device: the source has 4 elements, the destination 3"
    );
    let error = buffer.copy_to(&mut [0; 2]).failure();
    assert_eq!(
        error.to_string(),
        "copying from the device: the source has 3 elements, the destination 2"
    );
    let mut other = DeviceBuffer::<u8>::zeroed(5).unwrap();
    let error = buffer.copy_to(&mut other).failure();
    assert!(matches!(
        error,
        Error::SizeMismatch {
            source_len: 3,
            destination_len: 5,
            ..
        }
    ));
}

#[test]
fn parts_of_buffers() {
    let _context = init();
    let mut buffer = DeviceBuffer::from_slice(&[0u16, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(buffer.index(2..4).unwrap().as_host_vec().unwrap(), [2, 3]);
    assert_eq!(buffer.index(..=1).unwrap().as_host_vec().unwrap(), [0, 1]);
    let (left, right) = buffer.split_at(5).unwrap();
    assert_eq!((left.len(), right.as_host_vec().unwrap()), (5, vec![5]));
    let (mut left, right) = buffer.split_at_mut(3).unwrap();
    left.copy_from_device(right.as_slice()).unwrap();
    left.index_mut(..1).unwrap().copy_from(&[9]).unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), [9, 4, 5, 3, 4, 5]);

    let error = buffer.index(4..7).failure();
    assert_eq!(
        error.to_string(),
        "the range 4..7 is not inside a buffer of 6 elements"
    );
    assert!(buffer.split_at(7).is_err());
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = buffer.index(3..2);
    assert!(reversed.is_err());
}

#[test]
fn scalars_are_viewed_as_vectors_and_back() {
    let _context = init();
    let mut buffer = DeviceBuffer::from_slice(&[0u32, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    let vectors = buffer.as_vectors::<U32x4>().unwrap();
    assert_eq!(vectors.len(), 2);
    assert_eq!(
        vectors.index(1..).unwrap().as_host_vec().unwrap(),
        [U32x4::new(4, 5, 6, 7)]
    );
    assert_eq!(vectors.as_scalars().len(), 8);
    let from = [U32x2::new(10, 11)].as_dbuf().unwrap();
    let mut all = buffer.as_mut_slice();
    let mut part = all.index_mut(2..4).unwrap();
    let mut part = part.as_vectors_mut::<U32x2>().unwrap();
    part.copy_from_device(from.as_slice()).unwrap();
    part.as_scalars_mut()
        .index_mut(1..)
        .unwrap()
        .set_zero()
        .unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), [0, 1, 10, 0, 4, 5, 6, 7]);

    let mut vectors = [U32x2::splat(3); 2].as_dbuf().unwrap();
    let mut scalars = vectors.as_scalars_mut();
    scalars.index_mut(1..2).unwrap().set_zero().unwrap();
    assert_eq!(vectors.as_scalars().as_host_vec().unwrap(), [3, 0, 3, 3]);
    let wide = vectors.as_scalars().as_vectors::<U32x4>().unwrap();
    assert_eq!(wide.as_host_vec().unwrap(), [U32x4::new(3, 0, 3, 3)]);

    let zeroed = DeviceBuffer::<U32x4>::zeroed(2).unwrap();
    assert_eq!(zeroed.as_host_vec().unwrap(), [U32x4::default(); 2]);
    let empty = DeviceBuffer::<u32>::zeroed(0).unwrap();
    assert!(empty.as_vectors::<U32x4>().unwrap().is_empty());
    let empty = buffer.index(1..1).unwrap();
    assert!(empty.as_vectors::<U32x4>().unwrap().is_empty());
}

#[test]
fn scalars_that_are_no_vectors_are_an_error() {
    let _context = init();
    let mut buffer = DeviceBuffer::<u32>::zeroed(7).unwrap();
    // Not observed: addresses differ between devices.
    let error = buffer.as_vectors::<U32x4>().map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot view 7 scalars at address {:#x} as `cust_core::vector::U32x4`: the length must \
             be a multiple of 4, the address of 16",
            buffer.as_device_ptr().as_raw()
        )
    );
    let part = buffer.index(1..5).unwrap();
    let error = part.as_vectors::<U32x4>().map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::NotVectors { len: 4, .. }), "{error}");
    assert!(part.as_vectors::<U32x2>().is_err());
    assert!(buffer.index(2..6).unwrap().as_vectors::<U32x2>().is_ok());
    assert!(buffer.as_vectors_mut::<U32x2>().is_err());
}

#[test]
fn nothing_can_be_held_too() {
    let _context = init();
    let empty = DeviceBuffer::<u32>::from_slice(&[]).unwrap();
    // Kernels take the address as a reference, which is never null, and may test that it is aligned
    // like an allocation.
    assert!(empty.is_empty());
    assert_eq!(empty.as_device_ptr().as_raw(), 256);
    assert_eq!(empty.as_slice().as_device_ptr().as_raw(), 256);
    assert_eq!(empty.as_host_vec().unwrap(), []);
    let units = DeviceBuffer::from_slice(&[(), ()]).unwrap();
    assert_eq!(units.as_host_vec().unwrap().len(), 2);
    assert_eq!(LockedBuffer::<u32>::zeroed(0).unwrap().len(), 0);
    assert_eq!(UnifiedBuffer::<u32>::zeroed(0).unwrap().len(), 0);
}

#[test]
fn allocations_that_cannot_be() {
    let _context = init();
    let error = DeviceBuffer::<u64>::zeroed(usize::MAX / 2).unwrap_err();
    assert!(matches!(error, Error::AllocationTooLarge { .. }), "{error}");
    let error = DeviceBuffer::<u8>::zeroed(1 << 50).unwrap_err();
    assert_eq!(error.code(), Some(CudaError::OutOfMemory));
    let text = error.to_string();
    assert!(
        text.starts_with("allocating a device buffer of 1125899906842624 elements of u8"),
        "{text}"
    );
}

#[test]
fn memory_is_given_back() {
    let _context = init();
    let (free, total) = mem_get_info().unwrap();
    assert!(0 < free && free <= total);
    for _ in 0..20 {
        // SAFETY: the elements are not read.
        unsafe { DeviceBuffer::<u8>::uninitialized(free / 8).unwrap() };
    }
}

#[test]
fn boxes_hold_one_value() {
    let _context = init();
    let mut number = DeviceBox::new(&1.5f64).unwrap();
    assert_eq!(number.as_host_value().unwrap(), 1.5);
    number.copy_from(&2.5).unwrap();
    let other = 3.5.as_dbox().unwrap();
    let mut value = 0.0;
    number.copy_to(&mut value).unwrap();
    assert_eq!(value, 2.5);
    number.copy_from(&other).unwrap();
    assert_eq!(number.as_host_value().unwrap(), 3.5);
    assert_eq!(DeviceBox::<u8>::zeroed().unwrap().as_host_value(), Ok(0));
}

#[test]
fn pinned_memory_and_copies_in_a_stream() {
    let _context = init();
    let stream = stream();
    let source = LockedBuffer::from_slice(&(0..1000u32).collect::<Vec<_>>()).unwrap();
    let mut back = LockedBuffer::new(&0u32, 1000).unwrap();
    // SAFETY: the memory is not accessed before the stream is done.
    unsafe {
        let first = DeviceBuffer::from_slice_async(&source, &stream).unwrap();
        let mut second = DeviceBuffer::<u32>::uninitialized(1000).unwrap();
        second.async_copy_from(&first, &stream).unwrap();
        second.async_copy_to(&mut back, &stream).unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(back[..], source[..]);
    assert_eq!(back[999], 999);
}

#[test]
fn unified_memory_is_seen_from_both_sides() {
    let _context = init();
    let mut buffer = UnifiedBuffer::from_slice(&[1u32, 2, 3]).unwrap();
    buffer[1] = 20;
    assert_eq!(buffer.as_slice(), [1, 20, 3]);
    let mut value = UnifiedBox::new(4i64).unwrap();
    *value += 1;
    assert_eq!(*value, 5);
}

#[test]
fn bytes_and_words_are_set() {
    let _context = init();
    let mut buffer = DeviceBuffer::<u32>::zeroed(4).unwrap();
    // SAFETY: all bit patterns are valid `u32`s.
    unsafe {
        buffer.as_mut_slice().set_8(0xab).unwrap();
        let mut tail = buffer.as_mut_slice();
        tail.index_mut(2..).unwrap().set_32(0x1234_5678).unwrap();
    }
    assert_eq!(
        buffer.as_host_vec().unwrap(),
        [0xabab_abab, 0xabab_abab, 0x1234_5678, 0x1234_5678]
    );
    let mut odd = DeviceBuffer::<u8>::zeroed(6).unwrap();
    // SAFETY: as above.
    let error = unsafe { odd.as_mut_slice().set_32(0) }.failure();
    assert!(matches!(error, Error::SizeMismatch { .. }));
}

#[test]
fn buffers_may_be_used_on_other_threads() {
    let _context = init();
    let buffer = DeviceBuffer::from_slice(&[1u8, 2, 3]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert_eq!(buffer.as_host_vec().unwrap(), [1, 2, 3]);
                // This thread has no current context, so the process's default is used.
                let own = DeviceBuffer::from_slice(&[7u64; 100]).unwrap();
                assert_eq!(own.as_host_vec().unwrap(), [7; 100]);
            });
        }
    });
}

#[test]
fn a_buffer_outlives_the_variable_of_its_context() {
    let context = init();
    let buffer = DeviceBuffer::from_slice(&[1u8]).unwrap();
    drop(context);
    assert_eq!(buffer.as_host_vec().unwrap(), [1]);
}

#[test]
fn owned_memory_can_be_taken_apart() {
    let _context = init();
    let buffer = DeviceBuffer::from_slice(&[1u32, 2]).unwrap();
    let pointer = buffer.into_device_ptr();
    // SAFETY: the memory was that of a buffer of two elements.
    let buffer = unsafe { DeviceBuffer::from_raw_parts(pointer, 2) }.unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), [1, 2]);
}

#[test]
fn elements_without_bytes_may_be_any_number() {
    let _context = init();
    let stream = stream();
    let mut pinned = LockedBuffer::new(&(), usize::MAX).unwrap();
    let unified = UnifiedBuffer::new(&(), usize::MAX).unwrap();
    assert_eq!((pinned.len(), unified.len()), (usize::MAX, usize::MAX));
    assert!(pinned.as_ptr().is_aligned() && unified.as_ptr().is_aligned());
    let mut device = DeviceBuffer::from_slice(&unified).unwrap();
    stream.upload(&pinned, &mut device).unwrap();
    stream.download(&device, &mut pinned).unwrap();
    assert_eq!(device.as_host_vec().unwrap().len(), usize::MAX);
    let (first, rest) = device.split_at(usize::MAX - 1).unwrap();
    assert_eq!((first.len(), rest.len()), (usize::MAX - 1, 1));
    drop(LockedBuffer::from_vec(vec![(); usize::MAX]).unwrap());

    let mut growable = GrowableBuffer::<()>::with_capacity(usize::MAX).unwrap();
    growable.extend_from_slice(&pinned).unwrap();
    assert_eq!(growable.len(), usize::MAX);
    let error = growable.extend_from_slice(&[()]).unwrap_err();
    assert!(matches!(
        error,
        Error::OutOfBounds {
            len: usize::MAX,
            ..
        }
    ));

    let mut graph = GraphBuilder::new().unwrap();
    let (from, to) = (graph.buffer(pinned), graph.buffer(device));
    graph.copy(from, to).unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to).len(), usize::MAX);
}
