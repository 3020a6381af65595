//! A run in the background: the same program once more, in a session of its own.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use specum_core::journal::Entry;

use super::OpError;
use crate::attempt::Workspace;
use crate::feed::Feed;
use crate::files;
use crate::logs;
use crate::process;
use crate::store::StoreError;

/// How often is looked whether it works.
const LOOK: Duration = Duration::from_millis(20);

/// What became of a run that was started in the background.
#[derive(Debug)]
pub enum Detached {
    /// It works.
    Works {
        /// Its process.
        process: u32,
        /// Where its output goes.
        output: PathBuf,
    },
    /// It has ended, perhaps before it began to work.
    Ended {
        /// Its exit code.
        code: Option<i32>,
        /// Where its output is.
        output: PathBuf,
    },
}

/// Starts this program once more with these arguments, in the background, and returns when
/// it works on the spec or has ended.
pub fn detach(workspace: &Workspace, args: Vec<OsString>) -> Result<Detached, OpError> {
    let spec = &workspace.spec;
    let output = logs::run_output(spec).map_err(OpError::io("begin a file for what it prints"))?;
    let file = files::open_own(&output, File::options().append(true))
        .map_err(OpError::io("open the file for what it prints"))?;
    let mut feed = Feed::from_now(&workspace.store).map_err(StoreError::from)?;
    let mut child =
        process::start_detached(args, &file).map_err(OpError::io("start it in the background"))?;
    let process = child.id();
    loop {
        if let Some(status) = child.try_wait().map_err(OpError::io("wait for what was started"))? {
            return Ok(Detached::Ended { code: status.code(), output });
        }
        // A look that fails is followed by another one.
        let news = feed.next().unwrap_or_default();
        if news.iter().any(|event| matches!(event.entry(), Some(Entry::RunStarted { .. }))) {
            return Ok(Detached::Works { process, output });
        }
        spec.world.clock.sleep(LOOK);
    }
}
