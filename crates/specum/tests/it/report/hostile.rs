//! Hostile text in whatever a report is made from, in a real Chromium: it is seen, and does
//! nothing.

use std::fs;
use std::path::Path;

use harness::browser::Browser;
use harness::run::works;
use serde_json::Value;

use super::page;
use crate::world::{JOURNAL, PROGRESS, TASKS, World};

/// What begins or ends something in a page, and what moves or hides text.
const HOSTILE: [&str; 9] = [
    "<script>document.title='owned'</script>",
    "<img src=http://127.0.0.1:9/x onerror=document.title='owned'>",
    "</details></pre></style></script><h1>big</h1>",
    "\"><svg onload=document.title='owned'>",
    "' onfocus='document.title=1' autofocus='",
    "]]>{{7*7}}${7*7}<%= 7 %>&lt;b&gt;",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<base href=http://127.0.0.1:9/><form action=http://127.0.0.1:9/>",
    "a\u{202e}b\u{0}c\u{1b}[31md\u{2028}e\u{fffd}",
];

/// The elements of a page of ours, and what they may have.
const STRANGE: &str = "(()=>{const ours=new Set('HTML HEAD META TITLE STYLE SCRIPT BODY DIV HEADER \
    SPAN B BUTTON MAIN I H1 H2 H3 H4 P STRONG DL DT DD SMALL SECTION UL OL LI A DETAILS SUMMARY \
    svg title defs pattern line g rect text a INPUT CODE PRE TIME FOOTER'.split(' '));\
    const bad=[];for(const e of document.querySelectorAll('*')){if(!ours.has(e.tagName))bad.push(e.tagName);\
    for(const a of e.attributes){if(/^on|^style$|^src$|^action$/.test(a.name))bad.push(a.name);\
    if(a.name==='href'&&!a.value.startsWith('#'))bad.push(a.value)}}\
    if(document.querySelectorAll('script,style').length!==2)bad.push('scripts');return bad.join(' ')})()";

/// A value with something behind every text of it but those that say what a record is.
fn poisoned(value: &Value, poison: &str) -> Value {
    let kept = [
        "event", "at", "class", "layers", "proof", "outcome", "id", "commit", "log", "run", "hash",
    ];
    match value {
        Value::String(text) => format!("{text}{poison}").into(),
        Value::Array(items) => items.iter().map(|item| poisoned(item, poison)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| match kept.contains(&name.as_str()) || name == "changes" {
                    true => (name.clone(), value.clone()),
                    false => (name.clone(), poisoned(value, poison)),
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

/// A loop in which plan, file names, contents, messages, words of the agent, output of the
/// check and learnings are hostile.
fn world(text: &str) -> World {
    let line = text.replace(['\u{0}', '\u{2028}', '\u{1b}'], "");
    let world = World::planned(format!(
        "# Plan {line}\n\n## Phase {line}\n\n- [ ] 1.1 Title {line}\n  - **Do**: do {line}\n  \
         - **Files**: f {line}\n  - **Done when**: {line}\n  - **Verify**: `cat f* ; test -f done`\n  \
         - **Commit**: `feat: {}`\n",
        line.replace('`', "")
    ));
    fs::write(world.home().join("text"), text.replace('\u{0}', "")).unwrap();
    let name = text.replace(['/', '\u{0}'], "_");
    fs::write(world.home().join("name"), name).unwrap();
    world.write(PROGRESS, format!("# P\n\n## Learnings\n\n- {line}\n"));
    world.commit_all();
    let script = "name=$(cat \"$HOME/name\"); cat \"$HOME/text\" > \"f$name\"; cat \"$HOME/text\"\n\
        [ \"$SPECUM_ATTEMPT\" = 1 ] || touch done\necho; echo TASK_COMPLETE";
    works(&world, script, &[]).exits(0);
    world
}

#[track_caller]
fn is_harmless(browser: &mut Browser, file: &Path, what: &str) {
    browser.open(file);
    browser.eval("document.querySelectorAll('details').forEach(d=>d.open=true)");
    browser.eval("new Promise(done=>requestAnimationFrame(()=>setTimeout(done)))");
    assert_eq!(browser.eval(STRANGE), "", "{what}");
    assert_eq!(browser.eval("window.refused.join()"), "", "{what}: refused by the policy");
    assert_ne!(browser.eval("document.title"), "owned", "{what}");
    assert_eq!(browser.seen("Page.javascriptDialogOpening").len(), 0, "{what}");
    let requests = browser.seen("Network.requestWillBeSent");
    assert_eq!(requests.len(), 1, "{what}: only itself is loaded: {requests:?}");
    let navigated = browser.seen("Page.frameNavigated");
    assert_eq!(navigated.len(), 1, "{what}: nothing leads away");
}

#[test]
fn hostile_text_in_plan_files_messages_words_and_output_is_seen_and_does_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    for text in HOSTILE {
        let world = world(text);
        let file = page(&world);
        is_harmless(&mut browser, &file, text);
        let seen = browser.eval("document.body.textContent");
        let seen = seen.as_str().unwrap();
        let expected = match text.contains('\u{202e}') {
            true => "a⟨U+202E⟩b".to_owned(),
            false => text.to_owned(),
        };
        assert!(seen.contains(&expected), "{text} is not seen");
    }
}

#[test]
fn hostile_text_in_every_string_of_a_journal_does_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let world = world("plain");
    let journal = world.read(JOURNAL);
    for text in HOSTILE {
        let lines = journal.lines().map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            poisoned(&record, text).to_string() + "\n"
        });
        world.write(JOURNAL, lines.collect::<String>());
        is_harmless(&mut browser, &page(&world), text);
    }
}

#[test]
fn a_line_of_a_megabyte_and_half_a_character_are_shown_in_bounds() {
    let world =
        World::planned("# Plan\n\n- [ ] 1.1 Do it\n  - **Do**: it\n  - **Verify**: `cat long`\n");
    let script = "head -c 1000000 /dev/zero | tr '\\0' x > long; printf '\\303' >> long\n\
        cat long; echo; echo TASK_COMPLETE";
    works(&world, script, &[]).exits(0);
    let file = page(&world);
    assert!(fs::metadata(&file).unwrap().len() < 500_000);
    assert!(world.read(TASKS).contains("- [x] 1.1"));
    let Some(mut browser) = Browser::start() else { return };
    is_harmless(&mut browser, &file, "a long line");
}
