//! Loads the modules, launches the kernels, checks the results, and times the launches.

use crate::case::{Case, Form};
use crate::cub::Cub;
use cust::error::CudaResult;
use cust::function::FunctionAttribute;
use cust::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

/// The kernels from `build.rs`, used without a directory of modules.
static KERNELS: Embedded = cust::include_module!("kernels");

/// More than the size of any GPU's caches, in bytes.
const FLUSH: usize = 256 << 20;
/// The number of warm-up launches of each form, which are not timed.
const WARM_UP: usize = 3;

/// The properties of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes {
    /// The registers per thread.
    pub registers: i32,
    /// The bytes of local memory per thread: spills, arrays, and the call stack.
    pub local: i32,
    /// The bytes of static shared memory per block.
    pub shared: i32,
    /// The number of machine instructions in the kernel's own section, if there is a cubin.
    pub instructions: Option<u64>,
}

/// The times of one form of a benchmark, in microseconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// The first quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub upper: f64,
    /// The number of launches.
    pub count: usize,
}

/// The number of machine instructions of each kernel, by name.
type Instructions = HashMap<String, u64>;

/// A device with the modules of all forms.
pub struct Bench {
    /// The device.
    pub context: Context,
    ours: Module,
    nvcc: Vec<Module>,
    cub: Option<Cub>,
    instructions: [Instructions; 2],
    stream: Stream,
    /// The buffer that is written before each launch to flush the caches.
    flush: Option<RefCell<DeviceBuffer<u8>>>,
    /// The minimum number of timed launches of each form.
    rounds: usize,
}

impl Bench {
    /// Loads the modules: from a directory, or only the embedded one.
    pub fn new(
        context: Context,
        directory: Option<&Path>,
        rounds: usize,
    ) -> Result<Bench, Box<dyn Error>> {
        let gpu = context.backend() == Backend::Gpu;
        let mut instructions = [Instructions::new(), Instructions::new()];
        let (ours, nvcc) = match directory {
            None => (KERNELS.load()?, Vec::new()),
            Some(directory) => {
                let ours = load(&directory.join("ours"), gpu, &mut instructions[0])?;
                let mut nvcc = Vec::new();
                for stem in stems(&directory.join("nvcc"))? {
                    nvcc.push(load(&stem, gpu, &mut instructions[1])?);
                }
                (ours, nvcc)
            }
        };
        Ok(Bench {
            context,
            ours,
            nvcc,
            cub: directory.filter(|_| gpu).and_then(Cub::load),
            instructions,
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            flush: match gpu {
                true => Some(RefCell::new(DeviceBuffer::zeroed(FLUSH)?)),
                false => None,
            },
            rounds,
        })
    }

