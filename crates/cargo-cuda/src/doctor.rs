//! `cargo cuda doctor`: reports what is installed. It changes nothing.

use crate::{backend, command, sysroot};
use anyhow::{Result, bail};
use cuda_builder::internal::Toolchain;
use cuda_toolkit::Part;
use cust_raw::{CUresult, Driver};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command. It fails if something is missing that the other commands do not build.
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
        if let Err(error) = toolchain.require("rustc-dev", "lib/rustlib/rustc-src") {
            complete = false;
            row("rustc-dev", &format!("MISSING: {error}"));
        }
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
            Ok(None) => row(
                "backend",
                "not built yet; the first `cargo cuda run` builds it",
            ),
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
    row("driver", &driver());
    Ok(match complete {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn row(part: &str, text: &str) {
    println!("{part:10} {text}");
}

/// The driver and its number of devices. It may be missing: there is the emulator.
fn driver() -> String {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(error) => return format!("none, kernels run on the emulator ({error})"),
    };
    // SAFETY: the function has no requirements.
    let result = unsafe { driver.cuInit(0) };
    if result != CUresult::CUDA_SUCCESS {
        return format!("cuInit returns {result:?}; kernels run on the emulator");
    }
    let (mut version, mut count) = (0, 0);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        driver.cuDriverGetVersion(&mut version);
        driver.cuDeviceGetCount(&mut count);
    }
    let (major, minor) = (version / 1000, version % 1000 / 10);
    format!("CUDA {major}.{minor}, {count} GPUs")
}
