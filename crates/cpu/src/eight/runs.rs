//! Sums of many runs of points, a run in each lane.
//!
//! Runs are sorted by length; eight neighbours form a group, whose first level of additions gathers pairs of points
//! into blocks (slot t of the eight runs), and whose later levels add blocks to blocks in place. Long runs are cut into
//! parts, whose sums are added in a second round.

use std::ops::Range;

use cuzk_field::{Eight, EightColumns, Engine, Field, Kernel, Lanes};
use rayon::prelude::*;

use super::batch::{BATCH_BLOCKS, BatchAdder, Blocks, Infinity, Lanes8};
use super::points::{Block, PackedPoint};
use crate::runs::prefetch;

/// Marks a position whose point is to be negated.
pub(crate) const NEGATE: u32 = 1 << 31;

/// Points of a task: their sums of pairs, 512 KB in G1, as much of staged operands, and a batch's scratch memory stay in a second-level cache. With twice
/// as many a sum of 2^18 terms took 692 ms for 662, with windows of 14 bits 697 for 670 (one core of a 16-core Xeon with IFMA,
/// 2 MB of second-level cache, 2026-11-29).
const TASK_POINTS: usize = 1 << 13;
/// Tasks that a thread does one after the other: the first of them has points that nothing announced. Reasoned: few enough
/// that 2^18 points are work for four threads.
const TASKS_IN_CHAIN: usize = 8;
/// Longest part of a run: eight of them fill a task.
const PART_POINTS: u32 = 1 << 10;

/// Points to be summed: `points[order[i] & !NEGATE]`, negated where marked.
#[derive(Clone, Copy)]
pub(crate) struct Selection<'a, F: Field> {
    pub(crate) points: &'a [PackedPoint<F>],
    pub(crate) order: &'a [u32],
    /// Whether some of the points may be at infinity.
    pub(crate) infinity: Infinity,
}

/// A part of a run: where it starts in the order, its length, and where its sum goes.
#[derive(Clone, Copy)]
struct Part {
    start: u32,
    length: u32,
    destination: u32,
}

/// Σ of the points at `order[bounds[i]..bounds[i + 1]]` for each i; the bounds must ascend. An empty run gives infinity.
pub(crate) fn sum_runs<F: Field>(
    engine: Engine,
    selection: Selection<'_, F>,
    bounds: &[u32],
) -> Vec<PackedPoint<F>> {
    let n_parts: Vec<u32> = bounds.windows(2).map(|run| (run[1] - run[0]).div_ceil(PART_POINTS)).collect();
    if n_parts.iter().all(|&n| n <= 1) {
        let runs = bounds.windows(2).enumerate();
        let parts = runs.map(|(run, bounds)| part(bounds[0]..bounds[1], run as u32)).collect();
        return sum_parts(engine, selection, parts, n_parts.len());
    }
    let mut parts = vec![];
    let mut ends = vec![0];
    for (run, &n) in bounds.windows(2).zip(&n_parts) {
        let length = u64::from(run[1] - run[0]);
        let bound = |index: u32| run[0] + (length * u64::from(index) / u64::from(n)) as u32;
        for index in 0..n {
            parts.push(part(bound(index)..bound(index + 1), parts.len() as u32));
        }
        ends.push(parts.len() as u32);
    }
    let n = parts.len();
    let sums = sum_parts(engine, selection, parts, n);
    let order: Vec<u32> = (0..n as u32).collect();
    // Points of a run may be opposite.
    let selection = Selection { points: &sums, order: &order, infinity: Infinity::Possible };
    sum_runs(engine, selection, &ends)
}

fn part(range: Range<u32>, destination: u32) -> Part {
    Part { start: range.start, length: range.end - range.start, destination }
}

