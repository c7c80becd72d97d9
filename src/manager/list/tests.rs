//! Lists that share, edit and forget messages, compared with plain `Vec`s.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// An operation on one of several lists.
#[derive(Debug, Clone)]
enum Op {
    Push(usize),
    Change(Index),
    Insert(Index),
    /// Creates another list that shares the front.
    Share(Index),
    /// Clones the list, which shares as much as before.
    Clone,
    Drop,
    Forget(Index),
    Truncate(Index),
    Gather,
}

fn op() -> impl Strategy<Value = (Index, Op)> {
    let index = any::<Index>;
    let op = prop_oneof![
        6 => (1usize..5).prop_map(Op::Push),
        3 => index().prop_map(Op::Change),
        2 => index().prop_map(Op::Insert),
        4 => index().prop_map(Op::Share),
        1 => Just(Op::Clone),
        2 => Just(Op::Drop),
        2 => index().prop_map(Op::Forget),
        2 => index().prop_map(Op::Truncate),
        2 => Just(Op::Gather),
    ];
    (index(), op)
}

/// A list and its expected messages: `None` in the place of each forgotten one.
#[derive(Clone)]
struct Pair {
    list: List<Arc<u32>>,
    model: Vec<Option<Arc<u32>>>,
}

impl Pair {
    fn check(&self) {
        for skipped in [1, self.model.len() / 2, self.model.len()] {
            let walked: Vec<_> =
                self.list.iter().enumerate().filter(|(at, _)| *at >= skipped).map(|(_, of)| of).collect();
            assert_eq!(self.list.iter().skip(skipped).collect::<Vec<_>>(), walked);
        }
        let Self { list, model } = self;
        let first = model.iter().take_while(|message| message.is_none()).count();
        assert_eq!((list.first(), list.end()), (first, model.len()));
        let held: Vec<_> = model.iter().flatten().cloned().collect();
        assert_eq!(list.iter().cloned().collect::<Vec<_>>(), held);
        assert_eq!(list.iter().rev().cloned().collect::<Vec<_>>(), held.iter().rev().cloned().collect::<Vec<_>>());
        assert_eq!(list.iter().len(), held.len());
        assert_eq!(list.last(), model.last().and_then(Option::as_ref));
        for (index, message) in model.iter().enumerate() {
            assert_eq!(list.get(index), message.as_ref());
        }
        assert_eq!(list.get(model.len()), None);
        // Each message is the one that was added: nothing is copied.
        assert!(list.iter().zip(model.iter().flatten()).all(|(ours, theirs)| Arc::ptr_eq(ours, theirs)));
        let middle = first + held.len() / 2;
        let (indices, rest): (Vec<_>, Vec<_>) = list.indexed(middle..usize::MAX).unzip();
        assert_eq!(indices, (middle..model.len()).collect::<Vec<_>>());
        assert_eq!(rest, list.range(middle..model.len()).collect::<Vec<_>>());
    }

