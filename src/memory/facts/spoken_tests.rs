//! Codes, times, amounts and choices as recognised speech has them.

use super::tests::text;

#[test]
fn codes_in_groups_of_different_kinds_are_one_value_each() {
    insta::assert_snapshot!(text(&[
        "Nummer?", "0171, 55 60, 3 8 2. Aber erst ab Mittag.",
        "Cellulare?", "tre quattro otto, 22 16, nove zero cinque.",
        "¿Guía?", "es MX, nueve, tres, tres, cero, QF, 21.",
        "¿Compra?", "A ver, siete siete cero, guion, 5 4 9 1 2.",
        "Véhicule ?", "immatriculé FV, 620, XD.",
        "Kennzeichen?", "R, Strich, KZ 418.",
        "How many?", "We are 4, 2 adults and 2 children, in rooms 12, 14 and 16.",
    ]), @"The caller said: 0171 55 60 3 8 2; Mittag; cellulare=tre quattro otto 22 16 nove zero cinque; guía=MX nueve tres tres cero QF 21; compra=siete siete cero 5 4 9 1 2; immatriculé=FV 620 XD; kennzeichen=R Strich KZ 418; 2 adults; 2 children; rooms=12; 14; 16");
}

#[test]
fn times_and_amounts_with_two_numbers_are_one_value_each() {
    insta::assert_snapshot!(text(&[
        "Quand ?", "à 23 h 52, et j'ai payé 249 euros 90.",
        "Quando?", "lá pelas onze e meia da noite, e paguei 312 euros e 40",
        "Quando?", "Si parte sabato 14.",
        "When?", "At six fifteen a.m., and on Saturday 2 people come, with two liters of milk.",
    ]), @"The caller said: 23 h 52; payé=249 euros 90; onze e meia da noite; paguei=312 euros e 40; parte=sabato 14; six fifteen a.m; Saturday; saturday=2 people; two liters of milk");
}

#[test]
fn dates_and_times_of_several_words_are_whole() {
    insta::assert_snapshot!(text(&[
        "Até quando?", "Até trinta e um de julho, às oito e vinte e cinco.",
        "When?", "From february the twentieth to the twenty first of march, at three forty five p m.",
        "Wann?", "Am ersten April um elf Uhr zwanzig, da kommt der Holger, mein Mann.",
    ]), @"
    The caller said: trinta e um de julho; oito e vinte e cinco; From february the twentieth to the twenty first of march; three forty five p m; ersten April; elf Uhr zwanzig; Holger
    The caller's wishes: february the twentieth to the twenty first of march
    ");
}

#[test]
fn count_and_name_and_code_do_not_replace_each_other() {
    insta::assert_snapshot!(text(&[
        "What can I get you?", "2 large margheritas, to 48 Elm Road.",
        "Anything else?", "Make that three margheritas. And it happened in Derby.",
        "In Derby?", "Yes. And sorry, two things.",
        "A placa?", "É um Renault.",
        "Q S?", "Não, é Q X, X de xadrez.",
    ]), @"The caller said: 48 Elm Road; three margheritas (corrected, was 2 large margheritas); Derby; derby=two things; placa=Renault; q s=QXX");
}

#[test]
fn common_nouns_are_no_names_in_german() {
    insta::assert_snapshot!(text(&[
        "Wann?", "Entschuldigung, am Dienstag, mit Frühstück und Reifenwechsel. Da kommt der Holger, und ich bin im Büro.",
        "Gang oder Fenster?", "Fenster.",
    ]), @"The caller said: Dienstag; Holger; Fenster");
}

#[test]
fn clause_of_offered_words_is_a_choice() {
    insta::assert_snapshot!(text(&[
        "Could you send it by post or upload it?", "He hasn't got the portal. Post. Who do I mark it for?",
        "We refund by check or as a credit on the other unit.", "Credit's fine, and there was no autopay before.",
        "Voulez-vous les résultats par courrier ou sur internet ?", "Par courrier, internet c'est ma fille qui s'en occupe.",
        "Between ten and one, or between two and four?", "Two and four, not ten and one.",
    ]), @"
    The caller said: Post; courrier
    The caller's wishes: Credit's fine and there was no autopay before; Two and four not ten and one
    The assistant said: Between ten and one; between two and four
    ");
}

#[test]
fn time_corrects_no_number_that_was_dictated_before() {
    insta::assert_snapshot!(text(&[
        "The complaint?", "It is 7 3 0 9 2 1 4.",
        "When?", "Actually my mother will be there, ten to one is okay.",
    ]), @"
    The caller said: complaint=7309214; ten to one
    The caller's wishes: mother will be there ten to one
    ");
}

#[test]
fn corrections_as_people_say_them_replace_the_value() {
    insta::assert_snapshot!(text(&[
        "Seit wann?", "Gestern 39,2, nein, was sag ich, 39,7 waren's.",
        "Fino a quando?", "Fino a mercoledì... no, mi correggo, fino a giovedì.",
        "Depuis quand ?", "depuis 2009, euh non, 2011",
        "Quanto toma?", "de 25, não, mentira, é de 50",
        "Le dossier ?", "c'est le G, 2 9, quatre cent dix.",
    ]), @"
    The caller said: Gestern; 39,7 (corrected, was 39,2); giovedì (corrected, was mercoledì); 2011 (corrected, was 2009); toma=50 (corrected, was 25); dossier=G 2 9 quatre cent dix
    The caller's wishes: 2009 euh non 2011; 25 não mentira é de 50
    ");
}
