//! The programs that read, and the arguments with which they do.
//!
//! Each option is listed. An option that is not may write a file (`sort -o`), start a
//! program (`find -exec`, `rg --pre`, `git grep -O`), or wait for ever (`tail -f`).

use super::Unproved;
use super::syntax::{Call, Word};

/// How the arguments of a program are judged.
enum Arguments {
    /// No argument makes it write, wait or start anything.
    Any,
    /// Short options are among these letters, long ones among these words.
    Options { letters: &'static str, words: &'static [&'static str] },
    /// They are judged by a function of their own.
    Judged(fn(&[Word]) -> Result<(), usize>),
}

/// How many arguments in front are no paths: a pattern, a filter.
struct Reader {
    name: &'static str,
    arguments: Arguments,
    texts: Texts,
}

/// Which arguments are texts and not paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    /// None.
    None,
    /// The first one that is no option.
    First,
    /// All of them.
    All,
}

const fn reader(name: &'static str, texts: Texts, arguments: Arguments) -> Reader {
    Reader { name, arguments, texts }
}

const fn options(letters: &'static str, words: &'static [&'static str]) -> Arguments {
    Arguments::Options { letters, words }
}

const GREP_LETTERS: &str = "acEeFGhHiIlLnoPqrRsvwxzABCm0123456789";
const GREP_WORDS: &[&str] = &[
    "--include",
    "--exclude",
    "--exclude-dir",
    "--quiet",
    "--silent",
    "--count",
    "--regexp",
    "--fixed-strings",
    "--extended-regexp",
    "--perl-regexp",
    "--ignore-case",
    "--invert-match",
    "--line-number",
    "--recursive",
    "--word-regexp",
    "--line-regexp",
    "--only-matching",
    "--max-count",
    "--files-with-matches",
    "--files-without-match",
    "--no-messages",
    "--color",
];

const READERS: &[Reader] = &[
    reader("true", Texts::All, Arguments::Any),
    reader("false", Texts::All, Arguments::Any),
    reader(":", Texts::All, Arguments::Any),
    reader("echo", Texts::All, Arguments::Any),
    reader("printf", Texts::All, Arguments::Judged(prints)),
    reader("exit", Texts::All, Arguments::Any),
    reader("cd", Texts::None, Arguments::Judged(changes_folder)),
    reader("test", Texts::None, Arguments::Judged(tests)),
    reader("[", Texts::None, Arguments::Judged(tests)),
    reader("grep", Texts::First, options(GREP_LETTERS, GREP_WORDS)),
    reader("egrep", Texts::First, options(GREP_LETTERS, GREP_WORDS)),
    reader("fgrep", Texts::First, options(GREP_LETTERS, GREP_WORDS)),
    reader(
        "rg",
        Texts::First,
        options(
            "ceFgilNnoqsStvwxuUAHBCI",
            &[
                "--quiet",
                "--count",
                "--files",
                "--fixed-strings",
                "--ignore-case",
                "--hidden",
                "--files-with-matches",
                "--line-number",
                "--multiline",
                "--word-regexp",
            ],
        ),
    ),
    reader("ls", Texts::None, Arguments::Any),
    reader("cat", Texts::None, Arguments::Any),
    reader("wc", Texts::None, options("clmwL", &["--lines", "--words", "--bytes", "--chars"])),
    reader("head", Texts::None, options("0123456789ncqvz", &["--lines", "--bytes"])),
    reader("tail", Texts::None, options("0123456789ncqvz+", &["--lines", "--bytes"])),
    reader(
        "sort",
        Texts::None,
        options(
            "bdfgihMnRrVcCmsuzkt0123456789,.",
            &["--unique", "--numeric-sort", "--reverse", "--check", "--version-sort"],
        ),
    ),
    reader("uniq", Texts::None, Arguments::Judged(one_file)),
    reader("cut", Texts::None, options("", &[])),
    reader("tr", Texts::All, options("cCdst", &["--delete", "--squeeze-repeats"])),
    reader(
        "diff",
        Texts::None,
        options(
            "qsuwbBiarNyeU0123456789",
            &["--brief", "--unified", "--recursive", "--ignore-all-space", "--strip-trailing-cr"],
        ),
    ),
    reader("cmp", Texts::None, options("slbn", &["--silent", "--quiet"])),
    reader("comm", Texts::None, options("123", &[])),
    reader("basename", Texts::All, Arguments::Any),
    reader("dirname", Texts::All, Arguments::Any),
    reader("pwd", Texts::All, Arguments::Any),
    reader("stat", Texts::None, options("cfLt", &["--format"])),
    reader("sha256sum", Texts::None, Arguments::Any),
    reader("md5sum", Texts::None, Arguments::Any),
    reader("seq", Texts::All, Arguments::Any),
    reader("jq", Texts::First, Arguments::Judged(asks_jq)),
    reader("find", Texts::None, Arguments::Judged(finds)),
    reader("git", Texts::None, Arguments::Judged(asks_git)),
    reader("sed", Texts::First, Arguments::Judged(prints_lines)),
    reader("command", Texts::All, Arguments::Judged(looks_for_a_program)),
    reader("which", Texts::All, options("as", &[])),
    reader("sh", Texts::None, Arguments::Judged(reads_a_script)),
    reader("bash", Texts::None, Arguments::Judged(reads_a_script)),
];

/// Whether a program does nothing but read, at least with some arguments.
pub fn is_reader(program: &str) -> bool {
    let is_shell = matches!(program, "sh" | "bash");
    !is_shell && READERS.iter().any(|reader| reader.name == program)
        || matches!(program, "awk" | "gawk" | "egrep" | "xargs" | "tee" | "yq" | "file")
}

pub(super) fn prove(call: &Call) -> Result<(), Unproved> {
    let (first, arguments) = call.words.split_first().expect("a call has a word at least");
    let name = first.fixed().unwrap_or_default();
    let reader = READERS.iter().find(|reader| reader.name == name);
    let reader = reader.ok_or_else(|| Unproved::Program(first.text.clone()))?;
    let refused = |at: usize| {
        let shown = arguments.get(at).map_or("…", |word| word.text.as_str());
        Unproved::Argument(name.to_owned(), shown.to_owned())
    };
    match &reader.arguments {
        Arguments::Any => {}
        Arguments::Options { letters, words } => {
            known_options(name, arguments, letters, words).map_err(refused)?;
        }
        Arguments::Judged(judge) => judge(arguments).map_err(refused)?,
    }
    // No option of grep, and so no file that is called like one, does harm.
    let careful = !matches!(reader.arguments, Arguments::Any) && !name.ends_with("grep");
    for (at, word) in arguments.iter().enumerate() {
        // The names of files may look like options.
        if careful && word.pattern.is_some_and(|at| !word.text[..at].contains('/')) {
            return Err(refused(at));
        }
        // What is only known when it runs may be an option or a path.
        if word.is_dynamic && reader.texts != Texts::All && !matches!(name, "test" | "[") {
            return Err(refused(at));
        }
    }
    stays_inside(name, reader.texts, arguments)
}

/// Every path leads to a place below the folder where the command is run.
fn stays_inside(name: &str, texts: Texts, arguments: &[Word]) -> Result<(), Unproved> {
    let mut texts_left = usize::from(texts == Texts::First);
    // `grep -e x` has its pattern behind the option.
    let mut is_value = false;
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        if texts == Texts::All || is_operand(name, arguments, at) {
            continue;
        }
        if std::mem::take(&mut is_value) {
            continue;
        }
        if let Some(option) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let holds_pattern = texts == Texts::First && name != "jq" && name != "sed";
            let ends_with_e = !option.starts_with('-') && option.ends_with('e');
            if holds_pattern && ends_with_e {
                is_value = true;
                texts_left = 0;
            }
            let may_hold_a_path = name != "cut" && option.contains('/');
            if may_hold_a_path {
                return Err(Unproved::Outside(text.to_owned()));
            }
            continue;
        }
        if texts_left > 0 {
            texts_left -= 1;
            continue;
        }
        if leads_out(text) {
            return Err(Unproved::Outside(text.to_owned()));
        }
    }
    Ok(())
}

