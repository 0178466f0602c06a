//! Launches a kernel. Its blocks are distributed over the host's cores. The threads of a block, or
//! of all blocks of a cluster, run one after another on one core (`cluster`), and synchronize at
//! barriers and warp operations (`sync`).
//!
//! A block that only spins gives its core to other blocks, so that kernels whose blocks wait for
//! each other complete.

mod cluster;
pub(crate) mod element;
pub(crate) mod matrix;
pub(crate) mod sync;
mod time;

use std::collections::VecDeque;
use std::io::Write;
use std::iter::zip;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::exec::call::Frame;
use crate::exec::{CACHE_SIZE, Context, Event, Inst, RANK_SHIFT, Regs, SHARED_START};
use crate::fault::{Fault, FaultKind};
use crate::memory::{Memory, Range};
use crate::program::{KernelId, Program};
use cluster::{Cluster, Outcome};

/// The maximum number of threads in a block.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The maximum number of blocks in a cluster.
pub const MAX_BLOCKS_PER_CLUSTER: u64 = 16;

/// The destination of `vprintf` output.
pub type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// The dimensions and parameters of a launch.
#[derive(Clone)]
pub struct LaunchConfig {
    /// The grid dimensions in blocks.
    pub grid: [u32; 3],
    /// The block dimensions in threads.
    pub block: [u32; 3],
    /// The cluster dimensions in blocks, or `None` for those that the kernel requires.
    pub cluster: Option<[u32; 3]>,
    /// Whether the launch is cooperative. Blocks may wait for each other in any launch.
    pub cooperative: bool,
    /// The size of dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// The bytes of the parameters, each at the offset in its [`crate::ParamInfo`].
    pub params: Vec<u8>,
    /// The stack bytes of each thread. As with the driver, a kernel without recursion and calls
    /// through pointers gets the stack that it needs, even if that is more.
    pub stack_limit: usize,
    /// Receives the kernel's output, one call for each `vprintf`; `None` is the process's stdout.
    pub output: Option<Output>,
    /// The limit of the device heap in bytes.
    pub heap_limit: usize,
}

impl Default for LaunchConfig {
    /// One thread, with CUDA's default limits.
    fn default() -> Self {
        LaunchConfig {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            cooperative: false,
            shared_bytes: 0,
            params: Vec::new(),
            stack_limit: 1024,
            output: None,
            heap_limit: 8 << 20,
        }
    }
}

/// Statistics of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchStats {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of threads.
    pub threads: u64,
    /// The duration of the launch.
    pub elapsed: Duration,
}

/// State shared by all workers of a launch.
pub(crate) struct Shared<'l> {
    pub memory: &'l Memory,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// The cluster dimensions in blocks; one block without clusters.
    pub cluster: [u32; 3],
    pub explicit_cluster: bool,
    pub cooperative: bool,
    pub kernel: u32,
    pub dynamic_shared: u32,
    pub total_shared: u32,
    /// The shared memory of a block in bytes.
    pub shared_bytes: u32,
    pub stack_limit: usize,
    pub heap_limit: u64,
    pub workers: u32,
    pub grid_id: u64,
    /// The number of blocks that have completed.
    pub ended_blocks: AtomicU64,
    output: Option<&'l Output>,
    params: &'l [u128],
    params_len: u64,
    stop: AtomicBool,
    /// The start and the time limit of the launch.
    time: time::Time,
}

impl Shared<'_> {
    pub fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    pub fn blocks_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Returns the distance in bytes between the shared memory of consecutive blocks of a cluster.
    pub fn shared_stride(&self) -> u64 {
        u64::from(self.shared_bytes).next_multiple_of(16)
    }

    pub fn write_output(&self, bytes: &[u8]) {
        match self.output {
            Some(output) => output(bytes),
            None => {
                // A closed stdout does not fail the kernel.
                let mut stdout = std::io::stdout().lock();
                let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
            }
        }
    }
}

