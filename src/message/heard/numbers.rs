//! Reads numbers aloud: `235` is `two hundred thirty five`.
//!
//! The words only have to be about as long as those of a speech synthesis, and similar to them.

use super::language::Language;

/// Returns the words of a whole number, separated by spaces.
pub(super) fn cardinal(number: u64, language: Language) -> String {
    match language {
        Language::English => scaled(number, language, &["thousand", "million", "billion", "trillion"], english),
        Language::German => glued(number, language, "tausend", ["millionen", "milliarden", "billionen"], german),
        Language::Italian => glued(number, language, "mila", ["milioni", "miliardi", "bilioni"], italian),
        Language::Spanish => scaled(number, language, &["mil", "millones", "mil millones", "billones"], spanish),
        Language::French => scaled(number, language, &["mille", "millions", "milliards", "billions"], french),
        Language::Portuguese => scaled(number, language, &["mil", "milhões", "mil milhões", "biliões"], portuguese),
        Language::Chinese | Language::Japanese => han(number, language),
    }
}

/// Returns the words of the digits, one by one, separated by spaces.
pub(super) fn digits(digits: &str, language: Language) -> String {
    let words: Vec<String> =
        digits.chars().filter_map(|c| c.to_digit(10)).map(|digit| cardinal(digit.into(), language)).collect();
    words.join(" ")
}

/// Returns the words for the separator before decimals.
pub(super) fn point(language: Language) -> &'static str {
    match language {
        Language::English => "point",
        Language::German => "Komma",
        Language::Italian => "virgola",
        Language::Spanish => "coma",
        Language::French => "virgule",
        Language::Portuguese => "vírgula",
        Language::Chinese => "点",
        Language::Japanese => "てん",
    }
}

/// Returns the words of a symbol that is read aloud.
pub(super) fn symbol(symbol: char, language: Option<Language>) -> Option<&'static str> {
    let column = match language.unwrap_or(Language::English) {
        Language::English => 0,
        Language::German => 1,
        Language::Italian => 2,
        Language::Spanish => 3,
        Language::French => 4,
        Language::Portuguese => 5,
        Language::Chinese => 6,
        Language::Japanese => 7,
    };
    let (_, words) = SYMBOLS.iter().find(|(known, _)| known.contains(symbol))?;
    words.split('|').nth(column)
}

/// Each symbol in English, German, Italian, Spanish, French, Portuguese, Chinese and Japanese.
const SYMBOLS: [(&str, &str); 12] = [
    ("$＄", "dollars|Dollar|dollari|dólares|dollars|dólares|美元|どる"),
    ("€", "euros|Euro|euro|euros|euros|euros|欧元|ゆーろ"),
    ("£￡", "pounds|Pfund|sterline|libras|livres|libras|英镑|ぽんど"),
    ("¥￥", "yen|Yen|yen|yenes|yens|ienes|元|えん"),
    ("%％", "percent|Prozent|per cento|por ciento|pour cent|por cento|百分之|ぱーせんと"),
    ("&＆", "and|und|e|y|et|e|和|あんど"),
    ("+＋", "plus|plus|più|más|plus|mais|加|ぷらす"),
    ("=＝", "equals|gleich|uguale|igual|égal|igual|等于|いこーる"),
    ("@＠", "at|at|chiocciola|arroba|arobase|arroba|艾特|あっと"),
    ("#＃", "number|Nummer|numero|número|numéro|número|号|なんばー"),
    ("°", "degrees|Grad|gradi|grados|degrés|graus|度|ど"),
    ("§", "section|Paragraf|paragrafo|artículo|paragraphe|parágrafo|条|じょう"),
];

