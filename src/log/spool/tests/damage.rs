//! Damage of the files: all damage is detected, or loses nothing that was acknowledged.

use super::history::Model;
use super::*;

/// Returns a spool with acknowledged records after many commits, as a crash or a clean end leaves it.
fn acknowledged(is_closed: bool) -> (SpoolMemory, Model) {
    let (memory, spool) = in_memory();
    for seq in 0..8 {
        let [first, second] = [1, 2].map(|revision| record(seq, revision, &"word ".repeat(40)));
        spool.commit(&[put("CA", &first), put("CB", &first), put("CC", &first)]).unwrap();
        spool.commit(&[stored("CA", &first), put("CB", &second), put_dead_letter("CC", &first)]).unwrap();
    }
    let model = Model::of(&spool);
    if is_closed {
        drop(spool);
    }
    (memory.copy(), model)
}

/// Opens a damaged copy. Returns true if the damage is found, and checks that otherwise nothing is lost.
fn is_found(damaged: &SpoolMemory, model: &Model, what: &str) -> bool {
    match damaged.open(SpoolSettings::default()) {
        Err(error) => {
            assert_eq!(error.kind(), LogErrorKind::Damaged, "{what}: {error}");
            let text = error.to_string();
            let has_advice = ["move it and", "put the newest file back, or", "delete it to continue"];
            assert!(has_advice.iter().any(|advice| text.contains(advice)), "{what}: {text}");
            true
        }
        Ok(spool) => {
            assert!(Model::of(&spool) == *model, "{what} goes unnoticed");
            false
        }
    }
}

#[test]
fn each_flipped_bit_is_found_or_loses_nothing() {
    for is_closed in [false, true] {
        let (memory, model) = acknowledged(is_closed);
        let length = memory.bytes().len();
        let header = 0..320 * 8;
        // The rest of the first page is unused.
        let padding = (320..4_096).step_by(31).map(|byte| byte * 8 + byte % 8);
        let others = (0..400).map(|sample| (4_096 * 8 + sample * 104_729 * 8 + sample) % (length * 8));
        let mut found = 0;
        for bit in header.chain(padding).chain(others) {
            let damaged = memory.copy();
            damaged.flip(bit);
            found += u32::from(is_found(&damaged, &model, &format!("bit {bit} of {length} bytes")));
        }
        assert!(found > 300, "{found} flips are found");
        let damaged = memory.copy();
        (320 * 8..4_096 * 8).for_each(|bit| damaged.flip(bit));
        is_found(&damaged, &model, "the unused rest of the first page");
    }
}

#[test]
fn each_flipped_bit_of_the_counter_is_found_or_loses_nothing() {
    let (memory, model) = acknowledged(false);
    let length = memory.counter_bytes().len();
    for bit in (0..64 * 8).chain((4_096 * 8)..(length * 8)) {
        let damaged = memory.copy();
        damaged.flip_counter(bit);
        assert!(!is_found(&damaged, &model, &format!("bit {bit} of the counter")), "one slot is whole");
    }
    memory.set_counter(b"not a counter, ".repeat(9));
    assert!(is_found(&memory, &model, "another file in place of the counter"));
}

#[test]
fn truncation_is_found_or_loses_nothing() {
    for is_closed in [false, true] {
        let (memory, model) = acknowledged(is_closed);
        let whole = memory.bytes();
        for length in (1..whole.len()).step_by(4_096).chain((4_096..whole.len()).step_by(4_096)) {
            let damaged = memory.copy();
            damaged.set_bytes(whole[..length].to_vec());
            is_found(&damaged, &model, &format!("truncation to {length} bytes"));
        }
    }
}

#[test]
fn old_copy_is_found() {
    let (memory, spool) = in_memory();
    let mut copies = Vec::new();
    for seq in 0..4 {
        copies.push(memory.bytes());
        spool.commit(&[put("CA", &record(seq, 1, "Hello"))]).unwrap();
    }
    let model = Model::of(&spool);
    for copy in copies {
        let damaged = memory.copy();
        damaged.set_bytes(copy);
        assert!(is_found(&damaged, &model, "an old copy"));
        // As the error says: without the counter, the spool has the records of the copy.
        damaged.set_counter(vec![]);
        let spool = damaged.open(SpoolSettings::default()).unwrap();
        assert!(batch(&spool, "CA").len() < 4);
        spool.commit(&[put("CA", &record(7, 1, "Hello again"))]).unwrap();
        drop(spool);
        assert_eq!(
            batch(&damaged.open(SpoolSettings::default()).unwrap(), "CA").last(),
            Some(&record(7, 1, "Hello again"))
        );
    }
}
