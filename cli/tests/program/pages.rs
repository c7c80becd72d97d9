//! The pages of `verbale serve`: who sees them, what they show, and how they follow. `.ci/browser/pages.js` looks at them.

use serde_json::{Value, json};

use crate::report::{ELEMENTS, HOSTILE, tags, values_of};
use crate::security::{PAGES, with_tokens};
use crate::server::Server;

const READ: &str = "fedcba9876543210";

fn get(server: &Server, path: &str, headers: &str) -> (String, String) {
    let host = &server.address;
    let answer = server.answer(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

/// Sends a form. Returns the head of the answer, and the cookie that it sets.
fn post(server: &Server, path: &str, headers: &str, form: &str) -> (String, String) {
    let (host, length) = (&server.address, form.len());
    let answer = server.answer(&format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n{headers}\r\n{form}"
    ));
    let head = answer.split("\r\n\r\n").next().unwrap().to_owned();
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_default().to_owned();
    (head, cookie)
}

fn log_in(server: &Server) -> String {
    let (_, cookie) = post(server, "/login", "", &format!("token={READ}"));
    format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
}

/// The caller says words, and gets an answer.
fn say(server: &Server, call: &str, words: &[&str]) {
    let messages: Vec<Value> = words
        .iter()
        .flat_map(|words| [json!({ "role": "user", "content": words }), json!({ "role": "assistant", "content": "" })])
        .collect();
    let body = json!({ "user": call, "messages": messages[..messages.len() - 1] });
    let (status, answer) = server.request("POST", "/v1/chat/completions", "", &body.to_string());
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn pages_need_a_token_with_the_scope_read_or_a_session() {
    let (_folder, server) = with_tokens();
    for page in ["/", "/calls/one", "/?day=2025-10-20"] {
        let (head, body) = get(&server, page, "");
        assert!(head.starts_with("http/1.1 303") && body.is_empty(), "{page}: {head}");
        let next = page.replace('/', "%2f").replace('?', "%3f").replace('=', "%3d");
        assert!(head.contains(&format!("location: /login?next={next}\r\n")), "{page}: {head}");
    }
    for page in ["/events", "/calls/one/events"] {
        assert!(get(&server, page, "").0.starts_with("http/1.1 401"), "{page}");
    }
    let call = "Authorization: Bearer 0123456789abcdef\r\n";
    for page in PAGES {
        assert!(get(&server, page, call).0.starts_with("http/1.1 403"), "{page}");
    }
    let read = format!("Authorization: Bearer {READ}\r\n");
    assert!(get(&server, "/", &read).0.starts_with("http/1.1 200"));

    for (form, status) in
        [("", "422"), ("token=", "401"), ("token=0123456789abcdee", "401"), ("token=0123456789abcdef", "403")]
    {
        let (head, cookie) = post(&server, "/login", "", form);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")) && cookie.is_empty(), "{form}: {head}");
    }
    let (head, cookie) = post(&server, "/login", "", &format!("token={READ}&next=%2Fcalls%2Fone"));
    assert!(head.starts_with("HTTP/1.1 303") && head.contains("location: /calls/one\r\n"), "{head}");
    let (session, rest) = cookie.split_once(';').unwrap();
    assert_eq!(rest, " HttpOnly; SameSite=Strict; Path=/; Max-Age=43200");
    assert!(!session.contains(READ), "{session}");
    let session = format!("Cookie: other=1; {session}\r\n");
    let (head, page) = get(&server, "/", &session);
    assert!(head.starts_with("http/1.1 200") && page.contains("Log out"), "{head}");
    // The cookie opens pages alone.
    for (method, path) in [("GET", "/v1/calls"), ("POST", "/v1/calls/one/erase"), ("POST", "/v1/calls/one")] {
        assert_eq!(server.request(method, path, &session, "{}").0, 401, "{method} {path}");
    }
    let mut events = server.follow("/events", &session);
    assert_eq!(events.next().unwrap().0, "changed");
    assert!(post(&server, "/logout", &session, "").1.contains("Max-Age=0"));
    assert!(get(&server, "/", &session).0.starts_with("http/1.1 303"));
    server.request("POST", "/v1/calls/one", call, "{}");
    assert_eq!(events.next(), None, "the session has ended");
}

#[test]
fn form_of_another_site_is_refused() {
    let (_folder, server) = with_tokens();
    let session = log_in(&server);
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", ""] {
        let origin = format!("Origin: {origin}\r\n");
        let (head, cookie) = post(&server, "/login", &origin, &format!("token={READ}"));
        assert!(head.starts_with("HTTP/1.1 403") && cookie.is_empty(), "{origin}: {head}");
        let (head, _) = post(&server, "/logout", &(origin.clone() + &session), "");
        assert!(head.starts_with("HTTP/1.1 403"), "{origin}: {head}");
    }
    assert!(get(&server, "/", &session).0.starts_with("http/1.1 200"), "nobody has logged out");
    let here = format!("Origin: http://{}\r\nX-Forwarded-Proto: https\r\n", server.address);
    let (head, cookie) = post(&server, "/login", &here, &format!("token={READ}"));
    assert!(head.starts_with("HTTP/1.1 303") && cookie.ends_with("; Secure"), "{head}");
}

#[test]
fn words_ids_and_reasons_stay_text_on_pages() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let id = "<script>alert(1)</script>\"><img src=x>";
    let start = json!({ "greeting": HOSTILE, "system": HOSTILE });
    let path = "%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22%3E%3Cimg%20src%3Dx%3E";
    assert_eq!(server.request("POST", &format!("/v1/calls/{path}"), "", &start.to_string()).0, 201);
    say(&server, id, &[HOSTILE]);
    let look = |page: &str, shown: usize| {
        let (head, body) = get(&server, page, "");
        assert!(head.starts_with("http/1.1 200"), "{page}: {head}");
        let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        for tag in tags(&body) {
            let name = tag.split_whitespace().next().unwrap();
            let is_known = ELEMENTS.contains(&name) || ["button", "form", "input", "label", "nav"].contains(&name);
            assert!(is_known || tag.starts_with("script src=\"/follow.js\" defer data-events=\"/"), "{page}: {tag}");
        }
        assert!(body.matches("&#60;script&#62;alert(1)&#60;/script&#62;").count() >= shown, "{page}: {body}");
        for link in values_of(&body, "href") {
            assert!(link.starts_with('#') || link == "/" || link.starts_with("/calls/%3Cscript%3E"), "{page}: {link}");
        }
    };
    look("/", 1);
    look(&format!("/calls/{path}"), 5);
    let close = json!({ "reason": "<b>bye</b>" }).to_string();
    assert_eq!(server.request("POST", &format!("/v1/calls/{path}/close"), "", &close).0, 200);
    look("/", 1);
    look(&format!("/calls/{path}"), 5);
    let (_, list) = get(&server, "/", "");
    assert!(list.contains("<td>&#60;b&#62;bye&#60;/b&#62;</td>"), "{list}");
    for (page, status) in [("/calls/%3Cscript%3E", "404"), ("/calls/%00", "400"), ("/?day=%3Cscript%3E", "400")] {
        let (head, body) = get(&server, page, "");
        assert!(head.starts_with(&format!("http/1.1 {status}")) && !body.contains("<script"), "{page}: {head}");
    }
}

