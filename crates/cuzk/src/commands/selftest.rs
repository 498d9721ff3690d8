//! `cuzk selftest`

use std::sync::Arc;

use anyhow::anyhow;
use cuzk_filecoin::fixture::PostFixture;
use cuzk_filecoin::store::{GOLDEN_SEED, TestParameters};
use cuzk_filecoin::{Input, MAX_INPUT_BYTES, Overrides, SectorSize, Statement, winning_post};
use cuzk_groth16::{Blinding, Isa, Parameters, Tuning};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{set_threads, test_parameters};
use crate::arguments::{BackendChoice, SelftestArguments};
use crate::devices::{DeviceChoice, choose_backend};
use crate::environment::cache_directory;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::output;
use crate::progress::{Progress, Recorder};
use crate::prover::{Prover, prover};
use crate::report::{BackendReport, Tool};
use crate::synthesis::WitnessCheck;
use crate::talk::Talk;

/// Everything of the statement that is not fixed comes from this.
const STATEMENT_SEED: u64 = 0x5e1f_7e57;
/// r and s come from this.
const BLINDING_SEED: [u8; 32] = [0x5e; 32];

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    tool: Tool,
    machine: Machine,
    backend: BackendReport,
    /// Of the proof that all have to give: by the processor, one element at a time.
    proof_sha256: String,
    repetitions: usize,
    /// Repetitions, from 0, that gave other bytes.
    faults: Vec<usize>,
    /// Each repetition, parameters loaded.
    prove_ms: Vec<f64>,
}

/// Proves one small statement again and again under one seed, and compares the bytes with those of the processor's portable
/// arithmetic.
pub(crate) fn run(arguments: &SelftestArguments, talk: Talk) -> Result<(), Failure> {
    set_threads(None)?;
    let device = arguments.device.map(|number| DeviceChoice::These(vec![number]));
    let backend = choose_backend(arguments.backend, device.as_ref())?;
    let progress = Progress::new(talk.or_quiet(arguments.quiet));
    let statement = small_statement()?;
    let parameters = TestParameters::locate(&cache_directory()?, GOLDEN_SEED, statement.parameter_set()?)?;
    test_parameters(&parameters, &statement.registered_proof(), None, &progress)?;
    let file = Arc::new(Parameters::open(&parameters.path())?);
    let prover_of = |backend: &_, tuning| prover(backend, None, file.clone(), tuning, WitnessCheck::Skip);
    let prove = |prover: &dyn Prover, label: String| {
        let recorder = Recorder::new(&progress, label, false);
        let blinding = Blinding::from_insecure_seed(BLINDING_SEED, 0);
        let (proof, time) = prover.prove(&statement, 0, &blinding, &recorder, &recorder)?;
        Ok::<_, Failure>((proof, time))
    };

    let portable = Tuning { isa: Isa::Portable, ..Tuning::default() };
    let processor = choose_backend(BackendChoice::Cpu, None)?;
    let (expected, _) = prove(&*prover_of(&processor, portable), "the processor's proof: ".to_owned())?;
    // Else a fault of the processor would be taken for one of the backend.
    statement.verify_partition(file.verifying_key(), 0, &expected)?;
    let tested = prover_of(&backend, Tuning::default());
    // What is done once is done now.
    prove(&*tested, "the first proof: ".to_owned())?;
    let (mut faults, mut prove_ms) = (vec![], vec![]);
    for repetition in 0..arguments.repeat {
        let label = format!("proof {} of {}: ", repetition + 1, arguments.repeat);
        let (proof, time) = prove(&*tested, label)?;
        prove_ms.push(time);
        if proof != expected {
            faults.push(repetition);
        }
    }
    let report = Report {
        schema: "cuzk-selftest",
        version: 1,
        tool: Tool::here(),
        machine: Machine::here(),
        backend,
        proof_sha256: hex::encode(Sha256::digest(expected.to_bytes())),
        repetitions: arguments.repeat,
        faults,
        prove_ms,
    };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&report.summary())?;
    }
    match report.faults.len() {
        0 => Ok(()),
        n => Err(Failure::not_verified(
            "selftest",
            anyhow!(
                "{n} of {} proofs have other bytes than the processor's: do not prove on this backend",
                report.repetitions
            ),
        )),
    }
}

/// A synthetic winning PoSt of 2 KiB: a domain of 2^19, and nearly all of its witness is scalars.
fn small_statement() -> Result<Statement, Failure> {
    let folder = tempfile::tempdir().map_err(|error| Failure::environment("output", error))?;
    let fixture = PostFixture {
        registered_proof: winning_post(SectorSize::KiB2),
        miner: 1000,
        sector: 1,
        sectors: 1,
        seed: STATEMENT_SEED,
    };
    fixture.write_synthetic(folder.path())?;
    let input = Input::open(&folder.path().join("statement.json"), None, MAX_INPUT_BYTES)?;
    Ok(Statement::new(input, &Overrides::default())?)
}

impl Report {
    fn summary(&self) -> String {
        let mut sorted = self.prove_ms.clone();
        sorted.sort_by(f64::total_cmp);
        format!(
            "{} ({}): {} proofs, {} with other bytes than the processor's; {:.0} ms each (median)\n",
            self.backend.name,
            self.backend.why,
            self.repetitions,
            self.faults.len(),
            sorted[sorted.len() / 2]
        )
    }
}
