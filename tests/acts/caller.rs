//! The caller, who repeats a wish until a reply confirms it, and the player that the caller listens to.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use verbale::call::{Played, Reply, ReplyEnd, ReplyEvent};
use verbale::model::StopReason;

use super::bookings::run_external;
use super::naive::{PLEASE, confirmation};
use super::process::Process;
use super::world::{Wish, World};

/// The longest pause between two events of a reply: the time of the model, the log, a tool and the model again, and some
/// more.
const LONGEST_PAUSE: Duration = Duration::from_secs(8 + 2 + 15 + 8 + 5);

/// The speed of the voice.
const BYTES_PER_S: usize = 15;
/// The number of bytes that may be missing from a sentence that the caller understood.
const SYLLABLE: usize = 3;

/// How a reply ended for the caller.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// It was played to its end.
    ToItsEnd,
    /// The caller interrupted.
    Interrupted,
    /// The caller seemed to interrupt, and said nothing.
    FalseStart,
}

/// Speaks until each wish is confirmed, or the caller gives up.
pub async fn speak(process: &Process) {
    let world = process.world();
    for _ in 0..world.plan().steps {
        let open = world.open_wishes();
        let wished = world.truth().wishes.len() as u64;
        if open.is_empty() && wished == world.plan().wishes {
            return;
        }
        if !open.is_empty() && world.chance(20) {
            // The caller is silent and hears what is left to answer.
            world.pass(20_000).await;
            if process.call().is_answerable() {
                converse(process).await;
            }
            continue;
        }
        if open.is_empty() || (wished < world.plan().wishes && world.chance(30)) {
            wish(process);
        }
        say(process).await;
        converse(process).await;
    }
}

/// Listens in silence until nothing is left to answer.
pub async fn listen(process: &Process) {
    for _ in 0..12 {
        if !process.call().is_answerable() {
            return;
        }
        converse(process).await;
        sleep(Duration::from_secs(60)).await;
    }
    panic!("there is always something to answer");
}

/// Adds a wish.
fn wish(process: &Process) {
    let world = process.world();
    let kinds = &world.plan().kinds;
    let mut truth_kind = kinds[world.below(kinds.len() as u64) as usize];
    let mut truth = world.truth();
    let mut item = truth.wishes.len() as u64;
    // Only a confirmed wish that the process knows to be confirmed may be wished again.
    let is_known = |wish: &&Wish| {
        let mut same = truth.wishes.iter().filter(|other| other.kind == wish.kind && other.item == wish.item);
        same.all(|wish| wish.reported_in == Some(process.number()))
    };
    let again = truth.wishes.iter().rev().find(is_known);
    if let Some(again) = again.filter(|_| world.plan().wants_again) {
        world.count("second wish for the same item");
        (item, truth_kind) = (again.item, again.kind);
    }
    let wish = Wish { kind: truth_kind, item, is_confirmed: false, reported_in: None, made_in: process.number() };
    world.say(format!("wish {} is for item {item} with {}", truth.wishes.len(), truth_kind.name()));
    truth.wishes.push(wish);
}

/// Says all open wishes.
async fn say(process: &Process) {
    let (world, call) = (process.world(), process.call());
    if world.chance(50) {
        call.caller_started_speaking(call.now_ms());
        world.pass(1_500).await;
    }
    if world.chance(10) {
        // A change of the service must not change what is known of tools.
        call.conversation().add_system("The caller has waited long.").unwrap();
    }
    let text: String = world.open_wishes().into_iter().map(|wish| format!("wish {wish}, ")).collect();
    world.say(format!("the caller says: {text}{PLEASE}"));
    call.caller_said(format!("{text}{PLEASE}")).unwrap();
}

/// Asks for replies and listens to them, until the caller has something to say.
async fn converse(process: &Process) {
    for _ in 0..5 {
        let Ok(reply) = process.call().reply() else { return };
        match listen_to(process, reply).await {
            // The service continues the reply if something is left to answer.
            Heard::FalseStart if process.call().is_answerable() => {}
            Heard::ToItsEnd | Heard::Interrupted | Heard::FalseStart => return,
        }
    }
}

