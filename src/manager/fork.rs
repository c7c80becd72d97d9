//! Forks: conversations that go another way from some message on, and share what stands in front of it.

use super::{ExplicitIds, ForkError, Ledger, MessagesManager};
use crate::message::{Contents, ForkedFrom, MessageId, MessageWrapper, Role, Text};

impl<W: MessageWrapper> MessagesManager<W> {
    /// A conversation that holds everything up to message `at`, and goes its own way behind it. `of` is the id of this
    /// one, which it leaves.
    ///
    /// Nothing is copied: both share the messages in front of `at`, as long as neither changes them, and neither ever
    /// sees what the other adds or changes. (So what this one says behind `at` stays in memory as long as the fork.) A
    /// summary is in the fork if it covers nothing behind `at`; what any other covered is in the fork's window again.
    /// A call whose result stands behind `at` is open there.
    ///
    /// In the fork, message `at` is marked with where it comes from ([`ForkedFrom`]): its records tell the
    /// [lineage](Self::lineage), and nothing is merged into what is this conversation's too. Where it was marked
    /// before, as the place where this one left another, the new mark takes the place of the old one.
    ///
    /// A fork is a call of its own in the log: all its records are new there, those that both share too. What was
    /// [pruned](Self::prune) from this one is not in the fork and not in its log, from which it can then be restored
    /// only together with the records that the source's log has in front: for a fork that is logged, restore the source
    /// whole and fork that.
    ///
    /// ```
    /// # use verbale::{MessagesManager, PlainMessage};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut call = MessagesManager::<PlainMessage>::new();
    /// let asked = call.add_user("Where is my parcel?")?.id();
    /// call.add_assistant("Which one?")?;
    /// let mut fork = call.fork(&asked, "CA1")?;
    /// fork.add_assistant("It comes today.")?;
    /// assert_eq!((call.message_count(), fork.message_count()), (2, 2));
    /// assert_eq!(fork.lineage()[0].after, Some(asked));
    /// # Ok(()) }
    /// ```
    ///
    /// O(1) in time and memory, amortised over what was added since the last fork, and the time to find `at` from the end.
    /// However many forks there are, and of whatever generation, each message and tool call is in memory once.
    ///
    /// Errors: `at` is not here; what the fork's window needs was pruned.
    pub fn fork(&mut self, at: &MessageId, of: impl Into<Text>) -> Result<Self, ForkError> {
        let index = self.find(at).ok_or(ForkError::Unknown { id: *at })?;
        self.fork_behind(index, of.into()).ok_or(ForkError::Pruned { id: *at })
    }

    /// A [fork](Self::fork) that goes its own way with message `id`: in its place stands a message of the same role
    /// with these contents, and nothing behind it. `of` is the id of this conversation.
    ///
    /// Where nothing stands in front, so that nothing is shared, the new message is marked.
    ///
    /// Errors: those of [`fork`](Self::fork); a summary, or a fake; those of [`add_message`](Self::add_message).
    pub fn edit(
        &mut self,
        id: &MessageId,
        contents: impl Into<Contents>,
        of: impl Into<Text>,
    ) -> Result<Self, ForkError> {
        let unknown = ForkError::Unknown { id: *id };
        let Some(index) = self.find(id) else { return Err(unknown) };
        let Some(message) = self.list.get(index).map(W::message) else { return Err(unknown) };
        let role = message.role();
        let what = if message.is_fake() { Some("a fake") } else { (role == Role::Summary).then_some("a summary") };
        if let Some(what) = what {
            return Err(ForkError::NotEditable { id: *id, what });
        }
        let Some(before) = index.checked_sub(1) else {
            let mut fork = Self::with_clock(self.clock.clone(), self.ids.clone());
            fork.add_message(role, contents)?;
            if let Some(first) = fork.list.get_mut(0) {
                first.message_mut().metadata_mut().set_forked_from(ForkedFrom::new(of, None));
            }
            return Ok(fork);
        };
        let mut fork = self.fork_behind(before, of.into()).ok_or(ForkError::Pruned { id: *id })?;
        fork.add_message(role, contents)?;
        Ok(fork)
    }

    /// Where this conversation left another, and that one, as a fork of its own, another: the nearest first. What was
    /// pruned is told as well.
    pub fn lineage(&self) -> Vec<&ForkedFrom> {
        let all = self.kept_of_pruned.iter().chain(self.list.iter());
        let mut lineage: Vec<_> = all.filter_map(|wrapper| wrapper.metadata().forked_from()).collect();
        lineage.reverse();
        lineage
    }

    /// A fork with everything up to the message at `index`. `None` where it would miss what was pruned.
    fn fork_behind(&mut self, index: usize, of: Text) -> Option<Self> {
        let at = self.list.get(index).map(W::message)?;
        let (id, seq) = (at.id(), at.position().seq());
        let kept = self.summaries.partition_point(|after| *after <= seq);
        let summaries = self.summaries.share(kept);
        let end = seq as usize + 1 + kept;
        let window_start = if kept == self.summaries.end() {
            self.window_start
        } else {
            let start = summaries.last().map_or(0, |after| *after as usize + 1 + kept);
            Some(start).filter(|start| start.saturating_sub(1) >= self.list.first())?
        };

        let mut list = self.list.share(index);
        // `at`, which is marked, and the summary behind it, if there is one.
        for wrapper in self.list.range(index..end) {
            list.push(wrapper.clone());
        }
        let ledger = Ledger::beginning_at(list.first());
        let mut fork = Self {
            list,
            summaries,
            window_start,
            window_is_open: false,
            calls: self.calls.share(seq),
            submitted: ledger.clone(),
            ledger,
            kept_of_pruned: self.kept_of_pruned.share(self.kept_of_pruned.end()),
            explicit_ids: ExplicitIds::default(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
        };
        fork.window_is_open = fork.has_open_window();
        fork.change(index, |message| message.metadata_mut().set_forked_from(ForkedFrom::new(of, Some(id))));
        Some(fork)
    }
}
