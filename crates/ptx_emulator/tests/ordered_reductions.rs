//! Runs random reductions of a warp before and after `ptx::finish` removes the selections that keep
//! their operands in order: all lanes must have the same results.

mod common;

use common::generator::{Code, Generator, settings};
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// The number of results per lane.
const RESULTS: usize = 4;

/// The type of a word that is reduced.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    B32,
    F32,
    B64,
}

impl Word {
    fn name(self) -> &'static str {
        match self {
            Word::B32 => "b32",
            Word::F32 => "f32",
            Word::B64 => "b64",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Word::B32 => "%a",
            Word::F32 => "%b",
            Word::B64 => "%c",
        }
    }
}

/// The text of a reduction.
struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
    /// Whether something may make the selections necessary.
    needed: bool,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    fn rarely(&mut self) -> bool {
        self.rng.u32(..40) == 0
    }

    /// Converts a value to words of 32 bits.
    fn split(&mut self, value: &str, word: Word) -> Vec<String> {
        match word {
            Word::B32 => vec![value.to_owned()],
            Word::F32 => vec![self.op("%a", "mov.b32", value)],
            Word::B64 => {
                let (low, high) = (self.register("%a"), self.register("%a"));
                self.line(&format!("mov.b64 {{{low}, {high}}}, {value};"));
                vec![low, high]
            }
        }
    }

    /// The reverse of [`Text::split`].
    fn join(&mut self, parts: &[String], word: Word) -> String {
        match word {
            Word::B32 => parts[0].clone(),
            Word::F32 => self.op("%b", "mov.b32", &parts[0]),
            Word::B64 => self.op("%c", "mov.b64", &format!("{{{}}}", parts.join(", "))),
        }
    }

    /// Returns the index of the lane's bit that a step tests, and whether it is 0.
    fn is_lower(&mut self, distance: u32) -> (String, bool) {
        let (relation, compared, is_lower) = match (self.rng.u32(..5), distance) {
            (0, 16) => return (self.op("%q", "setp.lt.u32", "%lane, 16"), true),
            (1, 16) => return (self.op("%q", "setp.gt.u32", "%lane, 15"), false),
            (2, _) => ("ne", 0, false),
            (3, _) => ("eq", distance, false),
            _ => ("eq", 0, true),
        };
        let bit = self.op("%a", "and.b32", &format!("%lane, {distance}"));
        let sources = format!("{bit}, {compared}");
        (
            self.op("%q", &format!("setp.{relation}.s32"), &sources),
            is_lower,
        )
    }

    /// Emits a step: combines the values with those of the lanes at a distance.
    fn step(&mut self, values: &mut [String], words: &[Word], distance: u32) {
        let parts: Vec<Vec<String>> = (values.iter().zip(words))
            .map(|(value, word)| self.split(value, *word))
            .collect();
        let mut exchange = |part: &String| {
            let sources = format!("{part}, {distance}, 31, %full");
            self.op("%a", "shfl.sync.bfly.b32", &sources)
        };
        let others: Vec<Vec<String>> = (parts.iter())
            .map(|parts| parts.iter().map(&mut exchange).collect())
            .collect();
        let (p, is_lower) = self.is_lower(distance);
        // The words of 32 bits of which the results consist.
        let mut pool: Vec<String> = Vec::new();
        for ((value, other), &word) in values.iter().zip(&others).zip(words) {
            let other = self.join(other, word);
            let (a, b) = match is_lower {
                true => (value.clone(), other.clone()),
                false => (other.clone(), value.clone()),
            };
            let select = format!("selp.{}", word.name());
            for (first, second) in [(&a, &b), (&b, &a)] {
                let selected = match self.rarely() {
                    true => {
                        self.needed = true;
                        other.clone()
                    }
                    false => self.op(word.prefix(), &select, &format!("{first}, {second}, {p}")),
                };
                pool.extend(self.split(&selected, word));
            }
            if word == Word::B32 && self.rng.bool() {
                // LLVM removes the selections of a commutative operation.
                let opcode = ["add.s32", "xor.b32", "max.s32", "mul.lo.s32"];
                let opcode = opcode[self.rng.usize(..opcode.len())];
                let opcode = match self.rarely() {
                    true => {
                        self.needed = true;
                        "sub.s32"
                    }
                    false => opcode,
                };
                let sources = match self.rng.bool() {
                    true => format!("{value}, {other}"),
                    false => format!("{other}, {value}"),
                };
                pool.push(self.op("%a", opcode, &sources));
            }
        }
        if self.rarely() {
            self.needed = true;
            pool.push("%lane".to_owned());
        }
        pool.push("%uniform".to_owned());
        pool.push("12345".to_owned());
        for _ in 0..self.rng.u32(1..6) {
            let [a, b, c] = [(); 3].map(|()| pool[self.rng.usize(..pool.len())].clone());
            let result = match self.rng.u32(..5) {
                0 => self.op("%a", "sub.s32", &format!("{a}, {b}")),
                1 => self.op("%a", "mad.lo.s32", &format!("{a}, {b}, {c}")),
                2 => self.op("%a", "prmt.b32", &format!("{a}, {b}, 0x3715")),
                3 => self.op("%a", "min.s32", &format!("{a}, {b}")),
                _ => {
                    let q = self.op("%q", "setp.lt.u32", &format!("{a}, {b}"));
                    self.op("%a", "selp.b32", &format!("{b}, {c}, {q}"))
                }
            };
            // Later results depend on earlier ones.
            let place = self.rng.usize(pool.len() / 2..=pool.len());
            pool.insert(place, result);
        }
        for (value, &word) in values.iter_mut().zip(words) {
            let mut part = || {
                let part = pool[self.rng.usize(..pool.len())].clone();
                self.op("%a", "mov.b32", &part)
            };
            let parts = [part(), part()];
            *value = self.join(&parts, word);
        }
    }

    /// Stores a word of the lane's results.
    fn store(&mut self, index: usize, value: &str) {
        self.line(&format!("st.global.u32 [%to+{}], {value};", 4 * index));
    }
}

