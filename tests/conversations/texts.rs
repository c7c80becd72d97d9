//! The texts that a query searches, and their case.

use verbale::message::ResultContent;
use verbale::message::ToolError;
use verbale::{Content, Heard, HeardSource, Role, ToolCall, Value};

use super::backend::{Backend, Fixture, everything, id};

pub async fn all(backend: Backend) {
    letters_are_compared_by_simple_case_folding(backend.open().await).await;
    no_character_is_a_wildcard(backend.open().await).await;
    tool_results_are_searched(backend.open().await).await;
    each_text_is_searched_on_its_own(backend.open().await).await;
    text_that_was_not_heard_is_found(backend.open().await).await;
    query_text_may_have_1000_bytes(backend.open().await).await;
}

/// The text of the query, the text of the message, and whether they match.
const CASES: [(&str, &str, bool); 22] = [
    ("order", "Where is my ORDER?", true),
    ("ORDER", "where is my order?", true),
    ("perché", "PERCHÉ NO", true),
    ("привет", "ПРИВЕТ", true),
    // Folding is character by character: ß has a capital, but is not two letters.
    ("straße", "STRAẞE", true),
    ("STRAẞE", "straße", true),
    ("strasse", "Straße", false),
    ("straße", "STRASSE", false),
    // A final sigma is a sigma.
    ("ΟΔΟΣ", "οδος", true),
    ("ΟΔΟΣ", "οδός", false),
    ("σοφος", "ΣΟΦΟΣ", true),
    ("σοφος", "σοφοσ", true),
    // Turkish letters fold to themselves, in every language.
    ("i", "İ", false),
    ("i", "ı", false),
    ("istanbul", "İSTANBUL", false),
    ("İSTANBUL", "İstanbul", true),
    // Texts are not normalized, so a letter matches without its combining accent.
    ("caf\u{e9}", "cafe\u{301}", false),
    ("cafe", "CAFE\u{301}", true),
    ("e\u{301}", "E\u{301}", true),
    // Some signs fold to letters.
    ("k", "\u{212a}", true),
    ("ſ", "S", true),
    ("日本", "東京は日本の首都", true),
];

async fn letters_are_compared_by_simple_case_folding(fixture: Fixture) {
    for (number, (_, text, _)) in CASES.iter().enumerate() {
        fixture.say(&number.to_string(), Role::User, *text);
    }
    for (number, (needle, text, is_found)) in CASES.iter().enumerate() {
        let query = everything().with_conversation(id(&number.to_string())).with_text(*needle);
        assert_eq!(fixture.find(&query).await.unwrap().len(), usize::from(*is_found), "{needle} in {text}");
    }
}

async fn no_character_is_a_wildcard(fixture: Fixture) {
    let texts = [".", "*", ".*", "(", "[a-z]", "\\", "\\d", "^a$", "a|b", "(?i)", "a{2}", "(?-u:\\xFF)", "#", "a b"];
    for text in texts {
        fixture.say("a", Role::System, text);
    }
    for text in texts {
        let expected: Vec<String> =
            texts.iter().filter(|other| other.contains(text)).map(|other| format!("a: {other}")).collect();
        assert_eq!(fixture.texts(everything().with_text(text)).await, expected, "{text}");
    }
}

async fn tool_results_are_searched(fixture: Fixture) {
    let arguments = Value::map([("name", "in arguments")]).unwrap();
    let calls = [1, 2].map(|n| ToolCall::new(format!("call_{n}"), "lookup", arguments.clone()).unwrap());
    fixture.say("a", Role::User, "please look");
    fixture.say(
        "a",
        Role::Assistant,
        vec![Content::from("One moment."), calls[0].clone().into(), calls[1].clone().into()],
    );
    let guests = Value::list(["Okonjo", "Nadia"]).unwrap();
    let json = Value::map([("guests", guests), ("notes", Value::list(["a window seat"]).unwrap())]).unwrap();
    let result = calls[0].success([ResultContent::from("Two adults"), ResultContent::from(json)]);
    let failure = calls[1].failure(ToolError::new("the ferry is full"));
    fixture.say("a", Role::User, vec![Content::from("Please!"), result.into(), failure.into()]);

    for text in ["two ADULTS", "okonjo", "NADIA", "window", "ferry is FULL", "please!"] {
        assert_eq!(fixture.texts(everything().with_text(text)).await, ["a: Please!"], "{text}");
    }
    for text in ["in arguments", "lookup", "guests", "call_1"] {
        assert_eq!(fixture.texts(everything().with_text(text)).await, [""; 0], "{text}");
    }
}

async fn each_text_is_searched_on_its_own(fixture: Fixture) {
    fixture.say("a", Role::User, ["my order", "number"]);
    fixture.say("a", Role::User, "is 7");
    for text in ["my order", "NUMBER", "is 7"] {
        assert_eq!(fixture.texts(everything().with_text(text)).await, ["a: my order"], "{text}");
    }
    for text in ["order number", "ordernumber", "number is"] {
        assert_eq!(fixture.texts(everything().with_text(text)).await, [""; 0], "{text}");
    }
}

async fn text_that_was_not_heard_is_found(fixture: Fixture) {
    fixture.say("a", Role::User, "hi");
    let answer = fixture.say("a", Role::Assistant, "I can offer Saturday or Sunday");
    fixture
        .conversations
        .get(&id("a"))
        .unwrap()
        .change(|manager| {
            let heard = Heard::new(20, HeardSource::WordTiming);
            manager.entry(&answer).unwrap().set_heard(heard).unwrap();
        })
        .unwrap();
    let found = fixture.find(&everything().with_text("sunday")).await.unwrap();
    assert_eq!((found.len(), found[0].message.heard().unwrap().bytes()), (1, 20));
}

async fn query_text_may_have_1000_bytes(fixture: Fixture) {
    for (letter, other) in [("k", "\u{212a}"), ("ß", "ẞ"), ("ω", "Ω"), ("(", "(")] {
        let longest = letter.repeat(1_000 / letter.len());
        fixture.say("a", Role::System, other.repeat(1_000 / letter.len()));
        assert_eq!(fixture.find(&everything().with_text(longest)).await.unwrap().len(), 1, "{letter}");
    }
}
