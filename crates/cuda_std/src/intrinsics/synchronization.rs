//! Barriers, fences, delays, and exiting a thread or launch.

cuda_std_macros::intrinsics! {
    /// Waits for all threads of the block.
    #[convergent]
    #[cpu({ cpu::barrier(0, None, false); })]
    fn barrier0() = nvvm "llvm.nvvm.barrier0";
    /// Waits for all threads of the block, and returns the number of threads whose argument is not
    /// zero.
    #[convergent]
    #[cpu(cpu::barrier(0, None, value != 0).predicates)]
    fn barrier0_popc(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.popc";
    /// Waits for all threads of the block, and returns a nonzero value if no thread's argument is
    /// zero.
    #[convergent]
    #[cpu(cpu::all(cpu::barrier(0, None, value != 0)).into())]
    fn barrier0_and(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.and";
    /// Waits for all threads of the block, and returns a nonzero value if any thread's argument is
    /// not zero.
    #[convergent]
    #[cpu(cpu::any(cpu::barrier(0, None, value != 0)).into())]
    fn barrier0_or(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.or";

    /// Waits for all threads of the block at barrier `ID`.
    #[convergent]
    #[cpu({ cpu::barrier(ID, None, false); })]
    unsafe fn barrier_sync<const ID: u32 in 0..=15>() = "barrier.sync {ID};";
    /// Waits at barrier `ID` until `count` threads have arrived.
    #[convergent]
    #[cpu({ cpu::barrier(ID, Some(count), false); })]
    unsafe fn barrier_sync_count<const ID: u32 in 0..=15>(count: u32) = "barrier.sync {ID}, {count};";
    /// Arrives at barrier `ID` as one of `count` threads, without waiting.
    #[convergent]
    #[cpu(cpu::arrive(ID, count))]
    unsafe fn barrier_arrive<const ID: u32 in 0..=15>(count: u32) = "barrier.arrive {ID}, {count};";
    /// Waits for all threads of the block at barrier `ID`, and returns the number of threads for
    /// which `predicate` is true.
    #[convergent]
    #[cpu(cpu::barrier(ID, None, predicate).predicates)]
    unsafe fn barrier_red_popc<const ID: u32 in 0..=15>(predicate: bool) -> u32 =
        "barrier.red.popc.u32 {ret}, {ID}, {predicate};";
    /// Waits for `count` threads at barrier `ID`, and returns the number of threads for which
    /// `predicate` is true.
    #[convergent]
    #[cpu(cpu::barrier(ID, Some(count), predicate).predicates)]
    unsafe fn barrier_red_popc_count<const ID: u32 in 0..=15>(count: u32, predicate: bool) -> u32 =
        "barrier.red.popc.u32 {ret}, {ID}, {count}, {predicate};";
    for (OP, WHAT, IS) in [(and, "all threads", all), (or, "any thread", any)] {
        /// Waits for all threads of the block at barrier `ID`, and returns whether `predicate` is
        /// true for <WHAT>.
        #[convergent]
        #[cpu(cpu::IS(cpu::barrier(ID, None, predicate)))]
        unsafe fn barrier_red_OP<const ID: u32 in 0..=15>(predicate: bool) -> bool =
            "barrier.red.<OP>.pred {ret}, {ID}, {predicate};";
        /// Waits for `count` threads at barrier `ID`, and returns whether `predicate` is true for
        /// <WHAT>.
        #[convergent]
        #[cpu(cpu::IS(cpu::barrier(ID, Some(count), predicate)))]
        unsafe fn barrier_red_OP_count<const ID: u32 in 0..=15>(count: u32, predicate: bool) -> bool =
            "barrier.red.<OP>.pred {ret}, {ID}, {count}, {predicate};";
    }

    /// Orders this thread's memory accesses, as observed by its block.
    #[cpu(cpu::fence())]
    fn membar_cta() = nvvm "llvm.nvvm.membar.cta";
    /// Orders this thread's memory accesses, as observed by its device.
    #[cpu(cpu::fence())]
    fn membar_gl() = nvvm "llvm.nvvm.membar.gl";
    /// Orders this thread's memory accesses, as observed by the whole system.
    #[cpu(cpu::fence())]
    fn membar_sys() = nvvm "llvm.nvvm.membar.sys";
    for SEM in [acq_rel, sc] {
        for SCOPE in [cta, gpu, sys] {
            /// Orders this thread's memory accesses, as observed by the threads of the scope.
            #[cpu(cpu::fence())]
            fn fence_SEM_SCOPE() = "fence.<SEM>.<SCOPE>;";
        }
        /// Orders this thread's memory accesses, as observed by the threads of the cluster.
        #[requires(sm_90)]
        fn fence_SEM_cluster() = "fence.<SEM>.cluster;";
    }

    /// Emits no instruction, but makes the compiler assume that unknown code writes the memory.
    #[cpu({ let _ = pointer; })]
    unsafe fn written(pointer: *mut u8) = "// {pointer}";

    /// Suspends the thread for about `nanoseconds`, up to a millisecond.
    #[volatile]
    #[cpu({ let _ = nanoseconds; cpu::pause() })]
    fn nanosleep(nanoseconds: u32) = "nanosleep.u32 {nanoseconds};";
    /// Signals the event with this number to a profiler.
    #[volatile]
    #[cpu(())]
    fn pmevent<const EVENT: u32 in 0..=15>() = "pmevent {EVENT};";
    /// Stops in a debugger. Without a debugger, the launch fails.
    #[cpu(cpu::trap())]
    fn brkpt() = "brkpt;";
    /// Exits this thread. The other threads continue.
    #[cpu(cpu::exit())]
    fn exit() -> ! = "exit;";
    /// Fails the launch with an error that destroys the context.
    #[cpu(cpu::trap())]
    fn trap() -> ! = "trap;";
}
