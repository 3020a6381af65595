use jiff::tz::TimeZone;
use pulldown_cmark::{Event, Options, Parser, Tag};
use specum_core::look::{LookAt, Piece, Sign};
use specum_core::patch::{FilePatch, PatchKind};
use specum_core::report::{
    AgentTotal, Asked, Attempt, Commit, Evidence, Mark, Report, Requirement, Said, Stands, Task,
    TaskStands, Told, Tone, Totals,
};
use specum_core::summary::{AttemptResult, LineCounts, Spent};
use specum_core::timeline::{PhaseSpan, Span, Timeline, WaitSpan};

use super::{Form, Length, render};

/// What begins or ends something in one of the forms.
const HOSTILE: [&str; 16] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</details></pre></title></style><h1>big</h1>",
    "\"><svg onload=alert(1)>",
    "' onclick='alert(1)' x='",
    "]]>&lt;&#60;&nbsp;",
    "<meta http-equiv=refresh content='0;url=http://example.invalid'>",
    "{{7*7}}${7*7}<%= 7 %>",
    "![x](http://example.invalid/x.png) [link](javascript:alert(1))",
    "@octocat #123 GH-1 https://example.invalid www.example.invalid a@example.invalid",
    "| a | b |\n|---|---|\n| c | d |",
    "``` `code` ~~~ ``",
    "# heading\n- list\n> quote\n\n    code",
    "--><!-- -->",
    "<!DOCTYPE x [<!ENTITY a \"b\">]>&a;",
    "*bold* _em_ ~~gone~~ ==x== $x$ \\",
];

/// A report in which every text of others is this one.
fn hostile(text: &str) -> Report {
    let t = || text.to_owned();
    let spent = Spent { tokens: Some(1_000), cost: Some(0.5), estimated: true };
    let why = vec![vec![Piece::Text("Changed ".into()), Piece::Code(t()), Piece::Task(t())]];
    let attempt = |place, result| Attempt {
        place,
        from: Some(1_000),
        until: Some(61_000),
        result,
        agents: vec![t()],
        spent,
        reasons: vec![t()],
        sent_back: vec![t()],
        output: t(),
        check: Some(t()),
        kept: Some(t()),
        words: vec![Said::Words(t()), Said::Tool(t()), Said::LeftOut, Said::Trouble(t())],
    };
    let file = |kind, is_cut| FilePatch {
        path: t(),
        from: Some(t()),
        kind,
        added: 1,
        removed: 2,
        text: if is_cut { String::new() } else { t() },
        is_cut,
        hides_something: true,
    };
    let task = |state| Task {
        id: t(),
        title: t(),
        phase: 0,
        state,
        line: 1,
        fixes: Some(t()),
        marks: vec![
            Mark::Unproved,
            Mark::BySuite,
            Mark::GreenBefore,
            Mark::ByPerson,
            Mark::Outside,
            Mark::Fixes,
        ],
        asked: vec![
            Asked { name: "Do".into(), text: t(), is_code: false },
            Asked { name: "Verify".into(), text: t(), is_code: true },
        ],
        attempts: vec![
            attempt(1, AttemptResult::Failed),
            attempt(2, AttemptResult::SetAside),
            attempt(3, AttemptResult::Passed),
        ],
        evidence: vec![Evidence { is_good: false, what: vec![Piece::Code(t())] }],
        commits: vec![Commit {
            id: t(),
            subject: t(),
            files: vec![file(PatchKind::New, false), file(PatchKind::Binary, true)],
            is_there: true,
        }],
        changes: Some(LineCounts { files: 1, added: 1, removed: 2 }),
        spent,
        millis: 60_000,
        notes: vec![t()],
    };
    let span = Span {
        task: 0,
        place: 1,
        lane: 0,
        from: 1_000,
        until: 61_000,
        worked: vec![(1_000, 61_000)],
        result: AttemptResult::Failed,
    };
    Report {
        spec: t(),
        place: t(),
        version: "1.0.0".into(),
        made: 61_000,
        standing: Stands::Blocked,
        why: t(),
        branch: Some(t()),
        commits: Some((t(), t())),
        totals: Totals {
            done: 1,
            tasks: 2,
            agents: vec![AgentTotal { agent: t(), spent }],
            spent,
            ..Totals::default()
        },
        look: vec![LookAt { task: 0, weight: 1, sign: Sign::Failed, why }],
        timeline: Timeline {
            from: 1_000,
            until: 61_000,
            lanes: 1,
            spans: vec![span],
            waits: vec![WaitSpan { from: 1_000, until: 2_000, agent: t(), why: t() }],
            phases: vec![PhaseSpan { phase: 0, from: 1_000, until: 61_000 }],
            gaps: vec![],
        },
        phases: vec![t()],
        tasks: vec![task(TaskStands::Done), task(TaskStands::Failed), task(TaskStands::Open)],
        story: vec![Told {
            at: Some(1_000),
            tone: Tone::Bad,
            what: vec![Piece::Task(t())],
            why: t(),
        }],
        learned: t(),
        requirements: vec![Requirement { id: t(), text: t(), tasks: vec![t()], is_proven: false }],
    }
}

