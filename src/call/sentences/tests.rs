//! Sentence ends in several languages. The way a stream is split makes no difference.

use proptest::prelude::*;

use super::*;

fn spoken(mut sentences: Sentences, deltas: &[&str]) -> Vec<String> {
    let mut spoken: Vec<String> = deltas.iter().flat_map(|delta| sentences.push(delta)).collect();
    spoken.extend(sentences.finish());
    spoken
}

/// Asserts that the text is split at each `|`.
fn assert_split(marked: &str) {
    let text = marked.replace('|', "");
    let sentences = Sentences { first_chars: 1_000, ..Sentences::default() };
    assert_eq!(spoken(sentences, &[&text]).join("|"), marked);
}

#[test]
fn marks_and_points_end_sentences() {
    for marked in [
        "I am fine. |And you?",
        "Hello!! |How are you?! |I am fine.",
        "Sure. |1 of them is left.",
        "\n Yes. \n\n |Well… |Let me see... |Done.",
        "Well… let me see... it is here.",
        "how are you? |i am fine! |bye",
        "We have pens, ink etc. |Shall I go on? |It is by Foo Inc. |Fine.",
        "So did I. |Then it rang.",
        "Wait . . . |What?",
    ] {
        assert_split(marked);
    }
}

#[test]
fn numbers_times_and_ordinals_stay_whole() {
    for marked in [
        "It is 3.50, or 1,000.25 in all. |Fine.",
        "It costs $5. |Shall I book it?",
        "Call 555. 123. 4567. |Anything else?",
        "We open at 3 p.m. on Monday. |Come at 10:30 A.M. |Shall I book it?",
        "We open at 3 p.m. Eastern time.",
        "Open until 5 p.m. Monday to Friday. |Bye.",
        "Wir sehen uns am 3. Mai. |Der Raum ist im 2. Stock. |Bis dann.",
        "Montag, 3. Mai um 10.30 Uhr. |Gut.",
        "You are number 5. |The next one is 6.",
        "Version 2.0.1 is out. |Take it.",
    ] {
        assert_split(marked);
    }
}

#[test]
fn abbreviations_stay_with_what_follows() {
    for marked in [
        "Mr. and Mrs. Li met Dr. No. |Then they left.",
        "Take No. 5, e.g. Today. |No. |I do not.",
        "No. |Five is enough.",
        "George W. Bush and J. R. R. Tolkien. |Yes.",
        "The U.S. Army came on Dec. 5. |In Dec. |It snowed.",
        "Il Sig. Rossi e l'avv. Bianchi. |Va bene.",
        "Das ist z.B. Herr Li bzw. Frau Li. |Gut.",
        "It is in St. Ives. |Henry VIII. Tudor.",
    ] {
        assert_split(marked);
    }
}

#[test]
fn addresses_and_ids_stay_whole() {
    for marked in [
        "Look at https://a.example/b?c=1.5&d=e!f. |Then call.",
        "Write to mia.li@example.com. |Your id is AB.12-3.X?4. |Fine.",
        "Is it www.example.co.uk? |Yes.",
    ] {
        assert_split(marked);
    }
}

#[test]
fn closing_marks_belong_to_their_sentence() {
    for marked in [
        "She said \"Come in.\" |He came (at last!). |Fine.",
        "\"Really?\" he asked. |“Yes.” |‘No!’",
        "« Bonjour.\u{a0}» |Oui\u{202f}! |Non.",
        "**Done.** |Next. |Great!🎉 |Bye 👍🏽. |So.",
        "「はい。」|もう一度。",
    ] {
        assert_split(marked);
    }
}

#[test]
fn lines_and_list_items_are_pieces() {
    for marked in [
        "We have:\n|- tea\n|- coffee\r\n\r\n|What would you like?",
        "Two ways:\n|1. Call us.\n|2. Write to us.\n|a. By mail\n|b. By post",
        "It is plan B.\n|Next, Mr.\nLi",
        "5 Main St\n|Springfield",
    ] {
        assert_split(marked);
    }
}

#[test]
fn sentences_of_other_scripts_end() {
    for marked in [
        "予約です。|明日！|はい？|OK!|好的。|再见",
        "네. |감사합니다. |또 오세요.",
        "आप कैसे हैं। |ठीक हूँ।",
        "كيف حالك؟ |أنا بخير.",
        "Как дела? |А. С. Пушкин пришёл. |Хорошо.",
        "¿Qué tal? |¡Muy bien! |Sra. López, gracias.",
    ] {
        assert_split(marked);
    }
}

#[test]
fn sentence_is_complete_when_the_next_one_starts() {
    let mut sentences = Sentences::default();
    assert_eq!(sentences.push("I am fine."), [""; 0]);
    assert_eq!(sentences.push(" "), [""; 0]);
    assert_eq!(sentences.push("A"), ["I am fine. "]);
    assert_eq!(sentences.push("t 3 p.m. S"), [""; 0]);
    assert_eq!(sentences.push("o it is"), ["At 3 p.m. "]);
    assert_eq!(format!("{sentences:?}"), "Sentences { held_bytes: 8, .. }");
    assert_eq!(sentences.finish().as_deref(), Some("So it is"));
}

