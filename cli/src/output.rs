//! Standard output, whose reader may close it at any time: [`Output`] and [`is_closed`].

use std::io::{self, ErrorKind, Write};

/// Returns whether the reader of the standard output has closed the pipe, without writing to it.
#[cfg(unix)]
pub fn is_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    poll(&mut watched, Some(&Timespec::default())).is_ok()
        && watched.iter().any(|stdout| stdout.revents().contains(PollFlags::ERR))
}

/// Returns `false`, because only a write can find out on this system.
#[cfg(not(unix))]
pub fn is_closed() -> bool {
    false
}

/// Writes until the reader closes the pipe, as `head` does, and then drops the rest. The call is still logged to its end.
pub struct Output<W> {
    out: W,
    is_closed: bool,
}

impl<W: Write> Output<W> {
    pub fn new(out: W) -> Self {
        Self { out, is_closed: false }
    }

    fn unless_closed(&mut self, written: io::Result<usize>, all: usize) -> io::Result<usize> {
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(all)
            }
            written => written,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.is_closed { Ok(0) } else { self.out.flush().map(|()| 0) };
        self.unless_closed(flushed, 0).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts some bytes and then fails: the reader is gone, or the disk is full.
    struct Takes(usize, ErrorKind);

    impl Write for Takes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(self.1)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.1.into())
        }
    }

    #[test]
    fn closed_pipe_is_no_error() {
        let mut output = Output::new(Takes(5, ErrorKind::BrokenPipe));
        for _ in 0..3 {
            output.write_all(b"four").unwrap();
            output.flush().unwrap();
        }
        let mut full = Output::new(Takes(5, ErrorKind::StorageFull));
        full.write_all(b"four").unwrap();
        assert_eq!(full.write_all(b"four").unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
