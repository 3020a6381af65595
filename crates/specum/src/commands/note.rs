use std::io::{self, Read};

use super::{Answered, answer};
use specum_engine::ops::{self, About, Caller, OpError};

/// Tell the next attempts at a task something
///
/// The note stands in the brief of every further attempt at the task, until it
/// passes; with `--all`, in every brief until the loop ends. An agent that is at
/// work already has read its brief: `specum retry` begins its task anew.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the task; left out with --all
    #[arg(required_unless_present = "all")]
    task: Option<String>,
    /// What to say; `-` reads it from standard input
    text: Vec<String>,
    /// To every further attempt, at whichever task
    #[arg(long)]
    all: bool,
    /// Take back what was noted
    #[arg(long)]
    withdraw: bool,
    /// Name or path; the active spec if left out
    #[arg(long)]
    pub(super) spec: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    // With --all the first word is one of the note's.
    let (about, first) = match (&args.task, args.all) {
        (Some(task), false) => (About::Task(task), None),
        (first, _) => (About::Every, first.as_ref()),
    };
    let words: Vec<&str> = first.into_iter().chain(&args.text).map(String::as_str).collect();
    let spec = args.spec.as_deref();
    let whom = |note: &ops::Note| match &note.task {
        Some(task) => format!("every further attempt at {task}"),
        None => "every further attempt".to_owned(),
    };
    if args.withdraw {
        if !words.is_empty() {
            let why = "--withdraw takes back everything that was noted; leave the text out";
            return Err(OpError::Usage(why.into()).into());
        }
        let note = ops::withdraw_note(caller, spec, about)?;
        return answer(args.json, &note, |note| format!("withdrawn from {}", whom(note)));
    }
    let text = match words.as_slice() {
        ["-"] => ops::NoteText::Piped(&read_text),
        words => ops::NoteText::Typed(words.join(" ")),
    };
    let note = ops::note(caller, spec, about, text)?;
    answer(args.json, &note, |note| format!("noted for {}", whom(note)))
}

fn read_text() -> Result<String, OpError> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(OpError::io("cannot read the note"))?;
    Ok(text)
}
