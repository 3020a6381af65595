//! Blacks out what looks like a key, before a text is passed on. By the look alone, so it
//! finds the keys of the services in its table and no password.

use std::borrow::Cow;

/// What stands in place of a key, behind its beginning.
const BLACK: &str = "████████";

/// Kinds of keys: how each begins, and how many more characters it has at least.
const KEYS: [(&str, usize); 17] = [
    ("sk-ant-", 16),
    ("sk-proj-", 16),
    ("sk-", 32),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("npm_", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
];

/// A text without its keys.
pub fn black_out(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(found) = next(text, at) {
        if let Some((keep, end)) = secret(text, found) {
            out.push_str(&text[done..keep]);
            out.push_str(BLACK);
            (done, at) = (end, end);
        } else {
            at = found + 1;
        }
    }
    match done {
        0 if out.is_empty() => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[done..]),
    }
}

/// The next place where a key may begin.
fn next(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    (from..bytes.len()).find(|&at| {
        matches!(bytes[at], b's' | b'g' | b'n' | b'A' | b'x' | b'e' | b'-')
            && (at == 0 || !is_of_key(bytes[at - 1]) || bytes[at] == b'-')
    })
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A key that begins here: up to where it may be shown, and where it ends.
fn secret(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    if let Some(private) = private_key(rest) {
        return Some((at + private.0, at + private.1));
    }
    if rest.starts_with("eyJ") {
        let length = rest.bytes().take_while(|byte| is_of_key(*byte) || *byte == b'.').count();
        let parts: Vec<&str> = rest[..length].trim_end_matches('.').split('.').collect();
        let is_token = parts.len() >= 2 && parts.iter().take(2).all(|part| part.len() >= 8);
        return is_token.then_some((at + 3, at + length));
    }
    KEYS.iter().find_map(|(begin, least)| {
        let behind = rest.strip_prefix(begin)?;
        let length = behind.bytes().take_while(|byte| is_of_key(*byte)).count();
        (length >= *least).then_some((at + begin.len(), at + begin.len() + length))
    })
}

/// A private key between its two lines; one without an end goes on to the end of the text.
fn private_key(rest: &str) -> Option<(usize, usize)> {
    let line = rest.strip_prefix("-----BEGIN ")?;
    let (label, _) = line.split_once("-----")?;
    if !label.contains("PRIVATE KEY") || label.contains('\n') {
        return None;
    }
    let shown = "-----BEGIN ".len() + label.len() + "-----".len();
    let end = rest.find("-----END ").unwrap_or(rest.len());
    Some((shown, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_key_in_the_table_is_blacked_out_wherever_it_stands() {
        for (begin, least) in KEYS {
            let key = format!("{begin}{}", "Ab3".repeat(least));
            for text in [key.clone(), format!("KEY={key} # x"), format!("+  \"{key}\",\n")] {
                let out = black_out(&text);
                assert!(!out.contains(&key[begin.len()..]), "{out}");
                assert_eq!(out, text.replace(&key[begin.len()..], BLACK));
            }
        }
    }

    #[test]
    fn tokens_and_private_keys_are_blacked_out_and_what_stands_around_them_stays() {
        let token = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_def done";
        assert_eq!(black_out(token), "Bearer eyJ████████ done");
        let pem = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
        let gone = "a\n-----BEGIN RSA PRIVATE KEY-----████████-----END RSA PRIVATE KEY-----\nb";
        assert_eq!(black_out(pem), gone);
        let torn = "+-----BEGIN PRIVATE KEY-----\n+MIIE\n";
        assert_eq!(black_out(torn), "+-----BEGIN PRIVATE KEY-----████████");
        let two = format!("ghp_{0} ghp_{0}", "x".repeat(36));
        assert_eq!(black_out(&two), "ghp_████████ ghp_████████");
    }

    #[test]
    fn what_is_no_key_stays_as_it_is() {
        for text in [
            "task-ant-0123456789abcdef012345",
            "sk-short",
            "npm_config_registry",
            "an eyJ of no token",
            "-----BEGIN CERTIFICATE-----\nMIIE\n",
            "é-----BEGIN",
            "AKIA",
        ] {
            assert!(matches!(black_out(text), Cow::Borrowed(_)), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_through(text in "\\PC*|(-----BEGIN |PRIVATE KEY-----|sk-ant-|eyJ|[a-z.é]){0,20}") {
            black_out(&text);
        }
    }
}
