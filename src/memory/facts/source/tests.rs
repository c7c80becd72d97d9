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
        "She has $146 left, flies on Friday at 17:00, and takes two bags.",
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
        "Payment will follow. Policy says that. Two tickets were requested. Wants a seat.",
        "Cliente chiede il prezzo. Rimborso confermato il 24 maggio. Luego pidió una mesa. Remboursement demandé.",
    ] {
        assert_eq!(Source::new(CALL).checked(faithful), (faithful.to_owned(), Removed::default()));
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
        ("She has forty-seven bags.", Kind::Number),
        ("Her phone is 555-123-4568.", Kind::Number),
        ("She spoke with Bob.", Kind::Name),
        ("Anna Rossi called.", Kind::Name),
        ("Mr. Bernstein agreed.", Kind::Name),
        ("She spoke with Dr. K. Bernstein.", Kind::Name),
        ("Sie sprach mit Prof. Bernstein.", Kind::Name),
        ("Elle a appelé M. Bernstein.", Kind::Name),
        ("Bernstein agreed.", Kind::Name),
        ("Bernstein also confirmed the booking.", Kind::Name),
        ("Bernstein has already requested that.", Kind::Name),
        ("Bernstein doesn't want a window seat.", Kind::Name),
        ("Bernstein is her husband.", Kind::Name),
        ("Bernstein has two bags.", Kind::Name),
        ("Bernstein will bring a friend.", Kind::Name),
        ("Bernstein would like a seat.", Kind::Name),
        ("Bernstein's flight is on Friday.", Kind::Name),
        ("Bernstein, who called, agreed.", Kind::Name),
        ("Bernstein and Mia waited.", Kind::Name),
        ("Passenger: Bernstein.", Kind::Name),
        ("Bernstein möchte die Buchung, und das ist nicht alles.", Kind::Name),
        ("Bernstein ha confermato il volo.", Kind::Name),
        ("Bernstein ha bisogno di un posto.", Kind::Name),
        ("Bernstein le pidió el precio.", Kind::Name),
        ("Bernstein a refusé.", Kind::Name),
        ("Bernstein não quer pagar.", Kind::Name),
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
