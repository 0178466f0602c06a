//! Barriers, fences, and the ends of a thread or a launch.

cuda_std_macros::intrinsics! {
    /// Waits for all threads of the block.
    #[convergent]
    fn barrier0() = nvvm "llvm.nvvm.barrier0";
    /// Waits for all threads of the block; then how many of them brought a value that is not zero.
    #[convergent]
    fn barrier0_popc(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.popc";
    /// Waits for all threads of the block; then not 0 if all of them brought a value that is not.
    #[convergent]
    fn barrier0_and(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.and";
    /// Waits for all threads of the block; then not 0 if one of them brought a value that is not.
    #[convergent]
    fn barrier0_or(value: u32) -> u32 = nvvm "llvm.nvvm.barrier0.or";

    /// Orders this thread's memory accesses for its block.
    fn membar_cta() = nvvm "llvm.nvvm.membar.cta";
    /// Orders this thread's memory accesses for its device.
    fn membar_gl() = nvvm "llvm.nvvm.membar.gl";
    /// Orders this thread's memory accesses for the whole system.
    fn membar_sys() = nvvm "llvm.nvvm.membar.sys";

    /// Ends this thread; the others go on.
    fn exit() -> ! = "exit;";
    /// Ends the launch with an error that the context does not survive.
    fn trap() -> ! = "trap;";
}
