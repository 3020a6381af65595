//! Paths as git tells them, which are bytes, as text that loses none of them.
//!
//! Journal, briefs and reports hold text. A byte that is no UTF-8 becomes one of
//! 128 characters at the end of what is set aside for private use, and comes
//! back as the byte it was.

use std::path::{Path, PathBuf};

use crate::os;

/// The character of the byte 0: only those from 128 on are ever used.
const FIRST: u32 = 0x0010_FF00;

/// A path as text.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let odd = chunk.invalid().iter();
        text.extend(odd.filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    }
    text
}

/// The bytes of a path.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match u32::from(character).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte @ 128..) => bytes.push(byte),
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// A path of the system's.
pub(crate) fn file(text: &str) -> PathBuf {
    PathBuf::from(os::text(&bytes(text)))
}

/// A path of the system's as text.
pub(crate) fn shown(path: &Path) -> String {
    text(path.as_os_str().as_encoded_bytes())
}

/// The paths of a list whose entries end with a zero.
pub(super) fn listed(list: &[u8]) -> Vec<String> {
    list.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(text).collect()
}

/// The same list again.
pub(super) fn joined<'p>(paths: impl IntoIterator<Item = &'p String>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(&bytes(path));
        list.push(0);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back_as_it_was() {
        let every: Vec<u8> = (1..=255).collect();
        assert_eq!(bytes(&text(&every)), every);
        let plain = "out/caf\u{e9} \u{fffd} \u{1f600}.txt";
        assert_eq!(text(plain.as_bytes()), plain);
        assert_eq!(bytes(plain), plain.as_bytes());
    }
}
