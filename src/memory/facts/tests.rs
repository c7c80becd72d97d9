//! Facts of several domains and languages, and words that are not facts.

use proptest::prelude::*;

use super::*;
use crate::MessagesManager;
use crate::message::PlainMessage;

/// Plays assistant and caller in turns, the assistant first.
pub(super) fn table(said: &[&str]) -> FactTable {
    searched(said).1
}

fn searched(said: &[&str]) -> (MessagesManager<PlainMessage>, FactTable) {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("Hello").unwrap();
    for (index, text) in said.iter().enumerate() {
        if index % 2 == 0 {
            manager.add_assistant(*text).unwrap();
        } else {
            manager.add_user(*text).unwrap();
        }
    }
    let mut table = FactTable::default();
    table.limit(20_000);
    table.update(&manager, 0, u32::MAX, &RuleFactFinder);
    (manager, table)
}

pub(super) fn text(said: &[&str]) -> String {
    table(said).before(u32::MAX).text(10_000, |_| false).unwrap_or_default()
}

#[test]
fn question_and_words_before_name_the_slot() {
    insta::assert_snapshot!(text(&[
        "What is your user id?", "mia_li_3668",
        "And the day?", "On May 24 at 5 pm, order HX12 for 3 large pizzas, to 12 Rose Street, mail me at mia@example.org.",
        "That is $24.50. May I have your name?", "Tom Baker",
    ]), @"
    The caller said: user id=mia_li_3668; May 24; 5 pm; order=HX12; 3 large pizzas; 12 Rose Street; mia@example.org; name=Tom Baker
    The assistant said: $24.50
    ");
}

#[test]
fn what_the_caller_does_not_know_is_no_constraint() {
    for (said, slot) in [
        ("I don't remember my order number.", WISH),
        ("I don't have the number, but only the aisle, please.", LIMIT),
        ("I don't have any luggage.", LIMIT),
        ("Non ricordo il numero della prenotazione.", WISH),
        ("Das weiß ich nicht mehr genau.", WISH),
        ("No sé el número del pedido.", WISH),
    ] {
        let facts = table(&["How can I help you?", said]).before(u32::MAX).facts();
        assert_eq!(facts.first().map(Fact::slot), Some(slot), "{said}");
    }
}

#[test]
fn short_refusals_and_the_ends_of_long_sentences_are_kept() {
    for (asked, said, limit) in [
        ("Would you like travel insurance?", "No insurance.", Some("No insurance")),
        ("Mit oder ohne Frühstück?", "Bitte ohne Frühstück.", Some("ohne Frühstück")),
        ("Vuole l'assicurazione? Con bagaglio?", "Senza bagaglio.", Some("Senza bagaglio")),
        ("I am sorry for the delay.", "No problem.", None),
        ("Would you like travel insurance?", "No, thanks.", Some("Would you like travel insurance? No")),
        (
            "How can I help you?",
            "I want to fly to Oslo on May 24th, only nonstop, no insurance.",
            Some("fly to Oslo on May 24th only nonstop no insurance"),
        ),
    ] {
        let facts = table(&[asked, said]).before(u32::MAX).facts();
        let found = facts.iter().find(|fact| fact.slot() == LIMIT).map(|fact| fact.value().to_owned());
        assert_eq!(found.as_deref(), limit, "{said}");
    }
}

#[test]
fn spelled_code_is_joined_over_turns() {
    let text = text(&["What is your booking code?", "K L 3", "Go on.", "0 5 T", "Thank you.", "Yes"]);
    assert!(text.contains("KL305T"), "{text}");
    for (said, code) in [
        ("it is k l 3 0 5 t", "KL305T"),
        ("Die Nummer ist A 4 7 1 9.", "A4719"),
        ("It's 5 5 5 1 2 3 4", "5551234"),
        ("K L 30 5 T", "KL305T"),
    ] {
        let text = self::text(&["What is your code?", said]);
        assert!(text.contains(&format!("={code}")) || text.ends_with(code), "{text}");
    }
    assert!(!self::text(&["How many?", "i need a 2 3 bedroom"]).contains("a23"));
    let apart = self::text(&["Your code?", "AX10", "And the other?", "AX20", "How many?", "20", "And then?", "30"]);
    assert!(!apart.contains("AX10AX20") && !apart.contains("2030"), "{apart}");
}

#[test]
fn repeated_digits_are_read() {
    for (said, value) in [
        ("It's 0 1 7 2 double five 4 4 1.", "=017255441"),
        ("215 double five 5 0 1 9 9", "=2155550199"),
        ("0 1 7 2, triple 4, 8 1 2", "=0172444812"),
        ("double 7 2 9 0", "=77290"),
        ("seven seven four double two nine oh", "=seven seven four double two nine oh"),
        ("Seven seven four, then double two, nine, oh.", "double two nine oh"),
        ("two, twenty, and one hundred", "one hundred"),
        ("A 4 doppel 7 B", "=A477B"),
        ("a double room for two nights", "two nights"),
    ] {
        let text = text(&["What is your code?", said]);
        assert!(text.contains(value), "{text}");
    }
}

#[test]
fn one_word_of_the_assistant_is_no_name() {
    let text = text(&["Who is calling?", "Tom.", "Noted.", "Bye"]);
    assert_eq!(text, "The caller said: calling=Tom");
}

/// Each of these texts took a time that grew with the square of its length.
#[test]
fn time_grows_with_the_length_of_a_text() {
    for words in ["a dot ", "one, ", "2 20 ", "Anna ", "12 ", "double ", "double 5 ", "instead of May 2 ", "K 2, "] {
        assert!(
            !table(&["Yes?", &words.repeat(100_000 / words.len())]).before(u32::MAX).facts().is_empty()
                || words.len() > 5
        );
    }
}

#[test]
fn spoken_mail_address_is_kept_as_it_was_said() {
    for (said, mail) in [
        ("It's mia dot li 82 at example dot org.", Some("mia dot li 82 at example dot org")),
        (
            "mia underscore li at mail dot example dot org, please",
            Some("mia underscore li at mail dot example dot org"),
        ),
        ("mia punkt li ät example punkt de", Some("mia punkt li ät example punkt de")),
        ("mia chiocciola example punto it", Some("mia chiocciola example punto it")),
        ("I am at home, dot com.", None),
        ("Meet me at 5, please.", None),
        ("I am at this point very angry.", None),
        ("mia arroba correo punto es", Some("mia arroba correo punto es")),
    ] {
        let facts = table(&["What is your e-mail address?", said]).before(u32::MAX).facts();
        let found = facts.iter().find(|fact| fact.slot() == "e-mail address").map(Fact::value);
        assert_eq!(found.filter(|value| !value.starts_with('5')), mail, "{said}");
    }
}

#[test]
fn value_after_instead_of_is_the_replaced_one() {
    for (said, expected) in [
        ("I want one for Google Home instead of Apple HomeKit.", "Google Home (corrected, was Apple HomeKit)"),
        ("Make it May 24 instead of May 20, please.", "May 24 (corrected, was May 20)"),
        ("Lieber am 24. Mai statt am 20. Mai.", "24 Mai (corrected, was 20 Mai)"),
        ("Quiero el 24 mayo en vez de 20 mayo.", "24 mayo (corrected, was 20 mayo)"),
        ("Au lieu de 3 pizzas, je voudrais 4 pizzas.", "4 pizzas"),
        ("No, take HX12 instead, not the other.", "HX12"),
    ] {
        let text = text(&["How can I help you?", said]);
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("was Google Home") && !text.contains("was May 24"), "{text}");
    }
    let date =
        text(&["¿Qué día?", "El 15 de junio, en la calle 28012.", "Vale.", "Perdón, quise decir el 16 de junio."]);
    assert!(date.contains("16 de junio (corrected, was 15 de junio)"), "{date}");
    let noun = text(&["Noch etwas?", "Einen Parkplatz.", "Gut.", "Entschuldigung, das Kennzeichen ist nicht richtig."]);
    assert!(!noun.contains("corrected"), "{noun}");
    let text = text(&["Which day?", "May 20.", "OK.", "I would rather come on May 24 instead of May 20."]);
    assert!(text.contains("May 24 (corrected, was May 20)"), "{text}");
    assert_eq!(text.matches("; May 20").count(), 0, "{text}");
}

