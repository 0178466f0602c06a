//! Checks of a launch's configuration against the limits of the kernel and the device.

use cust_core::kernel::Kernel as KernelType;

use super::collector::doing;
use super::config::LaunchConfig;
use crate::error::{CudaResult, Error, LaunchSize, SharedMemory};
use crate::function::Function;

/// Compares the block dimensions with those that the kernel declares with `block_size`, if any.
#[inline]
pub(crate) fn check_block_size<K: KernelType>(config: &LaunchConfig) -> CudaResult<()> {
    let block = [config.block.x, config.block.y, config.block.z];
    match K::BLOCK_SIZE {
        Some(size) if size != block => Err(wrong_block_size(K::shown(), config, size)),
        _ => Ok(()),
    }
}

#[cold]
fn wrong_block_size(kernel: &str, config: &LaunchConfig, [x, y, z]: [u32; 3]) -> Error {
    let reason = format!("its `block_size` requires blocks of {x} × {y} × {z} threads");
    launch_size(kernel, config, reason)
}

/// Returns the error for a launch configuration that exceeds a limit.
pub(crate) fn launch_size(kernel: &str, config: &LaunchConfig, reason: String) -> Error {
    Error::LaunchSize(Box::new(LaunchSize {
        kernel: kernel.to_owned(),
        grid: config.grid,
        block: config.block,
        reason,
    }))
}

/// The maximum dimensions of a launch.
pub(crate) struct Dimensions {
    /// Blocks along each axis.
    pub(crate) grid: [u32; 3],
    /// Threads along each axis of a block.
    pub(crate) block: [u32; 3],
    /// Threads of a block.
    pub(crate) threads: u32,
    /// The owner of the limits along each axis, and that of the limit of a block, for errors.
    pub(crate) owners: [&'static str; 2],
}

impl Dimensions {
    /// Checks the dimensions of a launch; the error names the one that exceeds its limit.
    pub(crate) fn check(&self, kernel: &str, config: &LaunchConfig) -> CudaResult<()> {
        let refuse = |reason: String| Err(launch_size(kernel, config, reason));
        let [owner, owner_of_threads] = self.owners;
        let grid = [config.grid.x, config.grid.y, config.grid.z];
        let block = [config.block.x, config.block.y, config.block.z];
        let dimensions = [
            ("grid", "blocks", grid, self.grid),
            ("block", "threads", block, self.block),
        ];
        for (what, of, sizes, most) in dimensions {
            for ((axis, size), most) in ["x", "y", "z"].iter().zip(sizes).zip(most) {
                if size == 0 {
                    return refuse(format!("the {what} has no {of} along {axis}"));
                }
                if size > most {
                    return refuse(format!(
                        "the {what} has {size} {of} along {axis}, and {owner} allows {most}"
                    ));
                }
            }
        }
        let threads: u64 = block.iter().map(|&size| u64::from(size)).product();
        if threads > u64::from(self.threads) {
            return refuse(format!(
                "a block has {threads} threads, and {owner_of_threads} allows {}",
                self.threads
            ));
        }
        // Thread indices are 64-bit.
        let blocks = grid.iter().map(|&size| u128::from(size)).product::<u128>();
        let all = blocks * u128::from(threads);
        if all > u128::from(u64::MAX >> 1) {
            return refuse(format!(
                "the grid has {all} threads, and at most 2^63 - 1 are supported"
            ));
        }
        Ok(())
    }
}

/// Checks the launch configuration against the limits of the kernel and the device; the error names
/// the value that exceeds its limit.
///
/// If necessary, raises the function's limit of dynamic shared memory, up to the device's opt-in
/// maximum.
#[inline]
pub(crate) fn check_size(function: &Function<'_>, config: &LaunchConfig) -> CudaResult<()> {
    let limits = function.limits()?;
    let (grid, block) = (config.grid, config.block);
    // Fast path: a one-dimensional launch that passes all checks of `check_all_sizes`.
    let wide = |n: u32| n.wrapping_sub(1) < (i32::MAX as u32).min(limits.device.grid[0]);
    if [grid.y, grid.z, block.y, block.z] == [1; 4]
        && wide(grid.x)
        && block.x.wrapping_sub(1) < limits.threads.min(limits.device.block[0])
        && config.shared_mem_bytes == 0
        && config.cluster.is_none()
    {
        return Ok(());
    }
    check_all_sizes(function, config)
}

#[inline(never)]
fn check_all_sizes(function: &Function<'_>, config: &LaunchConfig) -> CudaResult<()> {
    let (limits, grid) = (function.limits()?, config.grid);
    let dimensions = Dimensions {
        grid: limits.device.grid,
        block: limits.device.block,
        threads: limits.threads,
        owners: ["the device", "the kernel"],
    };
    dimensions.check(function.name(), config)?;
    if let Some(cluster) = config.cluster {
        let cluster = [cluster.x, cluster.y, cluster.z];
        let fits = |(blocks, size): (u32, u32)| size != 0 && blocks % size == 0;
        if ![grid.x, grid.y, grid.z].into_iter().zip(cluster).all(fits) {
            let [x, y, z] = cluster;
            let reason =
                format!("the grid cannot be divided into clusters of {x} × {y} × {z} blocks");
            return Err(launch_size(function.name(), config, reason));
        }
    }
    match function.allow_shared(config.shared_mem_bytes)? {
        None => Ok(()),
        Some(most) => Err(Error::SharedMemory(Box::new(SharedMemory {
            doing: doing(function, config),
            kernel: function.name().to_owned(),
            own: limits.own_shared.into(),
            dynamic: config.shared_mem_bytes.into(),
            most: u64::from(limits.own_shared) + u64::from(most),
        }))),
    }
}
