//! Proving partitions of one circuit, one after the other, through whatever was chosen.

use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use cuzk_cpu::CpuBackend;
use cuzk_filecoin::Statement;
use cuzk_filecoin::reference::ReferenceParameters;
use cuzk_groth16::{Backend, Blinding, Observer, Parameters, Phase, Proof, Session, Shape, Tuning, timed};

use crate::failure::Failure;
use crate::progress::{Recorder, milliseconds};

/// Whether the witness is compared with C·w before it is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WitnessCheck {
    Skip,
    EveryConstraint,
}

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
}

/// The prover of a backend's name.
pub(crate) fn prover(
    backend: &str,
    file: Arc<Parameters>,
    tuning: Tuning,
    check: WitnessCheck,
) -> Box<dyn Prover> {
    if backend == "reference" {
        return Box::new(ReferenceProver { file, loaded: None });
    }
    Box::new(BackendProver { backend: Box::new(CpuBackend), file, tuning, check, prepared: None })
}

/// Through a backend of ours.
struct BackendProver {
    backend: Box<dyn Backend>,
    file: Arc<Parameters>,
    tuning: Tuning,
    check: WitnessCheck,
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
            None => self.loaded.insert(ReferenceParameters::open(self.file.path(), around)?),
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
        let start = Instant::now();
        let synthesis = timed(recorder, Phase::Synthesis, || match self.check {
            WitnessCheck::EveryConstraint => statement.synthesize_checked(partition),
            WitnessCheck::Skip => statement.synthesize(partition),
        })?;
        let synthesized = start.elapsed();
        let (shape, session) = match &mut self.prepared {
            Some(prepared) => prepared,
            None => {
                let shape = Shape::of(&synthesis)?;
                let session = self.backend.prepare(&shape, &self.file, &self.tuning, around)?;
                self.prepared.insert((shape, session))
            }
        };
        shape.check_synthesis(&synthesis)?;
        let start = Instant::now();
        let proof = session.prove(synthesis.into(), blinding, recorder)?;
        Ok((proof, milliseconds(synthesized + start.elapsed())))
    }
}
