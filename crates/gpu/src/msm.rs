//! Multi-scalar sums on the device. See `cuda/msm/msm.cuh` and `cuda/msm/msm.cu`.

use std::ops::Range;

use blstrs::{G1Projective, G2Projective, Scalar as Fr};
use cudarc::driver::{CudaSlice, CudaView, LaunchConfig};
use cuzk_groth16::Error;
use group::Group;

use crate::device::{Device, blocks, grid, launch};
use crate::layout::{Bins, Windows, Words, values_of};

/// As in `cuda/msm/msm.cu`.
const BLOCK: u32 = 256;
const TERMS_PER_BLOCK: usize = 4096;
const SORT_BLOCK: u32 = 512;
const SCAN_BLOCK: u32 = 1024;
/// |s| ≤ (r − 1)/2 < 2^254.
const MAGNITUDE_BITS: u32 = 254;
/// So many bits leave bins and buckets of a bin that fit shared memory.
const MAX_WINDOW_BITS: u32 = 21;
/// References of a bin, so that a block sorts it in shared memory; up to an eighth more have room there.
const LOG2_BIN: u32 = 14;
const STAGED: usize = (1 << LOG2_BIN) + (1 << LOG2_BIN) / 8;
/// Counters of a window's bins, and of a bin's buckets: 4 and 16 KiB.
const MAX_HIGH_BITS: u32 = 10;
const MAX_LOW_BITS: u32 = 12;
/// Threads among which the buckets are weighed: fewer than a device has, as each then has but a few additions.
const WEIGH_THREADS: usize = 40_000;
/// Most buckets that one of them takes.
const MAX_FACTOR: usize = 16;
/// The ones are summed as so many runs, a block each at the end.
const N_ONES_RUNS: u32 = 128;
/// Threads that a multiprocessor can have in `sum_parts`: its registers allow 384 in G1.
const SUM_THREADS: usize = 384;
/// Words of a reference to a point and of the structures of `cuda/msm/msm.cu`.
const MAGNITUDE_WORDS: usize = 4;
const PART_U32: usize = 3;
const LONG_RUN_U32: usize = 3;
const N_COUNTS: usize = 5;

/// A curve's kernels, as a sum calls them.
pub(crate) trait DeviceCurve: Group<Scalar = Fr> + Words {
    /// 64-bit words of a coordinate.
    const FIELD_WORDS: usize;
    /// Threads of a block of `sum_parts`, and of the others.
    const SUM_BLOCK: u32;
    const JOIN_BLOCK: u32;
    /// Cost of an addition among buckets, that of a point to a bucket being 10.
    const BUCKET_COST: u64 = 28;

    fn sum_parts(
        device: &Device,
        config: LaunchConfig,
        memory: &Memory,
        bases: &CudaView<'_, u64>,
    ) -> Result<(), Error>;
    fn join_parts(device: &Device, config: LaunchConfig, memory: &Memory) -> Result<(), Error>;
    fn weigh(
        device: &Device,
        config: LaunchConfig,
        memory: &Memory,
        n: u32,
        factor: u32,
    ) -> Result<(), Error>;
    fn finish(device: &Device, config: LaunchConfig, finish: &Finish<'_>) -> Result<(), Error>;
}

/// What the last kernel of a sum reads and writes.
pub(crate) struct Finish<'a> {
    out: &'a CudaSlice<u64>,
    s: &'a CudaSlice<u64>,
    t: &'a CudaSlice<u64>,
    ones: CudaView<'a, u64>,
    n_windows: u32,
    log2_n: u32,
}

