//! `specum serve` with the real programs: over raw TCP and in a real Chromium.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

/// Who is answered, over raw TCP, because clients rewrite what they send.
mod guard;

/// A run in another process, steered from a browser.
mod steering;

/// The page on every screen, and texts of others in it.
mod page;

/// Files that are torn, huge, new or gone, and ports that are taken.
mod bad_input;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Once;
use std::time::Duration;

use harness::world::World;
use harness::{PATIENCE, built};
use serde_json::Value;

/// A server that is ended when it is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) port: u16,
    pub(crate) look: String,
    pub(crate) steer: Option<String>,
    /// What it said at the beginning.
    pub(crate) said: String,
}

/// Builds the other programs where cargo was asked for this package alone.
fn programs() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| xtask::build_programs().unwrap());
}

impl Serving {
    pub(crate) fn start(world: &World, args: &[&str]) -> Serving {
        programs();
        let mut command = world.command();
        command.arg("serve").args(args);
        if !args.contains(&"--port") {
            command.args(["--port", "0"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("Ctrl-C") {
            if out.read_line(&mut said).unwrap() == 0 {
                let mut why = String::new();
                child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
                panic!("{said}{why}");
            }
        }
        let token = |name: &str| {
            let line = said.lines().find(|line| line.starts_with(name))?;
            Some(line.rsplit_once("#k=")?.1.to_owned())
        };
        let address = said.lines().find(|line| line.starts_with("look")).unwrap();
        let port = address.split(['/', ':']).find_map(|part| part.parse().ok()).unwrap();
        let (look, steer) = (token("look").unwrap(), token("steer"));
        Serving { child, port, look, steer, said }
    }

    /// What is answered to these bytes, until the other side ends it.
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // It may have been refused before all of it is written.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A request with these lines in its head, and a body.
    pub(crate) fn request(&self, line: &str, head: &[&str], body: &str) -> String {
        let mut request = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for line in head {
            request.push_str(line);
            request.push_str("\r\n");
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.raw(format!("{request}\r\n{body}").as_bytes())
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    /// What our own page would be answered.
    pub(crate) fn get(&self, path: &str) -> Value {
        let token = format!("Authorization: Bearer {}", self.look);
        let answer = self.request(&format!("GET {path}"), &[&self.host(), &token], "");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// The same for something that a person says.
    pub(crate) fn post(&self, path: &str, token: &str, body: &str) -> String {
        let (token, host) = (format!("Authorization: Bearer {token}"), self.host());
        self.request(
            &format!("POST {path}"),
            &[&host, &token, "Content-Type: application/json"],
            body,
        )
    }

    pub(crate) fn key(&self) -> String {
        self.get("/api/specs")["specs"][0]["key"].as_str().unwrap().to_owned()
    }

    /// The address that a person opens.
    pub(crate) fn link(&self) -> String {
        let token = self.steer.as_ref().unwrap_or(&self.look);
        format!("http://127.0.0.1:{}/#k={token}", self.port)
    }

    /// How much of the processor it has used, in hundredths of a second.
    pub(crate) fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// Keeps a picture for people, below cargo's target directory.
pub(crate) fn keep(browser: &mut harness::browser::Browser, name: &str) {
    let folder = built().parent().unwrap().join("tmp/serve");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.png")), browser.picture(false)).unwrap();
}

/// Waits until an expression is true in the page.
#[track_caller]
pub(crate) fn until_page(browser: &mut harness::browser::Browser, expression: &str) {
    let end = std::time::Instant::now() + PATIENCE;
    while browser.eval(&format!("Boolean({expression})")) != true {
        let shown = || "document.body.innerText";
        if std::time::Instant::now() > end {
            panic!("waited in vain for {expression}: {}", browser.eval(shown()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The file of a world below its root.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}

/// A repository with a loop over these tasks that has begun.
pub(crate) fn started(tasks: &str) -> World {
    programs();
    World::started(tasks)
}
