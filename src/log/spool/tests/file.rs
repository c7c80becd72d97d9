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
    assert_eq!(found, ["spool", "spool.lock"].map(|name| made.join("for").join(name)));
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
fn unfinished_file_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    fs::write(directory.path().join("spool.new"), "half a copy").unwrap();
    fs::write(&path, "").unwrap();
    let spool = open(&path).unwrap();
    assert_eq!(spool.calls().unwrap(), []);
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
    assert_eq!(database.begin_read().unwrap().open_table(META).unwrap().get("format").unwrap().unwrap().value(), 1);
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("format", 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = open(&path).unwrap_err();
    assert!(error.to_string().contains("has format 2, which this version"), "{error}");
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
