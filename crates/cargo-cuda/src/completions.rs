//! `cargo cuda completions`: scripts by which shells complete commands and options.

use anyhow::{Result, bail};
use std::ffi::OsString;
use std::process::ExitCode;

/// The command's help.
pub const HELP: &str = "\
Print a script that completes `cargo cuda` in a shell

Usage: cargo cuda completions bash|zsh|fish

  bash: cargo cuda completions bash > ~/.local/share/bash-completion/completions/cargo-cuda
        and `source` it in ~/.bashrc after cargo's own
  zsh:  cargo cuda completions zsh > DIR/_cargo-cuda, with DIR in $fpath
  fish: cargo cuda completions fish > ~/.config/fish/completions/cargo-cuda.fish
";

/// A command: its name, its purpose, and its own options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub purpose: &'static str,
    /// The options that its help lists.
    pub options: Vec<String>,
}

/// The options that a help text lists: the words with dashes at the start of indented lines.
pub fn options_of(help: &str) -> Vec<String> {
    let mut options = Vec::new();
    for line in help.lines().filter(|line| line.starts_with("  -")) {
        for part in line.trim_start().split(", ") {
            let word = part.split([' ', '=']).next().unwrap_or_default();
            let is_option = word.starts_with("--") && word.len() > 2;
            if is_option && !options.iter().any(|option| option == word) {
                options.push(word.to_owned());
            }
        }
    }
    options
}

/// Runs the command.
///
/// # Errors
///
/// Returns an error for an unknown shell or argument.
pub fn completions(arguments: Vec<OsString>, items: &[Item]) -> Result<ExitCode> {
    let shell = match &arguments[..] {
        [shell] => shell.to_string_lossy(),
        _ => bail!("expected one shell\nhelp: cargo cuda completions bash|zsh|fish"),
    };
    let script = match &*shell {
        "bash" => bash(items),
        "zsh" => zsh(items),
        "fish" => fish(items),
        other => bail!("unsupported shell `{other}`\nhelp: expected `bash`, `zsh` or `fish`"),
    };
    print!("{script}");
    Ok(ExitCode::SUCCESS)
}

fn names(items: &[Item]) -> String {
    let names: Vec<&str> = items.iter().map(|item| item.name).collect();
    names.join(" ")
}

