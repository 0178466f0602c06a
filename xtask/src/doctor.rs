//! `./x doctor`: prints a table of the prerequisites: what was found, where, in which version, and
//! how to install what is missing. It changes nothing, and searches with the same code as the other
//! commands.

use crate::{backend, no_more_arguments, toolkit, workspace};
use anyhow::Result;
use cuda_toolkit::{Found, Toolkit};
use cust_raw::{CUdevice_attribute, CUresult, Driver};
use std::path::Path;
use std::process::ExitCode;

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Found.
    Ok,
    /// Not found, and not required.
    Absent,
    /// Not found or not working, but required.
    Missing,
}

/// A row of the table.
struct Row {
    part: &'static str,
    state: State,
    version: String,
    place: String,
    advice: Option<String>,
}

/// Runs `./x doctor`. Fails if something is missing that the other commands do not fetch or build.
pub fn doctor(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    let found = toolkit::find();
    let mut rows = vec![toolchain()];
    rows.extend(components());
    rows.push(stable());
    rows.push(libnvvm(&found));
    rows.push(libdevice(&found));
    rows.push(ptxas(&found));
    rows.push(the_backend());
    rows.extend(driver());
    print_table(&rows);
    let broken = rows.iter().any(|row| row.state == State::Missing);
    Ok(if broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn print_table(rows: &[Row]) {
    let width = |text: fn(&Row) -> &str| rows.iter().map(|row| text(row).len()).max().unwrap_or(0);
    let (part, version) = (width(|row| row.part), width(|row| &row.version));
    println!(
        "{:part$}  {:7}  {:version$}  where",
        "part", "state", "version"
    );
    for row in rows {
        let state = match row.state {
            State::Ok => "ok",
            State::Absent => "none",
            State::Missing => "MISSING",
        };
        let line = format!(
            "{:part$}  {state:7}  {:version$}  {}",
            row.part, row.version, row.place
        );
        println!("{}", line.trim_end());
    }
    let mut advices = rows
        .iter()
        .filter_map(|row| Some((row.part, row.advice.as_ref()?)));
    if let Some(first) = advices.next() {
        println!("\nWhat to do:");
        for (part, advice) in std::iter::once(first).chain(advices) {
            println!("- {part}: {advice}");
        }
    }
}

impl Row {
    fn ok(part: &'static str, version: impl Into<String>, place: impl Into<String>) -> Row {
        let (version, place) = (version.into(), place.into());
        Row {
            part,
            state: State::Ok,
            version,
            place,
            advice: None,
        }
    }

    fn not_ok(part: &'static str, state: State, advice: impl Into<String>) -> Row {
        let advice = Some(advice.into());
        Row {
            part,
            state,
            version: String::new(),
            place: String::new(),
            advice,
        }
    }
}

fn toolchain() -> Row {
    match (
        workspace::output_of("rustc", &["--version"]),
        workspace::sysroot(),
    ) {
        (Some(version), Some(sysroot)) => {
            Row::ok("toolchain", version, sysroot.display().to_string())
        }
        _ => Row::not_ok(
            "toolchain",
            State::Missing,
            "run ./x again; it installs the toolchain",
        ),
    }
}

/// The components that the backend and device builds need, each identified by one of its files.
fn components() -> Vec<Row> {
    const FILES: [(&str, &str); 3] = [
        ("rust-src", "lib/rustlib/src/rust/library/Cargo.lock"),
        ("rustc-dev", "lib/rustlib/rustc-src"),
        ("clippy", "bin/cargo-clippy"),
    ];
    let Some(sysroot) = workspace::sysroot() else {
        return Vec::new();
    };
    FILES
        .into_iter()
        .map(|(name, file)| {
            let path = sysroot.join(file);
            if path.exists() {
                Row::ok(name, "", path.display().to_string())
            } else {
                Row::not_ok(
                    name,
                    State::Missing,
                    format!("run rustup component add {name}"),
                )
            }
        })
        .collect()
}

fn stable() -> Row {
    match workspace::output_of("rustup", &["run", "stable", "rustc", "--version"]) {
        Some(version) => Row::ok("stable Rust", version, ""),
        None => Row::not_ok(
            "stable Rust",
            State::Absent,
            "only ./x test uses it, for the host crates: rustup toolchain install stable",
        ),
    }
}

fn libnvvm(found: &Toolkit) -> Row {
    let Some(file) = &found.libnvvm else {
        return not_found("libnvvm", found);
    };
    let described = nvvm::Library::open(&file.path).and_then(|library| {
        let archs = library.supported_archs()?;
        let newest = archs.iter().map(|arch| arch.number()).max().unwrap_or(0);
        let oldest = archs.first().map_or(0, |arch| arch.number());
        let (version, ir) = (library.version(), library.ir_version().ir);
        let release = release(file).map_or(String::new(), |release| format!("{release}, "));
        Ok(format!(
            "{release}API {version}, IR {ir}, sm_{oldest} to sm_{newest}"
        ))
    });
    match described {
        Ok(version) => Row::ok("libnvvm", version, place(file)),
        Err(error) => Row {
            place: place(file),
            ..Row::not_ok(
                "libnvvm",
                State::Missing,
                format!("{error}; set CUDA_HOME to a CUDA toolkit that works, or unset it"),
            )
        },
    }
}

/// Returns the release, which the library does not report, from pip's metadata directory.
fn release(libnvvm: &Found) -> Option<String> {
    std::fs::read_dir(&libnvvm.root)
        .ok()?
        .flatten()
        .find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name
                .strip_prefix("nvidia_nvvm-")?
                .strip_suffix(".dist-info")?;
            Some(version.to_owned())
        })
}

