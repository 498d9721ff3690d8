//! The interface of the backends.

use std::sync::Arc;

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use cuzk_r1cs::{Densities, PackedWitness, Synthesis, Template};

use crate::{Blinding, Domain, Error, Observer, Parameters, Proof, Query, Tuning};

/// What of a circuit a backend must know before the first witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows, those of the inputs included.
    pub n_rows: usize,
    /// Number of inputs, ONE included.
    pub n_inputs: usize,
    /// Number of aux variables.
    pub n_aux: usize,
    /// Which variables have points in the queries A and B.
    pub densities: Densities,
    /// The evaluation domain.
    pub domain: Domain,
}

impl Shape {
    /// The shape of the circuit that `synthesis` walked.
    pub fn of(synthesis: &Synthesis) -> Result<Self, Error> {
        Ok(Shape {
            n_rows: synthesis.a.len(),
            n_inputs: synthesis.inputs.len(),
            n_aux: synthesis.aux.len(),
            densities: synthesis.densities.clone(),
            domain: Domain::for_rows(synthesis.a.len())?,
        })
    }

    /// The shape of the circuit that `template` stands for.
    pub fn of_template(template: &Template) -> Result<Self, Error> {
        Ok(Shape {
            n_rows: template.n_rows(),
            n_inputs: template.n_inputs(),
            n_aux: template.n_aux(),
            densities: template.densities(),
            domain: Domain::for_rows(template.n_rows())?,
        })
    }

    /// The number of points that `query` has for this circuit.
    pub fn n_points(&self, query: Query) -> usize {
        match query {
            Query::H => self.domain.n() - 1,
            Query::L => self.n_aux,
            Query::A => self.n_inputs + self.densities.a_aux.count_ones(),
            Query::BG1 | Query::BG2 => {
                self.densities.b_inputs.count_ones() + self.densities.b_aux.count_ones()
            }
        }
    }

    /// Refuses parameters whose queries have other lengths than this circuit needs.
    pub fn check_parameters(&self, parameters: &Parameters) -> Result<(), Error> {
        let lengths = Query::ALL
            .iter()
            .map(|&query| (query.name(), self.n_points(query), parameters.n_points(query)))
            .chain([("ic", self.n_inputs, parameters.verifying_key().ic.len())]);
        for (query, expected, found) in lengths {
            if expected != found {
                return Err(Error::OtherCircuit {
                    path: parameters.path().to_owned(),
                    query,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }

    /// Refuses a synthesis of another circuit.
    pub fn check_synthesis(&self, synthesis: &Synthesis) -> Result<(), Error> {
        let what = if synthesis.a.len() != self.n_rows || synthesis.b.len() != self.n_rows {
            "number of rows"
        } else if synthesis.inputs.len() != self.n_inputs {
            "number of inputs"
        } else if synthesis.aux.len() != self.n_aux {
            "number of aux variables"
        } else if synthesis.densities != self.densities {
            "which variables occur in A or B"
        } else {
            return Ok(());
        };
        Err(Error::ShapeChanged { what })
    }
}

/// For each point of the A and B queries, its variable's position in w = (inputs, aux).
#[derive(Clone, Debug)]
pub struct Columns {
    /// Of the A query.
    pub a: Vec<u32>,
    /// Of the B query, in G1 and in G2.
    pub b: Vec<u32>,
}

impl Columns {
    /// From the densities: every input and the dense aux variables for A, the dense ones of both for B.
    pub fn of(shape: &Shape) -> Self {
        let column = |position: usize| u32::try_from(position).expect("a query has at most 2^32 points");
        let aux = |index| column(shape.n_inputs + index);
        let densities = &shape.densities;
        let shift = usize::from(injected(Fault::DensityIndex));
        let a_aux = densities.a_aux.ones().map(|index| aux(index.saturating_sub(shift)));
        let mut columns = Columns {
            a: (0..shape.n_inputs).map(column).chain(a_aux).collect(),
            b: densities.b_inputs.ones().map(column).chain(densities.b_aux.ones().map(aux)).collect(),
        };
        if injected(Fault::DensityOrder) {
            let middle = columns.b.len() / 2;
            columns.b.swap(middle, middle + 1);
        }
        columns
    }
}

/// The witness of one partition, as a session takes it.
#[derive(Clone, Debug)]
pub enum Work {
    /// A witness with a and b already evaluated.
    Evaluated {
        /// The inputs, ONE first.
        inputs: Vec<Fr>,
        /// The aux variables.
        aux: Vec<Fr>,
        /// `A·w`, one value a row.
        a: Vec<Fr>,
        /// `B·w`.
        b: Vec<Fr>,
    },
    /// A packed witness, of which the backend evaluates a and b.
    Packed {
        /// The witness; shared, so that its memory can be used again afterwards.
        witness: Arc<PackedWitness>,
        /// Its circuit.
        template: Arc<Template>,
    },
}

impl From<Synthesis> for Work {
    fn from(synthesis: Synthesis) -> Self {
        let Synthesis { inputs, aux, a, b, densities: _ } = synthesis;
        Work::Evaluated { inputs, aux, a, b }
    }
}

/// A way of computing proofs.
pub trait Backend: Sync {
    /// The name in `--backend` and in reports.
    fn name(&self) -> &'static str;

    /// Loads the parameters for a circuit of shape `shape`. Only a session that was prepared with a template takes packed witnesses,
    /// and those of that template.
    fn prepare(
        &self,
        shape: &Shape,
        template: Option<&Arc<Template>>,
        parameters: &Parameters,
        tuning: &Tuning,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Session>, Error>;
}

/// A backend with one circuit's parameters loaded.
pub trait Session: Send {
    /// Computes one proof. With `observer.wants_digests()`, the steps from [`crate::Step::Witness`] on are reported.
    ///
    /// The result is not verified here. Work of another shape than the session's is a caller's error and panics;
    /// [`Shape::check_synthesis`] tells beforehand.
    fn prove(&mut self, work: Work, blinding: &Blinding, observer: &dyn Observer) -> Result<Proof, Error>;

    /// The memory that it takes on a device, in bytes; `None` where there is no device.
    fn device_memory_bytes(&self) -> Option<u64> {
        None
    }
}
