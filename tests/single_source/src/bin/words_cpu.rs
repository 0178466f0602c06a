//! Counts words, and for each line the most frequent one.

use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

type Counts<'a> = HashMap<&'a str, u32, BuildHasherDefault<DefaultHasher>>;

const TEXT: &str = "the quick brown fox jumps over the lazy dog the end
a rose is a rose is a rose
to be or not to be that is the question
row row row your boat gently down the stream
it was the best of times it was the worst of times
never gonna give you up never gonna let you down
all work and no play makes jack a dull boy all work and no play";

fn count(line: &str) -> Counts<'_> {
    let mut counts = Counts::default();
    for word in line.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// The word with the highest count, the first in the alphabet if there are several.
fn most_frequent(line: &str) -> Option<(&str, u32)> {
    count(line)
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)))
}

fn main() {
    let lines: Vec<&str> = TEXT.lines().collect();
    let found: Vec<Option<(&str, u32)>> =
        lines.par_iter().map(|line| most_frequent(line)).collect();
    for (line, found) in lines.iter().zip(found) {
        let (word, count) = found.unwrap_or_default();
        println!("{count} x {word}: {line}");
    }
}
