//! The class of an agent's failure, whichever agent it is.

use super::{Trouble, reset, text};
use crate::line;
use crate::sanitize::clean;
use crate::verify::ProcessEnd;

/// How much of the end of standard error is looked at.
const LAST_WORDS: usize = 4 * 1024;

/// What an HTTP status means. Some say nothing about the cause.
pub(super) fn by_status(status: u64, message: &str) -> Option<Trouble> {
    let why = text::reason(message);
    match status {
        401 | 403 => Some(Trouble::NotAuthenticated(why)),
        402 | 429 => Some(limited(message)),
        404 => Some(Trouble::Missing(why)),
        413 => Some(Trouble::ContextOverflow(why)),
        408 | 500..=599 => Some(Trouble::Server(why)),
        _ => None,
    }
}

/// A limit, and its end if the message names it.
pub(super) fn limited(message: &str) -> Trouble {
    Trouble::RateLimited { why: text::reason(message), reset: reset::in_words(message) }
}

/// The HTTP status in a message such as `unexpected status 401 Unauthorized`.
pub(super) fn status_in(message: &str) -> Option<u64> {
    let at = message.find("status")? + "status".len();
    let number = message[at..].trim_start_matches([':', ' ']).get(..3)?;
    number.parse().ok().filter(|status| (400..600).contains(status))
}

/// What an error's text means, for agents that give nothing else.
pub(super) fn by_words(message: &str) -> Option<Trouble> {
    let lower = line::head(message, LAST_WORDS).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    let why = || text::reason(message);
    if says(&TOO_LONG) {
        Some(Trouble::ContextOverflow(why()))
    } else if says(&LIMIT) {
        Some(limited(message))
    } else if says(&SIGN_IN) {
        Some(Trouble::NotAuthenticated(why()))
    } else if says(&[AS_ROOT]) {
        Some(Trouble::Missing(format!("{}. {NOT_AS_ROOT}", why())))
    } else if says(&CANNOT_START) {
        Some(Trouble::Missing(why()))
    } else if says(&SERVER) {
        Some(Trouble::Server(why()))
    } else {
        None
    }
}

const TOO_LONG: [&str; 6] = [
    "context window",
    "context_length_exceeded",
    "context length",
    "prompt is too long",
    "input token count",
    "maximum number of tokens",
];

const LIMIT: [&str; 8] = [
    "usage limit",
    "rate limit",
    "rate_limit",
    "quota",
    "too many requests",
    "resource_exhausted",
    "credit balance",
    "session limit",
];

const SIGN_IN: [&str; 11] = [
    "api key not valid",
    "invalid api key",
    "incorrect api key",
    "invalid_api_key",
    "invalid x-api-key",
    "api key is missing",
    "not logged in",
    "please run /login",
    "unauthorized",
    "failed to authenticate",
    "set an auth method",
];

const CANNOT_START: [&str; 3] = ["model not found", "model_not_found", "modelnotfound"];

/// What Claude Code says to root, whose permission prompts it does not turn off.
const AS_ROOT: &str = "cannot be used with root";
const NOT_AS_ROOT: &str =
    "Run specum as another user, or set IS_SANDBOX=1 if this is a container or a sandbox";

const SERVER: [&str; 9] = [
    "overloaded",
    "high demand",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "stream disconnected",
    "error sending request",
    "unable to connect",
    "timed out",
];

/// What it means that an agent ended without a last word. `began` says whether
/// it has printed anything that makes sense.
pub(super) fn without_answer(ended: &ProcessEnd, stderr: &str, began: bool) -> Trouble {
    let said = last_words(stderr);
    match ended {
        ProcessEnd::NotStarted(why) => Trouble::Missing(text::reason(why)),
        ProcessEnd::TimedOut(seconds) => Trouble::Timeout(*seconds),
        ProcessEnd::Signal(signal) => {
            Trouble::Crash(with(&format!("ended by signal {signal}"), &said))
        }
        ProcessEnd::Code(code) => {
            let how = format!("ended with code {code} and without an answer");
            by_words(&said).unwrap_or_else(|| match code {
                // It refused its arguments or its configuration: the same call
                // will end in the same way. Codes from 128 are signals.
                1..128 if !began => Trouble::Missing(with(&how, &said)),
                _ => Trouble::Crash(with(&how, &said)),
            })
        }
    }
}

fn with(how: &str, said: &str) -> String {
    if said.is_empty() { how.to_owned() } else { format!("{how}: {said}") }
}

/// The end of standard error on one line, without the frames of a stack trace,
/// which tell a person nothing.
pub(super) fn last_words(stderr: &str) -> String {
    let stderr = clean(line::tail(stderr, LAST_WORDS));
    let telling = |line: &&str| !line.is_empty() && !line.starts_with("at ") && *line != "}";
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(telling).collect();
    let last = &lines[lines.len().saturating_sub(4)..];
    text::reason(&last.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::FailureClass;

    #[test]
    fn a_status_is_found_where_a_message_names_it() {
        assert_eq!(status_in("unexpected status 401 Unauthorized: no"), Some(401));
        assert_eq!(status_in("exceeded retry limit, last status: 429 Too Many"), Some(429));
        assert_eq!(status_in("status"), None);
        assert_eq!(status_in("status ééé"), None);
        assert_eq!(status_in("status 200"), None);
    }

    #[test]
    fn words_tell_the_class() {
        let class = |message: &str| by_words(message).map(|trouble| trouble.class());
        assert_eq!(
            class("Prompt is too long · 250000 tokens"),
            Some(FailureClass::ContextOverflow)
        );
        assert_eq!(class("You’ve hit your usage limit."), Some(FailureClass::RateLimit));
        assert_eq!(class("Credit balance is too low"), Some(FailureClass::RateLimit));
        assert_eq!(
            class("API key not valid. Please pass a valid API key."),
            Some(FailureClass::Authentication)
        );
        assert_eq!(class("We’re currently experiencing high demand"), Some(FailureClass::Server));
        assert_eq!(class("something else"), None);
    }

    #[test]
    fn an_end_without_an_answer_tells_how_and_why() {
        let trouble = |ended: ProcessEnd, stderr: &str, began: bool| {
            without_answer(&ended, stderr, began).message()
        };
        let stderr = "\u{1b}[31merror: unknown option '--x'\u{1b}[0m\n    at main (a.js:1:2)\n}\n";
        insta::assert_snapshot!(
            [
                trouble(ProcessEnd::Code(1), stderr, false),
                trouble(ProcessEnd::Code(1), "", true),
                trouble(ProcessEnd::Code(143), "", false),
                trouble(ProcessEnd::Signal(9), "", true),
                trouble(ProcessEnd::TimedOut(60), "", true),
                trouble(ProcessEnd::NotStarted("not found".into()), "", false),
                trouble(ProcessEnd::Code(1), "Not logged in", false),
            ]
            .join("\n"),
            @r"
        the agent cannot be started: ended with code 1 and without an answer: error: unknown option '--x'
        the agent broke off: ended with code 1 and without an answer
        the agent broke off: ended with code 143 and without an answer
        the agent broke off: ended by signal 9
        the agent did not end within 60 seconds
        the agent cannot be started: not found
        the agent is not signed in: Not logged in
        "
        );
    }
}
