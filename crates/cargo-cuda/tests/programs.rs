//! The programs `cargo-cuda` and `cuda-rustdoc`, run as users and cargo run them.

use cuda_builder::internal::Toolchain;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use ui_tests::case::Case;
use ui_tests::judge::judge;

fn cargo_cuda() -> Command {
    Command::new(env!("CARGO_BIN_EXE_cargo-cuda"))
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn toolchain() -> Option<Toolchain> {
    let found = Toolchain::find();
    found.map_err(test_outcome::skip).ok()
}

#[test]
fn the_version_is_that_of_another_compiler() {
    let Some(toolchain) = toolchain() else {
        return;
    };
    let output = Command::new(toolchain.rustc()).arg("-vV").output().unwrap();
    let plain = text(&output);
    let output = cargo_cuda()
        .arg(toolchain.rustc())
        .arg("-vV")
        .output()
        .unwrap();
    let wrapped = text(&output);
    let line = wrapped.strip_prefix(&plain).unwrap();
    assert!(
        line.starts_with("cargo-cuda: ") && line.lines().count() == 1,
        "{line}"
    );
}

#[test]
fn another_compiler_is_an_error() {
    let output = cargo_cuda().args(["cargo", "-vV"]).output().unwrap();
    assert!(!output.status.success());
    let output = cargo_cuda()
        .args(["nonexistent-rustc", "-vV"])
        .output()
        .unwrap();
    assert!(
        text(&output).contains("nonexistent-rustc"),
        "{}",
        text(&output)
    );
}

#[test]
fn without_consent_nothing_is_fetched() {
    if toolchain().is_none() {
        return;
    }
    // Outside the repository, whose `target/cuda` would be found from a backend below it.
    let name = format!("cargo-cuda-no-toolkit-{}", std::process::id());
    let home = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&home).unwrap();
    let backend = home.join("backend.so");
    std::fs::write(&backend, "").unwrap();
    let Ok(root) = cargo_cuda::sysroot::toolchain_root(toolchain().unwrap().rustc().as_os_str())
    else {
        panic!("the toolchain has no root");
    };
    // Nothing is compiled: the command ends before.
    let library = cargo_cuda::sysroot::key(&root);
    let library = home.join("single-source").join(library);
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("host"), "none").unwrap();
    let output = cargo_cuda()
        .args(["cuda", "run"])
        .current_dir(&home)
        .env("CUDA_BUILDER_CACHE", &home)
        .env("RUSTC_CODEGEN_NVVM", &backend)
        .env("CI", "")
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let system = cuda_toolkit::Platform::HOST.system_roots();
    if system.iter().any(|root| root.exists()) {
        return test_outcome::skip("there is a CUDA toolkit");
    }
    let text = text(&output);
    assert!(text.contains("cargo cuda --yes run"), "{text}");
    assert!(!home.join("cuda").exists());
    std::fs::remove_dir_all(&home).unwrap();
}

#[test]
fn a_failure_of_rustup_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let rustup = directory.path().join("rustup");
    let script = "#!/bin/sh\n\
                  [ \"$1\" = which ] || echo \"no network ${RUST_BACKTRACE-and no backtrace}\" >&2\n\
                  exit 1\n";
    std::fs::write(&rustup, script).unwrap();
    std::fs::set_permissions(&rustup, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |path: &Path| {
        let output = cargo_cuda()
            .args(["cuda", "--yes", "run"])
            .current_dir(directory.path())
            .env("PATH", path)
            .env("CUDA_BUILDER_CACHE", directory.path().join("cache"))
            .env("RUST_BACKTRACE", "1")
            .env_remove("RUST_NVVM_DIST")
            .env_remove("RUSTC")
            .output()
            .unwrap();
        assert!(!output.status.success());
        text(&output)
    };
    let printed = run(directory.path());
    let expected = "no network and no backtrace\n\
                    error: rustup could not install the toolchain; its message is above\nhelp: ";
    assert!(printed.starts_with(expected), "{printed}");
    let printed = run(&directory.path().join("nothing"));
    assert!(
        printed.contains("install rustup from https://rustup.rs"),
        "{printed}"
    );
    assert!(!directory.path().join("cache").exists());
}