/// Sums of parts by destination, below `n`.
fn sum_parts<F: Field>(
    engine: Engine,
    selection: Selection<'_, F>,
    mut parts: Vec<Part>,
    n: usize,
) -> Vec<PackedPoint<F>> {
    sort_by_falling_length(&mut parts);
    let mut sums = vec![PackedPoint::default(); n];
    let sums_by_chain: Vec<Vec<PackedPoint<F>>> = tasks(&parts)
        .par_chunks(TASKS_IN_CHAIN)
        .map_init(|| Worker::new(engine, selection), |worker, tasks| worker.run(&parts, tasks))
        .collect();
    let by_part = sums_by_chain.iter().flatten();
    by_part.zip(&parts).for_each(|(sum, part)| sums[part.destination as usize] = *sum);
    sums
}

/// A counting sort that leaves out empty parts.
fn sort_by_falling_length(parts: &mut Vec<Part>) {
    parts.retain(|part| part.length > 0);
    let mut next = vec![0u32; PART_POINTS as usize + 2];
    let place = |part: &Part| (PART_POINTS - part.length) as usize;
    parts.iter().for_each(|part| next[place(part) + 1] += 1);
    for length in 1..next.len() {
        next[length] += next[length - 1];
    }
    let mut sorted = parts.clone();
    for part in parts.iter() {
        let place = &mut next[place(part)];
        sorted[*place as usize] = *part;
        *place += 1;
    }
    *parts = sorted;
}

/// Cuts the parts into tasks of whole groups.
fn tasks(parts: &[Part]) -> Vec<Range<usize>> {
    let mut tasks = vec![];
    let (mut first, mut n_points) = (0, 0);
    for (group, parts_of_group) in parts.chunks(8).enumerate() {
        n_points += 8 * parts_of_group[0].length as usize;
        if n_points >= TASK_POINTS {
            tasks.push(first..(8 * group + parts_of_group.len()));
            first = 8 * (group + 1);
            n_points = 0;
        }
    }
    if first < parts.len() {
        tasks.push(first..parts.len());
    }
    tasks
}

/// What a thread works with.
struct Worker<'a, F: Field> {
    selection: Selection<'a, F>,
    engine: Engine,
    adder: BatchAdder<F>,
    staged: Staged<F>,
    blocks: Vec<Block<F>>,
    pairs: Vec<PairOfBlocks>,
}

/// What is to be done in a task.
#[derive(Default)]
struct Plan {
    gathers: Vec<Gather>,
    groups: Vec<Group>,
}

/// Additions of the first level.
#[derive(Clone, Copy)]
struct Gather {
    left: [u32; 8],
    right: [u32; 8],
    active: u8,
}

/// The first block of a group, and how many slots each lane has.
struct Group {
    first: usize,
    depths: [u32; 8],
}

/// `blocks[left] += blocks[right]` in the active lanes.
#[derive(Clone, Copy)]
struct PairOfBlocks {
    left: u32,
    right: u32,
    active: u8,
}

impl<'a, F: Field> Worker<'a, F> {
    fn new(engine: Engine, selection: Selection<'a, F>) -> Self {
        let mut adder = BatchAdder::new(engine);
        adder.expect_infinity(selection.infinity);
        Worker { selection, engine, adder, staged: Staged::new(), blocks: vec![], pairs: vec![] }
    }

    /// Does tasks one after the other: the sums of their parts. A task is planned before the one before it is done, so that
    /// its first points can be announced in time.
    fn run(&mut self, parts: &[Part], tasks: &[Range<usize>]) -> Vec<PackedPoint<F>> {
        let mut sums = vec![];
        let (mut plan, mut next) = (Plan::default(), Plan::default());
        next.set(self.selection.order, &parts[tasks[0].clone()]);
        for (index, task) in tasks.iter().enumerate() {
            std::mem::swap(&mut plan, &mut next);
            next.clear();
            if let Some(task) = tasks.get(index + 1) {
                next.set(self.selection.order, &parts[task.clone()]);
            }
            self.adder.expect_infinity(self.selection.infinity);
            self.do_first_level(&plan.gathers, &next.gathers, index == 0);
            self.do_later_levels(&plan.groups);
            let first_blocks = plan.groups.iter().map(|group| &self.blocks[group.first]);
            let n_sums = sums.len() + task.len();
            sums.extend(first_blocks.flat_map(rows_of_block));
            sums.truncate(n_sums);
        }
        sums
    }

