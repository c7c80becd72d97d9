//! Writes the outcome of a tool call on one line: `order_part ok: order_id=K-3668, price=152/103, …`.

use std::collections::HashMap;

use super::fields::{self, Field};
use super::hash::Hash;
use super::weight::{Term, Weight};
use crate::memory::one_line::one_line;
use crate::message::{ResultContent, ToolCall, ToolResult, is_blank, is_invisible};

/// The maximum length of a line, in characters. The most important items come first.
pub(super) const LONGEST: usize = 150;
/// The maximum length of a line that comes from the previous summary.
const LONGEST_CARRIED: usize = 110;
/// The maximum length of a tool's text.
const LONGEST_TEXT: usize = 110;
/// The number of repetitions after which a value ranks no lower. Values such as the caller's id occur in every call.
const MAX_REPETITIONS: u32 = 4;
/// The maximum number of values of one key.
const VALUES: usize = 4;

/// Writes the line of a call and its result. `seen` counts the values of earlier lines by hash; values seen before rank
/// lower.
pub(super) fn line(tool_call: Option<&ToolCall>, result: Option<&ToolResult>, seen: &mut HashMap<u64, u32>) -> String {
    let name = result.map(ToolResult::name).or(tool_call.map(ToolCall::name)).map_or("tool", |name| name.as_str());
    let arguments = tool_call.map(|tool_call| fields::of_value(tool_call.arguments())).unwrap_or_default();
    let Some(result) = result else {
        return joined(format!("{name} pending"), None, items(Vec::new(), arguments, seen));
    };
    let (mut words, mut found) = (None, Vec::new());
    let failed = match result.outcome() {
        Err(error) => {
            words = Some(one_line(error.message(), LONGEST_TEXT));
            true
        }
        Ok(contents) => {
            for content in contents {
                match content {
                    ResultContent::Json(value) => found.extend(fields::of_value(value)),
                    ResultContent::Text(text) => match fields::of_json(text) {
                        Some(fields) if fields.is_empty() => words = Some("nothing".to_owned()),
                        Some(fields) => found.extend(fields),
                        None if is_blank(text) => {}
                        None => words = Some(one_line(text, LONGEST_TEXT)),
                    },
                    ResultContent::Media(_) | ResultContent::Unknown(_) => {}
                }
            }
            words.as_deref().is_some_and(is_failure) || found.iter().any(is_failed_field)
        }
    };
    let status = match failed {
        true => "failed",
        false if words.is_none() && found.is_empty() => "done",
        false => "ok",
    };
    joined(format!("{name} {status}"), words, items(found, arguments, seen))
}

/// Shortens a line that comes from the previous summary.
pub(super) fn carried(line: &str) -> String {
    let line: String = line.chars().filter(|c| !c.is_control() && !is_invisible(*c)).take(LONGEST).collect();
    let mut kept = String::new();
    for item in parts(&line) {
        if kept.is_empty() {
            kept.push_str(item);
        } else if kept.chars().count() + 2 + item.chars().count() <= LONGEST_CARRIED {
            kept.extend([", ", item]);
        }
    }
    kept
}

/// Scores a line.
pub(super) fn weigh(line: &str, terms: &mut Vec<Term>) -> Weight {
    let (head, rest) = line.split_once(": ").unwrap_or((line, ""));
    let (name, status) = head.split_once(' ').unwrap_or((head, ""));
    let looks = READS.iter().any(|verb| name.starts_with(verb));
    let thinks = ["think", "calculate", "compute"].iter().any(|verb| name.starts_with(verb));
    let points = match status {
        _ if rest.is_empty() => 20,
        "failed" => 150,
        // The call read or calculated something, and returned no result.
        "done" if looks || thinks => 20,
        _ if thinks => 50,
        _ if looks => 100,
        _ => 170,
    };
    terms.push(Term { hash: Hash::of(head), worth: 1 });
    for item in parts(rest) {
        // Hash the value without its key, so that a caller who repeats it adds nothing new.
        let (values, worth) = item.split_once('=').map_or((item, 60), |(_, values)| (values, 3));
        for value in values.split('/') {
            terms.push(Term { hash: Hash::of(&value.trim_matches('"').to_ascii_lowercase()), worth });
        }
    }
    Weight { points, is_hard: true, ..Weight::default() }
}

/// Prefixes in the names of tools that only read.
const READS: [&str; 12] =
    ["get", "search", "list", "find", "fetch", "lookup", "look_up", "check", "read", "query", "retrieve", "show"];

