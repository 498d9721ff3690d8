//! Transforms over Fr, eight at a time.
//!
//! The levels of a transform are split into passes. A pass over columns takes 16 neighbouring columns (two registers of
//! lanes) of 2^k elements each through k levels in a second-level cache; the pass over rows takes 8 contiguous rows,
//! one in each lane, through the lowest levels, so that no lane ever meets another. Interpolation goes down the levels
//! from natural to bit-reversed order, evaluation up and back.
//!
//! The coset costs one multiplication an element: the coefficient of x^i wants g^i, i the bit-reversed position, which
//! is a factor of the row times one of the place in it, and the latter is folded into the twiddles of the rows.
//! Together n/2·log₂n + n multiplications a transform.
//!
//! Ranges (multiples of r): going up, values grow by 2 a level, from 2 to 18 in 8 levels; going down, sums double, from
//! 2 to 32 in 4 levels, and are then reduced. 35 would be too many.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use cuzk_field::fr::{Columns, Fr8, Packed, Pair, factor_limbs, pairs_mut};
use cuzk_field::{Engine, Kernel, Lanes};
use cuzk_groth16::Domain;
use ff::Field;
use rayon::prelude::*;

/// Levels of a pass: 2⁸ × 16 elements are a tile of 160 KB.
const PASS_LEVELS: u32 = 8;
/// The smallest transform that has 8 rows of 16 elements.
pub(crate) const MIN_LOG2_N: u32 = 7;

/// Tables for one domain: 80 bytes an element.
pub(crate) struct Transforms {
    engine: Engine,
    log2_n: u32,
    /// Levels of the pass over rows.
    row_levels: u32,
    forward: Direction,
    inverse: Direction,
    /// `plain_rows[h + j]` = ω_2h^−j for the levels of rows.
    plain_rows: Vec<[u64; 5]>,
    /// 1/n for each 8 rows.
    plain_scale: Vec<Packed>,
}

/// The tables of a direction.
struct Direction {
    /// `columns[l]` for the level of half-size h = 2^l: ω_2h^j (or its inverse) for j in 0..h, 16 to an entry, even j
    /// and odd j. Empty for the levels of rows.
    columns: Vec<Vec<[Packed; 2]>>,
    /// `coset_rows[h + j]` = ω_2h^j·g^(n/2h) (or its inverse) for the levels of rows.
    coset_rows: Vec<[u64; 5]>,
    /// For 8 rows r at a time: g^(bit-reversed r), or its inverse and 1/n.
    coset_scale: Vec<Packed>,
}

impl Transforms {
    /// Computes the tables: some 4n multiplications.
    pub(crate) fn new(engine: Engine, domain: &Domain) -> Self {
        let log2_n = domain.log2_n();
        assert!(log2_n >= MIN_LOG2_N, "a domain of 2^{log2_n} elements");
        // At least 8 rows, of which columns come by 16, and a pass over columns at least.
        let row_levels = PASS_LEVELS.min(log2_n - 3);
        let invert = |value: Fr| value.invert().expect("roots and shifts are not zero");
        let (omega, shift) = (domain.omega(), Domain::coset_shift());
        let n_inverse = domain.n_inverse();
        Transforms {
            engine,
            log2_n,
            row_levels,
            forward: Direction::new(domain, row_levels, omega, shift, Fr::ONE),
            inverse: Direction::new(domain, row_levels, invert(omega), invert(shift), n_inverse),
            plain_rows: row_roots(domain, row_levels, invert(omega), Fr::ONE),
            plain_scale: vec![lanes_of(|_| n_inverse); domain.n() >> row_levels >> 3],
        }
    }

    /// Natural → bit-reversed order, divided by n.
    pub(crate) fn interpolate(&self, values: &mut [Fr]) {
        self.down(values, RowTables { twiddles: &self.plain_rows, scales: &self.plain_scale });
    }

    /// The same from values on the coset.
    pub(crate) fn interpolate_on_coset(&self, values: &mut [Fr]) {
        let (twiddles, scales) = (&self.inverse.coset_rows, &self.inverse.coset_scale);
        self.down(values, RowTables { twiddles, scales });
    }

