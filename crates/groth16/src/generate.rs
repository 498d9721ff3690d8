//! Parameters from a known trapdoor. Whoever knows it can forge proofs: for tests only.
//!
//! With the Lagrange polynomials Lⱼ of the domain and column i of A, Aᵢ(τ) = Σⱼ A[j][i]·Lⱼ(τ), likewise B and C
//! (Groth16, section 3.2; the division of labour between γ and δ is that of the verifying key and the queries in
//! [`crate::Parameters`]).

use std::io::{self, Write};

use blake2b_simd::State;
use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use cuzk_r1cs::{ColumnSums, Side};
use ff::{BatchInvert, Field};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rayon::prelude::*;

use crate::parameters::Point;
use crate::{Domain, Error, VerifyingKey};

/// Multiples of the generators by many scalars.
pub trait FixedBase: Sync {
    /// `scalars[i]·G₁` for the generator of G1.
    fn g1(&self, scalars: &[Fr]) -> Vec<G1Affine>;

    /// `scalars[i]·G₂` for the generator of G2.
    fn g2(&self, scalars: &[Fr]) -> Vec<G2Affine>;
}

/// The secret values of a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trapdoor {
    /// α.
    pub alpha: Fr,
    /// β.
    pub beta: Fr,
    /// γ.
    pub gamma: Fr,
    /// δ.
    pub delta: Fr,
    /// τ, the point at which the polynomials are evaluated.
    pub tau: Fr,
}

impl Trapdoor {
    /// The trapdoor of the test parameters with this seed, for the circuit of this name: α, β, γ, δ, τ are drawn in
    /// this order, each as [`crate::Blinding::from_insecure_seed`] draws a scalar, from ChaCha20 whose key is the
    /// BLAKE2b-256 of `"cuzk test parameters 1"`, the seed and the name.
    pub fn from_seed(seed: [u8; 32], circuit: &str) -> Self {
        let key = blake2b_simd::Params::new()
            .hash_length(32)
            .to_state()
            .update(b"cuzk test parameters 1")
            .update(&seed)
            .update(circuit.as_bytes())
            .finalize();
        let mut rng = ChaCha20Rng::from_seed(key.as_bytes().try_into().expect("32 bytes"));
        let mut next = || Fr::random(&mut rng);
        Trapdoor { alpha: next(), beta: next(), gamma: next(), delta: next(), tau: next() }
    }
}

/// What [`generate`] wrote.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The key at the head of the file.
    pub verifying_key: VerifyingKey,
    /// The size of the file in bytes.
    pub n_bytes: u64,
    /// BLAKE2b-512 of the file.
    pub blake2b_512: [u8; 64],
}

