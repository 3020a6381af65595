//! The log of one start of a program: its beginning and its end, however much it
//! prints. An agent that prints zeros for an hour fills no disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

/// How much of the beginning is kept.
const HEAD: u64 = 16 * 1024 * 1024;
/// How much of the end is kept at least, and up to twice as much.
const TAIL: u64 = 16 * 1024 * 1024;

/// A log that several threads write to.
#[derive(Debug)]
pub struct Log(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    file: File,
    head: u64,
    tail: u64,
    length: u64,
    /// How much was left out between beginning and end.
    missing: u64,
}

impl Log {
    /// Keeps a log in a new file, open for reading and writing.
    pub fn new(file: File) -> Log {
        Log::with(file, HEAD, TAIL)
    }

    fn with(file: File, head: u64, tail: u64) -> Log {
        Log(Mutex::new(Kept { file, head, tail, length: 0, missing: 0 }))
    }

    /// Adds what was printed. A disk that is full must not end the agent's work,
    /// so what cannot be written is missing.
    pub(super) fn write(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().expect("no writer panics");
        if kept.add(bytes).is_err() {
            // As much of it as there was room for.
            kept.length = kept.file.seek(SeekFrom::End(0)).unwrap_or(kept.length);
        }
    }
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        if self.length > self.head + 2 * self.tail + self.mark().len() as u64 {
            self.leave_out()?;
        }
        Ok(())
    }

    /// The line between beginning and end, of one length whatever it says.
    fn mark(&self) -> String {
        format!("\n[specum: {:>20} bytes are left out here]\n", self.missing)
    }

    /// Moves the end up behind the beginning. Killed in between, some of it stands
    /// there twice.
    fn leave_out(&mut self) -> io::Result<()> {
        let begins = match self.missing {
            0 => self.head,
            _ => self.head + self.mark().len() as u64,
        };
        let mut from = self.length - self.tail;
        self.missing += from - begins;
        let mark = self.mark();
        let mut to = self.head;
        self.file.seek(SeekFrom::Start(to))?;
        self.file.write_all(mark.as_bytes())?;
        to += mark.len() as u64;
        let mut piece = vec![0; 256 * 1024];
        while from < self.length {
            self.file.seek(SeekFrom::Start(from))?;
            let length = self.file.read(&mut piece)?;
            if length == 0 {
                break;
            }
            self.file.seek(SeekFrom::Start(to))?;
            self.file.write_all(&piece[..length])?;
            (from, to) = (from + length as u64, to + length as u64);
        }
        self.file.set_len(to)?;
        self.length = self.file.seek(SeekFrom::End(0))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(log: &Log) -> String {
        let mut kept = log.0.lock().unwrap();
        let mut text = String::new();
        kept.file.seek(SeekFrom::Start(0)).unwrap();
        kept.file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn finding_49_a_log_keeps_its_beginning_and_its_end_and_says_what_is_missing() {
        for size in [1, 7, 64] {
            let log = Log::with(tempfile::tempfile().unwrap(), 100, 100);
            let printed: String = (0..1000).map(|n| format!("line {n}\n")).collect();
            for piece in printed.as_bytes().chunks(size) {
                log.write(piece);
                assert!(log.0.lock().unwrap().length <= 400);
            }
            let kept = content(&log);
            assert!(kept.len() <= 400, "{}", kept.len());
            let (head, rest) = kept.split_at(100);
            assert_eq!(head, &printed[..100]);
            let mark = rest.strip_prefix("\n[specum: ").unwrap();
            let (missing, tail) = mark.split_once(" bytes are left out here]\n").unwrap();
            assert!(tail.len() >= 100 && printed.ends_with(tail), "{tail}");
            let missing: usize = missing.trim().parse().unwrap();
            assert_eq!(100 + missing + tail.len(), printed.len());
        }
    }

    #[test]
    fn a_log_within_its_bounds_has_every_byte() {
        let log = Log::with(tempfile::tempfile().unwrap(), 100, 100);
        let printed = "x".repeat(299);
        log.write(printed.as_bytes());
        assert_eq!(content(&log), printed);
    }
}