    /// The first batch of the next task is staged beside the last one of this.
    fn do_first_level(&mut self, gathers: &[Gather], gathers_of_next_task: &[Gather], cold: bool) {
        if self.blocks.len() < gathers.len() {
            self.blocks.resize(gathers.len(), Block::INFINITY);
        }
        let points = self.selection.points;
        let staged = &mut self.staged;
        if cold {
            let gathers = &gathers[..gathers.len().min(BATCH_BLOCKS)];
            self.engine.run(Stage { points, gathers, first: 0, staged });
        }
        let n_of_next_task = gathers_of_next_task.len().min(BATCH_BLOCKS);
        let next = gathers.chunks(BATCH_BLOCKS).skip(1).chain([&gathers_of_next_task[..n_of_next_task]]);
        let batches = gathers.chunks(BATCH_BLOCKS).zip(self.blocks.chunks_mut(BATCH_BLOCKS));
        for ((gathers, blocks), next) in batches.zip(next) {
            let n = gathers.len();
            self.adder.add(&mut FirstLevel { points, gathers, staged, next, blocks: &mut blocks[..n] });
            staged.places[..n].reverse();
            let gathers = next.get(n..).unwrap_or_default();
            self.engine.run(Stage { points, gathers, first: n, staged });
        }
    }

    /// Leaves the sums of group g in the first block of `groups[g]`.
    fn do_later_levels(&mut self, groups: &[Group]) {
        let mut stride = 1;
        while plan_level(&mut self.pairs, groups, stride) {
            for pairs in self.pairs.chunks(BATCH_BLOCKS) {
                self.adder.add(&mut LaterLevel { blocks: &mut self.blocks, pairs });
            }
            stride *= 2;
        }
    }
}

impl Plan {
    fn clear(&mut self) {
        self.gathers.clear();
        self.groups.clear();
    }

    /// Plans the sums of parts, sorted by falling length, none empty.
    fn set(&mut self, order: &[u32], parts: &[Part]) {
        self.clear();
        for parts in parts.chunks(8) {
            self.add_group(order, parts);
        }
    }

    fn add_group(&mut self, order: &[u32], parts: &[Part]) {
        let depths = std::array::from_fn(|lane| parts.get(lane).map_or(0, |part| part.length.div_ceil(2)));
        self.groups.push(Group { first: self.gathers.len(), depths });
        for slot in 0..depths[0] {
            let mut gather = Gather { left: [0; 8], right: [0; 8], active: 0 };
            for lane in 0..8 {
                // A lane without a point of its own gathers one that is there, for nothing.
                let (start, length) =
                    parts.get(lane).map_or((parts[0].start, 0), |part| (part.start, part.length));
                let left = if 2 * slot < length { start + 2 * slot } else { start };
                let paired = 2 * slot + 1 < length;
                gather.left[lane] = order[left as usize];
                gather.right[lane] = order[left as usize + usize::from(paired)];
                gather.active |= u8::from(paired) << lane;
            }
            self.gathers.push(gather);
        }
    }
}

/// Pairs of the slots that are `stride` apart; false if there are none.
fn plan_level(pairs: &mut Vec<PairOfBlocks>, groups: &[Group], stride: u32) -> bool {
    pairs.clear();
    for group in groups {
        let mut slot = 0;
        while slot + stride < group.depths[0] {
            let lanes = group.depths.iter().enumerate();
            let active = lanes.fold(0, |mask, (lane, &depth)| mask | u8::from(slot + stride < depth) << lane);
            let left = group.first as u32 + slot;
            pairs.push(PairOfBlocks { left, right: left + stride, active });
            slot += 2 * stride;
        }
    }
    !pairs.is_empty()
}