#[test]
fn correction_is_no_refusal_and_an_allergy_is_a_limit() {
    for (said, slot) in [
        ("No wait, I mean the one near the station.", None),
        ("No, sorry, it is the blue one.", None),
        ("No insurance, sorry about that.", Some(LIMIT)),
        ("I'm allergic to polyester.", Some(LIMIT)),
        ("She can't eat nuts.", Some(LIMIT)),
        ("Twelve months is too long.", Some(LIMIT)),
        ("I can't remember the number.", Some(WISH)),
    ] {
        let facts = table(&["How can I help you?", said]).before(u32::MAX).facts();
        let found = facts.iter().find(|fact| [LIMIT, WISH].contains(&fact.slot()));
        assert_eq!(found.map(Fact::slot), slot, "{said}");
    }
}

#[test]
fn correction_replaces_and_says_so() {
    let text = text(&["For which day?", "May 20, please.", "May 20.", "Sorry, I meant May 24."]);
    assert!(text.contains("May 24 (corrected, was May 20)"), "{text}");
    assert_eq!(text.matches("May 20").count(), 1, "{text}");
    let back = self::text(&[
        "For which day?",
        "May 20, please.",
        "OK.",
        "Actually May 24.",
        "OK.",
        "No wait, actually May 20.",
    ]);
    assert!(back.contains("May 20 (corrected, was May 24)"), "{back}");
}

