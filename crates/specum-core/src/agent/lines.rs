//! An agent's output on its way to becoming lines.
//!
//! The lines are the same wherever the system cuts the output into pieces, and
//! however long one of them is, little of it is held.

/// The longest line that is given back whole. Agents put whole files into one.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// What is left of a longer one: its end, behind a sign that no format begins
/// with.
const KEPT_OF_LONG_LINE: usize = 64 * 1024;
const CUT: &str = "…";

/// Bytes on their way to becoming lines.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    /// Whether the beginning of the line is gone already.
    cut: bool,
}

impl Lines {
    /// Gives the lines that are whole by now to `read`.
    pub fn push(&mut self, bytes: &[u8], mut read: impl FnMut(&[u8])) {
        let mut from = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            let piece = &bytes[from..at];
            from = at + 1;
            if self.line.is_empty() && piece.len() <= MAX_LINE {
                // Most lines are whole in the piece, and need no copy.
                read(piece);
            } else {
                self.add(piece);
                read(&self.take());
            }
        }
        self.add(&bytes[from..]);
    }

    /// The lines that these bytes complete.
    pub fn completed(&mut self, bytes: &[u8]) -> WholeLines {
        let mut whole = WholeLines { text: Vec::with_capacity(bytes.len()) };
        let mut rest = bytes;
        if let Some(at) = memchr::memchr(b'\n', rest) {
            // What was begun in an earlier piece, and may be too long.
            self.push(&rest[..=at], |line| whole.push(line));
            rest = &rest[at + 1..];
        }
        if let Some(at) = memchr::memrchr(b'\n', rest).filter(|at| *at <= MAX_LINE) {
            // In one go: to copy short texts one by one takes longer than to find them.
            whole.text.extend_from_slice(&rest[..=at]);
            rest = &rest[at + 1..];
        }
        self.push(rest, |line| whole.push(line));
        whole
    }

    /// What is left without an end of line.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        (!self.line.is_empty()).then(|| self.take())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.line.extend_from_slice(bytes);
        if self.line.len() > MAX_LINE {
            self.cut = true;
            self.line.drain(..self.line.len() - KEPT_OF_LONG_LINE);
        }
    }

    fn take(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.cut) {
            let end = &line[line.len().saturating_sub(KEPT_OF_LONG_LINE)..];
            [CUT.as_bytes(), end].concat()
        } else {
            line
        }
    }
}

/// Lines in one piece of memory: they come by the thousand.
#[derive(Debug, Default)]
pub struct WholeLines {
    /// Each with the character that ends it.
    text: Vec<u8>,
}

impl WholeLines {
    /// Adds a line.
    pub fn push(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The lines, without their ends.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        memchr::memchr_iter(b'\n', &self.text)
            .map(move |end| &self.text[std::mem::replace(&mut from, end + 1)..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of an output that comes in pieces of a length.
    fn in_pieces(output: &[u8], length: usize) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut found: Vec<Vec<u8>> = Vec::new();
        for piece in output.chunks(length) {
            lines.push(piece, |line| found.push(line.to_vec()));
        }
        found.extend(lines.end());
        assert_eq!(found, whole_in_pieces(output, length), "all at once, in pieces of {length}");
        found
    }

    /// The same, all that a piece completes at once.
    fn whole_in_pieces(output: &[u8], length: usize) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut found: Vec<Vec<u8>> = Vec::new();
        for piece in output.chunks(length) {
            found.extend(lines.completed(piece).iter().map(<[u8]>::to_vec));
        }
        found.extend(lines.end());
        found
    }

    #[test]
    fn the_pieces_do_not_show_in_the_lines() {
        let output = b"one\n\n\ntwo\r\n\xff\nunended";
        let whole = in_pieces(output, output.len());
        assert_eq!(whole, [&b"one"[..], b"", b"", b"two\r", b"\xff", b"unended"]);
        for length in 1..output.len() {
            assert_eq!(in_pieces(output, length), whole, "in pieces of {length}");
        }
    }

    #[test]
    fn of_a_line_that_is_too_long_the_end_is_kept() {
        let output = ["x".repeat(MAX_LINE).as_bytes(), b"the end\nnext"].concat();
        for length in [1000, 65_536, output.len()] {
            let lines = in_pieces(&output, length);
            assert_eq!(lines.len(), 2);
            assert_eq!(lines[0].len(), CUT.len() + KEPT_OF_LONG_LINE);
            assert!(lines[0].starts_with(CUT.as_bytes()) && lines[0].ends_with(b"xthe end"));
            assert_eq!(lines[1], b"next");
        }
        assert_eq!(in_pieces("x".repeat(MAX_LINE).as_bytes(), 1000)[0].len(), MAX_LINE);
    }
}
