//! `cuzk verify`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use cuzk_filecoin::store::TestParameters;
use cuzk_filecoin::{Aggregation, Error, ParameterSet, PublicStatement, Statement, aggregate_bytes};
use cuzk_groth16::{Proof, VerifyingKey};
use rand_core::OsRng;
use serde::Serialize;

use super::{open_statement, test_parameters};
use crate::arguments::{Bytes, ParameterArguments, ProofFormat, VerifyArguments};
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::partitions::PartitionList;
use crate::progress::Progress;
use crate::report::StatementReport;
use crate::talk::Talk;
use crate::{inner_product, output, partial};

#[derive(Serialize)]
struct Verified {
    schema: &'static str,
    version: u32,
    verified: bool,
    /// `proof` or `aggregate`.
    form: &'static str,
    /// Groth16 proofs in it.
    proofs: usize,
    /// What it proves; the first of an aggregate's statements.
    statement: StatementReport,
    statements: usize,
    verifying_key: String,
}

pub(crate) fn run(arguments: &VerifyArguments, talk: Talk) -> Result<(), Failure> {
    let open = |input: &PathBuf| {
        let statement = open_statement(input, &arguments.identity)?;
        statement.check()?;
        Ok(statement)
    };
    let statements: Vec<Statement> = if arguments.statements.is_empty() {
        vec![on_chain(arguments)?]
    } else {
        arguments.statements.iter().map(open).collect::<Result<_, Error>>()?
    };
    let statement = &statements[0];
    let unreadable = |error| Failure::refused("proof_unreadable", error);
    let proof = read_proof(&arguments.proof, arguments.format).map_err(unreadable)?;
    let progress = Progress::new(talk.or_quiet(arguments.json));
    let (key_path, key) =
        verifying_key(&arguments.parameters, arguments.vk.as_deref(), statement, &progress)?;
    let (form, proofs) = match form(&statements, &proof, arguments)? {
        Form::Plain(partitions) => {
            statement.verify(&key, &partitions, &proof)?;
            ("proof", partitions.len())
        }
        Form::Aggregate(aggregation) => {
            let (parameters, size) = (&arguments.parameters, statement.sector_size()?);
            let (_, inner_product) = inner_product::open(parameters, size, &aggregation, &progress)?;
            aggregation.verify(&proof, &inner_product, &key, OsRng)?;
            ("aggregate", aggregation.n_proofs())
        }
    };
    if arguments.json {
        return output::print_json(&Verified {
            schema: "cuzk-verify",
            version: 1,
            verified: true,
            form,
            proofs,
            statement: StatementReport::of(statement)?,
            statements: statements.len(),
            verifying_key: key_path.display().to_string(),
        });
    }
    let public: Vec<String> =
        statement.public_data().iter().take(2).map(|(name, value)| format!("{name} {value}")).collect();
    let more =
        if statements.len() > 1 { format!(", and {} more", statements.len() - 1) } else { String::new() };
    let what = if form == "aggregate" { format!(" (aggregate of {proofs} proofs)") } else { String::new() };
    output::print(&format!("verified{what}: {}, {}{more}\n", statement.registered_proof(), public.join(", ")))
}

/// The statement that the flags describe. Which of them are given tells its kind; those of another kind are refused, as
/// they would not be verified.
fn on_chain(arguments: &VerifyArguments) -> Result<Statement, Failure> {
    let (identity, chain) = (&arguments.identity, &arguments.chain);
    let porep = [chain.comm_r, chain.comm_d, chain.ticket, chain.seed].iter().any(Option::is_some);
    let porep = porep || identity.sector.is_some();
    let post = !chain.replicas.is_empty() || identity.randomness.is_some();
    let update = [identity.comm_r_old, identity.comm_r_new, identity.comm_d_new].iter().any(Option::is_some);
    let refused = |message: &str| Err(Failure::refused("usage", anyhow!("{message}")));
    if [porep, post, update, update && identity.miner.is_some()].iter().filter(|given| **given).count() > 1 {
        return refused(
            "flags of more than one kind of proof; `cuzk verify --help` says which belong to which",
        );
    }
    if identity.porep_id.is_some() || identity.prover_id.is_some() {
        return refused("--porep-id and --prover-id are for a --statement");
    }
    let proof_type = identity.proof_type.as_deref();
    let proof_type = proof_type.ok_or(Error::Missing { what: "registered proof", flag: "--proof-type" })?;
    let bytes =
        |given: Option<Bytes>, what, flag| given.map(|bytes| bytes.0).ok_or(Error::Missing { what, flag });
    let number = |given: Option<u64>, what, flag| given.ok_or(Error::Missing { what, flag });
    let public = if post {
        PublicStatement::Post {
            miner: number(identity.miner, "miner", "--miner")?,
            randomness: bytes(identity.randomness, "randomness", "--randomness")?,
            replicas: chain.replicas.iter().map(|(number, comm_r)| (*number, comm_r.0)).collect(),
        }
    } else if update {
        PublicStatement::Update {
            comm_r_old: bytes(identity.comm_r_old, "comm_r before", "--comm-r-old")?,
            comm_r_new: bytes(identity.comm_r_new, "comm_r after", "--comm-r-new")?,
            comm_d_new: bytes(identity.comm_d_new, "comm_d after", "--comm-d-new")?,
        }
    } else {
        PublicStatement::Porep {
            miner: number(identity.miner, "miner", "--miner")?,
            sector: number(identity.sector, "sector number", "--sector")?,
            comm_r: bytes(chain.comm_r, "comm_r", "--comm-r")?,
            comm_d: bytes(chain.comm_d, "comm_d", "--comm-d")?,
            ticket: bytes(chain.ticket, "ticket", "--ticket")?,
            seed: chain.seed.map(|bytes| bytes.0),
        }
    };
    if matches!(&public, PublicStatement::Post { replicas, .. } if replicas.is_empty()) {
        return Err(Error::Missing { what: "sectors", flag: "--replica" }.into());
    }
    let statement = Statement::from_public(&public, proof_type)?;
    match identity.kind {
        Some(kind) if kind != statement.kind() => refused("--kind is not what the other flags describe"),
        _ => Ok(statement),
    }
}

