//! Faithful sentences stay, and sentences with an invented value are removed.

use super::*;

const CALL: &str = "caller: I'm Mia Li, user K L 3 0 5 T, on 2024-05-24, with three bags. Call me on (555) 123 4567.\n\
    I have one hundred and forty six dollars left. See you on Fri at 5 pm.\n\
    caller: It is 0 1 7 2 double five 4, and seven seven four double two nine oh.\n\
    {\"tool\":[\"{\\\"city\\\":\\\"Z\\\\u00fcrich\\\",\\\"cabin\\\":\\\"basic_economy\\\",\\\"fee\\\":30.0}\"]}\n\
    tool: total $1,250.00, reservation JFK_88 for mia.li@example.com, departs 2024-05-26T18:30:00";

#[test]
fn faithful_sentence_stays() {
    for faithful in [
        "The caller is Mia Li. Her id is KL305T; she has 3 bags. She pays 1250 dollars.",
        "Mia's flight is on May 24th. It costs $1,250, for JFK_88 and mia.li@example.com.",
        "Die Anruferin ist Mia Li und hat eine Reise und die Frage nach dem Preis.\n",
        "She has $146 left, flies on Friday at 17:00, and takes three bags, in two cars.",
        "It leaves at 6:30 PM on 26 May 2024, or 18.30 Uhr, from Zürich in Basic Economy.",
        "Her phone is 555-123-4567. The total of 1,250 and 30 dollars is $1,280.",
        "Open Points: Her number is 555 123 4567. The date is 05/24/2024.",
        "Der Flug am 24. Mai kostet 1.250,00 Euro. Sie hat hundertsechsundvierzig Dollar.",
        "She swapped it on the same dates. Same price on Friday's flight.",
        "The numbers are 0172554 and 7742290.",
        "Ms. Li agreed. I spoke to Dr. M. Li. She flies on Friday.",
        "Il volo è il 24 maggio. The fee is thirty dollars, and the ID is known.",
        "Customer wants a window seat. Finally agreed. Refund requested. Caller: Satisfied with that.",
        "Seat confirmed. It's paid. Tomorrow's plan is open. Reservation requested by phone. Mia agreed.",
        "Anfangs wollte die Anruferin warten. Gepäck möchte sie nicht. Frühstück hat die Kundin abgelehnt.",
        "Gewünscht ist ein Sitzplatz am Fenster. Die Kinderbetreuung ist noch offen. Sie bittet um eine Umbuchung.",
        "Payment will follow. Policy says that. Two tickets were requested. Wants a seat. Breakfast is late.",
        "Cliente chiede il prezzo. Rimborso confermato il 24 maggio. L'assistente verifica l'importo.",
        "Luego pidió una mesa. Descartó el seguro. Pendiente la respuesta del asistente.",
        "Remboursement demandé. D'abord, elle voulait attendre. Reste à payer la somme de trente dollars.",
        "Pediu um lugar à janela. Fica por confirmar o pagamento. Possível atraso da resposta.",
    ] {
        assert_eq!(Source::new(CALL).checked(faithful), (faithful.to_owned(), Removed::default()));
    }
}

#[test]
fn first_words_of_other_languages_are_no_names() {
    for faithful in [
        "Klant wil een stoel bij het raam. Betaling volgt later. Vergoeding is gevraagd.",
        "Klientka prosi o zwrot pieniędzy. Płatność nastąpi później.",
        "Kunden vill boka om resan. Betalning sker senare.",
        "Müşteri koltuk istiyor. Ödeme sonra yapılacak.",
        "Ο πελάτης ζητά επιστροφή. Πληρωμή αργότερα.",
    ] {
        assert_eq!(Source::new(CALL).checked(faithful), (faithful.to_owned(), Removed::default()));
    }
}

