//! From a partition to the work of a backend, as axes `synthesis` and `presize` say.

use std::sync::{Arc, Mutex, MutexGuard};

use cuzk_cpu::Arithmetic;
use cuzk_filecoin::{Kind, Statement};
use cuzk_groth16::{Fr, Observer, Phase, Presize, Shape, Synthesis, Tuning, Work, timed};
use cuzk_r1cs::{PackedWitness, Template, TemplateParts};

use crate::commands::template;
use crate::failure::Failure;
use crate::progress::Progress;

/// Whether the witness is compared with C·w.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WitnessCheck {
    Skip,
    EveryConstraint,
}

/// Synthesizes partitions of one circuit.
pub(crate) struct Synthesizer {
    way: Way,
    check: WitnessCheck,
    /// The scalars of earlier witnesses, whose memory the next ones take.
    spare: Mutex<Vec<Vec<Fr>>>,
}

enum Way {
    /// The witness is written where `direct`, else walked.
    ByTemplate {
        template: Arc<Template>,
        direct: bool,
        /// What it is written with.
        arithmetic: Arithmetic,
    },
    ByEnforcing(Presize),
}

/// What is left of a partition.
pub(crate) enum Synthesized {
    Packed { witness: Arc<PackedWitness>, template: Arc<Template> },
    Evaluated(cuzk_r1cs::Synthesis),
}

impl Synthesizer {
    /// For the circuit of `statement`; its template is read or derived here.
    pub(crate) fn new(
        statement: &Statement,
        tuning: &Tuning,
        check: WitnessCheck,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let way = match tuning.synthesis {
            Synthesis::Direct | Synthesis::Template => {
                let parts = match check {
                    WitnessCheck::Skip => TemplateParts::Prover,
                    WitnessCheck::EveryConstraint => TemplateParts::All,
                };
                let found = template(&statement.registered_proof(), parts, progress)?;
                let direct = tuning.synthesis == Synthesis::Direct && found.known;
                let arithmetic = if direct { Arithmetic::of(tuning.isa)? } else { Arithmetic::portable() };
                Way::ByTemplate { template: Arc::new(found.template), direct, arithmetic }
            }
            Synthesis::Enforce => Way::ByEnforcing(tuning.presize),
        };
        Ok(Synthesizer { way, check, spare: Mutex::default() })
    }

    /// The witness, where the next one can take its memory: for [`Synthesizer::recycle`], when nothing else has it any more.
    pub(crate) fn to_recycle(&self, synthesized: &Synthesized) -> Option<Arc<PackedWitness>> {
        match (&self.way, synthesized) {
            (Way::ByTemplate { direct: true, .. }, Synthesized::Packed { witness, .. }) => {
                Some(witness.clone())
            }
            _ => None,
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<Fr>>> {
        self.spare.lock().expect("no panic while held")
    }

    /// Takes a witness back that is not needed any more.
    pub(crate) fn recycle(&self, witness: Arc<PackedWitness>) {
        if let Ok(witness) = Arc::try_unwrap(witness) {
            self.spare().push(witness.scalars);
        }
    }

    /// The template, where one was read or derived.
    pub(crate) fn template(&self) -> Option<&Arc<Template>> {
        match &self.way {
            Way::ByTemplate { template, .. } => Some(template),
            Way::ByEnforcing(_) => None,
        }
    }

    /// How many partitions to ask for at a time: one, unless its walk keeps only one thread busy.
    pub(crate) fn partitions_at_once(&self, statement: &Statement) -> usize {
        match (&self.way, statement.kind()) {
            (Way::ByTemplate { direct: false, .. }, Kind::Snap) => rayon::current_num_threads(),
            _ => 1,
        }
    }

    /// The witnesses of partitions, and their a and b where one walk computes them, too.
    pub(crate) fn synthesize(
        &self,
        statement: &Statement,
        partitions: &[usize],
        observer: &dyn Observer,
    ) -> Result<Vec<Synthesized>, Failure> {
        match &self.way {
            Way::ByTemplate { template, direct, arithmetic } => {
                let witnesses = timed(observer, Phase::Witness, || match direct {
                    true => partitions
                        .iter()
                        .map(|partition| {
                            let (engine, spare) =
                                (arithmetic.engine(), self.spare().pop().unwrap_or_default());
                            statement.write_witness(*partition, template, engine, spare)
                        })
                        .collect(),
                    false => statement.witnesses(partitions, template),
                })?;
                if self.check == WitnessCheck::EveryConstraint {
                    timed(observer, Phase::Check, || {
                        let mut all = partitions.iter().zip(&witnesses);
                        all.try_for_each(|(partition, witness)| {
                            if *direct {
                                statement.check_written(*partition, template, witness)?;
                            }
                            statement.check_witness(*partition, template, witness)
                        })
                    })?;
                }
                let packed =
                    |witness| Synthesized::Packed { witness: Arc::new(witness), template: template.clone() };
                Ok(witnesses.into_iter().map(packed).collect())
            }
            Way::ByEnforcing(presize) => timed(observer, Phase::Synthesis, || {
                let enforce = |partition: &usize| {
                    let partition = *partition;
                    let synthesis = match (self.check, presize) {
                        (WitnessCheck::EveryConstraint, _) => statement.synthesize_checked(partition),
                        (WitnessCheck::Skip, Presize::On) => statement.synthesize_presized(partition),
                        (WitnessCheck::Skip, Presize::Off) => statement.synthesize(partition),
                    }?;
                    Ok(Synthesized::Evaluated(synthesis))
                };
                partitions.iter().map(enforce).collect()
            }),
        }
    }
}

impl Synthesized {
    /// The shape of the circuit.
    pub(crate) fn shape(&self) -> Result<Shape, cuzk_groth16::Error> {
        match self {
            Synthesized::Packed { template, .. } => Shape::of_template(template),
            Synthesized::Evaluated(synthesis) => Shape::of(synthesis),
        }
    }

    /// Work for a session of this shape. (A packed witness was compared with its template.)
    pub(crate) fn into_work(self, shape: &Shape) -> Result<Work, cuzk_groth16::Error> {
        match self {
            Synthesized::Packed { witness, template } => Ok(Work::Packed { witness, template }),
            Synthesized::Evaluated(synthesis) => {
                shape.check_synthesis(&synthesis)?;
                Ok(synthesis.into())
            }
        }
    }
}
