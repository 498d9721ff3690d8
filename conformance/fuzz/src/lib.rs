//! A small mutation fuzzer on stable Rust: damages what a decoder reads, and holds it to bounds of time and memory.
//!
//! A case is one of a corpus with one to four damages; both follow from the case's number alone, so a failure names what repeats it.
//! `CUZK_FUZZ_CASES` sets how many cases there are, 5,000 without it. Whatever links this crate has its allocator, which counts.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use peak_alloc::PeakAlloc;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What a case may allocate besides four times what it reads.
const ALLOWED_BYTES: usize = 64 << 20;
/// What a case may take of its thread.
const ALLOWED_TIME: Duration = Duration::from_secs(1);
const DEFAULT_CASES: u64 = 5_000;
/// Beyond it a damage does not let a case grow.
const MAX_GROWTH: usize = 1 << 16;

/// Hands damaged members of a corpus to `decode`, and panics at the first case that panics, takes more than a second, or allocates more
/// than four times what it is given (or `decompressed`, where that may be more) and 64 MiB. `decode` may refuse or accept.
pub fn fuzz(name: &str, corpus: impl FnOnce() -> Vec<Vec<u8>>, decompressed: usize, decode: impl Fn(&[u8])) {
    // Peaks of targets that run at the same time would be one another's, those of making their corpora, too.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let cases = std::env::var("CUZK_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    run(name, &corpus(), cases.unwrap_or(DEFAULT_CASES), decompressed, decode);
}

fn run(name: &str, corpus: &[Vec<u8>], cases: u64, decompressed: usize, decode: impl Fn(&[u8])) {
    assert!(!corpus.is_empty(), "{name}: an empty corpus");
    let (mut most_memory, mut most_time) = (0, Duration::ZERO);
    for case in 0..cases {
        let bytes = damaged(corpus, case);
        ALLOCATOR.reset_peak_usage();
        let (before, start) = (ALLOCATOR.current_usage(), thread_time());
        let ended = catch_unwind(AssertUnwindSafe(|| decode(&bytes)));
        let (time, memory) = (thread_time() - start, ALLOCATOR.peak_usage().saturating_sub(before));
        let allowed = 4 * bytes.len().max(decompressed) + ALLOWED_BYTES;
        assert!(ended.is_ok(), "{name}: case {case} panics");
        assert!(memory <= allowed, "{name}: case {case} of {} bytes allocates {memory}", bytes.len());
        assert!(time <= ALLOWED_TIME, "{name}: case {case} takes {time:?}");
        (most_memory, most_time) = (most_memory.max(memory), most_time.max(time));
    }
    println!("{name}: {cases} cases, at most {} KiB and {most_time:?}", most_memory >> 10);
}

/// The processor's time that this thread has had: other programs' load is nobody's fault.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A case by its number.
fn damaged(corpus: &[Vec<u8>], case: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(case);
    let mut bytes = corpus[below(&mut random, corpus.len())].clone();
    for _ in 0..=below(&mut random, 4) {
        damage(&mut bytes, corpus, &mut random);
    }
    bytes
}

fn below(random: &mut impl RngCore, n: usize) -> usize {
    (random.next_u64() % n.max(1) as u64) as usize
}

/// A range of at most `most` bytes.
fn range(random: &mut impl RngCore, bytes: &[u8], most: usize) -> std::ops::Range<usize> {
    let start = below(random, bytes.len() + 1);
    start..bytes.len().min(start + below(random, most + 1))
}

fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut impl RngCore) {
    /// Counts that decoders have believed.
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];
    /// What JSON is made of.
    const TEXT: [&[u8]; 10] = [b"[", b"]", b"{", b"}", b"\"", b",", b":", b"null", b"1e999", b"\\u0000"];
    let at = below(random, bytes.len() + 1);
    match random.next_u32() % 9 {
        0 if at < bytes.len() => bytes[at] ^= 1 << (random.next_u32() % 8),
        1 if at < bytes.len() => bytes[at] = random.next_u32() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(range(random, bytes, 64))),
        4 => {
            let number = NUMBERS[below(random, NUMBERS.len())];
            let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
            let n = 1 << (random.next_u32() % 4);
            let number = if random.next_u32().is_multiple_of(2) { &little[..n] } else { &big[8 - n..] };
            let end = bytes.len().min(at + n);
            bytes[at..end].copy_from_slice(&number[..end - at]);
        }
        5 => drop(bytes.splice(at..at, TEXT[below(random, TEXT.len())].iter().copied())),
        6 => {
            // The same again and again: lists without end, deep nesting.
            let repeated = bytes[range(random, bytes, 32)].to_vec();
            let times = below(random, MAX_GROWTH / repeated.len().max(1));
            drop(bytes.splice(at..at, repeated.repeat(times)));
        }
        7 => {
            // The end of another.
            let other = &corpus[below(random, corpus.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[below(random, other.len() + 1)..]);
        }
        _ => {
            let moved = bytes[range(random, bytes, 256)].to_vec();
            drop(bytes.splice(at..at, moved));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `fuzz` says of a decoder.
    fn verdict(decode: impl Fn(&[u8])) -> Result<(), String> {
        let corpus = [b"{\"a\": [1, 2, 3]}".to_vec()];
        let fuzzed = catch_unwind(AssertUnwindSafe(|| run("a test", &corpus, DEFAULT_CASES, 0, decode)));
        fuzzed.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn a_decoder_that_does_wrong_is_found() {
        assert_eq!(verdict(|_| ()), Ok(()));
        assert!(verdict(|bytes| assert!(!bytes.contains(&0x7f))).unwrap_err().ends_with("panics"));
        let greedy = |bytes: &[u8]| drop(vec![1u8; if bytes.contains(&0xff) { 80 << 20 } else { 0 }]);
        assert!(verdict(greedy).unwrap_err().contains("allocates"));
        let slow = |bytes: &[u8]| {
            let start = thread_time();
            while bytes.len() > 1_000 && thread_time() - start < Duration::from_millis(1_100) {}
        };
        assert!(verdict(slow).unwrap_err().contains("takes"));
    }

    #[test]
    fn a_case_is_the_same_each_time() {
        let corpus = [b"one".to_vec(), b"another".to_vec()];
        let all = |_| (0..100).map(|case| damaged(&corpus, case)).collect::<Vec<_>>();
        assert_eq!(all(0), all(1));
        assert!(all(0).iter().any(|bytes| bytes.len() > 1_000) && all(0).iter().any(Vec::is_empty));
    }
}
