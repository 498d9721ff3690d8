//! G1: y² = x³ + 4 over Fp; G2: y² = x³ + 4(u + 1) over Fp2 = Fp[u]/(u² + 1). The wrappers over blst's C calls.
//!
//! Coordinates are blst's: Montgomery form with R = 2^384, fully reduced, in [0, p). A point at infinity in affine
//! coordinates is (0, 0), which is on neither curve.

use blst::{
    blst_fp, blst_fp_add, blst_fp_cneg, blst_fp_eucl_inverse, blst_fp_mul, blst_fp_sqr, blst_fp_sub,
    blst_fp2, blst_fp2_add, blst_fp2_cneg, blst_fp2_eucl_inverse, blst_fp2_mul, blst_fp2_sqr, blst_fp2_sub,
    blst_p1, blst_p1_affine, blst_p1s_add, blst_p1s_mult_pippenger, blst_p1s_mult_pippenger_scratch_sizeof,
    blst_p2, blst_p2_affine, blst_p2s_add, blst_p2s_mult_pippenger, blst_p2s_mult_pippenger_scratch_sizeof,
};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use group::prime::PrimeCurveAffine;

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
    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

macro_rules! coordinate {
    ($field:ty, $one:expr, $add:ident, $sub:ident, $mul:ident, $square:ident, $negate:ident, $invert:ident) => {
        impl Coordinate for $field {
            #[inline]
            fn add(&self, other: &Self) -> Self {
                let mut result = Self::default();
                // SAFETY: three valid, initialized elements; blst only reads the operands and writes the result.
                unsafe { $add(&mut result, self, other) };
                result
            }

            #[inline]
            fn sub(&self, other: &Self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `add`.
                unsafe { $sub(&mut result, self, other) };
                result
            }

            #[inline]
            fn mul(&self, other: &Self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `add`.
                unsafe { $mul(&mut result, self, other) };
                result
            }

            #[inline]
            fn square(&self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `add`, with one operand.
                unsafe { $square(&mut result, self) };
                result
            }

            #[inline]
            fn negate(&self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `add`, with one operand.
                unsafe { $negate(&mut result, self, true) };
                result
            }

            fn invert_vartime(&self) -> Self {
                let mut result = Self::default();
                // SAFETY: as in `add`, with one operand; zero is allowed and gives zero.
                unsafe { $invert(&mut result, self) };
                result
            }

            fn one() -> Self {
                $one
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

coordinate!(
    blst_fp,
    FP_ONE,
    blst_fp_add,
    blst_fp_sub,
    blst_fp_mul,
    blst_fp_sqr,
    blst_fp_cneg,
    blst_fp_eucl_inverse
);
coordinate!(
    blst_fp2,
    blst_fp2 { fp: [FP_ONE, blst_fp { l: [0; 6] }] },
    blst_fp2_add,
    blst_fp2_sub,
    blst_fp2_mul,
    blst_fp2_sqr,
    blst_fp2_cneg,
    blst_fp2_eucl_inverse
);

/// A point in affine coordinates, of which blst can compute sums.
pub trait Curve: PrimeCurveAffine<Scalar = Fr> + Send + Sync + Default {
    /// The field of the coordinates.
    type Field: Coordinate;

    /// The coordinates (x, y); (0, 0) at infinity.
    fn coordinates(&self) -> (Self::Field, Self::Field);

    /// The point with these coordinates, which must be on the curve or (0, 0).
    fn from_coordinates(x: Self::Field, y: Self::Field) -> Self;

    /// Σ points, by blst's batched affine additions; no point may be at infinity. One thread.
    fn sum(points: &[&Self]) -> Self::Curve;

    /// Σ scalars[i]·points[i], by blst's Pippenger; scalars are little-endian integers below 2^255. One thread.
    /// Panics when the lengths differ.
    fn pippenger(points: &[&Self], scalars: &[[u8; 32]]) -> Self::Curve;
}

macro_rules! curve {
    (
        $affine:ident, $projective:ident, $field:ty, $raw_affine:ident, $raw:ident,
        $add:ident, $pippenger:ident, $scratch:ident
    ) => {
        const _: () = assert!(
            size_of::<$affine>() == size_of::<$raw_affine>() && size_of::<$projective>() == size_of::<$raw>()
        );

        impl Curve for $affine {
            type Field = $field;

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
                    points.iter().map(|point| (*point).as_ref() as *const _).collect();
                let mut result = $raw::default();
                if !pointers.is_empty() {
                    // SAFETY: `pointers` holds `pointers.len()` pointers to points that `points` keeps alive; none is
                    // null, so blst follows each of them and does not step from one point to the next.
                    unsafe { $add(&mut result, pointers.as_ptr(), pointers.len()) };
                }
                // SAFETY: blstrs' projective points are `repr(transparent)` over blst's.
                unsafe { std::mem::transmute::<$raw, $projective>(result) }
            }

            fn pippenger(points: &[&Self], scalars: &[[u8; 32]]) -> $projective {
                assert_eq!(points.len(), scalars.len(), "a scalar for each point");
                let points: Vec<*const $raw_affine> =
                    points.iter().map(|point| (*point).as_ref() as *const _).collect();
                let scalars: Vec<*const u8> = scalars.iter().map(|scalar| scalar.as_ptr()).collect();
                let mut result = $raw::default();
                if !points.is_empty() {
                    // SAFETY: a pure function of the number of points.
                    let scratch_bytes = unsafe { $scratch(points.len()) };
                    let mut scratch = vec![0u64; scratch_bytes.div_ceil(8)];
                    // SAFETY: both arrays hold `points.len()` pointers, none of them null, to points and to 32-byte
                    // scalars that outlive the call; 255 bits are read of each scalar, that is all 32 bytes; `scratch`
                    // has the size that blst asks for.
                    unsafe {
                        $pippenger(
                            &mut result,
                            points.as_ptr(),
                            points.len(),
                            scalars.as_ptr(),
                            SCALAR_BITS,
                            scratch.as_mut_ptr(),
                        )
                    };
                }
                // SAFETY: blstrs' projective points are `repr(transparent)` over blst's.
                unsafe { std::mem::transmute::<$raw, $projective>(result) }
            }
        }
    };
}

/// r < 2^255.
const SCALAR_BITS: usize = 255;

curve!(
    G1Affine,
    G1Projective,
    blst_fp,
    blst_p1_affine,
    blst_p1,
    blst_p1s_add,
    blst_p1s_mult_pippenger,
    blst_p1s_mult_pippenger_scratch_sizeof
);
curve!(
    G2Affine,
    G2Projective,
    blst_fp2,
    blst_p2_affine,
    blst_p2,
    blst_p2s_add,
    blst_p2s_mult_pippenger,
    blst_p2s_mult_pippenger_scratch_sizeof
);

#[cfg(test)]
mod tests {
    use super::*;
    use group::Group;

    fn field_laws<P: Curve>() {
        let (x, y) = P::generator().coordinates();
        let one = P::Field::one();
        assert!(x.mul(&one) == x && one.mul(&one) == one && !one.is_zero());
        assert!(x.square() == x.mul(&x));
        assert!(x.add(&y).sub(&y) == x);
        assert!(x.add(&x.negate()).is_zero() && P::Field::default().negate().is_zero());
        assert!(x.mul(&x.invert_vartime()) == one && P::Field::default().invert_vartime().is_zero());
        assert!(x.add(&y).mul(&x.sub(&y)) == x.square().sub(&y.square()));
    }

    fn points_and_sums<P: Curve>() {
        field_laws::<P>();
        let generator = P::generator();
        let (x, y) = generator.coordinates();
        assert!(P::from_coordinates(x, y) == generator);
        assert!(P::from_coordinates(x, y.negate()) == -generator);
        assert!(P::identity().coordinates() == (Default::default(), Default::default()));
        assert!(P::from_coordinates(Default::default(), Default::default()) == P::identity());

        assert!(P::sum(&[]) == P::Curve::identity() && P::pippenger(&[], &[]) == P::Curve::identity());
        assert!(P::sum(&[&generator]) == generator.to_curve());
        let minus = -generator;
        assert!(P::sum(&[&generator, &minus, &generator]) == generator.to_curve());
        let r_minus_1 = (-Fr::from(1)).to_bytes_le();
        assert!(P::pippenger(&[&generator], &[r_minus_1]) == minus.to_curve());
        assert!(P::pippenger(&[&generator; 3], &[r_minus_1; 3]) == minus * Fr::from(3));
    }

    #[test]
    fn g1() {
        points_and_sums::<G1Affine>();
    }

    #[test]
    fn g2() {
        points_and_sums::<G2Affine>();
    }
}
