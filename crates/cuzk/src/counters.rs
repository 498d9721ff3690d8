//! Hardware counters of this process, through Linux perf events.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware};
use perf_event::{Builder, Counter};
use serde::{Serialize, Serializer};

/// Counters that run from [`Counters::start`] to [`Counters::stop`], over all threads that are started after
/// [`Counters::open`].
pub(crate) struct Counters {
    cycles: Slot,
    instructions: Slot,
    l1d_misses: Slot,
    llc_misses: Slot,
    branch_misses: Slot,
}

/// A counter, if the kernel and the processor have it, and what it had counted when it was last read.
struct Slot {
    counter: Option<Counter>,
    before: f64,
}

impl Counters {
    pub(crate) fn open() -> Self {
        let read_misses = |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
        Counters {
            cycles: Slot::open(Hardware::CPU_CYCLES),
            instructions: Slot::open(Hardware::INSTRUCTIONS),
            l1d_misses: Slot::open(read_misses(CacheId::L1D)),
            llc_misses: Slot::open(read_misses(CacheId::LL)),
            branch_misses: Slot::open(Hardware::BRANCH_MISSES),
        }
    }

    pub(crate) fn start(&mut self) {
        self.each(Counter::enable);
    }

    pub(crate) fn stop(&mut self) {
        self.each(Counter::disable);
    }

    fn each(&mut self, switch: impl Fn(&mut Counter) -> std::io::Result<()>) {
        let Counters { cycles, instructions, l1d_misses, llc_misses, branch_misses } = self;
        for slot in [cycles, instructions, l1d_misses, llc_misses, branch_misses] {
            // A counter that cannot be switched is as good as one that is not there.
            slot.counter.take_if(|counter| switch(counter).is_err());
        }
    }

    /// What was counted since it was last read, divided by the number of repetitions.
    pub(crate) fn read(&mut self, repetitions: usize) -> Counted {
        let read = |slot: &mut Slot| slot.read(repetitions);
        let (cycles, instructions) = (read(&mut self.cycles), read(&mut self.instructions));
        let instructions_per_cycle = match (&cycles, &instructions) {
            (Count::Of(cycles), Count::Of(instructions)) => Count::Of(instructions / cycles),
            _ => Count::NotSupported,
        };
        Counted {
            cycles,
            instructions,
            instructions_per_cycle,
            l1d_misses: read(&mut self.l1d_misses),
            llc_misses: read(&mut self.llc_misses),
            branch_misses: read(&mut self.branch_misses),
        }
    }
}

impl Slot {
    fn open<E: Event>(event: E) -> Self {
        let counter = Builder::new(event).inherit(true).enabled(false).build();
        Slot { counter: counter.ok(), before: 0.0 }
    }

    fn read(&mut self, repetitions: usize) -> Count {
        let read = self.counter.as_mut().and_then(|counter| counter.read_count_and_time().ok());
        let Some(read) = read.filter(|read| read.time_running > 0) else { return Count::NotSupported };
        // Scaled up by the part of the time in which the processor had a register for it.
        let all = read.count as f64 * read.time_enabled as f64 / read.time_running as f64;
        let since = all - std::mem::replace(&mut self.before, all);
        Count::Of(since / repetitions as f64)
    }
}

/// Counts of a repetition.
#[derive(Debug, Serialize)]
pub(crate) struct Counted {
    pub(crate) cycles: Count,
    pub(crate) instructions: Count,
    pub(crate) instructions_per_cycle: Count,
    pub(crate) l1d_misses: Count,
    pub(crate) llc_misses: Count,
    pub(crate) branch_misses: Count,
}

impl Counted {
    /// Names and counts, in order.
    pub(crate) fn table(&self) -> [(&'static str, &Count); 6] {
        [
            ("cycles", &self.cycles),
            ("instructions", &self.instructions),
            ("instructions a cycle", &self.instructions_per_cycle),
            ("L1d read misses", &self.l1d_misses),
            ("LLC read misses", &self.llc_misses),
            ("branch misses", &self.branch_misses),
        ]
    }
}

/// A count, or that the kernel or the processor has no such counter.
#[derive(Debug)]
pub(crate) enum Count {
    Of(f64),
    NotSupported,
}

impl std::fmt::Display for Count {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Count::Of(count) if *count < 100.0 => write!(formatter, "{count:.2}"),
            Count::Of(count) => write!(formatter, "{count:.0}"),
            Count::NotSupported => formatter.write_str("not supported"),
        }
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Count::Of(count) => serializer.serialize_f64(*count),
            Count::NotSupported => serializer.serialize_str("not supported"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_is_never_zero() {
        let nowhere = || Slot { counter: None, before: 0.0 };
        let mut counters = Counters {
            cycles: nowhere(),
            instructions: nowhere(),
            l1d_misses: nowhere(),
            llc_misses: nowhere(),
            branch_misses: nowhere(),
        };
        counters.start();
        counters.stop();
        let json = serde_json::to_value(counters.read(1)).unwrap();
        assert!(json.as_object().unwrap().values().all(|count| count == "not supported"), "{json}");
    }

    /// The only test of a machine with counters; elsewhere there is nothing to count.
    #[test]
    fn counters_count_or_say_that_they_do_not() {
        let mut counters = Counters::open();
        for _ in 0..2 {
            counters.start();
            std::hint::black_box((0..1_000_000u64).fold(0, |sum, i| std::hint::black_box(sum + i)));
            counters.stop();
            match counters.read(1).instructions {
                Count::Of(count) => assert!((1e6..1e8).contains(&count), "{count}"),
                Count::NotSupported => {}
            }
        }
    }
}
