//! [`Locked`]: a file that this process has locked.

use std::fs::{File, TryLockError};
use std::ops::{Deref, DerefMut};

/// A locked file, which is unlocked when it is dropped.
///
/// Closing the file is not enough to unlock it: a child process shares the open files of its parent until it runs its
/// own program, and a lock lasts until the last of them is closed.
#[derive(Debug)]
pub(crate) struct Locked(File);

impl Locked {
    /// Locks a file for this handle alone.
    pub fn exclusive(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    /// Locks a file against exclusive locks.
    pub fn shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared().map(|()| Self(file))
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // A failure leaves the lock to the end of the last handle.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_unlocks_a_file_that_a_child_process_still_has() {
        let directory = tempfile::tempdir().unwrap();
        let open =
            || File::options().create(true).truncate(false).write(true).open(directory.path().join("lock")).unwrap();
        let locked = Locked::exclusive(open()).unwrap();
        let of_a_child = locked.try_clone().unwrap();
        assert!(matches!(Locked::shared(open()), Err(TryLockError::WouldBlock)));
        drop(locked);
        assert!(Locked::exclusive(open()).is_ok());
        drop(of_a_child);
    }
}