#[test]
fn members_are_prepared_with_their_workspace() {
    if toolchain().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (root, member) = (directory.path(), directory.path().join("member"));
    std::fs::create_dir_all(member.join("src")).unwrap();
    let package = "[package]\nname = \"member\"\nversion = \"0.1.0\"\n";
    std::fs::write(
        root.join("Cargo.toml"),
        "[workspace]\nmembers = [\"member\"]\n",
    )
    .unwrap();
    std::fs::write(member.join("Cargo.toml"), package).unwrap();
    std::fs::write(member.join("src/main.rs"), "fn main() {}\n").unwrap();
    let backend = root.join("backend.so");
    std::fs::write(&backend, "").unwrap();
    let init = |directory: &Path| {
        let mut command = cargo_cuda();
        command.args(["cuda", "init", "--path"]).arg(repository());
        // It needs no backend.
        command.env("RUSTC_CODEGEN_NVVM", &backend);
        let output = command.current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let printed = init(&member);
    assert!(
        printed.contains("note: prepared the workspace at"),
        "{printed}"
    );
    assert!(read("member/Cargo.toml").contains("\ncuda_std = "));
    assert!(!read("member/Cargo.toml").contains("[profile"));
    assert!(read("Cargo.toml").contains("[profile.dev.package.ptx_emulator]"));
    assert!(read("rust-toolchain.toml").contains("channel"));
    assert!(read(".cargo/config.toml").contains("rustc-wrapper"));
    assert!(!member.join(".cargo").exists() && !member.join("rust-toolchain.toml").exists());
    // The root of a workspace is no package with dependencies.
    let printed = init(root);
    assert!(
        printed.contains("help: run `cargo cuda init` in each package"),
        "{printed}"
    );
    assert!(!read("Cargo.toml").contains("[dependencies]"));
}

/// Runs a command of `cargo cuda` in a package, on the emulator, with the output of both streams.
/// All packages share a target directory, so that their dependencies are compiled once.
fn on_emulator(package: &Path, target: &Path, arguments: &[&str]) -> String {
    on_emulator_with(package, target, arguments, &[])
}

/// As above, with more environment variables.
fn on_emulator_with(
    package: &Path,
    target: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> String {
    let mut command = cargo_cuda();
    // The libnvvm that `./x` fetched, if there is no other.
    let fetched = repository().join("target/cuda");
    if std::env::var_os("CUDA_HOME").is_none() && fetched.is_dir() {
        command.env("CUDA_HOME", fetched);
    }
    let output = command
        .args(["cuda", "--yes"])
        .args(arguments)
        .current_dir(package)
        .env("CUST_DEVICE", "emulator")
        .env("CARGO_TARGET_DIR", target)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    text(&output)
}

fn repository() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    path.canonicalize().unwrap()
}

#[test]
fn projects_run() {
    // Outside of this repository's workspace.
    let directory = tempfile::tempdir().unwrap();
    a_new_project_runs(directory.path());
    errors_have_their_places(directory.path());
    samples_run(directory.path());
    kernels_are_compiled_when_they_change(directory.path());
    only_changed_kernels_are_compiled(directory.path());
    the_examples_run(directory.path());
    statics_and_architectures(directory.path());
    kernels_are_found_where_they_are_linked(directory.path());
    a_workspace_runs(directory.path());
    what_is_missing_is_named(directory.path());
    tools_read_what_programs_carry(directory.path());
}

/// Kernels are compiled again if something that they reach changes, and only then.
fn kernels_are_compiled_when_they_change(directory: &Path) {
    const LINE: u32 = 19;
    let (project, target) = (directory.join("hello"), directory.join("target"));
    let mut source = include_str!("programs/changes.rs").to_owned();
    // Compiled code is written to a new file.
    let code = || {
        use std::os::unix::fs::MetadataExt;
        let mut files = Vec::new();
        find_files(&target, "nvvm-code", &mut files);
        assert!(!files.is_empty(), "the code of the kernels is stored");
        let inodes = files.iter().map(|file| file.metadata().unwrap().ino());
        let mut inodes: Vec<u64> = inodes.collect();
        inodes.sort();
        inodes
    };
    let mut before = Vec::new();
    for (from, to, printed, compiled) in [
        ("", "", format!("numbers [1, 3, 5, {LINE}]"), true),
        // Host code.
        (
            "\"numbers {",
            "\"result {",
            format!("result [1, 3, 5, {LINE}]"),
            false,
        ),
        // A constant, a function, and a location.
        (
            "u32 = 1;",
            "u32 = 2;",
            format!("result [2, 4, 6, {LINE}]"),
            true,
        ),
        ("x * 2", "x * 3", format!("result [2, 5, 8, {LINE}]"), true),
        (
            "mod numbers",
            "\nmod numbers",
            format!("result [2, 5, 8, {}]", LINE + 1),
            true,
        ),
        // Revert the device code, and change host code with it.
        (
            "x * 3",
            "x * 2",
            format!("result [2, 4, 6, {}]", LINE + 1),
            true,
        ),
        (
            "vec![0; 4]",
            "vec![9; 4]",
            format!("result [2, 4, 6, {}]", LINE + 1),
            false,
        ),
    ] {
        source = source.replacen(from, to, 1);
        std::fs::write(project.join("src/main.rs"), &source).unwrap();
        // Cargo does not compile incrementally in CI otherwise.
        let incremental = [("CARGO_INCREMENTAL", "1")];
        let output = on_emulator_with(&project, &target, &["run"], &incremental);
        assert!(output.contains(&printed), "`{printed}` is not in {output}");
        let now = code();
        assert_eq!(before != now, compiled, "after `{from}` became `{to}`");
        before = now;
    }
}

/// Finds the files with an extension.
fn find_files(directory: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            find_files(&path, extension, files);
        } else if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
}

/// Two architectures, each as PTX and as machine code. It changes what later builds have to
/// compile.
const TWO_ARCHS: (&str, &str) = ("NVVM_OPTIONS", "arch=sm_80,arch=sm_75,cubins=on");

