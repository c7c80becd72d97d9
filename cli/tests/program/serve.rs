//! `verbale serve`, as its clients use it: over sockets, with connections and servers that die.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::seeded::Seeded;
use crate::server::{PATIENCE, Server};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A service that plays a call, and keeps what it has to send again.
pub struct Client {
    call: String,
    socket: Option<Socket>,
    tool: Value,
    instance: Option<String>,
    seq: u64,
    numbers: u32,
    unstored: BTreeMap<u32, Value>,
    /// How often each act was carried out, by its idempotency key.
    effects: HashMap<String, u32>,
}

impl Client {
    fn new(call: &str) -> Self {
        let schema = json!({ "type": "object", "properties": { "seats": { "type": "integer" } } });
        let book = json!({
            "name": "book", "description": "Books seats.", "input_schema": schema,
            "acts_once": true, "deduplicates_by_key": true, "can_look_up": true,
        });
        Self::with_tool(call, book)
    }

    pub fn with_tool(call: &str, tool: Value) -> Self {
        Self {
            call: call.to_owned(),
            socket: None,
            tool,
            instance: None,
            seq: 0,
            numbers: 0,
            unstored: BTreeMap::new(),
            effects: HashMap::new(),
        }
    }

    /// Connects, at first or again, and sends what the log may not have.
    pub async fn connect(&mut self, server: &Server) -> Value {
        let url = format!("ws://{}/v1/calls/{}/socket", server.address, self.call);
        let (socket, _) = timeout(PATIENCE, connect_async(url)).await.unwrap().unwrap();
        self.socket = Some(socket);
        let start = json!({
            "type": "start", "instance": self.instance, "after_seq": self.seq, "greeting": "Good morning.",
            "tools": [self.tool],
        });
        self.push(&start).await;
        let started = self.receive().await.unwrap();
        assert_eq!(started["type"], "started", "{started}");
        if self.instance.as_deref() != started["instance"].as_str() {
            self.instance = started["instance"].as_str().map(str::to_owned);
            self.seq = 0;
        }
        for message in self.unstored.clone().values() {
            self.push(message).await;
        }
        started
    }

    async fn push(&mut self, message: &Value) -> bool {
        let Some(socket) = &mut self.socket else { return false };
        socket.send(Message::text(message.to_string())).await.is_ok()
    }

    pub async fn send(&mut self, mut message: Value) {
        self.numbers += 1;
        message["event_id"] = format!("e{}", self.numbers).into();
        self.unstored.insert(self.numbers, message.clone());
        self.push(&message).await;
    }

    /// Returns the next message, or `None` if the connection is lost.
    pub async fn receive(&mut self) -> Option<Value> {
        timeout(PATIENCE, self.next()).await.unwrap()
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            let message = self.socket.as_mut()?.next().await;
            match message {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(text.as_str()).unwrap();
                    let seq = message["seq"].as_u64().unwrap();
                    if message["type"] != "started" {
                        assert_eq!(seq, self.seq + 1, "no message is missing or doubled: {message}");
                        self.seq = seq;
                    }
                    for id in message["event_ids"].as_array().into_iter().flatten() {
                        self.unstored.remove(&id.as_str().unwrap()[1..].parse().unwrap());
                    }
                    return Some(message);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => {
                    self.socket = None;
                    return None;
                }
            }
        }
    }

    /// Carries out what a message asks for.
    pub async fn act_on(&mut self, message: &Value) {
        assert_ne!(message["type"], "refused", "{message}");
        if message["type"] == "reply_ended" && message["end"] == "complete" {
            self.send(json!({ "type": "playback_finished", "speech": message["speech"] })).await;
        }
        if message["type"] == "tool_called" {
            let key = message["idempotency_key"].as_str().unwrap().to_owned();
            // The service deduplicates by the key.
            self.effects.entry(key).or_insert(1);
            self.send(json!({
                "type": "tool_result", "tool_call_id": message["tool_call_id"], "output": "ticket F-17",
            }))
            .await;
        }
        if message["type"] == "tool_lookup" {
            let id = &message["tool_call_id"];
            let answer = match self.effects.contains_key(message["idempotency_key"].as_str().unwrap()) {
                true => json!({ "type": "tool_result", "tool_call_id": id, "output": "ticket F-17" }),
                false => json!({ "type": "tool_result", "tool_call_id": id, "not_found": true }),
            };
            self.send(answer).await;
        }
    }
}

