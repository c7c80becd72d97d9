//! Configurations of the SDK's clients for turns and for summaries.

use std::time::Duration;

use aws_sdk_bedrockruntime::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::config::{Builder, StalledStreamProtectionConfig};

const CONNECT_TIMEOUT: Duration = Duration::from_millis(900);
/// The timeout of all attempts together.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(60);

/// Configures a client for turns, where a caller waits: one attempt, and 900 ms to connect.
///
/// The SDK's defaults do not suit a phone call: three attempts a second apart, from a retry budget that all clients of
/// the process share. The conversation retries instead, within the deadlines of the turn. It also retries after errors
/// within a stream, which the SDK never does. The SDK's stalled-stream protection is off, because the conversation
/// limits each wait for an event. All other settings stay as they are in `config`. You can change any setting of the
/// returned builder.
///
/// `config` must have the credentials and the region. The crate `aws-config` finds them in the same places as AWS's
/// tools:
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
/// Build one client and clone it. Clones share its connections.
pub fn turn_client(config: Builder) -> Builder {
    config
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).build())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

/// Configures a client for summaries, where no caller waits: the SDK's default retries from a separate budget, 900 ms to
/// connect, and 60 s for all attempts.
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
    fn only_summaries_are_retried_by_the_sdk() {
        let (turns, summaries) = (turn_client(Config::builder()).build(), summary_client(Config::builder()).build());
        assert_eq!(summaries.retry_partition(), Some(&RetryPartition::new("verbale-summaries")));

        assert_eq!(turns.retry_config(), Some(&RetryConfig::disabled()));
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
