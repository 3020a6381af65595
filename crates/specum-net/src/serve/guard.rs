//! Who may ask: the name by which we were reached, the page that asks, and the token.
//!
//! Every request, those for static files too, has to name a host that is ours: a name that
//! was made to lead here, by a page elsewhere, is none. A page that asks has to be our own.
//! Nothing is let in by a cookie, so a browser has nothing to add to a request of others.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Serve;
use super::tokens::{Tokens, Who};

/// So many wrong tokens are answered within [`MINUTE`]; then the answer is another.
const WRONG_TOKENS: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// What a page of ours may do: run our own scripts, and ask us.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
/// A report brings a policy of its own, and must not reach what this origin keeps.
pub(super) const REPORT_POLICY: &str =
    "sandbox allow-scripts; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The names by which browsers may reach us, as they stand in `Host`.
#[derive(Debug)]
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    /// Our own address, and the names that a person has given.
    pub(super) fn of(local: SocketAddr, named: &[String]) -> Hosts {
        let port = local.port();
        let mut hosts = Vec::new();
        for name in named {
            let name = name.to_ascii_lowercase();
            let has_port =
                name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            if !has_port || name.ends_with(']') {
                hosts.push(format!("{name}:{port}"));
            }
            // Behind a proxy no port is said.
            hosts.push(name);
        }
        if local.ip().is_loopback() {
            hosts.push(local.to_string());
            hosts.push(format!("localhost:{port}"));
        }
        Hosts(hosts)
    }

    fn are_ours(&self, host: &str) -> bool {
        self.0.iter().any(|ours| ours.eq_ignore_ascii_case(host))
    }

    /// The address of the page, with a token where no server ever sees it.
    pub(super) fn link_with(&self, token: &str) -> String {
        let host = self.0.iter().find(|host| !host.starts_with("localhost"));
        let host = host.map_or("localhost", String::as_str);
        format!("http://{host}/#k={token}")
    }

    /// The address with the most that was asked for.
    pub(super) fn link(&self, tokens: &Tokens) -> String {
        self.link_with(tokens.steer().unwrap_or(tokens.look()))
    }
}

/// How often somebody was wrong lately.
#[derive(Debug, Default)]
pub(super) struct Wrong(Mutex<VecDeque<Instant>>);

impl Wrong {
    /// Counts one more, and tells whether these are too many.
    fn are_too_many(&self, now: Instant) -> bool {
        let mut wrong = self.0.lock().expect("nobody panics with it");
        while wrong.front().is_some_and(|at| now.duration_since(*at) > MINUTE) {
            wrong.pop_front();
        }
        if wrong.len() >= WRONG_TOKENS {
            return true;
        }
        wrong.push_back(now);
        false
    }
}

/// Refuses what is not for us, and says of every answer what may be done with it.
pub(super) async fn stand(
    State(serve): State<Arc<Serve>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let is_static = !parts.uri.path().starts_with("/api/");
    let mut answer = match admit(&serve, &parts) {
        Err(refused) => refused.into_response(),
        Ok(who) => {
            parts.extensions.insert(who);
            next.run(Request::from_parts(parts, body)).await
        }
    };
    let headers = answer.headers_mut();
    let mut say = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "no-referrer");
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    say(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    say(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    say(header::CACHE_CONTROL, if is_static { "no-cache" } else { "no-store" });
    answer
}

/// Who asks, or why the request is not answered. Whoever asks for no data is nobody.
fn admit(serve: &Serve, parts: &Parts) -> Result<Option<Who>, (StatusCode, &'static str)> {
    let host = host_of(&parts.headers, &parts.uri).filter(|host| serve.hosts.are_ours(host));
    let Some(host) = host else {
        return Err((StatusCode::MISDIRECTED_REQUEST, "this host is not ours: see --host"));
    };
    if !is_own_page(&parts.headers, host) {
        return Err((StatusCode::FORBIDDEN, "this page is not ours"));
    }
    if !parts.uri.path().starts_with("/api/") {
        return Ok(None);
    }
    let bearer = parts.headers.get(header::AUTHORIZATION);
    let token = bearer.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        return Err((StatusCode::UNAUTHORIZED, "a token is needed: `specum serve` prints a link"));
    };
    match serve.tokens.whose(token) {
        None if serve.tokens.wrong.are_too_many(Instant::now()) => {
            Err((StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens"))
        }
        None => Err((
            StatusCode::UNAUTHORIZED,
            "this link is no longer valid; `specum serve` prints a new one",
        )),
        Some(Who::Looks) if acts(parts) => Err((
            StatusCode::FORBIDDEN,
            "this link may only look; `specum serve --steer` prints one that may act",
        )),
        who => Ok(who),
    }
}

/// Whether a request changes anything. A report only tells.
fn acts(parts: &Parts) -> bool {
    let only_asks = parts.method == Method::GET || parts.method == Method::HEAD;
    !only_asks && !parts.uri.path().ends_with("/report")
}

/// The one host that a request names.
fn host_of<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next()?.to_str().ok()?;
    let is_one = named.next().is_none();
    let agrees = uri.authority().is_none_or(|authority| authority.as_str() == host);
    (is_one && agrees).then_some(host)
}

/// Whether the page that asks is our own, if the browser names one.
fn is_own_page(headers: &HeaderMap, host: &str) -> bool {
    let own = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    };
    headers.get_all(header::ORIGIN).iter().all(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_hosts_are_our_address_and_the_names_that_were_given() {
        let at = |address: &str, named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            Hosts::of(address.parse().unwrap(), &named)
        };
        let plain = at("127.0.0.1:4062", &[]);
        for ours in ["127.0.0.1:4062", "localhost:4062", "LOCALHOST:4062"] {
            assert!(plain.are_ours(ours), "{ours}");
        }
        for foreign in [
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:4062",
            "localhost.evil:4062",
            "",
            "0.0.0.0:4062",
        ] {
            assert!(!plain.are_ours(foreign), "{foreign}");
        }
        assert_eq!(plain.link_with("t"), "http://127.0.0.1:4062/#k=t");
        let named = at("0.0.0.0:4062", &["Box.lan", "proxy:8443"]);
        for ours in ["box.lan:4062", "box.lan", "proxy:8443"] {
            assert!(named.are_ours(ours), "{ours}");
        }
        assert!(!named.are_ours("localhost:4062") && !named.are_ours("proxy"));
        assert_eq!(named.link_with("t"), "http://box.lan:4062/#k=t");
    }

    #[test]
    fn ten_wrong_tokens_a_minute_and_then_another_answer() {
        let (wrong, begin) = (Wrong::default(), Instant::now());
        for _ in 0..WRONG_TOKENS {
            assert!(!wrong.are_too_many(begin));
        }
        assert!(wrong.are_too_many(begin + Duration::from_secs(30)));
        assert!(!wrong.are_too_many(begin + Duration::from_secs(61)));
    }
}
