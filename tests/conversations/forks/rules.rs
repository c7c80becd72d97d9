//! Forks, rule by rule.

use verbale::conversation::Conversation;
use verbale::log::CallId;
use verbale::message::ForkedFrom;
use verbale::{LastMessage, MessageId, MessageWrapper};

use super::history::Manager;
use super::{id, list, shown, summaries, summarize, tool_call, window};

/// The conversation and the last shared message of a mark.
type Mark<'a> = (&'a str, Option<MessageId>);

fn mark(forked_from: &ForkedFrom) -> Mark<'_> {
    (forked_from.conversation.as_str(), forked_from.after)
}

fn marks<'a>(lineage: impl IntoIterator<Item = &'a ForkedFrom>) -> Vec<Mark<'a>> {
    lineage.into_iter().map(mark).collect()
}

/// Creates a conversation of four turns.
fn call() -> Manager {
    let mut manager = Manager::new();
    for turn in 0..4 {
        manager.add_user(format!("u{turn}")).unwrap();
        manager.add_assistant(format!("a{turn}")).unwrap();
    }
    manager
}

#[test]
fn fork_shares_earlier_messages_and_then_differs() {
    let mut source = call();
    source.acknowledge(&source.changes(LastMessage::Include));
    let at = id(&source, 3);
    let mut fork = source.fork(&at, "CA1").unwrap();
    assert_eq!(list(&fork), ["user: u0", "assistant: a0", "user: u1", "assistant: a1"]);
    for place in 0..3 {
        assert_eq!(fork.meta_messages()[place].message(), source.meta_messages()[place].message());
    }
    let last = fork.meta_messages()[3].message();
    assert_eq!((last.id(), last.revision()), (at, 2));
    assert_eq!(last.metadata().forked_from().map(mark), Some(("CA1", Some(at))));
    let unmarked = source.meta_messages()[3].message();
    assert_eq!((unmarked.revision(), unmarked.metadata().forked_from()), (1, None));

    // The fork's log has nothing yet; the source's log has everything.
    assert_eq!(fork.changes(LastMessage::Include), fork.records());
    assert_eq!(fork.new_changes(LastMessage::Include), fork.records());
    assert!(source.changes(LastMessage::Include).is_empty());

    fork.add_user("other").unwrap();
    source.add_user("u4").unwrap();
    assert_ne!(id(&fork, 4), id(&source, 4));
    assert_eq!(list(&fork)[4..], ["user: other"]);
    assert_eq!(list(&source)[4..], ["user: u2", "assistant: a2", "user: u3", "assistant: a3", "user: u4"]);
}

#[test]
fn shared_messages_are_in_memory_once() {
    let mut source = call();
    let (at, first) = (id(&source, 6), id(&source, 0));
    let fork = source.fork(&at, "CA1").unwrap();
    let text = |manager: &Manager, place: usize| manager.meta_messages()[place].contents().texts().next().cloned();
    let address = |manager: &Manager, place: usize| text(manager, place).map(|text| text.as_str().as_ptr());
    for place in 0..7 {
        assert_eq!(address(&fork, place), address(&source, place));
    }
    // A change on one side does not change the other.
    source.entry(&first).unwrap().set_data("k", true).unwrap();
    assert!(fork.meta_messages()[0].metadata().aux().is_empty());
    assert_eq!(address(&fork, 0), address(&source, 0));
}

#[test]
fn summary_beyond_the_fork_point_is_not_in_the_fork() {
    let mut source = call();
    source.add_user("u4").unwrap();
    let early = source.summarizing_keeping(3).unwrap(); // u0 to a1
    source.add_summary("first", &early).unwrap();
    summarize(&mut source, "second");
    assert_eq!(list(&source)[3..6], ["assistant: a1", "summary: first", "user: u2"]);
    assert_eq!(list(&source)[8..], ["assistant: a3", "summary: second", "user: u4"]);

    let at = id(&source, 6);
    let fork = source.fork(&at, "CA1").unwrap();
    assert_eq!(list(&fork)[4..], ["summary: first", "user: u2", "assistant: a2"]);
    assert_eq!(fork.last_summary().map(|summary| shown(summary.message())).as_deref(), Some("summary: first"));
    assert_eq!(window(&fork).iter().map(shown).collect::<Vec<_>>(), ["user: u2", "assistant: a2"]);

    let at = id(&source, 1);
    let fork = source.fork(&at, "CA1").unwrap();
    assert_eq!(list(&fork), ["user: u0", "assistant: a0"]);
    assert_eq!((fork.last_summary(), summaries(&fork), fork.messages().count()), (None, 0, 2));
}

