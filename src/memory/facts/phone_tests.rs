//! Values as people say them on the phone.

use super::tests::text;

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
    The caller said: said=41,206 (corrected, was 42,106); June (corrected, was July); sexta=terça, Sexta; quatre mille; ville=Rocourt
    The caller's wishes: said 41,206 not 42,106; Till the end of June not July but not before noon
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
    The caller said: name=Mr K P McGillicuddy-Jones; Block; Philippa St Clair-Moreau; name=Jan van der Berg, Frau Keller; Lindau; Mai; Tom; Li
    The caller's wishes: nicht der Brief von der Stadt; Gartenstraße 12 im Mai und der Name ist nicht Tom sondern Li
    ");
}
