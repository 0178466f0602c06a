//! Shared by the tests of the engine: a device with a loaded module, buffers, and launches with
//! parameters.

#![allow(dead_code, clippy::result_large_err)]

pub mod generator;

use std::sync::{Arc, Mutex};

use ptx::{Condition, Kernels, LaunchSizes, Launches, Parameter, Purpose, Slice, stack};
use ptx_emulator::{Fault, KernelId, LaunchConfig, LaunchStats, Memory, Program, launch};

/// A device with one module.
pub struct Device {
    pub memory: Memory,
    pub program: Program,
    pub config: LaunchConfig,
    pub printed: Arc<Mutex<Vec<u8>>>,
}

/// The bytes of kernel parameters.
pub struct Params(Vec<u8>);

impl Params {
    pub fn new() -> Params {
        Params(Vec::new())
    }

    /// Appends a value with its natural alignment.
    pub fn with<const N: usize>(mut self, bytes: [u8; N]) -> Params {
        self.0.resize(self.0.len().next_multiple_of(N), 0);
        self.0.extend(bytes);
        self
    }

    pub fn u32(self, value: u32) -> Params {
        self.with(value.to_le_bytes())
    }

    pub fn u64(self, value: u64) -> Params {
        self.with(value.to_le_bytes())
    }

    pub fn bytes(self) -> Vec<u8> {
        self.0
    }
}

impl Device {
    pub fn new(ptx: &str) -> Device {
        let memory = Memory::new();
        let program = Program::load(ptx, &memory).unwrap_or_else(|error| panic!("{error}"));
        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = printed.clone();
        let config = LaunchConfig {
            output: Some(Arc::new(move |bytes| {
                sink.lock().unwrap().extend_from_slice(bytes)
            })),
            ..LaunchConfig::default()
        };
        Device {
            memory,
            program,
            config,
            printed,
        }
    }

    /// Creates a device with a kernel `k` that has these parameters and this body, preceded by
    /// `before`.
    pub fn kernel(before: &str, params: &str, body: &str) -> Device {
        Device::new(&module(before, params, body))
    }

    pub fn upload<T: Copy>(&self, data: &[T]) -> u64 {
        let size = size_of_val(data);
        let address = self.memory.alloc(size, 256).expect("memory");
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), address as *mut u8, size)
        };
        address
    }

    pub fn download<T: Copy>(&self, address: u64, count: usize) -> Vec<T> {
        (0..count)
            .map(|index| unsafe { (address as *const T).add(index).read_unaligned() })
            .collect()
    }

    pub fn launch(
        &self,
        name: &str,
        grid: u32,
        block: u32,
        params: Params,
    ) -> Result<LaunchStats, Fault> {
        self.launch_blocks(name, grid, [block, 1, 1], params)
    }

    pub fn launch_blocks(
        &self,
        name: &str,
        grid: u32,
        block: [u32; 3],
        params: Params,
    ) -> Result<LaunchStats, Fault> {
        let config = LaunchConfig {
            grid: [grid, 1, 1],
            block,
            params: params.0,
            ..self.config.clone()
        };
        launch(&self.program, self.entry(name, &config), &config)
    }

    /// Returns the entry that the host would launch, or that for strided launches in some of the
    /// launches that both may run.
    pub fn entry(&self, name: &str, config: &LaunchConfig) -> KernelId {
        let strided = self.entry_for(name, config, Launches::Strided);
        let ordinary = self.entry_for(name, config, Launches::Ordinary);
        let bits: u32 = config.params.iter().map(|byte| byte.count_ones()).sum();
        let found = match bits % 2 {
            0 => ordinary.or(strided),
            _ => strided.or(ordinary),
        };
        found.unwrap_or_else(|| self.program.kernel(name).expect("the kernel"))
    }

    /// Returns the entry for some launches, if its condition holds.
    fn entry_for(&self, name: &str, config: &LaunchConfig, launches: Launches) -> Option<KernelId> {
        let kernel = self.program.kernel(name).expect("the kernel");
        let (address, size) = self.program.global(&launches.condition_of(name))?;
        let bytes: Vec<u8> = self.download(address, size);
        let params = &self.program.kernel_info(kernel).params;
        let sizes: Vec<usize> = params.iter().map(|param| param.size).collect();
        let condition = Condition::decode(&bytes, &sizes).expect("a condition");
        assert_eq!(condition.encode(), bytes);
        let sizes = LaunchSizes {
            block: config.block,
            grid: config.grid,
        };
        let holds = condition.holds(&sizes, |index, offset, bytes| {
            let mut value = [0; 8];
            let from = params[index].offset + offset;
            value[..bytes].copy_from_slice(&config.params[from..from + bytes]);
            u64::from_le_bytes(value)
        });
        let entry = || {
            self.program
                .kernel(&launches.entry_of(name))
                .expect("an entry")
        };
        holds.then(entry)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap()).into_owned()
    }
}