fn is_failure(words: &str) -> bool {
    let start = words.get(..words.len().min(9)).unwrap_or_default().to_ascii_lowercase();
    ["error", "failed", "failure", "exception", "invalid"].iter().any(|word| start.starts_with(word))
}

fn is_failed_field(field: &Field) -> bool {
    let value = field.value.to_ascii_lowercase();
    field.depth <= 1
        && match field.key.to_ascii_lowercase().as_str() {
            "error" | "errors" | "error_message" | "errormessage" => {
                value != "false" && value != "0" && value != "none"
            }
            "success" | "ok" => value == "false",
            "status" | "result" | "outcome" => {
                ["error", "failed", "failure", "declined", "denied"].contains(&value.as_str())
            }
            _ => false,
        }
}

/// The values of one key at one depth.
struct Group {
    key: String,
    depth: u8,
    values: Vec<String>,
    rank: u32,
}

/// Writes `key=value` for each key, the most important first. Leaves out a value that another key already has, unless
/// it is an id.
fn items(result: Vec<Field>, arguments: Vec<Field>, seen: &mut HashMap<u64, u32>) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    let mut fields = result.into_iter().chain(arguments).peekable();
    while let Some(mut field) = fields.next() {
        // The parts of a name are words.
        let is_word = |value: &str| !value.contains(|c: char| c.is_numeric());
        if let Some(whole) = field.key.strip_prefix("first_").filter(|_| is_word(&field.value)).map(str::to_owned)
            && let Some(last) =
                fields.next_if(|next| next.key.strip_prefix("last_") == Some(whole.as_str()) && is_word(&next.value))
        {
            field = Field { key: whole, value: format!("{} {}", field.value, last.value), ..field };
        }
        let times = seen.entry(Hash::of(&field.value)).or_default();
        // A status keeps its rank however often it is repeated.
        let rank = match rank(&field) {
            0 => 0,
            rank => rank + (*times).min(MAX_REPETITIONS),
        };
        let is_known = groups.iter().any(|group| group.values.contains(&field.value));
        match groups.iter_mut().find(|group| group.key == field.key) {
            Some(group) if group.depth == field.depth && !group.values.contains(&field.value) => {
                group.values.push(field.value);
                group.rank = rank.min(group.rank);
            }
            None if !is_known || rank <= 1 => {
                groups.push(Group { key: field.key, depth: field.depth, values: vec![field.value], rank });
            }
            _ => continue,
        }
        *times += 1;
    }
    groups.sort_by_key(|group| group.rank);
    groups.iter().map(|group| item(&group.key, &group.values)).collect()
}

/// Ranks a field; 0 is the most important.
fn rank(field: &Field) -> u32 {
    let key = field.key.to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| key == *word);
    let has = |words: &[&str]| words.iter().any(|word| key.contains(word));
    let of_key = if is(&["status", "state", "error", "reason", "message", "result"]) {
        0
    } else if has(&["user", "customer"]) {
        2
    } else if is(&["id"]) || key.ends_with("_id") || has(&["number", "code", "reference", "confirmation"]) {
        1
    } else if has(&["name", "email", "phone"]) {
        2
    } else if has(&["amount", "total", "price", "balance", "fee", "refund", "cost", "paid"]) {
        3
    } else if has(&["date", "time", "birth"]) {
        4
    } else {
        5
    };
    let is_trivial = matches!(field.value.as_str(), "0" | "false" | "true" | "no" | "none" | "available");
    let is_long = field.value.len() > 40;
    of_key + u32::from(field.depth.saturating_sub(1)) + 4 * u32::from(is_trivial) + 2 * u32::from(is_long)
}

fn item(key: &str, values: &[String]) -> String {
    let mut item = if key.is_empty() { String::new() } else { format!("{key}=") };
    for (index, value) in values.iter().take(VALUES).enumerate() {
        if index > 0 {
            item.push('/');
        }
        if value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:@+$%#".contains(&byte)) {
            item.push_str(value);
        } else {
            item.extend(["\"", value, "\""]);
        }
    }
    if values.len() > VALUES {
        item.push_str("/…");
    }
    item
}

/// Appends the items that fit. Skips an item that is too long and tries the next one.
fn joined(mut line: String, words: Option<String>, items: Vec<String>) -> String {
    let mut length = line.chars().count();
    let mut separator = ": ";
    let words = words.into_iter().map(|words| format!("\"{words}\""));
    for item in words.chain(items) {
        let more = separator.len() + item.chars().count();
        if length + more <= LONGEST {
            line.extend([separator, &item]);
            length += more;
            separator = ", ";
        }
    }
    line
}

/// Splits a line at each `, ` outside quotation marks.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    line.split(move |c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    })
    .map(str::trim)
}
