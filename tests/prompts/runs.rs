//! Runs to the final text: the requests to the model, and prompts that are applied during a run.

use std::time::Duration;

use aws_sdk_bedrockruntime::types::SystemContentBlock;
use serde_json::json;
use verbale::conversation::ConversationErrorKind as Kind;
use verbale::conversation::{Conversation, ConversationError, Prompt};
use verbale::log::CallId;
use verbale::message::{Media, MediaKind, Source};
use verbale::model::Tool;
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Content, MessageWrapper, Timing};

use super::tools::weather;
use super::{CLAUDE, lines, models, prompt, read, shown};

fn assert_in_run(error: &ConversationError) {
    assert!(error.kind() == Kind::InUse && error.to_string().starts_with("a run owns the turns"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn each_item_of_a_run_is_already_in_the_conversation() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("Let me see.").tool_call("call_1", "get_weather", json!({"town": "Paris"})));
    bedrock.reply(ScriptedReply::text("It is sunny in Paris."));
    let conversation =
        prompt(&bedrock).agent("You are helpful.").tool(weather()).request("And in Paris?").apply().unwrap();
    let mut run = conversation.run();
    let mut read = Vec::new();
    while let Some(message) = run.next().await {
        read.push(super::line(&message.unwrap()));
        assert_eq!(shown(&conversation)[2..], read);
    }
    assert_eq!(
        shown(&conversation),
        [
            r#"system "You are helpful.""#,
            r#"user "And in Paris?""#,
            r#"assistant "Let me see." get_weather(call_1)"#,
            "user call_1: Sunny in Paris",
            r#"assistant "It is sunny in Paris.""#,
        ]
    );
    let counters = bedrock.counters();
    assert_eq!((counters.requests, counters.refused, counters.finished), (2, 0, 2));
    let asked = bedrock.requests();
    let [SystemContentBlock::Text(system), SystemContentBlock::Text(rule), ..] = asked[1].input().system() else {
        panic!()
    };
    assert!(rule.starts_with("The record of the call lists"), "{rule}");
    assert_eq!(
        (system.as_str(), asked[1].input().model_id().unwrap(), asked[1].input().tool_config().unwrap().tools().len()),
        ("You are helpful.", CLAUDE, 1)
    );
    assert_eq!(asked[1].input().messages().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn prompt_returns_the_final_text() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("A language."));
    bedrock.reply(ScriptedReply::text("Pieces of code."));
    let llm = prompt(&bedrock).agent(" You are helpful. ").assistant("Hello!");
    assert_eq!(llm.request("What is Python?\n").prompt().await.unwrap(), "A language.");
    let conversation = llm.conversation();
    let more = conversation.continuation().request("Tell me about functions.");
    assert_eq!(more.prompt().await.unwrap(), "Pieces of code.");
    assert_eq!(
        shown(conversation),
        [
            r#"system "You are helpful.""#,
            r#"user "..." fake"#,
            r#"assistant "Hello!""#,
            r#"user "What is Python?""#,
            r#"assistant "A language.""#,
            r#"user "Tell me about functions.""#,
            r#"assistant "Pieces of code.""#,
        ]
    );
    assert_ne!(llm.conversation().id(), prompt(&bedrock).conversation().id());
}

#[tokio::test(start_paused = true)]
async fn system_prompt_has_the_instructions_and_the_last_summary() {
    let bedrock = FakeBedrock::default();
    let conversation =
        prompt(&bedrock).agent("You are kind.").request("I am Mia.").assistant("Hi, Mia.").apply().unwrap();
    conversation
        .change(|manager| {
            manager.add_user("Who am I?").unwrap();
            let summarizing = manager.summarizing().unwrap();
            manager.add_summary("The caller is Mia.", &summarizing).unwrap();
        })
        .unwrap();
    conversation.continuation().agent("Be brief.").prompt().await.unwrap();
    let asked = bedrock.requests();
    let texts: Vec<_> = asked[0].input().system().iter().filter_map(|block| block.as_text().ok()).collect();
    assert_eq!(texts[..2], ["You are kind.", "Be brief."]);
    assert!(texts.len() == 3 && texts[2].contains("The caller is Mia."));
    assert_eq!((asked[0].input().messages().len(), asked[0].last_text()), (1, Some("Who am I?")));
}

#[tokio::test(start_paused = true)]
async fn prompt_applied_during_a_run_takes_effect_with_the_next_request() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "get_weather", json!({"town": "Rome"})));
    bedrock.reply(ScriptedReply::text("Sunny, and in Oslo it snows.").first_token_after(Duration::from_secs(1)));
    bedrock.reply(ScriptedReply::text("You are welcome."));
    let conversation = prompt(&bedrock).tool(weather()).request("In Rome?").apply().unwrap();
    let mut run = conversation.run();
    run.next().await.unwrap().unwrap();
    // The tool is running, and its call is open.
    conversation.continuation().request("And in Oslo?").apply().unwrap();
    run.next().await.unwrap().unwrap();
    let answers = tokio::spawn(async move { run.next().await.unwrap().map(|message| super::line(&message)) });
    bedrock.until(|counters| counters.requests == 2).await;
    conversation.continuation().request("Thank you.").agent("Be polite.").apply().unwrap();
    assert_eq!(answers.await.unwrap().unwrap(), r#"assistant "Sunny, and in Oslo it snows.""#);
    assert_eq!(
        shown(&conversation),
        [
            r#"user "In Rome?""#,
            "assistant get_weather(call_1)",
            r#"user "And in Oslo?" call_1: Sunny in Rome "Thank you." merged merged"#,
            r#"system "Be polite.""#,
            r#"assistant "Sunny, and in Oslo it snows.""#,
        ]
    );
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none() && lines(&said) == [r#"assistant "You are welcome.""#], "{said:?}");
    let asked = bedrock.requests();
    assert_eq!(asked[1].last_text(), Some("And in Oslo?"));
    assert_eq!((asked[2].last_text(), bedrock.counters().refused), (Some("..."), 0));
}

#[tokio::test(start_paused = true)]
async fn one_run_at_a_time_owns_the_turns() {
    let bedrock = FakeBedrock::default();
    let conversation = prompt(&bedrock).request("Are you there?").apply().unwrap();
    let first = conversation.run();
    assert_in_run(&read(conversation.run()).await.1.unwrap());
    // A prompt that cannot run is not applied.
    let refused = conversation.continuation().request("Hello?").prompt().await.unwrap_err();
    assert_in_run(&refused);
    assert_eq!(shown(&conversation), [r#"user "Are you there?""#]);
    assert!(read(first).await.1.is_none());
    // A run ends with its final text, even if its value is not dropped.
    let mut again = conversation.continuation().request("Still?").apply().unwrap().run();
    again.next().await.unwrap().unwrap();
    assert!(conversation.continuation().request("Still?").prompt().await.is_ok());
    drop(again);
    // A run that was never read frees the turns when it is dropped.
    drop(conversation.run());
    assert!(conversation.continuation().request("And now?").prompt().await.is_ok());
    assert_eq!(bedrock.counters().requests, 4);
}

#[tokio::test(start_paused = true)]
async fn run_without_a_message_or_a_model_is_an_error() {
    let bedrock = FakeBedrock::default();
    let conversation = prompt(&bedrock).agent("You are helpful.").apply().unwrap();
    let nothing = read(conversation.run()).await.1.unwrap();
    assert_eq!(nothing.kind(), Kind::NothingToAnswer);
    assert_eq!(nothing.to_string(), "there is nothing to answer; apply a prompt with a `request` first");
    let nobody = Conversation::new(CallId::new("CA1").unwrap());
    nobody.continuation().request("Hello?").apply().unwrap();
    let (_, error) = read(nobody.run()).await;
    let error = error.unwrap();
    assert_eq!((error.kind(), bedrock.counters().requests), (Kind::Refused, 0));
    assert!(error.to_string().starts_with("`model`: the conversation has no models"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn answer_has_the_times_of_its_request() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("Yes. I am here."));
    let conversation = prompt(&bedrock).request("Are you there?").apply().unwrap();
    let (said, _) = read(conversation.run()).await;
    let metadata = said[0].metadata();
    let [asked, first, end] =
        [Timing::LlmStart, Timing::LlmFirstToken, Timing::LlmEnd].map(|timing| metadata.timing(timing).unwrap());
    assert!(asked <= first && first <= end);
}

#[tokio::test(start_paused = true)]
async fn media_and_documents_are_user_messages() {
    let bedrock = FakeBedrock::default();
    let png = || Media::new(MediaKind::Image, Source::Bytes([1, 2, 3].as_slice().into())).with_mime_type("image/png");
    let sound = || Media::new(MediaKind::Audio, Source::Bytes([4].as_slice().into())).with_mime_type("audio/wav");
    let paper =
        verbale::message::Media::new(verbale::message::MediaKind::Document, Source::Bytes(b"paid".as_slice().into()))
            .with_label("receipt")
            .with_mime_type("text/plain");
    let asked = prompt(&bedrock).request(png()).request(["What is it?".into(), Content::from(png())]).request(paper);
    asked.request(sound()).prompt().await.unwrap();
    assert_eq!(shown(asked.conversation())[0], r#"user image "What is it?" image document audio merged merged merged"#);
    let counters = bedrock.counters();
    assert_eq!((counters.requests, counters.refused), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn refused_prompt_changes_nothing() {
    let bedrock = FakeBedrock::default();
    let conversation = prompt(&bedrock).request("Hello?").apply().unwrap();
    let before = (shown(&conversation), format!("{:?}", conversation.config()));
    let blank = conversation.continuation().request("Hello?").assistant(" \n").tool(weather());
    let error = blank.apply().unwrap_err();
    assert_eq!(error.kind(), Kind::Refused);
    assert_eq!(
        error.to_string(),
        "the prompt is not applied, because its message 1 (from 0) is refused: cannot add a message whose contents are all \
         blank; leave it out"
    );
    let unknown = conversation.continuation().request("Hello?").tool(weather()).set("heat", 1);
    assert!(unknown.apply().unwrap_err().to_string().contains("heat"));
    assert_eq!(unknown.prompt().await.unwrap_err().kind(), Kind::Refused);
    assert_eq!((shown(&conversation), format!("{:?}", conversation.config())), before);
    // The failed prompt has freed the turns.
    assert!(conversation.continuation().prompt().await.is_ok());
}

#[tokio::test]
async fn debug_and_errors_contain_no_text_of_messages() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("47-11 it is.").tool_call("call_1", "get_weather", json!({"town": "47-11"})));
    let conversation =
        prompt(&bedrock).agent("Know 47-11.").tool(weather()).request("My pin is 47-11.").apply().unwrap();
    let next = conversation.continuation().context("47-11").set("model", "sonnet");
    let mut run = conversation.run();
    let message = run.next().await.unwrap().unwrap();
    let shown = format!("{next:?} {conversation:?} {run:?} {message:?} {:?}", conversation.config());
    assert!(!shown.contains("47-11"), "{shown}");
    let error = Tool::new("no such name", "47-11", |_: serde_json::Map<_, _>, _| async { Ok(()) }).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("47-11"));
}

#[tokio::test]
async fn concurrent_conversations_do_not_mix() {
    let bedrock = FakeBedrock::answering(|request| ScriptedReply::text(request.last_text().unwrap_or_default()));
    let models = models(&bedrock);
    let asked = (0..200).map(|number| {
        let models = models.clone();
        tokio::spawn(async move {
            let text = format!("number {number}");
            let prompt = Prompt::new(models).request(text.as_str());
            (
                prompt.prompt().await.unwrap() == text.as_str(),
                prompt.conversation().read(|manager| manager.meta_messages().len()),
            )
        })
    });
    for asked in asked.collect::<Vec<_>>() {
        assert_eq!(asked.await.unwrap(), (true, 2));
    }
    assert!(bedrock.requests().iter().all(|request| request.input().messages().len() == 1));
}

#[test]
fn values_can_be_shared_between_tasks() {
    fn is_shared<T: Send + Sync + 'static>() {}
    fn is_sent<T: Send + 'static>() {}
    is_shared::<Prompt>();
    is_shared::<Conversation>();
    is_shared::<Tool>();
    is_sent::<super::Run>();
    let conversation = Conversation::new(CallId::new("CA1").unwrap());
    assert!(conversation.read(|manager| manager.meta_messages().iter().all(|message| message.message().is_fake())));
}
