//! Runs a prover binary as a child process, with a time limit.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::Error;

/// How often a child is looked at: the resolution of the wall times.
const POLL: Duration = Duration::from_millis(2);

/// A prover binary.
#[derive(Clone, Debug)]
pub struct Prover {
    /// The file to execute.
    pub binary: PathBuf,
    /// A child that runs longer is killed.
    pub timeout: Duration,
    /// Variables that are added to its environment.
    variables: Vec<(String, String)>,
    /// A program that runs it, with its arguments.
    within: Vec<OsString>,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal,
    /// Killed, because it took longer than this.
    TimedOut(Duration),
}

/// A child that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote on stdout.
    pub stdout: Vec<u8>,
    /// What it wrote on stderr.
    pub stderr: String,
    /// How long it ran.
    pub wall: Duration,
}

impl Prover {
    /// A binary whose runs are killed after `timeout`.
    pub fn new(binary: PathBuf, timeout: Duration) -> Self {
        Prover { binary, timeout, variables: vec![], within: vec![] }
    }

    /// The same with one more variable in its environment.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, run by another program: `words` come before its own command line.
    pub fn within(mut self, words: Vec<OsString>) -> Self {
        self.within = words;
        self
    }

    /// Runs the binary in `folder` until it ends or has to be killed. Its stdin is null, so that a prover that asks
    /// a question fails instead of waiting.
    pub fn run(&self, folder: &Path, arguments: &[OsString]) -> Result<Finished, Error> {
        let run = || -> std::io::Result<Finished> {
            // Files, not pipes: a child never blocks on them, and nobody has to read while waiting.
            let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
            let start = Instant::now();
            let mut words = self.within.iter().map(OsString::as_os_str).chain([self.binary.as_os_str()]);
            let mut child = Command::new(words.next().expect("the binary at least"))
                .args(words)
                .args(arguments)
                .envs(self.variables.iter().map(|(name, value)| (name, value)))
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(stdout.try_clone()?)
                .stderr(stderr.try_clone()?)
                .spawn()?;
            let exit = loop {
                if let Some(status) = child.try_wait()? {
                    break exit_of(status);
                }
                if start.elapsed() >= self.timeout {
                    child.kill()?;
                    child.wait()?;
                    break Exit::TimedOut(self.timeout);
                }
                thread::sleep(POLL);
            };
            let wall = start.elapsed();
            let stderr = String::from_utf8_lossy(&read_from_start(&mut stderr)?).into_owned();
            Ok(Finished { exit, stdout: read_from_start(&mut stdout)?, stderr, wall })
        };
        run().map_err(Error::io("run", &self.binary))
    }

    /// Runs the binary, and wants exit code 0.
    pub fn succeed(&self, folder: &Path, arguments: &[OsString]) -> Result<Finished, Error> {
        let finished = self.run(folder, arguments)?;
        if finished.exit == Exit::Code(0) {
            return Ok(finished);
        }
        let words = [self.binary.as_os_str()].into_iter().chain(arguments.iter().map(OsString::as_os_str));
        let command = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Err(Error::Command { command, ended: finished.describe() })
    }

    /// Runs the binary, wants exit code 0, and reads its stdout as JSON.
    pub fn json<T: DeserializeOwned>(&self, arguments: &[OsString]) -> Result<T, Error> {
        let finished = self.succeed(&std::env::temp_dir(), arguments)?;
        serde_json::from_slice(&finished.stdout).map_err(Error::json(&self.binary))
    }
}

impl Finished {
    /// The kind in the last line of stderr of the form `error[<kind>]: message`.
    pub fn error_kind(&self) -> Option<&str> {
        let (kind, _) = self.error_line()?.strip_prefix("error[")?.split_once("]:")?;
        Some(kind)
    }

    /// What the machine lacks, if that is why the child refused: instructions, or a device. Asking for them was the
    /// row's choice, so this says nothing about the prover.
    pub fn missing_hardware(&self) -> Option<&str> {
        let kinds = ["instructions_missing", "device_missing"];
        let lacking = self.exit == Exit::Code(3) && kinds.contains(&self.error_kind()?);
        if lacking { self.error_line() } else { None }
    }

    /// The exit, with what the child said last.
    pub fn describe(&self) -> String {
        let exit = match self.exit {
            Exit::Code(code) => format!("ended with exit code {code}"),
            Exit::Signal => "was ended by a signal".to_owned(),
            Exit::TimedOut(limit) => format!("was killed after {} s", limit.as_secs_f64()),
        };
        match self.error_line().or_else(|| self.stderr.lines().next_back()) {
            Some(line) => format!("{exit}: {line}"),
            None => exit,
        }
    }

    fn error_line(&self) -> Option<&str> {
        self.stderr.lines().rfind(|line| line.starts_with("error["))
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    status.code().map_or(Exit::Signal, Exit::Code)
}

fn read_from_start(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Finished {
        let prover = Prover::new("/bin/sh".into(), Duration::from_millis(500));
        prover.run(Path::new("/"), &["-c".into(), script.into()]).unwrap()
    }

    #[test]
    fn the_last_error_line_names_the_kind() {
        let finished = shell("echo 'error[first]: x\nerror[second]: y\nmore talk' >&2; exit 2");
        assert_eq!((finished.exit, finished.error_kind()), (Exit::Code(2), Some("second")));
        assert_eq!(finished.describe(), "ended with exit code 2: error[second]: y");
        assert_eq!(finished.missing_hardware(), None);
        let lacking = shell("echo 'error[instructions_missing]: no avx512ifma' >&2; exit 3");
        assert_eq!(lacking.missing_hardware(), Some("error[instructions_missing]: no avx512ifma"));
        assert_eq!(shell("echo 'note: error[inner]: z' >&2").error_kind(), None);
    }

    #[test]
    fn a_child_that_takes_too_long_is_killed() {
        let finished = shell("exec sleep 60");
        assert!(matches!(finished.exit, Exit::TimedOut(_)));
        assert!(finished.wall < Duration::from_secs(30));
    }
}
