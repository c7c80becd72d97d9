//! Errors map to failures that name who must act, with the received part.

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::{BehaviorVersion, Config, Credentials, Region, RuntimeComponents};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::model::Failure;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{CLAUDE, claude, fail, for_summaries, question};

/// The kind of a failure, without its text.
fn kind(failure: &Failure) -> &'static str {
    match failure {
        Failure::Invalid(_) => "invalid",
        Failure::Refused(_) => "refused",
        Failure::Denied(_) => "denied",
        Failure::Throttled => "throttled",
        Failure::Unavailable(_) => "unavailable",
        Failure::Unreachable => "unreachable",
        Failure::TimedOut { .. } => "timed out",
        Failure::Cut => "cut",
        Failure::Malformed(_) => "malformed",
        _ => "new",
    }
}

#[tokio::test(start_paused = true)]
async fn exceptions_before_the_answer_are_mapped() {
    for (exception, expected) in [
        ("AccessDeniedException", "denied"),
        ("ResourceNotFoundException", "denied"),
        ("ValidationException", "refused"),
        ("ThrottlingException", "throttled"),
        ("ModelNotReadyException", "unavailable"),
        ("ModelTimeoutException", "unavailable"),
        ("ModelErrorException", "unavailable"),
        ("ModelStreamErrorException", "unavailable"),
        ("ServiceUnavailableException", "unavailable"),
        ("InternalServerException", "unavailable"),
    ] {
        let bedrock = FakeBedrock::answering(move |_| ScriptedReply::refused(exception));
        let (failure, received) = fail(&claude(&bedrock), question()).await;
        assert_eq!((kind(&failure), received), (expected, (0, 0)), "{exception:?}");
        // The conversation retries, not the SDK.
        assert_eq!(bedrock.counters().requests, 1, "{exception:?}");
    }
    let bedrock = FakeBedrock::answering(|_| ScriptedReply::bad_gateway());
    assert_eq!(kind(&fail(&claude(&bedrock), question()).await.0), "unavailable");
}

#[tokio::test]
async fn message_that_may_quote_the_request_is_left_out() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::validation("Malformed input: \"When does it arrive? 4711\""));
    let (failure, _) = fail(&claude(&bedrock), question()).await;
    let refused = "ValidationException, status 400, request fake-1; its message of 44 bytes is left out, because it may \
                   quote the request";
    assert_eq!(failure, Failure::Refused(refused.to_owned()));

    bedrock.reply(ScriptedReply::validation("Input is too long for requested model: 4711"));
    bedrock.reply(ScriptedReply::validation("The provided model identifier is invalid."));
    bedrock.reply(ScriptedReply::refused("AccessDeniedException"));
    let shown = [
        "the model's provider refused the request: ValidationException, status 400, request fake-2: \"… Input is too \
         long …\" (rule too-long, seen 2026-09-18, https://github.com/aws-solutions-library-samples/\
         accelerated-intelligent-document-processing-on-aws/pull/998): the prompt is too long for the model; summarize \
         earlier",
        "the model cannot be used; check credentials, access and model id: ValidationException, status 400, request \
         fake-3: \"… model identifier is invalid …\" (rule model-id, https://docs.aws.amazon.com/bedrock/latest/userguide/\
         troubleshooting-api-error-codes.html): check the model id and the region",
        "the model cannot be used; check credentials, access and model id: AccessDeniedException, status 403, request \
         fake-4: You don't have access to the model with the specified model ID.",
    ];
    for shown in shown {
        assert_eq!(fail(&claude(&bedrock), question()).await.0.to_string(), shown);
    }
}

#[tokio::test]
async fn exceptions_within_the_answer_are_mapped_and_not_retried() {
    for (exception, expected) in [
        ("ValidationException", "refused"),
        ("ThrottlingException", "throttled"),
        ("ModelStreamErrorException", "unavailable"),
        ("ServiceUnavailableException", "unavailable"),
        ("InternalServerException", "unavailable"),
        // The SDK does not know it within a stream.
        ("ModelTimeoutException", "unavailable"),
    ] {
        let bedrock = FakeBedrock::default();
        for (events, text_bytes) in [(0, 0), (1, 0), (3, 9)] {
            bedrock.reply(ScriptedReply::text("On Friday at 9").exception_after(events, exception));
            let (failure, received) = fail(&claude(&bedrock), question()).await;
            assert_eq!((kind(&failure), received.0), (expected, text_bytes), "{exception:?} after {events}");
        }
        assert_eq!(bedrock.counters().requests, 3);
    }
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("On Friday").exception_after(2, "ModelStreamErrorException"));
    let hidden = "ModelStreamErrorException, request fake-1; its message of 85 bytes is left out, because it may quote \
                  the request";
    assert_eq!(fail(&claude(&bedrock), question()).await.0, Failure::Unavailable(hidden.to_owned()));
}

