//! The results of queries, case by case, for every backend.

use verbale::conversation::HistoryQuery;
use verbale::{MessageId, MessageWrapper, Role, Timing};

use super::backend::{Backend, Fixture, START_MS, everything, id};
use super::texts;

/// Runs every case, each with its own conversations.
pub async fn all(backend: Backend) {
    empty_conversations_have_no_results(backend.open().await).await;
    conversations_do_not_mix(backend.open().await).await;
    results_are_sorted_by_time(backend.open().await).await;
    equal_times_are_sorted_by_id(backend.open().await).await;
    fakes_are_never_found_and_roles_are_selected(backend.open().await).await;
    range_includes_its_start_and_excludes_its_end(backend.open().await).await;
    limit_takes_the_first_results(backend.open().await).await;
    message_is_found_by_its_id(backend.open().await).await;
    summary_is_found_at_its_own_time(backend.open().await).await;
    part_of_a_merged_message_is_found_at_its_time(backend.open().await).await;
    corrected_time_counts(backend.open().await).await;
    all_conditions_must_match(backend.open().await).await;
    invalid_query_is_refused(backend.open().await).await;
    texts::all(backend).await;
}

async fn empty_conversations_have_no_results(fixture: Fixture) {
    assert_eq!(fixture.find(&everything()).await.unwrap(), []);
    fixture.conversations.default_conversation();
    assert_eq!(fixture.find(&everything().newest_first().with_limit(3)).await.unwrap(), []);
}

async fn conversations_do_not_mix(fixture: Fixture) {
    for (conversation, text) in [("a", "one"), ("b", "two"), ("a", "three"), ("A", "four")] {
        fixture.say(conversation, Role::System, text);
    }
    assert_eq!(fixture.texts(everything().with_conversation(id("a"))).await, ["a: one", "a: three"]);
    assert_eq!(fixture.texts(everything().with_conversation(id("A"))).await, ["A: four"]);
    assert_eq!(fixture.texts(everything().with_conversation(id("nobody"))).await, [""; 0]);
    assert_eq!(fixture.texts(everything()).await, ["a: one", "b: two", "a: three", "A: four"]);
}

async fn results_are_sorted_by_time(fixture: Fixture) {
    fixture.say("a", Role::User, "later");
    fixture.clock.set(START_MS - 10);
    fixture.say("b", Role::User, "earlier");
    // The clock was set back.
    fixture.say("a", Role::Assistant, "after, and earlier");
    assert_eq!(fixture.texts(everything()).await, ["b: earlier", "a: after, and earlier", "a: later"]);
    assert_eq!(fixture.texts(everything().newest_first().with_limit(1)).await, ["a: later"]);
    assert_eq!(fixture.texts(everything().with_limit(2)).await, ["b: earlier", "a: after, and earlier"]);
}

async fn equal_times_are_sorted_by_id(fixture: Fixture) {
    let mut said: Vec<(MessageId, String)> = Vec::new();
    for number in 0..12 {
        let conversation = ["a", "b", "c"][number % 3];
        let id = fixture.say_now(conversation, Role::System, number.to_string());
        said.push((id, format!("{conversation}: {number}")));
    }
    let as_said: Vec<String> = said.iter().map(|(_, text)| text.clone()).collect();
    said.sort();
    let mut by_id: Vec<String> = said.into_iter().map(|(_, text)| text).collect();
    assert_ne!(as_said, by_id);
    assert_eq!(fixture.texts(everything()).await, by_id);
    assert_eq!(fixture.texts(everything().with_limit(5)).await, by_id[..5]);
    by_id.reverse();
    assert_eq!(fixture.texts(everything().newest_first().with_limit(5)).await, by_id[..5]);
}

async fn fakes_are_never_found_and_roles_are_selected(fixture: Fixture) {
    fixture.say("a", Role::System, "be kind");
    fixture.say("a", Role::Assistant, "hello");
    fixture.say("a", Role::User, "hi");
    let fake = fixture.conversations.get(&id("a")).unwrap().read(|manager| manager.meta_messages()[1].clone());
    assert!(fake.message().is_fake());

    assert_eq!(fixture.texts(everything()).await, ["a: be kind", "a: hello", "a: hi"]);
    assert_eq!(fixture.texts(everything().with_id(fake.id())).await, [""; 0]);
    assert_eq!(fixture.texts(everything().with_text("...")).await, [""; 0]);
    assert_eq!(fixture.texts(everything().with_role(Role::User)).await, ["a: hi"]);
    assert_eq!(
        fixture.texts(everything().with_role(Role::User).with_role(Role::Assistant)).await,
        ["a: hello", "a: hi"]
    );
    assert_eq!(fixture.texts(everything().with_role(Role::System)).await, ["a: be kind"]);
    assert_eq!(fixture.texts(everything().with_role(Role::Summary)).await, [""; 0]);
}