/// cargo's own completion, if it is loaded, stays in effect for its other commands.
fn bash(items: &[Item]) -> String {
    let mut cases = String::new();
    for item in items.iter().filter(|item| !item.options.is_empty()) {
        cases.push_str(&format!(
            "        {}) words=\"{} --help\" ;;\n",
            item.name,
            item.options.join(" ")
        ));
    }
    format!(
        "_cargo_cuda() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} first=1 index command= words=
    if [[ ${{COMP_WORDS[0]##*/}} == cargo ]]; then
        if [[ ${{COMP_WORDS[1]}} != cuda || $COMP_CWORD -lt 2 ]]; then
            declare -F _cargo > /dev/null && _cargo \"$@\"
            return
        fi
        first=2
    fi
    for ((index = first; index < COMP_CWORD; index++)); do
        if [[ ${{COMP_WORDS[index]}} != -* ]]; then
            command=${{COMP_WORDS[index]}}
            break
        fi
    done
    case $command in
        '') words=\"--yes --help {}\" ;;
        completions) words='bash zsh fish' ;;
{cases}    esac
    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))
    if [[ -n $command && ${{#COMPREPLY[@]}} -eq 0 && $current != -* ]]; then
        COMPREPLY=($(compgen -f -- \"$current\"))
    fi
}}
complete -F _cargo_cuda cargo-cuda cargo
",
        names(items)
    )
}

/// cargo's completion calls `_cargo-NAME` for other commands.
fn zsh(items: &[Item]) -> String {
    let quoted = |text: &str| text.replace('\'', "'\\''").replace(':', "\\:");
    let mut commands = String::new();
    let mut cases = String::new();
    for item in items {
        commands.push_str(&format!(
            "        '{}:{}'\n",
            item.name,
            quoted(item.purpose)
        ));
        if !item.options.is_empty() {
            cases.push_str(&format!(
                "        {}) compadd -- {} --help; _files ;;\n",
                item.name,
                item.options.join(" ")
            ));
        }
    }
    format!(
        "#compdef cargo-cuda

_cargo-cuda() {{
    local -a commands
    commands=(
{commands}    )
    local index=2
    while (( index < CURRENT )) && [[ $words[index] == -* ]]; do
        (( index++ ))
    done
    if (( index >= CURRENT )); then
        compadd -- --yes --help
        _describe command commands
        return
    fi
    case $words[index] in
        completions) compadd -- bash zsh fish ;;
{cases}        *) _files ;;
    esac
}}

[[ $funcstack[1] == _cargo-cuda ]] && _cargo-cuda \"$@\"
"
    )
}

fn fish(items: &[Item]) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let all = names(items);
    let mut script = String::new();
    for (program, seen) in [
        ("cargo", "__fish_seen_subcommand_from cuda; and "),
        ("cargo-cuda", ""),
    ] {
        for item in items {
            script.push_str(&format!(
                "complete -c {program} -n '{seen}not __fish_seen_subcommand_from {all}' -f -a {} \
                 -d '{}'\n",
                item.name,
                quoted(item.purpose)
            ));
            let condition = format!("{seen}__fish_seen_subcommand_from {}", item.name);
            for option in &item.options {
                script.push_str(&format!(
                    "complete -c {program} -n '{condition}' -l {}\n",
                    option.trim_start_matches('-')
                ));
            }
        }
        script.push_str(&format!(
            "complete -c {program} -n '{seen}__fish_seen_subcommand_from completions' -f \
             -a 'bash zsh fish'\n"
        ));
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn items() -> Vec<Item> {
        let item = |name, options: &[&str]| Item {
            name,
            purpose: "It's a command: do",
            options: options.iter().map(|option| option.to_string()).collect(),
        };
        vec![
            item("list", &["--json"]),
            item("inspect", &["--ptx", "--sass"]),
            item("run", &[]),
        ]
    }

    #[test]
    fn options_come_from_the_help() {
        let help = "Usage: x [--not]\n\n  --json    Print --other\n  -p, --package NAME, --bin NAME, \
                    --lib, and others\n  --arch sm_90  Select\n";
        assert_eq!(
            options_of(help),
            ["--json", "--package", "--bin", "--lib", "--arch"]
        );
    }

    /// Runs the script in bash, and returns what it completes after some words.
    fn completed(words: &str) -> Option<String> {
        let script = format!(
            "{}\n_cargo() {{ COMPREPLY=(of-cargo); }}\n\
             COMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_cargo_cuda\n\
             echo \"${{COMPREPLY[*]}}\"\n",
            bash(&items())
        );
        let output = Command::new("bash").args(["-c", &script]).output().ok()?;
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    #[test]
    fn bash_completes() {
        for (words, expected) in [
            ("cargo cuda ''", "--yes --help list inspect run"),
            ("cargo cuda --yes i", "inspect"),
            ("cargo-cuda l", "list"),
            ("cargo cuda inspect --s", "--sass"),
            ("cargo cuda completions f", "fish"),
            ("cargo bu", "of-cargo"),
            ("cargo cuda", "of-cargo"),
        ] {
            match completed(words) {
                Some(found) => assert_eq!(found, expected, "{words}"),
                None => return test_outcome::skip("there is no bash"),
            }
        }
    }

    #[test]
    fn other_shells_accept_their_scripts() {
        for (shell, script) in [("zsh", zsh(&items())), ("fish", fish(&items()))] {
            assert!(
                script.contains("inspect") && script.contains("sass"),
                "{script}"
            );
            // `-n` reads the script without running it.
            match Command::new(shell).args(["-n", "-c", &script]).output() {
                Ok(output) => assert!(output.status.success(), "{output:?}"),
                Err(error) => test_outcome::skip(format!("{shell}: {error}")),
            }
        }
    }

    #[test]
    fn other_shells_are_errors() {
        assert!(completions(vec!["tcsh".into()], &items()).is_err());
        assert!(completions(Vec::new(), &items()).is_err());
    }
}
