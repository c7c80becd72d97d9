//! Tools that a service runs at their callbacks, with services and servers that fail.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serve::Client;
use crate::server::Server;
use crate::service::{Fault, KEY, Service};
use crate::{run, shown};

const WISH: &str = "Please use book {\"seats\": 2}";

fn tool(callback: &str, more: Value) -> Value {
    let schema = json!({ "type": "object", "properties": { "seats": { "type": "integer" } } });
    let mut tool =
        json!({ "name": "book", "description": "Books seats.", "input_schema": schema, "callback": callback });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tool
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keys"), KEY).unwrap();
    folder
}

fn server(folder: &Path, allowed: &str) -> Server {
    Server::start(
        folder,
        &["--callback", allowed, "--callback-keys", "keys", "--log", "embedded:db", "--spool", "spool"],
    )
}

/// A call with the tool at a callback of the service.
async fn call(folder: &Path, service: &Service, more: Value) -> (Server, Client) {
    let server = server(folder, &service.url("/tools"));
    let mut client = Client::with_tool("one", tool(&service.url("/tools/book"), more));
    client.connect(&server).await;
    (server, client)
}

/// Says words, and returns the outcomes of tools and the answer.
async fn talk(client: &mut Client, words: &str) -> (Vec<String>, String) {
    client.send(json!({ "type": "caller_said", "text": words })).await;
    let (mut outcomes, mut answer) = (Vec::new(), String::new());
    loop {
        let message = client.receive().await.unwrap();
        client.act_on(&message).await;
        match message["type"].as_str().unwrap() {
            "tool_finished" => outcomes.push(message["outcome"].as_str().unwrap().to_owned()),
            "sentence" => answer += message["text"].as_str().unwrap(),
            "reply_ended" => return (outcomes, answer),
            "tool_called" => panic!("the client got the call of the tool: {message}"),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn service_gets_a_signed_call_and_its_answer_is_spoken() {
    let (folder, service) = (folder(), Service::start([]).await);
    let (_server, mut client) = call(folder.path(), &service, json!({ "acts_once": true })).await;
    let (outcomes, answer) = talk(&mut client, WISH).await;
    assert_eq!((outcomes, answer.as_str()), (vec!["succeeded".to_owned()], "One moment. The tool says: ticket F-17."));
    let seen = service.seen(1).await;
    let body = &seen[0].body;
    assert_eq!(
        (&body["type"], &body["call"], &body["name"], &body["arguments"]),
        (&json!("tool_called"), &json!("one"), &json!("book"), &json!({ "seats": 2 }))
    );
    assert_eq!(body.as_object().unwrap().len(), 6, "{body}");
    assert_eq!(seen[0].headers["idempotency-key"], body["idempotency_key"].as_str().unwrap());
    assert_eq!((seen[0].path.as_str(), service.effects()), ("/tools/book", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn callback_that_is_not_on_the_list_is_refused() {
    let (folder, service) = (folder(), Service::start([]).await);
    let address = service.address;
    let open = |server: &Server, callback: &str| {
        let body = json!({ "tools": [tool(callback, json!({}))] }).to_string();
        server.request("POST", "/v1/calls/one", "", &body)
    };
    let server = server(folder.path(), &service.url("/tools"));
    for callback in [
        format!("http://{address}/other"),
        format!("http://{address}/tools/../other"),
        format!("http://{address}/toolshed"),
        format!("http://{address}/tools/..%2fother"),
        format!("https://{address}/tools"),
        format!("http://127.0.0.1:{}/tools", address.port() ^ 1),
        format!("http://localhost:{}/tools", address.port()),
        format!("http://{address}@evil.example/tools"),
        format!("http://user:secret@{address}/tools"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let (status, error) = open(&server, &callback);
        assert!(status == 400 && error.contains("the callback of the tool"), "{callback}: {status} {error}");
    }
    assert_eq!(open(&server, &format!("http://{address}/tools/book")).0, 201);
    assert!(service.seen(0).await.is_empty(), "opening a call requests nothing");

    let (status, error) = open(&Server::start(folder.path(), &[]), &format!("http://{address}/tools/book"));
    assert!(status == 400 && error.contains("start it with --callback"), "{error}");
}

#[test]
fn server_does_not_start_with_a_wrong_key_or_url() {
    let folder = folder();
    std::fs::write(folder.path().join("short"), "whsec_c2hvcnQ=").unwrap();
    for (arguments, expected) in [
        ("--callback https://a.example", "VERBALE_CALLBACK_KEY"),
        ("--callback https://a.example --callback-keys short", "24 to 64 bytes"),
        ("--callback a.example --callback-keys keys", "is not a URL"),
        ("--callback https://me:secret@a.example --callback-keys keys", "has credentials"),
    ] {
        let shown = shown(&run(folder.path(), &format!("verbale serve {arguments}")));
        assert!(shown.contains(expected) && shown.ends_with("(exit status 2)\n"), "{arguments}: {shown}");
        assert!(!shown.contains("secret") && !shown.contains("c2hvcnQ"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_is_not_followed() {
    let (folder, service) = (folder(), Service::start([Fault::Redirect]).await);
    let (_server, mut client) = call(folder.path(), &service, json!({ "acts_once": true })).await;
    let (outcomes, answer) = talk(&mut client, WISH).await;
    assert_eq!(outcomes, ["unknown"]);
    assert!(answer.contains("status 307; whether it acted is not known"), "{answer}");
    assert_eq!((service.seen(1).await.len(), service.effects()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_of_100_mb_is_not_read() {
    let (folder, service) = (folder(), Service::start([Fault::Floods]).await);
    let (_server, mut client) = call(folder.path(), &service, json!({})).await;
    let (outcomes, answer) = talk(&mut client, WISH).await;
    assert_eq!(outcomes, ["unknown"]);
    assert!(answer.contains("is too long"), "{answer}");
    assert!(service.sent.load(Ordering::Relaxed) < 100 << 20, "the server reads all of it");
    assert_eq!(service.seen(1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn late_answer_replaces_an_unknown_outcome() {
    let (folder, service) = (folder(), Service::start([Fault::Holds]).await);
    let (_server, mut client) = call(folder.path(), &service, json!({ "acts_once": true, "timeout_ms": 500 })).await;
    let (outcomes, answer) = talk(&mut client, WISH).await;
    assert_eq!(outcomes, ["unknown"]);
    assert!(answer.contains("did not answer in time"), "{answer}");
    service.goes_on.notify_one();
    let mut found = Vec::new();
    while found.len() < 2 {
        let message = client.receive().await.unwrap();
        found.extend(["tool_finished", "result_ready"].into_iter().filter(|kind| message["type"] == *kind));
        assert!(message["type"] != "tool_finished" || message["outcome"] == "succeeded", "{message}");
    }
    client.send(json!({ "type": "reply" })).await;
    loop {
        let message = client.receive().await.unwrap();
        if message["type"] == "reply_ended" {
            break;
        }
    }
    assert_eq!((service.seen(1).await.len(), service.effects()), (1, 1));
}

/// The service refuses, is overloaded, breaks off, and answers.
#[tokio::test(flavor = "multi_thread")]
async fn request_is_sent_again_with_the_same_key() {
    let faults = [Fault::Status(503), Fault::Status(429), Fault::Status(500)];
    let (folder, service) = (folder(), Service::start(faults).await);
    let more = json!({ "acts_once": true, "deduplicates_by_key": true, "timeout_ms": 60_000 });
    let (_server, mut client) = call(folder.path(), &service, more).await;
    let (outcomes, _) = talk(&mut client, WISH).await;
    let seen = service.seen(4).await;
    assert_eq!((outcomes, seen.len(), service.effects()), (vec!["succeeded".to_owned()], 4, 1));
    for name in ["idempotency-key", "webhook-id"] {
        assert!(seen.iter().all(|request| request.headers[name] == seen[0].headers[name]), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_starts_late_gets_the_call() {
    let (folder, gone) = (folder(), std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let address = gone.local_addr().unwrap();
    drop(gone);
    let server = server(folder.path(), &format!("http://{address}"));
    let callback = format!("http://{address}/book");
    let mut client = Client::with_tool("one", tool(&callback, json!({ "acts_once": true, "timeout_ms": 60_000 })));
    client.connect(&server).await;
    client.send(json!({ "type": "caller_said", "text": WISH })).await;
    // The words before the call of the tool are spoken, so it is under way.
    while client.receive().await.unwrap()["type"] != "sentence" {}
    let service = Service::start_at(address, []).await;
    while client.receive().await.unwrap()["type"] != "tool_finished" {}
    assert_eq!((service.seen(1).await.len(), service.effects()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn act_that_may_have_happened_is_not_requested_again() {
    for (fault, acted) in [(Fault::Status(500), 0), (Fault::Status(503), 0), (Fault::Breaks, 1)] {
        let (folder, service) = (folder(), Service::start([fault]).await);
        let (_server, mut client) = call(folder.path(), &service, json!({ "acts_once": true })).await;
        let (outcomes, answer) = talk(&mut client, WISH).await;
        assert_eq!(outcomes, ["unknown"], "{answer}");
        // The same wish does not act either, because the outcome is not known.
        let (_, answer) = talk(&mut client, WISH).await;
        assert!(answer.contains("was not run"), "{answer}");
        assert_eq!((service.seen(1).await.len(), service.effects()), (1, acted));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_call_did_not_act() {
    let (folder, service) = (folder(), Service::start([Fault::Status(403)]).await);
    let (_server, mut client) = call(folder.path(), &service, json!({ "acts_once": true })).await;
    let (outcomes, answer) = talk(&mut client, WISH).await;
    assert_eq!(outcomes, ["failed"]);
    assert!(answer.contains("status 403; it did not act"), "{answer}");
}

/// The service acts, and the server is killed before it gets the answer.
async fn kill_while_acting(folder: &Path, service: &Arc<Service>, more: Value) -> (Server, Client) {
    let (first, mut client) = call(folder, service, more).await;
    client.send(json!({ "type": "caller_said", "text": WISH })).await;
    service.seen(1).await;
    first.kill();
    let second = server(folder, &service.url("/tools"));
    client.connect(&second).await;
    (second, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_server_looks_up_what_its_successor_does_not_know() {
    let (folder, service) = (folder(), Service::start([Fault::Holds]).await);
    let more = json!({ "acts_once": true, "deduplicates_by_key": true, "can_look_up": true });
    let (_server, mut client) = kill_while_acting(folder.path(), &service, more).await;
    loop {
        let message = client.receive().await.unwrap();
        if message["type"] == "tool_finished" && message["outcome"] == "succeeded" {
            break;
        }
    }
    let seen = service.seen(2).await;
    assert_eq!(seen[1].body["type"], "tool_lookup");
    assert_eq!(seen[1].body["idempotency_key"], seen[0].body["idempotency_key"]);
    assert_ne!(seen[1].headers["webhook-id"], seen[0].headers["webhook-id"]);
    assert_eq!((seen.len(), service.effects()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_server_acts_again_with_the_same_key() {
    let (folder, service) = (folder(), Service::start([Fault::Holds]).await);
    let more = json!({ "acts_once": true, "deduplicates_by_key": true });
    let (_server, mut client) = kill_while_acting(folder.path(), &service, more).await;
    // The successor answers the words, with an outcome that is not known, and the caller asks once more.
    talk(&mut client, WISH).await;
    let seen = service.seen(2).await;
    assert!(seen.iter().all(|request| request.body["idempotency_key"] == seen[0].body["idempotency_key"]));
    assert_ne!(seen[0].body["tool_call_id"], seen[1].body["tool_call_id"]);
    assert_eq!(service.effects(), 1);
}
