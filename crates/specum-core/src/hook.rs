//! What hosts tell their hooks, and what a hook answers.
//!
//! Claude Code, Codex and Gemini CLI send different fields for the same thing;
//! [`Input::parse`] makes one of them. The answer uses only the three keys that
//! all of them accept, because Codex rejects an answer with any other.

use serde::Serialize;
use serde_json::{Value, json};

/// A host with hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Host {
    /// Claude Code: sub-agents do the work.
    #[default]
    Claude,
    /// Codex: its own model does the work, in a sandbox in which nothing can be
    /// committed.
    Codex,
    /// Gemini CLI: its own model does the work, and its commands run without the
    /// user's git configuration.
    Gemini,
}

impl Host {
    /// Whether its own model does the work of a task: then the end of its turn is
    /// the end of the work, and the hook that is called there judges it.
    pub fn works_itself(self) -> bool {
        self != Host::Claude
    }
}

/// The host's words on standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    /// Who speaks.
    pub host: Host,
    /// The directory the session works in.
    pub cwd: String,
    /// The host's id of the session.
    pub session_id: Option<String>,
    /// Whether the turn goes on because a hook blocked an earlier stop.
    pub stop_hook_active: bool,
    /// The agent's last message, where the host sends it.
    pub last_message: Option<String>,
    /// Where the host keeps the transcript.
    pub transcript_path: Option<String>,
    /// Whether sub-agents are still running; the host wakes itself for them.
    pub agents_running: bool,
    /// Why a session starts: `startup`, `resume`, `clear`, `compact`.
    pub source: Option<String>,
    /// Why a session ends: `clear`, `other`, …
    pub reason: Option<String>,
    /// The tool that is, or was, called.
    pub tool_name: Option<String>,
    /// The host's id of the call.
    pub tool_use_id: Option<String>,
    /// What the tool is called with.
    pub tool_input: Value,
    /// What the tool answered.
    pub tool_response: Value,
    /// The sub-agent this is about, or that called; empty for the host's own.
    pub agent_type: Option<String>,
    /// Where the host keeps the sub-agent's transcript.
    pub agent_transcript_path: Option<String>,
    /// The sub-agent's own id, where there is one.
    pub agent_id: Option<String>,
    /// The host's id of the turn: the same in every event from one prompt that
    /// opens a turn to the next.
    pub turn_id: Option<String>,
    /// What was typed, or put in by the host, at the prompt.
    pub prompt: Option<String>,
    /// Why a call has failed.
    pub error: Option<String>,
    /// The slash command, such as `ralph-specum:implement`.
    pub command_name: Option<String>,
    /// Its arguments, as typed.
    pub command_args: Option<String>,
}

impl Input {
    /// Reads a hook's input. `None` when it is no JSON object or names no
    /// directory: then there is nothing to decide about.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let event = text("hook_event_name").unwrap_or_default();
        let host = match () {
            // Codex numbers its turns, and its transcripts are rollouts; Gemini CLI
            // tells the time.
            () if value.get("turn_id").is_some() => Host::Codex,
            () if is_rollout(text("transcript_path").as_deref()) => Host::Codex,
            () if value.get("timestamp").is_some() || event.ends_with("Agent") => Host::Gemini,
            () => Host::Claude,
        };
        Some(Input {
            host,
            cwd: text("cwd").filter(|cwd| !cwd.is_empty())?,
            session_id: text("session_id"),
            stop_hook_active: value["stop_hook_active"] == true,
            last_message: text("last_assistant_message").or_else(|| text("prompt_response")),
            transcript_path: text("transcript_path"),
            agents_running: value["background_tasks"].as_array().is_some_and(|tasks| {
                tasks.iter().any(|task| task["type"] == "subagent" && task["status"] == "running")
            }),
            source: text("source"),
            reason: text("reason"),
            tool_name: text("tool_name"),
            tool_use_id: text("tool_use_id"),
            tool_input: value["tool_input"].clone(),
            tool_response: value["tool_response"].clone(),
            agent_type: text("agent_type"),
            agent_transcript_path: text("agent_transcript_path"),
            agent_id: text("agent_id"),
            turn_id: text("prompt_id").or_else(|| text("turn_id")),
            prompt: text("prompt"),
            error: text("error"),
            command_name: text("command_name"),
            command_args: text("command_args"),
        })
    }
}

/// Whether a transcript is one of Codex.
fn is_rollout(path: Option<&str>) -> bool {
    let name = path.and_then(|path| path.rsplit(['/', '\\']).next());
    name.is_some_and(|name| name.starts_with("rollout-") && name.ends_with(".jsonl"))
}

/// Arguments as a person types them behind a command: separated by blanks and
/// line ends, with quotes and backslashes as in a shell, and nothing else that
/// a shell would do. `None` if a quote is not closed.
pub fn split_arguments(text: &str) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => quoted.push(chars.next()?),
                        other => quoted.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            blank if blank.is_whitespace() => arguments.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    arguments.extend(word);
    Some(arguments)
}