async fn listen_to(process: &Process, mut reply: Reply) -> Heard {
    let (world, call, speech) = (process.world(), process.call(), reply.speech());
    let interruptions = world.plan().interruptions;
    let interrupts_at = world.fault(interruptions).then(|| Instant::now() + Duration::from_millis(world.below(20_000)));
    let (mut text, mut started): (String, Option<Instant>) = (String::new(), None);
    let reports_start = !world.fault(15);
    let end = loop {
        let hangs_at = Instant::now() + LONGEST_PAUSE;
        let until = interrupts_at.map_or(hangs_at, |at| at.min(hangs_at));
        match timeout_at(until, reply.next()).await {
            Err(_) if Some(until) == interrupts_at => {
                world.count("barge-in during a reply");
                world.say(format!("{process}: barge-in during {speech} after {text:?}"));
                return interrupt(process, speech).await;
            }
            Err(_) => panic!("{speech} has no event within {LONGEST_PAUSE:?}"),
            Ok(Some(ReplyEvent::Text(piece))) => {
                text.push_str(&piece);
                if started.is_none() {
                    started = Some(Instant::now());
                    if reports_start {
                        call.playback_started(speech, call.now_ms());
                    }
                }
            }
            Ok(Some(ReplyEvent::ToolCalled(tool_call))) => {
                // The player runs dry while a tool runs, and may report that.
                if world.fault(20) && !text.is_empty() {
                    call.playback_finished(speech, call.now_ms());
                }
                let (world, process) = (world.clone(), process.clone());
                tokio::spawn(async move {
                    if let Some(result) = run_external(world, process.clone(), tool_call).await {
                        process.alive().await;
                        process.call().tool_result(result);
                    }
                });
            }
            Ok(Some(ReplyEvent::Ended(end))) => break end,
            Ok(other) => panic!("{other:?}"),
        }
    };
    world.say(format!("{process}: {speech} is {text:?}, {end:?}"));
    if matches!(end, ReplyEnd::Failed(_)) {
        world.count("apology");
    }
    play(process, speech, &text, started, &end).await
}

/// Plays the rest of a speech.
async fn play(
    process: &Process,
    speech: verbale::call::SpeechId,
    text: &str,
    started: Option<Instant>,
    end: &ReplyEnd,
) -> Heard {
    let (world, call) = (process.world(), process.call());
    let Some(started) = started else { return Heard::ToItsEnd };
    let lasts = Duration::from_millis(text.len() as u64 * 1_000 / BYTES_PER_S as u64);
    if world.fault(world.plan().interruptions / 2) {
        let left = (started + lasts).saturating_duration_since(Instant::now());
        sleep(Duration::from_millis(world.below(left.as_millis() as u64 + 1))).await;
        let played = started.elapsed().as_millis() as usize * BYTES_PER_S / 1_000;
        confirm(world, |confirmation| {
            text.find(confirmation).is_some_and(|at| at + confirmation.len() <= played + SYLLABLE)
        });
        world.count("barge-in during playback");
        world.say(format!("{process}: barge-in during the playback of {speech}"));
        return interrupt(process, speech).await;
    }
    tokio::time::sleep_until(started + lasts).await;
    let is_said = matches!(end, ReplyEnd::Complete(_));
    let confirmed = confirm(world, |confirmation| is_said && text.contains(confirmation));
    super::check::confirmed(process);
    let is_complete = *end == ReplyEnd::Complete(StopReason::EndTurn);
    let (played_ms, reporting) = (call.now_ms(), process.clone());
    let report = move || {
        if reporting.call().playback_finished(speech, played_ms).is_applied() && is_complete {
            let mut truth = reporting.world().truth();
            confirmed.iter().for_each(|wish| truth.wishes[*wish].reported_in = Some(reporting.number()));
        }
    };
    if world.fault(12) {
        world.count("playback not reported");
    } else if world.fault(20) {
        world.count("playback reported late");
        let late = Duration::from_millis(world.below(6_000));
        let process = process.clone();
        tokio::spawn(async move {
            sleep(late).await;
            process.alive().await;
            report();
        });
    } else {
        report();
    }
    Heard::ToItsEnd
}

/// Notes the wishes whose confirmation the caller heard, and returns them.
fn confirm(world: &World, is_heard: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut wishes = world.open_wishes();
    wishes.retain(|wish| is_heard(confirmation(*wish).trim()));
    for &wish in &wishes {
        world.count("confirmed");
        world.say(format!("wish {wish} is confirmed"));
        world.truth().wishes[wish].is_confirmed = true;
    }
    wishes
}

/// Interrupts a speech, perhaps without words.
async fn interrupt(process: &Process, speech: verbale::call::SpeechId) -> Heard {
    let (world, call) = (process.world(), process.call());
    call.caller_started_speaking(call.now_ms());
    if world.chance(50) {
        let played = match world.below(3) {
            0 => Played::Unknown,
            1 => Played::For { played_ms: world.below(3_000), total_ms: None },
            _ => Played::Words("Wish".to_owned()),
        };
        call.playback_interrupted(speech, played, call.now_ms());
    }
    world.pass(1_500).await;
    if world.chance(40) {
        world.count("false start");
        call.caller_said("").unwrap();
        world.pass(3_000).await;
        return Heard::FalseStart;
    }
    Heard::Interrupted
}
