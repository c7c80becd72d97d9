//! The fake and the embedded engine get the same requests, and must give the same responses and tables.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, PutRequest, ReturnConsumedCapacity, ReturnValue,
    ReturnValuesOnConditionCheckFailure, WriteRequest,
};
use proptest::collection;
use proptest::prelude::*;
use proptest::sample::select;
use verbale::dynamodb::{Item, create_table};
use verbale::embedded::EmbeddedDynamo;

use super::dynamo::{Dynamo, FaultPlan};

#[derive(Debug, Clone)]
enum Step {
    Put {
        item: Item,
        condition: Option<&'static str>,
    },
    Update {
        key: Item,
        update: &'static str,
        condition: Option<&'static str>,
    },
    Delete {
        key: Item,
        condition: Option<&'static str>,
    },
    Get {
        key: Item,
        is_projected: bool,
    },
    Query {
        partition: &'static str,
        sort: Option<&'static str>,
        is_forward: bool,
        limit: Option<i32>,
        is_projected: bool,
    },
    List {
        day: &'static str,
        is_forward: bool,
        limit: Option<i32>,
    },
    Batch(Vec<(Item, bool)>),
}

const CONDITIONS: &[&str] = &[
    "attribute_not_exists(#pk)",
    "attribute_exists(#pk)",
    "attribute_not_exists(#pk) OR (#id = :text AND #n < :number)",
    "#n <= :number",
    "#n > :number AND NOT #id = :text",
    "#n <> :number",
    "#n BETWEEN :number AND :more",
    "begins_with(#id, :text)",
    "#n = :text OR #missing < :number",
    "NOT (attribute_exists(#id) AND #n >= :number)",
    "#id = :missing",
    "log = :number",
    "#id",
];

const UPDATES: &[&str] = &[
    "SET #n = :number",
    "SET #n = if_not_exists(#n, :number), #id = :text",
    "SET #n = #n + :number",
    "SET #a = :text REMOVE #id",
    "ADD #n :number",
    "ADD #n :more REMOVE #a",
    "REMOVE #day, #start",
    "SET #day = :text, #start = :text",
    KEY_UPDATE,
    "SET #n = :number, #n = :more",
];
/// An update that both refuse. The engine evaluates the condition first; DynamoDB validates a request before it reads an
/// item.
const KEY_UPDATE: &str = "SET #pk = :text";

const SORTS: &[&str] = &[
    "#sk = :low",
    "#sk < :low",
    "#sk <= :low",
    "#sk > :low",
    "#sk >= :low",
    "#sk BETWEEN :low AND :high",
    "begins_with(#sk, :low)",
];

const NUMBERS: &[&str] = &["0", "1", "2.50", "-3", "1e2", "12345678901234567890123456789012345678", "0.1", "1e-7"];
const TEXTS: &[&str] = &["", "a", "ab", "b", "é"];
const PARTITIONS: &[&str] = &["p", "q"];
const SORT_KEYS: &[&str] = &["A", "B", "BA", "C"];

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn key() -> impl Strategy<Value = Item> {
    (select(PARTITIONS), select(SORT_KEYS))
        .prop_map(|(partition, sort)| Item::from([("pk".to_owned(), text(partition)), ("sk".to_owned(), text(sort))]))
}

fn attribute() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        select(NUMBERS).prop_map(|number| AttributeValue::N(number.to_owned())),
        select(TEXTS).prop_map(text),
        Just(AttributeValue::Null(true)),
        any::<bool>().prop_map(AttributeValue::Bool),
        collection::vec(select(TEXTS), 0..3)
            .prop_map(|texts| AttributeValue::Ss(texts.into_iter().map(str::to_owned).collect())),
        collection::vec(select(TEXTS).prop_map(text), 0..3).prop_map(AttributeValue::L),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let names = select(&["n", "n", "id", "id", "a", "log", "gsi1pk"][..]);
    let listed = proptest::option::weighted(0.3, (select(&["d", "e"][..]), select(SORT_KEYS)));
    (key(), collection::vec((names, attribute()), 0..4), listed).prop_map(|(mut item, attributes, listed)| {
        item.extend(attributes.into_iter().map(|(name, attribute)| (name.to_owned(), attribute)));
        if let Some((day, start)) = listed {
            item.insert("gsi1pk".to_owned(), text(day));
            item.insert("gsi1sk".to_owned(), text(start));
        }
        item
    })
}

fn condition() -> impl Strategy<Value = Option<&'static str>> {
    proptest::option::weighted(0.6, select(CONDITIONS))
}

