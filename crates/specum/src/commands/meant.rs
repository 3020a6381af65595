//! Commands of other tools, and what does the same here.

/// What to type instead of a command that does not exist, if it is one that people look
/// for. What is merely misspelt is left to the argument parser.
pub(super) fn instead_of(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "init" | "create" | "setup" | "add" | "edit" => {
            "`specum plan \"what you want\"` has a plan written. Or write it yourself: \
             specs/<name>/tasks.md, a list of checkboxes. `specum help format` says how, and \
             a run takes up what you add"
        }
        "begin" | "go" | "work" | "exec" | "execute" | "build" | "apply" => {
            "`specum run` works a plan"
        }
        "continue" => "`specum run` goes on with a plan; `specum resume` with a paused one",
        "stop" | "kill" | "abort" | "quit" | "end" => {
            "`specum pause` lets a run wait, `specum cancel` ends it"
        }
        "watch" | "tail" | "follow" | "attach" | "logs" => "`specum log --follow` watches a run",
        "show" | "ls" | "specs" | "progress" | "info" => {
            "`specum status` shows a plan with its tasks, `specum list` all plans"
        }
        "revert" | "rollback" => {
            "`specum undo <task>` takes a task's commit back with a new one and opens its box"
        }
        "redo" | "again" | "rerun" => "`specum retry <task>` has a task done again",
        "ignore" | "omit" => "`specum skip <task>` leaves a task out",
        "changes" | "patch" => "`specum diff <task>` shows what a task changed",
        "use" | "select" | "checkout" => "`specum switch <spec>` makes a spec the active one",
        "validate" | "lint" | "verify" | "test" => "`specum check` looks for mistakes in a plan",
        "done" | "complete" => "`specum tick <task>` says that a task is done",
        "config" | "settings" => "settings stand in specum.yaml; docs/settings.md has its keys",
        "format" | "grammar" => "`specum help format` prints how a plan is written",
        "version" => "`specum --version` says it",
        _ => return None,
    })
}

/// The command whose letters were typed in another order: the argument parser suggests
/// nothing for so short a word.
pub(super) fn slip_of<'a>(verb: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    known.into_iter().find(|known| letters(known) == letters(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_exists_is_said_to_be_something_else() {
        let definition = crate::commands::definition();
        let known: Vec<&str> = definition.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(known.iter().find(|verb| instead_of(verb).is_some()), None);
        for verb in ["begin", "stop", "watch", "show", "settings", "use", "revert"] {
            assert!(instead_of(verb).is_some(), "{verb}");
        }
        assert_eq!(instead_of("rnu"), None, "a slip is no other tool's command");
        assert_eq!(slip_of("rnu", known.iter().copied()), Some("run"));
        assert_eq!(slip_of("ru", known), None);
    }
}
