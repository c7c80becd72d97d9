//! [`play`]: plays one call, from its script to the manager restored from its log.

use std::num::NonZeroUsize;

use verbale::bedrock::BedrockMessage;
use verbale::dynamodb::Item;
use verbale::{LastMessage, MessagesManager};

use crate::demo::error::PlayError;
use crate::demo::happening::{Happening, Observer};
use crate::demo::log::{CallLog, Costs};
use crate::demo::player::Player;
use crate::demo::script::Script;
use crate::demo::summaries::{Summaries, Summary};
use crate::demo::windows::Windows;

/// Options for playing a call.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// A summary starts when the window holds more messages.
    pub summarize_above: NonZeroUsize,
    /// Number of last turns that stay out of a summary.
    pub keep_turns: usize,
    /// Whether to read the stored items at the end.
    pub with_items: bool,
}

/// A call that has been played to its end.
pub struct Ended {
    /// The live manager.
    pub manager: MessagesManager<BedrockMessage>,
    /// Whether the manager restored from the log equals the live one.
    pub restored_equal: bool,
    /// Number of added messages, including merged ones.
    pub turns: usize,
    /// Number of windows validated against Bedrock's rules.
    pub windows: usize,
    /// The cost of the log.
    pub costs: Costs,
    /// The command that shows the call again, if its log is kept.
    pub show_again: Option<String>,
    /// The stored items in DynamoDB's order, if they were requested.
    pub items: Vec<Item>,
}

/// Plays a call: adds its messages, summarizes in the background, and logs each message once its turn is over.
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
        // The summary that started before this message is ready now.
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
    log.close(&manager, script.end_ms()).await?;
    let ended = Ended {
        restored_equal: are_equal(&manager, &restored),
        manager,
        turns: script.events.len(),
        windows: windows.checked(),
        costs: log.costs(),
        show_again: log.show_again(),
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

    async fn write(&mut self, last: LastMessage) -> Result<(), PlayError> {
        let records = self.log.write(self.player.manager_mut(), last).await?;
        if !records.is_empty() {
            self.observer.observe(Happening::Logged(&records))?;
        }
        Ok(())
    }
}

/// Compares all views of two managers.
fn are_equal(live: &MessagesManager<BedrockMessage>, restored: &MessagesManager<BedrockMessage>) -> bool {
    live == restored
        && live.records() == restored.records()
        && live.messages().eq(restored.messages())
        && live.last_summary() == restored.last_summary()
        && live.open_tool_calls() == restored.open_tool_calls()
}