/// The points of a block.
fn rows_of_block<F: Field>(block: &Block<F>) -> [PackedPoint<F>; 8] {
    let (x, y) = (F::rows(&block.x), F::rows(&block.y));
    std::array::from_fn(|lane| PackedPoint { x: x[lane], y: y[lane] })
}

/// Both operands of eight additions.
type Operands<F> = [Block<F>; 2];

/// The operands of a batch, copied from all over memory while the batch before is added: a point's page is looked up once, where the
/// additions themselves would do so for each coordinate at each of its uses. A sum of 2^20 terms took 1767 and 1786 ms for 1960 and 1927
/// without, one of 2^18 493 and 523 for 657 and 528 (in turn, one core of a 16-core Xeon with IFMA, 2026-11-30).
struct Staged<F: Field> {
    operands: Vec<Operands<F>>,
    /// Where the operands of each block of the batch are. As those of the next batch take the places of this one's from the last
    /// on, the order of places is reversed from batch to batch.
    places: Vec<u32>,
}

impl<F: Field> Staged<F> {
    fn new() -> Self {
        Staged {
            operands: vec![[Block::INFINITY; 2]; BATCH_BLOCKS],
            places: (0..BATCH_BLOCKS as u32).collect(),
        }
    }

    #[inline(always)]
    fn operands(&self, block: usize) -> &Operands<F> {
        &self.operands[self.places[block] as usize]
    }

    #[inline(always)]
    fn put<L: Lanes>(&mut self, place: usize, points: &[PackedPoint<F>], gather: &Gather) {
        let [left, right] = &mut self.operands[self.places[place] as usize];
        gather_x::<F, L>(points, &gather.left).store(&mut left.x);
        gather_y::<F, L>(points, &gather.left).store(&mut left.y);
        gather_x::<F, L>(points, &gather.right).store(&mut right.x);
        gather_y::<F, L>(points, &gather.right).store(&mut right.y);
    }
}

/// Copies the operands of blocks, from place `first` on.
struct Stage<'a, F: Field> {
    points: &'a [PackedPoint<F>],
    gathers: &'a [Gather],
    first: usize,
    staged: &'a mut Staged<F>,
}

impl<F: Field> Kernel for Stage<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (index, gather) in self.gathers.iter().enumerate() {
            announce(self.points, self.gathers.get(index + BLOCKS_AHEAD));
            self.staged.put::<L>(self.first + index, self.points, gather);
        }
    }
}

struct FirstLevel<'a, F: Field> {
    points: &'a [PackedPoint<F>],
    gathers: &'a [Gather],
    staged: &'a mut Staged<F>,
    /// The next batch's, which are staged beside.
    next: &'a [Gather],
    blocks: &'a mut [Block<F>],
}

/// How many blocks ahead a coordinate of the points is announced: 16 cache lines a block (8 where one operand is gathered).
/// A multiple of the generator took 1504 ns with 2, 1427 with 4, 1420 with 8 (one core of a 16-core Xeon with IFMA,
/// 2026-11-29).
pub(crate) const BLOCKS_AHEAD: usize = 4;

/// Announces a coordinate of points.
#[inline(always)]
pub(crate) fn announce_points<F: Field>(
    points: &[PackedPoint<F>],
    entries: &[u32; 8],
    coordinate: impl Fn(&PackedPoint<F>) -> &F::Row,
) {
    for entry in entries {
        prefetch(coordinate(&points[(entry & !NEGATE) as usize]));
    }
}

