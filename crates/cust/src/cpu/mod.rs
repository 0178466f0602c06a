//! Launches on the CPU: kernels compiled for the host, running in parallel on all cores.
//!
//! Workers take blocks from a shared counter. The threads of a block take turns ([`block`]): one
//! runs at a time, and a thread that waits for others has a stack of its own ([`stacks`]).

mod block;
mod hook;
mod stacks;

use std::mem::MaybeUninit;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use cust_core::cpu::Place;
use cust_core::kernel::{
    Access, Args, HostMemory, Kernel as KernelType, Launch as Arguments, OnCpu, Parameters, Pass,
};

use self::stacks::{Kind, STACK};
use crate::error::{CpuFault, CpuLaunch, CudaResult, Error, KernelPanic};
use crate::kernel::{Dimensions, LaunchConfig, check_block_size, launch_size};

/// The limits of devices, which apply on the CPU as well.
const MOST: Dimensions = Dimensions {
    grid: [i32::MAX as u32, u16::MAX as u32, u16::MAX as u32],
    block: [1024, 1024, 64],
    threads: 1024,
    owners: ["the CPU", "the CPU"],
};
/// The maximum dynamic shared memory of a block in bytes.
const MOST_SHARED: u32 = 227 << 10;

/// Runs a kernel on the CPU, in parallel on all cores, and returns when it is complete. No device
/// or context is needed.
///
/// The kernel accesses the slices, arrays and `Vec`s in place, without copies. Blocks run in
/// parallel. The threads of a block take turns: another thread runs when a thread waits at a
/// barrier or a warp operation, or in a loop that loads a `cuda_std::atomic::Atomic`.
///
/// A panic is returned as the same error as on a device, after all other threads have run; unlike
/// on a device, destructors run. If the program sets a panic hook after its first launch on the
/// CPU, the panic's location is not reported.
///
/// Device memory, textures, clusters, cooperative launches, tensor cores, asynchronous copies and
/// inline PTX are not supported on the CPU. A stack overflow in a kernel aborts the process, as in
/// any host function. A `static` with `#[address_space(shared)]` is shared by all blocks, whereas
/// `#[shared]` parameters and `shared_array!` are memory of each block.
///
/// A thread of the kernel runs on one OS thread, which runs no other thread of the launch until
/// that thread has exited. So each thread that waits has `thread_local!` variables of its own.
/// Threads that run one after the other on an OS thread share its variables, which are dropped
/// before this function returns. A switch between threads that wait takes several microseconds;
/// [`launch_cpu_on_fibers`] is faster for kernels with many barriers or warp operations.
///
/// A lock of the host that a thread holds at a barrier is never released if another thread of the
/// block waits for the lock: the launch hangs.
///
/// # Errors
///
/// Returns [`Error::KernelPanic`] for the panicking thread with the lowest index,
/// [`Error::LaunchSize`] if the launch configuration exceeds a limit, and [`Error::CpuLaunch`] if
/// the kernel uses an unsupported feature, its threads deadlock, or the operating system cannot
/// create a thread for each thread of a block that waits.
///
/// # Examples
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::prelude::*;
///
/// #[kernel]
/// pub fn vecadd(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
///     for (i, c) in c.own() {
///         *c = a[i] + b[i];
///     }
/// }
///
/// let (a, b) = ([1.0; 1000], vec![2.0; 1000]);
/// let mut c = vec![0.0; 1000];
/// cust::launch_cpu((4, 256), vecadd::args(&a, &b, &mut c))?;
/// assert_eq!(c, [3.0; 1000]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub fn launch_cpu<K: OnCpu, A: Pass>(
    config: impl Into<LaunchConfig>,
    args: Args<K, A>,
) -> CudaResult<()> {
    launch(&config.into(), args, Kind::OsThreads)
}

