//! The group law in G1 and G2, with all its special cases, against blst's.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use cuzk_device_host::{Affine, Curve, Fp, Fp2, NEGATE, NO_POINT, Operation, Xyzz};
use ff::Field;
use group::{Curve as _, Group};
use proptest::prelude::*;

use crate::fields::{any_fp, any_fp2};
use crate::{Blst, Reference};

/// A curve with blstrs' group beside it.
pub(crate) trait ReferenceCurve: Curve + Reference {
    type Group: Group<Scalar = Scalar>;

    /// As the device has it.
    fn affine(point: &Self::Group) -> Affine<Self>;
    /// A point of the curve that is not in the subgroup.
    fn outside() -> Self::Group;
}

/// The first point whose x is a small integer, as `decode` finds it in a compressed encoding of `N` bytes.
fn with_small_x<const N: usize, P>(decode: fn(&[u8; N]) -> Option<P>) -> P {
    let encoding = |x: u8| {
        let mut bytes = [0; N];
        (bytes[0], bytes[N - 1]) = (0x80, x);
        bytes
    };
    (0..=u8::MAX).find_map(|x| decode(&encoding(x))).expect("every other x has a point")
}

macro_rules! reference_curve {
    ($field:ty, $group:ty, $affine:ty) => {
        impl ReferenceCurve for $field {
            type Group = $group;

            fn affine(point: &$group) -> Affine<Self> {
                let point = point.to_affine();
                let point = point.as_ref();
                Affine { x: Self::of_blst(&point.x), y: Self::of_blst(&point.y) }
            }

            fn outside() -> $group {
                let point = with_small_x(|bytes| <$affine>::from_compressed_unchecked(bytes).into_option());
                assert!(!bool::from(point.is_torsion_free()));
                point.into()
            }
        }
    };
}
reference_curve!(Fp, G1Projective, G1Affine);
reference_curve!(Fp2, G2Projective, G2Affine);

/// x = X/ZZ, y = Y/ZZZ, by blst; panics where ZZ³ ≠ ZZZ².
pub(crate) fn to_affine<F: ReferenceCurve>(point: &Xyzz<F>) -> Affine<F> {
    let (zz, zzz) = (point.zz, point.zzz);
    assert_eq!(zz.times(&zz).times(&zz), zzz.times(&zzz), "no coordinates of a point");
    if zz == F::ZERO {
        return Affine::INFINITY;
    }
    Affine { x: point.x.times(&zz.inverse()), y: point.y.times(&zzz.inverse()) }
}

/// The point with ZZ = z²; with z = 0, infinity with coordinates that are left from something else.
fn scaled<F: ReferenceCurve>(point: &Affine<F>, z: &F) -> Xyzz<F> {
    if *point == Affine::INFINITY {
        return Xyzz { x: *z, y: z.times(z), zz: F::ZERO, zzz: F::ZERO };
    }
    let zz = z.times(z);
    let zzz = zz.times(z);
    Xyzz { x: point.x.times(&zz), y: point.y.times(&zzz), zz, zzz }
}

/// Both additions and the doubling, of points given by blstrs, in coordinates scaled by z and w.
fn agrees<F: ReferenceCurve>(p: &F::Group, q: &F::Group, z: &F, w: &F) {
    let (sum, difference) = (F::affine(&(*p + *q)), F::affine(&(*p - *q)));
    let (p_affine, q_affine) = (F::affine(p), F::affine(q));
    let minus_q = Affine { x: q_affine.x, y: F::apply(Operation::Negate, &q_affine.y, &q_affine.y) };
    let p_scaled = scaled(&p_affine, z);

    for (term, expected) in [(q_affine, sum), (minus_q, difference)] {
        let mut mixed = p_scaled;
        F::add_affine(&mut mixed, &term);
        assert_eq!(to_affine(&mixed), expected, "{p:?} and {q:?}");
        let mut full = p_scaled;
        F::add(&mut full, &scaled(&term, w));
        assert_eq!(to_affine(&full), expected, "{p:?} and {q:?}");
    }

    let mut double = p_scaled;
    F::double(&mut double);
    assert_eq!(to_affine(&double), F::affine(&p.double()), "2·{p:?}");
    assert_eq!(to_affine(&F::of(&p_affine)), p_affine);
}

fn special_cases_agree<F: ReferenceCurve>() {
    let generator = F::Group::generator();
    let scalars =
        [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, Scalar::from(2), Scalar::from(3), Scalar::from(1 << 40)];
    let mut points: Vec<F::Group> = scalars.iter().map(|scalar| generator * scalar).collect();
    let outside = F::outside();
    points.extend([outside, outside.double(), outside + generator]);
    let two = F::expected(Operation::Double, &F::one(), &F::one());
    let minus_one = F::expected(Operation::Negate, &F::one(), &F::one());
    for p in &points {
        for q in &points {
            for (z, w) in
                [(F::one(), F::one()), (two, F::one()), (F::one(), two), (minus_one, two), (two, two)]
            {
                agrees(p, q, &z, &w);
            }
        }
    }
}

#[test]
fn special_cases_in_g1() {
    special_cases_agree::<Fp>();
}

