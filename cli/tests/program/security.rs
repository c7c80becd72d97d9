//! Attacks on `verbale serve`, one test each.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::server::{PATIENCE, Server};
use crate::{run, shown};

const CALL: &str = "Authorization: Bearer 0123456789abcdef\r\n";
const ADMIN: &str = "Authorization: Bearer fedcba9876543210\r\n";

/// Each address of HTTP, with its scope.
const ADDRESSES: [(&str, &str, &str); 14] = [
    ("POST", "/v1/calls/one", "call"),
    ("GET", "/v1/calls/one", "read"),
    ("GET", "/v1/calls", "read"),
    ("GET", "/v1/calls/one/memory", "read"),
    ("POST", "/v1/calls/one/ticket", "call"),
    ("GET", "/v1/models", "call"),
    ("GET", "/v1/calls/one/turns", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/events/pending", "read"),
    ("GET", "/environment/modalities/chat", "read"),
    ("POST", "/v1/calls/one/close", "call"),
    ("POST", "/v1/calls/one/hold", "admin"),
    ("POST", "/v1/calls/one/release", "admin"),
    ("POST", "/v1/calls/one/erase", "admin"),
];

/// Each address of a page that shows calls, or follows one that does.
pub const PAGES: [&str; 4] = ["/", "/events", "/calls/one", "/calls/one/events"];

fn local() -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

pub fn with_tokens() -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokens"), "call 0123456789abcdef\nread,admin fedcba9876543210\n").unwrap();
    let server = Server::start(folder.path(), &["--tokens", "tokens"]);
    (folder, server)
}

fn ticket(server: &Server, id: &str) -> String {
    let (_, body) = server.request("POST", &format!("/v1/calls/{id}/ticket"), CALL, "");
    serde_json::from_str::<Value>(&body).unwrap()["ticket"].as_str().unwrap().to_owned()
}

#[test]
fn request_without_token_is_refused() {
    let (_folder, server) = with_tokens();
    for (method, path, _) in ADDRESSES {
        assert_eq!(server.request(method, path, "", "{}").0, 401, "{method} {path}");
        let wrong = "Authorization: Bearer 0123456789abcdee\r\n";
        assert_eq!(server.request(method, path, wrong, "{}").0, 401, "{method} {path}");
    }
    assert_eq!(server.request("POST", "/v1/chat/completions", "", "{\"messages\": []}").0, 401);
    for path in ["/modalities/chat/submit", "/events/immediate", "/events", "/environment/modalities/chat/query"] {
        assert_eq!(server.request("POST", path, "", "{\"modality\": \"chat\", \"data\": {}}").0, 401, "{path}");
    }
    assert_eq!(server.upgrade("/v1/calls/one/socket", ""), 401);
    assert_eq!(server.request("GET", "/healthz", "", ""), (200, "ok\n".to_owned()));
    let refused = shown(&run(Path::new("."), "verbale serve --listen 0.0.0.0:0"));
    assert!(refused.contains("needs --tokens") && refused.ends_with("(exit status 2)\n"), "{refused}");
}

#[test]
fn token_of_another_scope_is_refused() {
    let (_folder, server) = with_tokens();
    for (method, path, scope) in ADDRESSES {
        let (right, wrong) = if scope == "call" { (CALL, ADMIN) } else { (ADMIN, CALL) };
        assert_eq!(server.request(method, path, wrong, "{}").0, 403, "{method} {path}");
        let (status, body) = server.request(method, path, right, "{}");
        assert!(matches!(status, 200 | 201), "{method} {path}: {status} {body}");
    }
    assert_eq!(server.upgrade("/v1/calls/two/socket", ADMIN), 403);
    assert_eq!(server.upgrade("/v1/calls/two/socket", CALL), 101);
}

#[test]
fn ticket_of_another_call_opens_no_socket() {
    let (_folder, server) = with_tokens();
    let open = |id: &str, ticket: &str| server.upgrade(&format!("/v1/calls/{id}/socket?ticket={ticket}"), "");
    assert_eq!(open("one", &ticket(&server, "two")), 403);
    let one = ticket(&server, "one");
    assert_eq!(open("one", &one), 101);
    assert_eq!(open("one", &one), 403, "it was used");
    assert_eq!(open("one", ""), 403);
}

#[test]
fn name_that_was_bound_to_this_host_is_refused() {
    let (_folder, server) = local();
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""] {
        let host = format!("Host: {host}\r\n");
        for (method, path, _) in ADDRESSES {
            assert_eq!(server.request(method, path, &host, "{}").0, 403, "{method} {path} {host}");
        }
        for page in PAGES {
            assert_eq!(server.request("GET", page, &host, "").0, 403, "{page} {host}");
        }
        assert_eq!(server.upgrade("/v1/calls/one/socket", &host), 403, "{host}");
    }
}

