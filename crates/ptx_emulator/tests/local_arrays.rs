//! Runs random accesses to an array in local memory before and after `ptx::finish` moves it to
//! shared memory: all threads must read the same values.

mod common;

use common::generator::{Code, Generator, settings};
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// The size of the array in bytes.
const BYTES: u64 = 32;

/// The extents of the blocks of different kernels.
const BLOCKS: &[[u32; 3]] = &[[32, 1, 1], [33, 1, 1], [8, 3, 2], [5, 1, 7], [1, 1, 1]];

/// The widths of elements whose accesses a kernel mixes, in bytes.
const WIDTHS: &[&[u64]] = &[&[4], &[8], &[4, 8], &[2, 4], &[2, 4, 8], &[2]];

/// The text of a kernel.
struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
    widths: &'static [u64],
    /// Registers that hold a value of 32 bits.
    values: Vec<String>,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    fn value(&mut self) -> String {
        let index = self.rng.usize(..self.values.len());
        self.values[index].clone()
    }

    /// Returns an address whose offset is a multiple of `bytes`, and the offset's text in an
    /// instruction that accesses as many bytes.
    fn address(&mut self, bytes: u64) -> String {
        let value = self.value();
        let places = BYTES / bytes;
        let constant = self.rng.u64(..places) * bytes;
        if self.rng.u32(..6) == 0 {
            let base = ["%base", "depot"][self.rng.usize(..2)];
            return format!("{base}+{constant}");
        }
        let index = self.op("%a", "rem.u32", &format!("{value}, {places}"));
        let (start, offset) = match self.rng.u32(..3) {
            // The offset of an address may be negative.
            0 => {
                let index = self.op("%a", "add.s32", &format!("{index}, {places}"));
                (index, format!("{:+}", -(BYTES as i64)))
            }
            1 => {
                let last = self.op("%a", "min.u32", &format!("{index}, {}", places / 2));
                let rest = places - 1 - places / 2;
                (last, format!("+{}", self.rng.u64(..=rest) * bytes))
            }
            _ => (index, String::new()),
        };
        let pointer = match self.rng.u32(..3) {
            0 => {
                let scaled = self.op("%c", "mul.wide.u32", &format!("{start}, {bytes}"));
                self.op("%c", "add.s64", &format!("%base, {scaled}"))
            }
            1 => self.op("%c", "mad.wide.u32", &format!("{start}, {bytes}, %base")),
            _ => {
                let scaled = self.op("%c", "mul.wide.u32", &format!("{start}, {bytes}"));
                let sum = self.op("%c", "add.s64", &format!("{scaled}, %base"));
                let other = self.op("%c", "mov.u64", "%base");
                let q = self.op("%q", "setp.ge.u64", &format!("{sum}, {other}"));
                self.op("%c", "selp.b64", &format!("{sum}, {other}, {q}"))
            }
        };
        format!("{pointer}{offset}")
    }

    /// Emits an access. A guarded load leaves its result unchanged in some threads.
    fn access(&mut self) {
        let width = self.widths[self.rng.usize(..self.widths.len())];
        let mut lanes = [1, 1, 2, 4][self.rng.usize(..4)];
        if width == 8 {
            lanes = lanes.min(2);
        }
        let address = self.address(width * lanes);
        let guard = match self.rng.u32(..4) {
            0 => {
                let value = self.value();
                let q = self.op("%q", "setp.lt.s32", &format!("{value}, 0"));
                format!("@{}{q} ", ["", "!"][self.rng.usize(..2)])
            }
            _ => String::new(),
        };
        let prefix = match width {
            8 => "%c",
            2 => "%h",
            _ => "%a",
        };
        let vector = match lanes {
            1 => String::new(),
            lanes => format!(".v{lanes}"),
        };
        let ty = ["u", "b", "s"][self.rng.usize(..3)];
        let opcode = format!("local{vector}.{ty}{}", width * 8);
        let store = self.rng.bool();
        let mut registers = Vec::new();
        for _ in 0..lanes {
            let value = self.value();
            let bits = match width {
                8 => self.op("%c", "mul.wide.u32", &format!("{value}, 2654435769")),
                2 => self.op("%h", "cvt.u16.u32", &value),
                _ => self.op("%a", "mov.b32", &value),
            };
            registers.push(bits);
        }
        if store && lanes == 1 && self.rng.u32(..4) == 0 {
            registers = vec![self.rng.u32(..100).to_string()];
        }
        let list = match lanes {
            1 => registers[0].clone(),
            _ => format!("{{{}}}", registers.join(", ")),
        };
        if store {
            self.line(&format!("{guard}st.{opcode} [{address}], {list};"));
            return;
        }
        self.line(&format!("{guard}ld.{opcode} {list}, [{address}];"));
        for register in registers {
            let value = match prefix {
                "%c" => {
                    let (low, high) = (self.register("%a"), self.register("%a"));
                    self.line(&format!("mov.b64 {{{low}, {high}}}, {register};"));
                    self.op("%a", "xor.b32", &format!("{low}, {high}"))
                }
                "%h" => self.op("%a", "cvt.u32.u16", &register),
                _ => register,
            };
            let sum = self.op("%a", "mad.lo.s32", &format!("%sum, 31, {value}"));
            self.line(&format!("mov.u32 %sum, {sum};"));
            self.values.push(value);
        }
    }
}

