//! Puts and releases in DynamoDB whose requests interleave, are cut off, or arrive late.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use tokio::sync::Notify;
use verbale::contents::{Blob, ContentStore};
use verbale::dynamodb::DynamoContents;

use super::dynamodb::{Table, table};

/// The actions of others on the same table while a request is held.
type Others = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The fate of one request.
#[derive(Clone)]
enum Fate {
    /// Others act before the request is sent.
    After(Others),
    /// The request is not sent and gets no response.
    NotSent,
    /// The request is sent and gets no response.
    NotAnswered,
    /// The request is sent by [`Fateful::deliver`] and gets no response.
    Late,
}

/// The client of a table that applies a fate to the request number `at`.
#[derive(Clone)]
struct Fateful {
    inner: SharedHttpClient,
    connector: Option<SharedHttpConnector>,
    at: usize,
    fate: Fate,
    count: Arc<AtomicUsize>,
    met: Arc<Notify>,
    held: Arc<Mutex<Option<(SharedHttpConnector, HttpRequest)>>>,
}

impl Fateful {
    fn new(table: &Table, at: usize, fate: Fate) -> Self {
        let inner = table.client.config().http_client().unwrap();
        Self { inner, connector: None, at, fate, count: Arc::default(), met: Arc::default(), held: Arc::default() }
    }

    fn store(&self, table: &Table) -> DynamoContents {
        let config = table.client.config().to_builder().http_client(self.clone()).build();
        DynamoContents::new(Client::from_conf(config))
    }

    /// Returns whether the client sent enough requests to apply the fate.
    fn is_met(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.at
    }

    /// Runs an action until it ends or its request gets no response.
    async fn run(&self, table: &Table, action: &Action) {
        let store = self.store(table);
        tokio::select! {
            biased;
            () = self.met.notified() => {}
            () = action.run(&store) => {}
        }
    }

    /// Sends the held request, as a slow network would.
    async fn deliver(&self) {
        let held = self.held.lock().unwrap().take();
        if let Some((connector, request)) = held {
            connector.call(request).await.unwrap();
        }
    }
}

impl fmt::Debug for Fateful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fateful")
    }
}

impl HttpClient for Fateful {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let connector = Some(self.inner.http_connector(settings, components));
        SharedHttpConnector::new(Self { connector, ..self.clone() })
    }
}

impl HttpConnector for Fateful {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (this, connector) = (self.clone(), self.connector.clone().unwrap());
        HttpConnectorFuture::new(async move {
            if this.count.fetch_add(1, Ordering::Relaxed) != this.at {
                return connector.call(request).await;
            }
            match &this.fate {
                Fate::After(others) => {
                    others().await;
                    return connector.call(request).await;
                }
                Fate::NotSent => {}
                Fate::NotAnswered => drop(connector.call(request).await.unwrap()),
                Fate::Late => *this.held.lock().unwrap() = Some((connector, request)),
            }
            this.met.notify_one();
            std::future::pending::<Result<HttpResponse, ConnectorError>>().await
        })
    }
}