async fn range_includes_its_start_and_excludes_its_end(fixture: Fixture) {
    for text in ["1", "2", "3", "4"] {
        fixture.say("a", Role::System, text);
    }
    let at = |number: i64| START_MS + number;
    assert_eq!(fixture.texts(everything().with_since_ms(at(3))).await, ["a: 3", "a: 4"]);
    assert_eq!(fixture.texts(everything().with_until_ms(at(3))).await, ["a: 1", "a: 2"]);
    assert_eq!(fixture.texts(everything().with_since_ms(at(2)).with_until_ms(at(4))).await, ["a: 2", "a: 3"]);
    assert_eq!(fixture.texts(everything().with_since_ms(at(2)).with_until_ms(at(2))).await, [""; 0]);
    assert_eq!(
        fixture.texts(everything().with_since_ms(i64::MIN).with_until_ms(i64::MAX).with_limit(1)).await,
        ["a: 1"]
    );
    assert_eq!(fixture.texts(everything().with_since_ms(at(2)).newest_first()).await, ["a: 4", "a: 3", "a: 2"]);
}

async fn limit_takes_the_first_results(fixture: Fixture) {
    for (conversation, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("b", "5")] {
        fixture.say(conversation, Role::System, text);
    }
    let all = ["a: 1", "b: 2", "a: 3", "c: 4", "b: 5"];
    for count in [0, 1, 2, 4, 5, 6, usize::MAX] {
        let some = count.min(5);
        assert_eq!(fixture.texts(everything().with_limit(count)).await, all[..some]);
        let newest: Vec<_> = all.iter().rev().take(some).copied().collect();
        assert_eq!(fixture.texts(everything().newest_first().with_limit(count)).await, newest);
    }
    assert_eq!(fixture.texts(everything().with_conversation(id("b")).newest_first().with_limit(1)).await, ["b: 5"]);
}

async fn message_is_found_by_its_id(fixture: Fixture) {
    let first = fixture.say("a", Role::User, "first");
    fixture.say("b", Role::User, "other");
    let answer = fixture.say("b", Role::Assistant, "answer");
    assert_eq!(fixture.texts(everything().with_id(first)).await, ["a: first"]);
    assert_eq!(fixture.texts(everything().with_id(answer)).await, ["b: answer"]);
    assert_eq!(fixture.texts(everything().with_id(answer).with_conversation(id("a"))).await, [""; 0]);
    assert_eq!(fixture.texts(everything().with_id(answer).with_role(Role::User)).await, [""; 0]);
    assert_eq!(fixture.texts(everything().with_id(MessageId::from(7))).await, [""; 0]);
}

async fn summary_is_found_at_its_own_time(fixture: Fixture) {
    fixture.say("a", Role::User, "hi");
    fixture.say("a", Role::Assistant, "hello");
    let conversation = fixture.conversations.get(&id("a")).unwrap();
    let summarizing = conversation.read(|manager| manager.summarizing().unwrap());
    fixture.say("a", Role::User, "bye");
    fixture.clock.advance(1);
    conversation.change(|manager| manager.add_summary("They met.", &summarizing).map(|_| ()).unwrap()).unwrap();
    // The list has it before the last message. It hides the others from the model, not from queries.
    assert_eq!(fixture.texts(everything()).await, ["a: hi", "a: hello", "a: bye", "a: They met."]);
    assert_eq!(fixture.texts(everything().newest_first().with_limit(1)).await, ["a: They met."]);
    assert_eq!(fixture.texts(everything().with_role(Role::Summary)).await, ["a: They met."]);
    assert_eq!(fixture.texts(everything().with_until_ms(START_MS + 4)).await, ["a: hi", "a: hello", "a: bye"]);
}