const WORDS: [&str; 5] = [
    "Good morning.",
    "Then use book {\"seats\": 2}",
    "And who are you?",
    "Then use book {\"seats\": 3}",
    "Thank you, bye.",
];

/// Plays a call while connections and servers die at random moments. Returns the server that runs at the end.
async fn play(folder: &Path, call: &str, dice: &Seeded, mut server: Server) -> Server {
    let arguments = ["--log", "embedded:db", "--spool", "spool"];
    let mut client = Client::new(call);
    client.connect(&server).await;
    for words in WORDS {
        client.send(json!({ "type": "caller_said", "text": words })).await;
        // The answer is at its end, or the connection dies after a few messages.
        let mut left = dice.next_u64() % 12;
        let mut asked = None;
        loop {
            if left == 0 {
                let dies = dice.next_u64().is_multiple_of(3);
                client.socket = None;
                if dies {
                    server.kill();
                    server = Server::start(folder, &arguments);
                }
                client.connect(&server).await;
                left = 30 + dice.next_u64() % 12;
                // The end of the answer may have been lost with the server.
                client.send(json!({ "type": "reply" })).await;
                asked = Some(format!("e{}", client.numbers));
            }
            let Some(message) = client.receive().await else {
                left = 0;
                continue;
            };
            left -= 1;
            client.act_on(&message).await;
            let is_idle =
                message["event_id"].as_str() == asked.as_deref() && message["effect"] == "there is nothing to answer";
            if message["type"] == "reply_ended" || is_idle {
                break;
            }
        }
    }
    client.send(json!({ "type": "close", "reason": "hangup" })).await;
    while client.receive().await.is_some_and(|message| message["type"] != "ended") {}
    let (status, body) = server.request("GET", &format!("/v1/calls/{call}"), "", "");
    assert_eq!(status, 200, "{body}");
    let conversation: Value = serde_json::from_str(&body).unwrap();
    let messages = conversation["messages"].as_array().unwrap();
    let said: String =
        messages.iter().filter(|message| message["message"]["role"] == "user").map(Value::to_string).collect();
    for words in WORDS {
        let words = serde_json::to_string(words).unwrap();
        assert_eq!(said.matches(&words).count(), 1, "call {call}: {words} in {said}");
    }
    let outcomes: String = messages.iter().map(|message| message["message"].to_string()).collect();
    let done = outcomes.matches("\"content\":[\"ticket F-17\"]").count();
    let unknown = outcomes.matches("\"type\":\"OutcomeUnknown\"").count();
    // A call may end before its lookup has.
    let effects = client.effects.len();
    assert!((done..=done + unknown).contains(&effects), "call {call}: {effects} effects: {outcomes}");
    assert!(effects <= 2, "call {call}: one act for each wish: {outcomes}");
    server
}

/// `VERBALE_SERVE_CALLS=200` plays so many calls, `VERBALE_SERVE_SEED` sets the seed.
#[tokio::test]
async fn nothing_is_lost_or_doubled_when_sockets_and_servers_die() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let (calls, seed) = (number("VERBALE_SERVE_CALLS", 4), number("VERBALE_SERVE_SEED", 17));
    println!("VERBALE_SERVE_SEED={seed} VERBALE_SERVE_CALLS={calls}");
    let folder = tempfile::tempdir().unwrap();
    let dice = Seeded::from(seed);
    let mut server = Server::start(folder.path(), &["--log", "embedded:db", "--spool", "spool"]);
    for call in 0..calls {
        server = play(folder.path(), &format!("call-{call}"), &dice, server).await;
    }
}

