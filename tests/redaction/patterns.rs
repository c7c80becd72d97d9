//! The precision and recall of the ready redactors on a synthetic set, and their cost on hostile text.

use std::path::Path;

use verbale::log::{CardNumbers, Pattern, Redactor, redact};
use verbale::{MessagesManager, PlainMessage};

/// SplitMix64, from a fixed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }

    /// Returns characters for a form: `0` is a digit, `1` a digit from 1, `2` one from 2, `A` a letter.
    fn form(&mut self, form: &str) -> String {
        let chars = form.chars().map(|c| match c {
            '0'..='2' => {
                let least = c as usize - '0' as usize;
                char::from(b'0' + u8::try_from(least + self.below(10 - least)).unwrap())
            }
            'A' => char::from(b'A' + u8::try_from(self.below(26)).unwrap()),
            c => c,
        });
        chars.collect()
    }

    /// Splits a number into groups of four, of any length, or not at all.
    fn grouped(&mut self, number: &str, separators: &[&str]) -> String {
        let separator = self.of(separators);
        let sizes = [number.len(), 4, 1 + self.below(6)];
        let size = sizes[self.below(3)];
        let chars: Vec<char> = number.chars().collect();
        let groups: Vec<String> = chars.chunks(size).map(|group| group.iter().collect()).collect();
        groups.join(separator)
    }

    fn spoken(&mut self, digits: &str) -> String {
        const WORDS: [[&str; 10]; 6] = [
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
            ["null", "eins", "zwo", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"],
            ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"],
            ["cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"],
            ["zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove"],
            ["zero", "um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove"],
        ];
        let words = WORDS[self.below(6)];
        let spoken =
            digits.chars().map(|c| c.to_digit(10).map_or(c.to_string(), |digit| words[digit as usize].to_owned()));
        spoken.collect::<Vec<_>>().join(" ")
    }
}

const FILLERS: &[&str] =
    &[" ", "-", " - ", ", ", ".", "/", "_", " uh ", " and ", " äh, ", " et ", " y ", " e poi ", " então ", "\u{200b}"];

/// Returns the candidate that `is_valid` accepts.
fn checked(mut candidates: impl Iterator<Item = String>, is_valid: impl Fn(&str) -> bool) -> Option<String> {
    candidates.find(|number| is_valid(number))
}

fn value(c: char) -> u32 {
    c.to_digit(36).unwrap()
}

fn luhn(digits: &str) -> bool {
    let doubled = |(place, c): (usize, char)| {
        let digit = value(c) * if place % 2 == 1 { 2 } else { 1 };
        digit / 10 + digit % 10
    };
    digits.chars().rev().enumerate().map(doubled).sum::<u32>() % 10 == 0
}

fn card(random: &mut Random) -> (String, String) {
    let form = random.of(&[
        "400000000000000",
        "510000000000000",
        "550000000000000",
        "222300000000000",
        "34000000000000",
        "37000000000000",
        "601100000000000",
        "352800000000000",
        "3600000000000",
        "620000000000000",
        "5018000000000",
        "670000000000000",
    ]);
    let fixed = ["4", "51", "55", "2223", "34", "37", "6011", "3528", "36", "62", "5018", "67"];
    let prefix = fixed.into_iter().filter(|prefix| form.starts_with(prefix)).max_by_key(|prefix| prefix.len()).unwrap();
    let front = format!("{prefix}{}", random.form(&"0".repeat(form.len() - prefix.len())));
    let number = checked((0..10).map(|check| format!("{front}{check}")), luhn).unwrap();
    let written = match random.below(4) {
        0 => random.spoken(&number),
        _ => random.grouped(&number, FILLERS),
    };
    (number, written)
}

