//! Σ (i + 1)·buckets[i] by running sums, eight chains of buckets to a block.

use cuzk_field::{Eight, Engine, Field, Lanes};

use super::batch::{BATCH_BLOCKS, BatchAdder, Blocks, Infinity, Lanes8};
use super::points::{Block, PackedPoint, unpack};
use super::runs::{BLOCKS_AHEAD, announce_points, gather_x, gather_y};
use crate::curve::Curve;
use crate::msm::{Chains, sum_of_chains};

/// Blocks of a slab: 256 chains, so that with both additions of a step in a batch an inversion (4.7 µs) adds 9 ns to each,
/// and the ends of the chains, three projective additions each, are a fifth of a slab of 2^14 buckets. 512 chains took 4.5
/// ms for that, a third of it for the ends (16-core Xeon with IFMA, 2026-11-29).
const CHAIN_BLOCKS: usize = 32;

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
    let entries = |step: usize| -> Vec<Entries> {
        let position = |chain: usize| (chain * length + step).min(buckets.len()) as u32;
        let entries = |block| std::array::from_fn(|lane| position(8 * block + lane));
        (0..n_blocks).map(|block| Entries { positions: entries(block), active: 0xff }).collect()
    };
    let mut running = vec![Block::INFINITY; n_blocks];
    engine.run(Copy { points: &padded, entries: &entries(length - 1), sums: &mut running });
    let mut weighted = running.clone();
    for step in (0..length - 1).rev() {
        // The weighted sums are a step behind the running ones, so that both are added in the same batch.
        let weighted = if step + 2 == length { &mut [][..] } else { &mut weighted[..] };
        adder.add(&mut Step { points: &padded, entries: &entries(step), running: &mut running, weighted });
    }
    if length > 1 {
        adder.add(&mut Running { sums: &mut weighted, running: &running });
    }
    let mut points = [vec![P::identity(); 8 * n_blocks], vec![P::identity(); 8 * n_blocks]];
    unpack(engine, &mut points[0], &running);
    unpack(engine, &mut points[1], &weighted);
    sum_of_chains(&Chains { running: &points[0], weighted: &points[1], length })
}

/// Chains are this long at least, or their ends cost as much as they do.
const MIN_CHAIN: usize = 32;
const _: () = assert!(2 * CHAIN_BLOCKS <= BATCH_BLOCKS);

/// Positions of eight points, each marked with [`NEGATE`] where it is to be negated, and the lanes that want one.
#[derive(Clone, Copy)]
pub(crate) struct Entries {
    pub(crate) positions: [u32; 8],
    pub(crate) active: u8,
}

/// sums = points at the entries, infinity in inactive lanes.
pub(crate) struct Copy<'a, F: Field> {
    pub(crate) points: &'a [PackedPoint<F>],
    pub(crate) entries: &'a [Entries],
    pub(crate) sums: &'a mut [Block<F>],
}

impl<F: Field> cuzk_field::Kernel for Copy<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (entries, sum) in self.entries.iter().zip(self.sums) {
            let zero = Lanes8::<F, L>::zero();
            let (x, y) = (
                gather_x::<F, L>(self.points, &entries.positions),
                gather_y::<F, L>(self.points, &entries.positions),
            );
            Lanes8::<F, L>::select(entries.active, &zero, &x).store(&mut sum.x);
            Lanes8::<F, L>::select(entries.active, &zero, &y).store(&mut sum.y);
        }
    }
}

/// sums += points at the entries, negated where marked.
pub(crate) struct Gathered<'a, F: Field> {
    pub(crate) points: &'a [PackedPoint<F>],
    pub(crate) entries: &'a [Entries],
    /// Those of the next batch, which are announced while this one is added.
    pub(crate) next: &'a [Entries],
    /// Whether these were not announced.
    pub(crate) cold: bool,
    pub(crate) sums: &'a mut [Block<F>],
}

impl<F: Field> Blocks<F> for Gathered<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    fn active(&self, block: usize) -> u8 {
        self.entries[block].active
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
        gather_x::<F, L>(self.points, &self.entries[block].positions)
    }

    #[inline(always)]
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        gather_y::<F, L>(self.points, &self.entries[block].positions)
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>) {
        x.store(&mut self.sums[block].x);
        y.store(&mut self.sums[block].y);
    }

    #[inline(always)]
    fn before_x(&self, block: usize) {
        if self.cold {
            announce(self.points, self.entries.get(block + BLOCKS_AHEAD), |point| &point.x);
        }
    }

    #[inline(always)]
    fn before_y(&self, block: usize) {
        announce(self.points, self.entries.get(block.wrapping_sub(BLOCKS_AHEAD)), |point| &point.y);
        announce(self.points, self.next.get(self.entries.len() - 1 - block), |point| &point.x);
    }

    #[inline(always)]
    fn beside<L: Lanes>(&mut self, _: usize) {}
}

#[inline(always)]
fn announce<F: Field>(
    points: &[PackedPoint<F>],
    entries: Option<&Entries>,
    coordinate: impl Fn(&PackedPoint<F>) -> &F::Row,
) {
    if let Some(entries) = entries {
        announce_points(points, &entries.positions, coordinate);
    }
}

/// weighted += running, then running += points at the entries.
struct Step<'a, F: Field> {
    points: &'a [PackedPoint<F>],
    entries: &'a [Entries],
    running: &'a mut [Block<F>],
    /// As many as `running`, or none.
    weighted: &'a mut [Block<F>],
}

/// Block i of running, then of weighted. The stores of weighted come first, so running is still what it was.
impl<F: Field> Blocks<F> for Step<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.running.len() + self.weighted.len()
    }

    #[inline(always)]
    fn active(&self, block: usize) -> u8 {
        self.entries.get(block).map_or(0xff, |entries| entries.active)
    }

    #[inline(always)]
    fn left_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.sum(block).x)
    }

    #[inline(always)]
    fn left_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.sum(block).y)
    }

    #[inline(always)]
    fn right_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        match self.entries.get(block) {
            Some(entries) => gather_x::<F, L>(self.points, &entries.positions),
            None => Lanes8::<F, L>::load(&self.running[block - self.running.len()].x),
        }
    }

    #[inline(always)]
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        match self.entries.get(block) {
            Some(entries) => gather_y::<F, L>(self.points, &entries.positions),
            None => Lanes8::<F, L>::load(&self.running[block - self.running.len()].y),
        }
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>) {
        let n = self.running.len();
        let sum = if block < n { &mut self.running[block] } else { &mut self.weighted[block - n] };
        x.store(&mut sum.x);
        y.store(&mut sum.y);
    }

    #[inline(always)]
    fn before_x(&self, block: usize) {
        announce(self.points, self.entries.get(block + BLOCKS_AHEAD), |point| &point.x);
    }

    #[inline(always)]
    fn before_y(&self, block: usize) {
        announce(self.points, self.entries.get(block.wrapping_sub(BLOCKS_AHEAD)), |point| &point.y);
    }

    #[inline(always)]
    fn beside<L: Lanes>(&mut self, _: usize) {}
}

impl<F: Field> Step<'_, F> {
    #[inline(always)]
    fn sum(&self, block: usize) -> &Block<F> {
        let n = self.running.len();
        if block < n { &self.running[block] } else { &self.weighted[block - n] }
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
    fn before_x(&self, _: usize) {}

    #[inline(always)]
    fn before_y(&self, _: usize) {}

    #[inline(always)]
    fn beside<L: Lanes>(&mut self, _: usize) {}
}
