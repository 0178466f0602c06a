//! Parses a log of JSON lines and summarizes its entries.
use rayon::prelude::*;
use serde::Deserialize;

static LOG: &str = r#"{"level":"info","service":"web","latency":0.25,"tags":["a","bc"]}
{"level":"warn","service":"db","latency":1.5e-3}

{"level":"error","service":"cache","latency":12,"extra":{"deep":[1,2,{"x":null}]}}
{"level":"error","service":"na\u00efve","latency":-0.1,"tags":[]}
{"level":"fatal","service":"web","latency":1}
{"service":"web"}
not json"#;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
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

#[derive(Clone, Copy, Debug, PartialEq)]
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

fn main() {
    let lines: Vec<&str> = LOG.lines().collect();
    let parsed: Vec<Line> = lines.par_iter().map(|line| parse(line)).collect();
    for (line, parsed) in lines.iter().zip(parsed) {
        println!("{parsed:?}: {line}");
    }
}
