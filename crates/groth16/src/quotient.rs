//! The quotient h: with the polynomials a, b, c that take the rows' values on the domain D of n elements,
//! h = (a·b − c) / (xⁿ − 1), of degree at most n − 2.
//!
//! `ntt = seven` computes it on the coset g·D, where the divisor has the one value gⁿ − 1: interpolate a, b, c on D
//! (3 transforms), evaluate them on g·D (3), divide, interpolate (1).
//!
//! `ntt = six`: a·b = h·(xⁿ − 1) + c, and on the coset xⁿ = gⁿ, so the polynomial of degree below n that agrees with
//! a·b there is (gⁿ − 1)·h + c. Interpolating a·b on the coset and subtracting c, interpolated on D, therefore leaves
//! (gⁿ − 1)·h, and c never goes to the coset.
//!
//! With c := a∘b the division is always exact, so an unsatisfied witness still has a well-formed h; only the verifier
//! (or a comparison with C·w) can tell.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use ff::Field;
use rayon::prelude::*;

use crate::{Domain, Ntt};

/// Transforms over one domain, in place. "Own order" is any order of coefficients that an implementation likes (bit
/// reversal, for instance): pointwise operations do not care.
pub trait Transforms: Sync {
    /// The domain.
    fn domain(&self) -> &Domain;

    /// Values on D in natural order → coefficients in own order.
    fn interpolate(&self, values: &mut [Fr]);

    /// Coefficients in own order → values on g·D in natural order.
    fn evaluate_on_coset(&self, coefficients: &mut [Fr]);

    /// Values on g·D in natural order → coefficients in own order.
    fn interpolate_on_coset(&self, values: &mut [Fr]);

    /// Coefficients from own to natural order, lowest first.
    fn to_natural_order(&self, coefficients: &mut [Fr]);
}

/// `a∘b`, the values of c for a satisfied system.
pub fn hadamard(a: &[Fr], b: &[Fr]) -> Vec<Fr> {
    let mut c: Vec<Fr> = a.par_iter().zip(b).with_min_len(MIN_LEN).map(|(a, b)| *a * b).collect();
    if injected(Fault::ProductOfRows) {
        c.iter_mut().zip(a).next_back().into_iter().for_each(|(c, a)| *c = a.square());
    }
    c
}

/// The n − 1 coefficients of h, lowest first, from the values of a, b, c on at most n rows (missing rows are 0).
/// Panics when the vectors have different lengths or more than n elements.
pub fn quotient(
    transforms: &dyn Transforms,
    ntt: Ntt,
    mut a: Vec<Fr>,
    mut b: Vec<Fr>,
    mut c: Vec<Fr>,
) -> Vec<Fr> {
    let n = transforms.domain().n();
    assert!(a.len() == b.len() && b.len() == c.len() && c.len() <= n, "vectors of another domain");
    for values in [&mut a, &mut b, &mut c] {
        values.resize(n, Fr::ZERO);
        transforms.interpolate(values);
    }
    transforms.evaluate_on_coset(&mut a);
    transforms.evaluate_on_coset(&mut b);
    combine(&mut a, &b, |a, b| a * b);
    drop(b);
    let divisor_inverse = match injected(Fault::Divisor) {
        true => -transforms.domain().coset_vanishing_inverse(),
        false => transforms.domain().coset_vanishing_inverse(),
    };
    let divided_difference = |ab: Fr, c: Fr| (ab - c) * divisor_inverse;
    match ntt {
        Ntt::Six => {
            transforms.interpolate_on_coset(&mut a);
            let subtracted = |c| if injected(Fault::CNotSubtracted) { Fr::ZERO } else { c };
            combine(&mut a, &c, |ab, c| divided_difference(ab, subtracted(c)));
        }
        Ntt::Seven => {
            transforms.evaluate_on_coset(&mut c);
            combine(&mut a, &c, divided_difference);
            transforms.interpolate_on_coset(&mut a);
        }
    }
    transforms.to_natural_order(&mut a);
    debug_assert_eq!(a[n - 1], Fr::ZERO, "the degree of h is at most n − 2");
    a.truncate(n - 1);
    a
}

/// Pieces this long are worth a thread: 2^12 multiplications take about 80 µs.
const MIN_LEN: usize = 1 << 12;

fn combine(left: &mut [Fr], right: &[Fr], operation: impl Fn(Fr, Fr) -> Fr + Sync) {
    left.par_iter_mut()
        .zip(right)
        .with_min_len(MIN_LEN)
        .for_each(|(left, right)| *left = operation(*left, *right));
}
