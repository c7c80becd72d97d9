//! [`Reader`]: JSON text, read from front to back, within a budget.
//!
//! Not serde: a deserialiser keeps a buffer of its own that nobody counts, rounds numbers of more than 17 digits without
//! a word, and cannot say by which path it came to a value. This one takes tokens from `jiter`, and copies nothing but what
//! is kept.

mod again;

use std::borrow::Cow;

use super::budget::{self, Budget};
use super::error::{ExchangeError, Problem};
use super::lexer::{Kind, Lexer};
use super::path::{Path, Step};
use super::quoted::Quoted;
use crate::message::{Number, Text};

/// What becomes of keys that are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Their values are skipped.
    Ignore,
    /// They are errors, unless their values say nothing: `null` or an empty list.
    Refuse,
}

/// JSON text, read from front to back. It knows where it is: by path, line and column.
pub(super) struct Reader<'a> {
    lexer: Lexer<'a>,
    budget: &'a Budget,
    path: Path,
    /// The number of the text's first line.
    first_line: usize,
    /// Where all of the text stands, if it is a string in another one, and that one's first line.
    within: Option<(Lexer<'a>, usize)>,
}

impl<'a> Reader<'a> {
    /// Reads `text`, whose first line has this number.
    pub fn new(text: &'a str, first_line: usize, budget: &'a Budget) -> Self {
        Self { lexer: Lexer::new(text), budget, path: Path::default(), first_line, within: None }
    }

