//! `cuzk verify`

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use cuzk_filecoin::store::TestParameters;
use cuzk_filecoin::{ParameterSet, Statement};
use cuzk_groth16::VerifyingKey;
use serde::Serialize;

use super::{open_statement, test_parameters};
use crate::arguments::VerifyArguments;
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::report::StatementReport;

#[derive(Serialize)]
struct Verified {
    schema: &'static str,
    version: u32,
    verified: bool,
    statement: StatementReport,
    verifying_key: String,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<(), Failure> {
    let statement = open_statement(&arguments.statement, &arguments.identity)?;
    statement.check()?;
    let unreadable = |error| Failure::refused("proof_unreadable", error);
    let proof = read_proof(arguments).map_err(unreadable)?;
    let (key_path, key) = verifying_key(arguments, &statement)?;
    statement.verify(&key, &proof)?;
    if arguments.json {
        return output::print_json(&Verified {
            schema: "cuzk-verify",
            version: 1,
            verified: true,
            statement: StatementReport::of(&statement)?,
            verifying_key: key_path.display().to_string(),
        });
    }
    let public: Vec<String> =
        statement.public_data().iter().take(2).map(|(name, value)| format!("{name} {value}")).collect();
    output::print(&format!("verified: {}, {}\n", statement.registered_proof(), public.join(", ")))
}

/// Far above the largest proof (126 partitions of non-interactive PoRep in hexadecimal are 48 KB).
const MAX_PROOF_BYTES: u64 = 1 << 20;

fn read_proof(arguments: &VerifyArguments) -> anyhow::Result<Vec<u8>> {
    let path = arguments.proof.display();
    let mut bytes = vec![];
    let file = File::open(&arguments.proof).with_context(|| path.to_string())?;
    file.take(MAX_PROOF_BYTES).read_to_end(&mut bytes).with_context(|| path.to_string())?;
    output::decode_proof(bytes, arguments.format).with_context(|| path.to_string())
}

fn verifying_key(
    arguments: &VerifyArguments,
    statement: &Statement,
) -> Result<(PathBuf, VerifyingKey), Failure> {
    let set = statement.parameter_set()?;
    let path = key_path(arguments, statement, &set)?;
    let key = VerifyingKey::open(&path)?;
    if set.sector_size.is_production() {
        let digest = *blake2b_simd::blake2b(&key.to_bytes()).as_array();
        if set.verifying_key.matches(&digest) != Some(true) {
            let wanted = set.verifying_key.digest.as_deref().unwrap_or("no digest");
            let message = anyhow!(
                "{}: the verifying key's digest is {}, upstream's manifest has {wanted} for {}",
                path.display(),
                hex::encode(&digest[..16]),
                set.verifying_key.name
            );
            return Err(Failure::environment("verifying_key", message));
        }
    }
    Ok((path, key))
}

/// `--vk`, the test parameters' key, or in the parameter directory the `.vk` file, else the parameter file.
fn key_path(
    arguments: &VerifyArguments,
    statement: &Statement,
    set: &ParameterSet,
) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.vk {
        return Ok(path.clone());
    }
    if let Some(seed) = arguments.parameters.test_params {
        let parameters = TestParameters::locate(&cache_directory()?, seed.0, set.clone())?;
        test_parameters(&parameters, &statement.registered_proof(), &Progress::new(false))?;
        return Ok(parameters.key_path());
    }
    let directory = ParameterDirectory::find(arguments.parameters.params.as_deref());
    let names = [&set.verifying_key.name, &set.parameters.name];
    let found = names.iter().map(|name| directory.path.join(name)).find(|path| path.exists());
    found.ok_or_else(|| directory.missing(&set.verifying_key.name, set))
}
