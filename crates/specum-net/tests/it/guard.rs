use std::io::{Read, Write};
use std::time::Instant;

use super::{Serving, status};

const PLAN: &str = "- [ ] 1.1 a\n  - **Verify**: `true`\n";

/// Every address that is answered, and how.
const ROUTES: [&str; 17] = [
    "GET /",
    "GET /app.css",
    "GET /app/main.js",
    "GET /favicon.ico",
    "GET /r/0123",
    "GET /api/specs",
    "GET /api/stream",
    "GET /api/specs/KEY/tasks/1.1",
    "POST /api/specs/KEY/report",
    "POST /api/specs/KEY/pause",
    "POST /api/specs/KEY/resume",
    "POST /api/specs/KEY/note",
    "POST /api/specs/KEY/retry",
    "POST /api/specs/KEY/skip",
    "POST /api/specs/KEY/unskip",
    "POST /api/specs/KEY/approve",
    "POST /api/specs/KEY/cancel",
];

fn routes(serving: &Serving) -> Vec<String> {
    let key = serving.key();
    ROUTES.iter().map(|route| route.replace("KEY", &key)).collect()
}

#[test]
fn every_route_refuses_foreign_hosts_and_foreign_pages() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let token = format!("Authorization: Bearer {}", serving.steer.as_ref().unwrap());
    let before = world.snapshot();
    let (port, host) = (serving.port, serving.host());
    for route in routes(&serving) {
        for foreign in [
            "Host: evil.example".to_owned(),
            format!("Host: evil.example:{port}"),
            format!("Host: 127.0.0.1.evil.example:{port}"),
            "Host: 127.0.0.1".to_owned(),
            format!("Host: 0.0.0.0:{port}"),
            "Host:".to_owned(),
            "X-Forwarded-Host: 127.0.0.1".to_owned(),
            format!("{host}\r\nHost: evil.example"),
        ] {
            let answer = serving.request(&route, &[&foreign, &token], "");
            // Of two hosts, hyper may say that the request is none.
            assert!([421, 400].contains(&status(&answer)), "{route} {foreign}: {answer}");
        }
        let elsewhere = route.replacen(" /", " http://evil.example/", 1);
        let answer = serving.request(&elsewhere, &[&host, &token], "");
        assert_eq!(status(&answer), 421, "{elsewhere}: {answer}");
        for foreign in [
            "null".to_owned(),
            "http://evil.example".to_owned(),
            format!("http://evil.example:{port}"),
            format!("http://localhost:{port}"),
            "http://127.0.0.1".to_owned(),
            format!("ftp://127.0.0.1:{port}"),
            String::new(),
        ] {
            let origin = format!("Origin: {foreign}");
            let answer = serving.request(&route, &[&host, &origin, &token], "{}");
            assert_eq!(status(&answer), 403, "{route} {origin}: {answer}");
        }
    }
    assert_eq!(world.snapshot(), before, "nothing was done");
}

#[test]
fn every_route_with_data_wants_a_token_and_every_act_wants_the_other_one() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let (host, before) = (serving.host(), world.snapshot());
    for route in routes(&serving).iter().filter(|route| route.contains(" /api/")) {
        for none in
            ["X: y", "Authorization: Basic abc", "Authorization: Bearer ", "Cookie: token=x"]
        {
            let answer = serving.request(route, &[&host, none], "");
            assert_eq!(status(&answer), 401, "{route} {none}: {answer}");
        }
        if route.starts_with("POST") && !route.ends_with("/report") {
            let (method, path) = route.split_once(' ').unwrap();
            assert_eq!(method, "POST");
            let answer = serving.post(path, &serving.look, "{}");
            assert_eq!(status(&answer), 403, "{route}: {answer}");
            assert!(answer.contains("may only look"), "{answer}");
        }
    }
    let wrong = format!("Authorization: Bearer {}", "0".repeat(32));
    let answers: Vec<u16> =
        (0..12).map(|_| status(&serving.request("GET /api/specs", &[&host, &wrong], ""))).collect();
    assert_eq!(answers, [[401; 10].as_slice(), &[429; 2]].concat());
    assert_eq!(serving.get("/api/specs")["steers"], false, "a right one is still answered");
    assert_eq!(world.snapshot(), before, "nothing was done");
    let looking = Serving::start(&world, &[]);
    assert_eq!(looking.steer, None);
    assert!(looking.said.contains("with --steer"), "{}", looking.said);
}

#[test]
fn every_answer_says_what_may_be_done_with_it_and_sets_no_cookie() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let host = serving.host();
    for route in routes(&serving).iter().filter(|route| !route.contains("stream")) {
        let answer = serving.request(route, &[&host], "");
        let head = answer.split("\r\n\r\n").next().unwrap().to_lowercase();
        for line in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-",
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        ] {
            assert!(head.contains(line), "{route}: {line}\n{answer}");
        }
        assert!(!head.contains("set-cookie"), "{answer}");
    }
    let page = serving.request("GET /", &[&host], "");
    let tag = page.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let known = format!("If-None-Match: {tag}");
    assert_eq!(status(&serving.request("GET /", &[&host, &known], "")), 304);
    assert!(!page.contains(&serving.look), "the page has no token in it");
}

