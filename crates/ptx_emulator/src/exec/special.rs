//! Special registers, with the handlers that read them.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{Context, Handler, Inst, Regs, SHARED_START};
use crate::launch::Thread;

/// Returns the nanoseconds since the first call; a clock cycle is one nanosecond.
pub(crate) fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Returns a handler that writes to `d` what the closure returns for the thread and the context.
fn read<F: Fn(&Thread, &Context) -> u64 + Copy>(_: F) -> Handler {
    unsafe fn run<F: Fn(&Thread, &Context) -> u64 + Copy>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in every handler; the context's thread is alive while it runs.
        unsafe {
            let value = super::closure_of_type::<F>()(&*c.thread, c);
            Regs(r).set_raw((*at).d, value);
            at.add(1)
        }
    }
    run::<F>
}

/// Returns the handler that reads a special register, and the register's width.
pub(crate) fn handler(name: &str) -> Option<(Handler, u32)> {
    macro_rules! axis {
        ($of:expr) => {{
            macro_rules! component {
                ($index:literal) => {
                    read(|t, c| {
                        let of: fn(&Thread, &Context) -> [u32; 3] = $of;
                        of(t, c)[$index].into()
                    })
                };
            }
            match name.rsplit_once('.').map(|(_, axis)| axis)? {
                "x" => component!(0),
                "y" => component!(1),
                "z" => component!(2),
                // The fourth component always exists, and is zero.
                "w" => read(|_, _| 0),
                _ => return None,
            }
        }};
    }
    let base = name.split_once('.').map_or(name, |(base, _)| base);
    let handler = match base {
        "%tid" => axis!(|t, _| t.tid),
        "%ntid" => axis!(|_, c| c.launch.block),
        "%ctaid" => axis!(|_, c| c.block),
        "%nctaid" => axis!(|_, c| c.launch.grid),
        "%clusterid" => axis!(|_, c| both(c.block, c.launch.cluster, |id, size| id / size)),
        "%nclusterid" => axis!(|_, c| both(c.launch.grid, c.launch.cluster, |n, size| n / size)),
        "%cluster_ctaid" => axis!(|_, c| both(c.block, c.launch.cluster, |id, size| id % size)),
        "%cluster_nctaid" => axis!(|_, c| c.launch.cluster),
        _ if base != name => return None,
        "%laneid" => read(|t, _| (t.index % 32).into()),
        "%warpid" => read(|t, _| (t.index / 32).into()),
        "%nwarpid" => read(|_, c| c.launch.threads_per_block().div_ceil(32).into()),
        "%smid" => read(|_, c| c.worker.into()),
        "%nsmid" => read(|_, c| c.launch.workers.into()),
        "%gridid" => return Some((read(|_, c| c.launch.grid_id), 64)),
        "%lanemask_eq" => read(|t, _| 1 << (t.index % 32)),
        "%lanemask_lt" => read(|t, _| (1 << (t.index % 32)) - 1),
        "%lanemask_le" => read(|t, _| (2 << (t.index % 32)) - 1),
        "%lanemask_gt" => read(|t, _| u64::from(u32::MAX) & !((2 << (t.index % 32)) - 1)),
        "%lanemask_ge" => read(|t, _| u64::from(u32::MAX) & !((1 << (t.index % 32)) - 1)),
        "%clock" => read(|_, _| clock() & u64::from(u32::MAX)),
        "%clock_hi" => read(|_, _| clock() >> 32),
        "%clock64" => return Some((read(|_, _| clock()), 64)),
        "%globaltimer" => return Some((read(|_, _| wall_clock()), 64)),
        "%globaltimer_lo" => read(|_, _| wall_clock() & u64::from(u32::MAX)),
        "%globaltimer_hi" => read(|_, _| wall_clock() >> 32),
        "%dynamic_smem_size" => read(|_, c| c.launch.dynamic_shared.into()),
        "%total_smem_size" | "%aggr_smem_size" => read(|_, c| c.launch.total_shared.into()),
        "%reserved_smem_offset_begin" => read(|_, _| 0),
        "%reserved_smem_offset_end" | "%reserved_smem_offset_cap" => {
            read(|_, _| SHARED_START.into())
        }
        "%is_explicit_cluster" => {
            return Some((read(|_, c| c.launch.explicit_cluster.into()), 1));
        }
        "%cluster_ctarank" => read(|_, c| c.block_rank.into()),
        "%cluster_nctarank" => read(|_, c| c.launch.blocks_per_cluster().into()),
        // Drivers store the address of a cooperative launch's workspace here.
        "%envreg1" | "%envreg2" => read(|_, c| c.launch.cooperative.into()),
        // Specific to the emulator: a mark that identifies it, and the number of blocks that have
        // completed, from which `cuda_std` detects that a grid barrier can no longer complete.
        "%envreg29" => read(|_, _| cust_core::emulator::MARK.into()),
        "%envreg30" => read(|_, c| c.launch.ended_blocks.load(Ordering::Relaxed)),
        "%current_graph_exec" => return Some((read(|_, _| 0), 64)),
        _ => {
            let number = |prefix: &str| {
                base.strip_prefix(prefix)
                    .and_then(|number| number.parse::<u32>().ok())
            };
            if number("%envreg").is_some_and(|number| number < 32)
                || number("%pm").is_some_and(|number| number < 8)
                || number("%reserved_smem_offset_").is_some()
            {
                read(|_, _| 0)
            } else {
                return None;
            }
        }
    };
    Some((handler, 32))
}

/// Applies a function to two sizes or positions, in each dimension.
fn both(a: [u32; 3], b: [u32; 3], of: fn(u32, u32) -> u32) -> [u32; 3] {
    std::array::from_fn(|axis| of(a[axis], b[axis]))
}

fn wall_clock() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}
