//! [`Lexer`]: the tokens of JSON text, as [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259) has them.
//!
//! `jiter` reads them. Owned here: that no string is copied, that nothing nests too deep, and that an error never quotes
//! the text.

use jiter::{Jiter, JiterError, JiterErrorType, JiterResult, JsonErrorType, Peek};

use super::error::Problem;
use super::quoted::Quoted;
use crate::message::MessageError;

/// How deep lists and objects nest, at most: what reads them calls itself as deep.
///
/// What is skipped may go beyond that, up to the limit of `jiter`, which does not call itself.
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
    /// Of the text from here on.
    jiter: Jiter<'a>,
    start: usize,
    depth: usize,
    /// The key that was read along with what stands before it.
    key: Option<Quoted<'a>>,
    wrong_at: Option<usize>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, jiter: Jiter::new(text.as_bytes()), start: 0, depth: 0, key: None, wrong_at: None }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// How far it has read, in bytes.
    pub fn offset(&self) -> usize {
        self.start + self.jiter.current_index()
    }

    /// Goes to where it was before, in front of a value.
    pub fn go_to(&mut self, offset: usize) {
        self.start = offset;
        self.jiter = Jiter::new(self.text.as_bytes().get(offset..).unwrap_or_default());
    }

    /// The line and the character of it, from 0.
    pub fn position(&self) -> (usize, usize) {
        let at = self.wrong_at.unwrap_or_else(|| self.offset());
        let before = self.text.get(..self.text.floor_char_boundary(at)).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        (line, before.rsplit('\n').next().unwrap_or_default().chars().count())
    }

    pub fn kind(&mut self) -> Result<Kind, Problem> {
        match self.read(Jiter::peek)? {
            Peek::Null => Ok(Kind::Null),
            Peek::True | Peek::False => Ok(Kind::Bool),
            Peek::String => Ok(Kind::String),
            Peek::Array => Ok(Kind::List),
            Peek::Object => Ok(Kind::Object),
            // Not `is_num`, which has `NaN` and `Infinity` too.
            peek if peek == Peek::Minus || peek.into_inner().is_ascii_digit() => Ok(Kind::Number),
            _ => Err(Problem::NotJson { expected: "a value" }),
        }
    }

    /// Enters the list or object here.
    pub fn open(&mut self) -> Result<(), Problem> {
        if self.depth == MAX_NESTING {
            return Err(Problem::TooDeep { max: MAX_NESTING });
        }
        self.depth += 1;
        Ok(())
    }

    /// Leaves a list or object, whose end was read.
    pub fn close(&mut self) {
        self.depth -= 1;
    }

    /// Whether something comes before `end`, behind the opening of a list or object.
    pub fn first(&mut self, end: u8) -> Result<bool, Problem> {
        match end {
            b'}' => self.read_key(Jiter::next_object_bytes),
            _ => Ok(self.read(Jiter::next_array)?.is_some()),
        }
    }

    /// Whether something comes before `end`, behind an item.
    pub fn next(&mut self, end: u8) -> Result<bool, Problem> {
        match end {
            b'}' => self.read_key(Jiter::next_key_bytes),
            _ => Ok(self.read(Jiter::array_step)?.is_some()),
        }
    }

    /// A key, and the colon behind it.
    pub fn key(&mut self) -> Result<Quoted<'a>, Problem> {
        self.key.take().ok_or(Problem::NotJson { expected: "a key" })
    }

    pub fn string(&mut self) -> Result<Quoted<'a>, Problem> {
        let length = self.read(|jiter| jiter.next_bytes().map(<[u8]>::len))?;
        Ok(Quoted::new(last(self.done(), length + 2)))
    }

    /// A number as it is written.
    pub fn number(&mut self) -> Result<&'a str, Problem> {
        let length = self.read(|jiter| jiter.next_number_bytes().map(<[u8]>::len))?;
        Ok(last(self.done(), length))
    }

    pub fn bool(&mut self) -> Result<bool, Problem> {
        self.read(Jiter::next_bool)
    }

    pub fn null(&mut self) -> Result<(), Problem> {
        self.read(Jiter::next_null)
    }

    /// Reads over a value.
    pub fn skip(&mut self) -> Result<(), Problem> {
        self.read(Jiter::next_skip)
    }

    /// Nothing but white space is left.
    pub fn end(&mut self) -> Result<(), Problem> {
        self.read(Jiter::finish)
    }

    /// Whether a key is next; it and the colon behind it are read.
    fn read_key(
        &mut self,
        read: impl for<'b> FnOnce(&'b mut Jiter<'a>) -> JiterResult<Option<&'b [u8]>>,
    ) -> Result<bool, Problem> {
        let length = self.read(|jiter| Ok(read(jiter)?.map(<[u8]>::len)))?;
        self.key = length.map(|length| {
            let before_colon = self.done().trim_end_matches(':').trim_ascii_end();
            Quoted::new(last(before_colon, length + 2))
        });
        Ok(self.key.is_some())
    }

    fn read<T>(&mut self, read: impl FnOnce(&mut Jiter<'a>) -> JiterResult<T>) -> Result<T, Problem> {
        read(&mut self.jiter).map_err(|error| {
            let at = self.start + error.index;
            self.wrong_at = Some(at);
            problem(&error, self.text.as_bytes().get(at).copied())
        })
    }

    /// The text up to here.
    fn done(&self) -> &'a str {
        self.text.get(..self.offset()).unwrap_or_default()
    }
}

/// The last `length` bytes of `text`.
fn last(text: &str, length: usize) -> &str {
    text.len().checked_sub(length).and_then(|start| text.get(start..)).unwrap_or_default()
}

/// What is wrong where `byte` stands.
fn problem(error: &JiterError, byte: Option<u8>) -> Problem {
    use JsonErrorType as E;
    let JiterErrorType::JsonError(error) = &error.error_type else {
        return Problem::NotJson { expected: "another value" };
    };
    let expected = match error {
        E::RecursionLimitExceeded => return Problem::TooDeep { max: MAX_NESTING },
        E::NumberOutOfRange => return MessageError::NumberOutOfRange.into(),
        E::EofWhileParsingList | E::EofWhileParsingObject => "the rest of a list or object",
        E::ExpectedListCommaOrEnd | E::ExpectedObjectCommaOrEnd => "a comma, or the end of a list or object",
        E::KeyMustBeAString => "a key",
        E::TrailingComma if byte == Some(b'}') => "a key",
        E::ExpectedColon => "a colon",
        E::ExpectedSomeIdent => "the rest of true, false or null",
        E::EofWhileParsingString => "the end of a string",
        E::ControlCharacterWhileParsingString => "an escape in place of a control character",
        E::InvalidEscape | E::LoneLeadingSurrogateInHexEscape | E::UnexpectedEndOfHexEscape => "another escape",
        E::InvalidNumber if byte.is_some_and(|byte| byte.is_ascii_digit()) => "a number without a 0 in front",
        E::InvalidNumber => "a digit",
        E::TrailingCharacters => "the end of the text",
        _ => "a value",
    };
    Problem::NotJson { expected }
}

#[cfg(test)]
mod tests;