#[test]
fn no_name_is_a_path_and_no_body_is_endless() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let (host, key) = (serving.host(), serving.key());
    let steer = serving.steer.clone().unwrap();
    let token = format!("Authorization: Bearer {steer}");
    for path in [
        "/app/..%2f..%2fCargo.toml",
        "/app/../serve.rs",
        "/r/..%2f..%2f",
        "/api/specs/..%2f..%2fetc/tasks/1.1",
        "/api/specs/%2e%2e/tasks/%2e%2e%2fpasswd",
        "/api/specs/test-spec/tasks/1.1",
        "/..%2f..%2fetc/passwd",
        "/nothing",
    ] {
        let answer = serving.request(&format!("GET {path}"), &[&host, &token], "");
        assert_eq!(status(&answer), 404, "{path}: {answer}");
    }
    let note = format!("/api/specs/{key}/note");
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(20_000));
    assert_eq!(status(&serving.post(&note, &steer, &long)), 413);
    assert_eq!(status(&serving.post(&note, &steer, "{\"text\":1}")), 400);
    assert_eq!(status(&serving.post(&note, &steer, "{\"else\":1}")), 400);
    let plain = [&*host, &token, "Content-Type: text/plain"];
    assert_eq!(status(&serving.request(&format!("POST {note}"), &plain, "{}")), 415);
    let empty = serving.post(&note, &steer, "{\"text\":\" \"}");
    assert_eq!(status(&empty), 409);
    assert!(empty.contains("the note is empty"), "the verb's own words: {empty}");
    let head = format!("GET / HTTP/1.1\r\n{host}\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    assert!([431, 400, 0].contains(&status(&serving.raw(head.as_bytes()))));
    assert_eq!(status(&serving.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")), 400);
}

#[test]
fn requests_in_one_go_are_each_looked_at() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let host = serving.host();
    let two = format!(
        "GET / HTTP/1.1\r\n{host}\r\n\r\nGET /api/specs HTTP/1.1\r\nHost: evil.example\r\n\
         Authorization: Bearer {}\r\nConnection: close\r\n\r\n",
        serving.look
    );
    let answer = serving.raw(two.as_bytes());
    let codes: Vec<&str> =
        answer.match_indices("HTTP/1.1 ").map(|(at, _)| &answer[at + 9..at + 12]).collect();
    assert_eq!(codes, ["200", "421"], "{answer}");
    assert!(!answer.contains("test-spec"));
}

#[test]
fn a_client_that_is_slow_is_let_go_and_holds_nobody_up() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--steer"]);
    let began = Instant::now();
    // Some who say nothing, and some who never end the body that they have promised.
    let mut silent: Vec<_> = (0..20).map(|_| serving.connect()).collect();
    for stream in &mut silent {
        stream.write_all(b"GET / HT").unwrap();
    }
    let (host, key) = (serving.host(), serving.key());
    let mut slow = serving.connect();
    let head = format!(
        "POST /api/specs/{key}/note HTTP/1.1\r\n{host}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        serving.steer.as_ref().unwrap()
    );
    slow.write_all(head.as_bytes()).unwrap();
    assert_eq!(serving.get("/api/specs")["specs"][0]["spec"], "test-spec");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap_or_default();
    assert_eq!(status(&answer), 408, "{answer}");
    for stream in &mut silent {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    assert!(began.elapsed().as_secs() >= 9, "they had their time");
    assert_eq!(world.count("noted"), 0);
}

#[test]
fn a_report_is_fetched_once_by_an_address_that_nobody_can_guess() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &[]);
    let (host, key) = (serving.host(), serving.key());
    let token = format!("Authorization: Bearer {}", serving.look);
    let ticket = serving.request(&format!("POST /api/specs/{key}/report"), &[&host, &token], "");
    let path = ticket.split("\"path\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(path.len(), "/r/".len() + 32);
    assert_eq!(status(&serving.request(&format!("GET {path}"), &["Host: evil.example"], "")), 421);
    let page = serving.request(&format!("GET {path}"), &[&host], "");
    assert_eq!(status(&page), 200);
    let head = page.split("\r\n\r\n").next().unwrap();
    assert!(head.contains("sandbox allow-scripts") && !head.contains("script-src"), "{head}");
    assert!(page.contains("<h1") && page.contains("test-spec"));
    assert_eq!(status(&serving.request(&format!("GET {path}"), &[&host], "")), 404, "once");
}

#[test]
fn names_that_were_given_are_ours_and_an_open_address_needs_one() {
    let world = super::started(PLAN);
    let serving = Serving::start(&world, &["--host", "box.lan"]);
    for host in ["box.lan".to_owned(), format!("BOX.lan:{}", serving.port)] {
        let head = format!("Host: {host}");
        assert_eq!(status(&serving.request("GET /", &[&head], "")), 200, "{host}");
    }
    let open = world.specum(&["serve", "--listen", "0.0.0.0"]);
    assert!(open.exits(2).stderr.contains("--host"), "{}", open.stderr);
}

#[test]
fn an_agent_gets_no_link_that_may_act() {
    let world = super::started(PLAN);
    for mark in ["SPECUM_ATTEMPT", "CLAUDE_CODE_SESSION_ID"] {
        let mut command = world.command();
        command.args(["serve", "--steer", "--port", "0"]).env(mark, "1");
        let refused = harness::world::call(command, b"");
        assert!(refused.exits(1).stderr.contains("a person's to say"), "{}", refused.stderr);
    }
}
