//! When each phase ran, as a file for Perfetto or Chrome's `about:tracing`.
//!
//! The format is the Trace Event Format's JSON object with complete events (`"ph": "X"`), times in microseconds from the start
//! of the program. Threads 1 and 2 stand for host and device.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use cuzk_groth16::{Lane, Phase};
use serde_json::json;

/// Collects phases.
pub(crate) struct Trace {
    start: Instant,
    spans: Mutex<Vec<Span>>,
}

struct Span {
    name: String,
    lane: Lane,
    start: Duration,
    elapsed: Duration,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Trace { start: Instant::now(), spans: Mutex::default() }
    }

    pub(crate) fn add(&self, label: &str, phase: Phase, lane: Lane, start: Instant, elapsed: Duration) {
        let start = start.saturating_duration_since(self.start);
        let span = Span { name: format!("{label}{phase}"), lane, start, elapsed };
        self.spans.lock().expect("no panic while held").push(span);
    }

    /// The file.
    pub(crate) fn to_json(&self) -> String {
        let lanes = [(Lane::Host, "host"), (Lane::Device, "device")];
        let names = lanes.map(|(lane, name)| {
            let args = json!({ "name": name });
            json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": thread(lane), "args": args })
        });
        let spans = self.spans.lock().expect("no panic while held");
        let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
        let events = spans.iter().map(|span| {
            json!({
                "ph": "X", "name": span.name, "pid": 1, "tid": thread(span.lane),
                "ts": microseconds(span.start), "dur": microseconds(span.elapsed),
            })
        });
        let events: Vec<_> = names.into_iter().chain(events).collect();
        format!("{:#}\n", json!({ "displayTimeUnit": "ms", "traceEvents": events }))
    }
}

fn thread(lane: Lane) -> u32 {
    match lane {
        Lane::Host => 1,
        Lane::Device => 2,
    }
}