#[tokio::test]
async fn interrupted_stream_is_an_error() {
    let bedrock = FakeBedrock::default();
    let server = bedrock.serve().await.unwrap();
    let served = Client::from_conf(turn_client(server.sdk_config()).build());
    let served = BedrockModel::for_turns(served, BedrockSettings::new(CLAUDE));
    for model in [claude(&bedrock), served] {
        for (reply, failure, text_bytes) in [
            (ScriptedReply::text("a b c").cut_after(0), Failure::Cut, 0),
            (ScriptedReply::text("a b c").cut_after(3), Failure::Cut, 3),
            (
                ScriptedReply::text("a b c").end_after(0),
                Failure::Malformed("it ended without a stop reason".to_owned()),
                0,
            ),
            (
                ScriptedReply::text("a b c").end_after(3),
                Failure::Malformed("it ended without a stop reason".to_owned()),
                3,
            ),
            (
                ScriptedReply::text("a b c").end_after(5),
                Failure::Malformed("it ended without a stop reason".to_owned()),
                5,
            ),
            (
                ScriptedReply::text("a b c").malformed_after(3),
                Failure::Malformed("an event of the stream".to_owned()),
                3,
            ),
        ] {
            bedrock.reply(reply.clone());
            let (failed, received) = fail(&model, question()).await;
            assert_eq!((failed, received.0), (failure, text_bytes), "{reply:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn interrupted_answer_in_one_piece_is_an_error() {
    for (reply, expected) in [
        (ScriptedReply::text("a b c").cut_after(1), "cut"),
        (ScriptedReply::text("a b c").end_after(1), "malformed"),
        (ScriptedReply::text("a b c").exception_after(1, "ModelTimeoutException"), "unavailable"),
    ] {
        let bedrock = FakeBedrock::answering(move |_| reply.clone());
        let model = for_summaries(&bedrock, BedrockSettings::new(CLAUDE));
        let (failure, received) = fail(&model, question()).await;
        assert_eq!((kind(&failure), received), (expected, (0, 0)), "{failure:?}");
    }
}

#[tokio::test]
async fn missing_server_is_unreachable() {
    let bedrock = FakeBedrock::default();
    let server = bedrock.serve().await.unwrap();
    let config = server.sdk_config();
    drop(server);
    bedrock.until(|_| true).await;
    let model = BedrockModel::for_turns(Client::from_conf(turn_client(config).build()), BedrockSettings::new(CLAUDE));
    assert_eq!(fail(&model, question()).await, (Failure::Unreachable, (0, 0)));
}

#[tokio::test]
async fn missing_credentials_or_region_is_denied() {
    let bedrock = FakeBedrock::default();
    let config = || Config::builder().behavior_version(BehaviorVersion::latest()).http_client(NoConnection);
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    for config in [config().region(Region::new("eu-west-1")), config().credentials_provider(credentials)] {
        let client = Client::from_conf(turn_client(config).build());
        let model = BedrockModel::for_turns(client, BedrockSettings::new(CLAUDE));
        assert_eq!(kind(&fail(&model, question()).await.0), "denied");
    }
    assert_eq!(bedrock.counters().requests, 0);
}

/// An HTTP client that never connects.
#[derive(Debug, Clone)]
struct NoConnection;

impl HttpConnector for NoConnection {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(Err(ConnectorError::timeout("no answer from 192.0.2.1".into()).never_connected()))
    }
}

impl HttpClient for NoConnection {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn connect_timeout_is_reported() {
    let config = turn_client(FakeBedrock::default().sdk_config()).http_client(NoConnection);
    let model = BedrockModel::for_turns(Client::from_conf(config.build()), BedrockSettings::new(CLAUDE));
    let (failure, _) = fail(&model, question()).await;
    assert!(failure.to_string().starts_with("a connection to the model did not come within"), "{failure}");
}
