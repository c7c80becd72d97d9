//! Measures two pieces of work side by side, so that their ratio holds on a busy machine.

#![allow(dead_code, reason = "each benchmark uses a part")]
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "not part of the library"
)]

use std::env;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

/// The least time of one sample, so that the clock hardly counts, and the time of all samples of a comparison.
const SAMPLE: Duration = Duration::from_millis(1);
const ALL: Duration = Duration::from_secs(2);

/// Lets glibc keep freed memory, as a service that runs for long has it. By default it returns much of it to the system after
/// a sample, and who must ask for it again, the baseline or the library, depends on the sizes that were freed before.
const KEEP_MEMORY: [(&str, &str); 2] =
    [("MALLOC_TRIM_THRESHOLD_", "1073741824"), ("MALLOC_MMAP_THRESHOLD_", "33554432")];

/// Runs the benchmark in a process that keeps freed memory.
pub fn keeping_memory(benchmark: impl FnOnce()) {
    if KEEP_MEMORY.iter().all(|(name, _)| env::var_os(name).is_some()) {
        return benchmark();
    }
    let mut again = Command::new(env::current_exe().unwrap());
    let status = again.args(env::args_os().skip(1)).envs(KEEP_MEMORY).status().unwrap();
    std::process::exit(status.code().unwrap_or(1));
}

pub fn header(element: &str) {
    println!("{:<28} {:>10} {:>12}   ratio", format!("ns per {element}"), "floor", "verbale");
}

/// Prints the time of both for each of `elements`, and the ratio. Both do the whole work in turns; results are dropped
/// after the measurement. The time is that of the fastest tenth of the samples, which others disturbed least.
pub fn compare<F, V>(name: &str, elements: u64, mut floor: impl FnMut() -> F, mut verbale: impl FnMut() -> V) {
    let count = 1 + SAMPLE.as_nanos() / sample(1, &mut floor).max(1);
    let mut samples = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while samples.0.len() < 20 || begin.elapsed() < ALL {
        samples.0.push(sample(count, &mut floor));
        samples.1.push(sample(count, &mut verbale));
    }
    let each = |samples: Vec<u128>| fast(samples) as f64 / count as f64 / elements as f64;
    let (floor, verbale) = (each(samples.0), each(samples.1));
    row(name, floor, verbale);
}

/// Prints two figures and their ratio.
pub fn row(name: &str, floor: f64, verbale: f64) {
    println!("{name:<28} {floor:>10.0} {verbale:>12.0} {:>7.2}", verbale / floor);
}

/// Returns the time of `count` repetitions, in nanoseconds.
fn sample<T>(count: u128, work: &mut impl FnMut() -> T) -> u128 {
    let mut results = Vec::with_capacity(count as usize);
    let begin = Instant::now();
    for _ in 0..count {
        results.push(black_box(work()));
    }
    let took = begin.elapsed().as_nanos();
    drop(results);
    took
}

fn fast(mut samples: Vec<u128>) -> u128 {
    samples.sort_unstable();
    samples.get(samples.len() / 10).copied().unwrap_or_default()
}
