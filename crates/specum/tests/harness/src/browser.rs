//! A real Chromium, driven over two pipes.
//!
//! `--remote-debugging-pipe` speaks JSON on the descriptors 3 and 4; a shell gives the
//! browser our pipes as these. The program is `$SPECUM_CHROMIUM`, or a Chromium on the
//! PATH, or, in CI and where the hosts are asked for, a pinned package of npm.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PATIENCE;
use crate::host;
use crate::world::skipped;

/// Chromium as npm has it: it brings the libraries that a bare machine lacks.
const PACKAGE: (&str, &str, u32) = ("@sparticuz/chromium", "153.0.0", 70);
/// What looks for barriers in a page.
const AXE: (&str, &str, u32) = ("axe-core", "4.14.0", 3);

/// What a page is watched for from its first moment on.
const WATCH: &str = "window.refused=[];addEventListener('securitypolicyviolation',\
    e=>window.refused.push(e.violatedDirective+' '+e.blockedURI));";

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    count: u64,
    session: Option<String>,
    /// What has happened and was not asked for.
    events: VecDeque<Value>,
    _home: TempDir,
}

impl Browser {
    /// Starts one, or says that this machine has to do without.
    pub fn start() -> Option<Browser> {
        let Some(program) = program() else {
            skipped("no Chromium: set SPECUM_CHROMIUM, or install chromium", "CI", "true");
            return None;
        };
        let home = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"]);
        command.arg(program).args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]);
        command.arg(format!("--user-data-dir={}", home.path().join("profile").display()));
        command.env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let (to, said) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (sender, from) = channel();
        thread::spawn(move || {
            for message in BufReader::new(said).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the protocol is JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let (session, events) = (None, VecDeque::new());
        let mut browser = Browser { child, to, from, count: 0, session, events, _home: home };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach)["sessionId"].clone();
        browser.session = session.as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Network.enable"] {
            browser.call(domain, &json!({}));
        }
        browser.call("Page.addScriptToEvaluateOnNewDocument", &json!({"source": WATCH}));
        Some(browser)
    }

    /// Asks for something, and gives the answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut message = json!({"id": self.count, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let message = self.message(method);
            if message["id"] == self.count {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    #[track_caller]
    fn message(&mut self, what: &str) -> Value {
        let message = self.from.recv_timeout(PATIENCE);
        message.unwrap_or_else(|error| panic!("{what}: the browser does not answer: {error}"))
    }

    /// Waits until something has happened.
    #[track_caller]
    fn event(&mut self, method: &str) -> Value {
        let found = self.events.iter().position(|event| event["method"] == method);
        if let Some(event) = found.and_then(|at| self.events.remove(at)) {
            return event;
        }
        loop {
            let message = self.message(method);
            if message["method"] == method {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// How often something has happened since a page was opened.
    pub fn seen(&mut self, method: &str) -> Vec<Value> {
        // Whatever came before this answer is here.
        self.call("Runtime.evaluate", &json!({"expression": "0"}));
        self.events.iter().filter(|event| event["method"] == method).cloned().collect()
    }

    /// Opens a file and waits until it is loaded.
    #[track_caller]
    pub fn open(&mut self, file: &Path) {
        self.open_at(&format!("file://{}", file.display()));
    }

    /// The same for an address.
    #[track_caller]
    pub fn open_at(&mut self, address: &str) {
        self.events.clear();
        self.call("Page.navigate", &json!({"url": address}));
        self.event("Page.loadEventFired");
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Makes the page as large as a screen, with a finger or a mouse.
    pub fn screen(&mut self, width: u32, height: u32, is_touched: bool) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_touched,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let touch = json!({"enabled": is_touched, "maxTouchPoints": 1});
        self.call("Emulation.setTouchEmulationEnabled", &touch);
    }

    /// What the system prefers: `light` or `dark`, and perhaps no motion.
    pub fn prefers(&mut self, theme: &str, is_still: bool) {
        let motion = if is_still { "reduce" } else { "no-preference" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Whether pages may run scripts.
    pub fn scripts(&mut self, are_on: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": !are_on}));
    }

    /// Presses a key: its name, and what it writes.
    pub fn press(&mut self, key: &str, text: &str) {
        let codes = [("Tab", 9), ("Enter", 13), ("Escape", 27), (" ", 32)];
        let code = codes.iter().find(|(name, _)| *name == key).map_or(0, |(_, code)| *code);
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({
                "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code, "code": key,
            });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// The page as a picture, as high as it is.
    pub fn picture(&mut self, whole: bool) -> Vec<u8> {
        let mut params = json!({"format": "png", "captureBeyondViewport": whole});
        if whole {
            let size = self.call("Page.getLayoutMetrics", &json!({}))["cssContentSize"].clone();
            params["clip"] = json!({
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1,
            });
        }
        let data = self.call("Page.captureScreenshot", &params);
        decoded(data["data"].as_str().expect("a picture"))
    }

    /// What axe finds in the page as it is; `None` if it is not to be had here.
    #[track_caller]
    pub fn barriers(&mut self) -> Option<Vec<String>> {
        let script = axe()?;
        // By the protocol, which the page's own policy does not bind.
        self.call("Runtime.evaluate", &json!({"expression": script}));
        let found = self.eval(
            "axe.run(document,{resultTypes:['violations']}).then(r=>r.violations.map(v=>\
             v.id+': '+v.help+': '+v.nodes.slice(0,3).map(n=>n.html.slice(0,200)).join(' | ')))",
        );
        let found = found.as_array().expect("a list").iter();
        Some(found.map(|one| one.as_str().expect("a text").to_owned()).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("SPECUM_CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let mut all = names.iter().flat_map(|name| {
        env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>()
    });
    all.find(|program| program.is_file()).or_else(from_npm)
}

/// The package unpacks itself with Node.js, into the folder for temporary files.
fn from_npm() -> Option<PathBuf> {
    let (name, version, megabytes) = PACKAGE;
    let folder = host::package(name, version, megabytes)?;
    let unpacked = folder.join("chromium");
    if !unpacked.is_file() {
        let script = "import('@sparticuz/chromium').then(m=>m.default.executablePath())\
            .then(p=>console.log(p))";
        let node = Command::new("node")
            .args(["--input-type=module", "-e", script])
            .env("TMPDIR", &folder)
            .current_dir(&folder)
            .output();
        node.ok().filter(|node| node.status.success())?;
    }
    unpacked.is_file().then_some(unpacked)
}

fn axe() -> Option<String> {
    let (name, version, megabytes) = AXE;
    let folder = host::package(name, version, megabytes)?;
    std::fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).ok()
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let three = |four: &[u8]| {
        let bits = four.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit));
        let bits = bits << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(three).collect()
}
