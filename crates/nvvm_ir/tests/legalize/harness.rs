//! Builds a kernel for each case, legalizes and compiles the kernels for several architectures,
//! assembles them with ptxas, runs them, and compares each output with Rust's result.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use nvvm::{OptLevel, Options};
use nvvm_ir::legalize::{Target, legalize};
use nvvm_ir::*;
use ptx_emulator::{LaunchConfig, Memory};

/// The type of a case's operands and results.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    I(u32),
    F16,
    F32,
    F64,
    BF16,
    Ptr,
}

impl Ty {
    pub fn of(self, m: &mut Module) -> Type {
        match self {
            Ty::I(bits) => m.types.int(bits),
            Ty::F16 => m.types.intern(TypeKind::Half),
            Ty::F32 => m.types.intern(TypeKind::Float),
            Ty::F64 => m.types.intern(TypeKind::Double),
            Ty::BF16 => m.types.intern(TypeKind::BFloat),
            Ty::Ptr => m.types.ptr(),
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Ty::I(bits) => bits.div_ceil(8) as usize,
            Ty::F16 | Ty::BF16 => 2,
            Ty::F32 => 4,
            Ty::F64 | Ty::Ptr => 8,
        }
    }
}

/// The expected output.
#[derive(Copy, Clone, Debug)]
pub enum Want {
    /// Exactly these bits.
    Bits(u128),
    /// Any NaN of this many bits.
    Nan(u32),
    /// Any value.
    Any,
}

impl Want {
    pub fn f32(value: f32) -> Want {
        if value.is_nan() {
            Want::Nan(32)
        } else {
            Want::Bits(value.to_bits().into())
        }
    }

    pub fn f64(value: f64) -> Want {
        if value.is_nan() {
            Want::Nan(64)
        } else {
            Want::Bits(value.to_bits().into())
        }
    }

    fn holds(self, got: u128) -> bool {
        let (exponent, infinity) = match self {
            Want::Any => return true,
            Want::Bits(bits) => return got == bits,
            Want::Nan(16) => (0x7FFF, 0x7C00),
            Want::Nan(32) => (0x7FFF_FFFF, 0x7F80_0000),
            Want::Nan(_) => (u128::from(u64::MAX >> 1), 0x7FF0_0000_0000_0000),
        };
        got & exponent > infinity
    }
}

struct Case {
    kernel: String,
    inputs: Vec<Vec<u128>>,
    rets: Vec<Ty>,
    want: Vec<Vec<Want>>,
}

/// Several cases in one module.
pub struct Suite {
    name: &'static str,
    pub module: Module,
    cases: Vec<Case>,
    /// The target architectures.
    pub archs: &'static [u32],
}

/// The number of bytes that an operand or result occupies in memory.
const SLOT: u64 = 16;
/// The outputs' contents before the launch: a result must not write beyond its size.
const FILL: u8 = 0xAA;
const THREADS: usize = 128;

impl Suite {
    pub fn new(name: &'static str) -> Suite {
        Suite {
            name,
            module: Module::new(name),
            cases: Vec::new(),
            archs: &[75, 90, 100, 120],
        }
    }

