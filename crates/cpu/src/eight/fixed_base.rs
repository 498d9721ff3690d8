//! Multiples of a fixed point by many scalars, eight at a time, from a table of every window's multiples.

use blstrs::Scalar as Fr;
use cuzk_field::Engine;
use rayon::prelude::*;

use super::batch::{BATCH_BLOCKS, BatchAdder, Infinity};
use super::buckets::{Copy, Gathered};
use super::points::{Block, PackedPoint, pack, unpack};
use super::runs::NEGATE;
use crate::curve::Curve;
use crate::digits::{Recoded, Windows};

/// The multiples d·2^(cw)·G for every window w and d from 0 to 2^(c−1).
pub(crate) struct Table<P: Curve> {
    engine: Engine,
    windows: Windows,
    /// Window after window; the first multiple of each is infinity.
    multiples: Vec<PackedPoint<P::Eight>>,
}

impl<P: Curve> Table<P> {
    /// From the multiples from 1 to 2^(c−1), window after window.
    pub(crate) fn new(engine: Engine, windows: Windows, multiples: &[P]) -> Self {
        let mut packed = vec![];
        for multiples in multiples.chunks(windows.n_buckets()) {
            packed.push(PackedPoint::default());
            packed.extend(pack(engine, multiples));
        }
        Table { engine, windows, multiples: packed }
    }

    /// Each scalar's multiple: an addition a window, 8·[`BATCH_BLOCKS`] scalars in a batch.
    pub(crate) fn multiply(&self, scalars: &[Fr]) -> Vec<P> {
        const BATCH: usize = 8 * BATCH_BLOCKS;
        let mut products = vec![P::identity(); scalars.len()];
        products.par_chunks_mut(BATCH).zip(scalars.par_chunks(BATCH)).for_each_init(
            || BatchAdder::new(self.engine),
            |adder, (products, scalars)| self.multiply_batch(adder, products, scalars),
        );
        products
    }

    fn multiply_batch(&self, adder: &mut BatchAdder<P::Eight>, products: &mut [P], scalars: &[Fr]) {
        let mut recoded: Vec<Recoded> = scalars.iter().map(|scalar| self.windows.recode(scalar)).collect();
        let n_blocks = recoded.len().div_ceil(8);
        // The lanes that are left over repeat the last scalar.
        recoded.resize(8 * n_blocks, *recoded.last().expect("a batch is not empty"));
        let mut sums = vec![Block::INFINITY; n_blocks];
        let mut some_zero = false;
        for window in 0..self.windows.n() {
            let entries: Vec<[u32; 8]> = recoded
                .chunks_exact(8)
                .map(|scalars| std::array::from_fn(|lane| self.entry(window, &scalars[lane])))
                .collect();
            some_zero |= entries.iter().flatten().any(|&entry| self.is_zero(entry));
            if window == 0 {
                self.engine.run(Copy { points: &self.multiples, entries: &entries, sums: &mut sums });
            } else {
                adder.expect_infinity(if some_zero { Infinity::Possible } else { Infinity::Absent });
                adder.add(&mut Gathered { points: &self.multiples, entries: &entries, sums: &mut sums });
            }
        }
        unpack(self.engine, products, &sums);
    }

    /// Where the multiple for a scalar's digit stands, marked where it is to be negated.
    fn entry(&self, window: u32, scalar: &Recoded) -> u32 {
        let digit = self.windows.digit(scalar, window);
        let position = window * (self.windows.n_buckets() as u32 + 1) + digit.unsigned_abs();
        if digit < 0 { position | NEGATE } else { position }
    }

    fn is_zero(&self, entry: u32) -> bool {
        (entry & !NEGATE).is_multiple_of(self.windows.n_buckets() as u32 + 1)
    }
}
