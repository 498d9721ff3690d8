//! Constants modulo p and r in limbs of 52 bits, and the Montgomery multiplication that Fp and Fr share.

use crate::lanes::Lanes;

/// 2^52 − 1.
pub(crate) const MASK: u64 = (1 << 52) - 1;

/// From limbs of 64 bits to as many of 52 as are asked for; what does not fit must be 0.
pub(crate) const fn split<const N64: usize, const N52: usize>(value: &[u64; N64]) -> [u64; N52] {
    let mut limbs = [0; N52];
    let mut j = 0;
    while j < N52 {
        let (word, shift) = (52 * j / 64, 52 * j % 64);
        let mut limb = if word < N64 { value[word] >> shift } else { 0 };
        if shift > 12 && word + 1 < N64 {
            limb |= value[word + 1] << (64 - shift);
        }
        limbs[j] = limb & MASK;
        j += 1;
    }
    limbs
}

/// The inverse of [`split`].
pub(crate) const fn join<const N64: usize, const N52: usize>(limbs: &[u64; N52]) -> [u64; N64] {
    let mut value = [0; N64];
    let mut j = 0;
    while j < N52 {
        let (word, shift) = (52 * j / 64, 52 * j % 64);
        if word < N64 {
            value[word] |= limbs[j] << shift;
        }
        if shift > 12 && word + 1 < N64 {
            value[word + 1] |= limbs[j] >> (64 - shift);
        }
        j += 1;
    }
    value
}

/// 2^exponent mod `modulus`, whose highest bit must be 0.
pub(crate) const fn power_of_two<const N: usize>(exponent: u32, modulus: &[u64; N]) -> [u64; N] {
    let mut value = [0; N];
    value[0] = 1;
    let mut doubling = 0;
    while doubling < exponent {
        let (mut doubled, mut reduced) = ([0u64; N], [0u64; N]);
        let (mut carry, mut borrow) = (0, false);
        let mut j = 0;
        while j < N {
            doubled[j] = value[j] << 1 | carry;
            carry = value[j] >> 63;
            let (difference, first) = doubled[j].overflowing_sub(modulus[j]);
            let (difference, second) = difference.overflowing_sub(borrow as u64);
            reduced[j] = difference;
            borrow = first | second;
            j += 1;
        }
        value = if borrow { doubled } else { reduced };
        doubling += 1;
    }
    value
}

/// k·value in limbs of 52 bits; the product must fit.
pub(crate) const fn times<const N: usize>(value: &[u64; N], k: u64) -> [u64; N] {
    let mut product = [0; N];
    let mut carry = 0u128;
    let mut j = 0;
    while j < N {
        carry += value[j] as u128 * k as u128;
        product[j] = carry as u64 & MASK;
        carry >>= 52;
        j += 1;
    }
    product
}

/// −1/modulus mod 2^52 for an odd lowest limb: Newton's iteration doubles the valid bits.
pub(crate) const fn negative_inverse(lowest_limb: u64) -> u64 {
    let mut inverse = 1u64;
    let mut round = 0;
    while round < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(lowest_limb.wrapping_mul(inverse)));
        round += 1;
    }
    inverse.wrapping_neg() & MASK
}

/// An array of lanes by index. A loop, as the closures of `array::from_fn` and `map` are not always inlined, and one that
/// stays a function is not compiled for the instruction set.
macro_rules! array_of_lanes {
    ($n:expr, $j:ident => $lanes:expr) => {{
        let mut array = [L::splat(0); $n];
        for $j in 0..$n {
            array[$j] = $lanes;
        }
        array
    }};
}

/// Each limb in all lanes.
#[inline(always)]
pub(crate) fn broadcast<L: Lanes, const N: usize>(limbs: &[u64; N]) -> [L; N] {
    array_of_lanes!(N, j => L::splat(limbs[j]))
}

/// Brings the columns of a value in [0, 2^(52 N)) into [0, 2^52): columns are signed 64-bit numbers. 3 (N − 1)
/// operations, one after the other.
#[inline(always)]
pub(crate) fn carry<L: Lanes, const N: usize>(mut columns: [L; N]) -> [L; N] {
    let mask = L::splat(MASK);
    for j in 0..N - 1 {
        columns[j + 1] = columns[j + 1].add(columns[j].sar::<52>());
        columns[j] = columns[j].and(mask);
    }
    columns
}

/// Adds limb `$i` of `$a` times `$b`.
macro_rules! add_row {
    ($n:literal, $t:ident, $a:ident, $b:ident, $i:expr) => {
        for j in 0..$n {
            $t[$i + j] = $t[$i + j].madd52lo($a[$i], $b[j]);
        }
        for j in 0..$n {
            $t[$i + j + 1] = $t[$i + j + 1].madd52hi($a[$i], $b[j]);
        }
    };
}

