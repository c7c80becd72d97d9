//! The texts of the errors that every log of this crate shares.

use std::sync::Arc;

use serde_json::json;
use verbale::Record;
use verbale::log::{CallChange, CallLog, MemoryLog};

use super::resumed::resume;
use super::support::{START_MS, assert_fenced, call, first, header, id, message, open, put, put_as, tenant};

#[tokio::test]
async fn error_says_what_happened_to_which_call() {
    says_what_happened(Arc::new(MemoryLog::default())).await;
    says_what_happened(Arc::new(super::dynamodb::log().await)).await;
}

async fn says_what_happened(log: Arc<dyn CallLog>) {
    let lease = open(&log, &header("CA1", START_MS)).await;
    put_as(&log, &lease, &[message(0, 2)]).await;
    let changed = |key: &str, value: serde_json::Value| {
        let mut json = serde_json::to_value(message(0, 2)).unwrap();
        json[key] = value;
        serde_json::from_value::<Record>(json).unwrap()
    };
    let words = changed("message", json!({"role": "user", "contents": ["other secret words"]}));
    let other_contents = log.put_record(&lease, &words).await.unwrap_err();
    let other_message = log.put_record(&lease, &changed("id", id(7).to_string().into())).await.unwrap_err();
    let other_header = log.open_call(&header("CA1", START_MS).with_tenant(tenant("A bank"))).await.unwrap_err();
    log.change_call(&call("CA1"), &CallChange::Hold).await.unwrap();
    let held = log.erase_call(&call("CA1")).await.unwrap_err();
    put(&log, &call("CA2"), &[message(0, 1)]).await;
    let not_opened = resume(&log, &call("CA2")).await.unwrap_err();
    log.erase_call(&call("CA2")).await.unwrap();
    let erased = log.put_record(&first(&call("CA2")), &message(0, 2)).await.unwrap_err();
    let contents = format!("message 0 of call CA1, message {}, has other contents in the log at the same", id(0));
    let found = format!("message 0 of call CA1 is message {} in the log, not {}; nothing was written", id(0), id(7));
    for (error, text) in [
        (other_contents, contents.as_str()),
        (other_message, found.as_str()),
        (
            other_header,
            "call CA1 was opened with another start, tenant, caller, attributes or expiry; nothing was written",
        ),
        (held, "call CA1 is under a legal hold; nothing was erased"),
        (not_opened, "call CA2 was never opened, or has expired; nothing was changed"),
        (erased, "call CA2 was erased; nothing was read or written"),
    ] {
        assert!(error.to_string().starts_with(text), "{error}");
    }
    resume(&log, &call("CA1")).await.unwrap();
    assert_fenced(&log, &lease, &[message(0, 3), message(1, 1)], 2).await;
}
