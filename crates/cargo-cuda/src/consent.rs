//! Asks the user before fetching missing components.

use anyhow::{Result, bail};
use std::io::{IsTerminal, Write};

/// Whether and how to ask the user.
#[derive(Debug, Clone, Copy)]
pub struct Consent {
    /// `--yes` was passed.
    pub yes: bool,
    /// The command, for the error message.
    pub command: &'static str,
}

impl Consent {
    /// Asks whether to do `action`, such as `fetch libnvvm (70 MB)`. `--yes` and `CI` answer yes.
    ///
    /// # Errors
    ///
    /// Returns an error if the user declines, and without a terminal.
    pub fn ask(self, problem: &str, action: &str) -> Result<()> {
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        if self.yes || ci {
            return Ok(());
        }
        if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            eprint!("{problem}. {action}? [Y/n] ");
            std::io::stderr().flush()?;
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer)?;
            if matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes") {
                return Ok(());
            }
        }
        bail!(
            "{problem}\nhelp: `cargo cuda --yes {}` does this: {}",
            self.command,
            action
        )
    }
}
