//! What goes to stderr: lines of text, or of JSON for a program that reads them.

use std::io::{IsTerminal, Write};

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::arguments::LogFormat;
use crate::failure::Failure;

/// How a command talks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    quiet: bool,
    format: LogFormat,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// What is done, or was.
    Info,
    /// What a user should know about how it is done.
    Note,
    /// A wrong result that was noticed, and is computed again.
    Fault,
    /// A sign of life.
    Heartbeat,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Event::Info => "info",
            Event::Note => "note",
            Event::Fault => "fault",
            Event::Heartbeat => "heartbeat",
        }
    }
}

impl Talk {
    pub(crate) fn new(quiet: bool, format: LogFormat) -> Self {
        Talk { quiet, format }
    }

    /// The same, but quiet if `quiet`.
    pub(crate) fn or_quiet(self, quiet: bool) -> Self {
        Talk { quiet: self.quiet || quiet, ..self }
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether somebody watches.
    pub(crate) fn on_terminal(self) -> bool {
        !self.quiet && self.format == LogFormat::Text && std::io::stderr().is_terminal()
    }

    /// A line; in JSON with `details`.
    pub(crate) fn say(self, event: Event, message: &str, details: Map<String, Value>) {
        if self.quiet {
            return;
        }
        match (self.format, event) {
            (LogFormat::Json, _) => self.write_json(event.name(), message, details),
            (LogFormat::Text, Event::Note | Event::Fault) => {
                write_line(&format!("{}: {message}", event.name()))
            }
            (LogFormat::Text, _) => write_line(message),
        }
    }

    /// The failure's line, quiet or not.
    pub(crate) fn say_failure(self, failure: &Failure) {
        match self.format {
            // The line of a bar ends here.
            LogFormat::Text if self.on_terminal() => write_line(&format!("\r\x1b[K{failure}")),
            LogFormat::Text => write_line(&failure.to_string()),
            LogFormat::Json => {
                let details = json!({ "kind": failure.kind, "exit_code": failure.exit_code });
                let Value::Object(details) = details else { unreachable!("written as one") };
                self.write_json("error", &format!("{:#}", failure.error), details);
            }
        }
    }

    fn write_json(self, event: &str, message: &str, details: Map<String, Value>) {
        let mut line = json!({ "time": now(), "event": event, "message": message });
        line.as_object_mut().expect("written as one").extend(details);
        write_line(&line.to_string());
    }
}

/// The time in UTC, to the millisecond.
fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_millisecond(now.millisecond()).unwrap_or(now);
    now.format(&Rfc3339).unwrap_or_default()
}

/// stderr may be closed or full; the exit code still tells.
fn write_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
