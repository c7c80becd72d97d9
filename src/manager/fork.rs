//! Forks: conversations that share the messages up to some point and differ after it.

use super::{ManagerError, MessagesManager, Rare, Refusal, Revisions};
use crate::message::{Contents, ForkedFrom, MessageId, MessageWrapper, Role, Text};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Creates a conversation that shares all messages up to and including message `at`. `of` is the id of this
    /// conversation, which the fork records as its source.
    ///
    /// The messages before `at` are not copied: both conversations share each of them until one conversation edits it.
    /// Neither sees later messages or edits of the other. Shared messages stay in memory as long as the fork does. A
    /// summary is part of the fork if all messages that it covers are; otherwise they are in the fork's window again. A
    /// tool call whose result comes after `at` is open in the fork.
    ///
    /// In the fork, message `at` is marked with the source ([`ForkedFrom`]). So the fork's records contain its
    /// [lineage](Self::lineage), and no new message is merged into a shared one. The mark replaces an older one on the
    /// same message.
    ///
    /// A fork is a call of its own in the log: all of its records are new, including the shared ones. Messages that were
    /// [pruned](Self::prune) from the source are missing from the fork and from its log. To log a fork of a pruned
    /// conversation, restore the whole source and fork that.
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
    /// Takes the time to find `at` from the end, plus amortized O(1) over the messages added since the last fork. Each
    /// message and tool call is in memory once, however many forks share it.
    ///
    /// Returns an error if `at` is not in memory, or if the fork's window needs messages that were pruned
    /// ([`is_not_in_memory`](ManagerError::is_not_in_memory)).
    pub fn fork(&mut self, at: &MessageId, of: impl Into<Text>) -> Result<Self, ManagerError> {
        let index = self.find(at).ok_or(Refusal::NotInMemory { id: *at })?;
        self.fork_after(index, of.into()).ok_or_else(|| Refusal::Pruned { id: *at }.into())
    }

    /// Creates a [fork](Self::fork) that shares the messages before message `id` and ends with a new message in its
    /// place.
    ///
    /// The new message has the same role and these contents. `of` is the id of this conversation. If message `id` is
    /// the first one, nothing is shared, and the new message itself is marked with the source.
    ///
    /// Returns the errors of [`fork`](Self::fork), an error for a summary or a fake, and the errors of
    /// [`add`](Self::add).
    pub fn edit(
        &mut self,
        id: &MessageId,
        contents: impl Into<Contents>,
        of: impl Into<Text>,
    ) -> Result<Self, ManagerError> {
        let unknown = Refusal::NotInMemory { id: *id };
        let Some(index) = self.find(id) else { return Err(unknown.into()) };
        let Some(message) = self.list.get(index).map(W::message) else { return Err(unknown.into()) };
        let role = message.role();
        let what = if message.is_fake() { Some("a fake") } else { (role == Role::Summary).then_some("a summary") };
        if let Some(what) = what {
            return Err(Refusal::NotEditable { id: *id, what }.into());
        }
        let Some(before) = index.checked_sub(1) else {
            let mut fork = Self::new().with_sources(self.sources.clone());
            fork.add_message(role, contents)?;
            if let Some(first) = fork.list.get_mut(0) {
                first.metadata_mut().set_forked_from(ForkedFrom { conversation: of.into(), after: None });
            }
            return Ok(fork);
        };
        let mut fork = self.fork_after(before, of.into()).ok_or(Refusal::Pruned { id: *id })?;
        fork.add_message(role, contents)?;
        Ok(fork)
    }

    /// Returns the conversations that this one was forked from, the direct source first. Includes pruned messages.
    pub fn lineage(&self) -> Vec<&ForkedFrom> {
        let all = self.kept_of_pruned().iter().chain(self.list.iter());
        let mut lineage: Vec<_> = all.filter_map(|wrapper| wrapper.metadata().forked_from()).collect();
        lineage.reverse();
        lineage
    }

    /// Forks after the message at `index`. Returns `None` if the fork needs pruned messages.
    fn fork_after(&mut self, index: usize, of: Text) -> Option<Self> {
        let at = self.list.get(index).map(W::message)?;
        let (id, seq) = (at.id(), at.position().seq());
        let end = self.index_of(seq + 1);
        let summaries = (end + self.holes().before(seq + 1)) as u32 - (seq + 1);
        let window_start = if summaries == self.summaries {
            self.window_start()
        } else {
            let is_summary = |wrapper: &W| wrapper.role() == Role::Summary;
            let last = self.list.indexed(self.list.first()..end).rfind(|(_, wrapper)| is_summary(wrapper));
            let start = last.map_or(0, |(index, _)| index + 1);
            Some(start).filter(|_| last.is_some() || summaries == 0 && self.list.first() == 0)?
        };

        let mut list = self.list.share(index);
        // Copy `at`, which is marked, and a summary that follows it.
        for wrapper in self.list.range(index..end) {
            list.push(wrapper.clone());
        }
        let logged = Revisions::starting_at(list.first());
        let mut fork = Self {
            list,
            rare: Rare { holes: self.holes().up_to(seq), ..Rare::default() }.into(),
            summaries,
            window_start: window_start as u32,
            calls: self.calls.share(seq),
            submitted: logged.clone(),
            logged,
            kept_of_pruned: self.kept_of_pruned.clone(),
            asked_ms: self.asked_ms,
            sources: self.sources.clone(),
        };
        fork.change(index, |message| {
            message.metadata_mut().set_forked_from(ForkedFrom { conversation: of, after: Some(id) })
        });
        Some(fork)
    }
}
