//! An interpreter and a count of words, as a CPU program has them: enums, `Result` and `?`, growing
//! vectors, strings, boxed closures, maps, shared ownership, sorting and parsing.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::fmt;
use std::num::ParseIntError;
use std::rc::Rc;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, DeviceCopy)]
enum Op {
    Push(i64),
    Add,
    Mul,
    Dup,
    JumpIfZero(usize),
    Jump(usize),
    Call(Builtin),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, DeviceCopy)]
#[repr(u16)]
enum Builtin {
    Neg,
    Abs = 7,
    Square,
}

impl FromStr for Builtin {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name.trim() {
            "neg" => Builtin::Neg,
            "abs" => Builtin::Abs,
            "square" => Builtin::Square,
            other => return Err(Error::Parse(other.to_owned())),
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Error {
    Underflow { at: usize },
    Jump(usize),
    Steps,
    Parse(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Underflow { at } => write!(f, "underflow at {at}"),
            Error::Jump(to) => write!(f, "no instruction {to:#06x}"),
            Error::Steps => f.write_str("too many steps"),
            Error::Parse(text) => write!(f, "parse: {text:?}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<ParseIntError> for Error {
    fn from(error: ParseIntError) -> Self {
        Error::Parse(error.to_string())
    }
}

struct Machine<'a> {
    code: &'a [Op],
    stack: Vec<i64>,
    builtins: BTreeMap<Builtin, Box<dyn Fn(i64) -> i64 + 'a>>,
    /// The last four instructions.
    trace: Rc<RefCell<VecDeque<usize>>>,
}

impl<'a> Machine<'a> {
    fn new(code: &'a [Op]) -> Self {
        let mut builtins: BTreeMap<_, Box<dyn Fn(i64) -> i64 + 'a>> = BTreeMap::new();
        builtins.insert(Builtin::Neg, Box::new(|x| -x));
        builtins.insert(Builtin::Abs, Box::new(i64::abs));
        builtins.insert(
            Builtin::Square,
            Box::new(move |x| x * x + code.len() as i64),
        );
        Machine {
            code,
            stack: Vec::new(),
            builtins,
            trace: Rc::new(RefCell::new(VecDeque::with_capacity(4))),
        }
    }

    fn pop(&mut self, at: usize) -> Result<i64, Error> {
        self.stack.pop().ok_or(Error::Underflow { at })
    }

    fn record(&self, at: usize) {
        let mut trace = self.trace.borrow_mut();
        if trace.len() == 4 {
            trace.pop_front();
        }
        trace.push_back(at);
    }

    fn run(&mut self, x: i64) -> Result<i64, Error> {
        self.stack.push(x);
        let mut at = 0;
        for _ in 0..100 {
            let Some(&op) = self.code.get(at) else {
                return match at == self.code.len() {
                    true => self.pop(at),
                    false => Err(Error::Jump(at)),
                };
            };
            self.record(at);
            at += 1;
            match op {
                Op::Push(value) => self.stack.push(value),
                Op::Add | Op::Mul => {
                    let (b, a) = (self.pop(at)?, self.pop(at)?);
                    self.stack.push(if op == Op::Add { a + b } else { a * b });
                }
                Op::Dup => {
                    let &top = self.stack.last().ok_or(Error::Underflow { at })?;
                    self.stack.push(top);
                }
                Op::JumpIfZero(to) => {
                    if self.pop(at)? == 0 {
                        at = to;
                    }
                }
                Op::Jump(to) => at = to,
                Op::Call(builtin) => {
                    let x = self.pop(at)?;
                    self.stack.push(self.builtins[&builtin](x));
                }
            }
        }
        Err(Error::Steps)
    }
}

fn report(code: &[Op], x: i64) -> String {
    let mut machine = Machine::new(code);
    let trace = Rc::clone(&machine.trace);
    match machine.run(x) {
        Ok(value) => format!("{x:>3} -> {value} {:?}", trace.borrow()),
        Err(error) => {
            let error: Box<dyn std::error::Error> = error.into();
            format!("{x:>3}: {error}")
        }
    }
}

/// A line of text of a fixed size.
type Line = [u8; 96];

fn write(text: &str, to: &mut Line) {
    for (to, byte) in to
        .iter_mut()
        .zip(text.bytes().chain(std::iter::repeat(b' ')))
    {
        *to = byte;
    }
}

#[kernel]
fn run(code: &[Op], mut to: PerThread<Line>) {
    to.each(|i, to| write(&report(code, i as i64 - 3), to));
}

/// The most frequent words, the longest word's length, the capitals, and the sum of the numbers.
fn words(text: &str) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !word.is_empty() {
            *counts.entry(word.to_lowercase()).or_insert(0) += 1;
        }
    }
    let mut sorted: Vec<(&str, usize)> = counts.iter().map(|(w, &n)| (w.as_str(), n)).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let top: Vec<String> = (sorted.iter().take(3))
        .map(|(word, n)| format!("{word}×{n}"))
        .collect();
    let longest: BinaryHeap<usize> = sorted.iter().map(|(word, _)| word.len()).collect();
    let capitals: BTreeSet<char> = text.chars().filter(|c| c.is_uppercase()).collect();
    let numbers: Result<Vec<i64>, Error> = (sorted.iter())
        .filter(|(word, _)| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|(word, _)| Ok(word.parse::<i64>()?))
        .collect();
    let sum = match numbers {
        Ok(numbers) => numbers.iter().sum::<i64>().to_string(),
        Err(error) => error.to_string(),
    };
    format!("{} {:?} {capitals:?} {sum}", top.join(","), longest.peek())
}

#[kernel]
fn count(texts: &str, ends: &[u32], mut to: PerThread<Line>) {
    to.each(|i, to| {
        let start = i.checked_sub(1).map_or(0, |before| ends[before]);
        write(&words(&texts[start as usize..ends[i] as usize]), to);
    });
}

fn check(lines: &[Line], expected: impl Iterator<Item = String>) {
    for (line, expected) in lines.iter().zip(expected) {
        assert_eq!(std::str::from_utf8(line).unwrap().trim_end(), expected);
    }
}

fn main() {
    cust::init_auto().unwrap();
    let programs: [&[Op]; 5] = [
        &[Op::Dup, Op::Mul, Op::Push(1), Op::Add],
        &[
            Op::Call(Builtin::Abs),
            Op::Call(" square".parse().unwrap()),
            Op::Call(Builtin::Neg),
        ],
        &[Op::Push(0), Op::JumpIfZero(77)],
        &[Op::Mul],
        &[Op::Jump(0)],
    ];
    for code in programs {
        let mut to = vec![[0; 96]; 7];
        cust::launch((1, 32), run::args(code, &mut to)).unwrap();
        check(&to, (-3..4).map(|x| report(code, x)));
    }

    let texts = [
        "the cat and the Dog, 12 cats 30",
        "Ärger ärger ÄRGER 7",
        "99999999999999999999 x",
        "",
    ];
    let all: String = texts.concat();
    let ends: Vec<u32> = (texts.iter())
        .scan(0, |end, text| {
            *end += text.len() as u32;
            Some(*end)
        })
        .collect();
    let mut to = vec![[0; 96]; texts.len()];
    cust::launch((1, 32), count::args(&all, &ends, &mut to)).unwrap();
    check(&to, texts.iter().map(|text| words(text)));
    cust::launch_cpu((1, 32), count::args(all.as_str(), &ends, &mut to)).unwrap();
    check(&to, texts.iter().map(|text| words(text)));
    println!("the interpreter gave what it gives on the host");
}
