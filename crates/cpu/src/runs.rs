//! Sums of many runs of points at once: each run is halved level by level, all runs of a task in the same batches.
//!
//! A task is some 2¹² points that stay in a second-level cache; longer runs (equal scalars, a short last window, a
//! plain sum of points) are cut into parts of that length, so that a run of any length is summed by all threads with
//! batches as long as those of short runs.

use std::ops::Range;

use cuzk_fault::{Fault, injected};
use rayon::prelude::*;

use crate::batch_add::{Additions, BatchAdder};
use crate::curve::Curve;

/// Points by position.
pub(crate) trait Points<P>: Sync {
    /// The point at `position`.
    fn get(&self, position: usize) -> P;

    /// Announces that the point at `position` will be wanted; the position may be beyond the end.
    fn prefetch(&self, position: usize);
}

impl<P: Curve> Points<P> for [P] {
    #[inline]
    fn get(&self, position: usize) -> P {
        self[position]
    }

    #[inline]
    fn prefetch(&self, _: usize) {}
}

/// Asks for the cache lines of a point that is read soon. A hint: any address will do.
#[inline]
pub(crate) fn prefetch<P>(point: &P) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(point).cast::<i8>();
        // SAFETY: a prefetch reads nothing and faults nowhere; SSE is part of x86-64.
        let line = |offset| unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        let mut offset = 0;
        while offset < size_of::<P>() {
            line(offset);
            offset += 64;
        }
        if align_of::<P>() < 64 {
            line(size_of::<P>() - 1);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = point;
}

/// Points of a task: slots and slopes of 2¹² points take 400 + 200 KB in G1 at the first level and half of that at the
/// next, about a second-level cache. Reasoned, not yet measured against its neighbours.
const TASK_POINTS: usize = 1 << 12;
/// How many positions ahead points are prefetched: about 16 of 30 ns each cover a miss to memory. Reasoned, not yet
/// measured against its neighbours.
const PREFETCH_DISTANCE: usize = 16;

/// Σ of the points at positions `bounds[i]..bounds[i + 1]` for each i; the bounds must ascend. An empty run gives
/// infinity. One addition less than there are points in a run.
pub(crate) fn sum_runs<P: Curve>(points: &(impl Points<P> + ?Sized), bounds: &[u32]) -> Vec<P> {
    let mut parts: Vec<Range<u32>> = vec![];
    let mut n_parts = Vec::with_capacity(bounds.len());
    for run in bounds.windows(2) {
        let length = run[1] - run[0];
        let n = length.div_ceil(TASK_POINTS as u32);
        n_parts.push(n);
        let bound = |part: u32| run[0] + (u64::from(length) * u64::from(part) / u64::from(n)) as u32;
        parts.extend((0..n).map(|part| bound(part)..bound(part + 1)));
    }
    let sums: Vec<P> = tasks(&parts)
        .into_par_iter()
        .map_init(Scratch::new, |scratch, task| scratch.sum_parts(points, &parts[task]))
        .flatten_iter()
        .collect();
    if n_parts.iter().all(|&n| n == 1) {
        return sums;
    }
    if n_parts.iter().all(|&n| n <= 1) {
        let mut sums = sums.into_iter();
        return n_parts
            .iter()
            .map(|&n| if n == 0 { P::identity() } else { sums.next().expect("a part") })
            .collect();
    }
    let mut end = 0;
    let ends = n_parts.iter().map(|n| {
        end += n;
        end
    });
    sum_runs(&sums[..], &[0].into_iter().chain(ends).collect::<Vec<u32>>())
}

/// Cuts the list of parts into tasks.
fn tasks(parts: &[Range<u32>]) -> Vec<Range<usize>> {
    let mut tasks = vec![];
    let mut first = 0;
    while first < parts.len() {
        let limit = parts[first].start as usize + TASK_POINTS;
        let n = parts[first..].partition_point(|part| part.end as usize <= limit);
        // A part has at most TASK_POINTS points, so there is one at least.
        tasks.push(first..first + n);
        first += n;
    }
    tasks
}

struct Scratch<P: Curve> {
    adder: BatchAdder<P>,
    slots: Vec<P>,
    pairs: Vec<Pair>,
    /// First slot and length of each part.
    runs: Vec<(u32, u32)>,
}

/// `slots[left / 2 + start / 2 …]`: the sum of the slots `left` and `left + 1` goes to the slot `out` ≤ `left`.
#[derive(Clone, Copy)]
struct Pair {
    left: u32,
    out: u32,
}

