//! Builds small GPU crates with the real backend, and checks the errors for invalid ones.
//!
//! The crates are written to cargo's directory for tests. Tests that need libnvvm or the pinned
//! toolchain are skipped without them.

use cuda_builder::{Arch, CudaBuilder, Emit, Error, Output};
use std::fs;
use std::path::{Path, PathBuf};

/// Device code with two kernels and no dependencies.
const KERNELS: &str = r#"#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// Multiplies and adds.
#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub unsafe fn multiply_add(out: *mut f32, a: f32, b: f32, c: f32) {
    unsafe { *out = a * b + c }
}
"#;

/// A GPU crate in a directory of its own.
struct Crate(PathBuf);

impl Crate {
    fn new(name: &str, source: &str) -> Crate {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("src")).unwrap();
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [features]\nlouder = []\n\n[workspace]\n"
        );
        fs::write(directory.join("Cargo.toml"), manifest).unwrap();
        let krate = Crate(directory);
        krate.write(source);
        krate
    }

    fn write(&self, source: &str) {
        fs::write(self.0.join("src/lib.rs"), source).unwrap();
    }

    /// Returns a builder. All tests share the compiled `core` and `alloc`.
    fn builder(&self) -> CudaBuilder {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
        CudaBuilder::new(&self.0)
            .target_dir(target)
            .arch(Arch::SM_90)
            .debug(false)
    }
}

/// Builds the crate; `None` if a prerequisite is missing.
fn build(builder: &CudaBuilder) -> Option<Result<Output, Error>> {
    match builder.build() {
        Err(
            error @ (Error::NoRustup(_)
            | Error::NoToolchain
            | Error::NoComponent(_)
            | Error::NoToolkit { .. }),
        ) => {
            test_outcome::skip(error);
            None
        }
        result => Some(result),
    }
}

#[test]
fn a_crate_is_built_and_built_again_only_if_it_changed() {
    let krate = Crate::new("built-twice", KERNELS);
    let copy = krate.0.join("out/kernels.ptx");
    let builder = krate.builder().copy_to(&copy);
    let Some(output) = build(&builder) else {
        return;
    };
    let output = output.unwrap();
    assert_eq!(output.ptx.len(), 1);
    assert_eq!(output.ptx[0].copy.as_deref(), Some(copy.as_path()));
    let ptx = fs::read_to_string(&copy).unwrap();
    assert!(ptx.contains(".visible .entry multiply_add("), "{ptx}");
    assert!(ptx.contains(".target sm_90"), "{ptx}");

    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = time(&copy);
    builder.build().unwrap();
    assert_eq!(time(&copy), before);

    krate.write(&KERNELS.replace("multiply_add", "another_name"));
    builder.build().unwrap();
    assert!(
        fs::read_to_string(&copy)
            .unwrap()
            .contains(".visible .entry another_name(")
    );
}

/// The number of kernels that is enough for several parts.
const KERNELS_OF_PARTS: usize = 40;

/// Kernels whose indices are checked.
fn many_kernels(factor: usize) -> String {
    let mut source = String::from("#![no_std]\nuse cuda_std::prelude::*;\n");
    for number in 0..KERNELS_OF_PARTS {
        let factor = if number == 7 { factor } else { number };
        source += &format!(
            "/// Adds the elements of some rows.\n#[kernel]\n\
             pub fn sum_{number}(rows: &[f32], width: u32, mut sums: PerThread<f32>) {{\n\
             for (i, sum) in sums.own() {{\n\
             let row = rows.chunks(width as usize).skip(i).step_by({number} + 1);\n\
             *sum = row.zip(rows.windows(3)).map(|(row, w)| row[i] * w[2]).sum::<f32>();\n\
             *sum *= {factor} as f32 + rows[i / 3];\n}}\n}}\n"
        );
    }
    source
}

/// The backend compiles the kernels in parts, in parallel, and only those that changed when it
/// compiles again. They share the function that reports a panic.
#[test]
fn kernels_are_compiled_in_parts() {
    let krate = Crate::new("parts", &many_kernels(1));
    let manifest = krate.0.join("Cargo.toml");
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda_std");
    let mut text = fs::read_to_string(&manifest).unwrap();
    text += &format!("\n[dependencies]\ncuda_std = {{ path = {cuda_std:?} }}\n");
    fs::write(&manifest, text).unwrap();
    let stages = krate.0.join("stages");
    let builder = krate.builder();
    let Some(output) = build(&builder.clone().dump(&stages)) else {
        return;
    };
    output.unwrap();
    for part in 0..2 {
        assert!(stages.join(format!("parts.{part}.written.ll")).exists());
    }
    assert!(!stages.join("parts.written.ll").exists());

    let entries = |ptx: &str| {
        let is_there = |number: &usize| ptx.contains(&format!(".entry sum_{number}("));
        (0..KERNELS_OF_PARTS).filter(is_there).count()
    };
    let reports = |ptx: &str| ptx.matches(".func __cuda_std_report_failure").count();
    let first = build(&builder).unwrap().unwrap();
    let first = fs::read_to_string(&first.ptx[0].path).unwrap();
    assert_eq!(entries(&first), KERNELS_OF_PARTS);
    krate.write(&many_kernels(1000));
    let second = build(&builder).unwrap().unwrap();
    let second = fs::read_to_string(&second.ptx[0].path).unwrap();
    assert_eq!(
        (entries(&second), reports(&second)),
        (KERNELS_OF_PARTS, reports(&first))
    );
    assert_ne!(first, second);
    // The last line of the kept PTX begins with the number of updates.
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
    let kept: Vec<String> = files_in(&directory)
        .into_iter()
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("parts") && name.ends_with(".nvvm-cache")
        })
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let last: Vec<&str> = kept.iter().filter_map(|text| text.lines().last()).collect();
    assert!(last.iter().any(|line| line.starts_with("1 ")), "{last:?}");
}

