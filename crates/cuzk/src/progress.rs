//! Progress on stderr, and the times and digests that a report is made of.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cuzk_groth16::{Digest, Lane, Observer, Phase, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::machine::{major_faults, rss_bytes};
use crate::memory::size;
use crate::talk::{Event, Talk};
use crate::trace::Trace;

/// Times in milliseconds by phase.
pub(crate) type PhaseTimes = BTreeMap<Phase, f64>;

/// Talks on stderr: on a terminal with a bar, elsewhere with a sign of life every ten seconds.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    pulse: Option<Pulse>,
    trace: Option<Trace>,
}

struct Shared {
    talk: Talk,
    bar: ProgressBar,
    now: Mutex<Now>,
}

/// What is being done.
struct Now {
    doing: String,
    since: Instant,
    start: Instant,
    /// Of partitions: done, all, and how long one is expected to take.
    done: usize,
    all: usize,
    expected: Option<Duration>,
}

/// The thread that moves the bar or gives signs of life; it ends when the sender goes.
struct Pulse {
    alive: Sender<()>,
    thread: JoinHandle<()>,
}

/// Between signs of life where nobody watches.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Between movements of the bar.
const TICK: Duration = Duration::from_millis(120);
const BAR_LENGTH: u64 = 1000;

impl Progress {
    pub(crate) fn new(talk: Talk) -> Self {
        let bar = ProgressBar::new(BAR_LENGTH);
        if !talk.on_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(style("{spinner} {msg} {elapsed}"));
        let start = Instant::now();
        let now = Now { doing: String::new(), since: start, start, done: 0, all: 0, expected: None };
        let shared = Arc::new(Shared { talk, bar, now: Mutex::new(now) });
        let pulse = (!talk.is_quiet()).then(|| Pulse::start(shared.clone())).flatten();
        Progress { shared, pulse, trace: None }
    }

    /// Also keeps when each phase ran.
    pub(crate) fn traced(self) -> Self {
        // `Drop` forbids moving the fields.
        let mut traced = self;
        traced.trace = Some(Trace::new());
        traced
    }

    /// What was kept.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Says something that stays on the screen.
    pub(crate) fn say(&self, message: &str) {
        self.tell(Event::Info, message);
    }

    /// The same, of this sort.
    pub(crate) fn tell(&self, event: Event, message: &str) {
        // `println` of a hidden bar prints nothing, so the line is printed around it.
        self.shared.bar.suspend(|| self.shared.talk.say(event, message, Map::new()));
    }

    /// Tells of a failure that others follow, quiet or not.
    pub(crate) fn say_failure(&self, failure: &Failure) {
        self.shared.bar.suspend(|| self.shared.talk.say_failure(failure));
    }

    /// Says something that the next message replaces.
    pub(crate) fn doing(&self, message: String) {
        self.shared.bar.set_message(message.clone());
        let mut now = self.shared.now();
        (now.doing, now.since) = (message, Instant::now());
    }

    /// So many partitions are to be proved from now on, each in about that time, the first of them unprepared.
    pub(crate) fn expect(&self, partitions: usize, each: Option<Duration>) {
        self.shared.bar.set_style(style("{spinner} {bar:24} {msg}"));
        let mut now = self.shared.now();
        (now.done, now.all, now.expected, now.start) = (0, partitions, each, Instant::now());
    }

    /// One of them is done.
    pub(crate) fn partition_done(&self) {
        self.shared.now().done += 1;
    }

    /// Hears of points generated.
    pub(crate) fn points(&self, what: &str) -> impl Fn(usize, usize) + Sync + '_ {
        let what = what.to_owned();
        move |done, all| self.doing(format!("{what}: {} %", 100 * done / all.max(1)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Pulse { alive, thread }) = self.pulse.take() {
            drop(alive);
            // It has not panicked, and could not be told of if it had.
            let _ = thread.join();
        }
        self.shared.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}

impl Pulse {
    /// None where no thread can be had: what is to be done may still go.
    fn start(shared: Arc<Shared>) -> Option<Self> {
        let (alive, ended) = channel();
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let thread = thread.spawn(move || shared.beat(&ended)).ok()?;
        Some(Pulse { alive, thread })
    }
}

impl Shared {
    fn now(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().expect("no panic while held")
    }

    fn beat(&self, ended: &Receiver<()>) {
        let watched = self.talk.on_terminal();
        let period = if watched { TICK } else { HEARTBEAT };
        while ended.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
            if watched { self.move_bar() } else { self.give_sign_of_life() }
        }
    }

    fn move_bar(&self) {
        let now = self.now();
        if now.all > 0 {
            let elapsed = now.start.elapsed();
            self.bar.set_position((BAR_LENGTH as f64 * now.share(elapsed)) as u64);
            self.bar.set_message(format!("{}{}", now.doing, time_left(now.left(elapsed))));
        }
        drop(now);
        self.bar.tick();
    }

