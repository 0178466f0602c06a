//! Parsers, writers and encodings of strings.

use crate::{Input, Record, cases};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use memchr::{memchr, memchr_iter, memchr3, memmem, memrchr2};
use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

#[derive(Serialize, Deserialize, Clone, PartialEq)]
enum Shape {
    Unit,
    Circle { radius: f64, name: String },
    Polygon(Vec<(i32, i32)>),
    Maybe(Option<u8>),
}

#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct Document {
    id: u64,
    signed: i64,
    ratio: f64,
    name: String,
    shapes: Vec<Shape>,
    numbers: BTreeMap<String, i32>,
}

fn shape(input: &mut Input) -> Shape {
    match input.below(4) {
        0 => Shape::Unit,
        1 => Shape::Circle {
            radius: input.ordinary(),
            name: input.words(),
        },
        2 => Shape::Polygon(
            (0..input.below(4))
                .map(|n| (input.bits() as i32, n as i32))
                .collect(),
        ),
        _ => Shape::Maybe((input.below(2) == 0).then(|| input.bits() as u8)),
    }
}

fn document(input: &mut Input) -> Document {
    Document {
        id: input.integer(),
        signed: input.integer() as i64,
        ratio: input.ordinary(),
        name: input.words(),
        shapes: (0..input.below(4)).map(|_| shape(input)).collect(),
        numbers: (0..input.below(4))
            .map(|_| (input.words(), input.bits() as i32))
            .collect(),
    }
}

/// An arithmetic expression, or something like it.
fn expression(input: &mut Input) -> String {
    const PARTS: [&str; 11] = ["1", "23", "+", "-", "*", "/", "(", ")", " ", "456", "7"];
    let start = if input.below(2) == 0 { "1+(2*3)-" } else { "" };
    let parts = (0..input.below(20)).map(|_| PARTS[input.below(11) as usize]);
    core::iter::once(start).chain(parts).collect()
}

fn calculate(first: i64, (sign, second): (char, i64)) -> i64 {
    match sign {
        '+' => first.wrapping_add(second),
        '-' => first.wrapping_sub(second),
        '*' => first.wrapping_mul(second),
        _ => first.checked_div(second).unwrap_or(7),
    }
}

mod with_nom {
    use super::calculate;
    use nom::branch::alt;
    use nom::character::complete::{char, digit1, multispace0};
    use nom::combinator::{map, map_res};
    use nom::multi::fold_many0;
    use nom::sequence::{delimited, pair, preceded};
    use nom::{IResult, Parser};

    fn factor(text: &str) -> IResult<&str, i64> {
        let number = map_res(digit1, str::parse::<i64>);
        let group = delimited(char('('), sum, char(')'));
        let negative = map(preceded(char('-'), factor), i64::wrapping_neg);
        delimited(multispace0, alt((number, group, negative)), multispace0).parse(text)
    }

    fn product(text: &str) -> IResult<&str, i64> {
        let (text, first) = factor(text)?;
        let sign = alt((char('*'), char('/')));
        fold_many0(pair(sign, factor), || first, calculate).parse(text)
    }

    pub fn sum(text: &str) -> IResult<&str, i64> {
        let (text, first) = product(text)?;
        let sign = alt((char('+'), char('-')));
        fold_many0(pair(sign, product), || first, calculate).parse(text)
    }
}

mod with_winnow {
    use super::calculate;
    use winnow::ascii::{digit1, multispace0};
    use winnow::combinator::{alt, delimited, preceded, repeat};
    use winnow::token::one_of;
    use winnow::{Parser, Result};

    fn factor(text: &mut &str) -> Result<i64> {
        let number = digit1.try_map(str::parse::<i64>);
        let group = delimited('(', sum, ')');
        let negative = preceded('-', factor).map(i64::wrapping_neg);
        delimited(multispace0, alt((number, group, negative)), multispace0).parse_next(text)
    }

    fn product(text: &mut &str) -> Result<i64> {
        let first = factor.parse_next(text)?;
        let steps = repeat(0.., (one_of(['*', '/']), factor));
        steps.fold(|| first, calculate).parse_next(text)
    }

    pub fn sum(text: &mut &str) -> Result<i64> {
        let first = product.parse_next(text)?;
        let steps = repeat(0.., (one_of(['+', '-']), product));
        steps.fold(|| first, calculate).parse_next(text)
    }
}

fn put_error(error: impl ToString, record: &mut Record) {
    record.put(&error.to_string()[..]);
}

