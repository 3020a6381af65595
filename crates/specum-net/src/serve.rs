//! `specum serve`: the specs of a project in a browser, as they are now.
//!
//! It reads files and owns none: runs and sessions do not know that they are watched, and
//! ending it ends nothing else. A link that may look shows everything; a second one, printed
//! with `--steer`, may also say what a person can say in a terminal. No link starts an agent.

mod acts;
mod api;
mod guard;
mod places;
mod shell;
mod stream;
mod tokens;
mod watcher;
mod words;

use std::future::Future;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use specum_engine::person;
use specum_engine::ports::World;
use tokio::sync::Semaphore;

use self::guard::Hosts;
use self::places::Places;
use self::tokens::Tokens;
use self::watcher::Watcher;
use crate::Failure;

/// How many connections there are at once.
const CONNECTIONS: usize = 64;
/// How long a client may take for the head of a request, and then for its body.
const CLIENT_PATIENCE: Duration = Duration::from_secs(10);
/// The longest head of a request.
const MAX_HEAD: usize = 16 * 1024;
/// How many ports are tried.
const PORTS: u16 = 20;

/// Show the specs of a project in a browser, as they are now
///
/// Prints a link that may look. With --steer it prints a second one that may pause,
/// resume, note, retry, skip, approve and cancel as you can in a terminal; no link starts an
/// agent. Runs and sessions do not notice it; Ctrl-C ends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Projects; the one here if left out
    #[arg(value_name = "DIR")]
    projects: Vec<PathBuf>,
    /// The port; if it is taken, the next free one
    #[arg(long, default_value_t = 4062)]
    port: u16,
    /// Open it in a browser
    #[arg(long)]
    open: bool,
    /// Print a second link that may act
    #[arg(long)]
    steer: bool,
    /// Listen on this address instead of 127.0.0.1
    #[arg(long, value_name = "ADDR")]
    listen: Option<IpAddr>,
    /// A name under which browsers reach it, with its port if that is another
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Every project in which a loop was begun on this machine
    #[arg(long, conflicts_with = "projects")]
    everywhere: bool,
    /// Keep the tokens of the links in this file, so that the links stay the same
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// What all requests share.
struct Serve {
    watcher: Watcher,
    tokens: Tokens,
    hosts: Hosts,
    tickets: api::Tickets,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // A link that may act is a person's word, and an agent has none to give.
    if args.steer && person::is_an_agents_shell() {
        return Err(Failure::failed(
            "`specum serve --steer` is a person's to say. Run it in a terminal of your own, \
             outside of any agent",
        ));
    }
    let address = args.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    if !address.is_loopback() && args.host.is_empty() {
        return Err(Failure::usage(format!(
            "--listen {address} needs --host: the name or address that browsers will use"
        )));
    }
    let world = World::real();
    let places = Places::find(&world, &args.projects, args.everywhere)?;
    let tokens = Tokens::make(&world, args.steer, args.token_file.as_deref())?;
    let listener = bind(address, args.port)?;
    let local = listener.local_addr().map_err(|error| Failure::failed(error.to_string()))?;
    let hosts = Hosts::of(local, &args.host);
    tell(args, &places, &tokens, &hosts, local)?;
    if args.open {
        tokens.open(&world, &hosts.link(&tokens))?;
    }
    let watcher = Watcher::start(places).map_err(|error| Failure::failed(error.to_string()))?;
    let serve = Arc::new(Serve { watcher, tokens, hosts, tickets: api::Tickets::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(error.to_string()))?;
    runtime
        .block_on(accept(listener, serve))
        .map_err(|error| Failure::failed(format!("cannot listen any more: {error}")))
}

/// The first port that is free, from the wanted one on.
fn bind(address: IpAddr, port: u16) -> Result<TcpListener, Failure> {
    let last = if port == 0 { 0 } else { port.saturating_add(PORTS) };
    let mut taken = None;
    for port in port..=last {
        match TcpListener::bind(SocketAddr::new(address, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = Some(error),
            Err(error) => {
                return Err(Failure::failed(format!("cannot listen on {address}:{port}: {error}")));
            }
        }
    }
    let why = taken.map(|error| error.to_string()).unwrap_or_default();
    Err(Failure::failed(format!(
        "the ports {port} to {last} of {address} are taken ({why}); name another with --port"
    )))
}

fn tell(
    args: &Args,
    places: &Places,
    tokens: &Tokens,
    hosts: &Hosts,
    local: SocketAddr,
) -> Result<(), Failure> {
    let mut lines = vec![format!("serving {}", places.in_words())];
    if args.port != 0 && local.port() != args.port {
        lines.push(format!("port {} is taken; this is {}", args.port, local.port()));
    }
    lines.push(format!("look   {}", hosts.link_with(tokens.look())));
    match tokens.steer() {
        Some(steer) => lines.push(format!("steer  {}", hosts.link_with(steer))),
        None => lines.push("with --steer: a second link, that may pause, note and resume".into()),
    }
    if !local.ip().is_loopback() {
        lines.push(
            "note: plain HTTP, so whoever is on the way can read the link; prefer `tailscale \
             serve`, an SSH tunnel or a proxy with TLS"
                .into(),
        );
    }
    lines.push("Ctrl-C ends it; runs and sessions do not notice".into());
    let mut out = io::stdout().lock();
    let told = writeln!(out, "{}", lines.join("\n")).and_then(|()| out.flush());
    told.map_err(|error| Failure::failed(error.to_string()))
}

async fn accept(listener: TcpListener, serve: Arc<Serve>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let app = TowerToHyperService::new(api::routes(serve));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Too many files, or a client that has gone: others may have more luck.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(CLIENT_PATIENCE)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), app.clone());
        tokio::spawn(async move {
            // Whatever a client does wrong is its own affair.
            let _ = connection.await;
            drop(place);
        });
    }
}

/// Runs what may take a moment where it holds nobody up.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    let handle: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
        Box::pin(tokio::task::spawn_blocking(work));
    handle.await
}
