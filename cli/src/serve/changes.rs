//! [`Changes`]: a number that rises with each change, for those who wait for one.

use std::sync::Arc;

use tokio::sync::watch;
use verbale::clock::{Clock, SystemClock};

/// The changes of a call, or of all calls.
pub struct Changes {
    /// Another process, or another instance of the call, has another name.
    name: String,
    number: watch::Sender<u64>,
    all: Option<Arc<Self>>,
}

impl Changes {
    /// Returns the changes of all calls.
    pub fn of_all() -> Self {
        Self { name: super::unique_id(SystemClock.now_ms()), number: watch::Sender::new(0), all: None }
    }

    /// Returns the changes of a call. Each of them is one of all calls, too.
    pub fn of_call(all: &Arc<Self>) -> Self {
        Self { all: Some(all.clone()), ..Self::of_all() }
    }

    /// Notes a change. Never waits.
    pub fn note(&self) {
        self.number.send_modify(|number| *number += 1);
        if let Some(all) = &self.all {
            all.note();
        }
    }

    /// Returns a name for the state after the newest change. No other state has it.
    pub fn version(&self) -> String {
        format!("{}-{}", self.name, *self.number.borrow())
    }

    /// Returns a receiver of changes. The newest one counts as seen.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }
}