impl<P: Curve> Scratch<P> {
    fn new() -> Self {
        let adder = BatchAdder::with_capacity(TASK_POINTS / 2);
        Scratch { adder, slots: vec![], pairs: vec![], runs: vec![] }
    }

    /// The sums of consecutive parts, none of them empty.
    fn sum_parts(&mut self, points: &(impl Points<P> + ?Sized), parts: &[Range<u32>]) -> Vec<P> {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return vec![] };
        let (start, end) = (first.start as usize, last.end as usize);
        (start..end.min(start + PREFETCH_DISTANCE)).for_each(|position| points.prefetch(position));
        self.slots.clear();
        self.slots.extend((start..end).map(|position| {
            points.prefetch(position + PREFETCH_DISTANCE);
            points.get(position)
        }));
        self.runs.clear();
        self.runs.extend(parts.iter().map(|part| (part.start - first.start, part.end - part.start)));
        while self.halve() {}
        self.runs.iter().map(|&(first, _)| self.slots[first as usize]).collect()
    }

    /// Adds neighbours in all runs; false if every run was down to a point already.
    fn halve(&mut self) -> bool {
        self.pairs.clear();
        for &(first, length) in &self.runs {
            self.pairs.extend((0..length / 2).map(|pair| Pair { left: first + 2 * pair, out: first + pair }));
        }
        if self.pairs.is_empty() {
            return false;
        }
        self.adder.run(&mut PairSums { slots: &mut self.slots, pairs: &self.pairs });
        for (first, length) in &mut self.runs {
            if *length % 2 == 1 && !injected(Fault::OddPoint) {
                self.slots[(*first + *length / 2) as usize] = self.slots[(*first + *length - 1) as usize];
            }
            *length = length.div_ceil(2);
        }
        true
    }
}

struct PairSums<'a, P> {
    slots: &'a mut [P],
    pairs: &'a [Pair],
}

impl<P: Curve> Additions<P> for PairSums<'_, P> {
    fn len(&self) -> usize {
        self.pairs.len()
    }

    #[inline]
    fn operands(&self, index: usize) -> (P, P) {
        let left = self.pairs[index].left as usize;
        (self.slots[left], self.slots[left + 1])
    }

    /// Slot `first + pair` is read by pair `pair / 2` of the run, which is not a later one.
    #[inline]
    fn store(&mut self, index: usize, sum: P) {
        self.slots[self.pairs[index].out as usize] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blstrs::{G1Affine, Scalar as Fr};
    use group::prime::PrimeCurveAffine;
    use group::{Curve as _, Group};

    #[test]
    fn runs_of_every_length() {
        let points: Vec<G1Affine> =
            (0..40i64).map(|k| (G1Affine::generator() * signed(k % 7 - 3)).to_affine()).collect();
        // Lengths 0, 1, 2, … 8, in the order of a permutation, with empty runs at the ends.
        let mut bounds = vec![0, 0];
        for length in [3u32, 1, 0, 8, 2, 7, 4, 5, 6, 0] {
            bounds.push(bounds[bounds.len() - 1] + length);
        }
        let sums = sum_runs(&points[..], &bounds);
        for (run, sum) in bounds.windows(2).zip(&sums) {
            let expected: blstrs::G1Projective =
                points[run[0] as usize..run[1] as usize].iter().map(G1Affine::to_curve).sum();
            assert_eq!(*sum, expected.to_affine());
        }
        assert_eq!(sum_runs::<G1Affine>(&[][..], &[0]), []);
        assert_eq!(sum_runs::<G1Affine>(&[][..], &[0, 0]), [G1Affine::identity()]);
    }

    #[test]
    fn long_runs_are_cut() {
        let n = 3 * TASK_POINTS + 17;
        let generator = G1Affine::generator();
        let points: Vec<G1Affine> = (0..n).map(|i| if i % 3 == 0 { -generator } else { generator }).collect();
        let bounds = [0, 5, 5 + 2 * TASK_POINTS as u32 + 1, 5 + 2 * TASK_POINTS as u32 + 1, n as u32];
        let sums = sum_runs(&points[..], &bounds);
        for (run, sum) in bounds.windows(2).zip(&sums) {
            let value = (run[0]..run[1]).map(|i| if i % 3 == 0 { -1 } else { 1 }).sum();
            assert_eq!(*sum, (blstrs::G1Projective::generator() * signed(value)).to_affine());
        }
    }

    fn signed(k: i64) -> Fr {
        let absolute = Fr::from(k.unsigned_abs());
        if k < 0 { -absolute } else { absolute }
    }
}
