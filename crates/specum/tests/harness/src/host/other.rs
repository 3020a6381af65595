//! Codex and Gemini CLI for one prompt, against a mock model.
//!
//! Like Claude Code here, they see nothing of the machine they run on: a given
//! home, a cleared environment, a key that opens nothing.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::process::{Finished, Running};
use crate::built;
use crate::world::first_on_path;

/// Far beyond what any run takes; it only keeps a hung host from hanging CI.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// What one run came to.
pub struct OtherOutcome {
    finished: Finished,
}

impl OtherOutcome {
    pub fn succeeded(&self) -> bool {
        self.finished.status.success()
    }

    /// The end of its output, for a failure's message.
    pub fn tail(&self) -> String {
        self.finished.tail()
    }
}

/// Makes a home in which Codex asks the model at `url`.
pub fn settle_codex(home: &Path, url: &str) {
    let config = format!(
        "model = \"gpt-5\"\nmodel_provider = \"mock\"\n\n[model_providers.mock]\nname = \"mock\"\n\
         base_url = \"{url}/v1\"\nenv_key = \"MOCK_KEY\"\nwire_api = \"responses\"\n\
         request_max_retries = 1\nstream_max_retries = 1\n"
    );
    fs::create_dir_all(home.join(".codex")).expect("a new directory");
    fs::write(home.join(".codex/config.toml"), config).expect("a new file");
    // Its commands run in a login shell, which makes a PATH of its own.
    let profile = format!("PATH='{}':$PATH\n", built().display());
    fs::write(home.join(".profile"), profile).expect("a new file");
}

/// Makes a home in which Gemini CLI uses a key, and has settings of the user's.
pub fn settle_gemini(home: &Path) {
    let settings = "{\n  \"security\": {\n    \"auth\": {\n      \"selectedType\": \"gemini-api-key\"\n    }\n  }\n}";
    fs::create_dir_all(home.join(".gemini")).expect("a new directory");
    fs::write(home.join(".gemini/settings.json"), settings).expect("a new file");
}

/// Makes a home in which opencode asks the model at `url`.
pub fn settle_opencode(home: &Path, url: &str) {
    let config = json!({
        "model": "mock/mock-1", "small_model": "mock/mock-1", "share": "disabled",
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible", "name": "Mock",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "dummy"},
            "models": {"mock-1": {
                "name": "Mock 1", "limit": {"context": 400_000, "output": 8000},
                "cost": {"input": 1, "output": 2},
            }},
        }},
    });
    fs::create_dir_all(home.join(".config/opencode")).expect("a new directory");
    fs::write(home.join(".config/opencode/opencode.json"), config.to_string()).expect("a file");
}

/// `codex exec` in a project, with every hook trusted.
pub fn codex_exec(program: &Path, home: &Path, project: &Path, prompt: &str) -> OtherOutcome {
    let mut command = Command::new(program);
    command
        .args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox"])
        .args(["--dangerously-bypass-hook-trust", prompt])
        .env_clear()
        .env("MOCK_KEY", "dummy");
    run(command, home, project)
}

/// `codex exec` in a project with the sandbox of its ordinary mode: the project
/// can be written, `.git` and everything else cannot.
pub fn codex_in_its_sandbox(
    program: &Path,
    home: &Path,
    project: &Path,
    prompt: &str,
) -> OtherOutcome {
    in_sandbox(program, home, project, &["--dangerously-bypass-hook-trust", prompt])
}

/// The same for somebody who has not trusted its hooks.
pub fn codex_without_trust(
    program: &Path,
    home: &Path,
    project: &Path,
    prompt: &str,
) -> OtherOutcome {
    in_sandbox(program, home, project, &[prompt])
}

/// `codex exec` as it is started without options: nothing can be written.
pub fn codex_read_only(program: &Path, home: &Path, project: &Path, prompt: &str) -> OtherOutcome {
    let mut command = codex_command(program, home, project);
    command.args(["exec", "--json", "--dangerously-bypass-hook-trust", prompt]);
    run(command, home, project)
}

/// `codex exec` in its ordinary mode, which goes on until it is dropped.
pub fn codex_in_background(program: &Path, home: &Path, project: &Path, prompt: &str) -> Running {
    let args = ["--dangerously-bypass-hook-trust", prompt];
    let mut command = sandboxed(program, home, &args);
    settled(&mut command, home, project);
    Running::spawn(command, TIME_LIMIT)
}

/// `codex` in a project, for a terminal.
pub fn codex_command(program: &Path, home: &Path, project: &Path) -> Command {
    let temporary = home.join("tmp");
    fs::create_dir_all(&temporary).expect("a new directory");
    let mut command = Command::new(program);
    command.env_clear().env("TMPDIR", temporary).env("MOCK_KEY", "dummy");
    settled(&mut command, home, project);
    command
}

fn in_sandbox(program: &Path, home: &Path, project: &Path, args: &[&str]) -> OtherOutcome {
    run(sandboxed(program, home, args), home, project)
}

fn sandboxed(program: &Path, home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Its sandbox leaves the folder for temporary files open, in which our worlds
    // are, and it keeps its own helpers out of there.
    let temporary = home.join("tmp");
    fs::create_dir_all(&temporary).expect("a new directory");
    command
        .args(["exec", "--json", "--sandbox", "workspace-write"])
        .args(["-c", "sandbox_workspace_write.exclude_slash_tmp=true"])
        .args(["-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true"])
        .args(args)
        .env_clear()
        .env("TMPDIR", temporary)
        .env("MOCK_KEY", "dummy");
    command
}

/// `opencode run` in a project.
pub fn opencode_prompt(program: &Path, home: &Path, project: &Path, prompt: &str) -> OtherOutcome {
    let mut command = Command::new(program);
    command
        .args(["run", "--format", "json", "--auto", "--title=specum", prompt])
        .env_clear()
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    run(command, home, project)
}

/// `gemini -p` in a project.
pub fn gemini_prompt(
    program: &Path,
    url: &str,
    home: &Path,
    project: &Path,
    prompt: &str,
) -> OtherOutcome {
    let mut command = gemini(program, url);
    command
        .args(["-o", "stream-json", "-y", "-p", prompt])
        // `--skip-trust` would leave the hooks of the project out.
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    run(command, home, project)
}

/// The same in a folder that the person has not trusted.
pub fn gemini_without_trust(
    program: &Path,
    url: &str,
    home: &Path,
    project: &Path,
    prompt: &str,
) -> OtherOutcome {
    let mut command = gemini(program, url);
    command.args(["-o", "stream-json", "-y", "--skip-trust", "-p", prompt]);
    run(command, home, project)
}

/// `gemini` in a project, for a terminal.
pub fn gemini_command(program: &Path, url: &str, home: &Path, project: &Path) -> Command {
    let mut command = gemini(program, url);
    command.arg("-y").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    settled(&mut command, home, project);
    command
}

fn gemini(program: &Path, url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["-m", "gemini-2.5-flash"])
        .env_clear()
        .env("GEMINI_API_KEY", "dummy")
        .env("GOOGLE_GEMINI_BASE_URL", url);
    command
}

fn run(mut command: Command, home: &Path, project: &Path) -> OtherOutcome {
    settled(&mut command, home, project);
    OtherOutcome { finished: Running::spawn(command, TIME_LIMIT).wait() }
}

/// Lets a command see this home and this project, and specum on its PATH: the model
/// calls it by its name.
fn settled(command: &mut Command, home: &Path, project: &Path) {
    command.current_dir(project).env("HOME", home).env("PATH", first_on_path(built()));
}
