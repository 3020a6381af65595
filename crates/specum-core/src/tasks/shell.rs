//! As much of the shell's grammar as it takes to say what a command starts,
//! whether it can fail, and which files it runs.
//!
//! Nothing is run by what is understood here. What is not understood (a here-document,
//! a function, the inside of a group or a loop) is a command that can fail and starts
//! something unknown.

mod words;

use self::words::{ENDS, Join, KEYWORDS, Part, is_assignment, outline, parts};
use crate::line;

/// What a shell knows without looking for a file.
const BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "cd", "command", "continue", "echo", "eval", "exec",
    "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "local", "printf", "pwd",
    "read", "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type",
    "ulimit", "umask", "unalias", "unset", "wait",
];
/// The same, in bash only.
const BASH_BUILTINS: &[&str] = &[
    "[[",
    "builtin",
    "declare",
    "let",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "shopt",
    "source",
];
/// Never fail, whatever they are given.
const NEVER_FAIL: &[&str] = &["true", ":", "echo", "printf"];
/// Do not fail at the end of a pipe, whatever has failed before it.
const FILTERS: &[&str] = &[
    "awk", "base64", "cat", "column", "cut", "fmt", "fold", "gawk", "head", "hexdump", "less",
    "more", "nl", "od", "paste", "rev", "sed", "sort", "tac", "tail", "tee", "tr", "ts", "uniq",
    "wc", "xxd",
];
/// Print what they are asked for, so that a number behind them is what they print.
const PRINTERS: &[&str] = &[
    "awk", "bc", "cat", "cut", "date", "echo", "expr", "gawk", "head", "jq", "mysql", "nproc",
    "printf", "psql", "sed", "seq", "sort", "sqlite3", "stat", "tail", "tr", "uniq", "wc", "yq",
];
/// Look at the files they are given, and do not run them.
const READERS: &[&str] = &[
    "[",
    "[[",
    "awk",
    "cat",
    "cd",
    "cp",
    "cut",
    "echo",
    "egrep",
    "fgrep",
    "file",
    "find",
    "gawk",
    "git",
    "grep",
    "head",
    "jq",
    "ls",
    "mkdir",
    "mv",
    "printf",
    "rg",
    "rm",
    "sed",
    "sha256sum",
    "sort",
    "stat",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "uniq",
    "wc",
    "yq",
];

/// What a command begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum First {
    /// A program, by the word that names it.
    Program(String),
    /// What the shell knows itself.
    Builtin,
    /// An assignment and nothing else.
    Assignment,
    /// Something that nobody can tell before it runs.
    Unknown,
}

/// What a command begins with. `!` and assignments are passed over.
pub(super) fn first(command: &[u8]) -> First {
    match parts(command).as_deref() {
        Some([part, ..]) => part.first(),
        Some([]) => First::Unknown,
        None => first_word(command),
    }
}

/// The first word of a command that is not understood as a whole.
fn first_word(command: &[u8]) -> First {
    let text = line::readable(command);
    let lines = text.lines().map(str::trim);
    let mut words = lines
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .skip_while(|word| *word == "!" || is_assignment(word));
    match words.next() {
        Some(word) if KEYWORDS.contains(&word) => First::Builtin,
        Some(word) if word.contains(['$', '`', '(', ')', '"', '\'', '<', '>', '|', ';', '&']) => {
            First::Unknown
        }
        Some(word) => named(word),
        None => First::Unknown,
    }
}

fn named(word: &str) -> First {
    if word.contains(['$', '`', '*', '?', '~']) {
        First::Unknown
    } else if BUILTINS.contains(&word) || BASH_BUILTINS.contains(&word) {
        First::Builtin
    } else {
        First::Program(word.to_owned())
    }
}

/// The programs that a command cannot do without. Those of a list with `||` may
/// be missing, and whatever stands behind a changed environment is unknown.
pub(super) fn programs(command: &[u8]) -> Vec<String> {
    let Some(parts) = parts(command) else {
        return match first_word(command) {
            First::Program(name) => vec![name],
            _ => Vec::new(),
        };
    };
    if parts.iter().any(|part| part.then == Join::Or) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut moved = false;
    for part in &parts {
        match part.program() {
            "." | "source" | "eval" | "export" | "alias" | "hash" => break,
            "cd" | "pushd" => moved = true,
            name => {
                if part.first() == First::Program(name.to_owned()) && !(moved && name.contains('/'))
                {
                    found.push(name.to_owned());
                }
            }
        }
        if part.words.is_empty() {
            // An assignment alone may be one to PATH.
            break;
        }
    }
    found
}

