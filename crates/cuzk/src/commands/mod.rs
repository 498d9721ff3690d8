//! The subcommands, and what they share.

pub(crate) mod aggregate;
pub(crate) mod doctor;
pub(crate) mod errors;
#[cfg(fault_injection)]
pub(crate) mod faults;
pub(crate) mod fixture;
pub(crate) mod inspect;
pub(crate) mod join;
pub(crate) mod manual;
pub(crate) mod params;
pub(crate) mod prove;
pub(crate) mod selftest;
pub(crate) mod synth;
pub(crate) mod variants;
pub(crate) mod verify;
pub(crate) mod version;

use std::path::Path;

use cuzk_cpu::CpuFixedBase;
use cuzk_filecoin::store::{TestParameters, TestParametersNote};
use cuzk_filecoin::templates::{CachedTemplate, TemplateCache};
use cuzk_filecoin::{Error, Input, RegisteredProof, Statement};
use cuzk_gpu::CudaFixedBase;
use cuzk_groth16::FixedBase;
use cuzk_r1cs::TemplateParts;

use crate::arguments::IdentityArguments;
use crate::environment::cache_directory;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::talk::Event;

/// Reads an input and joins it with what the command line says.
fn open_statement(input: &Path, identity: &IdentityArguments) -> Result<Statement, Error> {
    let overrides = identity.overrides();
    Statement::new(Input::open(input, overrides.kind, identity.max_input_bytes())?, &overrides)
}

/// Everything that can be found wrong with a statement before anything is computed.
fn check(statement: &Statement, skip_vanilla_check: bool) -> Result<(), Error> {
    statement.check()?;
    if skip_vanilla_check { Ok(()) } else { statement.check_vanilla_proofs() }
}

/// One thread for each processor, unless told otherwise.
fn set_threads(threads: Option<u16>) -> Result<(), Failure> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.map_or(0, usize::from));
    builder.build_global().map_err(|error| Failure::environment("threads", error))
}

/// The test parameters of a registered proof, generated if they are not there, on a device or the processor.
pub(crate) fn test_parameters(
    parameters: &TestParameters,
    proof: &RegisteredProof,
    device: Option<usize>,
    progress: &Progress,
) -> Result<TestParametersNote, Failure> {
    match parameters.existing()? {
        Some(note) => Ok(note),
        None => generate(parameters, proof, device, progress),
    }
}

fn generate(
    parameters: &TestParameters,
    proof: &RegisteredProof,
    device: Option<usize>,
    progress: &Progress,
) -> Result<TestParametersNote, Failure> {
    let size = proof
        .parameter_bytes()
        .map_or_else(String::new, |bytes| format!(" ({} MB on disk)", bytes / 1_000_000));
    progress.say(&format!("generating insecure test parameters{size}: {}", parameters.path().display()));
    progress.doing("reading or deriving the circuit's template".to_owned());
    // Deriving a template keeps one thread busy.
    let (template, fixed_base) = rayon::join(
        || template(proof, TemplateParts::All, progress),
        || match device {
            Some(device) => Ok(Box::new(CudaFixedBase::open(device)?) as Box<dyn FixedBase>),
            None => {
                let fixed_base = CpuFixedBase::default();
                fixed_base.build_tables();
                Ok::<_, Failure>(Box::new(fixed_base) as _)
            }
        },
    );
    let points = progress.points("generating test parameters");
    Ok(parameters.generate(&template?.template, &*fixed_base?, &points)?)
}

/// The template of a registered proof's circuit, from the cache or derived.
pub(crate) fn template(
    proof: &RegisteredProof,
    parts: TemplateParts,
    progress: &Progress,
) -> Result<CachedTemplate, Failure> {
    let cache = TemplateCache::new(cache_directory()?.join("templates"));
    let found = cache.get(proof, parts)?;
    if let Some(note) = &found.note {
        progress.tell(Event::Note, note);
    }
    Ok(found)
}
