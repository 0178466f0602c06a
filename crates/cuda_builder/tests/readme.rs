//! Builds the project of README.md and docs/getting-started.md, as printed, outside the workspace,
//! and runs it on the emulator. Only `git` dependencies become `path` dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the only fenced block of the pages that contains `has`.
fn block(pages: &str, has: &str) -> String {
    let mut found = pages
        .split("\n```")
        // Every second part is a block, whose first line is the language.
        .skip(1)
        .step_by(2)
        .filter_map(|part| part.split_once('\n'))
        .filter(|(_, block)| block.contains(has));
    let (_, block) = found
        .next()
        .unwrap_or_else(|| panic!("no page has a block with `{has}`"));
    assert!(
        found.next().is_none(),
        "the pages have two blocks with `{has}`"
    );
    format!("{block}\n")
}

/// Replaces `name = { git = "…" }` with the crate's path in this repository.
fn with_paths(manifest: &str, root: &Path) -> String {
    let line = |line: &str| match line.split_once(" = { git = ") {
        Some((name, _)) => {
            let path = root.join("crates").join(name);
            format!("{name} = {{ path = {:?} }}\n", path.display().to_string())
        }
        None => format!("{line}\n"),
    };
    manifest.lines().map(line).collect()
}

struct Project {
    directory: PathBuf,
    target: PathBuf,
}

impl Project {
    /// Writes the project from the pages.
    fn new(name: &str) -> Project {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().unwrap();
        let pages = ["README.md", "docs/getting-started.md"]
            .map(|page| fs::read_to_string(root.join(page)).unwrap())
            .concat();
        // Outside this workspace, whose profiles and lock file would apply to it.
        let directory = std::env::temp_dir().join(format!("readme-{}", std::process::id()));
        let project = Project {
            target: directory.join("target"),
            directory: directory.join(name),
        };
        let manifests = ["\n[build-dependencies]", "\n[dependencies]\ncuda_std"];
        let [host, kernels] = manifests.map(|has| with_paths(&block(&pages, has), &root));
        project.write("Cargo.toml", &host);
        project.write("kernels/Cargo.toml", &kernels);
        project.write("build.rs", &block(&pages, "// build.rs"));
        project.write("src/main.rs", &block(&pages, "fn main() -> Result<(), Box"));
        project.write("kernels/src/lib.rs", &block(&pages, "#![no_std]"));
        // The dependency versions that this repository is tested with.
        for directory in ["", "kernels/"] {
            let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
            project.write(&format!("{directory}Cargo.lock"), &lock);
        }
        project
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn replace(&self, file: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.directory.join(file)).unwrap();
        assert!(text.contains(old), "{text}");
        self.write(file, &text.replace(old, new));
    }

    /// `cargo run`: standard output, standard error, success.
    fn run(&self) -> (String, String, bool) {
        // `./x test` passes the cargo of stable Rust.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let mut command = Command::new(cargo);
        command
            .args(["run", "--quiet"])
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CUST_DEVICE", "emulator");
        // Variables of this test's own package.
        for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "RUSTFLAGS"] {
            command.env_remove(name);
        }
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&stdout), text(&stderr), status.success())
    }
}

#[test]
fn the_steps_of_the_readme_work() {
    let first = Project::new("first");
    let (stdout, stderr, success) = first.run();
    if stderr.contains("libnvvm") && stderr.contains("not found") {
        return eprintln!("skipped: {stderr}");
    }
    assert!(success, "{stderr}");
    assert!(stdout.starts_with("running on"), "{stdout}");
    assert!(!stderr.contains("without optimization"), "{stderr}");

    // A second project with the same names in the same target directory has its own kernels.
    let second = Project::new("second");
    second.replace("kernels/src/lib.rs", "a[i] + b[i]", "a[i] - b[i]");
    second.replace("src/main.rs", "[3.0; 1000]", "[-1.0; 1000]");
    let (_, stderr, success) = second.run();
    assert!(success, "{stderr}");
    let (_, stderr, success) = first.run();
    assert!(success, "{stderr}");

    // An error in device code is printed once, with the user's path.
    first.replace(
        "kernels/src/lib.rs",
        "use cuda_std::prelude::*;",
        "use cuda_std::prelude::*;\n#[cfg(target_arch = \"nvptx64\")]\nconst WRONG: u32 = \"one\";",
    );
    let (_, stderr, success) = first.run();
    assert!(!success);
    assert_eq!(stderr.matches("error[E0308]").count(), 1, "{stderr}");
    assert_eq!(
        stderr.matches("--> kernels/src/lib.rs:5:").count(),
        1,
        "{stderr}"
    );
    assert!(stderr.matches("rerun-if-changed").count() < 4, "{stderr}");
    fs::remove_dir_all(first.directory.parent().unwrap()).unwrap();
}