/// Returns a kernel that reduces values computed from the first word of each lane, and whether
/// something in it may need the selections.
fn kernel(rng: &mut Rng) -> (String, bool) {
    let mut text = Text {
        rng,
        code: Code::default(),
        needed: false,
    };
    let all = [Word::B32, Word::F32, Word::B64];
    let words: Vec<Word> = (0..text.rng.usize(1..3))
        .map(|_| all[text.rng.usize(..all.len())])
        .collect();
    let mut values: Vec<String> = Vec::new();
    for &word in &words {
        let parts = [(); 2].map(|()| {
            let factor = text.rng.u32(1..) | 1;
            text.op("%a", "mad.lo.s32", &format!("%start, {factor}, %lane"))
        });
        values.push(text.join(&parts, word));
    }
    for distance in [1, 2, 4, 8, 16] {
        text.step(&mut values, &words, distance);
        if distance < 16 && text.rarely() {
            text.needed = true;
            let value = text.split(&values[0], words[0]);
            text.store(RESULTS - 1, &value[0]);
        }
    }
    let mut results = Vec::new();
    for (value, &word) in values.iter().zip(&words) {
        results.extend(text.split(value, word));
    }
    for (index, value) in results.iter().enumerate() {
        let value = text.op("%a", "add.s32", &format!("{value}, %lane"));
        text.store(index, &value);
    }
    let body = format!(
        "
        .reg .pred %q<400>;
        .reg .b32 %a<400>;
        .reg .f32 %b<400>;
        .reg .b64 %c<400>;
        .reg .b32 %lane, %full, %uniform, %start;
        .reg .b64 %to, %offset;
        ld.param.u64 %to, [k_param_0];
        ld.param.u32 %uniform, [k_param_1];
        cvta.to.global.u64 %to, %to;
        mov.u32 %lane, %laneid;
        mov.u32 %full, -1;
        mul.wide.u32 %offset, %lane, {};
        add.s64 %to, %to, %offset;
        ld.global.u32 %start, [%to];
        {}
        ret;
        ",
        4 * RESULTS,
        text.code.body
    );
    let params = ".param .u64 k_param_0, .param .u32 k_param_1";
    (module("", params, &body), text.needed)
}

#[test]
fn order_of_operands_does_not_change_results() {
    let (seed, kernels) = settings(300);
    let (mut removed, mut possible) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, needed) = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        removed += u64::from(!needed && fast.contains("shfl.sync.idx"));
        possible += u64::from(!needed);
        let from: Vec<u32> = (0..32 * RESULTS).map(|_| rng.u32(..)).collect();
        let uniform = rng.u32(..);
        let run = |text: &str| -> Vec<u32> {
            let device = Device::new(text);
            let to = device.upload(&from);
            let params = Params::new().u64(to).u32(uniform);
            device.launch("k", 1, 32, params).unwrap();
            device.download(to, from.len())
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
    assert!(
        removed > possible * 9 / 10,
        "selections are removed in {removed} of {possible} reductions that do not need them"
    );
}