async fn part_of_a_merged_message_is_found_at_its_time(fixture: Fixture) {
    let first = fixture.say("a", Role::User, "one");
    fixture.say("b", Role::User, "two");
    fixture.clock.advance(99_000);
    fixture.say("a", Role::User, "three");
    let (second_ms, third_ms) = (START_MS + 2, START_MS + 99_003);
    let merged = fixture.conversations.get(&id("a")).unwrap();
    let parts: Vec<MessageId> =
        merged.read(|manager| manager.meta_messages()[0].message().parts().map(|part| part.id()).collect());
    assert_eq!(parts[0], first);

    // It is found once, with the parts that match, at the time of the first or the last of them.
    for (query, found) in [
        (everything(), vec![("a", START_MS + 1, vec![0, 1]), ("b", second_ms, vec![0])]),
        (everything().newest_first(), vec![("a", third_ms, vec![0, 1]), ("b", second_ms, vec![0])]),
        (everything().newest_first().with_limit(1), vec![("a", third_ms, vec![0, 1])]),
        (everything().with_until_ms(second_ms), vec![("a", START_MS + 1, vec![0])]),
        (everything().with_since_ms(second_ms), vec![("b", second_ms, vec![0]), ("a", third_ms, vec![1])]),
        (everything().with_since_ms(second_ms + 1), vec![("a", third_ms, vec![1])]),
        (everything().with_text("three"), vec![("a", third_ms, vec![1])]),
        (everything().with_text("three").with_until_ms(third_ms), vec![]),
        (everything().with_id(parts[0]), vec![("a", START_MS + 1, vec![0, 1])]),
        (everything().with_id(parts[1]), vec![("a", third_ms, vec![1])]),
    ] {
        let answer = fixture.find(&query).await.unwrap();
        let answer: Vec<_> =
            answer.iter().map(|found| (found.conversation.as_str(), found.at_ms, found.parts.clone())).collect();
        let part = |conversation, index: usize| match conversation {
            "a" => parts[index],
            _ => fixture.conversations.get(&id("b")).unwrap().read(|manager| manager.meta_messages()[0].id()),
        };
        let found: Vec<_> = found
            .into_iter()
            .map(|(conversation, at_ms, indexes)| {
                (conversation, at_ms, indexes.into_iter().map(|index| part(conversation, index)).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(answer, found, "{query:?}");
    }
}

async fn corrected_time_counts(fixture: Fixture) {
    fixture.say("a", Role::User, "one");
    let id_of_answer = fixture.say("a", Role::Assistant, "two");
    assert_eq!(fixture.texts(everything()).await, ["a: one", "a: two"]);
    let conversation = fixture.conversations.get(&id("a")).unwrap();
    conversation
        .change(|manager| {
            manager.entry(&id_of_answer).unwrap().set_timing(Timing::Creation, START_MS - 5).unwrap();
        })
        .unwrap();
    assert_eq!(fixture.texts(everything()).await, ["a: two", "a: one"]);
    assert_eq!(fixture.texts(everything().with_until_ms(START_MS)).await, ["a: two"]);
}

async fn all_conditions_must_match(fixture: Fixture) {
    for number in 0..6 {
        for conversation in ["a", "b"] {
            fixture.say(conversation, Role::User, format!("question {number}"));
            fixture.say(conversation, Role::Assistant, format!("answer {number}"));
        }
    }
    let query = everything()
        .with_conversation(id("b"))
        .with_role(Role::Assistant)
        .with_since_ms(START_MS + 8)
        .with_until_ms(START_MS + 24)
        .with_text("ANSWER");
    assert_eq!(fixture.texts(query.clone().with_limit(2)).await, ["b: answer 1", "b: answer 2"]);
    assert_eq!(fixture.texts(query.newest_first().with_limit(2)).await, ["b: answer 4", "b: answer 3"]);
}

async fn invalid_query_is_refused(fixture: Fixture) {
    fixture.say("a", Role::User, "hi");
    let after = everything().with_since_ms(2).with_until_ms(1);
    let long = everything().with_text("x".repeat(1_001));
    for (query, expected) in [
        (after, "the query's `since` (2) is after its `until` (1); swap them, or leave one of them out"),
        (
            everything().with_since_ms(START_MS / 1_000),
            "the query's `since` or `until` is refused: 1744815823 is a time in seconds, and milliseconds since the Unix \
             epoch are needed; multiply by 1000",
        ),
        (
            everything().with_text(" \u{200b}"),
            "the query's text is blank; leave it out, or search for visible characters",
        ),
        (long, "the query's text has 1001 bytes; search for a part of it, of at most 1000 bytes"),
    ] {
        let error = fixture.find(&query).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(!error.log_error().is_some_and(verbale::log::LogError::is_retryable));
        // It is refused even if no message would be searched.
        assert!(fixture.find(&query.with_conversation(id("nobody"))).await.is_err());
    }
}

#[test]
fn query_reads_and_writes_as_json() {
    let json = serde_json::json!({
        "conversation": "CA1", "roles": ["user"], "sinceMs": START_MS, "untilMs": null, "text": "order", "turnEnd": "failed",
        "id": "01JRZJ166J2WRMF990535EVSQS", "limit": 10, "order": "newestFirst",
    });
    let id_of_message = "01JRZJ166J2WRMF990535EVSQS".parse().unwrap();
    let query =
        everything().with_conversation(id("CA1")).with_role(Role::User).with_since_ms(START_MS).with_text("order");
    let query = query.with_id(id_of_message).with_turn_end("failed").newest_first().with_limit(10);
    assert_eq!(serde_json::to_value(&query).unwrap(), json);
    assert_eq!(serde_json::from_value::<HistoryQuery>(json).unwrap(), query);
    assert_eq!(serde_json::from_str::<HistoryQuery>("{}").unwrap(), everything());
    for wrong in [r#"{"recent": 3}"#, r#"{"conversation": ""}"#, r#"{"order": "random"}"#] {
        assert!(serde_json::from_str::<HistoryQuery>(wrong).is_err(), "{wrong}");
    }
}
