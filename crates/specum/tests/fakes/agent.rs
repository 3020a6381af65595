//! A helper of the tests: an agent without a model.
//!
//! Under the name by which it is called, such as `claude`, it looks into the
//! directory `FAKE_AGENT` for a script: `claude.2` for its second call, else
//! `claude`. Each line of a script is a word and what belongs to it; see `obey`.
//! Every call leaves `claude.2.called` there, with its arguments. Called `git`,
//! it stands before git in the same way.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, getpid, kill_process};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut args = std::env::args();
    let called = args.next().ok_or("no name")?;
    let name = Path::new(&called).file_name().ok_or("no name")?.to_string_lossy().into_owned();
    let stage = PathBuf::from(std::env::var_os("FAKE_AGENT").ok_or("no FAKE_AGENT")?);
    let code = perform(&stage, &name, &args.collect::<Vec<_>>().join(" "))?;
    Ok(ExitCode::from(code.unwrap_or_default()))
}

/// Plays the script of a name, or that of the call of this number.
fn perform(stage: &Path, name: &str, args: &str) -> Result<Option<u8>, Box<dyn std::error::Error>> {
    let number = register(stage, name, args)?;
    let own = stage.join(format!("{name}.{number}"));
    let script = fs::read(if own.exists() { own.clone() } else { stage.join(name) })?;
    for line in script.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        if let Some(code) = obey(word, rest, &own)? {
            return Ok(Some(code));
        }
    }
    Ok(None)
}

