//! When each phase ran, as a file for Perfetto or Chrome's `about:tracing`.
//!
//! The format is the Trace Event Format's JSON object with complete events (`"ph": "X"`), times in microseconds from the start
//! of the program. The first threads stand for the device, the others for the host: as many as phases overlap there.

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
        let mut spans = std::mem::take(&mut *self.spans.lock().expect("no panic while held"));
        // Of spans that start together, the one around the others first.
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.elapsed)));
        let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
        let (mut events, mut first_thread) = (vec![], 1);
        for (lane, name) in [(Lane::Device, "device"), (Lane::Host, "host")] {
            let mut rows = vec![];
            for span in spans.iter().filter(|span| span.lane == lane) {
                let thread = first_thread + row_for(&mut rows, span);
                events.push(json!({
                    "ph": "X", "name": span.name, "pid": 1, "tid": thread,
                    "ts": microseconds(span.start), "dur": microseconds(span.elapsed),
                }));
            }
            for thread in first_thread..first_thread + rows.len() {
                let args = json!({ "name": name });
                events
                    .push(json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "args": args }));
            }
            first_thread += rows.len();
        }
        format!("{:#}\n", json!({ "displayTimeUnit": "ms", "traceEvents": events }))
    }
}

/// The first row where a span is within another or after it; rows have the ends of the spans that are open, innermost last. Spans
/// come by start.
fn row_for(rows: &mut Vec<Vec<Duration>>, span: &Span) -> usize {
    let end = span.start + span.elapsed;
    let place = rows.iter_mut().position(|open| {
        while open.last().is_some_and(|open| *open <= span.start) {
            open.pop();
        }
        open.last().is_none_or(|open| end <= *open)
    });
    let row = place.unwrap_or_else(|| {
        rows.push(vec![]);
        rows.len() - 1
    });
    rows[row].push(end);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_that_overlap_have_rows_of_their_own() {
        let mut rows = vec![];
        let ms = Duration::from_millis;
        let mut row = |start: u64, elapsed: u64| {
            let span = Span { name: String::new(), lane: Lane::Host, start: ms(start), elapsed: ms(elapsed) };
            row_for(&mut rows, &span)
        };
        // One with two within it, one that begins within the second and goes on, one after all.
        assert_eq!([row(0, 10), row(0, 4), row(4, 6), row(5, 7), row(11, 1), row(12, 1)], [0, 0, 0, 1, 0, 0]);
    }
}
