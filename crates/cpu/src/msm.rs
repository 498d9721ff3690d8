//! Multi-scalar sums Σ sᵢ·Pᵢ of witnesses, most of whose scalars are 0 or 1.
//!
//! Scalars that are 0 are passed over, the points whose scalar is 1 are summed by themselves, and the rest goes
//! through Pippenger's method: for each window of c bits the points are sorted by digit, the points of a digit are
//! summed (`runs.rs`), and the sums Bᵢ are put together as Σ i·Bᵢ. All of it is batched affine additions; only
//! the last hundred or so additions of a window are projective.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use cuzk_field::{Engine, fr::words};
use ff::Field;
use group::Group;
use rayon::prelude::*;

use crate::arithmetic::Arithmetic;
use crate::batch_add::BatchAdder;
pub use crate::curve::Curve;
use crate::digits::{Magnitude, Windows};
use crate::eight::{self, Infinity, PackedPoint};
use crate::huge::huge_vec;
use crate::runs::{Points, prefetch, sum_runs};

/// Points of many sums, in the form that the arithmetic wants.
pub struct Bases<P: Curve>(Form<P>);

enum Form<P: Curve> {
    Portable(Vec<P>),
    Eight { engine: Engine, points: Vec<PackedPoint<P::Eight>>, infinity: Infinity },
}

impl<P: Curve> Bases<P> {
    /// Converts points, at most 2³¹: two multiplications each where the arithmetic is eight-wide.
    pub fn new(arithmetic: Arithmetic, points: &[P]) -> Self {
        let Ok(bases) =
            Self::read(arithmetic, points.len(), |range| Ok::<_, Infallible>(points[range].to_vec()));
        bases
    }

    /// The same for `n` points that `read` gives in blocks, in any order and on all threads: only a block a thread is held
    /// in the other form.
    pub fn read<E: Send>(
        arithmetic: Arithmetic,
        n: usize,
        read: impl Fn(Range<usize>) -> Result<Vec<P>, E> + Sync,
    ) -> Result<Self, E> {
        assert!(n <= NEGATE as usize, "more than 2^31 points");
        let block = |block: usize| read(block * READ_POINTS..n.min((block + 1) * READ_POINTS));
        match arithmetic.engine() {
            None => {
                let mut points = huge_vec(P::identity(), n);
                points.par_chunks_mut(READ_POINTS).enumerate().try_for_each(|(index, points)| {
                    points.copy_from_slice(&block(index)?);
                    Ok(())
                })?;
                Ok(Bases(Form::Portable(points)))
            }
            Some(engine) => {
                let mut points = huge_vec(PackedPoint::default(), n);
                let infinite = AtomicBool::new(false);
                points.par_chunks_mut(READ_POINTS).enumerate().try_for_each(|(index, points)| {
                    eight::pack_block(engine, points, &block(index)?);
                    infinite.fetch_or(points.contains(&PackedPoint::default()), Ordering::Relaxed);
                    Ok(())
                })?;
                let infinity = if infinite.into_inner() { Infinity::Possible } else { Infinity::Absent };
                Ok(Bases(Form::Eight { engine, points, infinity }))
            }
        }
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Portable(points) => points.len(),
            Form::Eight { points, .. } => points.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What two additions of a bucket cost, as [`best_windows`] takes it.
    fn bucket_cost(&self) -> u64 {
        match &self.0 {
            Form::Portable(_) => PORTABLE_BUCKET_COST,
            Form::Eight { .. } => EIGHT_BUCKET_COST,
        }
    }

    /// scalar·point at `position`.
    fn multiply(&self, position: u32, scalar: &Fr) -> P::Curve {
        self.sum_runs(&[position], &[0, 1]).get(0) * *scalar
    }

    /// The sum of the points at `positions`: an addition each.
    fn sum(&self, positions: &[u32]) -> P::Curve {
        match &self.0 {
            Form::Portable(points) => {
                let piece = |positions: &[u32]| {
                    P::sum(&positions.iter().map(|&position| &points[position as usize]).collect::<Vec<_>>())
                };
                positions.par_chunks(SUM_PIECE).map(piece).sum()
            }
            Form::Eight { .. } => self.sum_runs(positions, &[0, positions.len() as u32]).get(0),
        }
    }

    /// The sums of the runs `order[bounds[i]..bounds[i + 1]]`; entries are positions, marked with [`NEGATE`].
    fn sum_runs(&self, order: &[u32], bounds: &[u32]) -> Sums<P> {
        match &self.0 {
            Form::Portable(points) => {
                Sums::Portable(sum_runs(&Selected { points, positions: order }, bounds))
            }
            Form::Eight { engine, points, infinity } => {
                let selection = eight::Selection { points, order, infinity: *infinity };
                Sums::Eight { engine: *engine, sums: eight::sum_runs(*engine, selection, bounds) }
            }
        }
    }
}

/// Points that blst sums at a time; it batches the additions of a thousand.
const SUM_PIECE: usize = 1 << 12;

/// Sums of runs.
enum Sums<P: Curve> {
    Portable(Vec<P>),
    Eight { engine: Engine, sums: Vec<PackedPoint<P::Eight>> },
}

impl<P: Curve> Sums<P> {
    fn get(&self, index: usize) -> P::Curve {
        match self {
            Sums::Portable(sums) => sums[index].to_curve(),
            Sums::Eight { engine, sums } => eight::unpack_one::<P>(*engine, &sums[index]).to_curve(),
        }
    }

