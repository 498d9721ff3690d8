//! Random scalars and points.

use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use cuzk_cpu::CpuFixedBase;
use cuzk_groth16::FixedBase;
use ff::Field;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// `n` scalars that look uniform; other ones for each seed.
pub(crate) fn scalars(n: usize, seed: u64) -> Vec<Fr> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| Fr::random(&mut rng)).collect()
}

/// Random multiples of the generator of G1.
pub(crate) fn g1(n: usize, seed: u64) -> Vec<G1Affine> {
    CpuFixedBase::default().g1(&scalars(n, seed)).expect("a processor does not fail")
}

/// Random multiples of the generator of G2.
pub(crate) fn g2(n: usize, seed: u64) -> Vec<G2Affine> {
    CpuFixedBase::default().g2(&scalars(n, seed)).expect("a processor does not fail")
}