macro_rules! device_curve {
    ($curve:ty, $words:literal, $sum_block:literal, $join_block:literal, $sum:literal, $join:literal, $weigh:literal, $finish:literal) => {
        impl DeviceCurve for $curve {
            const FIELD_WORDS: usize = $words;
            const SUM_BLOCK: u32 = $sum_block;
            const JOIN_BLOCK: u32 = $join_block;

            fn sum_parts(
                device: &Device,
                config: LaunchConfig,
                memory: &Memory,
                bases: &CudaView<'_, u64>,
            ) -> Result<(), Error> {
                // References are below the number of bases, parts within the order, destinations within the sums: `Memory`
                // was planned for as many of each as there can be.
                launch!(
                    device,
                    $sum,
                    config,
                    &memory.bucket_sums,
                    &memory.partial_sums,
                    bases,
                    &memory.order,
                    &memory.parts,
                    &memory.counts
                )
            }

            fn join_parts(device: &Device, config: LaunchConfig, memory: &Memory) -> Result<(), Error> {
                // As above.
                launch!(
                    device,
                    $join,
                    config,
                    &memory.bucket_sums,
                    &memory.partial_sums,
                    &memory.long_runs,
                    &memory.counts
                )
            }

            fn weigh(
                device: &Device,
                config: LaunchConfig,
                memory: &Memory,
                n: u32,
                factor: u32,
            ) -> Result<(), Error> {
                let [s, t] = &memory.weighed;
                // n·factor buckets in, n sums of either kind out.
                launch!(device, $weigh, config, s, t, &memory.bucket_sums, &n, &factor)
            }

            fn finish(device: &Device, config: LaunchConfig, finish: &Finish<'_>) -> Result<(), Error> {
                let Finish { out, s, t, ones, n_windows, log2_n } = finish;
                // n_windows·2^log2_n sums and N_ONES_RUNS of ones in, n_windows·(log2_n + 1) + 1 out.
                launch!(device, $finish, config, *out, *s, *t, ones, n_windows, log2_n, &N_ONES_RUNS)
            }
        }
    };
}
device_curve!(
    G1Projective,
    6,
    128,
    128,
    "cuzk_msm_sum_parts_g1",
    "cuzk_msm_join_parts_g1",
    "cuzk_msm_weigh_g1",
    "cuzk_msm_finish_g1"
);
device_curve!(
    G2Projective,
    12,
    64,
    64,
    "cuzk_msm_sum_parts_g2",
    "cuzk_msm_join_parts_g2",
    "cuzk_msm_weigh_g2",
    "cuzk_msm_finish_g2"
);

/// The windows of least cost for `n` terms other than 0 and 1.
pub(crate) fn best_windows<P: DeviceCurve>(n: usize) -> Windows {
    let cost = |windows: &Windows| {
        u64::from(windows.n)
            * (n as u64 * 10 + n_buckets(windows) as u64 / u64::from(windows.n) * P::BUCKET_COST)
    };
    (2..=MAX_WINDOW_BITS).map(Windows::new).min_by_key(cost).expect("not empty")
}

/// The fewest terms that have the same windows as `n` terms: more terms never have narrower ones.
fn fewest_with<P: DeviceCurve>(windows: &Windows, n: usize) -> usize {
    let (mut fewer, mut fewest) = (0, n);
    while fewer < fewest {
        let middle = fewer + (fewest - fewer) / 2;
        if best_windows::<P>(middle).bits == windows.bits {
            fewest = middle;
        } else {
            fewer = middle + 1;
        }
    }
    fewest
}

fn n_buckets(windows: &Windows) -> usize {
    (windows.n as usize) << (windows.bits - 1)
}

impl Windows {
    pub(crate) fn new(bits: u32) -> Self {
        let n = MAGNITUDE_BITS / bits + 1;
        let mut offsets = [0; 8];
        for window in 0..n - 1 {
            let bit = window * bits + bits - 1;
            offsets[bit as usize / 32] |= 1 << (bit % 32);
        }
        Windows { bits, n, offsets }
    }

    /// For `n` terms: bins of some 2^14 references, and no more of them, nor more buckets in one, than have counters in
    /// shared memory.
    fn bins(&self, n: usize) -> Bins {
        let bits = self.bits - 1;
        let wanted =
            n.next_power_of_two().ilog2().saturating_sub(LOG2_BIN).max(bits.saturating_sub(MAX_LOW_BITS));
        let high_bits = wanted.min(MAX_HIGH_BITS).min(bits);
        Bins { high_bits, low_bits: bits - high_bits }
    }
}

/// Which scalar each base has.
pub(crate) struct Scalars<'a> {
    pub(crate) w: CudaView<'a, u64>,
    pub(crate) order: Order<'a>,
}

/// Where in `w` the scalar of base b is.
pub(crate) enum Order<'a> {
    /// At b.
    Same,
    /// At the reversal of so many bits of b.
    Reversed(u32),
    /// At `columns[b]`.
    Columns(&'a CudaSlice<u32>),
}

