//! A small hash whose value never changes between versions.
//!
//! It tells "the same" from "something moved" in files that outlive a release.
//! The standard library's hasher promises no such stability, and nothing here
//! needs to withstand an attacker: whoever can forge the input can edit the
//! file the digest stands in.

/// FNV-1a, 64 bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Digest::default().with(bytes)
    }

    /// This digest continued over more bytes.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Digest(bytes.iter().fold(self.0, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    /// This digest continued over a number.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        self.with(&number.to_le_bytes())
    }

    /// Sixteen hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_never_change() {
        assert_eq!(Digest::of(b"").hex(), "cbf29ce484222325");
        assert_eq!(Digest::of(b"foobar").hex(), "85944171f73967e8");
    }
}
