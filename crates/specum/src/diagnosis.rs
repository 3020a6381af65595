//! What specum does, for a bug report: `SPECUM_LOG=<file>` lets every specum that is
//! started with it add what it does to that file. Without the variable nothing is
//! gathered, and a hook pays a look at one number for each place that would tell.

use std::fs::File;
use std::sync::Mutex;

use tracing::Level;

/// The variable that names the file.
pub const VARIABLE: &str = "SPECUM_LOG";

/// Begins to write, if a person wants it. A file that cannot be written to is no reason
/// to fail: a host waits for a hook.
pub fn begin() {
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else { return };
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(&path) {
        Ok(file) => {
            let to_file = tracing_subscriber::fmt().with_writer(Mutex::new(file));
            to_file.with_ansi(false).with_max_level(Level::DEBUG).init();
            let args: Vec<_> = std::env::args_os().skip(1).collect();
            let (version, process) = (env!("CARGO_PKG_VERSION"), std::process::id());
            tracing::debug!(version, process, ?args, "started");
        }
        Err(error) => eprintln!("specum: cannot write {}: {error}", path.display()),
    }
}