/// The simple commands of a list, each as its words; `None` if it is more than a list.
pub(super) fn calls(command: &[u8]) -> Option<Vec<Vec<String>>> {
    Some(parts(command)?.into_iter().map(|part| part.words).collect())
}

/// A word that only bash knows, in a command that `sh` runs.
pub(super) fn bash_word(command: &[u8]) -> Option<String> {
    let parts = parts(command)?;
    let is_bash = |part: &Part| BASH_BUILTINS.contains(&part.program());
    parts.iter().find(|part| is_bash(part)).map(|part| part.program().to_owned())
}

/// Whether a command prints what is asked for, as `grep -c` and `wc -l` do.
pub(super) fn prints_a_number(command: &[u8]) -> bool {
    let Some(parts) = parts(command) else { return false };
    // `grep -c x f || true` prints what `grep` does.
    let prints = |part: &&Part| !matches!(part.program(), "" | "true" | ":");
    let Some(last) = parts.iter().rev().find(prints) else { return false };
    let has = |flag: &str| last.words.iter().any(|word| word == flag);
    // `-c`, also among others as in `-rc`.
    let counts = |part: &Part| {
        let is_flag = |word: &String| word.starts_with('-') && !word.starts_with("--");
        has("--count") || part.words.iter().any(|word| is_flag(word) && word.contains('c'))
    };
    match last.program() {
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "zgrep" => counts(last),
        "python" | "python3" => has("-c"),
        "node" | "ruby" | "perl" | "bun" | "deno" => has("-e") || has("-p") || has("-pe"),
        "php" => has("-r"),
        "curl" => has("-w") || has("-s") || has("--write-out"),
        name => PRINTERS.contains(&name) || has("--count"),
    }
}

/// The part of a command that keeps it from ever failing, if there is one:
/// `tee log` at the end of a pipe, `true` behind `||`.
///
/// `stops` says whether the command ends at its first failing line.
pub(super) fn never_fails(command: &[u8], stops: bool) -> Option<String> {
    let parts = outline(command)?;
    if parts.is_empty() || parts.iter().any(|part| ENDS.contains(&part.program())) {
        return None;
    }
    let statements = statements(&parts);
    let last = statements.last()?;
    let stoppable = |statement: &Statement<'_>| stops && statement.stops_the_block();
    if last.can_fail() || statements.iter().any(stoppable) {
        return None;
    }
    last.last_part().map(|part| part.words.join(" "))
}

/// The lines of a block that stops at its first failing line which do not stop
/// it when they fail: `! grep …` and `test … && echo …`.
pub(super) fn lines_that_do_not_stop(command: &[u8]) -> Vec<String> {
    let Some(parts) = outline(command) else { return Vec::new() };
    let statements = statements(&parts);
    let Some((_, before)) = statements.split_last() else { return Vec::new() };
    let unheard =
        |statement: &&Statement<'_>| statement.hides_a_failure() && !statement.stops_the_block();
    before.iter().filter(unheard).map(Statement::text).collect()
}

/// The pipes of a block that go on although something in front of their last part
/// may have failed: `npm test | tee log`.
pub(super) fn pipes_that_go_on(command: &[u8]) -> Vec<String> {
    let Some(parts) = outline(command) else { return Vec::new() };
    let hides = |pipeline: &&[Part]| match pipeline.split_last() {
        Some((_, before)) => !can_fail(pipeline) && before.iter().any(|part| part.can_fail(false)),
        None => false,
    };
    let statements = statements(&parts);
    let pipelines = statements.iter().flat_map(|statement| statement.pipelines.iter().copied());
    let text = |pipeline: &[Part]| {
        let parts: Vec<String> = pipeline.iter().map(|part| part.words.join(" ")).collect();
        parts.join(" | ")
    };
    pipelines.filter(hides).map(text).collect()
}

