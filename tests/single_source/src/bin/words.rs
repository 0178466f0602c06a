//! Counts words, and for each line the most frequent one: `words_cpu` with a kernel.

use cuda_std::prelude::*;
use cust::prelude::*;
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

/// The start, the length and the count of the most frequent word of each line.
#[kernel]
fn find(text: &str, ends: &[usize], mut found: PerThread<Option<(usize, usize, u32)>>) {
    for (i, found) in found.own() {
        let start = if i == 0 { 0 } else { ends[i - 1] };
        *found = most_frequent(&text[start..ends[i]]).map(|(word, count)| {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            (at, word.len(), count)
        });
    }
}

fn main() -> CudaResult<()> {
    cust::init_auto()?;
    let ends: Vec<usize> = TEXT
        .split_inclusive('\n')
        .scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        })
        .collect();
    let mut found = vec![None; ends.len()];
    let config = LaunchConfig::for_elements(found.len(), 32);
    cust::launch(config, find::args(TEXT, &ends, &mut found))?;
    for (line, found) in TEXT.lines().zip(found) {
        let (at, len, count) = found.unwrap_or_default();
        assert_eq!(Some((&TEXT[at..at + len], count)), most_frequent(line));
        println!("{count} x {}: {line}", &TEXT[at..at + len]);
    }
    Ok(())
}
