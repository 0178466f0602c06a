//! The entries of a kernel for ordinary and for strided launches.
//!
//! The compiler makes two or three entries of a kernel whose lengths and grids are ordinary in most
//! launches (decision 115). The module has a variable with the condition for each but the general
//! one; the host evaluates the conditions for each launch.

use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, Once, OnceLock};

use cust_raw::{CUfunction, CUmodule, CUresult};
use ptx::{Condition, LaunchSizes, Launches};

use super::{Function, FunctionAttribute};
use crate::backend::Api;
use crate::dimensions::{BlockSize, GridSize};
use crate::error::CudaResult;
use crate::stack::read_variable;

/// The environment variable that makes `cust` print, once for each kernel, why a launch does not run
/// the first entry beside the general one: the demands of the entry that the launch does not meet.
pub const EXPLAIN_VARIABLE: &str = "CUST_EXPLAIN_LAUNCHES";

/// The entries of a kernel beside the general one.
#[derive(Debug)]
pub(crate) struct Others {
    /// At least one, in the order in which their conditions are tested.
    entries: Vec<Other>,
    /// The bytes of parameters that the conditions depend on: see [`Condition::parameters()`].
    parameters: Vec<(usize, usize, usize)>,
    /// The last launch whose conditions were evaluated. Most programs launch a kernel many times with
    /// the same sizes, and comparing them takes a fraction of the time.
    last: Mutex<Last>,
    /// Set when a launch of another entry than the first one was explained.
    explained: Once,
}

/// An entry of a kernel.
#[derive(Debug)]
struct Other {
    raw: CUfunction,
    launches: Launches,
    condition: Condition,
    /// The maximum number of threads per block; queried on first use.
    threads: OnceLock<u32>,
}

/// A launch, as far as the conditions depend on it. At first one without threads, for which no
/// condition holds.
#[derive(Debug, Default)]
struct Last {
    sizes: LaunchSizes,
    /// The values of [`Others::parameters`].
    parameters: Vec<u64>,
    /// The index of the entry, if it is not the general one.
    entry: Option<usize>,
}

impl Others {
    /// Looks up the entries of a kernel whose parameters have these sizes.
    pub(super) fn look_up(
        api: &Api,
        module: CUmodule,
        kernel: &str,
        parameters: &[usize],
        launches: impl IntoIterator<Item = Launches>,
    ) -> CudaResult<Option<Others>> {
        let mut entries = Vec::new();
        for launches in launches {
            entries.extend(Other::look_up(api, module, kernel, parameters, launches)?);
        }
        let mut parameters: Vec<_> = (entries.iter())
            .flat_map(|it: &Other| it.condition.parameters())
            .collect();
        parameters.sort_unstable();
        parameters.dedup();
        Ok((!entries.is_empty()).then(|| Others {
            entries,
            parameters,
            last: Mutex::default(),
            explained: Once::new(),
        }))
    }

    /// Returns the entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = (CUfunction, Launches)> {
        self.entries.iter().map(|it| (it.raw, it.launches))
    }

    /// Returns the first entry.
    pub(super) fn first(&self) -> CUfunction {
        self.entries[0].raw
    }
}

impl Other {
    fn look_up(
        api: &Api,
        module: CUmodule,
        kernel: &str,
        parameters: &[usize],
        launches: Launches,
    ) -> CudaResult<Option<Other>> {
        let Some(bytes) = read_variable(api, module, &launches.condition_of(kernel), || {
            format!("reading which launches of the kernel `{kernel}` are ordinary")
        })?
        else {
            return Ok(None);
        };
        let Some(condition) = Condition::decode(&bytes, parameters) else {
            return Ok(None);
        };
        let Ok(name) = std::ffi::CString::new(launches.entry_of(kernel)) else {
            return Ok(None);
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let result = unsafe {
            api.driver
                .cuModuleGetFunction(&mut raw, module, name.as_ptr())
        };
        Ok((result == CUresult::CUDA_SUCCESS).then(|| Other {
            raw,
            launches,
            condition,
            threads: OnceLock::new(),
        }))
    }
}

/// Whether launches are explained.
static EXPLAIN: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os(EXPLAIN_VARIABLE).is_some_and(|value| value == "1"));

