//! The heard text is a prefix of the text, ends at a word, and grows with the played time.

use proptest::prelude::*;
use verbale::{Contents, Heard};

use crate::spoken::{Spoken, words_of};

fn text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "I cannot ",
        "can not ",
        "$12.50 ",
        "well-known",
        "555-123-4567",
        " — ",
        "é",
        "e\u{301}",
        "谢谢",
        "カード",
        "です。",
        "สวัสดี",
        "12月",
        "3rd ",
        "!",
        " ",
        "\n",
        "1,234,567.89",
        "a@b.com ",
        "नमस्ते ",
        "🙂",
        "€",
        "(so) ",
        "'",
        "0",
        "ß",
    ];
    let written = prop::collection::vec(prop::sample::select(pieces), 0..14).prop_map(|pieces| pieces.concat());
    let known: Vec<String> = Spoken::all().into_iter().map(|spoken| spoken.text).collect();
    let known = prop::sample::select(known);
    prop_oneof![written, known, "[a-zéñüß0-9 .,;:!?'$€%()/@*_#\n–—…-]{0,40}"]
}

/// The words of a text by Unicode.
type Words = Vec<(usize, usize)>;

/// Checks where the heard prefix ends, and returns its length.
fn prefix(texts: &[(String, Words)], heard: Heard) -> usize {
    let all: usize = texts.iter().map(|(text, _)| text.len()).sum();
    assert!(heard.bytes() <= all);
    let mut start = 0;
    for (text, words) in texts {
        if let Some(at) = heard.bytes().checked_sub(start).filter(|at| *at < text.len()) {
            assert!(text.is_char_boundary(at), "{text:?} {at}");
            let is_inside = words.iter().any(|(start, end)| (start + 1..*end).contains(&at));
            assert!(!is_inside, "{text:?} is cut at {at}: {:?}", &text[..at]);
            let next = words.iter().position(|(start, _)| *start >= at).unwrap_or(words.len());
            let word = |index: usize| words.get(index).map(|(start, end)| &text[*start..*end]);
            assert!(next == 0 || word(next - 1) != Some("can") || word(next) != Some("not"), "{text:?} {at}");
        }
        start += text.len();
    }
    heard.bytes()
}

fn with_words(texts: &[String]) -> Vec<(String, Words)> {
    texts.iter().map(|text| (text.clone(), words_of(text))).collect()
}

proptest! {
    #[test]
    fn heard_grows_with_the_played_time(texts in prop::collection::vec(text(), 1..3), total_ms in 1..30_000u64) {
        let contents: Contents = texts.iter().map(|text| text.as_str().into()).collect();
        let (words, mut last) = (with_words(&texts), 0);
        for step in 0..=20 {
            let heard = prefix(&words, Heard::played(&contents, total_ms * step / 20, total_ms));
            prop_assert!(heard >= last);
            last = heard;
        }
        prop_assert_eq!(last, texts.iter().map(String::len).sum::<usize>());
    }

    #[test]
    fn heard_words_end_at_a_word(texts in prop::collection::vec(text(), 1..3), other in text(), share in 0..=100usize) {
        let contents: Contents = texts.iter().map(|text| text.as_str().into()).collect();
        let words = with_words(&texts);
        let joined = texts.join(" ");
        let chars: Vec<char> = joined.chars().collect();
        let played: String = chars[..chars.len() * share / 100].iter().collect();
        for played in [played.clone(), played.to_uppercase(), other.clone(), played + &other] {
            if let Some(heard) = Heard::words(&contents, &played) {
                prefix(&words, heard);
            }
        }
    }

    #[test]
    fn any_text_is_cut_between_characters(text in ".{0,60}", played in ".{0,60}", share in 0..100u64) {
        let contents = Contents::from([text.as_str()]);
        let by_words = Heard::words(&contents, &played).map_or(0, Heard::bytes);
        prop_assert!(text.is_char_boundary(by_words));
        prop_assert!(text.is_char_boundary(Heard::played(&contents, share, 100).bytes()));
    }

    #[test]
    fn whole_text_is_heard_if_all_of_it_is_reported(text in text()) {
        let contents = Contents::from([text.as_str()]);
        if text.contains(char::is_alphanumeric) {
            prop_assert_eq!(Heard::words(&contents, &text).map(Heard::bytes), Some(text.len()));
        }
    }
}