    /// Adds a kernel that loads a set of operands, runs the case's code, and stores the results.
    pub fn case(
        &mut self,
        name: &str,
        args: &[Ty],
        rets: &[Ty],
        inputs: Vec<Vec<u128>>,
        build: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>,
        want: impl Fn(&[u128]) -> Vec<Want>,
    ) {
        let m = &mut self.module;
        let (void, ptr, i32, i64) = (
            m.types.void(),
            m.types.ptr(),
            m.types.int(32),
            m.types.int(64),
        );
        let i8 = m.types.int(8);
        let sreg = |m: &mut Module, name: &str| {
            let name = format!("llvm.nvvm.read.ptx.sreg.{name}");
            let sig = m.types.func(i32, &[], false);
            match m.named(&name) {
                Some(value) => (sig, value),
                None => {
                    let func = m.add_func(&name, sig).unwrap();
                    (sig, m.func(func).value)
                }
            }
        };
        let tid = sreg(m, "tid.x");
        let ctaid = sreg(m, "ctaid.x");
        let kernel = format!("k_{name}");
        let sig = m.types.func(void, &[ptr, ptr, i32], false);
        let func = m.add_func(&kernel, sig).unwrap();
        m.func_mut(func).kernel = Some(KernelAttrs::default());
        let (input, output, count) = (
            m.func(func).params[0],
            m.func(func).params[1],
            m.func(func).params[2],
        );
        let entry = m.add_block(func, "entry");
        let body = m.add_block(func, "body");
        let exit = m.add_block(func, "exit");
        let arg_types: Vec<Type> = args.iter().map(|ty| ty.of(m)).collect();
        let mut b = Builder::new(m, entry);
        let tid = b.call(tid.0, tid.1, &[]);
        let ctaid = b.call(ctaid.0, ctaid.1, &[]);
        let threads = b.module.const_i32(THREADS as i32);
        let base = b.bin(BinOp::Mul, ctaid, threads);
        let index = b.bin(BinOp::Add, base, tid);
        let inside = b.icmp(IntPred::Ult, index, count);
        b.cond_br(inside, body, exit);
        b.switch_to(body);
        let index = b.cast(CastOp::ZExt, index, i64);
        let slot = |b: &mut Builder, base: Value, stride: usize, at: usize| {
            let stride = b.module.const_i64((stride as u64 * SLOT) as i64);
            let start = b.bin(BinOp::Mul, index, stride);
            let at = b.module.const_i64((at as u64 * SLOT) as i64);
            let offset = b.bin(BinOp::Add, start, at);
            b.gep(i8, base, &[offset], true)
        };
        let values: Vec<Value> = arg_types
            .iter()
            .enumerate()
            .map(|(i, &ty)| {
                if args[i] == Ty::Ptr {
                    // The operand's slot itself.
                    return slot(&mut b, input, args.len(), i);
                }
                let at = slot(&mut b, input, args.len(), i);
                let align = b.module.types.align(ty);
                if args[i] == Ty::I(1) {
                    let byte = b.load(
                        i8,
                        at,
                        MemAccess {
                            align: 1,
                            ..MemAccess::default()
                        },
                    );
                    return b.cast(CastOp::Trunc, byte, ty);
                }
                b.load(
                    ty,
                    at,
                    MemAccess {
                        align,
                        ..MemAccess::default()
                    },
                )
            })
            .collect();
        let results = build(&mut b, &values);
        assert_eq!(results.len(), rets.len(), "{name}");
        for (i, &result) in results.iter().enumerate() {
            let at = slot(&mut b, output, rets.len(), i);
            let result = if rets[i] == Ty::I(1) {
                b.cast(CastOp::ZExt, result, i8)
            } else {
                result
            };
            let align = b.module.types.align(b.module.ty(result));
            b.store(
                result,
                at,
                MemAccess {
                    align,
                    ..MemAccess::default()
                },
            );
        }
        b.br(exit);
        b.switch_to(exit);
        b.ret(None);
        let want = inputs.iter().map(|input| want(input)).collect();
        self.cases.push(Case {
            kernel,
            inputs,
            rets: rets.to_vec(),
            want,
        });
    }

    /// Compiles for all architectures and runs.
    pub fn run(self) {
        for &sm in self.archs {
            self.run_on(sm, OptLevel::O3);
        }
        // Without optimizations, once for each dialect.
        self.run_on(self.archs[0], OptLevel::O0);
        self.run_on(100, OptLevel::O0);
    }

    fn run_on(&self, sm: u32, opt_level: OptLevel) {
        let Some(tools) = Tools::find() else {
            test_outcome::skip("libnvvm, libdevice or both are not there");
            return;
        };
        let target = Target::new(sm);
        let mut module = self.module.clone();
        if let Err(errors) = legalize(&mut module, &target) {
            panic!("{}: sm_{sm}: {errors:#?}", self.name);
        }
        let text = write_module(&module, target.dialect);
        let ptx = tools.compile(self.name, &text, sm, opt_level);
        let level = if opt_level == OptLevel::O0 {
            "O0"
        } else {
            "O3"
        };
        // For a run on a GPU: writes the PTX, and the inputs and expectations as text.
        if let Ok(dir) = std::env::var("LEGALIZE_DUMP") {
            let stem = format!("{dir}/{}.{sm}.{level}", self.name);
            std::fs::write(format!("{stem}.ll"), &text).unwrap();
            std::fs::write(format!("{stem}.ptx"), &ptx).unwrap();
            self.dump(&format!("{dir}/{}.cases", self.name));
        }
        tools.assemble(self.name, &ptx, sm);
        self.execute(&ptx, sm, level);
    }