#[test]
fn correction_hides_no_value_that_still_holds() {
    let both = text(&["Which order?", "HX10.", "OK.", "Actually I mean HX12 and HX39."]);
    assert!(
        both.contains("HX12 (corrected, was HX10)") && both.contains("HX39") && !both.contains("was HX12"),
        "{both}"
    );
    let other = text(&["And your city?", "Zurich.", "OK.", "Sorry, my level is Gold."]);
    assert!(other.contains("Zurich") && other.contains("Gold") && !other.contains("corrected"), "{other}");
}

#[test]
fn earlier_value_of_a_slot_gives_way_without_a_word_of_correction() {
    let table = table(&[
        "What is your order id?",
        "AX10",
        "And now? What is your order id?",
        "AX20",
        "OK.",
        "3 bags",
        "OK.",
        "4 bags",
    ]);
    let text = |room| table.before(u32::MAX).text(room, |_| false).unwrap_or_default();
    assert_eq!(text(1_000), "The caller said: order id=AX10, AX20; 3 bags; 4 bags");
    assert_eq!(text(90), "The caller said: order id=AX20; 4 bags");
}

#[test]
fn refusals_outlive_wishes_and_repeated_wishes_are_one() {
    let said = ["Hello?", "I don't want the insurance.", "OK.", "I would like to have a window seat, please."];
    let text = |said: &[&str], room| table(said).before(u32::MAX).text(room, |_| false).unwrap_or_default();
    assert_eq!(text(&said, 90), "The caller's wishes: don't want the insurance");
    let again = [said.as_slice(), &["OK.", "I would like a window seat."]].concat();
    assert_eq!(text(&again, 1_000), "The caller's wishes: don't want the insurance; window seat");
}

#[test]
fn value_that_the_prompt_has_in_another_form_is_written_once() {
    let said = text(&["For May 24 2025, at 9:00 AM.", "On May 24, at 09:00."]);
    assert_eq!(said, "The caller said: May 24; 09:00");
    assert_eq!(moment("2025-05-24"), moment("May 24th"));
    assert_eq!(moment("1:00 PM"), moment("13:00"));
    assert!(moment("13:00 and more").is_none() && moment("13").is_none());
}

#[test]
fn headings_and_numbers_of_entries_are_no_facts() {
    let said = text(&["1. Flight HX12\n2. Flight HX39\nThe flight is at noon, and your ID is known.", "Which Flight?"]);
    assert_eq!(said, "The assistant said: flight=HX12, HX39; noon");
}

#[test]
fn names_numbers_and_refusals_are_found_in_six_languages() {
    for (said, expected) in [
        ("my name is jennifer brown and i need two hundred dollars", "jennifer brown"),
        ("hello my name is david how can i help you", "name=david"),
        ("Mein Name ist Jürgen Groß, ich möchte keine Versicherung", "Jürgen Groß"),
        ("Ich brauche drei Tickets am 24. Mai", "24 Mai"),
        ("Me llamo Lucía Gómez y no quiero seguro", "Lucía Gómez"),
        ("Je m'appelle Zoé Martin", "Zoé Martin"),
        ("Mi chiamo Anna Russo, senza assicurazione", "senza assicurazione"),
        ("Meu nome é João Silva", "João Silva"),
    ] {
        let text = text(&["Hello?", said]);
        assert!(text.contains(expected), "{said}: {text}");
    }
}