fn iban(random: &mut Random) -> (String, String) {
    let form = random.of(&[
        "DE000000000000000000",
        "GBAAAA00000000000000",
        "FR0000000000AAAAAAAAAAA00",
        "ES00000000000000000000",
        "ITA0000000000000000000000",
        "NLAAAA0000000000",
        "PT000000000000000000000",
        "AT0000000000000000",
    ]);
    let (country, account) = form.split_at(2);
    let account = random.form(account);
    let remainder = |check: usize| {
        format!("{account}{country}{check:02}").chars().fold(0, |rest, c| {
            let value = value(c);
            (if value > 9 { rest * 100 } else { rest * 10 } + value) % 97
        })
    };
    let check = (2..99).find(|check| remainder(*check) == 1).unwrap();
    let number = format!("{country}{check:02}{account}");
    let mut written = match random.below(4) {
        0 => random.spoken(&number),
        _ => random.grouped(&number, &[" ", "-", " ", ".", " uh "]),
    };
    if random.below(3) == 0 {
        written = written.to_lowercase();
    }
    (number, written)
}

fn email(random: &mut Random) -> (String, String) {
    let first = random.of(&["ann", "jürgen", "maria", "o'neil", "x_9", "li+spam"]);
    let last = random.form("AA").to_lowercase();
    let domain = random.of(&["example", "mail-box", "posta"]);
    let end = random.of(&["com", "de", "co.uk", "it", "org", "com.br"]);
    let written = match random.below(4) {
        0 => format!("{first} dot {last} at {domain} dot {}", end.replace('.', " dot ")),
        1 => format!("{first} punkt {last} at {domain}.{end}"),
        _ => format!("{first}.{last}@{domain}.{end}"),
    };
    (written.clone(), written)
}

fn phone(random: &mut Random) -> (String, String) {
    let form = random.of(&[
        "+1 (N##) N##-####",
        "(N##) N##-####",
        "N##-N##-####",
        "N##.N##.####",
        "1-N##-N##-####",
        "+49 171 #######",
        "+44 20 #### ####",
        "0044 20 #### ####",
        "+33 6 ## ## ## ##",
        "06 ## ## ## ##",
        "030/### ## ##",
        "0171 ### ####",
        "+39 347 ### ####",
        "+351 91# ### ###",
        "+55 11 9####-####",
        "cell N##N######",
        "Handy 0171#######",
        "teléfono 6## ### ###",
        "phone N## ####",
    ]);
    let mut written: String = form
        .chars()
        .map(|c| {
            random.form(match c {
                '#' => "0",
                'N' => "2",
                _ => return c.to_string(),
            })
        })
        .collect();
    if random.below(8) == 0 {
        let digits = random.form("2002000000");
        written = format!("my phone number is {}", random.spoken(&digits));
    }
    (written.clone(), written)
}

fn person(random: &mut Random) -> (String, String) {
    let number = match random.below(8) {
        0 => {
            let area = 1 + random.below(665);
            let written = format!("{area:03}-{:02}-{:04}", 1 + random.below(99), 1 + random.below(9999));
            return (written.clone(), if random.below(2) == 0 { written } else { written.replace('-', " ") });
        }
        1 => {
            let prefix = random.of(&["AB", "CE", "JK", "PW", "TY"]);
            let number = format!("{prefix}{}{}", random.form("000000"), random.of(&["A", "B", "C", "D"]));
            let written =
                format!("{} {} {} {} {}", &number[..2], &number[2..4], &number[4..6], &number[6..8], &number[8..]);
            return (number.clone(), if random.below(2) == 0 { number } else { written });
        }
        2 => {
            let number = format!("{:08}", random.below(100_000_000));
            let letter = b"TRWAGMYFPDXBNJZSQVHLCKE"[number.parse::<usize>().unwrap() % 23];
            format!("{number}{}", char::from(letter))
        }
        3 => {
            let digits = random.form("0000000");
            let first = random.below(3);
            let letter = b"TRWAGMYFPDXBNJZSQVHLCKE"[format!("{first}{digits}").parse::<usize>().unwrap() % 23];
            format!("{}{digits}{}", ["X", "Y", "Z"][first], char::from(letter))
        }
        4 => {
            let (sex, year, month) = (1 + random.below(2), random.below(100), 1 + random.below(12));
            let front = format!("{sex}{year:02}{month:02}{:02}{}", 1 + random.below(95), random.form("000000"));
            format!("{front}{:02}", 97 - front.parse::<u64>().unwrap() % 97)
        }
        5 => {
            let digits = random.form("000000000");
            let sum = |digits: &str, from: u32| {
                digits.chars().zip((2..=from).rev()).map(|(c, weight)| value(c) * weight).sum::<u32>()
            };
            let one = format!("{digits}{}", sum(&digits, 10) * 10 % 11 % 10);
            format!("{one}{}", sum(&one, 11) * 10 % 11 % 10)
        }
        6 => random.of(&["86095742719", "47036892816", "65929970489", "57549285017", "25768131411"]).to_owned(),
        _ => random.of(&["RSSMRA85T10A562S", "VRDGPP13R10B293P"]).to_owned(),
    };
    let written = random.grouped(&number, &[" ", "-", "."]);
    (number, written)
}

