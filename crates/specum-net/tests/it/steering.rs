use std::fs;

use harness::browser::Browser;
use harness::run::{agent, at_work, committed, planned};
use harness::world::{TASKS, World, until};

use super::{Serving, keep, status, until_page};

/// Tasks whose agents wait at a gate of their own, a file in the home.
const PLAN: &str = "# Plan\n\n## Make it work\n\n\
    - [ ] 1.1 Keep links\n  - **Verify**: `test -f 1.1`\n\
    - [ ] 1.2 Turn numbers into codes\n  - **Verify**: `test -f 1.2`\n\
    - [ ] 1.3 Say what it is\n  - **Verify**: `test -f 1.3`\n\
    - [ ] 1.4 Leave it out\n  - **Verify**: `test -f 1.4`\n";

/// Says something, waits for `$HOME/open.<task>`, and does the task's work.
const AGENT: &str = "printf '%s\\n' \"$brief\" > \"$HOME/brief.$id\"; echo \"I look at $id first.\"; \
    echo start >> \"$HOME/starts.$id\"; until test -e \"$HOME/open.$id\"; do sleep 0.02; done; \
    echo done > $id; echo TASK_COMPLETE\n";

fn click(browser: &mut Browser, text: &str) {
    let find = format!(
        "[...document.querySelectorAll('button')].find(b=>b.checkVisibility()&&b.textContent==={text:?})"
    );
    until_page(browser, &find);
    browser.eval(&format!("{find}.click()"));
}

fn type_into(browser: &mut Browser, field: &str, text: &str) {
    until_page(browser, &format!("document.querySelector({field:?})"));
    browser.eval(&format!("document.querySelector({field:?}).focus()"));
    for letter in text.chars() {
        browser.press(&letter.to_string(), &letter.to_string());
    }
}

fn says(browser: &mut Browser, text: &str) {
    until_page(browser, &format!("document.body.innerText.includes({text:?})"));
}

fn open(world: &World, task: &str) {
    fs::write(world.home().join(format!("open.{task}")), "").unwrap();
}

