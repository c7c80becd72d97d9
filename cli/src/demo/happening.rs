//! [`Happening`]: the events of a played call, and [`Observer`], the port for their output.

use std::io;

use aws_sdk_bedrockruntime::types;
use verbale::{Message, MessageId, Record};

use crate::demo::play::Ended;
use crate::demo::player::BargeIn;
use crate::demo::script::{Event, Script};

/// An event of a played call.
pub enum Happening<'a> {
    /// The call begins. `log` has the call's id and the place of its log.
    Begun { script: &'a Script, log: &'a str },
    /// The caller interrupted the assistant.
    BrokenIn(&'a BargeIn),
    /// A message was added. `window` has the messages that a model would get now.
    Added { event: &'a Event, window: &'a [types::Message] },
    /// A task summarizes `messages` messages while the call continues.
    SummaryBegun { messages: usize },
    /// A summary was added, and `window` messages remain in the window.
    Summarized { summary: &'a Message, summary_ids: &'a [MessageId], window: usize },
    /// A summary failed. The messages stay in the window.
    NotSummarized { why: &'a dyn std::error::Error },
    /// Records were written to the log.
    Logged(&'a [Record]),
    /// The call is over, logged, read back and restored.
    Ended(&'a Ended),
}

/// Shows the events of a call.
pub trait Observer {
    /// Shows an event. Returns an error, which ends the call, if the output fails.
    fn observe(&mut self, happening: Happening<'_>) -> io::Result<()>;
}