/// Writes the parameter file of a circuit for a trapdoor: the same bytes as bellperson's `generate_parameters` with
/// the standard generators, in a fraction of its time. `progress` hears of points done and of all points.
///
/// The matrices come from a recording or from a template, which needs a hundredth of the memory. Costs about n + 3·(inputs + aux) multiplications of fixed bases in G1 and one of four of that in G2 (PoRep).
pub fn generate(
    fixed_base: &dyn FixedBase,
    system: &dyn ColumnSums,
    trapdoor: &Trapdoor,
    out: &mut dyn Write,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Generated, GenerateError> {
    let scalars = QueryScalars::new(system, trapdoor)?;
    let mut file =
        FileWriter { fixed_base, out, hash: State::new(), n_bytes: 0, done: 0, all: scalars.n(), progress };
    let verifying_key = verifying_key(fixed_base, trapdoor, &scalars.ic);
    file.write(&verifying_key.to_bytes())?;
    file.g1(scalars.h.len(), |range| scalars.h.block(range))?;
    for query in [&scalars.l, &scalars.a, &scalars.b] {
        file.g1(query.len(), |range| query[range].to_vec())?;
    }
    file.g2(&scalars.b)?;
    let blake2b_512 = *file.hash.finalize().as_array();
    Ok(Generated { verifying_key, n_bytes: file.n_bytes, blake2b_512 })
}

/// Why parameters could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The circuit or the trapdoor will not do.
    #[error(transparent)]
    Circuit(#[from] Error),
    /// The file could not be written.
    #[error("writing parameters: {0}")]
    Write(#[from] io::Error),
}

/// The discrete logarithms of all points of the queries.
struct QueryScalars {
    ic: Vec<Fr>,
    h: Powers,
    l: Vec<Fr>,
    a: Vec<Fr>,
    b: Vec<Fr>,
}

impl QueryScalars {
    fn new(system: &dyn ColumnSums, trapdoor: &Trapdoor) -> Result<Self, Error> {
        let domain = Domain::for_rows(system.n_rows())?;
        let bad = |problem| Error::BadTrapdoor { problem };
        let invert = |value: &Fr, problem| Option::<Fr>::from(value.invert()).ok_or(bad(problem));
        let gamma_inverse = invert(&trapdoor.gamma, "gamma is zero")?;
        let delta_inverse = invert(&trapdoor.delta, "delta is zero")?;
        let vanishing = domain.vanishing(&trapdoor.tau);
        if vanishing.is_zero_vartime() {
            return Err(bad("tau is in the evaluation domain"));
        }

        let lagrange = lagrange_at(&domain, &trapdoor.tau, system.n_rows());
        let column_sums = |side| system.column_sums(side, &lagrange);
        let (a, (b, c)) = rayon::join(
            || column_sums(Side::A),
            || rayon::join(|| column_sums(Side::B), || column_sums(Side::C)),
        );
        let mut ext: Vec<Fr> = (a.par_iter().zip(&b).zip(&c).with_min_len(1 << 10))
            .map(|((a, b), c)| trapdoor.beta * a + trapdoor.alpha * b + c)
            .collect();
        let (inputs, aux) = ext.split_at_mut(system.n_inputs());
        inputs.iter_mut().for_each(|value| *value *= gamma_inverse);
        aux.par_iter_mut().for_each(|value| *value *= delta_inverse);
        let l = ext.split_off(system.n_inputs());
        if let Some(index) = l.iter().position(|value| value.is_zero_vartime()) {
            return Err(Error::Unconstrained { index });
        }
        let not_zero =
            |values: Vec<Fr>| values.into_iter().filter(|value| !value.is_zero_vartime()).collect();
        let h = Powers { first: vanishing * delta_inverse, ratio: trapdoor.tau, n: domain.n() - 1 };
        Ok(QueryScalars { ic: ext, h, l, a: not_zero(a), b: not_zero(b) })
    }

    /// Points in the file, those of the key excluded.
    fn n(&self) -> usize {
        self.h.len() + self.l.len() + self.a.len() + 2 * self.b.len()
    }
}

/// first·ratioⁱ for i below n.
struct Powers {
    first: Fr,
    ratio: Fr,
    n: usize,
}

impl Powers {
    fn len(&self) -> usize {
        self.n
    }

    fn block(&self, range: std::ops::Range<usize>) -> Vec<Fr> {
        let start = self.first * self.ratio.pow_vartime([range.start as u64]);
        std::iter::successors(Some(start), |power| Some(*power * self.ratio)).take(range.len()).collect()
    }
}

/// Lⱼ(x) = (xⁿ − 1)/n · ωʲ/(x − ωʲ) for the first `n_rows` rows; x must not be in the domain.
fn lagrange_at(domain: &Domain, x: &Fr, n_rows: usize) -> Vec<Fr> {
    const BLOCK: usize = 1 << 14;
    let factor = domain.vanishing(x) * domain.n_inverse();
    let mut values = vec![Fr::ZERO; n_rows];
    values.par_chunks_mut(BLOCK).enumerate().for_each(|(block, values)| {
        let mut root = domain.omega().pow_vartime([(block * BLOCK) as u64]);
        let numerators: Vec<Fr> = values
            .iter_mut()
            .map(|value| {
                *value = *x - root;
                let numerator = factor * root;
                root *= domain.omega();
                numerator
            })
            .collect();
        values.iter_mut().batch_invert();
        values.iter_mut().zip(numerators).for_each(|(value, numerator)| *value *= numerator);
    });
    values
}

fn verifying_key(fixed_base: &dyn FixedBase, trapdoor: &Trapdoor, ic: &[Fr]) -> VerifyingKey {
    let Trapdoor { alpha, beta, gamma, delta, tau: _ } = *trapdoor;
    let g1 = fixed_base.g1(&[alpha, beta, delta]);
    let g2 = fixed_base.g2(&[beta, gamma, delta]);
    VerifyingKey {
        alpha_g1: g1[0],
        beta_g1: g1[1],
        beta_g2: g2[0],
        gamma_g2: g2[1],
        delta_g1: g1[2],
        delta_g2: g2[2],
        ic: fixed_base.g1(ic),
    }
}

/// Points multiplied and written at a time: 24 MiB in G1.
const BLOCK_POINTS: usize = 1 << 18;

struct FileWriter<'a> {
    fixed_base: &'a dyn FixedBase,
    out: &'a mut dyn Write,
    hash: State,
    n_bytes: u64,
    done: usize,
    all: usize,
    progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl FileWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.n_bytes += bytes.len() as u64;
        Ok(())
    }

    fn g1(&mut self, n: usize, scalars: impl Fn(std::ops::Range<usize>) -> Vec<Fr>) -> io::Result<()> {
        let fixed_base = self.fixed_base;
        self.query(n, |range| fixed_base.g1(&scalars(range)))
    }

    fn g2(&mut self, scalars: &[Fr]) -> io::Result<()> {
        let fixed_base = self.fixed_base;
        self.query(scalars.len(), |range| fixed_base.g2(&scalars[range]))
    }

    fn query<P: Point>(
        &mut self,
        n: usize,
        points: impl Fn(std::ops::Range<usize>) -> Vec<P>,
    ) -> io::Result<()> {
        let count = u32::try_from(n).map_err(|_| io::Error::other("more than 2^32 points in a query"))?;
        self.write(&count.to_be_bytes())?;
        for start in (0..n).step_by(BLOCK_POINTS) {
            let points = points(start..n.min(start + BLOCK_POINTS));
            let mut bytes = vec![0; points.len() * P::BYTES];
            (bytes.par_chunks_exact_mut(P::BYTES).zip(&points).with_min_len(1 << 8))
                .for_each(|(bytes, point)| point.encode(bytes));
            self.write(&bytes)?;
            self.done += points.len();
            (self.progress)(self.done, self.all);
        }
        Ok(())
    }
}