/// What a Stop hook answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookOutput {
    /// Nothing: the agent may stop.
    Silent,
    /// The agent may stop, and the person sees why.
    Tell(String),
    /// The agent goes on.
    Block {
        /// What the model reads.
        reason: String,
        /// What the person reads.
        system_message: String,
    },
    /// The same, for a host that takes it without showing an error.
    Guide {
        /// What the model reads, and the person sees as feedback.
        context: String,
        /// What the person reads.
        system_message: String,
    },
}

impl HookOutput {
    /// Says one thing more, to the model and to the person, if anything is said.
    pub fn add(&mut self, line: &str) {
        let (model, person) = match self {
            HookOutput::Silent => return,
            HookOutput::Tell(person) => (None, person),
            HookOutput::Block { reason: model, system_message: person }
            | HookOutput::Guide { context: model, system_message: person } => (Some(model), person),
        };
        if let Some(model) = model {
            model.truncate(model.trim_end().len());
            model.push_str(&format!("\n\n{line}\n"));
        }
        person.push_str(&format!("\n{line}"));
    }

    /// The line for standard output, empty for silence.
    pub fn render(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            decision: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
            system_message: &'a str,
        }
        let answer = match self {
            HookOutput::Silent => return String::new(),
            HookOutput::Guide { context, system_message } => {
                let output = json!({"hookEventName": "Stop", "additionalContext": context});
                let answer = json!({
                    "hookSpecificOutput": output,
                    "systemMessage": system_message,
                });
                return answer.to_string() + "\n";
            }
            HookOutput::Tell(text) => Answer { decision: None, reason: None, system_message: text },
            HookOutput::Block { reason, system_message } => {
                Answer { decision: Some("block"), reason: Some(reason), system_message }
            }
        };
        serde_json::to_string(&answer).expect("strings are JSON") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hosts_speak_of_one_thing() {
        let claude = br#"{"session_id":"s","transcript_path":"/t","cwd":"/p","stop_hook_active":true,"last_assistant_message":"hi","background_tasks":[{"type":"shell","status":"running"}],"new":1}"#;
        let expected = Input {
            cwd: "/p".into(),
            session_id: Some("s".into()),
            stop_hook_active: true,
            last_message: Some("hi".into()),
            transcript_path: Some("/t".into()),
            ..Input::default()
        };
        assert_eq!(Input::parse(claude), Some(expected.clone()));
        let codex = br#"{"session_id":"s","turn_id":"7","transcript_path":"/t","cwd":"/p","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"hi"}"#;
        let of_codex = Input { host: Host::Codex, turn_id: Some("7".into()), ..expected.clone() };
        assert_eq!(Input::parse(codex), Some(of_codex));
        let expected = Input { host: Host::Gemini, prompt: Some("x".into()), ..expected };
        let gemini = br#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"AfterAgent","prompt":"x","prompt_response":"hi","stop_hook_active":true}"#;
        assert_eq!(Input::parse(gemini), Some(expected));
    }

    #[test]
    fn only_running_sub_agents_count_as_running() {
        let running = |tasks: &str| {
            Input::parse(format!(r#"{{"cwd":"/p","background_tasks":{tasks}}}"#).as_bytes())
                .unwrap()
                .agents_running
        };
        assert!(running(
            r#"[{"type":"shell","status":"running"},{"type":"subagent","status":"running"}]"#
        ));
        assert!(!running(r#"[{"type":"subagent","status":"completed"}]"#));
        assert!(!running(r#"[{"type":"shell","status":"running"}]"#));
        assert!(!running("7"));
    }

    #[test]
    fn what_names_no_directory_is_no_input() {
        for text in ["", "x", "[]", "3", "{}", r#"{"cwd":7}"#, r#"{"cwd":""}"#] {
            assert_eq!(Input::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn arguments_are_split_and_nothing_else_happens_to_them() {
        let split = |text: &str| split_arguments(text).unwrap();
        assert_eq!(
            split(r#"demo --max 3  "a b" 'c "d"' e\ f "#),
            ["demo", "--max", "3", "a b", "c \"d\"", "e f"]
        );
        assert_eq!(
            split("$(touch x) `id` ;rm #1\nnext ''"),
            ["$(touch", "x)", "`id`", ";rm", "#1", "next", ""]
        );
        assert_eq!(split("```"), ["```"]);
        assert_eq!(split(""), Vec::<String>::new());
        assert_eq!(split_arguments("'open"), None);
        assert_eq!(split_arguments("end\\"), None);
    }

    #[test]
    fn answers_have_only_the_portable_keys() {
        assert_eq!(HookOutput::Silent.render(), "");
        assert_eq!(HookOutput::Tell("a".into()).render(), "{\"systemMessage\":\"a\"}\n");
        assert_eq!(
            HookOutput::Block { reason: "a\n\"b\"".into(), system_message: "c".into() }.render(),
            "{\"decision\":\"block\",\"reason\":\"a\\n\\\"b\\\"\",\"systemMessage\":\"c\"}\n"
        );
    }
}