/// Returns all files in a directory and its subdirectories.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files.extend(files_in(&path)),
            false => files.push(path),
        }
    }
    files
}

#[test]
fn options_reach_the_backend_and_the_crate() {
    let source = format!(
        "{KERNELS}\n#[cfg(feature = \"louder\")]\n#[unsafe(no_mangle)]\n\
         #[unsafe(link_section = \"nvvm.kernel\")]\npub fn only_louder() {{}}\n"
    );
    let krate = Crate::new("options", &source);
    let builder = krate.builder();
    let Some(output) = build(&builder) else {
        return;
    };
    let read = |output: Output| fs::read_to_string(&output.ptx[0].path).unwrap();
    let contracted = read(output.unwrap());
    assert!(contracted.contains("fma.rn.f32"), "{contracted}");
    assert!(!contracted.contains("only_louder"));
    let separate = read(builder.clone().fma_contraction(false).build().unwrap());
    assert!(!separate.contains("fma.rn.f32"), "{separate}");
    assert!(separate.contains("mul.rn.f32"), "{separate}");
    let flushed = read(builder.clone().ftz(true).build().unwrap());
    assert!(flushed.contains(".ftz.f32"), "{flushed}");
    let louder = read(builder.features(["louder"]).build().unwrap());
    assert!(louder.contains(".visible .entry only_louder("), "{louder}");
}

#[test]
fn several_architectures_and_a_fat_binary() {
    let krate = Crate::new("several", KERNELS);
    let copy = krate.0.join("out/kernels.ptx");
    let builder = krate
        .builder()
        .arch("compute_80")
        .emit(Emit::Fatbin)
        .copy_to(&copy);
    let Some(output) = build(&builder) else {
        return;
    };
    let output = output.unwrap();
    let archs: Vec<Arch> = output.ptx.iter().map(|artifact| artifact.arch).collect();
    assert_eq!(archs, [Arch::SM_80, Arch::SM_90]);
    let start = |name: &str| fs::read(krate.0.join("out").join(name)).unwrap()[..4].to_vec();
    for name in ["kernels.sm_80.ptx", "kernels.sm_90.ptx"] {
        assert_ne!(start(name), b"\x7fELF");
    }
    for name in ["kernels.sm_80.cubin", "kernels.sm_90.cubin"] {
        assert_eq!(start(name), b"\x7fELF");
    }
    assert_eq!(start("kernels.fatbin"), [0x50, 0xed, 0x55, 0xba]);
}

#[test]
fn a_crate_that_uses_std() {
    let krate = Crate::new(
        "uses-std",
        "pub fn f() -> std::time::Instant { std::time::Instant::now() }\n",
    );
    let Some(result) = build(&krate.builder()) else {
        return;
    };
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("The standard library does not exist on a GPU"),
        "{text}"
    );
    assert!(text.contains("#![no_std]"), "{text}");
}

#[test]
fn a_crate_that_does_not_compile() {
    let krate = Crate::new(
        "broken",
        &format!("{KERNELS}\nfn f() -> u32 {{ \"one\" }}\n"),
    );
    let Some(result) = build(&krate.builder()) else {
        return;
    };
    let error = result.unwrap_err();
    let Error::Compile { errors, arch, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*arch, Arch::SM_90);
    assert_eq!(errors[0].code.as_deref(), Some("E0308"));
    // As rendered by rustc, with the location and the source line.
    assert!(
        errors[0].rendered.contains("src/lib.rs:"),
        "{}",
        errors[0].rendered
    );
    assert!(
        errors[0].rendered.contains("fn f() -> u32 { \"one\" }"),
        "{}",
        errors[0].rendered
    );
    let text = format!("{error:?}");
    assert!(
        text.contains("does not build for sm_90; its errors are above"),
        "{text}"
    );
}

#[test]
fn an_architecture_that_nobody_knows() {
    let krate = Crate::new("arch", KERNELS);
    let error = krate.builder().arch("sm_91").build().unwrap_err();
    assert!(matches!(error, Error::UnknownArch(_)));
    let text = error.to_string();
    assert!(
        text.starts_with("unknown GPU architecture `sm_91`; known are sm_50"),
        "{text}"
    );
}

#[test]
fn a_directory_without_a_crate() {
    let error = CudaBuilder::new("nonexistent/kernels").build().unwrap_err();
    assert!(matches!(error, Error::NoCrate(_)));
    assert_eq!(
        error.to_string(),
        "no Cargo.toml in `nonexistent/kernels`, the directory passed to CudaBuilder::new"
    );
}
