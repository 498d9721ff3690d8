//! SIGINT and SIGTERM: the program stops at once. Nothing has to be tidied up: a file gets its name when it is whole
//! ([`cuzk_filecoin::store::write_atomically`]), and the driver frees what a process had on a device. What else runs at an end is left
//! out: the driver's own handler would take away what other threads still use, which ended one proof in six by a segmentation fault.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, anyhow};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::failure::Failure;
use crate::talk::Talk;

/// What a shell reports of a program that signal `n` ended is this and `n`.
const SIGNALLED: i32 = 128;

/// With whoever reads stderr.
const PATIENCE: Duration = Duration::from_millis(300);

/// With a program that is through and ends by itself.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(1);

/// Whether something ends the program: a signal, or `main` that is through. One of them does, so that what was said last and the exit
/// code agree.
static ENDING: AtomicBool = AtomicBool::new(false);

fn is_ending() -> bool {
    ENDING.swap(true, Ordering::Relaxed)
}

/// `main` is through, and has nothing more to say than how it went: a later signal changes nothing if it ends in time, and an earlier one ends
/// the program here.
pub(crate) fn end() {
    if is_ending() {
        loop {
            std::thread::park();
        }
    }
}

/// From now on, a signal is told of and ends the program with 130 (SIGINT) or 143 (SIGTERM).
pub(crate) fn watch(talk: Talk) -> Result<(), Failure> {
    let unwatched = |error: anyhow::Error| Failure::environment("threads", error);
    let signals = Signals::new([SIGINT, SIGTERM]).context("watching for signals").map_err(unwatched)?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || stop(signals, talk)).context("starting a thread").map_err(unwatched)?;
    Ok(())
}

fn stop(mut signals: Signals, talk: Talk) {
    let Some(signal) = signals.forever().next() else { return };
    let code = SIGNALLED + signal;
    if is_ending() {
        // If it can: its last words may be for somebody who does not read.
        std::thread::sleep(PATIENCE_AT_THE_END);
        low_level::exit(code);
    }
    let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
    let message = anyhow!("stopped by {name}; what was said to be written is whole");
    let failure = Failure::stopped(u8::try_from(code).expect("130 or 143"), message);
    // Whoever reads stderr may have stopped to.
    let (said, heard) = channel();
    let talker = std::thread::Builder::new().spawn(move || {
        talk.say_failure(&failure);
        // Nobody may listen any more.
        let _ = said.send(());
    });
    if talker.is_ok() {
        let _ = heard.recv_timeout(PATIENCE);
    }
    low_level::exit(code)
}
