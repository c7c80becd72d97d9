//! A server of `verbale serve` in a process of its own, and plain requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A busy machine is slow.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A running server. It is killed when it is dropped.
pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[], Stdio::null())
    }

    /// Starts a server with these variables, and with its standard error there.
    pub fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)], stderr: Stdio) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_verbale"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).current_dir(folder);
        command.envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, address }
    }

    /// Sends a request as it is, and returns the status and the body of the answer.
    pub fn send(&self, request: &str) -> (u16, String) {
        let answer = self.answer(request);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    /// Sends a request as it is, and returns the answer.
    pub fn answer(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The server may have answered before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let host = if headers.to_lowercase().contains("host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let length = body.len();
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             {headers}\r\n{body}"
        ))
    }

    pub fn upgrade(&self, path: &str, headers: &str) -> u16 {
        let socket = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                      Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{host}{socket}{headers}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Sends SIGTERM.
    pub fn begin_terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Waits for the end with exit status 0.
    pub fn ended(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// Follows a page.
    pub fn follow(&self, path: &str, headers: &str) -> Following {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address).as_bytes()).unwrap();
        Following(BufReader::new(stream))
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The events of a page.
pub struct Following(BufReader<TcpStream>);

impl Following {
    /// Waits for the next event. Returns its name and data, or `None` at the end.
    pub fn next(&mut self) -> Option<(String, String)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            // The end of the answer is an empty chunk, or that of the connection.
            if self.0.read_line(&mut line).unwrap() == 0 || line == "0\r\n" {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, data.trim().to_owned()));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
