//! Batched affine additions, eight to a block.
//!
//! For x₁ ≠ x₂: λ = (y₂ − y₁)/(x₂ − x₁), x₃ = λ² − x₁ − x₂, y₃ = λ(x₁ − x₃) − y₁, with the share of the inversion 5
//! multiplications and 1 squaring. The fast way tests nothing on the way: if some x₁ = x₂, a lane of the product of all
//! denominators is 0, and the batch is done again the careful way, which knows equal, opposite and infinite points.
//!
//! Two or four chains of products, with the steps of their blocks interleaved, gain nothing: 61.5 ns an addition with one
//! chain, 60.1 with two, 62.1 with four, operands in cache (one core of a 16-core Xeon with IFMA, 2026-11-29). The limit is
//! the number of operations: some 2050 of 512 bits for eight additions, two a cycle.
//!
//! Ranges (multiples of p, see `cuzk_field::eight`): x < 1.03 and y ≤ 2 come in; x < 1.001 and y < 1.001 go out, or an
//! operand as it came.

use cuzk_fault::{Fault, injected};
use cuzk_field::portable::Coordinate;
use cuzk_field::{Eight, EightColumns, Engine, Field, Kernel, Lanes};

/// The registers of a coordinate.
pub(crate) type Lanes8<F, L> = <F as Field>::Eight<L>;

/// The blocks of a batch; all additions in the lanes of all blocks are independent.
///
/// All functions are to be `inline(always)`.
pub(crate) trait Blocks<F: Field> {
    /// The number of blocks.
    fn len(&self) -> usize;
    /// The lanes of a block that are added; the others keep the left operand.
    fn active(&self, block: usize) -> u8;
    /// x of the left operands.
    fn left_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L>;
    /// y of the left operands.
    fn left_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L>;
    /// x of the right operands.
    fn right_x<L: Lanes>(&self, block: usize) -> Lanes8<F, L>;
    /// y of the right operands.
    fn right_y<L: Lanes>(&self, block: usize) -> Lanes8<F, L>;
    /// Takes the sums; blocks come in descending order. No operand of a lower block may be overwritten.
    fn store<L: Lanes>(&mut self, block: usize, x: Lanes8<F, L>, y: Lanes8<F, L>);
    /// Tells that x of a block is about to be read, in ascending order.
    fn before_x(&self, block: usize);
    /// Tells that y of a block is about to be read, in descending order.
    fn before_y(&self, block: usize);
    /// Does something else after each block, in descending order: what waits for memory does so beside the additions.
    fn beside<L: Lanes>(&mut self, block: usize);
}

/// Blocks in a batch: 2048 additions share an inversion of some 4 µs with its conversions, 2 ns each, and the scratch
/// memory of 256 KB (G1) stays in a second-level cache.
pub(crate) const BATCH_BLOCKS: usize = 256;
/// Scratch memory for batches, and what is known of the points.
pub(crate) struct BatchAdder<F: Field> {
    engine: Engine,
    slopes: Vec<Slopes<F>>,
    /// Some point may be at infinity: then only the careful way is right.
    careful: bool,
}

#[derive(Clone, Copy)]
struct Slopes<F: Field> {
    /// The product of the denominators of all blocks before.
    product: F::Packed,
    denominator: F::Packed,
    cases: Cases,
}

/// Lane masks of the careful way. A lane in none of them keeps the left operand.
#[derive(Clone, Copy, Default)]
struct Cases {
    /// With a slope.
    slope: u8,
    /// Of these, doublings.
    tangent: u8,
    /// The sum is the right operand.
    right: u8,
    /// The sum is at infinity.
    infinity: u8,
}

impl Cases {
    /// A coordinate of the sums from those of the operands and that of the third point of the slope.
    #[inline(always)]
    fn choose<F: Field, L: Lanes>(
        self,
        left: &Lanes8<F, L>,
        right: &Lanes8<F, L>,
        third: &Lanes8<F, L>,
    ) -> Lanes8<F, L> {
        let chosen = Lanes8::<F, L>::select(self.slope, left, third);
        let chosen = Lanes8::<F, L>::select(self.right, &chosen, right);
        Lanes8::<F, L>::select(self.infinity, &chosen, &Lanes8::<F, L>::zero())
    }
}

impl<F: Field> BatchAdder<F> {
    pub(crate) fn new(engine: Engine) -> Self {
        let empty = Slopes { product: F::ZERO, denominator: F::ZERO, cases: Cases::default() };
        BatchAdder { engine, slopes: vec![empty; BATCH_BLOCKS], careful: false }
    }