/// Memory of the sums, for as many terms as the largest has.
pub(crate) struct Memory {
    counts: CudaSlice<u32>,
    rest: CudaSlice<u32>,
    magnitudes: CudaSlice<u64>,
    bin_counts: CudaSlice<u32>,
    bin_starts: CudaSlice<u32>,
    cursors: CudaSlice<u32>,
    entries: CudaSlice<u64>,
    order: CudaSlice<u32>,
    bucket_starts: CudaSlice<u32>,
    length_counts: CudaSlice<u32>,
    parts: CudaSlice<u32>,
    long_runs: CudaSlice<u32>,
    bucket_sums: CudaSlice<u64>,
    partial_sums: CudaSlice<u64>,
    weighed: [CudaSlice<u64>; 2],
    out: CudaSlice<u64>,
}

/// How much of everything a sum can need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capacity {
    terms: usize,
    bins: usize,
    entries: usize,
    buckets: usize,
    parts: usize,
    bucket_words: usize,
    partial_words: usize,
    weighed_words: usize,
}

impl Capacity {
    /// For sums of up to `n` terms over a curve, with the windows of `like` terms where that is given.
    pub(crate) fn for_terms<P: DeviceCurve>(device: &Device, n: usize, like: Option<usize>) -> Self {
        Self::for_threads::<P>(part_threads(device), n, like)
    }

    fn for_threads<P: DeviceCurve>(threads: usize, n: usize, like: Option<usize>) -> Self {
        if let Some(like) = like {
            return Self::of::<P>(threads, n, &best_windows::<P>(like));
        }
        // Fewer terms have narrower windows, of which there are more: each width counts with the most terms that have it.
        let mut capacity = Capacity::default();
        let mut most = Some(n);
        while let Some(n) = most {
            let windows = best_windows::<P>(n);
            capacity = capacity.max(Self::of::<P>(threads, n, &windows));
            most = fewest_with::<P>(&windows, n).checked_sub(1);
        }
        capacity
    }

    /// For up to `n` terms with these windows.
    fn of<P: DeviceCurve>(threads: usize, n: usize, windows: &Windows) -> Self {
        let (buckets, entries) = (n_buckets(windows), n * windows.n as usize);
        let runs = buckets + N_ONES_RUNS as usize;
        let sum_words = 4 * P::FIELD_WORDS;
        // What `max_part_length` leaves of n references: of n ones and sorted ones, it divides the larger number by the threads,
        // unless that is too much.
        let spread = (2 * threads).max((entries + n) / MAX_PART_LENGTH as usize);
        Capacity {
            terms: n,
            bins: (windows.n as usize) << windows.bins(n).high_bits,
            entries,
            buckets,
            parts: runs + spread,
            bucket_words: runs * sum_words,
            // A long run has at most one part that is not full.
            partial_words: 2 * spread * sum_words,
            weighed_words: buckets / weigh_factor(buckets) * sum_words,
        }
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Capacity {
            terms: self.terms.max(other.terms),
            bins: self.bins.max(other.bins),
            entries: self.entries.max(other.entries),
            buckets: self.buckets.max(other.buckets),
            parts: self.parts.max(other.parts),
            bucket_words: self.bucket_words.max(other.bucket_words),
            partial_words: self.partial_words.max(other.partial_words),
            weighed_words: self.weighed_words.max(other.weighed_words),
        }
    }

    /// Bytes that [`Memory::new`] asks for.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.terms * MAGNITUDE_WORDS
            + self.entries
            + self.bucket_words
            + self.partial_words
            + 2 * self.weighed_words;
        let halves = 2 * self.terms + 3 * self.bins + self.entries + self.buckets + 2 * PART_U32 * self.parts;
        8 * words + 4 * halves
    }
}

impl Memory {
    pub(crate) fn new(device: &Device, capacity: &Capacity) -> Result<Self, Error> {
        Ok(Memory {
            counts: device.allocate(N_COUNTS)?,
            rest: device.allocate(capacity.terms)?,
            magnitudes: device.allocate(capacity.terms * MAGNITUDE_WORDS)?,
            bin_counts: device.allocate(capacity.bins)?,
            bin_starts: device.allocate(capacity.bins + 1)?,
            cursors: device.allocate(capacity.bins)?,
            entries: device.allocate(capacity.entries)?,
            order: device.allocate(capacity.terms + capacity.entries)?,
            bucket_starts: device.allocate(capacity.buckets + 1)?,
            length_counts: device.allocate(MAX_PART_LENGTH as usize)?,
            parts: device.allocate(capacity.parts * PART_U32)?,
            long_runs: device.allocate(capacity.parts * LONG_RUN_U32)?,
            bucket_sums: device.allocate(capacity.bucket_words)?,
            partial_sums: device.allocate(capacity.partial_words)?,
            weighed: [device.allocate(capacity.weighed_words)?, device.allocate(capacity.weighed_words)?],
            // At most a sum a bit of the scalars and one a window, and that of the ones.
            out: device.allocate((2 * MAGNITUDE_BITS as usize + 2) * 3 * 12)?,
        })
    }
}

