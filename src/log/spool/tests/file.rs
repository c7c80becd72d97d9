//! Files: permissions, locks, damage, size.

use std::fs;
use std::path::PathBuf;

use redb::{ReadableDatabase, TableDefinition};

use super::*;
use crate::log::LogErrorKind;

fn open(path: &Path) -> Result<Spool, LogError> {
    Spool::open(path, SpoolSettings::default())
}

/// The files in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn records_survive_reopening_the_file() {
    for fsync in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let settings = SpoolSettings::default().with_fsync(fsync);
        let hello = record(0, 1, "Hello");
        Spool::open(&path, settings.clone()).unwrap().commit(&[put("CA", &hello)]).unwrap();
        let spool = Spool::open(&path, settings).unwrap();
        assert_eq!(batch(&spool, "CA"), [hello]);
        assert!(format!("{spool:?}").contains("pending_bytes: 1"), "{spool:?}");
    }
}

#[cfg(unix)]
#[test]
fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("made");
    let spool = open(&made.join("for/spool")).unwrap();
    spool.commit(&[put("CA", &record(0, 1, "Hello")), SpoolChange::Forget(call("CB"))]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&made), mode(&made.join("for"))), (0o700, 0o700));
    let found = files(&made.join("for"));
    assert_eq!(found, ["spool", "spool.counter"].map(|name| made.join("for").join(name)));
    assert_eq!(found.iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o600, 0o600]);
}

#[test]
fn file_has_one_user_even_after_a_rewrite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let spool = open(&path).unwrap();
    for _ in 0..2 {
        let error = open(&path).unwrap_err();
        let expected = format!("the spool {} is in use", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        spool.commit(&[SpoolChange::Forget(call("CA"))]).unwrap();
    }
    drop(spool);
    open(&path).unwrap();
}

#[test]
fn no_byte_of_an_erased_call_is_in_the_directory() {
    let secret = "my card is 4929 7000 1234";
    let directory = tempfile::tempdir().unwrap();
    let spool = open(&directory.path().join("spool")).unwrap();
    let contains = |text: &str| {
        let has = |path: &PathBuf| fs::read(path).unwrap().windows(text.len()).any(|found| found == text.as_bytes());
        files(directory.path()).iter().any(has)
    };
    spool.commit(&[put("CA", &record(0, 1, secret)), put("CB", &record(0, 1, "kept"))]).unwrap();
    assert!(contains(secret) && contains("kept"));
    spool.commit(&[SpoolChange::Forget(call("CA"))]).unwrap();
    assert!(!contains(secret) && contains("kept"));
    assert_eq!(batch(&spool, "CB").len(), 1);
}

#[test]
fn both_files_are_locked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let spool = open(&path).unwrap();
    for _ in 0..2 {
        for path in files(directory.path()) {
            let file = fs::File::open(&path).unwrap();
            assert!(matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)), "{}", path.display());
        }
        spool.commit(&[SpoolChange::Forget(call("CA"))]).unwrap();
    }
    // Another path to the same file does not help.
    fs::hard_link(&path, directory.path().join("link")).unwrap();
    let error = open(&directory.path().join("link")).unwrap_err();
    assert!(error.to_string().contains("is in use"), "{error}");
}

