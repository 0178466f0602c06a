//! `cargo cuda list`: the kernels and statics that programs carry.

use crate::artifacts::{self, Project};
use crate::command::Session;
use crate::device_code::{self, Description};
use crate::images::{self, Image};
use crate::options::{self, Argument, Selection};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command's help.
pub const HELP: &str = "\
List the kernels and statics that programs carry

Usage: cargo cuda list [FILE…] [--json]

Each FILE is a program, a shared or static library, PTX, a cubin or a fat binary. Without FILE, the
command builds the package as `cargo build` does and lists its programs and libraries.

  --json    Print JSON
";

/// Runs the command.
///
/// # Errors
///
/// Returns an error for wrong arguments, or if the build fails.
pub fn list(session: &Session, arguments: Vec<OsString>) -> Result<ExitCode> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut selection = Selection::default();
    let (mut files, mut json) = (Vec::new(), false);
    while let Some(argument) = options::next(&mut parser)? {
        match &argument {
            Argument::Option(option) if option == "--json" => json = true,
            Argument::Value(file) => files.push(PathBuf::from(file)),
            _ if selection.take(&argument, &mut parser)? => {}
            _ => return options::unexpected("list", &argument),
        }
    }
    let found = if files.is_empty() {
        let project = Project::find(session, &selection)?;
        let options = artifacts::Options::default();
        let built = artifacts::build(session, &project, &selection, &options)?;
        built.device_code(false)?
    } else {
        let read = |file: PathBuf| Ok((file.clone(), images::read(&file)?));
        files.into_iter().map(read).collect::<Result<Vec<_>>>()?
    };
    let mut described = Vec::new();
    for (file, images) in found {
        let modules = describe(&images)
            .with_context(|| format!("cannot read the device code in `{}`", file.display()))?;
        described.push((file, modules));
    }
    if described.iter().all(|(_, modules)| modules.is_empty()) {
        bail!(
            "no device code was found\n\
             help: a program has it if it launches a kernel beside host code, or embeds a module \
             with `cust::include_module!`"
        );
    }
    match json {
        true => {
            let files: Vec<Value> = (described.iter())
                .map(|(file, modules)| {
                    let modules: Vec<Value> = modules.iter().map(Description::to_json).collect();
                    json!({ "file": file, "modules": modules })
                })
                .collect();
            println!("{:#}", Value::from(files));
        }
        false => {
            for (file, modules) in &described {
                println!("{}", file.display());
                print!("{}", text(modules));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The modules with kernels or statics. Others are the libraries' own.
fn describe(images: &[Image]) -> Result<Vec<Description>> {
    let mut modules = images
        .iter()
        .map(device_code::describe)
        .collect::<Result<Vec<_>>>()?;
    modules.retain(|module| !module.kernels.is_empty() || !module.statics.is_empty());
    Ok(modules)
}

/// A location relative to the current directory, if it is below.
fn relative(location: &str) -> String {
    let directory = std::env::current_dir().ok();
    let below = directory.and_then(|directory| {
        let rest = location.strip_prefix(directory.to_str()?)?;
        rest.strip_prefix(std::path::MAIN_SEPARATOR)
    });
    below.unwrap_or(location).to_owned()
}

/// The modules as text. Images that have the same kernels and statics are one module.
fn text(modules: &[Description]) -> String {
    let symbols = |module: &Description| -> BTreeSet<String> {
        let kernels = module.kernels.iter().map(|kernel| &kernel.symbol);
        let statics = module.statics.iter().map(|it| &it.symbol);
        kernels.chain(statics).cloned().collect()
    };
    let mut groups: Vec<(BTreeSet<String>, Vec<&Description>)> = Vec::new();
    for module in modules {
        let symbols = symbols(module);
        match groups.iter_mut().find(|(other, _)| *other == symbols) {
            Some((_, group)) => group.push(module),
            None => groups.push((symbols, vec![module])),
        }
    }
    let mut text = String::new();
    for (_, group) in groups {
        // PTX has more to say than machine code.
        let module = (group.iter())
            .find(|module| module.form == "PTX")
            .unwrap_or(&group[0]);
        let packages: Vec<&str> = module.packages.iter().map(String::as_str).collect();
        let name = match packages.is_empty() {
            true => "module".to_owned(),
            false => packages.join(", "),
        };
        let images: Vec<String> = (group.iter())
            .map(|module| format!("{} {}", module.form, module.arch))
            .collect();
        text.push_str(&format!("  {name}: {}\n", images.join(", ")));
        for kernel in &module.kernels {
            let parameters = kernel.parameters.join(", ");
            text.push_str(&format!("    kernel {}({parameters})\n", kernel.name));
            let mut facts = vec![kernel.bounds.to_string()];
            match (kernel.shared, kernel.dynamic_shared) {
                (0, false) => {}
                (0, true) => facts.push("dynamic shared memory".to_owned()),
                (bytes, false) => facts.push(format!("{bytes} bytes of shared memory")),
                (bytes, true) => {
                    facts.push(format!("{bytes} bytes of static and dynamic shared memory"));
                }
            }
            facts.extend(kernel.location.as_deref().map(relative));
            text.push_str(&format!("      {}\n", facts.join("; ")));
        }
        for it in &module.statics {
            let ty = it.ty.as_ref().map_or(String::new(), |ty| format!(": {ty}"));
            let space = match it.space {
                "const" => "constant",
                space => space,
            };
            text.push_str(&format!(
                "    static {}{ty}\n      {} bytes of {space} memory\n",
                it.name, it.size
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_of_one_module_are_joined() {
        let ptx = |arch: &str, name: &str| {
            Image::Ptx(format!(
                ".version 8.0\n.target {arch}\n.address_size 64\n\
                 .extern .shared .b8 d[];\n.visible .const .b8 F[16];\n\
                 .visible .entry {name}(.param .u64 p)\n{{\nst.shared.u8 [d], 1;\nret;\n}}\n"
            ))
        };
        let images = [ptx("sm_75", "a"), ptx("sm_90", "a"), ptx("sm_75", "b")];
        let expected = "  module: PTX sm_75, PTX sm_90\n    kernel a(.u64)\n      \
                        blocks of any size; dynamic shared memory\n    static F\n      \
                        16 bytes of constant memory\n  module: PTX sm_75\n    kernel b(.u64)\n      \
                        blocks of any size; dynamic shared memory\n    static F\n      \
                        16 bytes of constant memory\n";
        assert_eq!(text(&describe(&images).unwrap()), expected);
    }
}