    /// Σ (i + 1)·sums[i]. Two affine additions each.
    fn weighted(&self) -> P::Curve {
        match self {
            Sums::Portable(sums) => sum_of_slabs::<P>(sums.par_chunks(SLAB).map(weighted_slab).collect()),
            Sums::Eight { engine, sums } => {
                let slab = |buckets: &[_]| eight::weighted_slab::<P>(*engine, buckets);
                sum_of_slabs::<P>(sums.par_chunks(SLAB).map(slab).collect())
            }
        }
    }
}

/// The terms of a sum, sorted by scalar.
pub struct Terms<'a, P: Curve> {
    bases: &'a Bases<P>,
    /// Positions of the points whose scalar is 1.
    ones: Vec<u32>,
    /// Those whose scalar is neither 0 nor 1, piece by piece.
    rest: Vec<Rest>,
    n_rest: usize,
}

/// Positions of points, and their scalars.
#[derive(Default)]
struct Rest {
    positions: Vec<u32>,
    scalars: Vec<Magnitude>,
}

/// Marks a position whose point is to be negated.
const NEGATE: u32 = 1 << 31;

/// Points in a block that is read and converted by a thread: that of the parameters' reader.
const READ_POINTS: usize = 1 << 14;

/// Terms that are sorted by one thread at a time.
const PIECE: usize = 1 << 14;

impl<'a, P: Curve> Terms<'a, P> {
    /// Sorts the terms `scalar(i)·bases[i]`.
    pub fn new(bases: &'a Bases<P>, scalar: impl Fn(usize) -> Fr + Sync) -> Self {
        // One piece of memory, touched only as far as there are ones.
        let mut ones = vec![0; bases.len()];
        let pieces: Vec<(usize, Rest)> = (ones.par_chunks_mut(PIECE).enumerate())
            .map_init(Rest::default, |rest, (piece, ones)| {
                let n_ones = sort(piece * PIECE..piece * PIECE + ones.len(), &scalar, ones, rest);
                (n_ones, Rest { positions: rest.positions.clone(), scalars: rest.scalars.clone() })
            })
            .collect();
        let (mut n_ones, mut n_rest) = (0, 0);
        for (piece, (n_ones_of_piece, rest)) in pieces.iter().enumerate() {
            let start = piece * PIECE;
            ones.copy_within(start..start + n_ones_of_piece, n_ones);
            n_ones += n_ones_of_piece;
            n_rest += rest.positions.len();
        }
        ones.truncate(n_ones);
        let rest = pieces.into_iter().map(|(_, rest)| rest).filter(|rest| !rest.positions.is_empty());
        Terms { bases, ones, rest: rest.collect(), n_rest }
    }

    /// The sum of all terms.
    pub fn sum(&self) -> P::Curve {
        self.sum_of_ones() + self.sum_of_rest()
    }

    /// The sum of the points whose scalar is 1: an addition each.
    pub fn sum_of_ones(&self) -> P::Curve {
        self.bases.sum(&self.ones)
    }

