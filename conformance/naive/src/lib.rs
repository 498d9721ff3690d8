//! Textbook arithmetic over Fr, G1 and G2 of BLS12-381: what every fast path is compared with in tests.
//!
//! Each function is its definition, written out; none may be fast. Never shipped.
#![forbid(unsafe_code)]

use blstrs::Scalar as Fr;
use ff::{Field, PrimeField};
use group::{Group, prime::PrimeCurveAffine};

/// The generator of the subgroup of order `n` of Fr*, which must be a power of two.
pub fn root_of_unity(n: usize) -> Fr {
    assert!(n.is_power_of_two() && n.trailing_zeros() <= Fr::S);
    Fr::ROOT_OF_UNITY.pow_vartime([1 << (Fr::S - n.trailing_zeros())])
}

/// The polynomial with these coefficients (lowest first) at `x`.
pub fn evaluate(coefficients: &[Fr], x: &Fr) -> Fr {
    coefficients.iter().rev().fold(Fr::ZERO, |sum, coefficient| sum * x + coefficient)
}

/// The values of a polynomial on the coset shift·D, D = {1, ω, …, ω^(n−1)}, n = the number of coefficients.
/// O(n²) multiplications.
pub fn ntt(coefficients: &[Fr], shift: &Fr) -> Vec<Fr> {
    let omega = root_of_unity(coefficients.len());
    (0..coefficients.len() as u64)
        .map(|j| evaluate(coefficients, &(omega.pow_vartime([j]) * shift)))
        .collect()
}

/// The coefficients of the polynomial of degree below n with these n values on the coset shift·D:
/// cᵢ = shift⁻ⁱ/n · Σⱼ vⱼ·ω^(−ij). O(n²) multiplications.
pub fn inverse_ntt(values: &[Fr], shift: &Fr) -> Vec<Fr> {
    let n = values.len() as u64;
    let omega_inverse = root_of_unity(values.len()).invert().expect("a root of unity is not zero");
    let n_inverse = Fr::from(n).invert().expect("n is a power of two, r is odd");
    let shift_inverse = shift.invert().expect("a shift that is not zero");
    (0..n)
        .map(|i| {
            let sum = evaluate(values, &omega_inverse.pow_vartime([i]));
            sum * n_inverse * shift_inverse.pow_vartime([i])
        })
        .collect()
}

/// The product of two polynomials, every coefficient by every other.
pub fn multiply(left: &[Fr], right: &[Fr]) -> Vec<Fr> {
    let mut product = vec![Fr::ZERO; (left.len() + right.len()).saturating_sub(1)];
    for (i, left) in left.iter().enumerate() {
        for (j, right) in right.iter().enumerate() {
            product[i + j] += *left * right;
        }
    }
    product
}

/// Quotient and remainder of the division by xⁿ − 1, one leading term after the other.
pub fn divide_by_vanishing(polynomial: &[Fr], n: usize) -> (Vec<Fr>, Vec<Fr>) {
    let mut remainder = polynomial.to_vec();
    let mut quotient = vec![Fr::ZERO; polynomial.len().saturating_sub(n)];
    for degree in (n..polynomial.len()).rev() {
        let leading = std::mem::replace(&mut remainder[degree], Fr::ZERO);
        quotient[degree - n] += leading;
        remainder[degree - n] += leading;
    }
    remainder.truncate(n);
    (quotient, remainder)
}

/// The n − 1 coefficients of (a·b − c)/(xⁿ − 1) from the values of a, b, c on the domain of n elements.
/// Panics when the division leaves a remainder.
pub fn qap_quotient(a: &[Fr], b: &[Fr], c: &[Fr]) -> Vec<Fr> {
    let n = a.len();
    let [a, b, c] = [a, b, c].map(|values| inverse_ntt(values, &Fr::ONE));
    let mut numerator = multiply(&a, &b);
    numerator.iter_mut().zip(&c).for_each(|(coefficient, c)| *coefficient -= c);
    let (quotient, remainder) = divide_by_vanishing(&numerator, n);
    assert!(remainder.iter().all(|coefficient| *coefficient == Fr::ZERO), "c is not a∘b");
    quotient
}

/// Σ scalarᵢ·pointᵢ, each product by doubling and adding, highest bit first.
pub fn msm<A: PrimeCurveAffine<Scalar = Fr>>(points: &[A], scalars: &[Fr]) -> A::Curve {
    assert_eq!(points.len(), scalars.len());
    points.iter().zip(scalars).map(|(point, scalar)| multiply_point(point, scalar)).sum()
}

/// scalar·point by doubling and adding.
pub fn multiply_point<A: PrimeCurveAffine<Scalar = Fr>>(point: &A, scalar: &Fr) -> A::Curve {
    let bytes = scalar.to_bytes_le();
    let bits = (0..256).rev().map(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1);
    bits.fold(A::Curve::identity(), |sum, bit| {
        let doubled = sum.double();
        if bit { doubled + point } else { doubled }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use blstrs::{G1Affine, G2Affine};

    fn scalars(n: u64) -> Vec<Fr> {
        (0..n).map(|i| Fr::from(i * i + 3).square() - Fr::from(77 * i)).collect()
    }

    #[test]
    fn transforms_invert_each_other_and_agree_with_evaluation() {
        let coefficients = scalars(8);
        for shift in [Fr::ONE, Fr::from(7)] {
            let values = ntt(&coefficients, &shift);
            assert_eq!(values[1], evaluate(&coefficients, &(root_of_unity(8) * shift)));
            assert_eq!(inverse_ntt(&values, &shift), coefficients);
        }
    }

    #[test]
    fn division_undoes_multiplication() {
        let (quotient, remainder) = (scalars(6), scalars(4));
        let mut vanishing = vec![Fr::ZERO; 5];
        (vanishing[0], vanishing[4]) = (-Fr::ONE, Fr::ONE);
        let mut dividend = multiply(&quotient, &vanishing);
        dividend.iter_mut().zip(&remainder).for_each(|(coefficient, r)| *coefficient += r);
        assert_eq!(divide_by_vanishing(&dividend, 4), (quotient, remainder));
    }

    #[test]
    fn double_and_add_agrees_with_the_library() {
        let scalars = [Fr::ZERO, Fr::ONE, -Fr::ONE, Fr::from(1 << 40)];
        for scalar in &scalars {
            assert_eq!(multiply_point(&G1Affine::generator(), scalar), G1Affine::generator() * scalar);
            assert_eq!(multiply_point(&G2Affine::generator(), scalar), G2Affine::generator() * scalar);
        }
        let points = [G1Affine::generator(); 4];
        assert_eq!(msm(&points, &scalars), G1Affine::generator() * scalars.iter().sum::<Fr>());
    }
}
