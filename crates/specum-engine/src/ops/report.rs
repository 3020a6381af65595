//! Everything that became of a loop, for a person who comes back to it.

use std::collections::HashMap;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use specum_core::agent::{Spoken, Transcript};
use specum_core::journal::{Entry, Record};
use specum_core::line;
use specum_core::owner::Asker;
use specum_core::patch::{FilePatch, Patch, PatchKind};
use specum_core::report::{Input, Report, Requirement, Said, Share, Veil};
use specum_core::spec::{gate, trace};
use specum_core::summary::{Attempt, AttemptResult, Summary};
use specum_core::tasks;

use super::trace::traced;
use super::{Caller, OpError, caller, diff};
use crate::documents::Documents;
use crate::files::FileError;
use crate::logs;
use crate::ports::Repository;
use crate::project::Spec;
use crate::report::{Form, render};
use crate::store::Store;

/// What a report is to tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportRequest {
    /// Earlier loops too.
    pub all: bool,
    /// What may be passed on: no words of agents, no paths of this machine.
    pub share: bool,
}

/// A report that is in a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WrittenReport {
    /// The spec.
    pub spec: String,
    /// Where the report is.
    pub file: String,
}

/// More changed lines than these are left to `git show`.
const MANY_LINES: u64 = 40_000;
/// How much is read of the beginning and of the end of an agent's log.
const READ: (u64, u64) = (32 * 1024, 64 * 1024);
/// How much of its words is shown, of the beginning and of the end.
const WORDS: (usize, usize) = (2 * 1024, 6 * 1024);

/// Everything that became of the last loop of a spec.
pub fn report(
    caller: &Caller<'_>,
    named: Option<&str>,
    request: ReportRequest,
) -> Result<(Spec, Report), OpError> {
    let (_, spec) = caller.named(named)?;
    let report = report_of(&spec, request)?;
    Ok((spec, report))
}

/// The same of a spec that is known.
pub fn report_of(spec: &Spec, request: ReportRequest) -> Result<Report, OpError> {
    let store = Store::of(spec);
    let text = store.read_tasks()?.unwrap_or_default();
    let file = text.file();
    let records = if request.all { store.read_story()? } else { store.read_journal()? };
    let records = match request.all {
        true => &records[..],
        false => specum_core::summary::last_loop(&records),
    };
    let mut summary = Summary::of_all_loops(records, &file);
    if !request.all {
        summary = Summary::of(records, &file);
    }
    let patches = patches(&store, &mut summary);
    let lookup = spec.world.lookup(&spec.root);
    let check = |task: &tasks::Task| {
        let commands = file.fields(task).verify?.commands(&lookup);
        (!commands.is_empty()).then(|| tasks::joined(&commands))
    };
    Ok(Report::of(Input {
        spec: &spec.name,
        place: &spec.shown,
        version: env!("CARGO_PKG_VERSION"),
        now: spec.world.clock.now(),
        is_worked_on: caller::holder(&store, Asker::Person).other().is_some(),
        records,
        summary: &summary,
        file: &file,
        check: &check,
        progress: &store.read_progress().unwrap_or_default(),
        patches,
        words: if request.share { HashMap::new() } else { words(spec, records, &summary) },
        requirements: requirements(spec, &summary),
        veil: Veil { share: request.share.then(|| this_machine(spec)) },
    }))
}

/// Puts a report into the file that is named, or into one in specum's own state folder
/// that only this user may read.
pub fn write_report(
    spec: &Spec,
    report: &Report,
    form: Form,
    file: Option<&Path>,
) -> Result<WrittenReport, OpError> {
    let Some(file) = file else {
        return write_private_report(spec, report, form, &own_place(spec, form)?);
    };
    let cannot = |error| OpError::from(FileError::new("write", file, error));
    write(spec, report, form, &std::path::absolute(file).map_err(cannot)?)
}

/// Puts a report into a file, below folders that may not be there yet, that only this user
/// may read.
pub fn write_private_report(
    spec: &Spec,
    report: &Report,
    form: Form,
    file: &Path,
) -> Result<WrittenReport, OpError> {
    let create = |error| OpError::from(FileError::new("create", file, error));
    spec.world.disk.create_private(file).map_err(create)?;
    write(spec, report, form, file)
}

fn write(spec: &Spec, report: &Report, form: Form, file: &Path) -> Result<WrittenReport, OpError> {
    let text = render(report, form, &TimeZone::system());
    spec.world.disk.write(file, text.as_bytes())?;
    Ok(WrittenReport { spec: spec.name.clone(), file: file.display().to_string() })
}

