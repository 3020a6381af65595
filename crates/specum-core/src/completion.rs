//! Does the agent say that it has finished?
//!
//! Our own prompts name the words an agent is to say, so a search for them
//! finds itself. A claim counts only in the agent's own last message, alone on
//! its line, outside code.

use serde_json::Value;

use crate::line;

/// What an agent says when every task is done.
pub const ALL_TASKS_COMPLETE: &str = "ALL_TASKS_COMPLETE";
/// The same, in the form that the Ralph Loop plugin expects.
pub const PROMISE: &str = "<promise>ALL_TASKS_COMPLETE</promise>";
/// What an executor says at the end of its task.
pub const TASK_COMPLETE: &str = "TASK_COMPLETE";
/// What a qa-engineer says at the end of a check.
pub const VERIFICATION_PASS: &str = "VERIFICATION_PASS";
/// What a `qa-engineer` says when a check does not hold.
pub const VERIFICATION_FAIL: &str = "VERIFICATION_FAIL";

/// How much of the end of a transcript is read: more only if what was read before
/// held no message. The first is enough for most, and a hook pays for each page that
/// it fills.
pub const TRANSCRIPT_TAILS: [u64; 3] = [SHORT_TAIL, 32 * 1024, 512 * 1024];

/// The shortest of them. It holds a message of JSON lines, or tells nothing: of plain
/// text more counts.
const SHORT_TAIL: u64 = 8 * 1024;

/// Whether `word` stands alone on a line of a message, bare, bold, as a
/// heading or in a `<promise>` tag, outside fences.
pub fn says(message: &str, word: &str) -> bool {
    line::outside_fences(message.as_bytes())
        .any(|line| undecorated(&line::readable(line.trimmed())) == word)
}

/// Whether the Ralph Loop plugin takes a message for the end: the first
/// `<promise>` tag in it, wherever it stands, holds our word.
pub fn promises(message: &str) -> bool {
    let inner = message
        .split_once("<promise>")
        .and_then(|(_, rest)| rest.split_once("</promise>"))
        .map(|(inner, _)| inner.trim());
    inner == Some(ALL_TASKS_COMPLETE)
}

pub(crate) fn undecorated(line: &str) -> &str {
    let mut text = line.trim();
    if text.starts_with('#') {
        let hashes = text.len() - text.trim_start_matches('#').len();
        let rest = &text[hashes..];
        if hashes <= 6 && rest.starts_with(' ') {
            text = rest.trim();
        }
    }
    for (open, close) in [("**", "**"), ("__", "__"), ("<promise>", "</promise>"), ("**", "**")] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            text = inner.trim();
        }
    }
    text
}

/// The agent's last words, from the end of a transcript.
///
/// `from_start` says whether `tail` is the whole file. Of a transcript in JSON
/// lines the last assistant text counts; any other transcript is taken as
/// plain text, all of it the agent's.
pub fn last_message(tail: &[u8], from_start: bool, first_byte: Option<u8>) -> Option<String> {
    // The first line of a tail is the end of some line, and no message.
    let whole_lines = if from_start {
        tail
    } else {
        let cut = tail.iter().position(|&b| b == b'\n').map_or(tail.len(), |n| n + 1);
        &tail[cut..]
    };
    let lines: Vec<_> = line::lines(whole_lines).filter(|line| !line.is_blank()).collect();
    let mut is_jsonl = first_byte == Some(b'{');
    for line in lines.iter().rev() {
        let Ok(value) = serde_json::from_slice::<Value>(line.text) else { continue };
        if !value.is_object() {
            continue;
        }
        is_jsonl = true;
        if let Some(text) = assistant_text(&value) {
            return Some(text);
        }
    }
    let is_short = !from_start && tail.len() as u64 == SHORT_TAIL;
    (!is_jsonl && !is_short).then(|| line::readable(whole_lines))
}