    /// Returns the kernel with this name and form; `None` without nvcc's modules.
    fn function(
        &self,
        form: Form,
        benchmark: &str,
    ) -> Result<Option<Function<'_>>, Box<dyn Error>> {
        let name = form.kernel(benchmark);
        if form != Form::Nvcc {
            return Ok(Some(self.ours.get_function(name)?));
        }
        let found = (self.nvcc.iter()).find_map(|module| module.get_function(&name).ok());
        match found {
            None if !self.nvcc.is_empty() => {
                Err(format!("nvcc's modules have no kernel `{name}`").into())
            }
            found => Ok(found),
        }
    }

    /// Returns the properties of a kernel, if it exists.
    pub fn attributes(
        &self,
        form: Form,
        benchmark: &str,
    ) -> Result<Option<Attributes>, Box<dyn Error>> {
        let Some(mut function) = self.function(form, benchmark)? else {
            return Ok(None);
        };
        let mut name = form.kernel(benchmark);
        // The entry that most launches use.
        let ordinary = format!("{name}$ordinary");
        if form != Form::Nvcc
            && let Ok(entry) = self.ours.get_function(&ordinary)
        {
            (function, name) = (entry, ordinary);
        }
        let instructions = &self.instructions[usize::from(form == Form::Nvcc)];
        Ok(Some(Attributes {
            registers: function.get_attribute(FunctionAttribute::NumRegisters)?,
            local: function.get_attribute(FunctionAttribute::LocalSizeBytes)?,
            shared: function.get_attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            instructions: instructions.get(&name).copied(),
        }))
    }

    /// Launches a form once.
    fn launch(&self, function: &Function<'_>, case: &Case, form: Form) -> CudaResult<()> {
        let mut args = case.args[form as usize].clone();
        let pointers = args.pointers();
        // SAFETY: the arguments are for this kernel, and the case keeps their buffers alive.
        unsafe {
            self.stream
                .launch_raw(function, case.grid, case.block, 0, &pointers)
        }
    }

    /// Resets the outputs to their initial contents.
    fn reset(&self, case: &Case) -> CudaResult<()> {
        for output in &case.outputs {
            // SAFETY: the case keeps the buffer alive, and no kernel is running.
            unsafe { cust::memory::memset_d8(output.address, output.fill, output.bytes)? };
        }
        self.context.synchronize()
    }

    /// Launches each existing form, and compares its results with the CPU's.
    pub fn check(&self, case: &Case) -> Result<(), Box<dyn Error>> {
        for form in Form::ALL {
            let Some(function) = self.function(form, case.name)? else {
                continue;
            };
            self.stream.synchronize()?;
            self.reset(case)?;
            self.launch(&function, case, form)?;
            self.stream.synchronize()?;
            (case.check)().map_err(|error| format!("{}, {}: {error}", case.name, form.name()))?;
        }
        Ok(())
    }

    /// Times the forms in turn. Each round starts with another form.
    pub fn time(&self, case: &Case) -> Result<[Option<Times>; 3], Box<dyn Error>> {
        let mut functions = Vec::new();
        for form in Form::ALL {
            if let Some(function) = self.function(form, case.name)? {
                functions.push((form, function));
            }
        }
        let mut times: [Vec<f64>; 3] = Default::default();
        for round in 0..WARM_UP + self.rounds {
            for i in 0..functions.len() {
                let (form, function) = &functions[(round + i) % functions.len()];
                let time = self.time_once(function, case, *form)?;
                if round >= WARM_UP {
                    times[*form as usize].push(time);
                }
            }
        }
        Ok(times.map(Times::of))
    }

    /// Checks and times CUB, if it has the same computation.
    pub fn time_cub(&self, case: &Case) -> Result<Option<Times>, Box<dyn Error>> {
        let (Some(cub), Some(call)) = (&self.cub, &case.cub) else {
            return Ok(None);
        };
        let stream = self.stream.as_inner();
        self.stream.synchronize()?;
        self.reset(case)?;
        // SAFETY: the case keeps the buffers alive; without temporary storage, nothing is launched.
        let bytes = unsafe { cub.call(call, 0, 0, stream)? };
        let room: DeviceBuffer<u8> = DeviceBuffer::zeroed(bytes.max(1))?;
        let address = room.as_device_ptr().as_raw();
        let mut times = Vec::new();
        for round in 0..WARM_UP + self.rounds {
            let time = self.between_events(|| {
                // SAFETY: as above, and the temporary storage has the required size.
                unsafe { cub.call(call, address, bytes, stream)? };
                Ok(())
            })?;
            match round {
                0 => (case.check)().map_err(|error| format!("{}, CUB: {error}", case.name))?,
                1..WARM_UP => {}
                _ => times.push(time),
            }
        }
        Ok(Times::of(times))
    }

    /// Returns the time of a launch in microseconds.
    fn time_once(
        &self,
        function: &Function<'_>,
        case: &Case,
        form: Form,
    ) -> Result<f64, Box<dyn Error>> {
        if case.reset {
            self.stream.synchronize()?;
            self.reset(case)?;
        }
        self.between_events(|| Ok(self.launch(function, case, form)?))
    }

    /// Returns the time of the work that `f` enqueues, in microseconds, with flushed caches.
    fn between_events(
        &self,
        enqueue: impl FnOnce() -> Result<(), Box<dyn Error>>,
    ) -> Result<f64, Box<dyn Error>> {
        let start = Event::new(EventFlags::DEFAULT)?;
        let stop = Event::new(EventFlags::DEFAULT)?;
        if let Some(flush) = &self.flush {
            self.stream.set_zero(&mut *flush.borrow_mut())?;
        }
        start.record(&self.stream)?;
        enqueue()?;
        stop.record(&self.stream)?;
        stop.synchronize()?;
        Ok(stop.elapsed(&start)?.as_secs_f64() * 1e6)
    }
}

impl Times {
    fn of(mut times: Vec<f64>) -> Option<Times> {
        times.sort_by(f64::total_cmp);
        let last = times.len().checked_sub(1)?;
        let at = |part: f64| times[(last as f64 * part).round() as usize];
        Some(Times {
            lower: at(0.25),
            median: at(0.5),
            upper: at(0.75),
            count: times.len(),
        })
    }
}

/// Returns the modules of a directory, without file extensions.
fn stems(directory: &Path) -> Result<Vec<std::path::PathBuf>, Box<dyn Error>> {
    let mut stems = Vec::new();
    if directory.is_dir() {
        for entry in std::fs::read_dir(directory)? {
            stems.push(entry?.path().with_extension(""));
        }
    }
    stems.sort();
    stems.dedup();
    Ok(stems)
}

