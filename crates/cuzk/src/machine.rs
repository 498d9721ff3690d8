//! What the program runs on, for reports.

use std::fs;

use serde::Serialize;

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

/// The largest resident set so far, in bytes; `None` where the system does not tell.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