/// One step of the Montgomery multiplication: the row of limb `$i + 1` of `$a`, which does not wait for m, then the
/// reduction of column `$i`.
///
/// The lowest column of m·modulus is never formed: it makes column i a multiple of 2^52, so its carry is
/// ⌈column/2^52⌉.
macro_rules! multiplication_step {
    ($n:literal, $t:ident, $a:ident, $b:ident, $modulus:ident, $inverse:ident, $mask:ident, $i:literal) => {
        let m = L::splat(0).madd52lo($t[$i], $inverse);
        if $i + 1 < $n {
            add_row!($n, $t, $a, $b, ($i + 1) % $n);
        }
        reduction_step!($n, $t, m, $modulus, $mask, $i);
    };
}

macro_rules! reduction_step {
    ($n:literal, $t:ident, $m:ident, $modulus:ident, $mask:ident, $i:literal) => {
        $t[$i + 1] = $t[$i + 1].add($t[$i].add($mask).shr::<52>());
        for j in 1..$n {
            $t[$i + j] = $t[$i + j].madd52lo($m, $modulus[j]);
        }
        for j in 0..$n {
            $t[$i + j + 1] = $t[$i + j + 1].madd52hi($m, $modulus[j]);
        }
    };
}

/// Multiplication and squaring for a modulus of `$n` limbs. Named columns and steps written out, as a shifted array or
/// a rolled loop stays in memory and halves the speed.
macro_rules! montgomery {
    ($n:literal, $columns:literal, $modulus:expr, $inverse:expr; $($i:literal)*) => {
        /// a·b/R, columns not carried, each below 2^57. 4 n² operations of IFMA.
        #[inline(always)]
        fn multiply_columns<L: Lanes>(a: &[L; $n], b: &[L; $n]) -> [L; $n] {
            let modulus: [L; $n] = broadcast(&$modulus);
            let (inverse, mask) = (L::splat($inverse), L::splat(MASK));
            let mut t = [L::splat(0); $columns];
            add_row!($n, t, a, b, 0);
            $( multiplication_step!($n, t, a, b, modulus, inverse, mask, $i); )*
            array_of_lanes!($n, j => t[$n + j])
        }

        /// a²/R, columns not carried, each below 2^58. n (n + 1) + 2 n² operations of IFMA.
        #[inline(always)]
        fn square_columns<L: Lanes>(a: &[L; $n]) -> [L; $n] {
            let modulus: [L; $n] = broadcast(&$modulus);
            let (inverse, mask) = (L::splat($inverse), L::splat(MASK));
            let mut t = [L::splat(0); $columns];
            for j in 1..$n {
                for i in 0..j {
                    t[i + j] = t[i + j].madd52lo(a[i], a[j]);
                    t[i + j + 1] = t[i + j + 1].madd52hi(a[i], a[j]);
                }
            }
            for column in &mut t[1..2 * $n] {
                *column = column.add(*column);
            }
            for i in 0..$n {
                t[2 * i] = t[2 * i].madd52lo(a[i], a[i]);
                t[2 * i + 1] = t[2 * i + 1].madd52hi(a[i], a[i]);
            }
            $(
                let m = L::splat(0).madd52lo(t[$i], inverse);
                reduction_step!($n, t, m, modulus, mask, $i);
            )*
            array_of_lanes!($n, j => t[$n + j])
        }
    };
}

pub(crate) use {add_row, array_of_lanes, montgomery, multiplication_step, reduction_step};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs_of_52_bits_and_back() {
        let value = [0x0123456789abcdef, 0xfedcba9876543210, !0, 1, 0, 0x00ff];
        let limbs: [u64; 8] = split(&value);
        assert!(limbs.iter().all(|limb| *limb <= MASK));
        assert_eq!(join::<6, 8>(&limbs), value);
        let value = [!0u64, 7, !0, !0];
        assert_eq!(join::<4, 5>(&split(&value)), value);
    }

    #[test]
    fn constants() {
        assert_eq!(power_of_two(5, &[7, 0]), [4, 0]);
        assert_eq!(power_of_two(64, &[5, 1]), [(1u64 << 63).wrapping_mul(2).wrapping_sub(0), 1]);
        assert_eq!(times(&[MASK, 1], 3), [MASK - 2, 5]);
        for odd in [1u64, 3, 0xfffff00000001, MASK] {
            assert_eq!(odd.wrapping_mul(negative_inverse(odd)) & MASK, MASK);
        }
    }
}
