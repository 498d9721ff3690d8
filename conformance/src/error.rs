//! What can go wrong outside of a case: a case that fails is a result, not an error.

use std::path::{Path, PathBuf};

/// Why the suite itself cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read, written, listed or moved.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A file is not the JSON that it should be.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        source: serde_json::Error,
    },
    /// Upstream's source is not the one that a variant's edits are made for.
    #[error(
        "{}: `{pattern}` was found {found} times instead of once: the edits of the variants are made for another \
         bellpepper-core",
        path.display()
    )]
    EditDoesNotMatch {
        /// The file.
        path: PathBuf,
        /// What is to be replaced.
        pattern: String,
        /// How often it was found.
        found: usize,
    },
    /// Two ways of synthesis that do not give the same.
    #[error("{odd} gives another witness, a, b or c than {first}: nothing was measured")]
    VariantsDiffer {
        /// The first variant.
        first: String,
        /// The one that differs.
        odd: String,
    },
    /// Nobody can count instructions.
    #[error("no counts: the kernel offers none here, and valgrind is not installed")]
    NobodyCounts,
    /// A run that was to be counted did not pass.
    #[error("nothing was counted: {outcome}")]
    NotCounted {
        /// The run.
        outcome: String,
    },
    /// There is no golden case of this name.
    #[error("no golden case {0}")]
    NoSuchCase(String),
    /// A case fails in a build with faults while it has none: what it says with one would tell nothing.
    #[error("{case} [{row}] fails without any fault: {said}")]
    FailsWithoutFault {
        /// The case.
        case: String,
        /// The row.
        row: String,
        /// What differs.
        said: String,
    },
    /// A setting of `--tune` that is not `axis=value`.
    #[error("`{0}` is not of the form axis=value (several are separated by commas)")]
    NotASetting(String),
    /// A command whose result is needed ended otherwise than with exit code 0.
    #[error("`{command}` {ended}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended, with what it said.
        ended: String,
    },
    /// The backend that proved is not the reference, whose values are the only ones that may become expected values.
    #[error(
        "the report says backend `{0}`: golden values are taken from `reference` only, so nothing was written"
    )]
    NotReference(String),
    /// The prover's report lacks something that a case has to record.
    #[error("the prover's report has no usable `{0}`, which a golden case records; nothing was written")]
    ReportLacks(String),
    /// The valid case does not have something that another case changes.
    #[error("the valid case has no {0}, from which other cases are derived; nothing was written")]
    ValidLacks(&'static str),
    /// A suite that there is no recipe for.
    #[error("`{0}` is no suite that can be made; there are {known}", known = crate::make::suites().join(", "))]
    UnknownSuite(String),
    /// The binary does not do in the new cases what they expect.
    #[error("the binary disagrees with the cases, so nothing was written:\n{0}")]
    Disagrees(String),
}

impl Error {
    /// Adapts an I/O error: `.map_err(Error::io("read", path))`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Adapts a JSON error: `.map_err(Error::json(path))`.
    pub fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json { path: path.to_owned(), source }
    }
}