    /// Runs each case's kernel on the emulator and compares the outputs.
    fn execute(&self, ptx: &str, sm: u32, level: &str) {
        let memory = Memory::new();
        let program = ptx_emulator::Program::load(ptx, &memory)
            .unwrap_or_else(|error| panic!("{}: sm_{sm} {level}: {error}", self.name));
        let mut wrong = Vec::new();
        for case in &self.cases {
            let inputs: Vec<u8> = case
                .inputs
                .iter()
                .flatten()
                .flat_map(|v| v.to_le_bytes())
                .collect();
            let outputs = case.want.len() * case.rets.len() * SLOT as usize;
            let input = Buffer::new(&memory, &inputs);
            let output = Buffer::new(&memory, &vec![FILL; outputs]);
            let mut params = Vec::new();
            params.extend(input.address.to_le_bytes());
            params.extend(output.address.to_le_bytes());
            params.extend((case.inputs.len() as u32).to_le_bytes());
            let config = LaunchConfig {
                grid: [case.inputs.len().div_ceil(THREADS) as u32, 1, 1],
                block: [THREADS as u32, 1, 1],
                params,
                stack_limit: 1 << 16,
                ..LaunchConfig::default()
            };
            let kernel = program
                .kernel(&case.kernel)
                .expect("the PTX has the kernel");
            match ptx_emulator::launch(&program, kernel, &config) {
                Ok(_) => {
                    let found = Self::compare(case, &output.read());
                    wrong.extend(
                        found
                            .into_iter()
                            .take(3)
                            .map(|line| format!("{}: {line}", case.kernel)),
                    );
                }
                Err(fault) => wrong.push(format!("{}: {fault}", case.kernel)),
            }
        }
        wrong.truncate(40);
        assert!(
            wrong.is_empty(),
            "{}: sm_{sm} {level}:\n{}",
            self.name,
            wrong.join("\n")
        );
    }

    /// Returns the differences in a case's outputs.
    fn compare(case: &Case, output: &[u8]) -> Vec<String> {
        let mut wrong = Vec::new();
        let stride = case.rets.len() * SLOT as usize;
        for (i, want) in case.want.iter().enumerate() {
            for (j, &want) in want.iter().enumerate() {
                let at = i * stride + j * SLOT as usize;
                let slot = &output[at..at + SLOT as usize];
                let bytes = case.rets[j].bytes();
                let mut bits = [0; 16];
                bits[..bytes].copy_from_slice(&slot[..bytes]);
                let got = u128::from_le_bytes(bits);
                if !want.holds(got) {
                    let input = &case.inputs[i];
                    wrong.push(format!(
                        "result {j} of {input:x?} is {got:#x}, not {want:x?}"
                    ));
                }
                if slot[bytes..].iter().any(|&byte| byte != FILL) {
                    wrong.push(format!(
                        "result {j} is stored beyond its {bytes} bytes: {slot:x?}"
                    ));
                }
            }
        }
        wrong
    }

    /// Writes inputs and expectations as text, for a run on another machine.
    fn dump(&self, path: &str) {
        let mut out = String::new();
        for case in &self.cases {
            let args = case.inputs.first().map_or(0, Vec::len);
            let sizes: Vec<String> = case.rets.iter().map(|ty| ty.bytes().to_string()).collect();
            writeln!(
                out,
                "case {} {} {} {}",
                case.kernel,
                case.inputs.len(),
                args,
                sizes.join(",")
            )
            .unwrap();
            for (input, want) in case.inputs.iter().zip(&case.want) {
                let input: Vec<String> = input.iter().map(|v| format!("{v:x}")).collect();
                let want: Vec<String> = want
                    .iter()
                    .map(|want| match want {
                        Want::Bits(bits) => format!("{bits:x}"),
                        Want::Nan(bits) => format!("nan{bits}"),
                        Want::Any => "any".to_owned(),
                    })
                    .collect();
                writeln!(out, "{} -> {}", input.join(" "), want.join(" ")).unwrap();
            }
        }
        std::fs::write(path, out).unwrap();
    }
}

/// Memory of the emulated device.
struct Buffer<'m> {
    memory: &'m Memory,
    address: u64,
    size: usize,
}

