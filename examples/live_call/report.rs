//! [`report`]: what is left of the call.

use verbale::call::{CallSession, Closed};
use verbale::conversation::{Prices, TokenPrices};
use verbale::log::LoggedCall;
use verbale::testing::FakeBedrock;

use crate::error::CallError;
use crate::screen::Screen;

/// What tokens might cost with a small model, in micro-dollars a million: look up those of yours.
const PRICES: TokenPrices =
    TokenPrices { input: 1_000_000, cache_read: 100_000, cache_write: 1_250_000, output: 5_000_000 };

/// Shows what is left of the call.
///
/// Errors: the log holds something else.
pub async fn report(
    screen: &Screen,
    call: &CallSession,
    closed: &Closed,
    holds: &LoggedCall,
    bedrock: Option<&FakeBedrock>,
) -> Result<(), CallError> {
    call.conversation().read(|manager| screen.show(format_args!("\nThe conversation\n{manager}")));
    let micro_dollars = closed.totals.cost(&Prices { turns: PRICES, summaries: PRICES });
    screen.show(format_args!("\nWhat it came to\n{}", closed.totals));
    let (dollars, rest) = (micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    screen.show(format_args!("cost          {dollars}.{rest:06} $, at 1 $ a million tokens in and 5 $ out"));

    let is_equal = call.conversation().read(|manager| manager.records() == holds.records);
    screen.show("\nWhat DynamoDB holds");
    if let Some(call_end) = holds.header.as_ref().and_then(|header| header.call_end()) {
        let (reason, messages, summaries) = (&call_end.reason, call_end.messages, call_end.summaries);
        screen
            .show(format_args!("header        ended by {reason}, with {messages} messages and {summaries} summaries"));
    }
    let (records, unstored) = (holds.records.len(), closed.unstored.len());
    screen.show(format_args!("records       {records}, not stored in time {unstored}"));
    screen.show(format_args!("equal to what the manager holds: {}", if is_equal { "yes" } else { "NO" }));
    if let Some(bedrock) = bedrock {
        let counters = bedrock.counters();
        screen.show("\nWhat the Bedrock in this process has seen");
        screen.show(format_args!("requests      {}, refused {}", counters.requests, counters.refused));
        screen.show(format_args!("answers       finished {}, cancelled {}", counters.finished, counters.cancelled));
    }
    screen.finish()?;
    if is_equal { Ok(()) } else { Err(CallError::NotEqual) }
}
