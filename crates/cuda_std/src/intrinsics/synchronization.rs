//! Barriers, fences, waiting, and the ends of a thread or a launch.

cuda_std_macros::intrinsics! {
    /// Waits for all threads of the block.
    #[convergent]
    #[cpu({ cpu::barrier(0, None, false); })]
    fn barrier0() = nvvm "llvm.nvvm.barrier0";
    /// Waits for all threads of the block; then how many of them brought a value that is not zero.
    #[convergent]
    #[cpu(cpu::barrier(0, None, value != 0).predicates)]
    fn barrier0_popc(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.popc";
    /// Waits for all threads of the block; then not 0 if all of them brought a value that is not.
    #[convergent]
    #[cpu(cpu::all(cpu::barrier(0, None, value != 0)).into())]
    fn barrier0_and(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.and";
    /// Waits for all threads of the block; then not 0 if one of them brought a value that is not.
    #[convergent]
    #[cpu(cpu::any(cpu::barrier(0, None, value != 0)).into())]
    fn barrier0_or(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.or";

    /// Waits at one of the block's 16 barriers for all its threads.
    #[convergent]
    #[cpu({ cpu::barrier(ID, None, false); })]
    unsafe fn barrier_sync<const ID: u32 in 0..=15>() = "barrier.sync {ID};";
    /// Waits at one of the block's barriers until `count` threads have come, waiting or not.
    #[convergent]
    #[cpu({ cpu::barrier(ID, Some(count), false); })]
    unsafe fn barrier_sync_count<const ID: u32 in 0..=15>(count: u32) = "barrier.sync {ID}, {count};";
    /// Comes to one of the block's barriers, for `count` threads, and does not wait.
    #[convergent]
    #[cpu(cpu::arrive(ID, count))]
    unsafe fn barrier_arrive<const ID: u32 in 0..=15>(count: u32) = "barrier.arrive {ID}, {count};";
    /// Waits at a barrier for the whole block, then for how many threads the predicate was true.
    #[convergent]
    #[cpu(cpu::barrier(ID, None, predicate).predicates)]
    unsafe fn barrier_red_popc<const ID: u32 in 0..=15>(predicate: bool) -> u32 =
        "barrier.red.popc.u32 {ret}, {ID}, {predicate};";
    /// Waits at a barrier for `count` threads, then for how many the predicate was true.
    #[convergent]
    #[cpu(cpu::barrier(ID, Some(count), predicate).predicates)]
    unsafe fn barrier_red_popc_count<const ID: u32 in 0..=15>(count: u32, predicate: bool) -> u32 =
        "barrier.red.popc.u32 {ret}, {ID}, {count}, {predicate};";
    for (OP, WHAT, IS) in [(and, "all threads", all), (or, "a thread", any)] {
        /// Waits at a barrier for the whole block, then whether the predicate was true for <WHAT>.
        #[convergent]
        #[cpu(cpu::IS(cpu::barrier(ID, None, predicate)))]
        unsafe fn barrier_red_OP<const ID: u32 in 0..=15>(predicate: bool) -> bool =
            "barrier.red.<OP>.pred {ret}, {ID}, {predicate};";
        /// Waits at a barrier for `count` threads, then whether the predicate was true for <WHAT>.
        #[convergent]
        #[cpu(cpu::IS(cpu::barrier(ID, Some(count), predicate)))]
        unsafe fn barrier_red_OP_count<const ID: u32 in 0..=15>(count: u32, predicate: bool) -> bool =
            "barrier.red.<OP>.pred {ret}, {ID}, {count}, {predicate};";
    }

    /// Orders this thread's memory accesses for its block.
    #[cpu(cpu::fence())]
    fn membar_cta() = nvvm "llvm.nvvm.membar.cta";
    /// Orders this thread's memory accesses for its device.
    #[cpu(cpu::fence())]
    fn membar_gl() = nvvm "llvm.nvvm.membar.gl";
    /// Orders this thread's memory accesses for the whole system.
    #[cpu(cpu::fence())]
    fn membar_sys() = nvvm "llvm.nvvm.membar.sys";
    for SEM in [acq_rel, sc] {
        for SCOPE in [cta, gpu, sys] {
            /// Orders this thread's memory accesses, as other threads of the scope see them.
            #[cpu(cpu::fence())]
            fn fence_SEM_SCOPE() = "fence.<SEM>.<SCOPE>;";
        }
        /// Orders this thread's memory accesses, as other threads of the cluster see them.
        #[requires(sm_90)]
        fn fence_SEM_cluster() = "fence.<SEM>.cluster;";
    }

    /// Nothing, but that the compiler takes the memory for written, by whom it does not know.
    #[cpu({ let _ = pointer; })]
    unsafe fn written(pointer: *mut u8) = "// {pointer}";

    /// Lets the thread sleep for about so many nanoseconds, up to a millisecond.
    #[volatile]
    #[cpu({ let _ = nanoseconds; cpu::pause() })]
    fn nanosleep(nanoseconds: u32) = "nanosleep.u32 {nanoseconds};";
    /// Tells a profiler that the event of this number has happened.
    #[volatile]
    #[cpu(())]
    fn pmevent<const EVENT: u32 in 0..=15>() = "pmevent {EVENT};";
    /// Stops for a debugger; without one the launch ends with an error.
    #[cpu(cpu::trap())]
    fn brkpt() = "brkpt;";
    /// Ends this thread; the others go on.
    #[cpu(cpu::exit())]
    fn exit() -> ! = "exit;";
    /// Ends the launch with an error that the context does not survive.
    #[cpu(cpu::trap())]
    fn trap() -> ! = "trap;";
}
