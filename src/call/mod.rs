//! A live phone call: the service reports speech events, and the session returns the text to speak.
//!
//! [`CallSession`] owns the turns of a call. It asks the model, runs tools, stops on a barge-in, records what the caller
//! heard, summarizes in the background, and submits each change to the log. It never touches audio: the service recognizes
//! speech, plays it, and reports both.
//!
#![cfg_attr(feature = "testing", doc = "```")]
#![cfg_attr(not(feature = "testing"), doc = "```ignore")]
//! use std::time::Duration;
//!
//! use verbale::call::{CallBuilder, Utterance};
//! use verbale::testing::{ScriptedModel, ScriptedReply};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let model = ScriptedModel::default(); // or a `BedrockModel`
//!     model.reply(ScriptedReply::text("You have 12.50 left. Anything else?"));
//!     let call = CallBuilder::new(model).system("You answer the phone of a bank.").open()?;
//!     let greeting = call.say("Good morning, how can I help?")?;
//!     call.playback_started(greeting, call.now_ms());
//!     call.playback_finished(greeting, call.now_ms());
//!
//!     call.caller_started_speaking(call.now_ms());
//!     call.caller_said(Utterance::new("What is my balance?").with_confidence(0.93))?;
//!     let mut reply = call.reply()?;
//!     let mut spoken = Vec::new();
//!     while let Some(sentence) = reply.next_sentence().await {
//!         spoken.push(sentence.trim().to_owned()); // send it to the speech synthesis, as a part of `reply.speech()`
//!     }
//!     assert_eq!(spoken, ["You have 12.50 left.", "Anything else?"]);
//!
//!     let closed = call.close("hangup", Duration::from_secs(5)).await?;
//!     assert!(closed.unstored.is_empty());
//!     println!("{}", call.conversation().read(|manager| manager.to_string()));
//!     Ok(())
//! }
//! ```
//!
//! # The effect of each event
//!
//! Events may come late, twice, or out of order. None of that is an error: each method returns its [`Effect`].
//!
//! - A *reply is running* from [`reply`](CallSession::reply) until [`Ended`](ReplyEvent::Ended).
//! - A *speech is open* from `reply` or [`say`](CallSession::say) until its playback is finished or interrupted.
//! - A *barge-in* stops the running reply, also at the provider, and keeps its text so far. It interrupts every open
//!   speech. The reader of the reply gets nothing more.
//! - The session estimates what the caller heard until the player reports it. Without a report that playback started,
//!   it counts from when the first words were handed out. The estimate uses a [usual rate of
//!   speech](CallSettings::with_speech_rate), or the rate of the speeches so far that were played to their end. If a speech
//!   must be over by this estimate when the caller speaks, there is no barge-in.
//! - After [`close`](CallSession::close) begins, the session ignores all events, except results of tools. It accepts
//!   these only while `close` waits for running tools.
//!
//! | event | situation | effect |
//! | --- | --- | --- |
//! | `caller_started_speaking` | a reply is running or a speech is open | barge-in |
//! | | before the first words of a reply | barge-in; no message is added |
//! | | while tools run | barge-in; the tools continue, and the next request has their results |
//! | | nothing is running or open | the start time is kept for the caller's words |
//! | | again, before the caller's words | ignored: repeated |
//! | | after the caller's words, with a time before their end; clocks may differ | ignored: repeated; the report belongs to these words |
//! | `caller_said` | after `caller_started_speaking` | the words are added, with their times |
//! | | without that event, while a reply is running or a speech is open | barge-in, then the words are added |
//! | | again, before a reply | merged with the words before |
//! | | the same words with the same end | ignored: repeated |
//! | | blank | ignored: blank; the start time is dropped |
//! | | below the minimum confidence | added; the next reply asks the caller to repeat, without the model |
//! | `reply` | there is [something to answer](CallSession::is_answerable); a `say` is no answer | asks the model |
//! | | a reply is running | error: `InUse` |
//! | | otherwise, for example after a greeting or an answer that was heard to its end | error: `NothingToAnswer` |
//! | the [`Reply`] is dropped | before its end | stops the model; the text so far stays |
//! | `say` | a reply is running | error: `InUse` |
//! | | otherwise | the sentence is added; its speech is open |
//! | `playback_started` | the first time | the time is kept; the estimate of an interrupted speech is renewed |
//! | | again | ignored: repeated |
//! | `playback_finished` | the speech is open | all of it was heard; tool outcomes that it mentions count as reported |
//! | | its reply is running | ignored: still generated; it takes effect if no more text follows, else report the end again |
//! | | after `playback_interrupted` or the barge-in | ignored: superseded; players that drop audio report its end |
//! | | `at_ms` is not after the barge-in | all of it was heard |
//! | | again | ignored: repeated |
//! | `playback_interrupted` | its reply is running | barge-in, then the report is applied |
//! | | the speech is open, or was heard by estimate | the report replaces the estimate |
//! | | a more exact report came before, or the speech is finished | ignored: superseded |
//! | any of the three | the next turn has begun, or a summary covers the message | the same; the message is logged again |
//! | | an unknown speech, one older than the last 64, or one older than the last 2 that was played to its end | ignored: unknown speech |
//! | any with a time | the time is in seconds: from 100 million to below 100 billion | ignored: in seconds; `caller_said` returns an error |
//! | `tool_result` | the reply waits for it | added; the model is asked again after the last result |
//! | | after a barge-in | added; the next request has it, and its outcome counts as not yet reported |
//! | | while another reply is running | the same; the request that is already sent does not have it |
//! | | after the deadline of the tool, or after a takeover | replaces the unknown outcome; the call is [answerable](CallSession::is_answerable) |
//! | | again | ignored: second result |
//! | | for another tool, or an unknown call | ignored |
//! | `close` | at any time | stops the reply, interrupts open speeches, gives tools half of the timeout, logs everything |
//! | | again | waits for the log again |
//! | the session is dropped | without `close` | as `close`, but does not wait; logs a warning |
//!
//! # Clocks
//!
//! The player, the speech recognition and the call may have different clocks. The session estimates how far the clock
//! of each reporter is ahead or late, from the times of its events and of its reports. The estimate decides whether a
//! report is late and how much was heard. The log keeps the reported times.
//!
//! # Silence and failures
//!
//! While the caller waits and hears nothing, the session raises [`Silence`](crate::conversation::CallEvent::Silence)
//! and speaks a [filler](CallSettings::with_fillers), if there are any. It never apologizes while a tool runs. A failed
//! request is retried until the deadline of the [first words](crate::conversation::Config::with_first_token_timeout).
//! Then the caller hears the [apology](CallSettings::with_apology). `docs/faults.md` lists what the caller hears after
//! each fault.
//!
//! `docs/` maps the events of Twilio, LiveKit and Amazon Connect to these methods.
//!
//! # Many calls
//!
//! A service keeps its live calls in a [`CallHost`]. The host continues calls from the log after a restart or in another
//! process, and closes all calls before the process stops.
//!
//! # Durability
//!
//! A tool that may act runs after the log has stored its call; [`Tool`](crate::model::Tool) has the rules.
//!
//! An unfinished answer is only in memory. It goes to the log when the model stops or is stopped. The caller's words
//! go to the log's writer at once, which may write them with their turn; see
//! [`with_turn_wait`](crate::log::WriterSettings::with_turn_wait).

mod builder;
mod closing;
mod ear;
mod effect;
mod events;
mod host;
mod rate;
mod reply;
mod sentences;
mod session;
mod settings;
mod silence;
mod speech;
mod speeches;
mod utterance;

pub use builder::CallBuilder;
pub use closing::Closed;
pub use effect::Effect;
pub use host::{CallHost, Drained, HostedCall};
pub use reply::{Reply, ReplyEvent};
pub use session::CallSession;
pub use settings::CallSettings;
pub use speech::Played;
pub use utterance::Utterance;

pub use crate::turn::{ReplyEnd, SpeechId};