    /// The sum of the other terms, with the windows that cost least.
    pub fn sum_of_rest(&self) -> P::Curve {
        self.sum_of_rest_as_if(self.n_rest)
    }

    /// The sum of the other terms, with the windows that cost least for `n_terms` terms.
    pub fn sum_of_rest_as_if(&self, n_terms: usize) -> P::Curve {
        if self.n_rest <= FEW {
            let terms = self.rest.iter().flat_map(|rest| rest.positions.iter().zip(&rest.scalars));
            return terms.map(|(&position, scalar)| self.bases.multiply(position, &scalar.scalar())).sum();
        }
        self.sum_of_rest_by(best_windows(n_terms, self.bases.bucket_cost()))
    }

    fn sum_of_rest_by(&self, windows: Windows) -> P::Curve {
        let sum_of_window = |window| {
            let (order, bounds) = sort_by_digit(&self.rest, windows, window);
            self.bases.sum_runs(&order, &bounds).weighted()
        };
        // The sums of a window are spread over the threads, too, which keeps those busy that have no window of their own.
        let sums: Vec<P::Curve> = (0..windows.n()).into_par_iter().map(sum_of_window).collect();
        let skipped = usize::from(injected(Fault::WindowSkipped));
        sums.iter().enumerate().rev().skip(skipped).fold(P::Curve::identity(), |sum, (index, window)| {
            let bits = windows.bits() - u32::from(injected(Fault::WindowShift) && index == 0);
            (0..bits).fold(sum, |sum, _| sum.double()) + window
        })
    }
}

/// So few terms are multiplied one by one, at some 150 µs each: a sum by windows takes a millisecond at least.
const FEW: usize = 8;

/// The windows with the least cost: an addition a term and window, and 2 additions a bucket, which together cost `bucket_cost` where
/// one of a term, with its share of the sort, costs 10.
fn best_windows(n_terms: usize, bucket_cost: u64) -> Windows {
    const MAX_WINDOW_BITS: u32 = 22;
    let cost = |windows: &Windows| {
        u64::from(windows.n()) * (n_terms as u64 * 10 + windows.n_buckets() as u64 * bucket_cost)
    };
    (2..=MAX_WINDOW_BITS).map(Windows::new).min_by_key(cost).expect("not empty")
}

/// Of the portable arithmetic. Reasoned: an addition among the buckets costs 0.9 times one among the points.
const PORTABLE_BUCKET_COST: u64 = 18;
/// Of the eight-wide arithmetic, as windows around the best show it: 2^20 terms took 2057 and 2070 ms with 15 bits, 2153 and 2059 with
/// 16, 2389 and 2240 with 17; 2^18 terms 637 and 672 with 14, 614 and 708 with 15, 772 and 737 with 16 (one core of a 16-core Xeon with
/// IFMA, 2026-11-30).
const EIGHT_BUCKET_COST: u64 = 55;

/// Points at listed positions, negated where marked.
struct Selected<'a, P> {
    points: &'a [P],
    positions: &'a [u32],
}

impl<P: Curve> Points<P> for Selected<'_, P> {
    #[inline]
    fn get(&self, position: usize) -> P {
        let entry = self.positions[position];
        let point = self.points[(entry & !NEGATE) as usize];
        if entry & NEGATE == 0 { point } else { point.negate() }
    }

    #[inline]
    fn prefetch(&self, position: usize) {
        if let Some(entry) = self.positions.get(position) {
            prefetch(&self.points[(entry & !NEGATE) as usize]);
        }
    }
}

