//! The store in DynamoDB: its items and its cost.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::Blob as Bytes;
use aws_sdk_dynamodb::types::AttributeValue;
use verbale::contents::{Blob, ContentStore};
use verbale::dynamodb::{Cost, DynamoContents, Item, create_table, item_size};
use verbale::embedded::EmbeddedDynamo;

const CHUNK_BYTES: usize = 350 * 1024;

/// An empty table in memory.
pub struct Table {
    pub client: Client,
}

pub async fn table() -> Table {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    Table { client }
}

impl Table {
    pub fn store(&self) -> DynamoContents {
        DynamoContents::new(self.client.clone())
    }

    /// Returns all items, ordered by their keys.
    pub async fn items(&self) -> Vec<Item> {
        let mut pages = self.client.scan().table_name("verbale").into_paginator().send();
        let mut items = Vec::new();
        while let Some(page) = pages.next().await {
            items.extend(page.unwrap().items.unwrap_or_default());
        }
        items.sort_by_key(keys);
        items
    }

    /// Returns all items but the ended uses.
    pub async fn used_items(&self) -> Vec<Item> {
        let mut items = self.items().await;
        items.retain(|item| !item.contains_key("expires_at"));
        items
    }

    async fn put(&self, item: Item) {
        self.client.put_item().table_name("verbale").set_item(Some(item)).send().await.unwrap();
    }
}

pub fn keys(item: &Item) -> [String; 2] {
    ["pk", "sk"].map(|name| item[name].as_s().unwrap().clone())
}

/// Returns bytes that differ from one position to the next.
fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 31 % 251) as u8).collect()
}

#[tokio::test]
async fn content_of_any_size_is_split_and_restored() {
    let (table, call) = (table().await, "CA1");
    let store = table.store();
    for (size, chunks) in [
        (0, 0),
        (1, 1),
        (CHUNK_BYTES - 1, 1),
        (CHUNK_BYTES, 1),
        (CHUNK_BYTES + 1, 2),
        (1_000_000, 3),
        (5 * 1024 * 1024, 15),
    ] {
        let blob = Blob::new(bytes(size));
        store.put(&blob, call).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob), "{size}");
        let items = table.items().await;
        assert_eq!(items.len(), chunks + 3, "a head, two uses, and the chunks of {size} bytes");
        let largest = items.iter().map(item_size).max().unwrap();
        assert!(largest <= 400 * 1024 && (largest > 350_000 || size < CHUNK_BYTES - 1), "{largest} of {size}");
        store.release(call).await.unwrap();
        store.sweep(call).await.unwrap();
        assert_eq!(table.items().await, [], "{size}");
    }
}

#[tokio::test]
async fn items_have_the_documented_form() {
    let table = table().await;
    let blob = Blob::new(&b"Hi, there"[..]);
    table.store().put(&blob, "CA#1").await.unwrap();
    table.store().put(&blob, "CA#1").await.unwrap();
    let mut items = table.items().await;
    let content = format!("CONTENT#{}", blob.id());
    let generation = items[1].remove("generation").unwrap().as_s().unwrap().clone();
    let put_ids: Vec<_> = [2, 3].map(|at| items[at].remove("put").unwrap()).into();
    assert_eq!(put_ids[0], put_ids[1]);
    let item = |pk: &str, sk: &str, entity: &str| {
        let mut item = Item::from([("v".to_owned(), AttributeValue::N("1".to_owned()))]);
        let texts = [("pk", pk), ("sk", sk), ("entity", entity)];
        item.extend(texts.map(|(name, text)| (name.to_owned(), AttributeValue::S(text.to_owned()))));
        item
    };
    let mut chunk = item(&content, &format!("CHUNK#{generation}#0000"), "chunk");
    chunk.insert("bytes".to_owned(), AttributeValue::B(Bytes::new(&b"Hi, there"[..])));
    let mut head = item(&content, "CONTENT", "content");
    head.insert("size".to_owned(), AttributeValue::N("9".to_owned()));
    head.insert("puts".to_owned(), AttributeValue::N("2".to_owned()));
    assert_eq!(items, [chunk, head, item(&content, "USE#CA#1", "use"), item("OWNER#CA#1", &content, "use")]);
}

