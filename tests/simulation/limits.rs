//! The limits of AWS, each tested on both sides.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use verbale::dynamodb::{Item, create_table, item_size};

use super::dynamo::{Dynamo, FaultPlan};

async fn client() -> Client {
    let client = Dynamo::new(FaultPlan::none()).client();
    create_table(&client, "verbale").await.unwrap();
    client
}

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn number(number: impl Into<String>) -> AttributeValue {
    AttributeValue::N(number.into())
}

fn item(attributes: impl IntoIterator<Item = (&'static str, AttributeValue)>) -> Item {
    let keys = [("pk", text("p")), ("sk", text("s"))];
    keys.into_iter().chain(attributes).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Puts an item. Returns the text of the error, or `None` on success.
async fn put(client: &Client, item: Item) -> Option<String> {
    let error = client.put_item().table_name("verbale").set_item(Some(item)).send().await.err()?;
    assert_eq!(error.code(), Some("ValidationException"));
    error.message().map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn item_has_400_kb() {
    let client = client().await;
    let of_size = |bytes| item([("a", text("x".repeat(bytes - item_size(&item([("a", text(""))])))))]);
    for (bytes, refusal) in [
        (399 * 1024, None),
        (400 * 1024, None),
        (400 * 1024 + 1, Some("Item size has exceeded the maximum allowed size")),
        (401 * 1024, Some("Item size has exceeded the maximum allowed size")),
    ] {
        assert_eq!(put(&client, of_size(bytes)).await.as_deref(), refusal, "{bytes}");
    }
    put(&client, of_size(400 * 1024)).await;
    let update = client.update_item().table_name("verbale").key("pk", text("p")).key("sk", text("s"));
    let update = update.update_expression("SET b = :b").expression_attribute_values(":b", text("x"));
    let error = update.send().await.unwrap_err();
    assert_eq!(error.message(), Some("Item size to update has exceeded the maximum allowed size"));
}

#[tokio::test(start_paused = true)]
async fn item_has_32_levels() {
    let client = client().await;
    let nested = |levels| (0..levels).fold(text("x"), |inner, _| AttributeValue::L(vec![inner]));
    let too_deep = "Nesting Levels have exceeded supported limits";
    for (levels, is_accepted) in [(1, true), (31, true), (32, false), (33, false), (90, false)] {
        let refusal = put(&client, item([("a", nested(levels))])).await;
        assert_eq!(refusal.is_none(), is_accepted, "{levels} and the item: {refusal:?}");
        assert!(refusal.is_none_or(|refusal| refusal.starts_with(too_deep)));
    }
}

#[tokio::test(start_paused = true)]
async fn number_has_38_digits() {
    let client = client().await;
    let digits = "Attempting to store more than 38 significant digits in a Number";
    let range =
        |what, than| format!("Number {what}. Attempting to store a number with magnitude {than} than supported range");
    for (given, expected) in [
        ("1".repeat(38), Ok("1".repeat(38))),
        ("1".repeat(39), Err(digits.to_owned())),
        (format!("0.{}", "1".repeat(39)), Err(digits.to_owned())),
        (format!("00{}000", "1".repeat(38)), Ok(format!("{}000", "1".repeat(38)))),
        ("9e125".to_owned(), Ok(format!("9{}", "0".repeat(125)))),
        ("1e126".to_owned(), Err(range("overflow", "larger"))),
        ("-1e126".to_owned(), Err(range("overflow", "larger"))),
        ("1e-130".to_owned(), Ok(format!("0.{}1", "0".repeat(129)))),
        ("9e-131".to_owned(), Err(range("underflow", "smaller"))),
        ("-0.0".to_owned(), Ok("0".to_owned())),
        ("1.50e1".to_owned(), Ok("15".to_owned())),
        ("-12.340".to_owned(), Ok("-12.34".to_owned())),
        ("NaN".to_owned(), Err("The parameter cannot be converted to a numeric value: NaN".to_owned())),
        (String::new(), Err("The parameter cannot be converted to a numeric value: ".to_owned())),
    ] {
        let refusal = put(&client, item([("a", number(&given))])).await;
        let found = client.get_item().table_name("verbale").key("pk", text("p")).key("sk", text("s"));
        let outcome = match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(found.send().await.unwrap().item.unwrap()["a"].as_n().unwrap().clone()),
        };
        assert_eq!(outcome, expected, "{given}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_have_limited_lengths_and_types() {
    let client = client().await;
    let long = |bytes| text("x".repeat(bytes));
    for (name, value, refusal) in [
        ("pk", long(2_048), ""),
        ("pk", long(2_049), "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        ("sk", long(1_024), ""),
        ("sk", long(1_025), "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"),
        ("pk", text(""), "cannot contain an empty string value. Key: pk"),
        ("sk", number("1"), "Type mismatch for key sk expected: S actual: N"),
        ("gsi1pk", number("1"), "Type mismatch for Index Key gsi1pk Expected: S Actual: N IndexName: gsi1"),
        ("gsi1sk", text(""), "IndexName: gsi1, IndexKey: gsi1sk"),
        ("", text("x"), "Empty attribute name"),
    ] {
        let found = put(&client, item([(name, value)])).await;
        assert!(found.clone().unwrap_or_default().ends_with(refusal), "{name}: {found:?}");
        assert_eq!(found.is_none(), refusal.is_empty(), "{name}: {found:?}");
    }
    let mut without = item([]);
    without.remove("sk");
    let refusal = put(&client, without).await.unwrap();
    assert_eq!(refusal, "One or more parameter values were invalid: Missing the key sk in the item");
}

#[tokio::test(start_paused = true)]
async fn sets_have_distinct_elements() {
    let client = client().await;
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    for (set, refusal) in [
        (AttributeValue::Ss(texts(&["a", "b"])), ""),
        (AttributeValue::Ss(vec![]), "An string set  may not be empty"),
        (AttributeValue::Ns(vec![]), "An number set  may not be empty"),
        (AttributeValue::Bs(vec![]), "Binary sets should not be empty"),
        (AttributeValue::Ss(texts(&["a", "a"])), "Input collection [a, a] contains duplicates."),
        (AttributeValue::Ns(texts(&["1", "1.0"])), "Input collection [1, 1] contains duplicates."),
        (AttributeValue::Bs(vec![Blob::new("a"), Blob::new("a")]), "contains duplicates."),
    ] {
        let found = put(&client, item([("a", AttributeValue::L(vec![set]))])).await;
        assert!(found.clone().unwrap_or_default().ends_with(refusal), "{found:?}");
        assert_eq!(found.is_none(), refusal.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn batch_has_25_distinct_items() {
    let client = client().await;
    let request = |number: usize| {
        let put = PutRequest::builder().item("pk", text("p")).item("sk", text(number.to_string())).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    for (numbers, refusal) in [
        ((0..25).collect::<Vec<_>>(), None),
        ((0..26).collect(), Some("Too many items requested for the BatchWriteItem call")),
        (vec![1, 1], Some("Provided list of item keys contains duplicates")),
    ] {
        let requests = numbers.into_iter().map(request).collect();
        let outcome = client.batch_write_item().request_items("verbale", requests).send().await;
        assert_eq!(outcome.err().and_then(|error| error.message().map(str::to_owned)).as_deref(), refusal);
    }
}

#[tokio::test(start_paused = true)]
async fn page_has_one_megabyte() {
    let client = client().await;
    for number in 0..5 {
        let mut item = item([("a", text("x".repeat(300_000)))]);
        item.insert("sk".to_owned(), text(number.to_string()));
        assert_eq!(put(&client, item).await, None);
    }
    let query = client.query().table_name("verbale").key_condition_expression("pk = :p");
    let pages = query.expression_attribute_values(":p", text("p")).into_paginator().send();
    let pages: Vec<_> = pages.try_collect().await.unwrap();
    assert_eq!(pages.iter().map(|page| page.count).collect::<Vec<_>>(), [3, 2]);
}