/// Longest part of a run, and longest there is at all.
const MIN_PART_LENGTH: u32 = 16;
const MAX_PART_LENGTH: u32 = 1024;

/// Threads that sum parts at a time.
fn part_threads(device: &Device) -> usize {
    device.n_multiprocessors as usize * SUM_THREADS
}

/// Short enough that all threads have a part, but long enough that buckets of ordinary size are one.
fn max_part_length(device: &Device, n_references: usize, n_buckets: usize) -> u32 {
    max_part_length_of(part_threads(device), n_references, n_buckets)
}

fn max_part_length_of(threads: usize, n_references: usize, n_buckets: usize) -> u32 {
    let length = (n_references / threads).max(4 * n_references / n_buckets).next_power_of_two();
    length.clamp(MIN_PART_LENGTH as usize, MAX_PART_LENGTH as usize) as u32
}

/// How many neighbouring buckets are weighed together: a power of two that leaves many threads at work.
fn weigh_factor(n_buckets: usize) -> usize {
    let factor = (n_buckets / WEIGH_THREADS).max(1);
    (1 << factor.ilog2()).min(MAX_FACTOR)
}

/// A sum under way: its terms are sorted out.
pub(crate) struct Terms {
    windows: Windows,
    n_ones: usize,
    n_rest: usize,
}

impl Memory {
    /// Sorts the terms of some bases out by 0, 1 and the rest; the counts come back, so this waits for the device. The windows
    /// are those of least cost for as many terms as there are, or as `like` says.
    pub(crate) fn classify<P: DeviceCurve>(
        &mut self,
        device: &Device,
        scalars: &Scalars<'_>,
        bases: Range<usize>,
        like: Option<usize>,
    ) -> Result<Terms, Error> {
        device.clear(&mut self.counts)?;
        let (first, n) = (bases.start as u32, bases.len() as u32);
        let bits = if let Order::Reversed(bits) = scalars.order { bits } else { 0 };
        let w = &scalars.w;
        let config = grid(n as usize, BLOCK);
        // One look at each scalar, of which w has as many as there are bases; at most as many ones and others as there are terms.
        if let Order::Columns(columns) = scalars.order {
            launch!(
                device,
                "cuzk_msm_classify",
                config,
                &self.order,
                &self.rest,
                &self.magnitudes,
                &self.counts,
                w,
                columns,
                &first,
                &n,
                &bits
            )?;
        } else {
            let none = 0u64;
            launch!(
                device,
                "cuzk_msm_classify",
                config,
                &self.order,
                &self.rest,
                &self.magnitudes,
                &self.counts,
                w,
                &none,
                &first,
                &n,
                &bits
            )?;
        }
        let counts = device.stream.clone_dtoh(&self.counts).map_err(device.error("cuMemcpyDtoH"))?;
        let (n_ones, n_rest) = (counts[0] as usize, counts[1] as usize);
        Ok(Terms { windows: best_windows::<P>(like.unwrap_or(n_rest)), n_ones, n_rest })
    }