/// In optimized builds, a change compiles the kernels that it affects, and the program is the same
/// as after the compilation of all kernels.
fn only_changed_kernels_are_compiled(directory: &Path) {
    let (project, target) = (directory.join("hello"), directory.join("target"));
    let mut source = include_str!("programs/updates.rs").to_owned();
    let more = "\n#[kernel]\nfn unused(mut ys: PerThread<u32>) {\n    ys.each(|_, y| *y = 1);\n}\n";
    // The results, and the number of updates since all kernels were compiled.
    for (from, to, printed, updates) in [
        ("", "", "[8, 8, 10, 14, 5, 5, 6, 8, 11, 3, 4]", 0),
        ("* 2", "* 3", "[12, 12, 15, 21, 5, 5, 6, 8, 11, 3, 4]", 1),
        // A block-wide operation, whose shared memory another kernel uses, too.
        (
            "sum + 5",
            "sum + 7",
            "[12, 12, 15, 21, 5, 5, 6, 8, 13, 3, 4]",
            2,
        ),
        // A function and a constant of two kernels.
        (
            "\"zero\"",
            "\"naught\"",
            "[18, 12, 15, 27, 7, 5, 6, 10, 13, 3, 4]",
            3,
        ),
        // The kernels that use the static are compiled together, so all are.
        (
            "fetch_add(1",
            "fetch_add(2",
            "[18, 12, 15, 27, 7, 5, 6, 10, 13, 3, 8]",
            0,
        ),
        // A further kernel, and a kernel less.
        ("\nfn main", &format!("{more}\nfn main"), "13, 3, 8]", 1),
        (more, "", "13, 3, 8]", 2),
        ("u32::max", "u32::min", "13, 0, 8]", 3),
    ] {
        source = source.replacen(from, to, 1);
        std::fs::write(project.join("src/main.rs"), &source).unwrap();
        let output = on_emulator(&project, &target, &["run", "--release"]);
        assert!(output.contains(printed), "`{printed}` is not in {output}");
        let panic = "index out of bounds: the len is 2 but the index is 2";
        assert!(output.contains(panic), "{output}");
        let mut caches = Vec::new();
        let of_package = target.join("release/build/hello");
        find_files(&of_package, "nvvm-cache", &mut caches);
        let [cache] = &*caches else {
            panic!("not one cache: {caches:?}");
        };
        let text = std::fs::read_to_string(cache).unwrap();
        let last = text.lines().last().unwrap();
        let counted = last.split_once(' ').unwrap().0;
        assert_eq!(counted, updates.to_string(), "after `{from}` became `{to}`");
    }
}

/// Statics of the project that the host sets and reads.
fn statics_and_architectures(directory: &Path) {
    let project = directory.join("hello");
    let main = project.join("src/main.rs");
    std::fs::write(&main, include_str!("programs/statics.rs")).unwrap();
    let run = |options| {
        let target = directory.join("target");
        on_emulator_with(&project, &target, &["run"], &[options])
    };
    let printed = run(("NVVM_OPTIONS", "arch=sm_12,optmize=off,cubins=maybe"));
    for error in [
        "unknown GPU architecture `sm_12`",
        "has no option `optmize` (in `NVVM_OPTIONS`)",
        "`cubins` is `on` or `off`, not `maybe`",
    ] {
        assert!(printed.contains(error), "`{error}` is not in {printed}");
    }
    let printed = run(TWO_ARCHS);
    let expected = "the statics are what the host sets, in [sm_80, sm_75]";
    assert!(printed.contains(expected), "{printed}");
}

/// The profile of new projects: packages with another one would compile the emulator again.
const PROFILE: &str = "[profile.dev.package.ptx_emulator]\nopt-level = 3\n";

