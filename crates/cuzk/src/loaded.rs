//! Circuits with their parameters: found and loaded once, however many statements use them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use cuzk_filecoin::Statement;
use cuzk_filecoin::store::{DigestMemory, StoreError, TestParameters, computed_test_parameters};
use cuzk_gpu::CudaFixedBase;
use cuzk_groth16::{Parameters, Tuning, VerifyingKey};
use cuzk_r1cs::TemplateParts;

use crate::arguments::{BackendChoice, ProveArguments};
use crate::commands::{template, test_parameters};
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::machine::rss_bytes;
use crate::memory::Held;
use crate::progress::Progress;
use crate::prover::{Prover, prover};
use crate::report::{BackendReport, ParametersReport};
use crate::synthesis::WitnessCheck;

/// The circuits seen so far.
pub(crate) struct Circuits<'a> {
    arguments: &'a ProveArguments,
    backend: &'a BackendReport,
    tuning: Tuning,
    by_name: BTreeMap<String, Circuit>,
}

/// A circuit, its parameter file, and a prover that loads it for the first proof.
pub(crate) struct Circuit {
    pub(crate) report: ParametersReport,
    pub(crate) prover: Box<dyn Prover>,
    file: Arc<Parameters>,
}

impl Circuit {
    pub(crate) fn verifying_key(&self) -> &VerifyingKey {
        self.file.verifying_key()
    }
}

impl<'a> Circuits<'a> {
    pub(crate) fn new(arguments: &'a ProveArguments, backend: &'a BackendReport, tuning: Tuning) -> Self {
        Circuits { arguments, backend, tuning, by_name: BTreeMap::new() }
    }

    /// The circuit of a statement, with its parameter file open: the counts in it were compared with its size, nothing
    /// else was read.
    pub(crate) fn of(&mut self, statement: &Statement, progress: &Progress) -> Result<&Circuit, Failure> {
        let name = statement.parameter_set()?.circuit;
        if !self.by_name.contains_key(&name) {
            let (report, file) = match self.arguments.parameters.test_params {
                // Not where `auto` happens to find a device: such a proof is for a measurement.
                Some(seed)
                    if self.arguments.backend == BackendChoice::Cuda
                        && statement.sector_size()?.is_production() =>
                {
                    self.compute_test_parameters(statement, seed.0, progress)?
                }
                _ => {
                    let report = self.find_parameters(statement, progress)?;
                    let file = Parameters::open(Path::new(&report.path))?;
                    (report, file)
                }
            };
            let file = Arc::new(file);
            let check =
                if self.arguments.check_witness { WitnessCheck::EveryConstraint } else { WitnessCheck::Skip };
            let prover = prover(self.backend, self.arguments.device_memory, file.clone(), self.tuning, check);
            self.by_name.insert(name.clone(), Circuit { report, prover, file });
        }
        Ok(self.by_name.get(&name).expect("inserted above"))
    }

    /// What this process holds already, which is mostly parameters.
    pub(crate) fn held_for(&self, statement: &Statement) -> Result<Held, Failure> {
        let bytes = if self.by_name.is_empty() { 0 } else { rss_bytes().unwrap_or_default() };
        Ok(match self.by_name.contains_key(&statement.parameter_set()?.circuit) {
            true => Held { by_the_same: bytes, by_others: 0 },
            false => Held { by_the_same: 0, by_others: bytes },
        })
    }

    /// Test parameters of a size whose proofs earn money: on a device alone, and nothing is written that somebody might take for the
    /// official ones.
    fn compute_test_parameters(
        &self,
        statement: &Statement,
        seed: [u8; 32],
        progress: &Progress,
    ) -> Result<(ParametersReport, Parameters), Failure> {
        let set = statement.parameter_set()?;
        let Some(device) = self.backend.devices.first() else {
            return Err(StoreError::Production { size: set.sector_size }.into());
        };
        progress.say("computing insecure test parameters on the device; nothing is written");
        progress.doing("reading or deriving the circuit's template".to_owned());
        let template = template(&statement.registered_proof(), TemplateParts::All, progress)?.template;
        progress.doing("computing test parameters".to_owned());
        let fixed_base = Box::new(CudaFixedBase::open(device.number)?);
        let parameters = computed_test_parameters(seed, &set, &template, fixed_base)?;
        let report = ParametersReport {
            name: set.parameters.name,
            path: "not written: computed from the seed".to_owned(),
            bytes: parameters.size(),
            test_seed: Some(hex::encode(seed)),
            blake2b_512: None,
        };
        Ok((report, parameters))
    }

    fn find_parameters(
        &self,
        statement: &Statement,
        progress: &Progress,
    ) -> Result<ParametersReport, Failure> {
        let set = statement.parameter_set()?;
        let cache = cache_directory()?;
        if let Some(seed) = self.arguments.parameters.test_params {
            let parameters = TestParameters::locate(&cache, seed.0, set)?;
            let note = test_parameters(
                &parameters,
                &statement.registered_proof(),
                self.backend.devices.first().map(|device| device.number),
                progress,
            )?;
            return Ok(ParametersReport {
                name: note.parameters,
                path: parameters.path().display().to_string(),
                bytes: note.bytes,
                test_seed: Some(note.seed),
                blake2b_512: Some(note.blake2b_512),
            });
        }
        let directory = ParameterDirectory::find(self.arguments.parameters.params.as_deref());
        let path = directory.path.join(&set.parameters.name);
        let Ok(metadata) = std::fs::metadata(&path) else {
            return Err(directory.missing(&set.parameters.name, set.sector_size));
        };
        let known = DigestMemory::load(&cache).recall(&path);
        if known.and_then(|digest| set.parameters.matches(&digest)) == Some(false) {
            let message = anyhow!("{}: its digest is not the manifest's; fetch it again", path.display());
            return Err(Failure::environment("parameters", message));
        }
        Ok(ParametersReport {
            name: set.parameters.name,
            path: path.display().to_string(),
            bytes: metadata.len(),
            test_seed: None,
            blake2b_512: known.map(hex::encode),
        })
    }
}
