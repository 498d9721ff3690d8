//! Additions in affine coordinates, with one inversion for a batch (Montgomery's trick).
//!
//! For x₁ ≠ x₂: λ = (y₂ − y₁)/(x₂ − x₁), x₃ = λ² − x₁ − x₂, y₃ = λ(x₁ − x₃) − y₁: with the batch's share of the
//! inversion 5 multiplications and 1 squaring an addition. For a doubling λ = 3x₁²/(2y₁).

use cuzk_fault::{Fault, injected};
use cuzk_field::portable::Coordinate;

use crate::curve::Curve;

/// The additions of a batch, done in ascending order after all denominators were collected in descending order.
pub(crate) trait Additions<P> {
    /// How many there are.
    fn len(&self) -> usize;

    /// The operands of one of them, any of which may be at infinity, equal or opposite. Called twice with each index,
    /// and both times must give the same: a result must not be stored where a later addition reads.
    fn operands(&self, index: usize) -> (P, P);

    /// Takes the sum of the operands `index`.
    fn store(&mut self, index: usize, sum: P);
}

/// Scratch memory for batches.
pub(crate) struct BatchAdder<P: Curve> {
    slopes: Vec<Slope<P::Field>>,
}

/// 1/denominator of an addition is wanted; `product` is that of the denominators of all later additions.
#[derive(Clone, Copy)]
struct Slope<F> {
    case: Case,
    denominator: F,
    product: F,
}

/// What an addition comes to.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    /// x₁ ≠ x₂, no operand at infinity.
    Chord,
    /// Equal operands.
    Tangent,
    /// The sum is the left operand.
    Left,
    /// The sum is the right operand.
    Right,
    /// The sum is at infinity.
    Infinity,
}

impl<P: Curve> BatchAdder<P> {
    pub(crate) fn with_capacity(n: usize) -> Self {
        BatchAdder { slopes: Vec::with_capacity(n) }
    }

    /// Does all additions: one inversion (about 70 multiplications), then 5 multiplications and 1 squaring each.
    pub(crate) fn run(&mut self, additions: &mut impl Additions<P>) {
        let mut product = P::Field::one();
        self.slopes.clear();
        self.slopes.extend((0..additions.len()).rev().map(|index| {
            let (left, right) = additions.operands(index);
            let (case, denominator) = denominator(&left, &right);
            let slope = Slope { case, denominator, product };
            if matches!(case, Case::Chord | Case::Tangent) {
                product = product.mul(&denominator);
            }
            slope
        }));
        let mut inverse = product.invert_vartime();
        for (index, slope) in self.slopes.iter().rev().enumerate() {
            let (left, right) = additions.operands(index);
            let ((x1, y1), (x2, y2)) = (left.coordinates(), right.coordinates());
            let numerator = match slope.case {
                Case::Chord => y2.sub(&y1),
                Case::Tangent => {
                    let square = x1.square();
                    square.add(&square).add(&square)
                }
                Case::Left | Case::Right | Case::Infinity => {
                    additions.store(index, trivial_sum(slope.case, left, right));
                    continue;
                }
            };
            let lambda = numerator.mul(&inverse.mul(&slope.product));
            inverse = inverse.mul(&slope.denominator);
            let x2 = if injected(Fault::ChordOperand) && index % 1024 == 1023 { x1 } else { x2 };
            let x3 = lambda.square().sub(&x1).sub(&x2);
            let y3 = lambda.mul(&x1.sub(&x3)).sub(&y1);
            additions.store(index, P::from_coordinates(x3, y3));
        }
    }

    /// `sums[i] += addends(i)` for all i.
    pub(crate) fn add(&mut self, sums: &mut [P], addends: impl Fn(usize) -> P) {
        self.run(&mut Accumulation { sums, addends });
    }
}

#[cold]
fn trivial_sum<P: Curve>(case: Case, left: P, right: P) -> P {
    match case {
        Case::Left => left,
        Case::Right if injected(Fault::InfinityInBucket) => left,
        Case::Right => right,
        Case::Infinity => P::identity(),
        Case::Chord | Case::Tangent => unreachable!("a sum with a slope"),
    }
}