impl<'m> Buffer<'m> {
    fn new(memory: &'m Memory, bytes: &[u8]) -> Self {
        let address = memory
            .alloc(bytes.len().max(1), 256)
            .expect("there is memory");
        // SAFETY: the emulator's global memory is host memory at the same address, and no kernel is
        // running.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        Buffer {
            memory,
            address,
            size: bytes.len(),
        }
    }

    fn read(&self) -> Vec<u8> {
        // SAFETY: as in `new`; the buffer has this size.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.size) }.to_vec()
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.memory.free(self.address);
    }
}

/// libnvvm, libdevice and ptxas.
pub struct Tools {
    library: nvvm::Library,
    libdevice: Vec<u8>,
    ptxas: Option<PathBuf>,
}

impl Tools {
    pub fn find() -> Option<Tools> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/cuda");
        let kit = cuda_toolkit::find(&[root]);
        let library = nvvm::Library::from_toolkit(&kit).ok()?;
        let libdevice = std::fs::read(&kit.libdevice.as_ref()?.path).ok()?;
        Some(Tools {
            library,
            libdevice,
            ptxas: kit.ptxas.map(|found| found.path),
        })
    }

    pub fn compile(&self, name: &str, text: &str, sm: u32, opt_level: OptLevel) -> String {
        let arch = format!("sm_{sm}").parse().unwrap();
        let options = Options {
            opt_level,
            ..Options::new(arch)
        };
        let mut program = nvvm::Program::new(&self.library).unwrap();
        program.add_module(name, text.as_bytes()).unwrap();
        program.add_libdevice_lazily(&self.libdevice).unwrap();
        let result = program
            .verify(&options)
            .and_then(|()| program.compile(&options));
        let ptx =
            result.unwrap_or_else(|error| panic!("{name}: sm_{sm}: {error}\n{:#?}", error.log()));
        String::from_utf8(ptx).unwrap()
    }

    pub fn assemble(&self, name: &str, ptx: &str, sm: u32) {
        let Some(ptxas) = &self.ptxas else { return };
        let file =
            std::env::temp_dir().join(format!("legalize-{}-{name}-{sm}.ptx", std::process::id()));
        std::fs::write(&file, ptx).unwrap();
        // Without optimizations: the test only checks that it assembles.
        let output = Command::new(ptxas)
            .args([&format!("-arch=sm_{sm}"), "-O0", "-o", "/dev/null"])
            .arg(&file)
            .output()
            .unwrap();
        std::fs::remove_file(&file).unwrap();
        let log = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: sm_{sm}: {log}");
    }
}

/// Returns all combinations of two lists of operands.
pub fn pairs(a: &[u128], b: &[u128]) -> Vec<Vec<u128>> {
    a.iter()
        .flat_map(|&a| b.iter().map(move |&b| vec![a, b]))
        .collect()
}

/// Returns each value as a single operand.
pub fn singles(a: &[u128]) -> Vec<Vec<u128>> {
    a.iter().map(|&a| vec![a]).collect()
}

/// Returns the boundary values of a width, and some in between.
pub fn edges(bits: u32) -> Vec<u128> {
    let mask = if bits == 128 {
        u128::MAX
    } else {
        (1 << bits) - 1
    };
    let mut values = vec![
        0,
        1,
        2,
        3,
        5,
        7,
        mask,
        mask - 1,
        mask - 2,
        mask >> 1,
        (mask >> 1) + 1,
    ];
    values.extend([
        (mask >> 1) - 1,
        (mask >> 1) + 2,
        mask / 3,
        mask / 5,
        mask / 7 * 3,
    ]);
    for shift in [bits / 4, bits / 2, bits / 2 + 1, bits * 3 / 4] {
        values.extend([1 << shift, (1 << shift) - 1, (mask << shift) & mask]);
    }
    let mut random = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835u128;
    for _ in 0..6 {
        random = random
            .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645)
            .wrapping_add(99);
        values.push((random ^ (random >> 64)) & mask);
    }
    values.iter_mut().for_each(|v| *v &= mask);
    values.sort_unstable();
    values.dedup();
    values
}

/// Sign-extends an integer of a width.
pub fn signed(value: u128, bits: u32) -> i128 {
    ((value << (128 - bits)) as i128) >> (128 - bits)
}

pub fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}
