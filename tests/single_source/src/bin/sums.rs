//! Evaluates lines of arithmetic with parser combinators.
use cuda_std::prelude::*;
use nom::branch::alt;
use nom::character::complete::{char, one_of, space0};
use nom::combinator::all_consuming;
use nom::multi::fold_many0;
use nom::number::complete::double;
use nom::sequence::{delimited, pair};
use nom::{IResult, Parser};

static TEXT: &str =
    "1 + 2 * 3\n(1 + 2) * 3\n 0.5 * (8 - 2.5) / 11\n2 * (3 + \n1e3 / (4 - 4.0)\nsix\n";

fn value(input: &str) -> IResult<&str, f64> {
    let nested = delimited(char('('), sum, char(')'));
    delimited(space0, alt((double, nested)), space0).parse(input)
}

fn product(input: &str) -> IResult<&str, f64> {
    let (rest, first) = value(input)?;
    let apply = |a, (operator, b)| if operator == '*' { a * b } else { a / b };
    fold_many0(pair(one_of("*/"), value), move || first, apply).parse(rest)
}

fn sum(input: &str) -> IResult<&str, f64> {
    let (rest, first) = product(input)?;
    let apply = |a, (operator, b)| if operator == '+' { a + b } else { a - b };
    fold_many0(pair(one_of("+-"), product), move || first, apply).parse(rest)
}

/// The value, or the column of the error.
fn evaluate(line: &str) -> Result<f64, usize> {
    let column = |rest: &str| line.len() - rest.len();
    match all_consuming(sum).parse(line) {
        Ok((_, value)) => Ok(value),
        Err(nom::Err::Error(error) | nom::Err::Failure(error)) => Err(column(error.input)),
        Err(nom::Err::Incomplete(_)) => Err(line.len()),
    }
}

#[kernel]
fn evaluate_all(text: &str, lines: &[(usize, usize)], mut values: PerThread<Result<f64, usize>>) {
    values.each(|i, value| *value = evaluate(&text[lines[i].0..lines[i].1]));
}

fn main() {
    cust::init_auto().unwrap();
    let lines: Vec<&str> = TEXT.lines().collect();
    let start = |line: &str| line.as_ptr() as usize - TEXT.as_ptr() as usize;
    let ranges: Vec<(usize, usize)> = lines
        .iter()
        .map(|line| (start(line), start(line) + line.len()))
        .collect();
    let mut values = vec![Ok(0.0); lines.len()];
    cust::launch((1, 32), evaluate_all::args(TEXT, &ranges, &mut values)).unwrap();
    for (line, value) in lines.iter().zip(values) {
        assert_eq!(value, evaluate(line), "{line}");
        println!("{line}: {value:?}");
    }
}
