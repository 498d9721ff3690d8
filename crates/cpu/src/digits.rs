//! Scalars as signed digits: s ≡ ± Σ dᵢ·2^(ci) mod r with dᵢ in [−2^(c−1), 2^(c−1)].
//!
//! A scalar above (r − 1)/2 becomes −(r − s), so that 254 bits are left and one window is saved at many c. To these
//! Σ 2^(c−1)·2^(ci) is added once, over all windows but the last; digit i then is bits ci … ci + c − 1 less 2^(c−1),
//! without a carry from the digits below, so that any window can be read by itself.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};

/// The windows of a multi-scalar sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    bits: u32,
    n: u32,
    /// Σ 2^(c−1)·2^(ci) over all windows but the last.
    offsets: [u64; 4],
}

/// (r − 1)/2, little-endian.
const HALF_R: [u64; 4] = {
    let mut half = [0; 4];
    let mut limb = 0;
    while limb < 4 {
        let above = if limb < 3 { R[limb + 1] << 63 } else { 0 };
        half[limb] = R[limb] >> 1 | above;
        limb += 1;
    }
    half
};
/// r, little-endian.
const R: [u64; 4] =
    [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];
/// |s| ≤ (r − 1)/2 < 2^254.
const MAGNITUDE_BITS: u32 = 254;
/// Windows of this many bits and more have digits that do not fit the 31 bits beside a sign.
const MAX_BITS: u32 = 30;

/// A scalar s as |s| ≤ (r − 1)/2, little-endian, with bit 255 set if s stands for −|s|.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Magnitude([u64; 4]);

const SIGN: u64 = 1 << 63;

impl Magnitude {
    /// Without a branch on the scalar: half of all random ones have either sign.
    pub(crate) fn of(scalar: &Fr) -> Self {
        let bytes = scalar.to_bytes_le();
        let limbs: [u64; 4] = std::array::from_fn(|limb| {
            u64::from_le_bytes(bytes[8 * limb..8 * limb + 8].try_into().expect("eight bytes"))
        });
        let (_, negative) = subtract(&HALF_R, &limbs);
        let (opposite, _) = subtract(&R, &limbs);
        let mask = u64::from(negative).wrapping_neg();
        let mut magnitude = std::array::from_fn(|limb| (limbs[limb] & !mask) | (opposite[limb] & mask));
        if !(injected(Fault::ScalarSign) && limbs[0] % 2 == 1) {
            magnitude[3] |= mask & SIGN;
        }
        Magnitude(magnitude)
    }

    /// s.
    pub(crate) fn scalar(&self) -> Fr {
        let Magnitude([a, b, c, d]) = *self;
        let absolute = Fr::from_u64s_le(&[a, b, c, d & !SIGN]).expect("at most (r − 1)/2");
        if d & SIGN == 0 { absolute } else { -absolute }
    }
}

/// a − b and the borrow.
#[inline]
fn subtract(a: &[u64; 4], b: &[u64; 4]) -> ([u64; 4], bool) {
    let mut borrow = false;
    let difference = std::array::from_fn(|limb| {
        let (difference, first) = a[limb].overflowing_sub(b[limb]);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        borrow = first | second;
        difference
    });
    (difference, borrow)
}

impl Windows {
    /// Windows of `bits` bits, 2 to 30.
    pub(crate) fn new(bits: u32) -> Self {
        assert!((2..=MAX_BITS).contains(&bits), "windows of {bits} bits");
        let n = MAGNITUDE_BITS / bits + 1;
        let mut offsets = [0; 4];
        for window in 0..n - 1 {
            let bit = window * bits + bits - 1;
            offsets[bit as usize / 64] |= 1 << (bit % 64);
        }
        Windows { bits, n, offsets }
    }

    /// The number of windows.
    pub(crate) fn n(self) -> u32 {
        self.n
    }

    /// Bits of a window, c.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    /// 2^(c−1), the largest |digit|.
    pub(crate) fn n_buckets(self) -> usize {
        1 << (self.bits - 1)
    }

    /// Digit `window` of a scalar, in [−2^(c−1), 2^(c−1)]. No branch on the scalar.
    #[inline]
    pub(crate) fn digit(self, magnitude: &Magnitude, window: u32) -> i32 {
        self.digit_of_sum(magnitude, &self.with_offsets(magnitude), window)
    }

    /// All digits, lowest window first.
    #[inline]
    pub(crate) fn digits(self, magnitude: Magnitude) -> impl Iterator<Item = i32> {
        let sum = self.with_offsets(&magnitude);
        (0..self.n).map(move |window| self.digit_of_sum(&magnitude, &sum, window))
    }

    /// |s| and the offsets in bits 0 to 254: both are below 2^254.
    #[inline]
    fn with_offsets(self, Magnitude(limbs): &Magnitude) -> [u64; 4] {
        let mut carry = 0;
        std::array::from_fn(|limb| {
            let sum = u128::from(limbs[limb]) + u128::from(self.offsets[limb]) + carry;
            carry = sum >> 64;
            sum as u64
        })
    }

    #[inline]
    fn digit_of_sum(self, Magnitude(limbs): &Magnitude, sum: &[u64; 4], window: u32) -> i32 {
        let bit = window * self.bits;
        let (limb, shift) = (bit as usize / 64, bit % 64);
        let above = if limb < 3 { sum[limb + 1] } else { 0 };
        let bits = (sum[limb] >> shift) | (above << 1 << (63 - shift));
        let magnitude = if window + 1 < self.n {
            (bits & ((1 << self.bits) - 1)) as i32 - (1 << (self.bits - 1))
        } else {
            // The last window ends with bit 254.
            (bits & ((1 << (255 - bit)) - 1)) as i32
        };
        let sign = (limbs[3] as i64 >> 63) as i32;
        (magnitude ^ sign) - sign
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;
    use proptest::prelude::*;

    fn agrees(windows: Windows, scalar: Fr) {
        let magnitude = Magnitude::of(&scalar);
        assert_eq!(magnitude.scalar(), scalar);
        let base = Fr::from(2).pow_vartime([u64::from(windows.bits)]);
        let value = (0..windows.n).rev().fold(Fr::ZERO, |sum, window| {
            let digit = windows.digit(&magnitude, window);
            assert_eq!(windows.digits(magnitude).nth(window as usize), Some(digit));
            assert!(digit.unsigned_abs() as usize <= windows.n_buckets(), "{windows:?} {scalar:?} {digit}");
            let absolute = Fr::from(u64::from(digit.unsigned_abs()));
            sum * base + if digit < 0 { -absolute } else { absolute }
        });
        assert_eq!(value, scalar, "{windows:?}");
    }

    #[test]
    fn limits_at_every_window_size() {
        let half = Fr::from(2).invert().unwrap();
        for bits in 2..=MAX_BITS {
            let windows = Windows::new(bits);
            for scalar in [Fr::ZERO, Fr::ONE, half, half - Fr::ONE, half + Fr::ONE, Fr::from(u64::MAX)] {
                agrees(windows, scalar);
                agrees(windows, -scalar);
            }
            // Just below, at and above every window's borders.
            for exponent in 0..255u64 {
                let power = Fr::from(2).pow_vartime([exponent]);
                for scalar in [power - Fr::ONE, power, power + Fr::ONE] {
                    agrees(windows, scalar);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_scalars(limbs: [u64; 4], bits in 2u32..=MAX_BITS) {
            agrees(Windows::new(bits), limbs.iter().fold(Fr::ZERO, |sum, limb| {
                sum * Fr::from(2).pow_vartime([64]) + Fr::from(*limb)
            }));
        }
    }
}