/// x of points.
#[inline(always)]
pub(crate) fn gather_x<F: Field, L: Lanes>(points: &[PackedPoint<F>], entries: &[u32; 8]) -> Lanes8<F, L> {
    let mut rows = [&points[(entries[0] & !NEGATE) as usize].x; 8];
    for lane in 1..8 {
        rows[lane] = &points[(entries[lane] & !NEGATE) as usize].x;
    }
    Lanes8::<F, L>::gather(rows)
}

/// y of points with their signs, at most 2 p; infinity has no sign.
#[inline(always)]
pub(crate) fn gather_y<F: Field, L: Lanes>(points: &[PackedPoint<F>], entries: &[u32; 8]) -> Lanes8<F, L> {
    let mut rows = [&points[(entries[0] & !NEGATE) as usize].y; 8];
    let mut negative = (entries[0] >> 31) as u8;
    for lane in 1..8 {
        rows[lane] = &points[(entries[lane] & !NEGATE) as usize].y;
        negative |= ((entries[lane] >> 31) as u8) << lane;
    }
    let y = Lanes8::<F, L>::gather(rows);
    // All blocks of a selection without signs, and hardly one of the others.
    if negative == 0 {
        return y;
    }
    let negated = Lanes8::<F, L>::zero().columns().sub::<2>(&y.columns()).carry();
    Lanes8::<F, L>::select(negative & !y.all_limbs_zero(), &y, &negated)
}

impl<F: Field> Blocks<F> for FirstLevel<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.gathers.len()
    }

    #[inline(always)]
    fn active(&self, block: usize) -> u8 {
        self.gathers[block].active
    }

    #[inline(always)]
    fn left_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.staged.operands(block)[0].x)
    }

    #[inline(always)]
    fn left_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.staged.operands(block)[0].y)
    }

    #[inline(always)]
    fn right_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.staged.operands(block)[1].x)
    }

    #[inline(always)]
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.staged.operands(block)[1].y)
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>) {
        x.store(&mut self.blocks[block].x);
        y.store(&mut self.blocks[block].y);
    }

    #[inline(always)]
    fn before_x(&self, _: usize) {}

    #[inline(always)]
    fn before_y(&self, _: usize) {}

    #[inline(always)]
    fn beside<L: Lanes>(&mut self, block: usize) {
        let index = self.gathers.len() - 1 - block;
        announce(self.points, self.next.get(index + BLOCKS_AHEAD));
        if let Some(gather) = self.next.get(index) {
            self.staged.put::<L>(block, self.points, gather);
        }
    }
}

/// Announces the points of a block.
#[inline(always)]
fn announce<F: Field>(points: &[PackedPoint<F>], gather: Option<&Gather>) {
    if let Some(gather) = gather {
        for entry in gather.left.iter().chain(&gather.right) {
            prefetch(&points[(entry & !NEGATE) as usize]);
        }
    }
}

struct LaterLevel<'a, F: Field> {
    blocks: &'a mut [Block<F>],
    pairs: &'a [PairOfBlocks],
}

impl<F: Field> Blocks<F> for LaterLevel<'_, F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.pairs.len()
    }

    #[inline(always)]
    fn active(&self, block: usize) -> u8 {
        self.pairs[block].active
    }

    #[inline(always)]
    fn left_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.blocks[self.pairs[block].left as usize].x)
    }

    #[inline(always)]
    fn left_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.blocks[self.pairs[block].left as usize].y)
    }

    #[inline(always)]
    fn right_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.blocks[self.pairs[block].right as usize].x)
    }

    #[inline(always)]
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L> {
        Lanes8::<F, L>::load(&self.blocks[self.pairs[block].right as usize].y)
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>) {
        let sum = &mut self.blocks[self.pairs[block].left as usize];
        x.store(&mut sum.x);
        y.store(&mut sum.y);
    }

    #[inline(always)]
    fn before_x(&self, _: usize) {}

    #[inline(always)]
    fn before_y(&self, _: usize) {}

    #[inline(always)]
    fn beside<L: Lanes>(&mut self, _: usize) {}
}
