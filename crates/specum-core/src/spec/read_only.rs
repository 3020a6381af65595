//! Whether a command is proved to change nothing and to stay in the project.
//!
//! The proof is strict: what is not understood is not proved. A command passes if its
//! text is a list of simple commands that are all known to read, with no word that the
//! shell would turn into something else, no path that leads out of the project, and no
//! redirection but to `/dev/null`. Nothing else may be run while a plan is being
//! written inside a person's session.
//!
//! `sh` is taken to find the standard programs under the names in `programs`. A
//! symbolic link inside the project may lead a reader elsewhere; what is read goes to
//! nobody.

mod programs;
mod syntax;
#[cfg(test)]
mod tests;

use crate::line;
use crate::tasks::{Command, Shell};

pub use self::programs::is_reader;

/// Why a command is not proved to read only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproved {
    /// The shell's language is larger than what is understood here.
    #[error("`{0}` is more than a list of simple commands")]
    Syntax(String),
    /// A program that may change something, or is not known.
    #[error("`{0}` is not known to read only")]
    Program(String),
    /// A known program with an argument that may change something, or is not known.
    #[error("`{0}` is not known to read only with `{1}`")]
    Argument(String, String),
    /// A path that leads out of the project.
    #[error("`{0}` leads out of the project")]
    Outside(String),
}

/// The longest command that is looked at.
const LONGEST: usize = 16 * 1024;

/// Proves that a command of a check reads only, or says why that cannot be proved.
pub fn prove(command: &Command) -> Result<(), Unproved> {
    if command.shell == Shell::BashBlock {
        return Err(Unproved::Syntax("bash".into()));
    }
    prove_text(&command.text)
}

/// The same of what `sh` is given.
pub fn prove_text(text: &[u8]) -> Result<(), Unproved> {
    let odd = || Unproved::Syntax(line::head(&line::readable(text), 60).to_owned());
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST);
    let calls = text.and_then(syntax::calls).ok_or_else(odd)?;
    if calls.is_empty() {
        return Err(odd());
    }
    calls.iter().try_for_each(programs::prove)
}
