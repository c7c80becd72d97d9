//! The invariants.

use std::collections::{BTreeMap, BTreeSet};
use verbale::model::ModelRequest;
use verbale::{Content, Message, Role};

use super::bookings::{Kind, numbers};
use super::naive::fulfilled;
use super::process::Process;
use super::remembered::remembered;
use super::world::{Effect, World};

/// A tool that acts once has at most one effect for each wish, and any tool one for each call.
pub fn effects(world: &World) {
    let truth = world.truth();
    let (mut of_item, mut of_call) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for effect in &truth.effects {
        *of_call.entry(&effect.call).or_default() += 1;
        if effect.kind.acts_once() {
            *of_item.entry((effect.kind, effect.item)).or_default() += 1;
        }
    }
    for (call, count) in of_call {
        world.require(count == 1, || format!("call {call} has {count} effects"));
    }
    for ((kind, item), count) in of_item {
        let wishes = truth.wishes.iter().filter(|wish| wish.item == item && wish.kind == kind).count() as u64;
        let claim = || format!("{wishes} wishes for item {item} have {count} effects of {}", kind.name());
        world.require(count <= wishes, claim);
    }
}

/// Each confirmed wish has an effect. After a takeover, an older wish may count as not reported.
pub fn confirmed(process: &Process) {
    let world = process.world();
    let truth = world.truth();
    for wish in truth.wishes.iter().filter(|wish| wish.is_confirmed && wish.made_in == process.number()) {
        let same = |kind, item| wish.kind == kind && wish.item == item;
        let confirmed = truth.wishes.iter().filter(|wish| wish.is_confirmed && same(wish.kind, wish.item)).count();
        let effects = truth.effects.iter().filter(|effect| same(effect.kind, effect.item)).count();
        let claim = || format!("{confirmed} wishes for item {} are confirmed, and {effects} fulfilled", wish.item);
        world.require(effects >= confirmed, claim);
    }
}

/// The successor knows each effect that happened before it took over. Its requests contain them, too: see [`request`].
pub async fn successor(process: &Process, effects: &[Effect]) {
    let messages = process.messages().await;
    let contents = || messages.iter().flat_map(|message| message.contents().iter());
    for effect in effects {
        let truth = process.world().truth();
        if !effect.kind.acts_once() && truth.unlogged.contains(&effect.call) {
            continue;
        }
        drop(truth);
        let is_it = |id: &str| id == effect.call;
        let result = contents().filter_map(Content::as_result).find(|result| is_it(result.tool_call_id().as_str()));
        let known = result.map(|result| match result.outcome() {
            Ok(_) => "success".to_owned(),
            Err(error) => error.error_type().unwrap_or_default().to_owned(),
        });
        // A lookup that found nothing is no proof, but the service acts only once.
        let may_follow = effect.kind == Kind::KeyLookedUp && known.as_deref() == Some("NotRun");
        let is_known =
            known.as_deref().is_some_and(|known| known == "success" || known == "OutcomeUnknown") || may_follow;
        process.inherited().insert((effect.kind.name().to_owned(), effect.item));
        process.world().require(is_known, || format!("{process} knows of {} only {known:?}", effect.call));
    }
}

/// The caller was told each success that the last process knows, and each that arrived there.
pub async fn told(process: &Process) {
    let world = process.world();
    let known = fulfilled(world, &process.messages().await);
    world.require(known.is_empty(), || format!("the caller does not know of wishes {known:?}, and {process} does"));
    let open = world.open_wishes();
    let arrived = open.into_iter().filter(|wish| world.truth().arrived.contains(&(*wish, process.number())));
    let lost: Vec<usize> = arrived.collect();
    world.require(lost.is_empty(), || format!("results for wishes {lost:?} arrived at {process} and were not told"));
}

/// The request is valid for a provider, and its memory or messages contain each act that the process has inherited.
pub fn request(process: &Process, request: &ModelRequest) {
    let rules = || assert_valid(&request.messages);
    let outcome = std::panic::catch_unwind(rules);
    process.world().require(outcome.is_ok(), || format!("an invalid window: {:?}", request.messages));
    let forgotten = process.inherited().difference(&acts(request)).cloned().collect::<Vec<_>>();
    process.world().require(forgotten.is_empty(), || format!("{process} asks without the acts for {forgotten:?}"));
}

/// Returns the tool and the item of each act in the memory or the messages of a request.
fn acts(request: &ModelRequest) -> BTreeSet<(String, u64)> {
    let messages = request.messages.iter().flat_map(|message| message.contents().iter());
    let calls = messages.filter_map(Content::as_tool_call);
    let mut acts: BTreeSet<_> = calls.map(|call| (call.name().to_string(), numbers(call.arguments()).0)).collect();
    acts.extend(remembered(request).into_iter().filter_map(|call| Some((call.tool, call.item?))));
    acts
}

/// The rules of a provider.
fn assert_valid(window: &[Message]) {
    let mut asked: BTreeSet<String> = BTreeSet::new();
    for (index, message) in window.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        assert_eq!(message.role(), expected, "message {index} of {window:?}");
        assert!(!message.contents().is_empty() && !message.contents().texts().any(|text| text.trim().is_empty()));
        let results = message.contents().iter().filter_map(Content::as_result);
        let answered: Vec<String> = results.map(|result| result.tool_call_id().to_string()).collect();
        assert_eq!(answered.len(), asked.len(), "{message:?} answers {asked:?}");
        assert_eq!(answered.into_iter().collect::<BTreeSet<_>>(), asked);
        let is_result = |content: &Content| content.as_result().is_some();
        assert!(message.contents().iter().is_sorted_by_key(|content| !is_result(content)), "results come first");
        let is_call = |content: &Content| content.as_tool_call().is_some();
        assert!(message.contents().iter().is_sorted_by_key(is_call), "nothing follows tool calls: {message:?}");
        let calls = message.contents().iter().filter_map(Content::as_tool_call);
        asked = calls.map(|call| call.id().to_string()).collect();
    }
    assert!(asked.is_empty(), "the last message asks {asked:?}");
    assert_eq!(window.last().map(Message::role), Some(Role::User));
}