    /// Tells whether points at infinity may occur among the operands from here on.
    pub(crate) fn expect_infinity(&mut self, possible: Infinity) {
        self.careful = possible == Infinity::Possible;
    }

    /// Does the additions of at most [`BATCH_BLOCKS`] blocks.
    pub(crate) fn add<B: Blocks<F>>(&mut self, blocks: &mut B) {
        assert!(blocks.len() <= BATCH_BLOCKS, "a batch of {} blocks", blocks.len());
        if blocks.len() == 0 {
            return;
        }
        let slopes = &mut self.slopes[..];
        if !self.careful && self.engine.run(Fast { slopes, blocks }) {
            return;
        }
        // From the first infinite sum on, infinite operands must be expected.
        self.careful |= self.engine.run(Careful { slopes: &mut self.slopes[..], blocks });
    }
}

/// Whether points at infinity may be among operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infinity {
    /// None is.
    Absent,
    /// Some may be.
    Possible,
}

struct Fast<'a, F: Field, B> {
    slopes: &'a mut [Slopes<F>],
    blocks: &'a mut B,
}

impl<F: Field, B: Blocks<F>> Kernel for Fast<'_, F, B> {
    /// False if some denominator is 0; then nothing was stored.
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let Fast { slopes, blocks } = self;
        let n = blocks.len();
        let one = Lanes8::<F, L>::one();
        let mut product = one;
        for (block, slopes) in slopes[..n].iter_mut().enumerate() {
            blocks.before_x(block);
            let (x1, x2) = (blocks.left_x::<L>(block), blocks.right_x::<L>(block));
            let mut denominator = x2.columns().sub::<2>(&x1.columns()).carry();
            let active = blocks.active(block);
            if active != 0xff {
                denominator = Lanes8::<F, L>::select(active, &one, &denominator);
            }
            product.store(&mut slopes.product);
            denominator.store(&mut slopes.denominator);
            product = product.mul(&denominator).carry();
        }
        if product.zeros() != 0 {
            return false;
        }
        let mut inverse = invert::<F, L>(&product);
        for (block, slopes) in slopes[..n].iter().enumerate().rev() {
            blocks.before_y(block);
            let (x1, y1) = (blocks.left_x::<L>(block), blocks.left_y::<L>(block));
            let numerator = blocks.right_y::<L>(block).columns().sub::<3>(&y1.columns()).carry();
            let denominator = Lanes8::<F, L>::load(&slopes.denominator);
            let before = Lanes8::<F, L>::load(&slopes.product);
            // The freshly carried operand comes first: its limb 0 is ready first.
            let reciprocal = inverse.mul(&before).carry();
            let lambda = reciprocal.mul(&numerator).carry();
            inverse = inverse.mul(&denominator).carry();
            // The denominator is x₂ − x₁ + 2p, so x₂ need not be read again.
            let x_sum = x1.columns().add(&x1.columns()).add(&denominator.columns());
            let (mut x, mut y) = third_point::<F, L, 5>(&lambda, &x1, &y1, &x_sum);
            let active = blocks.active(block);
            if active != 0xff {
                x = Lanes8::<F, L>::select(active, &x1, &x);
                y = Lanes8::<F, L>::select(active, &y1, &y);
            }
            blocks.store::<L>(block, x, y);
            blocks.beside::<L>(block);
        }
        true
    }
}

/// x₃ = λ² − x₁ − x₂ and y₃ = λ(x₁ − x₃) − y₁, both below 1.001 p, for λ < 4.1, x < 1.03, y₁ ≤ 2; `x_sum` is
/// x₁ + x₂ + (K − 3)·p.
#[inline(always)]
fn third_point<F: Field, L: Lanes, const K: usize>(
    lambda: &Lanes8<F, L>,
    x1: &Lanes8<F, L>,
    y1: &Lanes8<F, L>,
    x_sum: &<Lanes8<F, L> as Eight<L>>::Columns,
) -> (Lanes8<F, L>, Lanes8<F, L>) {
    // In [0.9, 5.1].
    let x3 = lambda.square().sub::<K>(x_sum).reduce();
    let difference = x1.columns().sub::<2>(&x3.columns()).carry();
    // In [1, 7.1].
    let y3 = difference.mul(lambda).sub::<3>(&y1.columns()).reduce();
    (x3, y3)
}