cases! {
    "base64", 200;
    fn base64_all(mut input, record) {
        let bytes = input.bytes(200);
        record.put(&URL_SAFE_NO_PAD.encode(&bytes)[..]);
        let mut text = STANDARD.encode(&bytes).into_bytes();
        record.put(&text[..]);
        record.put(STANDARD.decode(&text).is_ok_and(|found| found == bytes));
        if !text.is_empty() {
            let at = input.below(text.len() as u64) as usize;
            text[at] = input.bits() as u8;
            match STANDARD.decode(&text) {
                Ok(found) => record.put(&found[..]),
                Err(error) => put_error(error, record),
            }
        }
    }

    "hex", 200;
    fn hex_all(mut input, record) {
        let bytes = input.bytes(200);
        let text = hex::encode(&bytes);
        record.put(&text[..]);
        record.put(hex::decode(&text).is_ok_and(|found| found == bytes));
        match hex::decode(input.words()) {
            Ok(found) => record.put(&found[..]),
            Err(error) => put_error(error, record),
        }
    }

    "memchr", 300;
    fn memchr_all(mut input, record) {
        let text: Vec<u8> = (0..input.below(300)).map(|_| input.below(6) as u8).collect();
        record.put((memchr(3, &text), memrchr2(4, 5, &text), memchr3(1, 4, 5, &text)));
        memchr_iter(2, &text).for_each(|at| record.put(at));
        let part: Vec<u8> = (0..=input.below(4)).map(|_| input.below(6) as u8).collect();
        record.put((memmem::find(&text, &part), memmem::rfind(&text, &part)));
        memmem::find_iter(&text, &part).for_each(|at| record.put(at));
    }

    "nom", 200;
    fn nom_expressions(mut input, record) {
        match with_nom::sum(&expression(&mut input)) {
            Ok((rest, value)) => record.put((rest, value)),
            Err(error) => record.put(&format!("{error:?}")[..]),
        }
    }

    "serde_json", 150;
    fn json_typed(mut input, record) {
        let document = document(&mut input);
        let Ok(text) = serde_json::to_string_pretty(&document) else { return };
        record.put(&text[..]);
        record.put(serde_json::from_str(&text).is_ok_and(|found: Document| found == document));
        let part = text.floor_char_boundary(input.below(text.len() as u64) as usize);
        if let Err(error) = serde_json::from_str::<Document>(&text[..part]) {
            put_error(error, record);
        }
    }

    "serde_json", 150;
    fn json_values(mut input, record) {
        let value = serde_json::json!({
            "document": document(&mut input),
            "list": [1, 2.5, null, true, "x\ny\u{1}"],
            "number": input.double(),
        });
        let mut text = value.to_string().into_bytes();
        record.put(&text[..]);
        let found: Result<serde_json::Value, _> = serde_json::from_slice(&text);
        record.put(found.is_ok_and(|found| found == value));
        let at = input.below(text.len() as u64) as usize;
        text[at] = b"{}[],:\"x0\\"[input.below(10) as usize];
        match serde_json::from_slice::<serde_json::Value>(&text) {
            Ok(value) => record.put(&value.to_string()[..]),
            Err(error) => put_error(error, record),
        }
    }

    "unicode-segmentation", 200;
    fn unicode_boundaries(mut input, record) {
        const PARTS: [&str; 14] = [
            "a", "é", "e\u{301}", "한", "\u{1100}\u{1161}\u{11a8}", "🇩🇪", "👨‍👩‍👧", "\r\n", " ", "1.5",
            "日本", "can't", "\u{200d}", "x_y",
        ];
        let text: String = (0..input.below(20)).map(|_| PARTS[input.below(14) as usize]).collect();
        text.graphemes(true).for_each(|part| record.put(part));
        text.split_word_bound_indices().for_each(|part| record.put(part));
        record.put(text.unicode_words().count());
    }

    "uuid", 200;
    fn uuid_all(mut input, record) {
        let id = uuid::Uuid::from_bytes(input.array());
        record.put(&format!("{id} {:X}", id.simple())[..]);
        record.put(uuid::Uuid::new_v5(&id, input.words().as_bytes()).as_u128());
        match uuid::Uuid::parse_str(&id.urn().to_string()[input.below(4) as usize * 3..]) {
            Ok(found) => record.put(found == id),
            Err(error) => put_error(error, record),
        }
    }

    "winnow", 200;
    fn winnow_expressions(mut input, record) {
        let text = expression(&mut input);
        let mut rest = &text[..];
        match with_winnow::sum(&mut rest) {
            Ok(value) => record.put((rest, value)),
            Err(error) => record.put(&format!("{error:?}")[..]),
        }
    }
}
