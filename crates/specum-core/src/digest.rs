//! Hashes whose values never change between versions: [`Digest`] for names and short
//! texts, [`ContentDigest`] for the content of files.
//!
//! They tell "the same" from "something moved" in files that outlive a release.
//! The standard library's hasher promises no such stability, and nothing here
//! needs to withstand an attacker: a process that can forge the input can edit the
//! file the digest stands in.

use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

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

/// What tells the content of one file from that of another: xxh3, 128 bit. Its text
/// names the algorithm: `x3:` and 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentDigest(u128);

impl ContentDigest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        ContentDigest(xxh3_128(bytes))
    }

    /// Whether a recorded text is the digest of these bytes, by the algorithm that the
    /// text names. One without a name is of an older version: [`Digest`].
    pub fn matches(recorded: &str, bytes: &[u8]) -> bool {
        match ContentDigest::is_of_older_version(recorded) {
            true => Digest::of(bytes).hex() == recorded,
            false => ContentDigest::of(bytes).to_string() == recorded,
        }
    }

    /// Whether a recorded text is a digest as older versions have written it.
    pub fn is_of_older_version(recorded: &str) -> bool {
        recorded.len() == 16 && recorded.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x3:{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_of_contents_never_change() {
        let empty = "x3:99aa06d3014798d86001c324468d497f";
        assert_eq!(ContentDigest::of(b"").to_string(), empty);
        assert_eq!(ContentDigest::of(b"foobar").to_string(), "x3:3c9e102628997f44ac87b0b131c6992d");
        // Each way of the algorithm: short, middle and long inputs.
        let long: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let of = |length: usize| ContentDigest::of(&long[..length]).to_string();
        assert_eq!(of(100), "x3:da95ef16fd9566f329b20ba5f03ec01e");
        assert_eq!(of(200), "x3:cb0395310643ba0edd97e9af3609d9f5");
        assert_eq!(of(5000), "x3:7a681524919c28221b74bda2c82a8c7a");
    }

    #[test]
    fn a_recorded_digest_is_compared_by_the_algorithm_that_it_names() {
        let (now, before) = (ContentDigest::of(b"text").to_string(), Digest::of(b"text").hex());
        assert!(ContentDigest::matches(&now, b"text") && ContentDigest::matches(&before, b"text"));
        assert!(!ContentDigest::matches(&now, b"text ") && !ContentDigest::matches(&before, b""));
        // One of a newer version cannot be compared, and neither can what is none.
        for other in ["b3:6001c324468d497f", "6001c324", "", "not found"] {
            assert!(!ContentDigest::matches(other, b"text"), "{other}");
        }
        assert!(ContentDigest::is_of_older_version(&before));
        assert!(!ContentDigest::is_of_older_version(&now));
    }

    #[test]
    fn known_values_never_change() {
        assert_eq!(Digest::of(b"").hex(), "cbf29ce484222325");
        assert_eq!(Digest::of(b"foobar").hex(), "85944171f73967e8");
    }
}
