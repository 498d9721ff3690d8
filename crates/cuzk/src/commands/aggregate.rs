//! `cuzk aggregate`

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use cuzk_filecoin::{Aggregation, Statement};
use cuzk_groth16::Proof;
use rand_core::OsRng;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::open_statement;
use super::verify::{read_proof, verifying_key};
use crate::arguments::AggregateArguments;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{ProofReport, StatementReport};
use crate::talk::Talk;
use crate::{inner_product, output};

#[derive(Serialize)]
struct Aggregated {
    schema: &'static str,
    version: u32,
    statements: Vec<StatementReport>,
    /// Groth16 proofs in the aggregate.
    proofs: usize,
    inner_product_key: String,
    proof: ProofReport,
    verified: bool,
}

pub(crate) fn run(arguments: &AggregateArguments, talk: Talk) -> Result<(), Failure> {
    if arguments.json && arguments.output == Path::new("-") {
        return Err(Failure::refused("usage", anyhow!("-o - and --json both want stdout")));
    }
    let progress = Progress::new(talk.or_quiet(arguments.quiet));
    let statements: Vec<Statement> = arguments
        .inputs
        .iter()
        .map(|input| {
            let statement = open_statement(input, &arguments.identity).map_err(Failure::from);
            let checked = statement.and_then(|statement| {
                statement.check()?;
                Ok(statement)
            });
            checked.map_err(|failure| failure.context(input.display().to_string()))
        })
        .collect::<Result<_, Failure>>()?;
    let aggregation = Aggregation::new(&statements)?;
    let (_, key) = verifying_key(&arguments.parameters, arguments.vk.as_deref(), &statements[0], &progress)?;

    let mut plain = vec![];
    for (path, statement) in proof_files(arguments)?.iter().zip(&statements) {
        progress.doing(format!("verifying {}", path.display()));
        let proof = plain_proof(path, statement, arguments)?;
        let partitions: Vec<usize> = (0..statement.partitions()).collect();
        let verified = statement.verify(&key, &partitions, &proof).map_err(Failure::from);
        verified.map_err(|failure| failure.context(path.display().to_string()))?;
        plain.extend(proof);
    }

    progress.doing(format!("aggregating {} proofs", aggregation.n_proofs()));
    let size = statements[0].sector_size()?;
    let (key_path, inner_product_key) =
        inner_product::open(&arguments.parameters, size, &aggregation, &progress)?;
    let aggregate = aggregation.aggregate(&plain, &inner_product_key)?;
    aggregation.verify(&aggregate, &inner_product_key, &key, OsRng)?;
    output::write(&arguments.output, &output::encode_proof(&aggregate, arguments.format))?;
    if arguments.json {
        return output::print_json(&Aggregated {
            schema: "cuzk-aggregate",
            version: 1,
            statements: statements.iter().map(StatementReport::of).collect::<Result<_, _>>()?,
            proofs: aggregation.n_proofs(),
            inner_product_key: key_path.display().to_string(),
            proof: ProofReport { bytes: aggregate.len(), sha256: hex::encode(Sha256::digest(&aggregate)) },
            verified: true,
        });
    }
    progress.say(&format!(
        "verified; {} bytes, an aggregate of {} proofs, written to {}",
        aggregate.len(),
        aggregation.n_proofs(),
        arguments.output.display()
    ));
    Ok(())
}

/// `--proofs`, or each input's name with the extension `proof`, as `prove` writes them.
fn proof_files(arguments: &AggregateArguments) -> Result<Vec<PathBuf>, Failure> {
    let (inputs, proofs) = (&arguments.inputs, &arguments.proofs);
    if proofs.is_empty() {
        return Ok(inputs.iter().map(|input| input.with_extension("proof")).collect());
    }
    if proofs.len() != inputs.len() {
        let message =
            anyhow!("{} proofs of {} inputs; --proofs wants one of each", proofs.len(), inputs.len());
        return Err(Failure::refused("usage", message));
    }
    Ok(proofs.clone())
}

fn plain_proof(
    path: &Path,
    statement: &Statement,
    arguments: &AggregateArguments,
) -> Result<Vec<u8>, Failure> {
    let proof =
        read_proof(path, arguments.format).map_err(|error| Failure::refused("proof_unreadable", error))?;
    if proof.len() % Proof::BYTES == 0 || !statement.registered_proof().is_aggregated() {
        return Ok(proof);
    }
    // Most likely what `prove` writes by default.
    let message = anyhow!(
        "{}: {} bytes are no plain proof of {} partitions × 192 bytes, perhaps an aggregate; prove with \
         --no-aggregate what is to be aggregated",
        path.display(),
        proof.len(),
        statement.partitions()
    );
    Err(Failure::refused("proof_length", message))
}