/// Leaves the positions in `range` whose scalar is 1 at the front of `ones`, and tells how many they are; the terms whose
/// scalar is neither 0 nor 1 in `rest`. Which of 0 and 1 a scalar is decides no branch, as that would often go wrong.
fn sort(range: Range<usize>, scalar: impl Fn(usize) -> Fr, ones: &mut [u32], rest: &mut Rest) -> usize {
    rest.positions.clear();
    rest.scalars.clear();
    let [one_0, one_1, one_2, one_3] = words(&Fr::ONE);
    let (mut is_one, mut is_other) = ([false; SORT_BLOCK], [false; SORT_BLOCK]);
    let mut n_ones = 0;
    for start in range.clone().step_by(SORT_BLOCK) {
        let positions = start..range.end.min(start + SORT_BLOCK);
        let mut others = false;
        for (index, position) in positions.clone().enumerate() {
            // In plain operations: comparing scalars comes to calls.
            let [a, b, c, d] = words(&scalar(position));
            is_one[index] = (a ^ one_0) | (b ^ one_1) | (c ^ one_2) | (d ^ one_3) == 0;
            is_other[index] = !is_one[index] & (a | b | c | d != 0);
            others |= is_other[index];
        }
        for (position, is_one) in positions.clone().zip(is_one) {
            ones[n_ones] = position as u32;
            n_ones += usize::from(is_one);
        }
        if others {
            for (position, _) in positions.zip(is_other).filter(|&(_, is_other)| is_other) {
                rest.positions.push(position as u32);
                rest.scalars.push(Magnitude::of(&scalar(position)));
            }
        }
    }
    n_ones.saturating_sub(usize::from(injected(Fault::OneLost)))
}

/// Terms that are looked at before they are sorted.
const SORT_BLOCK: usize = 256;

/// The positions of the terms with a digit other than 0, sorted by |digit| and marked where it is negative, and the
/// bounds of the runs of |digit| 1, 2, …, 2^(c−1): a counting sort, a share of the terms a thread.
fn sort_by_digit(terms: &[Rest], windows: Windows, window: u32) -> (Vec<u32>, Vec<u32>) {
    let n_buckets = windows.n_buckets();
    // All windows are sorted at the same time.
    let threads = rayon::current_num_threads().div_ceil(windows.n() as usize);
    let share = terms.len().div_ceil(threads).max(1);
    let mut shares: Vec<Share> =
        terms.par_chunks(share).map(|terms| Share::new(terms, windows, window)).collect();
    // From counts to the place of the next term of each share and bucket.
    let mut bounds = Vec::with_capacity(n_buckets + 1);
    let mut end = 0;
    for bucket in 1..=n_buckets {
        bounds.push(end);
        for share in &mut shares {
            let count = share.next[bucket];
            share.next[bucket] = end;
            end += count;
        }
    }
    bounds.push(end);
    let order: Vec<AtomicU32> = (0..end).map(|_| AtomicU32::new(0)).collect();
    terms.par_chunks(share).zip(shares).for_each(|(terms, mut share)| share.place(terms, &order));
    (order.into_iter().map(AtomicU32::into_inner).collect(), bounds)
}

/// Terms that a thread sorts.
struct Share {
    /// The digit of each, with its sign: |digit| and [`NEGATE`].
    digits: Vec<u32>,
    /// First how many terms a bucket has, then where the next one goes.
    next: Vec<u32>,
}

impl Share {
    fn new(terms: &[Rest], windows: Windows, window: u32) -> Self {
        let mut next = vec![0; windows.n_buckets() + 1];
        let mut digits = Vec::with_capacity(terms.iter().map(|rest| rest.scalars.len()).sum());
        for scalar in terms.iter().flat_map(|rest| &rest.scalars) {
            let digit = windows.digit(scalar, window);
            let mut bucket = digit.unsigned_abs();
            bucket -= u32::from(injected(Fault::GreatestDigit) && bucket as usize == windows.n_buckets());
            let sign = if injected(Fault::DigitSign) { 0 } else { digit as u32 & NEGATE };
            next[bucket as usize] += 1;
            digits.push(bucket | sign);
        }
        Share { digits, next }
    }

    /// Placing by groups of 256 buckets first, so that what is written stays in a first-level cache, gains nothing: sorting 2^22 terms
    /// took 16 to 22 ns a digit for 16 to 22 with windows of 15 bits, 22 to 29 for 20 to 25 with 17 (one core of a 16-core Xeon with
    /// IFMA, 2026-11-30).
    fn place(&mut self, terms: &[Rest], order: &[AtomicU32]) {
        let positions = terms.iter().flat_map(|rest| &rest.positions);
        for (position, digit) in positions.zip(&self.digits) {
            let bucket = digit & !NEGATE;
            if bucket != 0 {
                let place = &mut self.next[bucket as usize];
                order[*place as usize].store(position | digit & NEGATE, Ordering::Relaxed);
                *place += 1;
            }
        }
    }
}

