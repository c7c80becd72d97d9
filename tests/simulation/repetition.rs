//! Equal seeds give equal histories.

use tokio::task::JoinSet;
use verbale::log::CallLog;

use super::dynamo::{Fault, FaultPlan};
use super::log;
use super::support::{call, first, message};

/// Returns the journal of three writers that repeat retryable requests.
async fn history(seed: u64) -> String {
    let (dynamo, log) = log(FaultPlan::of_seed(seed)).await;
    let mut writers = JoinSet::new();
    for number in 0..3 {
        let log = log.clone();
        writers.spawn(async move {
            let call_id = call(&format!("{}", number / 2));
            for (seq, revision) in [(0, 1), (1, 1), (0, 2), (2, 1), (1, 3)] {
                for attempt in 0..5 {
                    let outcome = log.put_record(&first(&call_id), &message(seq, revision)).await;
                    if !outcome.is_err_and(|error| error.is_retryable()) {
                        break;
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(100 << attempt)).await;
                }
            }
            let _ = log.erase_call(&call_id).await;
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
    dynamo.settle().await;
    let (journal, items) = (dynamo.journal(), dynamo.items("verbale"));
    assert_eq!(journal.in_flight, 0);
    format!("{journal}{journal:?}{items:?}")
}

fn run(seed: u64) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(history(seed))
}

#[test]
fn equal_seeds_give_equal_journals() {
    let histories: Vec<_> = (0..24).map(run).collect();
    for (seed, history) in (0..).zip(&histories) {
        assert_eq!(*history, run(seed), "seed {seed}");
    }
    let different: std::collections::BTreeSet<_> = histories.iter().collect();
    assert!(different.len() > 20, "{}", different.len());
}

#[test]
fn seeds_cover_every_fault() {
    let plans: Vec<_> = (0..200).map(FaultPlan::of_seed).collect();
    let permanent = [Fault::TableMissing, Fault::AccessDenied, Fault::ExpiredToken];
    for fault in Fault::PASSING.into_iter().chain(permanent) {
        assert!(plans.iter().any(|plan| plan.faults().contains(&fault)), "{fault:?}");
    }
    assert!(plans.iter().any(|plan| plan.faults().is_empty()) && plans.iter().any(|plan| !plan.clock_steps.is_empty()));
}

/// `cargo test --test simulation speed -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
#[expect(clippy::disallowed_methods, reason = "measures real time")]
fn speed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    for latency_ms in [0..=0, 5..=50] {
        runtime.block_on(async {
            let (_, log) = log(FaultPlan::none().with_latency_ms(latency_ms.clone())).await;
            let start = std::time::Instant::now();
            let count = 1_000;
            for number in 0..count {
                log.put_record(&first(&call(&(number / 20).to_string())), &message(number % 20, 1)).await.unwrap();
            }
            println!("latency {latency_ms:?} ms: {:?} a put", start.elapsed() / count);
        });
    }
    let body = br##"{"TableName":"verbale","Item":{"pk":{"S":"CALL#1"},"sk":{"S":"MSG#00000000"},"id":{"S":"1"},
        "revision":{"N":"1"},"message":{"M":{"role":{"S":"user"},"contents":{"L":[{"S":"secret words"}]}}}},
        "ConditionExpression":"attribute_not_exists(#pk) OR (#id = :id AND #revision < :revision)",
        "ExpressionAttributeNames":{"#pk":"pk","#id":"id","#revision":"revision"},
        "ExpressionAttributeValues":{":id":{"S":"1"},":revision":{"N":"1"}}}"##;
    let dynamo = super::dynamo::Dynamo::new(FaultPlan::none());
    runtime.block_on(async { verbale::dynamodb::create_table(&dynamo.client(), "verbale").await.unwrap() });
    let start = std::time::Instant::now();
    for _ in 0..1_000 {
        dynamo.serve("PutItem", body);
    }
    println!("the fake alone: {:?} a put", start.elapsed() / 1_000);
}