    /// Reads JSON that stands in a string which this reader has just read.
    pub fn inside<'b>(&self, text: &'b str) -> Reader<'b>
    where
        'a: 'b,
    {
        let within = self.within.clone().unwrap_or_else(|| (self.lexer.clone(), self.first_line));
        Reader { within: Some(within), path: self.path.clone(), ..Reader::new(text, 1, self.budget) }
    }

    pub fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// The bytes of the whole text.
    pub fn len(&self) -> usize {
        self.lexer.text().len()
    }

    /// Calls `each` for each known key of the object here, to read its value. A key comes once.
    pub fn object(
        &mut self,
        known: &'static [&'static str],
        others: Others,
        mut each: impl FnMut(&mut Self, &'static str) -> Result<(), ExchangeError>,
    ) -> Result<(), ExchangeError> {
        self.expect(Kind::Object)?;
        let mut seen = 0_u64;
        self.entries(|reader, key| {
            let Some((at, name)) = known.iter().enumerate().find(|(_, name)| key.is(name)) else {
                return match others {
                    Others::Ignore => reader.skip(),
                    Others::Refuse => reader.skip_nothing(known),
                };
            };
            if seen & 1 << at != 0 {
                return Err(reader.error(Problem::RepeatedKey));
            }
            seen |= 1 << at;
            reader.path.enter(Step::Key(name));
            each(reader, name)?;
            reader.path.leave();
            Ok(())
        })
    }

    /// Calls `each` for each entry of the object here, to read its value, with its key.
    pub fn entries(
        &mut self,
        mut each: impl FnMut(&mut Self, Quoted<'a>) -> Result<(), ExchangeError>,
    ) -> Result<(), ExchangeError> {
        self.expect(Kind::Object)?;
        self.open()?;
        let mut more = self.lex(|lexer| lexer.first(b'}'))?;
        while more {
            let key = self.lex(Lexer::key)?;
            each(self, key)?;
            more = self.lex(|lexer| lexer.next(b'}'))?;
        }
        self.lexer.close();
        Ok(())
    }

    /// Calls `each` for each item of the list here, to read it.
    pub fn list(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), ExchangeError>) -> Result<(), ExchangeError> {
        self.expect(Kind::List)?;
        self.open()?;
        let mut more = self.lex(|lexer| lexer.first(b']'))?;
        let mut index = 0;
        while more {
            self.path.enter(Step::Index(index));
            each(self)?;
            self.path.leave();
            index += 1;
            more = self.lex(|lexer| lexer.next(b']'))?;
        }
        self.lexer.close();
        Ok(())
    }

    /// The string here; one with escapes is copied, at the cost of the budget.
    pub fn string(&mut self) -> Result<Cow<'a, str>, ExchangeError> {
        let quoted = self.quoted()?;
        self.unquote(quoted)
    }

    /// The string here, to be kept.
    pub fn text(&mut self) -> Result<Text, ExchangeError> {
        let string = self.string()?;
        self.take(budget::text_bytes(string.len()))?;
        let text = Text::from(&*string);
        self.drop_copy(string);
        Ok(text)
    }

    /// Takes note that a string that was read is needed no longer.
    pub fn drop_copy(&self, string: Cow<'_, str>) {
        if let Cow::Owned(copy) = string {
            self.budget.give_back(copy.capacity());
        }
    }

    /// The string here, as it stands in the text.
    pub fn quoted(&mut self) -> Result<Quoted<'a>, ExchangeError> {
        self.expect(Kind::String)?;
        self.lex(Lexer::string)
    }

    /// What a string says.
    pub fn unquote(&self, quoted: Quoted<'a>) -> Result<Cow<'a, str>, ExchangeError> {
        if quoted.is_escaped() {
            self.take(quoted.len())?;
        }
        Ok(quoted.unescaped())
    }

    pub fn bool(&mut self) -> Result<bool, ExchangeError> {
        self.expect(Kind::Bool)?;
        self.lex(Lexer::bool)
    }

    /// The number here, exactly.
    pub fn number(&mut self) -> Result<Number, ExchangeError> {
        self.expect(Kind::Number)?;
        let written = self.lex(Lexer::number)?;
        // What is no `i64` is kept as a text; it is copied to be looked at.
        const LONGEST_INT: usize = 18;
        if written.len() > LONGEST_INT || !written.bytes().all(|byte| byte.is_ascii_digit()) {
            const LONGEST_KEPT: usize = 64;
            self.take(written.len() + LONGEST_KEPT)?;
        }
        written.parse().map_err(|error| self.error(Problem::Content(error)))
    }

    /// Whether `null` is here; then it is read.
    pub fn null(&mut self) -> Result<bool, ExchangeError> {
        if self.kind()? != Kind::Null {
            return Ok(false);
        }
        self.lex(Lexer::null)?;
        Ok(true)
    }

    /// What kind of value is here.
    pub fn kind(&mut self) -> Result<Kind, ExchangeError> {
        self.lex(Lexer::kind)
    }

    /// Reads over the value here.
    pub fn skip(&mut self) -> Result<(), ExchangeError> {
        self.lex(Lexer::skip)
    }

    /// Looks at what comes, and stays where it is.
    pub fn ahead<T>(&mut self, look: impl FnOnce(&mut Self) -> Result<T, ExchangeError>) -> Result<T, ExchangeError> {
        let here = self.lexer.clone();
        let seen = look(self)?;
        self.lexer = here;
        Ok(seen)
    }

    /// How many items the list or object here has; stays where it is.
    pub fn count(&mut self) -> Result<usize, ExchangeError> {
        self.ahead(|reader| {
            let mut count = 0;
            let mut note = |reader: &mut Self| {
                count += 1;
                reader.skip()
            };
            match reader.kind()? {
                Kind::Object => reader.entries(|reader, _| note(reader))?,
                _ => reader.list(note)?,
            }
            Ok(count)
        })
    }

    /// Nothing but white space is left.
    pub fn end(&mut self) -> Result<(), ExchangeError> {
        self.lex(Lexer::end)
    }

    /// Takes note of memory that is about to be taken.
    pub fn take(&self, bytes: usize) -> Result<(), ExchangeError> {
        self.budget.take(bytes).map_err(|problem| self.error(problem))
    }

    /// Takes note that what was taken is free again.
    pub fn give_back(&self, bytes: usize) {
        self.budget.give_back(bytes);
    }

    /// That something is wrong here.
    pub fn error(&self, problem: impl Into<Problem>) -> ExchangeError {
        ExchangeError::new(self.path.at(self.position()), problem.into())
    }

    /// That a key of the object that was just read is missing.
    pub fn missing(&self, key: &'static str) -> ExchangeError {
        self.error(Problem::MissingKey { key })
    }

    /// That another kind of value belongs here.
    pub fn wrong_kind(&mut self, expected: &'static str) -> ExchangeError {
        match self.kind() {
            Ok(kind) => self.error(Problem::WrongKind { expected, found: kind.name() }),
            Err(error) => error,
        }
    }

    fn expect(&mut self, kind: Kind) -> Result<(), ExchangeError> {
        if self.kind()? == kind { Ok(()) } else { Err(self.wrong_kind(kind.name())) }
    }

    fn open(&mut self) -> Result<(), ExchangeError> {
        self.lex(Lexer::open)
    }

    /// Reads over a value that says nothing.
    fn skip_nothing(&mut self, known: &'static [&'static str]) -> Result<(), ExchangeError> {
        let says_nothing = match self.kind()? {
            Kind::Null => true,
            Kind::List => self.count()? == 0,
            _ => false,
        };
        if says_nothing { self.skip() } else { Err(self.error(Problem::UnknownKey { known })) }
    }

    fn lex<T>(&mut self, read: impl FnOnce(&mut Lexer<'a>) -> Result<T, Problem>) -> Result<T, ExchangeError> {
        read(&mut self.lexer).map_err(|problem| self.error(problem))
    }

    // Counted when something is wrong, and not all the time.
    fn position(&self) -> (usize, usize) {
        let (lexer, first_line) =
            self.within.as_ref().map_or((&self.lexer, self.first_line), |(lexer, line)| (lexer, *line));
        let (line, column) = lexer.position();
        (first_line + line, column + 1)
    }
}

#[cfg(test)]
mod tests;
