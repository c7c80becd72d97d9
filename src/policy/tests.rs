//! Marks, turns and cuts, over random windows too; estimates and how they are corrected.

use proptest::prelude::*;

use super::*;
use crate::message::{Attribute, Content, Contents, Invocation, Position, Role, Value};

fn message(seq: u32, role: Role, contents: impl Into<Contents>) -> Message {
    Message::new(u128::from(seq).into(), Position::message(seq), role, contents.into(), 0)
}

fn call(id: &str) -> Content {
    Invocation::new(id, "search", Value::Null).unwrap().into()
}

fn result(id: &str) -> Content {
    Invocation::new(id, "search", Value::Null).unwrap().success(["found"]).into()
}

/// `turns` turns of two messages, of 10 tokens each.
fn conversation(turns: u32) -> Vec<Message> {
    (0..turns)
        .flat_map(|turn| {
            [message(2 * turn, Role::User, "0123456789 yes"), message(2 * turn + 1, Role::Assistant, "0123456789 sir")]
        })
        .collect()
}

#[test]
fn it_waits_up_to_the_high_mark_and_cuts_down_to_the_low_one() {
    let policy = Policy::default().without_tokens().with_messages(6..=20);
    assert_eq!(policy.decide(&conversation(10), &CharacterEstimator), Decision::Wait);
    let eleven = conversation(11);
    assert_eq!(policy.decide(&eleven, &CharacterEstimator), Decision::Summarize { keep_turns: 3 });
    let keeps_more = policy.with_keep_turns(5);
    assert_eq!(keeps_more.decide(&eleven, &CharacterEstimator), Decision::Summarize { keep_turns: 5 });
}

#[test]
fn tokens_alone_and_both_measures_together() {
    let ten = conversation(10);
    let turn: Tokens = ten[..2].iter().map(|message| CharacterEstimator.message(message)).sum();
    let tokens = Policy::default().without_messages().with_tokens(3 * turn.get()..=9 * turn.get());
    assert_eq!(tokens.decide(&ten[..18], &CharacterEstimator), Decision::Wait);
    assert_eq!(tokens.decide(&ten, &CharacterEstimator), Decision::Summarize { keep_turns: 3 });
    // One high mark is enough to start; what stays is below both low marks.
    let both = tokens.clone().with_messages(4..=1_000);
    assert_eq!(both.decide(&ten, &CharacterEstimator), Decision::Summarize { keep_turns: 2 });
    assert_eq!(tokens.without_tokens().decide(&ten, &CharacterEstimator), Decision::Wait);
}

#[test]
fn contradictory_marks_are_taken_down() {
    #[expect(clippy::reversed_empty_ranges)]
    let policy = Policy::default().with_tokens(9..=5).with_messages(7..=3);
    assert_eq!(policy, Policy::default().with_tokens(5..=5).with_messages(3..=3));
    assert_eq!(Policy::default().with_keep_turns(0), Policy::default().with_keep_turns(1));
}

#[test]
fn there_must_be_something_to_cover() {
    let policy = Policy::default().with_messages(0..=0).with_keep_turns(1);
    assert_eq!(policy.decide(&[], &CharacterEstimator), Decision::Wait);
    assert_eq!(policy.decide(&conversation(1), &CharacterEstimator), Decision::Wait);
    let mut fake_first = conversation(2);
    fake_first[0].metadata_mut().add_attribute(Attribute::Fake);
    fake_first.remove(1);
    assert_eq!(policy.decide(&fake_first, &CharacterEstimator), Decision::Wait);
}

#[test]
fn large_turns_that_stay_do_not_cost_a_summary_each_turn() {
    let policy = Policy::default().without_messages().with_tokens(1_000..=4_000).with_keep_turns(1);
    let mut window = conversation(1);
    window.push(message(2, Role::User, "x".repeat(20_000)));
    assert_eq!(policy.decide(&window, &CharacterEstimator), Decision::Wait);
    window.splice(0..0, conversation(40));
    assert_eq!(policy.decide(&window, &CharacterEstimator), Decision::Summarize { keep_turns: 1 });
}

