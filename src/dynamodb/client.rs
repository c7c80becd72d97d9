//! The timeouts of a client for the log.

use std::time::Duration;

use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(900);
/// The time from the first byte of a request to the last of its response, which may be a page of 1 MB.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// The time of one operation, including the loading of credentials.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(4);

/// Sets the timeouts of a log's client to 900 ms to connect, 3 s per request and 4 s per operation, and disables its
/// retries.
///
/// By default the SDK waits for a response without a limit. It also tries each request three times, with a retry budget
/// that all clients of a process share, so a throttled log would starve the live turns. The writer of the log retries
/// instead, because each write of this module can be repeated safely. Build one client and clone it.
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
