//! `cuzk join`

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use cuzk_filecoin::Aggregation;
use cuzk_groth16::Proof;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::open_statement;
use super::prove::{aggregate, proof_path};
use super::verify::verifying_key;
use crate::arguments::JoinArguments;
use crate::failure::Failure;
use crate::partial::{self, Partial};
use crate::progress::{Progress, Recorder};
use crate::report::{AggregateReport, ProofReport, StatementReport};
use crate::talk::Talk;
use crate::{inner_product, output};

#[derive(Serialize)]
struct Joined {
    schema: &'static str,
    version: u32,
    statement: StatementReport,
    parts: Vec<String>,
    verifying_key: String,
    aggregate: Option<AggregateReport>,
    proof: ProofReport,
    verified: bool,
}

pub(crate) fn run(arguments: &JoinArguments, talk: Talk) -> Result<(), Failure> {
    let named = arguments.output.as_deref();
    if arguments.json && named == Some(Path::new("-")) {
        return Err(Failure::refused("usage", anyhow!("-o - and --json both want stdout")));
    }
    let output = proof_path(named, &arguments.statement, "proof")?;
    let parts: Vec<(PathBuf, Partial)> =
        arguments.parts.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let statement = open_statement(&arguments.statement, &arguments.identity)?;
    statement.check()?;
    let progress = Progress::new(talk.or_quiet(arguments.quiet || arguments.json));
    let (key_path, key) =
        verifying_key(&arguments.parameters, arguments.vk.as_deref(), &statement, &progress)?;

    let plain = partial::join(&parts, &statement, &key)?;
    let partitions: Vec<usize> = (0..statement.partitions()).collect();
    for (partition, proof) in partitions.iter().zip(plain.chunks(Proof::BYTES)) {
        let verified = statement.verify(&key, &[*partition], proof).map_err(Failure::from);
        verified.map_err(|failure| failure.context(format!("partition {partition}")))?;
    }
    if partitions.len() > 1 {
        statement.verify(&key, &partitions, &plain)?;
    }
    let (proof, aggregate) = if statement.registered_proof().is_aggregated() && !arguments.no_aggregate {
        let aggregation = Aggregation::new(std::slice::from_ref(&statement))?;
        let (parameters, size) = (&arguments.parameters, statement.sector_size()?);
        let inner_product = inner_product::open(parameters, size, &aggregation, &progress)?;
        let recorder = Recorder::new(&progress, String::new(), false);
        let (proof, report) = aggregate(&statement, &plain, &key, &inner_product, &recorder)?;
        (proof, Some(report))
    } else {
        (plain, None)
    };
    output::write(&output, &output::encode_proof(&proof, arguments.format))?;

    if arguments.json {
        return output::print_json(&Joined {
            schema: "cuzk-join",
            version: 1,
            statement: StatementReport::of(&statement)?,
            parts: arguments.parts.iter().map(|path| path.display().to_string()).collect(),
            verifying_key: key_path.display().to_string(),
            aggregate,
            proof: ProofReport { bytes: proof.len(), sha256: hex::encode(Sha256::digest(&proof)) },
            verified: true,
        });
    }
    let (bytes, n) = (proof.len(), partitions.len());
    progress.say(&format!("verified; {bytes} bytes, {n} partition(s), written to {}", output.display()));
    Ok(())
}

fn read(path: &Path) -> Result<(PathBuf, Partial), Failure> {
    let unreadable = |error: anyhow::Error| {
        Failure::refused("partial_unreadable", error).context(path.display().to_string())
    };
    Ok((path.to_owned(), Partial::read(path).map_err(unreadable)?))
}