#[test]
fn values_said_in_words_stay() {
    for (said, faithful) in [
        ("I land at quarter past three p m, so make it half past four.", "It is at 3:15 PM, or 4:30 PM."),
        ("Three forty five p m, or between nine and noon. They close at one.", "It is at 3:45 PM, 9 AM or 1 PM."),
        ("It's from the second of april, due by the twenty first of august.", "Dated April 2, it is due on 21 August."),
        ("The hotspot is nine ninety nine a week.", "It costs $9.99 a week."),
        ("Write to complaints at harrowfinch dot com.", "She writes to complaints@harrowfinch.com."),
        ("My number is five eight eight.\nseven five seven\ntwo two nine eight", "Her number is 588-757-2298."),
        ("She is eighty-one and it takes twenty minutes.", "The 81-year-old has a 20-minute appointment."),
        ("Am elften März, um halb zwölf, bis Viertel vor sechs.", "Es ist am 11.03. um 11:30 Uhr, bis 17:45 Uhr."),
        ("Es ist am 4. Juni um 17 Uhr 45.", "Es ist am 4. Juni um 17:45 Uhr."),
        ("Es sind null Komma acht Bar und zwölf Meter zehn.", "Es sind 0,8 Bar und 12,10 Meter."),
        ("Mejor a las cuatro y media, el veintidós de julio.", "Mejor a las 16:30 del 22 de julio."),
        ("Le premier février à treize heures trente.", "C'est le 1er février à 13 h 30, ou 13h30."),
        ("C'est le zéro deux, quatre-vingt-dix-sept, soixante-douze.", "Le numéro est le 02 97 72."),
        ("Alle nove e mezza, mia punto li chiocciola libero punto it.", "Alle 9:30, mia.li@libero.it."),
        ("Às oito e meia, mil cento e cinquenta euros, trinta e um de julho.", "Às 20h30, 1150 euros, a 31 de julho."),
    ] {
        assert_eq!(Source::new(said).checked(faithful), (faithful.to_owned(), Removed::default()), "{said}");
    }
}

#[test]
fn sentence_with_an_invented_value_is_removed() {
    for (invented, kind) in [
        ("Her id is KL306T.", Kind::Code),
        ("She pays $1,260.", Kind::Amount),
        ("She pays 12.50 dollars.", Kind::Amount),
        ("It is on June 24.", Kind::Date),
        ("It is on 2024-05-25.", Kind::Date),
        ("It is on 24 May 2025.", Kind::Date),
        ("She flies on Monday.", Kind::Date),
        ("She calls at 6 pm.", Kind::Time),
        ("It leaves at 06:30.", Kind::Time),
        ("She has 14 bags.", Kind::Number),
        ("She has two bags.", Kind::Number),
        ("She takes 4 bags to the flight.", Kind::Number),
        ("She asked eleven questions.", Kind::Number),
        ("She has forty-seven bags.", Kind::Number),
        ("Her phone is 555-123-4568.", Kind::Number),
        ("She spoke with Bob.", Kind::Name),
        ("Anna Rossi called.", Kind::Name),
        ("Mr. Bernstein agreed.", Kind::Name),
        ("She spoke with Dr. K. Bernstein.", Kind::Name),
        ("Bernstein agreed.", Kind::Name),
        ("Bernstein also confirmed the booking.", Kind::Name),
        ("Bernstein has already requested that.", Kind::Name),
        ("Bernstein doesn't want a window seat.", Kind::Name),
        ("Bernstein is her husband.", Kind::Name),
        ("Bernstein has two bags.", Kind::Name),
        ("Bernstein will bring a friend.", Kind::Name),
        ("Bernstein would like a seat.", Kind::Name),
        ("Bernstein is late.", Kind::Name),
        ("Bernstein snored.", Kind::Name),
        ("On Friday came Bernstein.", Kind::Name),
        ("Bernstein's flight is on Friday.", Kind::Name),
        ("Bernstein, who called, agreed.", Kind::Name),
        ("Bernstein and Mia waited.", Kind::Name),
        ("Passenger: Bernstein.", Kind::Name),
        ("The booking is JFK_89.", Kind::Code),
        ("Write to mia.lo@example.com.", Kind::Code),
    ] {
        let (kept, removed) = Source::new(CALL).checked(&format!("The caller is Mia. {invented} She waits."));
        let mut expected = Removed::default();
        expected.count(kind);
        assert_eq!((kept.as_str(), removed), ("The caller is Mia. She waits.", expected), "{invented}");
    }
}

