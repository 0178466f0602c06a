//! The table, the JSON file, and the page that is generated from it.

use crate::case::Form;
use crate::measure::{Attributes, Limits, Times};
use serde_json::{Value, json};
use std::fmt::Write;

/// The results of a benchmark.
pub struct Row {
    /// The name of the benchmark.
    pub name: String,
    /// The times of [`Form::ALL`].
    pub times: [Option<Times>; 3],
    /// The properties of the kernels.
    pub attributes: [Option<Attributes>; 3],
    /// The time of CUB, if it has the same computation.
    pub cub: Option<Times>,
    /// The minimum time that the hardware's limits allow, in microseconds.
    pub least: f64,
}

impl Row {
    /// Returns the time of nvcc's kernel divided by that of another form.
    pub fn ratio(&self, form: Form) -> Option<f64> {
        let nvcc = self.times[Form::Nvcc as usize].as_ref()?;
        let own = self.times[form as usize].as_ref()?;
        Some(nvcc.median / own.median)
    }
}

/// Returns the geometric mean of a form's ratios, and the lowest ratio with its benchmark's name.
pub fn mean_and_worst(rows: &[Row], form: Form) -> Option<(f64, f64, &str)> {
    let ratios: Vec<(f64, &str)> = (rows.iter())
        .filter_map(|row| Some((row.ratio(form)?, &*row.name)))
        .collect();
    let sum: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
    let (worst, name) = (ratios.iter().copied()).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(((sum / ratios.len() as f64).exp(), worst, name))
}

/// Formats three values, separated by slashes.
fn three<T: ToString>(of: impl Fn(Form) -> Option<T>) -> String {
    let one = |form| of(form).map_or("-".to_owned(), |value| value.to_string());
    Form::ALL.map(one).join("/")
}

/// The header of the table.
pub fn head() -> String {
    format!(
        "{:<16} {:>10} {:>10} {:>10} {:>6} {:>7} {:>7} {:>6} {:>12} {:>12} {:>16} {:>16}",
        "benchmark",
        "nvcc µs",
        "raw µs",
        "safe µs",
        "±",
        "raw",
        "safe",
        "limit",
        "registers",
        "local",
        "shared",
        "instructions"
    )
}

/// Formats a row of the table.
pub fn line(row: &Row) -> String {
    let mut text = format!("{:<16}", row.name);
    for times in &row.times {
        match times {
            Some(times) => write!(text, " {:>10.1}", times.median),
            None => write!(text, " {:>10}", "-"),
        }
        .unwrap_or_default();
    }
    let spread = (row.times.iter().flatten())
        .map(|times| (times.upper - times.lower) / times.median)
        .fold(0.0, f64::max);
    let _ = write!(text, " {:>5.1}%", 100.0 * spread);
    for form in [Form::Raw, Form::Safe] {
        let _ = match row.ratio(form) {
            Some(ratio) => write!(text, " {ratio:>7.3}"),
            None => write!(text, " {:>7}", "-"),
        };
    }
    let best = (row.times[Form::Safe as usize].as_ref()).map_or("-".to_owned(), |times| {
        format!("{:.0}%", 100.0 * row.least / times.median)
    });
    let of = |form: Form| row.attributes[form as usize];
    let _ = write!(
        text,
        " {best:>6} {:>12} {:>12} {:>16} {:>16}",
        three(|form| of(form).map(|of| of.registers)),
        three(|form| of(form).map(|of| of.local)),
        three(|form| of(form).map(|of| of.shared)),
        three(|form| of(form).and_then(|of| of.instructions)),
    );
    if let Some(cub) = &row.cub {
        let _ = write!(text, "  CUB {:.1} µs", cub.median);
    }
    text
}

/// The environment of the measurements.
pub struct Setting {
    /// The name of the device.
    pub device: String,
    /// The CUDA version that the driver supports.
    pub driver: String,
    /// The date.
    pub date: String,
    /// The versions and flags of the compilers, from `./x bench`.
    pub build: Value,
}

/// All results.
pub fn to_json(setting: &Setting, limits: &Limits, rows: &[Row]) -> Value {
    let benchmarks: Vec<Value> = rows
        .iter()
        .map(|row| {
            let forms = Form::ALL.map(|form| {
                let times = row.times[form as usize].as_ref()?;
                let of = row.attributes[form as usize].unwrap_or_default();
                Some(json!({
                    "median_us": times.median,
                    "quartiles_us": [times.lower, times.upper],
                    "launches": times.count,
                    "registers": of.registers,
                    "local_bytes": of.local,
                    "shared_bytes": of.shared,
                    "instructions": of.instructions,
                }))
            });
            let [nvcc, raw, safe] = forms;
            json!({
                "name": row.name,
                "least_us": row.least,
                "nvcc": nvcc,
                "raw": raw,
                "safe": safe,
                "cub_us": row.cub.as_ref().map(|cub| cub.median),
                "nvcc_over_raw": row.ratio(Form::Raw),
                "nvcc_over_safe": row.ratio(Form::Safe),
            })
        })
        .collect();
    let mean = |form| {
        mean_and_worst(rows, form).map(|(mean, worst, name)| {
            json!({"geometric_mean": mean, "worst": worst, "worst_name": name})
        })
    };
    json!({
        "device": setting.device,
        "driver": setting.driver,
        "date": setting.date,
        "build": setting.build,
        "limits": {
            "bytes_per_s": limits.bytes,
            "f32_operations_per_s": limits.f32_operations,
            "f64_operations_per_s": limits.f64_operations,
        },
        "raw": mean(Form::Raw),
        "safe": mean(Form::Safe),
        "benchmarks": benchmarks,
    })
}
