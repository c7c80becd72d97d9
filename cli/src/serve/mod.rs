//! `verbale serve`: calls for services in any language, over a socket a call.
//!
//! `socket.rs` has the life of a connection, `protocol.rs` its messages, `live.rs` what they do to a call, `outbox.rs` what a
//! client gets again when it reconnects. `calls.rs` opens and closes calls, `http.rs` has the other routes, `auth.rs` who may
//! use them.

mod auth;
mod calls;
mod chat;
mod error;
mod events;
mod http;
mod live;
mod models;
mod outbox;
pub mod protocol;
mod socket;
mod tools;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use verbale::MessageId;
use verbale::clock::{IdSource, SystemIds};
use verbale::dynamodb::{DynamoContents, DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{LogWriter, Offloading, Spool, SpoolSettings, WriterSettings};

use crate::command::note;
use crate::failure::{Failure, on_one_line};
use crate::log::{EMBEDDED_TABLE, Log, LogArguments, Place};
use auth::Access;
use calls::Calls;
use models::Models;

/// How long sockets and the log may take to end.
const GOODBYE: Duration = Duration::from_secs(10);

/// Serves calls over WebSockets: conversation, memory, tools and log for voice services in any language.
///
/// Without --bedrock, a fake model repeats what it hears; without --log, calls are kept in memory. See docs/serve.md for the
/// messages.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 stopped and everything is logged; 1 an error, or something is not logged; 2 wrong arguments"
)]
pub struct Arguments {
    /// Listens on this address. Port 0 takes any free one. Another address than localhost needs --tokens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8765")]
    listen: SocketAddr,

    /// The log: dynamodb://TABLE, embedded:DIR or jsonl:DIR; by default in memory.
    #[arg(long, env = "VERBALE_LOG", value_name = "LOG")]
    log: Option<Place>,

    /// The region of the table, and of the model.
    #[arg(long, value_name = "REGION")]
    region: Option<String>,

    /// The profile of the AWS configuration.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// The address of a local DynamoDB, such as http://127.0.0.1:8000.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,

    /// Keeps what the log has not stored yet in this file, which survives the process.
    #[arg(long, value_name = "FILE")]
    spool: Option<PathBuf>,

    /// Asks this model at Amazon Bedrock: a model id or an inference profile.
    #[arg(long, value_name = "MODEL")]
    bedrock: Option<String>,

    /// The file with the instructions of calls whose client sends none.
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,

    /// The file of tokens: a line has scopes (call, read, admin), separated by commas, and a token.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// The salt with which the numbers of callers are hashed.
    #[arg(long, env = "VERBALE_CALLER_SALT", value_name = "SALT", hide_env_values = true)]
    salt: Option<String>,

    /// The most live calls at a time.
    #[arg(long, value_name = "N", default_value = "1000")]
    max_calls: usize,

    /// How long a call waits for its client to connect again, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    grace_s: u64,
}

/// What all requests share.
pub struct Server {
    calls: Calls,
    log: Log,
    writer: LogWriter,
    access: Access,
    grace: Duration,
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

    fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
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
    let calls = Calls::new(writer.clone(), models, system, arguments.salt.clone(), arguments.max_calls);
    let grace = Duration::from_secs(arguments.grace_s);
    let server = Arc::new(Server {
        calls,
        log,
        writer,
        access,
        grace,
        is_draining: AtomicBool::new(false),
        sockets: watch::Sender::new(0),
    });
    let stop = stop_signal()?;
    arguments.banner(address)?;

    let (stopped, is_stopped) = oneshot::channel::<()>();
    let served = axum::serve(listener, http::router(server.clone())).with_graceful_shutdown(async {
        // The sender never fails.
        let _ = is_stopped.await;
    });
    let served = tokio::spawn(served.into_future());
    stop.await;
    server.is_draining.store(true, Ordering::Release);
    let drained = server.calls.drain().await;
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

impl Arguments {
    fn access(&self) -> Result<Access, Failure> {
        match &self.tokens {
            Some(file) => Access::of_tokens(&read(file)?)
                .map_err(|error| Failure::Usage(format!("the tokens in {} cannot be used: {error}", file.display()))),
            None if self.listen.ip().is_loopback() => Ok(Access::local()),
            None => {
                Err(Failure::Usage(format!("{} can be reached from other hosts, which needs --tokens", self.listen)))
            }
        }
    }

    async fn aws(&self) -> aws_config::SdkConfig {
        let mut loader = aws_config::defaults(aws_config::BehaviorVersion::latest());
        if let Some(region) = &self.region {
            loader = loader.region(aws_config::Region::new(region.clone()));
        }
        if let Some(profile) = &self.profile {
            loader = loader.profile_name(profile);
        }
        loader.load().await
    }

    /// Opens the log, and creates what a local one needs.
    async fn open_log(&self) -> Result<Log, Failure> {
        let Some(place) = &self.log else {
            let client = EmbeddedDynamo::in_memory()?.client();
            create_table(&client, EMBEDDED_TABLE).await?;
            return Ok(Arc::new(Offloading::new(DynamoLog::new(client.clone()), DynamoContents::new(client))));
        };
        let (region, profile, endpoint) = (self.region.clone(), self.profile.clone(), self.endpoint.clone());
        let arguments = LogArguments { log: place.clone(), region, profile, endpoint };
        if matches!(place, Place::Embedded(_)) {
            let (client, table) = arguments.new_table().await?;
            create_table(&client, table).await?;
        }
        arguments.create().await
    }

    /// Prints where the server listens, and what is not real.
    fn banner(&self, address: SocketAddr) -> Result<(), Failure> {
        if self.bedrock.is_none() {
            note("the model is a fake that repeats what it hears; --bedrock MODEL asks a real one");
        }
        if self.log.is_none() {
            note("calls are kept in memory and are gone with this process; --log LOG keeps them");
        }
        writeln!(io::stdout(), "listening on http://{address}")?;
        Ok(io::stdout().flush()?)
    }
}

/// Returns an id that no other process gives.
fn unique_id(now_ms: i64) -> String {
    MessageId::from(SystemIds.next_id(now_ms)).to_string()
}

fn read(file: &std::path::Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", file.display())))
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
