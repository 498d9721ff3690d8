//! Multiples of a generator from a table, and points as parameter files store them, against blstrs.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use cuzk_device_host::{Affine, Fp, Fp2, Windows, references};
use ff::Field;
use group::{Curve, Group, prime::PrimeCurveAffine};
use proptest::prelude::*;

use crate::curves::ReferenceCurve;
use crate::of_scalar;

/// As many windows as a group of 2^LEVELS has references.
const BITS: u32 = 8;
const LEVELS: u32 = 5;
const N_WINDOWS: u32 = 1 << LEVELS;

/// d·2^(BITS·w)·G for each window w of the first d, then of the next.
fn table<F: ReferenceCurve>() -> Vec<Affine<F>> {
    let base = |window: u32| (0..BITS * window).fold(F::Group::generator(), |base, _| base.double());
    let bases: Vec<F::Group> = (0..N_WINDOWS).map(base).collect();
    let multiple = |digit: u64| bases.iter().map(move |base| F::affine(&(*base * Scalar::from(digit))));
    (1..=1 << (BITS - 1)).flat_map(multiple).collect()
}

fn multiples_agree<F: ReferenceCurve>(scalars: &[Scalar]) {
    let windows = Windows::new(BITS);
    let all: Vec<u32> = scalars.iter().flat_map(|scalar| references(&of_scalar(scalar), &windows)).collect();
    assert_eq!(all.len(), scalars.len() << LEVELS);
    let products = F::add_groups(&table::<F>(), &all, LEVELS, 3);
    for (scalar, product) in scalars.iter().zip(products) {
        assert_eq!(product, F::affine(&(F::Group::generator() * *scalar)), "{scalar:?}");
    }
}

fn special_scalars() -> Vec<Scalar> {
    let half = Scalar::from(2).invert().unwrap();
    let few = [Scalar::ZERO, Scalar::ONE, Scalar::from(128), Scalar::from(129), Scalar::from(u64::MAX), half];
    few.iter().flat_map(|scalar| [*scalar, -*scalar]).collect()
}

#[test]
fn multiples_of_special_scalars() {
    multiples_agree::<Fp>(&special_scalars());
    multiples_agree::<Fp2>(&special_scalars());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn multiples_of_random_scalars(words in prop::collection::vec(any::<[u64; 4]>(), 9)) {
        let word = |sum: Scalar, word: u64| sum * Scalar::from(2).pow_vartime([64]) + Scalar::from(word);
        let scalars: Vec<Scalar> =
            words.into_iter().map(|words| words.into_iter().fold(Scalar::ZERO, word)).collect();
        multiples_agree::<Fp>(&scalars);
    }
}

#[test]
fn points_in_files() {
    for multiple in [0u64, 1, 2, 3, 1 << 40, u64::MAX] {
        let g1 = G1Projective::generator() * Scalar::from(multiple);
        assert_eq!(
            <Fp as cuzk_device_host::Curve>::encode(&Fp::affine(&g1)),
            g1.to_affine().to_uncompressed()
        );
        let g2 = -G2Projective::generator() * Scalar::from(multiple);
        assert_eq!(
            <Fp2 as cuzk_device_host::Curve>::encode(&Fp2::affine(&g2)),
            g2.to_affine().to_uncompressed()
        );
    }
    let infinity = <Fp as cuzk_device_host::Curve>::encode(&Affine::INFINITY);
    assert_eq!(infinity, G1Affine::identity().to_uncompressed());
    let infinity = <Fp2 as cuzk_device_host::Curve>::encode(&Affine::INFINITY);
    assert_eq!(infinity, G2Affine::identity().to_uncompressed());
}
