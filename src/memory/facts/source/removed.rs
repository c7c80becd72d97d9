//! [`Removed`]: how many sentences the check removed, by the kind of value.

/// The numbers of sentences that were removed, by the kind of the first value that the source lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    pub codes: usize,
    pub numbers: usize,
    pub amounts: usize,
    pub dates: usize,
    pub times: usize,
    pub names: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Number,
    Amount,
    Date,
    Time,
    Name,
}

impl Removed {
    /// Returns the number of all removed sentences.
    pub fn all(self) -> usize {
        self.codes + self.numbers + self.amounts + self.dates + self.times + self.names
    }

    /// Counts a sentence with a value of this kind.
    pub(super) fn count(&mut self, kind: Kind) {
        let count = match kind {
            Kind::Code => &mut self.codes,
            Kind::Number => &mut self.numbers,
            Kind::Amount => &mut self.amounts,
            Kind::Date => &mut self.dates,
            Kind::Time => &mut self.times,
            Kind::Name => &mut self.names,
        };
        *count += 1;
    }
}
