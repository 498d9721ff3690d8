//! What the program runs on, for reports.

use std::fs;

use serde::Serialize;

use crate::memory::kib_of;

/// The processor and what of it is used.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) features: Vec<&'static str>,
    pub(crate) threads: usize,
    pub(crate) os: &'static str,
}

impl Machine {
    pub(crate) fn here() -> Self {
        Machine {
            cpu: cpu_model().unwrap_or_else(|| "unknown".to_owned()),
            features: features(),
            threads: rayon::current_num_threads(),
            os: std::env::consts::OS,
        }
    }
}

fn cpu_model() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    let mut features = vec![];
    macro_rules! detect {
        ($($feature:tt),*) => { $(if is_x86_feature_detected!($feature) { features.push($feature); })* };
    }
    detect!("bmi2", "adx", "avx2", "sha", "avx512f", "avx512ifma");
    features
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    vec![]
}

/// Processor time of this process so far, all threads, in user and system mode, in ms; `None` where the system does not
/// tell. In steps of 10 ms.
pub(crate) fn processor_ms() -> Option<f64> {
    const TICK_MS: f64 = 10.0; // Linux's USER_HZ is 100 on every architecture that this runs on
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Fields 14 and 15, utime and stime; the name in field 2 may have spaces, and ends with the last parenthesis.
    let mut after_name = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || after_name.next()?.parse::<f64>().ok();
    Some(TICK_MS * (ticks()? + ticks()?))
}

/// The largest resident set so far, in bytes; `None` where the system does not tell.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    kib_of(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The resident set, in bytes.
pub(crate) fn rss_bytes() -> Option<u64> {
    kib_of(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Pages that had to be read from a disk so far, swapped ones among them.
pub(crate) fn major_faults() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Field 12; the name in field 2 may have spaces, and ends with the last parenthesis.
    stat.rsplit_once(')')?.1.split_whitespace().nth(9)?.parse().ok()
}