/// Like [`launch_cpu`], but the threads of a block are fibers of one OS thread, which makes
/// switches at barriers and warp operations faster.
///
/// # Safety
///
/// The threads of a block share the `thread_local!` variables of their OS thread, also while they
/// wait. While a thread executes the initializer of such a variable, it must not wait at a barrier
/// or a warp operation, nor use a `cuda_std::atomic::Atomic`: another thread of the block could
/// initialize the variable meanwhile, and the value that this thread refers to would be dropped
/// when the first initializer returns. Variables initialized by a `const` block are exempt.
///
/// Unsafe code that relies on a thread-local variable of the OS thread must not wait in between
/// either.
///
/// # Errors
///
/// As for [`launch_cpu`].
///
/// # Examples
///
/// ```
/// use cuda_std::prelude::*;
/// use cust::prelude::*;
///
/// /// The sum of each warp's elements.
/// #[kernel]
/// pub fn sums(from: &[u32], mut to: PerThread<u32>) {
///     for (i, to) in to.own() {
///         *to = warp::reduce_add(warp::FULL, from[i]);
///     }
/// }
///
/// let (from, mut to) = ([1; 64], [0; 64]);
/// // SAFETY: the kernel and the functions that it calls have no thread-local variables.
/// unsafe { cust::launch_cpu_on_fibers((1, 64), sums::args(&from, &mut to)) }?;
/// assert_eq!(to, [32; 64]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub unsafe fn launch_cpu_on_fibers<K: OnCpu, A: Pass>(
    config: impl Into<LaunchConfig>,
    args: Args<K, A>,
) -> CudaResult<()> {
    launch(&config.into(), args, Kind::Fibers)
}

fn launch<K: OnCpu, A: Pass>(
    config: &LaunchConfig,
    args: Args<K, A>,
    kind: Kind,
) -> CudaResult<()> {
    let mut collector = Collector::default();
    args.pass(&mut collector);
    check::<K>(config, &collector)?;
    let grid_dim = [config.grid.x, config.grid.y, config.grid.z];
    let block_dim = [config.block.x, config.block.y, config.block.z];
    let mut launch = Launch {
        kernel: K::shown(),
        run: K::run,
        bytes: &collector.bytes,
        places: &collector.places,
        place: Place {
            block_dim,
            grid_dim,
            ..Place::default()
        },
        blocks: grid_dim.iter().map(|&n| u64::from(n)).product(),
        threads: block_dim.iter().product(),
        dynamic_shared: config.shared_mem_bytes,
        next: AtomicU64::new(0),
        chunk: 0,
        stopped: AtomicBool::new(false),
        fault: Mutex::new(None),
        panic: Mutex::new(None),
    };
    launch.run(kind)
}

/// Checks the arguments and the launch configuration.
fn check<K: KernelType>(config: &LaunchConfig, collector: &Collector<'_>) -> CudaResult<()> {
    if cfg!(panic = "abort") {
        return Err(fault(K::shown(), CpuFault::NoUnwinding));
    }
    if let Some(type_name) = collector.on_device {
        return Err(fault(K::shown(), CpuFault::DeviceMemory(type_name())));
    }
    if config.cooperative || config.cluster.is_some() {
        let what = if config.cooperative {
            "cooperative launches"
        } else {
            "clusters"
        };
        return Err(fault(K::shown(), CpuFault::Unsupported(what.to_owned())));
    }
    check_block_size::<K>(config)?;
    MOST.check(K::shown(), config)?;
    if config.shared_mem_bytes > MOST_SHARED {
        let reason = format!(
            "a block has {} bytes of dynamic shared memory, and the CPU allows {MOST_SHARED}",
            config.shared_mem_bytes
        );
        return Err(launch_size(K::shown(), config, reason));
    }
    Ok(())
}

fn fault(kernel: &str, reason: CpuFault) -> Error {
    Error::CpuLaunch(Box::new(CpuLaunch {
        kernel: kernel.to_owned(),
        reason,
    }))
}

