//! Parses a log of JSON lines and summarizes its entries: `logs_cpu` with a kernel.
use cuda_std::prelude::*;
use cust::prelude::*;
use serde::Deserialize;

static LOG: &str = r#"{"level":"info","service":"web","latency":0.25,"tags":["a","bc"]}
{"level":"warn","service":"db","latency":1.5e-3}

{"level":"error","service":"cache","latency":12,"extra":{"deep":[1,2,{"x":null}]}}
{"level":"error","service":"na\u00efve","latency":-0.1,"tags":[]}
{"level":"fatal","service":"web","latency":1}
{"service":"web"}
not json"#;

#[derive(Clone, Copy, Debug, Deserialize, DeviceCopy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Level {
    Info,
    Warn,
    Error,
}

#[derive(Debug, Deserialize)]
struct Entry {
    level: Level,
    service: String,
    latency: f64,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Clone, Copy, Debug, DeviceCopy, PartialEq)]
enum Line {
    Empty,
    Entry {
        level: Level,
        micros: f64,
        characters: usize,
    },
    Error {
        column: usize,
    },
}

fn parse(line: &str) -> Line {
    if line.trim().is_empty() {
        return Line::Empty;
    }
    match serde_json::from_str::<Entry>(line) {
        Ok(entry) => Line::Entry {
            level: entry.level,
            micros: entry.latency * 1e6,
            characters: entry.service.chars().count()
                + entry.tags.iter().map(String::len).sum::<usize>(),
        },
        Err(error) => Line::Error {
            column: error.column(),
        },
    }
}

#[kernel]
fn parse_all(text: &str, lines: &[(usize, usize)], mut parsed: PerThread<Line>) {
    parsed.each(|i, parsed| *parsed = parse(&text[lines[i].0..lines[i].1]));
}

fn main() {
    cust::init_auto().unwrap();
    let lines: Vec<&str> = LOG.lines().collect();
    let start = |line: &str| line.as_ptr() as usize - LOG.as_ptr() as usize;
    let ranges: Vec<(usize, usize)> = lines
        .iter()
        .map(|line| (start(line), start(line) + line.len()))
        .collect();
    let mut parsed = vec![Line::Empty; lines.len()];
    cust::launch((1, 32), parse_all::args(LOG, &ranges, &mut parsed)).unwrap();
    for (line, parsed) in lines.iter().zip(parsed) {
        assert_eq!(parsed, parse(line), "{line}");
        println!("{parsed:?}: {line}");
    }
}