/// A package with these files beside its manifest. `dependencies` are of the repository's
/// libraries.
fn package(directory: &Path, name: &str, more: &str, libraries: &[&str], files: &[(&str, &str)]) {
    let package = directory.join(name);
    let mut manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         {more}\n[dependencies]\n"
    );
    for library in libraries {
        let path = match library.starts_with("cu") {
            true => repository().join("crates").join(library),
            false => directory.join(library),
        };
        manifest.push_str(&format!("{library} = {{ path = {path:?} }}\n"));
    }
    for (file, text) in files.iter().chain(&[("Cargo.toml", &*manifest)]) {
        let path = package.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Kernels of libraries, in tests, a doctest, an example, a shared library, and after link-time
/// optimization.
fn kernels_are_found_where_they_are_linked(directory: &Path) {
    let kernels = [("src/lib.rs", include_str!("programs/linked/kernels.rs"))];
    package(directory, "kernels", "", &["cuda_std"], &kernels);
    let more = format!(
        "[lib]\ncrate-type = [\"lib\", \"cdylib\"]\n[[bench]]\nname = \"measured\"\nharness = false\n{PROFILE}"
    );
    let shown =
        "fn main() {\n    println!(\"example: {:?}\", linked::changed([1, 2, 3]).unwrap());\n}\n";
    // With a kernel of its own.
    let measured = "use cuda_std::prelude::*;\n\
        #[kernel]\nfn indices(mut to: PerThread<usize>) { to.each(|i, to| *to = i); }\n\
        fn main() {\n    cust::init_auto().unwrap();\n    let mut to = [9; 3];\n    \
        cust::launch((1, 32), indices::args(&mut to)).unwrap();\n    \
        println!(\"benchmark: {to:?}, {:?}\", linked::changed([1, 2, 3]).unwrap());\n}\n";
    let files = [
        ("src/lib.rs", include_str!("programs/linked/lib.rs")),
        (
            "tests/integration.rs",
            include_str!("programs/linked/integration.rs"),
        ),
        ("examples/shown.rs", shown),
        ("benches/measured.rs", measured),
    ];
    package(
        directory,
        "linked",
        &more,
        &["kernels", "cuda_std", "cust"],
        &files,
    );
    let target = directory.join("target");
    let linked = directory.join("linked");
    let cargo = |arguments: &[&str]| on_emulator_with(&linked, &target, arguments, &[TWO_ARCHS]);
    let printed = cargo(&["test"]);
    let passed = printed.matches("test result: ok. 1 passed").count();
    assert_eq!(passed, 3, "{printed}");
    let printed = cargo(&["run", "--example", "shown"]);
    assert!(printed.contains("example: [9, 11, 13]"), "{printed}");
    let printed = cargo(&["bench", "--profile", "dev", "--bench", "measured"]);
    let expected = "benchmark: [0, 1, 2], [9, 11, 13]";
    assert!(printed.contains(expected), "{printed}");
    let printed = cargo(&["build"]);
    assert!(!printed.contains("error"), "{printed}");
    let library = format!("ctypes.CDLL({:?})", target.join("debug/liblinked.so"));
    let script = format!("import ctypes; print({library}.sum_of_changed(1, 2, 3))");
    let python = Command::new("python3")
        .args(["-c", &script])
        .env("CUST_DEVICE", "emulator")
        .output();
    match python {
        Ok(output) => assert_eq!(text(&output), "33\n"),
        Err(error) => test_outcome::skip(format!("python3: {error}")),
    }

    // A static library in a program in C, whose linker has nothing to complain about. The linker
    // takes only those object files that other code refers to.
    let more = format!("[lib]\ncrate-type = [\"staticlib\"]\n{PROFILE}");
    let main = "#include <stdio.h>\nunsigned sum_of_changed(unsigned, unsigned, unsigned);\n\
                int main(void) { printf(\"%u\\n\", sum_of_changed(1, 2, 3)); }\n";
    let library = ("src/lib.rs", "pub use linked::sum_of_changed;\n");
    let files = [library, ("main.c", main)];
    package(directory, "archive", &more, &["linked"], &files);
    let archive = directory.join("archive");
    let printed = on_emulator_with(&archive, &target, &["build"], &[TWO_ARCHS]);
    assert!(!printed.contains("error:"), "{printed}");
    let linked = Command::new("cc")
        .args(["main.c", "-o", "main", "-Wl,--fatal-warnings,--gc-sections"])
        .arg(target.join("debug/libarchive.a"))
        .args(["-lm", "-lpthread", "-ldl"])
        .current_dir(&archive)
        .output()
        .unwrap();
    assert!(linked.status.success(), "{}", text(&linked));
    let output = Command::new(archive.join("main"))
        .env("CUST_DEVICE", "emulator")
        .output();
    assert_eq!(text(&output.unwrap()), "33\n");

    let more = "[profile.dev]\nlto = \"fat\"\npanic = \"abort\"\nstrip = true\nopt-level = \"z\"\n\
                codegen-units = 1\nincremental = false\n";
    let files = [("src/main.rs", include_str!("programs/linked/optimized.rs"))];
    package(directory, "optimized", more, &["kernels"], &files);
    let optimized = directory.join("optimized");
    let printed = on_emulator_with(&optimized, &target, &["run"], &[TWO_ARCHS]);
    // Of two crates, for two architectures each, PTX and machine code.
    assert!(printed.contains("optimized: 8 images"), "{printed}");
}

/// A workspace whose default member launches kernels of other packages: under strict lints, of a
/// build script, of a procedural macro, and of two versions of one package outside of the workspace.
fn a_workspace_runs(directory: &Path) {
    let root = directory.join("workspace");
    let library = |name: &str| {
        let path = repository().join("crates").join(name);
        format!("{name} = {{ path = {path:?} }}\n")
    };
    let manifest = |name: &str, edition: u32, more: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\n{more}"
        )
    };
    let version = |version: &str| {
        format!(
            "[package]\nname = \"version\"\nversion = \"{version}\"\nedition = \"2018\"\n\
             [dependencies]\n{}",
            library("cuda_std")
        )
    };
    let workspace = format!(
        "[workspace]\nmembers = [\"app\", \"kernels\", \"generated\", \"macros\"]\n\
         default-members = [\"app\"]\nresolver = \"3\"\n{PROFILE}\
         [workspace.dependencies]\n{}{}",
        library("cuda_std"),
        library("cust")
    );
    let app = manifest(
        "app",
        2024,
        "[features]\ndefault = [\"extra\"]\nextra = []\n\
         [[bin]]\nname = \"app\"\npath = \"src/main.rs\"\nrequired-features = [\"cust\"]\n\
         [dependencies]\ncuda_std.workspace = true\n\
         cust = { workspace = true, optional = true }\n\
         generated = { path = \"../generated\" }\nkernels = { path = \"../kernels\" }\n\
         old = { path = \"../../version-1\", package = \"version\" }\n\
         new = { path = \"../../version-2\", package = \"version\" }\n",
    );
    let generated = manifest(
        "generated",
        2024,
        "[dependencies]\ncuda_std.workspace = true\nmacros = { path = \"../macros\" }\n",
    );
    let kernels = manifest(
        "kernels",
        2021,
        "[dependencies]\ncuda_std.workspace = true\n",
    );
    for (file, text) in [
        ("Cargo.toml", &*workspace),
        ("app/Cargo.toml", &app),
        ("app/src/main.rs", include_str!("programs/workspace/app.rs")),
        ("generated/Cargo.toml", &generated),
        (
            "generated/build.rs",
            include_str!("programs/workspace/build.rs"),
        ),
        (
            "generated/src/lib.rs",
            include_str!("programs/workspace/generated.rs"),
        ),
        ("kernels/Cargo.toml", &kernels),
        (
            "kernels/src/lib.rs",
            include_str!("programs/workspace/kernels.rs"),
        ),
        (
            "macros/Cargo.toml",
            &manifest("macros", 2021, "[lib]\nproc-macro = true\n"),
        ),
        (
            "macros/src/lib.rs",
            include_str!("programs/workspace/macros.rs"),
        ),
        ("../version-1/Cargo.toml", &version("1.0.0")),
        (
            "../version-1/src/lib.rs",
            include_str!("programs/workspace/version.rs"),
        ),
        ("../version-2/Cargo.toml", &version("2.0.0")),
        (
            "../version-2/src/lib.rs",
            include_str!("programs/workspace/version.rs"),
        ),
    ] {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let cargo = |arguments: &[&str]| on_emulator(&root, &directory.join("target"), arguments);
    for (arguments, own) in [
        (
            &["run", "--no-default-features", "--features=cust"][..],
            11_111,
        ),
        (&["run", "--all-features"], 111_111),
    ] {
        let printed = cargo(arguments);
        let expected = format!(
            "own: {:?}\nmacros and closures: [9, 9, 9]\npackages: {:?}\n",
            [own; 3], [1_101_311; 3]
        );
        assert!(printed.contains(&expected), "{arguments:?}: {printed}");
    }
    let printed = cargo(&["run"]);
    let expected = "target `app` in package `app` requires the features: `cust`";
    assert!(printed.contains(expected), "{printed}");
    let printed = cargo(&["clippy", "--package=kernels"]);
    assert!(
        printed.contains("Finished") && !printed.contains("warning"),
        "{printed}"
    );
}

