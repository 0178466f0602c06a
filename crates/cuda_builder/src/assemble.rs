//! Assembles PTX to cubins with ptxas, and combines both into fat binaries.

use crate::{Artifact, Error};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

/// The time that ptxas has for a module at each level of optimization, but for the last.
const BOUND: Duration = Duration::from_secs(180);

/// Assembles PTX to a cubin beside it, unless there is one that is newer. If ptxas takes too long it
/// is run again at lower levels of optimization, with a warning.
pub(crate) fn assemble(
    ptxas: &Path,
    ptx: &Artifact,
    mut warn: impl FnMut(&str),
) -> Result<PathBuf, Error> {
    let cubin = ptx.path.with_extension("cubin");
    let text = fs::read_to_string(&ptx.path)
        .map_err(Error::io(format!("read `{}`", ptx.path.display())))?;
    if ptx::is_to_be_linked(&text) {
        let object = ptx.path.with_extension("o");
        // A kernel with few registers because of its launch bounds cannot call functions that were
        // compiled by themselves; other errors come again below.
        match compile(ptxas, ptx, &["-c"], &object, &mut warn) {
            Ok(()) => {
                let nvlink =
                    ptxas.with_file_name(format!("nvlink{}", std::env::consts::EXE_SUFFIX));
                let mut command = Command::new(&nvlink);
                command
                    .arg(format!("-arch={}", ptx.arch.sm()))
                    .arg(&object)
                    .arg("-o");
                make(command, &cubin, &[&nvlink, &object], None)?;
                return Ok(cubin);
            }
            Err(Error::Assemble { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    compile(ptxas, ptx, &[], &cubin, &mut warn)?;
    Ok(cubin)
}

/// Runs ptxas, at a lower level if it does not end in time.
fn compile(
    ptxas: &Path,
    ptx: &Artifact,
    options: &[&str],
    output: &Path,
    warn: &mut impl FnMut(&str),
) -> Result<(), Error> {
    for (level, bound) in [(3, Some(BOUND)), (1, Some(BOUND)), (0, None)] {
        let mut command = Command::new(ptxas);
        command
            .args(options)
            .arg(format!("-arch={}", ptx.arch.sm()))
            .arg(format!("-O{level}"))
            // Names the function before it is compiled.
            .arg("-v")
            .arg(&ptx.path)
            .arg("-o");
        match make(command, output, &[ptxas, &ptx.path], bound)? {
            None => break,
            Some(output) => warn(&format!(
                "ptxas did not finish within {} s at -O{level}{}: `{}` is assembled at a lower level",
                BOUND.as_secs(),
                last_function(&output).map_or(String::new(), |name| format!(", in `{name}`")),
                ptx.path.display(),
            )),
        }
    }
    Ok(())
}

/// The function that ptxas said last that it compiles.
fn last_function(output: &str) -> Option<&str> {
    let (_, rest) = output.rsplit_once("Compiling entry function '")?;
    rest.split('\'').next()
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
    make(command, &fatbin, &inputs, None)?;
    Ok(fatbin)
}

/// Runs a command, which ends in the option for its output, unless the output is newer than all
/// inputs. The output appears whole or not at all: build scripts run at the same time, and may
/// want the same file. Returns what the command wrote if it did not end within the bound.
fn make(
    mut command: Command,
    output: &Path,
    inputs: &[&Path],
    bound: Option<Duration>,
) -> Result<Option<String>, Error> {
    if inputs.iter().all(|input| is_newer(output, input)) {
        return Ok(None);
    }
    let mut partial = output.to_path_buf().into_os_string();
    partial.push(format!(".{}", std::process::id()));
    let program = PathBuf::from(command.get_program());
    let (status, text) = run_within(command.arg(&partial), bound)
        .map_err(Error::io(format!("run `{}`", program.display())))?;
    match status {
        Some(status) if status.success() => {}
        Some(_) => {
            let _ = fs::remove_file(&partial);
            return Err(Error::Assemble {
                program,
                output: text,
            });
        }
        None => {
            let _ = fs::remove_file(&partial);
            return Ok(Some(text));
        }
    }
    fs::rename(&partial, output).map_err(Error::io(format!("write `{}`", output.display())))?;
    Ok(None)
}

/// Runs a command, and kills it if it does not end within a time. Returns how it ended, and what it
/// wrote.
fn run_within(
    command: &mut Command,
    bound: Option<Duration>,
) -> io::Result<(Option<ExitStatus>, String)> {
    let (mut reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the ends that write.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let text = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = reader.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if bound.is_some_and(|bound| start.elapsed() > bound) {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ok((status, text.join().unwrap_or_default()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_killed() {
        let script = "echo \"Compiling entry function 'k' for 'sm_75'\"; exec sleep 600";
        let start = Instant::now();
        let mut command = Command::new("sh");
        let result = run_within(
            command.args(["-c", script]),
            Some(Duration::from_millis(500)),
        );
        let (status, text) = result.unwrap();
        assert_eq!((status, last_function(&text)), (None, Some("k")));
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn what_ends_is_waited_for() {
        let mut command = Command::new("sh");
        let result = run_within(command.args(["-c", "echo out; echo err >&2; exit 3"]), None);
        let (status, text) = result.unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        assert_eq!(text, "out\nerr\n");
    }
}
