//! How the clients for turns and for summaries should be set.

use std::time::Duration;

use aws_sdk_bedrockruntime::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::config::{Builder, StalledStreamProtectionConfig};

/// How long a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(900);
/// How often a turn is tried.
pub const TURN_ATTEMPTS: u32 = 2;
/// How long it takes at most until a turn is tried again.
pub const TURN_BACKOFF: Duration = Duration::from_millis(50);
/// How long a summary may take, with all its attempts.
pub const SUMMARY_TIMEOUT: Duration = Duration::from_secs(60);

/// Sets a client for turns, in which a caller waits: two attempts, 50 ms apart at most, and 900 ms to connect.
///
/// By default the SDK tries three times, from a second apart, with a budget that all clients of the process share; in
/// adaptive mode it even waits tens of seconds under throttling. So turns get a budget of their own, which neither the
/// summaries nor the log can use up. Its protection against stalled streams goes, for each piece of an answer has its
/// [deadline](super::Deadlines). What is not set here can be set before or behind it.
///
/// Credentials and region are the matter of the service; with the crate `aws-config` it finds them where AWS's tools do:
///
/// ```no_run
/// # async fn model() -> verbale::bedrock::BedrockModel {
/// use aws_config::BehaviorVersion;
/// use aws_sdk_bedrockruntime::{Client, config::Builder};
/// use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
///
/// let environment = aws_config::load_defaults(BehaviorVersion::latest()).await;
/// let client = Client::from_conf(turn_client(Builder::from(&environment)).build());
/// BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-haiku-4-5-20251001-v1:0"))
/// # }
/// ```
///
/// Build one client, and clone it: a clone shares its connections.
pub fn turn_client(config: Builder) -> Builder {
    let retries = RetryConfig::standard().with_max_attempts(TURN_ATTEMPTS).with_initial_backoff(TURN_BACKOFF);
    config
        .retry_config(retries)
        .retry_partition(RetryPartition::new("verbale-turns"))
        .timeout_config(TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).build())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// Sets a client for summaries, which nobody waits for: what the SDK does by default, within a minute, and with a
/// budget for retries of its own.
///
/// ```
/// use aws_sdk_bedrockruntime::config::Region;
///
/// let config = verbale::bedrock::summary_client(aws_sdk_bedrockruntime::Config::builder())
///     .region(Region::new("eu-central-1"))
///     .build();
/// let client = aws_sdk_bedrockruntime::Client::from_conf(config);
/// ```
pub fn summary_client(config: Builder) -> Builder {
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).operation_timeout(SUMMARY_TIMEOUT).build();
    config
        .retry_config(RetryConfig::standard())
        .retry_partition(RetryPartition::new("verbale-summaries"))
        .timeout_config(timeouts)
}

#[cfg(test)]
mod tests {
    use aws_sdk_bedrockruntime::Config;

    use super::*;

    #[test]
    fn turns_and_summaries_share_nothing() {
        let (turns, summaries) = (turn_client(Config::builder()).build(), summary_client(Config::builder()).build());
        assert_eq!(turns.retry_partition(), Some(&RetryPartition::new("verbale-turns")));
        assert_eq!(summaries.retry_partition(), Some(&RetryPartition::new("verbale-summaries")));

        let retries = RetryConfig::standard().with_max_attempts(2).with_initial_backoff(Duration::from_millis(50));
        assert_eq!(turns.retry_config(), Some(&retries));
        assert_eq!(summaries.retry_config(), Some(&RetryConfig::standard()));

        let times = |config: &Config| {
            let timeouts = config.timeout_config().unwrap();
            (timeouts.connect_timeout(), timeouts.operation_timeout())
        };
        let connect = Some(Duration::from_millis(900));
        assert_eq!(times(&turns), (connect, None));
        assert_eq!(times(&summaries), (connect, Some(Duration::from_secs(60))));
        assert!(turns.stalled_stream_protection().is_some_and(|protection| !protection.download_enabled()));
    }
}
