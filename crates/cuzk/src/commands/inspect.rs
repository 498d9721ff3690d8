//! `cuzk inspect`

use std::collections::BTreeMap;
use std::fmt::Write;

use cuzk_filecoin::store::{DigestMemory, FileState};
use cuzk_filecoin::{
    CommitmentKind, Error, FileIdentity, Input, Kind, PublicData, Statement, Unknown, aggregate_bytes,
    commitment_cid, inner_product_key,
};
use cuzk_groth16::Tuning;
use serde::Serialize;

use crate::arguments::InspectArguments;
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::memory::{Available, Held};
use crate::output;
use crate::plan::{On, Plan};

#[derive(Serialize)]
struct Inspection {
    schema: &'static str,
    version: u32,
    /// What the file is.
    shape: &'static str,
    kind: Kind,
    registered_proof: String,
    sector_size: u64,
    /// Identity and commitments, as far as they are known.
    public: BTreeMap<&'static str, String>,
    /// The same commitments as CIDs.
    cids: BTreeMap<&'static str, String>,
    /// What the input does not carry and the command line did not say.
    unknown: Vec<&'static str>,
    /// Why the cheap checks refuse it, if they do; `null` where something is unknown.
    checks: Option<String>,
    partitions: usize,
    challenges_per_partition: usize,
    proof_bytes: usize,
    constraints_per_partition: Option<u64>,
    /// Host memory at the peak of a proof on the processor, and what there is.
    plan: Plan,
    parameter_directory: String,
    parameter_files: Vec<ParameterFile>,
    #[serde(skip)]
    order: PublicData,
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
    let mut overrides = arguments.identity.overrides();
    let input = Input::open(&arguments.input, overrides.kind, arguments.identity.max_input_bytes())?;
    let shape = input.shape;
    // What is not known is shown as such; everything else needs no identity.
    let unknown = input.unknown(&overrides);
    unknown.iter().for_each(|unknown| unknown.fill_with_zeros(&mut overrides));
    let unknown: Vec<&str> = unknown.into_iter().map(Unknown::name).collect();
    let statement = Statement::new(input, &overrides)?;
    let set = statement.parameter_set()?;
    let directory = ParameterDirectory::find(arguments.params.as_deref());
    let memory = DigestMemory::load(&cache_directory()?);
    let file = |identity: FileIdentity| {
        let (state, bytes) = state(&FileState::of(&directory.path, &identity, &memory));
        ParameterFile { name: identity.name, digest: identity.digest, state, bytes }
    };
    let mut order = statement.public_data();
    order.retain(|(name, _)| !unknown.contains(name));
    let mut parameter_files = vec![file(set.parameters), file(set.verifying_key)];
    let mut proof_bytes = statement.partitions() * cuzk_groth16::Proof::BYTES;
    if statement.registered_proof().is_aggregated() {
        parameter_files.push(file(inner_product_key()));
        proof_bytes = aggregate_bytes(statement.partitions());
    }
    let checks = if unknown.is_empty() { Some(checks(&statement)?) } else { None };
    Ok(Inspection {
        schema: "cuzk-inspect",
        version: 1,
        shape,
        kind: statement.kind(),
        registered_proof: statement.registered_proof().to_string(),
        sector_size: statement.sector_size()?.bytes(),
        public: order.iter().cloned().collect(),
        cids: order.iter().filter_map(|(name, value)| Some((*name, cid(name, value)?))).collect(),
        unknown,
        checks,
        partitions: statement.partitions(),
        challenges_per_partition: statement.challenges()?,
        proof_bytes,
        constraints_per_partition: statement.registered_proof().constraints(),
        plan: plan(&statement)?,
        parameter_directory: format!("{} (set by {})", directory.path.display(), directory.set_by),
        parameter_files,
        order,
    })
}

/// Of a partition on the processor.
fn plan(statement: &Statement) -> Result<Plan, Failure> {
    let on =
        On { backend: "cpu", tuning: &Tuning::default(), device_bytes: None, devices: 0, computed: false };
    let available = Available::here(None, Held::default());
    Plan::new(&statement.registered_proof(), statement.partitions(), &on, available, None)
}

/// `ok`, or why the cheap checks refuse the statement.
fn checks(statement: &Statement) -> Result<String, Failure> {
    match statement.check() {
        Ok(()) => Ok("ok".to_owned()),
        Err(error @ Error::Upstream { .. }) => Err(error.into()),
        Err(error) => Ok(error.to_string()),
    }
}

fn cid(name: &str, hexadecimal: &str) -> Option<String> {
    let kind = match name {
        "comm_d" | "comm_d_new" => CommitmentKind::Unsealed,
        "comm_r" | "comm_r_old" | "comm_r_new" => CommitmentKind::Sealed,
        _ => return None,
    };
    let bytes = hex::decode(hexadecimal).ok()?;
    Some(commitment_cid(kind, &bytes.try_into().ok()?))
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
        let mut table = String::new();
        let mut line =
            |name: &str, value: &str| writeln!(table, "{name:<12} {value}").expect("writing to a string");
        line("input", self.shape);
        line("kind", self.kind.name());
        line("proof type", &self.registered_proof);
        line("sector size", &format!("{} bytes", self.sector_size));
        for (name, value) in &self.order {
            line(name, value);
            if let Some(cid) = self.cids.get(name) {
                line("", cid);
            }
        }
        self.unknown.iter().for_each(|name| line(name, "not in the input"));
        line("checks", self.checks.as_deref().unwrap_or("not done: say what is not in the input"));
        let each = if self.kind == Kind::WindowPost { "challenges a sector" } else { "challenges" };
        line("partitions", &format!("{} × {} {each}", self.partitions, self.challenges_per_partition));
        line("proof", &format!("{} bytes", self.proof_bytes));
        if let Some(constraints) = self.constraints_per_partition {
            line("constraints", &format!("{constraints} a partition"));
        }
        line("memory", &format!("{}, on cpu", self.plan.memory()));
        line("parameters", &self.parameter_directory);
        for file in &self.parameter_files {
            let bytes = file.bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
            line("", &format!("{} ({}{bytes})", file.name, file.state));
        }
        table
    }
}