    /// Bit-reversed → natural order, on the coset.
    pub(crate) fn evaluate_on_coset(&self, coefficients: &mut [Fr]) {
        assert_eq!(coefficients.len(), 1 << self.log2_n, "a vector of another domain");
        let (engine, direction) = (self.engine, &self.forward);
        let pairs = pairs_mut(coefficients);
        let rows = RowTables { twiddles: &direction.coset_rows, scales: &direction.coset_scale };
        self.for_rows(pairs, rows, Stored::Reduced, |rows| engine.run(RowsUp(rows)));
        let passes = self.column_passes();
        for (index, pass) in passes.iter().enumerate() {
            let result = if index + 1 == passes.len() { Stored::Canonical } else { Stored::Reduced };
            self.for_tiles(pairs, *pass, |tile, scratch| {
                engine.run(ColumnsUp { tile, scratch, twiddles: &direction.columns, result });
            });
        }
    }

    fn down(&self, values: &mut [Fr], rows: RowTables<'_>) {
        assert_eq!(values.len(), 1 << self.log2_n, "a vector of another domain");
        let engine = self.engine;
        let pairs = pairs_mut(values);
        for pass in self.column_passes().iter().rev() {
            self.for_tiles(pairs, *pass, |tile, scratch| {
                engine.run(ColumnsDown { tile, scratch, twiddles: &self.inverse.columns });
            });
        }
        self.for_rows(pairs, rows, Stored::Canonical, |rows| engine.run(RowsDown(rows)));
    }

    /// The passes over columns, lowest levels first: as even as they go.
    fn column_passes(&self) -> Vec<Pass> {
        let levels = self.log2_n - self.row_levels;
        let n_passes = levels.div_ceil(PASS_LEVELS);
        let bound = |pass: u32| self.row_levels + levels * pass / n_passes;
        (0..n_passes)
            .map(|pass| Pass { first_level: bound(pass), levels: bound(pass + 1) - bound(pass) })
            .collect()
    }

    /// Eight rows at a time with their scale.
    fn for_rows(
        &self,
        pairs: &mut [Pair],
        tables: RowTables<'_>,
        result: Stored,
        work: impl Fn(Rows<'_>) + Sync,
    ) {
        let (levels, twiddles) = (self.row_levels, tables.twiddles);
        pairs
            .par_chunks_exact_mut(8 << levels >> 1)
            .zip(tables.scales)
            .for_each_init(scratch, |scratch, (pairs, scale)| {
                work(Rows { pairs, scratch, levels, twiddles, scale, result })
            });
    }

    /// All tiles of a pass.
    fn for_tiles(&self, pairs: &mut [Pair], pass: Pass, work: impl Fn(Tile, &mut [Packed]) + Sync) {
        let shared = Shared { first: pairs.as_mut_ptr(), n_pairs: pairs.len() };
        let tiles_per_block = 1usize << pass.first_level >> 4;
        let n_blocks = 1usize << (self.log2_n - pass.first_level - pass.levels);
        (0..n_blocks * tiles_per_block).into_par_iter().for_each_init(scratch, |scratch, index| {
            let (block, tile) = (index / tiles_per_block, index % tiles_per_block);
            let first = (block << (pass.first_level + pass.levels)) + 16 * tile;
            assert!((first + (((1 << pass.levels) - 1) << pass.first_level) + 16) / 2 <= shared.n_pairs);
            // SAFETY: the tile touches 16 elements each at first + i·2^first_level for i below 2^levels, all within
            // the slice as just asserted; different blocks and different columns of a block have no element in
            // common, so no two tiles do; and `pairs` stays borrowed until all are done.
            work(unsafe { Tile::new(shared, pass, first, 16 * tile) }, scratch);
        });
    }
}

/// Twiddles and scales of the pass over rows.
#[derive(Clone, Copy)]
struct RowTables<'a> {
    twiddles: &'a [[u64; 5]],
    scales: &'a [Packed],
}

impl Direction {
    /// `scale` is a factor of all elements.
    fn new(domain: &Domain, row_levels: u32, omega: Fr, shift: Fr, scale: Fr) -> Self {
        let log2_n = domain.log2_n();
        let columns = (0..log2_n)
            .map(|level| match level < row_levels {
                true => vec![],
                false => column_roots(&power_of_level(domain, omega, level), 1 << level),
            })
            .collect();
        let n_rows = 1usize << (log2_n - row_levels);
        let reversed = |row: usize| match injected(Fault::EightRowScale) {
            true => row,
            false => row.reverse_bits() >> (usize::BITS - (log2_n - row_levels)),
        };
        let coset_scale = (0..n_rows / 8)
            .into_par_iter()
            .map(|group| lanes_of(|lane| scale * shift.pow_vartime([reversed(8 * group + lane) as u64])))
            .collect();
        Direction { columns, coset_rows: row_roots(domain, row_levels, omega, shift), coset_scale }
    }
}

