//! Runs random trees of comparisons before and after `ptx::finish` replaces them with jump tables.

mod common;

use std::fmt::Write;

use common::{Device, Params};
use fastrand::Rng;
use ptx::{Purpose, stack};

/// A tree of comparisons of `%v`, whose leaves set `%r1` to different numbers.
struct Tree<'r> {
    rng: &'r mut Rng,
    ty: &'static str,
    /// The difference between the greatest and the least constant.
    span: i64,
    least: i64,
    text: String,
    nodes: u32,
    leaves: u32,
    /// Whether the tree may have what prevents tables.
    odd: bool,
    /// The nodes with a label.
    complete: Vec<u32>,
}

impl Tree<'_> {
    fn leaf(&mut self) -> u32 {
        // Some leaves are shared.
        let leaf = self.rng.u32(..self.leaves + 2);
        self.leaves = self.leaves.max(leaf + 1).min(9);
        leaf.min(9)
    }

    /// Emits a node of the tree with up to `depth` levels below it, and returns its label.
    fn node(&mut self, depth: u32) -> String {
        if depth == 0 || self.nodes > 2 && self.rng.u32(..8) == 0 {
            return format!("$leaf{}", self.leaf());
        }
        if self.odd && !self.complete.is_empty() && self.rng.u32(..8) == 0 {
            // A second predecessor.
            return format!(
                "$node{}",
                self.complete[self.rng.usize(..self.complete.len())]
            );
        }
        self.nodes += 1;
        let node = self.nodes;
        let (left, right) = (self.node(depth - 1), self.node(depth - 1));
        let constant = self.least + self.rng.i64(0..=self.span);
        let (mut ty, bits) = self.ty.split_at(1);
        if self.odd && self.rng.u32(..8) == 0 {
            ty = ["s", "u"][self.rng.usize(..2)];
        }
        let effect = match self.odd && self.rng.u32(..8) == 0 {
            true => format!("xor.b32 %r3, %r3, {node};"),
            false => String::new(),
        };
        let order = ["lt", "le", "gt", "ge"][self.rng.usize(..4)];
        let comparison = match self.rng.u32(..4) {
            0 => format!("eq.{}{bits}", ["s", "b"][self.rng.usize(..2)]),
            1 => format!("ne.{}{bits}", ["s", "b"][self.rng.usize(..2)]),
            _ => format!("{order}.{ty}{bits}"),
        };
        let not = ["", "!"][self.rng.usize(..2)];
        let _ = writeln!(
            self.text,
            "$node{node}: {effect}
            setp.{comparison} %p{node}, %v, {constant};
            @{not}%p{node} bra {left};
            bra.uni {right};"
        );
        self.complete.push(node);
        format!("$node{node}")
    }
}

#[test]
fn jump_tables_have_the_same_targets() {
    let count = std::env::var("COUNT")
        .ok()
        .and_then(|count| count.parse().ok());
    let (mut tables, count) = (0, count.unwrap_or(300));
    for seed in 0..count {
        let mut rng = Rng::with_seed(seed);
        let ty = ["u16", "s16", "u32", "s32"][rng.usize(..4)];
        let mut tree = Tree {
            ty,
            span: [3, 8, 20, 70][rng.usize(..4)],
            least: match (ty, rng.u32(..4)) {
                (_, 0) => 0,
                ("s16" | "s32", 1) => -9,
                ("s16", 2) => 32767 - 70,
                ("s16", _) => -32768,
                ("u16", 1) => 65535 - 70,
                ("u32", 1) => 4_294_967_295 - 70,
                ("s32", 2) => -2_147_483_648,
                _ => 3,
            },
            rng: &mut rng,
            text: String::new(),
            nodes: 0,
            leaves: 0,
            odd: seed % 4 == 0,
            complete: Vec::new(),
        };
        let root = tree.node(5);
        let (nodes, least, body) = (tree.nodes + 1, tree.least, tree.text);
        let bits = &ty[1..];
        let leaves: String = (0..10)
            .map(|leaf| format!("$leaf{leaf}: mov.u32 %r1, {leaf};\nbra.uni $end;\n"))
            .collect();
        let text = format!(
            "
            .version 8.7
            .target sm_90
            .address_size 64
            .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) {{
                .reg .pred %p<{nodes}>;
                .reg .b{bits} %v;
                .reg .b32 %r<4>;
                .reg .b64 %rd<5>;
                ld.param.u64 %rd1, [k_param_0];
                ld.param.u64 %rd2, [k_param_1];
                mov.u32 %r2, %tid.x;
                mov.u32 %r3, 0;
                mul.wide.u32 %rd3, %r2, 4;
                add.s64 %rd1, %rd1, %rd3;
                add.s64 %rd2, %rd2, %rd3;
                ld.global.{ty} %v, [%rd1];
                bra.uni {root};
                {body}
                {leaves}
                $end: mad.lo.u32 %r1, %r3, 16, %r1;
                st.global.u32 [%rd2], %r1;
                ret;
            }}
            "
        );
        let options = stack::Options::default();
        let finish = |purpose| ptx::finish(&text, &[], purpose, &options).unwrap().text;
        let plain = finish(Purpose::Plain);
        let fast = finish(Purpose::Speed(ptx::Kernels::default()));
        tables += u32::from(fast.contains("brx.idx"));
        let mut values: Vec<u32> = (-3..80).map(|by| (least + by) as u32).collect();
        values.extend([
            0,
            1,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            u32::MAX,
        ]);
        let run = |text: &str| {
            let device = Device::new(text);
            let from = device.upload(&values);
            let to = device.upload(&vec![99u32; values.len()]);
            let params = Params::new().u64(from).u64(to);
            let threads = values.len() as u32;
            device.launch("k", 1, threads, params).unwrap();
            device.download::<u32>(to, values.len())
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
    assert!(u64::from(tables) > count / 5, "{tables} of {count}");
}
