//! Claude Code.

use std::path::Path;

use serde_json::json;
use specum_core::agent::{Reset, Sign, Trouble};

use super::{STOP_HOOK, assert_one_command, class, long_brief};
use crate::host::{self, Workplace};
use crate::model::{Block, Gate, Model, Reply};

fn workplace(program: &Path, model: &Model) -> Workplace {
    let place = Workplace::new("claude", program.to_owned())
        .env("ANTHROPIC_BASE_URL", &model.url())
        .env("ANTHROPIC_API_KEY", "sk-mock")
        .env("DISABLE_TELEMETRY", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        // Lets root skip the permissions, as in most containers.
        .env("IS_SANDBOX", "1");
    let home = place.home().display().to_string();
    place.env("CLAUDE_CODE_TMPDIR", &home)
}

#[test]
fn an_attempt_is_seen_and_comes_to_its_answer() {
    for program in host::claudes() {
        let model = Model::start(|request| {
            if request.assistant_turns() == 0 {
                Reply::message(vec![
                    Block::text("let me see"),
                    Block::tool("Bash", json!({"command": "echo done > made"})),
                ])
            } else {
                Reply::text("I made it.\n\nTASK_COMPLETE")
            }
        });
        let place = workplace(&program, &model);

        let (signs, report) = place.work("make it", Some("claude-sonnet-4-5"));

        assert_one_command(&signs, &report, "Bash: echo done > made");
        assert_eq!(signs[0], Sign::Text { text: "let me see".into() });
        assert!(report.usage.and_then(|used| used.cost).is_some_and(|cost| cost > 0.0));
        assert!(place.project().join("made").exists());
        assert_eq!(model.requests()[0].body["model"], "claude-sonnet-4-5");
    }
}

#[test]
fn a_long_brief_arrives_whole() {
    for program in host::claudes() {
        let model = Model::start(|_| Reply::text("read"));
        let place = workplace(&program, &model);
        let brief = long_brief();

        let (_, report) = place.work(&brief, None);

        assert_eq!(report.result, "read");
        assert!(model.requests()[0].last_user_text().contains(&brief));
    }
}

#[test]
fn a_wrong_key_is_no_sign_in_and_soon_known() {
    for program in host::claudes() {
        let model =
            Model::start(|_| Reply::error(401, "authentication_error", "invalid x-api-key"));
        let place = workplace(&program, &model);

        let (signs, report) = place.work("hello", None);

        assert_eq!(class(&report), "authentication");
        let retries = signs.iter().filter(|sign| matches!(sign, Sign::Retrying { .. })).count();
        assert_eq!((retries, model.requests().len()), (2, 3));
    }
}

#[test]
fn a_limit_without_an_end_is_one() {
    for program in host::claudes() {
        let model = Model::start(|_| {
            Reply::error(429, "rate_limit_error", "Slow down").header("retry-after", "3600")
        });
        let place = workplace(&program, &model);

        let (_, report) = place.work("hello", None);

        assert!(
            matches!(&report.trouble, Some(Trouble::RateLimited { reset: None, why }) if why.contains("Slow down"))
        );
    }
}

#[test]
fn a_subscription_tells_when_its_limit_ends() {
    for program in host::claudes() {
        let model = Model::start(|_| {
            Reply::error(429, "rate_limit_error", "Slow down")
                .header("anthropic-ratelimit-unified-status", "rejected")
                .header("anthropic-ratelimit-unified-reset", "4102444800")
                .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
        });
        let place = workplace(&program, &model);
        let place = place.env("CLAUDE_CODE_OAUTH_TOKEN", "mock").env("ANTHROPIC_API_KEY", "");

        let (_, report) = place.work("hello", None);

        let Some(Trouble::RateLimited { reset, .. }) = report.trouble else { panic!("{report:?}") };
        assert_eq!(reset, Some(Reset::At(4_102_444_800)));
    }
}

#[test]
fn other_failures_are_told_apart() {
    for program in host::claudes() {
        for (status, kind, message, expected) in [
            (500, "api_error", "Internal server error", "server"),
            (
                400,
                "invalid_request_error",
                "prompt is too long: 9 tokens > 8 maximum",
                "context-overflow",
            ),
            (
                400,
                "invalid_request_error",
                "Your credit balance is too low to access",
                "rate-limit",
            ),
            (404, "not_found_error", "model: nope", "missing"),
        ] {
            let model = Model::start(move |_| Reply::error(status, kind, message));
            let place = workplace(&program, &model);
            assert_eq!(class(&place.work("hello", None).1), expected, "{message}");
        }
    }
}

#[test]
fn ended_without_an_answer_it_broke_off() {
    for program in host::claudes() {
        let never = Gate::new(1);
        let model = Model::start(move |_| Reply::text("too late").after(&never));
        let place = workplace(&program, &model);

        let at_work = place.start(&place.call("hello", None));
        model.wait_until(|requests| requests.len() == 1);

        assert_eq!(class(&at_work.end().1), "crash");
    }
}

#[test]
fn hooks_of_the_person_and_of_plugins_do_not_run() {
    for program in host::claudes() {
        let model = Model::start(|_| Reply::text("I stop here"));
        let place = workplace(&program, &model);
        let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh \"$HOME/stop.sh\""}]}]}}"#;
        place.write("home/stop.sh", STOP_HOOK);
        place.write("home/.claude/settings.json", hooks);
        place.write("home/.claude/CLAUDE.md", "Always be kind.");
        place.write("home/plugin/.claude-plugin/plugin.json", r#"{"name": "probe"}"#);
        place.write("home/plugin/hooks/hooks.json", hooks);
        let mut call = place.call("hello", None);
        call.args
            .extend(["--plugin-dir".into(), place.home().join("plugin").display().to_string()]);
        let trace = place.home().join("hook-ran");

        place.start(&call).wait();

        assert!(!trace.exists());
        let [request] = model.requests().try_into().expect("one request");
        assert!(request.mentions("Always be kind."), "the person's instructions still count");

        // Without the switch they do.
        let switch = call.args.iter().position(|arg| arg == "--settings").expect("the switch");
        call.args.drain(switch..switch + 2);
        place.start(&call).wait();

        let runs = std::fs::read_to_string(&trace).expect("they ran").lines().count();
        assert_eq!(runs, 4, "the person's and the plugin's, at both stops");
    }
}
