//! Unified and pinned memory on a device that shares memory with the host as on Windows: the host
//! must not access managed memory while kernels run, and registered host memory has another address
//! on the device. Runs on the emulator only, which can be such a device.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::stream;
use cust::error::Error;
use cust::memory::{MemoryAdvice, MemoryLocation};
use cust::prelude::*;
use cust_raw::{CUmemorytype, CUpointer_attribute};
use kernels::*;
use ptx_emulator::driver::{Schedule, Sharing, set_schedule, set_sharing};

const LEN: usize = 1000;

/// Creates a context, for one test at a time: freeing memory waits for the work of all tests.
fn init() -> (Context, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_sharing(Sharing::Limited);
    set_schedule(Schedule::Deferred);
    let context = cust::quick_init_on(Backend::Emulator);
    (context.expect("the device can be used"), turn)
}

fn config() -> LaunchConfig {
    LaunchConfig::for_elements(LEN, 256)
}

/// Returns whether the memory at an address is managed, and its type.
fn kind(context: &Context, address: u64) -> (bool, CUmemorytype) {
    let (mut managed, mut memory) = (false, CUmemorytype::CU_MEMORYTYPE_DEVICE);
    let driver = context.driver().unwrap();
    // SAFETY: the pointers are valid for the calls, and have the attributes' types.
    unsafe {
        let data: *mut c_void = (&raw mut managed).cast();
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
        let _ = driver.cuPointerGetAttribute(data, attribute, address);
        let data: *mut c_void = (&raw mut memory).cast();
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let _ = driver.cuPointerGetAttribute(data, attribute, address);
    }
    (managed, memory)
}

#[test]
fn the_host_may_access_unified_memory_while_kernels_run() {
    let (context, _turn) = init();
    let device = context.device();
    let attribute = cust::device::DeviceAttribute::ConcurrentManagedAccess;
    assert_eq!(device.get_attribute(attribute).unwrap(), 0);
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let ones = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut sum = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let mut unified = UnifiedBuffer::new(&2.0f32, LEN).unwrap();
    let address = unified.as_device_ptr().as_raw();
    let pinned = (false, CUmemorytype::CU_MEMORYTYPE_HOST);
    assert_eq!(kind(&context, address), pinned);
    assert_eq!(address, unified.as_slice().as_ptr().addr() as u64);

    let args = add::args(&ones, &ones, &mut sum);
    module.launch(&stream, config(), args).unwrap();
    // The kernel is pending, and does not use the memory.
    unified[0] = 5.0;
    assert_eq!(unified[..2], [5.0, 2.0]);
    assert!(!stream.query().unwrap());

    let args = add::args(&ones, &sum, &mut unified);
    module.launch(&stream, config(), args).unwrap();
    assert_eq!(unified[..], [3.0; LEN]);
    let args = add::args(&unified, &ones, &mut sum);
    module.launch(&stream, config(), args).unwrap();
    unified[0] = 0.0;
    assert_eq!(sum.as_host_vec().unwrap(), [4.0; LEN]);
    drop(unified);
    assert_eq!(*UnifiedBox::new(7u8).unwrap(), 7);
}

#[test]
fn advice_about_pinned_memory_has_no_effect() {
    let (context, _turn) = init();
    let unified = UnifiedBuffer::new(&1u32, LEN).unwrap();
    let here = MemoryLocation::Device(context.device());
    unified.advise(MemoryAdvice::ReadMostly(true)).unwrap();
    unified
        .advise(MemoryAdvice::AccessedBy(here, true))
        .unwrap();
    let stream = stream();
    unified.prefetch(here, &stream).unwrap();
    assert_eq!(unified[..], [1; LEN]);
}

#[test]
fn kernels_access_a_pinned_vector_at_its_device_address() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let twos = LockedBuffer::from_vec(vec![2.0f32; LEN]).unwrap();
    let mut sum = LockedBuffer::from_vec(vec![0.0f32; LEN]).unwrap();
    let args = add::args(&twos, &twos, &mut sum);
    module.launch(&stream, config(), args).unwrap();
    assert_eq!(sum[..], [4.0; LEN]);

    let mut device = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    stream.upload(&sum, &mut device).unwrap();
    sum.fill(9.0); // after the copy
    assert_eq!(device.as_host_vec().unwrap(), [4.0; LEN]);
    let args = add::args(&sum, &twos, &mut device);
    module.launch(&stream, config(), args).unwrap();
    stream.download(&device, &mut sum).unwrap();
    assert_eq!(sum[..], [11.0; LEN]);
    device.copy_from(&twos[..]).unwrap();
    assert_eq!(device.as_host_vec().unwrap(), [2.0; LEN]);
}

#[test]
fn nodes_of_a_graph_access_a_pinned_vector_at_the_address_that_they_need() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut graph = GraphBuilder::new().unwrap();
    let pinned = || LockedBuffer::from_vec(vec![2.0f32; LEN]).unwrap();
    let (from, to) = (graph.buffer(pinned()), graph.buffer(pinned()));
    let cleared = graph.buffer(pinned());
    let device = graph.buffer(DeviceBuffer::<f32>::zeroed(LEN).unwrap());
    graph.set_zero(cleared).unwrap();
    graph.copy(from, device).unwrap();
    let kernel = module.kernel::<add>().unwrap();
    let args = add::args(from.read(), device.read(), to.write());
    graph.launch(&kernel, config(), args).unwrap();
    graph.copy(to, device).unwrap();
    graph.copy(device, from).unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to)[..], [4.0; LEN]);
    assert_eq!(graph.get(from)[..], [4.0; LEN]);
    assert_eq!(graph.get(cleared)[..], [0.0; LEN]);
}

#[test]
fn a_vector_of_elements_with_a_large_alignment_is_refused() {
    #[derive(Debug, Clone, Copy, DeviceCopy)]
    #[repr(align(8192))]
    struct Wide;
    #[derive(Debug, Clone, Copy, DeviceCopy)]
    #[repr(align(8192))]
    struct Page(u8);

    let _context = init();
    // The device's address is aligned to pages only, whatever the host's.
    let error = LockedBuffer::from_vec(vec![Page(1); 3]).unwrap_err();
    assert!(matches!(error, Error::Alignment { align: 8192, .. }));
    assert_eq!(LockedBuffer::from_vec(vec![Wide; 3]).unwrap().len(), 3);
}