/// Where a report stands unless somebody says otherwise.
fn own_place(spec: &Spec, form: Form) -> Result<PathBuf, OpError> {
    let home = spec.world.state_home.as_ref().ok_or_else(|| {
        OpError::Usage("neither XDG_STATE_HOME nor HOME is set: name a file with `-o`".to_owned())
    })?;
    let name = match form {
        Form::Html => "report.html",
        Form::Markdown(_) => "report.md",
        Form::Junit => "report.xml",
    };
    Ok(home.join("reports").join(logs::folder_of(spec)).join(name))
}

/// What a report that is passed on must not name.
fn this_machine(spec: &Spec) -> Share {
    let text = |value: Option<std::ffi::OsString>| value.and_then(|value| value.into_string().ok());
    let home = text(env::var_os("HOME")).map(|home| home.trim_end_matches('/').to_owned());
    let root = spec.root.to_str().map(str::to_owned);
    let by_name = text(env::var_os("USER").or_else(|| env::var_os("LOGNAME")));
    let of_home =
        || Path::new(home.as_deref()?).file_name().and_then(OsStr::to_str).map(str::to_owned);
    let user = by_name.or_else(of_home);
    Share { home, root, user }
}

/// What the commits of a loop have changed. Without a repository, or once somebody has
/// rewritten the history, there is nothing to be shown.
fn patches(store: &Store, summary: &mut Summary) -> HashMap<String, Patch> {
    diff::count(store, summary);
    let attempts = || summary.tasks.iter().flat_map(|task| &task.attempts);
    let known = attempts().filter_map(|one| Some((one.commit.as_deref()?, one.changes?)));
    let (long, short): (Vec<_>, Vec<_>) =
        known.partition(|(_, counts)| counts.added.saturating_add(counts.removed) > MANY_LINES);
    let ids = |list: &[(&str, specum_core::summary::LineCounts)]| -> Vec<String> {
        list.iter().map(|(id, _)| (*id).to_owned()).collect()
    };
    let (mut left, short) = (ids(&long), ids(&short));
    let git = store.world.repositories.open(store.dir());
    let Ok(git) = git else { return HashMap::new() };
    let own = diff::own_files(store, &*git);
    let asked: Vec<&str> = short.iter().map(String::as_str).collect();
    let mut found = git.patches_in(&asked, &own).unwrap_or_default();
    left.extend(short.iter().filter(|id| !found.contains_key(*id)).cloned());
    found.extend(by_name(&*git, &left, &own));
    found
}

/// The files that commits have changed, without their lines.
fn by_name(git: &dyn Repository, commits: &[String], own: &[String]) -> HashMap<String, Patch> {
    if commits.is_empty() {
        return HashMap::new();
    }
    let asked: Vec<&str> = commits.iter().map(String::as_str).collect();
    let changed = git.changed_in(&asked).unwrap_or_default();
    let patch = |(id, files): (String, Vec<crate::git::ChangedFile>)| {
        let files = files.into_iter().filter(|file| !own.contains(&file.path)).map(|file| {
            let (added, removed) = file.lines.unwrap_or_default();
            let kind = if file.lines.is_some() { PatchKind::Changed } else { PatchKind::Binary };
            FilePatch {
                path: file.path,
                kind,
                added,
                removed,
                is_cut: true,
                ..FilePatch::default()
            }
        });
        (id, Patch { subject: String::new(), files: files.collect() })
    };
    changed.into_iter().map(patch).collect()
}

/// What the agents of each attempt have said, from their logs.
fn words(spec: &Spec, records: &[Record], summary: &Summary) -> HashMap<(String, u64), Vec<Said>> {
    let whose: HashMap<&str, &str> = records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Launched { agent, log: Some(log), .. }
            | Entry::Charged { agent, log: Some(log), .. } => Some((log.as_str(), agent.as_str())),
            _ => None,
        })
        .collect();
    let mut found = HashMap::new();
    for task in &summary.tasks {
        for attempt in &task.attempts {
            let mut said = Vec::new();
            for path in logs_of(spec, &task.id, attempt) {
                let agent = path.to_str().and_then(|path| whose.get(path).copied());
                said.extend(said_in(spec, &path, agent));
            }
            if !said.is_empty() {
                found.insert((task.id.clone(), attempt.place), bounded(said));
            }
        }
    }
    found
}

fn logs_of(spec: &Spec, task: &str, attempt: &Attempt) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = attempt.logs.iter().map(PathBuf::from).collect();
    paths.retain(|path| logs::is_log(spec, path));
    // An attempt that runs is not charged yet.
    if attempt.result == AttemptResult::Open {
        let newest = logs::newest_log(spec, task, attempt.number);
        paths.extend(newest.filter(|path| !paths.contains(path)));
    }
    paths
}

