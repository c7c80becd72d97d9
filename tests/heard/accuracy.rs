//! How often the heard text is right to one word, for each language.

use std::collections::BTreeMap;

use verbale::Heard;

use crate::spoken::Spoken;

/// The shares of cuts that are right to one word, in percent.
fn shares(right: impl Fn(&Spoken) -> Vec<bool>) -> BTreeMap<String, f64> {
    let mut cuts: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for spoken in Spoken::all() {
        cuts.entry(spoken.language.clone()).or_default().extend(right(&spoken));
    }
    let share = |cuts: Vec<bool>| 100.0 * cuts.iter().filter(|right| **right).count() as f64 / cuts.len() as f64;
    cuts.into_iter().map(|(language, cuts)| (language, share(cuts))).collect()
}

fn assert_at_least(percent: f64, shares: &BTreeMap<String, f64>) {
    println!("right to one word, in percent: {shares:.1?}");
    assert_eq!(shares.keys().collect::<Vec<_>>(), ["de", "en", "it", "ja", "zh"]);
    assert!(shares.values().all(|share| *share >= percent), "{shares:?}");
}

#[test]
fn played_time_gives_the_heard_words() {
    assert_at_least(
        90.0,
        &shares(|spoken| {
            let cuts = (50..spoken.total_ms).step_by(100);
            let is_right = |ms| {
                let heard = Heard::played(&spoken.contents(), ms, spoken.total_ms);
                spoken.count(heard).abs_diff(spoken.heard_at(ms)) <= 1
            };
            cuts.map(is_right).collect()
        }),
    );
}

/// Returns the words of a text as a speech synthesis may report them: one in `every` is changed, in turn by case, by form,
/// by other letters, by being left out, and by being doubled.
fn marks(spoken: &Spoken, count: usize, every: usize, seed: usize) -> String {
    let mut marks = Vec::new();
    for (index, (start, end, _)) in spoken.words.iter().take(count).enumerate() {
        let word = &spoken.text[*start..*end];
        if !(index + seed).is_multiple_of(every) {
            marks.push(word.to_owned());
            continue;
        }
        match (index + seed) / every % 5 {
            0 => marks.push(word.to_uppercase()),
            1 => marks.push(word.chars().flat_map(decomposed).collect()),
            2 => marks.push("xyz".to_owned()),
            3 => {}
            _ => marks.extend([word.to_owned(), word.to_owned()]),
        }
    }
    marks.join(" ")
}

fn decomposed(c: char) -> Vec<char> {
    let forms = [('ä', "a\u{308}"), ('ö', "o\u{308}"), ('ü', "u\u{308}"), ('è', "e\u{300}"), ('ì', "i\u{300}")];
    let form = forms.iter().find(|(known, _)| *known == c);
    form.map_or_else(|| vec![c], |(_, form)| form.chars().collect())
}

#[test]
fn word_marks_with_mismatches_give_the_heard_words() {
    for every in [4, 7, 10] {
        assert_at_least(
            97.0,
            &shares(|spoken| {
                let cuts =
                    (1..=spoken.words.len()).flat_map(|count| (0..5 * every).step_by(6).map(move |seed| (count, seed)));
                let is_right = |(count, seed)| {
                    let marks = marks(spoken, count, every, seed);
                    let heard = Heard::words(&spoken.contents(), &marks);
                    heard.is_some_and(|heard| spoken.count(heard).abs_diff(count) <= 1)
                };
                cuts.map(is_right).collect()
            }),
        );
    }
}