/// A running thread of the kernel.
pub(crate) struct Thread {
    pub tid: [u32; 3],
    /// The index in the block.
    pub index: u32,
    /// The next instruction.
    pub next: *const Inst,
    pub function: u32,
    pub registers: Vec<u64>,
    /// The start of the current frame's registers.
    pub register_base: usize,
    pub stack: Vec<u128>,
    /// The start and the end of the current frame's memory.
    pub base: usize,
    pub top: usize,
    /// The bytes of the stack limit in use.
    pub used: usize,
    pub frames: Vec<Frame>,
    /// The phase of the cluster barrier in which the thread last arrived, from 1.
    pub cluster_arrivals: u64,
}

// SAFETY: the pointers refer to the program's code, which outlives the launch and does not change.
unsafe impl Send for Thread {}

impl Thread {
    fn new() -> Box<Thread> {
        Box::new(Thread {
            tid: [0; 3],
            index: 0,
            next: std::ptr::null(),
            function: 0,
            registers: Vec::new(),
            register_base: 0,
            stack: Vec::new(),
            base: 0,
            top: 0,
            used: 0,
            frames: Vec::new(),
            cluster_arrivals: 0,
        })
    }

    /// Returns the registers of the current frame.
    pub fn registers(&mut self) -> *mut u64 {
        // SAFETY: the base is at most the length.
        unsafe { self.registers.as_mut_ptr().add(self.register_base) }
    }

    fn regs(&mut self) -> Regs {
        Regs(self.registers())
    }
}