/// What stands at the beginning and at the end of a log.
fn said_in(spec: &Spec, path: &Path, agent: Option<&str>) -> Vec<Said> {
    let (begin, end) = READ;
    let Ok(mut log) = spec.world.disk.open_own(path) else { return Vec::new() };
    let length = log.info().map_or(0, |info| info.length);
    let mut transcript = Transcript::of(agent);
    let mut said = Vec::new();
    let mut take = |bytes: &[u8], said: &mut Vec<Said>| {
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            transcript.line(line).into_iter().for_each(|piece| add(said, piece));
        }
    };
    if length <= begin + end {
        take(&log.read(0, length).unwrap_or_default(), &mut said);
    } else {
        let first = log.read(0, begin).unwrap_or_default();
        let whole = first.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        take(&first[..whole], &mut said);
        said.push(Said::LeftOut);
        let last = log.read(length - end, end).unwrap_or_default();
        let whole = last.iter().position(|byte| *byte == b'\n').map_or(last.len(), |at| at + 1);
        take(&last[whole..], &mut said);
    }
    transcript.end().into_iter().for_each(|piece| add(&mut said, piece));
    said
}

/// Takes what an agent has said; what its tools answered is for `specum log`.
fn add(said: &mut Vec<Said>, piece: Spoken) {
    match piece {
        Spoken::Words(text) => said.push(Said::Words(text)),
        Spoken::Call(text) => said.push(Said::Tool(text)),
        Spoken::Note(text) | Spoken::Trouble(text) => said.push(Said::Trouble(text)),
        Spoken::Printed(line) => match said.last_mut() {
            Some(Said::Words(text)) => {
                text.push('\n');
                text.push_str(&line);
            }
            _ => said.push(Said::Words(line)),
        },
        Spoken::Result { .. } => {}
    }
}

/// The beginning and the end of what was said.
fn bounded(said: Vec<Said>) -> Vec<Said> {
    let length = |one: &Said| match one {
        Said::Words(text) | Said::Tool(text) | Said::Trouble(text) => text.len() + 1,
        Said::LeftOut => 0,
    };
    let (begin, end) = WORDS;
    if said.iter().map(length).sum::<usize>() <= begin + end {
        return said;
    }
    let cut = |one: &Said, most: usize, of_end: bool| {
        let cut = |text: &str| match of_end {
            true => line::tail(text, most).to_owned(),
            false => line::head(text, most).to_owned(),
        };
        match one {
            Said::Words(text) => Said::Words(cut(text)),
            Said::Tool(text) => Said::Tool(cut(text)),
            Said::Trouble(text) => Said::Trouble(cut(text)),
            Said::LeftOut => Said::LeftOut,
        }
    };
    let (mut first, mut left, mut at) = (Vec::new(), begin, 0);
    while at < said.len() && left > 0 {
        first.push(cut(&said[at], left, false));
        let taken = length(&said[at]);
        if taken > left {
            break;
        }
        (left, at) = (left - taken, at + 1);
    }
    let (mut last, mut left) = (Vec::new(), end);
    for one in said[at..].iter().rev() {
        if left == 0 {
            break;
        }
        last.push(cut(one, left, true));
        left = left.saturating_sub(length(one));
    }
    first.push(Said::LeftOut);
    first.extend(last.into_iter().rev());
    first
}

/// The requirements of a spec that has any. What cannot be read is `specum trace`'s to say.
fn requirements(spec: &Spec, summary: &Summary) -> Vec<Requirement> {
    let Ok(documents) = Documents::read(&spec.world, &spec.dir) else { return Vec::new() };
    let parsed = gate::Spec::of(documents.texts());
    let (Some(_), Some(file)) = (parsed.requirements(), parsed.tasks()) else { return Vec::new() };
    let by_id: HashMap<&str, &specum_core::summary::TaskSummary> =
        summary.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let requirement = |row: trace::Row| {
        let tasks = row.tasks.iter().map(|at| &file.tasks[*at]);
        let tasks: Vec<_> = tasks
            .map(|task| traced(task, None, by_id.get(task.name().as_str()).copied()))
            .collect();
        Requirement {
            id: row.id.to_string(),
            text: row.text,
            is_proven: !tasks.is_empty() && tasks.iter().all(|task| task.done && task.checked),
            tasks: tasks.into_iter().map(|task| task.task).collect(),
        }
    };
    trace::matrix(&parsed).into_iter().map(requirement).collect()
}
