//! Writes the images to `OUT_DIR`, with a file for `cust::include_module!`.

use crate::output::copy_if_different;
use crate::{Artifact, Error, Output};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Copies the PTX and the cubins to `OUT_DIR/NAME.*`, and writes `OUT_DIR/NAME.module.rs`: an
/// expression with the packages that the images were built from, the images, and the signatures of
/// kernels and statics for each architecture.
pub(crate) fn embed(name: &str, output: &Output, packages: &BTreeSet<String>) -> Result<(), Error> {
    let out_dir = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let missing = || io::Error::new(io::ErrorKind::NotFound, "it is set only in build scripts");
    let out_dir = out_dir.ok_or_else(missing);
    let out_dir = out_dir.map_err(Error::io("read the variable OUT_DIR"))?;
    for (artifacts, extension) in [(&output.ptx, "ptx"), (&output.cubins, "cubin")] {
        for artifact in artifacts {
            let to = out_dir.join(file_name(name, artifact, extension));
            copy_if_different(&artifact.path, &to)?;
        }
    }
    let mut signatures = Vec::new();
    for artifact in &output.ptx {
        let path = &artifact.path;
        let ptx = fs::read_to_string(path);
        let ptx = ptx.map_err(Error::io(format!("read `{}`", path.display())))?;
        signatures.push((artifact.arch.sm(), ptx));
    }
    let text = expression(name, output, packages, &signatures);
    let path = out_dir.join(format!("{name}.module.rs"));
    write_if_different(&path, &text)
}

fn file_name(name: &str, artifact: &Artifact, extension: &str) -> String {
    format!("{name}.{}.{extension}", artifact.arch.sm())
}

fn expression(
    name: &str,
    output: &Output,
    packages: &BTreeSet<String>,
    ptx: &[(String, String)],
) -> String {
    // `macros` is a module of `cust`, so that macros of the program cannot shadow these.
    let mut text = "// Written by `cuda_builder`.\n(\n    &[\n".to_owned();
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("writing to a string succeeds");
    };
    for package in packages {
        line(format_args!("        {package:?},"));
    }
    line(format_args!("    ],\n    &["));
    let forms = [
        (&output.ptx, "ptx", "Ptx(macros::include_str!"),
        (&output.cubins, "cubin", "Cubin(macros::include_bytes!"),
    ];
    for (artifacts, extension, include) in forms {
        for artifact in artifacts {
            let (arch, file) = (artifact.arch.sm(), file_name(name, artifact, extension));
            line(format_args!(
                "        ({arch:?}, Image::{include}(macros::concat!(macros::env!(\"OUT_DIR\"), {:?})))),",
                format!("/{file}")
            ));
        }
    }
    line(format_args!("    ],\n    &["));
    for (arch, ptx) in ptx {
        line(format_args!("        ({arch:?}, &["));
        for (name, signature) in ptx::signatures(ptx) {
            line(format_args!("            ({name:?}, {signature}),"));
        }
        line(format_args!("        ]),"));
    }
    line(format_args!("    ],\n)"));
    text
}

/// As [`copy_if_different`], for a string.
fn write_if_different(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|present| present == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).map_err(Error::io(format!("write `{}`", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    #[test]
    fn the_expression_names_packages_and_files() {
        let artifact = |arch, path: &str| Artifact {
            arch,
            path: PathBuf::from(path),
            copy: None,
        };
        let output = Output {
            ptx: vec![artifact(Arch::SM_75, "a.ptx")],
            cubins: vec![artifact(Arch::SM_90A, "b.cubin")],
            fatbin: None,
            backend: PathBuf::new(),
        };
        let packages = ["kernels".to_owned()].into_iter().collect();
        let ptx = "// cuda_std.signature f \"fn f of kernels 0.1.0 ()\"\n";
        let ptx = [("sm_75".to_owned(), ptx.to_owned())];
        let text = expression("k", &output, &packages, &ptx);
        let expected = r#"// Written by `cuda_builder`.
(
    &[
        "kernels",
    ],
    &[
        ("sm_75", Image::Ptx(macros::include_str!(macros::concat!(macros::env!("OUT_DIR"), "/k.sm_75.ptx")))),
        ("sm_90a", Image::Cubin(macros::include_bytes!(macros::concat!(macros::env!("OUT_DIR"), "/k.sm_90a.cubin")))),
    ],
    &[
        ("sm_75", &[
            ("f", "fn f of kernels 0.1.0 ()"),
        ]),
    ],
)
"#;
        assert_eq!(text, expected);
    }
}
