//! The time of a turn, compared to a bare loop on the same server. Both run in alternating order.

use std::sync::Arc;
use std::time::Duration;

use verbale::testing::FakeBedrock;

use crate::bare::Bare;
use crate::figures::{Taken, Times};
use crate::scene::{self, Models, Pace};
use crate::workload::Words;

const CALLS: u64 = 8;
const TURNS: u64 = 40;
const PACE: Pace = Pace { first_token: Duration::from_millis(20), between_events: Duration::from_millis(2) };
/// Turns follow each other immediately, so one summary overlaps several turns.
const SUMMARY_AFTER: Duration = Duration::from_millis(300);

pub async fn print() {
    println!("time of a turn and of a bare loop, {} turns of each through a socket, in ms", CALLS * TURNS);
    println!("                     first token p50    p90   whole turn p50    p90   summaries");
    let words = Arc::new(Words::new());
    for summaries in [false, true] {
        let (session, bare, applied) = measured(&words, summaries).await;
        let name = if summaries { "with summaries" } else { "without summaries" };
        println!("{name}");
        let [session_figures, bare_figures] = [&session, &bare].map(|taken| figures(taken));
        row("  session", session_figures, &applied.to_string());
        row("  bare", bare_figures, "");
        let ratio = |at: usize| session_figures[at] / bare_figures[at];
        println!("  {:23}{:9.3} {:6.3} {:16.3} {:6.3}", "ratio", ratio(0), ratio(1), ratio(2), ratio(3));
        let later = |part: fn(&Taken) -> Duration| {
            let pairs = session.iter().zip(&bare);
            let later = Times::of_ms(pairs.map(|(session, bare)| ms(part(session)) - ms(part(bare))));
            [later.part(0.5), later.part(0.9)]
        };
        let ([first, first_p90], [whole, whole_p90]) = (later(|taken| taken.first), later(|taken| taken.whole));
        println!("  {:23}{first:9.3} {first_p90:6.3} {whole:16.3} {whole_p90:6.3}\n", "difference of pairs");
    }
}

fn row(name: &str, [first, first_p90, whole, whole_p90]: [f64; 4], summaries: &str) {
    println!("{name:25}{first:9.3} {first_p90:6.3} {whole:16.3} {whole_p90:6.3} {summaries:>11}");
}

fn figures(taken: &[Taken]) -> [f64; 4] {
    let first = Times::new(taken.iter().map(|taken| taken.first));
    let whole = Times::new(taken.iter().map(|taken| taken.whole));
    [first.part(0.5), first.part(0.9), whole.part(0.5), whole.part(0.9)]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Returns the turns of the session and of the bare loop, and the number of applied summaries.
async fn measured(words: &Arc<Words>, summaries: bool) -> (Vec<Taken>, Vec<Taken>, u32) {
    let turns = scene::turns(words, PACE);
    let scribe = scene::summaries(words, SUMMARY_AFTER);
    let (server, scribe_server) = (turns.serve().await.unwrap(), scribe.serve().await.unwrap());
    let models = Models::new(server.sdk_config(), scribe_server.sdk_config());
    let log = scene::log();
    let (mut session, mut bare) = (Vec::new(), Vec::new());
    let mut applied = 0;
    for number in 0..CALLS {
        let call = models.call(summaries).log(log.open(scene::header(number)).unwrap()).open().unwrap();
        let mut plain = Bare::new(models.turns.clone());
        for turn in 0..TURNS {
            let said = scene::said(words, number, turn);
            if turn % 2 == 0 {
                session.push(scene::turn(&call, &said).await);
                bare.push(plain.turn(&said).await);
            } else {
                bare.push(plain.turn(&said).await);
                session.push(scene::turn(&call, &said).await);
            }
            if summaries {
                plain.forget();
            }
        }
        applied += call.close("hangup", Duration::from_secs(5)).await.unwrap().metrics.summaries_applied;
        none_refused([&turns, &scribe]);
    }
    (session, bare, applied)
}

pub fn none_refused(fakes: [&FakeBedrock; 2]) {
    for bedrock in fakes {
        assert_eq!(bedrock.counters().refused, 0);
        // Recorded requests would grow during the run.
        drop(bedrock.take_requests());
    }
}
