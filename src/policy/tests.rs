//! Marks, turns and cuts, also over random windows; token estimates and their correction.

use proptest::prelude::*;

use super::*;
use crate::message::{Contents, Message, Position, Role, ToolCall, Value};

fn message(seq: u32, role: Role, contents: impl Into<Contents>) -> Message {
    Message::new(u128::from(seq).into(), Position::message(seq), role, contents.into(), 0)
}

/// Creates `turns` turns of two messages of 10 tokens each.
fn conversation(turns: u32) -> Vec<Message> {
    (0..turns)
        .flat_map(|turn| {
            [message(2 * turn, Role::User, "0123456789 yes"), message(2 * turn + 1, Role::Assistant, "0123456789 sir")]
        })
        .collect()
}

/// Measures a window of two messages a turn, with a cut before each turn except the first, and at the end.
fn sizes(window: &[Message]) -> WindowSizes {
    let turns = window.len() / 2;
    WindowSizes::measure(window, (1..=turns).map(|turn| (2 * turn, turns - turn)), Tokens::estimate)
}

/// Returns the number of turns that the chosen cut keeps.
fn kept(policy: &Policy, window: &[Message]) -> Option<usize> {
    let sizes = sizes(window);
    policy.choose_by_size(&sizes).map(|chosen| sizes.cuts[chosen].keeps_turns)
}

/// Predicts the reported input of a request.
fn request(calibrated: &Calibrated<CharacterEstimator>, uncorrected: u64) -> Tokens {
    Tokens::new(calibrated.fit.expected(uncorrected as f64).round() as u64)
}

#[test]
fn window_is_cut_from_the_high_mark_to_the_low_one() {
    let policy = Policy::default().with_tokens(None).with_messages(6..=20);
    assert_eq!(kept(&policy, &conversation(10)), None);
    let eleven = conversation(11);
    assert_eq!(kept(&policy, &eleven), Some(3));
    assert_eq!(kept(&policy.with_keep_turns(5), &eleven), Some(5));
}

#[test]
fn marks_apply_alone_and_together() {
    let ten = conversation(10);
    let turn: Tokens = ten[..2].iter().map(|message| CharacterEstimator.message(message)).sum();
    let tokens = Policy::default().with_messages(None).with_tokens(3 * turn.get()..=9 * turn.get());
    assert_eq!(kept(&tokens, &ten[..18]), None);
    assert_eq!(kept(&tokens, &ten), Some(3));
    // Exceeding one high mark is enough, and the rest of the window is below both low marks.
    let both = tokens.clone().with_messages(4..=1_000);
    assert_eq!(kept(&both, &ten), Some(2));
    assert_eq!(kept(&tokens.with_tokens(None), &ten), None);
}

#[test]
fn reversed_marks_are_lowered() {
    #[expect(clippy::reversed_empty_ranges)]
    let policy = Policy::default().with_tokens(9..=5).with_messages(7..=3);
    assert_eq!(policy, Policy::default().with_tokens(5..=5).with_messages(3..=3));
    assert_eq!(Policy::default().with_keep_turns(0), Policy::default().with_keep_turns(1));
}

#[test]
fn empty_cut_is_never_chosen() {
    let policy = Policy::default().with_messages(0..=0).with_keep_turns(1);
    assert_eq!(kept(&policy, &[]), None);
    assert_eq!(kept(&policy, &conversation(1)), None);
    assert_eq!(policy.choose_by_size(&WindowSizes::measure(&conversation(9), [], Tokens::estimate)), None);
}

#[test]
fn large_kept_turns_do_not_cause_a_summary_each_turn() {
    let policy = Policy::default().with_messages(None).with_tokens(1_000..=4_000).with_keep_turns(1);
    let mut window = conversation(1);
    window.push(message(2, Role::User, "x".repeat(20_000)));
    window.push(message(3, Role::Assistant, "fine"));
    assert_eq!(kept(&policy, &window), None);
    window.splice(0..0, conversation(40));
    assert_eq!(kept(&policy, &window), Some(1));
}

#[test]
fn cut_waits_until_reads_cost_as_much_as_writing_the_rest() {
    let policy = Policy::default().with_tokens(None).with_messages(6..=20).with_memory(0);
    let long = |prices: Option<TokenPrices>| {
        let policy = policy.clone().with_prices(prices);
        (1..200).find(|turns| kept(&policy, &conversation(*turns)).is_some())
    };
    // Without a cache, a cut always saves money.
    assert_eq!((long(None), long(Some(TokenPrices::new(3, 15)))), (Some(11), Some(11)));
    // The rest has 6 messages. Each later request read each of the m covered ones, which makes m * (m + 1) / 4 reads. So
    // the rest at 9 times the price of a read needs 15 covered messages, and at 99 times 49.
    let cached = |read, write| Some(TokenPrices::new(write, 15).with_cache(read, write));
    assert_eq!((long(cached(10, 100)), long(cached(1, 100))), (Some(11), Some(28)));
    assert_eq!(long(cached(0, 100)), None);
}