/// Returns a text with a number that is none of these.
fn other(random: &mut Random) -> String {
    let form = random.of(&[
        "order 1000000000",
        "order number 1000000000000000",
        "booking AAAAAA",
        "reservation A0A0A0",
        "ref AA-000000-00",
        "tracking 1Z000AA00000000000",
        "tracking 9400 1000 0000 0000 0000 00",
        "parcel JD000000000000000000",
        "at 1744800000000",
        "on 2024-05-10 10:30:45",
        "on 12/05/2024 and 13/06/2024",
        "2024/05/10 11.30",
        "from 10.05.2024 to 12.06.2024",
        "$1,000.50 and 200 euros",
        "EUR 1.000,00 und 2.000,00",
        "room 1000, floor 2",
        "flight HAT100 and HAT200",
        "ISBN 978-1-0000-0000-0",
        "version 1.2.0 build 100000",
        "10.0.0.100 and 192.168.1.10",
        "account 1000000000",
        "zip 10000-0000",
        "at 41.1000, 12.2000",
        "1 of 2, 3 of 4, 10 of 20",
        "invoice 2024-000000",
        "one hundred and forty six dollars",
        "see you at five, or six, and then eight",
        "one two three, one two three",
        "10 20 30 40 50 60 70",
        "serial 1000-0000-0000-0000",
        "case 100-000-000",
        "meet me at noon dot",
        "@noon 10.30",
        "a@b",
        "gate A1 at 10:30",
        "seat 12A, 12B and 12C",
        "from 1000 to 2000 and 3000 to 4000",
    ]);
    random.form(form)
}

fn recorded() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/harper-valley");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped the recorded calls: {} is absent", folder.display());
        return Vec::new();
    };
    let files =
        files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let lines =
        files.flat_map(|path| std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>());
    lines
        .map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap()["text"].as_str().unwrap().to_owned())
        .collect()
}

fn left(redactor: &dyn Redactor, text: &str) -> String {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user(text).unwrap();
    let redacted = redact(&manager.records()[0], redactor).unwrap();
    redacted.contents().texts().next().unwrap().as_str().to_owned()
}

