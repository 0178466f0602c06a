//! The page of results: a Markdown table and a plot, generated from the JSON file that `--out`
//! writes.

use serde_json::Value;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// Writes `FILE.md` and `FILE.svg` next to `FILE.json`.
pub fn write(file: &Path) -> Result<(), Box<dyn Error>> {
    let results: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let svg = file.with_extension("svg");
    let plot = svg.file_name().unwrap_or_default().to_string_lossy();
    std::fs::write(file.with_extension("md"), page(&results, &plot)?)?;
    std::fs::write(&svg, svg_of(&results)?)?;
    Ok(())
}

/// Formats a number with `digits` decimal places, or a missing one as a dash.
fn number(value: &Value, digits: usize) -> String {
    (value.as_f64()).map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}

fn benchmarks(results: &Value) -> Result<&[Value], Box<dyn Error>> {
    let benchmarks = results["benchmarks"].as_array();
    Ok(benchmarks.ok_or("the file has no `benchmarks`")?)
}

fn page(results: &Value, plot: &str) -> Result<String, Box<dyn Error>> {
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let build = &results["build"];
    let limits = &results["limits"];
    let rate = |name: &str, unit: f64| limits[name].as_f64().unwrap_or_default() / unit;
    let mut page = String::new();
    writeln!(page, "# Benchmarks on {}\n", text(&results["device"]))?;
    writeln!(
        page,
        "{}, driver for CUDA {}, commit {}, {}.\n",
        text(&results["date"]),
        text(&results["driver"]),
        text(&build["commit"]),
        text(&build["nvcc"]),
    )?;
    writeln!(
        page,
        "Flags: nvcc `{} -arch={}`; Rust: {}; ptxas `{}`. Measured limits: copy {:.0} GB/s, f32 {:.1} \
         TFLOP/s, f64 {:.1} TFLOP/s. [How to read this](../README.md#the-table).\n",
        text(&build["nvcc_flags"]),
        text(&build["arch"]),
        text(&build["rust_flags"]),
        text(&build["ptxas_flags"]),
        rate("bytes_per_s", 1e9),
        rate("f32_operations_per_s", 1e12),
        rate("f64_operations_per_s", 1e12),
    )?;
    for form in ["safe", "raw"] {
        let of = &results[form];
        writeln!(
            page,
            "- {form}: geometric mean of nvcc's time divided by ours {}, worst {} (`{}`)",
            number(&of["geometric_mean"], 3),
            number(&of["worst"], 3),
            text(&of["worst_name"]),
        )?;
    }
    writeln!(page, "\n![nvcc's time divided by ours]({plot})\n")?;
    writeln!(
        page,
        "| benchmark | nvcc µs | raw µs | safe µs | nvcc/raw | nvcc/safe | limit | registers | local \
         bytes | shared bytes | instructions |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    for row in benchmarks(results)? {
        let three = |field: &str| {
            ["nvcc", "raw", "safe"]
                .map(|form| number(&row[form][field], 0))
                .join(" / ")
        };
        let time = |form: &str| number(&row[form]["median_us"], 1);
        let least = row["least_us"].as_f64().filter(|least| *least > 0.0);
        let share = least.zip(row["safe"]["median_us"].as_f64());
        let cub = match row["cub_us"].as_f64() {
            Some(time) => format!(" (CUB {time:.1})"),
            None => String::new(),
        };
        writeln!(
            page,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            text(&row["name"]),
            time("nvcc") + &cub,
            time("raw"),
            time("safe"),
            number(&row["nvcc_over_raw"], 3),
            number(&row["nvcc_over_safe"], 3),
            share.map_or("–".to_owned(), |(least, own)| {
                format!("{:.0} %", 100.0 * least / own)
            }),
            three("registers"),
            three("local_bytes"),
            three("shared_bytes"),
            three("instructions"),
        )?;
    }
    Ok(page)
}

/// Draws a pair of bars for each benchmark, and a line at 1.
fn svg_of(results: &Value) -> Result<String, Box<dyn Error>> {
    const LEFT: usize = 150;
    const WIDTH: f64 = 420.0;
    const ROW: usize = 26;
    const TOP: usize = 34;
    const BARS: [(&str, &str, &str); 2] = [
        ("nvcc_over_safe", "safe", "#2f6fb0"),
        ("nvcc_over_raw", "raw", "#b8c4d0"),
    ];
    let rows = benchmarks(results)?;
    let largest = rows
        .iter()
        .flat_map(|row| BARS.map(|(field, ..)| row[field].as_f64().unwrap_or_default()))
        .fold(1.2, f64::max);
    let x = |ratio: f64| LEFT as f64 + WIDTH * ratio / largest;
    let height = TOP + ROW * rows.len() + 10;
    let width = LEFT + WIDTH as usize + 60;
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"14\">nvcc's time divided by ours: above 1, Rust is \
         faster</text>"
    )?;
    for (i, (_, name, color)) in BARS.iter().enumerate() {
        let at = LEFT + 70 * i;
        writeln!(
            svg,
            "<rect x=\"{at}\" y=\"20\" width=\"9\" height=\"9\" fill=\"{color}\"/><text x=\"{}\" \
             y=\"28\">{name}</text>",
            at + 13
        )?;
    }
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + i * ROW;
        let name = row["name"].as_str().unwrap_or_default();
        writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>",
            LEFT - 6,
            y + 15
        )?;
        for (k, (field, _, color)) in BARS.iter().enumerate() {
            let Some(ratio) = row[field].as_f64() else {
                continue;
            };
            writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" height=\"10\" fill=\"{color}\"/><text \
                 x=\"{:.1}\" y=\"{}\" font-size=\"9\">{ratio:.3}</text>",
                y + 2 + 11 * k,
                x(ratio) - LEFT as f64,
                x(ratio) + 3.0,
                y + 10 + 11 * k,
            )?;
        }
    }
    writeln!(
        svg,
        "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{TOP}\" y2=\"{height}\" stroke=\"black\" \
         stroke-dasharray=\"3 3\"/>\n</svg>",
        x(1.0)
    )?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_of_one_benchmark() {
        let form = |time: f64| json!({"median_us": time, "registers": 32});
        let results = json!({
            "device": "A GPU",
            "safe": {"geometric_mean": 0.8, "worst": 0.8, "worst_name": "copy"},
            "benchmarks": [{
                "name": "copy",
                "least_us": 50.0,
                "nvcc": form(80.0),
                "raw": null,
                "safe": form(100.0),
                "nvcc_over_raw": null,
                "nvcc_over_safe": 0.8,
            }],
        });
        let page = page(&results, "a.svg").expect("the results are complete");
        let line = "| `copy` | 80.0 | – | 100.0 | – | 0.800 | 50 % | 32 / – / 32 |";
        assert!(page.contains(line), "{page}");
        let svg = svg_of(&results).expect("the results are complete");
        assert_eq!(svg.matches("0.800").count(), 1, "{svg}");
    }
}
