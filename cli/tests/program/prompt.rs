//! The prompt of a turn, rebuilt from the log.

use std::fs;
use std::sync::Arc;

use verbale::log::JsonLines;

use crate::calls::play_turns;
use crate::{run, shown, with_calls};

#[tokio::test(start_paused = true)]
async fn prompt_of_each_turn_has_the_hash_of_the_one_that_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let words = "Is there a seat on the ferry at ten thirty, and what does it cost for two adults with a dog?";
    play_turns(Arc::new(JsonLines::new(folder.path().join("calls"))), "long", 40, words).await;
    for turn in ["1.1", "1", "20.1", "20", "40.1", "40.2"] {
        let output = run(folder.path(), &format!("verbale show long --at {turn} --json --log jsonl:calls"));
        assert!(output.status.success(), "{turn}: {}", shown(&output));
        let prompt: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(prompt["isSame"], true, "{turn}: {prompt}");
        assert_eq!(prompt["memory"].is_string(), !turn.starts_with("1.") && turn != "1", "{turn}: {prompt}");
    }
    let shown = shown(&run(folder.path(), "verbale show long --log jsonl:calls"));
    assert!(shown.contains("\nmemory of the turns before the window, as the model got it in turn 40\n  "), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn prompt_of_a_changed_log_is_another_one() {
    let folder = with_calls().await;
    let path = folder.path().join("calls/call-ferry-1.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Are there seats on the ten thirty?", "Are there seats?")).unwrap();
    let at = |at: &str| shown(&run(folder.path(), &format!("verbale show ferry-1 --at {at} --log jsonl:calls")));
    let other = at("1");
    assert!(other.contains("another prompt was sent: ") && other.ends_with("(exit status 6)\n"), "{other}");
    assert!(at("3").contains("its last turn is 2\n(exit status 3)"), "{}", at("3"));
    assert!(at("2.5").contains("turn 2 of call ferry-1 has 2 requests\n(exit status 3)"), "{}", at("2.5"));
    assert!(at("0").ends_with("(exit status 2)\n"));
}

/// What is compared is the prompt that was sent, and what is shown is masked.
#[tokio::test(start_paused = true)]
async fn masked_prompt_is_compared_unmasked() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(JsonLines::new(folder.path().join("calls")));
    play_turns(log, "private", 1, "My card is 4111 1111 1111 1111.").await;
    let prompt = shown(&run(folder.path(), "verbale show private --at 1 --redact --log jsonl:calls"));
    assert!(prompt.contains("the prompt below was sent") && !prompt.contains("4111"), "{prompt}");
}
