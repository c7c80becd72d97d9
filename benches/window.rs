//! WB: the window as Bedrock messages. The baseline is the SDK alone on prepared texts.

#![allow(clippy::unwrap_used, reason = "not part of the library")]

mod workload;

use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
use verbale::{BedrockMessage, MessagesManager};
use workload::ratio::{compare, header};
use workload::{Floor, Words, play};

fn main() {
    let words = Words::new();
    header("message");
    for messages in [20, 200] {
        let mut floor = Floor::default();
        play(&mut floor, &words, 1, messages / 2, false);
        let mut manager = MessagesManager::<BedrockMessage>::new();
        play(&mut manager, &words, 1, messages / 2, false);

        let build = || floor.list.iter().map(|message| bare(message.role, &message.text)).collect::<Vec<_>>();
        compare(&format!("{messages} as Bedrock messages"), messages, build, || manager.to_raw().unwrap());
    }
}

fn bare(role: &str, text: &str) -> Message {
    let role = if role == "user" { ConversationRole::User } else { ConversationRole::Assistant };
    Message::builder().role(role).content(ContentBlock::Text(text.to_owned())).build().unwrap()
}
