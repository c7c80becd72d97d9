//! A call whose log lost some results is restored and continued, again and again.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use verbale::message::ToolError;
use verbale::{Content, MessageWrapper, Record, Role, ToolCall};

use super::history::{Manager, Op, World, history, said};
use super::{assert_valid, config, window};

/// Returns the records without some of the results.
fn without_results(records: &[Record], lost: &[bool]) -> Vec<Record> {
    let mut lost = lost.iter().cycle();
    let stored = records.iter().map(|record| {
        let mut json = serde_json::to_value(record).unwrap();
        let contents = json["message"]["contents"].as_array_mut().unwrap();
        if record.role() == Role::User {
            let all = contents.len();
            contents.retain(|content| content["type"] != "toolResult" || !lost.next().unwrap());
            if contents.is_empty() {
                contents.push("lost".into());
            }
            if contents.len() < all || contents[0] == "lost" {
                // Parts must not refer to removed contents.
                json["metadata"].as_object_mut().unwrap().remove("parts");
            }
        }
        serde_json::from_value(json).unwrap()
    });
    stored.collect()
}

fn open_calls(manager: &Manager) -> Vec<ToolCall> {
    let contents = manager.meta_messages().iter().flat_map(|message| message.contents().iter());
    let open = manager.open_tool_calls();
    contents.filter_map(Content::as_tool_call).filter(|call| open.contains(&call.id())).cloned().collect()
}

fn assert_restores(manager: &Manager) -> TestCaseResult {
    let json = serde_json::to_string(manager).unwrap();
    prop_assert_eq!(&json, &serde_json::to_string(&manager.records()).unwrap());
    let restored = serde_json::from_str::<Manager>(&json).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(restored == *manager);
    prop_assert_eq!(window(&restored), window(manager));
    prop_assert_eq!(restored.open_tool_calls(), manager.open_tool_calls());
    prop_assert_eq!(restored.summarizing(), manager.summarizing());
    assert_valid(&window(manager))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..config() })]

    #[test]
    fn call_with_lost_results_restores_repeatedly(
        ops in history(), lost in prop::collection::vec(any::<bool>(), 1..8),
        lives in prop::collection::vec((history(), any::<bool>()), 1..4),
    ) {
        let mut world = World::new();
        let is_kept = |op: &&Op| !matches!(op, Op::Prune { .. });
        for op in ops.iter().filter(is_kept) {
            world.apply(op);
        }
        let lost = without_results(&world.manager.records(), &lost);
        world.table = lost.into_iter().map(|record| (record.position(), record)).collect();
        for (ops, marks_unknown) in &lives {
            let restored = Manager::restore(world.table.values().cloned());
            let manager = restored.map_err(|error| TestCaseError::fail(error.to_string()))?;
            assert_restores(&manager)?;
            let said = manager.meta_messages().iter().flat_map(|message| said(message.message())).cloned().collect();
            world = World { manager, said, table: world.table, calls: world.calls, ..World::new() };
            // The service ends each open call with an unknown outcome.
            for call in open_calls(&world.manager).iter().filter(|_| *marks_unknown) {
                let unknown = Content::from(call.failure(ToolError::new("unknown")));
                world.manager.add_user(unknown.clone()).unwrap();
                world.said.push(unknown);
            }
            for op in ops.iter().filter(is_kept) {
                world.apply(op);
            }
            assert_restores(&world.manager)?;
            world.write_all();
        }
    }
}
