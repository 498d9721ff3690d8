//! Progress on stderr, and the times and digests that a report is made of.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::trace::Trace;
use cuzk_groth16::{Digest, Lane, Observer, Phase, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Times in milliseconds by phase.
pub(crate) type PhaseTimes = BTreeMap<Phase, f64>;

/// Talks on stderr: a spinner with the phase's name on a terminal, nothing of the kind elsewhere.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    trace: Option<Trace>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::new_spinner();
        if quiet || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a valid template"));
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress { bar, quiet, trace: None }
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
        if !self.quiet {
            // `println` of a hidden bar prints nothing, so the line is printed around it.
            self.bar.suspend(|| eprintln!("{message}"));
        }
    }

    /// Tells of a failure that others follow, quiet or not.
    pub(crate) fn say_failure(&self, failure: &Failure) {
        // stderr may be closed; the exit code still tells.
        self.bar.suspend(|| drop(failure.print(&mut std::io::stderr())));
    }

    /// Says something that the next message replaces.
    pub(crate) fn doing(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Hears of points generated: a bar of its own on a terminal, a line at every tenth elsewhere.
    pub(crate) fn points(&self, what: &str) -> impl Fn(usize, usize) + Sync + '_ {
        let what = what.to_owned();
        let tenths = Mutex::new(0);
        move |done, all| {
            let percent = 100 * done / all.max(1);
            self.doing(format!("{what}: {percent} %"));
            let mut tenths = tenths.lock().expect("no panic while held");
            if self.bar.is_hidden() && percent / 10 > *tenths {
                *tenths = percent / 10;
                self.say(&format!("{what}: {percent} %"));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
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
        self.progress.say(&format!("note: {message}"));
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
