use proptest::prelude::*;

use super::*;

/// A transcript in lines, each behind a sign for what it is.
fn read(agent: Option<&str>, output: &str) -> String {
    let mut transcript = Transcript::of(agent);
    let lines = output.lines().filter(|line| !line.starts_with("=== "));
    let mut spoken: Vec<Spoken> = lines.flat_map(|line| transcript.line(line.as_bytes())).collect();
    spoken.extend(transcript.end());
    let shown = spoken.into_iter().map(|piece| match piece {
        Spoken::Words(text) => format!("says {text:?}"),
        Spoken::Call(text) => format!("calls {text:?}"),
        Spoken::Result { text, is_error: false } => format!("gets {text:?}"),
        Spoken::Result { text, is_error: true } => format!("fails {text:?}"),
        Spoken::Note(text) => format!("notes {text:?}"),
        Spoken::Trouble(text) => format!("has trouble {text:?}"),
        Spoken::Printed(text) => format!("prints {text:?}"),
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The same, once by name and once by its first event.
fn whole_run(agent: &str, output: &str) -> String {
    let named = read(Some(agent), output);
    assert_eq!(read(None, output), named, "{agent}");
    named
}

/// A line of a stream in which an agent says anything.
fn spoken_line() -> impl Strategy<Value = Vec<u8>> {
    any::<String>().prop_flat_map(|text| {
        let content = json!([{"type": "text", "text": text}]);
        let lines = [
            json!({"type": "assistant", "message": {"content": content}}),
            json!({"type": "message", "role": "assistant", "content": text}),
            json!({"type": "text", "part": {"text": text}}),
            json!({"type": "error", "message": text}),
        ];
        prop::sample::select(lines.map(|line| line.to_string().into_bytes()).to_vec())
    })
}

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("samples/", $name))
    };
}

#[test]
fn claude_code_is_read() {
    insta::assert_snapshot!(whole_run("claude", sample!("claude.jsonl")), @r#"
    says "I run the tests first.\nThen I fix them."
    calls "Bash: cargo test"
    fails "Exit code 101\ntest a ... FAILED"
    notes "waits: overloaded"
    calls "Edit: src/lib.rs"
    gets "The file src/lib.rs has been updated."
    says "all done"
    has trouble "API Error: Request rejected (429)"
    "#);
}

#[test]
fn codex_is_read() {
    insta::assert_snapshot!(whole_run("codex", sample!("codex.jsonl")), @r#"
    notes "Model metadata for `gpt-5` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."
    says "t"
    calls "Bash: echo HI-$((1+1)); exit 3"
    fails "HI-2\nexit code 3"
    calls "Edit: src/a.rs"
    calls "Edit: src/b.rs"
    notes "Reconnecting... 1/1 (unexpected status 500)"
    says "fin"
    has trouble "unexpected status 401 Unauthorized: mock error 401"
    "#);
}

#[test]
fn gemini_cli_is_read() {
    insta::assert_snapshot!(whole_run("gemini", sample!("gemini.jsonl")), @r#"
    says "t"
    calls "run_shell_command: echo HI; exit 3"
    gets "HI"
    notes "Agent execution blocked: go on"
    says "Done.\nTASK_COMPLETE"
    has trouble "[API Error: API key not valid. Please pass one.]"
    "#);
}

#[test]
fn opencode_is_read() {
    insta::assert_snapshot!(whole_run("opencode", sample!("opencode.jsonl")), @r#"
    says "let me"
    calls "bash: ls"
    gets "a.txt\nb.txt"
    calls "read: c.txt"
    fails "File not found: c.txt"
    says "fin"
    has trouble "mock error"
    "#);
}

#[test]
fn what_is_no_event_stands_as_it_is() {
    let printed = "one\ntwo \n{\"type\":\"system\"}\n";
    assert_eq!(
        read(Some("command"), printed),
        "prints \"one\"\nprints \"two \"\nprints \"{\\\"type\\\":\\\"system\\\"}\""
    );
    assert_eq!(read(Some("claude"), "error: unknown option\n"), "prints \"error: unknown option\"");
    assert_eq!(read(None, "{\"a\":1}\n"), "prints \"{\\\"a\\\":1}\"");
}

proptest! {
    #[test]
    fn no_log_is_too_strange(
        agent in prop::sample::select(vec!["claude", "codex", "gemini", "opencode", "x"]),
        lines in prop::collection::vec(prop_oneof![any::<Vec<u8>>(), spoken_line()], 0..8),
    ) {
        let mut transcript = Transcript::of(Some(agent));
        let mut spoken: Vec<Spoken> = lines.iter().flat_map(|line| transcript.line(line)).collect();
        spoken.extend(transcript.end());
        for piece in spoken {
            // What is no part of a stream stands as it is.
            let (Spoken::Words(text)
            | Spoken::Call(text)
            | Spoken::Result { text, .. }
            | Spoken::Note(text)
            | Spoken::Trouble(text)) = piece
            else {
                continue;
            };
            let steers = |c: char| c != '\n' && c != '\t' && sanitize::is_hidden(c);
            prop_assert!(!text.contains(steers), "{:?}", text);
        }
    }
}
