//! [`Caller`]: when the caller of a connection spoke.

/// The longest pause between two parts of the same words.
const MAX_PAUSE_MS: i64 = 3_000;

/// When the caller spoke, by the events of the speakers. The times are those of arrival, by the call's clock.
#[derive(Default)]
pub struct Caller {
    pub started_ms: Option<i64>,
    pub ended_ms: Option<i64>,
}

impl Caller {
    /// Notes that the caller speaks. After a longer pause, what came before was no words, because they would have come.
    pub fn start(&mut self, now_ms: i64) {
        let is_old = self.ended_ms.is_some_and(|ended_ms| now_ms.saturating_sub(ended_ms) > MAX_PAUSE_MS);
        let started_ms = self.started_ms.filter(|_| !is_old).unwrap_or(now_ms);
        *self = Self { started_ms: Some(started_ms), ended_ms: None };
    }

    pub fn is_speaking(&self) -> bool {
        self.started_ms.is_some() && self.ended_ms.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_with_their_first_part_unless_a_long_pause_follows() {
        let mut caller = Caller::default();
        caller.start(1_000);
        assert!(caller.is_speaking());
        caller.ended_ms = Some(2_000);
        caller.start(2_500);
        assert_eq!((caller.started_ms, caller.is_speaking()), (Some(1_000), true));
        caller.ended_ms = Some(3_000);
        caller.start(3_000 + MAX_PAUSE_MS + 1);
        assert_eq!(caller.started_ms, Some(6_001));
    }
}