/// Σ (i + 1)·buckets[i] from both sums of each slab of [`SLAB`] buckets.
fn sum_of_slabs<P: Curve>(slabs: Vec<(P::Curve, P::Curve)>) -> P::Curve {
    let shifted = |(slab, (sum, weighted)): (usize, &(P::Curve, P::Curve))| match slab {
        0 => *weighted,
        _ => *weighted + *sum * Fr::from((slab * SLAB) as u64),
    };
    slabs.iter().enumerate().map(shifted).sum()
}

/// Buckets that one thread puts together.
const SLAB: usize = 1 << 14;
/// Chains of a slab, that is additions of a batch: an inversion then adds 10 ns to each, and the projective additions
/// at the end, two a chain, are 1 % of a slab.
const CHAINS: usize = 256;

/// Σ buckets[i] and Σ (i + 1)·buckets[i], from running sums of chains of consecutive buckets, all chains in step.
fn weighted_slab<P: Curve>(buckets: &[P]) -> (P::Curve, P::Curve) {
    let length = buckets.len().div_ceil(CHAINS).max(buckets.len().min(4));
    let chains = buckets.len().div_ceil(length.max(1));
    let mut adder = BatchAdder::with_capacity(chains);
    let mut running = vec![P::identity(); chains];
    let mut weighted = vec![P::identity(); chains];
    for step in (0..length).rev() {
        let bucket = |chain| buckets.get(chain * length + step).copied().unwrap_or_else(P::identity);
        adder.add(&mut running, bucket);
        adder.add(&mut weighted, |chain| running[chain]);
    }
    sum_of_chains(&Chains { running: &running, weighted: &weighted, length })
}

/// The ends of chains of consecutive buckets: Σ buckets and Σ (i + 1)·buckets over the buckets i of each chain.
pub(crate) struct Chains<'a, P> {
    pub(crate) running: &'a [P],
    pub(crate) weighted: &'a [P],
    /// Buckets in a chain.
    pub(crate) length: usize,
}