    fn give_sign_of_life(&self) {
        let now = self.now();
        let (elapsed, since) = (now.start.elapsed(), now.since.elapsed());
        let (rss, faults, left) = (rss_bytes(), major_faults(), now.left(elapsed));
        let doing = if now.doing.is_empty() { "preparing" } else { &now.doing };
        let mut line = format!("{} s: {doing} for {} s", elapsed.as_secs(), since.as_secs());
        if now.all > 1 {
            line += &format!(", {} of {} partitions done", now.done, now.all);
        }
        if let Some(bytes) = rss {
            line += &format!(", {} in memory", size(bytes));
        }
        if let Some(faults) = faults.filter(|faults| *faults > 0) {
            line += &format!(", {faults} pages read from disk or swap");
        }
        line += &time_left(left);
        let details = json!({
            "doing": now.doing, "doing_s": since.as_secs(), "elapsed_s": elapsed.as_secs(),
            "partitions_done": now.done, "partitions": now.all, "rss_bytes": rss, "major_faults": faults,
            "left_s": left.map(|left| left.as_secs()),
        });
        drop(now);
        let Value::Object(details) = details else { unreachable!("written as one") };
        self.talk.say(Event::Heartbeat, &line, details);
    }
}

impl Now {
    /// How long the partitions that are left will take, as the ones before or as expected; `None` where that is over, or nothing is
    /// known.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let each = match self.done {
            0 => self.expected?,
            done => elapsed.div_f64(done as f64),
        };
        each.mul_f64(self.all as f64).checked_sub(elapsed).filter(|left| !left.is_zero())
    }

    /// How much is done, from 0 to 1: by time where it is known, else by partitions.
    fn share(&self, elapsed: Duration) -> f64 {
        match self.left(elapsed) {
            Some(left) if self.done < self.all => elapsed.as_secs_f64() / (elapsed + left).as_secs_f64(),
            _ => self.done as f64 / self.all.max(1) as f64,
        }
    }
}

fn time_left(left: Option<Duration>) -> String {
    left.map_or_else(String::new, |left| format!(", about {} s left", left.as_secs().max(1)))
}

/// Collects the phases and digests of one partition (or of the work around them) and shows the phase.
pub(crate) struct Recorder<'a> {
    progress: &'a Progress,
    label: String,
    digests_wanted: bool,
    recorded: Mutex<Recorded>,
}

/// What a [`Recorder`] heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) phases: PhaseTimes,
    pub(crate) digests: BTreeMap<Step, String>,
    pub(crate) notes: Vec<String>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(progress: &'a Progress, label: String, digests_wanted: bool) -> Self {
        Recorder { progress, label, digests_wanted, recorded: Mutex::default() }
    }

    pub(crate) fn progress(&self) -> &'a Progress {
        self.progress
    }

    pub(crate) fn finish(self) -> Recorded {
        self.recorded.into_inner().expect("no panic while held")
    }

    fn took(&self, phase: Phase, lane: Lane, start: Instant, elapsed: Duration) {
        if let Some(trace) = self.progress.trace() {
            trace.add(&self.label, phase, lane, start, elapsed);
        }
        let mut recorded = self.recorded.lock().expect("no panic while held");
        *recorded.phases.entry(phase).or_default() += milliseconds(elapsed);
    }
}

impl Observer for Recorder<'_> {
    fn begin(&self, phase: Phase) {
        self.progress.doing(format!("{}{phase}", self.label));
    }

    fn end(&self, phase: Phase, elapsed: Duration) {
        self.took(phase, Lane::Host, Instant::now() - elapsed, elapsed);
    }

    fn on_device(&self, phase: Phase, start: Instant, elapsed: Duration) {
        self.took(phase, Lane::Device, start, elapsed);
    }

    fn note(&self, message: String) {
        self.progress.tell(Event::Note, &message);
        self.recorded.lock().expect("no panic while held").notes.push(message);
    }

    fn wants_digests(&self) -> bool {
        self.digests_wanted
    }

    fn digest(&self, step: Step, digest: Digest) {
        self.recorded.lock().expect("no panic while held").digests.insert(step, digest.to_string());
    }
}

/// Milliseconds to the microsecond.
pub(crate) fn milliseconds(elapsed: Duration) -> f64 {
    elapsed.as_micros() as f64 / 1000.0
}

/// Adds times phase by phase.
pub(crate) fn add_times(sum: &mut PhaseTimes, times: &PhaseTimes) {
    for (phase, time) in times {
        *sum.entry(*phase).or_default() += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_and_done_follows_from_what_was_done() {
        let seconds = Duration::from_secs;
        let now = |done, all, expected: Option<u64>| Now {
            doing: String::new(),
            since: Instant::now(),
            start: Instant::now(),
            done,
            all,
            expected: expected.map(seconds),
        };
        // As expected, until the first is done.
        assert_eq!(now(0, 10, Some(6)).left(seconds(15)), Some(seconds(45)));
        assert_eq!(now(0, 10, Some(6)).share(seconds(15)), 0.25);
        assert_eq!(now(2, 10, Some(6)).left(seconds(20)), Some(seconds(80)));
        assert_eq!(now(2, 10, None).share(seconds(20)), 0.2);
        // Nothing is known, or it takes longer.
        assert_eq!((now(0, 10, None).left(seconds(5)), now(0, 10, None).share(seconds(5))), (None, 0.0));
        assert_eq!((now(0, 1, Some(3)).left(seconds(5)), now(0, 1, Some(3)).share(seconds(5))), (None, 0.0));
        // What comes after the last.
        assert_eq!((now(3, 3, Some(1)).left(seconds(9)), now(3, 3, None).share(seconds(9))), (None, 1.0));
    }
}
