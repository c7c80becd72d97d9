//! [`Place`]: where in a text something is.

use std::fmt;

/// Where in a text something is: its path, such as `$.messages[3].content`, its line and its column.
///
/// Keys that the format does not know are not in the path, for they may be what somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// From the whole text, `$`, inwards; in JSON Lines from the whole line.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.path, self.line, self.column)
    }
}

/// A step inwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Key(&'static str),
    Index(usize),
}

/// The steps to where a reader is.
#[derive(Debug, Clone, Default)]
pub(super) struct Path(Vec<Step>);

impl Path {
    pub fn enter(&mut self, step: Step) {
        self.0.push(step);
    }

    pub fn leave(&mut self) {
        self.0.pop();
    }

    pub fn at(&self, (line, column): (usize, usize)) -> Place {
        Place { path: self.to_string(), line, column }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        })
    }
}
