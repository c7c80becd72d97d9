//! Counts the requests of an SDK client, their bytes, and the write units that DynamoDB reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::put_item::PutItemOutput;
use aws_sdk_dynamodb::operation::update_item::UpdateItemOutput;
use aws_sdk_dynamodb::types::ConsumedCapacity;

/// The traffic of a client.
#[derive(Debug, Default)]
pub struct Count {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// In thousandths, because DynamoDB may report fractions.
    milli_units: AtomicU64,
}

/// Requests, bytes of their bodies, and write units.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums(pub [f64; 3]);

impl Count {
    /// Returns the counts since the last call of this method.
    pub fn take(&self) -> Sums {
        let take = |count: &AtomicU64| count.swap(0, Relaxed) as f64;
        Sums([take(&self.requests), take(&self.bytes), take(&self.milli_units) / 1_000.0])
    }
}

#[derive(Debug)]
struct Counting(Arc<Count>);

/// Returns a copy of the client and the counter of its traffic.
pub fn counted(client: &Client) -> (Client, Arc<Count>) {
    let count = Arc::new(Count::default());
    let config = client.config().to_builder().interceptor(Counting(count.clone())).build();
    (Client::from_conf(config), count)
}

impl Intercept for Counting {
    fn name(&self) -> &'static str {
        "Counting"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.request().body().bytes().unwrap_or_default();
        self.0.requests.fetch_add(1, Relaxed);
        self.0.bytes.fetch_add(body.len() as u64, Relaxed);
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Ok(output) = context.output_or_error() {
            let put = output.downcast_ref::<PutItemOutput>().and_then(PutItemOutput::consumed_capacity);
            let update = output.downcast_ref::<UpdateItemOutput>().and_then(UpdateItemOutput::consumed_capacity);
            let units = put.or(update).and_then(ConsumedCapacity::capacity_units).unwrap_or_default();
            self.0.milli_units.fetch_add((units * 1_000.0) as u64, Relaxed);
        }
        Ok(())
    }
}
