//! Parsers and interpreters: recursion, boxes, enums with data, strings, errors passed up by `?`.

use crate::{Put, Record, cases, mix};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::iter::Peekable;
use core::ops::ControlFlow;
use core::str::{Chars, FromStr};

#[derive(Clone, Debug, PartialEq)]
enum Expr {
    Number(i64),
    Variable(String),
    Negated(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    Let(String, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
}

#[derive(Debug, PartialEq)]
enum ParseError<'a> {
    Unexpected(char, usize),
    End,
    Number(core::num::ParseIntError),
    Name(Cow<'a, str>),
}

impl From<core::num::ParseIntError> for ParseError<'_> {
    fn from(error: core::num::ParseIntError) -> Self {
        Self::Number(error)
    }
}

impl fmt::Display for ParseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected(c, at) => write!(f, "unexpected {c:?} at {at}"),
            Self::End => f.write_str("unexpected end"),
            Self::Number(error) => write!(f, "not a number: {error}"),
            Self::Name(name) => write!(f, "`{name}` is no name"),
        }
    }
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            chars: text.chars().peekable(),
            at: 0,
        }
    }

    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.chars.next()
    }

    fn peek(&mut self) -> Option<char> {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {
            self.at += 1;
        }
        self.chars.peek().copied()
    }

    fn expect(&mut self, wanted: char) -> Result<(), ParseError<'a>> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.next();
                Ok(())
            }
            Some(c) => Err(ParseError::Unexpected(c, self.at)),
            None => Err(ParseError::End),
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        self.peek();
        while let Some(c) = self.chars.next_if(|c| c.is_alphanumeric()) {
            self.at += 1;
            word.push(c);
        }
        word
    }

    fn sum(&mut self) -> Result<Expr, ParseError<'a>> {
        let mut left = self.product()?;
        while let Some(op) = match self.peek() {
            Some('+') => Some(Op::Add),
            Some('-') => Some(Op::Sub),
            _ => None,
        } {
            self.next();
            left = Expr::Binary(op, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, ParseError<'a>> {
        let mut left = self.atom()?;
        loop {
            let op = match self.peek() {
                Some('*') => Op::Mul,
                Some('/') => Op::Div,
                _ => break Ok(left),
            };
            self.next();
            left = Expr::Binary(op, left.into(), self.atom()?.into());
        }
    }

    fn atom(&mut self) -> Result<Expr, ParseError<'a>> {
        match self.peek().ok_or(ParseError::End)? {
            '(' => {
                self.next();
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            '-' => {
                self.next();
                Ok(Expr::Negated(Box::new(self.atom()?)))
            }
            '0'..='9' => Ok(Expr::Number(self.word().parse()?)),
            c if c.is_alphabetic() => match self.word() {
                name if name == "let" => {
                    let name = self.word();
                    if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
                        return Err(ParseError::Name(name.into()));
                    }
                    self.expect('=')?;
                    let value = self.sum()?;
                    self.expect(';')?;
                    Ok(Expr::Let(name, value.into(), self.sum()?.into()))
                }
                name => Ok(Expr::Variable(name)),
            },
            c => Err(ParseError::Unexpected(c, self.at)),
        }
    }
}

impl Expr {
    fn value(&self, scope: &mut Vec<(String, i64)>) -> Option<i64> {
        Some(match self {
            Expr::Number(n) => *n,
            Expr::Variable(name) => scope.iter().rev().find(|(n, _)| n == name)?.1,
            Expr::Negated(inner) => inner.value(scope)?.checked_neg()?,
            Expr::Binary(op, a, b) => {
                let (a, b) = (a.value(scope)?, b.value(scope)?);
                match op {
                    Op::Add => a.checked_add(b)?,
                    Op::Sub => a.checked_sub(b)?,
                    Op::Mul => a.checked_mul(b)?,
                    Op::Div => a.checked_div(b)?,
                }
            }
            Expr::Let(name, value, body) => {
                let value = value.value(scope)?;
                scope.push((name.clone(), value));
                let result = body.value(scope);
                scope.pop();
                result?
            }
        })
    }