#[test]
fn part_of_an_address_that_was_said_is_another_address() {
    let source = Source::new("It's m i a dot li at example dot org, please.");
    assert_eq!(source.checked("Write to mia.li@example.org.").1, Removed::default());
    assert_eq!(source.checked("Write to li@example.org.").1.codes, 1);
    assert_eq!(source.checked("Write to mia.li@example.com.").1.codes, 1);
}

#[test]
fn invented_names_are_removed_in_each_language() {
    for (before, after, invented) in [
        (
            "Die Anruferin ist Mia Li.",
            "Sie wartet noch auf die Antwort.",
            [
                "Sie sprach mit Bernstein.",
                "Bernstein ist verspätet.",
                "Das hat Bernstein gesagt.",
                "Bernstein möchte die Buchung.",
                "Sie sprach mit Prof. Bernstein.",
            ],
        ),
        (
            "La clienta es Mia Li.",
            "Ella espera la respuesta.",
            [
                "Bernstein le pidió el precio.",
                "Bernstein está de viaje.",
                "Bernstein ronca.",
                "Habló con Bernstein.",
                "Confirmó Bernstein.",
            ],
        ),
        (
            "La cliente est Mia Li.",
            "Elle attend la réponse.",
            [
                "Bernstein a refusé.",
                "Bernstein ronfle.",
                "Elle a appelé M. Bernstein.",
                "C'est la valise d'Armelle.",
                "D'Armelle, elle ne sait rien.",
            ],
        ),
        (
            "La cliente è Mia Li.",
            "Lei aspetta la risposta.",
            [
                "Bernstein ha confermato il volo.",
                "Bernstein è in ritardo.",
                "Bernstein ha bisogno di un posto.",
                "Ha parlato con Bernstein.",
                "È il posto dell'Armella.",
            ],
        ),
        (
            "A cliente é Mia Li.",
            "Ela espera a resposta.",
            [
                "Bernstein não quer pagar.",
                "Bernstein está atrasado.",
                "Bernstein ronca.",
                "Falou com Bernstein.",
                "Quem pagou foi Bernstein.",
            ],
        ),
    ] {
        for invented in invented {
            let (kept, removed) = Source::new(CALL).checked(&format!("{before} {invented} {after}"));
            assert_eq!((kept, removed.names), (format!("{before} {after}"), 1), "{invented}");
        }
    }
}

#[test]
fn name_that_is_removed_once_is_removed_everywhere() {
    let (kept, removed) = Source::new(CALL).checked("Bernstein at the window. She met Bernstein. She waits.");
    assert_eq!((kept.as_str(), removed.all()), (" She waits.", 2));
}

proptest::proptest! {
    #[test]
    fn check_only_removes(call in "\\PC{0,200}", summary in "\\PC{0,200}") {
        let source = Source::new(&call);
        let (kept, removed) = source.checked(&summary);
        proptest::prop_assert_eq!(source.checked(&kept).1, if kept == summary { removed } else { Removed::default() });
        proptest::prop_assert_eq!(removed.all() == 0, kept == summary);
        proptest::prop_assert!(sentences(&summary).collect::<String>() == summary);
    }

    #[test]
    fn number_that_was_not_said_is_removed(said in 13u32..100_000, told in 13u32..100_000) {
        let (kept, _) = Source::new(&format!("I pay {said} dollars.")).checked(&format!("It costs ${told}."));
        proptest::prop_assert_eq!(kept.is_empty(), said != told);
    }

    #[test]
    fn id_that_was_not_said_is_removed(said in "[A-Z]{2}[0-9]{4}", told in "[A-Z]{2}[0-9]{4}") {
        let (kept, _) = Source::new(&format!("It is {said}.")).checked(&format!("The id is {told}."));
        proptest::prop_assert_eq!(kept.is_empty(), said != told);
    }
}