#[test]
fn old_copy_or_missing_file_is_refused_until_the_counter_is_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let [first, second] = [record(0, 1, "first"), record(1, 1, "second")];
    open(&path).unwrap().commit(&[put("CA", &first)]).unwrap();
    let copy = fs::read(&path).unwrap();
    open(&path).unwrap().commit(&[put("CA", &second)]).unwrap();
    fs::write(&path, copy).unwrap();
    let error = open(&path).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Damaged);
    assert!(error.to_string().contains("lacks its last commits"), "{error}");
    fs::remove_file(directory.path().join("spool.counter")).unwrap();
    assert_eq!(batch(&open(&path).unwrap(), "CA"), slice::from_ref(&first));

    fs::remove_file(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(error.to_string().contains("is missing"), "{error}");
    fs::remove_file(directory.path().join("spool.counter")).unwrap();
    let spool = open(&path).unwrap();
    assert_eq!(batch(&spool, "CA"), []);
    drop(spool);
    // Nothing is lost with an empty spool.
    fs::remove_file(&path).unwrap();
    open(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn file_that_is_deleted_in_use_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("for/spool");
    let spool = open(&path).unwrap();
    let records: Vec<Record> = (0..6).map(|seq| record(seq, 1, "Hello")).collect();
    spool.commit(&[put("CA", &records[0])]).unwrap();
    assert!(spool.take_trouble().is_none());
    let deletions: [(bool, &dyn Fn()); 3] = [
        (true, &|| fs::remove_file(&path).unwrap()),
        (false, &|| fs::remove_file(&path).unwrap()),
        (true, &|| fs::remove_dir_all(path.parent().unwrap()).unwrap()),
    ];
    for (number, (commits, delete)) in deletions.into_iter().enumerate() {
        delete();
        if commits {
            spool.commit(&[put("CA", &records[number + 1])]).unwrap();
        } else {
            batch(&spool, "CA");
        }
        let error = spool.take_trouble().unwrap();
        assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
        assert!(error.to_string().contains("was deleted while it was in use"), "{error}");
        let whole = batch(&spool, "CA");
        // As the next process finds it.
        let copy = directory.path().join(format!("copy-{number}"));
        fs::copy(&path, &copy).unwrap();
        fs::copy(directory.path().join("for/spool.counter"), directory.path().join(format!("copy-{number}.counter")))
            .unwrap();
        assert_eq!(batch(&open(&copy).unwrap(), "CA"), whole);
    }
    assert_eq!(batch(&spool, "CA"), [&records[..2], &records[3..4]].concat());
    assert!(spool.take_trouble().is_none());
}

#[cfg(unix)]
#[test]
fn file_that_is_replaced_in_use_takes_no_commits_until_it_is_moved_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let spool = open(&path).unwrap();
    let [first, second] = [record(0, 1, "first"), record(1, 1, "second")];
    spool.commit(&[put("CA", &first)]).unwrap();
    fs::write(directory.path().join("other"), "somebody's").unwrap();
    fs::rename(directory.path().join("other"), &path).unwrap();
    let error = spool.commit(&[put("CA", &second)]).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
    assert!(error.to_string().contains("was replaced while it was in use"), "{error}");
    assert_eq!(batch(&spool, "CA"), slice::from_ref(&first));
    assert!(spool.take_trouble().unwrap().to_string().contains("was replaced"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");

    fs::rename(&path, directory.path().join("other")).unwrap();
    spool.commit(&[put("CA", &second)]).unwrap();
    drop(spool);
    assert_eq!(batch(&open(&path).unwrap(), "CA"), [first, second]);
}

#[test]
fn unfinished_file_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    fs::write(directory.path().join("spool.new"), "half a copy").unwrap();
    fs::write(&path, "").unwrap();
    let spool = open(&path).unwrap();
    assert_eq!(spool.calls(None, usize::MAX).unwrap(), []);
    assert_eq!(files(directory.path()).len(), 2);
}

#[test]
fn foreign_or_damaged_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let text = "minutes of the meeting, ".repeat(1_000);
    fs::write(path("text"), &text).unwrap();
    drop(redb::Database::create(path("other")).unwrap());
    open(&path("torn")).unwrap().commit(&[put("CA", &record(0, 1, &"x".repeat(100_000)))]).unwrap();
    let whole = fs::read(path("torn")).unwrap();
    let at = whole.windows(9).position(|bytes| bytes == b"xxxxxxxxx").unwrap();
    let mut damaged = whole.clone();
    damaged[at + 50_000] = b'y';
    fs::write(path("torn"), &damaged).unwrap();
    fs::write(path("short"), &whole[..whole.len() / 2]).unwrap();
    for name in ["text", "other", "torn", "short"] {
        let error = open(&path(name)).unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Damaged, "{name}");
        let expected = format!("{} is not a spool or is damaged", path(name).display());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert_eq!(fs::read_to_string(path("text")).unwrap(), text);
}

#[test]
fn newer_format_is_refused() {
    const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    open(&path).unwrap().commit(&[put("CA", &record(0, 1, "Hello"))]).unwrap();
    let database = redb::Database::create(&path).unwrap();
    assert_eq!(database.begin_read().unwrap().open_table(META).unwrap().get("format").unwrap().unwrap().value(), 2);
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("format", 3).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = open(&path).unwrap_err();
    assert!(error.to_string().contains("has format 3, which this version"), "{error}");
}

#[test]
fn older_format_is_upgraded() {
    const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
    const KEY: TableDefinition<&str, &[u8]> = TableDefinition::new("key");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let hello = record(0, 1, "Hello");
    open(&path).unwrap().commit(&[put("CA", &hello)]).unwrap();
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(META).unwrap();
        meta.insert("format", 1).unwrap();
        meta.remove("spool").unwrap();
        meta.remove("commits").unwrap();
    }
    transaction.delete_table(KEY).unwrap();
    transaction.commit().unwrap();
    drop(database);
    fs::remove_file(directory.path().join("spool.counter")).unwrap();
    for _ in 0..2 {
        assert_eq!(batch(&open(&path).unwrap(), "CA"), slice::from_ref(&hello));
    }
}

#[cfg(unix)]
#[test]
fn unusable_path_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let path = directory.path().join("file/spool");
    let error = open(&path).unwrap_err();
    let unusable = |path: &Path| format!("the spool {} cannot be used", path.display());
    assert!(error.to_string().starts_with(&unusable(&path)), "{error}");
    fs::create_dir(directory.path().join("folder")).unwrap();
    let error = open(&directory.path().join("folder")).unwrap_err();
    assert!(error.to_string().starts_with(&unusable(&directory.path().join("folder"))), "{error}");
}

#[test]
fn file_does_not_grow_under_steady_traffic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let spool = open(&path).unwrap();
    let kept = record(0, 1, "kept from the beginning");
    spool.commit(&[put("CA", &kept)]).unwrap();
    let cycle = |number: u32| {
        let records: Vec<Record> = (1..=100).map(|seq| record(number * 100 + seq, 1, &"x".repeat(200))).collect();
        spool.commit(&records.iter().map(|record| put("CA", record)).collect::<Vec<_>>()).unwrap();
        spool.commit(&records.iter().map(|record| stored("CA", record)).collect::<Vec<_>>()).unwrap();
        fs::metadata(&path).unwrap().len()
    };
    let early = (0..20).map(cycle).max().unwrap();
    let late = (20..200).map(cycle).max().unwrap();
    assert!(late <= early, "{late} bytes after 200 cycles, {early} after 20");
    assert_eq!(batch(&spool, "CA"), [kept]);
}