#[tokio::test]
async fn client_that_connects_again_gets_what_it_missed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = Client::new("one");
    assert_eq!(client.connect(&server).await["is_resumed"], false);
    let mut said = client.receive().await.unwrap();
    // The log may have stored the greeting before it is sent.
    while ["stored", "log_level"].iter().any(|kind| said["type"] == *kind) {
        said = client.receive().await.unwrap();
    }
    assert_eq!((said["type"].as_str(), said["text"].as_str()), (Some("said"), Some("Good morning.")));
    client.send(json!({ "type": "caller_said", "text": "Hello." })).await;
    client.socket = None;
    assert_eq!(client.connect(&server).await["is_resumed"], true);
    let mut texts = Vec::new();
    loop {
        let message = client.receive().await.unwrap();
        texts.extend(message["text"].as_str().map(str::to_owned));
        if message["type"] == "reply_ended" {
            break;
        }
    }
    assert_eq!(texts.concat(), "You said: Hello. What else?");

    // A second connection replaces the first one.
    let mut second = Client::new("one");
    second.connect(&server).await;
    while client.receive().await.is_some() {}
    // A message that is no message changes nothing.
    for wrong in [json!(7), json!({ "type": "dance" }), json!({ "type": "say" }), json!({ "type": "start" })] {
        second.push(&wrong).await;
    }
    let mut refused = 0;
    while refused < 4 {
        let message = second.receive().await.unwrap();
        refused += u32::from(message["type"] == "refused");
    }
    second.push(&json!({ "type": "close" })).await;
    while second.receive().await.is_some() {}
    let (status, body) = server.request("GET", "/v1/calls/one", "", "");
    assert_eq!((status, body.contains("\"reason\":\"hangup\"")), (200, true), "{body}");
}

/// On SIGTERM, the calls are closed and logged, and their clients learn that they can continue elsewhere.
#[cfg(unix)]
#[tokio::test]
async fn server_that_stops_hands_its_calls_over() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db"]);
    let mut client = Client::new("one");
    client.connect(&server).await;
    client.send(json!({ "type": "caller_said", "text": "Hello." })).await;
    loop {
        let message = client.receive().await.unwrap();
        client.act_on(&message).await;
        if message["type"] == "accepted" && message["event_id"] == "e2" {
            break;
        }
    }
    server.begin_terminate();
    let mut ended = Value::Null;
    while let Some(message) = client.receive().await {
        ended = message;
    }
    assert_eq!((ended["type"].as_str(), ended["is_resumable"].as_bool()), (Some("ended"), Some(true)), "{ended}");
    assert!(client.unstored.values().all(|message| message["type"] != "caller_said"), "the log has the words");
    server.ended();
    let next = Server::start(folder.path(), &["--log", "embedded:db"]);
    assert_eq!(client.connect(&next).await["is_resumed"], true);
    client.send(json!({ "type": "caller_said", "text": "Are you back?" })).await;
    let mut texts = String::new();
    while let Some(message) = client.receive().await {
        texts += message["text"].as_str().unwrap_or_default();
        if message["type"] == "reply_ended" {
            break;
        }
    }
    assert_eq!(texts, "You said: Are you back? What else?");
}

/// A client may forget what it is told to be stored, also while the server stops.
#[cfg(unix)]
#[tokio::test]
async fn what_a_stopping_server_calls_stored_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db"]);
    let words = |number: u32| format!("This is sentence {number}.");
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..8 {
        let mut client = Client::new(&format!("call-{call}"));
        client.connect(&server).await;
        calls.spawn(async move {
            // Each sentence follows the one before at once, so that some meet a call that is being closed.
            while client.socket.is_some() {
                let number = client.numbers + 1;
                client.send(json!({ "type": "caller_said", "text": words(number), "reply": false })).await;
                while let Some(message) = client.receive().await {
                    if message["event_id"] == format!("e{number}") {
                        break;
                    }
                }
            }
            client
        });
    }
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    server.begin_terminate();
    let clients = calls.join_all().await;
    server.ended();
    let next = Server::start(folder.path(), &["--log", "embedded:db"]);
    for client in clients {
        let (status, body) = next.request("GET", &format!("/v1/calls/{}", client.call), "", "");
        assert_eq!(status, 200, "{body}");
        let stored = (1..=client.numbers).filter(|number| !client.unstored.contains_key(number));
        let lost: Vec<u32> = stored.filter(|number| body.matches(&words(*number)).count() != 1).collect();
        assert!(lost.is_empty(), "call {}, {lost:?} of {} sentences", client.call, client.numbers);
    }
}

