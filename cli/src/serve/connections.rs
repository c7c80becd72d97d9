//! The connections of the server: HTTP/1 with a deadline for headers, and an end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::limits::{Peer, READ_TIMEOUT};

/// The pause after a connection could not be accepted, because files or memory are short.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `stop` is ready, then waits for those that are in the middle of a request, but not long.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    max_connections: u32,
    stop: impl Future<Output = ()>,
    goodbye: Duration,
) -> io::Result<()> {
    let mut stop = std::pin::pin!(stop);
    let stopped = watch::Sender::new(false);
    let room = Arc::new(Semaphore::new(max_connections as usize));
    let mut http = http1::Builder::new();
    // A client that sends its headers slowly, or none, keeps no connection.
    http.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT);
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((listener.accept().await?, permit))
        };
        let ((stream, peer), permit) = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
        };
        // Sentences are short, and wait for no other.
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer.ip()));
            tower_service::Service::call(&mut router.clone(), request)
        });
        let mut stopped = stopped.subscribe();
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::spawn(async move {
            let mut connection = std::pin::pin!(connection);
            let is_stopped = async { drop(stopped.wait_for(|stopped| *stopped).await) };
            // The client learns of an error by the end of the connection.
            let is_over = tokio::select! {
                _ = connection.as_mut() => true,
                () = is_stopped => false,
            };
            if !is_over {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
            drop(permit);
        });
    }
    // Connections that clients keep open do not hold the process up.
    stopped.send_replace(true);
    let _ = timeout(goodbye, room.acquire_many(max_connections)).await;
    Ok(())
}