#[test]
fn room_is_kept_and_the_callers_values_stay_longest() {
    let said: Vec<String> = (0..60).map(|number| format!("Code A{number}X, {number}0 euros.")).collect();
    let table = table(&said.iter().map(String::as_str).collect::<Vec<_>>());
    for room in [0, 100, 300, 1_000] {
        let text = table.before(u32::MAX).text(room, |_| false).unwrap_or_default();
        assert!(text.len() <= room.max(1), "{room}: {}", text.len());
    }
    assert!(table.before(u32::MAX).text(300, |_| false).unwrap().contains("A59X"));
    assert_eq!(table.before(0).text(300, |_| false), None);
}

#[test]
fn edited_messages_are_searched_again() {
    let (manager, mut table) = searched(&["Which code?", "A1B2"]);
    assert!(table.before(u32::MAX).facts().iter().any(|fact| fact.value() == "A1B2"));
    table.update(&manager, 0, 0, &RuleFactFinder);
    assert!(table.before(u32::MAX).facts().is_empty());
    assert_eq!(format!("{:?}", Fact::new("slot", "secret", FactSource::Caller)).find("secret"), None);
}

#[test]
fn words_of_facts_are_bounded_and_the_callers_latest_stay() {
    let said: Vec<String> = (0..400).map(|number| format!("The code is A{number}X, and {number}0 euros.")).collect();
    let (manager, mut table) = searched(&said.iter().map(String::as_str).collect::<Vec<_>>());
    table.limit(0);
    table.release(&manager, u32::MAX);
    let facts = table.before(u32::MAX).facts();
    let bytes: usize = facts.iter().map(|fact| fact.slot().len() + fact.value().len()).sum();
    assert!((1_900..=2_000).contains(&bytes), "{bytes}");
    assert!(facts.iter().any(|fact| fact.value() == "A399X"));
    assert!(facts.iter().filter(|fact| fact.source() == FactSource::Caller).count() > facts.len() / 2);
}

#[test]
fn wishes_leave_room_for_old_values() {
    let wish =
        |number| Fact::new(WISH, format!("I want to speak with someone about problem {number}"), FactSource::Caller);
    let mut folded = Folded::default();
    folded.extend([&Fact::new("", "Friday", FactSource::Caller)], 2_000);
    folded.extend(&(0..200).map(wish).collect::<Vec<_>>(), 2_000);
    let facts = folded.facts();
    assert_eq!(facts.first().map(Fact::value), Some("Friday"));
    assert_eq!(facts.last().map(Fact::value), Some(wish(199).value()));
    let bytes: usize = facts.iter().skip(1).map(|fact| fact.slot().len() + fact.value().len()).sum();
    assert!((600..=666).contains(&bytes), "{bytes}");
}

#[test]
fn refusals_leave_half_of_the_room_to_values() {
    let text = |codes| {
        let code = |number| Fact::new("", format!("A{number}X"), FactSource::Assistant);
        let refusal = |number| Fact::new(LIMIT, format!("no calls before {number}"), FactSource::Caller);
        let mut folded = Folded::default();
        folded.extend(&(10..10 + codes).map(code).chain((10..40).map(refusal)).collect::<Vec<_>>(), 20_000);
        folded.text(300, |_| false).unwrap()
    };
    let refusals = |text: &str| text.matches("no calls").count();
    assert!((10..18).all(|number| text(8).contains(&format!("A{number}X"))), "{}", text(8));
    assert_eq!(refusals(&text(8)), 7, "{}", text(8));
    // What the values leave is for the others.
    assert!(text(1).contains("A10X") && refusals(&text(1)) > 7, "{}", text(1));
}

