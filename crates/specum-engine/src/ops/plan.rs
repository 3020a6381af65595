//! The planning of a spec: begun, gone on with, agreed to, changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::attempt::Attempt;
use specum_core::authoring::name::{is_name, spec_name};
use specum_core::authoring::{self, Planning, Profile, skeleton, summary};
use specum_core::journal::{Entry, Source};
use specum_core::spec::Doc;
use specum_core::state::{Phase, State};
use specum_core::verify::Role;

use super::caller::one_at_a_time;
use super::steer::approve_phase;
use super::{Approve, Caller, NewState, OpError, activate};
use crate::attempt::{Approved, AttemptError, Change, Workspace};
use crate::documents::Documents;
use crate::person;
use crate::project::{Project, Spec};
use crate::store::Store;

/// The longest request.
const MAX_GOAL: usize = 1024 * 1024;

/// How a spec is to be planned.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// The spec, if it is named.
    pub name: Option<String>,
    /// What is to be done, word for word.
    pub goal: Option<String>,
    /// How many documents there are to be; what the settings say if it is left out.
    pub profile: Option<Profile>,
    /// Whether nobody is asked.
    pub quick: bool,
    /// Whether it ends with the plan.
    pub plan_only: bool,
    /// Whether documents that are agreed to become commits; what the settings say if it is
    /// left out.
    pub commits: Option<bool>,
}

/// A spec whose documents are written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
    /// `small`, `standard` or `full`.
    pub profile: String,
    /// Whether it was begun by this.
    pub begun: bool,
    /// The documents, in their order.
    pub documents: Vec<PlanDocument>,
}

/// A document of a spec that is planned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanDocument {
    /// `requirements`.
    pub document: String,
    /// `absent`, `open`, `written`, `approved`, `stale` or `blocked`.
    pub status: String,
    /// How many tries it has had.
    pub attempts: u64,
}

/// A document that is due.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DueDocument {
    /// `requirements`.
    pub document: String,
    /// Where it is written, from the project's root.
    pub file: String,
    /// Which try this is, from 1.
    pub attempt: u64,
    /// The agent that writes it, such as `product-manager`.
    pub agent: String,
    /// Everything that the agent is to read.
    pub brief: String,
}

/// A document that waits for a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WaitingDocument {
    /// `requirements`.
    pub document: String,
    /// Where it is, from the project's root.
    pub file: String,
    /// The digest of its text: an approval can name what was seen.
    pub digest: String,
    /// Its length.
    pub bytes: usize,
    /// What it says, in a line or two that code has made.
    pub summary: String,
    /// What it leaves open.
    pub questions: Vec<OpenQuestion>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

impl WaitingDocument {
    /// What a person is to know of it, where nothing can be asked.
    pub fn for_person(&self) -> String {
        let mut text = format!("{} is ready: {}", self.file, self.summary);
        for question in &self.questions {
            let options = question.options.join(" | ");
            text.push_str(&format!("\n{}: {} ({options})", question.id, question.text));
        }
        text
    }
}

/// A question that a document leaves open.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpenQuestion {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// The answers.
    pub options: Vec<String>,
    /// The number of the one that is taken if nobody says otherwise, from 1.
    pub default: usize,
}

/// A document that a person has agreed to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovedDocument {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// `approved`, or `reopened`: an answer is another than the default, and the document
    /// is written anew with it.
    pub state: NewState,
    /// The document.
    pub document: String,
    /// The answers that were given, by question.
    pub answers: BTreeMap<String, String>,
}

/// What a person has agreed to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Approval {
    /// A document.
    Document(ApprovedDocument),
    /// A phase of the plan.
    Phase(Approve),
}

/// What a person wants changed in a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Changed {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// The document whose author goes on with it.
    pub document: String,
    /// `noted`.
    pub state: NewState,
}

