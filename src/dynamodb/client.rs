//! How a client for the log should be set.

use std::time::Duration;

use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;

/// How long a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(900);
/// How long one request may take, from its first byte to the last of its answer: a page of 1 MB included.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long one operation may take, credentials included.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(4);

/// Sets time-outs and one attempt.
///
/// By default the SDK waits for an answer without end, and tries three times with a budget that all clients of the
/// process share, so that a log under throttling starves the live turns. Trying again is the matter of the one that
/// writes: each write of this module can be done again safely. Build one client, and clone it.
///
/// ```
/// use aws_sdk_dynamodb::config::Region;
///
/// let config = verbale::dynamodb::log_client(aws_sdk_dynamodb::Config::builder())
///     .region(Region::new("eu-central-1"))
///     .build();
/// let client = aws_sdk_dynamodb::Client::from_conf(config);
/// ```
pub fn log_client(config: Builder) -> Builder {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build();
    config.timeout_config(timeouts).retry_config(RetryConfig::disabled())
}