/// 1/lane for eight lanes that are not 0: one inversion and 21 multiplications of single elements.
#[inline(always)]
fn invert<F: Field, L: Lanes>(eight: &Lanes8<F, L>) -> Lanes8<F, L> {
    Lanes8::<F, L>::from_scalars(&invert_eight(&eight.to_scalars()))
}

#[inline(never)]
fn invert_eight<S: Coordinate>(elements: &[S; 8]) -> [S; 8] {
    let mut products = *elements;
    for lane in 1..8 {
        products[lane] = products[lane - 1].mul(&elements[lane]);
    }
    let mut inverse = products[7].invert_vartime();
    let mut inverses = *elements;
    for lane in (1..8).rev() {
        inverses[lane] = inverse.mul(&products[lane - 1]);
        inverse = inverse.mul(&elements[lane]);
    }
    inverses[0] = inverse;
    inverses
}

struct Careful<'a, F: Field, B> {
    slopes: &'a mut [Slopes<F>],
    blocks: &'a mut B,
}

impl<F: Field, B: Blocks<F>> Kernel for Careful<'_, F, B> {
    /// Whether some sum is at infinity.
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let Careful { slopes, blocks } = self;
        let n = blocks.len();
        let one = Lanes8::<F, L>::one();
        let mut product = one;
        let mut infinite = 0;
        for (block, slopes) in slopes[..n].iter_mut().enumerate() {
            let (x1, y1) = (blocks.left_x::<L>(block), blocks.left_y::<L>(block));
            let (x2, y2) = (blocks.right_x::<L>(block), blocks.right_y::<L>(block));
            let chord = x2.columns().sub::<2>(&x1.columns()).carry();
            let active = blocks.active(block);
            let left_infinite = x1.all_limbs_zero() & y1.all_limbs_zero();
            let right_infinite = x2.all_limbs_zero() & y2.all_limbs_zero();
            let finite = active & !left_infinite & !right_infinite;
            let equal_x = finite & chord.zeros();
            let mut cases = Cases { right: active & left_infinite, ..Cases::default() };
            if injected(Fault::EightInfinityInLane) {
                cases.right &= 0x7f;
            }
            if equal_x != 0 && !injected(Fault::EightEqualX) {
                // No point of the curves has y = 0, so equal x means equal or opposite.
                cases.tangent = equal_x & y2.columns().sub::<3>(&y1.columns()).carry().zeros();
            }
            cases.infinity = equal_x & !cases.tangent;
            cases.slope = finite & !cases.infinity;
            infinite |= cases.infinity | cases.right & right_infinite;
            let tangent = y1.columns().add(&y1.columns()).carry();
            let denominator = Lanes8::<F, L>::select(cases.tangent, &chord, &tangent);
            let denominator = Lanes8::<F, L>::select(cases.slope, &one, &denominator);
            slopes.cases = cases;
            product.store(&mut slopes.product);
            denominator.store(&mut slopes.denominator);
            product = product.mul(&denominator).carry();
        }
        let mut inverse = invert::<F, L>(&product);
        for (block, slopes) in slopes[..n].iter().enumerate().rev() {
            let (x1, y1) = (blocks.left_x::<L>(block), blocks.left_y::<L>(block));
            let (x2, y2) = (blocks.right_x::<L>(block), blocks.right_y::<L>(block));
            let cases = slopes.cases;
            let mut numerator = y2.columns().sub::<3>(&y1.columns()).carry();
            if cases.tangent != 0 {
                let square = x1.square();
                let three_squares = square.add(&square).add(&square).carry();
                numerator = Lanes8::<F, L>::select(cases.tangent, &numerator, &three_squares);
            }
            let reciprocal = inverse.mul(&Lanes8::<F, L>::load(&slopes.product)).carry();
            let lambda = reciprocal.mul(&numerator).carry();
            inverse = inverse.mul(&Lanes8::<F, L>::load(&slopes.denominator)).carry();
            let x_sum = x1.columns().add(&x2.columns());
            let (x, y) = third_point::<F, L, 3>(&lambda, &x1, &y1, &x_sum);
            let x = cases.choose::<F, L>(&x1, &x2, &x);
            let y = cases.choose::<F, L>(&y1, &y2, &y);
            blocks.store::<L>(block, x, y);
            blocks.beside::<L>(block);
        }
        infinite != 0
    }
}