/// A redactor, its name and label, a source of its numbers, and its least precision and recall in percent.
type Measured = (&'static dyn Redactor, &'static str, &'static str, fn(&mut Random) -> (String, String), usize, usize);

const MEASURED: [Measured; 5] = [
    (&CardNumbers, "card", "*", card, 97, 97),
    (&Pattern::Iban, "iban", "[iban]", iban, 99, 97),
    (&Pattern::Email, "email", "[email]", email, 99, 97),
    (&Pattern::Phone, "phone", "[phone]", phone, 97, 97),
    (&Pattern::NationalId, "nationalId", "[id]", person, 97, 97),
];

#[test]
fn redactors_have_high_precision_and_recall() {
    const TEXTS: usize = 1_000;
    let recorded = recorded();
    let mut below = Vec::new();
    let frames = [("", ""), ("it is ", ", thank you"), ("please note: ", "."), ("Ja, ", " bitte?"), ("so that's ", "")];
    for (redactor, name, label, positive, least_precision, least_recall) in MEASURED {
        let mut random = Random(7);
        let (mut found, mut wrong) = (0, 0);
        let mut examples = Vec::new();
        for _ in 0..TEXTS {
            let (number, written) = positive(&mut random);
            let (before, after) = frames[random.below(frames.len())];
            let text = format!("{before}{written}{after}");
            let left = left(redactor, &text);
            let is_found = match name {
                "card" => left.matches('*').count() + 4 >= number.len(),
                _ => left
                    .strip_prefix(before)
                    .and_then(|left| left.strip_suffix(after)?.strip_suffix(label))
                    .is_some_and(|rest| {
                        rest.is_empty()
                            || name == "phone" && rest.len() < 26 && !rest.contains(|c: char| c.is_ascii_digit())
                    }),
            };
            found += usize::from(is_found);
            if !is_found && examples.len() < 8 {
                examples.push(format!("missed: {text} -> {left}"));
            }
        }
        let others: Vec<String> = (0..TEXTS).map(|_| other(&mut random)).chain(recorded.iter().cloned()).collect();
        for text in &others {
            let left = left(redactor, text);
            wrong += usize::from(left != *text);
            if left != *text && examples.len() < 16 {
                examples.push(format!("wrong: {text} -> {left}"));
            }
        }
        let (precision, recall) = (100.0 * found as f64 / (found + wrong) as f64, 100.0 * found as f64 / TEXTS as f64);
        println!("{name}: precision {precision:.1}%, recall {recall:.1}%, {} negatives", others.len());
        examples.iter().for_each(|example| println!("  {example}"));
        if precision < least_precision as f64 || recall < least_recall as f64 {
            below.push(name);
        }
    }
    assert!(below.is_empty(), "{below:?}");
}

/// A cost that grows with the square of the text would take minutes.
#[test]
fn hostile_text_takes_linear_time() {
    const BYTES: usize = 60_000;
    for piece in [
        "4",
        "4 ",
        "41",
        "4111111111111111",
        "4111 ",
        " ",
        "uh ",
        "double ",
        "forty ",
        "a",
        "a ",
        "e ",
        "@",
        "a@",
        "@a.",
        "a.",
        "at ",
        "a at ",
        "dot ",
        "a dot ",
        "at a dot ",
        "x dot com ",
        "+",
        "+4",
        "(",
        "0 ",
        "00",
        "06 ",
        "[",
        "[a",
        "<a ",
        "D",
        "DE",
        "DE89 ",
        "d e 8 9 ",
        "\u{200b}",
        "\u{202e}4",
        "٤",
        "𝟒 ",
        "phone 4 ",
        "ssn 1 ",
        "4uh",
        "ä",
        "X1",
    ] {
        let text = piece.repeat(BYTES / piece.len());
        for (redactor, ..) in MEASURED {
            redactor.find(&text).unwrap();
        }
    }
}

#[test]
fn patterns_replace_by_labels() {
    for (pattern, text, redacted) in [
        (Pattern::Iban, "DE89 3704 0044 0532 0130 00.", "[iban]."),
        (Pattern::Iban, "my iban d e eight nine 3704 0044 uh 0532 0130 00", "my iban [iban]"),
        (Pattern::Iban, "GB29NWBK60161331926819 GB29NWBK60161331926818", "[iban] GB29NWBK60161331926818"),
        (Pattern::Email, "write to ann.lee@example.com, please", "write to [email], please"),
        (Pattern::Email, "a n n dot lee at example dot co dot uk.", "[email]."),
        (Pattern::Email, "meet me at noon dot", "meet me at noon dot"),
        (Pattern::Email, "<jürgen@müller.de>; İx@y.com", "<[email]>; [email]"),
        (Pattern::Phone, "call +49 (0)30 1234567 now", "call +[phone] now"),
        (Pattern::Phone, "(415) 555-2671 or 06 12 34 56 78", "([phone] or [phone]"),
        (Pattern::Phone, "order 4155552671, phone 4155552671", "order 4155552671, phone [phone]"),
        (Pattern::NationalId, "123-45-6789 and 666-45-6789", "[id] and 666-45-6789"),
        (Pattern::NationalId, "RSSMRA85T10A562S, 12345678Z, X1234567L", "[id], [id], [id]"),
        (Pattern::NationalId, "86 095 742 719, 529.982.247-25, AB 12 34 56 C", "[id], [id], [id]"),
        (Pattern::NationalId, "1 84 12 76 451 089 46", "[id]"),
        (Pattern::NationalId, "order 123456789, ssn 123456789", "order 123456789, ssn [id]"),
    ] {
        assert_eq!(left(&pattern, text), redacted, "{text}");
        assert_eq!(left(&pattern, redacted), redacted, "{text}");
    }
}
