//! [`DirectoryStore`]: each content a file.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Blob, ContentError, ContentFuture, ContentId, ContentStore};

/// Where files are until they are whole. What a process that was killed left there may be deleted while none writes.
const UNFINISHED: &str = "unfinished";

/// Contents in a directory: `<first 2 digits>/<next 2>/<64 digits>`, each file the bytes and nothing else.
///
/// A file is written elsewhere, synced, and moved into its place at once; any number of processes may share the
/// directory. Where the system knows modes, files have 0600 and directories 0700.
///
/// Its futures do their reading and writing on the thread that polls them: never poll one in the turn of a call.
#[derive(Debug, Clone)]
pub struct DirectoryStore {
    root: PathBuf,
}

impl DirectoryStore {
    /// The store in this directory, which is made where it is not there.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let root = root.into();
        match make_directory(&root.join(UNFINISHED)) {
            Ok(()) => Ok(Self { root }),
            Err(error) => Err(ContentError::Directory { path: root, source: Arc::new(error) }),
        }
    }

    fn folder(&self, id: ContentId) -> PathBuf {
        let hex = id.hex();
        [hex.get(..2), hex.get(2..4)].into_iter().flatten().fold(self.root.clone(), |path, part| path.join(part))
    }

    fn path(&self, id: ContentId) -> PathBuf {
        self.folder(id).join(id.hex())
    }

    fn write(&self, blob: &Blob) -> io::Result<()> {
        let path = self.path(blob.id());
        // All of it is read, so that what is damaged is replaced.
        if read(&path)?.is_none_or(|found| *found != **blob.bytes()) {
            make_directory(&self.folder(blob.id()))?;
            // Opened with 0600 where there are modes; deleted when this fails.
            let mut file = tempfile::NamedTempFile::new_in(self.root.join(UNFINISHED))?;
            file.write_all(blob.bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
        }
        // Also where it was there: another process may have moved it a moment ago.
        self.sync_names(blob.id())
    }

    /// Makes the names of a content's file and folders durable, where a directory can be opened for that.
    fn sync_names(&self, id: ContentId) -> io::Result<()> {
        let folder = self.folder(id);
        let mut folders = folder.ancestors().take(3).filter(|_| cfg!(unix));
        folders.try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

impl ContentStore for DirectoryStore {
    fn put<'a>(&'a self, blob: &'a Blob) -> ContentFuture<'a, ()> {
        Box::pin(async move { self.write(blob).map_err(|error| store_error("put", blob.id(), error)) })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let found = read(&self.path(id)).map_err(|error| store_error("get", id, error))?;
            found.map(|bytes| Blob::verified(id, bytes)).transpose()
        })
    }

    fn delete(&self, id: ContentId) -> ContentFuture<'_, ()> {
        Box::pin(async move {
            let deleted = fs::remove_file(self.path(id)).and_then(|()| self.sync_names(id));
            match deleted {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(store_error("delete", id, error)),
                _ => Ok(()),
            }
        })
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

fn store_error(action: &'static str, id: ContentId, error: io::Error) -> ContentError {
    // Mended only by a person.
    let lasting = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotADirectory];
    ContentError::Store { action, id, retryable: !lasting.contains(&error.kind()), source: Arc::new(error) }
}
