//! Multiples of the generators by many scalars, with a table of every window's multiples.
//!
//! A scalar is cut into 15 windows of 17 bits with signed digits in [−2¹⁶, 2¹⁶]; the table holds d·2^(17w)·G for every
//! window w and d from 1 to 2¹⁶. A multiplication is then 15 lookups and 14 additions, done for a batch of scalars at a
//! time, window after window, in affine coordinates.

use std::sync::OnceLock;

use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use cuzk_groth16::{Error, FixedBase, encode_g1, encode_g2};
use group::{Curve as _, Group};
use rayon::prelude::*;

use crate::arithmetic::Arithmetic;
use crate::batch_add::BatchAdder;
use crate::curve::Curve;
use crate::digits::{Magnitude, Windows};
use crate::eight;
use crate::huge::huge_vec;
use crate::runs::prefetch;

/// Tables of 94 MB (G1) and 189 MB (G2), with a million additions each to build; 2 bits more would save an addition a
/// multiplication and cost four times as much. That a table does not fit a cache matters little: all lookups of a batch
/// are known beforehand and prefetched.
const WINDOW_BITS: u32 = 17;
/// Scalars in a batch: 256 share an inversion of some 70 multiplications to within 5 % of the batch's cost, and
/// 1024 sums with their slopes (480 bytes each in G2) fit a second-level cache.
const BATCH: usize = 1024;
/// How many lookups ahead a multiple is prefetched.
const PREFETCH_DISTANCE: usize = 16;

/// Fixed-base multiplication by table. The tables are built on first use.
pub struct CpuFixedBase {
    arithmetic: Arithmetic,
    windows: Windows,
    g1: OnceLock<AnyTable<G1Affine>>,
    g2: OnceLock<AnyTable<G2Affine>>,
}

impl CpuFixedBase {
    /// Without tables.
    pub fn new(arithmetic: Arithmetic) -> Self {
        Self::with_windows(arithmetic, Windows::new(WINDOW_BITS))
    }

    /// Builds both tables now, which otherwise the first multiplications do.
    pub fn build_tables(&self) {
        rayon::join(|| self.g1_table(), || self.g2_table());
    }

    fn with_windows(arithmetic: Arithmetic, windows: Windows) -> Self {
        CpuFixedBase { arithmetic, windows, g1: OnceLock::new(), g2: OnceLock::new() }
    }

    fn g1_table(&self) -> &AnyTable<G1Affine> {
        self.g1.get_or_init(|| AnyTable::new(self.arithmetic, self.windows))
    }

    fn g2_table(&self) -> &AnyTable<G2Affine> {
        self.g2.get_or_init(|| AnyTable::new(self.arithmetic, self.windows))
    }
}

impl Default for CpuFixedBase {
    /// With the best arithmetic of this machine.
    fn default() -> Self {
        Self::new(Arithmetic::default())
    }
}

impl FixedBase for CpuFixedBase {
    fn g1(&self, scalars: &[Fr]) -> Result<Vec<G1Affine>, Error> {
        Ok(self.g1_table().multiply(scalars))
    }

    fn g2(&self, scalars: &[Fr]) -> Result<Vec<G2Affine>, Error> {
        Ok(self.g2_table().multiply(scalars))
    }

    fn g1_encoded(&self, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        Ok(match self.g1_table() {
            AnyTable::Portable(table) => encode_g1(&table.multiply(scalars)),
            AnyTable::Eight(table) => table.multiply_encoded(scalars),
        })
    }

    fn g2_encoded(&self, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        Ok(match self.g2_table() {
            AnyTable::Portable(table) => encode_g2(&table.multiply(scalars)),
            AnyTable::Eight(table) => table.multiply_encoded(scalars),
        })
    }
}

enum AnyTable<P: Curve> {
    Portable(Table<P>),
    Eight(eight::Table<P>),
}

impl<P: Curve> AnyTable<P> {
    fn new(arithmetic: Arithmetic, windows: Windows) -> Self {
        match arithmetic.engine() {
            None => AnyTable::Portable(Table::new(windows)),
            Some(engine) => AnyTable::Eight(eight::Table::new(engine, windows)),
        }
    }

    fn multiply(&self, scalars: &[Fr]) -> Vec<P> {
        match self {
            AnyTable::Portable(table) => table.multiply(scalars),
            AnyTable::Eight(table) => table.multiply(scalars),
        }
    }
}

struct Table<P> {
    windows: Windows,
    /// `multiples[w·2^(c−1) + d − 1]` is d·2^(cw)·G.
    multiples: Vec<P>,
}

impl<P: Curve> Table<P> {
    fn new(windows: Windows) -> Self {
        let mut multiples = huge_vec(P::identity(), windows.n() as usize * windows.n_buckets());
        multiples
            .par_chunks_mut(windows.n_buckets())
            .zip(bases(windows))
            .for_each(|(multiples, base)| fill_with_multiples(multiples, base));
        Table { windows, multiples }
    }