/// Loads `STEM.cubin` if the device supports it, otherwise `STEM.ptx`.
fn load(stem: &Path, gpu: bool, instructions: &mut Instructions) -> Result<Module, Box<dyn Error>> {
    let cubin = stem.with_extension("cubin");
    if gpu && cubin.exists() {
        let bytes = std::fs::read(&cubin)?;
        // SAFETY: the directory was created by `./x bench` with ptxas.
        match unsafe { Module::from_cubin(&bytes, &[]) } {
            Ok(module) => {
                count_instructions(&bytes, instructions);
                return Ok(module);
            }
            Err(error) => eprintln!("{}: {error}; its PTX is loaded instead", cubin.display()),
        }
    }
    let ptx = stem.with_extension("ptx");
    let text =
        std::fs::read_to_string(&ptx).map_err(|error| format!("{}: {error}", ptx.display()))?;
    Ok(Module::from_ptx(text, &[])?)
}

/// Adds the number of instructions of each kernel of a cubin. All instructions have 16 bytes since
/// compute capability 7.0, and the code of `NAME` is in the ELF section `.text.NAME`.
fn count_instructions(cubin: &[u8], instructions: &mut Instructions) {
    const INSTRUCTION: u64 = 16;
    use object::{Object, ObjectSection};
    let Ok(file) = object::File::parse(cubin) else {
        return;
    };
    for section in file.sections() {
        if let Some(name) = section
            .name()
            .ok()
            .and_then(|name| name.strip_prefix(".text."))
        {
            instructions.insert(name.to_owned(), section.size() / INSTRUCTION);
        }
    }
}

/// The limits of the hardware, measured with simple kernels.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes per second that a copy reads and writes.
    pub bytes: f64,
    /// The `f32` operations per second; a multiply-add counts as two.
    pub f32_operations: f64,
    /// The `f64` operations per second.
    pub f64_operations: f64,
}

impl Limits {
    /// Measures the limits.
    pub fn measure(bench: &Bench, multiprocessors: usize) -> Result<Limits, Box<dyn Error>> {
        const COPIED: usize = 1 << 30;
        const THREADS: usize = 256;
        let from: DeviceBuffer<u128> = DeviceBuffer::zeroed(COPIED / 16)?;
        let to: DeviceBuffer<u128> = DeviceBuffer::zeroed(COPIED / 16)?;
        let copy = bench.ours.get_function("limit_copy")?;
        let stream = &bench.stream;
        let blocks = (COPIED / 16 / THREADS) as u32;
        let time = |launch: &dyn Fn() -> CudaResult<()>| -> CudaResult<f64> {
            let mut times = Vec::new();
            for _ in 0..20 {
                let start = Event::new(EventFlags::DEFAULT)?;
                let stop = Event::new(EventFlags::DEFAULT)?;
                start.record(stream)?;
                launch()?;
                stop.record(stream)?;
                stop.synchronize()?;
                times.push(stop.elapsed(&start)?.as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        };
        // SAFETY: the kernel copies as many elements as both buffers have.
        let copied = time(&|| unsafe {
            launch!(copy<<<blocks, THREADS as u32, 0, stream>>>(
                from.as_device_ptr(), to.as_device_ptr(), COPIED / 16
            ))
        })?;
        let blocks = multiprocessors * 8;
        let rounds = 2000u32;
        let chains = bench_kernels::limits::CHAINS;
        let operations = (2 * 16 * chains * blocks * THREADS) as f64 * f64::from(rounds);
        let (grid, threads) = (blocks as u32, THREADS as u32);
        let fma = bench.ours.get_function("limit_fma_f32")?;
        let to: DeviceBuffer<f32> = DeviceBuffer::zeroed(blocks * THREADS)?;
        // SAFETY: the kernel writes one number per thread.
        let f32_time = time(&|| unsafe {
            launch!(fma<<<grid, threads, 0, stream>>>(rounds, 0.999f32, 0.5f32, to.as_device_ptr()))
        })?;
        let fma = bench.ours.get_function("limit_fma_f64")?;
        let to: DeviceBuffer<f64> = DeviceBuffer::zeroed(blocks * THREADS)?;
        // SAFETY: as above.
        let f64_time = time(&|| unsafe {
            launch!(fma<<<grid, threads, 0, stream>>>(rounds, 0.999f64, 0.5f64, to.as_device_ptr()))
        })?;
        Ok(Limits {
            bytes: 2.0 * COPIED as f64 / copied,
            f32_operations: operations / f32_time,
            f64_operations: operations / f64_time,
        })
    }

    /// Returns the minimum time of a benchmark in microseconds.
    pub fn least(&self, case: &Case) -> f64 {
        let times = [
            case.bytes / self.bytes,
            case.f32_operations / self.f32_operations,
            case.f64_operations / self.f64_operations,
        ];
        1e6 * times.into_iter().fold(0.0, f64::max)
    }
}