/// Returns a module with one kernel.
pub fn module(before: &str, params: &str, body: &str) -> String {
    format!(
        "
            .version 8.7
            .target sm_90
            .address_size 64
            {before}
            .visible .entry k({params}) {{
                .reg .pred %p<20>;
                .reg .b16 %rs<20>;
                .reg .b32 %r<40>;
                .reg .b64 %rd<40>;
                .reg .f32 %f<20>;
                .reg .f64 %fd<20>;
                .reg .b128 %rq<4>;
                {body}
            }}
            "
    )
}

/// A snippet of PTX, the register with its result, and the expected bits.
pub type Case = (String, &'static str, u64);

/// Creates a [`Case`].
pub fn case(snippet: impl Into<String>, register: &'static str, expected: u64) -> Case {
    (snippet.into(), register, expected)
}

/// Runs all cases in one kernel and compares their results. With `PTX_DUMP=DIR`, also writes the
/// module to a directory, for ptxas.
pub fn check(cases: &[Case]) {
    let mut body = String::from("ld.param.u64 %rd39, [out];\n");
    for (index, (snippet, register, _)) in cases.iter().enumerate() {
        let offset = index * 16;
        let store = match register.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "%p" => {
                format!(
                    "
                    selp.b32 %r39, 1, 0, {register};
                    st.global.u32 [%rd39+{offset}], %r39;
                    "
                )
            }
            "%rs" => format!("st.global.u16 [%rd39+{offset}], {register};"),
            "%r" | "%f" => format!("st.global.b32 [%rd39+{offset}], {register};"),
            "%rd" | "%fd" => format!("st.global.b64 [%rd39+{offset}], {register};"),
            other => panic!("no store for {other}"),
        };
        body.push_str(&format!("{snippet}\n{store}\n"));
    }
    body.push_str("ret;");
    let text = module("", ".param .u64 out", &body);
    if let Ok(path) = std::env::var("PTX_DUMP") {
        let name = std::thread::current()
            .name()
            .unwrap_or("test")
            .replace("::", "_");
        std::fs::write(format!("{path}/{name}.ptx"), &text).unwrap();
    }
    let device = Device::new(&text);
    let out = device.upload(&vec![0u64; cases.len() * 2]);
    device
        .launch("k", 1, 1, Params::new().u64(out))
        .unwrap_or_else(|fault| panic!("{fault}"));
    let results: Vec<u64> = device.download(out, cases.len() * 2);
    let mut wrong = Vec::new();
    for ((snippet, _, expected), result) in cases.iter().zip(results.chunks(2)) {
        if result[0] != *expected {
            wrong.push(format!(
                "{snippet}\n    gave {:#x}, not {expected:#x}",
                result[0]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a module whose kernel is `k` before and after the passes for speed. `slices` are the first
/// parameters and the sizes of elements, and `sizes` other parameters that are extents.
pub fn before_and_after(text: &str, slices: &[(usize, u64)], sizes: &[usize]) -> [String; 2] {
    let slices: Vec<Slice> = (slices.iter())
        .map(|&(pointer, element)| Slice {
            kernel: "k".to_owned(),
            pointer,
            length: pointer + 1,
            element,
        })
        .collect();
    let sizes = parameters(sizes);
    let kernels = Kernels {
        slices: &slices,
        sizes: &sizes,
        ordinary_entries: has_ordinary_entries(text),
        ..Kernels::default()
    };
    let options = stack::Options::default();
    [Purpose::Plain, Purpose::Speed(kernels)]
        .map(|purpose| ptx::finish(text, &[], purpose, &options).unwrap().text)
}

/// Returns the parameters of the kernel `k` with these indices.
pub fn parameters(indices: &[usize]) -> Vec<Parameter> {
    let parameter = |&index: &usize| Parameter {
        kernel: "k".to_owned(),
        index,
    };
    indices.iter().map(parameter).collect()
}

/// Returns whether the kernels of a random module get entries for ordinary launches: those of half
/// of the modules do.
pub fn has_ordinary_entries(text: &str) -> bool {
    text.len() % 2 == 0
}