/// The commands that read device code, on the projects that are built.
fn tools_read_what_programs_carry(directory: &Path) {
    let target = directory.join("target");
    let linked = directory.join("linked");
    let cargo = |arguments: &[&str]| on_emulator_with(&linked, &target, arguments, &[TWO_ARCHS]);
    let check = |arguments: &[&str], expected: &[&str]| {
        let printed = cargo(arguments);
        for text in expected {
            assert!(
                printed.contains(text),
                "{arguments:?}: `{text}` is not in {printed}"
            );
        }
    };
    // The shared library has the kernels of both crates.
    check(
        &["list"],
        &[
            "liblinked.so\n",
            "  kernels, linked: PTX sm_75, cubin sm_75, PTX sm_80, cubin sm_80\n",
            "    kernel linked::increment(16 bytes)\n      blocks of any size; src/lib.rs:8\n",
            "    kernel kernels::double(16 bytes)\n",
            "kernel kernels::map::<u32, linked::changed::{closure#0}>(",
        ],
    );
    // A stripped program after link-time optimization, as a file.
    let optimized = target.join("debug/optimized");
    let printed = cargo(&["list", "--json", optimized.to_str().unwrap()]);
    assert_eq!(printed.matches("\"form\": \"PTX\"").count(), 4, "{printed}");
    assert_eq!(
        printed.matches("\"form\": \"cubin\"").count(),
        4,
        "{printed}"
    );
    assert!(printed.contains("kernels::double"), "{printed}");
    // Optimized kernels have lines, also those of the kernel itself.
    check(
        &["inspect", "increment", "--dev", "--lib"],
        &["// src/lib.rs:10: *value += 1;\n\t"],
    );
    check(
        &["inspect", "n", "--dev", "--lib"],
        &[
            "error: `n` is ambiguous",
            "\n  linked::increment\n",
            "help: pass a whole path",
        ],
    );
    check(
        &["inspect", "increment", "--dev", "--lib", "--arch=sm_90"],
        &["there is no PTX for `sm_90`\nhelp: there is PTX for sm_75, sm_80"],
    );
    check(
        &["inspect", "increment", "--dev", "--lib", "--ir"],
        &["define void @_RN", "increment("],
    );
    check(
        &["inspect", "increment", "--dev", "--lib", "--mir"],
        &["fn increment(_1: ", "bb0: {"],
    );
    check(
        &["inspect", "increment", "--dev", "--lib", "--registers"],
        &["linked::increment (sm_80)\nregisters per thread  "],
    );
    // The machine code, or where to get the disassembler.
    let printed = cargo(&["inspect", "increment", "--dev", "--lib", "--sass"]);
    let disassembled = printed.contains("/*0000*/") && printed.contains("// src/lib.rs:10");
    let missing =
        "help: it is part of the CUDA toolkit, and of the PyPI package `nvidia-cuda-nvdisasm`";
    assert!(disassembled || printed.contains(missing), "{printed}");
    check(
        &["report", "increment", "--dev", "--lib", "--block=64"],
        &[
            "linked::increment (sm_80)\n",
            "% with blocks of 64 threads: ",
            // The overflow is checked in debug builds, once per element.
            "src/lib.rs:10:9: arithmetic overflow\n      *value += 1;\n      help: use `wrapping_*`",
        ],
    );
    check(
        &["report", "nothing", "--dev", "--lib"],
        &["error: no kernel has the name `nothing`"],
    );
    check(
        &["sanitize", "--emulator", "--example", "shown"],
        &[
            "note: the emulator checks for accesses outside of allocations",
            "[9, 11, 13]",
        ],
    );
    check(
        &[
            "sanitize",
            "--emulator",
            "--tool=racecheck",
            "--example",
            "shown",
        ],
        &["error: `--tool racecheck` needs compute-sanitizer and a GPU"],
    );
}

