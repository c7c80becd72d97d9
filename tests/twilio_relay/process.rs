//! [`Process`]: the example as a process.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::Parser;

use super::program::arguments::Arguments;

pub const TOKEN: &str = "12345";
pub const SALT: &str = "a salt of 16 bytes";
/// A watchdog, not a measurement.
pub const HANGS: Duration = Duration::from_secs(300);

const VARIABLE: &str = "VERBALE_TWILIO_RELAY";

/// A running example. It is killed when it is dropped.
pub struct Process {
    child: Child,
    /// Where it listens, such as `127.0.0.1:40123`.
    pub address: String,
    printed: Option<JoinHandle<String>>,
}

/// Returns the arguments of the example, if this process is to run it.
pub fn arguments() -> Option<Arguments> {
    let line = std::env::var(VARIABLE).ok()?;
    Some(Arguments::parse_from(std::iter::once("twilio_relay").chain(line.split('\n'))))
}

impl Process {
    /// Starts the example with its log in a directory, and waits until it listens.
    pub fn start(directory: &Path, arguments: &[&str]) -> Self {
        let directory = directory.to_str().unwrap();
        let given = ["--listen", "127.0.0.1:0", "--log", directory, "--drain-s", "0"];
        let all = given.iter().chain(arguments).copied().collect::<Vec<_>>().join("\n");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["life", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, all)
            .env("TWILIO_AUTH_TOKEN", TOKEN)
            .env("CALLER_SALT", SALT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let printed = std::thread::spawn(move || {
            let mut printed = String::new();
            stderr.read_to_string(&mut printed).unwrap();
            printed
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The harness may have printed the start of the line.
        let address =
            lines.find_map(|line| line.unwrap().split_once("listening on http://").map(|(_, at)| at.to_owned()));
        let Some(address) = address else {
            let _ = child.wait();
            panic!("the example does not listen: {}", printed.join().unwrap());
        };
        // The harness prints its verdict into the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, address, printed: Some(printed) }
    }

    /// Returns the URL of a path, as Twilio signs it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Kills the process with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub fn begin_terminate(self) -> Self {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self
    }

    /// Waits for the end with exit status 0, and returns what the process printed to standard error.
    pub fn ended(mut self) -> String {
        let status = self.child.wait().unwrap();
        let printed = self.printed.take().unwrap().join().unwrap();
        assert!(status.success(), "{status}: {printed}");
        printed
    }

    pub fn terminate(self) -> String {
        self.begin_terminate().ended()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is true.
pub async fn until(mut is_true: impl FnMut() -> bool) {
    let waiting = async {
        while !is_true() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANGS, waiting).await.unwrap();
}
