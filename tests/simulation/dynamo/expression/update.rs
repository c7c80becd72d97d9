//! Updates: SET, REMOVE and ADD of numbers.

use std::collections::BTreeSet;

use super::super::attribute::{Attribute, Item};
use super::super::error::ServiceError;
use super::super::number::Number;
use super::{Placeholders, Tokens};

const PARAMETER: &str = "UpdateExpression";

pub struct Update(Vec<(String, Action)>);

enum Action {
    Set(Source),
    Remove,
    Add(Attribute),
}

enum Source {
    Path(String),
    Value(Attribute),
    IfNotExists(String, Box<Source>),
    Sum(Box<Source>, Sign, Box<Source>),
}

#[derive(Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

impl Update {
    pub fn parse(text: &str, placeholders: &mut Placeholders) -> Result<Self, ServiceError> {
        let mut tokens = Tokens::of(PARAMETER, text)?;
        let mut actions: Vec<(String, Action)> = Vec::new();
        let mut sections = BTreeSet::new();
        while tokens.peek().is_some() {
            let section = tokens.next()?.to_uppercase();
            if !["SET", "REMOVE", "ADD"].contains(&section.as_str()) {
                return Err(invalid(format!("Syntax error; token: \"{section}\"")));
            }
            if !sections.insert(section.clone()) {
                return Err(invalid(format!(
                    "The \"{section}\" section can only be used once in an update expression;"
                )));
            }
            loop {
                let name = tokens.path(placeholders)?;
                if actions.iter().any(|(other, _)| *other == name) {
                    return Err(invalid(format!(
                        "Two document paths overlap with each other; must remove or rewrite one of these paths; path \
                         one: [{name}], path two: [{name}]"
                    )));
                }
                let action = match section.as_str() {
                    "SET" => {
                        tokens.expect("=")?;
                        Action::Set(sum(&mut tokens, placeholders)?)
                    }
                    "REMOVE" => Action::Remove,
                    _ => Action::Add(added(&mut tokens, placeholders)?),
                };
                actions.push((name, action));
                if !tokens.takes(",") {
                    break;
                }
            }
        }
        Ok(Self(actions))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the updated item. All values are read before the first one is written.
    pub fn apply(&self, item: &Item) -> Result<Item, ServiceError> {
        let mut new = item.clone();
        for (name, action) in &self.0 {
            match action {
                Action::Remove => drop(new.remove(name)),
                Action::Set(source) => drop(new.insert(name.clone(), source.value(item)?)),
                Action::Add(added) => {
                    let sum = match item.get(name) {
                        None => added.clone(),
                        Some(there) => total(there, Sign::Plus, added)?,
                    };
                    new.insert(name.clone(), sum);
                }
            }
        }
        Ok(new)
    }
}

impl Source {
    fn value(&self, item: &Item) -> Result<Attribute, ServiceError> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Path(name) => item.get(name).cloned().ok_or_else(|| {
                ServiceError::validation(
                    "The provided expression refers to an attribute that does not exist in the item",
                )
            }),
            Self::IfNotExists(name, other) => {
                item.get(name).map_or_else(|| other.value(item), |value| Ok(value.clone()))
            }
            Self::Sum(one, sign, other) => total(&one.value(item)?, *sign, &other.value(item)?),
        }
    }
}

fn total(one: &Attribute, sign: Sign, other: &Attribute) -> Result<Attribute, ServiceError> {
    let (Attribute::N(one), Attribute::N(other)) = (one, other) else {
        return Err(ServiceError::validation("An operand in the update expression has an incorrect data type"));
    };
    let other = Number::parse(other)?;
    let other = if matches!(sign, Sign::Minus) { other.negated() } else { other };
    Ok(Attribute::N(Number::parse(one)?.plus(&other)?.to_text()))
}

fn sum(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Source, ServiceError> {
    let one = source(tokens, placeholders)?;
    for (token, sign) in [("+", Sign::Plus), ("-", Sign::Minus)] {
        if tokens.takes(token) {
            return Ok(Source::Sum(Box::new(one), sign, Box::new(source(tokens, placeholders)?)));
        }
    }
    Ok(one)
}

fn source(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Source, ServiceError> {
    if tokens.takes_call("if_not_exists") {
        let name = tokens.path(placeholders)?;
        tokens.expect(",")?;
        let other = source(tokens, placeholders)?;
        tokens.expect(")")?;
        return Ok(Source::IfNotExists(name, Box::new(other)));
    }
    if tokens.peek().is_some_and(|token| token.starts_with(':')) {
        return Ok(Source::Value(placeholders.value(PARAMETER, tokens.next()?)?));
    }
    Ok(Source::Path(tokens.path(placeholders)?))
}

fn added(tokens: &mut Tokens<'_>, placeholders: &mut Placeholders) -> Result<Attribute, ServiceError> {
    match placeholders.value(PARAMETER, tokens.next()?)? {
        number @ Attribute::N(_) => Ok(number),
        other => Err(invalid(format!(
            "Incorrect operand type for operator or function; operator: ADD, operand type: {}",
            other.type_name()
        ))),
    }
}

fn invalid(message: String) -> ServiceError {
    ServiceError::validation(format!("Invalid {PARAMETER}: {message}"))
}