/// Prints the demands that a launch does not meet to stderr, and which entry it runs.
#[cold]
fn explain(kernel: &str, entry: Option<Launches>, unmet: &[String]) {
    use std::io::Write;
    let demands: Vec<String> = (unmet.iter())
        .map(|it| format!("\n  unmet: {it}"))
        .collect();
    let entry = match entry {
        None => "general entry",
        Some(Launches::Ordinary) => "entry for ordinary launches",
        Some(Launches::Strided) => "entry for strided launches",
    };
    // stderr may be closed: ignore the error.
    let _ = writeln!(
        std::io::stderr(),
        "note: a launch of `{kernel}` runs the kernel's {entry}{}",
        demands.concat()
    );
}

impl Function<'_> {
    /// Returns the kernel's entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = CUfunction> {
        let others = self.kernel.others.iter().flat_map(Others::entries);
        [self.kernel.raw]
            .into_iter()
            .chain(others.map(|(raw, _)| raw))
    }

    /// Returns the entry for a launch: the first one whose condition holds, otherwise the general
    /// one.
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
        match &self.kernel.others {
            None => self.kernel.raw,
            // SAFETY: as the caller promises.
            Some(others) => unsafe { self.select(others, grid, block, arguments) },
        }
    }

    unsafe fn select(
        &self,
        others: &Others,
        grid: GridSize,
        block: BlockSize,
        arguments: *const *mut c_void,
    ) -> CUfunction {
        let sizes = LaunchSizes {
            block: [block.x, block.y, block.z],
            grid: [grid.x, grid.y, grid.z],
        };
        let parameter = |index: usize, offset: usize, bytes: usize| {
            // SAFETY: the argument has the size of the kernel's parameter, for which the conditions
            // were decoded.
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
            let parameters = others.parameters.iter();
            parameters.map(|&(index, offset, bytes)| parameter(index, offset, bytes))
        };
        // If another thread has it, the conditions are evaluated.
        let mut last = others.last.try_lock().ok();
        let entry = match &last {
            Some(last) if last.sizes == sizes && values().eq(last.parameters.iter().copied()) => {
                last.entry
            }
            _ => {
                // The entries have different numbers of registers.
                let threads: u64 = sizes.block.map(u64::from).iter().product();
                let limit_of = |entry| u64::from(self.threads_of(entry));
                let entry = others.entries.iter().position(|it| {
                    it.condition.holds(&sizes, parameter) && threads <= limit_of(it)
                });
                if entry != Some(0) && *EXPLAIN {
                    others.explained.call_once(|| {
                        let first = &others.entries[0];
                        let mut unmet = first.condition.unmet(&sizes, parameter);
                        let limit = limit_of(first);
                        if threads > limit {
                            unmet.push(format!("block_size <= {limit} (block_size is {threads})"));
                        }
                        let launches = entry.map(|it| others.entries[it].launches);
                        explain(&self.kernel.name, launches, &unmet);
                    });
                }
                if let Some(last) = &mut last {
                    last.sizes = sizes;
                    last.parameters.clear();
                    last.parameters.extend(values());
                    last.entry = entry;
                }
                entry
            }
        };
        entry.map_or(self.kernel.raw, |it| others.entries[it].raw)
    }

    /// Returns the maximum number of threads per block of an entry.
    fn threads_of(&self, entry: &Other) -> u32 {
        *entry.threads.get_or_init(|| {
            let threads = self.attribute_of(entry.raw, FunctionAttribute::MaxThreadsPerBlock);
            threads.map_or(0, |threads| threads.max(0) as u32)
        })
    }
}
