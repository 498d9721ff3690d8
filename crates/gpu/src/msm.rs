//! Multi-scalar sums on the device. See `cuda/msm/msm.cuh` and `cuda/msm/msm.cu`.

use std::ops::Range;

use blstrs::{G1Projective, G2Projective, Scalar as Fr};
use cudarc::driver::{CudaSlice, CudaView, LaunchConfig};
use cuzk_groth16::{Accumulation, Error};
use group::Group;
use rayon::prelude::*;

use crate::device::{Device, blocks, grid, launch};
use crate::layout::{Alignment, Bins, Windows, Words, values_of};

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
/// Words of a reference to a point and of the structures of `cuda/msm/msm.cu`.
const MAGNITUDE_WORDS: usize = 4;
const PART_U32: usize = 3;
const LONG_RUN_U32: usize = 3;
pub(crate) const N_COUNTS: usize = 6;
/// With batched affine additions, so many neighbours are brought to one point: 2^GROUP_LEVELS.
const GROUP_LEVELS: u32 = 3;
/// Groups that a thread takes at a time: the more, the fewer inverses and the more memory.
pub(crate) const GROUPS_AT_A_TIME: [usize; 3] = [64, 16, 4];

/// Cost of two additions among buckets, that of a point to a bucket being 10; the same in both curves, one plan serving both.
/// Reasoned: they are complete additions, 14 products for 10, and half of their threads wait.
const BUCKET_COST: u64 = 28;

/// A curve's kernels, as a sum calls them.
pub(crate) trait DeviceCurve: Group<Scalar = Fr> + Words {
    /// 64-bit words of a coordinate.
    const FIELD_WORDS: usize;
    /// Threads of a block of `sum_parts`, of `add_groups`, one of which fills a multiprocessor, and of the others.
    const SUM_BLOCK: u32;
    const GROUP_BLOCK: u32;
    const JOIN_BLOCK: u32;

