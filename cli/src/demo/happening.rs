//! [`Happening`]: what happens while a call is played, and [`Observer`], the port of whoever shows it.

use std::io;

use aws_sdk_bedrockruntime::types;
use verbale::{Message, MessageId, Record};

use crate::demo::play::Ended;
use crate::demo::player::BargeIn;
use crate::demo::script::{Event, Script};

/// What happens while a call is played, in its order.
pub enum Happening<'a> {
    /// The call begins. `log` says where it is logged, and as what.
    Begun { script: &'a Script, log: &'a str },
    /// The caller broke in on what was said before.
    BrokenIn(&'a BargeIn),
    /// A message was added: what a model would get now.
    Added { event: &'a Event, window: &'a [types::Message] },
    /// So many messages are being summarised, and the call goes on.
    SummaryBegun { messages: usize },
    /// A summary is in its place; so many messages are left in the window.
    Summarized { summary: &'a Message, summary_ids: &'a [MessageId], window: usize },
    /// A summary came to nothing. Nothing is lost by it.
    NotSummarized { why: &'a dyn std::error::Error },
    /// Records were written to the log.
    Logged(&'a [Record]),
    /// The call is over, logged, read back and restored.
    Ended(&'a Ended),
}

/// Whoever shows what happens.
pub trait Observer {
    /// Errors: it cannot be shown, which ends the call.
    fn observe(&mut self, happening: Happening<'_>) -> io::Result<()>;
}
