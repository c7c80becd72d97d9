//! Conditions and filters.

use std::cmp::Ordering;

use super::super::attribute::{Attribute, Item};
use super::super::error::ServiceError;
use super::{Placeholders, Tokens};

#[derive(Debug, Clone)]
pub enum Condition {
    Or(Box<Condition>, Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Exists(String),
    NotExists(String),
    Compare(Operand, Comparator, Operand),
    Between(Operand, Operand, Operand),
    BeginsWith(Operand, Operand),
}

#[derive(Debug, Clone)]
pub enum Operand {
    Path(String),
    /// An entry of a map.
    Nested(String, String),
    Value(Attribute),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Condition {
    pub fn parse(parameter: &'static str, text: &str, placeholders: &mut Placeholders) -> Result<Self, ServiceError> {
        let mut tokens = Tokens::of(parameter, text)?;
        let condition = or(&mut tokens, placeholders)?;
        tokens.end()?;
        Ok(condition)
    }

    pub fn holds(&self, item: Option<&Item>) -> bool {
        match self {
            Self::Or(one, other) => one.holds(item) || other.holds(item),
            Self::And(one, other) => one.holds(item) && other.holds(item),
            Self::Not(inner) => !inner.holds(item),
            Self::Exists(name) => item.is_some_and(|item| item.contains_key(name)),
            Self::NotExists(name) => item.is_none_or(|item| !item.contains_key(name)),
            Self::Compare(one, comparator, other) => comparator.holds(one.of(item), other.of(item)),
            Self::Between(one, low, high) => {
                Comparator::GreaterOrEqual.holds(one.of(item), low.of(item))
                    && Comparator::LessOrEqual.holds(one.of(item), high.of(item))
            }
            Self::BeginsWith(one, prefix) => {
                matches!((one.of(item), prefix.of(item)), (Some(one), Some(prefix)) if one.begins_with(prefix))
            }
        }
    }
}

impl Operand {
    fn of<'a>(&'a self, item: Option<&'a Item>) -> Option<&'a Attribute> {
        match self {
            Self::Path(name) => item?.get(name),
            Self::Nested(map, entry) => match item?.get(map)? {
                Attribute::M(entries) => entries.get(entry),
                _ => None,
            },
            Self::Value(value) => Some(value),
        }
    }

    fn parse(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Self, ServiceError> {
        if tokens.peek().is_some_and(|token| token.starts_with(':')) {
            let token = tokens.next()?;
            return Ok(Self::Value(placeholders.value(tokens.parameter(), token)?));
        }
        let name = tokens.path(placeholders)?;
        if tokens.takes(".") {
            return Ok(Self::Nested(name, tokens.path(placeholders)?));
        }
        Ok(Self::Path(name))
    }

    /// Refuses a value without an order.
    fn ordered(self, parameter: &str, operator: &str) -> Result<Self, ServiceError> {
        match &self {
            Self::Value(value) if !matches!(value, Attribute::S(_) | Attribute::N(_) | Attribute::B(_)) => {
                Err(ServiceError::validation(format!(
                    "Invalid {parameter}: Incorrect operand type for operator or function; operator or function: \
                     {operator}, operand type: {}",
                    value.type_name()
                )))
            }
            _ => Ok(self),
        }
    }
}

impl Comparator {
    fn parse(token: &str) -> Option<Self> {
        Some(match token {
            "=" => Self::Equal,
            "<>" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// Compares two values. A missing value equals nothing and has no order.
    fn holds(self, one: Option<&Attribute>, other: Option<&Attribute>) -> bool {
        let (Some(one), Some(other)) = (one, other) else { return self == Self::NotEqual };
        match self {
            Self::Equal => one.equals(other),
            Self::NotEqual => !one.equals(other),
            Self::Less => one.compare(other) == Some(Ordering::Less),
            Self::LessOrEqual => one.compare(other).is_some_and(Ordering::is_le),
            Self::Greater => one.compare(other) == Some(Ordering::Greater),
            Self::GreaterOrEqual => one.compare(other).is_some_and(Ordering::is_ge),
        }
    }
}

fn or(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Condition, ServiceError> {
    let mut condition = and(tokens, placeholders)?;
    while tokens.takes("OR") {
        condition = Condition::Or(Box::new(condition), Box::new(and(tokens, placeholders)?));
    }
    Ok(condition)
}

fn and(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Condition, ServiceError> {
    let mut condition = not(tokens, placeholders)?;
    while tokens.takes("AND") {
        condition = Condition::And(Box::new(condition), Box::new(not(tokens, placeholders)?));
    }
    Ok(condition)
}

fn not(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Condition, ServiceError> {
    if tokens.takes("NOT") {
        return Ok(Condition::Not(Box::new(not(tokens, placeholders)?)));
    }
    if tokens.takes("(") {
        let condition = or(tokens, placeholders)?;
        tokens.expect(")")?;
        return Ok(condition);
    }
    for (function, made) in [
        ("attribute_exists", Condition::Exists as fn(String) -> Condition),
        ("attribute_not_exists", Condition::NotExists),
    ] {
        if tokens.takes_call(function) {
            let name = tokens.path(placeholders)?;
            tokens.expect(")")?;
            return Ok(made(name));
        }
    }
    let parameter = tokens.parameter();
    if tokens.takes_call("begins_with") {
        let one = Operand::parse(tokens, placeholders)?;
        tokens.expect(",")?;
        let prefix = Operand::parse(tokens, placeholders)?;
        tokens.expect(")")?;
        if let Operand::Value(Attribute::N(_)) = &prefix {
            return Err(ServiceError::validation(format!(
                "Invalid {parameter}: Incorrect operand type for operator or function; operator or function: \
                 begins_with, operand type: N"
            )));
        }
        return Ok(Condition::BeginsWith(one, prefix.ordered(parameter, "begins_with")?));
    }
    let one = Operand::parse(tokens, placeholders)?;
    if tokens.takes("BETWEEN") {
        let low = Operand::parse(tokens, placeholders)?.ordered(parameter, "BETWEEN")?;
        tokens.expect("AND")?;
        let high = Operand::parse(tokens, placeholders)?.ordered(parameter, "BETWEEN")?;
        return Ok(Condition::Between(one, low, high));
    }
    let token = tokens.next()?;
    let Some(comparator) = Comparator::parse(token) else {
        return Err(ServiceError::validation(format!("Invalid {parameter}: Syntax error; token: \"{token}\"")));
    };
    let other = Operand::parse(tokens, placeholders)?;
    match comparator {
        Comparator::Equal | Comparator::NotEqual => Ok(Condition::Compare(one, comparator, other)),
        _ => Ok(Condition::Compare(one.ordered(parameter, token)?, comparator, other.ordered(parameter, token)?)),
    }
}
