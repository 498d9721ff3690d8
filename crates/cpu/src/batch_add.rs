//! Additions in affine coordinates, with one inversion for a batch (Montgomery's trick).
//!
//! For x₁ ≠ x₂: λ = (y₂ − y₁)/(x₂ − x₁), x₃ = λ² − x₁ − x₂, y₃ = λ(x₁ − x₃) − y₁: with the batch's share of the
//! inversion 5 multiplications and 1 squaring an addition. For a doubling λ = 3x₁²/(2y₁).

use crate::curve::{Coordinate, Curve};

/// Adds points to sums, batch after batch; keeps its scratch memory between batches.
pub(crate) struct BatchAdder<P: Curve> {
    pending: Vec<Pending<P::Field>>,
}

/// An addition that waits for 1/denominator.
struct Pending<F> {
    sum: usize,
    addend: (F, F),
    numerator: F,
    denominator: F,
    /// The product of all denominators before this one.
    product: F,
}

impl<P: Curve> BatchAdder<P> {
    pub(crate) fn with_capacity(n: usize) -> Self {
        BatchAdder { pending: Vec::with_capacity(n) }
    }

    /// `sums[i] += addends(i)` for all i. Any point may be at infinity, equal or opposite to its sum.
    pub(crate) fn add(&mut self, sums: &mut [P], addends: impl Fn(usize) -> P) {
        self.pending.clear();
        let mut product = P::Field::one();
        for (index, sum) in sums.iter_mut().enumerate() {
            let addend = addends(index);
            if let Some(fraction) = slope(sum, &addend) {
                let (numerator, denominator) = fraction;
                let addend = addend.coordinates();
                self.pending.push(Pending { sum: index, addend, numerator, denominator, product });
                product = product.mul(&denominator);
            }
        }
        let mut inverse = product.invert_vartime();
        for pending in self.pending.iter().rev() {
            let lambda = pending.numerator.mul(&inverse.mul(&pending.product));
            inverse = inverse.mul(&pending.denominator);
            let (x1, y1) = sums[pending.sum].coordinates();
            let x3 = lambda.square().sub(&x1).sub(&pending.addend.0);
            let y3 = lambda.mul(&x1.sub(&x3)).sub(&y1);
            sums[pending.sum] = P::from_coordinates(x3, y3);
        }
    }
}

/// Numerator and denominator of λ, or `None` where no slope is needed: then `sum` already is the sum.
fn slope<P: Curve>(sum: &mut P, addend: &P) -> Option<(P::Field, P::Field)> {
    if bool::from(addend.is_identity()) {
        return None;
    }
    if bool::from(sum.is_identity()) {
        *sum = *addend;
        return None;
    }
    let ((x1, y1), (x2, y2)) = (sum.coordinates(), addend.coordinates());
    let dx = x2.sub(&x1);
    if !dx.is_zero() {
        return Some((y2.sub(&y1), dx));
    }
    // No point of the curves has y = 0 (their orders are odd), so equal x means equal or opposite.
    if y1 == y2 {
        let square = x1.square();
        return Some((square.add(&square).add(&square), y1.add(&y1)));
    }
    *sum = P::identity();
    None
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
}
