//! [`play`]: runs a call from its greeting to its end.

use std::sync::Arc;
use std::time::Duration;

use verbale::Policy;
use verbale::call::{CallBuilder, Utterance};
use verbale::clock::SystemIds;
use verbale::model::Failure;

use crate::bank::{self, Bank};
use crate::caller::{Act, Caller};
use crate::error::CallError;
use crate::line::{Line, Speech};
use crate::log::Log;
use crate::models::Models;
use crate::pace::Pace;
use crate::report::report;
use crate::screen::{Screen, ShowsEvents};

/// The longest wait for the log at the end of the call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Plays a call and prints its report. If the process is asked to `stop`, closes the call for another process.
pub async fn play(
    models: Models,
    mut caller: impl Caller,
    log: Log,
    screen: Arc<Screen>,
    pace: Pace,
    stop: impl Future<Output = ()>,
) -> Result<(), CallError> {
    let Models { turns, summaries, bedrock } = models;
    screen.note(&format!("call {}", log.call_id()));
    // A small window, so that a short call has summaries.
    let policy = Policy::default().with_messages(4..=10);
    let builder = CallBuilder::new(turns)
        .system(bank::SYSTEM)
        .summarizer(summaries)
        .config(|config| config.with_policy(policy).with_all_messages(true))
        .observer(ShowsEvents(screen.clone()))
        .clock(Arc::new(pace.clone()), Arc::new(SystemIds));
    let builder = Bank::new(screen.clone(), pace.clone()).install(builder)?;
    let host = log.host();
    let call = log.open_call(&host, builder).await?;

    let line = Line { call: &call, screen: &screen, pace: &pace };
    let result = tokio::select! {
        biased;
        () = stop => {
            let drained = host.drain(CLOSE_TIMEOUT).await;
            screen.note(&format!("the program is asked to stop: {drained}; `--resume` continues the call"));
            return Ok(screen.finish()?);
        }
        result = talk(&line, &mut caller, log.is_resumed()) => result,
    };
    let reason = if result.is_ok() { "hangup" } else { "model failed" };
    let closed = call.close(reason, CLOSE_TIMEOUT).await?;
    result?;
    screen.note("the caller hung up; the call is closed");
    let logged = log.read_back().await?;
    report(&screen, &call, &closed, &logged, bedrock.as_ref()).await
}

/// Alternates between assistant and caller until the caller hangs up.
async fn talk(line: &Line<'_>, caller: &mut impl Caller, is_resumed: bool) -> Result<(), CallError> {
    let Line { call, screen, pace } = line;
    let mut speech = if is_resumed && call.is_answerable() {
        Speech::Reply(call.reply()?)
    } else {
        let sentence = if is_resumed { bank::BACK } else { bank::GREETING };
        Speech::Fixed(call.say(sentence)?, Some(sentence.to_owned()))
    };
    loop {
        let act = match line.speak(&mut speech, caller).await {
            Some(act) => act,
            None => caller.speaks().await,
        };
        match speech.failure() {
            Some(failure) if is_final(failure) => return Err(CallError::Model(failure.clone())),
            Some(failure) => screen.note(&format!("the model did not reply: {failure}")),
            None => {}
        }
        let Act::Says { words, takes_ms } = act else { return Ok(()) };
        let started_ms = call.now_ms();
        screen.said("caller", &words);
        // After a barge-in the session ignores this, because `cut_off` already reported it.
        call.caller_started_speaking(started_ms);
        pace.wait(takes_ms).await;
        call.caller_said(Utterance::new(words).with_times(started_ms, call.now_ms()))?;
        speech = Speech::Reply(call.reply()?);
    }
}

/// Returns whether a retry would fail in the same way.
fn is_final(failure: &Failure) -> bool {
    matches!(failure, Failure::Denied(_) | Failure::Refused(_) | Failure::Invalid(_) | Failure::Unreachable)
}