    fn add_groups(
        device: &Device,
        config: LaunchConfig,
        groups: &GroupSums<'_>,
        bases: &CudaView<'_, u64>,
    ) -> Result<(), Error>;
    /// Of the points that `order` has the references of, or of all where it is 0.
    fn sum_parts(
        device: &Device,
        config: LaunchConfig,
        memory: &Memory,
        points: &CudaView<'_, u64>,
        order: u64,
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

/// References in groups of 2^levels, their sums, and what threads need to add them; see [`Memory`].
pub(crate) struct GroupSums<'a> {
    pub(crate) sums: &'a CudaView<'a, u64>,
    pub(crate) scratch_sums: &'a CudaSlice<u64>,
    pub(crate) scratch_products: &'a CudaSlice<u64>,
    pub(crate) order: &'a CudaSlice<u32>,
    /// The last of them is the number of references.
    pub(crate) counts: &'a CudaSlice<u32>,
    pub(crate) alignment: Alignment,
    pub(crate) groups_at_a_time: usize,
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
    ($curve:ty, $words:literal, $sum_block:literal, $group_block:literal, $join_block:literal, $groups:literal, $sum:literal, $join:literal, $weigh:literal, $finish:literal) => {
        impl DeviceCurve for $curve {
            const FIELD_WORDS: usize = $words;
            const SUM_BLOCK: u32 = $sum_block;
            const JOIN_BLOCK: u32 = $join_block;
            const GROUP_BLOCK: u32 = $group_block;

            fn add_groups(
                device: &Device,
                config: LaunchConfig,
                groups: &GroupSums<'_>,
                bases: &CudaView<'_, u64>,
            ) -> Result<(), Error> {
                let most = groups.groups_at_a_time as u32;
                // References are below the number of bases, and every group of them has a sum; a thread of the grid has memory
                // for `most` groups.
                launch!(
                    device,
                    $groups,
                    config,
                    groups.sums,
                    groups.scratch_sums,
                    groups.scratch_products,
                    bases,
                    groups.order,
                    groups.counts,
                    &groups.alignment,
                    &most
                )
            }

            fn sum_parts(
                device: &Device,
                config: LaunchConfig,
                memory: &Memory,
                points: &CudaView<'_, u64>,
                order: u64,
            ) -> Result<(), Error> {
                // References are below the number of bases, parts within the order or the groups, destinations within the
                // sums: `Memory` was planned for as many of each as there can be.
                launch!(
                    device,
                    $sum,
                    config,
                    &memory.bucket_sums,
                    &memory.partial_sums,
                    points,
                    &order,
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
    512,
    128,
    "cuzk_msm_add_groups_g1",
    "cuzk_msm_sum_parts_g1",
    "cuzk_msm_join_parts_g1",
    "cuzk_msm_weigh_g1",
    "cuzk_msm_finish_g1"
);
device_curve!(
    G2Projective,
    12,
    64,
    128,
    64,
    "cuzk_msm_add_groups_g2",
    "cuzk_msm_sum_parts_g2",
    "cuzk_msm_join_parts_g2",
    "cuzk_msm_weigh_g2",
    "cuzk_msm_finish_g2"
);

/// The windows of least cost for `n` terms other than 0 and 1.
pub(crate) fn best_windows<P: DeviceCurve>(n: usize) -> Windows {
    let cost = |windows: &Windows| {
        u64::from(windows.n)
            * (n as u64 * 10 + n_buckets(windows) as u64 / u64::from(windows.n) * BUCKET_COST)
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

/// Memory of the sums, for as many terms as the largest has. A plan of digits is in it until the next one.
pub(crate) struct Memory {
    counts: CudaSlice<u32>,
    rest: CudaSlice<u32>,
    magnitudes: CudaSlice<u64>,
    bin_counts: CudaSlice<u32>,
    bin_starts: CudaSlice<u32>,
    cursors: CudaSlice<u32>,
    /// Of bins, while a plan is made; after that, the sums of groups.
    entries_or_groups: CudaSlice<u64>,
    order: CudaSlice<u32>,
    bucket_bounds: CudaSlice<u64>,
    length_counts: CudaSlice<u32>,
    parts: CudaSlice<u32>,
    long_runs: CudaSlice<u32>,
    scratch_sums: CudaSlice<u64>,
    scratch_products: CudaSlice<u64>,
    bucket_sums: CudaSlice<u64>,
    partial_sums: CudaSlice<u64>,
    weighed: [CudaSlice<u64>; 2],
    out: CudaSlice<u64>,
    alignment: Alignment,
    groups_at_a_time: usize,
}

/// How sums are computed, and so what memory they take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method {
    pub(crate) accumulation: Accumulation,
    /// For how many terms windows are chosen, where not for those of each sum.
    pub(crate) like: Option<usize>,
    /// With groups, how many of them a thread takes at a time.
    pub(crate) groups_at_a_time: usize,
}

impl Method {
    pub(crate) fn alignment(&self) -> Alignment {
        match self.accumulation {
            Accumulation::Xyzz => Alignment { levels: 0 },
            Accumulation::Affine => Alignment { levels: GROUP_LEVELS },
        }
    }
}

impl Alignment {
    /// Groups of so many references that are one bucket's.
    fn groups(self, n: usize) -> usize {
        n.div_ceil(1 << self.levels)
    }

    /// At most so many groups of `n` references in `n_runs` buckets.
    fn most_groups(self, n: usize, n_runs: usize) -> usize {
        if self.levels == 0 { n } else { (n >> self.levels) + n_runs }
    }
}

/// How much of everything a sum can need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capacity {
    terms: usize,
    bins: usize,
    entries_or_groups: usize,
    references: usize,
    buckets: usize,
    parts: usize,
    scratch_words: usize,
    bucket_words: usize,
    partial_words: usize,
    weighed_words: usize,
}

impl Capacity {
    /// For sums of up to `n` terms over a curve.
    pub(crate) fn for_terms<P: DeviceCurve>(device: &Device, n: usize, method: &Method) -> Self {
        Self::for_multiprocessors::<P>(device.n_multiprocessors as usize, n, method)
    }

    fn for_multiprocessors<P: DeviceCurve>(n_multiprocessors: usize, n: usize, method: &Method) -> Self {
        if let Some(like) = method.like {
            return Self::of::<P>(n_multiprocessors, n, &best_windows::<P>(like), method);
        }
        // Fewer terms have narrower windows, of which there are more: each width counts with the most terms that have it.
        let mut capacity = Capacity::default();
        let mut most = Some(n);
        while let Some(n) = most {
            let windows = best_windows::<P>(n);
            capacity = capacity.max(Self::of::<P>(n_multiprocessors, n, &windows, method));
            most = fewest_with::<P>(&windows, n).checked_sub(1);
        }
        capacity
    }

    /// For up to `n` terms with these windows.
    fn of<P: DeviceCurve>(n_multiprocessors: usize, n: usize, windows: &Windows, method: &Method) -> Self {
        let alignment = method.alignment();
        let (buckets, entries) = (n_buckets(windows), n * windows.n as usize);
        let runs = buckets + N_ONES_RUNS as usize;
        let sum_words = 4 * P::FIELD_WORDS;
        // The ones are filled up as a bucket is.
        let groups = alignment.most_groups(n + entries, buckets + 1);
        let grouped = |n| if alignment.levels == 0 { 0 } else { n };
        // What `max_part_length` leaves of so many: of n ones and sorted ones, it divides the larger number by the threads, unless
        // that is too much. What fills groups up comes on top.
        let filling = grouped(buckets / MIN_PART_LENGTH as usize + 1);
        let spread = (2 * part_threads(n_multiprocessors) + filling).max(groups / MAX_PART_LENGTH as usize);
        let group_threads = n_multiprocessors * P::GROUP_BLOCK as usize;
        let at_a_time = groups.div_ceil(group_threads).clamp(1, method.groups_at_a_time);
        Capacity {
            terms: n,
            bins: (windows.n as usize) << windows.bins(n).high_bits,
            entries_or_groups: entries.max(grouped(groups * 2 * P::FIELD_WORDS)),
            references: groups << alignment.levels,
            buckets,
            parts: runs + spread,
            // Of field elements: a point is two.
            scratch_words: grouped((group_threads * at_a_time * P::FIELD_WORDS) << (GROUP_LEVELS - 1)),
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
            entries_or_groups: self.entries_or_groups.max(other.entries_or_groups),
            references: self.references.max(other.references),
            buckets: self.buckets.max(other.buckets),
            parts: self.parts.max(other.parts),
            scratch_words: self.scratch_words.max(other.scratch_words),
            bucket_words: self.bucket_words.max(other.bucket_words),
            partial_words: self.partial_words.max(other.partial_words),
            weighed_words: self.weighed_words.max(other.weighed_words),
        }
    }

    /// Bytes that [`Memory::new`] asks for.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.terms * MAGNITUDE_WORDS
            + self.entries_or_groups
            + self.buckets
            + 3 * self.scratch_words
            + self.bucket_words
            + self.partial_words
            + 2 * self.weighed_words;
        let halves = self.terms + 3 * self.bins + self.references + 2 * PART_U32 * self.parts;
        8 * words + 4 * halves
    }
}

impl Memory {
    pub(crate) fn new(device: &Device, capacity: &Capacity, method: &Method) -> Result<Self, Error> {
        Ok(Memory {
            counts: device.allocate(N_COUNTS)?,
            rest: device.allocate(capacity.terms)?,
            magnitudes: device.allocate(capacity.terms * MAGNITUDE_WORDS)?,
            bin_counts: device.allocate(capacity.bins)?,
            bin_starts: device.allocate(capacity.bins + 1)?,
            cursors: device.allocate(capacity.bins)?,
            entries_or_groups: device.allocate(capacity.entries_or_groups)?,
            order: device.allocate(capacity.references)?,
            bucket_bounds: device.allocate(capacity.buckets)?,
            length_counts: device.allocate(MAX_PART_LENGTH as usize)?,
            parts: device.allocate(capacity.parts * PART_U32)?,
            long_runs: device.allocate(capacity.parts * LONG_RUN_U32)?,
            scratch_sums: device.allocate(2 * capacity.scratch_words)?,
            scratch_products: device.allocate(capacity.scratch_words)?,
            bucket_sums: device.allocate(capacity.bucket_words)?,
            partial_sums: device.allocate(capacity.partial_words)?,
            weighed: [device.allocate(capacity.weighed_words)?, device.allocate(capacity.weighed_words)?],
            // At most a sum a bit of the scalars and one a window, and that of the ones.
            out: device.allocate((2 * MAGNITUDE_BITS as usize + 2) * 3 * 12)?,
            alignment: method.alignment(),
            groups_at_a_time: method.groups_at_a_time,
        })
    }
}

/// Longest part of a run, and longest there is at all.
const MIN_PART_LENGTH: u32 = 16;
const MAX_PART_LENGTH: u32 = 1024;

/// Threads that sum parts at a time, in G1: registers allow a multiprocessor so many.
fn part_threads(n_multiprocessors: usize) -> usize {
    n_multiprocessors * 384
}

/// Short enough that all threads have a part, but long enough that buckets of ordinary size are one.
fn max_part_length(n_multiprocessors: usize, n: usize, n_buckets: usize) -> u32 {
    let length = (n / part_threads(n_multiprocessors)).max(4 * n / n_buckets).next_power_of_two();
    length.clamp(MIN_PART_LENGTH as usize, MAX_PART_LENGTH as usize) as u32
}

/// How many neighbouring buckets are weighed together: a power of two that leaves many threads at work.
fn weigh_factor(n_buckets: usize) -> usize {
    let factor = (n_buckets / WEIGH_THREADS).max(1);
    (1 << factor.ilog2()).min(MAX_FACTOR)
}

/// What a plan of digits in [`Memory`] is for: terms sorted out by 0, 1 and the buckets of the rest, and these divided into
/// parts. It serves every query whose bases have these scalars.
#[derive(Clone, Copy)]
pub(crate) struct DigitPlan {
    windows: Windows,
    n_ones: usize,
    n_rest: usize,
}

impl DigitPlan {
    fn n_runs(&self) -> usize {
        n_buckets(&self.windows) + N_ONES_RUNS as usize
    }

    /// Parts have so many points, and there are at most so many of them.
    fn parts(&self, n_multiprocessors: usize, alignment: Alignment) -> (u32, usize) {
        let n_sorted = self.n_rest * self.windows.n as usize;
        let n_buckets = n_buckets(&self.windows);
        let n_long = alignment.groups(n_sorted.max(self.n_ones));
        let length = max_part_length(n_multiprocessors, n_long, n_buckets);
        let n_groups = alignment.most_groups(n_sorted + self.n_ones, n_buckets + 1);
        (length, self.n_runs() + n_groups / length as usize)
    }

    /// Neighbouring buckets that are weighed together, and log₂ of how many such groups a window has.
    fn weighing(&self) -> (usize, u32) {
        let bits = self.windows.bits - 1;
        let factor = weigh_factor(n_buckets(&self.windows)).min(1 << bits);
        (factor, bits - factor.ilog2())
    }

    /// Points that a sum leaves.
    fn n_out(&self) -> usize {
        (self.windows.n * (self.weighing().1 + 1)) as usize + 1
    }
}

impl Memory {
    /// Plans the sums of some bases. The counts of ones and others come back, so this waits for the device. The windows are those
    /// of least cost for as many terms as there are, or as `like` says.
    pub(crate) fn plan<P: DeviceCurve>(
        &mut self,
        device: &Device,
        scalars: &Scalars<'_>,
        bases: Range<usize>,
        like: Option<usize>,
    ) -> Result<DigitPlan, Error> {
        device.clear(&mut self.counts)?;
        let (first, n) = (bases.start as u32, bases.len() as u32);
        let (columns, bits) = match scalars.order {
            Order::Same => (0, 0),
            Order::Reversed(bits) => (0, bits),
            Order::Columns(columns) => (device.address(columns), 0),
        };
        let w = &scalars.w;
        // One look at each scalar, of which w has as many as there are bases; at most as many ones and others as there are terms.
        launch!(
            device,
            "cuzk_msm_classify",
            grid(n as usize, BLOCK),
            &self.order,
            &self.rest,
            &self.magnitudes,
            &self.counts,
            w,
            &columns,
            &first,
            &n,
            &bits
        )?;
        let counts = device.stream.clone_dtoh(&self.counts).map_err(device.error("cuMemcpyDtoH"))?;
        let (n_ones, n_rest) = (counts[0] as usize, counts[1] as usize);
        let plan = DigitPlan { windows: best_windows::<P>(like.unwrap_or(n_rest)), n_ones, n_rest };
        self.sort(device, &plan)?;
        self.plan_parts(device, &plan)?;
        Ok(plan)
    }

    /// Submits a sum by the plan, which must be the last that was made. [`Memory::collect`] has to follow before the next one.
    pub(crate) fn submit<P: DeviceCurve>(
        &mut self,
        device: &Device,
        bases: &CudaView<'_, u64>,
        plan: &DigitPlan,
    ) -> Result<(), Error> {
        device.clear(&mut self.bucket_sums)?;
        let (_, n_parts) = plan.parts(device.n_multiprocessors as usize, self.alignment);
        let parts = grid(n_parts, P::SUM_BLOCK);
        if self.alignment.levels == 0 {
            P::sum_parts(device, parts, self, bases, device.address(&self.order))?;
        } else {
            let n_blocks = device.n_multiprocessors as usize;
            let sums = self.entries_or_groups.as_view();
            let groups = GroupSums {
                sums: &sums,
                scratch_sums: &self.scratch_sums,
                scratch_products: &self.scratch_products,
                order: &self.order,
                counts: &self.counts,
                alignment: self.alignment,
                groups_at_a_time: self.groups_at_a_time,
            };
            P::add_groups(device, blocks(n_blocks, P::GROUP_BLOCK, 0), &groups, bases)?;
            P::sum_parts(device, parts, self, &sums, 0)?;
        }
        let sum_words = 4 * P::FIELD_WORDS;
        let shared = P::JOIN_BLOCK as usize * sum_words * 8;
        let join = blocks(4 * device.n_multiprocessors as usize, P::JOIN_BLOCK, shared);
        P::join_parts(device, join, self)?;

        let n_buckets = n_buckets(&plan.windows);
        let (factor, log2_n) = plan.weighing();
        if factor > 1 {
            let n_weighed = n_buckets / factor;
            let config = grid(n_weighed, P::JOIN_BLOCK);
            P::weigh(device, config, self, n_weighed as u32, factor as u32)?;
        }
        // Buckets are their own sums of both kinds.
        let [s, t] = if factor > 1 { [&self.weighed[0], &self.weighed[1]] } else { [&self.bucket_sums; 2] };
        let ones = self.bucket_sums.slice(n_buckets * sum_words..plan.n_runs() * sum_words);
        let finish = Finish { out: &self.out, s, t, ones, n_windows: plan.windows.n, log2_n };
        P::finish(device, blocks(plan.n_out(), P::JOIN_BLOCK, shared), &finish)
    }

    /// What was submitted by this plan. Waits for the device.
    pub(crate) fn collect<P: DeviceCurve>(
        &mut self,
        device: &Device,
        plan: &DigitPlan,
    ) -> Result<Sums<P>, Error> {
        let words = device
            .stream
            .clone_dtoh(&self.out.slice(..plan.n_out() * 3 * P::FIELD_WORDS))
            .map_err(device.error("cuMemcpyDtoH"))?;
        Ok(Sums { points: values_of(&words, P::identity()), plan: *plan })
    }

    /// References in order of (window, |digit|) after those of the ones, and where each bucket is.
    fn sort(&mut self, device: &Device, plan: &DigitPlan) -> Result<(), Error> {
        let windows = &plan.windows;
        let bins = windows.bins(plan.n_rest);
        let n_bins = windows.n << bins.high_bits;
        let n = plan.n_rest as u32;
        let n_blocks = plan.n_rest.div_ceil(TERMS_PER_BLOCK).max(1);
        device.clear(&mut self.bin_counts)?;
        // The digits lie where the references of the rest will, which are written when the digits are no longer wanted.
        let first = self.alignment.groups(plan.n_ones) << self.alignment.levels;
        let digits = self.order.slice(first..);
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
            &self.order,
            &self.counts,
            &self.bin_counts,
            &n_bins,
            &self.alignment
        )?;
        let mut fill = blocks(n_blocks, BLOCK, 8 * TERMS_PER_BLOCK + (8 << bins.high_bits));
        fill.grid_dim.1 = windows.n;
        launch!(
            device,
            "cuzk_msm_fill_bins",
            fill,
            &self.entries_or_groups,
            &self.cursors,
            &self.rest,
            &digits,
            &n,
            &bins
        )?;
        let staged = STAGED as u32;
        let sort = blocks(n_bins as usize, SORT_BLOCK, 4 * ((1 << bins.low_bits) + STAGED));
        launch!(
            device,
            "cuzk_msm_sort_bins",
            sort,
            &self.order,
            &self.bucket_bounds,
            &self.counts,
            &self.entries_or_groups,
            &self.bin_starts,
            &staged,
            &bins,
            &self.alignment
        )
    }

    fn plan_parts(&mut self, device: &Device, plan: &DigitPlan) -> Result<(), Error> {
        let n_buckets = n_buckets(&plan.windows) as u32;
        let (max_length, _) = plan.parts(device.n_multiprocessors as usize, self.alignment);
        let per_length = 4 * max_length as usize;
        device.clear(&mut self.length_counts)?;
        let few = blocks(
            plan.n_runs().div_ceil(BLOCK as usize).min(8 * device.n_multiprocessors as usize),
            BLOCK,
            per_length,
        );
        // n_buckets bounds, max_length counters.
        launch!(
            device,
            "cuzk_msm_count_parts",
            few,
            &self.length_counts,
            &self.counts,
            &self.bucket_bounds,
            &n_buckets,
            &N_ONES_RUNS,
            &max_length,
            &self.alignment
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
            &self.bucket_bounds,
            &n_buckets,
            &N_ONES_RUNS,
            &max_length,
            &self.alignment
        )
    }
}

/// What a sum leaves: for each window Σ Tₖ, then for each bit of a group's number Σ Sₖ over the k that have it; last, the sum of
/// the ones. Of groups of neighbouring buckets, Sₖ is the sum of group k and Tₖ that of its i-th bucket i + 1 times.
pub(crate) struct Sums<P> {
    points: Vec<P>,
    plan: DigitPlan,
}

impl<P: DeviceCurve> Sums<P> {
    /// Σ 2^(ci)·window[i] and the ones, a window being Σ Tₖ + Σ k·factor·Sₖ. Some 50 additions and doublings a window, on all
    /// threads, and then 254 doublings.
    pub(crate) fn combine(&self) -> P {
        let [windows @ .., ones] = &self.points[..] else { unreachable!("the ones have a sum") };
        let double = |sum: P, times: u32| (0..times).fold(sum, |sum, _| sum.double());
        let Windows { bits, .. } = self.plan.windows;
        let (_, log2_n) = self.plan.weighing();
        let window = |sums: &[P]| {
            let by_bit = sums[1..].iter().rev().fold(P::identity(), |sum, bit| sum.double() + bit);
            double(by_bit, bits - 1 - log2_n) + sums[0]
        };
        let windows: Vec<P> = windows.par_chunks_exact(log2_n as usize + 1).map(window).collect();
        windows.iter().rev().fold(P::identity(), |sum, window| double(sum, bits) + window) + ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCUMULATIONS: [Accumulation; 2] = [Accumulation::Xyzz, Accumulation::Affine];

    /// Whatever part of n terms is neither 0 nor 1, the memory for n has room for its sum.
    fn has_room_for_any_rest<P: DeviceCurve>(accumulation: Accumulation) {
        const N_MULTIPROCESSORS: usize = 132;
        let method = Method { accumulation, like: None, groups_at_a_time: GROUPS_AT_A_TIME[0] };
        let alignment = method.alignment();
        let rooms =
            [0, 1, 7, 511, 1023, 16_383, (1 << 18) - 1, 1 << 20, (1 << 22) - 1, (1 << 24) - 1, (1 << 27) - 1];
        for n in rooms {
            let room = Capacity::for_multiprocessors::<P>(N_MULTIPROCESSORS, n, &method);
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
                let needed = Capacity::of::<P>(N_MULTIPROCESSORS, n_rest, &windows, &method);
                assert_eq!(room.max(needed), room, "{n_rest} of {n} terms");
                for n_ones in [0, n - n_rest] {
                    let plan = DigitPlan { windows, n_ones, n_rest };
                    let (_, parts) = plan.parts(N_MULTIPROCESSORS, alignment);
                    assert!(parts <= room.parts, "{parts} parts for {n_rest} and {n_ones} of {n} terms");
                    // The worst that can be: every bucket, and the ones, one reference over whole groups.
                    let n_buckets = n_buckets(&windows);
                    let (n_sorted, group) = (n_rest * windows.n as usize, 1 << alignment.levels);
                    let filled = n_buckets.min(n_sorted);
                    let references = (n_sorted - filled).next_multiple_of(group)
                        + filled * group
                        + n_ones.next_multiple_of(group);
                    assert!(references <= room.references, "{n_rest} and {n_ones} of {n} terms");
                }
            }
        }
    }

    #[test]
    fn g1_has_room_for_any_rest() {
        ACCUMULATIONS.into_iter().for_each(has_room_for_any_rest::<G1Projective>);
    }

    #[test]
    fn g2_has_room_for_any_rest() {
        ACCUMULATIONS.into_iter().for_each(has_room_for_any_rest::<G2Projective>);
    }

    #[test]
    fn more_terms_never_have_narrower_windows() {
        let counts = (0..1 << 12).chain((0..500).map(|i| (1.03f64.powi(i) * f64::from(1 << 12)) as usize));
        let bits: Vec<u32> = counts.map(|n| best_windows::<G1Projective>(n).bits).collect();
        assert!(bits.is_sorted());
    }
}