#[test]
fn fact_longer_than_the_limit_replaces_no_other() {
    let facts = ["A1B2", &"x".repeat(101), "C3D4"].map(|value| Fact::new("code", value, FactSource::Caller));
    let mut folded = Folded::default();
    folded.extend(&facts, 100);
    let values: Vec<String> = folded.facts().iter().map(|fact| fact.value().to_owned()).collect();
    assert_eq!(values, ["A1B2", "C3D4"]);
}

proptest! {
    #[test]
    fn released_facts_are_those_of_all_messages(
        texts in proptest::collection::vec(
            "What is your [a-z]{3,5} id\\?|[A-Z]{2}[0-9]{2}|[A-Z] [0-9] [A-Z]|no, actually [A-Z]{2}[0-9]{2}|I want [0-9] (bags|seats)",
            1..14,
        ),
        cuts in proptest::collection::vec((0_u32..6, 0_u32..4), 1..8),
        most in prop_oneof![Just(60_usize), Just(2_000)],
    ) {
        let mut manager = MessagesManager::<PlainMessage>::new();
        for (index, text) in texts.iter().enumerate() {
            if index % 2 == 0 { manager.add_assistant(text.as_str()) } else { manager.add_user(text.as_str()) }.unwrap();
        }
        let new = || {
            let mut table = FactTable::default();
            table.most = most;
            table
        };
        let mut whole = new();
        whole.update(&manager, 0, u32::MAX, &RuleFactFinder);
        let mut live = new();
        let (mut window, mut released) = (0, 0);
        for (covered, kept) in cuts {
            window += covered;
            live.update(&manager, window.saturating_sub(kept).max(released), window, &RuleFactFinder);
            released = released.max(window.saturating_sub(kept));
            live.release(&manager, released);
        }
        live.update(&manager, window, u32::MAX, &RuleFactFinder);
        prop_assert_eq!(live.before(u32::MAX).facts(), whole.before(u32::MAX).facts());
        let text = |table: &FactTable| table.before(u32::MAX).text(500, |_| false);
        prop_assert_eq!(text(&live), text(&whole));
    }

    #[test]
    fn fact_has_only_words_that_were_said(texts in proptest::collection::vec(".{0,60}|([A-Z] ?){3,6}|no, actually [a-z]{3} [0-9]{2,4}", 1..8)) {
        let said: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !crate::message::is_blank(text)).collect();
        let letters = |text: &str| {
            let visible = |c: &char| c.is_alphanumeric() && !crate::message::is_invisible(*c);
            text.chars().filter(visible).collect::<String>().to_lowercase()
        };
        // A code that is spelled over several turns is joined from the words of one speaker.
        let of_assistant = letters(&said.iter().step_by(2).copied().collect::<String>());
        let of_caller = letters(&said.iter().skip(1).step_by(2).copied().collect::<String>());
        let table = table(&said);
        for fact in table.before(u32::MAX).facts() {
            let value = letters(fact.value());
            let is_said = of_assistant.contains(&value) || of_caller.contains(&value);
            prop_assert!(fact.value().ends_with('…') || is_said, "{}", fact.value());
        }
        let text = table.before(u32::MAX).text(2_000, |_| false).unwrap_or_default();
        prop_assert!(text.lines().count() <= 3 && text.len() <= 2_000);
    }
}

#[test]
fn letters_and_links_of_a_dictated_code_are_joined() {
    for (said, code) in [
        ("It's P as in Peter, K as in kilo, then 4 0 0 dash 7 7 1 2.", "PK4007712"),
        ("b as in bravo, d as in delta, 7 7, then double one 2", "BD77112"),
        ("M wie Martha, A wie Anton, 4 7 1 1", "MA4711"),
        ("P comme Pierre, A comme Anatole, puis 3 9 0", "PA390"),
        ("My plate is LN 68 WKR, thanks", "LN 68 WKR"),
        ("A matrícula é AA 31 QT.", "AA 31 QT"),
        ("Das ist HB 4 4 77 2.", "HB44772"),
        ("That's Z F A zero four Y.", "ZFA04Y"),
        ("k l drei null fünf t", "KL305T"),
        ("C'est le sept deux un quatre.", "sept deux un quatre"),
        ("Sept 5, 2026", "Sept 5 2026"),
        ("it is w two three seven eight one", "W23781"),
        ("Il codice è CL-90 33 17.", "CL-90 33 17"),
        ("Das ist M-SK 2201.", "M-SK 2201"),
    ] {
        let facts = table(&["What is the code?", said]).before(u32::MAX).facts();
        let values: Vec<&str> = facts.iter().map(Fact::value).collect();
        assert_eq!(values, [code], "{said}");
    }
    let words = text(&["And you?", "I for instance am Italian and I like Ilaria, then 7 came."]);
    assert!(words.contains("Ilaria") && words.contains("7 came"), "{words}");
}

