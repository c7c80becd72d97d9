//! Long texts that are stored compressed.

use verbale::dynamodb::{DynamoLog, Layout, to_items};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallLog, Put, Span};

use super::{call, lease, log_in, message};

#[tokio::test]
async fn long_texts_cost_less_and_every_log_reads_them() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let plain = log_in(client.clone()).await.with_layout(Layout::Spans);
    let log = DynamoLog::new(client.clone()).with_layout(Layout::Spans);
    let instructions = (0..200).map(|number| format!("Rule {number}: say less. ")).collect::<String>();
    let records = [message(0, 1, &instructions), message(1, 1, "Hello?"), message(2, 1, &instructions)];
    let mut units = Vec::new();
    for (id, log) in [("CA1", &plain), ("CA2", &log)] {
        log.open_call(&CallHeader::new(call(id), 1_744_815_823_058).unwrap()).await.unwrap();
        let before = log.cost();
        log.put_span(&lease(id), Span::try_from(0..=1).unwrap(), &records[..2]).await.unwrap();
        assert_eq!(log.put_record(&lease(id), &records[2]).await.unwrap(), Put::Written);
        units.push((log.cost() - before).write_units);
        assert_eq!(plain.read_call(&call(id)).await.unwrap().records, records);
        assert_eq!(log.read_call(&call(id)).await.unwrap().records, records);
    }
    assert!(units[1] < units[0] / 2.0, "{units:?}");

    // A log with another setting finds the same message, and changes it.
    for log in [&plain, &log] {
        for id in ["CA1", "CA2"] {
            let kept = log.put_span(&lease(id), Span::try_from(0..=1).unwrap(), &records[..2]).await.unwrap();
            assert!(kept.into_iter().all(|put| put.unwrap() == Put::Kept));
            assert_eq!(log.put_record(&lease(id), &records[2]).await.unwrap(), Put::Kept);
        }
    }
    let later = message(0, 2, &instructions.to_uppercase());
    plain.put_record(&lease("CA2"), &later).await.unwrap();
    log.put_record(&lease("CA1"), &later).await.unwrap();
    for id in ["CA1", "CA2"] {
        assert_eq!(log.read_call(&call(id)).await.unwrap().records[0], later);
    }

    // Only long texts are no plain texts in the table.
    let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
    let item = items
        .iter()
        .find(|item| item["pk"].as_s().unwrap() == "CALL#CA2" && item["sk"].as_s().unwrap() == "MSG#00000002");
    let mut item = item.unwrap().clone();
    assert!(item["contents"].as_l().unwrap()[0].as_m().unwrap()["$zstd"].is_b());
    item.remove("contents");
    let mut expected = to_items(&call("CA2"), [&records[2]]).unwrap().remove(0);
    assert!(expected.remove("contents").is_some());
    assert_eq!(item, expected);
}