/// The arguments of a launch, in the format that the kernel's threads read.
#[derive(Default)]
struct Collector<'a> {
    /// The bytes of all arguments, without padding between them.
    bytes: Vec<MaybeUninit<u8>>,
    /// For each argument passed by value, its offset in `bytes` and the address of the original.
    places: Vec<(usize, *const MaybeUninit<u8>)>,
    /// The type of the last parameter.
    last: Option<fn() -> &'static str>,
    /// The type of an argument in device memory.
    on_device: Option<fn() -> &'static str>,
    arguments: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> for Collector<'a> {
    fn parameter(&mut self, bytes: &'a [MaybeUninit<u8>], type_name: fn() -> &'static str) {
        if !bytes.is_empty() {
            self.places.push((self.bytes.len(), bytes.as_ptr()));
            self.bytes.extend_from_slice(bytes);
        }
        self.last = Some(type_name);
    }

    fn resource(&mut self, _: &'a dyn std::any::Any, _: Access, _: u64, _: usize) {
        self.on_device = self.on_device.or(self.last);
    }

    fn host(&mut self, memory: HostMemory<'a>) {
        // Store the pointer itself instead of an integer, to keep its provenance.
        let pointer = memory.pointer();
        self.bytes
            .extend_from_slice(cust_core::kernel::bytes_of(&pointer));
        for size in memory.sizes() {
            self.bytes
                .extend_from_slice(cust_core::kernel::bytes_of(size));
        }
        self.last = Some(memory.type_name());
    }
}

/// A running launch.
struct Launch<'a> {
    kernel: &'static str,
    run: unsafe fn(&mut Parameters<'_>),
    bytes: &'a [MaybeUninit<u8>],
    places: &'a [(usize, *const MaybeUninit<u8>)],
    /// The grid and block dimensions, which are the same for all threads.
    place: Place,
    blocks: u64,
    /// The number of threads per block.
    threads: u32,
    dynamic_shared: u32,
    /// The next block that no worker has taken.
    next: AtomicU64,
    /// The number of blocks that a worker takes at a time.
    chunk: u64,
    stopped: AtomicBool,
    fault: Mutex<Option<CpuFault>>,
    /// The panic of the thread with the lowest index, and that index.
    panic: Mutex<Option<(u64, Box<KernelPanic>)>>,
}

// SAFETY: the pointers refer to the arguments, which the launch borrows. Kernel parameters can be
// shared by threads, on the CPU as on a device.
unsafe impl Sync for Launch<'_> {}

impl Launch<'_> {
    fn run(&mut self, kind: Kind) -> CudaResult<()> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
        // Each thread of a block may need a stack, which takes two memory mappings, and four if it
        // is of an OS thread, which has a stack for signals as well. Linux allows 65530 mappings
        // per process.
        let stacks = match kind {
            Kind::OsThreads => 14 << 10,
            Kind::Fibers => 28 << 10,
        };
        let most = stacks / u64::from(self.threads);
        let workers = cores.min(most).min(self.blocks);
        // Large enough to make the cost of the counter negligible, small enough to balance the
        // load.
        self.chunk = (self.blocks / (workers * 32)).clamp(1, 1024);
        let launch = &*self;
        std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for _ in 0..workers {
                let worker = Builder::new()
                    .name(format!("kernel {}", launch.kernel))
                    .stack_size(STACK);
                match worker.spawn_scoped(scope, || block::work(launch, kind)) {
                    Ok(handle) => handles.push(handle),
                    Err(error) => launch.fail(CpuFault::System(error.to_string())),
                }
            }
            // Unlike the scope, waits for the destructors of thread-local variables.
            for handle in handles {
                handle.join().expect("a worker aborts instead of unwinding");
            }
        });
        let take = |fault: &Mutex<Option<CpuFault>>| {
            let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.take()
        };
        if let Some(reason) = take(&self.fault) {
            return Err(self::fault(self.kernel, reason));
        }
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        match panic.take() {
            Some((_, panic)) => Err(Error::KernelPanic(panic)),
            None => Ok(()),
        }
    }

    /// Returns the next blocks for a worker, or an empty range if none are left.
    fn take_blocks(&self) -> Range<u64> {
        if self.stopped.load(Ordering::Relaxed) {
            return 0..0;
        }
        let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        first.min(self.blocks)..first.saturating_add(self.chunk).min(self.blocks)
    }

    /// Stops the launch with an error.
    fn fail(&self, reason: CpuFault) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(reason);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Records a panic of the thread with this index.
    fn panicked(&self, thread: u64, panic: KernelPanic) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| thread < *other) {
            *first = Some((thread, Box::new(panic)));
        }
    }
}
