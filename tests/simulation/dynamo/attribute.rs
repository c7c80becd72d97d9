//! Attribute values, their limits and their sizes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::error::ServiceError;
use super::number::Number;

pub type Item = BTreeMap<String, Attribute>;

pub const MAX_ITEM_BYTES: usize = 400 * 1024;
/// The most levels of lists and maps in one attribute. The item itself is one more level.
const MAX_LEVELS: usize = 31;

/// A value in the JSON form of DynamoDB. [`check`](Self::check) normalizes numbers. Bytes stay in base64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Attribute {
    S(String),
    N(String),
    B(String),
    #[serde(rename = "BOOL")]
    Bool(bool),
    #[serde(rename = "NULL")]
    Null(bool),
    #[serde(rename = "SS")]
    Strings(Vec<String>),
    #[serde(rename = "NS")]
    Numbers(Vec<String>),
    #[serde(rename = "BS")]
    Binaries(Vec<String>),
    L(Vec<Attribute>),
    M(Item),
}

impl Attribute {
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::S(_) => "S",
            Self::N(_) => "N",
            Self::B(_) => "B",
            Self::Bool(_) => "BOOL",
            Self::Null(_) => "NULL",
            Self::Strings(_) => "SS",
            Self::Numbers(_) => "NS",
            Self::Binaries(_) => "BS",
            Self::L(_) => "L",
            Self::M(_) => "M",
        }
    }

    pub fn as_s(&self) -> Option<&str> {
        if let Self::S(text) = self { Some(text) } else { None }
    }

    pub fn as_n(&self) -> Option<&str> {
        if let Self::N(text) = self { Some(text) } else { None }
    }

    /// Refuses every value that DynamoDB refuses, and normalizes numbers.
    pub fn check(&mut self) -> Result<(), ServiceError> {
        self.check_within(MAX_LEVELS)
    }

    fn check_within(&mut self, levels: usize) -> Result<(), ServiceError> {
        if levels == 0 && matches!(self, Self::L(_) | Self::M(_)) {
            return Err(ServiceError::validation(
                "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond \
                 supported limit",
            ));
        }
        match self {
            Self::S(_) | Self::Bool(_) => Ok(()),
            Self::Null(true) => Ok(()),
            Self::Null(false) => Err(ServiceError::invalid("Null attribute value types must have the value of true")),
            Self::N(number) => normalize(number),
            Self::B(bytes) => decoded(bytes).map(drop),
            Self::Strings(texts) => no_duplicates(texts, "An string set  may not be empty"),
            Self::Numbers(numbers) => {
                numbers.iter_mut().try_for_each(normalize)?;
                no_duplicates(numbers, "An number set  may not be empty")
            }
            Self::Binaries(binaries) => {
                binaries.iter().try_for_each(|bytes| decoded(bytes).map(drop))?;
                no_duplicates(binaries, "Binary sets should not be empty")
            }
            Self::L(items) => items.iter_mut().try_for_each(|item| item.check_within(levels - 1)),
            Self::M(entries) => entries.iter_mut().try_for_each(|(key, item)| match key.as_str() {
                "" => Err(ServiceError::validation("One or more parameter values are not valid. Empty attribute name")),
                _ => item.check_within(levels - 1),
            }),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::S(text) => text.len(),
            Self::N(number) => number_bytes(number),
            Self::B(bytes) => decoded_bytes(bytes),
            Self::Bool(_) | Self::Null(_) => 1,
            Self::Strings(texts) => texts.iter().map(String::len).sum(),
            Self::Numbers(numbers) => numbers.iter().map(|number| number_bytes(number)).sum(),
            Self::Binaries(binaries) => binaries.iter().map(|bytes| decoded_bytes(bytes)).sum(),
            Self::L(items) => 3 + items.iter().map(|item| 1 + item.bytes()).sum::<usize>(),
            Self::M(entries) => 3 + entries.iter().map(|(key, item)| 1 + key.len() + item.bytes()).sum::<usize>(),
        }
    }

    /// Returns the order of two values of the same scalar type, or `None` for other types.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::S(one), Self::S(other)) => Some(one.cmp(other)),
            (Self::N(one), Self::N(other)) => Some(Number::parse(one).ok()?.cmp(&Number::parse(other).ok()?)),
            (Self::B(one), Self::B(other)) => Some(decoded(one).ok()?.cmp(&decoded(other).ok()?)),
            _ => None,
        }
    }

    /// Compares two values as DynamoDB does: sets are unordered.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Strings(one), Self::Strings(other))
            | (Self::Numbers(one), Self::Numbers(other))
            | (Self::Binaries(one), Self::Binaries(other)) => {
                one.iter().collect::<BTreeSet<_>>() == other.iter().collect::<BTreeSet<_>>()
            }
            _ => self == other,
        }
    }

    pub fn begins_with(&self, prefix: &Self) -> bool {
        match (self, prefix) {
            (Self::S(text), Self::S(prefix)) => text.starts_with(prefix.as_str()),
            (Self::B(bytes), Self::B(prefix)) => matches!(
                (decoded(bytes), decoded(prefix)), (Ok(bytes), Ok(prefix)) if bytes.starts_with(&prefix)
            ),
            _ => false,
        }
    }
}

/// Returns the size according to "Item sizes and formats" in the developer guide.
pub fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, attribute)| name.len() + attribute.bytes()).sum()
}

fn normalize(number: &mut String) -> Result<(), ServiceError> {
    let is_plain = number.len() < 19
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && (number.len() == 1 || !number.starts_with('0'));
    if !is_plain {
        *number = Number::parse(number)?.to_text();
    }
    Ok(())
}

pub fn decoded(bytes: &str) -> Result<Vec<u8>, ServiceError> {
    BASE64_STANDARD.decode(bytes).map_err(|_| ServiceError::new("SerializationException", "not base64"))
}

fn decoded_bytes(bytes: &str) -> usize {
    bytes.len() / 4 * 3 - bytes.bytes().rev().take_while(|byte| *byte == b'=').count()
}

fn no_duplicates(set: &[String], empty: &str) -> Result<(), ServiceError> {
    if set.is_empty() {
        return Err(ServiceError::invalid(empty));
    }
    if set.iter().collect::<BTreeSet<_>>().len() < set.len() {
        return Err(ServiceError::invalid(format!("Input collection [{}] contains duplicates.", set.join(", "))));
    }
    Ok(())
}

/// Returns one byte for each two digits, one more, and one for a minus sign. The guide gives this size as approximate.
fn number_bytes(number: &str) -> usize {
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_matches('0').len();
    if significant == 0 { 1 } else { significant.div_ceil(2) + 1 + usize::from(number.starts_with('-')) }
}
