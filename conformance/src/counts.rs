//! Instructions and cache misses of a program: counted by the kernel where it offers that, else on a machine that cachegrind simulates.
//!
//! Cachegrind has no AVX-512, so a prover that chooses its instructions at run takes others under it; and it runs one thread at a time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware};
use perf_event::{Builder, Counter};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::Error;

/// Of a whole process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Who counted: `the kernel`, or `valgrind --tool=cachegrind`.
    pub by: &'static str,
    /// Instructions.
    pub instructions: u64,
    /// Reads and writes that missed the first-level data cache; by the kernel reads only, and `null` where it cannot.
    pub l1d_misses: Option<u64>,
    /// The same of the last-level cache.
    pub llc_misses: Option<u64>,
}

/// Who counts.
pub enum Counting {
    /// The kernel.
    Kernel(KernelCounters),
    /// Cachegrind.
    Simulated(Simulation),
}

impl Counting {
    /// The kernel if it counts instructions here, else cachegrind if it is installed, else nobody.
    pub fn open() -> Result<Option<Self>, Error> {
        if let Some(counters) = KernelCounters::open() {
            return Ok(Some(Counting::Kernel(counters)));
        }
        let installed =
            Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
        if installed {
            Simulation::new().map(|simulation| Some(Counting::Simulated(simulation)))
        } else {
            Ok(None)
        }
    }
}

/// Counters of the children of this program.
pub struct KernelCounters {
    instructions: Counter,
    l1d_misses: Option<Counter>,
    llc_misses: Option<Counter>,
}

impl KernelCounters {
    fn open() -> Option<Self> {
        let misses = |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
        Some(KernelCounters {
            instructions: counter(Hardware::INSTRUCTIONS)?,
            l1d_misses: counter(misses(CacheId::L1D)),
            llc_misses: counter(misses(CacheId::LL)),
        })
    }

    fn each(&mut self, switch: impl Fn(&mut Counter) -> io::Result<()>) -> io::Result<()> {
        let misses = [&mut self.l1d_misses, &mut self.llc_misses].into_iter().flatten();
        [&mut self.instructions].into_iter().chain(misses).try_for_each(switch)
    }

    /// What the children that `run` starts and waits for cost. This program's own share, some thousand instructions a wait, is in it.
    pub fn count<T>(mut self, run: impl FnOnce() -> T) -> io::Result<(T, Counts)> {
        self.each(Counter::enable)?;
        let result = run();
        self.each(Counter::disable)?;
        let misses = |counter: &mut Option<Counter>| counter.as_mut().map(scaled).transpose();
        let counts = Counts {
            by: "the kernel",
            instructions: scaled(&mut self.instructions)?,
            l1d_misses: misses(&mut self.l1d_misses)?,
            llc_misses: misses(&mut self.llc_misses)?,
        };
        Ok((result, counts))
    }
}

/// Scaled up by the part of the time in which the processor had a register for it.
fn scaled(counter: &mut Counter) -> io::Result<u64> {
    let read = counter.read_count_and_time()?;
    match read.time_running {
        0 => Err(io::Error::other("the processor had no register for a counter")),
        running => Ok((read.count as f64 * read.time_enabled as f64 / running as f64) as u64),
    }
}

fn counter<E: Event>(event: E) -> Option<Counter> {
    Builder::new(event).inherit(true).enabled(false).build().ok()
}

/// A run under cachegrind.
pub struct Simulation {
    file: NamedTempFile,
}

impl Simulation {
    const BY: &str = "valgrind --tool=cachegrind";

    /// With a place for the counts.
    pub fn new() -> Result<Self, Error> {
        let file = NamedTempFile::new().map_err(Error::io("make", Path::new("a temporary file")))?;
        Ok(Simulation { file })
    }

    /// The words before the command line of a program.
    pub fn command(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--quiet"].map(OsString::from).to_vec();
        words.push(format!("--cachegrind-out-file={}", self.file.path().display()).into());
        words
    }

    /// What the program cost, once it has ended.
    pub fn counts(&self) -> Result<Counts, Error> {
        let path = self.file.path();
        let file = fs::read_to_string(path).map_err(Error::io("read", path))?;
        parse(&file).ok_or_else(|| Error::Command {
            command: Self::BY.to_owned(),
            ended: "left no summary of instructions and misses".to_owned(),
        })
    }
}

/// From the lines `events:` and `summary:` of cachegrind's file.
fn parse(file: &str) -> Option<Counts> {
    let line = |name: &str| file.lines().find_map(|line| line.strip_prefix(name));
    let events = line("events:")?.split_whitespace();
    let counts: BTreeMap<&str, u64> = events
        .zip(line("summary:")?.split_whitespace())
        .map(|(event, count)| Some((event, count.parse().ok()?)))
        .collect::<Option<_>>()?;
    let count = |event: &str| counts.get(event).copied();
    Some(Counts {
        by: Simulation::BY,
        instructions: count("Ir")?,
        l1d_misses: Some(count("D1mr")? + count("D1mw")?),
        llc_misses: Some(count("DLmr")? + count("DLmw")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_in_cachegrinds_file() {
        let file = "desc: I1 cache: 32768 B\ncmd: cuzk synth\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nfn=main\n\
                    1 1 1 1 1 1 1 1 1 1\nsummary: 1000 2 3 400 50 6 70 8 9\n";
        let counts = parse(file).unwrap();
        assert_eq!((counts.instructions, counts.l1d_misses, counts.llc_misses), (1000, Some(58), Some(15)));
        assert!(parse("events: Ir\n").is_none());
    }
}
