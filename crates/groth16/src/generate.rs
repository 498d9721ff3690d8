//! Parameters from a known trapdoor. Whoever knows it can forge proofs: for tests only.
//!
//! With the Lagrange polynomials Lⱼ of the domain and column i of A, Aᵢ(τ) = Σⱼ A[j][i]·Lⱼ(τ), likewise B and C
//! (Groth16, section 3.2; the division of labour between γ and δ is that of the verifying key and the queries in
//! [`crate::Parameters`]).

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use blake2b_simd::State;
use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use cuzk_r1cs::{ColumnSums, Side};
use ff::{BatchInvert, Field};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rayon::prelude::*;

use crate::parameters::{Point, Query};
use crate::{Domain, Error, VerifyingKey};

/// Multiples of the generators by many scalars. A device may fail.
pub trait FixedBase: Send + Sync {
    /// `scalars[i]·G₁` for the generator of G1.
    fn g1(&self, scalars: &[Fr]) -> Result<Vec<G1Affine>, Error>;

    /// `scalars[i]·G₂` for the generator of G2.
    fn g2(&self, scalars: &[Fr]) -> Result<Vec<G2Affine>, Error>;

    /// [`FixedBase::g1`] as [`encode_g1`] encodes it.
    fn g1_encoded(&self, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        Ok(encode_g1(&self.g1(scalars)?))
    }

    /// [`FixedBase::g2`] as [`encode_g2`] encodes it.
    fn g2_encoded(&self, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        Ok(encode_g2(&self.g2(scalars)?))
    }
}

/// Points of G1 as parameter files store them, 96 bytes each: x, y, big-endian; at infinity 0x40 and zeros.
pub fn encode_g1(points: &[G1Affine]) -> Vec<u8> {
    encode(points)
}

/// Points of G2 as parameter files store them, 192 bytes each: x, y, each c₁, c₀, big-endian; at infinity 0x40 and
/// zeros.
pub fn encode_g2(points: &[G2Affine]) -> Vec<u8> {
    encode(points)
}

fn encode<P: Point>(points: &[P]) -> Vec<u8> {
    let mut bytes = vec![0; points.len() * P::BYTES];
    (bytes.par_chunks_exact_mut(P::BYTES).zip(points).with_min_len(1 << 8))
        .for_each(|(bytes, point)| point.encode(bytes));
    bytes
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
    let verifying_key = verifying_key(fixed_base, trapdoor, &scalars.ic)?;
    let mut file = FileWriter { out, hash: State::new(), n_bytes: 0 };
    file.write(&verifying_key.to_bytes())?;
    let (all, mut done) = (scalars.n(), 0);
    // Points are computed a block ahead of the one that is hashed and written, which takes one thread.
    let mut ready = Encoded::default();
    for block in scalars.blocks()? {
        let mut next = Ok(Encoded::default());
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| next = scalars.encode(fixed_base, &block));
            file.write(&ready.bytes)
        })?;
        done += ready.n_points;
        progress(done, all);
        ready = next?;
    }
    file.write(&ready.bytes)?;
    progress(all, all);
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

        // One side after the other: each takes 32 bytes a variable, which are 4 GB of a PoRep of 32 GiB.
        let lagrange = lagrange_at(&domain, &trapdoor.tau, system.n_rows());
        let mut ext = system.column_sums(Side::C, &lagrange);
        let b = system.column_sums(Side::B, &lagrange);
        add_products(&mut ext, &trapdoor.alpha, &b);
        let b = without_zeros(b);
        let a = system.column_sums(Side::A, &lagrange);
        drop(lagrange);
        add_products(&mut ext, &trapdoor.beta, &a);
        let a = without_zeros(a);
        let (inputs, aux) = ext.split_at_mut(system.n_inputs());
        inputs.iter_mut().for_each(|value| *value *= gamma_inverse);
        aux.par_iter_mut().with_min_len(1 << 10).for_each(|value| *value *= delta_inverse);
        if let Some(index) = aux.par_iter().position_first(|value| value.is_zero_vartime()) {
            return Err(Error::Unconstrained { index });
        }
        let ic = ext.drain(..system.n_inputs()).collect();
        let h = Powers { first: vanishing * delta_inverse, ratio: trapdoor.tau, n: domain.n() - 1 };
        Ok(QueryScalars { ic, h, l: ext, a, b })
    }

    /// Points in the file, those of the key excluded.
    fn n(&self) -> usize {
        Query::ALL.into_iter().map(|query| self.len(query)).sum()
    }

    fn len(&self, query: Query) -> usize {
        match query {
            Query::H => self.h.n,
            Query::L => self.l.len(),
            Query::A => self.a.len(),
            Query::BG1 | Query::BG2 => self.b.len(),
        }
    }

    /// All queries in the order of the file, in blocks of at most [`BLOCK_POINTS`]; an empty query is an empty block.
    fn blocks(&self) -> io::Result<Vec<Block>> {
        let mut blocks = vec![];
        for query in Query::ALL {
            let n = self.len(query);
            if u32::try_from(n).is_err() {
                return Err(io::Error::other("more than 2^32 points in a query"));
            }
            let starts = (0..n.max(1)).step_by(BLOCK_POINTS);
            blocks.extend(starts.map(|start| Block { query, range: start..n.min(start + BLOCK_POINTS) }));
        }
        Ok(blocks)
    }

    /// Those of some points of a query.
    fn of(&self, query: Query, range: Range<usize>) -> Cow<'_, [Fr]> {
        match query {
            Query::H => Cow::Owned(self.h.block(range)),
            Query::L => Cow::Borrowed(&self.l[range]),
            Query::A => Cow::Borrowed(&self.a[range]),
            Query::BG1 | Query::BG2 => Cow::Borrowed(&self.b[range]),
        }
    }

    /// The bytes of a block, with the query's count before its first.
    fn encode(&self, fixed_base: &dyn FixedBase, Block { query, range }: &Block) -> Result<Encoded, Error> {
        let scalars = self.of(*query, range.clone());
        let points = match query {
            Query::BG2 => fixed_base.g2_encoded(&scalars),
            _ => fixed_base.g1_encoded(&scalars),
        }?;
        let count = (self.len(*query) as u32).to_be_bytes();
        let bytes = if range.start == 0 { [&count, &points[..]].concat() } else { points };
        Ok(Encoded { bytes, n_points: range.len() })
    }
}