#[test]
fn times_in_words_and_addresses_are_one_value_each() {
    insta::assert_snapshot!(text(&[
        "When?", "Quarter to four then, or at half past nine, or 9 o'clock.",
        "Wann?", "Halb zehn, oder um 9 Uhr 30. Zwischen fünf und zehn Euro.",
        "¿A qué hora?", "A las nueve y media. Vivo en la calle Mayor 5. Entre cinco y diez euros.",
        "A che ora?", "Alle nove meno un quarto, in via Garibaldi 12.",
        "A que horas?", "São vinte e três pessoas, na Rua das Flores, 22, às nove e vinte.",
        "Où ?", "Avant huit heures et demie, au 14 bis, rue des Lilas à Lyon, 75011 Paris.",
    ]), @"
    The caller said: Quarter to four; half past nine; 9 o'clock; Halb zehn; 9 Uhr 30; Zwischen fünf und zehn Euro; nueve y media; calle Mayor 5; Entre cinco y diez euros; ora=nove meno un quarto, via Garibaldi 12; vinte e três pessoas; Rua das Flores 22; nove e vinte; Lyon; 75011 Paris
    The caller's wishes: Avant huit heures et demie au 14 bis rue des Lilas à Lyon 75011 Paris
    ");
}

#[test]
fn surname_with_a_particle_is_part_of_the_name() {
    insta::assert_snapshot!(text(&[
        "Qual é o nome?", "É António Ferreira da Silva, nasceu a 17 de agosto de 1951. Eu chamo-me Joana.",
        "Et vous ?", "Je veux l'hôtel Ibis de Lyon. Avez-vous le Mercure ?",
    ]), @"
    The caller said: António Ferreira da Silva; 17 de agosto de 1951; name=Joana; hôtel=Ibis de Lyon; Mercure
    The caller's wishes: Je veux l'hôtel Ibis de Lyon
    ");
}

#[test]
fn name_corrects_only_what_was_said_just_before() {
    let later = ["Noted.", "I moved to 12 Rose Street, 69003 Lyon. Come at 5 pm on Monday, not at 6 pm.", "Fine."];
    let said = ["Where to?", "The card is a Visa, to Boston.", "Noted.", "Actually, to Chicago."];
    assert!(text(&said).contains("Chicago (corrected, was Boston)"), "{}", text(&said));
    let said: Vec<&str> = said.into_iter().take(2).chain(later).chain(["Actually, send it to Bellecour."]).collect();
    assert!(!text(&said).contains("Bellecour (corrected"), "{}", text(&said));
}

#[test]
fn short_answer_is_kept_with_its_question() {
    insta::assert_snapshot!(text(&[
        "Do you want travel insurance for $30?", "No.",
        "Would you like to sit at the aisle or at the window?", "Window, please.",
        "Economy or business?", "Economy.",
        "Do you have a checked bag?", "Yes.",
        "Is that correct?", "Yes.",
        "Möchten Sie eine Rücktrittsversicherung abschließen?", "Nein, danke.",
        "Is there anything else I can help you with today?", "No, thank you.",
    ]), @"
    The caller said: Window; Economy
    The caller's wishes: Do you want travel insurance for $30? No; Do you have a checked bag? Yes; Möchten Sie eine Rücktrittsversicherung abschließen? Nein
    The assistant said: today
    ");
}

#[test]
fn caller_returns_to_a_corrected_value() {
    insta::assert_snapshot!(text(&[
        "What is your user id?", "It's mia_li_3668. Sorry, mia_li_3686.",
        "Thanks.", "No wait, it really is mia_li_3668, the first one was right.",
    ]), @"
    The caller said: user id=mia_li_3668 (corrected, was mia_li_3686)
    The caller's wishes: really is mia_li_3668 the first one
    ");
}
