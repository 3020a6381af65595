//! What Linux tells about other processes, in `/proc`.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{
    Signal, WaitOptions, getpid, getppid, set_child_subreaper, set_parent_process_death_signal,
    waitpid,
};

use super::Stat;
use super::unix::pid;

/// How long a process that was killed may take to be gone.
const LONGEST_DEATH: Duration = Duration::from_secs(1);

/// What is known about a process that has not ended.
pub(crate) fn stat(process: u32) -> Option<Stat> {
    let mut text = [0; 1024];
    let mut file = fs::File::open(format!("/proc/{process}/stat")).ok()?;
    let length = file.read(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text[..length]);
    // The name may itself contain blanks and brackets.
    let (name, fields) = text.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // A zombie has ended; only its number is still taken.
    (*fields.first()? != "Z").then_some(())?;
    Some(Stat {
        name: Some(name.to_owned()),
        parent: fields.get(1)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}

/// One start of this host.
pub(crate) fn boot() -> String {
    // In one read: a hook asks for it at every stop.
    let mut text = [0; 64];
    let file = fs::File::open("/proc/sys/kernel/random/boot_id");
    let length = file.and_then(|mut file| file.read(&mut text)).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).trim().to_owned()
}

/// Lets two files exchange their names, in one step; `false` if one is missing or the
/// file system cannot do it.
pub(crate) fn exchange(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

/// The namespace in which the numbers of processes count.
pub(crate) fn pid_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().trim_start_matches("pid:").trim_matches(['[', ']']).to_owned()
}

/// Every process there is.
pub(crate) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a file has one name only: elsewhere another case may name it too.
pub(crate) const NAMES_ARE_EXACT: bool = true;

/// Whether other processes are seen at all.
pub(crate) const PROCESSES_ARE_SEEN: bool = true;

/// Where a process works.
pub(crate) fn folder_of(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/cwd")).ok()
}

/// The children of a process.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let Ok(list) = fs::read_to_string(thread.path().join("children")) else { continue };
        found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    found
}

/// A variable in the environment that a process was started with.
pub(crate) fn variable_of(process: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// From now on what our descendants leave behind becomes our child; `false` if
/// the kernel is too old for it.
pub(crate) fn adopt_orphans() -> bool {
    set_child_subreaper(Some(getpid())).is_ok()
}

/// Waits for killed children that have no other to wait for them, within bounds:
/// the kernel may hold one.
pub(crate) fn wait_for(children: &[u32]) {
    let began = Instant::now();
    for child in children {
        while !reap(*child) && began.elapsed() < LONGEST_DEATH {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Waits for a child if it has ended; `false` if it lives.
pub(crate) fn reap(child: u32) -> bool {
    let Some(child) = pid(child) else { return true };
    !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None))
}

/// From now on we are killed when the thread ends that started us; `false` if
/// that was not `parent`, or it has ended already.
pub(crate) fn die_with(parent: u32) -> bool {
    // A kernel that cannot do it leaves us to the next run, which looks for us.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    getppid() == pid(parent)
}

/// The program that we are, whatever has become of its file.
pub(crate) fn ourselves() -> Option<PathBuf> {
    // Asked for by the child itself, which is a copy of us until then.
    let path = PathBuf::from("/proc/self/exe");
    path.exists().then_some(path)
}

/// Whether a program is a script or made for the same machine as we are. For
/// anything else, which the kernel may refuse, becoming it falls back on running
/// it as a script; starting it does not.
pub(crate) fn is_of_our_kind(file: &Path) -> bool {
    static OURS: OnceLock<Option<[u8; 20]>> = OnceLock::new();
    let head = |file: &Path| {
        let mut head = [0; 20];
        fs::File::open(file).and_then(|mut file| file.read_exact(&mut head)).ok().map(|()| head)
    };
    let machine = |head: [u8; 20]| (head[..6].to_owned(), head[18..].to_owned());
    let ours = OURS.get_or_init(|| head(Path::new("/proc/self/exe")));
    match head(file) {
        Some(head) => head.starts_with(b"#!") || ours.map(machine) == Some(machine(head)),
        None => fs::read(file).is_ok_and(|text| text.starts_with(b"#!")),
    }
}

/// Whether we were started so that a signal does nothing to us.
pub(crate) fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Makes room in a pipe. A program on Node.js may exit while what it has printed
/// still waits for the pipe to be read, and loses it: its answer, if the brief
/// that it repeats before is long.
pub(crate) fn grow_pipe(pipe: &impl AsFd) {
    // As much as the system gives to anybody; less is no failure.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1024 * 1024);
}