#[tokio::test]
async fn damage_is_reported_and_repaired_by_the_next_put() {
    let (table, call) = (table().await, "CA1");
    let store = table.store();
    let blob = Blob::new(bytes(CHUNK_BYTES * 2));
    type Damage = fn(&mut Item) -> bool;
    let damages: [Damage; 3] = [
        |_| true,
        |chunk| chunk.insert("bytes".to_owned(), AttributeValue::B(Bytes::new(&b"my pin is 47-11"[..]))).is_none(),
        |chunk| chunk.remove("bytes").is_none(),
    ];
    for damage in damages {
        store.put(&blob, call).await.unwrap();
        let mut chunk = table.items().await.remove(1);
        assert!(chunk.contains_key("bytes"));
        if damage(&mut chunk) {
            let key = Item::from(["pk", "sk"].map(|name| (name.to_owned(), chunk[name].clone())));
            table.client.delete_item().table_name("verbale").set_key(Some(key)).send().await.unwrap();
        } else {
            table.put(chunk).await;
        }
        let error = store.get(blob.id()).await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("content {} is corrupt", blob.id())), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("pin"), "{error:?}");
        store.put(&blob, call).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
        assert_eq!(table.items().await.len(), 5, "two chunks, a head, two uses, and no damaged chunk");
    }
    store.release(call).await.unwrap();
    assert_eq!(table.used_items().await, []);
}

#[tokio::test]
async fn requests_cost_the_documented_units() {
    let (table, blob) = (table().await, Blob::new(bytes(2_000)));
    let store = table.store();
    let spent = std::cell::Cell::new(Cost::default());
    // The cost since the last call.
    let figures = || {
        let cost = store.cost() - spent.replace(store.cost());
        (cost.requests, cost.write_units, cost.read_units)
    };
    let [one, other] = ["CA1", "CA2"];
    // 4 units for the uses, 3 for the chunk, 1 for the head. Later puts write the uses and the count in the head.
    store.put(&blob, one).await.unwrap();
    assert_eq!(figures(), (5, 8.0, 2.0));
    store.put(&blob, other).await.unwrap();
    assert_eq!(figures(), (3, 5.0, 1.0));
    store.put(&blob, one).await.unwrap();
    assert_eq!(figures(), (3, 5.0, 1.0));
    store.get(blob.id()).await.unwrap();
    assert_eq!(figures(), (1, 0.0, 1.0));
    // The two items of the use. The last release also deletes the head and the chunk.
    store.release(one).await.unwrap();
    assert_eq!(figures(), (4, 2.0, 2.0));
    store.release(other).await.unwrap();
    assert_eq!(figures(), (8, 6.0, 4.0));
    store.sweep(other).await.unwrap();
    assert_eq!(figures(), (6, 2.0, 4.0));
    store.release(other).await.unwrap();
    assert_eq!(figures(), (1, 0.0, 1.0));
}

#[tokio::test]
async fn error_names_the_content_or_the_owner() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let (store, blob) = (DynamoContents::new(client).with_table("elsewhere"), Blob::new(bytes(10)));
    let put = store.put(&blob, "CA1").await.unwrap_err();
    let get = store.get(blob.id()).await.unwrap_err();
    for error in [&put, &get] {
        assert!(error.to_string().contains(&blob.id().to_string()) && !error.is_retryable(), "{error}");
    }
    let release = store.release("CA1").await.unwrap_err();
    assert_eq!(
        release.to_string(),
        "the content store could not release all contents of CA1; see the source of this error"
    );
    assert!(!release.is_retryable());
    let source = std::error::Error::source(&release).unwrap().to_string();
    assert!(
        source.starts_with("Query of the contents of CA1 in table elsewhere failed: there is no such table"),
        "{source}"
    );
}

#[tokio::test]
async fn compressed_text_is_read_back_whatever_the_setting() {
    let (table, call) = (table().await, "CA1");
    let (plain, compressing) = (table.store(), table.store().with_compression(true));
    let mut number = 7_u64;
    let words = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("the ferry number {} leaves at {} ", number >> 40, number % 24)
    });
    let said: String = words.take(40_000).collect();
    let (text, image) = (Blob::new(said.into_bytes()), Blob::new((0..=255).cycle().take(3_000).collect::<Vec<u8>>()));
    for blob in [&text, &image] {
        let before = compressing.cost();
        compressing.put(blob, call).await.unwrap();
        let units = (compressing.cost() - before).write_units;
        let is_smaller = units < blob.bytes().len() as f64 / 1_024.0;
        assert_eq!(is_smaller, blob == &text, "{units} units for {} bytes", blob.bytes().len());
        assert_eq!(plain.get(blob.id()).await.unwrap().as_ref(), Some(blob));
        // A put without compression finds the content.
        plain.put(blob, "CA2").await.unwrap();
        compressing.release(call).await.unwrap();
        assert_eq!(compressing.get(blob.id()).await.unwrap().as_ref(), Some(blob));
        plain.release("CA2").await.unwrap();
        assert_eq!(table.used_items().await, []);
    }
}
