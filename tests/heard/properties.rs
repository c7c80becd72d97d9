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
    let known = prop::sample::select(Spoken::all()).prop_map(|spoken| spoken.text);
    prop_oneof![written, known, ".{0,40}"]
}

/// Returns the heard prefix of each text.
fn prefix(texts: &[String], heard: Heard) -> usize {
    let all: usize = texts.iter().map(String::len).sum();
    assert!(heard.len() <= all);
    let mut start = 0;
    for text in texts {
        if let Some(at) = heard.len().checked_sub(start).filter(|at| *at < text.len()) {
            assert!(text.is_char_boundary(at), "{text:?} {at}");
            let is_inside = words_of(text).iter().any(|(start, end)| (start + 1..*end).contains(&at));
            assert!(!is_inside, "{text:?} is cut at {at}: {:?}", &text[..at]);
            assert!(!text[..at].to_lowercase().ends_with("can") || !text[at..].trim_start().starts_with("not"));
        }
        start += text.len();
    }
    heard.len()
}

proptest! {
    #[test]
    fn heard_grows_with_the_played_time(texts in prop::collection::vec(text(), 1..3), total_ms in 1..30_000u64) {
        let contents: Contents = texts.iter().map(|text| text.as_str().into()).collect();
        let mut last = 0;
        for step in 0..=20 {
            let heard = prefix(&texts, Heard::played(&contents, total_ms * step / 20, total_ms));
            prop_assert!(heard >= last);
            last = heard;
        }
        prop_assert_eq!(last, texts.iter().map(String::len).sum::<usize>());
    }

    #[test]
    fn heard_words_end_at_a_word(texts in prop::collection::vec(text(), 1..3), other in text(), share in 0..=100usize) {
        let contents: Contents = texts.iter().map(|text| text.as_str().into()).collect();
        let joined = texts.join(" ");
        let chars: Vec<char> = joined.chars().collect();
        let played: String = chars[..chars.len() * share / 100].iter().collect();
        for played in [played.clone(), played.to_uppercase(), other.clone(), played + &other] {
            if let Some(heard) = Heard::words(&contents, &played) {
                prefix(&texts, heard);
            }
        }
    }

    #[test]
    fn whole_text_is_heard_if_all_of_it_is_reported(text in text()) {
        let contents = Contents::from([text.as_str()]);
        if text.contains(char::is_alphanumeric) {
            prop_assert_eq!(Heard::words(&contents, &text).map(Heard::len), Some(text.len()));
        }
    }
}