/// base^(n/2^(l + 1)): for ω the root of order 2^(l + 1).
fn power_of_level(domain: &Domain, base: Fr, level: u32) -> Fr {
    base.pow_vartime([1u64 << (domain.log2_n() - level - 1)])
}

/// `[h + j]` = ω_2h^j·shift^(n/2h) for h = 1, 2, 4, … below 2^levels.
fn row_roots(domain: &Domain, levels: u32, omega: Fr, shift: Fr) -> Vec<[u64; 5]> {
    let mut roots = vec![[0; 5]];
    for level in 0..levels {
        let root = power_of_level(domain, omega, level);
        let mut factor = power_of_level(domain, shift, level);
        for _ in 0..1usize << level {
            roots.push(factor_limbs(&factor));
            factor *= root;
        }
    }
    roots
}

/// root⁰ … root^(n−1), 16 to an entry, for n a multiple of 16.
fn column_roots(root: &Fr, n: usize) -> Vec<[Packed; 2]> {
    let mut entries = vec![[Packed::ZERO; 2]; n / 16];
    const PIECE: usize = 1 << 8;
    entries.par_chunks_mut(PIECE).enumerate().for_each(|(piece, entries)| {
        let mut power = root.pow_vartime([(16 * piece * PIECE) as u64]);
        for entry in entries {
            for index in 0..16 {
                let limbs = factor_limbs(&power);
                let register = (index % 2) ^ usize::from(injected(Fault::EightTwiddle) && piece == 0);
                (0..5).for_each(|j| entry[register].0[j][index / 2] = limbs[j]);
                power *= root;
            }
        }
    });
    entries
}

/// The factors of eight lanes.
fn lanes_of(factor: impl Fn(usize) -> Fr) -> Packed {
    let mut packed = Packed::ZERO;
    for lane in 0..8 {
        let limbs = factor_limbs(&factor(lane));
        (0..5).for_each(|j| packed.0[j][lane] = limbs[j]);
    }
    packed
}

/// Levels that are done together.
#[derive(Clone, Copy)]
struct Pass {
    first_level: u32,
    levels: u32,
}

/// Memory that tiles of different threads share.
#[derive(Clone, Copy)]
struct Shared {
    first: *mut Pair,
    n_pairs: usize,
}

// SAFETY: the pointer is only followed through tiles, which are disjoint.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

/// 16 neighbouring columns of a block.
struct Tile {
    shared: Shared,
    pass: Pass,
    /// The first element, and its place in the block.
    first: usize,
    column: usize,
}

impl Tile {
    /// # Safety
    ///
    /// The elements at first + i·2^first_level + 0 … 15, for i below 2^levels, must be in the slice, no other tile may
    /// hold any of them, and the slice must be borrowed for as long as the tile lives. `first` must be even.
    unsafe fn new(shared: Shared, pass: Pass, first: usize, column: usize) -> Self {
        Tile { shared, pass, first, column }
    }

    #[inline(always)]
    fn pairs(&mut self, row: usize) -> &mut [Pair; 8] {
        debug_assert!(row < 1 << self.pass.levels);
        let offset = (self.first + (row << self.pass.first_level)) / 2;
        // SAFETY: in the slice and of this tile alone by the contract of `new`; borrowed with the tile.
        unsafe { &mut *self.shared.first.add(offset).cast::<[Pair; 8]>() }
    }
}

/// What a pass leaves in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// Below 1.001 r.
    Reduced,
    /// Below r.
    Canonical,
}

/// Scratch memory of a tile or of eight rows: rows of one or two registers of lanes.
fn scratch() -> Vec<Packed> {
    vec![Packed::ZERO; 2 << PASS_LEVELS]
}

/// Twiddles by level and place.
trait Twiddles {
    /// For the pair `place` of level `level` of a pass, register `register`.
    fn get<L: Lanes>(&self, level: u32, place: usize, register: usize) -> Fr8<L>;
}

struct ColumnTwiddles<'a> {
    tables: &'a [Vec<[Packed; 2]>],
    pass: Pass,
    column: usize,
}

