//! Multi-scalar sums Σ sᵢ·Pᵢ of witnesses, most of whose scalars are 0 or 1.
//!
//! Scalars that are 0 are passed over, the points whose scalar is 1 are summed by themselves in batched affine
//! additions, and the rest goes through blst's Pippenger, a share a thread.

use blstrs::Scalar as Fr;
use ff::Field;
use group::Group;
use rayon::prelude::*;

pub use crate::curve::Curve;

/// The terms of a sum, sorted by scalar.
pub struct Terms<'a, P> {
    /// Points whose scalar is 1.
    pub ones: Vec<&'a P>,
    /// Points whose scalar is neither 0 nor 1.
    pub points: Vec<&'a P>,
    /// Their scalars, as little-endian integers.
    pub scalars: Vec<[u8; 32]>,
}

impl<'a, P: Curve> Terms<'a, P> {
    /// Sorts the terms `scalar(i)·points[i]`.
    pub fn new(points: &'a [P], scalar: impl Fn(usize) -> Fr + Sync) -> Self {
        const PIECE: usize = 1 << 14;
        let pieces: Vec<Self> = points
            .par_chunks(PIECE)
            .enumerate()
            .map(|(piece, points)| {
                let mut terms = Terms { ones: vec![], points: vec![], scalars: vec![] };
                for (index, point) in points.iter().enumerate() {
                    terms.push(point, scalar(piece * PIECE + index));
                }
                terms
            })
            .collect();
        let mut terms = Terms { ones: vec![], points: vec![], scalars: vec![] };
        for piece in pieces {
            terms.ones.extend(piece.ones);
            terms.points.extend(piece.points);
            terms.scalars.extend(piece.scalars);
        }
        terms
    }

    fn push(&mut self, point: &'a P, scalar: Fr) {
        if scalar == Fr::ONE {
            self.ones.push(point);
        } else if !scalar.is_zero_vartime() {
            self.points.push(point);
            self.scalars.push(scalar.to_bytes_le());
        }
    }

    /// The sum of all terms.
    pub fn sum(&self) -> P::Curve {
        self.sum_of_ones() + self.sum_of_rest()
    }

    /// The sum of the points whose scalar is 1.
    pub fn sum_of_ones(&self) -> P::Curve {
        self.ones
            .par_chunks(share(self.ones.len()))
            .map(P::sum)
            .reduce(P::Curve::identity, |left, right| left + right)
    }

    /// The sum of the other terms.
    pub fn sum_of_rest(&self) -> P::Curve {
        let share = share(self.points.len());
        (self.points.par_chunks(share).zip(self.scalars.par_chunks(share)))
            .map(|(points, scalars)| P::pippenger(points, scalars))
            .reduce(P::Curve::identity, |left, right| left + right)
    }
}

/// A thread's share of n terms. Pippenger gains from long shares, so there is one a thread and no more.
fn share(n: usize) -> usize {
    n.div_ceil(rayon::current_num_threads()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blstrs::{G1Affine, G2Affine};
    use cuzk_groth16::FixedBase;
    use group::{Curve as _, prime::PrimeCurveAffine};
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Points with duplicates and opposites among them, and scalars of every class.
    fn agrees_with_naive<P: Curve>(multiples: &[i64], classes: &[u8], seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = multiples.len().min(classes.len());
        let points: Vec<P> = multiples[..n]
            .iter()
            .map(|&k| {
                let scalar = Fr::from(k.unsigned_abs() + 1);
                (P::generator() * if k < 0 { -scalar } else { scalar }).to_affine()
            })
            .collect();
        let scalars: Vec<Fr> = classes[..n]
            .iter()
            .map(|class| match class % 8 {
                0..3 => Fr::ONE,
                3..5 => Fr::ZERO,
                5 => -Fr::ONE,
                6 => Fr::from(2),
                _ => Fr::random(&mut rng),
            })
            .collect();
        let terms = Terms::new(&points, |index| scalars[index]);
        assert!(terms.sum() == cuzk_naive::msm(&points, &scalars));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn g1(multiples in proptest::collection::vec(-5i64..5, 0..70),
              classes in proptest::collection::vec(any::<u8>(), 70), seed: u64) {
            agrees_with_naive::<G1Affine>(&multiples, &classes, seed);
        }

        #[test]
        fn g2(multiples in proptest::collection::vec(-5i64..5, 0..40),
              classes in proptest::collection::vec(any::<u8>(), 40), seed: u64) {
            agrees_with_naive::<G2Affine>(&multiples, &classes, seed);
        }
    }

    #[test]
    fn one_class_only_and_more_than_a_piece() {
        let n = 40_000u64;
        let multiples: Vec<Fr> = (1..=n).map(Fr::from).collect();
        let points = crate::CpuFixedBase::new().g1(&multiples);
        for scalar in [Fr::ZERO, Fr::ONE, -Fr::ONE] {
            let terms = Terms::new(&points, |_| scalar);
            let expected = G1Affine::generator() * (scalar * Fr::from(n * (n + 1) / 2));
            assert_eq!(terms.sum(), expected);
        }
    }
}
