//! [`Cost`]: the requests and capacity units that a log or content store used.

use std::fmt;
use std::ops::{AddAssign, Sub};
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// The requests to DynamoDB and the capacity units that they used, including those of indexes.
///
/// Subtract an earlier cost to get the cost of the requests in between. Units are those of [on-demand
/// capacity](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html): one write
/// unit for each KB written, one read unit for each 4 KB read consistently, and half a read unit for each 4 KB of a
/// list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// Requests that got a response.
    pub requests: u64,
    /// Write units.
    pub write_units: f64,
    /// Read units.
    pub read_units: f64,
}

impl Cost {
    pub(super) fn of_write(capacity: Option<&ConsumedCapacity>) -> Self {
        Self::of_refused_write(units(capacity))
    }

    /// DynamoDB does not report the cost of a write whose condition was false. The cost is that of the existing item's
    /// size, see
    /// [Write operations](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
    pub(super) fn of_refused_write(write_units: f64) -> Self {
        Self { requests: 1, write_units, read_units: 0.0 }
    }

    pub(super) fn of_read(capacity: Option<&ConsumedCapacity>) -> Self {
        Self { requests: 1, write_units: 0.0, read_units: units(capacity) }
    }
}

/// Returns the write units of an item of `bytes` bytes.
pub(super) fn write_units(bytes: usize) -> f64 {
    // Exact: an item has 400 KB at most.
    bytes.div_ceil(1024).max(1) as f64
}

fn units(capacity: Option<&ConsumedCapacity>) -> f64 {
    capacity.and_then(ConsumedCapacity::capacity_units).unwrap_or_default()
}

/// Adds up the cost of the requests of all clones.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Cost>>);

impl Meter {
    pub fn add(&self, cost: Cost) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += cost;
    }

    pub fn cost(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            requests: self.requests - other.requests,
            write_units: self.write_units - other.write_units,
            read_units: self.read_units - other.read_units,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.write_units += other.write_units;
        self.read_units += other.read_units;
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests, {} write units, {} read units", self.requests, self.write_units, self.read_units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up() {
        let capacity = |units| ConsumedCapacity::builder().capacity_units(units).build();
        let mut cost = Cost::of_write(Some(&capacity(2.0)));
        cost += Cost::of_read(Some(&capacity(0.5)));
        cost += Cost::of_refused_write(write_units(1025));
        cost += Cost::of_read(None);
        assert_eq!(cost, Cost { requests: 4, write_units: 4.0, read_units: 0.5 });
        assert_eq!(cost.to_string(), "4 requests, 4 write units, 0.5 read units");
    }
}
