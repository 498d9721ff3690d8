//! The subcommands, and what they share.

pub(crate) mod aggregate;
pub(crate) mod fixture;
pub(crate) mod inspect;
pub(crate) mod params;
pub(crate) mod prove;
pub(crate) mod variants;
pub(crate) mod verify;

use std::path::Path;

use cuzk_cpu::CpuFixedBase;
use cuzk_filecoin::store::{TestParameters, TestParametersNote};
use cuzk_filecoin::{Error, Input, RegisteredProof, Statement};

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
    proof: RegisteredProof,
    progress: &Progress,
) -> Result<TestParametersNote, Failure> {
    match parameters.existing()? {
        Some(note) => Ok(note),
        None => generate(parameters, proof, progress),
    }
}

fn generate(
    parameters: &TestParameters,
    proof: RegisteredProof,
    progress: &Progress,
) -> Result<TestParametersNote, Failure> {
    let size = proof
        .parameter_bytes()
        .map_or_else(String::new, |bytes| format!(" ({} MB on disk)", bytes / 1_000_000));
    progress.say(&format!("generating insecure test parameters{size}: {}", parameters.path().display()));
    progress.doing("recording the circuit".to_owned());
    let system = proof.record()?;
    let points = progress.points("generating test parameters");
    Ok(parameters.generate(&system, &CpuFixedBase::default(), &points)?)
}
