//! Launches on the CPU: the same kernels, natively, in parallel over the cores.
//!
//! Worker threads take blocks from a common counter. The threads of a block run on one worker, one after
//! the other; a thread that waits for others is suspended, as each has a stack of its own ([`block`]).

mod block;
mod hook;

use std::mem::MaybeUninit;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cust_core::cpu::Place;
use cust_core::kernel::{
    Access, Args, HostMemory, Kernel as KernelType, Launch as Arguments, OnCpu, Parameters, Pass,
};

use crate::error::{CpuFault, CpuLaunch, CudaResult, Error, KernelPanic, LaunchSize};
use crate::kernel::{LaunchConfig, check_block_size};

/// The limits of devices, which hold here too.
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, u16::MAX as u32, u16::MAX as u32];
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
const MOST_SHARED: u32 = 227 << 10;

/// Runs a kernel on the CPU, natively and in parallel over the cores, and returns when it is done. It
/// needs neither a device nor a context.
///
/// ```text
/// cust::launch_cpu((blocks, threads), vecadd::args(&a, &b, &mut c))?;
/// ```
///
/// The kernel works on the slices, arrays and `Vec`s themselves, without copies. Blocks run in
/// parallel, and the threads of a block in turns: the next one runs where a thread waits at a barrier, at
/// an operation of its warp, or in a loop that loads a `cuda_std::atomic::Atomic`. A panic becomes the same
/// error as on a device, after all other threads have run; destructors run as well. A panic hook that the
/// program sets after its first launch on the CPU hides the location.
///
/// Memory of the device, textures, clusters, cooperative launches, tensor cores, asynchronous copies
/// and PTX have no form on the CPU. A kernel whose stack overflows ends the process, as a function of
/// the host does, and a `static` with `#[address_space(shared)]` is one for all blocks: `#[shared]`
/// parameters and `shared_array!` are memory of the block.
///
/// # Errors
///
/// [`Error::KernelPanic`] for the panicking thread of the lowest number, [`Error::LaunchSize`], and
/// [`Error::CpuLaunch`] for what has no form on the CPU and for threads that wait for each other in vain.
pub fn launch_cpu<K: OnCpu, A: Pass>(
    config: impl Into<LaunchConfig>,
    args: Args<K, A>,
) -> CudaResult<()> {
    let config = config.into();
    let mut collector = Collector::default();
    args.pass(&mut collector);
    check::<K>(&config, &collector)?;
    let grid_dim = [config.grid.x, config.grid.y, config.grid.z];
    let block_dim = [config.block.x, config.block.y, config.block.z];
    let launch = Launch {
        kernel: K::NAME,
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
        stopped: AtomicBool::new(false),
        fault: Mutex::new(None),
        panic: Mutex::new(None),
    };
    launch.run()
}

/// Refuses what no launch on the CPU can have.
fn check<K: KernelType>(config: &LaunchConfig, collector: &Collector<'_>) -> CudaResult<()> {
    if cfg!(panic = "abort") {
        return Err(fault(K::NAME, CpuFault::NoUnwinding));
    }
    if let Some(type_name) = collector.on_device {
        return Err(fault(K::NAME, CpuFault::DeviceMemory(type_name())));
    }
    if config.cooperative || config.cluster.is_some() {
        let what = if config.cooperative {
            "cooperative launches"
        } else {
            "clusters"
        };
        return Err(fault(K::NAME, CpuFault::Unsupported(what.to_owned())));
    }
    check_block_size::<K>(config)?;
    let refuse = |reason: String| {
        Err(Error::LaunchSize(Box::new(LaunchSize {
            kernel: K::NAME.to_owned(),
            grid: config.grid,
            block: config.block,
            reason,
        })))
    };
    let (grid, block) = (config.grid, config.block);
    let dimensions = [
        ("grid", "blocks", [grid.x, grid.y, grid.z], MOST_BLOCKS),
        (
            "block",
            "threads",
            [block.x, block.y, block.z],
            MOST_THREADS,
        ),
    ];
    for (what, of, sizes, most) in dimensions {
        for ((axis, size), most) in ["x", "y", "z"].iter().zip(sizes).zip(most) {
            if size == 0 {
                return refuse(format!("the {what} has no {of} along {axis}"));
            }
            if size > most {
                return refuse(format!(
                    "the {what} has {size} {of} along {axis}, and the CPU allows {most}"
                ));
            }
        }
    }
    let threads = u64::from(block.x) * u64::from(block.y) * u64::from(block.z);
    if threads > 1024 {
        return refuse(format!(
            "a block has {threads} threads, and the CPU allows 1024"
        ));
    }
    let blocks = u128::from(grid.x) * u128::from(grid.y) * u128::from(grid.z);
    let all = blocks * u128::from(threads);
    if all > u128::from(u64::MAX >> 1) {
        return refuse(format!(
            "the grid has {all} threads, which nothing can count"
        ));
    }
    if config.shared_mem_bytes > MOST_SHARED {
        return refuse(format!(
            "a block has {} bytes of dynamic shared memory, and the CPU allows {MOST_SHARED}",
            config.shared_mem_bytes
        ));
    }
    Ok(())
}

