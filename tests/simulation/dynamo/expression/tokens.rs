//! The tokens of an expression.

use super::super::error::ServiceError;
use super::Placeholders;

/// The remaining tokens of an expression. `parameter` is its name in error messages.
pub struct Tokens<'a> {
    parameter: &'static str,
    rest: Vec<&'a str>,
}

const TWO: [&str; 3] = ["<>", "<=", ">="];
const ONE: &str = "=<>(),+-.";

impl<'a> Tokens<'a> {
    pub fn of(parameter: &'static str, text: &'a str) -> Result<Self, ServiceError> {
        let mut found = Vec::new();
        let mut rest = text.trim_start();
        if rest.is_empty() {
            return Err(ServiceError::validation(format!("Invalid {parameter}: The expression can not be empty;")));
        }
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = if TWO.iter().any(|two| rest.starts_with(two)) {
                2
            } else if ONE.contains(first) {
                1
            } else if is_word(first) || first == '#' || first == ':' {
                rest[1..].find(|c| !is_word(c)).map_or(rest.len(), |end| end + 1)
            } else {
                return Err(syntax(parameter, rest.get(..1).unwrap_or(rest)));
            };
            let (token, behind) = rest.split_at(length);
            found.push(token);
            rest = behind.trim_start();
        }
        found.reverse();
        Ok(Self { parameter, rest: found })
    }

    pub fn parameter(&self) -> &'static str {
        self.parameter
    }

    pub fn peek(&self) -> Option<&'a str> {
        self.rest.last().copied()
    }

    pub fn next(&mut self) -> Result<&'a str, ServiceError> {
        self.rest.pop().ok_or_else(|| syntax(self.parameter, "<EOF>"))
    }

    /// Consumes a token if it is next. Keywords match in any case.
    pub fn takes(&mut self, token: &str) -> bool {
        let comes = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(token));
        if comes {
            self.rest.pop();
        }
        comes
    }

    /// Consumes the name of a function and its parenthesis if they are next. Function names are in lower case.
    pub fn takes_call(&mut self, function: &str) -> bool {
        let comes = self.rest.ends_with(&["(", function]);
        if comes {
            self.rest.truncate(self.rest.len() - 2);
        }
        comes
    }

    pub fn expect(&mut self, token: &str) -> Result<(), ServiceError> {
        let next = self.next()?;
        if next.eq_ignore_ascii_case(token) { Ok(()) } else { Err(syntax(self.parameter, next)) }
    }

    pub fn end(&self) -> Result<(), ServiceError> {
        self.peek().map_or(Ok(()), |next| Err(syntax(self.parameter, next)))
    }

    /// Reads the name of an attribute, given directly or by a placeholder.
    pub fn path(&mut self, placeholders: &mut Placeholders) -> Result<String, ServiceError> {
        let token = self.next()?;
        match token.chars().next() {
            Some('#') => placeholders.name(self.parameter, token),
            Some(first) if first.is_alphabetic() => {
                if is_reserved(token) {
                    return Err(ServiceError::validation(format!(
                        "Invalid {}: Attribute name is a reserved keyword; reserved keyword: {token}",
                        self.parameter
                    )));
                }
                Ok(token.to_owned())
            }
            _ => Err(syntax(self.parameter, token)),
        }
    }
}

fn syntax(parameter: &str, token: &str) -> ServiceError {
    ServiceError::validation(format!("Invalid {parameter}: Syntax error; token: \"{token}\""))
}

/// The 573 words of "Reserved words in DynamoDB", sorted.
const RESERVED: &str = include_str!("../reserved.txt");

fn is_reserved(word: &str) -> bool {
    RESERVED.split_whitespace().any(|reserved| reserved.eq_ignore_ascii_case(word))
}
