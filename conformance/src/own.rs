//! An input of the user's own as a case for benchmarks. There are no golden values for it: what is expected is what one of both sides
//! gives, so that the other has to give the same bytes. (Whether they verify, each prover says itself.)

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::Error;
use crate::bench::Side;
use crate::case::{
    Arguments, CASE_FILE, Case, Command, Expected, ExpectedProof, Form, Input, Parameters, ProofFile, Role,
    SCHEMA, Source, Upstream, Verdict, pretty, read_json,
};
use crate::digest::{Hex, sha256, sha256_file};
use crate::report::Report;

/// The one case's id.
pub const CASE: &str = "own/input";

/// Proves an input once by `side`, with test parameters or those of a folder, and leaves a golden folder with the case [`CASE`].
pub fn golden_folder(
    side: &Side,
    input: &Path,
    arguments: Arguments,
    params: Option<&Path>,
) -> Result<TempDir, Error> {
    let temporary = || TempDir::with_prefix("cuzk-conformance-");
    let golden = temporary().map_err(Error::io("make a folder in", &std::env::temp_dir()))?;
    let folder = golden.path().join(CASE);
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    let input = input.canonicalize().map_err(Error::io("open", input))?;
    let (proof, report_file) = (folder.join("proof.bin"), golden.path().join("report.json"));
    let seed = sha256(CASE.as_bytes());

    let mut command: Vec<OsString> = vec!["prove".into(), input.clone().into()];
    let mut add = |flag: &str, value: OsString| command.extend([flag.into(), value]);
    arguments.flags().into_iter().for_each(|(flag, value)| add(flag, value.into()));
    add("--backend", side.row.backend.clone().into());
    add("--insecure-seed", seed.to_string().into());
    add("--report", report_file.clone().into());
    add("-o", proof.clone().into());
    match params {
        Some(params) => add("--params", params.into()),
        None => command.push("--test-params".into()),
    }
    if !side.row.tuning.0.is_empty() {
        command.extend(["--tune".into(), side.row.tuning.to_string().into()]);
    }
    command.push("--quiet".into());
    side.prover.succeed(golden.path(), &command)?;

    let report: Report = read_json(&report_file)?;
    let file = |path: &Path| sha256_file(path).map_err(Error::io("read", path));
    let case = Case {
        schema: SCHEMA,
        id: CASE.to_owned(),
        comment: "An input of the user's own.".to_owned(),
        flags: vec![],
        source: Source {
            tool: report.tool.name.clone(),
            version: report.tool.version.clone(),
            upstream: Upstream { filecoin_proofs: String::new(), bellperson: String::new() },
        },
        command: Command::Prove,
        inputs: vec![Input {
            role: Role::Input,
            file: Some(input.to_string_lossy().into_owned()),
            sha256: Some(file(&input)?),
        }],
        arguments,
        parameters: Parameters {
            name: report.parameters.name.clone(),
            test_seed: report.parameters.test_seed,
            // What nobody hashed is not compared either.
            blake2b_512: report.parameters.blake2b_512.unwrap_or(Hex([0; 64])),
        },
        inner_product_key: None,
        randomness_seed: Some(seed),
        result: Verdict::Valid,
        expected: Expected::Proof(ExpectedProof {
            exit_code: 0,
            partitions: report.partitions.len(),
            form: Form::Plain,
            proof: ProofFile { file: "proof.bin".to_owned(), sha256: file(&proof)? },
            digests: vec![],
        }),
    };
    let path = folder.join(CASE_FILE);
    fs::write(&path, pretty(&case)).map_err(Error::io("write", &path))?;
    Ok(golden)
}