#[test]
fn a_result_that_comes_late_holds_the_turns_together() {
    let window = [
        message(0, Role::User, "find me a flight"),
        message(1, Role::Assistant, call("a")),
        message(2, Role::User, [result("a"), "quickly please".into()]),
        message(3, Role::Assistant, ["one moment".into(), call("b")]),
        message(4, Role::User, "are you there"),
        message(5, Role::Assistant, "yes"),
        message(6, Role::User, result("b")),
        message(7, Role::Assistant, "found"),
        message(8, Role::User, "good"),
        message(9, Role::Assistant, call("c")),
        message(10, Role::User, "well?"),
    ];
    let turns = Turns::of(&window, |_| Tokens::default());
    let cuts: Vec<_> = turns.cuts().map(|cut| (cut.covers.messages, cut.keeps)).collect();
    // Not at 2, which holds the result of 1; not at 4, between 3 and 6; not at 10, for the result of 9 is to come.
    assert_eq!(cuts, [(8, 2)]);
}

#[test]
fn other_scripts_cost_more_than_english() {
    let tokens = |text| CharacterEstimator.text(text).get();
    assert_eq!(tokens(""), 0);
    assert_eq!(tokens("i would like to schedule an appointment"), 12);
    assert_eq!(tokens("vorrei fissare un appuntamento, è urgente perché parto"), 17);
    assert_eq!(tokens("я хотел бы записаться на приём"), 19);
    assert_eq!(tokens("予約したいです"), 7);
    assert_eq!(tokens("😀"), 2);
}

#[test]
fn tools_count_too() {
    let arguments = Value::map([("flight", "HAT069"), ("date", "2024-05-20")]).unwrap();
    let invocation = Invocation::new("a", "search", arguments).unwrap();
    let long = invocation.success(["x".repeat(3_500)]);
    assert!(CharacterEstimator.message(&message(0, Role::Assistant, invocation)).get() > 30);
    assert!(CharacterEstimator.message(&message(1, Role::User, long)).get() > 1_000);
}

#[derive(Debug, Clone)]
enum Step {
    Say(Role, usize),
    Call(Role),
    Answer(usize, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let role = || prop_oneof![Just(Role::User), Just(Role::Assistant)];
    let step = prop_oneof![
        4 => (role(), 0usize..400).prop_map(|(role, length)| Step::Say(role, length)),
        1 => role().prop_map(Step::Call),
        2 => (0usize..4, any::<bool>()).prop_map(|(back, speaks)| Step::Answer(back, speaks)),
    ];
    proptest::collection::vec(step, 0..60)
}

fn window(steps: &[Step]) -> Vec<Message> {
    let mut open: Vec<String> = Vec::new();
    let mut window = Vec::new();
    for (seq, step) in (0..).zip(steps) {
        window.push(match step {
            Step::Say(role, length) => message(seq, *role, "x".repeat(*length)),
            Step::Call(role) => {
                open.push(format!("call-{seq}"));
                message(seq, *role, call(&open[open.len() - 1]))
            }
            Step::Answer(back, speaks) if *back < open.len() => {
                let answer = result(&open.remove(open.len() - 1 - back));
                message(seq, Role::User, if *speaks { vec![answer, "and".into()] } else { vec![answer] })
            }
            Step::Answer(..) => message(seq, Role::User, "nothing to answer"),
        });
    }
    window
}

/// As the manager counts: where the latest `keep_turns` turns start.
fn start_of(window: &[Message], keep_turns: usize) -> usize {
    let says = |message: &Message| message.contents().iter().any(|content| content.as_result().is_none());
    let starts = (0..window.len()).filter(|at| window[*at].role() == Role::User && says(&window[*at]));
    starts.collect::<Vec<_>>().into_iter().rev().nth(keep_turns - 1).expect("so many turns")
}

proptest! {
    #[test]
    fn a_cut_keeps_enough_parts_no_pair_and_is_not_followed_by_another(
        steps in steps(), high in 0usize..30, low in 0usize..30, tokens in 1u64..800, keep in 1usize..5,
    ) {
        let window = window(&steps);
        let policy = Policy::default().with_messages(low..=high).with_tokens(tokens / 2..=tokens).with_keep_turns(keep);
        let Decision::Summarize { keep_turns } = policy.decide(&window, &CharacterEstimator) else { return Ok(()) };
        prop_assert!(keep_turns >= keep);

        let cut = start_of(&window, keep_turns);
        prop_assert!(cut > 0);
        let calls = |part: &[Message]| -> Vec<_> {
            let ids = part.iter().flat_map(|message| message.contents().iter().filter_map(Content::as_invocation));
            ids.map(|invocation| invocation.id().clone()).collect()
        };
        let results = |part: &[Message]| -> Vec<_> {
            let ids = part.iter().flat_map(|message| message.contents().iter().filter_map(Content::as_result));
            ids.map(|result| result.invocation_id().clone()).collect()
        };
        let answered = results(&window[..cut]);
        prop_assert!(calls(&window[..cut]).iter().all(|call| answered.contains(call)));

        prop_assert_eq!(policy.decide(&window[cut..], &CharacterEstimator), Decision::Wait);
        let tokens_left: Tokens = window[cut..].iter().map(|message| CharacterEstimator.message(message)).sum();
        let is_low = window.len() - cut <= low.min(high) && tokens_left.get() <= tokens / 2;
        let next_cut_is_safe = Turns::of(&window[cut..], |_| Tokens::default()).cuts().any(|cut| cut.keeps >= keep);
        prop_assert!(is_low || !next_cut_is_safe);
    }

    #[test]
    fn calibration_converges(
        overhead in 0u64..6_000, factor in 0.3f64..3.5, windows in proptest::collection::vec(200u64..4_000, 80..120),
    ) {
        let model = |tokens: u64| overhead as f64 + factor * tokens as f64;
        let mut calibrated = Calibrated::new(CharacterEstimator);
        for tokens in windows {
            calibrated.observe(Tokens::new(tokens), Tokens::new(model(tokens) as u64));
        }
        for tokens in [500, 2_000, 4_000] {
            let off = calibrated.request(Tokens::new(tokens)).get() as f64 / model(tokens) - 1.0;
            prop_assert!(off.abs() < 0.02, "{off} at {tokens}, factor {} for {factor}", calibrated.factor());
        }
    }

    #[test]
    fn no_report_makes_an_estimate_absurd(
        reports in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..30), tokens in 1u64..100_000,
    ) {
        let mut calibrated = Calibrated::new(CharacterEstimator);
        for (uncorrected, reported) in reports {
            calibrated.observe(Tokens::new(uncorrected % 20_000_000), Tokens::new(reported % 20_000_000));
            prop_assert!((0.25..=4.0).contains(&calibrated.factor()));
            prop_assert!(calibrated.overhead().get() <= MOST_REPORTED);
            prop_assert!(calibrated.request(Tokens::new(tokens)).get() >= tokens / 4);
        }
    }
}

