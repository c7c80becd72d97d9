//! [`Message::summary_line`]: a message on one line of a list.

use std::fmt::{self, Write};

use super::{separated, shown};
use crate::message::Message;

impl Message {
    /// Returns the message on one line, for lists and debugging: its position, its role, and its contents as the print of
    /// a manager shows them.
    ///
    /// The line has at most 100 characters; a longer one ends with `…`. An assistant message shows what the caller heard.
    /// **The line contains words of the call**, so it does not belong in the logs of a service. `Debug` shows kinds and
    /// lengths instead.
    ///
    /// ```
    /// # use verbale::{MessagesManager, PlainMessage};
    /// # fn main() -> Result<(), verbale::ManagerError> {
    /// let mut manager = MessagesManager::<PlainMessage>::new();
    /// let entry = manager.add_user("What is my balance?")?;
    /// assert_eq!(entry.summary_line(), "0 [user] 'What is my balance?'");
    /// # Ok(()) }
    /// ```
    pub fn summary_line(&self) -> String {
        const LONGEST: usize = 100;
        let mut line = Line { text: String::new(), left: LONGEST };
        // Fails only when the line is full.
        if write!(line, "{}", Listed(self)).is_err() {
            line.text.pop();
            line.text.push('…');
        }
        line.text
    }
}

struct Listed<'a>(&'a Message);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(message) = self;
        match message.position().summary_number() {
            Some(number) => write!(f, "{} [{} {number}] ", message.position().seq(), message.role())?,
            None => write!(f, "{} [{}] ", message.position().seq(), message.role())?,
        }
        separated(f, " ", &*message.heard_contents(), shown)
    }
}

/// A text with room for a number of characters. Fails when it is full.
struct Line {
    text: String,
    left: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| self.write_char(c))
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
        self.text.push(c);
        Ok(())
    }
}