    /// The sum of the terms, which [`Memory::classify`] has just sorted out.
    pub(crate) fn sum<P: DeviceCurve>(
        &mut self,
        device: &Device,
        bases: &CudaView<'_, u64>,
        terms: &Terms,
    ) -> Result<Sums<P>, Error> {
        self.sort(device, terms)?;
        let windows = &terms.windows;
        let n_buckets = n_buckets(windows) as u32;
        let n_references = terms.n_ones + terms.n_rest * windows.n as usize;
        let n_sorted = terms.n_rest * windows.n as usize;
        let max_length = max_part_length(device, n_sorted.max(terms.n_ones), n_buckets as usize);
        self.plan_parts(device, n_buckets, max_length)?;

        device.clear(&mut self.bucket_sums)?;
        let n_runs = (n_buckets + N_ONES_RUNS) as usize;
        let n_parts = n_runs + n_references / max_length as usize;
        P::sum_parts(device, grid(n_parts, P::SUM_BLOCK), self, bases)?;
        let sum_words = 4 * P::FIELD_WORDS;
        let shared = P::JOIN_BLOCK as usize * sum_words * 8;
        let join = blocks(4 * device.n_multiprocessors as usize, P::JOIN_BLOCK, shared);
        P::join_parts(device, join, self)?;

        let factor = weigh_factor(n_buckets as usize).min(1 << (windows.bits - 1));
        let n_weighed = n_buckets / factor as u32;
        if factor > 1 {
            P::weigh(device, grid(n_weighed as usize, P::JOIN_BLOCK), self, n_weighed, factor as u32)?;
        }
        let log2_n = windows.bits - 1 - factor.ilog2();
        // Buckets are their own sums of both kinds.
        let [s, t] = if factor > 1 { [&self.weighed[0], &self.weighed[1]] } else { [&self.bucket_sums; 2] };
        let ones = self.bucket_sums.slice(n_buckets as usize * sum_words..n_runs * sum_words);
        let finish = Finish { out: &self.out, s, t, ones, n_windows: windows.n, log2_n };
        let n_out = (windows.n * (log2_n + 1)) as usize + 1;
        P::finish(device, blocks(n_out, P::JOIN_BLOCK, shared), &finish)?;
        let words = device
            .stream
            .clone_dtoh(&self.out.slice(..n_out * 3 * P::FIELD_WORDS))
            .map_err(device.error("cuMemcpyDtoH"))?;
        Ok(Sums { points: values_of(&words, P::identity()), windows: *windows, log2_n })
    }

    /// References in order of (window, |digit|) after those of the ones, and where each bucket starts.
    fn sort(&mut self, device: &Device, terms: &Terms) -> Result<(), Error> {
        let windows = &terms.windows;
        let bins = windows.bins(terms.n_rest);
        let n_bins = windows.n << bins.high_bits;
        let (n, n_ones) = (terms.n_rest as u32, terms.n_ones as u32);
        let n_blocks = terms.n_rest.div_ceil(TERMS_PER_BLOCK).max(1);
        device.clear(&mut self.bin_counts)?;
        {
            // The digits lie where the references of the rest will, which are written when the digits are no longer wanted.
            let digits = self.order.slice(terms.n_ones..);
            // n_bins counters, n scalars, a digit a scalar and window.
            launch!(
                device,
                "cuzk_msm_digits",
                blocks(n_blocks, BLOCK, 4 * n_bins as usize),
                &digits,
                &self.bin_counts,
                &self.magnitudes,
                &n,
                windows,
                &bins,
                &n_bins
            )?;
            launch!(
                device,
                "cuzk_msm_scan_bins",
                blocks(1, SCAN_BLOCK, 4 * n_bins as usize),
                &self.bin_starts,
                &self.cursors,
                &self.bin_counts,
                &self.counts,
                &n_bins
            )?;
            let mut fill = blocks(n_blocks, BLOCK, 8 * TERMS_PER_BLOCK + (8 << bins.high_bits));
            fill.grid_dim.1 = windows.n;
            launch!(
                device,
                "cuzk_msm_fill_bins",
                fill,
                &self.entries,
                &self.cursors,
                &self.rest,
                &digits,
                &n,
                &n_ones,
                &bins
            )?;
        }
        let staged = STAGED as u32;
        let sort = blocks(n_bins as usize, SORT_BLOCK, 4 * ((1 << bins.low_bits) + STAGED));
        launch!(
            device,
            "cuzk_msm_sort_bins",
            sort,
            &self.order,
            &self.bucket_starts,
            &self.entries,
            &self.bin_starts,
            &n_ones,
            &staged,
            &bins
        )
    }

