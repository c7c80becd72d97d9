//! [`report`]: the conversation, the metrics and the log after the call.

use verbale::TokenPrices;
use verbale::call::{CallSession, Closed};
use verbale::log::LoggedCall;
use verbale::testing::FakeBedrock;

use crate::error::CallError;
use crate::screen::Screen;

/// Example prices of a small model, in micro-dollars per million tokens. Look up those of your model.
const PRICES: TokenPrices = TokenPrices::new(1_000_000, 5_000_000).with_cache(100_000, 1_250_000);

/// Prints the report of a closed call.
///
/// Returns [`CallError::NotEqual`] if the log differs from the conversation.
pub async fn report(
    screen: &Screen,
    call: &CallSession,
    closed: &Closed,
    logged: &LoggedCall,
    bedrock: Option<&FakeBedrock>,
) -> Result<(), CallError> {
    call.conversation().read(|manager| screen.show(format_args!("\nThe conversation\n{manager}")));
    let micro_dollars = closed.metrics.cost(&PRICES, &PRICES);
    screen.show(format_args!("\nMetrics\n{}", closed.metrics));
    let (dollars, rest) = (micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    screen.show(format_args!(
        "cost          {dollars}.{rest:06} $, at 1 $ per million input tokens and 5 $ per million output tokens"
    ));

    let is_equal = call.conversation().read(|manager| manager.records() == logged.records);
    screen.show("\nThe log in DynamoDB");
    if let Some(call_end) = logged.header.as_ref().and_then(|header| header.call_end()) {
        let (reason, messages, summaries) = (&call_end.reason, call_end.messages, call_end.summaries);
        screen.show(format_args!("header        ended by {reason}, {messages} messages, {summaries} summaries"));
    }
    let (records, unstored) = (logged.records.len(), closed.unstored.len());
    screen.show(format_args!("records       {records}, {unstored} not stored in time"));
    screen.show(format_args!("equal to the conversation: {}", if is_equal { "yes" } else { "NO" }));
    if let Some(bedrock) = bedrock {
        let counters = bedrock.counters();
        screen.show("\nThe fake Bedrock");
        screen.show(format_args!("requests      {}, refused {}", counters.requests, counters.refused));
        screen.show(format_args!("answers       finished {}, cancelled {}", counters.finished, counters.cancelled));
    }
    screen
        .show("\nLook at the heard text of the interrupted reply, and at the summaries that replace the first turns.");
    screen.finish()?;
    if is_equal { Ok(()) } else { Err(CallError::NotEqual) }
}