/// An action of an owner.
#[derive(Debug, Clone)]
enum Action {
    Put(&'static str),
    Release(&'static str),
}

thread_local! {
    static CONTENT: RefCell<Blob> = RefCell::new(Blob::new(&b"Hi, there"[..]));
}

/// The content of the test, of one chunk by default. It is small because the tests put it into hundreds of tables.
fn blob() -> Blob {
    CONTENT.with_borrow(Blob::clone)
}

/// Lets the test put a content of two chunks, whose head is written before them.
fn use_two_chunks() {
    CONTENT.set(Blob::new(vec![7; 350 * 1024 + 1]));
}

impl Action {
    async fn run(&self, store: &DynamoContents) {
        match self {
            Self::Put(owner) => store.put(&blob(), owner).await.unwrap(),
            Self::Release(owner) => store.release(owner).await.unwrap(),
        }
    }

    fn owner(&self) -> &'static str {
        match self {
            Self::Put(owner) | Self::Release(owner) => owner,
        }
    }

    fn is_put(&self) -> bool {
        matches!(self, Self::Put(_))
    }
}

fn put(name: &'static str) -> Action {
    Action::Put(name)
}

fn release(name: &'static str) -> Action {
    Action::Release(name)
}

/// Returns a table after some actions.
async fn table_after(actions: &[Action]) -> Table {
    let table = table().await;
    for action in actions {
        action.run(&table.store()).await;
    }
    table
}

/// Asserts that the content exists until the last of its owners is released, and that the table is then empty.
async fn assert_used_by(table: &Table, owners: &[&str], when: &str) {
    let store = table.store();
    for owner in owners {
        assert_eq!(store.get(blob().id()).await.unwrap(), Some(blob()), "{when}");
        store.release(owner).await.unwrap();
    }
    assert_empty(table, when).await;
}

/// Asserts that the table has only ended uses, and nothing after a sweep of all owners.
async fn assert_empty(table: &Table, when: &str) {
    let left: Vec<_> = table.used_items().await.iter().map(super::dynamodb::keys).collect();
    assert_eq!(left, Vec::<[String; 2]>::new(), "{when}");
    for name in ["A", "B", "C"] {
        table.store().sweep(name).await.unwrap();
    }
    assert_eq!(table.items().await, [], "{when}");
}

/// The states of the table before the actions of A and B: empty, or with the content of one, of both, or of a third owner.
fn befores() -> Vec<Vec<Action>> {
    vec![vec![], vec![put("A")], vec![put("B")], vec![put("A"), put("B")], vec![put("C")], vec![put("A"), put("C")]]
}

/// Runs all actions of others between two requests of one action, for each pair of requests.
#[tokio::test]
async fn interleaved_actions_keep_exactly_the_used_contents() {
    assert!(interleave(befores(), 1).await > 250);
}

#[tokio::test]
async fn interleaved_uploads_of_chunks_keep_exactly_the_used_contents() {
    use_two_chunks();
    assert!(interleave(vec![vec![]], 3).await > 20);
}

/// Interleaves each `step`th pair of actions. Returns the number of interleavings.
async fn interleave(befores: Vec<Vec<Action>>, step: usize) -> usize {
    let mut met = 0;
    for before in befores {
        for (one, others) in [
            (put("A"), vec![put("B")]),
            (put("A"), vec![release("B")]),
            (put("A"), vec![put("B"), release("B")]),
            (put("A"), vec![release("B"), put("B")]),
            (put("A"), vec![release("C"), put("B"), release("B")]),
            (put("A"), vec![release("A")]),
            (put("A"), vec![put("A")]),
            (put("A"), vec![release("A"), put("A")]),
            (put("A"), vec![put("A"), release("A"), release("C")]),
            (release("A"), vec![put("B")]),
            (release("A"), vec![release("B")]),
            (release("A"), vec![release("B"), put("B")]),
            (release("A"), vec![put("B"), release("B")]),
            (release("A"), vec![put("B"), release("B"), put("C")]),
            (release("A"), vec![put("A")]),
            (release("A"), vec![release("A")]),
            (release("A"), vec![release("A"), put("A")]),
        ]
        .into_iter()
        .step_by(step)
        {
            for at in 0.. {
                let when = format!("{before:?}, then {one:?} with {others:?} before its request {at}");
                let table = table_after(&before).await;
                let (store, actions) = (table.store(), others.clone());
                let fate = Fate::After(Arc::new(move || {
                    let (store, actions) = (store.clone(), actions.clone());
                    Box::pin(async move {
                        for action in actions {
                            action.run(&store).await;
                        }
                    })
                }));
                let fateful = Fateful::new(&table, at, fate);
                fateful.run(&table, &one).await;
                if !fateful.is_met() {
                    break;
                }
                met += 1;
                // The last action of an owner decides whether it uses the content. If a put and a release of one owner
                // overlap, either may be the last.
                let mut last: std::collections::BTreeMap<&str, Option<bool>> =
                    before.iter().chain(&others).map(|action| (action.owner(), Some(action.is_put()))).collect();
                let is_put = match others.iter().rfind(|action| action.owner() == one.owner()) {
                    Some(other) if other.is_put() != one.is_put() => None,
                    _ if others
                        .iter()
                        .any(|action| action.owner() == one.owner() && action.is_put() != one.is_put()) =>
                    {
                        None
                    }
                    _ => Some(one.is_put()),
                };
                last.insert(one.owner(), is_put);
                let of = |is_put| last.iter().filter(move |(_, put)| **put == is_put).map(|(owner, _)| *owner);
                for owner in of(None) {
                    // In both cases the state is consistent: used and complete, or released.
                    let uses = table.items().await.iter().any(|item| {
                        let [partition, sort] = super::dynamodb::keys(item);
                        partition.starts_with("CONTENT#") && sort == format!("USE#{owner}")
                    });
                    assert!(!uses || table.store().get(blob().id()).await.unwrap().is_some(), "{when}");
                    table.store().release(owner).await.unwrap();
                }
                assert_used_by(&table, &of(Some(true)).collect::<Vec<_>>(), &when).await;
            }
        }
    }
    met
}

/// Cuts an action off at each request, sent or not, and repeats the action.
#[tokio::test]
async fn repeating_a_cut_off_action_completes_it() {
    cut_off(befores()).await;
}

#[tokio::test]
async fn repeating_a_cut_off_upload_completes_it() {
    use_two_chunks();
    cut_off(vec![vec![]]).await;
}

async fn cut_off(befores: Vec<Vec<Action>>) {
    for before in befores {
        for (one, fate) in [
            (put("A"), Fate::NotSent),
            (put("A"), Fate::NotAnswered),
            (release("A"), Fate::NotSent),
            (release("A"), Fate::NotAnswered),
        ] {
            for at in 0.. {
                let fateful = |table: &Table| Fateful::new(table, at, fate.clone());
                let mut owners: Vec<&str> = before.iter().map(Action::owner).collect();
                owners.retain(|owner| *owner != one.owner());
                let when = format!("{before:?}, then {one:?} cut off at request {at}");

                // The contents of others stay. A release deletes a content without other users.
                let table = table_after(&before).await;
                let cut = fateful(&table);
                cut.run(&table, &one).await;
                if !cut.is_met() {
                    break;
                }
                release("A").run(&table.store()).await;
                assert_used_by(&table, &owners, &when).await;

                // A repetition completes the action.
                let table = table_after(&before).await;
                fateful(&table).run(&table, &one).await;
                one.run(&table.store()).await;
                if one.is_put() {
                    owners.push(one.owner());
                }
                assert_used_by(&table, &owners, &when).await;
            }
        }
    }
}

/// Cuts an action off, repeats it, and then delivers the request that was cut off.
#[tokio::test]
async fn late_request_deletes_no_used_content() {
    late_request(befores()).await;
}

#[tokio::test]
async fn late_request_of_an_upload_deletes_no_used_content() {
    use_two_chunks();
    late_request(vec![vec![]]).await;
}

async fn late_request(befores: Vec<Vec<Action>>) {
    for before in befores {
        for (one, later) in [
            (put("A"), vec![put("A")]),
            (put("A"), vec![put("A"), put("B")]),
            (put("A"), vec![put("A"), release("A"), put("B")]),
            (put("A"), vec![release("A"), put("B")]),
            (put("A"), vec![release("A"), put("A")]),
            (put("A"), vec![release("A")]),
            (put("A"), vec![put("B"), release("A"), release("B")]),
            (release("A"), vec![release("A")]),
            (release("A"), vec![release("A"), put("A")]),
            (release("A"), vec![release("A"), put("B")]),
            (release("A"), vec![put("A")]),
            (release("A"), vec![put("B"), release("C")]),
        ] {
            for at in 0.. {
                let table = table_after(&before).await;
                let late = Fateful::new(&table, at, Fate::Late);
                late.run(&table, &one).await;
                if !late.is_met() {
                    break;
                }
                for action in &later {
                    action.run(&table.store()).await;
                }
                late.deliver().await;
                let when = format!("{before:?}, then request {at} of {one:?} arrives after {later:?}");
                let mut last = std::collections::BTreeMap::new();
                for action in before.iter().chain(&later) {
                    last.insert(action.owner(), action.is_put());
                }
                // A sweep of the released owners clears all remains, unless others use the content. Their release does.
                let of = |is_put| last.iter().filter(move |(_, put)| **put == is_put).map(|(owner, _)| *owner);
                for owner in of(false) {
                    table.store().sweep(owner).await.unwrap();
                }
                let users: Vec<&str> = of(true).collect();
                assert_used_by(&table, &users, &when).await;
            }
        }
    }
}