/// What the bytes of a proof are.
enum Form<'a> {
    /// The proofs of these partitions of one statement.
    Plain(Vec<usize>),
    Aggregate(Aggregation<'a>),
}

/// An aggregate where the statements are aggregated and the length is right for one; else a plain proof, whatever its
/// length.
fn form<'a>(
    statements: &'a [Statement],
    proof: &[u8],
    arguments: &VerifyArguments,
) -> Result<Form<'a>, Failure> {
    let partitions = PartitionList::select_or_all(arguments.partitions.as_ref(), statements[0].partitions())?;
    if statements.len() == 1 && proof.len() == partitions.len() * Proof::BYTES {
        return Ok(Form::Plain(partitions));
    }
    if statements.len() == 1 && !statements[0].registered_proof().is_aggregated() {
        return Ok(Form::Plain(partitions)); // of the wrong length, which is said
    }
    let aggregation = Aggregation::new(statements)?;
    let (found, aggregate) = (proof.len(), aggregate_bytes(aggregation.n_proofs()));
    if found == aggregate && arguments.partitions.is_none() {
        return Ok(Form::Aggregate(aggregation));
    }
    if found == aggregate {
        let message = anyhow!("an aggregate proves all partitions; leave --partitions away");
        return Err(Failure::refused("usage", message));
    }
    let plain = partitions.len() * Proof::BYTES;
    let message = match statements.len() {
        1 => anyhow!(
            "the proof has {found} bytes; {} plain proofs × 192 are {plain}, their aggregate is {aggregate}",
            partitions.len()
        ),
        n => anyhow!("the proof has {found} bytes; an aggregate of these {n} statements has {aggregate}"),
    };
    Err(Failure::refused("proof_length", message))
}

/// Far above the largest proof (126 partitions of non-interactive PoRep in hexadecimal are 48 KB) and aggregate (52 KB).
const MAX_PROOF_BYTES: u64 = 1 << 20;

/// The bytes of a proof in a file.
pub(super) fn read_proof(path: &Path, format: ProofFormat) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let mut bytes = vec![];
    let file = File::open(path).with_context(|| name.to_string())?;
    file.take(MAX_PROOF_BYTES).read_to_end(&mut bytes).with_context(|| name.to_string())?;
    if bytes.starts_with(partial::MAGIC) {
        return Err(anyhow!(
            "{name} has the proofs of some partitions; `cuzk join` makes a proof of such files"
        ));
    }
    output::decode_proof(bytes, format).with_context(|| name.to_string())
}

/// The verifying key of a statement's circuit and where it is: `vk`, or found among the parameters.
pub(super) fn verifying_key(
    parameters: &ParameterArguments,
    vk: Option<&Path>,
    statement: &Statement,
    progress: &Progress,
) -> Result<(PathBuf, VerifyingKey), Failure> {
    let set = statement.parameter_set()?;
    let path = match vk {
        Some(path) => path.to_owned(),
        None => key_path(parameters, statement, &set, progress)?,
    };
    let key = VerifyingKey::open(&path)?;
    let inputs = statement.registered_proof().known_circuit()?.inputs;
    if key.ic.len() != inputs {
        let message = anyhow!(
            "{}: the key of another circuit, with {} points for inputs where {inputs} are needed",
            path.display(),
            key.ic.len()
        );
        return Err(Failure::environment("verifying_key", message));
    }
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

/// The test parameters' key, or in the parameter directory the `.vk` file, else the parameter file.
fn key_path(
    parameters: &ParameterArguments,
    statement: &Statement,
    set: &ParameterSet,
    progress: &Progress,
) -> Result<PathBuf, Failure> {
    if let Some(seed) = parameters.test_params {
        let parameters = TestParameters::locate(&cache_directory()?, seed.0, set.clone())?;
        test_parameters(&parameters, &statement.registered_proof(), None, progress)?;
        return Ok(parameters.key_path());
    }
    let directory = ParameterDirectory::find(parameters.params.as_deref());
    let names = [&set.verifying_key.name, &set.parameters.name];
    let found = names.iter().map(|name| directory.path.join(name)).find(|path| path.exists());
    found.ok_or_else(|| directory.missing(&set.verifying_key.name, set.sector_size))
}