#[test]
fn first_piece_may_be_a_clause() {
    let text = "Certainly, on 3, 4 and 5 May: I have looked it up for you and there is one. And a second one, too.";
    assert_eq!(
        spoken(Sentences { first_chars: 40, ..Sentences::default() }, &[text]),
        ["Certainly, on 3, 4 and 5 May: ", "I have looked it up for you and there is one. ", "And a second one, too."]
    );
    // The first clause is complete after the limit.
    assert_eq!(
        spoken(Sentences { first_chars: 5, ..Sentences::default() }, &["It is on 1,000 – or so – and on two."]),
        ["It is on 1,000 – ", "or so – and on two."]
    );
    assert_eq!(
        spoken(Sentences { first_chars: 3, ..Sentences::default() }, &["好的，我知道了、谢谢"]),
        ["好的，", "我知道了、谢谢"]
    );
    // A comma in a list of numbers ends no clause.
    assert_eq!(
        spoken(Sentences { first_chars: 5, ..Sentences::default() }, &["On 3, 4 and 5 it is, or on 6."]),
        ["On 3, 4 and 5 it is, ", "or on 6."]
    );
    // The number in the rest is not a list item.
    assert_eq!(
        spoken(Sentences { first_chars: 16, ..Sentences::default() }, &["Certainly, I do 5. Then I go."]),
        ["Certainly, ", "I do 5. ", "Then I go."]
    );
}

#[test]
fn long_pieces_are_split_between_words() {
    let sentences = || Sentences { max_chars: 12, ..Sentences::default() };
    assert_eq!(spoken(sentences(), &["one two three four five"]), ["one two ", "three four ", "five"]);
    assert_eq!(spoken(sentences(), &["one, two three four five"]), ["one, ", "two three ", "four five"]);
    assert_eq!(spoken(sentences(), &["dial 1 2 3 4 5 6 7 8 9 now"]), ["dial 1 2 3 4 5 6 7 8 9 now"]);
    let id = "x".repeat(50);
    assert_eq!(spoken(sentences(), &["the id is ", &id, " ok"]), ["the id is ".to_owned(), id + " ", "ok".to_owned()]);
}

#[test]
fn blank_text_has_no_sentence() {
    assert_eq!(spoken(Sentences::default(), &["", " \n", "\u{200b}"]), [""; 0]);
    assert_eq!(spoken(Sentences::default(), &["...\n", "- ", "- Hi.\n", " \n"]), ["...\n- - Hi.\n \n"]);
}

#[test]
fn long_strange_input_takes_linear_time() {
    for unit in ["!", ".", ", ", "- ", "a.", "1.", "(", "( .", "1. ", "a\n", "a, ", "- 1 ", "Mr. ", "a!)", "x"] {
        let text = unit.repeat(20_000);
        assert_eq!(spoken(Sentences::default(), &[&text]).concat(), text);
    }
}

proptest! {
    #[test]
    fn splits_of_the_stream_make_no_difference(
        text in "([a-zA-Z]{1,3}|[0-9]{1,2}|[.!?…。,:–—]{1,2}| |\n|[\"')»]|Mr\\.|p\\.m\\.|am 3\\. |Mai|水|é|\u{200b}|\u{a0}|🎉){0,60}",
        cuts in proptest::collection::vec(1_usize..9, 1..30),
        first_chars in 1_usize..60,
        max_chars in 1_usize..90,
    ) {
        let sentences = Sentences { first_chars, max_chars, ..Sentences::default() };
        let whole = spoken(sentences.clone(), &[&text]);
        let mut deltas = Vec::new();
        let mut rest = text.as_str();
        for cut in cuts.iter().cycle() {
            let at = rest.char_indices().nth(*cut).map_or(rest.len(), |(at, _)| at);
            deltas.push(&rest[..at]);
            rest = &rest[at..];
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&spoken(sentences, &deltas), &whole);
        let is_blank = crate::message::is_blank(&text);
        prop_assert_eq!(whole.concat(), if is_blank { "" } else { &text });
        prop_assert!(!whole.iter().any(|piece| crate::message::is_blank(piece)));
    }

    #[test]
    fn numbers_are_never_split(
        words in proptest::collection::vec("[a-z]{1,6}|[0-9]{1,3}\\.[0-9]{2}|[0-9],[0-9]{3}|[A-Z]\\.[0-9]|[a-z]@b\\.it", 1..30),
        max_chars in 1_usize..30,
    ) {
        let sentences = Sentences { first_chars: max_chars, max_chars, ..Sentences::default() };
        let spoken = spoken(sentences, &[&words.join(" ")]);
        let back: Vec<&str> = spoken.iter().flat_map(|piece| piece.split(' ')).filter(|word| !word.is_empty()).collect();
        prop_assert_eq!(back, words);
    }
}