fn fault(kernel: &str, reason: CpuFault) -> Error {
    Error::CpuLaunch(Box::new(CpuLaunch {
        kernel: kernel.to_owned(),
        reason,
    }))
}

/// The arguments of a launch, as the kernel's threads read them.
#[derive(Default)]
struct Collector<'a> {
    /// One after the other, without gaps.
    bytes: Vec<MaybeUninit<u8>>,
    /// Where each starts, and where the argument itself is.
    places: Vec<(usize, *const MaybeUninit<u8>)>,
    last: Option<fn() -> &'static str>,
    /// The type of an argument in memory of a device.
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
        // The pointer itself, not its address: it is what gives access to the memory.
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

/// A launch that runs.
struct Launch<'a> {
    kernel: &'static str,
    run: unsafe fn(&mut Parameters<'_>),
    bytes: &'a [MaybeUninit<u8>],
    places: &'a [(usize, *const MaybeUninit<u8>)],
    /// Where all threads have the same.
    place: Place,
    blocks: u64,
    /// The threads of a block.
    threads: u32,
    dynamic_shared: u32,
    /// The next block that no worker has.
    next: AtomicU64,
    stopped: AtomicBool,
    fault: Mutex<Option<CpuFault>>,
    /// The panic of the thread with the lowest number.
    panic: Mutex<Option<(u64, Box<KernelPanic>)>>,
}

// SAFETY: the pointers are to the arguments, which the launch borrows. That threads may share them is what
// a kernel's parameters promise: the same holds for the threads of a device.
unsafe impl Sync for Launch<'_> {}

impl Launch<'_> {
    fn run(&self) -> CudaResult<()> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
        // Each thread of a block may need a stack, which is two mappings, of which Linux allows 65530.
        let most = (28 << 10) / u64::from(self.threads);
        let workers = cores.min(most).min(self.blocks);
        // Blocks of a worker at a time: enough that the counter costs nothing, few enough that all workers
        // are done at the same time.
        let chunk = (self.blocks / (workers * 32)).clamp(1, 1024);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let worker = std::thread::Builder::new().name(format!("kernel {}", self.kernel));
                if let Err(error) = worker.spawn_scoped(scope, || self.work(chunk)) {
                    self.fail(CpuFault::System(error.to_string()));
                }
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

    /// Runs blocks until there are none.
    fn work(&self, chunk: u64) {
        hook::install();
        block::with_worker(self, |worker| {
            while !self.stopped.load(Ordering::Relaxed) {
                let first = self.next.fetch_add(chunk, Ordering::Relaxed);
                if first >= self.blocks {
                    break;
                }
                for block in first..(first + chunk).min(self.blocks) {
                    if !worker.run(block) {
                        return;
                    }
                }
            }
        });
    }

    /// Ends the launch with an error.
    fn fail(&self, reason: CpuFault) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(reason);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Records a panic of the thread of this number.
    fn panicked(&self, thread: u64, panic: KernelPanic) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| thread < *other) {
            *first = Some((thread, Box::new(panic)));
        }
    }
}
