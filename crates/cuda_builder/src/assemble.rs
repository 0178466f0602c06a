//! Makes cubins of PTX with NVIDIA's assembler, and fat binaries of both.

use crate::{Artifact, Error};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Assembles PTX to a cubin beside it, unless there is one that is newer.
pub(crate) fn assemble(ptxas: &Path, ptx: &Artifact) -> Result<PathBuf, Error> {
    let cubin = ptx.path.with_extension("cubin");
    let mut command = Command::new(ptxas);
    command
        .arg(format!("-arch={}", ptx.arch.sm()))
        .arg(&ptx.path)
        .arg("-o");
    make(command, &cubin, &[ptxas, &ptx.path])?;
    Ok(cubin)
}

/// Packs PTX and cubins into one file, of which the driver takes what fits its GPU.
pub(crate) fn pack(ptxas: &Path, ptx: &[Artifact], cubins: &[Artifact]) -> Result<PathBuf, Error> {
    // It comes in the same package, and in the same folder of a toolkit.
    let program = ptxas.with_file_name(format!("fatbinary{}", std::env::consts::EXE_SUFFIX));
    let mut inputs: Vec<&Path> = vec![&program];
    let mut command = Command::new(&program);
    // Uncompressed: not only the driver reads it, the emulator does, too.
    command.args(["-64", "--compress=false"]);
    for (kind, files) in [("elf", cubins), ("ptx", ptx)] {
        for file in files {
            let sm = file.arch.sm();
            let mut image = OsString::from(format!("--image3=kind={kind},sm={},file=", &sm[3..]));
            image.push(&file.path);
            command.arg(image);
            inputs.push(&file.path);
        }
    }
    let archs: Vec<String> = ptx.iter().map(|file| file.arch.sm()).collect();
    let first = ptx.first().map_or(Path::new(""), |file| &file.path);
    let fatbin = first.with_extension(format!("{}.fatbin", archs.join("-")));
    command.arg("--create");
    make(command, &fatbin, &inputs)?;
    Ok(fatbin)
}

/// Runs a command, which ends in the option for its output, unless the output is newer than all
/// inputs. The output appears whole or not at all: build scripts run at the same time, and may
/// want the same file.
fn make(mut command: Command, output: &Path, inputs: &[&Path]) -> Result<(), Error> {
    if inputs.iter().all(|input| is_newer(output, input)) {
        return Ok(());
    }
    let mut partial = output.to_path_buf().into_os_string();
    partial.push(format!(".{}", std::process::id()));
    let program = PathBuf::from(command.get_program());
    let result = (command.arg(&partial).output())
        .map_err(Error::io(format!("run `{}`", program.display())))?;
    if !result.status.success() {
        let _ = fs::remove_file(&partial);
        let text = [result.stdout, result.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        return Err(Error::Assemble {
            program,
            output: text,
        });
    }
    fs::rename(&partial, output).map_err(Error::io(format!("write `{}`", output.display())))
}

fn is_newer(file: &Path, than: &Path) -> bool {
    let modified = |path: &Path| {
        fs::metadata(path)
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    match (modified(file), modified(than)) {
        (Some(file), Some(than)) => file > than,
        _ => false,
    }
}