/// Both sums over all chains k: Σ running[k] and Σ weighted[k] + k·length·running[k]. Three projective additions each.
pub(crate) fn sum_of_chains<P: Curve>(chains: &Chains<'_, P>) -> (P::Curve, P::Curve) {
    let (mut sum, mut by_chain) = (P::Curve::identity(), P::Curve::identity());
    for running in chains.running.iter().skip(1).rev().skip(usize::from(injected(Fault::ChainLost))) {
        sum += running;
        by_chain += sum;
    }
    if let Some(first) = chains.running.first() {
        sum += first;
    }
    let weighted: P::Curve = chains.weighted.iter().map(P::to_curve).sum();
    (sum, weighted + by_chain * Fr::from(chains.length as u64))
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

    /// Portable, and every engine of this machine.
    fn arithmetics() -> Vec<Arithmetic> {
        let eight = cuzk_field::testing::engines().into_iter().map(Arithmetic::eight);
        [Arithmetic::portable()].into_iter().chain(eight).collect()
    }

    /// Points with duplicates, opposites and infinity among them, and scalars of every class.
    fn agrees_with_naive<P: Curve>(arithmetic: Arithmetic, multiples: &[i64], classes: &[u8], seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = multiples.len().min(classes.len());
        let points: Vec<P> = multiples[..n]
            .iter()
            .map(|&k| {
                let scalar = Fr::from(k.unsigned_abs());
                (P::generator() * if k < 0 { -scalar } else { scalar }).to_affine()
            })
            .collect();
        let scalars: Vec<Fr> = classes[..n]
            .iter()
            .map(|class| match class % 8 {
                0..3 => Fr::ONE,
                3 => Fr::ZERO,
                4 => -Fr::ONE,
                5 => Fr::from(2),
                _ => Fr::random(&mut rng),
            })
            .collect();
        let bases = Bases::new(arithmetic, &points);
        let terms = Terms::new(&bases, |index| scalars[index]);
        assert!(terms.sum() == cuzk_naive::msm(&points, &scalars));
        let bits = 2 + seed as u32 % 9;
        let sum = terms.sum_of_ones() + terms.sum_of_rest_by(Windows::new(bits));
        assert!(sum == cuzk_naive::msm(&points, &scalars), "windows of {bits} bits");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn g1(multiples in proptest::collection::vec(-5i64..5, 0..70),
              classes in proptest::collection::vec(any::<u8>(), 70), seed: u64) {
            for arithmetic in arithmetics() {
                agrees_with_naive::<G1Affine>(arithmetic, &multiples, &classes, seed);
            }
        }

        #[test]
        fn g2(multiples in proptest::collection::vec(-5i64..5, 0..40),
              classes in proptest::collection::vec(any::<u8>(), 40), seed: u64) {
            for arithmetic in arithmetics() {
                agrees_with_naive::<G2Affine>(arithmetic, &multiples, &classes, seed);
            }
        }
    }

    /// Few enough for memcheck.
    #[test]
    fn few_terms_portable() {
        let multiples: Vec<i64> = (0..60).map(|i| i % 9 - 4).collect();
        let classes: Vec<u8> = (0..60).map(|i| i * 7 % 8).collect();
        for seed in 0..2 {
            agrees_with_naive::<G1Affine>(Arithmetic::portable(), &multiples, &classes, seed);
            agrees_with_naive::<G2Affine>(Arithmetic::portable(), &multiples, &classes, seed);
        }
    }

    /// Enough terms for several pieces, tasks, slabs and levels of parts: Σ sᵢ·(kᵢ·G) = (Σ sᵢ·kᵢ)·G.
    fn many_terms(arithmetic: Arithmetic, n: usize, window_bits: &[u32]) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let multiples: Vec<Fr> = (0..n).map(|_| Fr::random(&mut rng)).collect();
        let points = crate::CpuFixedBase::new(Arithmetic::portable()).g1(&multiples).unwrap();
        let random: Vec<Fr> = (0..n).map(|_| Fr::random(&mut rng)).collect();
        let equal = vec![random[0]; n];
        let expected = |scalars: &[Fr]| {
            let sum: Fr = scalars.iter().zip(&multiples).map(|(scalar, multiple)| *scalar * multiple).sum();
            G1Affine::generator() * sum
        };
        let bases = Bases::new(arithmetic, &points);
        // Some of each class in every piece.
        let mixed = (0..n).map(|index| [Fr::ZERO, Fr::ONE, random[index]][index % 3]).collect();
        for scalars in [random, equal, mixed, vec![Fr::ZERO; n], vec![Fr::ONE; n], vec![-Fr::ONE; n]] {
            let terms = Terms::new(&bases, |index| scalars[index]);
            assert_eq!(terms.sum(), expected(&scalars));
            for &bits in window_bits {
                let sum = terms.sum_of_ones() + terms.sum_of_rest_by(Windows::new(bits));
                assert_eq!(sum, expected(&scalars), "windows of {bits} bits");
            }
        }
    }

    #[test]
    fn many_terms_portable() {
        many_terms(Arithmetic::portable(), 30_000, &[4, 11, 17]);
    }

    #[test]
    fn many_terms_eight_at_a_time() {
        for engine in cuzk_field::testing::engines() {
            let (n, bits): (_, &[u32]) =
                if engine == Engine::emulated() { (9_000, &[11]) } else { (30_000, &[4, 11, 17]) };
            many_terms(Arithmetic::eight(engine), n, bits);
        }
    }

    #[test]
    fn weighted_sums_of_every_length() {
        for n in [0usize, 1, 2, 3, 4, 5, 255, 256, 257, 1025, SLAB, SLAB + 1] {
            let buckets: Vec<G1Affine> = (0..n)
                .map(|i| match i % 3 {
                    0 => G1Affine::generator(),
                    1 => -G1Affine::generator(),
                    _ => G1Affine::identity(),
                })
                .collect();
            let expected = (0..n).fold(Fr::ZERO, |sum, i| match i % 3 {
                0 => sum + Fr::from(i as u64 + 1),
                1 => sum - Fr::from(i as u64 + 1),
                _ => sum,
            });
            for arithmetic in arithmetics() {
                let sums = match arithmetic.engine() {
                    None => Sums::Portable(buckets.clone()),
                    Some(engine) => Sums::Eight { engine, sums: eight::pack(engine, &buckets) },
                };
                assert_eq!(sums.weighted(), G1Affine::generator() * expected, "{n} buckets, {arithmetic:?}");
            }
        }
    }
}
