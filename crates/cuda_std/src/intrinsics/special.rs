//! Special registers: thread and block indices, and information about the hardware.

cuda_std_macros::intrinsics! {
    for D in [x, y, z] {
        /// `%tid.<D>`: the thread's index in its block.
        #[pure]
        #[cpu(cpu::place().thread[cpu::D])]
        fn tid_D() -> u32 = nvvm "llvm.nvvm.read.ptx.sreg.tid.<D>";
        /// `%ntid.<D>`: the block's size.
        #[pure]
        #[cpu(cpu::place().block_dim[cpu::D])]
        fn ntid_D() -> u32 = nvvm "llvm.nvvm.read.ptx.sreg.ntid.<D>";
        /// `%ctaid.<D>`: the block's index in the grid.
        #[pure]
        #[cpu(cpu::place().block[cpu::D])]
        fn ctaid_D() -> u32 = nvvm "llvm.nvvm.read.ptx.sreg.ctaid.<D>";
        /// `%nctaid.<D>`: the grid's size in blocks.
        #[pure]
        #[cpu(cpu::place().grid_dim[cpu::D])]
        fn nctaid_D() -> u32 = nvvm "llvm.nvvm.read.ptx.sreg.nctaid.<D>";
        /// `%clusterid.<D>`: the index of the thread's cluster in the grid.
        #[requires(sm_90)]
        #[pure]
        fn clusterid_D() -> u32 = "mov.u32 {ret}, %clusterid.<D>;";
        /// `%nclusterid.<D>`: the grid's size in clusters.
        #[requires(sm_90)]
        #[pure]
        fn nclusterid_D() -> u32 = "mov.u32 {ret}, %nclusterid.<D>;";
        /// `%cluster_ctaid.<D>`: the block's index in its cluster.
        #[requires(sm_90)]
        #[pure]
        fn cluster_ctaid_D() -> u32 = "mov.u32 {ret}, %cluster_ctaid.<D>;";
        /// `%cluster_nctaid.<D>`: the cluster's size in blocks.
        #[requires(sm_90)]
        #[pure]
        fn cluster_nctaid_D() -> u32 = "mov.u32 {ret}, %cluster_nctaid.<D>;";
    }

    /// `%laneid`: the thread's index in its warp.
    #[pure]
    #[cpu(cpu::lane())]
    fn laneid() -> u32 = nvvm "llvm.nvvm.read.ptx.sreg.laneid";
    /// `WARP_SZ`: the number of threads in a warp.
    #[pure]
    #[cpu(32)]
    fn warpsize() -> u32 = nvvm "llvm.nvvm.read.ptx.sreg.warpsize";
    /// `%cluster_ctarank`: the block's rank in its cluster.
    #[requires(sm_90)]
    #[pure]
    fn cluster_ctarank() -> u32 = "mov.u32 {ret}, %cluster_ctarank;";
    /// `%cluster_nctarank`: the number of blocks in the cluster.
    #[requires(sm_90)]
    #[pure]
    fn cluster_nctarank() -> u32 = "mov.u32 {ret}, %cluster_nctarank;";
    /// `%is_explicit_cluster`: whether the launch specified the cluster size.
    #[requires(sm_90)]
    #[pure]
    fn is_explicit_cluster() -> bool = "mov.pred {ret}, %is_explicit_cluster;";

    for N in [1, 2] {
        /// `%envreg<N>`: half of the address of a cooperative launch's workspace, set by the
        /// driver. In other launches, 0 or an earlier launch's value.
        #[pure]
        fn envreg_N() -> u32 = "mov.u32 {ret}, %envreg<N>;";
    }
    for (N, WHAT) in [
        (29, "`0x70747865` on the PTX emulator, another value on a GPU"),
        (30, "on the PTX emulator, the number of blocks of the launch that have exited")
    ] {
        /// `%envreg<N>`: <WHAT>.
        #[volatile]
        fn envreg_N() -> u32 = "mov.u32 {ret}, %envreg<N>;";
    }
    for R in [lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt] {
        /// `%<R>`: the mask of the lanes whose index compares to this lane's as the name says.
        #[pure]
        #[cpu(cpu::R())]
        fn R() -> u32 = "mov.u32 {ret}, %<R>;";
    }
    /// `%warpid`: the warp's slot in its multiprocessor. It may change while the thread runs.
    #[volatile]
    #[cpu(cpu::place().index_in_block() / 32)]
    fn warpid() -> u32 = "mov.u32 {ret}, %warpid;";
    /// `%nwarpid`: the maximum number of resident warps of a multiprocessor.
    #[pure]
    fn nwarpid() -> u32 = "mov.u32 {ret}, %nwarpid;";
    /// `%smid`: the index of the multiprocessor. It may change while the thread runs.
    #[volatile]
    fn smid() -> u32 = "mov.u32 {ret}, %smid;";
    /// `%nsmid`: an upper bound of the multiprocessor indices, which may have gaps.
    #[pure]
    fn nsmid() -> u32 = "mov.u32 {ret}, %nsmid;";
    /// `%gridid`: the ID of the launch.
    #[pure]
    fn gridid() -> u64 = "mov.u64 {ret}, %gridid;";
    /// `%dynamic_smem_size`: the size of dynamic shared memory in bytes.
    #[pure]
    #[cpu(cpu::dynamic_shared())]
    fn dynamic_smem_size() -> u32 = "mov.u32 {ret}, %dynamic_smem_size;";
    /// `%total_smem_size`: the size of the block's shared memory in bytes.
    #[pure]
    fn total_smem_size() -> u32 = "mov.u32 {ret}, %total_smem_size;";
    /// `%aggr_smem_size`: the size of shared memory in bytes, including memory reserved by the
    /// system.
    #[requires(sm_90)]
    #[pure]
    fn aggr_smem_size() -> u32 = "mov.u32 {ret}, %aggr_smem_size;";

    /// `%clock`: the lower 32 bits of the multiprocessor's cycle counter.
    #[volatile]
    #[cpu(cpu::nanoseconds() as u32)]
    fn clock() -> u32 = "mov.u32 {ret}, %clock;";
    /// `%clock64`: the multiprocessor's cycle counter.
    #[volatile]
    #[cpu(cpu::nanoseconds())]
    fn clock64() -> u64 = "mov.u64 {ret}, %clock64;";
    /// `%globaltimer`: the device's global timer in nanoseconds.
    #[volatile]
    #[cpu(cpu::nanoseconds())]
    fn globaltimer() -> u64 = "mov.u64 {ret}, %globaltimer;";
}
