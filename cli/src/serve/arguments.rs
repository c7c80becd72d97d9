//! [`Arguments`]: the options of `verbale serve`, and what they open.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use verbale::dynamodb::{DynamoContents, DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::Offloading;

use super::auth::Access;
use super::callback::Callbacks;
use super::twilio::Twilio;
use crate::command::note;
use crate::failure::Failure;
use crate::log::{EMBEDDED_TABLE, Log, LogArguments, Place};

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
    pub listen: SocketAddr,

    /// The log: dynamodb://TABLE, embedded:DIR or jsonl:DIR; by default in memory.
    #[arg(long, env = "VERBALE_LOG", value_name = "LOG")]
    pub log: Option<Place>,

    /// The region of the table, and of the model.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,

    /// The profile of the AWS configuration.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,

    /// The address of a local DynamoDB, such as http://127.0.0.1:8000.
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,

    /// Keeps what the log has not stored yet in this file, which survives the process.
    #[arg(long, value_name = "FILE")]
    pub spool: Option<PathBuf>,

    /// Asks this model at Amazon Bedrock: a model id or an inference profile.
    #[arg(long, value_name = "MODEL")]
    pub bedrock: Option<String>,

    /// The file with the instructions of calls whose client sends none.
    #[arg(long, value_name = "FILE")]
    pub system: Option<PathBuf>,

    /// The file of tokens: a line has scopes (call, read, admin), separated by commas, and a token.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,

    /// Lets tools have callbacks at or below this URL, such as https://tools.example.com/calls. Can be repeated.
    #[arg(long = "callback", value_name = "URL")]
    pub callback: Vec<String>,

    /// The file of the keys that sign callbacks, a line each; by default the variable VERBALE_CALLBACK_KEY has one.
    #[arg(long, value_name = "FILE")]
    pub callback_keys: Option<PathBuf>,

    /// Answers calls of Twilio's ConversationRelay as this file says. TWILIO_AUTH_TOKEN has the auth token of the account.
    #[arg(long, value_name = "FILE")]
    pub twilio: Option<PathBuf>,

    /// The URL under which Twilio reaches the server, which it signs; by default the address that it listens on.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// The salt with which the numbers of callers are hashed.
    #[arg(long, env = "VERBALE_CALLER_SALT", value_name = "SALT", hide_env_values = true)]
    pub salt: Option<String>,

    /// The most live calls at a time.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub max_calls: usize,

    /// How long a call waits for its client to connect again, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub grace_s: u64,

    /// How long a call may have no message and no request, in seconds. Then it is closed.
    #[arg(long, value_name = "SECONDS", default_value = "900")]
    pub idle_s: u64,

    /// How long a stopping server finishes its calls: their tools, and what the log has not stored. In seconds.
    #[arg(long, value_name = "SECONDS", default_value = "25")]
    pub drain_s: u64,

    /// The most requests a second from one address. Messages of a socket do not count.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub max_rate: NonZeroU32,
}

impl Arguments {
    pub fn access(&self) -> Result<Access, Failure> {
        match &self.tokens {
            Some(file) => Access::of_tokens(&read(file)?)
                .map_err(|error| Failure::Usage(format!("the tokens in {} cannot be used: {error}", file.display()))),
            None if self.listen.ip().is_loopback() => Ok(Access::local()),
            None => {
                Err(Failure::Usage(format!("{} can be reached from other hosts, which needs --tokens", self.listen)))
            }
        }
    }

    /// Returns the allowed callbacks, if there are any.
    pub fn callbacks(&self) -> Result<Option<Callbacks>, Failure> {
        if self.callback.is_empty() {
            return Ok(None);
        }
        let keys = match &self.callback_keys {
            Some(file) => read(file)?,
            None => std::env::var("VERBALE_CALLBACK_KEY").map_err(|_| {
                Failure::Usage(
                    "callbacks need a key: set VERBALE_CALLBACK_KEY, or name a file with --callback-keys".to_owned(),
                )
            })?,
        };
        Callbacks::new(&self.callback, &keys).map(Some).map_err(Failure::Usage)
    }

    /// Returns how calls of Twilio are answered, if they are.
    pub fn twilio(&self, address: SocketAddr, callbacks: Option<Arc<Callbacks>>) -> Result<Option<Twilio>, Failure> {
        let Some(file) = &self.twilio else { return Ok(None) };
        let url = self.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
        Twilio::open(file, std::env::var("TWILIO_AUTH_TOKEN").ok(), &url, callbacks).map(Some)
    }

    pub async fn aws(&self) -> aws_config::SdkConfig {
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
    pub async fn open_log(&self) -> Result<Log, Failure> {
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
    pub fn banner(&self, address: SocketAddr) -> Result<(), Failure> {
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

/// Reads a file that an option names.
pub fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", file.display())))
}
