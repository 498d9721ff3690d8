//! G1: y² = x³ + 4 over Fp; G2: y² = x³ + 4(u + 1) over Fp2 = Fp[u]/(u² + 1).
//!
//! Coordinates are blst's ([`cuzk_field::portable`]). A point at infinity in affine coordinates is (0, 0), which is on
//! neither curve.

use blst::{blst_fp, blst_fp2, blst_p1, blst_p1_affine, blst_p1s_add, blst_p2, blst_p2_affine, blst_p2s_add};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cuzk_field::portable::Coordinate;
use cuzk_field::{Field, Fp, Fp2};
use group::prime::PrimeCurveAffine;

/// A point in affine coordinates, with access to them.
pub trait Curve: PrimeCurveAffine<Scalar = Fr> + Send + Sync + Default {
    /// The field of the coordinates.
    type Field: Coordinate;

    /// The same field, eight elements at a time.
    type Eight: Field<Scalar = Self::Field>;

    /// The coordinates (x, y); (0, 0) at infinity.
    fn coordinates(&self) -> (Self::Field, Self::Field);

    /// The point with these coordinates, which must be on the curve or (0, 0).
    fn from_coordinates(x: Self::Field, y: Self::Field) -> Self;

    /// The sum of points, by blst's batched affine additions. One thread.
    fn sum(points: &[&Self]) -> Self::Curve;

    /// −self, without the detour of the group's operator.
    #[inline]
    fn negate(&self) -> Self {
        let (x, y) = self.coordinates();
        Self::from_coordinates(x, y.negate())
    }
}

macro_rules! curve {
    (
        $affine:ident, $projective:ident, $field:ty, $eight:ty, $raw_affine:ident, $raw:ident, $add:ident
    ) => {
        const _: () = assert!(
            size_of::<$affine>() == size_of::<$raw_affine>() && size_of::<$projective>() == size_of::<$raw>()
        );

        impl Curve for $affine {
            type Field = $field;
            type Eight = $eight;

            #[inline]
            fn coordinates(&self) -> ($field, $field) {
                let raw: &$raw_affine = self.as_ref();
                (raw.x, raw.y)
            }

            #[inline]
            fn from_coordinates(x: $field, y: $field) -> Self {
                // SAFETY: blstrs' affine points are `repr(transparent)` over blst's, and any values of the
                // coordinates are valid for the type; being on the curve is the caller's contract, not memory safety.
                unsafe { std::mem::transmute::<$raw_affine, $affine>($raw_affine { x, y }) }
            }

            fn sum(points: &[&Self]) -> $projective {
                let pointers: Vec<*const $raw_affine> =
                    points.iter().map(|point| std::ptr::from_ref((*point).as_ref())).collect();
                let mut sum = $raw::default();
                // SAFETY: `pointers` holds `pointers.len()` pointers to points that `points` keeps alive; none is
                // null, so blst follows each of them and does not step from one point to the next. Of none it reads
                // nothing.
                unsafe { $add(&mut sum, pointers.as_ptr(), pointers.len()) };
                // SAFETY: blstrs' projective points are `repr(transparent)` over blst's.
                unsafe { std::mem::transmute::<$raw, $projective>(sum) }
            }
        }
    };
}

curve!(G1Affine, G1Projective, blst_fp, Fp, blst_p1_affine, blst_p1, blst_p1s_add);
curve!(G2Affine, G2Projective, blst_fp2, Fp2, blst_p2_affine, blst_p2, blst_p2s_add);

#[cfg(test)]
mod tests {
    use super::*;
    use group::{Curve as _, Group};

    fn points<P: Curve>() {
        let generator = P::generator();
        let (x, y) = generator.coordinates();
        assert!(P::from_coordinates(x, y) == generator);
        assert!(P::from_coordinates(x, y.negate()) == -generator);
        assert!(P::identity().coordinates() == (Default::default(), Default::default()));
        assert!(P::from_coordinates(Default::default(), Default::default()) == P::identity());
    }

    /// Long enough for several levels and an odd rest on each, with equal, opposite and infinite neighbours.
    fn sums<P: Curve>() {
        let multiples: Vec<i64> = (0..100).map(|i| [1, 1, -1, 0, 2, 0, 0, -2, 5, 7][i % 10]).collect();
        let point = |k: &i64| -> P {
            let product = P::generator() * Fr::from(k.unsigned_abs());
            (if *k < 0 { -product } else { product }).to_affine()
        };
        let points: Vec<P> = multiples.iter().map(point).collect();
        for n in [0, 1, 2, 15, 16, 17, 31, 33, 100] {
            let expected: i64 = multiples[..n].iter().sum();
            assert!(
                P::sum(&points[..n].iter().collect::<Vec<_>>()) == point(&expected).to_curve(),
                "{n} points"
            );
        }
        assert!(P::sum(&[&P::identity(); 40]) == P::Curve::identity());
    }

    #[test]
    fn g1() {
        points::<G1Affine>();
        sums::<G1Affine>();
    }

    #[test]
    fn g2() {
        points::<G2Affine>();
        sums::<G2Affine>();
    }
}
