//! Runs all cases of `cases/`; see `ui_tests`.

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use ui_tests::case::Case;
use ui_tests::judge::judge;
use ui_tests::toolchain::Toolchain;

/// Made by the first case that runs: listing the cases needs none.
type Shared = Arc<OnceLock<Result<Toolchain, String>>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let shared = Shared::default();
    let mut trials = Vec::new();
    for file in files(&directory) {
        let extension = file.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("rs") => trials.push(trial(&file, &shared)),
            Some("stderr") if !file.with_extension("rs").exists() => {
                let name = format!("ui::{}", file.display());
                let lost = || Err(Failed::from("a snapshot without its case"));
                trials.push(Trial::test(name, lost));
            }
            _ => {}
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn trial(file: &Path, shared: &Shared) -> Trial {
    let case = match Case::read(file) {
        Ok(case) => case,
        Err(error) => {
            let message = format!("{error:#}");
            return Trial::test(format!("ui::{}", file.display()), || Err(message.into()));
        }
    };
    let system = cuda_toolkit::Platform::HOST.system_roots();
    let installed = system.iter().any(|root| root.exists());
    let ignored = case.toolkit.needs_bare_system() && installed;
    let shared = Arc::clone(shared);
    Trial::test(format!("ui::{}", case.name), move || run(&case, &shared))
        .with_ignored_flag(ignored)
}

fn run(case: &Case, shared: &Shared) -> Result<(), Failed> {
    let toolchain = shared
        .get_or_init(|| Toolchain::prepare().map_err(|error| format!("{error:#}")))
        .as_ref()?;
    let output = toolchain
        .compile(case)
        .map_err(|error| format!("{error:#}"))?;
    let bless = std::env::var_os("BLESS").is_some_and(|value| !value.is_empty());
    judge(case, &output, |text| toolchain.normalize(text), bless)?;
    Ok(())
}