/// The verdict on an author's try.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentFinish {
    /// The document.
    pub document: String,
    /// Which try it was.
    pub attempt: u64,
    /// Whether it is good.
    pub passed: bool,
    /// What is to be fixed, a line each.
    pub findings: Vec<String>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// Whether a person is asked about it.
    pub waits: bool,
    /// Whether no try is left.
    pub blocked: bool,
}

/// A spec that is there for a person to write.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewSpec {
    /// The spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
    /// The files that were made.
    pub files: Vec<String>,
}

/// Begins to plan a spec, or finds the one that is being planned, and makes it the active
/// one.
pub fn begin_plan(
    caller: &Caller<'_>,
    request: &PlanRequest,
) -> Result<(Project, Workspace, Plan), OpError> {
    if request.goal.as_ref().is_some_and(|goal| goal.len() > MAX_GOAL) {
        return Err(OpError::Usage("the request is longer than 1 MB; say what counts".into()));
    }
    let source = caller.who("plan");
    if request.quick && person::is_an_agents_shell() {
        // Nobody is asked then, and that is a person's to say.
        caller.require_person("plan")?;
    }
    let project = project_for_plans(caller)?;
    caller.warn_of_settings(&project);
    let (spec, is_new) = spec_of(caller, &project, request)?;
    let workspace = one_at_a_time(Workspace::new(&project, spec)?);
    let begun = workspace.planning()?.is_none();
    if begun {
        refuse_begun_loop(&workspace)?;
        let settings = &project.settings.plan;
        let profile = request.profile.or(settings.profile).unwrap_or(Profile::Standard);
        let asks = settings.approve.clone().unwrap_or_else(|| BTreeSet::from(Doc::ALL));
        let mut planning = Planning::new(profile, request.quick, asks);
        planning.plan_only = request.plan_only;
        planning.commits = request.commits.or(settings.commit_spec).unwrap_or(true);
        planning.tasks = settings.tasks_size.unwrap_or_default();
        workspace.begin_planning(planning, request.goal.as_deref(), source)?;
    } else if let Some(profile) = request.profile {
        workspace.enlarge(profile, source)?;
    }
    activate(&project, &workspace.spec)?;
    let plan = plan_of(&workspace, begun || is_new)?;
    Ok((project, workspace, plan))
}

/// A spec that a loop has worked is planned by change, not anew.
fn refuse_begun_loop(workspace: &Workspace) -> Result<(), OpError> {
    let state = workspace.store.read()?.state;
    let is_worked = state.is_some_and(|state| state.phase == Phase::Execution);
    match is_worked {
        true => Err(OpError::Usage(format!(
            "a loop works on {name}; let it finish with `specum run {name}`, or end it with \
             `specum cancel {name}`",
            name = workspace.spec.name
        ))),
        false => Ok(()),
    }
}

/// The project around the caller; one that has no specs yet is one too.
fn project_for_plans(caller: &Caller<'_>) -> Result<Project, OpError> {
    let here = caller.here()?;
    let home = std::env::var_os("HOME");
    let found = Project::find(caller.world, &here, home.as_deref().map(Path::new));
    let project = found.or_else(|| Project::around(caller.world, &here));
    let none = || OpError::NotFound(format!("{} is no folder", here.display()));
    caller.with_good_settings(project.ok_or_else(none)?)
}

/// The spec that is meant, which is made if it is not there yet.
fn spec_of(
    caller: &Caller<'_>,
    project: &Project,
    request: &PlanRequest,
) -> Result<(Spec, bool), OpError> {
    match (&request.name, &request.goal) {
        (Some(name), goal) => match project.spec(name) {
            Ok(spec) => Ok((spec, false)),
            Err(error) if goal.is_none() => Err(error.into()),
            Err(_) if is_name(name) => Ok((make(project, name)?, true)),
            Err(error) => Err(error.into()),
        },
        (None, Some(goal)) => {
            let name = spec_name(goal);
            // The same request again goes on with what it has begun.
            let numbers = (2..100).map(|number| format!("{name}-{number}"));
            for name in std::iter::once(name.clone()).chain(numbers) {
                match project.spec(&name) {
                    Ok(spec) if asks_the_same(&spec, goal)? => return Ok((spec, false)),
                    Ok(_) => {}
                    Err(_) => return Ok((make(project, &name)?, true)),
                }
            }
            Err(OpError::Usage(format!("there are many specs called {name}; name a new one")))
        }
        (None, None) => {
            let spec = caller.spec(project, None)?;
            Ok((spec, false))
        }
    }
}

