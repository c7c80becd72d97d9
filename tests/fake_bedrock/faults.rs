//! Faults before the answer, and in an answer in one piece.

use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse_stream::ConverseStreamError;
use serde_json::json;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::asked::{contents, stream, whole};
use super::clients;

type Is = fn(&ConverseStreamError) -> bool;

/// Returns status, code and message of a refusal.
fn refusal<E: ProvideErrorMetadata>(error: &SdkError<E>) -> (u16, Option<&str>, Option<&str>) {
    (error.raw_response().unwrap().status().as_u16(), error.code(), error.message())
}

#[tokio::test]
async fn exceptions_have_their_status_type_and_message() {
    const FAILED: &str = "The system encountered an unexpected error during processing. Try your request again.";
    let refusals: [(ScriptedReply, u16, &str, &str, Is); 11] = [
        (
            ScriptedReply::refused("ThrottlingException"),
            429,
            "ThrottlingException",
            "Too many requests, please wait before trying again.",
            ConverseStreamError::is_throttling_exception,
        ),
        (
            ScriptedReply::refused("ServiceUnavailableException"),
            503,
            "ServiceUnavailableException",
            "Bedrock is unable to process your request.",
            ConverseStreamError::is_service_unavailable_exception,
        ),
        (
            ScriptedReply::refused("InternalServerException"),
            500,
            "InternalServerException",
            FAILED,
            ConverseStreamError::is_internal_server_exception,
        ),
        (
            ScriptedReply::refused("AccessDeniedException"),
            403,
            "AccessDeniedException",
            "You don't have access to the model with the specified model ID.",
            ConverseStreamError::is_access_denied_exception,
        ),
        (
            ScriptedReply::validation("Input is too long for requested model."),
            400,
            "ValidationException",
            "Input is too long for requested model.",
            ConverseStreamError::is_validation_exception,
        ),
        (
            ScriptedReply::refused("ValidationException"),
            400,
            "ValidationException",
            "The provided request is not valid. Check the request and try again.",
            ConverseStreamError::is_validation_exception,
        ),
        (
            ScriptedReply::refused("ModelTimeoutException"),
            408,
            "ModelTimeoutException",
            "Model has timed out in processing the request. Try your request again.",
            ConverseStreamError::is_model_timeout_exception,
        ),
        (
            ScriptedReply::refused("ModelNotReadyException"),
            429,
            "ModelNotReadyException",
            "The model is not ready for inference requests. Try your request again.",
            ConverseStreamError::is_model_not_ready_exception,
        ),
        (
            ScriptedReply::refused("ModelErrorException"),
            424,
            "ModelErrorException",
            FAILED,
            ConverseStreamError::is_model_error_exception,
        ),
        (ScriptedReply::refused("ModelStreamErrorException"), 424, "ModelStreamErrorException", FAILED, |_| true),
        (
            ScriptedReply::refused("ResourceNotFoundException"),
            404,
            "ResourceNotFoundException",
            "Could not resolve the foundation model from the provided model identifier.",
            ConverseStreamError::is_resource_not_found_exception,
        ),
    ];
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        for (reply, status, code, message, is) in refusals.clone() {
            bedrock.reply(reply.clone());
            bedrock.reply(reply);
            let error = stream(&client).await.unwrap_err();
            assert_eq!(refusal(&error), (status, Some(code), Some(message)));
            assert!(is(error.as_service_error().unwrap()), "{code}");
            let error = whole(&client).send().await.unwrap_err();
            assert_eq!(refusal(&error), (status, Some(code), Some(message)));
        }
    }
    let counters = bedrock.counters();
    assert_eq!((counters.requests, counters.finished, counters.refused), (44, 44, 0));
}

#[tokio::test]
async fn bad_gateway_answers_in_html() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(ScriptedReply::bad_gateway());
        bedrock.reply(ScriptedReply::bad_gateway());
        let error = stream(&client).await.unwrap_err();
        assert_eq!(refusal(&error), (502, None, None));
        assert_eq!(error.raw_response().unwrap().headers().get("content-type"), Some("text/html"));
        assert_eq!(refusal(&whole(&client).send().await.unwrap_err()).0, 502);
    }
}

#[tokio::test]
async fn answer_in_one_piece_can_be_refused_cut_and_unreadable() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(ScriptedReply::text("Hello there").exception_after(2, "ModelErrorException"));
        let error = whole(&client).send().await.unwrap_err();
        assert_eq!((refusal(&error).0, refusal(&error).1), (424, Some("ModelErrorException")));

        bedrock.reply(ScriptedReply::text("Hello there").cut_after(2));
        let error = whole(&client).send().await.unwrap_err();
        assert!(matches!(error, SdkError::ResponseError(_) | SdkError::DispatchFailure(_)), "{error:?}");

        for reply in
            [ScriptedReply::text("Hello there").end_after(2), ScriptedReply::text("Hello there").malformed_after(2)]
        {
            bedrock.reply(reply);
            let error = whole(&client).send().await.unwrap_err();
            assert!(error.raw_response().is_some_and(|response| response.status().as_u16() == 200), "{error:?}");
        }
        bedrock.reply(ScriptedReply::default().tool_call("call_1", "clock", json!({})));
        assert_eq!(contents(&whole(&client).send().await.unwrap()).len(), 1);
    }
}
