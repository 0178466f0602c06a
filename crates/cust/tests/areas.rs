//! Parts of the driver API other than buffers, launches and graphs: each wrapper, and its errors.

mod common;

use common::{init, stream};
use cust::error::Error;
use cust::function::CacheConfig;
use cust::memory::{
    Array, ArrayFlags, Extent, GrowableBuffer, MemoryAdvice, MemoryLocation, MemoryPool,
    PitchedBuffer, PoolAttribute,
};
use cust::module::Library;
use cust::prelude::*;
use cust::stream::WaitUntil;
use test_outcome::Failure;

const NUMBERS: [u16; 24] = {
    let mut numbers = [0; 24];
    let mut i = 0;
    while i < 24 {
        numbers[i] = i as u16 * 3;
        i += 1;
    }
    numbers
};

#[test]
fn rows_and_layers_are_copied() {
    let _context = init();
    for extent in [(24, 1, 1), (6, 4, 1), (3, 2, 4), (1, 24, 1), (2, 1, 12)] {
        let extent = Extent::from(extent);
        let mut rows = PitchedBuffer::from_slice(&NUMBERS, extent).unwrap();
        assert_eq!(rows.pitch() % 256, 0);
        assert_eq!(rows.as_host_vec().unwrap(), NUMBERS);
        let mut back = [0; 24];
        rows.copy_to(&mut back).unwrap();
        assert_eq!(back, NUMBERS);
        // SAFETY: all bit patterns are valid numbers.
        unsafe { rows.set_8(2).unwrap() };
        assert_eq!(rows.as_host_vec().unwrap(), [0x0202; 24]);
        let error = rows.copy_from(&NUMBERS[1..]).failure();
        assert!(matches!(error, Error::SizeMismatch { .. }), "{error}");
    }
    let none = PitchedBuffer::<u32>::zeroed((0, 5)).unwrap();
    assert_eq!(none.as_host_vec().unwrap(), []);
    // The number of rows of zero bytes is not limited.
    PitchedBuffer::<()>::zeroed((1, usize::MAX, 2)).unwrap();
    let error = PitchedBuffer::<u32>::zeroed((usize::MAX, 2)).failure();
    assert!(matches!(error, Error::AllocationTooLarge { .. }), "{error}");
}

#[test]
fn arrays_are_copied_in_all_dimensions() {
    let _context = init();
    let stream = stream();
    for extent in [(24, 1, 1), (6, 4, 1), (3, 2, 4)] {
        let extent = Extent::from(extent);
        let array = Array::from_slice(&NUMBERS, extent, ArrayFlags::empty()).unwrap();
        assert_eq!(array.as_host_vec().unwrap(), NUMBERS);
        let mut rows = PitchedBuffer::<u16>::zeroed(extent).unwrap();
        let mut other = Array::<u16>::new(extent, ArrayFlags::empty()).unwrap();
        stream.copy_volume(&array, &mut rows).unwrap();
        stream.copy_volume(&rows, &mut other).unwrap();
        drop(array);
        assert_eq!(other.as_host_vec().unwrap(), NUMBERS);
        assert_eq!(other.descriptor().unwrap().Width, extent.width);
    }
    let colors = [[1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]];
    let array = Array::from_slice(&colors, 2, ArrayFlags::SURFACE_LDST).unwrap();
    assert_eq!(array.as_host_vec().unwrap(), colors);
    let mut small = PitchedBuffer::<[f32; 4]>::zeroed(1).unwrap();
    let error = stream.copy_volume(&array, &mut small).failure();
    assert!(matches!(error, Error::SizeMismatch { .. }), "{error}");
}

#[test]
fn pools_count_what_is_used() {
    let _context = init();
    let pool = MemoryPool::new().unwrap();
    pool.set_attribute(PoolAttribute::ReleaseThreshold, 1 << 20)
        .unwrap();
    let threshold = pool.get_attribute(PoolAttribute::ReleaseThreshold);
    assert_eq!(threshold.unwrap(), 1 << 20);
    let buffer = pool.zeroed::<u64>(1000).unwrap();
    let used = pool.get_attribute(PoolAttribute::UsedMemCurrent).unwrap();
    assert!(used >= 8000, "{used}");
    drop(buffer);
    init().synchronize().unwrap();
    let used = pool.get_attribute(PoolAttribute::UsedMemCurrent).unwrap();
    assert_eq!(used, 0);
    assert!(pool.get_attribute(PoolAttribute::UsedMemHigh).unwrap() >= 8000);
    pool.trim_to(0).unwrap();
    assert!(pool.zeroed::<u8>(0).unwrap().is_empty());
}

#[test]
fn growable_buffers_grow_in_place() {
    let _context = init();
    let mut buffer = GrowableBuffer::<u32>::with_capacity(3 << 20).unwrap();
    assert!(buffer.is_empty());
    let block: Vec<u32> = (0..300_000).collect();
    for _ in 0..10 {
        buffer.extend_from_slice(&block).unwrap();
    }
    assert_eq!(buffer.len(), 3_000_000);
    let all = buffer.as_slice().as_host_vec().unwrap();
    assert!(all.chunks(300_000).all(|chunk| chunk == block));
    let error = buffer.extend_zeroed(1 << 20).failure();
    assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    buffer.truncate(5);
    buffer.extend_zeroed(2).unwrap();
    assert_eq!(
        buffer.as_slice().as_host_vec().unwrap(),
        [0, 1, 2, 3, 4, 0, 0]
    );
}

