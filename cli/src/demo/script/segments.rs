//! The format of `harper-valley`: JSON Lines with one speech segment on each line.
//!
//! A segment has `role` (`agent` or `caller`), `start_timestamp_ms` (ms since the epoch), `duration_ms` and `text`;
//! other fields are ignored. Segments may overlap and may be in any order.
//!
//! The words are in `text`, which people corrected. If it is empty, `asr`, the output of the speech recognition, is used.
//! Noise marks (`[noise]`, `<unk>`) among words are kept. A segment without words is no message and interrupts nobody.

use serde_json::Value as Json;
use verbale::message::is_blank;

use super::error::{Problem, Refused};
use super::fields::Fields;
use super::{Event, EventKind};

/// A file whose first object has one of these fields is in this format.
pub const FIELDS: [&str; 4] = ["role", "start_timestamp_ms", "duration_ms", "text"];

/// The last millisecond of the year 9999, the largest time that every date format can write.
const LAST_MS: i64 = 253_402_300_799_999;

pub fn read(text: &str) -> Result<Vec<Event>, Refused> {
    let mut events = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        events.extend(segment(line).map_err(|problem| problem.at_line(index + 1))?);
    }
    // The sort is stable: segments with equal starts keep the order of the file.
    events.sort_by_key(|event| event.start_ms);
    mark_barge_ins(&mut events);
    Ok(events)
}

/// Returns `None` for a segment without words.
fn segment(line: &str) -> Result<Option<Event>, Problem> {
    let json: Json = serde_json::from_str(line).map_err(|error| Problem::syntax(&error))?;
    let fields = Fields::of_json(&json)?;
    let kind: fn(&str) -> EventKind = match fields.text("role")? {
        "caller" => |text| EventKind::Caller(text.into()),
        "agent" => |text| EventKind::Agent { text: Some(text.into()), calls: Vec::new(), played_ms: None },
        _ => return Err(Problem::UnknownRole("`agent`, `caller`")),
    };
    let (start_ms, end_ms) = times(fields)?;
    let text = match (fields.text("text")?, fields.optional_text("asr")?) {
        (text, Some(asr)) if is_blank(text) => asr,
        (text, _) => text,
    };
    Ok(has_words(text).then(|| Event { start_ms, end_ms, kind: kind(text) }))
}

fn times(fields: Fields<'_>) -> Result<(i64, i64), Problem> {
    let start_ms = fields.milliseconds("start_timestamp_ms")?;
    let duration_ms = fields.milliseconds("duration_ms")?;
    if duration_ms < 0 {
        return Err(Problem::NegativeDuration);
    }
    match start_ms.checked_add(duration_ms) {
        Some(end_ms) if start_ms >= 0 && end_ms <= LAST_MS => Ok((start_ms, end_ms)),
        _ => Err(Problem::TimeOutOfRange),
    }
}

/// Returns whether a text has more than noise marks and punctuation.
fn has_words(text: &str) -> bool {
    let is_mark = |token: &str| {
        (token.starts_with('[') && token.ends_with(']')) || (token.starts_with('<') && token.ends_with('>'))
    };
    text.split_whitespace().any(|token| !is_mark(token) && token.chars().any(char::is_alphanumeric))
}

/// A caller who starts before the last agent segment has ended interrupts it.
fn mark_barge_ins(events: &mut [Event]) {
    let mut last_agent: Option<&mut Event> = None;
    for event in events {
        match event.kind {
            EventKind::Agent { .. } => last_agent = Some(event),
            // After the first interruption the agent is silent.
            EventKind::Caller(_) => {
                if let Some(agent) = last_agent.take().filter(|agent| event.start_ms < agent.end_ms)
                    && let EventKind::Agent { played_ms, .. } = &mut agent.kind
                {
                    *played_ms = Some(event.start_ms.abs_diff(agent.start_ms));
                }
            }
            EventKind::System(_) | EventKind::ToolResult(_) => {}
        }
    }
}
