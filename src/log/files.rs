//! Files that only their owner can read, for logs and spools.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options to read and write a file that is created with mode 0600, where the system supports it.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).write(true);
    options
}

/// Creates the directory of a file with mode 0700, where the system supports it.
pub(super) fn create_directory_of(path: &Path) -> io::Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Syncs the directory of a file, so that the file's name survives the loss of the host.
pub(super) fn sync_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => {
            let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            File::open(directory)?.sync_all()
        }
        _ => Ok(()),
    }
}