#[test]
fn program_reads_and_edits_a_live_call_and_reads_a_closed_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db"]);
    let get = |path: &str| {
        let (status, body) = server.request("GET", path, "", "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    let post = |path: &str, body: Value| {
        let (status, answer) = server.request("POST", path, "", &body.to_string());
        (status, serde_json::from_str::<Value>(&answer).unwrap())
    };
    let say = |messages: Value| post("/v1/chat/completions", json!({ "user": "one", "messages": messages })).0;
    assert_eq!(say(json!([{ "role": "user", "content": "My name is Ada Lovelace." }])), 200);
    let (status, added) = post("/v1/calls/one/system", json!({ "text": "The ferry is late." }));
    assert_eq!(status, 200, "{added}");
    let heard = "You said: My name is Ada Lovelace. What else?";
    let list = json!([
        { "role": "user", "content": "My name is Ada Lovelace." }, { "role": "assistant", "content": heard },
        { "role": "user", "content": "When does it leave?" },
    ]);
    assert_eq!(say(list), 200);
    let first = get("/v1/calls/one")["messages"][0]["id"].clone();
    let (status, edited) =
        post("/v1/calls/one/data", json!({ "message": first, "key": "ticket", "value": { "seat": 7 } }));
    assert_eq!((status, &edited["before"]), (200, &Value::Null), "{edited}");
    let marked = post("/v1/calls/one/attributes", json!({ "message": first, "attribute": "hardcoded" }));
    assert_eq!((marked.0, marked.1["is_new"].as_bool()), (200, Some(true)));
    for (path, body) in [
        ("data", json!({ "message": "none", "key": "a", "value": 1 })),
        ("attributes", json!({ "message": first, "attribute": "secret" })),
        ("system", json!({ "text": " " })),
    ] {
        let (status, answer) = post(&format!("/v1/calls/one/{path}"), body);
        assert!(status == 400 && !answer.to_string().contains("secret"), "{path}: {status} {answer}");
    }
    assert_eq!(get("/v1/calls/one/metrics")["turns"], 2);
    let (_, metrics) = server.request("GET", "/metrics", "", "");
    assert!(metrics.contains("verbale_serve_calls 1") && metrics.contains("verbale_turns_total 2"), "{metrics}");

    let asked = |path: &str| {
        assert_eq!(get(&format!("{path}/turns"))["turns"].as_array().unwrap().len(), 2);
        let prompt = get(&format!("{path}/prompt"));
        assert_eq!((&prompt["turn"], &prompt["is_same"]), (&json!(2), &json!(true)), "{prompt}");
        assert!(prompt.to_string().contains("The ferry is late."), "{prompt}");
        assert_eq!(get(&format!("{path}/prompt?turn=1"))["turn"], 1);
        assert!(get(&format!("{path}/memory"))["facts"].to_string().contains("Ada"), "{path}");
    };
    asked("/v1/calls/one");
    assert_eq!(server.request("GET", "/v1/calls/one/prompt?turn=9", "", "").0, 404);
    assert_eq!(post("/v1/drain", json!({})), (200, json!({ "closed": 1, "is_complete": true })));
    assert_eq!((server.request("GET", "/readyz", "", "").0, server.request("GET", "/healthz", "", "").0), (503, 200));
    assert_eq!(post("/v1/calls/two", json!({})).0, 503);
    asked("/v1/calls/one");
    let logged = get("/v1/calls/one").to_string();
    assert!(logged.contains("\"seat\":7") && logged.contains("\"hardcoded\""), "{logged}");
}

/// `OPENAPI=write` writes the file.
#[test]
fn openapi_document_is_that_of_the_routes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (status, now) = server.request("GET", "/openapi.json", "", "");
    assert_eq!(status, 200, "{now}");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    if std::env::var("OPENAPI").is_ok_and(|mode| mode == "write") {
        std::fs::write(file, &now).unwrap();
    }
    let document: Value = serde_json::from_str(&now).unwrap();
    let mut ids = std::collections::HashSet::new();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    for operation in operations {
        assert!(operation["summary"].is_string() && operation["security"].is_array(), "{operation}");
        assert!(ids.insert(operation["operationId"].as_str()), "two operations have one id: {operation}");
    }
    let file = std::fs::read_to_string(file).unwrap();
    assert!(file == now, "OPENAPI=write cargo test -p verbale-cli --test program openapi writes docs/openapi.json");
}