/// Returns a kernel with blocks of some extents.
fn kernel(rng: &mut Rng, [x, y, z]: [u32; 3]) -> String {
    let widths = WIDTHS[rng.usize(..WIDTHS.len())];
    let fixed = rng.bool();
    let mut text = Text {
        rng,
        code: Code::default(),
        widths,
        values: ["%seed", "%thread"].map(str::to_owned).to_vec(),
    };
    for _ in 0..text.rng.u32(4..24) {
        text.access();
    }
    let body = format!(
        "
        .local .align 8 .b8 depot[{BYTES}];
        .reg .pred %q<400>;
        .reg .b16 %h<400>;
        .reg .b32 %a<400>;
        .reg .b64 %c<400>;
        .reg .b32 %thread, %sum, %seed, %i, %t;
        .reg .b64 %to, %base, %next, %end;
        .reg .pred %more;
        ld.param.u64 %to, [k_param_0];
        cvta.to.global.u64 %to, %to;
        mov.u32 %thread, %tid.z;
        mov.u32 %t, %tid.y;
        mad.lo.u32 %thread, %thread, {y}, %t;
        mov.u32 %t, %tid.x;
        mad.lo.u32 %thread, %thread, {x}, %t;
        mad.wide.u32 %to, %thread, 4, %to;
        mov.u32 %t, %ctaid.x;
        mul.lo.u32 %t, %t, {};
        mad.wide.u32 %to, %t, 4, %to;
        ld.global.u32 %seed, [%to];
        mov.u64 %base, depot;
        mov.u64 %next, %base;
        add.u64 %end, %base, {BYTES};
        $fill:
        st.local.v2.b32 [%next], {{%seed, %thread}};
        add.u64 %next, %next, 8;
        setp.ne.s64 %more, %next, %end;
        @%more bra $fill;
        mov.u32 %sum, %seed;
        mov.u32 %i, 0;
        $again:
        {}
        add.u32 %i, %i, 1;
        add.u32 %seed, %sum, %i;
        setp.lt.u32 %more, %i, 3;
        @%more bra $again;
        st.global.u32 [%to], %sum;
        ret;
        ",
        x * y * z,
        text.code.body
    );
    let body = match widths {
        // The array has elements of these widths only.
        [8] => body.replace("v2.b32 [%next], {%seed, %thread}", "b64 [%next], %c0"),
        [2] => body.replace(
            "v2.b32 [%next], {%seed, %thread}",
            "v4.b16 [%next], {%h0, %h0, %h0, %h0}",
        ),
        _ => body,
    };
    let body = body.replace(
        "mov.u64 %base, depot;",
        "mov.u64 %base, depot;\nmov.b64 %c0, {%seed, %thread};\ncvt.u16.u32 %h0, %seed;",
    );
    let text = module("", ".param .u64 k_param_0", &body);
    let directive = match fixed {
        true => format!(".reqntid {x}, {y}, {z}"),
        false => format!(".maxntid {}, 1, 1", x * y * z + 3),
    };
    text.replace(
        ".param .u64 k_param_0)",
        &format!(".param .u64 k_param_0) {directive}"),
    )
}

#[test]
fn arrays_keep_their_values_in_shared_memory() {
    let (seed, kernels) = settings(300);
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let block = BLOCKS[rng.usize(..BLOCKS.len())];
        let text = kernel(&mut rng, block);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        // Of an array that is never read, only its address may be left.
        let is_moved = match text.contains("ld.local") {
            true => !fast.contains(".local") && fast.contains("st.shared"),
            false => !fast.contains("st.local") && !fast.contains("st.shared"),
        };
        assert!(is_moved, "seed {seed}: the array is not moved\n{fast}");
        let threads: u32 = block.iter().product();
        let from: Vec<u32> = (0..2 * threads).map(|_| rng.u32(..)).collect();
        let run = |text: &str| -> Vec<u32> {
            let device = Device::new(text);
            let to = device.upload(&from);
            device
                .launch_blocks("k", 2, block, Params::new().u64(to))
                .unwrap();
            device.download(to, from.len())
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
}
