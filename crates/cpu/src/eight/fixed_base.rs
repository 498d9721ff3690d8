//! Multiples of a fixed point by many scalars, eight at a time, from a table of every window's multiples.

use blstrs::Scalar as Fr;
use cuzk_field::{Engine, Field};
use rayon::prelude::*;

use super::batch::{BATCH_BLOCKS, BatchAdder, Infinity};
use super::buckets::{Copy, Entries, Gathered};
use super::points::{Block, PackedPoint, encode, pack, unpack};
use super::runs::{NEGATE, Selection, sum_runs};
use crate::curve::Curve;
use crate::digits::{Magnitude, Windows};
use crate::fixed_base::bases;
use crate::huge::huge_vec;

/// The multiples d·2^(cw)·G for every window w and d from 1 to 2^(c−1), window after window.
pub(crate) struct Table<P: Curve> {
    engine: Engine,
    windows: Windows,
    multiples: Vec<PackedPoint<P::Eight>>,
}

impl<P: Curve> Table<P> {
    /// Of the generator: an addition an entry.
    pub(crate) fn new(engine: Engine, windows: Windows) -> Self {
        let n = windows.n_buckets();
        let mut multiples = huge_vec(PackedPoint::default(), windows.n() as usize * n);
        let bases = pack(engine, &bases::<P>(windows));
        multiples.par_chunks_mut(n).zip(&bases).for_each(|(multiples, base)| {
            multiples[0] = *base;
            let mut known = 1;
            while known < n {
                let (known_multiples, rest) = multiples.split_at_mut(known);
                let order: Vec<u32> = (0..known as u32).flat_map(|i| [i, known as u32 - 1]).collect();
                let bounds: Vec<u32> = (0..=2 * known as u32).step_by(2).collect();
                let infinity = Infinity::Absent;
                let selection = Selection { points: known_multiples, order: &order, infinity };
                rest[..known].copy_from_slice(&sum_runs(engine, selection, &bounds));
                known *= 2;
            }
        });
        Table { engine, windows, multiples }
    }

    /// Each scalar's multiple: an addition a window.
    pub(crate) fn multiply(&self, scalars: &[Fr]) -> Vec<P> {
        let mut products = vec![P::identity(); scalars.len()];
        self.for_batches(scalars, &mut products, |products, sums| unpack(self.engine, products, sums));
        products
    }

    /// The same, as parameter files store points.
    pub(crate) fn multiply_encoded(&self, scalars: &[Fr]) -> Vec<u8> {
        let mut bytes = vec![0; scalars.len() * 2 * size_of::<<P::Eight as Field>::Bytes>()];
        self.for_batches(scalars, &mut bytes, |bytes, sums| encode(self.engine, bytes, sums));
        bytes
    }

    /// 8·[`BATCH_BLOCKS`] scalars in a batch, whose results go to as large a part of `results`.
    fn for_batches<T: Send>(
        &self,
        scalars: &[Fr],
        results: &mut [T],
        store: impl Fn(&mut [T], &[Block<P::Eight>]) + Sync,
    ) {
        const BATCH: usize = 8 * BATCH_BLOCKS;
        if scalars.is_empty() {
            return;
        }
        let results_per_scalar = results.len() / scalars.len();
        results.par_chunks_mut(BATCH * results_per_scalar).zip(scalars.par_chunks(BATCH)).for_each_init(
            || BatchAdder::new(self.engine),
            |adder, (results, scalars)| store(results, &self.multiply_batch(adder, scalars)),
        );
    }

    fn multiply_batch(&self, adder: &mut BatchAdder<P::Eight>, scalars: &[Fr]) -> Vec<Block<P::Eight>> {
        let entries = self.entries(scalars);
        let [first, rest @ ..] = &entries[..] else { unreachable!("some window") };
        let mut sums = vec![Block::INFINITY; first.len()];
        self.engine.run(Copy { points: &self.multiples, entries: first, sums: &mut sums });
        let some_zero = first.iter().any(|entries| entries.active != 0xff);
        adder.expect_infinity(if some_zero { Infinity::Possible } else { Infinity::Absent });
        let next = rest.iter().skip(1).map(|entries| &entries[..]).chain([&[][..]]);
        for (window, (entries, next)) in rest.iter().zip(next).enumerate() {
            let cold = window == 0;
            adder.add(&mut Gathered { points: &self.multiples, entries, next, cold, sums: &mut sums });
        }
        sums
    }

    /// For each window, where the multiples for the digits of eight scalars each stand; a digit 0 has none.
    fn entries(&self, scalars: &[Fr]) -> Vec<Vec<Entries>> {
        let n_buckets = self.windows.n_buckets() as u32;
        let nothing = |window| Entries { positions: [window * n_buckets; 8], active: 0 };
        let mut entries: Vec<Vec<Entries>> =
            (0..self.windows.n()).map(|window| vec![nothing(window); scalars.len().div_ceil(8)]).collect();
        for (index, scalar) in scalars.iter().enumerate() {
            let (block, lane) = (index / 8, index % 8);
            for (digit, entries) in self.windows.digits(Magnitude::of(scalar)).zip(&mut entries) {
                let entries = &mut entries[block];
                entries.positions[lane] += digit.unsigned_abs().saturating_sub(1);
                entries.positions[lane] |= digit as u32 & NEGATE;
                entries.active |= u8::from(digit != 0) << lane;
            }
        }
        entries
    }
}