#[test]
fn vectors_are_pinned_where_they_lie() {
    let _context = init();
    let stream = stream();
    let mut vec = Vec::with_capacity(5000);
    vec.extend(0..4000u32);
    let address = vec.as_ptr();
    let mut pinned = LockedBuffer::from_vec(vec).unwrap();
    assert_eq!(pinned.as_ptr(), address);
    let mut device = DeviceBuffer::<u32>::zeroed(4000).unwrap();
    stream.upload(&pinned, &mut device).unwrap();
    pinned.fill(7);
    stream.download(&device, &mut pinned).unwrap();
    assert!(pinned.iter().copied().eq(0..4000));
    assert!(LockedBuffer::from_vec(Vec::<u8>::new()).unwrap().is_empty());
}

#[test]
fn unified_memory_takes_advice() {
    let context = init();
    let stream = stream();
    let buffer = UnifiedBuffer::new(&3u32, 10_000).unwrap();
    let device = MemoryLocation::Device(context.device());
    for advice in [
        MemoryAdvice::ReadMostly(true),
        MemoryAdvice::ReadMostly(false),
        MemoryAdvice::PreferredLocation(Some(device)),
        MemoryAdvice::PreferredLocation(Some(MemoryLocation::Host)),
        MemoryAdvice::PreferredLocation(None),
        MemoryAdvice::AccessedBy(device, true),
        MemoryAdvice::AccessedBy(device, false),
    ] {
        buffer.advise(advice).unwrap();
    }
    buffer.prefetch(device, &stream).unwrap();
    buffer.prefetch(MemoryLocation::Host, &stream).unwrap();
    assert!(buffer.iter().all(|&x| x == 3));
}

#[test]
fn streams_write_and_wait_for_values() {
    let _context = init();
    let (writer, waiter) = (stream(), stream());
    let mut pooled = DeviceBox::new(&0u32).unwrap();
    assert!(writer.write_value(&mut pooled, 5u32).is_err());
    let mut small = DeviceBox::outside_pools(&0u32).unwrap();
    let mut large = DeviceBox::outside_pools(&0u64).unwrap();
    writer.write_value(&mut small, 5u32).unwrap();
    writer.write_value(&mut large, 1u64 << 40).unwrap();
    assert_eq!(small.as_host_value().unwrap(), 5);
    assert_eq!(large.as_host_value().unwrap(), 1 << 40);
    // SAFETY: both boxes live until the streams are done, and the values are written.
    unsafe {
        let pointer = small.as_device_ptr();
        waiter
            .wait_value(pointer, WaitUntil::AtLeast, 4u32)
            .unwrap();
        waiter.wait_value(pointer, WaitUntil::Equal, 5u32).unwrap();
        waiter
            .wait_value(pointer, WaitUntil::AnyBit, 12u32)
            .unwrap();
        let pointer = large.as_device_ptr();
        waiter
            .wait_value(pointer, WaitUntil::AtLeast, 2u64)
            .unwrap();
    }
    waiter.synchronize().unwrap();
}

#[test]
fn devices_contexts_and_streams_tell_of_themselves() {
    let context = init();
    let device = context.device();
    let id = device.pci_bus_id().unwrap();
    assert_eq!(Device::from_pci_bus_id(&id).unwrap(), device);
    assert!(Device::from_pci_bus_id("ffff:ff:1f.7").is_err());
    assert!(!device.can_access_peer(&device).unwrap());
    assert!(device.primary_context_state().unwrap().1);
    assert!(context.id().unwrap() > 0);
    assert!(context.get_api_version().unwrap() >= 3020);
    context.set_cache_config(CacheConfig::PreferL1).unwrap();
    context.get_cache_config().unwrap();
    context.reset_persisting_l2_cache().unwrap();
    context.trim_memory(0).unwrap();

    let range = context.stream_priority_range().unwrap();
    let high = Stream::new(StreamFlags::NON_BLOCKING, Some(range.greatest)).unwrap();
    assert_eq!(high.get_priority().unwrap(), range.greatest);
    assert_eq!(high.get_flags().unwrap(), StreamFlags::NON_BLOCKING);
    assert_ne!(high.id().unwrap(), stream().id().unwrap());
    cust::profiler::start().unwrap();
    cust::profiler::stop().unwrap();
}

#[test]
fn libraries_are_looked_into() {
    let _context = init();
    let library = Library::from_ptx(common::KERNELS, &[]).unwrap();
    let names = library.kernel_names().unwrap();
    assert!(names.iter().any(|name| name == "add"), "{names:?}");
    assert_eq!(library.parameter_sizes("add").unwrap(), [8; 5]);
    let threads = library.get_attribute("add", FunctionAttribute::MaxThreadsPerBlock);
    assert!(threads.unwrap() >= 32);
    assert_eq!(library.global("counter").unwrap().1, 4);
    let error = library.global("none").failure();
    assert!(matches!(error, Error::GlobalNotFound { .. }), "{error}");
    let error = library.parameter_sizes("none").failure();
    assert!(matches!(error, Error::KernelNotFound { .. }), "{error}");
    let function = Module::from_ptx(common::KERNELS, &[]).unwrap();
    let function = function.get_function("add").unwrap();
    function.load().unwrap();
    assert!(function.is_loaded().unwrap());
}
