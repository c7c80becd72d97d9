//! `verbale serve`: calls for services in any language, over a socket a call.
//!
//! `socket.rs` has the life of a connection, `protocol.rs` its messages, `live/` what they do to a call, `outbox.rs` what a
//! client gets again when it reconnects. `tools.rs` runs tools at the client, `callback/` at other services. `chat/` has the
//! same calls as a model of OpenAI, `twilio/` has them for Twilio, and `modality/` has chats without a model. `calls.rs` opens
//! and closes calls, `http.rs` has the routes, `reads.rs`, `edits.rs` and `admin.rs` those of a call, `request.rs` what they
//! share, `openapi.rs` the document about them. `pages/` has the pages for people, `changes.rs` what they wait for. `auth.rs`
//! and `sessions.rs` say who may use all this, `limits.rs` and `connections.rs` how much and how fast.

mod admin;
mod arguments;
mod auth;
mod callback;
mod calls;
mod changes;
mod chat;
mod connections;
mod edits;
mod error;
mod events;
mod http;
mod limits;
mod live;
mod modality;
mod models;
mod openapi;
mod outbox;
mod pages;
pub mod protocol;
mod reads;
mod request;
mod sessions;
mod socket;
mod telemetry;
mod tools;
mod twilio;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use verbale::MessageId;
use verbale::call::Drained;
use verbale::clock::{IdSource, SystemIds};
use verbale::log::{LogWriter, Spool, SpoolSettings, WriterSettings};

use crate::command::note;
use crate::failure::{Failure, on_one_line};
use crate::log::Log;
pub use arguments::Arguments;
use arguments::read;
use auth::Access;
use calls::Calls;
use error::ApiError;
use limits::Limits;
use models::Models;
use pages::Pages;
use telemetry::Telemetry;
use twilio::Twilio;

/// How long sockets and the log may take to end.
const GOODBYE: Duration = Duration::from_secs(10);

/// The state that all requests share.
pub struct Server {
    calls: Calls,
    log: Log,
    writer: LogWriter,
    access: Access,
    limits: Limits,
    telemetry: Telemetry,
    twilio: Option<Twilio>,
    pages: Pages,
    grace: Duration,
    drain_timeout: Duration,
    is_draining: AtomicBool,
    /// The number of open sockets. HTTP does not count them.
    sockets: watch::Sender<usize>,
}

/// An open socket.
struct OpenSocket(Arc<Server>);

impl OpenSocket {
    fn new(server: Arc<Server>) -> Self {
        server.sockets.send_modify(|sockets| *sockets += 1);
        Self(server)
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.0.sockets.send_modify(|sockets| *sockets -= 1);
    }
}

impl Server {
    /// Waits until there are no sockets, but not long.
    async fn sockets_are_closed(&self) {
        let mut sockets = self.sockets.subscribe();
        // Connections that clients keep open do not hold the process up.
        let _ = timeout(GOODBYE, sockets.wait_for(|sockets| *sockets == 0)).await;
    }

    /// Closes all calls and takes no new ones.
    async fn drain(&self) -> Drained {
        self.is_draining.store(true, Ordering::Release);
        self.calls.drain(self.drain_timeout).await
    }

    fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Returns this refusal as an error if the server is stopping.
    fn check_running(&self, refusal: &str) -> Result<(), ApiError> {
        if self.is_draining() { Err(ApiError::busy(refusal)) } else { Ok(()) }
    }
}

/// Serves calls until the process is stopped. Returns the exit status.
pub fn run(arguments: Arguments) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(serve(arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            note(&format!("error: {}", on_one_line(&failure)));
            ExitCode::from(failure.exit_status())
        }
    }
}

