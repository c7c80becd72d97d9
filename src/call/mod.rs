//! A live call: what the service reports goes in, what is to be spoken comes out.
//!
//! [`CallSession`] owns the turns: it asks the model, runs tools, stops when the caller breaks in, keeps what was heard
//! apart from what was generated, summarises in the background, and hands each change to the log's writer. Never touches
//! audio: the service recognises speech, plays it, and says what happened.
//!
//! ```
//! # use std::time::Duration;
//! # use verbale::call::{CallSession, Utterance};
//! # use verbale::model::{Generation, Model, ModelEvent, ModelRequest, StopReason};
//! # struct Fixed;
//! # impl Model for Fixed {
//! #     fn generate(&self, _request: ModelRequest) -> Generation {
//! #         struct Two(u8);
//! #         impl futures_core::Stream for Two {
//! #             type Item = Result<ModelEvent, verbale::model::ModelError>;
//! #             fn poll_next(mut self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Option<Self::Item>> {
//! #                 self.0 += 1;
//! #                 std::task::Poll::Ready(match self.0 {
//! #                     1 => Some(Ok(ModelEvent::Text("You have 12.50 left. Anything else?".into()))),
//! #                     2 => Some(Ok(ModelEvent::Stop(StopReason::EndTurn))),
//! #                     _ => None,
//! #                 })
//! #             }
//! #         }
//! #         Box::pin(Two(0))
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = Fixed;
//! let call = CallSession::with_model(model).system("You answer the phone of a bank.").open()?;
//! let greeting = call.say("Good morning, how can I help?")?;
//! call.playback_started(greeting, call.now_ms());
//! call.playback_finished(greeting, call.now_ms());
//!
//! call.caller_started_speaking(call.now_ms());
//! call.caller_said(Utterance::new("What is my balance?").with_confidence(0.93))?;
//! let mut reply = call.reply()?.sentences();
//! let mut spoken = Vec::new();
//! while let Some(sentence) = reply.next().await {
//!     spoken.push(sentence.trim().to_owned()); // to the speech synthesis, under the name of `reply.speech()`
//! }
//! assert_eq!(spoken, ["You have 12.50 left.", "Anything else?"]);
//!
//! let closed = call.close("hangup", Duration::from_secs(5)).await?;
//! assert!(closed.unstored.is_empty());
//! println!("{}", call.with_manager(|manager| manager.to_string()));
//! # Ok(()) }
//! ```
//!
//! # What each event does, whenever it comes
//!
//! A *reply is generated* from [`reply`](CallSession::reply) until [`Ended`](ReplyEvent::Ended). A *speech is open* from
//! then, or from [`say`](CallSession::say), until its playback is finished or interrupted. *Breaking in* stops the
//! reply that is generated, in the model too, keeps what it had said, and cuts off each open speech: what was heard is
//! estimated, until the player reports it, and whoever still reads the reply gets nothing more of it. From
//! [`close`](CallSession::close) on all events are ignored, but for results of tools until it is done.
//!
//! | event | when | what becomes of it |
//! | --- | --- | --- |
//! | `caller_started_speaking` | a reply is generated, or a speech is open | breaks in |
//! | | before the first token | breaks in: nothing was said, nothing is added |
//! | | while tools run | breaks in; the tools run on, and what came of them is in the next request |
//! | | nothing is generated or open | the time is noted |
//! | | again, before the caller's words | ignored: repeated |
//! | | behind them, with a time before their end | ignored: repeated; it was of these words |
//! | `caller_said` | after `caller_started_speaking` | the words are added, with the times |
//! | | without it, while a reply is generated or a speech is open | breaks in first |
//! | | again, before a reply | merged with the words before |
//! | | the same words with the same end | ignored: repeated |
//! | | blank | ignored: blank; the caller only seemed to speak |
//! | | with less confidence than is asked for | added; the next reply asks the caller to repeat, without the model |
//! | `reply` | the last words are the caller's, or a tool's result; a sentence of `say` behind them is no answer | the model is asked |
//! | | a reply is generated | error: in progress |
//! | | the last words are the assistant's | error: nothing to answer |
//! | the [`Reply`] is dropped | before its end | the model is stopped; what it had said stays, as far as it is heard |
//! | `say` | a reply is generated | error: in progress |
//! | | otherwise | added, and open until it is played |
//! | `playback_started` | the first time | the time is noted; where it was cut off, an estimate of what was heard is made anew |
//! | | again | ignored: repeated |
//! | `playback_finished` | the speech is open | all of it was heard, and what it told of tools is told |
//! | | its reply is still generated | ignored: still generated; it counts if nothing more is said, else report it again |
//! | | it was cut off, by a report or before the given time | ignored: interrupted, as by a player that drops the rest |
//! | | it was cut off, but had ended before | all of it was heard |
//! | | again | ignored: repeated |
//! | `playback_interrupted` | its reply is still generated | breaks in, then the report is taken |
//! | | the speech is open, or what was heard is estimated | what was heard is what is reported |
//! | | a more exact report came before | ignored: known better |
//! | | it was finished | ignored: finished |
//! | any of the three | the next turn has begun, or a summary covers the message | the same; the message's revision rises, and it is logged again; a start alone with what comes next |
//! | | of a speech that is not known, or of more than 64 speeches ago | ignored: unknown speech |
//! | `tool_result` | the reply waits for it | added; when all are there, the model is asked again |
//! | | the caller broke in meanwhile | added behind the words, shown to the model behind its call, and not told yet |
//! | | while another reply is generated | the same; that reply does not know of it, the next one does |
//! | | again, or after its time | ignored: it has an outcome |
//! | | of another tool, or of no call | ignored |
//! | `close` | in the middle of anything | the reply is stopped, speeches are cut off at this moment, tools get half of the time, all is logged |
//! | | again | waits for the log again, and changes nothing |
//! | the session is dropped | without `close` | the same without waiting, with a warning |
//!
//! Which events of Twilio, LiveKit and Amazon Connect these are: [`telephony`].
//!
//! # Where the words may be lost
//!
//! Only what is generated and not yet complete is in memory alone: it reaches the log's writer when the model stops, or is
//! stopped. What the caller said and what tools came to is handed over at once.

mod builder;
mod closing;
mod ear;
mod effect;
mod events;
mod reply;
mod sentences;
mod session;
mod settings;
mod speech;
mod speeches;
pub mod telephony;
mod utterance;

pub use builder::{CallBuilder, OpenError};
pub use closing::Closed;
pub use effect::{Effect, Ignored};
pub use reply::{Reply, ReplyEnd, ReplyEvent, SpokenSentences};
pub use sentences::Sentences;
pub use session::{CallSession, ReplyError, SayError};
pub use settings::{CallSettings, Playback};
pub use speech::Played;
pub use utterance::Utterance;

pub use crate::turn::SpeechId;
