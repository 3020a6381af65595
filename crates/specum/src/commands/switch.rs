use serde_json::json;

use super::{print, print_json, project};
use crate::exit;
use crate::files;
use crate::git::Git;
use crate::project::{Project, Spec};

/// Make a spec the active one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name, or its path if the name is not enough
    pub(super) spec: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let project = project()?;
    let spec = project.spec(&args.spec)?;
    // In a host's sandbox the hooks see to it.
    if let Ok(git) = Git::open(&project.root)
        && git.refuse_read_only().is_ok()
    {
        git.exclude_own_files()?;
    }
    make_active(&project, &spec)?;
    if args.json {
        print_json(&json!({"name": spec.name, "path": spec.shown}))?;
    } else {
        print(format!("active spec: {} ({})", spec.name, spec.shown))?;
    }
    Ok(exit::OK)
}

/// Writes the marker that verbs and hooks find the active spec by.
pub(super) fn make_active(project: &Project, spec: &Spec) -> anyhow::Result<()> {
    let marker = project.marker_for(spec);
    Ok(files::write(&project.current_spec_file(), format!("{marker}\n").as_bytes())?)
}
