//! Scalars as digits, at every window size that a sum may choose.

use blstrs::Scalar;
use cuzk_device_host::{Windows, digits};
use ff::Field;
use proptest::prelude::*;

use crate::fields::any_fr;
use crate::{of_scalar, to_scalars};

/// As in crates/gpu/src/msm.rs.
const WINDOW_BITS: std::ops::RangeInclusive<u32> = 2..=21;

/// Σ digitᵢ·2^(ci) is the scalar again, and every digit has a bucket.
fn agrees(bits: u32, scalar: &Scalar) {
    let digits = digits(&of_scalar(scalar), &Windows::new(bits));
    let base = Scalar::from(1 << bits);
    let sum = digits.iter().rev().fold(Scalar::ZERO, |sum, digit| {
        assert!(digit.unsigned_abs() <= 1 << (bits - 1), "{bits} bits, {scalar:?}: {digit}");
        let absolute = Scalar::from(u64::from(digit.unsigned_abs()));
        sum * base + if *digit < 0 { -absolute } else { absolute }
    });
    assert_eq!(sum, *scalar, "{bits} bits: {digits:?}");
}

#[test]
fn limits() {
    let half = Scalar::from(2).invert().unwrap();
    for bits in WINDOW_BITS {
        for scalar in [Scalar::ZERO, Scalar::ONE, half - Scalar::ONE, half, half + Scalar::ONE] {
            agrees(bits, &scalar);
            agrees(bits, &-scalar);
        }
        // At and about every border of a window; beyond 2^254, opposites of such.
        for exponent in 0..255u64 {
            let power = Scalar::from(2).pow_vartime([exponent]);
            for scalar in [power - Scalar::ONE, power, power + Scalar::ONE] {
                agrees(bits, &scalar);
                agrees(bits, &-scalar);
            }
        }
    }
}

#[test]
fn small_scalars_have_one_digit() {
    for bits in WINDOW_BITS {
        for scalar in 0..1i32 << (bits - 1).min(6) {
            let windows = Windows::new(bits);
            let (positive, negative) = (Scalar::from(scalar as u64), -Scalar::from(scalar as u64));
            for (scalar, digit) in [(positive, scalar), (negative, -scalar)] {
                let digits = digits(&of_scalar(&scalar), &windows);
                assert_eq!(digits[0], digit);
                assert!(digits[1..].iter().all(|digit| *digit == 0), "{digits:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_scalars(value in any_fr(), bits in WINDOW_BITS) {
        agrees(bits, &to_scalars(&[value])[0]);
    }
}
