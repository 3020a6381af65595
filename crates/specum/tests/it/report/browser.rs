//! The page in a real Chromium: its layout on every screen, without a mouse, without
//! scripts, and for those who hear it.

use std::fs;

use harness::browser::Browser;
use harness::built;
use harness::world::until;

use super::{page, worked};

/// No element reaches beyond the page, and the page is as wide as the screen.
const OVERFLOWS: &str = "(()=>{const w=document.documentElement.clientWidth;\
    if(document.documentElement.scrollWidth>w)\
    return [...document.body.querySelectorAll('*')].filter(e=>{const b=e.getBoundingClientRect();\
    return b.width>0&&b.right>w+1&&!e.closest('.chart,.diff,pre,.chips,.vh')})\
    .map(e=>e.tagName+'.'+e.className).slice(0,9).join(' ')||'the page';return ''})()";

/// What a finger is to hit and cannot.
const TOO_SMALL: &str = "[...document.querySelectorAll('button,summary,input,.look a')]\
    .filter(e=>e.checkVisibility()&&e.offsetWidth>0).map(e=>[e,e.getBoundingClientRect()])\
    .filter(([e,b])=>b.height<43.5).map(([e,b])=>e.outerHTML.slice(0,80)+' '+b.width+'x'+b.height).join('\\n')";

const OPEN_ALL: &str = "document.querySelectorAll('details').forEach(d=>d.open=true)";

/// Keeps a picture for people, below cargo's target directory.
fn keep(browser: &mut Browser, name: &str) {
    let folder = built().parent().unwrap().join("tmp/report");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.png")), browser.picture(true)).unwrap();
}

#[test]
fn the_page_fits_every_screen_in_both_themes_folded_and_open() {
    let world = worked();
    let file = page(&world);
    let Some(mut browser) = Browser::start() else { return };
    for (width, is_touched) in [(320, true), (390, true), (820, true), (1280, false)] {
        for theme in ["light", "dark"] {
            browser.screen(width, 900, is_touched);
            browser.prefers(theme, true);
            browser.open(&file);
            for state in ["folded", "open"] {
                keep(&mut browser, &format!("{width}-{theme}-{state}"));
                let what = format!("{width} px, {theme}, {state}");
                assert_eq!(browser.eval(OVERFLOWS), "", "{what}");
                if is_touched {
                    assert_eq!(browser.eval(TOO_SMALL), "", "{what}");
                }
                if let Some(barriers) = browser.barriers() {
                    assert!(barriers.is_empty(), "{what}\n{}", barriers.join("\n"));
                }
                browser.eval(OPEN_ALL);
            }
            let colour = browser.eval("getComputedStyle(document.body).backgroundColor");
            let expected = if theme == "dark" { "rgb(22, 21, 19)" } else { "rgb(251, 250, 247)" };
            assert_eq!(colour, expected);
            let moves = "getComputedStyle(document.querySelector('.fold>summary'),'::before').transitionDuration";
            assert_eq!(browser.eval(moves), "0s", "nothing moves for those who want it still");
        }
    }
}

#[test]
fn everything_is_reached_without_a_mouse() {
    let world = worked();
    let Some(mut browser) = Browser::start() else { return };
    browser.screen(1280, 900, false);
    browser.open(&page(&world));
    let focus = "document.activeElement.id||document.activeElement.textContent.trim().slice(0,20)";
    browser.press("Tab", "");
    assert_eq!(browser.eval(focus), "theme");
    let before = browser.eval("document.documentElement.dataset.theme||''");
    browser.press("Enter", "\r");
    assert_ne!(browser.eval("document.documentElement.dataset.theme||''"), before);
    browser.press("Tab", "");
    assert_eq!(browser.eval(focus), "Say what it is", "what to look at first comes first");
    browser.press("Enter", "\r");
    let opened = "[...document.querySelectorAll('details.task[open]')].map(d=>d.id).join()";
    until("a link to a task opens it", || browser.eval(opened) == "t-2.3");
    assert_eq!(browser.eval("document.activeElement.closest('details')?.id"), "t-2.3");
    browser.press("Enter", "\r");
    assert_eq!(browser.eval(opened), "", "and the same key closes it");
    browser.press("/", "/");
    assert_eq!(browser.eval(focus), "filter");
    for letter in ["c", "l", "i", "c", "k"] {
        browser.press(letter, letter);
    }
    let shown = "[...document.querySelectorAll('details.task:not([hidden])')].map(d=>d.id).join()";
    assert_eq!(browser.eval(shown), "t-2.1");
    assert_eq!(browser.eval("document.getElementById('count').textContent"), "1 of 5");
    browser.press("Escape", "");
    assert_eq!(browser.eval(shown), "t-1.1,t-1.2,t-2.1,t-2.2,t-2.3");
    browser.eval("document.querySelector('[data-kind=again]').click()");
    assert_eq!(browser.eval(shown), "t-1.2");
}

#[test]
fn without_scripts_everything_is_there_and_nothing_is_in_the_way() {
    let world = worked();
    let Some(mut browser) = Browser::start() else { return };
    browser.screen(390, 900, true);
    browser.scripts(false);
    browser.open(&page(&world));
    // The protocol still may.
    assert_eq!(browser.eval(OVERFLOWS), "");
    assert_eq!(browser.eval("document.getElementById('tools').checkVisibility()"), false);
    assert_eq!(browser.eval("document.getElementById('theme').checkVisibility()"), false);
    browser.eval(OPEN_ALL);
    let diff = "document.querySelector('#t-1\\\\.1 .diff').textContent";
    assert_eq!(browser.eval(diff), "@@ -0,0 +1 @@\n+kept\n");
}

#[test]
fn a_diff_that_is_looked_at_gets_lines_and_loses_no_letter() {
    let world = worked();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page(&world));
    browser.eval("location.hash='#t-1.2'");
    browser.eval("new Promise(done=>setTimeout(done))");
    let lines = "[...document.querySelectorAll('#t-1\\\\.2 .diff .l')].map(l=>l.className+'|'+l.textContent).join('\\n')";
    let lines = browser.eval(lines);
    assert_eq!(lines, "l h|@@ -0,0 +1 @@\nl a|+good\nl h|@@ -0,0 +1 @@\nl a|+x");
}
