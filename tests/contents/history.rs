//! A content exists as long as an owner uses it: random histories of a few owners, compared with a model.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use verbale::contents::{Blob, Cached, ContentStore, DirectoryStore, MemoryStore};

use super::{block_on, dynamodb};

#[derive(Debug, Clone)]
enum Step {
    Put { content: u8, owner: u8 },
    Release { owner: u8 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..4_u8, 0..3_u8).prop_map(|(content, owner)| Step::Put { content, owner }),
        1 => (0..3_u8).prop_map(|owner| Step::Release { owner }),
    ];
    proptest::collection::vec(step, 0..20)
}

/// Runs each history in the same store, which is empty after it.
fn check(cases: u32, store: &dyn ContentStore) {
    let contents: Vec<Blob> = (0..4_u8).map(|at| Blob::new(vec![at; 10 * usize::from(at)])).collect();
    let owners = ["CA1", "CA10", "CA#1"];
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let checked = TestRunner::new(config).run(&steps(), |steps| {
        block_on(async {
            let mut uses = BTreeSet::new();
            let releases = (0..3).map(|owner| Step::Release { owner });
            for step in steps.into_iter().chain(releases) {
                match step {
                    Step::Put { content, owner } => {
                        store.put(&contents[usize::from(content)], owners[usize::from(owner)]).await.unwrap();
                        uses.insert((content, owner));
                    }
                    Step::Release { owner } => {
                        store.release(owners[usize::from(owner)]).await.unwrap();
                        uses.retain(|(_, by)| *by != owner);
                    }
                }
                for (at, blob) in (0..).zip(&contents) {
                    let is_used = uses.iter().any(|(content, _)| *content == at);
                    let found = store.get(blob.id()).await.unwrap();
                    prop_assert_eq!(found, is_used.then(|| blob.clone()));
                }
            }
            Ok(())
        })
    });
    checked.unwrap();
}

#[test]
fn memory_store_follows_the_model() {
    check(256, &MemoryStore::default());
    check(256, &Cached::new(MemoryStore::default(), 35));
}

#[test]
fn directory_store_follows_the_model() {
    let directory = tempfile::tempdir().unwrap();
    check(48, &DirectoryStore::open(directory.path()).unwrap());
}

#[test]
fn dynamodb_store_follows_the_model() {
    let table = block_on(dynamodb::table());
    check(24, &table.store());
    check(24, &Cached::new(table.store(), 35));
    assert_eq!(block_on(table.used_items()), []);
}
