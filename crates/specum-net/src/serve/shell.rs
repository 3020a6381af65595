//! The page itself: without data, without a token, and the same for everybody.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use specum_core::digest::Digest;

const PAGE: &str = include_str!("../assets/index.html");
const STYLE: &str = include_str!("../assets/app.css");
const SCRIPTS: [(&str, &str); 5] = [
    ("main.js", include_str!("../assets/main.js")),
    ("dom.js", include_str!("../assets/dom.js")),
    ("talk.js", include_str!("../assets/talk.js")),
    ("list.js", include_str!("../assets/list.js")),
    ("spec.js", include_str!("../assets/spec.js")),
];

/// The scripts as they are sent: what stands in them for people alone stays here.
static SENT: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let sent =
        |text: &str| text.lines().map(str::trim).filter(is_code).collect::<Vec<_>>().join("\n");
    SCRIPTS.iter().map(|(name, text)| (*name, sent(text))).collect()
});

pub(super) async fn page(headers: HeaderMap) -> Response {
    asset(&headers, "text/html; charset=utf-8", PAGE)
}

pub(super) async fn style(headers: HeaderMap) -> Response {
    asset(&headers, "text/css; charset=utf-8", STYLE)
}

pub(super) async fn script(headers: HeaderMap, Path(name): Path<String>) -> Response {
    match SENT.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => asset(&headers, "text/javascript; charset=utf-8", text),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn asset(headers: &HeaderMap, kind: &'static str, text: &'static str) -> Response {
    let tag = format!("\"{}\"", Digest::of(text.as_bytes()).hex());
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    ([(CONTENT_TYPE, kind.to_owned()), (ETAG, tag)], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_loads_nothing_from_elsewhere_and_parses_no_markup() {
        let size: usize = SENT.iter().map(|(_, text)| text.len()).sum();
        assert!(size <= 20 * 1024, "{size}");
        let scripts: Vec<&str> = SCRIPTS.iter().map(|(_, text)| *text).collect();
        for asset in scripts.iter().chain([&PAGE, &STYLE]) {
            let without_svg = asset.replace("http://www.w3.org/2000/svg", "");
            for bad in [
                "innerHTML",
                "outerHTML",
                "insertAdjacent",
                "document.write",
                "eval(",
                "http:",
                "https:",
                "@import",
                "style=",
            ] {
                assert!(!without_svg.contains(bad), "{bad}");
            }
        }
        assert!(!PAGE.contains("<script>") && PAGE.contains("src=\"/app/main.js\""));
        // No text goes over several lines, so a line may lose its beginning.
        let lines = scripts.iter().flat_map(|text| text.lines());
        for line in lines.filter(|line| !line.trim_start().starts_with("//")) {
            assert!(
                line.matches('`').count() % 2 == 0
                    || line.contains("split(\"`\")")
                    || line.contains("\"`\" +"),
                "{line}"
            );
        }
    }
}