/// What stands in a page between `<` and `>`, and how often.
fn elements(page: &str) -> Vec<String> {
    let of_script = page.find("<script>").expect("our own");
    let inside = |begin: usize, end: &str| begin + page[begin..].find(end).expect("it ends");
    let style = page.find("<style>").expect("our own");
    let (style, script) =
        ((style, inside(style, "</style>")), (of_script, inside(of_script, "</script>")));
    let own = |at: usize| (style.0 < at && at < style.1) || (script.0 < at && at < script.1);
    let tags = page.match_indices('<').filter(|(at, _)| !own(*at));
    let name = |(at, _): (usize, &str)| {
        let rest = &page[at + 1..];
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '/' || *c == '!').collect()
    };
    // A reason may have code in it, in backquotes.
    tags.map(name).filter(|name: &String| name.trim_start_matches('/') != "code").collect()
}

#[test]
fn no_text_of_others_makes_an_element_of_the_page() {
    let plain = elements(&render(&hostile("plain"), Form::Html, &TimeZone::UTC));
    for text in HOSTILE {
        let page = render(&hostile(text), Form::Html, &TimeZone::UTC);
        assert_eq!(elements(&page), plain, "{text}");
    }
}

#[test]
fn no_text_of_others_makes_anything_of_the_markdown() {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for text in HOSTILE {
        let markdown = render(&hostile(text), Form::Markdown(Length::Full), &TimeZone::UTC);
        let mut in_code = false;
        for event in Parser::new_ext(&markdown, options) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
                Event::Start(
                    tag @ (Tag::Link { .. }
                    | Tag::Image { .. }
                    | Tag::BlockQuote(_)
                    | Tag::Emphasis
                    | Tag::Strikethrough),
                ) => {
                    // Marks stand in emphasis of ours.
                    assert!(matches!(tag, Tag::Emphasis), "{text}: {tag:?}\n{markdown}");
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    let ours = ["<details>", "</details>", "<summary>", "</summary>"];
                    let tags = html.matches('<').count();
                    let own: usize = ours.iter().map(|tag| html.matches(tag).count()).sum();
                    assert_eq!(tags, own, "{text}: {html}");
                }
                Event::Text(said) if !in_code => {
                    for pinged in ["@octocat", "#123", "://", "www.example", "@example"] {
                        assert!(!said.contains(pinged), "{text}: {said}");
                    }
                }
                _ => {}
            }
        }
        let headings = Parser::new_ext(&markdown, options)
            .filter(|event| matches!(event, Event::Start(Tag::Heading { .. })));
        assert_eq!(headings.count(), 2, "{text}\n{markdown}");
    }
}

#[test]
fn a_brief_fits_into_the_body_of_a_pull_request_whatever_there_is_to_tell() {
    let mut report = hostile(&"long ".repeat(100));
    let task = report.tasks[1].clone();
    report.tasks.extend(std::iter::repeat_n(task, 500));
    let brief = render(&report, Form::Markdown(Length::Brief), &TimeZone::UTC);
    assert!(brief.len() <= 60_000 && brief.contains("than fit here"), "{}", brief.len());
    assert!(!brief.contains("Trouble"));
}

#[test]
fn every_text_of_others_stands_in_the_xml_as_it_is() {
    for text in HOSTILE.iter().chain(&["\u{1b}[1m\u{0}\u{ffff}x"]) {
        let xml = render(&hostile(text), Form::Junit, &TimeZone::UTC);
        let document =
            roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}\n{xml}"));
        let cases: Vec<_> =
            document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
        assert_eq!(cases.len(), 3);
        let count =
            |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        assert_eq!(
            (count("failure"), count("flakyFailure"), count("skipped")),
            (2, 1, 0),
            "{text}"
        );
        let seen: String = text.chars().filter(|c| !c.is_control() && *c != '\u{ffff}').collect();
        let said = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
        let said: String = said.text().unwrap_or_default().chars().filter(|c| *c != '\n').collect();
        assert_eq!(said, seen);
    }
}

#[test]
fn the_largest_diffs_give_way_where_a_page_would_become_too_large() {
    let mut report = hostile("x");
    let file =
        FilePatch { path: "a".into(), text: "+<<<<<<<\n".repeat(5_000), ..FilePatch::default() };
    let small =
        FilePatch { path: "small".into(), text: "@@ kept @@\n".into(), ..FilePatch::default() };
    let commit = Commit { id: "c".into(), subject: "s".into(), files: vec![file], is_there: true };
    let task = Task { commits: vec![commit; 3], ..report.tasks[0].clone() };
    report.tasks = vec![task; 100];
    report.tasks[0].commits[0].files.push(small);
    let page = render(&report, Form::Html, &TimeZone::UTC);
    assert!(page.len() < 25 * 1024 * 1024, "{}", page.len());
    assert!(page.contains("@@ kept @@") && page.contains("It is too long to be shown here"));
}

#[test]
fn a_report_of_nothing_is_a_page_a_text_and_a_file_all_the_same() {
    let report = Report::default();
    for form in [Form::Html, Form::Markdown(Length::Full), Form::Junit] {
        assert!(render(&report, form, &TimeZone::UTC).contains("0") || form != Form::Junit);
    }
}

#[test]
fn times_are_shown_in_the_users_zone() {
    let zone = TimeZone::fixed(jiff::tz::offset(5));
    let page = render(&hostile("x"), Form::Html, &zone);
    assert!(page.contains("05:00–05:01"), "as it is there at that moment");
}