const MOST_REPORTED: u64 = 10_000_000;

#[test]
fn windows_of_one_size_are_enough_to_tell_what_a_request_costs() {
    for (tokens, reported) in [(500, 2_300), (500, 350)] {
        let mut calibrated = Calibrated::new(CharacterEstimator);
        for _ in 0..10 {
            calibrated.observe(Tokens::new(tokens), Tokens::new(reported));
        }
        assert_eq!(calibrated.request(Tokens::new(tokens)), Tokens::new(reported));
    }
}

#[test]
fn nonsense_moves_little_and_is_forgotten() {
    let mut calibrated = Calibrated::new(CharacterEstimator);
    let observe = |calibrated: &mut Calibrated<_>, times| {
        for tokens in [300, 900, 1_500, 600, 1_200].into_iter().cycle().take(times) {
            calibrated.observe(Tokens::new(tokens), Tokens::new(1_000 + tokens));
        }
    };
    observe(&mut calibrated, 30);
    let expected = calibrated.request(Tokens::new(1_000));
    calibrated.observe(Tokens::new(0), Tokens::new(5_000));
    calibrated.observe(Tokens::new(1_000), Tokens::new(0));
    calibrated.observe(Tokens::new(1_000), Tokens::new(u64::MAX));
    assert_eq!(calibrated.request(Tokens::new(1_000)), expected);
    calibrated.observe(Tokens::new(1_000), Tokens::new(9_000_000));
    let after = calibrated.request(Tokens::new(1_000)).get();
    assert!((expected.get()..expected.get() * 3 / 2).contains(&after), "{after}");
    observe(&mut calibrated, 40);
    let again = calibrated.request(Tokens::new(1_000)).get() as f64 / expected.get() as f64;
    assert!((0.97..1.03).contains(&again), "{again}");
}

#[test]
fn the_estimates_carry_the_factor_and_not_the_overhead() {
    let mut calibrated = Calibrated::new(CharacterEstimator);
    let window = conversation(20);
    let uncorrected = calibrated.uncorrected(&window);
    for tokens in [100, 700, 300, 900, 500, 1_100] {
        calibrated.observe(Tokens::new(tokens), Tokens::new(3_000 + 2 * tokens));
    }
    let corrected: Tokens = window.iter().map(|message| calibrated.message(message)).sum();
    assert!(calibrated.uncorrected(&window) == uncorrected);
    assert!((uncorrected.get() * 19 / 10..=uncorrected.get() * 2).contains(&corrected.get()), "{corrected}");
}