#[test]
fn summary_right_after_the_fork_point_stays() {
    let mut source = call();
    summarize(&mut source, "S");
    source.add_user("u4").unwrap();
    let (message, summary) = (id(&source, 7), id(&source, 8));
    for at in [message, summary] {
        let mut fork = source.fork(&at, "CA1").unwrap();
        assert_eq!(list(&fork)[7..], ["assistant: a3", "summary: S"]);
        assert_eq!(fork.messages().count(), 0);
        assert_eq!(marks(fork.lineage()), [("CA1", Some(at))]);
        fork.add_assistant("go on").unwrap();
        assert_eq!(list(&fork)[9..], ["user: ...", "assistant: go on"]);
        assert!(Manager::restore(fork.records()).unwrap() == fork);
    }
}

#[test]
fn summarizing_beyond_the_fork_point_is_stale_in_the_fork() {
    let mut source = call();
    let (all, some) = (source.summarizing().unwrap(), source.summarizing_keeping(3).unwrap());
    let at = id(&source, 4);
    let mut fork = source.fork(&at, "CA1").unwrap();
    assert!(fork.add_summary("S", &all).unwrap_err().is_stale());
    fork.add_summary("S", &some).unwrap();
    assert_eq!(list(&fork), ["user: u0", "assistant: a0", "summary: S", "user: u1", "assistant: a1", "user: u2"]);
    assert_eq!(summaries(&source), 0);
}

#[test]
fn call_answered_after_the_fork_point_is_open_in_the_fork() {
    let mut source = Manager::new();
    let call = tool_call("call_1");
    source.add_user("u0").unwrap();
    let at = source.add_assistant(["a0".into(), verbale::Content::from(call.clone())]).unwrap().id();
    source.add_user(call.success(["first"])).unwrap();
    let mut fork = source.fork(&at, "CA1").unwrap();
    assert_eq!(fork.open_tool_calls(), [call.id()]);
    assert_eq!(window(&fork).iter().map(shown).collect::<Vec<_>>(), ["user: u0", "assistant: a0"]);
    fork.add_user(call.success(["second"])).unwrap();
    assert!(fork.open_tool_calls().is_empty() && source.open_tool_calls().is_empty());
    let third = fork.add_user(call.success(["third"])).unwrap_err().to_string();
    assert_eq!(third, format!("tool call `{}` already has a result; drop the second one", call.id()));

    // A call after the fork point is not in the fork, so its id is free there.
    let at = id(&source, 0);
    let mut fork = source.fork(&at, "CA1").unwrap();
    fork.add_assistant(call.clone()).unwrap();
    assert_eq!(fork.open_tool_calls(), [call.id()]);
}

#[test]
fn nothing_merges_into_shared_messages() {
    let mut source = call();
    let at = id(&source, 4);
    let fork = source.fork(&at, "CA1").unwrap();
    let restored = Manager::restore(fork.records()).unwrap();
    for mut fork in [fork, restored] {
        assert_eq!(
            fork.changes(LastMessage::Exclude),
            fork.changes(LastMessage::Include),
            "nothing more is merged into it"
        );
        fork.add_user("b").unwrap();
        fork.add_user("c").unwrap();
        assert_eq!(list(&fork)[4..], ["user: u2", "user: b + c"]);
        let shown: Vec<_> = window(&fork).iter().map(shown).collect();
        assert_eq!(shown[4..], ["user: u2 + b + c"]);
    }
    // The source still merges.
    let at = source.add_user("u4").unwrap().id();
    source.fork(&at, "CA1").unwrap();
    source.add_user("b").unwrap();
    assert_eq!(list(&source)[8..], ["user: u4 + b"]);
}

