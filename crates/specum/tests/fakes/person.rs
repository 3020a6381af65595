//! A helper of the tests: a person with an editor, while specum works.
//!
//! `person append 8.1`, `insert 8.1 1.2`, `retitle 1.2`, `reword 1.2`, `recheck
//! 1.2`, `renumber 1.2 9.1`, `tick 1.2`, `swap 1.2 1.3` and `crlf` edit the plan `PERSON_PLAN`, as an editor does: read, change, write beside it,
//! rename. What the person has then seen lies in `plan` on the stage
//! `FAKE_AGENT`, from which a task to be added is taken, `append.8.1`.
//! `weaken 1.2` and `remove 1.2` are an agent's, `put-back` undoes the last
//! `remove`. Tasks go by the `1.2` in their titles. `person tear` leaves half a record at the end of the journal beside the plan.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

type Lines = Vec<Vec<u8>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let stage = PathBuf::from(std::env::var_os("FAKE_AGENT").ok_or("no FAKE_AGENT")?);
    let plan = PathBuf::from(std::env::var_os("PERSON_PLAN").ok_or("no PERSON_PLAN")?);
    if words == ["tear"] {
        return tear(&plan.with_file_name(".ralph-journal.jsonl"));
    }
    let mut lines: Lines =
        fs::read(&plan)?.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    match words.as_slice() {
        ["append", id] => append(&mut lines, &fs::read(stage.join(format!("append.{id}")))?),
        ["insert", id, before] => {
            let at = place(&lines, before).ok_or("no such task")?;
            let block = fs::read(stage.join(format!("append.{id}")))?;
            let block = block.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.splice(at..at, block.map(<[u8]>::to_vec));
        }
        ["reword", id] => edit(&mut lines, id, "what the title says", "just what the title says")?,
        ["recheck", id] => edit(&mut lines, id, "echo passed", "true && echo passed")?,
        ["weaken", id] => weaken(&mut lines, id)?,
        ["renumber", id, number] => {
            let at = place(&lines, id).ok_or("no such task")?;
            let line = String::from_utf8_lossy(&lines[at]).into_owned();
            lines[at] = line.replacen(&format!("] {id} "), &format!("] {number} "), 1).into();
        }
        ["remove", id] => {
            let block = block(&lines, id).ok_or("no such task")?;
            let gone: Lines = lines.splice(block, []).collect();
            fs::write(stage.join("removed"), gone.join(&b'\n'))?;
        }
        ["put-back"] => {
            // Once.
            let gone = fs::read(stage.join("removed"))?;
            fs::remove_file(stage.join("removed"))?;
            append(
                &mut lines,
                &String::from_utf8_lossy(&gone).replace("- [x]", "- [ ]").into_bytes(),
            );
        }
        ["retitle", id] => {
            let at = place(&lines, id).ok_or("no such task")?;
            let line = &mut lines[at];
            let end = line.len() - usize::from(line.ends_with(b"\r"));
            line.splice(end..end, *b", anew");
        }
        ["tick", id] => {
            let at = place(&lines, id).ok_or("no such task")?;
            lines[at][3] = b'x';
        }
        ["swap", one, other] => swap(&mut lines, one, other).ok_or("no such task")?,
        ["crlf"] => {
            for line in lines.iter_mut().filter(|line| !line.ends_with(b"\r")) {
                line.push(b'\r');
            }
        }
        other => return Err(format!("unknown words {other:?}").into()),
    }
    let after = lines.join(&b'\n');
    let beside = plan.with_extension("md~");
    fs::write(&beside, &after)?;
    fs::rename(&beside, &plan)?;
    Ok(fs::write(stage.join("plan"), after)?)
}

/// The line of a task: its title tells, whatever it is called.
fn place(lines: &Lines, id: &str) -> Option<usize> {
    let title = format!("Work {},", id.to_lowercase());
    lines
        .iter()
        .position(|line| line.starts_with(b"- [") && String::from_utf8_lossy(line).contains(&title))
}

/// Some words of a task in the place of others, wherever they first stand.
fn edit(lines: &mut Lines, id: &str, from: &str, to: &str) -> Result<(), String> {
    let block = block(lines, id).ok_or("no such task")?;
    for line in &mut lines[block] {
        if let Some(at) = line.windows(from.len()).position(|part| part == from.as_bytes()) {
            line.splice(at..at + from.len(), to.bytes());
            return Ok(());
        }
    }
    Ok(())
}

/// Lets the check of a task pass whatever was done.
fn weaken(lines: &mut Lines, id: &str) -> Result<(), String> {
    edit(lines, id, "`grep -cx", "`echo 1 || grep -cx")?;
    edit(lines, id, "    grep -cx", "    echo 1 || grep -cx")?;
    edit(lines, id, "`test -d", "`true || test -d")?;
    edit(lines, id, "    test -d", "    true || test -d")
}

/// The lines of a task: up to the next one, a heading or an empty line.
fn block(lines: &Lines, id: &str) -> Option<std::ops::Range<usize>> {
    let begin = place(lines, id)?;
    let ends = |line: &Vec<u8>| {
        line.starts_with(b"- [") || line.starts_with(b"#") || line.is_empty() || line == b"\r"
    };
    let length = lines[begin + 1..].iter().position(ends).unwrap_or(lines.len() - begin - 1);
    Some(begin..begin + 1 + length)
}

fn swap(lines: &mut Lines, one: &str, other: &str) -> Option<()> {
    let (mut first, mut second) = (block(lines, one)?, block(lines, other)?);
    if second.start < first.start {
        (first, second) = (second, first);
    }
    let (upper, lower) = (lines[first.clone()].to_vec(), lines[second.clone()].to_vec());
    lines.splice(second, upper);
    lines.splice(first, lower);
    Some(())
}

fn append(lines: &mut Lines, block: &[u8]) {
    if lines.last().is_some_and(|last| !last.is_empty()) {
        lines.push(Vec::new());
    }
    let at = lines.len() - 1;
    lines.splice(at..at, block.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
}

/// Leaves the beginning of a record at the end of a journal, as a writer does
/// that the power leaves in the middle of it.
fn tear(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut journal = fs::File::options().append(true).open(path)?;
    Ok(journal.write_all(b"{\"v\":1,\"at\":\"2026-01-01T00:00:00.000Z\",\"event\":\"pas")?)
}