/// Whether a word of `test` is compared as a text: it stands next to an operator.
fn is_operand(name: &str, words: &[Word], at: usize) -> bool {
    let is_comparison = |at: usize| {
        let text = words.get(at).and_then(Word::fixed);
        text.is_some_and(|text| COMPARISONS.contains(&text))
    };
    matches!(name, "test" | "[") && (is_comparison(at + 1) || (at > 0 && is_comparison(at - 1)))
}

fn leads_out(path: &str) -> bool {
    if path == "/dev/null" {
        return false;
    }
    path.starts_with(['/', '~', '\\'])
        || path.get(1..2) == Some(":") && path.starts_with(|c: char| c.is_ascii_alphabetic())
        || path.split('/').any(|part| part == "..")
}

const COMPARISONS: &[&str] = &["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// `test`: one question about a file or a text, or a comparison. Bash evaluates what
/// stands behind `-v`, so nothing unknown may stand where an operator does.
fn tests(arguments: &[Word]) -> Result<(), usize> {
    const QUESTIONS: &[&str] = &["-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h", "-p", "-S"];
    let words = match arguments.split_last() {
        Some((last, words)) if last.fixed() == Some("]") => words,
        _ => arguments,
    };
    let words = match words.split_first() {
        Some((first, rest)) if first.fixed() == Some("!") => rest,
        _ => words,
    };
    let fixed: Vec<Option<&str>> = words.iter().map(Word::fixed).collect();
    let odd = words.iter().position(|word| word.pattern.is_some());
    if let Some(at) = odd {
        return Err(at);
    }
    let pairs: Vec<&[Option<&str>]> =
        fixed.split(|word| matches!(word, Some("-a" | "-o"))).collect();
    // Of a longer question each shell reads the words in a way of its own.
    if let Some(at) = fixed.iter().position(Option::is_none).filter(|_| pairs.len() > 1) {
        return Err(at);
    }
    let is_known = |part: &&[Option<&str>]| match part {
        [Some("-n" | "-z"), _] | [Some(_)] => true,
        [Some(question), Some(_)] => QUESTIONS.contains(question),
        [_, Some(comparison), _] => COMPARISONS.contains(comparison),
        _ => false,
    };
    if pairs.iter().all(is_known) { Ok(()) } else { Err(0) }
}

fn prints(arguments: &[Word]) -> Result<(), usize> {
    let format = arguments.first().and_then(Word::fixed);
    if format.is_some_and(|format| !format.starts_with('-')) { Ok(()) } else { Err(0) }
}

fn changes_folder(arguments: &[Word]) -> Result<(), usize> {
    match arguments {
        [to] if to.fixed().is_some_and(|to| !to.starts_with('-') && !to.is_empty()) => Ok(()),
        _ => Err(0),
    }
}

/// Each option is known. Options may stand behind files.
fn known_options(
    name: &str,
    arguments: &[Word],
    letters: &str,
    words: &[&str],
) -> Result<(), usize> {
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        let is_known = match text.strip_prefix("--") {
            Some("") => true,
            Some(_) => words.contains(&text.split('=').next().unwrap_or(text)),
            // What separates the fields may be anything.
            None if name == "cut" => {
                !text.starts_with('-') || text[1..].starts_with(['d', 'f', 'c', 'b', 's'])
            }
            None => match text.strip_prefix('-') {
                Some(cluster) => cluster.chars().all(|c| letters.contains(c)),
                None => true,
            },
        };
        if !is_known {
            return Err(at);
        }
    }
    Ok(())
}

