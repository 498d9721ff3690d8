//! Scalars as signed digits: s ≡ ± Σ dᵢ·2^(ci) mod r with dᵢ in [−2^(c−1), 2^(c−1)].
//!
//! A scalar above (r − 1)/2 becomes −(r − s), so that 254 bits are left and one window is saved at many c. To these
//! Σ 2^(c−1)·2^(ci) is added once, over all windows but the last; digit i then is bits ci … ci + c − 1 less 2^(c−1),
//! without a carry from the digits below, so that any window can be read by itself.

use blstrs::Scalar as Fr;

/// The windows of a multi-scalar sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    bits: u32,
    n: u32,
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

/// A scalar, prepared for the reading of digits: bits 0 to 254 are |s| with the offsets of all windows but the last,
/// bit 255 says that all digits are to be negated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recoded([u64; 4]);

impl Windows {
    /// Windows of `bits` bits, 2 to 30.
    pub(crate) fn new(bits: u32) -> Self {
        assert!((2..=MAX_BITS).contains(&bits), "windows of {bits} bits");
        Windows { bits, n: MAGNITUDE_BITS / bits + 1 }
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

    /// Prepares a scalar.
    pub(crate) fn recode(self, scalar: &Fr) -> Recoded {
        self.add_offsets(magnitude(scalar))
    }

    fn add_offsets(self, (mut limbs, negative): ([u64; 4], bool)) -> Recoded {
        for window in 0..self.n - 1 {
            let bit = window * self.bits + self.bits - 1;
            let mut carry = 1u64 << (bit % 64);
            for limb in &mut limbs[bit as usize / 64..] {
                let (sum, overflow) = limb.overflowing_add(carry);
                *limb = sum;
                carry = u64::from(overflow);
            }
        }
        // |s| < 2^254 and the offsets are below 2^254, so bit 255 is free.
        limbs[3] |= u64::from(negative) << 63;
        Recoded(limbs)
    }

    /// Digit `window` of a scalar, in [−2^(c−1), 2^(c−1)].
    #[inline]
    pub(crate) fn digit(self, scalar: &Recoded, window: u32) -> i32 {
        let limbs = &scalar.0;
        let bit = window * self.bits;
        let (limb, shift) = (bit as usize / 64, bit % 64);
        let above = if limb < 3 { limbs[limb + 1] } else { 0 };
        let bits = (limbs[limb] >> shift) | (above << 1 << (63 - shift));
        let magnitude = if window + 1 < self.n {
            (bits & ((1 << self.bits) - 1)) as i32 - (1 << (self.bits - 1))
        } else {
            // The last window ends with bit 254.
            (bits & ((1 << (255 - bit)) - 1)) as i32
        };
        if limbs[3] >> 63 == 1 { -magnitude } else { magnitude }
    }
}

/// |s| and whether s stands for −|s|.
fn magnitude(scalar: &Fr) -> ([u64; 4], bool) {
    let bytes = scalar.to_bytes_le();
    let limbs: [u64; 4] = std::array::from_fn(|limb| {
        u64::from_le_bytes(bytes[8 * limb..8 * limb + 8].try_into().expect("eight bytes"))
    });
    if limbs.iter().rev().le(HALF_R.iter().rev()) {
        return (limbs, false);
    }
    let mut borrow = false;
    let difference = std::array::from_fn(|limb| {
        let (difference, first) = R[limb].overflowing_sub(limbs[limb]);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        borrow = first | second;
        difference
    });
    (difference, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;
    use proptest::prelude::*;

    fn agrees(windows: Windows, scalar: Fr) {
        let recoded = windows.recode(&scalar);
        let base = Fr::from(2).pow_vartime([u64::from(windows.bits)]);
        let value = (0..windows.n).rev().fold(Fr::ZERO, |sum, window| {
            let digit = windows.digit(&recoded, window);
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
