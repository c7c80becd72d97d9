//! The first usage example of the design, with Bedrock messages and DynamoDB items.

use std::collections::HashMap;

use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole};
use aws_sdk_dynamodb::types::AttributeValue;
use verbale::clock::Clock;
use verbale::clock::SystemClock;
use verbale::dynamodb::to_items;
use verbale::log::CallId;
use verbale::{BedrockMessage, Format, LastMessage, MessagesManager, Timing};

type Raw = aws_sdk_bedrockruntime::types::Message;

fn said(messages: &[Raw]) -> Vec<(ConversationRole, Vec<&str>)> {
    messages.iter().map(|message| (message.role().clone(), texts(message))).collect()
}

fn texts(message: &Raw) -> Vec<&str> {
    message.content().iter().map(|block| block.as_text().map_or("?", String::as_str)).collect()
}

#[test]
fn first_usage_example_of_the_design_runs() {
    use ConversationRole::{Assistant, User};

    // Create the manager.
    let mut manager = MessagesManager::<BedrockMessage>::new();

    // Add some messages.
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("Hi, there").unwrap();
    manager.add_user("how are you").unwrap();
    manager.add_assistant(["I am fine,", "and you?"]).unwrap();
    manager.add_user(["Good, ", "thank you!"]).unwrap();

    // Get the messages for the model.
    let raw: Vec<Raw> = manager.to_raw().unwrap();
    assert_eq!(
        said(&raw),
        [
            (User, vec!["..."]),
            (Assistant, vec!["Hello!"]),
            (User, vec!["Hi, there", "how are you"]),
            (Assistant, vec!["I am fine,", "and you?"]),
            (User, vec!["Good, ", "thank you!"]),
        ]
    );
    assert!(matches!(raw[0].content()[0], ContentBlock::Text(_)));

    // Summarize. The input excludes the last user message and the fake one.
    let summarizing = manager.summarizing().unwrap();
    let text = summarizing.format(&Format::default());
    assert_eq!(text, "[Assistant]: Hello!\n[User]: Hi, there how are you\n[Assistant]: I am fine, and you?");
    assert_eq!(summarizing.to_string(), text);
    let summary = manager.add_summary("...", &summarizing).unwrap().id();
    let covered: Vec<_> = manager.meta_messages()[1..4].iter().map(|wrapper| wrapper.id()).collect();
    assert_eq!(manager.summary_ids(&summary), covered);

    // After the summary, the window excludes the summarized messages.
    manager.add_assistant("How can I help you?").unwrap();
    let raw = manager.to_raw().unwrap();
    assert_eq!(said(&raw), [(User, vec!["Good, ", "thank you!"]), (Assistant, vec!["How can I help you?"])]);

    // Collect the changes without the last message.
    let first = manager.changes(LastMessage::Exclude);
    manager.acknowledge(&first);

    // Merge into the last message, which was not collected.
    manager.add_assistant("Are you still there?").unwrap();
    let mut entry = manager.add_user("Yes, but I do not need help!").unwrap();

    // Add metadata.
    entry.set_data("stopped", true).unwrap();
    let now = SystemClock.now_ms();
    entry.set_timing(Timing::PlayStart, now).unwrap();

    // Collect the rest, including the last message.
    let second = manager.changes(LastMessage::Include);
    manager.acknowledge(&second);
    assert_eq!((first.len(), second.len()), (6, 2));
    assert!(manager.changes(LastMessage::Include).is_empty());

    // Convert the records into DynamoDB items.
    let call_id = CallId::new("CA1").unwrap();
    let records = first.iter().chain(&second);
    let items: Vec<HashMap<String, AttributeValue>> = to_items(&call_id, records).unwrap();
    let keys: Vec<&str> = items.iter().map(|item| item["sk"].as_s().unwrap().as_str()).collect();
    let expected = [
        "MSG#00000000",
        "MSG#00000001",
        "MSG#00000002",
        "MSG#00000003",
        "MSG#00000003#SUM#0001",
        "MSG#00000004",
        "MSG#00000005",
        "MSG#00000006",
    ];
    assert_eq!(keys, expected);
    assert_eq!(items[7]["aux"].as_m().unwrap()["stopped"], AttributeValue::Bool(true));
    let creation: i64 = items[7]["creation"].as_n().unwrap().parse().unwrap();
    assert_eq!(items[7]["playStart"], AttributeValue::N((now - creation).to_string()));

    // The prompt uses the last summary.
    let last: Option<&BedrockMessage> = manager.last_summary();
    assert_eq!(last.unwrap().contents(), &"...".into());

    // Collect all records and restore them.
    let everything = manager.records();
    assert_eq!(everything.len(), 8);
    assert!(MessagesManager::<BedrockMessage>::restore(everything).unwrap() == manager);
    assert_eq!(manager.to_string().lines().count(), 10);
}
