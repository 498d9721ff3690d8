//! G1: y² = x³ + 4 over Fp; G2: y² = x³ + 4(u + 1) over Fp2 = Fp[u]/(u² + 1).
//!
//! Coordinates are blst's ([`cuzk_field::portable`]). A point at infinity in affine coordinates is (0, 0), which is on
//! neither curve.

use blst::{blst_fp, blst_fp2, blst_p1_affine, blst_p2_affine};
use blstrs::{G1Affine, G2Affine, Scalar as Fr};
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

    /// −self, without the detour of the group's operator.
    #[inline]
    fn negate(&self) -> Self {
        let (x, y) = self.coordinates();
        Self::from_coordinates(x, y.negate())
    }
}

macro_rules! curve {
    ($affine:ident, $field:ty, $eight:ty, $raw_affine:ident) => {
        const _: () = assert!(size_of::<$affine>() == size_of::<$raw_affine>());

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
        }
    };
}

curve!(G1Affine, blst_fp, Fp, blst_p1_affine);
curve!(G2Affine, blst_fp2, Fp2, blst_p2_affine);

#[cfg(test)]
mod tests {
    use super::*;

    fn points<P: Curve>() {
        let generator = P::generator();
        let (x, y) = generator.coordinates();
        assert!(P::from_coordinates(x, y) == generator);
        assert!(P::from_coordinates(x, y.negate()) == -generator);
        assert!(P::identity().coordinates() == (Default::default(), Default::default()));
        assert!(P::from_coordinates(Default::default(), Default::default()) == P::identity());
    }

    #[test]
    fn g1() {
        points::<G1Affine>();
    }

    #[test]
    fn g2() {
        points::<G2Affine>();
    }
}
