//! Values as people say them on the phone.

use super::tests::{table, text};
use super::{Fact, FactSource, LIMIT, WISH};

#[test]
fn codes_in_spelling_alphabets_and_with_signs_are_joined() {
    insta::assert_snapshot!(text(&[
        "What is the code?", "Bravo Tango 9 Kilo, 4 4, Delta.",
        "And the plate?", "Charlie Hotel, then 7 4 double 0 3, then Foxtrot.",
        "Promo code?", "alpha lima hotel dash 6 6 romeo 9",
        "Your number?", "it's w s double one seven six",
        "The gate?", "5 double 6",
        "The invoice?", "It's 2026 slash 77 slash B.",
        "Kennzeichen?", "Das ist Berta Anton 4 4 Richard.",
        "Where to?", "I fly to Lima November 4. Hotel India 4 nights.",
    ]), @"The caller said: code=BT9K44D; plate=CH74003F; promo code=ALH66R9; WS1176; gate=566; invoice=2026/77/B; kennzeichen=BA44R; Lima; lima=November 4; Hotel India; hotel india=4 nights");
}

#[test]
fn fractions_and_amounts_in_words_are_one_value_each() {
    insta::assert_snapshot!(text(&[
        "How much?", "About thirteen and a half stone, at nought point four bar, and I paid three hundred and twelve pounds forty.",
        "Il numero?", "Zero cinque uno, trentatré, quarantasei, novantadue.",
        "La mail?", "È anna, punto, rossi, chiocciola, posta, punto, it",
        "Anything else?", "One of the kids is coeliac, so nothing with gluten.",
        "Anything else?", "No, that's all, you've been very helpful. No ta, bye.",
    ]), @"
    The caller said: thirteen and a half stone; nought point four bar; paid=three hundred and twelve pounds forty; Zero cinque uno trentatré quarantasei novantadue; mail=anna punto rossi chiocciola posta punto it
    The caller's wishes: One of the kids is coeliac so nothing with gluten
    ");
}

#[test]
fn value_before_not_is_the_right_one() {
    insta::assert_snapshot!(text(&[
        "Odometer?", "It said 41,206, not 42,106.",
        "Until when?", "Till the end of June, not July, but not before noon.",
        "Terça ou sexta?", "Sexta é melhor, que na terça trabalho.",
        "Numéro ?", "quatre mille", "Et la ville ?", "En fait, à Rocourt",
    ]), @"
    The caller said: odometer=41,206 (corrected, was 42,106); June (corrected, was July); terça; Sexta; quatre mille; ville=Rocourt
    The caller's wishes: Till the end of June not July but not before noon
    ");
}

#[test]
fn names_with_titles_and_initials_are_whole_and_german_nouns_are_none() {
    insta::assert_snapshot!(text(&[
        "Who is it?", "This is Mr. K. P. McGillicuddy-Jones, I live in Block B. Thanks.",
        "And your wife?", "She is Philippa St. Clair-Moreau, and my name is Jan van der Berg.",
        "Wo?", "Mein Mann hat die Rechnung im Büro auf den Tisch gelegt, und das ist nicht der Brief von der Stadt. Ich bin Frau Keller aus Lindau.",
        "Und wo?", "Das ist in der Gartenstraße 12, im Mai, und der Name ist nicht Tom, sondern Li.",
    ]), @"
    The caller said: name=Mr K P McGillicuddy-Jones; Block; Philippa St Clair-Moreau; name=Jan van der Berg, Frau Keller; Lindau; Li (corrected, was Tom)
    The caller's wishes: nicht der Brief von der Stadt; Gartenstraße 12 im Mai und der Name ist nicht Tom sondern Li
    ");
}

#[test]
fn right_value_replaces_the_wrong_one_of_a_contrast() {
    for (said, right, wrong) in [
        ("It's not the eighth, it's the eighteenth.", "eighteenth", "eighth"),
        ("It isn't May 3. It's May 5.", "May 5", "May 3"),
        ("I said fifty not fifteen.", "fifty", "fifteen"),
        ("Nicht der achte, der achtzehnte.", "achtzehnte", "achte"),
        ("Nicht am Montag, sondern am Dienstag.", "Dienstag", "Montag"),
        ("Nicht fünfzehn Stück, sondern fünfzig Stück.", "fünfzig Stück", "fünfzehn Stück"),
        ("Non il 12 maggio, ma il 14 maggio.", "14 maggio", "12 maggio"),
        ("No quince cajas sino cincuenta cajas.", "cincuenta cajas", "quince cajas"),
        ("El quince no, el diecisiete.", "diecisiete", "quince"),
        ("Ce n'est pas le 12 mai, c'est le 14 mai.", "14 mai", "12 mai"),
        ("Não na segunda, mas na terça.", "terça", "segunda"),
    ] {
        let facts = table(&["Ja?", said]).before(u32::MAX).facts();
        let found: Vec<_> = facts.iter().map(|fact| (fact.value(), fact.replaces())).collect();
        assert_eq!(found, [(right, Some(wrong))], "{said}");
    }
    for said in
        ["Not on Monday and not on Tuesday.", "Not before 5 pm, 6 pm is fine.", "Not only Monday, Tuesday as well."]
    {
        let facts = table(&["When?", said]).before(u32::MAX).facts();
        assert!(facts.iter().all(|fact| fact.replaces().is_none()), "{said}");
        assert!(facts.iter().any(|fact| fact.slot() == LIMIT), "{said}");
    }
}

#[test]
fn a_no_corrects_what_was_read_back() {
    insta::assert_snapshot!(text(&[
        "What is your booking code?", "It's AB61 7492.", "AB617492, right?", "No, six one eight.",
        "Which day?", "The eighth of May.", "The 8th?", "It's not the eighth, it's the eighteenth.",
        "How many?", "15 chairs.", "50?", "No wait, I mean 50 chairs. No, 40 chairs.",
        "And your phone?", "0 1 7 2 4 4 1 9", "01724419?", "No, 4 4 2 at the end.",
        "Anything else?", "No, 3 lamps.", "And?", "No wait, I mean I have to call the bank first.",
    ]), @"
    The caller said: six one eight (corrected, was AB61 7492); eighteenth (corrected, was eighth of May); 40 chairs (corrected, was 50 chairs); 442 (corrected, was 01724419); 3 lamps
    The caller's wishes: call the bank first
    The assistant said: AB617492; 8th; 50
    ");
}

#[test]
fn ranges_are_one_value_in_the_words_of_the_caller() {
    for (said, range) in [
        ("Between half past five and seven in the evening.", "Between half past five and seven in the evening"),
        ("From nine to eleven, please.", "From nine to eleven"),
        ("Four to six hours.", "Four to six hours"),
        ("118 to 120 Harbour Lane.", "118 to 120 Harbour Lane"),
        ("Monday to Friday.", "Monday to Friday"),
        ("Zwischen 10 und 12 Uhr.", "Zwischen 10 und 12 Uhr"),
        ("Vom 3. bis 5. Mai.", "Vom 3 bis 5 Mai"),
        ("Entre las 5 y las 7.", "Entre las 5 y las 7"),
        ("Del 24 al 28 de mayo.", "Del 24 al 28 de mayo"),
        ("Entre dix heures et midi.", "Entre dix heures et midi"),
        ("De 9 heures à 11 heures.", "De 9 heures à 11 heures"),
        ("Dalle nove alle undici.", "Dalle nove alle undici"),
        ("Tra le 10 e mezzogiorno.", "Tra le 10 e mezzogiorno"),
        ("Das nove às onze.", "Das nove às onze"),
    ] {
        assert_eq!(values("When?", said), [range], "{said}");
    }
    insta::assert_snapshot!(text(&[
        "When?", "Any time before noon, or come at nine on Tuesday.", "¿Cuándo?", "Una mesa para dos a las nueve.",
        "Quando?", "Un tavolo per due alle otto.", "Wann?", "Um neun, ich brauche 2 Zimmer.",
    ]), @"
    The caller said: nueve; otto; neun; 2 Zimmer
    The caller's wishes: time before noon or come at nine on Tuesday; neun ich brauche 2 Zimmer
    ");
}

#[test]
fn short_choice_is_kept_as_it_was_said() {
    for (asked, said, slot, choice) in [
        ("Which flight do you want?", "The second one.", "", "second one"),
        ("¿Cuál prefiere?", "La segunda.", "", "segunda"),
        ("Como quer pagar?", "Por transferência.", "pagar", "Por transferência"),
        ("How would you like to pay?", "By card, please.", "pay", "By card"),
        ("Welches Kleid?", "Lieber das blaue.", "kleid", "Lieber das blaue"),
        ("Quale preferisce?", "Il primo.", "", "primo"),
        ("De quelle couleur ?", "Le bleu, s'il vous plaît.", "couleur", "Le bleu"),
        ("When should they come?", "In the morning.", "", "In the morning"),
    ] {
        let facts = table(&[asked, said]).before(u32::MAX).facts();
        let found: Vec<_> = facts.iter().filter(|fact| fact.source() == FactSource::Caller).collect();
        assert_eq!(
            found.iter().map(|fact| (fact.slot(), fact.value())).collect::<Vec<_>>(),
            [(slot, choice)],
            "{said}"
        );
    }
    for (asked, said) in [
        ("Which seat?", "Hold on a second."),
        ("Which seat?", "Thank you very much."),
        ("What's your name?", "Let me see."),
        ("How can I help?", "Good morning to you."),
        ("Wie lautet die Nummer?", "Moment, ich suche sie."),
        ("¿Qué desea?", "Un momento, por favor."),
        ("Sonst noch was?", "Nein, das wäre alles. Schönen Tag noch, auf Wiederhören."),
        ("Altro?", "No, a posto così, grazie mille. Buona giornata, arrivederci."),
        ("Autre chose ?", "Non, c'est bon. Merci, bonne soirée."),
    ] {
        assert_eq!(text(&[asked, said]), "", "{said}");
    }
}

#[test]
fn names_of_letters_are_joined() {
    for (said, code) in [
        ("Emme, zeta, quattro, uno, sette.", "MZ417"),
        ("effe gi 431 kappa elle", "FG431KL"),
        ("Uve doble, ka, siete, tres, zeta.", "WK73Z"),
        ("Cuatro cuatro uno siete, equis, i griega, te.", "4417XYT"),
        ("Te, equis, be de Barcelona, 4 4.", "TXB44"),
        ("A B, un deux trois, double vé, i grec.", "AB123WY"),
        ("Erre, esse, dáblio, um, quatro, nove.", "RSW149"),
        ("double u zed 4 4 1", "WZ441"),
    ] {
        assert_eq!(values("?", said), [code], "{said}");
    }
    for said in
        ["Di due o tre cose che esse fanno.", "Il me faut 2 ou 3 de ces tables, elle a dit.", "Esse é o 4 de que falo."]
    {
        let text = text(&["?", said]);
        assert!(!text.contains(|c: char| c.is_ascii_uppercase() && !"TI".contains(c)), "{text}");
    }
}

#[test]
fn signs_of_mail_addresses_have_several_words() {
    for (said, mail) in [
        (
            "It's mia underscore li dash 4 at example dot com, all lower case.",
            "mia underscore li dash 4 at example dot com",
        ),
        ("m i a dot li at example dot co dot uk", "m i a dot li at example dot co dot uk"),
        ("J as in Juliet, baker at example dot org", "J baker at example dot org"),
        (
            "Es ana guión bajo ruiz arroba correo punto es, todo en minúsculas.",
            "ana guión bajo ruiz arroba correo punto es",
        ),
        ("Max Unterstrich Vogel at beispiel Punkt de.", "Max Unterstrich Vogel at beispiel Punkt de"),
        ("anna trattino basso rossi chiocciola posta punto it", "anna trattino basso rossi chiocciola posta punto it"),
        ("zoe tiret bas martin arobase exemple point fr", "zoe tiret bas martin arobase exemple point fr"),
        ("joana traço silva arroba exemplo ponto com ponto br", "joana traço silva arroba exemplo ponto com ponto br"),
    ] {
        assert_eq!(values("Mail?", said), [mail], "{said}");
    }
}

#[test]
fn parts_of_addresses_are_no_dates() {
    for (said, address) in [
        ("The one at 14 May Street.", "14 May Street"),
        ("In via XX Settembre 14.", "via XX Settembre 14"),
        ("In via 25 Aprile 3.", "via 25 Aprile 3"),
        ("En la calle Dos de Mayo 14.", "calle Dos de Mayo 14"),
        ("Das ist in der Maistraße 12.", "Maistraße 12"),
        ("Im Juniperusweg 4a.", "Juniperusweg 4a"),
    ] {
        assert_eq!(values("?", said), [address], "{said}");
    }
}

#[test]
fn corrections_keep_what_was_not_meant() {
    insta::assert_snapshot!(text(&[
        "Ihr Geburtsdatum?", "Der dritte Mai 1971.", "Der Termin ist am 1. Dezember.", "Nein, am 8. Dezember.",
        "Your phone?", "Oh seven seven double oh, nine double oh, three one four.", "For £25,000?", "No, £40,000, please.",
        "¿El carné?", "Ele, cuatro cuatro cero, siete uno nueve dos.", "¿Termina en nueve dos?", "No, dos nueve.",
        "Wann?", "Nicht der zwölfte, der neunzehnte Dezember.", "When?", "Not on the 12th, on the 19th of December.",
        "Policy?", "NH dash 80 dash 3317 B.", "¿Qué quiere?", "Una mesa, 2 sillas y un piano.",
    ]), @"
    The caller said: geburtsdatum=dritte Mai 1971; 8 Dezember; phone=Oh seven seven double oh nine double oh three one four; £40,000; dos nueve (corrected, was L4407192); neunzehnte Dezember (corrected, was zwölfte); 19th of December (corrected, was 12th); policy=NH803317B; 2 sillas; un piano
    The assistant said: Geburtsdatum; 1 Dezember; £25,000; nueve dos
    ");
}

#[test]
fn long_mail_address_is_whole_and_dictated_numbers_outlive_wishes() {
    let mail = "tommaso punto okafor trattino basso sette chiocciola posta trattino veloce punto it";
    let mut said = vec!["La mail?", mail, "Your card?", "Eight five zero, four four one seven, two."];
    for _ in 0..12 {
        said.extend([
            "And?",
            "I would like to have my breakfast in the garden, please.",
            "And?",
            "I want the larger room.",
        ]);
    }
    let text = table(&said).before(u32::MAX).text(260, |_| false).unwrap_or_default();
    assert!(text.contains(mail) && text.contains("Eight five zero four four one seven two"), "{text}");
}

#[test]
fn digits_with_pauses_are_one_number_if_one_is_repeated() {
    for (said, numbers) in [
        ("My mobile is 98450 double 1, double 3, 2.", &["9845011332"][..]),
        ("It's 01970 555 0 double 2, thanks.", &["01970555022"]),
        ("Triple 4, 0 8, double 1, 6.", &["44408116"]),
        ("Double 5, 0 2, triple 7, 1.", &["55027771"]),
        ("Triple 4, 8, 6, 2, 5, please.", &["4448625"]),
        ("It's 4 4 double 1, 2 adults.", &["2 adults", "4411"]),
        ("Gatwick, 12 30, 45.", &["12 30", "45"]),
        ("It's UM 4 4 7.", &["UM447"]),
    ] {
        assert_eq!(values("?", said), numbers, "{said}");
    }
}

#[test]
fn condition_denies_nothing() {
    for (said, days) in [
        ("Ideally the 23rd. If not, the 24th or the 26th.", &["23rd", "24th", "26th"][..]),
        ("Am 29. Januar. Wenn nicht am 29., dann am 5. Februar.", &["29 Januar", "29", "5 Februar"]),
        ("Se non il 29 gennaio, il 5 febbraio.", &["29 gennaio", "5 febbraio"]),
        ("Si no el 29 de enero, el 5 de febrero.", &["29 de enero", "5 de febrero"]),
    ] {
        let facts = table(&["?", said]).before(u32::MAX).facts();
        let limits = facts.iter().filter(|fact| fact.slot() == LIMIT || fact.replaces().is_some()).count();
        let said_days: Vec<&str> = facts.iter().map(Fact::value).collect();
        assert_eq!((limits, said_days), (0, days.to_vec()), "{said}");
    }
}

#[test]
fn denial_corrects_only_what_the_assistant_said() {
    insta::assert_snapshot!(text(&[
        "Is the house number 14?", "14 is next door. We're 41.", "And the card?", "4 4 1 0. No, 4 4 1 0 is my wife's.",
        "¿Con qué banco?", "Con Bankinter. No es Sabadell, eh.", "¿El día?", "El 12 de mayo. No, es el 13 de mayo.",
        "Serial?", "H M R 6 0 4 2 T, T as in Tango.", "¿La póliza?", "4 4 7 1 L K V, uve de Valencia.",
        "Mail?", "sree underscore v at the rate post dot example",
    ]), @"
    The caller said: house=14; 41; card=4410; banco=Bankinter; día=13 de mayo (corrected, was 12 de mayo); serial=HMR6042T; póliza=4471LKV; mail=sree underscore v at the rate post dot example
    The caller's wishes: No es Sabadell eh
    ");
}

#[test]
fn value_that_another_is_wanted_instead_of_is_no_value() {
    for (said, right, wrong) in [
        ("Make it 4 chairs instead of 3.", "4 chairs", "3"),
        ("The 24th rather than May 20.", "24th", "May 20"),
        ("Statt am Montag lieber am Dienstag.", "Dienstag", "Montag"),
        ("In der Gartenstraße 12 anstelle der Seestraße 9.", "Gartenstraße 12", "Seestraße 9"),
        ("En lugar del 12 de mayo, el 14 de mayo.", "14 de mayo", "12 de mayo"),
        ("Au lieu de 3 pizzas, je voudrais 4 pizzas.", "4 pizzas", "3 pizzas"),
        ("Je voudrais parler avec Zoé au lieu de Paul.", "Zoé", "Paul"),
        ("Martedì invece di lunedì.", "Martedì", "lunedì"),
        ("O código é HX12 em lugar de HX39.", "HX12", "HX39"),
    ] {
        let facts = table(&["?", said]).before(u32::MAX).facts();
        let found = facts.iter().filter(|fact| ![LIMIT, WISH].contains(&fact.slot()));
        let found: Vec<_> = found.map(|fact| (fact.value(), fact.replaces())).collect();
        assert_eq!(found, [(right, Some(wrong))], "{said}");
    }
    for (said, wrong) in [
        ("I want the cheap one instead of HX12.", "HX12"),
        ("Lieber das blaue statt Modell AX20, bitte schicken Sie das.", "AX20"),
        ("Quiero la azul en vez de la de Toledo o Cuenca.", "Toledo"),
        ("Preferisco il treno al posto del volo AZ 204.", "AZ 204"),
    ] {
        let values = values("?", said);
        assert!(!values.iter().any(|value| value == wrong || value == "Cuenca"), "{said} {values:?}");
    }
    let text = text(&["Which day?", "Monday, with HX10.", "OK.", "On Friday instead of Monday, please."]);
    assert!(text.contains("Friday (corrected, was Monday)") && text.contains("HX10"), "{text}");
}

#[test]
fn refused_value_is_kept_in_its_refusal_alone() {
    for (said, limit) in [
        ("Not Mondays or Wednesdays.", "Not Mondays or Wednesdays"),
        ("No Endesa.", "No Endesa"),
        ("Bitte nicht am Montag.", "nicht am Montag"),
        ("Am Montag nicht.", "Montag nicht"),
        ("pas le mardi", "pas le mardi"),
        ("Non il lunedì o il martedì, per favore.", "Non il lunedì o il martedì"),
        ("Não na segunda.", "Não na segunda"),
        ("Not the HX12, please.", "Not the HX12"),
    ] {
        assert_eq!(values("?", said), [limit], "{said}");
    }
    for (said, value) in [
        ("I'm not sure about Monday.", "Monday"),
        ("Why not Monday?", "Monday"),
        ("Warum nicht am Montag?", "Montag"),
        ("No más de 3 maletas.", "3 maletas"),
        ("no 40 chairs", "40 chairs"),
        ("Not Monday. I live in Kiel.", "Kiel"),
    ] {
        assert!(values("?", said).iter().any(|found| found == value), "{said}");
    }
}

#[test]
fn agreement_and_addition_correct_nothing() {
    for (before, said, values) in [
        ("May 20.", "Actually, the 6th is fine and so is the 8th.", &["May 20", "6th", "8th"][..]),
        ("HX10.", "Actually yes, and HX12.", &["HX10", "HX12"]),
        ("May 5.", "Actually, also May 6.", &["May 5", "May 6"]),
        ("Am 5. Mai.", "Eigentlich ja, am 6. Mai.", &["5 Mai", "6 Mai"]),
        ("El 5 de mayo.", "En realidad sí, el 6 de mayo.", &["5 de mayo", "6 de mayo"]),
        ("Le 5 mai.", "En fait, le 6 mai me va aussi.", &["5 mai", "6 mai"]),
        ("Il 5 maggio.", "In realtà anche il 6 maggio.", &["5 maggio", "6 maggio"]),
        ("A 5 de maio.", "Na verdade, também a 6 de maio.", &["5 de maio", "6 de maio"]),
    ] {
        let facts = table(&["?", before, "OK.", said]).before(u32::MAX).facts();
        let found: Vec<_> = facts.iter().filter(|fact| fact.source() == FactSource::Caller).collect();
        assert!(found.iter().all(|fact| fact.replaces().is_none()), "{said}");
        assert_eq!(found.iter().map(|fact| fact.value()).collect::<Vec<_>>(), values, "{said}");
    }
    let text = text(&["Wann?", "Am 5. Mai.", "Gut.", "Eigentlich am 6. Mai."]);
    assert!(text.contains("6 Mai (corrected, was 5 Mai)"), "{text}");
}

#[test]
fn contrast_of_two_places_corrects_no_third() {
    for (before, said, place, other) in [
        ("In Bremen.", "In Kiel nicht, in Hamburg schon.", "Hamburg", "Kiel"),
        ("In Bremen.", "Nein, in Kiel nicht, in Hamburg schon.", "Hamburg", "Kiel"),
        ("En Toledo.", "En Cuenca no, en Sevilla sí.", "Sevilla", "Cuenca"),
    ] {
        let facts = table(&["?", before, "Kiel?", said]).before(u32::MAX).facts();
        let found = facts.iter().filter(|fact| fact.source() == FactSource::Caller);
        let found: Vec<_> = found.map(|fact| (fact.value(), fact.replaces())).collect();
        let first = before.trim_end_matches('.').rsplit(' ').next().unwrap();
        assert_eq!(found, [(first, None), (place, Some(other))], "{said}");
    }
}

#[test]
fn letter_or_fraction_at_the_edge_is_part_of_the_value() {
    for (said, value) in [
        ("It's E 133.", "E 133"),
        ("E 133.", "E 133"),
        ("Das ist 44 812 903 K, danke.", "44 812 903 K"),
        ("44 812 903 K", "44 812 903 K"),
        ("Son 23 kilos y medio.", "23 kilos y medio"),
        ("It took 3 pounds and a half.", "3 pounds and a half"),
        ("Sono 4 chili e mezzo.", "4 chili e mezzo"),
        ("A size M, 4 shirts.", "4 shirts"),
        ("Gate B 5 pm.", "5 pm"),
        ("A 20 minute delay.", "20 minute delay"),
        ("It was 2 pizzas and a half bottle.", "2 pizzas"),
    ] {
        assert_eq!(values("?", said), [value], "{said}");
    }
}

/// Returns the values of a sentence that answers a question.
fn values(asked: &str, said: &str) -> Vec<String> {
    let facts = table(&[asked, said]).before(u32::MAX).facts();
    facts.iter().map(|fact| fact.value().to_owned()).collect()
}

#[test]
fn days_that_count_from_today_are_whole() {
    insta::assert_snapshot!(text(&[
        "When?", "Next Wednesday, or Monday next week, or on the 7th of this month.",
        "And back?", "The day after tomorrow, no, Friday evening.",
        "Wann?", "Nächsten Dienstag oder morgen Abend, am dritten nächsten Monats, oder Donnerstag in einer Woche.",
        "¿Cuándo?", "El martes que viene, o pasado mañana por la tarde.",
        "Quand ?", "Lundi prochain, ou après-demain, ou le 3 du mois prochain.",
        "Quando?", "Sabato prossimo, o venerdì mattina, o dopodomani.",
        "Quando?", "Na quarta-feira que vem, ou depois de amanhã.",
    ]), @"
    The caller said: Next Wednesday; Monday next week; 7th of this month; back=Friday evening (corrected, was day after tomorrow); Nächsten Dienstag; morgen Abend; dritten nächsten Monats; Donnerstag in einer Woche; martes que viene; pasado mañana por la tarde; Lundi prochain; après-demain; 3 du mois prochain; Sabato prossimo; venerdì mattina; dopodomani
    The caller's wishes: day after tomorrow no Friday evening; quarta-feira que vem ou depois de amanhã
    ");
}

#[test]
fn times_with_the_part_of_the_day_are_whole() {
    insta::assert_snapshot!(text(&[
        "When?", "At 5:30 in the evening, or two PM, or evening 7:30, or at 7 tonight.",
        "And there?", "At 11:45, four people.",
    ]), @"The caller said: 5:30 in the evening; two PM; evening 7:30; 7 tonight; 11:45; four people");
}

#[test]
fn correction_replaces_the_value_that_was_mentioned_last() {
    insta::assert_snapshot!(text(&[
        "Which day?", "March 3rd, until the 9th of this month.",
        "So you leave on March 3rd?", "Actually, the 2nd of this month.",
        "Your phone?", "+33 1 84 82 49 09",
        "Anything else?", "I want it next Tuesday, not Monday.",
        "And your name?", "James. Sorry, Thomas.",
    ]), @"
    The caller said: day=9th of this month; 2nd of this month (corrected, was March 3rd); phone=+33 1 84 82 49 09; next Tuesday (corrected, was Monday); name=Thomas
    The caller's wishes: next Tuesday not Monday
    ");
}

#[test]
fn numbers_of_flats_and_names_with_of_are_whole() {
    insta::assert_snapshot!(text(&[
        "Where to?", "To 270 Heron Road #62, it is near the Bank of Ardenne.",
        "And the shop?", "Perkins & Daughters, opposite the Museum of Modern Art.",
        "¿Dónde?", "Cerca del Teatro de Verano, el martes.",
    ]), @"The caller said: 270 Heron Road 62; Bank of Ardenne; shop=Perkins & Daughters, Museum of Modern Art; Teatro de Verano; martes");
}

#[test]
fn question_for_something_is_a_wish() {
    for said in [
        "Is there a table outside for tonight?",
        "How about something with fish?",
        "Gibt es ein Zimmer im Erdgeschoss?",
        "¿Hay alguna habitación con balcón?",
        "Avez-vous une table près de la fenêtre ?",
        "Avete una camera tranquilla?",
        "Tem uma mesa para dois?",
    ] {
        let facts = table(&["How can I help?", said]).before(u32::MAX).facts();
        assert!(facts.iter().any(|fact| fact.slot() == WISH), "{said}");
    }
}
