//! Reports failures, disagreements and totals.

use crate::{Device, Outcome, Outcomes, Status};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// How many lines of a failure's message are shown.
const LINES: usize = 40;

/// The totals, and the failures.
pub struct Summary {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Reasons, each with how many tests were skipped for it.
    reasons: BTreeMap<(Device, String), usize>,
    failures: Vec<String>,
    disagreements: Vec<String>,
}

impl Summary {
    pub fn new(outcomes: &Outcomes, devices: &[Device]) -> Summary {
        let mut summary = Summary {
            passed: 0,
            failed: 0,
            skipped: 0,
            reasons: BTreeMap::new(),
            failures: Vec::new(),
            disagreements: Vec::new(),
        };
        for ((program, test), by_device) in outcomes {
            for (device, outcome) in by_device {
                match outcome.status {
                    Status::Passed => summary.passed += 1,
                    Status::Skipped => {
                        summary.skipped += 1;
                        let reason = (*device, outcome.text.clone());
                        *summary.reasons.entry(reason).or_default() += 1;
                    }
                    Status::Failed => {
                        summary.failed += 1;
                        let device = device.name();
                        let text = shorten(&outcome.text);
                        summary
                            .failures
                            .push(format!("{device} {program} {test}\n{text}"));
                    }
                }
            }
            let [gpu, emulator] = [Device::Gpu, Device::Emulator].map(|one| by_device.get(&one));
            if devices.len() == 2
                && let Some(difference) = disagreement(gpu, emulator)
            {
                summary.failed += 1;
                summary
                    .disagreements
                    .push(format!("{program} {test}: {difference}"));
            }
        }
        summary
    }

    /// Whether everything passed, and something ran.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

/// How two outcomes of one test disagree, if both passed. A test that fails on one device is a
/// failure of its own, and one that is skipped on one device has nothing to compare.
fn disagreement(gpu: Option<&Outcome>, emulator: Option<&Outcome>) -> Option<String> {
    let (gpu, emulator) = (gpu?, emulator?);
    if gpu.status != Status::Passed || emulator.status != Status::Passed {
        return None;
    }
    let (left, right) = (by_key(gpu), by_key(emulator));
    let keys: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
    let differences: Vec<String> = keys
        .into_iter()
        .filter(|key| left.get(*key) != right.get(*key))
        .map(|key| {
            let of = |side: &BTreeMap<&str, Vec<&str>>| match side.get(*key) {
                Some(values) => values.join(" | "),
                None => "nothing".to_owned(),
            };
            format!(
                "\n  {key}\n    gpu:      {}\n    emulator: {}",
                of(&left),
                of(&right)
            )
        })
        .collect();
    (!differences.is_empty()).then(|| differences.concat())
}

/// The values of each key, in the order in which they were observed.
fn by_key(outcome: &Outcome) -> BTreeMap<&str, Vec<&str>> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in &outcome.values {
        values.entry(key).or_default().push(value);
    }
    values
}

fn shorten(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown: Vec<String> = lines
        .iter()
        .take(LINES)
        .map(|line| format!("    {line}\n"))
        .collect();
    let left = lines.len().saturating_sub(LINES);
    match left {
        0 => shown.concat(),
        left => format!("{}    and {left} lines more\n", shown.concat()),
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let titles = [
            ("failed", &self.failures),
            ("both devices disagree", &self.disagreements),
        ];
        for (title, items) in titles {
            if !items.is_empty() {
                writeln!(f, "\n== {title}: {} ==", items.len())?;
            }
            for item in items {
                writeln!(f, "{item}")?;
            }
        }
        if !self.reasons.is_empty() {
            writeln!(f, "\n== skipped ==")?;
        }
        for ((device, reason), count) in &self.reasons {
            let reason = if reason.is_empty() { "ignored" } else { reason };
            writeln!(f, "{} {count}: {reason}", device.name())?;
        }
        let Summary {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "\n{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// All outcomes, one a line.
pub fn table(outcomes: &Outcomes) -> String {
    let mut text = String::from("program\ttest\tdevice\tstatus\tvalues\n");
    for ((program, test), by_device) in outcomes {
        for (device, outcome) in by_device {
            let (device, count) = (device.name(), outcome.values.len());
            text += &format!(
                "{program}\t{test}\t{device}\t{:?}\t{count}\n",
                outcome.status
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: Status, values: &[(&str, &str)]) -> Outcome {
        let values = values
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        Outcome {
            status,
            text: String::new(),
            values: values.collect(),
        }
    }

    fn summary(gpu: Outcome, emulator: Outcome) -> Summary {
        let both = BTreeMap::from([(Device::Gpu, gpu), (Device::Emulator, emulator)]);
        let outcomes = Outcomes::from([(("program".to_owned(), "test".to_owned()), both)]);
        Summary::new(&outcomes, &[Device::Gpu, Device::Emulator])
    }

    fn totals(summary: &Summary) -> [usize; 3] {
        [summary.passed, summary.failed, summary.skipped]
    }

    #[test]
    fn values_that_differ_are_a_failure() {
        let passed = |values: &[(&str, &str)]| outcome(Status::Passed, values);
        let same = summary(
            passed(&[("a", "1"), ("b", "2")]),
            passed(&[("b", "2"), ("a", "1")]),
        );
        assert_eq!(totals(&same), [2, 0, 0]);
        assert!(same.is_good());
        let other = summary(passed(&[("a", "1")]), passed(&[("a", "2")]));
        assert_eq!(totals(&other), [2, 1, 0]);
        assert!(!other.is_good());
        let text = other.to_string();
        assert!(text.contains("gpu:      1\n    emulator: 2"), "{text}");
        assert!(text.ends_with("\n2 passed, 1 failed, 0 skipped"), "{text}");
        let order = summary(
            passed(&[("a", "1"), ("a", "2")]),
            passed(&[("a", "2"), ("a", "1")]),
        );
        assert_eq!(totals(&order), [2, 1, 0]);
        let missing = summary(passed(&[]), passed(&[("a", "2")]));
        assert_eq!(totals(&missing), [2, 1, 0]);
    }

    #[test]
    fn a_skipped_test_is_not_compared() {
        let skipped = outcome(Status::Skipped, &[]);
        let summary = summary(outcome(Status::Passed, &[("a", "1")]), skipped);
        assert_eq!(totals(&summary), [1, 0, 1]);
    }

    #[test]
    fn nothing_run_is_not_good() {
        let skipped = outcome(Status::Skipped, &[]);
        assert!(!summary(skipped.clone(), skipped).is_good());
    }
}