/// The words of a command that may name files which it runs, below the folder
/// it changes to.
pub(super) fn files_it_runs(command: &[u8]) -> Vec<String> {
    let Some(parts) = parts(command) else {
        let text = line::readable(command);
        let words = text.split(|c: char| c.is_whitespace() || "'\"`;|&()<>=".contains(c));
        return words.filter(|word| !word.is_empty()).map(path_in).collect();
    };
    let mut files = Vec::new();
    let mut folder = String::new();
    for part in &parts {
        let program = part.program();
        if program == "cd"
            && let Some(to) = part.words.get(1)
        {
            folder = format!("{folder}{}/", path_in(to).trim_end_matches('/'));
            continue;
        }
        if READERS.contains(&program) {
            continue;
        }
        let well_known: &[&str] = match program {
            "make" | "gmake" => &["Makefile", "makefile", "GNUmakefile"],
            "npm" | "pnpm" | "yarn" | "bun" | "npx" => &["package.json"],
            "just" => &["justfile", "Justfile"],
            _ => &[],
        };
        let words = part.words.iter().flat_map(|word| word.split('='));
        let named = words.chain(well_known.iter().copied());
        files.extend(named.map(|word| format!("{folder}{}", path_in(word))));
    }
    files
}

/// A word as a path: without `./` in front and a test's name behind.
fn path_in(word: &str) -> String {
    let path = word.split("::").next().unwrap_or(word);
    path.trim_start_matches("./").to_owned()
}

impl Part {
    fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn first(&self) -> First {
        match self.words.first() {
            Some(word) => named(word),
            None => First::Assignment,
        }
    }

    fn can_fail(&self, piped: bool) -> bool {
        if self.negated {
            return true;
        }
        match self.program() {
            "" => self.substitutes,
            name if NEVER_FAIL.contains(&name) => false,
            "awk" | "gawk" | "sed" if self.words.iter().any(|word| ends_with_a_code(word)) => true,
            name => !(piped && FILTERS.contains(&name)),
        }
    }
}

/// Whether a program of awk or sed sets its exit code.
fn ends_with_a_code(program: &str) -> bool {
    let quits = |pair: &[u8]| matches!(pair, [b'q' | b'Q', b'0'..=b'9']);
    program.contains("exit") || program.as_bytes().windows(2).any(quits)
}

/// Pipelines between `&&` and `||`.
struct Statement<'a> {
    pipelines: Vec<&'a [Part]>,
}

impl<'a> Statement<'a> {
    fn last_part(&self) -> Option<&'a Part> {
        self.pipelines.last().and_then(|pipeline| pipeline.last())
    }

    fn is_background(&self) -> bool {
        self.last_part().is_some_and(|part| part.then == Join::Background)
    }

    /// Whether its status can be other than 0.
    fn can_fail(&self) -> bool {
        let mut fails = false;
        let mut before = Join::And;
        for pipeline in &self.pipelines {
            let this = can_fail(pipeline);
            fails = if before == Join::Or { fails && this } else { fails || this };
            before = pipeline.last().map_or(Join::End, |part| part.then);
        }
        fails && !self.is_background()
    }

    /// Whether `sh -e` ends when it fails: it does for its last pipeline alone,
    /// unless that is negated.
    fn stops_the_block(&self) -> bool {
        let last = self.pipelines.last();
        !self.is_background()
            && last.is_some_and(|pipeline| !pipeline[0].negated && can_fail(pipeline))
    }

    /// Whether it can fail without `sh -e` taking notice.
    fn hides_a_failure(&self) -> bool {
        self.can_fail() && !self.pipelines.iter().any(|p| p.iter().any(|q| q.then == Join::Or))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for part in self.pipelines.iter().copied().flatten() {
            text.push_str(if part.negated { "! " } else { "" });
            text.push_str(&part.words.join(" "));
            text.push_str(match part.then {
                Join::And => " && ",
                Join::Or => " || ",
                Join::Pipe => " | ",
                Join::Background | Join::End => "",
            });
        }
        text
    }
}

/// A pipe fails as its last part does.
fn can_fail(pipeline: &[Part]) -> bool {
    let negated = pipeline.first().is_some_and(|part| part.negated);
    negated || pipeline.last().is_some_and(|part| part.can_fail(pipeline.len() > 1))
}

fn statements(parts: &[Part]) -> Vec<Statement<'_>> {
    let ends = |part: &Part| matches!(part.then, Join::End | Join::Background);
    let lists = parts.split_inclusive(ends);
    lists
        .map(|list| Statement {
            pipelines: list.split_inclusive(|part| part.then != Join::Pipe).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
