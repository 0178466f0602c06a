//! Enums of every layout: C-like, with data, niches, nested, uninhabited, large discriminants.

use crate::{Put, Record, cases, mix};
use alloc::boxed::Box;
use alloc::string::String;
use core::num::{NonZeroU8, NonZeroU32, NonZeroU64};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Color {
    Red,
    Green = 5,
    Blue,
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(i8)]
enum Signed {
    Least = -128,
    MinusOne = -1,
    Zero,
    Most = 127,
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u64)]
enum Large {
    Small = 1,
    Big = 0xdead_beef_0000_0001,
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(i64)]
enum Wide {
    Low = i64::MIN,
    High = i64::MAX,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Empty,
    Circle(f32),
    Rectangle { width: f32, height: f32 },
    Polygon([(i16, i16); 4]),
    Named(String, Box<Shape>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, u8)]
enum Tagged {
    Byte(u8),
    Word(u64),
    Pair(u16, u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mixed {
    A(bool),
    B(u8, bool),
    C(Option<bool>),
    D,
    E(Result<u8, ()>),
}

enum Never {}

#[derive(Debug)]
enum Expression {
    Number(i64),
    Negated(Box<Expression>),
    Binary(Box<Expression>, Operator, Box<Expression>),
}

#[derive(Clone, Copy, Debug)]
enum Operator {
    Add,
    Multiply,
    Divide,
}

impl Expression {
    fn random(seed: u64, depth: u32) -> Self {
        let n = mix(seed);
        if depth == 0 {
            return Self::Number((n % 19) as i64 - 9);
        }
        match n % 5 {
            0 => Self::Number((n % 19) as i64 - 9),
            1 => Self::Negated(Box::new(Self::random(n + 1, depth - 1))),
            k => {
                let operator = match k {
                    2 => Operator::Add,
                    3 => Operator::Multiply,
                    _ => Operator::Divide,
                };
                let left = Box::new(Self::random(n + 2, depth - 1));
                Self::Binary(left, operator, Box::new(Self::random(n + 3, depth - 1)))
            }
        }
    }

    fn evaluate(&self) -> Result<i64, &'static str> {
        Ok(match self {
            Self::Number(n) => *n,
            Self::Negated(inner) => -inner.evaluate()?,
            Self::Binary(left, operator, right) => {
                let (left, right) = (left.evaluate()?, right.evaluate()?);
                match operator {
                    Operator::Add => left.checked_add(right).ok_or("sum")?,
                    Operator::Multiply => left.checked_mul(right).ok_or("product")?,
                    Operator::Divide => left.checked_div(right).ok_or("quotient")?,
                }
            }
        })
    }
}

fn shape(i: u32) -> Shape {
    match i % 5 {
        0 => Shape::Empty,
        1 => Shape::Circle(i as f32),
        2 => Shape::Rectangle {
            width: i as f32,
            height: 2.5,
        },
        3 => Shape::Polygon([(1, 2), (i as i16, -4), (5, 6), (-7, i as i16)]),
        _ => Shape::Named(String::from("inner"), Box::new(shape(i / 5))),
    }
}

fn area(shape: &Shape) -> f32 {
    match shape {
        Shape::Empty => 0.0,
        Shape::Circle(radius) => 3.0 * radius * radius,
        Shape::Rectangle { width, height } => width * height,
        Shape::Polygon(points) => points.iter().map(|(x, y)| f32::from(x * y)).sum(),
        Shape::Named(name, inner) => name.len() as f32 + area(inner),
    }
}

#[inline(never)]
fn same<T>(x: T) -> T {
    x
}

fn put_niches<T: Put>(values: [Option<Option<T>>; 3], record: &mut Record) {
    for value in values {
        record.put(same(value));
    }
}

cases! {
    fn enum_c_like(i, record) {
        let colors = [Color::Red, Color::Green, Color::Blue];
        let color = same(colors[i as usize % 3]);
        record.put((color as u8, color as i64, color == Color::Green));
        record.put(color.cmp(&Color::Green));
        let signed = [Signed::Least, Signed::MinusOne, Signed::Zero, Signed::Most][i as usize % 4];
        record.put((signed as i8, signed as i64, signed as u8, same(signed) == Signed::Zero));
        let large = same([Large::Small, Large::Big][i as usize % 2]);
        record.put(large as u64);
        let wide = same([Wide::Low, Wide::High][i as usize % 2]);
        record.put((wide as i64, matches!(wide, Wide::Low)));
    }

    fn enum_with_data(i, record) {
        let shape = same(shape(i));
        record.put(area(&shape));
        record.put(shape == shape.clone());
        if let Shape::Rectangle { width, .. } | Shape::Circle(width) = shape {
            record.put(width);
        }
    }

    fn enum_tagged(i, record) {
        for value in [Tagged::Byte(i as u8), Tagged::Word(mix(i.into())), Tagged::Pair(7, i)] {
            match same(value) {
                Tagged::Byte(x) => record.put(x),
                Tagged::Word(x) => record.put(x),
                Tagged::Pair(x, y) => record.put((x, y)),
            }
        }
        record.put(size_of::<Tagged>());
    }

    fn enum_niches(i, record) {
        record.put(same((i % 2 == 0).then_some(&i)).copied());
        record.put(same(NonZeroU8::new(i as u8 % 3)).map(|x| x.get()));
        record.put(same(NonZeroU32::new(i % 2)).map(|x| x.get()));
        record.put(same(NonZeroU64::new(u64::from(i) << 32)).map(|x| x.get()));
        let letters = [Some(Some('a')), Some(None), None];
        put_niches(letters, record);
        put_niches([None, Some(Some(i % 2 == 0)), Some(None)], record);
        put_niches([Some(Some(i)), Some(None), None], record);
        record.put(same((i % 3 == 0).then(|| Box::new(i))).map(|x| *x));
        record.put(same((i % 3 == 1).then_some("text")));
        record.put((size_of::<Option<&u8>>(), size_of::<Option<Option<bool>>>()));
        let order = same((i % 4 != 0).then(|| i.cmp(&8)));
        record.put(order);
    }

    fn enum_mixed_niches(i, record) {
        let all = [
            Mixed::A(i % 2 == 0),
            Mixed::B(i as u8, i % 3 == 0),
            Mixed::C(None),
            Mixed::C(Some(i % 2 == 1)),
            Mixed::D,
            Mixed::E(Ok(9)),
            Mixed::E(Err(())),
        ];
        for value in all {
            let n = match same(value) {
                Mixed::A(x) => u32::from(x),
                Mixed::B(x, y) => u32::from(x) * 2 + u32::from(y),
                Mixed::C(None) => 1000,
                Mixed::C(Some(x)) => 1001 + u32::from(x),
                Mixed::D => 1003,
                Mixed::E(Ok(x)) => 2000 + u32::from(x),
                Mixed::E(Err(())) => 3000,
            };
            record.put(n);
            record.put(all.iter().position(|other| *other == value));
        }
        record.put(core::mem::discriminant(&all[0]) == core::mem::discriminant(&Mixed::A(true)));
    }

    fn enum_results(i, record) {
        fn step(i: u32) -> Result<u32, (u64, bool)> {
            if i % 4 == 3 { Err((mix(i.into()), i > 10)) } else { Ok(i * 2) }
        }
        fn steps(i: u32) -> Result<u32, (u64, bool)> {
            Ok(step(i)? + step(i + 1)? + step(i + 2)?)
        }
        record.put(steps(i));
        record.put(step(i).and_then(step).map_err(|(n, _)| n).or_else(|n| if n % 2 == 0 { Ok(1) } else { Err(n) }));
        record.put(step(i).ok().zip(step(i + 1).ok()).xor(None));
        record.put(step(i).unwrap_or_default());
        record.put(step(i).is_ok_and(|x| x > 8));
    }

    fn enum_uninhabited(i, record) {
        fn infallible(i: u32) -> Result<u32, Never> {
            Ok(i + 1)
        }
        let Ok(x) = infallible(i);
        record.put(x);
        let none: Option<Never> = None;
        record.put(none.is_none());
        record.put(size_of::<Result<u32, Never>>());
    }

    fn enum_trees(i, record) {
        for k in 0..4 {
            let tree = Expression::random(u64::from(i) * 4 + k, 5);
            record.put(tree.evaluate());
        }
    }

    fn enum_replaced(i, record) {
        let mut state = Some(i);
        record.put(state.take());
        record.put(state.replace(7));
        record.put(state.insert(i + 1).wrapping_add(1));
        record.put(*state.get_or_insert_with(|| 3));
        let mut shape = shape(i);
        let old = core::mem::replace(&mut shape, Shape::Empty);
        record.put((area(&old), area(&shape)));
    }
}
