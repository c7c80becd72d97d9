//! [`Damaged`]: a line that is not a record, and what is still known about it.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crate::log::call::Call;
use crate::manager::LeftOut;
use crate::message::{Position, Role};

/// In the line of a record, the position and the revision come before this key.
const MESSAGE: &[u8] = b"\"message\":";

/// A whole line that is not a record.
pub(super) struct Damaged {
    pub number: usize,
    position: Option<Position>,
    revision: Option<u32>,
}

impl Damaged {
    /// Finds the position and the revision in a line.
    pub fn of(number: usize, line: &[u8]) -> Self {
        let head = line.windows(MESSAGE.len()).position(|window| window == MESSAGE).and_then(|at| line.get(..at));
        let head = head.unwrap_or(line);
        let position = match (value(head, b"\"seq\":"), value(head, b"\"after\":"), value(head, b"\"summary\":")) {
            (Some(seq), None, None) => Some(Position::message(seq)),
            (None, Some(after), Some(summary)) => {
                NonZeroU32::new(summary.min(Position::MAX_SUMMARIES)).map(|summary| Position::summary(after, summary))
            }
            _ => None,
        };
        Self { number, position, revision: value(head, b"\"revision\":") }
    }
}

/// Returns the damaged records that the call lacks. A line without a position gets the position of the first missing
/// message, or of the next one, so that the conversation does not give its number to another message.
pub(super) fn left_out(call: &Call, damaged: Vec<Damaged>) -> Vec<LeftOut> {
    let mut taken: BTreeSet<u32> = call.positions().filter(is_message).map(|position| position.seq()).collect();
    taken.extend(damaged.iter().filter_map(|line| line.position).filter(is_message).map(|position| position.seq()));
    let mut free = (0..).filter(|seq| !taken.contains(seq));
    let mut left_out = Vec::new();
    for Damaged { number, position, revision } in damaged {
        let known = position.and_then(|position| call.revision_at(position));
        if known.is_some_and(|known| revision.is_some_and(|revision| revision <= known)) {
            continue;
        }
        let Some(position) = position.or_else(|| free.next().map(Position::message)) else { continue };
        let role = position.summary_number().map(|_| Role::Summary);
        let reason = format!("line {number} of the call's file is not a record; another program may have written it");
        left_out.push(LeftOut::new(position, role, reason));
    }
    left_out
}

fn is_message(position: &Position) -> bool {
    position.summary_number().is_none()
}

/// Returns the number after a name.
fn value(head: &[u8], name: &[u8]) -> Option<u32> {
    let at = head.windows(name.len()).position(|window| window == name)?;
    let rest = head.get(at + name.len()..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Otherwise the number itself may be damaged.
    let ends = rest.get(digits).is_some_and(|byte| *byte == b',');
    std::str::from_utf8(rest.get(..digits).filter(|_| ends)?)
        .ok()?
        .parse()
        .ok()
        .filter(|number| *number <= Position::MAX_SEQ)
}
