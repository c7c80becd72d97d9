//! A fake DynamoDB for simulations: [`Dynamo`].
//!
//! The fake runs in memory, as an HTTP connector of the SDK's own client. It enforces the limits of AWS and returns its
//! errors, injects the faults of a [`FaultPlan`], and records everything in a [`Journal`]. Time is that of tokio: run it
//! with a paused clock. The same seed gives the same history.
//!
//! Read `mod.rs`, `plan.rs` and `fault.rs` first. `server.rs` and `connector.rs` pass requests on; `operation/`,
//! `expression/`, `table.rs` and `attribute.rs` implement DynamoDB. The module does not depend on other tests, which can
//! include it with `#[path = "../simulation/dynamo/mod.rs"]`.

#![allow(dead_code, unused_imports, reason = "each test that takes it in uses another part")]

mod attribute;
mod clock;
mod connector;
mod dice;
mod error;
mod expression;
mod fault;
mod journal;
mod number;
mod operation;
mod plan;
mod server;
mod table;

pub use attribute::{Attribute, Item};
pub use clock::{START_MS, VirtualClock};
pub use dice::Dice;
pub use fault::{Fault, Scope, Window};
pub use journal::Journal;
pub use operation::ItemKey;
pub use plan::FaultPlan;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig};
use aws_smithy_async::rt::sleep::TokioSleep;

use connector::Connector;
pub use connector::Death;
use server::Server;

/// A fake DynamoDB. Clones and their clients share the tables.
///
/// ```ignore
/// #[tokio::test(start_paused = true)]
/// async fn timed_out_write_is_applied() {
///     let dynamo = Dynamo::new(FaultPlan::none());
///     create_table(&dynamo.client(), "verbale").await.unwrap();
///     dynamo.next(Fault::TimeoutAfter);
///     let log = DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock()));
///     assert!(log.put_record(&call, &record).await.unwrap_err().is_retryable());
///     assert_eq!(dynamo.journal().writes_of("CALL#CA1", "MSG#00000000"), 1);
/// }
/// ```
#[derive(Clone)]
pub struct Dynamo(Arc<Mutex<Server>>);

impl Dynamo {
    /// Creates a fake without tables. The virtual time of the plan starts now, in a runtime with a paused clock.
    pub fn new(plan: FaultPlan) -> Self {
        Self(Arc::new(Mutex::new(Server::new(plan))))
    }

    /// Returns a client of the SDK with the settings of the log: its timeouts and one attempt.
    pub fn client(&self) -> Client {
        self.client_of(Connector::new(Arc::clone(&self.0)))
    }

    /// Returns a client of a process that dies at one of its requests. The death counts down.
    pub fn mortal_client(&self, death: &Arc<Mutex<Death>>) -> Client {
        self.client_of(Connector::with_death(Arc::clone(&self.0), Arc::clone(death)))
    }

    fn client_of(&self, connector: Connector) -> Client {
        let config = verbale::dynamodb::log_client(Config::builder())
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("eu-central-1"))
            .endpoint_url("http://dynamodb.invalid")
            .credentials_provider(Credentials::new("simulation", "simulation", None, None, "simulation"))
            .http_client(connector)
            .time_source(self.clock())
            .sleep_impl(TokioSleep::new())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Client::from_conf(config)
    }

    /// Returns the client's clock, which steps according to the first plan.
    pub fn clock(&self) -> VirtualClock {
        self.server().clock.clone()
    }

    /// Replaces the plan. The steps of the clock stay those of the first plan.
    pub fn set_plan(&self, plan: FaultPlan) {
        self.server().plan = plan;
    }

    /// Sets the fault of the next request without one, regardless of the plan.
    pub fn next(&self, fault: Fault) {
        self.server().next.push_back(Some(fault));
    }

    /// Lets the next request without a fault pass, regardless of the plan.
    pub fn pass(&self) {
        self.server().next.push_back(None);
    }

    /// Starts or stops the throttling of all requests to a table.
    pub fn throttle_table(&self, name: &str, is_throttled: bool) {
        let mut server = self.server();
        server.throttled.retain(|throttled| throttled != name);
        if is_throttled {
            server.throttled.push(name.to_owned());
        }
    }

    /// Returns the journal so far.
    pub fn journal(&self) -> Journal {
        self.server().journal.clone()
    }

    /// Returns all items of a table by their keys. A missing table has none.
    pub fn items(&self, table: &str) -> BTreeMap<ItemKey, Item> {
        let server = self.server();
        let items = server.tables.get(table).into_iter().flat_map(table::Table::items);
        items.map(|item| ((operation::text_of(item, "pk"), operation::text_of(item, "sk")), item.clone())).collect()
    }

    /// Removes the items of a partition without a trace.
    pub fn drop_partition(&self, table: &str, partition: &str) {
        if let Some(table) = self.server().tables.get_mut(table) {
            table.drop_partition(partition);
        }
    }

    /// Drops the single requests and keeps the totals, for runs with millions of requests.
    pub fn forget_requests(&self) {
        self.server().forget_requests();
    }

    /// Returns the id and revision of all items of a table that have both, and of each message in a span by its own key.
    pub fn revisions(&self, table: &str) -> BTreeMap<ItemKey, (String, u64)> {
        let server = self.server();
        let mut revisions = BTreeMap::new();
        let mut add = |key: ItemKey, item: &Item| {
            if let Some(revision) = item.get("revision").and_then(|revision| revision.as_n()?.parse().ok()) {
                // A message may have an item of its own beside its span.
                let newest = revisions.entry(key).or_insert((String::new(), 0));
                if newest.1 <= revision {
                    *newest = (operation::text_of(item, "id"), revision);
                }
            }
        };
        for item in server.tables.get(table).into_iter().flat_map(table::Table::items) {
            let key = |sort_key| (operation::text_of(item, "pk"), sort_key);
            add(key(operation::text_of(item, "sk")), item);
            for (name, member) in item {
                if let (Some(seq), Attribute::M(member)) = (name.strip_prefix('m'), member)
                    && let Ok(seq) = seq.parse::<u32>()
                {
                    add(key(format!("MSG#{seq:08}")), member);
                }
            }
        }
        revisions
    }

    /// Returns the sort keys of the first and the last message of each span of a partition.
    pub fn spans(&self, table: &str, partition: &str) -> Vec<(String, String)> {
        let server = self.server();
        let items = server.tables.get(table).into_iter().flat_map(table::Table::items);
        let of_partition = items.filter(|item| operation::text_of(item, "pk") == partition);
        let span = |item: &Item| {
            let last: u32 = item.get("last")?.as_n()?.parse().ok()?;
            Some((operation::text_of(item, "sk"), format!("MSG#{last:08}")))
        };
        of_partition.filter_map(span).collect()
    }

    /// Waits until all requests in flight have been applied, including late ones.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(fault::GHOST_MS.end() + 1)).await;
    }

    /// Serves a request at once, without the client and its timeouts.
    pub fn serve(&self, operation: &str, body: &[u8]) -> String {
        let mut server = self.server();
        let visit = server.arrive(operation, body);
        server.journal.in_flight -= 1;
        match server.apply(visit) {
            Ok(answer) => serde_json::to_string(&answer).unwrap_or_default(),
            Err(error) => error.to_body(),
        }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
