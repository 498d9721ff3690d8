//! The reference prover: unmodified bellperson, and the digests of its intermediate values.
//!
//! [`prove`] is upstream's `create_proof_batch` of one. It keeps its intermediate values to itself, so [`prove_in_steps`] computes
//! the same proof once more over upstream's public pieces (`domain`, `multiexp`, `LinearCombination::eval`), in the
//! order of its native prover, and reports the digest of each step. Of ours, only the walk (which hands upstream's linear
//! combinations on as they are) and the assembly take part, and a caller compares the two proofs.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bellpepper_core::{Circuit, SynthesisError};
use bellperson::domain::EvaluationDomain;
use bellperson::gpu::{LockedFftKernel, LockedMultiexpKernel};
use bellperson::groth16::{self as upstream, ParameterSource};
use bellperson::multiexp::{DensityTracker, multiexp};
use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cuzk_groth16::{
    Blinding, MsmResults, Observer, Phase, Proof, Step, VerifyingKey, assemble, digest_g1, digest_g2,
    digest_scalars, timed,
};
use cuzk_r1cs::{Row, Sink};
use ec_gpu_gen::multiexp_cpu::{FullDensity, QueryDensity, SourceBuilder};
use ec_gpu_gen::threadpool::Worker;
use ff::{Field, PrimeField};

use crate::Error;

/// Parameters as bellperson holds them, all in memory.
pub struct ReferenceParameters {
    parameters: upstream::Parameters<Bls12>,
    /// For supraseal-c2, which reads the file itself.
    #[cfg(feature = "cuda-supraseal")]
    on_device: upstream::SuprasealParameters<Bls12>,
    key: VerifyingKey,
}

/// A proof by upstream, and how long its prover took.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceProof {
    /// The proof.
    pub proof: Proof,
    /// From the circuit to the proof, synthesis included.
    pub elapsed: Duration,
}

impl ReferenceParameters {
    /// Reads a parameter file through bellperson, on one thread as it does: about 5 s a GiB.
    pub fn open(path: &Path, observer: &dyn Observer) -> Result<Self, Error> {
        timed(observer, Phase::LoadParameters, || {
            let key = cuzk_groth16::Parameters::open(path)?.verifying_key().clone();
            let io = |source| Error::Groth16(cuzk_groth16::Error::Io { path: path.to_owned(), source });
            let file = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
            let parameters = upstream::Parameters::read(file, false).map_err(io)?;
            Ok(ReferenceParameters {
                parameters,
                #[cfg(feature = "cuda-supraseal")]
                on_device: upstream::SuprasealParameters::new(path.to_owned()).map_err(io)?,
                key,
            })
        })
    }

    #[cfg(not(feature = "cuda-supraseal"))]
    fn source(&self) -> &upstream::Parameters<Bls12> {
        &self.parameters
    }

    #[cfg(feature = "cuda-supraseal")]
    fn source(&self) -> &upstream::SuprasealParameters<Bls12> {
        &self.on_device
    }

    /// The verifying key.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.key
    }
}

/// Proves through bellperson's `create_proof_batch`.
pub fn prove(
    circuit: impl Circuit<Fr> + Send,
    parameters: &ReferenceParameters,
    blinding: &Blinding,
) -> Result<ReferenceProof, Error> {
    let start = Instant::now();
    // A batch of one is what `create_proof` makes; with the feature for supraseal-c2 only this form can be called.
    let (r, s) = (vec![blinding.r], vec![blinding.s]);
    let proofs = upstream::create_proof_batch(vec![circuit], parameters.source(), r, s).map_err(failed)?;
    let elapsed = start.elapsed();
    let upstream::Proof { a, b, c } = proofs.into_iter().next().expect("one of one circuit");
    Ok(ReferenceProof { proof: Proof { a, b, c }, elapsed })
}

fn failed(error: SynthesisError) -> Error {
    Error::Groth16(cuzk_groth16::Error::Synthesis(error))
}

/// Proves over upstream's public pieces and reports each step.
pub fn prove_in_steps(
    circuit: impl Circuit<Fr> + Send,
    parameters: &ReferenceParameters,
    blinding: &Blinding,
    observer: &dyn Observer,
) -> Result<Proof, Error> {
    let assignment = Assignment::of(circuit).map_err(failed)?;
    observer.digest(Step::Witness, digest_scalars(&[&assignment.inputs, &assignment.aux]));
    observer.digest(Step::A, digest_scalars(&[&assignment.a]));
    observer.digest(Step::B, digest_scalars(&[&assignment.b]));
    observer.digest(Step::C, digest_scalars(&[&assignment.c]));
    let sums = assignment.sums(&parameters.parameters, observer).map_err(failed)?;
    for (step, sum) in
        [(Step::MsmH, sums.h), (Step::MsmL, sums.l), (Step::MsmA, sums.a), (Step::MsmBG1, sums.b_g1)]
    {
        observer.digest(step, digest_g1(&sum));
    }
    observer.digest(Step::MsmBG2, digest_g2(&sums.b_g2));
    Ok(assemble(&parameters.key, &sums, blinding)?)
}

/// The assignment and the three evaluated vectors, with upstream's density trackers.
#[derive(Default)]
struct Assignment {
    inputs: Vec<Fr>,
    aux: Vec<Fr>,
    a: Vec<Fr>,
    b: Vec<Fr>,
    c: Vec<Fr>,
    a_aux_density: DensityTracker,
    b_input_density: DensityTracker,
    b_aux_density: DensityTracker,
}