impl Twiddles for ColumnTwiddles<'_> {
    #[inline(always)]
    fn get<L: Lanes>(&self, level: u32, place: usize, register: usize) -> Fr8<L> {
        let index = (self.column + (place << self.pass.first_level)) / 16;
        Fr8::load(&self.tables[(self.pass.first_level + level) as usize][index][register])
    }
}

struct RowTwiddles<'a>(&'a [[u64; 5]]);

impl Twiddles for RowTwiddles<'_> {
    #[inline(always)]
    fn get<L: Lanes>(&self, level: u32, place: usize, _: usize) -> Fr8<L> {
        Fr8::splat(&self.0[(1 << level) + place])
    }
}

/// Levels 0 to `levels` − 1 upwards, over rows of `WIDTH` registers: (u, v) → (u + v·w, u − v·w).
#[inline(always)]
fn up<L: Lanes, const WIDTH: usize>(scratch: &mut [Packed], levels: u32, twiddles: &impl Twiddles) {
    for level in 0..levels {
        let half = 1usize << level;
        for block in (0..1usize << levels).step_by(2 * half) {
            for place in 0..half {
                for register in 0..WIDTH {
                    let low = (block + place) * WIDTH + register;
                    let high = low + half * WIDTH;
                    let twiddle = twiddles.get::<L>(level, place, register);
                    let u = Columns::<L>::load(&scratch[low]);
                    // Below 18, so the product is below 2.
                    let product = Columns::<L>::load(&scratch[high]).carry().mul(&twiddle);
                    u.add(&product).store(&mut scratch[low]);
                    u.sub::<2>(&product).store(&mut scratch[high]);
                }
            }
        }
    }
}

/// Levels `levels` − 1 to 0 downwards: (u, v) → (u + v, (u − v)·w).
#[inline(always)]
fn down<L: Lanes, const WIDTH: usize>(scratch: &mut [Packed], levels: u32, twiddles: &impl Twiddles) {
    for step in 0..levels {
        let level = levels - 1 - step;
        match step % 4 {
            0 => down_level::<L, WIDTH, 2>(scratch, levels, level, twiddles),
            1 => down_level::<L, WIDTH, 4>(scratch, levels, level, twiddles),
            2 => down_level::<L, WIDTH, 8>(scratch, levels, level, twiddles),
            _ => down_level::<L, WIDTH, 16>(scratch, levels, level, twiddles),
        }
    }
}

/// One level of values below `BOUND`; sums are reduced where they would pass 32 on the next.
#[inline(always)]
fn down_level<L: Lanes, const WIDTH: usize, const BOUND: usize>(
    scratch: &mut [Packed],
    levels: u32,
    level: u32,
    twiddles: &impl Twiddles,
) {
    let half = 1usize << level;
    for block in (0..1usize << levels).step_by(2 * half) {
        for place in 0..half {
            for register in 0..WIDTH {
                let low = (block + place) * WIDTH + register;
                let high = low + half * WIDTH;
                let twiddle = twiddles.get::<L>(level, place, register);
                let u = Columns::<L>::load(&scratch[low]);
                let v = Columns::<L>::load(&scratch[high]);
                let sum = u.add(&v);
                // Below 32, so the product is below 2.
                let product = u.sub::<BOUND>(&v).carry().mul(&twiddle);
                if BOUND == 16 {
                    sum.reduce().store(&mut scratch[low]);
                } else {
                    sum.store(&mut scratch[low]);
                }
                product.store(&mut scratch[high]);
            }
        }
    }
}

struct ColumnsUp<'a> {
    tile: Tile,
    scratch: &'a mut [Packed],
    twiddles: &'a [Vec<[Packed; 2]>],
    result: Stored,
}

impl Kernel for ColumnsUp<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let pass = self.tile.pass;
        let twiddles = ColumnTwiddles { tables: self.twiddles, pass, column: self.tile.column };
        load_tile::<L>(self.scratch, &mut self.tile);
        up::<L, 2>(self.scratch, pass.levels, &twiddles);
        store_tile::<L>(&mut self.tile, self.scratch, self.result);
    }
}

struct ColumnsDown<'a> {
    tile: Tile,
    scratch: &'a mut [Packed],
    twiddles: &'a [Vec<[Packed; 2]>],
}