/// Clusters that wait for a worker.
struct Queue {
    next: u64,
    total: u64,
    suspended: VecDeque<Box<Cluster>>,
    /// The number of clusters that have started and not completed.
    resident: usize,
    /// The number of suspended clusters resumed since the last one was started.
    resumed: usize,
    fault: Option<Fault>,
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts a linear index to x, y and z.
fn place(index: u64, [x, y, _]: [u64; 3]) -> [u64; 3] {
    [index % x, index / x % y, index / x / y]
}

/// Runs a grid to completion, with blocks in parallel on the host's cores.
///
/// # Errors
///
/// Returns the fault of a kernel, or of an invalid launch.
// Faults are rare and detailed; boxing them would burden all callers.
#[allow(clippy::result_large_err)]
pub fn launch(
    program: &Program,
    kernel: KernelId,
    config: &LaunchConfig,
) -> Result<LaunchStats, Fault> {
    static GRIDS: AtomicU64 = AtomicU64::new(1);
    let start = Instant::now();
    let info = program.kernel_info(kernel);
    let code = program.code();
    let refuse = |message: String| Fault {
        kind: FaultKind::InvalidLaunch,
        message,
        kernel: info.name.clone(),
        function: info.name.clone(),
        block: [0; 3],
        thread: [0; 3],
        ptx_line: 0,
        source_location: None,
    };
    let volume = |size: [u32; 3]| {
        size.iter()
            .try_fold(1u64, |product, &side| product.checked_mul(side.into()))
    };
    let Some(blocks @ 1..) = volume(config.grid) else {
        return Err(refuse(format!(
            "invalid grid dimensions {:?}: each must be at least 1",
            config.grid
        )));
    };
    let threads = match volume(config.block) {
        Some(threads) if (1..=u64::from(MAX_THREADS_PER_BLOCK)).contains(&threads) => threads,
        _ => {
            return Err(refuse(format!(
                "invalid block dimensions {:?}: a block has 1 to {MAX_THREADS_PER_BLOCK} threads",
                config.block
            )));
        }
    };
    if info.max_threads.is_some_and(|max| threads > u64::from(max)) {
        let message = format!(
            "block dimensions {:?} exceed the maximum number of threads that the kernel was compiled for",
            config.block
        );
        return Err(refuse(message));
    }
    if config.params.len() < info.params_size {
        let (given, wanted) = (config.params.len(), info.params_size);
        return Err(refuse(format!(
            "expected {wanted} bytes of parameters, found {given}"
        )));
    }
    let mut params = vec![0u128; config.params.len().div_ceil(16)];
    for (word, bytes) in params.iter_mut().zip(config.params.chunks(16)) {
        let mut buffer = [0; 16];
        buffer[..bytes.len()].copy_from_slice(bytes);
        *word = u128::from_le_bytes(buffer);
    }
    let static_shared = code.dynamic_shared_base - SHARED_START;
    let Some(shared_bytes) = static_shared.checked_add(config.shared_bytes) else {
        return Err(refuse(format!(
            "invalid size of dynamic shared memory: {} bytes",
            config.shared_bytes
        )));
    };
    let explicit = config.cluster.or(info.required_cluster);
    let cluster = explicit.unwrap_or([1; 3]);
    let in_cluster = volume(cluster).filter(|count| (1..=MAX_BLOCKS_PER_CLUSTER).contains(count));
    let divides = |(size, part): (u32, u32)| part > 0 && size.is_multiple_of(part);
    let Some(in_cluster) = in_cluster.filter(|_| zip(config.grid, cluster).all(divides)) else {
        return Err(refuse(format!(
            "invalid cluster dimensions {cluster:?}: they must divide the grid {:?} and have at most {MAX_BLOCKS_PER_CLUSTER} blocks",
            config.grid
        )));
    };
    if config.cluster.is_some() && info.required_cluster.is_some_and(|size| size != cluster) {
        return Err(refuse(format!(
            "cluster dimensions {cluster:?} differ from those that the kernel was compiled for"
        )));
    }
    if explicit.is_some() && shared_bytes > (1 << RANK_SHIFT) - SHARED_START {
        return Err(refuse(format!(
            "{shared_bytes} bytes of shared memory exceed the limit for a block of a cluster"
        )));
    }
    let clusters = blocks / in_cluster;
    let workers = (rayon::current_num_threads() as u64).min(clusters).max(1) as u32;
    let shared = Shared {
        memory: program.memory(),
        grid: config.grid,
        block: config.block,
        cluster,
        explicit_cluster: explicit.is_some(),
        cooperative: config.cooperative,
        kernel: kernel.0,
        dynamic_shared: config.shared_bytes,
        total_shared: info.static_shared.saturating_add(config.shared_bytes),
        shared_bytes,
        stack_limit: info.stack_need.max(config.stack_limit),
        heap_limit: config.heap_limit as u64,
        workers,
        grid_id: GRIDS.fetch_add(1, Ordering::Relaxed),
        ended_blocks: AtomicU64::new(0),
        output: config.output.as_ref(),
        params: &params,
        params_len: config.params.len() as u64,
        stop: AtomicBool::new(false),
        time: time::Time::new(),
    };
    let queue = Mutex::new(Queue {
        next: 0,
        total: clusters,
        suspended: VecDeque::new(),
        resident: 0,
        resumed: 0,
        fault: None,
    });
    let _active = shared.memory.enter();
    if workers == 1 {
        Worker::new(program, &shared, 0).work(&queue);
    } else {
        rayon::scope(|scope| {
            for index in 0..workers {
                let (queue, shared) = (&queue, &shared);
                scope.spawn(move |_| Worker::new(program, shared, index).work(queue));
            }
        });
    }
    match queue
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .fault
    {
        Some(fault) => Err(fault),
        None => Ok(LaunchStats {
            blocks,
            threads: blocks * threads,
            elapsed: start.elapsed(),
        }),
    }
}

/// A host thread that runs blocks.
struct Worker<'l> {
    context: Context<'l>,
    program: &'l Program,
    /// Threads and clusters to reuse, boxed as in their places of use.
    #[allow(clippy::vec_box)]
    threads: Vec<Box<Thread>>,
    #[allow(clippy::vec_box)]
    clusters: Vec<Box<Cluster>>,
}