    fn there(&self, index: &Index) -> Option<usize> {
        let (first, end) = (self.list.first(), self.list.end());
        (first < end).then(|| first + index.index(end - first))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn lists_that_share_messages_stay_independent(ops in prop::collection::vec(op(), 1..60)) {
        let mut pairs = vec![Pair { list: List::new(), model: Vec::new() }];
        let mut number = 0;
        let mut next = || {
            number += 1;
            Arc::new(number)
        };
        for (which, op) in ops {
            let which = which.index(pairs.len());
            let is_alone = pairs.len() == 1;
            let pair = &mut pairs[which];
            let mut new = None;
            match op {
                Op::Push(count) => for _ in 0..count {
                    let message = next();
                    assert_eq!(pair.list.push(message.clone()), pair.model.len());
                    pair.model.push(Some(message));
                },
                Op::Change(index) => if let Some(index) = pair.there(&index) {
                    let message = next();
                    *pair.list.get_mut(index).unwrap() = message.clone();
                    pair.model[index] = Some(message);
                },
                Op::Insert(index) => if let Some(index) = pair.there(&index) {
                    let message = next();
                    pair.list.insert(index + 1, message.clone());
                    pair.model.insert(index + 1, Some(message));
                },
                Op::Share(index) => if let Some(index) = pair.there(&index) {
                    new = Some(Pair { list: pair.list.share(index), model: pair.model[..index].to_vec() });
                },
                Op::Clone => new = Some(pair.clone()),
                Op::Drop => if !is_alone {
                    pairs.swap_remove(which);
                },
                Op::Forget(index) => if let Some(index) = pair.there(&index) {
                    pair.list.forget(index + 1);
                    pair.model[..=index].fill(None);
                },
                Op::Truncate(index) => if let Some(index) = pair.there(&index) {
                    pair.list.truncate(index);
                    pair.model.truncate(index);
                },
                Op::Gather => {
                    let held: Vec<_> = pair.model.iter().flatten().cloned().collect();
                    assert_eq!(pair.list.as_slice(), held);
                }
            }
            pairs.extend(new);
            pairs.iter().for_each(Pair::check);
        }
        for pair in pairs {
            assert_eq!(pair.list.as_slice(), pair.model.into_iter().flatten().collect::<Vec<_>>());
        }
    }
}

fn list(numbers: Range<u32>) -> List<Arc<u32>> {
    let mut list = List::new();
    for number in numbers {
        list.push(Arc::new(number));
    }
    list
}

fn segments<T>(list: &List<T>) -> usize {
    list.shared.as_ref().map_or(0, |shared| shared.last.depth() + 1)
}

#[test]
fn segments_no_longer_shared_are_merged() {
    let mut source = list(0..4);
    for turn in 1..=10 {
        drop(source.share(source.end()));
        source.push(Arc::new(turn));
        assert_eq!(segments(&source), 1);
    }
    assert_eq!(source.iter().len(), 14);
}

#[test]
fn forgotten_messages_are_dropped_when_unshared() {
    let mut source = list(0..4);
    let held: Vec<_> = source.iter().map(Arc::downgrade).collect();
    let fork = source.share(3);
    source.forget(2);
    assert_eq!(held.iter().filter(|message| message.strong_count() == 0).count(), 0, "the fork has them");
    drop(fork);
    source.forget(3);
    assert_eq!(held.iter().map(std::sync::Weak::strong_count).collect::<Vec<_>>(), [0, 0, 0, 1]);
}

#[test]
fn edit_copies_only_messages_from_the_edited_one_on() {
    let mut source = list(0..100);
    let fork = source.share(100);
    let slot = |list: &List<Arc<u32>>, index| std::ptr::from_ref(list.get(index).unwrap());
    *source.get_mut(98).unwrap() = Arc::new(0);
    assert_eq!(slot(&source, 97), slot(&fork, 97));
    assert_ne!(slot(&source, 98), slot(&fork, 98));
    assert_ne!(slot(&source, 99), slot(&fork, 99));
    assert_eq!(source.own.len(), 2);
    assert!(source.as_slice().len() == 100 && source.shared.as_ref().unwrap().gathered.get().is_some());
    source.push(Arc::new(1));
    assert!(source.shared.as_ref().unwrap().gathered.get().is_none(), "it is of no use any more");
}

#[test]
fn ten_thousand_generations_share_messages() {
    let mut generations = vec![list(0..1)];
    for generation in 1..10_000 {
        let source = generations.last_mut().unwrap();
        let mut fork = source.share(generation);
        fork.push(Arc::new(u32::try_from(generation).unwrap()));
        generations.push(fork);
    }
    let last = generations.pop().unwrap();
    assert!(last.iter().map(|number| **number).eq(0..10_000));
    assert_eq!(last.partition_point(|number| **number < 1_234), 1_234);
    // Each message is in memory once: in its segment or in the last list.
    assert!(last.iter().all(|number| Arc::strong_count(number) == 1));
    assert_eq!(segments(&last), 9_999);
    let steps = |index| {
        let first = last.shared.as_ref().map(|shared| &shared.last);
        std::iter::successors(first, |segment| segment.next_towards(index).filter(|_| segment.start > index)).count()
    };
    let most = (0..last.own_start).map(steps).max().unwrap();
    assert!(most < 40, "{most} steps");
    drop(generations);
    drop(last);
}
