use std::io::{self, Write};

use clap::Command;
use clap_complete::Shell;

use super::{Answered, print};
use crate::exit::Exit;
use specum_core::agent;
use specum_engine::ops::{self, Caller};

/// Print the completions for a shell
///
/// For bash: specum completions bash > ~/.local/share/bash-completion/completions/specum
///
/// docs/install.md has the other shells.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    #[arg(required_unless_present = "names")]
    shell: Option<Shell>,
    /// Print names of this project, which the script of a shell asks for
    #[arg(long, hide = true, value_enum)]
    names: Option<Names>,
}

/// Names that a script completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Names {
    /// The specs of the project.
    Specs,
    /// The tasks of the active spec.
    Tasks,
    /// The agents.
    Agents,
}

impl Names {
    const ALL: [(Names, &'static str); 3] =
        [(Names::Specs, "specs"), (Names::Tasks, "tasks"), (Names::Agents, "agents")];

    /// What the value of an argument names, by the argument's id.
    fn of(id: &str) -> Option<Names> {
        match id {
            "spec" => Some(Names::Specs),
            "task" | "only" => Some(Names::Tasks),
            "agent" => Some(Names::Agents),
            _ => None,
        }
    }
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    if let Some(names) = args.names {
        return show(names, caller);
    }
    if let Some(shell) = args.shell {
        io::stdout().lock().write_all(script(shell).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// Prints names, one on a line. Where there are none, nobody wants to read why.
fn show(names: Names, caller: &Caller<'_>) -> Answered {
    let found = match names {
        Names::Specs => ops::list(caller)
            .map(|list| list.specs.into_iter().map(|spec| spec.name).collect())
            .unwrap_or_default(),
        Names::Tasks => ops::task_names(caller).unwrap_or_default(),
        Names::Agents => {
            agent::NAMES.into_iter().chain(["command", "script"]).map(str::to_owned).collect()
        }
    };
    found.iter().try_for_each(print)?;
    Ok(Exit::Done)
}

/// The script of a shell, with names of the project behind the words that take one.
fn script(shell: Shell) -> String {
    // clap_complete panics when it cannot write; a vector takes everything.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::definition(), "specum", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + &bash(&super::definition()),
        Shell::Fish => script + &fish(&super::definition()),
        Shell::Zsh => zsh(&script),
        _ => script,
    }
}

/// The verbs whose argument without a name is one of these.
fn verbs_with(definition: &Command, names: Names) -> Vec<&str> {
    let takes = |verb: &&Command| {
        verb.get_positionals().next().and_then(|first| Names::of(first.get_id().as_str()))
            == Some(names)
    };
    definition.get_subcommands().filter(takes).map(Command::get_name).collect()
}

/// Asks for names where the script of clap knows none.
fn bash(definition: &Command) -> String {
    let verbs = |names| verbs_with(definition, names).join("|");
    format!(
        "\n_specum_names() {{
    local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" names=\"\" is_value=1
    _specum \"$@\"
    case \"${{COMP_WORDS[COMP_CWORD-1]}}\" in
        --spec) names=specs ;;
        --only) names=tasks ;;
        --agent) names=agents ;;
        -*) return ;;
        *)
            is_value=\"\"
            case \"${{COMP_WORDS[1]}}\" in
                {}) names=specs ;;
                {}) names=tasks ;;
            esac
            ;;
    esac
    if [[ -n $is_value ]]; then COMPREPLY=(); fi
    if [[ -n $names && $cur != -* && $COMP_CWORD -gt 1 ]]; then
        names=\"$(specum completions --names \"$names\" 2>/dev/null)\"
        COMPREPLY+=($(compgen -W \"$names\" -- \"$cur\"))
    fi
}}
complete -F _specum_names -o bashdefault -o default specum\n",
        verbs(Names::Specs),
        verbs(Names::Tasks)
    )
}

/// The same for fish.
fn fish(definition: &Command) -> String {
    let mut script = String::new();
    for (names, word) in Names::ALL {
        for verb in verbs_with(definition, names) {
            script += &format!(
                "complete -c specum -n \"__fish_specum_using_subcommand {verb}\" -f -a \"(specum \
                 completions --names {word} 2>/dev/null)\"\n"
            );
        }
        for verb in definition.get_subcommands() {
            let options = verb.get_opts().filter(|option| {
                Names::of(option.get_id().as_str()) == Some(names) && option.get_long().is_some()
            });
            for option in options {
                script += &format!(
                    "complete -c specum -n \"__fish_specum_using_subcommand {}\" -l {} -x -a \
                     \"(specum completions --names {word} 2>/dev/null)\"\n",
                    verb.get_name(),
                    option.get_long().unwrap_or_default()
                );
            }
        }
    }
    script
}

/// The same for zsh, in place of the files that its script offers.
fn zsh(script: &str) -> String {
    let asks = |line: &str| {
        let word = line
            .trim_start_matches(['\'', ':'])
            .trim_start_matches("()--")
            .trim_start_matches("--");
        let id: String = word.chars().take_while(char::is_ascii_lowercase).collect();
        let names = Names::of(&id).filter(|_| line.starts_with('\''))?;
        let (_, word) = Names::ALL.into_iter().find(|(known, _)| *known == names)?;
        line.contains(":_default'")
            .then(|| line.replace(":_default'", &format!(":_specum_names {word}'")))
    };
    let lines = script.lines().map(|line| asks(line).unwrap_or_else(|| line.to_owned()) + "\n");
    let names = "_specum_names() {
    local -a names
    names=(${(f)\"$(specum completions --names ${@[-1]} 2>/dev/null)\"})
    compadd \"${@[1,-2]}\" -a names
}\n\n";
    let script: String = lines.collect();
    script.replacen("if [ \"$funcstack[1]\"", &format!("{names}if [ \"$funcstack[1]\""), 1)
}
