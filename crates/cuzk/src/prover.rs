//! Proving partitions of one circuit, one after the other, through whatever was chosen.

use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use cuzk_cpu::CpuBackend;
use cuzk_fault::{Fault, injected};
use cuzk_filecoin::Statement;
use cuzk_filecoin::reference::ReferenceParameters;
use cuzk_gpu::CudaBackend;
use cuzk_groth16::{Backend, Blinding, Observer, Parameters, Proof, Session, Shape, Tuning};

use crate::failure::Failure;
use crate::progress::{Recorder, milliseconds};
use crate::report::BackendReport;
use crate::synthesis::{Synthesizer, WitnessCheck};

/// A way to prove the partitions of one circuit; parameters are loaded for the first of them.
pub(crate) trait Prover {
    /// The proof of a partition, and the time in ms that it took once the parameters were loaded. `around` hears of
    /// what is done once for all partitions.
    fn prove(
        &mut self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        around: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure>;

    /// The memory that is taken on a device, in bytes, once something was proved there.
    fn device_memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// The prover of a backend; `device_memory` is the most that it takes of a device's, in bytes.
pub(crate) fn prover(
    backend: &BackendReport,
    device_memory: Option<usize>,
    file: Arc<Parameters>,
    tuning: Tuning,
    check: WitnessCheck,
) -> Box<dyn Prover> {
    let backend: Box<dyn Backend> = match (backend.name, backend.device) {
        ("reference", _) => return Box::new(ReferenceProver { file, loaded: None }),
        (_, Some(device)) => Box::new(CudaBackend { device, memory_bytes: device_memory }),
        (_, None) => Box::new(CpuBackend),
    };
    Box::new(BackendProver { backend, file, tuning, check, synthesizer: None, prepared: None })
}

/// Through a backend of ours.
struct BackendProver {
    backend: Box<dyn Backend>,
    file: Arc<Parameters>,
    tuning: Tuning,
    check: WitnessCheck,
    synthesizer: Option<Synthesizer>,
    prepared: Option<(Shape, Box<dyn Session>)>,
}

/// Through unmodified bellperson.
struct ReferenceProver {
    file: Arc<Parameters>,
    loaded: Option<ReferenceParameters>,
}

impl Prover for ReferenceProver {
    fn prove(
        &mut self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        around: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure> {
        let parameters = match &self.loaded {
            Some(loaded) => loaded,
            None => {
                let loaded = ReferenceParameters::open(self.file.path(), around)?;
                self.file.check_unchanged()?;
                self.loaded.insert(loaded)
            }
        };
        let proved = statement.prove_by_reference(partition, parameters, blinding)?;
        if recorder.wants_digests() {
            let in_steps = statement.digests_by_reference(partition, parameters, blinding, recorder)?;
            if in_steps != proved.proof {
                let message = anyhow!("upstream's prover and its public pieces give different proofs");
                return Err(Failure::not_verified("reference_disagrees", message));
            }
        }
        Ok((proved.proof, milliseconds(proved.elapsed)))
    }
}

impl Prover for BackendProver {
    fn prove(
        &mut self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        around: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure> {
        let synthesizer = match &self.synthesizer {
            Some(synthesizer) => synthesizer,
            None => {
                let new = Synthesizer::new(statement, &self.tuning, self.check, around.progress())?;
                self.synthesizer.insert(new)
            }
        };
        let start = Instant::now();
        let partition = if injected(Fault::WitnessRepeated) { 0 } else { partition };
        let synthesized = synthesizer.synthesize(statement, &[partition], recorder)?;
        let synthesized = synthesized.into_iter().next().expect("one of one partition");
        let synthesis_time = start.elapsed();
        let (shape, session) = match &mut self.prepared {
            Some(prepared) => prepared,
            None => {
                let shape = synthesized.shape()?;
                let template = synthesizer.template();
                let session = self.backend.prepare(&shape, template, &self.file, &self.tuning, around)?;
                self.file.check_unchanged()?;
                self.prepared.insert((shape, session))
            }
        };
        let witness = synthesizer.to_recycle(&synthesized);
        let work = synthesized.into_work(shape)?;
        let start = Instant::now();
        let proof = session.prove(work, blinding, recorder)?;
        witness.into_iter().for_each(|witness| synthesizer.recycle(witness));
        Ok((proof, milliseconds(synthesis_time + start.elapsed())))
    }

    fn device_memory_bytes(&self) -> Option<u64> {
        self.prepared.as_ref().and_then(|(_, session)| session.device_memory_bytes())
    }
}
