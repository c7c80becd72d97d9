//! WB: the window as Bedrock messages, as the body of a Converse request, and in a whole request, which `FakeBedrock` receives
//! on a socket, checks and answers. The baseline is the SDK alone on ready texts.

#![allow(clippy::unwrap_used, reason = "not part of the library")]

mod workload;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_bedrockruntime::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_bedrockruntime::error::BoxError;
use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
use tokio::runtime::Builder;
use verbale::bedrock::turn_client;
use verbale::testing::FakeBedrock;
use verbale::{BedrockMessage, MessagesManager};
use workload::ratio::{compare, header, keeping_memory};
use workload::{Floor, Words, play};

fn main() {
    keeping_memory(measure);
}

fn measure() {
    let words = Words::new();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = client();
    let bedrock = FakeBedrock::default();
    let server = runtime.block_on(bedrock.serve()).unwrap();
    let connected = Client::from_conf(turn_client(server.sdk_config()).build());
    header("message");
    for messages in [20, 200] {
        let mut floor = Floor::default();
        play(&mut floor, &words, 1, messages / 2, false);
        let mut manager = MessagesManager::<BedrockMessage>::new();
        play(&mut manager, &words, 1, messages / 2, false);

        let build = || floor.list.iter().map(|message| bare(message.role, &message.text)).collect::<Vec<_>>();
        let raw = || manager.to_raw().unwrap();
        compare(&format!("{messages} as Bedrock messages"), messages, build, raw);
        let request =
            |client: &Client, messages| client.converse().model_id("model").set_messages(Some(messages)).send();
        let serialize = |messages| runtime.block_on(request(&client, messages)).unwrap_err();
        assert!(format!("{:?}", serialize(raw())).contains(SERIALIZED));
        compare(&format!("{messages} as a Converse body"), messages, || serialize(build()), || serialize(raw()));
        let send = |messages| {
            drop(bedrock.take_requests());
            runtime.block_on(request(&connected, messages)).unwrap()
        };
        compare(&format!("{messages} sent and answered"), messages, || send(build()), || send(raw()));
    }
}

fn bare(role: &str, text: &str) -> Message {
    let role = if role == "user" { ConversationRole::User } else { ConversationRole::Assistant };
    Message::builder().role(role).content(ContentBlock::Text(text.to_owned())).build().unwrap()
}

/// A client whose requests end once their body is written.
fn client() -> Client {
    Client::from_conf(turn_client(FakeBedrock::default().sdk_config()).interceptor(Serialized).build())
}

const SERIALIZED: &str = "the body is written";

#[derive(Debug)]
struct Serialized;

impl Intercept for Serialized {
    fn name(&self) -> &'static str {
        "Serialized"
    }

    fn read_after_serialization(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        assert!(context.request().body().content_length().is_some_and(|bytes| bytes > 1_000));
        Err(SERIALIZED.into())
    }
}