impl Kernel for ColumnsDown<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let pass = self.tile.pass;
        let twiddles = ColumnTwiddles { tables: self.twiddles, pass, column: self.tile.column };
        load_tile::<L>(self.scratch, &mut self.tile);
        down::<L, 2>(self.scratch, pass.levels, &twiddles);
        store_tile::<L>(&mut self.tile, self.scratch, Stored::Reduced);
    }
}

#[inline(always)]
fn load_tile<L: Lanes>(scratch: &mut [Packed], tile: &mut Tile) {
    for row in 0..1usize << tile.pass.levels {
        let [even, odd] = Fr8::<L>::load_pairs(references(tile.pairs(row)));
        even.store(&mut scratch[2 * row]);
        odd.store(&mut scratch[2 * row + 1]);
    }
}

#[inline(always)]
fn references(pairs: &[Pair; 8]) -> [&Pair; 8] {
    let [a, b, c, d, e, f, g, h] = pairs;
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn store_tile<L: Lanes>(tile: &mut Tile, scratch: &[Packed], result: Stored) {
    for row in 0..1usize << tile.pass.levels {
        let even = stored::<L>(Columns::load(&scratch[2 * row]), result);
        let odd = stored::<L>(Columns::load(&scratch[2 * row + 1]), result);
        *tile.pairs(row) = Fr8::store_pairs([even, odd]);
    }
}

#[inline(always)]
fn stored<L: Lanes>(columns: Columns<L>, result: Stored) -> Fr8<L> {
    let reduced = columns.reduce();
    match result {
        Stored::Reduced => reduced,
        Stored::Canonical => reduced.canonical(),
    }
}

/// Eight rows, one after the other in memory.
struct Rows<'a> {
    pairs: &'a mut [Pair],
    scratch: &'a mut [Packed],
    levels: u32,
    twiddles: &'a [[u64; 5]],
    scale: &'a Packed,
    result: Stored,
}

impl Rows<'_> {
    /// Pair `pair` of row `lane`, for all lanes.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index for both sides")]
    fn column_of_pairs(&self, pair: usize) -> [&Pair; 8] {
        let length = 1usize << self.levels >> 1;
        let mut pairs = [&self.pairs[pair]; 8];
        for lane in 1..8 {
            pairs[lane] = &self.pairs[lane * length + pair];
        }
        pairs
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index for both sides")]
    fn store_pairs(&mut self, pair: usize, values: [Pair; 8]) {
        let length = 1usize << self.levels >> 1;
        for lane in 0..8 {
            self.pairs[lane * length + pair] = values[lane];
        }
    }
}

struct RowsUp<'a>(Rows<'a>);

impl Kernel for RowsUp<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let mut rows = self.0;
        let scale = Fr8::<L>::load(rows.scale);
        for pair in 0..1usize << rows.levels >> 1 {
            let [first, second] = Fr8::<L>::load_pairs(rows.column_of_pairs(pair));
            first.mul(&scale).store(&mut rows.scratch[2 * pair]);
            second.mul(&scale).store(&mut rows.scratch[2 * pair + 1]);
        }
        up::<L, 1>(rows.scratch, rows.levels, &RowTwiddles(rows.twiddles));
        for pair in 0..1usize << rows.levels >> 1 {
            let first = stored::<L>(Columns::load(&rows.scratch[2 * pair]), rows.result);
            let second = stored::<L>(Columns::load(&rows.scratch[2 * pair + 1]), rows.result);
            rows.store_pairs(pair, Fr8::store_pairs([first, second]));
        }
    }
}

struct RowsDown<'a>(Rows<'a>);

impl Kernel for RowsDown<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let mut rows = self.0;
        let scale = Fr8::<L>::load(rows.scale);
        for pair in 0..1usize << rows.levels >> 1 {
            let [first, second] = Fr8::<L>::load_pairs(rows.column_of_pairs(pair));
            first.store(&mut rows.scratch[2 * pair]);
            second.store(&mut rows.scratch[2 * pair + 1]);
        }
        down::<L, 1>(rows.scratch, rows.levels, &RowTwiddles(rows.twiddles));
        for pair in 0..1usize << rows.levels >> 1 {
            let first = Columns::<L>::load(&rows.scratch[2 * pair]).carry().mul(&scale);
            let second = Columns::<L>::load(&rows.scratch[2 * pair + 1]).carry().mul(&scale);
            let both = [stored::<L>(first, rows.result), stored::<L>(second, rows.result)];
            rows.store_pairs(pair, Fr8::store_pairs(both));
        }
    }
}
