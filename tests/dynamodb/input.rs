//! Unusual input is stored exactly, or refused with a clear error before anything is written.

use serde_json::{Value as Json, json};
use verbale::Record;
use verbale::log::{CallId, CallLog, LogErrorKind};

use super::{call, id, lease, log, message, record};

fn with_aux(aux: Json) -> Json {
    json!({
        "id": id(0), "seq": 0, "revision": 1, "message": {"role": "user", "contents": ["Hi"]},
        "metadata": {"timing": {"creation": 5}, "aux": aux},
    })
}

/// Returns lists nested `levels` deep.
fn nested(levels: usize) -> Json {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

#[tokio::test]
async fn unusual_input_is_stored_exactly() {
    let log = log().await;
    let digits = "9".repeat(38);
    let records = [
        with_aux(json!({"size": 1, "name": 2, "values": [], "log": {"status": null, "a.b[0]": "#x", ":y": ""}})),
        with_aux(json!({"deep": nested(32)})),
        with_aux(json!({"long": {"$number": digits}, "small": {"$number": "1E-130"}})),
        with_aux(json!({"empty": {"list": [], "map": {}, "text": "", "bytes": {"$bytes": ""}}})),
    ]
    .map(record);
    for (number, record) in records.into_iter().chain([message(0, 1, &"x".repeat(399 * 1024))]).enumerate() {
        let id = format!("CA#{number}#MSG#0");
        log.put_record(&lease(&id), &record).await.unwrap();
        assert_eq!(log.read_call(&call(&id)).await.unwrap().records, [record], "{number}");
    }
    assert!(log.read_call(&call("CA#")).await.unwrap().is_empty());
}

#[tokio::test]
async fn invalid_input_is_refused_before_any_write() {
    for (aux, reason) in
        [(json!({"deep": nested(33)}), "deep"), (json!({"long": {"$number": "9".repeat(39)}}), "digits")]
    {
        let error = serde_json::from_value::<Record>(with_aux(aux)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    for bad in ["", "a\nb", &"x".repeat(1_001)] {
        assert!(CallId::new(bad).is_err());
    }
    // A request to this table would fail with another error.
    let nowhere = log().await.with_table("nowhere");
    let too_large = message(0, 1, &"x".repeat(401 * 1024));
    let error = nowhere.put_record(&lease("CA1"), &too_large).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Refused);
    assert!(error.to_string().contains("offload large contents to a content store"), "{error}");
}
