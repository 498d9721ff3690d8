//! The arithmetic of `cuda/`, compiled for the host, against blst, blstrs and `cuzk-naive`. No GPU and no nvcc is needed.

mod curves;
mod digits;
mod evaluation;
mod fields;
mod fixed_base;
mod sums;
mod transforms;

use blstrs::Scalar;
use cuzk_device_host::{Field, Fp, Fp2, Fr, Operation};

/// A field with blst's arithmetic beside it. blst keeps the same words, in pairs.
trait Reference: Field {
    /// 1
    fn one() -> Self;
    /// What blst computes.
    fn expected(operation: Operation, a: &Self, b: &Self) -> Self;
    /// 1/a, by blst.
    fn inverse(&self) -> Self;

    fn times(&self, b: &Self) -> Self {
        Self::expected(Operation::Multiply, self, b)
    }
}

/// The words of blst's 64-bit ones.
fn halves<const N: usize>(words: &[u64]) -> [u32; N] {
    std::array::from_fn(|i| (words[i / 2] >> (32 * (i % 2))) as u32)
}

fn joined<const N: usize>(words: &[u32]) -> [u64; N] {
    std::array::from_fn(|i| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32)
}

/// An element as blst has it.
trait Blst: Copy {
    type Blst: Default;
    fn to_blst(self) -> Self::Blst;
    fn of_blst(value: &Self::Blst) -> Self;
}

impl Blst for Fp {
    type Blst = blst::blst_fp;
    fn to_blst(self) -> blst::blst_fp {
        blst::blst_fp { l: joined(&self.0) }
    }
    fn of_blst(value: &blst::blst_fp) -> Self {
        Fp(halves(&value.l))
    }
}

impl Blst for Fr {
    type Blst = blst::blst_fr;
    fn to_blst(self) -> blst::blst_fr {
        blst::blst_fr { l: joined(&self.0) }
    }
    fn of_blst(value: &blst::blst_fr) -> Self {
        Fr(halves(&value.l))
    }
}

impl Blst for Fp2 {
    type Blst = blst::blst_fp2;
    fn to_blst(self) -> blst::blst_fp2 {
        blst::blst_fp2 { fp: [self.c0.to_blst(), self.c1.to_blst()] }
    }
    fn of_blst(value: &blst::blst_fp2) -> Self {
        Fp2 { c0: Fp::of_blst(&value.fp[0]), c1: Fp::of_blst(&value.fp[1]) }
    }
}

macro_rules! reference {
    ($field:ty, $one:expr, $add:ident, $sub:ident, $cneg:ident, $mul:ident, $sqr:ident, $inverse:ident) => {
        impl Reference for $field {
            fn one() -> Self {
                $one
            }

            fn expected(operation: Operation, a: &Self, b: &Self) -> Self {
                let (equal, nonzero) = (a == b, *b != Self::ZERO);
                let (a, b) = (a.to_blst(), b.to_blst());
                let mut out = Default::default();
                // SAFETY: each function reads its operands and writes its result, all of which are there.
                unsafe {
                    match operation {
                        Operation::Add => blst::$add(&mut out, &a, &b),
                        Operation::Subtract => blst::$sub(&mut out, &a, &b),
                        Operation::Negate => blst::$cneg(&mut out, &a, true),
                        Operation::NegateUnlessZero => blst::$cneg(&mut out, &a, nonzero),
                        Operation::Double => blst::$add(&mut out, &a, &a),
                        Operation::Multiply => blst::$mul(&mut out, &a, &b),
                        Operation::Square => blst::$sqr(&mut out, &a),
                        Operation::Equal => return if equal { Self::one() } else { Self::ZERO },
                    }
                }
                Self::of_blst(&out)
            }

            fn inverse(&self) -> Self {
                let mut out = Default::default();
                // SAFETY: as above.
                unsafe { blst::$inverse(&mut out, &self.to_blst()) };
                Self::of_blst(&out)
            }
        }
    };
}
reference!(
    Fp,
    fields::of_integer([1, 0, 0, 0, 0, 0]),
    blst_fp_add,
    blst_fp_sub,
    blst_fp_cneg,
    blst_fp_mul,
    blst_fp_sqr,
    blst_fp_inverse
);
reference!(
    Fr,
    of_scalar(&ff::Field::ONE),
    blst_fr_add,
    blst_fr_sub,
    blst_fr_cneg,
    blst_fr_mul,
    blst_fr_sqr,
    blst_fr_inverse
);
reference!(
    Fp2,
    Fp2 { c0: Fp::one(), c1: Fp::ZERO },
    blst_fp2_add,
    blst_fp2_sub,
    blst_fp2_cneg,
    blst_fp2_mul,
    blst_fp2_sqr,
    blst_fp2_inverse
);

fn of_scalar(scalar: &Scalar) -> Fr {
    Fr::of_blst(&blst::blst_fr::from(*scalar))
}

fn of_scalars(scalars: &[Scalar]) -> Vec<Fr> {
    scalars.iter().map(of_scalar).collect()
}

fn to_scalars(values: &[Fr]) -> Vec<Scalar> {
    // blstrs takes words as they are, and asks the caller for values below the modulus.
    values.iter().map(|value| Scalar::from(value.to_blst())).collect()
}
