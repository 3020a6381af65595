//! Our own style and script, and the policy that lets only these two run.

use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");

/// What the page may do: run these two, by their SHA-256, and load nothing.
pub(super) const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-Lx78w2l8nYqw3BqtDORlGd5vRQsgoRQ9gsidT36k+y4='; \
    script-src 'sha256-E3K8/lSlvRdRQqctU+9UIN8xvoRbdiVxTBM1gYG6It8='; \
    base-uri 'none'; form-action 'none'";

pub(super) fn style() -> Markup {
    html! { style { (own(STYLE)) } }
}

pub(super) fn script() -> Markup {
    html! { script { (own(SCRIPT)) } }
}

/// The only text that gets into the page as it is.
fn own(asset: &'static str) -> PreEscaped<&'static str> {
    PreEscaped(asset)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::*;

    fn hash(text: &str) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digit = |bits: u32| char::from(DIGITS[bits as usize & 63]);
        let three = |bytes: &[u8]| {
            let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            let all = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
            all.iter().take(bytes.len() + 1).collect::<String>() + &"=".repeat(3 - bytes.len())
        };
        Sha256::digest(text).chunks(3).map(three).collect()
    }

    #[test]
    fn the_policy_lets_run_what_is_in_the_page_and_nothing_else() {
        let expected = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
             form-action 'none'",
            hash(STYLE),
            hash(SCRIPT)
        );
        assert_eq!(POLICY, expected, "put these into POLICY");
    }

    #[test]
    fn neither_asset_ends_its_element_and_neither_loads_anything() {
        for asset in [STYLE, SCRIPT] {
            for bad in ["</", "http:", "https:", "url(//", "@import", "innerHTML", "eval("] {
                assert!(!asset.contains(bad), "{bad}");
            }
        }
        assert!(SCRIPT.len() < 8 * 1024 && STYLE.len() < 20 * 1024);
    }

    #[test]
    fn one_place_alone_puts_text_into_the_page_as_it_is() {
        fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                match entry.path().is_dir() {
                    true => sources(&entry.path(), found),
                    false => found.push(entry.path()),
                }
            }
        }
        let mut files = Vec::new();
        sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
        let is_it = |path: &&std::path::PathBuf| {
            let is_rust = path.extension().is_some_and(|ending| ending == "rs");
            is_rust && fs::read_to_string(path).unwrap().contains("PreEscaped")
        };
        let names: Vec<_> =
            files.iter().filter(is_it).filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["assets.rs"]);
    }
}
