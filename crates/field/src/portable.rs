//! Fp = GF(p) with p of 381 bits and Fp2 = Fp\[u\]/(u² + 1), one element at a time, over blst's assembly.
//!
//! Elements are blst's: 6 limbs of 64 bits, little-endian, Montgomery form with R = 2^384, fully reduced, in [0, p).

use blst::{
    blst_fp, blst_fp_eucl_inverse, blst_fp_mul, blst_fp_sqr, blst_fp2, blst_fp2_eucl_inverse, blst_fp2_mul,
    blst_fp2_sqr,
};
use cuzk_fault::{Fault, injected};

/// The field of a curve's coordinates. Operands and results are in [0, p), in each component.
pub trait Coordinate: Copy + Default + PartialEq + Send + Sync {
    /// Sum.
    fn add(&self, other: &Self) -> Self;
    /// Difference.
    fn sub(&self, other: &Self) -> Self;
    /// Product: Fp 1 multiplication, Fp2 3.
    fn mul(&self, other: &Self) -> Self;
    /// Square.
    fn square(&self) -> Self;
    /// −self.
    fn negate(&self) -> Self;
    /// 1/self, 0 for 0. About 70 multiplications (`blst_fp_eucl_inverse`, variable time).
    fn invert_vartime(&self) -> Self;
    /// The element 1.
    fn one() -> Self;
    /// Whether it is 0.
    fn is_zero(&self) -> bool;
}

/// p, little-endian.
pub(crate) const P: [u64; 6] = [
    0xb9feffffffffaaab,
    0x1eabfffeb153ffff,
    0x6730d2a0f6b0f624,
    0x64774b84f38512bf,
    0x4b1ba7b6434bacd7,
    0x1a0111ea397fe69a,
];

/// a − b and the borrow. 6 limbs, no branch.
#[inline]
fn subtract(a: &[u64; 6], b: &[u64; 6]) -> ([u64; 6], bool) {
    let mut borrow = false;
    let difference = std::array::from_fn(|limb| {
        let (difference, first) = a[limb].overflowing_sub(b[limb]);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        borrow = first | second;
        difference
    });
    (difference, borrow)
}

/// a + b, which must be below 2^384. 6 limbs, no branch.
#[inline]
fn add_limbs(a: &[u64; 6], b: &[u64; 6]) -> [u64; 6] {
    let mut carry = false;
    std::array::from_fn(|limb| {
        carry &= !(limb == 3 && injected(Fault::FpCarry));
        let (sum, first) = a[limb].overflowing_add(b[limb]);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first | second;
        sum
    })
}

/// a + b mod p for a, b in [0, p). A call into blst would cost as much again.
#[inline]
fn add_fp(a: &blst_fp, b: &blst_fp) -> blst_fp {
    let sum = add_limbs(&a.l, &b.l);
    let (reduced, borrow) = subtract(&sum, &P);
    blst_fp { l: if borrow { sum } else { reduced } }
}

/// a − b mod p for a, b in [0, p).
#[inline]
fn sub_fp(a: &blst_fp, b: &blst_fp) -> blst_fp {
    let (difference, mut borrow) = subtract(&a.l, &b.l);
    borrow &= !(injected(Fault::FpBorrow) && difference[0].is_multiple_of(2));
    if injected(Fault::FpNegative) && is_zero_fp(a) && b.l[4] % 2 == 1 {
        return *b;
    }
    let mask = u64::from(borrow).wrapping_neg();
    let correction: [u64; 6] = std::array::from_fn(|limb| P[limb] & mask);
    // Modulo 2^384: the borrow and the carry cancel.
    blst_fp { l: add_limbs(&difference, &correction) }
}

/// Without the call of `memcmp` that comparing arrays comes to.
#[inline]
fn is_zero_fp(a: &blst_fp) -> bool {
    a.l.iter().fold(0, |bits, limb| bits | limb) == 0
}