/// `uniq`: what stands behind the first file is written to.
fn one_file(arguments: &[Word]) -> Result<(), usize> {
    known_options("uniq", arguments, "cdiuDz", &["--count", "--repeated", "--unique"])?;
    let mut files = (0..arguments.len()).filter(|at| !arguments[*at].text.starts_with('-'));
    files.next();
    files.next().map_or(Ok(()), Err)
}

/// `find`: tests and printing, no action.
fn finds(arguments: &[Word]) -> Result<(), usize> {
    const KNOWN: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-type",
        "-maxdepth",
        "-mindepth",
        "-size",
        "-newer",
        "-not",
        "-or",
        "-and",
        "-o",
        "-a",
        "-print",
        "-empty",
        "-mtime",
        "-mmin",
        "-perm",
        "-prune",
        "-quit",
        "-regex",
        "-iregex",
        "-executable",
        "-readable",
    ];
    let is_known = |word: &Word| match word.fixed() {
        Some(text) if text.starts_with('-') => {
            // `-mtime -1` has a number that looks like an option.
            let is_number = text[1..].starts_with(|c: char| c.is_ascii_digit());
            is_number || KNOWN.contains(&text)
        }
        Some(_) => true,
        None => false,
    };
    match arguments.iter().position(|word| !is_known(word)) {
        Some(at) => Err(at),
        None => Ok(()),
    }
}