#[test]
fn pages_follow_a_call_from_its_start_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db"]);
    let version = |path: &str| values_of(&get(&server, path, "").1, "data-version")[0].to_owned();
    let mut list = server.follow("/events", "");
    assert_eq!(list.next(), Some(("changed".to_owned(), version("/"))), "the list has missed nothing");
    assert_eq!(server.request("POST", "/v1/calls/one", "", "{}").0, 201);
    assert_eq!(list.next().unwrap().0, "changed");
    let (_, page) = get(&server, "/", "");
    assert!(page.contains("<a href=\"/calls/one\">one</a>") && page.contains(">Live: 1 call</p>"), "{page}");

    let mut call = server.follow("/calls/one/events", "");
    assert_eq!(call.next().unwrap().0, "changed");
    say(&server, "one", &["Is there a ferry?"]);
    let until_shown = |call: &mut crate::server::Following, words: &str| loop {
        let (_, page) = get(&server, "/calls/one", "");
        if page.contains(words) {
            return page;
        }
        assert_eq!(call.next().unwrap().0, "changed", "{page}");
    };
    let page = until_shown(&mut call, "You said: Is there a ferry? What else?");
    assert!(page.contains("data-events=\"/calls/one/events\"") && page.contains(">Live, 2 messages</p>"), "{page}");
    assert!(page.contains("<dt>log</dt><dd>"), "{page}");

    assert_eq!(server.request("POST", "/v1/calls/one/close", "", "{}").0, 200);
    let last = std::iter::from_fn(|| call.next()).last().unwrap();
    assert_eq!(last.0, "ended");
    let (_, page) = get(&server, "/calls/one", "");
    assert!(page.contains(">The call has ended</p>") && !page.contains("<script"), "{page}");
    assert!(page.contains("You said: Is there a ferry?") && page.contains("<dt>ended</dt><dd>hangup</dd>"), "{page}");
    let (_, page) = get(&server, "/", "");
    assert!(page.contains(">Live: 0 calls</p>") && page.contains("<td>hangup</td>"), "{page}");
    assert_eq!(server.follow("/calls/one/events", "").next().unwrap().0, "ended");

    // Pages do not hold up a server that stops.
    server.request("POST", "/v1/drain", "", "");
    while list.next().is_some() {}
    assert!(get(&server, "/events", "").0.starts_with("http/1.1 503"));
}

/// Summaries let the oldest messages leave memory. The page reads them from the log.
#[test]
fn page_of_a_long_live_call_has_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db"]);
    let words: Vec<String> = (0..12).map(|turn| format!("Story {turn} {}", "la ".repeat(1_500))).collect();
    let mut messages = Vec::new();
    for words in &words {
        messages.push(json!({ "role": "user", "content": words }));
        let body = json!({ "user": "one", "messages": messages });
        let (status, answer) = server.request("POST", "/v1/chat/completions", "", &body.to_string());
        assert_eq!(status, 200, "{answer}");
        messages.push(serde_json::from_str::<Value>(&answer).unwrap()["choices"][0]["message"].clone());
    }
    let (_, kept) = server.request("GET", "/v1/calls/one", "", "");
    assert!(!kept.contains("Story 0 "), "all messages are in memory");
    let (_, page) = get(&server, "/calls/one", "");
    for turn in 0..words.len() {
        assert!(page.contains(&format!("<td>Story {turn} la")), "{turn}");
    }
    assert!(page.contains(">Live, ") && !page.contains("left out"), "{page}");
}
