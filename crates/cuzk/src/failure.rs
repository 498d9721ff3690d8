//! Failures: a stable kind, an exit code, and the whole chain of causes.

use std::fmt;

use cuzk_filecoin::Error;
use cuzk_filecoin::store::StoreError;
use cuzk_groth16::TuningError;

/// A proof, computed or given, did not verify.
pub(crate) const EXIT_NOT_VERIFIED: u8 = 1;
/// Refused before proving: usage, undecodable input, wrong identity, false vanilla proof.
pub(crate) const EXIT_REFUSED: u8 = 2;
/// The environment cannot do it: parameters, memory, device, disk.
pub(crate) const EXIT_ENVIRONMENT: u8 = 3;

/// Why the program ends without having done what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    pub(crate) exit_code: u8,
    pub(crate) error: anyhow::Error,
    /// Whether it was printed when it happened.
    pub(crate) told: bool,
}

impl Failure {
    pub(crate) fn refused(kind: &'static str, error: impl Into<anyhow::Error>) -> Self {
        Self::new(kind, EXIT_REFUSED, error)
    }

    pub(crate) fn not_verified(kind: &'static str, error: impl Into<anyhow::Error>) -> Self {
        Self::new(kind, EXIT_NOT_VERIFIED, error)
    }

    pub(crate) fn environment(kind: &'static str, error: impl Into<anyhow::Error>) -> Self {
        Self::new(kind, EXIT_ENVIRONMENT, error)
    }

    /// A signal came.
    pub(crate) fn stopped(exit_code: u8, error: anyhow::Error) -> Self {
        Self::new("stopped", exit_code, error)
    }

    fn new(kind: &'static str, exit_code: u8, error: impl Into<anyhow::Error>) -> Self {
        Failure { kind, exit_code, error: error.into(), told: false }
    }

    /// The same failure, of this input.
    pub(crate) fn context(self, input: String) -> Self {
        Failure { error: self.error.context(input), ..self }
    }

    /// A command line that clap refused, in its words but without its own prefix.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned();
        Failure::refused("usage", anyhow::Error::msg(text))
    }
}

/// `error[kind]: message: cause: …`, the last line of the program's talk.
impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error[{}]: {:#}", self.kind, self.error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::Groth16(error) = error {
            return error.into();
        }
        let exit_code = match &error {
            Error::ProofInvalid { .. } | Error::WrittenOtherwise { .. } => EXIT_NOT_VERIFIED,
            Error::InnerProductKey { .. } => EXIT_ENVIRONMENT,
            _ => EXIT_REFUSED,
        };
        Failure::new(error.kind(), exit_code, error)
    }
}

impl From<cuzk_groth16::Error> for Failure {
    fn from(error: cuzk_groth16::Error) -> Self {
        let kind = match error {
            cuzk_groth16::Error::InstructionsMissing { .. } => "instructions_missing",
            cuzk_groth16::Error::DeviceMissing { .. } => "device_missing",
            cuzk_groth16::Error::DeviceMemory { .. } => "device_memory",
            cuzk_groth16::Error::Device { .. } => "device",
            _ => "parameters",
        };
        Failure::environment(kind, error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Production { .. } => Failure::refused("test_parameters_refused", error),
            _ => Failure::environment("parameters", error),
        }
    }
}

impl From<TuningError> for Failure {
    fn from(error: TuningError) -> Self {
        Failure::refused("usage", error)
    }
}