fn libdevice(found: &Toolkit) -> Row {
    match &found.libdevice {
        Some(file) => Row::ok("libdevice", "10", place(file)),
        None => not_found("libdevice", found),
    }
}

fn ptxas(found: &Toolkit) -> Row {
    let Some(file) = &found.ptxas else {
        return not_found("ptxas", found);
    };
    let text = workspace::output_of(&file.path, &["--version"]).unwrap_or_default();
    match text.lines().find_map(|line| line.split_once("release ")) {
        Some((_, version)) => Row::ok("ptxas", version, place(file)),
        None => Row {
            place: place(file),
            ..Row::not_ok(
                "ptxas",
                State::Missing,
                "it does not run; set CUDA_HOME to a CUDA toolkit that works, or unset it",
            )
        },
    }
}

fn place(found: &Found) -> String {
    format!("{} ({})", found.path.display(), found.origin)
}

/// Returns the row of a missing part of NVIDIA's, which the other commands fetch with pip.
fn not_found(part: &'static str, toolkit: &Toolkit) -> Row {
    let searched: Vec<String> = toolkit
        .searched
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let searched = searched.join(", ");
    match cuda_toolkit::find_pip() {
        Some(pip) => Row::not_ok(
            part,
            State::Absent,
            format!(
                "not in {searched}; ./x run and ./x test fetch it with {}, or set CUDA_HOME to a \
                 CUDA toolkit",
                pip.join(" ")
            ),
        ),
        None => Row::not_ok(
            part,
            State::Missing,
            format!(
                "not in {searched}, and there is no pip to fetch it with: install python3-pip, or \
                 set CUDA_HOME to a CUDA toolkit"
            ),
        ),
    }
}

fn the_backend() -> Row {
    let path = backend::dylib();
    match std::fs::metadata(&path) {
        Ok(metadata) => {
            let size = format!("built, {} MB", metadata.len() / 1_000_000);
            Row::ok("backend", size, path.display().to_string())
        }
        Err(_) => Row::not_ok("backend", State::Absent, "not built yet; ./x run builds it"),
    }
}

/// Returns the rows of the driver and its GPUs. None is required, because of the emulator.
fn driver() -> Vec<Row> {
    let absent = |reason: String| {
        let advice = format!(
            "{reason}; everything runs on the emulator. For a GPU, install NVIDIA's driver 580 or \
             later"
        );
        vec![Row::not_ok("driver", State::Absent, advice)]
    };
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(error) => return absent(error.to_string()),
    };
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    if unsafe { driver.cuDriverGetVersion(&mut version) } != CUresult::CUDA_SUCCESS {
        return absent("libcuda does not tell its version".to_owned());
    }
    let mut rows = vec![Row::ok(
        "driver",
        format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        nvidia_smi().unwrap_or_default(),
    )];
    // SAFETY: the function has no preconditions.
    let result = unsafe { driver.cuInit(0) };
    if result != CUresult::CUDA_SUCCESS {
        let advice = format!(
            "cuInit returns {result:?}; is the kernel module loaded, and does nvidia-smi work?"
        );
        rows.push(Row::not_ok("GPU", State::Absent, advice));
        return rows;
    }
    let mut count = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { driver.cuDeviceGetCount(&mut count) };
    for ordinal in 0..count {
        rows.extend(gpu(&driver, ordinal));
    }
    if count == 0 {
        rows.push(Row::not_ok("GPU", State::Absent, "the driver knows none"));
    }
    rows
}

fn gpu(driver: &Driver, ordinal: i32) -> Option<Row> {
    let mut device = 0;
    let mut name = [0u8; 128];
    // SAFETY: the pointers are valid for the calls, and the name's buffer has the given size.
    let named = unsafe {
        driver.cuDeviceGet(&mut device, ordinal) == CUresult::CUDA_SUCCESS
            && driver.cuDeviceGetName(name.as_mut_ptr().cast(), 128, device)
                == CUresult::CUDA_SUCCESS
    };
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device) };
        value
    };
    let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    named.then(|| {
        Row::ok(
            "GPU",
            format!("sm_{major}{minor}"),
            String::from_utf8_lossy(name),
        )
    })
}

fn nvidia_smi() -> Option<String> {
    let arguments = ["--query-gpu=driver_version", "--format=csv,noheader"];
    let version = workspace::output_of(Path::new("nvidia-smi"), &arguments)?;
    Some(format!("driver {}", version.lines().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_part_comes_with_advice() {
        let empty = Toolkit {
            searched: vec!["/nonexistent".into()],
            ..Toolkit::default()
        };
        for row in [libnvvm(&empty), libdevice(&empty), ptxas(&empty)] {
            assert_ne!(row.state, State::Ok);
            let advice = row.advice.unwrap();
            assert!(
                advice.contains("/nonexistent") && advice.contains("CUDA_HOME"),
                "{advice}"
            );
        }
    }
}