/// Leaves a note of the call, and gives its number.
fn register(stage: &Path, name: &str, args: &str) -> io::Result<u64> {
    for number in 1.. {
        let note = stage.join(format!("{name}.{number}.called"));
        match File::create_new(note) {
            Ok(mut note) => return note.write_all(args.as_bytes()).map(|()| number),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no number is free"))
}

/// Does what a line says. A code ends the agent.
fn obey(word: &str, rest: &str, own: &Path) -> Result<Option<u8>, Box<dyn std::error::Error>> {
    match word {
        // Reads the brief to its end and keeps it as `claude.2.brief`.
        "read" => {
            let mut brief = Vec::new();
            io::stdin().read_to_end(&mut brief)?;
            fs::write(own.with_added_extension("brief"), brief)?;
        }
        // Reads the brief, keeps it as well, and plays the script `task.1.2` of the task in it, or
        // `task.1.2.3` when it is started for that task for the third time.
        "play" => {
            let mut brief = Vec::new();
            io::stdin().read_to_end(&mut brief)?;
            fs::write(own.with_added_extension("brief"), &brief)?;
            let stage = own.parent().ok_or("no stage")?;
            return perform(stage, &format!("task.{}", task_in(&brief).ok_or("no task")?), "");
        }
        // A line on standard output, or on standard error.
        "say" => writeln!(io::stdout(), "{rest}")?,
        "complain" => writeln!(io::stderr(), "{rest}")?,
        // Bytes, in hexadecimal digits, on standard output.
        "bytes" => {
            let bytes =
                (0..rest.len() / 2).map(|n| u8::from_str_radix(&rest[2 * n..2 * n + 2], 16));
            io::stdout().write_all(&bytes.collect::<Result<Vec<u8>, _>>()?)?;
            io::stdout().flush()?;
        }
        // So many megabytes, in lines of so many bytes; 0 for no end of line.
        "flood" => flood(&mut io::stdout().lock(), rest)?,
        "flood-error" => flood(&mut io::stderr().lock(), rest)?,
        // Waits for a shell command, and breaks off if that fails.
        "do" => {
            if !Command::new("sh").arg("-c").arg(rest).stdin(Stdio::null()).status()?.success() {
                return Ok(Some(1));
            }
        }
        // Waits for a shell command, does not, or becomes one.
        "sh" => {
            Command::new("sh").arg("-c").arg(rest).stdin(Stdio::null()).status()?;
        }
        "leave" => {
            Command::new("sh").arg("-c").arg(rest).stdin(Stdio::null()).spawn()?;
        }
        "become" => return Err(Command::new("sh").arg("-c").arg(rest).exec().into()),
        // Becomes another program, with our own arguments, or waits for it.
        "pass" => return Err(Command::new(rest).args(std::env::args_os().skip(1)).exec().into()),
        "forward" => {
            Command::new(rest).args(std::env::args_os().skip(1)).status()?;
        }
        // Starts another program with our own arguments, and goes on at once.
        "begin" => {
            Command::new(rest).args(std::env::args_os().skip(1)).spawn()?;
        }
        // So many messages, as Claude Code prints them.
        "chat" => chat(rest.parse()?)?,
        "cut-power" => cut_power()?,
        // Sends whoever has started us a signal, such as `-9`.
        "slay" => {
            Command::new("kill").args([rest, &parent_id().to_string()]).status()?;
        }
        // The most memory that specum has used so far, in kilobytes.
        "measure" => {
            let status = fs::read_to_string(format!("/proc/{}/status", parent_id()))?;
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let peak = peak.ok_or("no peak")?.trim().trim_end_matches(" kB");
            fs::write(own.with_added_extension("memory"), peak)?;
        }
        // Silence without end.
        "hang" => loop {
            std::thread::park();
        },
        "exit" => return Ok(Some(rest.parse()?)),
        "" | "#" => {}
        other => return Err(format!("unknown word {other}").into()),
    }
    Ok(None)
}

/// The id of the first task in a brief.
fn task_in(brief: &[u8]) -> Option<String> {
    let brief = String::from_utf8_lossy(brief);
    let id = |line: &str| {
        let title = line.strip_prefix("- [ ] ").or(line.strip_prefix("- [x] "))?;
        // Whatever it is called by now, its title tells.
        match title.split_once("Work ") {
            Some((_, behind)) => Some(behind.split([',', ' ']).next()?.to_uppercase()),
            None => Some(title.split_whitespace().next()?.to_owned()),
        }
    };
    brief.lines().find_map(id)
}

/// A reader that has gone ends the talk and nothing else.
fn chat(count: usize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for number in 1..=count {
        let text = format!("This is message {number} of a talk that nobody asked for.");
        writeln!(
            out,
            r#"{{"type":"assistant","parent_tool_use_id":null,"message":{{"id":"m{number}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )?;
    }
    out.flush()
}

/// Ends everything that has our home, ourselves last, as a power cut does: all are
/// stopped first, so that none of them sees another one end.
fn cut_power() -> Result<(), Box<dyn std::error::Error>> {
    let home = std::env::var("HOME")?;
    // Whoever was seen once belongs to it: while a process becomes another program,
    // its environment cannot be read, and one that is only stopped would stay for ever.
    let mut all: Vec<Pid> = Vec::new();
    let mut looks_without_a_new_one = 0;
    while looks_without_a_new_one < 2 {
        let mut new = neighbours(&home)?;
        new.retain(|pid| !all.contains(pid));
        looks_without_a_new_one = if new.is_empty() { looks_without_a_new_one + 1 } else { 0 };
        send(&new, Signal::STOP);
        all.append(&mut new);
    }
    // Whom we descend from last: the system ends an agent together with its run, and
    // we have all the others to end.
    let ours = ancestors();
    let (ours, others): (Vec<Pid>, Vec<Pid>) = all.into_iter().partition(|pid| ours.contains(pid));
    send(&others, Signal::KILL);
    send(&ours, Signal::KILL);
    send(&[getpid()], Signal::KILL);
    Ok(())
}

/// The process that has started us, the one that has started that, and so on.
fn ancestors() -> Vec<Pid> {
    let parent = |of: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{of}/stat")).ok()?;
        // The name of the program, in parentheses, may have anything in it.
        let behind = stat.rsplit_once(')')?.1;
        Pid::from_raw(behind.split_whitespace().nth(1)?.parse().ok()?)
    };
    std::iter::successors(Some(getpid()), parent).skip(1).collect()
}

fn send(to: &[Pid], signal: Signal) {
    for pid in to {
        // It may have ended by itself.
        let _ = kill_process(*pid, signal);
    }
}

/// Every other process that has this home.
fn neighbours(home: &str) -> io::Result<Vec<Pid>> {
    let home = format!("HOME={home}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has_home = environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes());
        if has_home && let Some(pid) = number.and_then(Pid::from_raw) {
            found.push(pid);
        }
    }
    found.retain(|pid| *pid != getpid());
    Ok(found)
}

fn flood(to: &mut impl Write, rest: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (megabytes, line) = rest.split_once(' ').ok_or("megabytes and length")?;
    let (megabytes, line): (usize, usize) = (megabytes.parse()?, line.parse()?);
    let mut piece = vec![b'x'; 1024 * 1024];
    if line > 0 {
        piece.iter_mut().skip(line - 1).step_by(line).for_each(|byte| *byte = b'\n');
    }
    (0..megabytes).try_for_each(|_| to.write_all(&piece))?;
    if piece.last() != Some(&b'\n') {
        to.write_all(b"\n")?;
    }
    Ok(to.flush()?)
}
