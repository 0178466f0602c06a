//! `cargo cuda doctor`: reports what is installed. It changes nothing.

use crate::{backend, command, sysroot, tools};
use anyhow::{Result, bail};
use cuda_builder::internal::Toolchain;
use cuda_toolkit::Part;
use cust_raw::{CUresult, Driver};
use std::ffi::OsString;
use std::process::ExitCode;

/// The command's help.
pub const HELP: &str = "\
Report what is installed, and what to do about what is missing

Usage: cargo cuda doctor

The command changes nothing. It fails if something is missing that builds need.
";

/// Runs the command. It fails if something is missing that the other commands do not build.
///
/// # Errors
///
/// Returns an error for an unknown argument.
pub fn doctor(arguments: Vec<OsString>) -> Result<ExitCode> {
    if let Some(unexpected) = arguments.first() {
        bail!("unexpected argument `{}`", unexpected.display());
    }
    let mut complete = true;
    let toolchain = match Toolchain::find() {
        Ok(mut toolchain) => {
            toolchain.root = toolchain.root.canonicalize().unwrap_or(toolchain.root);
            row("toolchain", &toolchain.root.display().to_string());
            Some(toolchain)
        }
        Err(error) => {
            complete = false;
            row("toolchain", &format!("MISSING: {error}"));
            None
        }
    };
    let mut dylib = None;
    if let Some(toolchain) = &toolchain {
        match sysroot::find(&toolchain.root)? {
            Some(sysroot) => row("library", &sysroot.path.display().to_string()),
            None => row(
                "library",
                "not built yet; the first `cargo cuda run` builds it",
            ),
        }
        match backend::find(&toolchain.root) {
            Ok(Some(path)) => {
                row("backend", &path.display().to_string());
                dylib = Some(path);
            }
            Ok(None) => {
                row(
                    "backend",
                    "not built yet; the first `cargo cuda run` builds it",
                );
                // The build needs it, a built backend does not.
                if let Err(error) = toolchain.require("rustc-dev", "lib/rustlib/rustc-src") {
                    complete = false;
                    row("rustc-dev", &format!("MISSING: {error}"));
                }
            }
            Err(error) => {
                complete = false;
                row("backend", &format!("MISSING: {error:#}"));
            }
        }
    }
    let toolkit = command::toolkit(dylib.as_deref())?;
    for warning in toolkit.warnings() {
        row("warning", &warning);
    }
    for part in [Part::Libnvvm, Part::Libdevice] {
        match toolkit.get(part) {
            Some(found) => {
                let text = format!("{} ({})", found.path.display(), found.origin);
                row(&part.to_string(), &text);
            }
            None => {
                complete = false;
                let text = "MISSING: `cargo cuda --yes run` fetches it, or set CUDA_HOME to a CUDA \
                            toolkit";
                row(&part.to_string(), text);
            }
        }
    }
    match toolkit.get(Part::Ptxas) {
        Some(found) => {
            let text = format!("{} ({})", found.path.display(), found.origin);
            row("ptxas", &text);
        }
        None => row("ptxas", "not found; `inspect` and `report` need it"),
    }
    for (tool, command) in [
        (tools::NVDISASM, "inspect --sass"),
        (tools::SANITIZER, "sanitize"),
        (tools::NSYS, "profile"),
        (tools::NCU, "profile --with ncu"),
        (tools::CUDA_GDB, "debug"),
    ] {
        match tool.search()? {
            Some(path) => row(tool.name, &path.display().to_string()),
            None => row(
                tool.name,
                &format!("not found; `cargo cuda {command}` uses it"),
            ),
        }
    }
    match gpus() {
        Ok((major, minor, count)) => row("driver", &format!("CUDA {major}.{minor}, {count} GPUs")),
        Err(reason) => row(
            "driver",
            &format!("none, kernels run on the emulator ({reason})"),
        ),
    }
    Ok(match complete {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn row(part: &str, text: &str) {
    println!("{part:17} {text}");
}

/// The driver's version and its number of GPUs, or why there is none. Without one, kernels run on
/// the emulator.
///
/// # Errors
///
/// Returns the reason as a message if there is no driver or no GPU.
pub fn gpus() -> Result<(i32, i32, i32), String> {
    let driver = Driver::load().map_err(|error| error.to_string())?;
    // SAFETY: the function has no requirements.
    let result = unsafe { driver.cuInit(0) };
    if result != CUresult::CUDA_SUCCESS {
        return Err(format!("cuInit returns {result:?}"));
    }
    let (mut version, mut count) = (0, 0);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        driver.cuDriverGetVersion(&mut version);
        driver.cuDeviceGetCount(&mut count);
    }
    if count == 0 {
        return Err("the driver finds none".to_owned());
    }
    Ok((version / 1000, version % 1000 / 10, count))
}