async fn serve(arguments: Arguments) -> Result<(), Failure> {
    let access = arguments.access()?;
    let callbacks = arguments.callbacks()?.map(Arc::new);
    let models = match &arguments.bedrock {
        Some(model) => Models::at_aws(&arguments.aws().await, model),
        None => Models::fake(),
    };
    let system = arguments.system.as_ref().map(|file| read(file)).transpose()?;
    let log = arguments.open_log().await?;
    let mut settings = WriterSettings::default();
    if let Some(path) = &arguments.spool {
        settings = settings.with_spool(Arc::new(Spool::open(path, SpoolSettings::default())?));
    }
    let (writer, task) = LogWriter::new(log.clone(), settings);
    let task = tokio::spawn(task);

    let listener = TcpListener::bind(arguments.listen).await?;
    let address = listener.local_addr()?;
    let twilio = arguments.twilio(address, callbacks.clone())?;
    let salt = arguments.salt.clone();
    let calls = Calls::new(writer.clone(), log.clone(), models, system, salt, arguments.max_calls, callbacks);
    let grace = Duration::from_secs(arguments.grace_s);
    let server = Arc::new(Server {
        calls,
        log,
        writer,
        access,
        limits: Limits::new(arguments.max_rate),
        telemetry: Telemetry::install()?,
        twilio,
        pages: Pages::default(),
        grace,
        drain_timeout: Duration::from_secs(arguments.drain_s),
        is_draining: AtomicBool::new(false),
        sockets: watch::Sender::new(0),
    });
    let stop = stop_signal()?;
    arguments.banner(address)?;

    let (stopped, is_stopped) = oneshot::channel::<()>();
    let router = http::router(server.clone());
    // Each call has a socket, and the requests of others have room beside it.
    let max_connections =
        u32::try_from(arguments.max_calls).unwrap_or(u32::MAX / 4).saturating_mul(2).saturating_add(100);
    let until_stopped = async {
        // The sender never fails.
        let _ = is_stopped.await;
    };
    let served = tokio::spawn(connections::serve(listener, router, max_connections, until_stopped, GOODBYE));
    let idle = tokio::spawn(close_idle(server.clone(), Duration::from_secs(arguments.idle_s)));
    let scheduled = tokio::spawn(apply_scheduled(server.clone()));
    stop.await;
    idle.abort();
    scheduled.abort();
    let drained = server.drain().await;
    note(&drained.to_string());
    server.sockets_are_closed().await;
    // Fails if the server has ended by itself.
    let _ = stopped.send(());
    let served = timeout(GOODBYE, served).await;
    let unstored = server.writer.stop(GOODBYE).await.len();
    drop(server);
    let _ = timeout(GOODBYE, task).await;
    if let Ok(Ok(Err(error))) = served {
        return Err(error.into());
    }
    match unstored == 0 && drained.is_complete() {
        true => Ok(()),
        false => Err(Failure::Output(io::Error::other(format!("{unstored} parts of calls are not logged: {drained}")))),
    }
}

/// Adds the messages that wait for their time, as long as the server runs.
async fn apply_scheduled(server: Arc<Server>) {
    let apply = |message: modality::Message| {
        let server = server.clone();
        async move {
            match server.is_draining() {
                true => Err(error::ApiError::busy("the server is stopping")),
                false => server.calls.submit(&message).await.map(drop),
            }
        }
    };
    server.calls.schedule.run(apply).await;
}

/// Closes calls that nobody uses, as long as the server runs.
async fn close_idle(server: Arc<Server>, limit: Duration) {
    let mut ticks = tokio::time::interval((limit / 4).max(Duration::from_secs(1)));
    loop {
        ticks.tick().await;
        server.limits.forget();
        server.telemetry.tidy();
        for call_id in server.calls.idle(limit) {
            // Fails if the log cannot store the end. It stays in the writer.
            let _ = server.calls.close(&call_id, "idle").await;
        }
    }
}

/// Returns an id that no other process gives.
fn unique_id(now_ms: i64) -> String {
    MessageId::from(SystemIds.next_id(now_ms)).to_string()
}

/// Waits until the process gets SIGTERM or SIGINT. The signals count from this call on.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Waits until the process is interrupted.
#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
