//! The binary that people run, for the benchmarks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the binary as it is released.
pub(crate) fn binary() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .args([
            "dist",
            "--package",
            "specum",
            "--bin",
            "specum",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "`cargo dist` failed");
    let text = String::from_utf8_lossy(&output.stdout);
    let executable =
        text.rsplit("\"executable\":\"").next().and_then(|rest| rest.split('"').next());
    PathBuf::from(executable.expect("cargo names the binary"))
}
