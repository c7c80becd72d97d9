//! Files: who may read them, who has them open, which are refused, how large they grow.

use std::fs;
use std::path::PathBuf;

use redb::{ReadableDatabase, TableDefinition};

use super::*;
use crate::log::FileDurability;

fn open(path: &Path) -> Result<Spool, SpoolError> {
    Spool::open(path, SpoolSettings::default())
}

/// What stands in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn what_is_spooled_is_there_when_the_file_is_opened_again() {
    for reach in [FileDurability::System, FileDurability::Disk] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let settings = SpoolSettings::default().with_durability(reach);
        let hello = record(0, 1, "Hello");
        Spool::open(&path, settings.clone()).unwrap().commit(&[put("CA", &hello)]).unwrap();
        let spool = Spool::open(&path, settings).unwrap();
        assert_eq!(batch(&spool, "CA"), [hello]);
        assert!(format!("{spool:?}").contains("pending_bytes: 1"), "{spool:?}");
    }
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
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
fn a_file_has_one_user_also_when_it_was_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let spool = open(&path).unwrap();
    for _ in 0..2 {
        let error = open(&path).unwrap_err();
        assert_eq!((error.kind(), error.path()), (SpoolErrorKind::InUse, path.as_path()));
        spool.commit(&[SpoolChange::Forget(call("CA"))]).unwrap();
    }
    drop(spool);
    open(&path).unwrap();
}

#[test]
fn an_erased_call_is_nowhere_in_the_directory() {
    let secret = "my card is 4929 7000 1234";
    let directory = tempfile::tempdir().unwrap();
    let spool = open(&directory.path().join("spool")).unwrap();
    let is_there = |text: &str| {
        let has = |path: &PathBuf| fs::read(path).unwrap().windows(text.len()).any(|found| found == text.as_bytes());
        files(directory.path()).iter().any(has)
    };
    spool.commit(&[put("CA", &record(0, 1, secret)), put("CB", &record(0, 1, "kept"))]).unwrap();
    assert!(is_there(secret) && is_there("kept"));
    spool.commit(&[SpoolChange::Forget(call("CA"))]).unwrap();
    assert!(!is_there(secret) && is_there("kept"));
    assert_eq!(batch(&spool, "CB").len(), 1);
}

#[test]
fn a_file_that_was_not_finished_goes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    fs::write(directory.path().join("spool.new"), "half a copy").unwrap();
    fs::write(&path, "").unwrap();
    let spool = open(&path).unwrap();
    assert_eq!(spool.calls().unwrap(), []);
    assert_eq!(files(directory.path()).len(), 2);
}

#[test]
fn what_is_no_spool_is_refused() {
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
        assert_eq!((error.kind(), error.path()), (SpoolErrorKind::Damaged, path(name).as_path()), "{name}");
        assert_eq!(error.remedy(), Remedy::Operator);
    }
    assert_eq!(fs::read_to_string(path("text")).unwrap(), text);
}

#[test]
fn a_newer_format_is_refused() {
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
    assert_eq!(error.kind(), SpoolErrorKind::NewerFormat { version: 2 });
}

#[cfg(unix)]
#[test]
fn a_place_where_no_file_can_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let path = directory.path().join("file/spool");
    let error = open(&path).unwrap_err();
    assert_eq!((error.kind(), error.path()), (SpoolErrorKind::Refused, path.as_path()));
    fs::create_dir(directory.path().join("folder")).unwrap();
    let error = open(&directory.path().join("folder")).unwrap_err();
    assert_eq!(error.kind(), SpoolErrorKind::Refused);
}

#[test]
fn a_file_does_not_grow_under_steady_traffic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let spool = open(&path).unwrap();
    let kept = record(0, 1, "kept from the beginning");
    spool.commit(&[put("CA", &kept)]).unwrap();
    let cycle = |number: u32| {
        let records: Vec<Record> = (1..=100).map(|seq| record(number * 100 + seq, 1, &"x".repeat(200))).collect();
        spool.commit(&records.iter().map(|record| put("CA", record)).collect::<Vec<_>>()).unwrap();
        spool.commit(&records.iter().map(|record| shipped("CA", record)).collect::<Vec<_>>()).unwrap();
        fs::metadata(&path).unwrap().len()
    };
    let early = (0..20).map(cycle).max().unwrap();
    let late = (20..200).map(cycle).max().unwrap();
    assert!(late <= early, "{late} bytes after 200 cycles, {early} after 20");
    assert_eq!(batch(&spool, "CA"), [kept]);
}
