//! `.claude/ralph-specum.local.md`: whatever stands there, the settings are
//! usable, and a mistake in one key costs no other.

use specum_core::settings::{self, RunSettings};

const MISTAKE: &str = "zzz_nobody_knows: 1\n";

pub fn hold(text: &[u8]) {
    let (found, problems) = settings::parse(text);
    assert!((1..=64).contains(&found.max_parallel));
    is_usable(&found.run);
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    for problem in &problems {
        assert!((1..=lines).contains(&problem.line), "line {} of {lines}", problem.line);
        assert!(!problem.message.contains('\n'), "a problem is told in one line");
    }
    let Some(body) = text.strip_prefix(b"---\n") else { return };
    line_ends_do_not_matter(text, (&found, problems.len()));
    let mistaken = [b"---\n", MISTAKE.as_bytes(), body].concat();
    let (same, more) = settings::parse(&mistaken);
    // What stands in front of the first key belongs to the mistake now.
    if body.first().is_some_and(u8::is_ascii_alphabetic) {
        assert_eq!(same, found, "a mistake in one key costs no other");
        assert!(more.len() > problems.len());
    }
}

fn is_usable(run: &RunSettings) {
    let spans = [run.task_timeout, run.idle_timeout, run.max_time];
    assert!(spans.iter().flatten().all(|millis| *millis > 0));
    let counts = [run.max_task_iterations, run.max_global_iterations, run.max_tokens];
    assert!(counts.iter().flatten().all(|count| *count > 0));
    assert!(run.max_cost.is_none_or(|cost| cost.is_finite() && cost > 0.0));
    assert!(run.agent.iter().all(|name| !name.is_empty() && name.trim() == name));
}

fn line_ends_do_not_matter(text: &[u8], (found, problems): (&settings::Settings, usize)) {
    if text.contains(&b'\r') {
        return;
    }
    let mut windows = Vec::with_capacity(text.len());
    for &byte in text {
        windows.extend_from_slice(if byte == b'\n' {
            b"\r\n"
        } else {
            std::slice::from_ref(&byte)
        });
    }
    let (same, also) = settings::parse(&windows);
    assert_eq!((&same, also.len()), (found, problems));
}
