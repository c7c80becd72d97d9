//! Faults within a stream.

use aws_sdk_bedrockruntime::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::asked::{complete, rest, stream};
use super::clients;

const TWO: [&str; 2] = ["start assistant", "0 text \"One\""];

fn reply() -> ScriptedReply {
    ScriptedReply::text("One moment, please.")
}

#[tokio::test]
async fn exception_follows_the_events_before_it() {
    type Is = fn(&ConverseStreamOutputError) -> bool;
    let exceptions: [(&'static str, Is); 6] = [
        ("InternalServerException", ConverseStreamOutputError::is_internal_server_exception),
        ("ModelStreamErrorException", ConverseStreamOutputError::is_model_stream_error_exception),
        ("ValidationException", ConverseStreamOutputError::is_validation_exception),
        ("ThrottlingException", ConverseStreamOutputError::is_throttling_exception),
        ("ServiceUnavailableException", ConverseStreamOutputError::is_service_unavailable_exception),
        // The SDK does not know it within a stream.
        ("ModelTimeoutException", |error| format!("{error:?}").starts_with("Unhandled")),
    ];
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        for (exception, is) in exceptions {
            bedrock.reply(reply().exception_after(2, exception));
            let (events, error) = rest(stream(&client).await.unwrap()).await;
            assert_eq!(events, TWO);
            let error = error.unwrap().into_service_error();
            assert!(is(&error), "{exception:?}: {error:?}");
            assert!(error.message().is_some_and(|message| message.ends_with('.')), "{exception:?}");
        }
        bedrock.reply(reply().exception_after(0, "ThrottlingException"));
        let (events, error) = rest(stream(&client).await.unwrap()).await;
        assert!(events.is_empty() && error.unwrap().into_service_error().is_throttling_exception());
        bedrock.reply(reply().exception_after(99, "ThrottlingException"));
        let (events, error) = rest(stream(&client).await.unwrap()).await;
        assert_eq!((events.len(), error.is_some()), (7, true));
    }
}

#[tokio::test]
async fn broken_connection_is_an_error_after_the_events() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(reply().cut_after(2));
        let (events, error) = rest(stream(&client).await.unwrap()).await;
        assert_eq!(events, TWO);
        let error = error.unwrap();
        assert!(matches!(error, SdkError::DispatchFailure(_)), "{error:?}");
        // Nothing follows the last event, so the last event is cut.
        bedrock.reply(reply().cut_after(99));
        let (events, error) = rest(stream(&client).await.unwrap()).await;
        assert_eq!((events.len(), error.is_some()), (6, true));
    }
}

#[tokio::test]
async fn stream_can_end_without_a_stop() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(reply().end_after(2));
        assert_eq!(complete(stream(&client).await.unwrap()).await, TWO);
        bedrock.reply(reply().end_after(0));
        assert!(complete(stream(&client).await.unwrap()).await.is_empty());
    }
    let counters = bedrock.counters();
    assert_eq!((counters.finished, counters.cancelled), (4, 0));
}

#[tokio::test]
async fn frame_can_be_malformed() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        for (events_before, received) in [(2, 2), (99, 6)] {
            bedrock.reply(reply().malformed_after(events_before));
            let (events, error) = rest(stream(&client).await.unwrap()).await;
            assert_eq!(events.len(), received);
            let error = error.unwrap();
            let shown = DisplayErrorContext(&error).to_string();
            assert!(shown.contains("checksum"), "{shown}");
        }
    }
}
