//! Assembles PTX to cubins with ptxas, and combines both into fat binaries.

use crate::Arch;
use std::ffi::OsString;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

/// The time limit of ptxas for a module at each optimization level except the last.
const BOUND: Duration = Duration::from_secs(180);

/// An error of [`assemble`] or [`pack`].
#[derive(Debug)]
pub enum AssembleError {
    /// A file or a program of the toolkit could not be used.
    Io {
        /// The operation.
        action: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A program of the toolkit failed.
    Failed {
        /// The program.
        program: PathBuf,
        /// Its output.
        output: String,
    },
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Io { action, error } => write!(f, "cannot {action}: {error}"),
            AssembleError::Failed { program, output } => {
                write!(f, "`{}` failed:\n{}", program.display(), output.trim_end())
            }
        }
    }
}

impl std::error::Error for AssembleError {}

pub(crate) fn io(action: String) -> impl FnOnce(io::Error) -> AssembleError {
    |error| AssembleError::Io { action, error }
}

/// Assembles a PTX file to a cubin in the same directory, unless a newer one exists. `linked`
/// selects separate compilation of functions, which are then linked. If ptxas takes too long, it
/// runs again at a lower optimization level, with a warning.
///
/// # Errors
///
/// Returns an error if a program of the toolkit cannot be run or fails.
pub fn assemble(
    ptxas: &Path,
    arch: Arch,
    ptx: &Path,
    linked: bool,
    mut warn: impl FnMut(&str),
) -> Result<PathBuf, AssembleError> {
    let cubin = ptx.with_extension("cubin");
    if linked {
        let object = ptx.with_extension("o");
        // A kernel with few registers because of its launch bounds cannot call separately compiled
        // functions. Other errors occur again below.
        match compile(ptxas, arch, ptx, &["-c"], &object, &mut warn) {
            Ok(()) => {
                let nvlink =
                    ptxas.with_file_name(format!("nvlink{}", std::env::consts::EXE_SUFFIX));
                let mut command = Command::new(&nvlink);
                command
                    .arg(format!("-arch={}", arch.sm()))
                    .arg(&object)
                    .arg("-o");
                make(command, &cubin, &[&nvlink, &object], None)?;
                return Ok(cubin);
            }
            Err(AssembleError::Failed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    compile(ptxas, arch, ptx, &[], &cubin, &mut warn)?;
    Ok(cubin)
}

/// Runs ptxas, again at a lower optimization level if it exceeds the time limit.
fn compile(
    ptxas: &Path,
    arch: Arch,
    ptx: &Path,
    options: &[&str],
    output: &Path,
    warn: &mut impl FnMut(&str),
) -> Result<(), AssembleError> {
    let parallel = parallel(ptxas);
    for (level, bound) in [(3, Some(BOUND)), (1, Some(BOUND)), (0, None)] {
        let mut command = Command::new(ptxas);
        command
            .args(options)
            .args(parallel)
            .arg(format!("-arch={}", arch.sm()))
            .arg(format!("-O{level}"))
            // Prints a function's name before compiling it.
            .arg("-v")
            .arg(ptx)
            .arg("-o");
        match make(command, output, &[ptxas, ptx], bound)? {
            None => break,
            Some(output) => warn(&format!(
                "ptxas did not finish within {} s at -O{level}{}: assembling `{}` at a lower level",
                BOUND.as_secs(),
                last_function(&output).map_or(String::new(), |name| format!(", in `{name}`")),
                ptx.display(),
            )),
        }
    }
    Ok(())
}

/// Returns the option with which ptxas compiles functions on all processors, if it knows it. The
/// machine code is the same.
pub(crate) fn parallel(ptxas: &Path) -> Option<&'static str> {
    let output = Command::new(ptxas).arg("--help").output().ok()?;
    let help = String::from_utf8_lossy(&output.stdout);
    help.contains("--split-compile ")
        .then_some("--split-compile=0")
}

/// Returns the function that ptxas was compiling, if it compiled one at a time.
fn last_function(output: &str) -> Option<&str> {
    let (_, rest) = output.rsplit_once("Compiling entry function '")?;
    // On several processors, ptxas prints the name with the results.
    let (name, rest) = rest.split_once('\'')?;
    (!rest.contains(": Used ")).then_some(name)
}

/// Packs PTX and cubins into one fat binary, from which the driver selects the image for its GPU.
///
/// # Errors
///
/// Returns an error if `fatbinary` cannot be run or fails.
pub fn pack(
    ptxas: &Path,
    ptx: &[(Arch, PathBuf)],
    cubins: &[(Arch, PathBuf)],
) -> Result<PathBuf, AssembleError> {
    // `fatbinary` is in the same package, and in the same directory of a toolkit.
    let program = ptxas.with_file_name(format!("fatbinary{}", std::env::consts::EXE_SUFFIX));
    let mut inputs: Vec<&Path> = vec![&program];
    let mut command = Command::new(&program);
    // Uncompressed: the emulator reads the file, too.
    command.args(["-64", "--compress=false"]);
    for (kind, files) in [("elf", cubins), ("ptx", ptx)] {
        for (arch, file) in files {
            let sm = arch.sm();
            let mut image = OsString::from(format!("--image3=kind={kind},sm={},file=", &sm[3..]));
            image.push(file);
            command.arg(image);
            inputs.push(file);
        }
    }
    let archs: Vec<String> = ptx.iter().map(|(arch, _)| arch.sm()).collect();
    let first = ptx
        .first()
        .map_or(Path::new(""), |(_, file)| file.as_path());
    let fatbin = first.with_extension(format!("{}.fatbin", archs.join("-")));
    command.arg("--create");
    make(command, &fatbin, &inputs, None)?;
    Ok(fatbin)
}

/// Runs a command, whose last argument is the option for its output file, unless the output is newer
/// than all inputs. The output is written atomically: concurrent build scripts may want the same
/// file. Returns the text that the command printed if it did not exit within `bound`.
fn make(
    mut command: Command,
    output: &Path,
    inputs: &[&Path],
    bound: Option<Duration>,
) -> Result<Option<String>, AssembleError> {
    if inputs.iter().all(|input| is_newer(output, input)) {
        return Ok(None);
    }
    let mut partial = output.to_path_buf().into_os_string();
    partial.push(format!(".{}", std::process::id()));
    let program = PathBuf::from(command.get_program());
    let (status, text) = run_within(command.arg(&partial), bound)
        .map_err(io(format!("run `{}`", program.display())))?;
    match status {
        Some(status) if status.success() => {}
        Some(_) => {
            let _ = fs::remove_file(&partial);
            return Err(AssembleError::Failed {
                program,
                output: text,
            });
        }
        None => {
            let _ = fs::remove_file(&partial);
            return Ok(Some(text));
        }
    }
    fs::rename(&partial, output).map_err(io(format!("write `{}`", output.display())))?;
    Ok(None)
}

/// Runs a command, and kills it if it does not exit within `bound`. Returns the exit status (`None`
/// if it was killed) and the output.
fn run_within(
    command: &mut Command,
    bound: Option<Duration>,
) -> io::Result<(Option<ExitStatus>, String)> {
    let (mut reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // Drop the command's write ends of the pipe, so that reading ends with the child.
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
        let text = text + "ptxas info    : Used 8 registers";
        assert_eq!(last_function(&text), None);
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
