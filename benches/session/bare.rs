//! The baseline: a `Vec` of SDK messages and a loop over `ConverseStream`.

use std::time::Instant;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, ConverseStreamOutput, Message};

use crate::figures::Taken;
use crate::scene::{MODEL_ID, system};
use crate::workload::{KEEP_TURNS, SUMMARISE_ABOVE};

pub struct Bare {
    client: Client,
    messages: Vec<Message>,
}

impl Bare {
    pub fn new(client: Client) -> Self {
        Self { client, messages: Vec::new() }
    }

    pub async fn turn(&mut self, said: &[&str]) -> Taken {
        let begun = Instant::now();
        self.messages.push(message(ConversationRole::User, said));
        let request = self.client.converse_stream().model_id(MODEL_ID).system(system());
        let mut stream = request.set_messages(Some(self.messages.clone())).send().await.unwrap().stream;
        let (mut first, mut whole) = (None, None);
        let mut text = String::new();
        while let Some(event) = stream.recv().await.unwrap() {
            match event {
                ConverseStreamOutput::ContentBlockDelta(delta) => {
                    let delta = delta.delta.unwrap();
                    first.get_or_insert_with(|| begun.elapsed());
                    text.push_str(delta.as_text().unwrap());
                }
                // The session ends its reply here. The token usage follows.
                ConverseStreamOutput::MessageStop(_) => {
                    self.messages.push(message(ConversationRole::Assistant, &[&text]));
                    whole = Some(begun.elapsed());
                }
                _ => {}
            }
        }
        Taken { first: first.unwrap(), whole: whole.unwrap() }
    }

    /// Drops the messages that a session summarizes, so that requests have the same length.
    pub fn forget(&mut self) {
        if self.messages.len() > SUMMARISE_ABOVE {
            let old = self.messages.len() - 2 * KEEP_TURNS;
            self.messages.drain(..old);
        }
    }
}

fn message(role: ConversationRole, texts: &[&str]) -> Message {
    let contents = texts.iter().map(|text| ContentBlock::Text((*text).to_owned())).collect();
    Message::builder().role(role).set_content(Some(contents)).build().unwrap()
}