#[test]
fn bad_arguments_of_the_tools_are_errors() {
    if toolchain().is_none() {
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (arguments, expected) in [
        (
            &["list", file][..],
            "has an unknown format\nhelp: pass a program",
        ),
        (&["list", "/nonexistent"], "cannot read `/nonexistent`"),
        (
            &["inspect", "--json"],
            "unexpected argument `--json`\nhelp: `cargo cuda inspect --help`",
        ),
        (&["inspect", "a", "--ptx", "--sass"], "cannot be combined"),
        (
            &["inspect", "a", "--ir", "--file", file],
            "`--ir` and `--mir` need a build",
        ),
        (
            &["report", "--block=0"],
            "invalid block size `0`: expected 1 to 1024 threads",
        ),
        (
            &["sanitize", "--tool=leaks"],
            "compute-sanitizer has no tool `leaks`",
        ),
        (
            &["profile", "--with=perf"],
            "unknown profiler `perf`\nhelp: expected `nsys` or `ncu`",
        ),
        (&["completions", "tcsh"], "unsupported shell `tcsh`"),
        (
            &["clean", "--cache", "--release"],
            "unexpected argument `--release` beside `--cache`",
        ),
    ] {
        let output = cargo_cuda().arg("cuda").args(arguments).output().unwrap();
        let printed = text(&output);
        assert!(!output.status.success(), "{arguments:?}: {printed}");
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
    }
    for command in [
        "list",
        "inspect",
        "report",
        "sanitize",
        "profile",
        "debug",
        "completions",
    ] {
        let output = cargo_cuda()
            .args(["cuda", command, "--help"])
            .output()
            .unwrap();
        let printed = text(&output);
        let usage = format!("Usage: cargo cuda {command} ");
        assert!(
            output.status.success() && printed.contains(&usage),
            "{printed}"
        );
    }
}

fn a_new_project_runs(directory: &Path) {
    let output = cargo_cuda()
        .args(["cuda", "new", "hello", "--vcs=none", "--path"])
        .arg(repository())
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let project = directory.join("hello");
    let run = || on_emulator(&project, &directory.join("target"), &["run"]);
    let printed = run();
    assert!(printed.contains("added 1000 numbers"), "{printed}");
    // The same project with kernels of many kinds.
    std::fs::write(
        project.join("src/main.rs"),
        include_str!("programs/beside.rs"),
    )
    .unwrap();
    let printed = run();
    assert!(printed.contains("started on the host"), "{printed}");
    assert!(printed.contains("device: {0: 1, 1: 1}"), "{printed}");
    assert!(
        printed.contains("all kernels gave what the host computes"),
        "{printed}"
    );
    // Kernels that also run on the CPU.
    let source = include_str!("programs/on_cpu.rs");
    std::fs::write(project.join("src/main.rs"), source).unwrap();
    let printed = run();
    assert!(
        printed.contains("the CPU gave what the device gives"),
        "{printed}"
    );
    // CPU programs whose loops became kernels, instructions of the host's processor, and panics.
    for (source, expected) in [
        (
            include_str!("programs/interpreter.rs"),
            "the interpreter gave what it gives on the host",
        ),
        (
            include_str!("programs/instructions.rs"),
            "the instructions gave what they give on the host",
        ),
        (
            include_str!("programs/panics.rs"),
            "the panics have their messages",
        ),
        (
            include_str!("programs/bodies.rs"),
            "the bodies are where the host has them",
        ),
    ] {
        std::fs::write(project.join("src/main.rs"), source).unwrap();
        let printed = run();
        assert!(printed.contains(expected), "{printed}");
    }
    // Safe code that tries to break the libraries' guarantees.
    let source = include_str!("programs/attacks.rs");
    std::fs::write(project.join("src/main.rs"), source).unwrap();
    let printed = run();
    assert!(printed.contains("the attacks failed"), "{printed}");
    // Dependencies that choose code by the host's processor.
    let manifest = project.join("Cargo.toml");
    let with_crates = std::fs::read_to_string(&manifest).unwrap().replace(
        "[dependencies]\n",
        "[dependencies]\ncmov = \"0.5\"\nconstant_time_eq = \"0.4\"\nglam = \"0.30\"\n\
         hashbrown = \"0.16\"\nlibm = \"0.2\"\nmemchr = \"2\"\nnum-bigint = \"0.4\"\nsha2 = \"0.10\"\n\
         simdutf8 = \"0.1\"\n",
    );
    std::fs::write(&manifest, &with_crates).unwrap();
    std::fs::write(
        project.join("src/main.rs"),
        include_str!("programs/crates.rs"),
    )
    .unwrap();
    let printed = run();
    assert!(
        printed.contains("the crates gave what they give on the host"),
        "{printed}"
    );
    generic_kernels_run(&project, &with_crates, &run);
}

/// Generic kernels, also of a library that the project depends on.
fn generic_kernels_run(project: &Path, manifest: &str, run: &dyn Fn() -> String) {
    let dependencies: Vec<&str> = manifest
        .lines()
        .filter(|line| line.starts_with("cust ") || line.starts_with("cuda_std "))
        .collect();
    let library = project.join("kernels");
    std::fs::create_dir_all(library.join("src")).unwrap();
    let of_library = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{}\n",
        dependencies.join("\n")
    );
    std::fs::write(library.join("Cargo.toml"), of_library).unwrap();
    let source = include_str!("programs/generic_kernels.rs");
    std::fs::write(library.join("src/lib.rs"), source).unwrap();
    let with_library = manifest.replace(
        "[dependencies]\n",
        "[dependencies]\nkernels = { path = \"kernels\" }\n",
    );
    std::fs::write(project.join("Cargo.toml"), with_library).unwrap();
    let source = include_str!("programs/generic.rs");
    std::fs::write(project.join("src/main.rs"), source).unwrap();
    let printed = run();
    assert!(
        printed.contains("the generic kernels gave what the host computes"),
        "{printed}"
    );
}