proptest! {
    #[test]
    fn waiting_policy_cuts_no_more_often(turns in 0_u32..60, read in 0_u64..20, write in 0_u64..400, memory in 0_u64..900) {
        let policy = Policy::default().with_tokens(100..=400).with_messages(6..=20).with_memory(memory);
        let waiting = policy.clone().with_prices(TokenPrices::new(write, 15).with_cache(read, write));
        let (window, chosen) = (conversation(turns), |policy: &Policy| kept(policy, &conversation(turns)));
        prop_assert!(chosen(&waiting).is_none() || chosen(&waiting) == chosen(&policy), "{}", window.len());
    }
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
fn tool_calls_and_results_are_counted() {
    let arguments = Value::map([("flight", "HAT069"), ("date", "2024-05-20")]).unwrap();
    let tool_call = ToolCall::new("a", "search", arguments).unwrap();
    let long = tool_call.success(["x".repeat(3_500)]);
    assert!(CharacterEstimator.message(&message(0, Role::Assistant, tool_call)).get() > 30);
    assert!(CharacterEstimator.message(&message(1, Role::User, long)).get() > 1_000);
}

proptest! {
    #[test]
    fn chosen_cut_is_as_small_as_the_marks_allow(
        lengths in proptest::collection::vec((0usize..400, any::<bool>()), 0..60),
        high in 0usize..30, low in 0usize..30, tokens in 1u64..800, keep in 1usize..5,
    ) {
        let say = |(seq, (length, _)): (u32, &(usize, bool))| message(seq, Role::User, "x".repeat(*length));
        let window: Vec<Message> = (0..).zip(&lengths).map(say).collect();
        let places: Vec<usize> = (1..lengths.len()).filter(|place| lengths[*place].1).collect();
        let cuts = |from: usize| {
            let later = places.iter().enumerate().filter(|(_, place)| **place > from);
            later.map(|(index, place)| (place - from, places.len() - index)).collect::<Vec<_>>()
        };
        let policy = Policy::default().with_messages(low..=high).with_tokens(tokens / 2..=tokens).with_keep_turns(keep);
        let sizes = WindowSizes::measure(&window, cuts(0), Tokens::estimate);
        let Some(chosen) = policy.choose_by_size(&sizes) else { return Ok(()) };
        prop_assert!(sizes.cuts[chosen].keeps_turns >= keep);

        let cut = sizes.cuts[chosen].covers.messages;
        let rest = WindowSizes::measure(&window[cut..], cuts(cut), Tokens::estimate);
        prop_assert_eq!(policy.choose_by_size(&rest), None);
        let is_low = rest.window.messages <= low.min(high) && rest.window.tokens.get() <= tokens / 2;
        prop_assert!(is_low || rest.cuts.iter().all(|cut| cut.keeps_turns < keep));
        // The previous cut leaves too much.
        if let Some(before) = chosen.checked_sub(1).map(|before| sizes.cuts[before].covers) {
            let left = sizes.window.minus(before);
            prop_assert!(left.messages > low.min(high) || left.tokens.get() > tokens / 2);
        }
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
            let off = request(&calibrated, tokens).get() as f64 / model(tokens) - 1.0;
            prop_assert!(off.abs() < 0.02, "{off} at {tokens}, factor {} for {factor}", calibrated.factor());
        }
    }

    #[test]
    fn estimates_stay_bounded_for_any_report(
        reports in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..30), tokens in 1u64..100_000,
    ) {
        let mut calibrated = Calibrated::new(CharacterEstimator);
        for (uncorrected, reported) in reports {
            calibrated.observe(Tokens::new(uncorrected % 20_000_000), Tokens::new(reported % 20_000_000));
            prop_assert!((0.25..=4.0).contains(&calibrated.factor()));
            prop_assert!(calibrated.fit.overhead() <= MOST_REPORTED);
            prop_assert!(request(&calibrated, tokens).get() >= tokens / 4);
        }
    }
}

const MOST_REPORTED: f64 = 10_000_000.0;

#[test]
fn windows_of_one_size_predict_the_request() {
    for (tokens, reported) in [(500, 2_300), (500, 350)] {
        let mut calibrated = Calibrated::new(CharacterEstimator);
        for _ in 0..10 {
            calibrated.observe(Tokens::new(tokens), Tokens::new(reported));
        }
        assert_eq!(request(&calibrated, tokens), Tokens::new(reported));
    }
}

#[test]
fn absurd_report_changes_little_and_fades() {
    let mut calibrated = Calibrated::new(CharacterEstimator);
    let observe = |calibrated: &mut Calibrated<_>, times| {
        for tokens in [300, 900, 1_500, 600, 1_200].into_iter().cycle().take(times) {
            calibrated.observe(Tokens::new(tokens), Tokens::new(1_000 + tokens));
        }
    };
    observe(&mut calibrated, 30);
    let expected = request(&calibrated, 1_000);
    calibrated.observe(Tokens::new(0), Tokens::new(5_000));
    calibrated.observe(Tokens::new(1_000), Tokens::new(0));
    calibrated.observe(Tokens::new(1_000), Tokens::new(u64::MAX));
    assert_eq!(request(&calibrated, 1_000), expected);
    calibrated.observe(Tokens::new(1_000), Tokens::new(9_000_000));
    let after = request(&calibrated, 1_000).get();
    assert!((expected.get()..expected.get() * 3 / 2).contains(&after), "{after}");
    observe(&mut calibrated, 40);
    let again = request(&calibrated, 1_000).get() as f64 / expected.get() as f64;
    assert!((0.97..1.03).contains(&again), "{again}");
}

#[test]
fn estimates_include_factor_but_not_overhead() {
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
