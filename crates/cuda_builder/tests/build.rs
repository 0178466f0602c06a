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
