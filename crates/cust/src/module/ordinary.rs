//! The second entry of a kernel, for ordinary launches.
//!
//! The compiler makes two entries of a kernel whose lengths and grids are ordinary in most launches
//! (decision 115). The module has a variable with the condition for the second one; the host
//! evaluates it for each launch.

use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, Once, OnceLock};

use cust_raw::{CUfunction, CUmodule, CUresult};
use ptx::{CONDITION_PREFIX, Condition, LaunchSizes, ORDINARY_SUFFIX};

use super::{Function, FunctionAttribute};
use crate::backend::Api;
use crate::dimensions::{BlockSize, GridSize};
use crate::error::CudaResult;
use crate::stack::read_variable;

/// The environment variable that makes `cust` print, once for each kernel, why a launch runs the
/// general entry: the demands of the other one that the launch does not meet.
pub const EXPLAIN_VARIABLE: &str = "CUST_EXPLAIN_LAUNCHES";

/// The entry of a kernel for ordinary launches.
#[derive(Debug)]
pub(crate) struct Ordinary {
    pub(super) raw: CUfunction,
    condition: Condition,
    /// The bytes of parameters that the condition depends on: see [`Condition::parameters()`].
    parameters: Vec<(usize, usize, usize)>,
    /// The maximum number of threads per block; queried on first use.
    threads: OnceLock<u32>,
    /// The last launch whose condition was evaluated. Most programs launch a kernel many times with
    /// the same sizes, and comparing them takes a fraction of the time.
    last: Mutex<Last>,
    /// Set when a launch of the general entry was explained.
    explained: Once,
}

/// A launch, as far as the condition depends on it. At first one without threads, which is never
/// ordinary.
#[derive(Debug, Default)]
struct Last {
    sizes: LaunchSizes,
    /// The values of [`Ordinary::parameters`].
    parameters: Vec<u64>,
    is_ordinary: bool,
}

impl Ordinary {
    /// Looks up the entry for ordinary launches of a kernel whose parameters have these sizes.
    pub(super) fn look_up(
        api: &Api,
        module: CUmodule,
        kernel: &str,
        parameters: &[usize],
    ) -> CudaResult<Option<Ordinary>> {
        let variable = format!("{CONDITION_PREFIX}{kernel}");
        let Some(bytes) = read_variable(api, module, &variable, || {
            format!("reading which launches of the kernel `{kernel}` are ordinary")
        })?
        else {
            return Ok(None);
        };
        let Some(condition) = Condition::decode(&bytes, parameters) else {
            return Ok(None);
        };
        let Ok(name) = std::ffi::CString::new(format!("{kernel}{ORDINARY_SUFFIX}")) else {
            return Ok(None);
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let result = unsafe {
            api.driver
                .cuModuleGetFunction(&mut raw, module, name.as_ptr())
        };
        Ok((result == CUresult::CUDA_SUCCESS).then(|| Ordinary {
            raw,
            parameters: condition.parameters().collect(),
            condition,
            threads: OnceLock::new(),
            last: Mutex::default(),
            explained: Once::new(),
        }))
    }
}

/// Whether launches of general entries are explained.
static EXPLAIN: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os(EXPLAIN_VARIABLE).is_some_and(|value| value == "1"));

/// Prints the demands that a launch does not meet to stderr.
#[cold]
fn explain(kernel: &str, unmet: &[String]) {
    use std::io::Write;
    let demands: Vec<String> = (unmet.iter())
        .map(|it| format!("\n  unmet: {it}"))
        .collect();
    // stderr may be closed: ignore the error.
    let _ = writeln!(
        std::io::stderr(),
        "note: a launch of `{kernel}` runs the kernel's general entry{}",
        demands.concat()
    );
}

impl Function<'_> {
    /// Returns the kernel's entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = CUfunction> {
        let ordinary = self.kernel.ordinary.as_ref().map(|it| it.raw);
        [self.kernel.raw].into_iter().chain(ordinary)
    }

    /// Returns the entry for a launch: the one for ordinary launches if the condition holds.
    ///
    /// # Safety
    ///
    /// `arguments` must have a pointer to an argument for each parameter.
    #[inline]
    pub(crate) unsafe fn entry_for(
        &self,
        grid: GridSize,
        block: BlockSize,
        arguments: *const *mut c_void,
    ) -> CUfunction {
        match &self.kernel.ordinary {
            None => self.kernel.raw,
            // SAFETY: as the caller promises.
            Some(ordinary) => unsafe { self.select(ordinary, grid, block, arguments) },
        }
    }

    unsafe fn select(
        &self,
        ordinary: &Ordinary,
        grid: GridSize,
        block: BlockSize,
        arguments: *const *mut c_void,
    ) -> CUfunction {
        let sizes = LaunchSizes {
            block: [block.x, block.y, block.z],
            grid: [grid.x, grid.y, grid.z],
        };
        let parameter = |index: usize, offset: usize, bytes: usize| {
            // SAFETY: the argument has the size of the kernel's parameter, for which the condition
            // was decoded.
            unsafe {
                let from = (*arguments.add(index))
                    .cast_const()
                    .cast::<u8>()
                    .add(offset);
                match bytes {
                    8 => from.cast::<u64>().read_unaligned(),
                    4 => from.cast::<u32>().read_unaligned().into(),
                    2 => from.cast::<u16>().read_unaligned().into(),
                    _ => from.read().into(),
                }
            }
        };
        let values = || {
            let parameters = ordinary.parameters.iter();
            parameters.map(|&(index, offset, bytes)| parameter(index, offset, bytes))
        };
        // If another thread has it, the condition is evaluated.
        let mut last = ordinary.last.try_lock().ok();
        let is_ordinary = match &last {
            Some(last) if last.sizes == sizes && values().eq(last.parameters.iter().copied()) => {
                last.is_ordinary
            }
            _ => {
                // The entries have different numbers of registers.
                let threads: u64 = sizes.block.map(u64::from).iter().product();
                let limit = u64::from(self.threads_of(ordinary));
                let is_ordinary = ordinary.condition.holds(&sizes, parameter) && threads <= limit;
                if !is_ordinary && *EXPLAIN {
                    ordinary.explained.call_once(|| {
                        let mut unmet = ordinary.condition.unmet(&sizes, parameter);
                        if threads > limit {
                            unmet.push(format!("block_size <= {limit} (block_size is {threads})"));
                        }
                        explain(&self.kernel.name, &unmet);
                    });
                }
                if let Some(last) = &mut last {
                    last.sizes = sizes;
                    last.parameters.clear();
                    last.parameters.extend(values());
                    last.is_ordinary = is_ordinary;
                }
                is_ordinary
            }
        };
        match is_ordinary {
            true => ordinary.raw,
            false => self.kernel.raw,
        }
    }

    /// Returns the maximum number of threads per block of the entry for ordinary launches.
    fn threads_of(&self, ordinary: &Ordinary) -> u32 {
        *ordinary.threads.get_or_init(|| {
            let threads = self.attribute_of(ordinary.raw, FunctionAttribute::MaxThreadsPerBlock);
            threads.map_or(0, |threads| threads.max(0) as u32)
        })
    }
}