    fn folded(self) -> Expr {
        match self {
            Expr::Binary(op, a, b) => match (op, a.folded(), b.folded()) {
                (Op::Add, Expr::Number(a), Expr::Number(b)) => Expr::Number(a.wrapping_add(b)),
                (Op::Mul, Expr::Number(0), _) | (Op::Mul, _, Expr::Number(0)) => Expr::Number(0),
                (Op::Mul, Expr::Number(1), other) | (Op::Mul, other, Expr::Number(1)) => other,
                (op, a, b) => Expr::Binary(op, Box::new(a), Box::new(b)),
            },
            Expr::Negated(inner) => match inner.folded() {
                Expr::Negated(twice) => *twice,
                Expr::Number(n) => Expr::Number(-n),
                other => Expr::Negated(Box::new(other)),
            },
            Expr::Let(name, value, body) => {
                Expr::Let(name, Box::new(value.folded()), Box::new(body.folded()))
            }
            other => other,
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Number(n) => write!(f, "{n}"),
            Expr::Variable(name) => f.write_str(name),
            Expr::Negated(inner) => write!(f, "-{inner}"),
            Expr::Binary(op, a, b) => {
                let sign = b"+-*/"[*op as usize] as char;
                write!(f, "({a} {sign} {b})")
            }
            Expr::Let(name, value, body) => write!(f, "let {name} = {value}; {body}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    fn depth(&self) -> usize {
        match self {
            Json::List(items) => 1 + items.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(map) => 1 + map.values().map(Self::depth).max().unwrap_or_default(),
            _ => 0,
        }
    }

    fn read(chars: &mut Peekable<impl Iterator<Item = char> + Clone>) -> Result<Json, char> {
        let skip = |chars: &mut Peekable<_>| {
            while chars.next_if(|c: &char| c.is_whitespace()).is_some() {}
        };
        skip(chars);
        let json = match *chars.peek().ok_or('\0')? {
            'n' | 't' | 'f' => {
                let word: String =
                    core::iter::from_fn(|| chars.next_if(char::is_ascii_lowercase)).collect();
                match &*word {
                    "null" => Json::Null,
                    "true" => Json::Bool(true),
                    "false" => Json::Bool(false),
                    other => return Err(other.chars().next().unwrap_or('?')),
                }
            }
            '"' => {
                chars.next();
                let mut text = String::new();
                loop {
                    match chars.next().ok_or('"')? {
                        '"' => break Json::Text(text),
                        '\\' => match chars.next().ok_or('\\')? {
                            'n' => text.push('\n'),
                            'u' => {
                                let code: String = chars.by_ref().take(4).collect();
                                let code = u32::from_str_radix(&code, 16).map_err(|_| 'u')?;
                                text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                            }
                            c => text.push(c),
                        },
                        c => text.push(c),
                    }
                }
            }
            '[' => {
                chars.next();
                let mut items = Vec::new();
                loop {
                    skip(chars);
                    if chars.next_if_eq(&']').is_some() {
                        break Json::List(items);
                    }
                    items.push(Json::read(chars)?);
                    skip(chars);
                    chars.next_if_eq(&',');
                }
            }
            '{' => {
                chars.next();
                let mut map = BTreeMap::new();
                loop {
                    skip(chars);
                    if chars.next_if_eq(&'}').is_some() {
                        break Json::Object(map);
                    }
                    let Json::Text(key) = Json::read(chars)? else {
                        return Err('{');
                    };
                    skip(chars);
                    if chars.next() != Some(':') {
                        return Err(':');
                    }
                    map.insert(key, Json::read(chars)?);
                    skip(chars);
                    chars.next_if_eq(&',');
                }
            }
            '-' | '0'..='9' => {
                let mut digits = String::new();
                while let Some(c) = chars.next_if(|c| "+-.eE0123456789".contains(*c)) {
                    digits.push(c);
                }
                Json::Number(f64::from_str(&digits).map_err(|_| '#')?)
            }
            c => return Err(c),
        };
        Ok(json)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.pad("null"),
            Json::Bool(b) => write!(f, "{b}"),
            Json::Number(n) => write!(f, "{n}"),
            Json::Text(text) => write!(f, "{text:?}"),
            Json::List(items) => {
                f.write_str("[")?;
                for (k, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if k == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Json::Object(map) => f
                .debug_map()
                .entries(map.iter().map(|(k, v)| (k, format!("{v}"))))
                .finish(),
        }
    }
}

#[derive(Clone, Copy)]
enum Instruction {
    Push(i32),
    Pop,
    Dup,
    Swap,
    Add,
    Mul,
    Less,
    JumpIf(usize),
    Jump(usize),
    Load(u8),
    Store(u8),
    Call(fn(i32) -> i32),
    Halt,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Trap {
    Empty { at: usize },
    Fuel,
}

fn execute(program: &[Instruction], fuel: u32, cells: &mut [i32; 4]) -> Result<Vec<i32>, Trap> {
    use Instruction::*;
    let mut stack: Vec<i32> = Vec::with_capacity(16);
    let mut at = 0;
    macro_rules! pop {
        () => {
            stack.pop().ok_or(Trap::Empty { at })?
        };
    }
    for _ in 0..fuel {
        let Some(&instruction) = program.get(at) else {
            return Ok(stack);
        };
        at += 1;
        match instruction {
            Push(n) => stack.push(n),
            Pop => drop(pop!()),
            Dup => {
                let top = *stack.last().ok_or(Trap::Empty { at })?;
                stack.push(top);
            }
            Swap => {
                let len = stack.len();
                if len < 2 {
                    return Err(Trap::Empty { at });
                }
                stack.swap(len - 1, len - 2);
            }
            Add | Mul | Less => {
                let (b, a) = (pop!(), pop!());
                stack.push(match instruction {
                    Add => a.wrapping_add(b),
                    Mul => a.wrapping_mul(b),
                    _ => (a < b).into(),
                });
            }
            JumpIf(to) if pop!() != 0 => at = to,
            JumpIf(_) => {}
            Jump(to) => at = to,
            Load(cell) => stack.push(cells[usize::from(cell) % 4]),
            Store(cell) => cells[usize::from(cell) % 4] = pop!(),
            Call(f) => {
                let x = pop!();
                stack.push(f(x));
            }
            Halt => return Ok(stack),
        }
    }
    Err(Trap::Fuel)
}

/// A tape machine of eight instructions.
fn tape(program: &[u8], input: &[u8], steps: usize) -> Option<Vec<u8>> {
    let mut jumps = alloc::vec![0usize; program.len()];
    let mut open = Vec::new();
    for (k, c) in program.iter().enumerate() {
        match c {
            b'[' => open.push(k),
            b']' => {
                let start = open.pop()?;
                (jumps[start], jumps[k]) = (k, start);
            }
            _ => {}
        }
    }
    let (mut cells, mut head, mut at) = ([0u8; 64], 0usize, 0);
    let (mut input, mut output) = (input.iter(), Vec::new());
    for _ in 0..steps {
        match *program.get(at)? {
            b'>' => head = (head + 1) % cells.len(),
            b'<' => head = head.checked_sub(1).unwrap_or(cells.len() - 1),
            b'+' => cells[head] = cells[head].wrapping_add(1),
            b'-' => cells[head] = cells[head].wrapping_sub(1),
            b'.' => output.push(cells[head]),
            b',' => cells[head] = input.next().copied().unwrap_or_default(),
            b'[' if cells[head] == 0 => at = jumps[at],
            b']' if cells[head] != 0 => at = jumps[at],
            _ => {}
        }
        at += 1;
        if at == program.len() {
            return Some(output);
        }
    }
    None
}

trait Observer {
    fn notice(&self, event: &Event<'_>) -> ControlFlow<u32>;
}

enum Event<'a> {
    Key { code: u32, shift: bool },
    Text(&'a str),
}

struct Counter {
    seen: RefCell<Vec<u32>>,
    limit: usize,
}

impl Observer for Counter {
    fn notice(&self, event: &Event<'_>) -> ControlFlow<u32> {
        let mut seen = self.seen.borrow_mut();
        seen.push(match *event {
            Event::Key { code, shift: true } => code << 8,
            Event::Key { code, .. } => code,
            Event::Text(text) => text.bytes().map(u32::from).sum(),
        });
        if seen.len() >= self.limit {
            ControlFlow::Break(seen.iter().sum())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl<F: Fn(u32) -> bool> Observer for F {
    fn notice(&self, event: &Event<'_>) -> ControlFlow<u32> {
        match event {
            Event::Key { code, .. } if self(*code) => ControlFlow::Break(*code),
            _ => ControlFlow::Continue(()),
        }
    }
}

cases! {
    fn program_calculator(i, record) {
        let texts = [
            "1 + 2 * (3 - n) / 4",
            "let x = n*n; let y = x + 1; --y * x - 0 * n",
            "9223372036854775807 + n",
            "7 / (n - n)",
            "2 +",
            "let 3x = 1; x",
            "(1 + 2",
            "12ab + 3",
            "1 * (unknown + 0)",
        ];
        for text in texts {
            let mut parser = Parser::new(text);
            match parser.sum() {
                Ok(expr) => {
                    let mut scope = alloc::vec![("n".to_string(), i64::from(i))];
                    record.put(&*expr.to_string());
                    let value = expr.value(&mut scope);
                    record.put(value);
                    let folded = expr.folded();
                    record.put(folded.value(&mut scope) == value);
                    record.put(folded.to_string().len());
                }
                Err(error) => record.put(&*format!("{error}")),
            }
        }
    }

    fn program_json(i, record) {
        let text = format!(
            r#" {{"a": [1, 2.5, -3e2, {i}], "b": {{"c": null, "d": [true, false, []]}}, "t": "x\n\u0041\"{i}"}} "#
        );
        let json = Json::read(&mut text.chars().peekable());
        record.put(json.as_ref().map(Json::depth).unwrap_or(99));
        record.put(&*json.as_ref().map(Json::to_string).unwrap_or_default());
        record.put(json.clone() == json);
        for bad in ["[1, nul]", "{\"a\" 1}", "\"open", "@"] {
            record.put(Json::read(&mut bad.chars().peekable()).err());
        }
    }

    fn program_stack_machine(i, record) {
        use Instruction::*;
        fn collatz(n: i32) -> i32 {
            if n % 2 == 0 { n / 2 } else { n.wrapping_mul(3).wrapping_add(1) }
        }
        // Counts the steps of a Collatz sequence.
        let program = [
            Push(i as i32 + 1), Store(0),
            Push(0), Store(1),
            Push(1), Load(0), Less, JumpIf(9), Halt,
            Load(0), Call(collatz), Store(0),
            Load(1), Push(1), Add, Dup, Store(1), Pop,
            Jump(4),
        ];
        for fuel in [50, 5000] {
            let mut cells = [0; 4];
            match execute(&program, fuel, &mut cells) {
                Ok(stack) => record.put((stack.len(), cells[0], cells[1])),
                Err(trap) => record.put((trap == Trap::Fuel, cells[0], cells[1])),
            }
        }
        record.put(execute(&[Push(1), Swap], 9, &mut [0; 4]).is_err());
        record.put(&execute(&[Push(2), Push(i as i32), Swap, Mul], 9, &mut [0; 4]).unwrap()[..]);
    }

    fn program_tape_machine(i, record) {
        let echo_twice = b",[>+>+<<-]>.>.";
        record.put(tape(echo_twice, &[i as u8], 10_000).as_deref());
        let multiply = b">,>,<[>[>+>+<<-]>>[<<+>>-]<<<-]>>.";
        record.put(tape(multiply, &[i as u8 % 11, 7], 10_000).as_deref());
        record.put(tape(b"+[]", &[], 100).is_none());
        record.put(tape(b"]", &[], 100).is_none());
    }

    fn program_observers(i, record) {
        let shared = Rc::new(Counter { seen: RefCell::default(), limit: i as usize % 5 + 1 });
        let watched = i % 7;
        let observers: [Box<dyn Observer>; 2] = [
            Box::new(move |code| code == watched + 3),
            Box::new({
                struct Shared(Rc<Counter>);
                impl Observer for Shared {
                    fn notice(&self, event: &Event<'_>) -> ControlFlow<u32> {
                        self.0.notice(event)
                    }
                }
                Shared(Rc::clone(&shared))
            }),
        ];
        let events = (0..8).map(|k| match mix(u64::from(i * 8 + k)) % 3 {
            0 => Event::Text("text"),
            1 => Event::Key { code: k, shift: true },
            _ => Event::Key { code: k, shift: false },
        });
        let outcome = events.into_iter().try_for_each(|event| {
            observers.iter().try_for_each(|observer| observer.notice(&event))
        });
        record.put(match outcome {
            ControlFlow::Break(n) => Some(n),
            ControlFlow::Continue(()) => None,
        });
        record.put(&shared.seen.borrow()[..]);
        record.put(Rc::strong_count(&shared));
    }
}