/// The case of an addition, and the denominator of λ where there is a λ.
#[inline]
fn denominator<P: Curve>(left: &P, right: &P) -> (Case, P::Field) {
    let (x1, x2) = (left.coordinates().0, right.coordinates().0);
    let difference = x2.sub(&x1);
    // Infinity is (0, 0); x = 0 alone is a point.
    if !difference.is_zero() && !x1.is_zero() && !x2.is_zero() {
        return (Case::Chord, difference);
    }
    rare_denominator(left, right)
}

#[cold]
fn rare_denominator<P: Curve>(left: &P, right: &P) -> (Case, P::Field) {
    let ((x1, y1), (x2, y2)) = (left.coordinates(), right.coordinates());
    let difference = x2.sub(&x1);
    match (x1.is_zero() && y1.is_zero(), x2.is_zero() && y2.is_zero()) {
        (true, true) => (Case::Infinity, difference),
        (true, false) => (Case::Right, difference),
        (false, true) => (Case::Left, difference),
        (false, false) if !difference.is_zero() => (Case::Chord, difference),
        // No point of the curves has y = 0 (their orders are odd), so equal x means equal or opposite.
        (false, false) if y1 == y2 && !injected(Fault::EqualX) => (Case::Tangent, y1.add(&y1)),
        (false, false) => (Case::Infinity, difference),
    }
}

struct Accumulation<'a, P, F> {
    sums: &'a mut [P],
    addends: F,
}

impl<P: Curve, F: Fn(usize) -> P> Additions<P> for Accumulation<'_, P, F> {
    fn len(&self) -> usize {
        self.sums.len()
    }

    #[inline]
    fn operands(&self, index: usize) -> (P, P) {
        (self.sums[index], (self.addends)(index))
    }

    #[inline]
    fn store(&mut self, index: usize, sum: P) {
        self.sums[index] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blstrs::{G1Affine, G2Affine, Scalar as Fr};
    use group::Curve as _;

    fn all_cases<P: Curve>() {
        let point = |k: i64| -> P {
            let scalar = if k < 0 { -Fr::from(k.unsigned_abs()) } else { Fr::from(k as u64) };
            (P::generator() * scalar).to_affine()
        };
        // Sum and addend range over infinity, equal, opposite and unrelated points, alone and in one batch.
        let multiples: Vec<(i64, i64)> =
            (-3..=3).flat_map(|left| (-3..=3).map(move |right| (left, right))).collect();
        let mut adder = BatchAdder::with_capacity(multiples.len());
        let mut batch: Vec<P> = multiples.iter().map(|(left, _)| point(*left)).collect();
        adder.add(&mut batch, |index| point(multiples[index].1));
        for ((left, right), in_batch) in multiples.iter().zip(&batch) {
            let mut alone = [point(*left)];
            adder.add(&mut alone, |_| point(*right));
            assert!(alone[0] == point(left + right) && *in_batch == alone[0], "{left} + {right}");
        }
        adder.add(&mut [], |_| unreachable!("no sums"));
    }

    #[test]
    fn g1() {
        all_cases::<G1Affine>();
    }

    #[test]
    fn g2() {
        all_cases::<G2Affine>();
    }

    /// (0, 2) and (0, −2) are on G1's curve, though not in the subgroup, and are not infinity.
    #[test]
    fn points_with_x_zero_are_not_infinity() {
        use blst::blst_fp;
        let one = blst_fp::one();
        let two = one.add(&one);
        let zero = blst_fp::default();
        let point = |y: blst_fp| G1Affine::from_coordinates(zero, y);
        let (plus, minus) = (point(two), point(two.negate()));
        let generator = <G1Affine as group::prime::PrimeCurveAffine>::generator();
        let mut sums = [plus, plus, plus, generator, G1Affine::default()];
        let addends = [minus, plus, generator, plus, minus];
        BatchAdder::with_capacity(0).add(&mut sums, |index| addends[index]);
        // The points have order 3: 2P = −P.
        assert_eq!(sums[0], G1Affine::default());
        assert_eq!(sums[1], minus);
        let sum = blstrs::G1Projective::from(plus) + generator;
        assert_eq!((sums[2], sums[3]), (sum.to_affine(), sum.to_affine()));
        assert_eq!(sums[4], minus);
    }
}
