//! The subcommands, and what they share.

pub(crate) mod fixture;
pub(crate) mod inspect;
pub(crate) mod params;
pub(crate) mod prove;
pub(crate) mod variants;
pub(crate) mod verify;

use std::path::Path;

use cuzk_cpu::CpuFixedBase;
use cuzk_filecoin::store::{TestParameters, TestParametersNote};
use cuzk_filecoin::{Error, Input, Statement};
use cuzk_r1cs::ConstraintSystemMatrices;

use crate::arguments::IdentityArguments;
use crate::failure::Failure;
use crate::progress::Progress;

/// Reads an input and joins it with what the command line says.
fn open_statement(input: &Path, identity: &IdentityArguments) -> Result<Statement, Error> {
    let overrides = identity.overrides();
    Statement::new(Input::open(input, overrides.kind, identity.max_input_bytes())?, &overrides)
}

/// The test parameters, generated if they are not there.
pub(crate) fn test_parameters(
    parameters: &TestParameters,
    record: impl FnOnce() -> Result<ConstraintSystemMatrices, Error>,
    progress: &Progress,
) -> Result<TestParametersNote, Failure> {
    match parameters.existing()? {
        Some(note) => Ok(note),
        None => generate(parameters, record, progress),
    }
}

fn generate(
    parameters: &TestParameters,
    record: impl FnOnce() -> Result<ConstraintSystemMatrices, Error>,
    progress: &Progress,
) -> Result<TestParametersNote, Failure> {
    progress.say(&format!("generating insecure test parameters: {}", parameters.path().display()));
    progress.doing("recording the circuit".to_owned());
    let system = record()?;
    let points = progress.points("generating test parameters");
    Ok(parameters.generate(&system, &CpuFixedBase::default(), &points)?)
}