fn step() -> impl Strategy<Value = Step> {
    let limit = || proptest::option::of(1..4);
    prop_oneof![
        6 => (item(), condition()).prop_map(|(item, condition)| Step::Put { item, condition }),
        4 => (key(), select(UPDATES), condition())
            .prop_map(|(key, update, condition)| {
            Step::Update { key, update, condition: condition.filter(|_| update != KEY_UPDATE) }
        }),
        1 => (key(), condition()).prop_map(|(key, condition)| Step::Delete { key, condition }),
        1 => (key(), any::<bool>()).prop_map(|(key, is_projected)| Step::Get { key, is_projected }),
        3 => (select(PARTITIONS), proptest::option::of(select(SORTS)), any::<bool>(), limit(), any::<bool>()).prop_map(
            |(partition, sort, is_forward, limit, is_projected)| {
                Step::Query { partition, sort, is_forward, limit, is_projected }
            },
        ),
        2 => (select(&["d", "e"][..]), any::<bool>(), limit())
            .prop_map(|(day, is_forward, limit)| Step::List { day, is_forward, limit }),
        1 => collection::vec((item(), any::<bool>()), 1..4).prop_map(Step::Batch),
    ]
}

/// The expressions of a step, which decide which placeholders it uses.
struct Used(Vec<&'static str>);

impl Used {
    fn names(&self) -> Option<std::collections::HashMap<String, String>> {
        let all = [
            ("#pk", "pk"),
            ("#sk", "sk"),
            ("#id", "id"),
            ("#n", "n"),
            ("#a", "a"),
            ("#missing", "missing"),
            ("#day", "gsi1pk"),
            ("#start", "gsi1sk"),
        ];
        let used = all.into_iter().filter(|(name, _)| self.has(name));
        let used: std::collections::HashMap<_, _> = used.map(|(name, of)| (name.to_owned(), of.to_owned())).collect();
        Some(used).filter(|used| !used.is_empty())
    }

    fn values(&self) -> Option<Item> {
        let number = |text: &str| AttributeValue::N(text.to_owned());
        let all = [
            (":number", number("1.0")),
            (":more", number("4")),
            (":text", text("a")),
            (":low", text("B")),
            (":high", text("C")),
        ];
        let used: Item =
            all.into_iter().filter(|(name, _)| self.has(name)).map(|(name, value)| (name.to_owned(), value)).collect();
        Some(used).filter(|used| !used.is_empty())
    }

    fn has(&self, placeholder: &str) -> bool {
        let words = |text: &'static str| text.split(|c: char| !c.is_alphanumeric() && !"#:_".contains(c));
        self.0.iter().flat_map(|text| words(text)).any(|word| word == placeholder)
    }
}

fn sorted(item: &Item) -> BTreeMap<&String, String> {
    item.iter()
        .map(|(name, value)| {
            let value = match value {
                AttributeValue::Ss(texts) => {
                    let mut texts = texts.clone();
                    texts.sort();
                    format!("{texts:?}")
                }
                other => format!("{other:?}"),
            };
            (name, value)
        })
        .collect()
}

fn error<E: ProvideErrorMetadata>(error: &SdkError<E>) -> String {
    error.code().unwrap_or("?").to_owned()
}

/// Returns the response to a step, as text.
async fn respond(client: &Client, step: &Step) -> String {
    let total = ReturnConsumedCapacity::Total;
    let on_failure = ReturnValuesOnConditionCheckFailure::AllOld;
    match step.clone() {
        Step::Put { item, condition } => {
            let used = Used(condition.into_iter().collect());
            let request = client.put_item().table_name("verbale").set_item(Some(item));
            let request =
                request.set_condition_expression(condition.map(str::to_owned)).return_consumed_capacity(total);
            let request = request.set_expression_attribute_names(used.names());
            let request = request.set_expression_attribute_values(used.values());
            let request =
                request.return_values(ReturnValue::AllOld).return_values_on_condition_check_failure(on_failure);
            match request.send().await {
                Ok(output) => {
                    let units = output.consumed_capacity.and_then(|capacity| capacity.capacity_units);
                    format!("{:?} {units:?}", output.attributes.as_ref().map(sorted))
                }
                Err(failed) => {
                    let there = failed.as_service_error().and_then(|failed| match failed {
                        aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(
                            failed,
                        ) => failed.item(),
                        _ => None,
                    });
                    format!("{} {:?}", error(&failed), there.map(sorted))
                }
            }
        }
        Step::Update { key, update, condition } => {
            let used = Used(condition.into_iter().chain([update]).collect());
            let request = client.update_item().table_name("verbale").set_key(Some(key)).update_expression(update);
            let request =
                request.set_condition_expression(condition.map(str::to_owned)).return_consumed_capacity(total);
            let request = request.set_expression_attribute_names(used.names());
            let request = request.set_expression_attribute_values(used.values());
            match request.return_values(ReturnValue::AllNew).send().await {
                Ok(output) => {
                    let units = output.consumed_capacity.and_then(|capacity| capacity.capacity_units);
                    format!("{:?} {units:?}", output.attributes.as_ref().map(sorted))
                }
                Err(failed) => error(&failed),
            }
        }
        Step::Delete { key, condition } => {
            let used = Used(condition.into_iter().collect());
            let request = client.delete_item().table_name("verbale").set_key(Some(key));
            let request =
                request.set_condition_expression(condition.map(str::to_owned)).return_consumed_capacity(total);
            let request = request.set_expression_attribute_names(used.names());
            let request = request.set_expression_attribute_values(used.values());
            match request.return_values(ReturnValue::AllOld).send().await {
                Ok(output) => {
                    let units = output.consumed_capacity.and_then(|capacity| capacity.capacity_units);
                    format!("{:?} {units:?}", output.attributes.as_ref().map(sorted))
                }
                Err(failed) => error(&failed),
            }
        }
        Step::Get { key, is_projected } => {
            let request = client.get_item().table_name("verbale").set_key(Some(key));
            let request = request.set_projection_expression(is_projected.then(|| "n, a".to_owned()));
            match request.consistent_read(true).send().await {
                Ok(output) => format!("{:?}", output.item.as_ref().map(sorted)),
                Err(failed) => error(&failed),
            }
        }
        Step::Query { partition, sort, is_forward, limit, is_projected } => {
            let condition = sort.map_or("#pk = :pk".to_owned(), |sort| format!("#pk = :pk AND {sort}"));
            let used = Used(["#pk"].into_iter().chain(sort).collect());
            let mut values = used.values().unwrap_or_default();
            values.insert(":pk".to_owned(), text(partition));
            let request = client.query().table_name("verbale").key_condition_expression(condition);
            let request = request.set_projection_expression(is_projected.then(|| "sk, n".to_owned()));
            pages(
                request.set_expression_attribute_names(used.names()).set_expression_attribute_values(Some(values)),
                is_forward,
                limit,
            )
            .await
        }
        Step::List { day, is_forward, limit } => {
            let request =
                client.query().table_name("verbale").index_name("gsi1").key_condition_expression("gsi1pk = :day");
            pages(request.expression_attribute_values(":day", text(day)), is_forward, limit).await
        }
        Step::Batch(writes) => {
            let requests = writes.into_iter().map(|(item, is_put)| {
                if is_put {
                    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
                    return WriteRequest::builder().put_request(put).build();
                }
                let mut key = item;
                key.retain(|name, _| name == "pk" || name == "sk");
                let delete = DeleteRequest::builder().set_key(Some(key)).build().unwrap();
                WriteRequest::builder().delete_request(delete).build()
            });
            match client.batch_write_item().request_items("verbale", requests.collect()).send().await {
                Ok(output) => format!("{:?}", output.unprocessed_items),
                Err(failed) => error(&failed),
            }
        }
    }
}

type Query = aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;

/// Reads all pages, each with its last key.
async fn pages(query: Query, is_forward: bool, limit: Option<i32>) -> String {
    let (mut found, mut start) = (String::new(), None);
    loop {
        let page = query.clone().scan_index_forward(is_forward).set_limit(limit).set_exclusive_start_key(start);
        match page.send().await {
            Err(failed) => return error(&failed),
            Ok(page) => {
                let last = page.last_evaluated_key.as_ref().map(sorted);
                let items: Vec<_> = page.items().iter().map(sorted).collect();
                found.push_str(&format!("{items:?} {} {last:?}\n", page.scanned_count));
                start = page.last_evaluated_key.clone();
            }
        }
        if start.is_none() {
            return found;
        }
    }
}

async fn table(client: &Client) -> Vec<String> {
    let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
    let mut items: Vec<_> = items.iter().map(|item| format!("{:?}", sorted(item))).collect();
    items.sort();
    items
}

/// Deletes all items. A new table for each history would take the engine a second.
async fn clear(client: &Client) {
    for item in client.scan().table_name("verbale").send().await.unwrap().items.unwrap() {
        let key = item.into_iter().filter(|(name, _)| name == "pk" || name == "sk").collect();
        client.delete_item().table_name("verbale").set_key(Some(key)).send().await.unwrap();
    }
}

#[test]
fn fake_responds_like_the_engine() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (fake, engine) = (Dynamo::new(FaultPlan::none()).client(), EmbeddedDynamo::in_memory().unwrap().client());
    for client in [&fake, &engine] {
        runtime.block_on(create_table(client, "verbale")).unwrap();
    }
    proptest!(ProptestConfig::with_cases(256), |(steps in collection::vec(step(), 1..12))| {
        runtime.block_on(async {
            for step in &steps {
                let (found, expected) = (respond(&fake, step).await, respond(&engine, step).await);
                prop_assert_eq!(found, expected, "{:?}", step);
            }
            prop_assert_eq!(table(&fake).await, table(&engine).await);
            clear(&fake).await;
            clear(&engine).await;
            Ok(())
        })?;
    });
}