impl Assignment {
    fn of(circuit: impl Circuit<Fr>) -> Result<Self, SynthesisError> {
        let mut assignment = Self::default();
        cuzk_r1cs::walk(circuit, &mut assignment)?;
        Ok(assignment)
    }

    /// h, then the five sums.
    fn sums(
        self,
        parameters: &upstream::Parameters<Bls12>,
        observer: &dyn Observer,
    ) -> Result<MsmResults, SynthesisError> {
        let worker = Worker::new();
        let h = quotient(&worker, self.a, self.b, self.c)?;
        observer.digest(Step::H, digest_scalars(&[&h]));
        let sizes = (self.inputs.len(), self.aux.len());
        let densities =
            (Arc::new(self.a_aux_density), Arc::new(self.b_input_density), Arc::new(self.b_aux_density));
        let (a_aux, b_input, b_aux) = densities;
        let (h, inputs, aux) = (exponents(h), exponents(self.inputs), exponents(self.aux));

        let (a_inputs_bases, a_aux_bases) = parameters.get_a(sizes.0, a_aux.get_total_density())?;
        let b_totals = (b_input.get_total_density(), b_aux.get_total_density());
        let (b1_inputs_bases, b1_aux_bases) = parameters.get_b_g1(b_totals.0, b_totals.1)?;
        let (b2_inputs_bases, b2_aux_bases) = parameters.get_b_g2(b_totals.0, b_totals.1)?;
        Ok(MsmResults {
            h: sum_g1(&worker, parameters.get_h(h.len() + 1)?, FullDensity, &h)?,
            l: sum_g1(&worker, parameters.get_l(sizes.1)?, FullDensity, &aux)?,
            a: sum_g1(&worker, a_inputs_bases, FullDensity, &inputs)?
                + sum_g1(&worker, a_aux_bases, a_aux, &aux)?,
            b_g1: sum_g1(&worker, b1_inputs_bases, b_input.clone(), &inputs)?
                + sum_g1(&worker, b1_aux_bases, b_aux.clone(), &aux)?,
            b_g2: sum_g2(&worker, b2_inputs_bases, b_input, &inputs)?
                + sum_g2(&worker, b2_aux_bases, b_aux, &aux)?,
        })
    }
}

/// The n − 1 coefficients of h, by upstream's seven transforms.
fn quotient(worker: &Worker, a: Vec<Fr>, b: Vec<Fr>, c: Vec<Fr>) -> Result<Vec<Fr>, SynthesisError> {
    let mut kernel: Option<LockedFftKernel<Fr>> = None;
    let [mut a, mut b, mut c] = [
        EvaluationDomain::from_coeffs(a)?,
        EvaluationDomain::from_coeffs(b)?,
        EvaluationDomain::from_coeffs(c)?,
    ];
    let transformed = (|| {
        EvaluationDomain::ifft_many(&mut [&mut a, &mut b, &mut c], worker, &mut kernel)?;
        EvaluationDomain::coset_fft_many(&mut [&mut a, &mut b, &mut c], worker, &mut kernel)?;
        a.mul_assign(worker, &b);
        a.sub_assign(worker, &c);
        a.divide_by_z_on_coset(worker);
        a.icoset_fft(worker, &mut kernel)
    })();
    transformed.map_err(std::io::Error::other)?;
    let mut h = a.into_coeffs();
    h.pop();
    Ok(h)
}

type Exponents = Arc<Vec<<Fr as PrimeField>::Repr>>;

fn exponents(scalars: Vec<Fr>) -> Exponents {
    Arc::new(scalars.iter().map(PrimeField::to_repr).collect())
}

macro_rules! sum {
    ($name:ident, $affine:ty, $projective:ty) => {
        fn $name<D, Q, S>(
            worker: &Worker,
            bases: S,
            density: D,
            exponents: &Exponents,
        ) -> Result<$projective, SynthesisError>
        where
            for<'a> &'a Q: QueryDensity,
            D: Send + Sync + 'static + Clone + AsRef<Q>,
            S: SourceBuilder<$affine>,
        {
            let mut kernel = LockedMultiexpKernel::<$affine>::new(false);
            let sum = multiexp(worker, bases, density, exponents.clone(), &mut kernel).wait();
            Ok(sum.map_err(std::io::Error::other)?)
        }
    };
}

sum!(sum_g1, G1Affine, G1Projective);
sum!(sum_g2, G2Affine, G2Projective);

impl Sink for Assignment {
    fn alloc(&mut self, value: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        self.aux.push(value()?);
        self.a_aux_density.add_element();
        self.b_aux_density.add_element();
        Ok(())
    }

    fn alloc_input(
        &mut self,
        value: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        self.inputs.push(value()?);
        self.b_input_density.add_element();
        Ok(())
    }

    fn enforce(&mut self, row: &mut dyn Row) {
        let [a, b, c] = [row.a(), row.b(), row.c()];
        for (combination, values) in [(&a, &mut self.a), (&b, &mut self.b), (&c, &mut self.c)] {
            values.push(combination.eval(&self.inputs, &self.aux));
        }
        let occurring = |coefficient: &Fr| !bool::from(coefficient.is_zero());
        a.iter_aux().filter(|term| occurring(term.1)).for_each(|term| self.a_aux_density.inc(*term.0));
        b.iter_aux().filter(|term| occurring(term.1)).for_each(|term| self.b_aux_density.inc(*term.0));
        b.iter_inputs().filter(|term| occurring(term.1)).for_each(|term| self.b_input_density.inc(*term.0));
    }
}