impl<'l> Worker<'l> {
    fn new(program: &'l Program, shared: &'l Shared<'l>, worker: u32) -> Self {
        // An empty range.
        let nothing = Range { base: 0, size: 0 };
        let context = Context {
            event: Event::Exit,
            next: std::ptr::null(),
            fuel: 0,
            thread: std::ptr::null_mut(),
            stack: std::ptr::null_mut(),
            stack_len: 0,
            frame: std::ptr::null_mut(),
            shared_memory: std::ptr::null_mut(),
            shared_len: 0,
            cluster_memory: std::ptr::null_mut(),
            block_rank: 0,
            ended_blocks: 0,
            params: shared.params.to_vec(),
            params_len: shared.params_len,
            block: [0; 3],
            worker,
            launch: shared,
            code: program.code(),
            cache: Box::new([nothing; CACHE_SIZE]),
            ranges: shared.memory.snapshot(),
            generation: u64::MAX,
            fault: None,
        };
        Worker {
            context,
            program,
            threads: Vec::new(),
            clusters: Vec::new(),
        }
    }

    fn work(mut self, queue: &Mutex<Queue>) {
        let launch = self.context.launch;
        // Limits the number of clusters that have started, so that their threads' state does not
        // exhaust the memory.
        let function = &self.program.code().functions[launch.kernel as usize];
        let threads = launch.threads_per_block() * launch.blocks_per_cluster();
        let bytes =
            threads as usize * (function.template.len() * 8 + function.frame_size as usize + 512);
        let most = ((256 << 20) / bytes).max(4 * launch.workers as usize);
        loop {
            let mut cluster = {
                let mut queue = lock(queue);
                if launch.stop.load(Ordering::Relaxed) {
                    return;
                }
                let fresh = queue.next < queue.total && queue.resident < most;
                let resume = !fresh || queue.resumed < queue.suspended.len();
                match queue.suspended.pop_front() {
                    Some(cluster) if resume => {
                        queue.resumed += 1;
                        cluster
                    }
                    other => {
                        queue.suspended.extend(other);
                        if !fresh {
                            return;
                        }
                        let index = queue.next;
                        queue.next += 1;
                        queue.resident += 1;
                        queue.resumed = 0;
                        drop(queue);
                        self.begin(index)
                    }
                }
            };
            match self.run_cluster(&mut cluster) {
                Outcome::Done => {
                    lock(queue).resident -= 1;
                    self.clusters.push(cluster);
                }
                Outcome::Suspended => lock(queue).suspended.push_back(cluster),
                Outcome::Faulted(fault) => {
                    launch.stop.store(true, Ordering::Relaxed);
                    lock(queue).fault.get_or_insert(*fault);
                    return;
                }
            }
        }
    }

    fn begin(&mut self, index: u64) -> Box<Cluster> {
        let mut cluster = self.clusters.pop().unwrap_or_default();
        let launch = self.context.launch;
        let size = launch.cluster.map(u64::from);
        let clusters = std::array::from_fn(|axis| u64::from(launch.grid[axis]) / size[axis]);
        let first = place(index, clusters);
        let blocks = (0..size.iter().product()).map(|rank| {
            let rank = place(rank, size);
            std::array::from_fn(|axis| (first[axis] * size[axis] + rank[axis]) as u32)
        });
        cluster.reset(blocks, launch.threads_per_block(), launch.shared_stride());
        cluster
    }

    /// Returns the fault recorded in the context, with its location.
    fn describe(
        &mut self,
        block: [u32; 3],
        thread: &Thread,
        kind: FaultKind,
        message: String,
    ) -> Box<Fault> {
        let code = self.program.code();
        let function = &code.functions[thread.function as usize];
        let offset = (thread.next as usize).wrapping_sub(function.code.as_ptr() as usize)
            / size_of::<Inst>();
        Box::new(Fault {
            kind,
            message,
            kernel: code.functions[self.context.launch.kernel as usize]
                .name
                .clone(),
            function: function.name.clone(),
            block,
            thread: thread.tid,
            ptx_line: function.lines.get(offset).copied().unwrap_or(0),
            source_location: function
                .locations
                .get(offset)
                .and_then(|&index| code.source_location(index)),
        })
    }
}
