//! [`Lexer`]: the tokens of JSON text, as [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259) has them.

use super::error::Problem;
use super::quoted::{Quoted, unescape};

/// How deep lists and objects nest, at most: what reads them calls itself as deep.
pub(super) const MAX_NESTING: usize = 128;

/// The kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    String,
    List,
    Object,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// The tokens of JSON text.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// How far it has read, in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Goes to where it was before.
    pub fn go_to(&mut self, offset: usize) {
        self.at = offset;
    }

    /// The line and the character of it, from 0.
    pub fn position(&self) -> (usize, usize) {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        (line, before.rsplit('\n').next().unwrap_or_default().chars().count())
    }

    pub fn kind(&mut self) -> Result<Kind, Problem> {
        match self.peek() {
            Some(b'n') => Ok(Kind::Null),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'"') => Ok(Kind::String),
            Some(b'[') => Ok(Kind::List),
            Some(b'{') => Ok(Kind::Object),
            _ => Err(Problem::NotJson { expected: "a value" }),
        }
    }

    /// Enters the list or object here.
    pub fn open(&mut self) -> Result<(), Problem> {
        if self.depth == MAX_NESTING {
            return Err(Problem::TooDeep { max: MAX_NESTING });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Leaves a list or object, whose end was read.
    pub fn close(&mut self) {
        self.depth -= 1;
    }

    /// Whether something comes before `end`, behind the opening of a list or object.
    pub fn first(&mut self, end: u8) -> Result<bool, Problem> {
        let is_empty = self.peek() == Some(end);
        self.at += usize::from(is_empty);
        Ok(!is_empty)
    }

    /// Whether something comes before `end`, behind an item.
    pub fn next(&mut self, end: u8) -> Result<bool, Problem> {
        let next = self.peek();
        if next != Some(b',') && next != Some(end) {
            return Err(Problem::NotJson { expected: "a comma, or the end of a list or object" });
        }
        self.at += 1;
        Ok(next == Some(b','))
    }

    /// A key, and the colon behind it.
    pub fn key(&mut self) -> Result<Quoted<'a>, Problem> {
        if self.peek() != Some(b'"') {
            return Err(Problem::NotJson { expected: "a key" });
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(Problem::NotJson { expected: "a colon" });
        }
        self.at += 1;
        Ok(key)
    }

    pub fn string(&mut self) -> Result<Quoted<'a>, Problem> {
        let start = self.at + 1;
        let mut saved = 0;
        self.at = start;
        loop {
            let rest = self.rest();
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            let plain = plain.ok_or(Problem::NotJson { expected: "the end of a string" })?;
            self.at += plain;
            match rest.get(plain) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape = rest.get(plain + 1..).unwrap_or_default();
                    let (c, length) = unescape(escape).ok_or(Problem::NotJson { expected: "another escape" })?;
                    saved += 1 + length - c.len_utf8();
                    self.at += 1 + length;
                }
                _ => return Err(Problem::NotJson { expected: "an escape in place of a control character" }),
            }
        }
        // Both ends stand beside an ASCII character.
        let between = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(Quoted::new(between, between.len() - saved))
    }

    /// A number as it is written.
    pub fn number(&mut self) -> Result<&'a str, Problem> {
        let start = self.at;
        self.skip_byte(b"-");
        let whole = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.text.as_bytes().get(whole) == Some(&b'0') {
            return Err(Problem::NotJson { expected: "a number without a 0 in front" });
        }
        if self.skip_byte(b".") {
            self.digits()?;
        }
        if self.skip_byte(b"eE") {
            self.skip_byte(b"+-");
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    pub fn bool(&mut self) -> Result<bool, Problem> {
        let is_true = self.peek() == Some(b't');
        self.word(if is_true { "true" } else { "false" })?;
        Ok(is_true)
    }

    pub fn null(&mut self) -> Result<(), Problem> {
        self.word("null")
    }

    /// Reads over a value.
    pub fn skip(&mut self) -> Result<(), Problem> {
        match self.kind()? {
            Kind::Null => self.null(),
            Kind::Bool => self.bool().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::String => self.string().map(drop),
            Kind::List => self.skip_all(b']', Self::skip),
            Kind::Object => self.skip_all(b'}', |lexer| {
                lexer.key()?;
                lexer.skip()
            }),
        }
    }

    /// Nothing but white space is left.
    pub fn end(&mut self) -> Result<(), Problem> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Problem::NotJson { expected: "the end of the text" }),
        }
    }

    fn skip_all(&mut self, end: u8, each: impl Fn(&mut Self) -> Result<(), Problem>) -> Result<(), Problem> {
        self.open()?;
        let mut more = self.first(end)?;
        while more {
            each(self)?;
            more = self.next(end)?;
        }
        self.close();
        Ok(())
    }

    /// The next byte that is no white space, unread.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.rest();
        let white = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += white;
        rest.get(white).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn word(&mut self, word: &'static str) -> Result<(), Problem> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(Problem::NotJson { expected: "a value" });
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<usize, Problem> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err(Problem::NotJson { expected: "a digit" });
        }
        self.at += digits;
        Ok(digits)
    }

    fn skip_byte(&mut self, any_of: &[u8]) -> bool {
        let is_there = self.rest().first().is_some_and(|byte| any_of.contains(byte));
        self.at += usize::from(is_there);
        is_there
    }
}
