//! Interleaved timing of two ways to the same result.

use std::fs;
use std::time::Instant;

use serde::Serialize;

/// Times of two ways, in milliseconds; all are medians. `ratio` is peer / ours, how many times as fast ours is.
#[derive(Serialize)]
pub(crate) struct Comparison {
    /// Wall time.
    wall: Medians,
    /// Processor time of all threads, which neighbours on a shared machine disturb less.
    cpu: Medians,
    repetitions: usize,
}

#[derive(Serialize)]
struct Medians {
    ours_ms: f64,
    peer_ms: f64,
    ratio: f64,
    /// Smallest and largest.
    ours_range_ms: [f64; 2],
    peer_range_ms: [f64; 2],
}

#[derive(Clone, Copy)]
struct Times {
    wall_ms: f64,
    cpu_ms: f64,
}

impl Comparison {
    /// Runs both `repetitions` times, taking turns.
    pub(crate) fn of<A, B>(
        repetitions: usize,
        mut ours: impl FnMut() -> A,
        mut peer: impl FnMut() -> B,
    ) -> Self {
        let (mut ours_times, mut peer_times) = (vec![], vec![]);
        for _ in 0..repetitions {
            ours_times.push(time(&mut ours));
            peer_times.push(time(&mut peer));
        }
        let medians = |of: fn(&Times) -> f64| {
            Medians::of(ours_times.iter().map(of).collect(), peer_times.iter().map(of).collect())
        };
        Comparison { wall: medians(|times| times.wall_ms), cpu: medians(|times| times.cpu_ms), repetitions }
    }
}

impl Medians {
    fn of(mut ours: Vec<f64>, mut peer: Vec<f64>) -> Self {
        let (ours_ms, peer_ms) = (median(&mut ours), median(&mut peer));
        let range = |sorted: &[f64]| [sorted[0], sorted[sorted.len() - 1]];
        Medians {
            ours_ms,
            peer_ms,
            ratio: peer_ms / ours_ms,
            ours_range_ms: range(&ours),
            peer_range_ms: range(&peer),
        }
    }
}

fn time<T>(work: &mut impl FnMut() -> T) -> Times {
    let (start, cpu_start) = (Instant::now(), cpu_ms());
    std::hint::black_box(work());
    Times { wall_ms: start.elapsed().as_secs_f64() * 1000.0, cpu_ms: cpu_ms() - cpu_start }
}

/// Processor time of all threads of this process (Linux: /proc/self/task/*/schedstat, in ns); 0 where that is missing.
fn cpu_ms() -> f64 {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = |thread: fs::DirEntry| -> Option<u64> {
        fs::read_to_string(thread.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    threads.filter_map(|thread| nanoseconds(thread.ok()?)).sum::<u64>() as f64 / 1e6
}

/// Sorts, and gives the one in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
