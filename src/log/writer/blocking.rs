//! [`run_blocking`]: runs work of a spool outside the async threads.

use std::sync::Arc;

use crate::log::Spool;

/// Runs work of a spool on a thread for blocking work. Work of a spool in memory runs at once, so that simulations are
/// repeatable.
pub(super) async fn run_blocking<T: Send + 'static>(
    spool: Arc<Spool>,
    work: impl FnOnce(&Spool) -> T + Send + 'static,
) -> T {
    if !spool.is_on_disk() {
        return work(&spool);
    }
    match tokio::task::spawn_blocking(move || work(&spool)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down and drops this task.
            Err(_) => std::future::pending().await,
        },
    }
}
