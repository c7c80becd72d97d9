//! The invariants of `ARCHITECTURE.md`, checked over random histories.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod history;
mod holes;
mod restoring;

use std::collections::HashSet;

use history::{Done, Manager, Op, World, history, said};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use verbale::bedrock::{converse_input, validate};
use verbale::message::is_blank;
use verbale::model::ModelRequest;
use verbale::{Attribute, Content, LastMessage, Message, MessageId, MessageWrapper, Record, Role};

/// The minimum number of cases; `PROPTEST_CASES` can raise it.
const CASES: u32 = 1_024;

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(CASES), failure_persistence: None, ..config }
}

/// Plays a history and checks each operation, given the world before it.
fn each_step(ops: &[Op], mut check: impl FnMut(&World, &World, &Done) -> TestCaseResult) -> TestCaseResult {
    let mut world = World::new();
    for op in ops {
        let before = world.clone();
        let done = world.apply(op);
        check(&before, &world, &done)?;
    }
    Ok(())
}

fn window(manager: &Manager) -> Vec<Message> {
    manager.messages().map(|message| message.message().clone()).collect()
}

fn calls(message: &Message) -> Vec<String> {
    message.contents().iter().filter_map(Content::as_tool_call).map(|call| call.id().to_string()).collect()
}

fn results(message: &Message) -> Vec<String> {
    let results = message.contents().iter().filter_map(Content::as_result);
    results.map(|result| result.tool_call_id().to_string()).collect()
}

/// Checks the rules of a provider.
fn assert_valid(window: &[Message]) -> TestCaseResult {
    let mut asked: HashSet<String> = HashSet::new();
    for (index, message) in window.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        prop_assert_eq!(message.role(), expected, "message {} of {:?}", index, window);
        prop_assert!(!message.contents().is_empty());
        prop_assert!(!message.contents().iter().filter_map(Content::as_text).any(|text| is_blank(text)));
        let answered = results(message);
        prop_assert_eq!(answered.len(), asked.len(), "{:?} answers {:?}", message, asked);
        prop_assert_eq!(answered.into_iter().collect::<HashSet<_>>(), asked);
        let is_result: Vec<bool> = message.contents().iter().map(|content| content.as_result().is_some()).collect();
        prop_assert!(is_result.is_sorted_by(|earlier, later| earlier >= later), "results come first");
        let is_call = |content: &Content| content.as_tool_call().is_some();
        prop_assert!(message.contents().iter().is_sorted_by_key(is_call), "nothing follows tool calls: {message:?}");
        asked = calls(message).into_iter().collect();
        prop_assert_eq!(asked.len(), calls(message).len());
    }
    prop_assert!(asked.is_empty(), "the last message asks {:?}", asked);
    Ok(())
}