/// Reads groups of three digits, each with the name of its scale.
fn scaled(number: u64, language: Language, scales: &[&str], below_1000: fn(u64) -> String) -> String {
    let mut words = Vec::new();
    for (index, scale) in scales.iter().enumerate().rev() {
        let group = number / 1000u64.pow(index as u32 + 1) % 1000;
        // "Mil" and "mille" have no "one" before them.
        if group == 1 && index == 0 && language != Language::English {
            words.push((*scale).to_owned());
        } else if group > 0 {
            words.push(format!("{} {scale}", below_1000(group)));
        }
    }
    if !number.is_multiple_of(1000) || words.is_empty() {
        words.push(below_1000(number % 1000));
    }
    words.join(" ")
}

/// As [`scaled`], but a number below a million is one word.
fn glued(number: u64, language: Language, thousand: &str, scales: [&str; 3], below_1000: fn(u64) -> String) -> String {
    let mut words = Vec::new();
    for (index, scale) in scales.iter().enumerate().rev() {
        let group = number / 1000u64.pow(index as u32 + 2) % 1000;
        if group > 0 {
            words.push(format!("{} {scale}", below_1000(group)));
        }
    }
    let (thousands, rest) = (number / 1000 % 1000, number % 1000);
    let mut word = match (thousands, language) {
        (0, _) => String::new(),
        (1, Language::Italian) => "mille".to_owned(),
        (1, _) => "ein".to_owned() + thousand,
        _ => below_1000(thousands) + thousand,
    };
    if rest > 0 || number == 0 {
        word += &below_1000(rest);
    }
    words.extend((!word.is_empty()).then_some(word));
    words.join(" ")
}

fn nth(words: &str, index: u64) -> &str {
    words.split(' ').nth(index as usize).unwrap_or_default()
}

fn english(n: u64) -> String {
    const ONES: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                        sixteen seventeen eighteen nineteen";
    match n {
        0..20 => nth(ONES, n).to_owned(),
        20..100 => {
            after(nth("- - twenty thirty forty fifty sixty seventy eighty ninety", n / 10), " ", n % 10, english)
        }
        _ => after(&format!("{} hundred", english(n / 100)), " ", n % 100, english),
    }
}

fn german(n: u64) -> String {
    const ONES: &str = "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn \
                        sechzehn siebzehn achtzehn neunzehn";
    const TENS: &str = "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig";
    let one = |n| if n == 1 { "ein" } else { nth(ONES, n) };
    match n {
        0..20 => nth(ONES, n).to_owned(),
        20..100 if n.is_multiple_of(10) => nth(TENS, n / 10).to_owned(),
        20..100 => format!("{}und{}", one(n % 10), nth(TENS, n / 10)),
        _ => after(&format!("{}hundert", one(n / 100)), "", n % 100, german),
    }
}

fn italian(n: u64) -> String {
    const ONES: &str = "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici \
                        quindici sedici diciassette diciotto diciannove";
    const TENS: &str = "- - venti trenta quaranta cinquanta sessanta settanta ottanta novanta";
    match n {
        0..20 => nth(ONES, n).to_owned(),
        20..100 => {
            let tens = nth(TENS, n / 10);
            let tens = if matches!(n % 10, 1 | 8) { tens.get(..tens.len() - 1).unwrap_or(tens) } else { tens };
            after(tens, "", n % 10, italian)
        }
        100..200 => after("cento", "", n % 100, italian),
        _ => after(&format!("{}cento", nth(ONES, n / 100)), "", n % 100, italian),
    }
}

fn spanish(n: u64) -> String {
    const ONES: &str = "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince \
                        dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro \
                        veinticinco veintiséis veintisiete veintiocho veintinueve";
    const TENS: &str = "- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa";
    const HUNDREDS: &str = "- ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos \
                            ochocientos novecientos";
    match n {
        0..30 => nth(ONES, n).to_owned(),
        30..100 => after(nth(TENS, n / 10), " y ", n % 10, spanish),
        100 => "cien".to_owned(),
        _ => after(nth(HUNDREDS, n / 100), " ", n % 100, spanish),
    }
}