/// git: questions, with options that start nothing.
fn asks_git(arguments: &[Word]) -> Result<(), usize> {
    const QUESTIONS: &[&str] = &[
        "show",
        "diff",
        "log",
        "ls-files",
        "rev-parse",
        "grep",
        "cat-file",
        "ls-tree",
        "merge-base",
        "rev-list",
        "check-ignore",
    ];
    const WORDS: &[&str] = &[
        "--quiet",
        "--exit-code",
        "--name-only",
        "--name-status",
        "--stat",
        "--cached",
        "--staged",
        "--oneline",
        "--error-unmatch",
        "--verify",
        "--short",
        "--others",
        "--exclude-standard",
        "--diff-filter",
        "--numstat",
        "--shortstat",
        "--show-toplevel",
        "--abbrev-ref",
        "--is-inside-work-tree",
        "--count",
        "--no-patch",
        "--max-count",
        "--check",
        "--is-ancestor",
        "--no-color",
    ];
    let arguments_of = |from: usize| {
        let shift = |at: usize| at + from;
        let letters = "qnpsliEFwvz0123456789erhct";
        known_options("git", &arguments[from..], letters, WORDS).map_err(shift)
    };
    let from = usize::from(arguments.first().and_then(Word::fixed) == Some("--no-pager"));
    let question = arguments.get(from).and_then(Word::fixed).ok_or(from)?;
    if !QUESTIONS.contains(&question) {
        return Err(from);
    }
    arguments_of(from + 1)
}

/// jq: a filter that reads no modules.
fn asks_jq(arguments: &[Word]) -> Result<(), usize> {
    const WORDS: &[&str] = &[
        "--exit-status",
        "--raw-output",
        "--null-input",
        "--slurp",
        "--compact-output",
        "--sort-keys",
        "--join-output",
        "--arg",
        "--argjson",
    ];
    let reads_modules = |word: &Word| word.text.contains("include") || word.text.contains("import");
    if let Some(at) = arguments.iter().position(reads_modules) {
        return Err(at);
    }
    known_options("jq", arguments, "enrsacSCMj", WORDS)
}

/// `sed -n`, printing lines by their numbers or by what they match.
fn prints_lines(arguments: &[Word]) -> Result<(), usize> {
    let [option, script, files @ ..] = arguments else { return Err(0) };
    let script = script.fixed().and_then(|script| script.strip_suffix('p')).ok_or(1_usize)?;
    let is_by_number =
        !script.is_empty() && script.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$');
    let inner = script.strip_prefix('/').and_then(|script| script.strip_suffix('/'));
    let is_by_match = inner.is_some_and(|inner| !inner.contains(['/', '\\', '\n', ';']));
    let are_files = files.iter().all(|file| !file.text.starts_with('-'));
    match (option.fixed(), is_by_number || is_by_match, are_files) {
        (Some("-n"), true, true) => Ok(()),
        _ => Err(1),
    }
}

/// `command -v name`.
fn looks_for_a_program(arguments: &[Word]) -> Result<(), usize> {
    let is_question = arguments.first().and_then(Word::fixed) == Some("-v");
    let is_name = |word: &Word| word.fixed().is_some_and(|name| !name.starts_with('-'));
    if is_question && arguments[1..].iter().all(is_name) { Ok(()) } else { Err(0) }
}

/// `sh -n file` reads a script and runs nothing of it.
fn reads_a_script(arguments: &[Word]) -> Result<(), usize> {
    match arguments {
        [option, file] if option.fixed() == Some("-n") => {
            let is_file = file.fixed().is_some_and(|file| !file.starts_with(['-', '+']));
            if is_file { Ok(()) } else { Err(1) }
        }
        _ => Err(0),
    }
}