/// The points of the queries, computed whenever they are asked for.
pub(crate) struct ComputedPoints {
    scalars: QueryScalars,
    fixed_base: Box<dyn FixedBase>,
}

impl ComputedPoints {
    pub(crate) fn new(
        fixed_base: Box<dyn FixedBase>,
        system: &dyn ColumnSums,
        trapdoor: &Trapdoor,
    ) -> Result<(VerifyingKey, Self), Error> {
        let scalars = QueryScalars::new(system, trapdoor)?;
        let key = verifying_key(&*fixed_base, trapdoor, &scalars.ic)?;
        Ok((key, ComputedPoints { scalars, fixed_base }))
    }

    pub(crate) fn n_points(&self, query: Query) -> usize {
        self.scalars.len(query)
    }

    /// Points of a query in G1.
    pub(crate) fn g1(&self, query: Query, range: Range<usize>) -> Result<Vec<G1Affine>, Error> {
        assert_ne!(query, Query::BG2, "query b_g2 is in the other group");
        self.fixed_base.g1(&self.scalars.of(query, range))
    }

    /// Points of the query in G2.
    pub(crate) fn g2(&self, range: Range<usize>) -> Result<Vec<G2Affine>, Error> {
        self.fixed_base.g2(&self.scalars.of(Query::BG2, range))
    }
}

/// `sums[i] += factor·values[i]`.
fn add_products(sums: &mut [Fr], factor: &Fr, values: &[Fr]) {
    sums.par_iter_mut().zip(values).with_min_len(1 << 10).for_each(|(sum, value)| *sum += *factor * value);
}

/// In their order, and in no more memory than they need.
fn without_zeros(mut values: Vec<Fr>) -> Vec<Fr> {
    values.retain(|value| !value.is_zero_vartime());
    values.shrink_to_fit();
    values
}

/// A part of a query.
struct Block {
    query: Query,
    range: Range<usize>,
}

/// Its bytes in the file.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    n_points: usize,
}

/// first·ratioⁱ for i below n.
struct Powers {
    first: Fr,
    ratio: Fr,
    n: usize,
}

impl Powers {
    fn block(&self, range: Range<usize>) -> Vec<Fr> {
        const PIECE: usize = 1 << 12;
        let mut powers = vec![Fr::ZERO; range.len()];
        powers.par_chunks_mut(PIECE).enumerate().for_each(|(piece, powers)| {
            let mut power = self.first * self.ratio.pow_vartime([(range.start + piece * PIECE) as u64]);
            for place in powers {
                *place = power;
                power *= self.ratio;
            }
        });
        powers
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

fn verifying_key(fixed_base: &dyn FixedBase, trapdoor: &Trapdoor, ic: &[Fr]) -> Result<VerifyingKey, Error> {
    let Trapdoor { alpha, beta, gamma, delta, tau: _ } = *trapdoor;
    let g1 = fixed_base.g1(&[alpha, beta, delta])?;
    let g2 = fixed_base.g2(&[beta, gamma, delta])?;
    Ok(VerifyingKey {
        alpha_g1: g1[0],
        beta_g1: g1[1],
        beta_g2: g2[0],
        gamma_g2: g2[1],
        delta_g1: g1[2],
        delta_g2: g2[2],
        ic: fixed_base.g1(ic)?,
    })
}

/// Points multiplied and written at a time: 24 MiB in G1.
const BLOCK_POINTS: usize = 1 << 18;

struct FileWriter<'a> {
    out: &'a mut dyn Write,
    hash: State,
    n_bytes: u64,
}

impl FileWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.n_bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_queries_in_order() {
        let n = BLOCK_POINTS;
        let scalars = QueryScalars {
            ic: vec![],
            h: Powers { first: Fr::ONE, ratio: Fr::from(3), n: 2 * n + 1 },
            l: vec![Fr::ONE; n],
            a: vec![Fr::ONE; n + 1],
            b: vec![],
        };
        let blocks = scalars.blocks().unwrap();
        let found: Vec<(Query, Range<usize>)> =
            blocks.into_iter().map(|Block { query, range }| (query, range)).collect();
        let expected = [
            (Query::H, 0..n),
            (Query::H, n..2 * n),
            (Query::H, 2 * n..2 * n + 1),
            (Query::L, 0..n),
            (Query::A, 0..n),
            (Query::A, n..n + 1),
            (Query::BG1, 0..0),
            (Query::BG2, 0..0),
        ];
        assert_eq!(found, expected);
        assert_eq!(scalars.n(), 4 * n + 2);
    }

    #[test]
    fn powers_of_a_block() {
        let powers = Powers { first: Fr::from(5), ratio: Fr::from(3), n: 20_000 };
        let block = powers.block(7..10_007);
        for (index, power) in [(0, 7), (1, 8), (4095, 4102), (4096, 4103), (9_999, 10_006)] {
            assert_eq!(block[index], Fr::from(5) * Fr::from(3).pow_vartime([power]));
        }
        assert_eq!(block.len(), 10_000);
    }
}
