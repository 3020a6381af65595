use std::fs;

use harness::browser::Browser;
use harness::run::{agent, at_work, planned, run, run_with};
use harness::world::{JOURNAL, World, until};
use serde_json::{Value, json};

use super::{Serving, keep, until_page};

/// No element reaches beyond the page, and the page is as wide as the screen.
const OVERFLOWS: &str = "(()=>{const w=document.documentElement.clientWidth;\
    const all=[...document.body.querySelectorAll('*')].filter(e=>{const b=e.getBoundingClientRect();\
    return b.width>0&&b.right>w+1&&!e.closest('pre,.vh,.log')});\
    return all.map(e=>e.tagName+'.'+e.className).slice(0,9).join(' ')||\
    (document.documentElement.scrollWidth>w?'the page':'')})()";

/// What a finger is to hit and cannot.
const TOO_SMALL: &str = "[...document.querySelectorAll('button,summary,input,textarea,a.spec,a.back,.next a,.lh a')]\
    .filter(e=>e.checkVisibility()&&e.offsetWidth>0).map(e=>[e,e.getBoundingClientRect()])\
    .filter(([e,b])=>b.height<43.5).map(([e,b])=>e.outerHTML.slice(0,80)+' '+b.width+'x'+b.height).join('\\n')";

const PLAN: &str = "# Plan\n\n## Make it work\n\n\
    - [x] 1.1 Keep links\n  - **Verify**: `true`\n\
    - [ ] 1.2 Turn numbers into codes\n  - **Do**: it\n  - **Files**: a.txt\n  - **Verify**: `python3 -m unittest -v tests.test_clicks`\n\
    \n## What people ask for\n\n\
    - [ ] 2.1 Count clicks\n- [ ] 2.2 Let links expire\n  - **Verify**: `true`\n- [ ] 2.3 Say what it is\n\n## Hand it over\n\n- [ ] 3.1 Ship\n";

/// A project with a loop at work, one that needs a person, one that is done, one not begun.
struct Stage {
    world: World,
    run: std::process::Child,
}