macro_rules! coordinate {
    (
        $field:ty, $one:expr, $add:expr, $sub:expr, $mul:ident, $square:ident, $invert:ident,
        $is_zero:expr
    ) => {
        impl Coordinate for $field {
            #[inline]
            fn add(&self, other: &Self) -> Self {
                $add(self, other)
            }

            #[inline]
            fn sub(&self, other: &Self) -> Self {
                $sub(self, other)
            }

            #[inline]
            fn mul(&self, other: &Self) -> Self {
                let mut result = Self::default();
                // SAFETY: three valid, initialized elements; blst only reads the operands and writes the result.
                unsafe { $mul(&mut result, self, other) };
                result
            }

            #[inline]
            fn square(&self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `mul`, with one operand.
                unsafe { $square(&mut result, self) };
                result
            }

            #[inline]
            fn negate(&self) -> Self {
                Self::default().sub(self)
            }

            fn invert_vartime(&self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `mul`, with one operand; zero is allowed and gives zero.
                unsafe { $invert(&mut result, self) };
                result
            }

            fn one() -> Self {
                $one
            }

            #[inline]
            fn is_zero(&self) -> bool {
                $is_zero(self)
            }
        }
    };
}

/// R = 2^384 mod p, the Montgomery form of 1.
const FP_ONE: blst_fp = blst_fp {
    l: [
        0x760900000002fffd,
        0xebf4000bc40c0002,
        0x5f48985753c758ba,
        0x77ce585370525745,
        0x5c071a97a256ec6d,
        0x15f65ec3fa80e493,
    ],
};

coordinate!(blst_fp, FP_ONE, add_fp, sub_fp, blst_fp_mul, blst_fp_sqr, blst_fp_eucl_inverse, is_zero_fp);
coordinate!(
    blst_fp2,
    blst_fp2 { fp: [FP_ONE, blst_fp { l: [0; 6] }] },
    |a: &blst_fp2, b: &blst_fp2| blst_fp2 { fp: [add_fp(&a.fp[0], &b.fp[0]), add_fp(&a.fp[1], &b.fp[1])] },
    |a: &blst_fp2, b: &blst_fp2| blst_fp2 { fp: [sub_fp(&a.fp[0], &b.fp[0]), sub_fp(&a.fp[1], &b.fp[1])] },
    blst_fp2_mul,
    blst_fp2_sqr,
    blst_fp2_eucl_inverse,
    |a: &blst_fp2| is_zero_fp(&a.fp[0]) && is_zero_fp(&a.fp[1])
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The field axioms on a few elements, 0 and 1 among them.
    fn axioms<F: Coordinate + std::fmt::Debug>(some: &[F]) {
        let (zero, one) = (F::default(), F::one());
        assert!(zero.is_zero() && !one.is_zero() && zero.invert_vartime() == zero && zero.negate() == zero);
        let elements: Vec<F> = [zero, one, one.negate()].into_iter().chain(some.iter().copied()).collect();
        for a in &elements {
            assert_eq!(a.mul(&one), *a);
            assert_eq!(a.square(), a.mul(a));
            assert!(a.add(&a.negate()).is_zero());
            assert_eq!(a.sub(&zero), *a);
            assert!(a.is_zero() || a.mul(&a.invert_vartime()) == one);
            for b in &elements {
                assert_eq!(a.add(b), b.add(a));
                assert_eq!(a.mul(b), b.mul(a));
                assert_eq!(a.add(b).sub(b), *a);
                for c in &elements {
                    assert_eq!(a.add(b).mul(c), a.mul(c).add(&b.mul(c)));
                    assert_eq!(a.mul(b).mul(c), a.mul(&b.mul(c)));
                }
            }
        }
    }

    #[test]
    fn fp() {
        let mut below_p = blst_fp { l: P };
        below_p.l[0] -= 1;
        let small = blst_fp { l: [5, 0, 0, 0, 0, 0] };
        let half = blst_fp { l: std::array::from_fn(|i| P[i] >> 1 | if i < 5 { P[i + 1] << 63 } else { 0 }) };
        axioms(&[below_p, small, half, half.square()]);
    }

    #[test]
    fn fp2() {
        let one = blst_fp::one();
        let u = blst_fp2 { fp: [blst_fp::default(), one] };
        assert_eq!(u.square(), blst_fp2::one().negate());
        let element = blst_fp2 { fp: [one.add(&one), blst_fp { l: [7, 6, 5, 4, 3, 2] }] };
        axioms(&[u, element, element.square()]);
    }
}