/// Whether a spec is planned for this request; a folder in which there is nothing yet was
/// made for it by a process that was killed.
fn asks_the_same(spec: &Spec, goal: &str) -> Result<bool, OpError> {
    let documents = Documents::read(&spec.world, &spec.dir)?;
    let is_new =
        documents.texts().goal.is_none() && documents.is_empty() && !Store::of(spec).has_state();
    Ok(is_new || documents.texts().goal.is_some_and(|known| known.trim() == goal.trim()))
}

/// Makes the folder of a spec.
fn make(project: &Project, name: &str) -> Result<Spec, OpError> {
    let disk = &project.world.disk;
    let specs = match project.settings.specs_dirs.is_empty() {
        true => project.root.join("specs"),
        false => {
            let marker = project.current_spec_file();
            marker.parent().unwrap_or(&project.root).to_owned()
        }
    };
    let dir = specs.join(name);
    disk.make_folder(&dir)?;
    let project = Project::at(&project.world, project.root.clone());
    Ok(project.spec_in(&dir)?)
}

/// Where the documents of a spec stand.
pub fn plan_of(workspace: &Workspace, begun: bool) -> Result<Plan, OpError> {
    let no_plan = || AttemptError::NoPlanning(workspace.spec.name.clone());
    let planning = workspace.planning()?.ok_or_else(no_plan)?;
    let documents = planning.profile.docs().iter().map(|doc| {
        let document = planning.document(*doc);
        PlanDocument {
            document: doc.name().to_owned(),
            status: document.status.as_str().to_owned(),
            attempts: document.attempts,
        }
    });
    Ok(Plan {
        name: workspace.spec.name.clone(),
        path: workspace.spec.shown.clone(),
        profile: planning.profile.as_str().to_owned(),
        begun,
        documents: documents.collect(),
    })
}

/// Whether the documents of a spec are being written, and its tasks not worked yet.
pub fn is_planned(workspace: &Workspace) -> Result<bool, OpError> {
    let state = workspace.store.read()?.state;
    let is_planned = |state: State| state.planning.is_some() && state.phase != Phase::Execution;
    Ok(state.is_some_and(is_planned))
}

/// What an author who works in the user's tree is to do.
pub(super) fn due_document(
    workspace: &Workspace,
    opened: &Attempt,
) -> Result<DueDocument, OpError> {
    let Role::Author(doc) = opened.role else {
        return Err(AttemptError::NotOpen(opened.key.id.clone()).into());
    };
    Ok(DueDocument {
        document: doc.name().to_owned(),
        file: format!("{}/{}", workspace.spec.shown, doc.file()),
        attempt: opened.number,
        agent: authoring::author(doc).to_owned(),
        brief: workspace.author_brief(opened, &workspace.spec.root)?,
    })
}

/// The document that waits for a person, as it is shown.
pub fn waiting(workspace: &Workspace) -> Result<Option<WaitingDocument>, OpError> {
    let Some((doc, digest, questions)) = workspace.waiting_document()? else { return Ok(None) };
    let documents = Documents::read(workspace.world(), &workspace.spec.dir)?;
    let written =
        workspace.store.read_journal()?.into_iter().rev().find_map(|record| match record.entry {
            Entry::Written { task, warnings, .. } if task == authoring::key(doc) => Some(warnings),
            _ => None,
        });
    let questions = questions.into_iter().map(|question| OpenQuestion {
        id: question.id,
        text: question.text,
        options: question.options,
        default: question.default + 1,
    });
    Ok(Some(WaitingDocument {
        document: doc.name().to_owned(),
        file: format!("{}/{}", workspace.spec.shown, doc.file()),
        digest,
        bytes: documents.get(doc).map_or(0, <[u8]>::len),
        summary: summary::of(doc, documents.texts()),
        questions: questions.collect(),
        warnings: written.unwrap_or_default(),
    }))
}