/// Returns the messages before the last summary.
fn covered(world: &World) -> HashSet<MessageId> {
    let Some(last) = world.manager.last_summary().map(|summary| summary.id()) else { return HashSet::new() };
    world.messages().take_while(|message| message.id() != last).map(Message::id).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn invariant_1_window_is_valid_for_the_model(ops in history()) {
        each_step(&ops, |_, after, _| assert_valid(&window(&after.manager)))?;
    }

    #[test]
    fn invariant_1_window_passes_the_provider_rules(ops in history()) {
        let mut world = World::new();
        for op in &ops {
            world.apply(op);
        }
        let window: Vec<_> = world.manager.messages().map(|message| message.message().clone()).collect();
        if !window.is_empty() {
            let input = converse_input("anthropic.claude-sonnet-5", &ModelRequest::new(window)).unwrap();
            let mut violations = validate(&input);
            // No model is asked after an assistant message.
            violations.retain(|violation| !matches!(violation.rule(), "ends-with-user" | "text-trailing-space"));
            prop_assert_eq!(violations, []);
            prop_assert_eq!(input.messages().len(), world.manager.messages().count());
        }
    }

    #[test]
    fn invariant_2_nothing_said_is_lost(ops in history()) {
        each_step(&ops, |_, after, _| {
            let said: Vec<_> = after.messages().flat_map(said).cloned().collect();
            prop_assert_eq!(&said, &after.said[after.pruned..]);
            // The window leaves out only messages that are unheard, open or covered.
            let covered = covered(after);
            let shown: Vec<_> = window(&after.manager).iter().flat_map(|m| m.contents().iter().cloned().collect::<Vec<_>>()).collect();
            for message in after.messages().filter(|message| !covered.contains(&message.id())) {
                let whole = message.role().is_spoken() && message.heard().is_none() && !message.is_fake();
                let mut texts = message.contents().iter().filter(|content| content.as_text().is_some());
                prop_assert!(!whole || texts.all(|text| shown.contains(text)), "{:?} is not shown", message);
            }
            Ok(())
        })?;
    }

    #[test]
    fn invariant_3_summary_covers_only_messages_it_has_read(ops in history()) {
        each_step(&ops, |before, after, done| {
            let hidden_before = covered(before);
            let hidden = covered(after);
            let Done::Summarized { taken } = done else {
                match done {
                    // Pruned messages are no longer hidden, and a fork may lack some summaries.
                    Done::Pruned(_) | Done::Forked => prop_assert!(hidden.is_subset(&hidden_before)),
                    Done::Restored => prop_assert!(hidden.is_superset(&hidden_before)),
                    _ => prop_assert_eq!(hidden, hidden_before),
                }
                return Ok(());
            };
            let read = &before.taken[*taken].read;
            let new: Vec<&Message> = after.messages().filter(|m| hidden.contains(&m.id()) && !hidden_before.contains(&m.id())).collect();
            let new: Vec<&Message> = new.into_iter().filter(|message| message.role() != Role::Summary).collect();
            for message in &new {
                let as_read = read.get(&message.id());
                prop_assert_eq!(as_read, Some(&(message.contents().clone(), message.heard())));
            }
            // `summary_ids` returns the previous summary and the covered messages, in order, without fakes.
            let spoken = new.iter().filter(|message| message.role().is_spoken() && !message.is_fake());
            let ids: Vec<MessageId> =
                before.manager.last_summary().map(|s| s.id()).into_iter().chain(spoken.map(|m| m.id())).collect();
            let summary = after.manager.last_summary().unwrap().id();
            prop_assert_eq!(after.manager.summary_ids(&summary), ids);
            prop_assert!(new.len() > 1 || !new[0].is_fake(), "a summary covers a message");
            // A second summary of the same range is stale.
            let mut again = after.clone();
            prop_assert!(again.manager.add_summary("again", &before.taken[*taken].summarizing).is_err());
            Ok(())
        })?;
    }

    #[test]
    fn invariant_4_unanswered_messages_are_never_summarized(ops in history()) {
        each_step(&ops, |_, after, done| {
            let offered: HashSet<MessageId> = match after.manager.summarizing() {
                Some(summarizing) => summarizing.messages().map(Message::id).collect(),
                None => HashSet::new(),
            };
            // Check the offered messages, and those covered when the summary is added.
            let mut hidden = covered(after);
            hidden.extend(&offered);
            let last = after.messages().rfind(|message| message.role().is_spoken());
            if let Some(last) = last.filter(|last| last.role() == Role::User) {
                prop_assert!(!hidden.contains(&last.id()), "the last message of the caller is offered");
            }
            let answered: HashSet<String> = after.messages().flat_map(results).collect();
            for message in after.messages().filter(|message| hidden.contains(&message.id())) {
                for call in calls(message) {
                    prop_assert!(answered.contains(&call), "an open call is offered");
                    let with_result = after.messages().find(|message| results(message).contains(&call)).unwrap();
                    prop_assert!(hidden.contains(&with_result.id()), "a call is separated from its result");
                }
            }
            // A user message follows the cut.
            let mut later = after.messages().filter(|m| m.role().is_spoken() && !m.is_fake() && !hidden.contains(&m.id()));
            let cut = !offered.is_empty() || matches!(done, Done::Summarized { .. });
            if let Some(first) = later.next().filter(|_| cut) {
                prop_assert_eq!(first.role(), Role::User);
            }
            Ok(())
        })?;
    }

    #[test]
    fn invariant_5_same_role_merges_once_and_never_into_covered_messages(ops in history()) {
        each_step(&ops, |before, after, _| {
            for message in after.messages() {
                let merged = message.metadata().attributes().filter(|attribute| *attribute == Attribute::Merged).count();
                prop_assert_eq!(merged, after.merges.get(&message.id()).copied().unwrap_or(0));
            }
            let hidden = covered(before);
            let is_there = |was: &Message| after.messages().find(|is| is.id() == was.id());
            let covered = before.messages().filter(|message| hidden.contains(&message.id()));
            for (was, is) in covered.filter_map(|was| Some((was, is_there(was)?))) {
                prop_assert_eq!(was.contents(), is.contents());
            }
            // Nothing merges into a partly heard message, where it would count as unheard.
            for message in before.messages().filter(|message| message.heard().is_some()) {
                prop_assert_eq!(after.merges.get(&message.id()), before.merges.get(&message.id()));
            }
            // Neighbours of one role occur in the list only if the first was partly heard, or has tool calls.
            let list: Vec<&Message> = after.messages().collect();
            for pair in list.windows(2).filter(|pair| pair[0].role() == pair[1].role() && pair[0].role().is_spoken()) {
                let was_apart = before.messages().any(|message| message.id() == pair[1].id());
                let is_shared = pair[0].metadata().forked_from().is_some();
                let has_calls = !calls(pair[0]).is_empty();
                prop_assert!(
                    was_apart || is_shared || has_calls || pair[0].heard().is_some() || pair[0].is_fake(),
                    "{:?}",
                    pair
                );
            }
            // A fake only opens a window.
            for (index, message) in after.messages().enumerate().filter(|(_, message)| message.is_fake()) {
                prop_assert_eq!(message.contents(), &"...".into());
                let before: Vec<&Message> = after.messages().take(index).collect();
                let opens = before.iter().rev().take_while(|message| message.role() != Role::Summary).all(|m| !m.role().is_spoken());
                // Restored messages precede the fake that opened the pruned conversation.
                prop_assert!(opens || after.was_pruned, "the fake at {} opens no window", index);
            }
            Ok(())
        })?;
    }

    #[test]
    fn invariant_6_refused_operations_leave_no_trace(ops in history()) {
        each_step(&ops, |before, after, done| {
            if let Done::Refused(_) | Done::NotForked = done {
                prop_assert_eq!(before.manager.records(), after.manager.records());
                prop_assert_eq!(before.manager.to_string(), after.manager.to_string());
                prop_assert_eq!(before.manager.summarizing(), after.manager.summarizing());
            }
            for message in after.messages() {
                prop_assert!(!message.contents().is_empty() && !message.contents().iter().filter_map(Content::as_text).any(|text| is_blank(text)));
            }
            Ok(())
        })?;
    }

    #[test]
    fn invariant_7_the_log_converges(ops in history()) {
        let mut last = World::new();
        each_step(&ops, |_, after, _| {
            let acknowledged = |message: &&Message| after.acknowledged.get(&message.id()) == Some(&message.revision());
            let pending: Vec<(MessageId, u32)> =
                after.messages().filter(|message| !acknowledged(message)).map(|m| (m.id(), m.revision())).collect();
            let changes = after.manager.changes(LastMessage::Include);
            prop_assert_eq!(changes.iter().map(|r| (r.id(), r.revision())).collect::<Vec<_>>(), pending);
            let without_tail = after.manager.changes(LastMessage::Exclude);
            prop_assert!(changes.starts_with(&without_tail));
            prop_assert!(changes.len() - without_tail.len() <= 1);
            let is_new = |record: &&Record| after.submitted.get(&record.id()) < Some(&record.revision());
            let new: Vec<&Record> = changes.iter().filter(is_new).collect();
            let new_changes = after.manager.new_changes(LastMessage::Include);
            prop_assert_eq!(new_changes.iter().collect::<Vec<_>>(), new);
            last = after.clone();
            Ok(())
        })?;
        last.write_all();
        let records = last.manager.records();
        let in_memory = |record: &Record| records.first().is_some_and(|first| record.position() >= first.position());
        prop_assert_eq!(last.table.into_values().filter(in_memory).collect::<Vec<_>>(), records);
        prop_assert!(last.manager.changes(LastMessage::Include).is_empty());
    }

    #[test]
    fn invariant_8_restored_manager_is_equal_and_continues(ops in history(), more in history()) {
        let mut world = World::new();
        for op in &ops {
            world.apply(op);
        }
        if world.manager.pruned() > 0 {
            // A complete log restores the whole conversation.
            world.write_all();
            if !world.is_lost {
                let restored = Manager::restore(world.table.values().cloned()).unwrap();
                prop_assert_eq!(restored.pruned(), 0);
                prop_assert_eq!(&restored.records()[world.manager.pruned()..], world.manager.records());
            }
            return Ok(());
        }
        // Convert to JSON, as a log would.
        let json: Vec<String> = world.manager.records().iter().map(|record| serde_json::to_string(record).unwrap()).collect();
        let records = json.iter().map(|json| serde_json::from_str(json).unwrap());
        let restored = Manager::restore(records).unwrap();
        prop_assert!(restored == world.manager);
        prop_assert_eq!(restored.summarizing(), world.manager.summarizing());
        prop_assert_eq!(window(&restored), window(&world.manager));
        prop_assert_eq!(restored.lineage(), world.manager.lineage());
        world.write_all();
        let mut other = World { manager: restored, ..world.clone() };
        for op in &more {
            prop_assert_eq!(other.apply(op), world.apply(op));
            prop_assert_eq!(views_without_ids(&other), views_without_ids(&world));
        }
    }
}

/// Returns all views with ids replaced by their places, because later messages have different ids in each world.
fn views_without_ids(world: &World) -> Vec<String> {
    let known = |message: &Message| {
        let mut ids = world.manager.summary_ids(&message.id());
        ids.push(message.id());
        ids
    };
    let ids: Vec<String> = world.messages().flat_map(known).map(|id| id.to_string()).collect();
    let by_place =
        |text: String| ids.iter().enumerate().fold(text, |text, (place, id)| text.replace(id, &place.to_string()));
    let views = [
        without_times(world.manager.to_string()),
        world.manager.summarizing().map(|summarizing| summarizing.for_model()).unwrap_or_default(),
        format!("{:?}", window(&world.manager).iter().map(|m| (m.role(), m.contents().clone())).collect::<Vec<_>>()),
        format!("{:?}", world.manager.changes(LastMessage::Exclude).iter().map(|r| r.position()).collect::<Vec<_>>()),
    ];
    views.into_iter().map(by_place).collect()
}

fn without_times(text: String) -> String {
    text.split("{creation=").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect()
}
