//! What the model and the person read while the documents of a spec are written.

use super::{Notice, SpecName, cancel, fill, implement};
use crate::authoring::{Due, author};
use crate::hook::Host;
use crate::spec::Doc;

/// What a coordinator reads when a spec is planned in its session.
pub fn coordinator(spec: SpecName<'_>) -> String {
    let values = [("spec", spec.name), ("path", spec.path)];
    fill(include_str!("../../prompts/planning.md"), &values)
}

/// What is due in a planning: whom a coordinator calls, or what a model does that has
/// nobody to call.
pub fn in_words(host: Host, due: Due) -> String {
    use Due::{Approve, Author, Fix, Nothing, Start};
    match (due, host.works_itself()) {
        (Author(doc), false) => format!(
            "Due now, one Agent call:\n- `phase {doc}` for `ralph-specum:{}`\n",
            author(doc)
        ),
        (Author(doc), true) => format!(
            "Due now: {file}. `specum next` prints its brief; write the file, then run `specum \
             finish {doc}` and fix what it says.\n",
            file = doc.file()
        ),
        (Approve(_), false) => "Call AskUserQuestion once, with the question `specum?` and the \
                                options `1` and `2`. specum puts its own in their place. No such \
                                tool: show the person what is said above, and stop.\n"
            .into(),
        (Approve(doc), true) => format!(
            "{} waits for the person: show them what it says, tell them to type `specum approve` \
             or `specum change <what>`, and stop.\n",
            doc.file()
        ),
        (Fix(doc), _) => format!(
            "{} is blocked. Tell the person, and stop: they correct the file, then `specum resume` \
             gives it another round.\n",
            doc.file()
        ),
        (Start, _) => format!("Every document is approved. {} begins the work.\n", implement(host)),
        (Nothing, _) => "Every document is written. Tell the person, and stop.\n".into(),
    }
}

/// What sends a session back in which a document is due.
pub fn continuation(
    host: Host,
    spec: SpecName<'_>,
    due: Due,
    news: &str,
    notice: Notice,
) -> String {
    let said = match notice {
        Notice::None | Notice::StillOpen => String::new(),
        Notice::Stalled { times, most } => {
            format!("Nothing has moved since your last stop ({times} of {most}). ")
        }
    };
    let SpecName { name, path } = spec;
    format!(
        "{news}\n{said}The planning of {name} ({path}) goes on.\n{}If you cannot go on, say why.\n",
        in_words(host, due)
    )
}

/// The line that a person reads beside it.
pub fn message(name: &str, due: Due, news: &str) -> String {
    let now = match due {
        Due::Author(doc) => format!("now {}", doc.file()),
        _ => "now the work".to_owned(),
    };
    match news.is_empty() {
        true => format!("{name}: {now}"),
        false => format!("{news} · {now}"),
    }
}

/// How a person goes on with a planning in a host.
fn go_on(host: Host, name: &str) -> String {
    match host.works_itself() {
        true => format!("\"Plan the spec {name}\""),
        false => "/ralph-specum:start".to_owned(),
    }
}

/// The line for a person who is free to go while a document is due.
pub fn waits(host: Host, name: &str, due: Due) -> String {
    let (at, go_on) = match due {
        Due::Author(doc) => (doc.file(), go_on(host, name)),
        _ => ("its first task", implement(host).to_owned()),
    };
    let cancel = cancel(host);
    format!("specum: the planning of {name} waits at {at}. {go_on} goes on, {cancel} ends it.")
}

/// The line for a person whose word a document waits for.
pub fn awaits_approval(host: Host, name: &str, doc: Doc) -> String {
    let file = doc.file();
    let (approve, change) = match host.works_itself() {
        true => ("`specum approve`".to_owned(), "`specum change <what>`".to_owned()),
        false => ("/ralph-specum:approve".to_owned(), format!("/ralph-specum:{doc} <what>")),
    };
    format!("specum: {name}: {file} waits for you. {approve} lets it go on, {change} changes it.")
}

/// The line for a person who has to correct a document.
pub fn document_blocked(name: &str, doc: Doc) -> String {
    let file = doc.file();
    format!(
        "specum: {name}: {file} has used its tries. Correct it (`specum check` says what is \
         wrong), then `specum resume` goes on."
    )
}

/// The line for a person whose plan is approved and not begun.
pub fn plan_is_ready(host: Host, name: &str) -> String {
    format!("specum: the plan of {name} is approved. {} begins the work.", implement(host))
}
