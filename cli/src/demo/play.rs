//! [`play`]: one call, from its script to the manager that is restored from its log.

use std::num::NonZeroUsize;

use verbale::bedrock::BedrockMessage;
use verbale::dynamodb::{Cost, Item};
use verbale::{LastMessage, MessagesManager};

use crate::demo::error::PlayError;
use crate::demo::happening::{Happening, Observer};
use crate::demo::log::CallLog;
use crate::demo::player::Player;
use crate::demo::script::Script;
use crate::demo::summaries::{Summaries, Summary};
use crate::demo::windows::Windows;

/// How a call is played.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Summarise when more messages than these are in the window.
    pub summarize_above: NonZeroUsize,
    /// How many of the last turns stay out of a summary.
    pub keep_turns: usize,
    /// Whether the items are wanted, as DynamoDB has them.
    pub with_items: bool,
}

/// A call that was played to its end.
pub struct Ended {
    /// The live manager.
    pub manager: MessagesManager<BedrockMessage>,
    /// Whether the one that was restored from the log equals it.
    pub restored_equal: bool,
    /// How many messages were added; those that merged count.
    pub turns: usize,
    /// How many windows Bedrock would have taken.
    pub windows: usize,
    pub written: Cost,
    pub read: Cost,
    /// As DynamoDB has them, in its order, where they were wanted.
    pub items: Vec<Item>,
}

/// Plays a call: adds its messages, summarises on the way, logs what is settled, and at the end all of it.
pub async fn play(
    script: &Script,
    options: Options,
    log: &mut CallLog,
    observer: &mut dyn Observer,
) -> Result<Ended, PlayError> {
    observer.observe(Happening::Begun { script, log: &log.to_string() })?;
    let mut call = Call {
        player: Player::new(),
        windows: Windows::of(script)?,
        summaries: Summaries::new(options.summarize_above, options.keep_turns),
        log,
        observer,
    };
    for event in &script.events {
        call.end_playback()?;
        call.player.add(event)?;
        let window = call.windows.now(call.player.manager())?;
        call.observer.observe(Happening::Added { event, window: &window })?;
        // What was begun before this message was added is ready now.
        call.finish_summary().await?;
        call.begin_summary()?;
        call.write(LastMessage::Exclude).await?;
    }
    call.end_playback()?;
    call.finish_summary().await?;
    call.write(LastMessage::Include).await?;

    let Call { player, windows, log, observer, .. } = call;
    let manager = player.into_manager();
    let restored = log.restore().await?;
    let items = if options.with_items { log.items().await? } else { Vec::new() };
    let (written, read) = log.costs();
    let ended = Ended {
        restored_equal: are_equal(&manager, &restored),
        manager,
        turns: script.events.len(),
        windows: windows.checked(),
        written,
        read,
        items,
    };
    observer.observe(Happening::Ended(&ended))?;
    Ok(ended)
}

struct Call<'a> {
    player: Player,
    windows: Windows,
    summaries: Summaries,
    log: &'a mut CallLog,
    observer: &'a mut dyn Observer,
}

impl Call<'_> {
    fn end_playback(&mut self) -> Result<(), PlayError> {
        if let Some(barge_in) = self.player.end_playback()? {
            self.observer.observe(Happening::BrokenIn(&barge_in))?;
        }
        Ok(())
    }

    fn begin_summary(&mut self) -> Result<(), PlayError> {
        if let Some(messages) = self.summaries.begin_if_due(self.player.manager()) {
            self.observer.observe(Happening::SummaryBegun { messages })?;
        }
        Ok(())
    }

    async fn finish_summary(&mut self) -> Result<(), PlayError> {
        match self.summaries.finish(self.player.manager_mut()).await? {
            None => {}
            Some(Summary::Added(summary)) => {
                let window = self.windows.now(self.player.manager())?.len();
                let summary_ids = self.player.manager().summary_ids(&summary.id());
                self.observer.observe(Happening::Summarized {
                    summary: &summary,
                    summary_ids: &summary_ids,
                    window,
                })?;
            }
            Some(Summary::Failed(why)) => self.observer.observe(Happening::NotSummarized { why: &why })?,
            Some(Summary::Stale(why)) => self.observer.observe(Happening::NotSummarized { why: &why })?,
        }
        Ok(())
    }

    async fn write(&mut self, tail: LastMessage) -> Result<(), PlayError> {
        let records = self.log.write(self.player.manager_mut(), tail).await?;
        if !records.is_empty() {
            self.observer.observe(Happening::Logged(&records))?;
        }
        Ok(())
    }
}

/// In every view of them.
fn are_equal(live: &MessagesManager<BedrockMessage>, restored: &MessagesManager<BedrockMessage>) -> bool {
    live == restored
        && live.records() == restored.records()
        && live.messages().eq(restored.messages())
        && live.last_summary() == restored.last_summary()
        && live.open_tool_calls() == restored.open_tool_calls()
}