#[test]
fn edited_message_is_the_first_that_differs() {
    let mut source = call();
    let edited = id(&source, 4);
    let fork = source.edit(&edited, "other", "CA1").unwrap();
    assert_eq!(list(&fork), ["user: u0", "assistant: a0", "user: u1", "assistant: a1", "user: other"]);
    assert_ne!(id(&fork, 4), edited);
    assert_eq!(marks(fork.lineage()), [("CA1", Some(id(&source, 3)))]);

    // A fork at the first message shares nothing.
    let first = id(&source, 0);
    let mut fork = source.edit(&first, "other", "CA1").unwrap();
    assert_eq!(list(&fork), ["user: other"]);
    assert_eq!(marks(fork.lineage()), [("CA1", None)]);
    assert_eq!(fork.meta_messages()[0].message().revision(), 1);
    fork.add_user("more").unwrap();
    assert_eq!(list(&fork), ["user: other + more"], "it shares nothing");
    assert!(Manager::restore(fork.records()).unwrap() == fork);
    assert_eq!(source.message_count(), 8);
}

#[test]
fn summaries_and_fakes_are_not_editable() {
    let mut source = Manager::new();
    let instructions = source.add_system("Be brief.").unwrap().id();
    let call = tool_call("call_1");
    source.add_assistant("a0").unwrap();
    source.add_user("u0").unwrap();
    source.add_assistant(call.clone()).unwrap();
    let result = source.add_user(call.success(["yes"])).unwrap().id();
    source.add_assistant("a1").unwrap();
    summarize(&mut source, "S");
    let before = source.clone();

    let fork = source.edit(&instructions, "Be long.", "CA1").unwrap();
    assert_eq!(list(&fork), ["system: Be long."]);
    let fork = source.edit(&result, call.success(["no"]), "CA1").unwrap();
    assert_eq!(list(&fork)[4..], ["assistant: call call_1", "user: result call_1"]);

    let (fake, summary) = (id(&source, 1), id(&source, 7));
    for (id, what) in [(fake, "a fake"), (summary, "a summary")] {
        let refused = source.edit(&id, "b", "CA1").unwrap_err().to_string();
        assert!(refused.starts_with(&format!("message {id} is {what} and cannot be edited")), "{refused}");
    }
    assert!(source.edit(&result, " ", "CA1").unwrap_err().is_blank());
    let misfit = source.edit(&instructions, call.success(["no"]), "CA1").unwrap_err();
    assert_eq!(misfit.to_string(), "a message of role system cannot hold a tool result; only a user message can");
    let foreign = id(&Manager::restore(self::call().records()).unwrap(), 0);
    assert!(source.fork(&foreign, "CA1").unwrap_err().is_not_in_memory());
    assert!(source.edit(&foreign, "b", "CA1").unwrap_err().is_not_in_memory());
    assert!(source == before);
}

#[test]
fn late_heard_report_changes_one_side() {
    let mut source = call();
    let at = id(&source, 7);
    let mut fork = source.fork(&at, "CA1").unwrap();
    let spoken = id(&source, 5);
    let heard = verbale::Heard::new(0, verbale::HeardSource::Estimate);
    source.entry(&spoken).unwrap().set_heard(heard).unwrap();
    assert_eq!((source.messages().count(), fork.messages().count()), (6, 8));
    assert_eq!(fork.meta_messages()[5].message().heard(), None);
    fork.entry(&spoken).unwrap().set_data("k", 1).unwrap();
    assert!(source.meta_messages()[5].metadata().aux().is_empty());
    // Both lists are still available as one slice.
    assert_eq!((source.meta_messages().len(), fork.meta_messages().len()), (8, 8));
}

#[test]
fn lineage_lists_each_source() {
    let mut first = call();
    let at = id(&first, 3);
    let mut second = first.fork(&at, "CA1").unwrap();
    second.add_user("u2'").unwrap();
    let at_second = id(&second, 4);
    let mut third = second.fork(&at_second, "CA2").unwrap();
    let sources = [("CA2", Some(at_second)), ("CA1", Some(at))];
    assert_eq!(marks(third.lineage()), sources);
    assert_eq!(Manager::restore(third.records()).unwrap().lineage(), third.lineage());

    // A fork before an earlier fork point does not have that mark.
    let early = id(&third, 1);
    assert_eq!(marks(third.fork(&early, "CA3").unwrap().lineage()), [("CA3", Some(early))]);
    // At the same message, the newer mark replaces the older one.
    assert_eq!(marks(second.fork(&at, "CA2").unwrap().lineage()), [("CA2", Some(at))]);

    // Pruned marks are still listed.
    third.add_assistant("a2'").unwrap();
    third.add_user("u3'").unwrap();
    assert_eq!(third.prune(0), 6);
    assert_eq!(marks(third.lineage()), sources);
    let last = id(&third, 0);
    assert_eq!(third.fork(&last, "CA3").unwrap().lineage().len(), 3);
}