#[test]
fn page_of_another_site_opens_no_socket() {
    let (_folder, server) = local();
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        let origin = format!("Origin: {origin}\r\n");
        assert_eq!(server.upgrade("/v1/calls/one/socket", &origin), 403, "{origin}");
        assert_eq!(server.request("POST", "/v1/calls/one/erase", &origin, "").0, 403, "{origin}");
    }
    assert_eq!(server.upgrade("/v1/calls/one/socket", "Origin: http://localhost:3000\r\n"), 101);
}

#[test]
fn ids_lead_to_no_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret.jsonl"), "{}\n").unwrap();
    let server = Server::start(folder.path(), &["--log", "jsonl:calls"]);
    for id in ["..%2Fsecret", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", "%00", "a%0Ab", "..", "%2e%2e", "../secret"]
    {
        let (status, body) = server.request("GET", &format!("/v1/calls/{id}"), "", "");
        // `..` is an id as others are, once its call is open.
        assert!(matches!(status, 200 | 400 | 404) && !body.contains("root:"), "{id}: {status} {body}");
        server.request("POST", &format!("/v1/calls/{id}"), "", "{}");
    }
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["calls", "secret.jsonl"]);
}

#[test]
fn body_of_100_mb_is_refused_before_it_is_read() {
    let (_folder, server) = local();
    for length in ["Content-Length: 104857600", "Transfer-Encoding: chunked"] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("POST /v1/calls/one HTTP/1.1\r\nHost: {}\r\n{length}\r\n\r\n", server.address);
        stream.write_all(head.as_bytes()).unwrap();
        let mut sent = 0;
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        while sent < 100 << 20 && stream.write_all(chunk.as_bytes()).is_ok() {
            sent += 0x10000;
        }
        assert!(sent < 100 << 20, "the server reads all of it");
    }
    let large = json!({ "system": "x".repeat(1 << 20) }).to_string();
    assert_eq!(server.request("POST", "/v1/calls/one", "", &large).0, 413);
    assert_eq!(server.request("POST", "/v1/calls/one", "", "{}").0, 201);
}

/// Waits as long as the server does: 10 s.
#[test]
fn client_that_sends_slowly_is_disconnected() {
    let (_folder, server) = local();
    let host = format!("Host: {}\r\n", server.address);
    let started = Instant::now();
    let slow = |text: String| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut streams = vec![
        slow(String::new()),
        slow("GET /v1/calls HTTP/1.1\r\n".to_owned()),
        slow(format!(
            "POST /v1/calls/one HTTP/1.1\r\n{host}Content-Length: 100\r\nContent-Type: application/json\r\n\r\n{{"
        )),
    ];
    // A byte from time to time does not keep a connection.
    for _ in 0..4 {
        std::thread::sleep(Duration::from_secs(2));
        streams.iter_mut().skip(1).for_each(|stream| drop(stream.write_all(b"a")));
    }
    for mut stream in streams {
        let mut answer = String::new();
        // A connection may be reset.
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(server.request("GET", "/v1/calls", "", "").0, 200);
}

#[test]
fn rate_and_number_of_calls_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--max-calls", "2", "--max-rate", "20"]);
    let open = |id: &str| server.request("POST", &format!("/v1/calls/{id}"), "", "{}").0;
    assert_eq!([open("one"), open("two"), open("three")], [201, 201, 503]);
    let statuses: Vec<u16> = (0..100).map(|_| server.request("GET", "/healthz", "", "").0).collect();
    assert!(statuses.contains(&429) && statuses.contains(&200), "{statuses:?}");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.request("GET", "/healthz", "", "").0, 200);
}

#[test]
fn call_that_nobody_uses_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--idle-s", "1"]);
    assert_eq!(server.request("POST", "/v1/calls/one", "", "{}").0, 201);
    let until = Instant::now() + PATIENCE;
    loop {
        let (status, body) = server.request("GET", "/v1/calls/one", "", "");
        assert_eq!(status, 200, "{body}");
        if body.contains("\"reason\":\"idle\"") {
            break;
        }
        assert!(Instant::now() < until, "{body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn no_browser_takes_words_of_a_call_for_a_page() {
    let (_folder, server) = local();
    let attack = "<script>alert(1)</script>";
    let body = json!({ "messages": [{ "role": "user", "content": attack }], "user": attack, "model": attack });
    assert_eq!(server.request("POST", "/v1/chat/completions", "", &body.to_string()).0, 200);
    for path in
        ["/v1/calls", "/v1/calls/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/v1/calls/%3Cscript%3E", "/%3Cscript%3E"]
    {
        let answer =
            server.answer(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address));
        let head = answer.split("\r\n\r\n").next().unwrap().to_lowercase();
        assert!(head.contains("content-type: application/json\r\n"), "{answer}");
        assert!(head.contains("x-content-type-options: nosniff"), "{answer}");
        assert!(head.contains("content-security-policy: default-src 'none'; sandbox"), "{answer}");
    }
}
