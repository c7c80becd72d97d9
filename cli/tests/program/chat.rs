//! `/v1/chat/completions` of `verbale serve`, as a client with a list of messages uses it.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::server::{PATIENCE, Server};

/// A client that keeps the list.
struct Client<'a> {
    server: &'a Server,
    call: &'static str,
    messages: Vec<Value>,
}

impl<'a> Client<'a> {
    fn new(server: &'a Server, call: &'static str) -> Self {
        Self {
            server,
            call,
            messages: vec![json!({ "role": "system", "content": "You answer the phone of a ferry." })],
        }
    }

    fn body(&self) -> Value {
        let schema = json!({ "type": "object", "properties": { "seats": { "type": "integer" } } });
        let function = json!({ "name": "book", "description": "Books seats.", "parameters": schema });
        let tool = json!({ "type": "function", "function": function, "acts_once": true, "deduplicates_by_key": true });
        json!({ "model": "any", "messages": self.messages, "tools": [tool], "user": self.call })
    }

    /// Sends the list, and adds the answer to it. Returns the choice.
    fn ask(&mut self) -> Value {
        let choice = self.ask_only();
        self.messages.push(choice["message"].clone());
        choice
    }

    fn ask_only(&self) -> Value {
        let (status, body) = self.server.request("POST", "/v1/chat/completions", "", &self.body().to_string());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["choices"][0].clone()
    }

    fn say(&mut self, text: &str) -> Value {
        self.messages.push(json!({ "role": "user", "content": text }));
        self.ask()
    }

    /// Returns the messages of the call.
    fn logged(&self) -> Vec<Value> {
        let (status, body) = self.server.request("GET", &format!("/v1/calls/{}", self.call), "", "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["messages"].as_array().unwrap().clone()
    }

    fn logged_text(&self) -> String {
        self.logged().iter().map(Value::to_string).collect()
    }
}

fn text(choice: &Value) -> &str {
    choice["message"]["content"].as_str().unwrap()
}

#[test]
fn list_of_a_chat_adds_only_what_is_new_to_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db", "--spool", "spool"]);
    let mut client = Client::new(&server, "one");
    client.messages.push(json!({ "role": "assistant", "content": "Good morning, this is the ferry." }));
    assert_eq!(text(&client.say("Hello.")), "You said: Hello. What else?");
    let choice = client.say("Then use book {\"seats\": 2}");
    assert_eq!((choice["finish_reason"].as_str(), text(&choice)), (Some("tool_calls"), "One moment. "));
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(
        (call["function"]["name"].as_str(), call["function"]["arguments"].as_str()),
        (Some("book"), Some("{\"seats\":2}"))
    );
    assert!(call["idempotency_key"].is_string(), "{call}");
    client.messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "ticket F-17" }));
    let choice = client.ask();
    assert_eq!((choice["finish_reason"].as_str(), text(&choice)), (Some("stop"), "The tool says: ticket F-17."));

    // The same list again has the same answer, also at another process.
    client.messages.pop();
    assert_eq!(text(&client.ask()), "The tool says: ticket F-17.");
    assert_eq!(text(&client.say("Hello.")), "You said: Hello. What else?", "equal words may be said again");
    let messages = client.messages;
    server.kill();
    let server = Server::start(folder.path(), &["--log", "embedded:db", "--spool", "spool"]);
    let mut client = Client { server: &server, call: "one", messages };
    client.messages.pop();
    assert_eq!(text(&client.ask()), "You said: Hello. What else?");
    let logged = client.logged_text();
    for (said, times) in [("Good morning, this", 1), ("\"Hello.\"", 2), ("\"content\":[\"ticket F-17\"]", 1)] {
        assert_eq!(logged.matches(said).count(), times, "{said} in {logged}");
    }
}

#[test]
fn heard_is_what_the_client_kept_of_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = Client::new(&server, "one");
    client.say("Tell me all of it.");
    client.messages.last_mut().unwrap()["content"] = "You said: Tell me".into();
    client.say("Stop.");
    client.messages.pop();
    client.say("Are you there?");
    client.say("Good.");
    let answers: Vec<Value> = client.logged().into_iter().filter(|m| m["message"]["role"] == "assistant").collect();
    let heard: Vec<_> = answers.iter().map(|answer| &answer["message"]["heard"]["contents"]).collect();
    assert_eq!(heard, [&json!(["You said: Tell me"]), &json!([]), &Value::Null, &Value::Null], "{answers:?}");
}

#[test]
fn client_that_leaves_stops_the_model_and_may_ask_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = Client::new(&server, "one");
    assert_eq!(text(&client.say("Hello.")), "You said: Hello. What else?");
    client.messages.push(json!({ "role": "user", "content": "Please wait 5" }));
    let body = client.body().to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\n", server.address);
    let length = body.len();
    let rest = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all((head + &rest).as_bytes()).unwrap();
    let turns = || server.request("GET", "/v1/calls/one/metrics", "", "").1;
    while !turns().contains("\"turns\":2") {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(stream);
    let until = Instant::now() + PATIENCE;
    while !server.request("GET", "/v1/calls/one/turns", "", "").1.contains("\"end\":\"interrupted\"") {
        assert!(Instant::now() < until, "the model is not stopped");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(text(&client.ask()), "You said: Please wait 5. What else?");
    assert_eq!(client.logged_text().matches("\"Please wait 5\"").count(), 1);
}

#[test]
fn chat_streams_and_refuses_in_the_form_of_its_interface() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut body =
        json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi." }] }], "stream": true });
    body["stream_options"] = json!({ "include_usage": true });
    let (status, answer) = server.request("POST", "/v1/chat/completions", "X-Verbale-Call: two\r\n", &body.to_string());
    assert_eq!(status, 200, "{answer}");
    let chunks: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(chunks.last(), Some(&"[DONE]"), "{answer}");
    let chunks: Vec<Value> =
        chunks[..chunks.len() - 1].iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let texts = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    assert_eq!(texts.collect::<String>(), "You said: Hi. What else?");
    assert!(chunks.iter().any(|chunk| chunk["choices"][0]["finish_reason"] == "stop"));
    assert!(chunks.last().unwrap()["usage"]["total_tokens"].is_u64(), "{answer}");

    for (headers, body, says) in [
        ("", json!({ "messages": [{ "role": "user", "content": "secret" }] }), "names no call"),
        ("X-Verbale-Call:\r\n", json!({ "messages": [{ "role": "user", "content": "secret" }] }), "call id"),
        ("X-Verbale-Call: three\r\n", json!({ "messages": [] }), "nothing new"),
        ("X-Verbale-Call: three\r\n", json!({ "messages": [{ "role": "secret" }] }), "unknown role"),
        (
            "X-Verbale-Call: three\r\n",
            json!({ "messages": [{ "role": "user", "content": [{ "type": "secret" }] }] }),
            "no text",
        ),
    ] {
        let (status, answer) = server.request("POST", "/v1/chat/completions", headers, &body.to_string());
        let error: Value = serde_json::from_str(&answer).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(status == 400 && message.contains(says) && !message.contains("secret"), "{status} {answer}");
    }
}
