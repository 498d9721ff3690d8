//! Multiples of the generators by many scalars, with a table of every window's multiples.
//!
//! A scalar of 255 bits is cut into 16 windows of 16 bits with signed digits in (−2¹⁵, 2¹⁵]; the table holds
//! d·2^(16w)·G for every window w and d from 1 to 2¹⁵. A multiplication is then at most 16 lookups and 15 additions,
//! done for a batch of scalars at a time, window after window, in affine coordinates.

use std::ops::Range;
use std::sync::OnceLock;

use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use cuzk_groth16::FixedBase;
use group::{Curve as _, Group};
use rayon::prelude::*;

use crate::batch_add::BatchAdder;
use crate::curve::Curve;

/// Bits of a window: tables of 50 MB (G1) and 101 MB (G2), built in half a second on one core, against 15 additions
/// a multiplication. 2 bits more would save 1 addition and cost four times the table, which no longer fits a cache.
const WINDOW_BITS: usize = 16;
/// ⌈255/16⌉. The top window holds bits 240 to 254 and a carry, at most 0x73ee, so no carry leaves it.
const N_WINDOWS: usize = 16;
/// 2¹⁵: the largest digit.
const WINDOW_MULTIPLES: usize = 1 << (WINDOW_BITS - 1);
/// Scalars in a batch: 256 share an inversion of some 70 multiplications to within 5 % of the batch's cost, and
/// 1024 sums with their slopes (480 bytes each in G2) fit a second-level cache.
const BATCH: usize = 1024;

/// Fixed-base multiplication by table. The tables are built on first use.
#[derive(Default)]
pub struct CpuFixedBase {
    g1: OnceLock<Table<G1Affine>>,
    g2: OnceLock<Table<G2Affine>>,
}

impl CpuFixedBase {
    /// Without tables.
    pub fn new() -> Self {
        Self::default()
    }
}

impl FixedBase for CpuFixedBase {
    fn g1(&self, scalars: &[Fr]) -> Vec<G1Affine> {
        self.g1.get_or_init(Table::new).multiply(scalars)
    }

    fn g2(&self, scalars: &[Fr]) -> Vec<G2Affine> {
        self.g2.get_or_init(Table::new).multiply(scalars)
    }
}

struct Table<P> {
    /// `multiples[w·2¹⁵ + d − 1]` is d·2^(16w)·G.
    multiples: Vec<P>,
}

impl<P: Curve> Table<P> {
    fn new() -> Self {
        let mut multiples = vec![P::identity(); N_WINDOWS * WINDOW_MULTIPLES];
        multiples.par_chunks_mut(WINDOW_MULTIPLES).enumerate().for_each(|(window, multiples)| {
            let base = (0..window * WINDOW_BITS).fold(P::generator().to_curve(), |base, _| base.double());
            let base = base.to_affine();
            let running: Vec<P::Curve> =
                std::iter::successors(Some(base.to_curve()), |sum| Some(*sum + base))
                    .take(WINDOW_MULTIPLES)
                    .collect();
            P::Curve::batch_normalize(&running, multiples);
        });
        Table { multiples }
    }

    fn multiply(&self, scalars: &[Fr]) -> Vec<P> {
        let mut products = vec![P::identity(); scalars.len()];
        products.par_chunks_mut(BATCH).zip(scalars.par_chunks(BATCH)).for_each_init(
            || BatchAdder::with_capacity(BATCH),
            |adder, (products, scalars)| {
                let digits: Vec<[i32; N_WINDOWS]> = scalars.iter().map(signed_digits).collect();
                (0..N_WINDOWS).for_each(|window| {
                    adder.add(products, |index| self.multiple(window, digits[index][window]));
                });
            },
        );
        products
    }

    fn multiple(&self, window: usize, digit: i32) -> P {
        let Some(position) = (digit.unsigned_abs() as usize).checked_sub(1) else { return P::identity() };
        let multiple = self.multiples[window * WINDOW_MULTIPLES + position];
        if digit < 0 { -multiple } else { multiple }
    }
}

/// Digits dᵢ in (−2¹⁵, 2¹⁵] with scalar = Σ dᵢ·2^(16i).
fn signed_digits(scalar: &Fr) -> [i32; N_WINDOWS] {
    let bytes = scalar.to_bytes_le();
    let mut carry = 0;
    std::array::from_fn(|window| {
        let Range { start, end } = 2 * window..2 * window + 2;
        let digit = i32::from(u16::from_le_bytes(bytes[start..end].try_into().expect("two bytes"))) + carry;
        carry = i32::from(digit > WINDOW_MULTIPLES as i32);
        digit - (carry << WINDOW_BITS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;
    use group::prime::PrimeCurveAffine;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn scalars() -> Vec<Fr> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let limits = [0, 1, 2, (1 << 15) - 1, 1 << 15, (1 << 15) + 1, (1 << 16) - 1, 1 << 16, u64::MAX];
        let limits = limits.into_iter().map(Fr::from).flat_map(|limit| [limit, -limit]);
        limits.chain((0..50).map(|_| Fr::random(&mut rng))).collect()
    }

    #[test]
    fn digits_are_in_range_and_sum_to_the_scalar() {
        for scalar in scalars() {
            let digits = signed_digits(&scalar);
            assert!(digits.iter().all(|digit| (-(1 << 15) + 1..=1 << 15).contains(digit)));
            let sum = digits.iter().rev().fold(Fr::ZERO, |sum, &digit| {
                let magnitude = Fr::from(u64::from(digit.unsigned_abs()));
                sum * Fr::from(1 << 16) + if digit < 0 { -magnitude } else { magnitude }
            });
            assert_eq!(sum, scalar);
        }
    }

    #[test]
    fn multiples_are_those_of_double_and_add() {
        let fixed_base = CpuFixedBase::new();
        let scalars = scalars();
        for (scalar, product) in scalars.iter().zip(fixed_base.g1(&scalars)) {
            assert_eq!(cuzk_naive::multiply_point(&G1Affine::generator(), scalar), product.into());
        }
        for (scalar, product) in scalars.iter().zip(fixed_base.g2(&scalars)) {
            assert_eq!(cuzk_naive::multiply_point(&G2Affine::generator(), scalar), product.into());
        }
        // More than a batch, one of them partial.
        let many: Vec<Fr> = (0..2500).map(Fr::from).collect();
        let products = fixed_base.g1(&many);
        assert_eq!(products[2499], fixed_base.g1(&[Fr::from(2499)])[0]);
        assert!(products.windows(2).all(|pair| {
            blstrs::G1Projective::from(pair[0]) + blstrs::G1Projective::generator() == pair[1].into()
        }));
    }
}
