//! Multi-scalar sums from digits to running sums of buckets, against doubling and adding.

use blstrs::{G1Projective, G2Projective, Scalar};
use cuzk_device_host::{Affine, Fp, Fp2, Windows};
use cuzk_naive::msm;
use ff::Field;
use group::{Curve, Group, prime::PrimeCurveAffine};
use proptest::prelude::*;
use proptest::sample::select;

use crate::curves::{ReferenceCurve, to_affine};
use crate::of_scalars;

type Point<F> = <<F as ReferenceCurve>::Group as Curve>::AffineRepr;

fn agrees<F: ReferenceCurve>(points: &[F::Group], scalars: &[Scalar], window_bits: &[u32])
where
    F::Group: Curve,
    Point<F>: PrimeCurveAffine<Scalar = Scalar, Curve = F::Group>,
{
    let affine: Vec<Point<F>> = points.iter().map(Curve::to_affine).collect();
    let expected = F::affine(&msm(&affine, scalars));
    let bases: Vec<Affine<F>> = points.iter().map(F::affine).collect();
    for bits in window_bits {
        let sum = F::msm(&bases, &of_scalars(scalars), &Windows::new(*bits));
        assert_eq!(to_affine(&sum), expected, "{bits} bits: {points:?} {scalars:?}");
    }
}

/// A few multiples of the generator, opposite ones and infinity among them.
fn points<G: Group<Scalar = Scalar>>() -> Vec<G> {
    let multiples = [0u64, 1, 1, 2, 3, 5, 1 << 50].map(|multiple| G::generator() * Scalar::from(multiple));
    multiples.iter().flat_map(|point| [*point, -*point]).collect()
}

fn special_scalars() -> Vec<Scalar> {
    let half = Scalar::from(2).invert().unwrap();
    let few = [Scalar::ZERO, Scalar::ONE, Scalar::from(2), Scalar::from(1 << 40), half, half - Scalar::ONE];
    few.iter().flat_map(|scalar| [*scalar, -*scalar]).collect()
}

fn special_cases_agree<F: ReferenceCurve>(window_bits: &[u32])
where
    F::Group: Curve,
    Point<F>: PrimeCurveAffine<Scalar = Scalar, Curve = F::Group>,
{
    let points = points::<F::Group>();
    let n = points.len();
    agrees::<F>(&[], &[], window_bits);
    // All scalars the same: equal digits put opposite and equal points into one bucket.
    for scalar in special_scalars() {
        agrees::<F>(&points, &vec![scalar; n], window_bits);
        agrees::<F>(&points[2..3], &[scalar], window_bits);
    }
    // All points the same.
    let scalars = special_scalars();
    for point in &points[..3] {
        agrees::<F>(&vec![*point; scalars.len()], &scalars, window_bits);
    }
}

#[test]
fn special_cases_in_g1() {
    special_cases_agree::<Fp>(&[2, 5, 8]);
}

#[test]
fn special_cases_in_g2() {
    special_cases_agree::<Fp2>(&[3, 7]);
}

#[test]
fn every_window_size() {
    let points: Vec<_> = points().into_iter().skip(2).take(4).collect();
    let scalars = [Scalar::from(3).invert().unwrap(), -Scalar::from(u64::MAX), Scalar::from(5), -Scalar::ONE];
    agrees::<Fp>(&points, &scalars, &(2..=15).collect::<Vec<_>>());
}

/// A special scalar or a random one.
fn scalar() -> impl Strategy<Value = Scalar> {
    let random = any::<[u64; 4]>().prop_map(|words| {
        let base = Scalar::from(2).pow_vartime([64]);
        words.iter().fold(Scalar::ZERO, |sum, word| sum * base + Scalar::from(*word))
    });
    prop_oneof![select(special_scalars()), random]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_in_g1(terms in proptest::collection::vec((select(points::<G1Projective>()), scalar()), 0..48), bits in 2u32..=10) {
        let (points, scalars): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
        agrees::<Fp>(&points, &scalars, &[bits]);
    }

    #[test]
    fn sums_in_g2(terms in proptest::collection::vec((select(points::<G2Projective>()), scalar()), 0..32), bits in 2u32..=8) {
        let (points, scalars): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
        agrees::<Fp2>(&points, &scalars, &[bits]);
    }
}