    fn multiply(&self, scalars: &[Fr]) -> Vec<P> {
        let mut products = vec![P::identity(); scalars.len()];
        products.par_chunks_mut(BATCH).zip(scalars.par_chunks(BATCH)).for_each_init(
            || BatchAdder::with_capacity(BATCH),
            |adder, (products, scalars)| {
                let scalars: Vec<Magnitude> = scalars.iter().map(Magnitude::of).collect();
                (0..self.windows.n()).for_each(|window| {
                    adder.add(products, |index| {
                        if let Some(later) = scalars.get(index.wrapping_sub(PREFETCH_DISTANCE)) {
                            self.entry(window, later)
                                .into_iter()
                                .for_each(|(multiple, _)| prefetch(multiple));
                        }
                        self.multiple(window, &scalars[index])
                    });
                });
            },
        );
        products
    }

    /// The multiple of a digit's absolute value, and the digit; none for the digit 0.
    fn entry(&self, window: u32, scalar: &Magnitude) -> Option<(&P, i32)> {
        let digit = self.windows.digit(scalar, window);
        let position = (digit.unsigned_abs() as usize).checked_sub(1)?;
        Some((&self.multiples[window as usize * self.windows.n_buckets() + position], digit))
    }

    fn multiple(&self, window: u32, scalar: &Magnitude) -> P {
        match self.entry(window, scalar) {
            None => P::identity(),
            Some((multiple, digit)) if digit < 0 => multiple.negate(),
            Some((multiple, _)) => *multiple,
        }
    }
}

/// 2^(cw)·G for every window w.
pub(crate) fn bases<P: Curve>(windows: Windows) -> Vec<P> {
    let next = |base: &P::Curve| Some((0..windows.bits()).fold(*base, |base, _| base.double()));
    std::iter::successors(Some(P::generator().to_curve()), next)
        .take(windows.n() as usize)
        .map(|base| base.to_affine())
        .collect()
}

/// base, 2·base, 3·base, … : the table so far, plus its last entry, is as much again.
fn fill_with_multiples<P: Curve>(multiples: &mut [P], base: P) {
    let mut adder = BatchAdder::with_capacity(BATCH);
    multiples[0] = base;
    let mut n = 1;
    while n < multiples.len() {
        let (known, rest) = multiples.split_at_mut(n);
        let last = known[n - 1];
        let n_new = n.min(rest.len());
        rest[..n_new].copy_from_slice(&known[..n_new]);
        rest[..n_new].chunks_mut(BATCH).for_each(|chunk| adder.add(chunk, |_| last));
        n += n_new;
    }
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
        let limits = [0, 1, 2, (1 << 8) - 1, 1 << 8, (1 << 8) + 1, (1 << 9) - 1, 1 << 9, u64::MAX];
        let limits = limits.into_iter().map(Fr::from).flat_map(|limit| [limit, -limit]);
        limits.chain((0..50).map(|_| Fr::random(&mut rng))).collect()
    }

    #[test]
    fn portable() {
        multiples_are_those_of_double_and_add(Arithmetic::portable());
    }

    #[test]
    fn eight_at_a_time() {
        for engine in cuzk_field::testing::engines() {
            multiples_are_those_of_double_and_add(Arithmetic::eight(engine));
        }
    }

    fn multiples_are_those_of_double_and_add(arithmetic: Arithmetic) {
        // Emulated arithmetic would take minutes for the tables of wider windows.
        let fixed_base = CpuFixedBase::with_windows(arithmetic, Windows::new(9));
        let scalars = scalars();
        for (scalar, product) in scalars.iter().zip(fixed_base.g1(&scalars).unwrap()) {
            assert_eq!(cuzk_naive::multiply_point(&G1Affine::generator(), scalar), product.into());
        }
        for (scalar, product) in scalars.iter().zip(fixed_base.g2(&scalars).unwrap()) {
            assert_eq!(cuzk_naive::multiply_point(&G2Affine::generator(), scalar), product.into());
        }
        // The scalar 0, whose multiple is at infinity, is among them.
        let encoded =
            fixed_base.g1(&scalars).unwrap().iter().flat_map(G1Affine::to_uncompressed).collect::<Vec<_>>();
        assert_eq!(fixed_base.g1_encoded(&scalars).unwrap(), encoded);
        let encoded =
            fixed_base.g2(&scalars).unwrap().iter().flat_map(G2Affine::to_uncompressed).collect::<Vec<_>>();
        assert_eq!(fixed_base.g2_encoded(&scalars).unwrap(), encoded);
        assert!(fixed_base.g1_encoded(&[]).unwrap().is_empty());
        // More than a batch, one of them partial.
        let many: Vec<Fr> = (0..2500).map(Fr::from).collect();
        let products = fixed_base.g1(&many).unwrap();
        assert_eq!(products[2499], fixed_base.g1(&[Fr::from(2499)]).unwrap()[0]);
        assert!(products.windows(2).all(|pair| {
            blstrs::G1Projective::from(pair[0]) + blstrs::G1Projective::generator() == pair[1].into()
        }));
    }
}
