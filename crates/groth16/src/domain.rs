//! The evaluation domain D = {1, ω, ω², …, ω^(n−1)}, n = 2^log2_n, in Fr; its coset is g·D with g = 7.

use blstrs::Scalar as Fr;
use ff::{Field, PrimeField};

use crate::Error;

/// A multiplicative subgroup of Fr of order 2^log2_n, with the coset that the quotient is computed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    log2_n: u32,
    omega: Fr,
}

impl Domain {
    /// The smallest domain with at least `n_rows` elements; at most 2³² of them exist in Fr.
    pub fn for_rows(n_rows: usize) -> Result<Self, Error> {
        let log2_n = n_rows.max(1).next_power_of_two().trailing_zeros();
        // Upstream's domain refuses 2^32 itself, too.
        if log2_n >= Fr::S {
            return Err(Error::TooManyRows { rows: n_rows });
        }
        let omega = (log2_n..Fr::S).fold(Fr::ROOT_OF_UNITY, |root, _| root.square());
        Ok(Domain { log2_n, omega })
    }

    /// log₂ of the number of elements.
    pub fn log2_n(&self) -> u32 {
        self.log2_n
    }

    /// The number of elements, n.
    pub fn n(&self) -> usize {
        1 << self.log2_n
    }

    /// The generator ω of the domain.
    pub fn omega(&self) -> Fr {
        self.omega
    }

    /// 1/n.
    pub fn n_inverse(&self) -> Fr {
        Fr::from(self.n() as u64).invert().expect("n is a power of two and r is odd")
    }

    /// The shift g of the coset: Fr's multiplicative generator 7, as upstream.
    pub fn coset_shift() -> Fr {
        Fr::MULTIPLICATIVE_GENERATOR
    }

    /// Z(x) = xⁿ − 1, the polynomial that vanishes on the domain.
    pub fn vanishing(&self, x: &Fr) -> Fr {
        (0..self.log2_n).fold(*x, |power, _| power.square()) - Fr::ONE
    }

    /// 1/Z on the coset, where Z has the one value gⁿ − 1.
    pub fn coset_vanishing_inverse(&self) -> Fr {
        self.vanishing(&Self::coset_shift()).invert().expect("g generates Fr*, so its n-th power is not 1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omega_has_order_n() {
        for (rows, log2_n) in
            [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 20, 20), ((1 << 20) + 1, 21)]
        {
            let domain = Domain::for_rows(rows).unwrap();
            assert_eq!((domain.log2_n(), domain.n()), (log2_n, 1 << log2_n));
            assert_eq!(domain.vanishing(&domain.omega()), Fr::ZERO);
            if log2_n > 0 {
                assert_eq!(domain.omega().pow_vartime([domain.n() as u64 / 2]), -Fr::ONE);
            }
            assert_eq!(domain.n_inverse() * Fr::from(domain.n() as u64), Fr::ONE);
        }
    }

    #[test]
    fn more_rows_than_roots_of_unity_are_refused() {
        assert!(Domain::for_rows(1 << 31).is_ok());
        assert!(matches!(Domain::for_rows((1 << 31) + 1), Err(Error::TooManyRows { .. })));
        assert!(matches!(Domain::for_rows(usize::MAX / 2), Err(Error::TooManyRows { .. })));
    }
}