fn french(n: u64) -> String {
    const ONES: &str = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize \
                        dix-sept dix-huit dix-neuf";
    const TENS: &str = "- - vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt";
    match n {
        0..20 => nth(ONES, n).to_owned(),
        20..70 if n % 10 == 1 => format!("{} et un", nth(TENS, n / 10)),
        20..70 => after(nth(TENS, n / 10), " ", n % 10, french),
        70..100 => after(nth(TENS, n / 10), " ", n % 20, french),
        100..200 => after("cent", " ", n % 100, french),
        _ => after(&format!("{} cent", nth(ONES, n / 100)), " ", n % 100, french),
    }
}

fn portuguese(n: u64) -> String {
    const ONES: &str = "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze \
                        dezasseis dezassete dezoito dezanove";
    const TENS: &str = "- - vinte trinta quarenta cinquenta sessenta setenta oitenta noventa";
    const HUNDREDS: &str = "- cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos \
                            novecentos";
    match n {
        0..20 => nth(ONES, n).to_owned(),
        20..100 => after(nth(TENS, n / 10), " e ", n % 10, portuguese),
        100 => "cem".to_owned(),
        _ => after(nth(HUNDREDS, n / 100), " e ", n % 100, portuguese),
    }
}

/// Appends the rest of a number, unless it is 0.
fn after(words: &str, between: &str, rest: u64, read: fn(u64) -> String) -> String {
    if rest == 0 { words.to_owned() } else { format!("{words}{between}{}", read(rest)) }
}

/// Reads a number in Chinese characters.
fn han(number: u64, language: Language) -> String {
    const DIGITS: [char; 10] = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'];
    let is_chinese = language == Language::Chinese;
    let mut read = String::new();
    let mut skips = false;
    for place in (0..16).rev() {
        let digit = number / 10u64.pow(place) % 10;
        if digit > 0 {
            if std::mem::take(&mut skips) && is_chinese && !read.is_empty() {
                read.push('零');
            }
            // "One" is silent before ten, and in Japanese before a hundred and a thousand.
            let is_silent = digit == 1 && place % 4 > 0 && (!is_chinese || place % 4 == 1 && read.is_empty());
            if !is_silent {
                read.extend(DIGITS.get(digit as usize));
            }
            read.extend(['千', '百', '十'].get(3 - (place % 4) as usize).filter(|_| place % 4 > 0));
        } else {
            skips = true;
        }
        if place > 0 && place % 4 == 0 && !(number / 10u64.pow(place)).is_multiple_of(10_000) {
            read.extend(if is_chinese { ['万', '亿', '兆'] } else { ['万', '億', '兆'] }.get((place / 4 - 1) as usize));
            skips = false;
        }
    }
    if read.is_empty() { "零".to_owned() } else { read }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_each_language() {
        use Language::*;
        for (number, language, words) in [
            (0, English, "zero"),
            (235, English, "two hundred thirty five"),
            (1_800_012, English, "one million eight hundred thousand twelve"),
            (1_235, German, "eintausendzweihundertfünfunddreißig"),
            (101, German, "einhunderteins"),
            (2_028, Italian, "duemilaventotto"),
            (1_000, Italian, "mille"),
            (1_550, Spanish, "mil quinientos cincuenta"),
            (31, Spanish, "treinta y uno"),
            (71, French, "soixante onze"),
            (95, French, "quatre-vingt quinze"),
            (1_250, French, "mille deux cent cinquante"),
            (342, Portuguese, "trezentos e quarenta e dois"),
            (1_250, Chinese, "一千二百五十"),
            (1_005, Chinese, "一千零五"),
            (12, Chinese, "十二"),
            (12_500, Japanese, "一万二千五百"),
            (2_024, Japanese, "二千二十四"),
        ] {
            assert_eq!(cardinal(number, language), words);
        }
        assert_eq!(digits("105", Spanish), "uno cero cinco");
    }
}