/// The document that a name means, if it means one: `requirements`, `@requirements` or
/// `requirements.md`.
pub fn document_named(name: &str) -> Option<Doc> {
    Doc::named(name.strip_prefix('@').unwrap_or(name))
}

/// Judges what an author has written in the user's tree.
pub fn finish_document(
    caller: &Caller<'_>,
    workspace: &Workspace,
    doc: Doc,
) -> Result<DocumentFinish, OpError> {
    caller.warn_if_held(&workspace.store);
    caller.hold_for_session(workspace)?;
    let opened = open_author(workspace, doc)?;
    let documents = Documents::read(workspace.world(), &workspace.spec.dir)?;
    let first_runs = workspace.read_only_runs(doc, documents.get(doc).unwrap_or_default());
    let verdict = workspace.judge_document(&opened, None, &first_runs)?;
    workspace.commit_documents()?;
    Ok(DocumentFinish {
        document: doc.name().to_owned(),
        attempt: verdict.attempt,
        passed: verdict.errors.is_empty(),
        findings: verdict.errors,
        warnings: verdict.warnings,
        waits: verdict.asks,
        blocked: verdict.is_blocked,
    })
}

/// Ends an author's try without a verdict.
pub fn fail_document(
    workspace: &Workspace,
    doc: Doc,
    reason: &str,
) -> Result<DocumentFinish, OpError> {
    let opened = open_author(workspace, doc)?;
    workspace.fail_document(&opened, reason)?;
    let blocked = workspace
        .planning()?
        .is_some_and(|planning| planning.document(doc).status == authoring::Status::Blocked);
    Ok(DocumentFinish {
        document: doc.name().to_owned(),
        attempt: opened.number,
        passed: false,
        findings: vec![reason.to_owned()],
        warnings: Vec::new(),
        waits: false,
        blocked,
    })
}

fn open_author(workspace: &Workspace, doc: Doc) -> Result<Attempt, OpError> {
    let opened = workspace.store.ledger()?.open_attempt(&authoring::key(doc));
    Ok(opened.ok_or_else(|| AttemptError::NotOpen(doc.name().to_owned()))?)
}

/// A person agrees to the document that waits. `source` says how the person's word came;
/// a door that has proved it by itself, such as a dialog, calls this.
pub fn approve_document(
    workspace: &Workspace,
    doc: Option<Doc>,
    answers: &BTreeMap<String, String>,
    seen: Option<&str>,
    source: Source,
) -> Result<ApprovedDocument, OpError> {
    let (doc, approved) = workspace.approve_document(doc, answers, seen, source)?;
    workspace.commit_documents()?;
    let (state, answers) = match approved {
        Approved::Approved(answers) => (NewState::Approved, answers),
        Approved::Reopened(answers) => (NewState::Reopened, answers),
    };
    let (name, document) = (workspace.spec.name.clone(), doc.name().to_owned());
    Ok(ApprovedDocument { name, state, document, answers })
}

/// A person who types the verb agrees to what waits: a document while a spec is planned,
/// else a phase of the plan.
pub fn approve_typed(
    caller: &Caller<'_>,
    named: Option<&str>,
    doc: Option<Doc>,
    answers: &BTreeMap<String, String>,
) -> Result<Approval, OpError> {
    let source = caller.require_person("approve")?;
    let workspace = caller.workspace(named)?;
    let waits = workspace.planning()?.is_some_and(|planning| planning.awaits().is_some());
    if !waits && !is_planned(&workspace)? && doc.is_none() {
        if !answers.is_empty() {
            return Err(AttemptError::NothingWaits(workspace.spec.name).into());
        }
        return Ok(Approval::Phase(approve_phase(&workspace, source)?));
    }
    let approved = approve_document(&workspace, doc, answers, None, source)?;
    caller.tell_news(&workspace);
    Ok(Approval::Document(approved))
}