#[test]
fn fork_needs_an_id_of_its_own() {
    let call_id = |id: &str| CallId::new(id).unwrap();
    let source = Conversation::from_manager(call_id("CA1"), call());
    let at = source.read(|manager| id(manager, 1));
    let fork = source.fork(&at, call_id("CA2")).unwrap();
    fork.change(|manager| manager.add_user("other").map(drop)).unwrap().unwrap();
    assert_eq!(fork.id().as_str(), "CA2");
    fork.read(|manager| assert_eq!(marks(manager.lineage()), [("CA1", Some(at))]));
    assert_eq!((source.read(Manager::message_count), fork.read(Manager::message_count)), (8, 3));

    let edited = fork.fork_edited(&fork.read(|manager| id(manager, 2)), "another", call_id("CA3")).unwrap();
    assert_eq!(edited.read(list), ["user: u0", "assistant: a0", "user: another"]);
    edited.read(|manager| assert_eq!(marks(manager.lineage()), [("CA2", Some(at))]));

    assert!(
        source
            .fork(&at, call_id("CA1"))
            .unwrap_err()
            .to_string()
            .starts_with("the fork has the id of the conversation")
    );
    assert!(
        source
            .fork_edited(&at, "b", call_id("CA1"))
            .unwrap_err()
            .to_string()
            .starts_with("the fork has the id of the conversation")
    );
    let last = edited.read(|manager| id(manager, 2));
    assert!(source.fork(&last, call_id("CA4")).unwrap_err().is_not_in_memory());
}

#[test]
fn ten_thousand_generations_of_forks_are_cheap() {
    // If the cost grew with each generation, this would take half a minute and a gigabyte.
    let mut generations = vec![call()];
    let mut at = id(&generations[0], 7);
    for generation in 0..10_000 {
        let mut fork = generations.last_mut().unwrap().fork(&at, "CA1").unwrap();
        let call = tool_call(&format!("call_{generation}"));
        fork.add_assistant(call.clone()).unwrap();
        at = fork.add_user(call.success(["yes"])).unwrap().id();
        generations.push(fork);
    }
    let last = generations.pop().unwrap();
    drop(generations);
    assert_eq!((last.message_count(), last.lineage().len()), (20_008, 10_000));
    assert!(Manager::restore(last.records()).unwrap() == last);
    assert!(last.open_tool_calls().is_empty());
}

#[test]
fn ten_thousand_generations_of_conversations_are_cheap() {
    // If the cost grew with each generation, this would take two minutes.
    let call_id = |number: usize| CallId::new(format!("CA{number}")).unwrap();
    let mut generations = vec![Conversation::from_manager(call_id(0), call())];
    let mut at = generations[0].read(|manager| id(manager, 7));
    for generation in 1..=10_000 {
        let fork = generations.last().unwrap().fork(&at, call_id(generation)).unwrap();
        fork.add_assistant(format!("a{generation}")).unwrap();
        at = fork.add_user(format!("u{generation}")).unwrap();
        generations.push(fork);
    }
    let last = generations.pop().unwrap();
    assert_eq!(
        (last.metadata().update_count, last.read(|manager| manager.lineage().len())),
        (generations[0].metadata().update_count + 20_000, 10_000)
    );
}

#[test]
fn ten_thousand_live_forks_of_one_conversation_are_cheap() {
    let mut source = Manager::new();
    for turn in 0..1_000 {
        let call = tool_call(&format!("call_{turn}"));
        source.add_user(format!("u{turn}")).unwrap();
        source.add_assistant(call.clone()).unwrap();
        source.add_user(call.success(["yes"])).unwrap();
        source.add_assistant(format!("a{turn}")).unwrap();
    }
    let places = [id(&source, 3_999), id(&source, 3_001), id(&source, 1_002)];
    let mut forks: Vec<Manager> =
        (0..10_000).map(|number| source.fork(&places[number % places.len()], "CA1").unwrap()).collect();
    for (number, fork) in forks.iter_mut().enumerate() {
        fork.add_user("more").unwrap();
        assert_eq!(fork.open_tool_calls().len(), usize::from(number % places.len() == 1));
    }
    for fork in &forks[..3] {
        assert!(Manager::restore(fork.records()).unwrap() == *fork);
    }
}