    fn plan_parts(&mut self, device: &Device, n_buckets: u32, max_length: u32) -> Result<(), Error> {
        let n_runs = (n_buckets + N_ONES_RUNS) as usize;
        let per_length = 4 * max_length as usize;
        device.clear(&mut self.length_counts)?;
        let few = blocks(
            n_runs.div_ceil(BLOCK as usize).min(8 * device.n_multiprocessors as usize),
            BLOCK,
            per_length,
        );
        // n_buckets + 1 starts, max_length counters.
        launch!(
            device,
            "cuzk_msm_count_parts",
            few,
            &self.length_counts,
            &self.counts,
            &self.bucket_starts,
            &n_buckets,
            &N_ONES_RUNS,
            &max_length
        )?;
        launch!(
            device,
            "cuzk_msm_scan_parts",
            blocks(1, SCAN_BLOCK, per_length),
            &self.length_counts,
            &self.counts,
            &max_length
        )?;
        launch!(
            device,
            "cuzk_msm_place_parts",
            few,
            &self.parts,
            &self.long_runs,
            &self.length_counts,
            &self.counts,
            &self.bucket_starts,
            &n_buckets,
            &N_ONES_RUNS,
            &max_length
        )
    }
}

/// What a sum leaves: for each window Σ Tₖ, then for each of log2_n bits Σ Sₖ over the k that have it; last, the sum of the
/// ones. Of 2^log2_n groups of neighbouring buckets, Sₖ is the sum of group k and Tₖ that of its i-th bucket i + 1 times.
pub(crate) struct Sums<P> {
    points: Vec<P>,
    windows: Windows,
    log2_n: u32,
}

impl<P: DeviceCurve> Sums<P> {
    /// Σ 2^(ci)·window[i] and the ones, a window being Σ Tₖ + Σ k·factor·Sₖ. Some 30 additions and doublings a window.
    pub(crate) fn combine(&self) -> P {
        let [windows @ .., ones] = &self.points[..] else { unreachable!("the ones have a sum") };
        let double = |sum: P, times: u32| (0..times).fold(sum, |sum, _| sum.double());
        let Windows { bits, .. } = self.windows;
        let window = |sums: &[P]| {
            let by_bit = sums[1..].iter().rev().fold(P::identity(), |sum, bit| sum.double() + bit);
            double(by_bit, bits - 1 - self.log2_n) + sums[0]
        };
        let windows = windows.chunks_exact(self.log2_n as usize + 1).rev();
        windows.fold(P::identity(), |sum, sums| double(sum, bits) + window(sums)) + ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever part of n terms is neither 0 nor 1, the memory for n has room for its sum.
    fn has_room_for_any_rest<P: DeviceCurve>() {
        const THREADS: usize = 132 * SUM_THREADS;
        let rooms =
            [0, 1, 7, 511, 1023, 16_383, (1 << 18) - 1, 1 << 20, (1 << 22) - 1, (1 << 24) - 1, (1 << 27) - 1];
        for n in rooms {
            let room = Capacity::for_threads::<P>(THREADS, n, None);
            // All widths with the fewest and the most terms that have them, and powers of two.
            let mut rests: Vec<usize> = (0..28).map(|log2| n.min(1 << log2)).collect();
            let mut most = Some(n);
            while let Some(rest) = most {
                let fewest = fewest_with::<P>(&best_windows::<P>(rest), rest);
                rests.extend([rest, fewest]);
                most = fewest.checked_sub(1);
            }
            for n_rest in rests {
                let windows = best_windows::<P>(n_rest);
                let needed = Capacity::of::<P>(THREADS, n_rest, &windows);
                assert_eq!(room.max(needed), room, "{n_rest} of {n} terms");
                for n_ones in [0, n - n_rest] {
                    let (buckets, sorted) = (n_buckets(&windows), n_rest * windows.n as usize);
                    let length = max_part_length_of(THREADS, sorted.max(n_ones), buckets) as usize;
                    let parts = buckets + N_ONES_RUNS as usize + (sorted + n_ones) / length;
                    assert!(parts <= room.parts, "{parts} parts for {n_rest} and {n_ones} of {n} terms");
                }
            }
        }
    }

    #[test]
    fn g1_has_room_for_any_rest() {
        has_room_for_any_rest::<G1Projective>();
    }

    #[test]
    fn g2_has_room_for_any_rest() {
        has_room_for_any_rest::<G2Projective>();
    }

    #[test]
    fn more_terms_never_have_narrower_windows() {
        let counts = (0..1 << 12).chain((0..500).map(|i| (1.03f64.powi(i) * f64::from(1 << 12)) as usize));
        let bits: Vec<u32> = counts.map(|n| best_windows::<G1Projective>(n).bits).collect();
        assert!(bits.is_sorted());
    }
}