/// The cases of `errors/`, each a program of one package, which say on the offending lines what the
/// compiler has to report there, as the cases of `tests/ui` do.
fn errors_have_their_places(directory: &Path) {
    let mut cases = Vec::new();
    let errors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    for entry in std::fs::read_dir(errors).unwrap() {
        cases.push(Case::read(&entry.unwrap().path()).unwrap());
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    let mut programs = PROFILE.to_owned();
    for case in &cases {
        let (name, path) = (&case.name, &case.path);
        programs.push_str(&format!("[[bin]]\nname = {name:?}\npath = {path:?}\n"));
    }
    package(directory, "errors", &programs, &["cuda_std", "cust"], &[]);
    let arguments = ["build", "--keep-going", "--message-format=json"];
    let package = directory.join("errors");
    let output = on_emulator(&package, &directory.join("target"), &arguments);
    let mut problems = String::new();
    for case in &cases {
        let said: Vec<serde_json::Value> = (output.lines())
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|json: &serde_json::Value| json["target"]["name"] == *case.name)
            .filter(|json| json["reason"] == "compiler-message")
            .map(|json| json["message"].clone())
            .collect();
        let built = said.iter().all(|message| message["level"] != "error");
        let output = Output {
            status: ExitStatus::from_raw(if built { 0 } else { 1 << 8 }),
            stdout: Vec::new(),
            stderr: said
                .iter()
                .map(|json| format!("{json}\n"))
                .collect::<String>()
                .into(),
        };
        if let Err(problem) = judge(case, &output, str::to_owned, false) {
            problems.push_str(&format!("{}: {problem}\n", case.name));
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Some of the samples and their tests, with the kernels in a library. `./x test single-source-tests`
/// runs all samples.
fn samples_run(directory: &Path) {
    const MODULES: [&str; 2] = ["language", "reductions"];
    let samples = repository().join("tests/samples");
    let modules = |parent: &str, visibility: &str| -> String {
        let declare = |name: &&str| {
            let file = samples.join(parent).join(name).with_extension("rs");
            format!("#[path = {file:?}]\n{visibility}mod {name};\n")
        };
        MODULES.iter().map(declare).collect()
    };
    let common = samples.join("tests/samples/common.rs");
    let tests = format!(
        "#[path = {common:?}]\nmod common;\n{}use common::*;\n",
        modules("tests/samples", "")
    );
    let kernels = format!("#![no_std]\n{}", modules("kernels/src", "pub "));
    let files = [("src/lib.rs", &*kernels), ("tests/all.rs", &*tests)];
    let libraries = ["cuda_std", "cust_core", "cust"];
    package(directory, "samples_kernels", PROFILE, &libraries, &files);
    let target = directory.join("target");
    let package = directory.join("samples_kernels");
    let printed = on_emulator(&package, &target, &["test", "--tests"]);
    let passed = printed
        .lines()
        .find(|line| line.starts_with("test result: ok. 30 passed"));
    assert!(passed.is_some(), "{printed}");
}

/// Errors whose cause is outside of the program.
fn what_is_missing_is_named(directory: &Path) {
    // It depends on `cuda_std` alone, which is checked quickly.
    let (project, target) = (directory.join("kernels"), directory.join("target"));
    let empty = directory.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let nowhere = empty.join("backend.so");
    let without_all = [
        ("RUSTC_CODEGEN_NVVM", nowhere.to_str().unwrap()),
        ("CUDA_HOME", empty.to_str().unwrap()),
    ];
    for (backend, reason) in [
        (&nowhere, "does not exist"),
        (&empty, "is not a file"),
        (
            &project.join("Cargo.toml"),
            "is not a dynamic library by its name",
        ),
    ] {
        let backend = backend.to_str().unwrap();
        let environment = [("RUSTC_CODEGEN_NVVM", backend)];
        let printed = on_emulator_with(&project, &target, &["build"], &environment);
        let expected = format!(
            "error: RUSTC_CODEGEN_NVVM is set to `{backend}`, which {reason}\nhelp: set it to the path of"
        );
        assert!(printed.contains(&expected), "{printed}");
    }
    // Checks need neither backend nor libnvvm, not even for the libraries of procedural macros.
    let target = directory.join("unbuilt");
    let wrapper = directory.join("wrapper.sh");
    let log = directory.join("wrapped");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\nexec \"$@\"\n",
        log.display()
    );
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let with_wrapper = ("RUSTC_WRAPPER", wrapper.to_str().unwrap());
    let without_all = [&without_all[..], &[with_wrapper]].concat();
    for command in [&["check"][..], &["clippy"], &["doc", "--no-deps"]] {
        let printed = on_emulator_with(&project, &target, command, &without_all);
        assert!(
            printed.contains("Finished") && !printed.contains("error:"),
            "{command:?}: {printed}"
        );
    }
    // Another wrapper compiles the crates that have no kernels.
    let printed = on_emulator_with(&project, &target, &["build"], &[with_wrapper]);
    assert!(printed.contains("Finished"), "{printed}");
    let wrapped = std::fs::read_to_string(&log).unwrap();
    for part in [
        "--crate-name syn ",
        "--crate-name cust_core ",
        "-Zalways-encode-mir",
    ] {
        assert!(wrapped.contains(part), "`{part}` is not in {wrapped}");
    }
    let kernels = wrapped
        .lines()
        .filter(|line| line.contains("--crate-name kernels "));
    assert!(kernels.clone().count() > 0, "checks are wrapped: {wrapped}");
    assert!(
        kernels.clone().all(|line| !line.contains(",link ")),
        "{wrapped}"
    );
    assert!(!wrapped.contains("-Zcodegen-backend"), "{wrapped}");
    another_wrapper_is_an_error(directory, &wrapper, &target);
}

/// Plain cargo in a prepared package, with a wrapper in the environment that replaces `cargo-cuda`:
/// the kernels would have no device code.
fn another_wrapper_is_an_error(directory: &Path, wrapper: &Path, target: &Path) {
    let kernels = include_str!("programs/linked/kernels.rs");
    let config = std::fs::read_to_string(directory.join("hello/.cargo/config.toml")).unwrap();
    let files = [("src/lib.rs", kernels), (".cargo/config.toml", &config)];
    package(directory, "prepared", "", &["cuda_std"], &files);
    let toolchain = toolchain().unwrap();
    let build = |wrapper: &Path| {
        let output = Command::new(toolchain.cargo())
            .arg("build")
            .current_dir(directory.join("prepared"))
            .env("RUSTC", toolchain.rustc())
            .env("RUSTC_WRAPPER", wrapper)
            .env("CARGO_TARGET_DIR", target)
            .output();
        text(&output.unwrap())
    };
    let printed = build(wrapper);
    let expected = format!(
        "error: the kernels would have no device code: `RUSTC_WRAPPER` is `{}`",
        wrapper.display()
    );
    assert_eq!(printed.matches(&expected).count(), 1, "{printed}");
    // The same build with the wrapper of the configuration.
    let printed = build(Path::new(env!("CARGO_BIN_EXE_cargo-cuda")));
    assert!(printed.contains("Finished"), "{printed}");
    rust_analyzer_has_no_errors(directory, target, &toolchain);
}

/// rust-analyzer expands `#[kernel]` in the prepared package, without errors.
fn rust_analyzer_has_no_errors(directory: &Path, target: &Path, toolchain: &Toolchain) {
    let program = toolchain.root.join("bin/rust-analyzer");
    if !program.exists() {
        return test_outcome::skip("the toolchain has no rust-analyzer");
    }
    let wrapper = Path::new(env!("CARGO_BIN_EXE_cargo-cuda"));
    let mut path = wrapper.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let output = Command::new(program)
        .args(["diagnostics", "."])
        .current_dir(directory.join("prepared"))
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", target)
        .output();
    let printed = text(&output.unwrap());
    assert!(printed.contains("diagnostic scan complete"), "{printed}");
    // Inactive code is a weak warning.
    let is_error = |line: &&str| line.contains("crate prepared") && line.contains(" Error ");
    let errors: Vec<&str> = printed.lines().filter(is_error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// The programs of `examples/single_source`, in a copy of the package.
fn the_examples_run(directory: &Path) {
    let package = directory.join("single_source");
    let example = repository().join("examples/single_source");
    let programs = package.join("src/bin");
    std::fs::create_dir_all(&programs).unwrap();
    for entry in std::fs::read_dir(example.join("src/bin")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, programs.join(path.file_name().unwrap())).unwrap();
    }
    let manifest = std::fs::read_to_string(example.join("Cargo.toml")).unwrap();
    let crates = format!("{}/crates/", repository().display());
    let manifest = manifest.replace("../../crates/", &crates);
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();

    let cargo = |arguments: &[&str]| on_emulator(&package, &directory.join("target"), arguments);
    for name in ["gpu64", "vadd", "holk", "offload", "nvptx64_by_hand"] {
        let printed = cargo(&["run", "--bin", name]);
        // The line that each program prints after its checks.
        assert!(printed.starts_with(&format!("{name}: ")), "{printed}");
    }
    let images = ["mandelbrot", "mandelbrot_cpu"].map(|name| {
        let file = package.join(name).with_extension("png");
        let arguments = ["run", "--bin", name, "--", "--size", "64"];
        let printed = cargo(&[&arguments[..], &[file.to_str().unwrap()]].concat());
        assert!(printed.contains("drew 64 × 64 pixels"), "{printed}");
        std::fs::read(file).unwrap()
    });
    assert!(images[0] == images[1], "the images differ");
    // These compare 17 images pixel by pixel.
    let printed = cargo(&["test", "--bin", "mandelbrot"]);
    assert!(printed.contains("3 passed"), "{printed}");
}