/// The text of a transcript line, if the agent itself wrote it: Claude Code's
/// `{"type":"assistant","message":…}` or Codex's `{"payload":{"role":"assistant",…}}`.
fn assistant_text(entry: &Value) -> Option<String> {
    if entry["isSidechain"] == true {
        return None;
    }
    let candidates = [&entry["message"], &entry["payload"], entry];
    let message = candidates.into_iter().find(|message| message["role"] == "assistant")?;
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .filter(|block| matches!(block["type"].as_str(), Some("text" | "output_text")));
            texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(message: &str) -> bool {
        says(message, ALL_TASKS_COMPLETE)
    }

    #[test]
    fn a_claim_stands_alone_on_its_line() {
        for message in [
            "ALL_TASKS_COMPLETE",
            "Done.\n\n  ALL_TASKS_COMPLETE  \n",
            "**ALL_TASKS_COMPLETE**",
            "## ALL_TASKS_COMPLETE",
            "# **ALL_TASKS_COMPLETE**",
            "<promise>ALL_TASKS_COMPLETE</promise>",
            "**<promise>ALL_TASKS_COMPLETE</promise>**",
            "```\ncode\n```\r\nALL_TASKS_COMPLETE\r\n",
            "```one line``` of code\nALL_TASKS_COMPLETE",
        ] {
            assert!(claimed(message), "{message}");
        }
    }

    #[test]
    fn a_mention_is_no_claim() {
        for message in [
            "````\n```\nALL_TASKS_COMPLETE\n```\n````",
            "",
            "I will say ALL_TASKS_COMPLETE at the end",
            "`ALL_TASKS_COMPLETE`",
            "\"ALL_TASKS_COMPLETE\"",
            "> ALL_TASKS_COMPLETE",
            "- ALL_TASKS_COMPLETE",
            "```\nALL_TASKS_COMPLETE\n```",
            "~~~\nALL_TASKS_COMPLETE",
            "ALL_TASKS_COMPLETED",
            "NOT ALL_TASKS_COMPLETE",
            "all_tasks_complete",
            "#ALL_TASKS_COMPLETE",
        ] {
            assert!(!claimed(message), "{message}");
        }
    }

    #[test]
    fn the_first_promise_anywhere_ends_the_ralph_loop() {
        assert!(claimed(PROMISE) && promises(PROMISE));
        for message in [
            "All done: <promise>ALL_TASKS_COMPLETE</promise>, goodbye.",
            "<promise>\n  ALL_TASKS_COMPLETE\n</promise>",
            "```\n<promise>ALL_TASKS_COMPLETE</promise>\n```",
        ] {
            assert!(promises(message), "{message}");
        }
        for message in [
            "ALL_TASKS_COMPLETE",
            "<promise>ALL_TASKS_COMPLETE",
            "<promise>DONE</promise> <promise>ALL_TASKS_COMPLETE</promise>",
            "</promise>ALL_TASKS_COMPLETE<promise>",
            "",
        ] {
            assert!(!promises(message), "{message}");
        }
    }

    fn last(tail: &str) -> Option<String> {
        last_message(tail.as_bytes(), true, tail.bytes().next())
    }

    #[test]
    fn the_last_assistant_text_of_json_lines_counts() {
        let claude = concat!(
            r#"{"type":"user","message":{"role":"user","content":"say ALL_TASKS_COMPLETE"}}"#,
            "\n",
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"first"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"last"},{"type":"tool_use","id":"x"}]}}"#,
            "\n",
            r#"{"type":"assistant","isSidechain":true,"message":{"role":"assistant","content":[{"type":"text","text":"sub-agent"}]}}"#,
            "\n",
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"y"}]}}"#,
            "\n",
            r#"{"type":"user","message":{"role":"user","content":"Stop hook feedback"#,
        );
        assert_eq!(last(claude).as_deref(), Some("last"));
        let codex = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}"#;
        assert_eq!(last(codex).as_deref(), Some("hi"));
    }

    #[test]
    fn without_an_assistant_line_json_lines_say_nothing() {
        assert_eq!(
            last(
                "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\nALL_TASKS_COMPLETE\n"
            ),
            None
        );
        assert_eq!(last_message(b"rest of a long line}", false, Some(b'{')), None);
        assert_eq!(last_message(b"ALL_TASKS_COMPLETE", false, Some(b'{')), None);
    }

    #[test]
    fn any_other_transcript_is_plain_text() {
        assert_eq!(
            last("working\nALL_TASKS_COMPLETE\n").as_deref(),
            Some("working\nALL_TASKS_COMPLETE\n")
        );
        assert_eq!(last_message(b"torn\nwhole\n", false, Some(b'w')).as_deref(), Some("whole\n"));
    }

    #[test]
    fn of_plain_text_more_than_the_shortest_tail_counts() {
        let text = "word\n".repeat(20_000).into_bytes();
        let heard = TRANSCRIPT_TAILS.map(|length| {
            let tail = &text[text.len() - (length as usize).min(text.len())..];
            last_message(tail, tail.len() == text.len(), Some(b'w')).is_some()
        });
        assert_eq!(heard, [false, true, true]);
    }

    proptest::proptest! {
        #[test]
        fn a_message_is_found_behind_any_bytes(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300), from_start: bool) {
            let line = br#"{"message":{"role":"assistant","content":"the end"}}"#;
            let transcript = [&bytes, b"\n".as_slice(), line].concat();
            let found = last_message(&transcript, from_start, bytes.first().copied());
            proptest::prop_assert_eq!(found.as_deref(), Some("the end"));
        }
    }
}