#[test]
fn a_run_of_another_process_is_told_paused_sent_back_and_let_go_on_from_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    super::programs();
    let world = planned(PLAN);
    let agent = agent(&world, AGENT);
    let mut run = at_work(&world, &agent, &["--stay"]);
    let serving = Serving::start(&world, &["--steer"]);
    browser.screen(1280, 900, false);
    browser.open_at(&serving.link());
    until_page(&mut browser, "document.querySelector('a.spec')");
    assert_eq!(browser.eval("location.href"), format!("http://127.0.0.1:{}/", serving.port));
    browser.eval("document.querySelector('a.spec').click()");
    says(&mut browser, "I look at 1.1 first.");
    says(&mut browser, "1 at work");
    keep(&mut browser, "steering-working");
    // A note is typed while news comes, and stays in its field.
    click(&mut browser, "Note");
    type_into(&mut browser, ".lane textarea", "Use the store");
    until_page(&mut browser, "document.querySelector('.lane textarea').value==='Use the store'");
    click(&mut browser, "Send");
    says(&mut browser, "Noted for 1.1.");
    assert_eq!(world.journal("noted")[0]["text"], "Use the store");
    // It begins anew, with the note.
    click(&mut browser, "Start over");
    click(&mut browser, "Really start over?");
    let starts = |task: &str| {
        fs::read_to_string(world.home().join(format!("starts.{task}")))
            .unwrap_or_default()
            .lines()
            .count()
    };
    until("the task is begun anew", || starts("1.1") == 2);
    let brief = fs::read_to_string(world.home().join("brief.1.1")).unwrap();
    assert!(brief.contains("Use the store"), "{brief}");
    open(&world, "1.1");
    says(&mut browser, "1.1 passed");
    until("the next task is begun", || starts("1.2") == 1);
    // The next one is left out.
    until_page(&mut browser, "document.querySelector('.lane')?.innerText.includes('1.2')");
    click(&mut browser, "Skip");
    click(&mut browser, "Really skip?");
    until("the next task is begun", || starts("1.3") == 1);
    // It waits once what is at work is over.
    until_page(&mut browser, "document.querySelector('.lane')?.innerText.includes('1.3')");
    click(&mut browser, "Pause after these");
    says(&mut browser, "It pauses once these are over.");
    until("the pause is asked for", || world.count("pause-asked") == 1);
    open(&world, "1.3");
    until_page(&mut browser, "document.querySelector('.state')?.innerText==='Paused'");
    keep(&mut browser, "steering-paused");
    until("the run stays", || world.count("stays") == 1);
    open(&world, "1.4");
    // And goes on.
    click(&mut browser, "Resume");
    until("the run has ended", || world.count("run-ended") == 2);
    assert_eq!(committed(&world), ["1.1", "1.3", "1.4"]);
    assert!(world.read(TASKS).contains("- [ ] 1.2"), "a skipped box stays open");
    for event in ["noted", "retried", "skipped", "pause-asked", "resumed"] {
        let said = &world.journal(event)[0];
        assert_eq!((&said["by"], &said["via"]), (&"person".into(), &"web".into()), "{said}");
    }
    assert_eq!(browser.eval("window.refused.length"), 0);
    until_page(
        &mut browser,
        "document.querySelector('.feed')?.innerText.includes('by a person in the browser')",
    );
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_blocked_loop_says_why_first_and_gets_another_round_from_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    super::programs();
    let world =
        planned("- [ ] 1.1 Rotate tokens\n  - **Verify**: `echo 'left: Active'; test -f good`\n");
    let agent = agent(&world, "test -e \"$HOME/open\" && echo x > good; echo TASK_COMPLETE\n");
    let mut run = at_work(&world, &agent, &["--stay", "--max-task-iterations", "2"]);
    let serving = Serving::start(&world, &["--steer"]);
    browser.screen(390, 844, true);
    browser.prefers("dark", true);
    browser.open_at(&serving.link());
    until_page(&mut browser, "document.title==='(1) specum'");
    keep(&mut browser, "phone-list");
    browser.eval("document.querySelector('a.spec').click()");
    says(&mut browser, "1.1 Rotate tokens failed 2 times");
    let first =
        "document.querySelector('.need').compareDocumentPosition(document.querySelector('.two'))&4";
    assert_eq!(browser.eval(&format!("Boolean({first})")), true, "what needs a person comes first");
    says(&mut browser, "left: Active");
    keep(&mut browser, "phone-needs-you");
    fs::write(world.home().join("open"), "").unwrap();
    type_into(&mut browser, "#need-note", "In the store");
    click(&mut browser, "Send");
    says(&mut browser, "Noted for 1.1.");
    click(&mut browser, "Give it another round");
    until("the run has ended", || world.count("completed") == 1);
    assert_eq!(committed(&world), ["1.1"]);
    until_page(&mut browser, "document.querySelector('.state')?.innerText==='Done'");
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_spec_that_nobody_works_shows_what_to_type_and_a_looking_link_no_button() {
    let Some(mut browser) = Browser::start() else { return };
    let world = super::started("- [ ] 1.1 a\n  - **Verify**: `true`\n");
    world.specum(&["pause"]).exits(0);
    let serving = Serving::start(&world, &[]);
    browser.screen(1280, 900, false);
    browser.open_at(&serving.link());
    until_page(&mut browser, "document.querySelector('a.spec')");
    browser.eval("document.querySelector('a.spec').click()");
    says(&mut browser, "specum resume test-spec && specum run test-spec");
    let acts = "[...document.querySelectorAll('.main button')].filter(b=>b.checkVisibility()).map(b=>b.textContent).join()";
    assert_eq!(browser.eval(acts), "Report");
    says(&mut browser, "This view can look.");
    // The token is nowhere that others would see it.
    assert_eq!(browser.eval("location.hash.includes('k=')||document.cookie"), "");
}

#[test]
fn what_cannot_be_done_is_answered_in_the_verbs_own_words() {
    let world = super::started("- [ ] 1.1 a\n  - **Verify**: `true`\n");
    let serving = Serving::start(&world, &["--steer"]);
    let (key, steer) = (serving.key(), serving.steer.clone().unwrap());
    for (verb, body, why) in [
        ("retry", "{\"task\":\"7.7\"}", "7.7"),
        ("skip", "{}", "say which task"),
        ("approve", "{}", "no phase waits for your approval"),
        ("cancel", "{\"name\":\"other\"}", "type the spec's name"),
        ("pause", "{\"after\":\"never\"}", "`after` is"),
        ("resume", "{\"maxCost\":-1}", "above 0"),
    ] {
        let answer = serving.post(&format!("/api/specs/{key}/{verb}"), &steer, body);
        assert_eq!(status(&answer), 409, "{verb}: {answer}");
        assert!(answer.contains(why), "{verb}: {answer}");
    }
    assert_eq!(status(&serving.post(&format!("/api/specs/{key}/run"), &steer, "{}")), 404);
    assert_eq!(world.count("cancelled") + world.count("resumed"), 0);
    let cancel =
        serving.post(&format!("/api/specs/{key}/cancel"), &steer, "{\"name\":\"test-spec\"}");
    assert_eq!(status(&cancel), 204, "{cancel}");
    assert_eq!(world.journal("cancelled")[0]["via"], "web");
}
