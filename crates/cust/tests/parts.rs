//! Launch attributes, green contexts and mipmapped arrays.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::sync::Arc;

use common::{backend, init, stream};
use cust::error::{CudaError, Error};
use cust::green_context::GreenContext;
use cust::kernel::{AccessWindow, CacheProperty, ClusterPolicy, SyncDomain};
use cust::memory::{ArrayFlags, MipmappedArray};
use cust::prelude::*;
use cust::texture::{FilterMode, MipmappedTexture, TextureConfig};
use kernels::*;
use test_outcome::Failure;

/// Returns whether the device has at least this compute capability; the emulator supports all
/// attributes.
fn has(context: &Context, capability: (u32, u32)) -> bool {
    backend() == Backend::Emulator || context.device().compute_capability().unwrap() >= capability
}

#[test]
fn launches_have_attributes() {
    let context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut value = DeviceBuffer::<f32>::zeroed(64).unwrap();
    let (a, b) = (
        DeviceBuffer::from_slice(&[1.0f32; 64]).unwrap(),
        DeviceBuffer::from_slice(&[2.0f32; 64]).unwrap(),
    );
    let plain = LaunchConfig::new(2, 32);
    let window = AccessWindow {
        address: a.as_device_ptr().as_raw(),
        bytes: 256,
        hit_percent: 50,
        hit: CacheProperty::Streaming,
        miss: CacheProperty::Normal,
    };
    let mut configs = vec![
        plain.priority(0),
        plain.shared_memory_carveout(50),
        plain.access_window(window),
        plain.cooperative(),
    ];
    if has(&context, (9, 0)) {
        configs.push(plain.sync_domain(SyncDomain::Remote));
        configs.push(plain.cluster_policy(ClusterPolicy::Spread));
    }
    for config in configs {
        assert_ne!(config, plain);
        value.set_zero().unwrap();
        module
            .launch(&stream, config, add::args(&a, &b, &mut value))
            .unwrap_or_else(|error| panic!("{config:?}: {error}"));
        assert_eq!(value.as_host_vec().unwrap(), [3.0; 64], "{config:?}");
    }
}

#[test]
fn a_programmatic_launch_is_done_after_what_it_waits_for() {
    let context = init();
    if !has(&context, (9, 0)) {
        test_outcome::skip("compute capability below 9.0");
        return;
    }
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let before = module.global::<TICKS>().unwrap().load().unwrap();
    // SAFETY: the kernel only counts atomically.
    let config = unsafe { LaunchConfig::new(1, 1).programmatic() };
    for _ in 0..10 {
        module.launch(&stream, config, tick::args()).unwrap();
    }
    assert_eq!(
        module.global::<TICKS>().unwrap().load().unwrap(),
        before + 10
    );
    let kernel = module.kernel::<tick>().unwrap();
    let mut graph = GraphBuilder::new().unwrap();
    let error = graph.launch(&kernel, config, tick::args()).failure();
    assert_eq!(error, Error::GraphLaunchAttribute);
    let node = graph.launch(&kernel, LaunchConfig::new(1, 1).priority(0), tick::args());
    let node = node.unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(
        module.global::<TICKS>().unwrap().load().unwrap(),
        before + 11
    );
    let changed = graph.set_launch(
        node,
        &kernel,
        LaunchConfig::new(1, 1).priority(0),
        tick::args(),
    );
    assert_eq!(changed.failure(), Error::GraphLaunchAttribute);
}

#[test]
fn parts_of_a_device_have_streams_of_their_own() {
    let context = init();
    let all = match context.device().multiprocessors() {
        Ok(all) => all,
        Err(error) if error.code() == Some(CudaError::NotFound) => {
            test_outcome::skip("the driver has no green contexts");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(all.count() > 0);
    let (parts, rest) = all.split(1, 1).unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].count() + rest.count(), all.count());
    // Some drivers return no group, others an error.
    let too_many = all.split(1, all.count() + 1);
    assert!(too_many.map_or(true, |(parts, _)| parts.is_empty()));
    assert!(GreenContext::new(&context, &[]).is_err());
    let green = GreenContext::new(&context, &parts).unwrap();
    assert_eq!(green.multiprocessors().unwrap().count(), parts[0].count());
    let (first, second) = (green.stream(None).unwrap(), stream());
    // The stream keeps the green context alive.
    drop(green);
    let module = KERNELS.load().unwrap();
    let a = DeviceBuffer::from_slice(&[1.0f32; 64]).unwrap();
    let mut b = DeviceBuffer::<f32>::zeroed(64).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(64).unwrap();
    module
        .launch(&first, (1, 64), add::args(&a, &a, &mut b))
        .unwrap();
    // In a stream of the whole device, which waits for the other stream.
    module
        .launch(&second, (1, 64), add::args(&a, &b, &mut c))
        .unwrap();
    assert_eq!(c.as_host_vec().unwrap(), [3.0; 64]);
    first.synchronize().unwrap();
}

#[test]
fn arrays_have_levels() {
    let _context = init();
    let mut array = MipmappedArray::<f32>::new((8, 4), 3, ArrayFlags::empty()).unwrap();
    assert_eq!(array.levels(), 3);
    for (level, size) in [(0, 32), (1, 8), (2, 2)] {
        let values: Vec<f32> = (0..size).map(|i| (100 * level + i) as f32).collect();
        let mut level = array.level_mut(level).unwrap();
        level.copy_from(&values).unwrap();
        assert_eq!(level.as_host_vec().unwrap(), values);
    }
    let first = array.level(0).unwrap().as_host_vec().unwrap();
    assert_eq!(first[31], 31.0);
    assert!(MipmappedArray::<f32>::new((8, 4), 9, ArrayFlags::empty()).is_err());
    let config = TextureConfig {
        mipmap_filter: FilterMode::Linear,
        normalized_coordinates: true,
        mipmap_levels: [0.0, 2.0],
        ..TextureConfig::default()
    };
    match MipmappedTexture::new(Arc::new(array), &config) {
        Ok(texture) => assert_ne!(texture.as_raw(), 0),
        Err(error) => {
            assert_eq!(backend(), Backend::Emulator, "{error}");
            assert_eq!(error.code(), Some(CudaError::NotSupported));
        }
    }
}
