//! Σ (i + 1)·buckets[i] by running sums, eight chains of buckets to a block.

use cuzk_field::{Eight, Engine, Field, Lanes};

use super::batch::{BATCH_BLOCKS, BatchAdder, Blocks, Infinity, Lanes8};
use super::points::{Block, PackedPoint, unpack};
use super::runs::{gather_x, gather_y};
use crate::curve::Curve;
use crate::msm::{Chains, sum_of_chains};

/// Blocks of a slab: 512 chains, so an inversion adds 8 ns to an addition.
const CHAIN_BLOCKS: usize = 64;

/// Σ buckets[i] and Σ (i + 1)·buckets[i] for a slab of buckets: two additions each.
pub(crate) fn weighted_slab<P: Curve>(
    engine: Engine,
    buckets: &[PackedPoint<P::Eight>],
) -> (P::Curve, P::Curve) {
    let n_blocks = buckets.len().div_ceil(8 * MIN_CHAIN).clamp(1, CHAIN_BLOCKS);
    let length = buckets.len().div_ceil(8 * n_blocks);
    let infinite = buckets.contains(&PackedPoint::default()) || buckets.len() < 8 * n_blocks * length;
    let mut adder = BatchAdder::new(engine);
    adder.expect_infinity(if infinite { Infinity::Possible } else { Infinity::Absent });
    // A bucket that is not there gathers the infinity at the end.
    let mut padded = buckets.to_vec();
    padded.push(PackedPoint::default());
    let entries = |block: usize, step: usize| -> [u32; 8] {
        std::array::from_fn(|lane| ((8 * block + lane) * length + step).min(buckets.len()) as u32)
    };
    let mut running = vec![Block::INFINITY; n_blocks];
    let mut weighted = running.clone();
    for step in (0..length).rev() {
        let entries: Vec<[u32; 8]> = (0..n_blocks).map(|block| entries(block, step)).collect();
        if step + 1 == length {
            engine.run(Copy { points: &padded, entries: &entries, sums: &mut running });
            weighted.copy_from_slice(&running);
        } else {
            adder.add(&mut Gathered { points: &padded, entries: &entries, sums: &mut running });
            adder.add(&mut Running { sums: &mut weighted, running: &running });
        }
    }
    let mut points = [vec![P::identity(); 8 * n_blocks], vec![P::identity(); 8 * n_blocks]];
    unpack(engine, &mut points[0], &running);
    unpack(engine, &mut points[1], &weighted);
    sum_of_chains(&Chains { running: &points[0], weighted: &points[1], length })
}

/// Chains are this long at least, or their ends, two projective additions each, cost as much as they do.
const MIN_CHAIN: usize = 16;
const _: () = assert!(CHAIN_BLOCKS <= BATCH_BLOCKS);

/// sums = points at the entries.
pub(crate) struct Copy<'a, F: Field> {
    pub(crate) points: &'a [PackedPoint<F>],
    pub(crate) entries: &'a [[u32; 8]],
    pub(crate) sums: &'a mut [Block<F>],
}

impl<F: Field> cuzk_field::Kernel for Copy<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (entries, sum) in self.entries.iter().zip(self.sums) {
            gather_x::<F, L>(self.points, entries).store(&mut sum.x);
            gather_y::<F, L>(self.points, entries).store(&mut sum.y);
        }
    }
}

/// sums += points at the entries, negated where marked.
pub(crate) struct Gathered<'a, F: Field> {
    pub(crate) points: &'a [PackedPoint<F>],
    pub(crate) entries: &'a [[u32; 8]],
    pub(crate) sums: &'a mut [Block<F>],
}

impl<F: Field> Blocks<F> for Gathered<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    fn active(&self, _: usize) -> u8 {
        0xff
    }

    #[inline(always)]
    fn left_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.sums[block].x)
    }

    #[inline(always)]
    fn left_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.sums[block].y)
    }

    #[inline(always)]
    fn right_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        gather_x::<F, L>(self.points, &self.entries[block])
    }

    #[inline(always)]
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        gather_y::<F, L>(self.points, &self.entries[block])
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>) {
        x.store(&mut self.sums[block].x);
        y.store(&mut self.sums[block].y);
    }

    #[inline(always)]
    fn prefetch_x(&self, block: usize) {
        if let Some(entries) = self.entries.get(block) {
            entries
                .iter()
                .for_each(|&entry| super::runs::prefetch_entry(self.points, entry, |point| &point.x));
        }
    }

    #[inline(always)]
    fn prefetch_y(&self, block: usize) {
        if let Some(entries) = self.entries.get(block) {
            entries
                .iter()
                .for_each(|&entry| super::runs::prefetch_entry(self.points, entry, |point| &point.y));
        }
    }
}

/// sums += running.
struct Running<'a, F: Field> {
    sums: &'a mut [Block<F>],
    running: &'a [Block<F>],
}

impl<F: Field> Blocks<F> for Running<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.sums.len()
    }

    #[inline(always)]
    fn active(&self, _: usize) -> u8 {
        0xff
    }

    #[inline(always)]
    fn left_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.sums[block].x)
    }

    #[inline(always)]
    fn left_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.sums[block].y)
    }

    #[inline(always)]
    fn right_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.running[block].x)
    }

    #[inline(always)]
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.running[block].y)
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>) {
        x.store(&mut self.sums[block].x);
        y.store(&mut self.sums[block].y);
    }

    #[inline(always)]
    fn prefetch_x(&self, _: usize) {}

    #[inline(always)]
    fn prefetch_y(&self, _: usize) {}
}