/// A person says what is to change in a document.
pub fn change(
    caller: &Caller<'_>,
    named: Option<&str>,
    change: Change<'_>,
) -> Result<Changed, OpError> {
    let source = caller.require_person("change")?;
    let workspace = caller.workspace(named)?;
    change_document(&workspace, change, source)
}

/// The same for a door that has proved the person's word by itself.
pub fn change_document(
    workspace: &Workspace,
    change: Change<'_>,
    source: Source,
) -> Result<Changed, OpError> {
    if change.text.trim().is_empty() {
        return Err(OpError::Usage("say what is to change".into()));
    }
    let doc = workspace.change_document(change, source)?;
    let (name, document) = (workspace.spec.name.clone(), doc.name().to_owned());
    Ok(Changed { name, document, state: NewState::Noted })
}

/// A person wants to be asked about no further document of this spec.
pub fn ask_no_more(caller: &Caller<'_>, workspace: &Workspace) -> Result<(), OpError> {
    let source = caller.require_person("approve")?;
    Ok(workspace.ask_no_more(source)?)
}

/// What the words behind the verb mean: the name of a spec, what is to be done, or both. A
/// name stands in front, and is a spec that is there or has a hyphen.
pub fn name_and_goal(
    caller: &Caller<'_>,
    words: &str,
) -> Result<(Option<String>, Option<String>), OpError> {
    let words = words.trim();
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    if words.is_empty() {
        return Ok((None, None));
    }
    let spec = project_for_plans(caller)?.spec(first);
    let is_new_name = first.contains('-') && is_name(first) && !rest.is_empty();
    match (spec, rest.is_empty()) {
        (Ok(_), _) => Ok((Some(first.to_owned()), Some(rest.to_owned()).filter(|r| !r.is_empty()))),
        (Err(_), false) if is_new_name => Ok((Some(first.to_owned()), Some(rest.to_owned()))),
        (Err(_), false) => Ok((None, Some(words.to_owned()))),
        (Err(error), true) => Err(OpError::Usage(format!(
            "{error}. One word is no plan: say what is to be done, such as `specum plan \"Add a \
             --json flag to list\"`"
        ))),
    }
}

/// Makes the folder of a spec with documents that a person fills in.
pub fn new_spec(
    caller: &Caller<'_>,
    name: &str,
    goal: Option<&str>,
    profile: Option<Profile>,
) -> Result<NewSpec, OpError> {
    if !is_name(name) {
        return Err(OpError::Usage(format!(
            "`{name}` is no name for a spec: small letters, digits and hyphens, such as {}",
            spec_name(name)
        )));
    }
    let project = project_for_plans(caller)?;
    if let Ok(spec) = project.spec(name) {
        return Err(OpError::Usage(format!("{} is there already", spec.shown)));
    }
    let profile = profile.or(project.settings.plan.profile).unwrap_or(Profile::Standard);
    let spec = make(&project, name)?;
    let store = Store::of(&spec);
    let locked = store.lock()?;
    let mut files = Vec::new();
    if let Some(goal) = goal {
        locked.write_goal(goal)?;
        files.push(format!("{}/plan.md", spec.shown));
    }
    for doc in profile.docs() {
        locked.begin_document(*doc, &skeleton::of(*doc, profile, name))?;
        files.push(format!("{}/{}", spec.shown, doc.file()));
    }
    drop(locked);
    activate(&project, &spec)?;
    Ok(NewSpec { name: spec.name, path: spec.shown, files })
}
