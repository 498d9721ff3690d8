//! `cuzk inspect`

use std::fmt::Write;

use cuzk_filecoin::store::{DigestMemory, FileState};
use cuzk_filecoin::{CommitmentKind, Error, FileIdentity, Input, Statement, commitment_cid};
use serde::Serialize;

use crate::arguments::InspectArguments;
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Inspection {
    schema: &'static str,
    version: u32,
    kind: &'static str,
    registered_proof: String,
    sector_size: u64,
    miner: Option<u64>,
    sector: Option<u64>,
    /// `null` where the miner or sector is not known.
    identity_ok: Option<bool>,
    partitions: usize,
    challenges_per_partition: usize,
    proof_bytes: usize,
    comm_r: Commitment,
    comm_d: Commitment,
    replica_id: String,
    parameter_directory: String,
    parameter_files: Vec<ParameterFile>,
}

#[derive(Serialize)]
struct Commitment {
    hex: String,
    cid: String,
}

#[derive(Serialize)]
struct ParameterFile {
    name: String,
    digest: Option<String>,
    state: &'static str,
    bytes: Option<u64>,
}

pub(crate) fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let inspection = inspect(arguments)?;
    if arguments.json {
        return output::print_json(&inspection);
    }
    output::print(&inspection.table())
}

fn inspect(arguments: &InspectArguments) -> Result<Inspection, Failure> {
    let input = Input::open(&arguments.input)?;
    let file = input.statement_file.as_ref();
    let miner = arguments.identity.miner.or(file.map(|file| file.miner));
    let sector = arguments.identity.sector.or(file.map(|file| file.sector)).or(input.sector);
    // What is not known is shown as such; everything else needs no identity.
    let overrides = cuzk_filecoin::Overrides { miner: miner.or(Some(0)), sector: sector.or(Some(0)) };
    let statement = Statement::new(input, &overrides)?;
    let identity_ok = match (miner, sector) {
        (Some(_), Some(_)) => Some(identity(&statement)?),
        _ => None,
    };
    let set = statement.parameter_set()?;
    let directory = ParameterDirectory::find(arguments.params.as_deref());
    let memory = DigestMemory::load(&cache_directory()?);
    let file = |identity: FileIdentity| {
        let (state, bytes) = state(&FileState::of(&directory.path, &identity, &memory));
        ParameterFile { name: identity.name, digest: identity.digest, state, bytes }
    };
    let commitment = |kind, bytes| Commitment { hex: hex::encode(bytes), cid: commitment_cid(kind, &bytes) };
    Ok(Inspection {
        schema: "cuzk-inspect",
        version: 1,
        kind: statement.kind(),
        registered_proof: format!("{:?}", statement.registered_proof()),
        sector_size: statement.sector_size().bytes(),
        miner,
        sector,
        identity_ok,
        partitions: statement.partitions(),
        challenges_per_partition: statement.challenges()?,
        proof_bytes: statement.partitions() * cuzk_groth16::Proof::BYTES,
        comm_r: commitment(CommitmentKind::Sealed, statement.comm_r()),
        comm_d: commitment(CommitmentKind::Unsealed, statement.comm_d()),
        replica_id: hex::encode(statement.replica_id()),
        parameter_directory: format!("{} (set by {})", directory.path.display(), directory.set_by),
        parameter_files: vec![file(set.parameters), file(set.verifying_key)],
    })
}

fn identity(statement: &Statement) -> Result<bool, Failure> {
    match statement.check_identity() {
        Ok(()) => Ok(true),
        Err(Error::WrongIdentity { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The state of a file as tables and JSON show it.
pub(super) fn state(state: &FileState) -> (&'static str, Option<u64>) {
    match state {
        FileState::Missing => ("missing", None),
        FileState::Unchecked { bytes } => ("unchecked", Some(*bytes)),
        FileState::Good { bytes } => ("good", Some(*bytes)),
        FileState::Bad { bytes } => ("BAD", Some(*bytes)),
    }
}

impl Inspection {
    fn table(&self) -> String {
        let number =
            |number: Option<u64>| number.map_or_else(|| "not in the input".to_owned(), |n| n.to_string());
        let identity = match self.identity_ok {
            Some(true) => "replica id matches",
            Some(false) => "WRONG: the replica id is of another miner or sector",
            None => "not checked: give --miner and --sector",
        };
        let mut table = String::new();
        let mut line =
            |name: &str, value: &str| writeln!(table, "{name:<12} {value}").expect("writing to a string");
        line("kind", self.kind);
        line("proof type", &self.registered_proof);
        line("sector size", &format!("{} bytes", self.sector_size));
        line("miner", &number(self.miner));
        line("sector", &number(self.sector));
        line("identity", identity);
        line("partitions", &format!("{} × {} challenges", self.partitions, self.challenges_per_partition));
        line("proof", &format!("{} bytes", self.proof_bytes));
        line("comm_r", &self.comm_r.hex);
        line("", &self.comm_r.cid);
        line("comm_d", &self.comm_d.hex);
        line("", &self.comm_d.cid);
        line("replica id", &self.replica_id);
        line("parameters", &self.parameter_directory);
        for file in &self.parameter_files {
            let bytes = file.bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
            line("", &format!("{} ({}{bytes})", file.name, file.state));
        }
        table
    }
}