#[test]
fn special_cases_in_g2() {
    special_cases_agree::<Fp2>();
}

/// A sum that takes its terms from a few points, so that it meets them, their opposites and infinity again.
fn sums_agree<F: ReferenceCurve>(choices: &[(u8, bool)], z: &F) {
    let generator = F::Group::generator();
    let mut expected = generator;
    let mut sum = scaled(&F::affine(&generator), z);
    for (choice, full) in choices {
        let scalar = Scalar::from(u64::from(choice / 2));
        let term = generator * if choice % 2 == 0 { scalar } else { -scalar };
        expected += term;
        if *full {
            F::add(&mut sum, &scaled(&F::affine(&term), z));
        } else {
            F::add_affine(&mut sum, &F::affine(&term));
        }
        assert_eq!(to_affine(&sum), F::affine(&expected));
    }
}

/// A few points, each with its opposite, points of the same x among them, and infinity.
fn few_points<F: ReferenceCurve>() -> Vec<F::Group> {
    let generator = F::Group::generator();
    let multiples = [1u64, 2, 3, 1 << 40].map(|multiple| generator * Scalar::from(multiple));
    multiples.into_iter().chain([multiples[0], F::outside(), F::Group::identity()]).collect()
}

/// Groups of 2^levels of these references, whose numbers are those of `few_points`.
fn groups_agree<F: ReferenceCurve>(references: &[u32], levels: u32, n_threads: usize) {
    let points = few_points::<F>();
    let bases: Vec<Affine<F>> = points.iter().map(F::affine).collect();
    let term = |&reference: &u32| match reference {
        NO_POINT => F::Group::identity(),
        _ if reference & NEGATE != 0 => -points[(reference & !NEGATE) as usize],
        _ => points[reference as usize],
    };
    let groups = references.chunks_exact(1 << levels);
    let expected: Vec<Affine<F>> =
        groups.map(|group| F::affine(&group.iter().map(term).sum::<F::Group>())).collect();
    let whole = &references[..expected.len() << levels];
    let sums = F::add_groups(&bases, whole, levels, n_threads);
    assert_eq!(sums, expected, "{references:x?}, {levels} levels, {n_threads} threads");
}

/// Every pair of references.
fn pairs_agree<F: ReferenceCurve>() {
    let few = few_points::<F>().len() as u32;
    let all: Vec<u32> = (0..few).flat_map(|base| [base, base | NEGATE]).chain([NO_POINT]).collect();
    let pairs: Vec<u32> = all.iter().flat_map(|a| all.iter().flat_map(|b| [*a, *b])).collect();
    groups_agree::<F>(&pairs, 1, 3);
    // One that needs no division, alone.
    groups_agree::<F>(&[NO_POINT, NO_POINT], 1, 1);
    groups_agree::<F>(&[], 3, 1);
}

#[test]
fn pairs_in_g1() {
    pairs_agree::<Fp>();
}

#[test]
fn pairs_in_g2() {
    pairs_agree::<Fp2>();
}

fn references() -> impl Strategy<Value = Vec<u32>> {
    let reference = prop_oneof![
        6 => (0u32..7, any::<bool>()).prop_map(|(base, negate)| if negate { base | NEGATE } else { base }),
        1 => Just(NO_POINT),
    ];
    proptest::collection::vec(reference, 0..200)
}

/// What may be z.
fn scale<F: Reference>(values: impl Strategy<Value = F>) -> impl Strategy<Value = F> {
    values.prop_filter("z = 0", |value| *value != F::ZERO)
}

/// Few terms, and whether each comes in full coordinates.
fn choices() -> impl Strategy<Value = Vec<(u8, bool)>> {
    proptest::collection::vec((0u8..8, any::<bool>()), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn points_of_g1(p: [u64; 2], q: [u64; 2], z in scale(any_fp()), w in scale(any_fp())) {
        let [p, q] = [p, q].map(|[a, b]| G1Projective::generator() * (Scalar::from(a) * Scalar::from(b)));
        agrees(&p, &q, &z, &w);
        agrees(&p, &p, &z, &w);
    }

    #[test]
    fn points_of_g2(p: [u64; 2], q: [u64; 2], z in scale(any_fp2()), w in scale(any_fp2())) {
        let [p, q] = [p, q].map(|[a, b]| G2Projective::generator() * (Scalar::from(a) * Scalar::from(b)));
        agrees(&p, &q, &z, &w);
        agrees(&p, &p, &z, &w);
    }

    #[test]
    fn running_sums_of_g1(choices in choices(), z in scale(any_fp())) {
        sums_agree(&choices, &z);
    }

    #[test]
    fn running_sums_of_g2(choices in choices(), z in scale(any_fp2())) {
        sums_agree(&choices, &z);
    }

    #[test]
    fn groups_of_g1(references in references(), levels in 1u32..5, n_threads in 1usize..6) {
        groups_agree::<Fp>(&references, levels, n_threads);
    }

    #[test]
    fn groups_of_g2(references in references(), levels in 1u32..5, n_threads in 1usize..6) {
        groups_agree::<Fp2>(&references, levels, n_threads);
    }
}