impl Stage {
    fn set() -> Stage {
        super::programs();
        let world = planned(PLAN);
        for (spec, plan) in [
            (
                "auth-rewrite",
                "- [ ] 3.7 Rotate refresh tokens\n  - **Verify**: `echo 'thread panicked at crates/auth/src/rotate.rs:88'; false`\n",
            ),
            (
                "search-index",
                "- [ ] 1.1 a\n  - **Do**: it\n    ```sh\n    echo a > a.txt\n    ```\n  - **Verify**: `true`\n",
            ),
            ("rename-crates", "- [ ] 1.1 b\n"),
        ] {
            world.write(&format!("specs/{spec}/tasks.md"), plan);
        }
        world.commit_all();
        run(&world, &["search-index"]).exits(0);
        let silent = agent(&world, "echo TASK_COMPLETE");
        run_with(&world, &silent, &["auth-rewrite", "--max-task-iterations", "2"]).exits(6);
        let talks = agent(
            &world,
            "echo 'Links get an age. An expiry is a moment, not a duration.'; echo ready > \"$HOME/ready\"; \
             until test -e \"$HOME/open\"; do sleep 0.02; done\n",
        );
        let run = at_work(&world, &talks, &["test-spec", "--allow-dirty"]);
        until("the agent talks", || world.home().join("ready").exists());
        Stage { world, run }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::write(self.world.home().join("open"), "");
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

fn go_to(browser: &mut Browser, spec: &str) {
    browser.eval(&format!(
        "[...document.querySelectorAll('a.spec')].find(a=>a.textContent.includes({spec:?})).click()"
    ));
    until_page(browser, &format!("document.querySelector('.main h1')?.textContent==={spec:?}"));
}

/// Looks at the page as it is.
#[track_caller]
fn fits(browser: &mut Browser, what: &str, is_touched: bool) {
    keep(browser, what);
    assert_eq!(browser.eval(OVERFLOWS), "", "{what}");
    if is_touched {
        assert_eq!(browser.eval(TOO_SMALL), "", "{what}");
    }
    if let Some(barriers) = browser.barriers() {
        assert!(barriers.is_empty(), "{what}\n{}", barriers.join("\n"));
    }
}

#[test]
fn the_page_fits_every_screen_in_both_themes() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = Stage::set();
    let serving = Serving::start(&stage.world, &["--steer"]);
    for (width, height, is_touched) in
        [(320, 640, true), (390, 844, true), (820, 1180, true), (1280, 1010, false)]
    {
        for theme in ["light", "dark"] {
            browser.screen(width, height, is_touched);
            browser.prefers(theme, true);
            browser.open_at("about:blank");
            browser.open_at(&serving.link());
            until_page(&mut browser, "document.querySelectorAll('a.spec').length===4");
            let groups = "[...document.querySelectorAll('.side h2,.side summary')].map(h=>h.firstChild.data).join()";
            assert_eq!(browser.eval(groups), "Needs you,Working,Done,Not begun");
            let name = |state: &str| format!("{width}-{theme}-{state}");
            fits(&mut browser, &name("list"), is_touched);
            go_to(&mut browser, "test-spec");
            until_page(
                &mut browser,
                "document.querySelector('.log')?.innerText.includes('Links get an age')",
            );
            fits(&mut browser, &name("working"), is_touched);
            browser.eval("[...document.querySelectorAll('.la button')].find(b=>b.textContent==='Note').click()");
            until_page(&mut browser, "document.querySelector('.lane textarea')");
            browser.eval("[...document.querySelectorAll('button')].find(b=>b.textContent.startsWith('Cancel the')).click()");
            until_page(&mut browser, "document.querySelector('#cancel')");
            fits(&mut browser, &name("composing"), is_touched);
            browser.eval("history.back()");
            until_page(&mut browser, "!document.querySelector('.main h1')");
            go_to(&mut browser, "auth-rewrite");
            until_page(&mut browser, "document.querySelector('.need pre')");
            fits(&mut browser, &name("needs-you"), is_touched);
            browser.eval("location.hash+='&t=3.7'");
            until_page(&mut browser, "document.querySelector('dl')");
            fits(&mut browser, &name("task"), is_touched);
            assert_eq!(browser.eval("window.refused.join()"), "", "{width} {theme}");
        }
    }
}

#[test]
fn everything_is_reached_without_a_mouse_and_news_takes_no_focus() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = Stage::set();
    let serving = Serving::start(&stage.world, &["--steer"]);
    browser.screen(1280, 900, false);
    browser.open_at(&serving.link());
    until_page(&mut browser, "document.querySelectorAll('a.spec').length===4");
    let focus = "document.activeElement.textContent.slice(0,14)";
    browser.press("Tab", "");
    assert!(
        browser.eval(focus).as_str().unwrap().starts_with("auth-rewrite"),
        "what needs you is first"
    );
    browser.press("Tab", "");
    assert!(browser.eval(focus).as_str().unwrap().starts_with("test-spec"));
    browser.press("Enter", "\r");
    until_page(&mut browser, "document.querySelector('.lane')");
    browser.eval(
        "[...document.querySelectorAll('.la button')].find(b=>b.textContent==='Note').click()",
    );
    until_page(&mut browser, "document.querySelector('.lane textarea')");
    browser.eval("document.querySelector('.lane textarea').focus()");
    browser.press("a", "a");
    let key = serving.get("/api/specs")["specs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|spec| spec["spec"] == "test-spec")
        .unwrap()["key"]
        .as_str()
        .unwrap()
        .to_owned();
    serving.post(
        &format!("/api/specs/{key}/note"),
        serving.steer.as_ref().unwrap(),
        "{\"text\":\"for all\"}",
    );
    until_page(&mut browser, "document.querySelector('.feed').innerText.includes('for all')");
    assert_eq!(
        browser.eval("document.activeElement.tagName+document.activeElement.value"),
        "TEXTAREAa"
    );
}

#[test]
fn a_lost_line_is_said_and_a_token_of_yesterday_is_told_what_to_do() {
    let Some(mut browser) = Browser::start() else { return };
    let world = super::started("- [ ] 1.1 a\n");
    let serving = Serving::start(&world, &[]);
    browser.open_at(&serving.link());
    until_page(&mut browser, "document.querySelector('a.spec')");
    let port = serving.port.to_string();
    drop(serving);
    until_page(
        &mut browser,
        "document.querySelector('.lost')?.innerText.includes('Not connected since')",
    );
    let again = Serving::start(&world, &["--port", &port]);
    assert_eq!(again.port.to_string(), port);
    until_page(&mut browser, "document.body.innerText.includes('This link is no longer valid')");
    fits(&mut browser, "refused", false);
}

/// Everything that a text of others may hold.
fn hostile() -> String {
    let parts = [
        "<img src=x onerror=window.owned=1>",
        "<script>window.owned=1</script>",
        "\"'`",
        "]]>",
        "</script>",
        "</details>",
        "{{7*7}}${1}",
        "\u{1b}]2;x\u{7}\u{1b}[2J",
        "\u{202e}rtl",
        "\0",
        "%00..%2f",
        "&lt;b&gt;",
        "<meta http-equiv=refresh content='0;url=http://evil.example'>",
        "javascript:window.owned=1",
        "\u{2028}",
        "event: picture\ndata: null",
    ];
    format!("PAYLOAD {}", parts.join(" "))
}

/// Puts a text in the place of every other, but for those that say what it is.
fn poison(value: &mut Value, text: &str, path: &str) {
    match value {
        Value::String(old) => {
            if ![
                "event", "at", "class", "outcome", "result", "proof", "by", "via", "log", "id",
                "run", "commit",
            ]
            .contains(&path)
            {
                *old = text.to_owned();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| poison(one, text, path)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, one)| poison(one, text, name));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn texts_of_others_are_shown_and_obeyed_by_nobody() {
    let Some(mut browser) = Browser::start() else { return };
    super::programs();
    let payload = hostile();
    let line = payload.replace(['\n', '\0'], " ");
    let world = planned(&format!(
        "# {line}\n\n## {line}\n\n- [ ] 1.1 {line}\n  - **Do**: {line}\n  - **Files**: a\n  - **Verify**: `printf '%s' {}; false`\n- [ ] 1.2 {line}\n",
        "'<b>PAYLOAD</b>'"
    ));
    let says = agent(&world, "cat \"$HOME/payload\"; echo TASK_COMPLETE\n");
    fs::write(world.home().join("payload"), format!("{payload}\n")).unwrap();
    run_with(&world, &says, &["--max-task-iterations", "2"]).exits(6);
    let journal = world.read(JOURNAL);
    let poisoned = journal.lines().map(|record| {
        let mut record: Value = serde_json::from_str(record).unwrap();
        let keeps = record["changes"].take();
        poison(&mut record, &payload, "");
        if !keeps.is_null() {
            record["changes"] = keeps;
        }
        for named in ["task"] {
            if record[named].is_object() {
                record[named]["id"] = json!("1.1");
            }
        }
        record.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        format!("{record}\n")
    });
    world.write(JOURNAL, poisoned.collect::<String>());
    let serving = Serving::start(&world, &["--steer"]);
    browser.screen(390, 844, true);
    browser.open_at(&serving.link());
    until_page(&mut browser, "document.querySelector('a.spec')");
    let harmless = |browser: &mut Browser, what: &str| {
        keep(browser, &format!("hostile-{what}"));
        assert!(
            browser.eval("document.body.innerText").as_str().unwrap().contains("PAYLOAD"),
            "{what}"
        );
        let strange = "[...document.querySelectorAll('img,script:not([src=\"/app/main.js\"]),iframe,meta[http-equiv],base,object,embed,style,form[action]')].map(e=>e.outerHTML).join()";
        assert_eq!(browser.eval(strange), "", "{what}");
        assert_eq!(browser.eval("window.owned??''"), "", "{what}");
        assert_eq!(browser.eval("window.refused.join()"), "", "{what}");
        assert_eq!(browser.eval(OVERFLOWS), "", "{what}");
        let handlers = "[...document.querySelectorAll('*')].filter(e=>[...e.attributes].some(a=>a.name.startsWith('on')||a.name==='style'||/^(href|src)$/.test(a.name)&&!/^(#|\\/)/.test(a.value))).map(e=>e.outerHTML).join()";
        assert_eq!(browser.eval(handlers), "", "{what}");
    };
    browser.eval("document.querySelector('a.spec').click()");
    until_page(&mut browser, "document.querySelector('.need')");
    harmless(&mut browser, "spec");
    browser.eval("location.hash+='&t=1.1'");
    until_page(&mut browser, "document.querySelector('dl')");
    browser.eval("document.querySelectorAll('details').forEach(d=>d.open=true)");
    harmless(&mut browser, "task");
    let own = format!("http://127.0.0.1:{}", serving.port);
    for request in browser.seen("Network.requestWillBeSent") {
        let address = request["params"]["request"]["url"].as_str().unwrap();
        assert!(address.starts_with(&own), "{address}");
    }
    assert_eq!(browser.seen("Page.javascriptDialogOpening").len(), 0);
}
