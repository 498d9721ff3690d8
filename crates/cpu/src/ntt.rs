//! Radix-2 transforms over Fr: decimation in frequency inwards, decimation in time outwards.
//!
//! Interpolation goes from natural to bit-reversed order, evaluation from bit-reversed to natural order, so that
//! nothing is permuted but the final result. Large transforms are halved until a piece fits a second-level cache;
//! the halves run on different threads. n/2·log₂n multiplications each, and up to 2n for scaling.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use cuzk_groth16::{Domain, Transforms};
use ff::Field;
use rayon::prelude::*;

use crate::arithmetic::Arithmetic;
use crate::eight;

/// Elements that one thread transforms by itself: 512 KiB of values and as much of roots.
const SEQUENTIAL: usize = 1 << 14;
/// Butterflies of a large level that are worth a thread (about 100 µs).
const MIN_BUTTERFLIES: usize = 1 << 12;

/// Transforms over one domain, with their tables: 32 bytes an element, 80 where they are eight-wide.
pub struct CpuTransforms(Form);

enum Form {
    Portable(Portable),
    Eight { domain: Domain, transforms: eight::Transforms },
}

impl CpuTransforms {
    /// Computes the tables: n multiplications, 4n where they are eight-wide. Small domains are done one element at a
    /// time in any case.
    pub fn new(arithmetic: Arithmetic, domain: Domain) -> Self {
        CpuTransforms(match arithmetic.engine() {
            Some(engine) if domain.log2_n() >= eight::MIN_LOG2_N => {
                Form::Eight { domain, transforms: eight::Transforms::new(engine, &domain) }
            }
            _ => Form::Portable(Portable::new(domain)),
        })
    }
}

impl Transforms for CpuTransforms {
    fn domain(&self) -> &Domain {
        match &self.0 {
            Form::Portable(portable) => &portable.domain,
            Form::Eight { domain, .. } => domain,
        }
    }

    fn interpolate(&self, values: &mut [Fr]) {
        match &self.0 {
            Form::Portable(portable) => portable.interpolate(values),
            Form::Eight { transforms, .. } => transforms.interpolate(values),
        }
    }

    fn evaluate_on_coset(&self, coefficients: &mut [Fr]) {
        match &self.0 {
            Form::Portable(portable) => portable.evaluate_on_coset(coefficients),
            Form::Eight { transforms, .. } => transforms.evaluate_on_coset(coefficients),
        }
    }

    fn interpolate_on_coset(&self, values: &mut [Fr]) {
        match &self.0 {
            Form::Portable(portable) => portable.interpolate_on_coset(values),
            Form::Eight { transforms, .. } => transforms.interpolate_on_coset(values),
        }
    }

    fn to_natural_order(&self, coefficients: &mut [Fr]) {
        assert_eq!(coefficients.len(), self.domain().n(), "a vector of another domain");
        reverse_bits(coefficients, self.domain().log2_n());
    }
}

/// Moves element i to the place whose index has the bits of i, all `log2_n` of them, in reverse order.
///
/// An index is cut into a, m and b, of which a and b have [`TILE_BITS`] bits; (a, m, b) goes to (b', m', a'). The elements
/// of a pair m, m' are a square tile each, whose rows are whole cache lines.
fn reverse_bits(values: &mut [Fr], log2_n: u32) {
    assert_eq!(values.len(), 1 << log2_n, "2^log2_n elements");
    let reversed = |index: usize, bits: u32| match bits {
        0 => 0,
        _ => index.reverse_bits() >> (usize::BITS - bits),
    };
    if log2_n < 2 * TILE_BITS {
        for index in 0..values.len() {
            let other = reversed(index, log2_n);
            if index < other {
                values.swap(index, other);
            }
        }
        return;
    }
    let middle_bits = log2_n - 2 * TILE_BITS;
    let shared = Shared(values.as_mut_ptr());
    (0..1usize << middle_bits).into_par_iter().with_min_len(1 << 6).for_each(|middle| {
        let other_middle = reversed(middle, middle_bits);
        if other_middle < middle || injected(Fault::BitReversal) && middle == 1 {
            return;
        }
        for a in 0..1 << TILE_BITS {
            for b in 0..1 << TILE_BITS {
                let index = (a << (log2_n - TILE_BITS)) | (middle << TILE_BITS) | b;
                let other = (reversed(b, TILE_BITS) << (log2_n - TILE_BITS))
                    | (other_middle << TILE_BITS)
                    | reversed(a, TILE_BITS);
                if middle < other_middle || index < other {
                    // SAFETY: both indices have log2_n bits, so they are within `values`, which stays borrowed until all
                    // threads are done. Their middle parts are `middle` and its reverse, and of the two middles only the
                    // smaller one's turn, one turn of one thread, gets here.
                    unsafe { shared.swap(index, other) };
                }
            }
        }
    });
}

/// Rows of 8 elements are 256 bytes, and 8 of them, far apart, do not crowd each other out of a cache.
const TILE_BITS: u32 = 3;

/// Memory of which threads use disjoint parts.
struct Shared(*mut Fr);

// SAFETY: the pointer is only followed by `swap`, whose caller argues that no two threads meet.
unsafe impl Sync for Shared {}

impl Shared {
    /// # Safety
    ///
    /// Both elements must be within the memory, which must be borrowed for writing, and no other thread may touch them.
    unsafe fn swap(&self, index: usize, other: usize) {
        // SAFETY: the caller's contract.
        unsafe { std::ptr::swap(self.0.add(index), self.0.add(other)) };
    }
}

/// One element at a time.
struct Portable {
    domain: Domain,
    /// ω_2h⁰ … ω_2h^(h−1) for h = 1, 2, 4, …, n/2, where ω_2h is the root of order 2h.
    roots: Vec<Vec<Fr>>,
    shift: Fr,
    shift_inverse: Fr,
}

impl Portable {
    fn new(domain: Domain) -> Self {
        let levels = domain.log2_n() as usize;
        let mut roots = vec![vec![]; levels];
        if let Some(largest) = roots.last_mut() {
            *largest = powers(&domain.omega(), domain.n() / 2);
        }
        for level in (1..levels).rev() {
            roots[level - 1] = roots[level].iter().step_by(2).copied().collect();
        }
        if injected(Fault::Twiddle) {
            roots[5][17] = roots[5][16];
        }
        let shift = Domain::coset_shift();
        let shift_inverse = shift.invert().expect("the generator of Fr* is not zero");
        Portable { domain, roots, shift, shift_inverse }
    }

    fn roots(&self, half: usize) -> &[Fr] {
        &self.roots[half.trailing_zeros() as usize]
    }

    /// Natural → bit-reversed order, with ω⁻¹, not divided by n.
    fn inverse(&self, values: &mut [Fr]) {
        let half = values.len() / 2;
        if half == 0 {
            return;
        }
        let (low, high) = values.split_at_mut(half);
        let roots = self.roots(half);
        // (u − v)·ω^(−j) = (v − u)·ω^(half − j), as ω^half = −1: one table serves both directions.
        (low[0], high[0]) = (low[0] + high[0], low[0] - high[0]);
        let butterfly = |((low, high), root): ((&mut Fr, &mut Fr), &Fr)| {
            let difference = *high - *low;
            *low += *high;
            *high = difference * root;
        };
        let (low_rest, high_rest, roots_rest) = (&mut low[1..], &mut high[1..], &roots[1..]);
        if half < SEQUENTIAL {
            low_rest.iter_mut().zip(high_rest).zip(roots_rest.iter().rev()).for_each(butterfly);
            self.inverse(low);
            self.inverse(high);
        } else {
            low_rest
                .par_iter_mut()
                .zip(high_rest)
                .zip(roots_rest.par_iter().rev())
                .with_min_len(MIN_BUTTERFLIES)
                .for_each(butterfly);
            rayon::join(|| self.inverse(low), || self.inverse(high));
        }
    }

    /// Bit-reversed → natural order, with ω.
    fn forward(&self, values: &mut [Fr]) {
        let half = values.len() / 2;
        if half == 0 {
            return;
        }
        let (low, high) = values.split_at_mut(half);
        let roots = self.roots(half);
        let butterfly = |((low, high), root): ((&mut Fr, &mut Fr), &Fr)| {
            let product = *high * root;
            *high = *low - product;
            *low += product;
        };
        if half < SEQUENTIAL {
            self.forward(low);
            self.forward(high);
            low.iter_mut().zip(high).zip(roots).for_each(butterfly);
        } else {
            rayon::join(|| self.forward(low), || self.forward(high));
            low.par_iter_mut().zip(high).zip(roots).with_min_len(MIN_BUTTERFLIES).for_each(butterfly);
        }
    }

    fn interpolate(&self, values: &mut [Fr]) {
        self.inverse(values);
        if !injected(Fault::NotDivided) {
            scale(values, self.domain.n_inverse(), Fr::ONE);
        }
    }

    fn evaluate_on_coset(&self, coefficients: &mut [Fr]) {
        scale(coefficients, Fr::ONE, self.shift);
        self.forward(coefficients);
    }

    fn interpolate_on_coset(&self, values: &mut [Fr]) {
        self.inverse(values);
        scale(values, self.domain.n_inverse(), self.shift_inverse);
    }
}

/// Multiplies the coefficient of xⁱ, in bit-reversed order, by factor·shiftⁱ. The first half holds the even i.
fn scale(coefficients: &mut [Fr], factor: Fr, shift: Fr) {
    let half = coefficients.len() / 2;
    if shift == Fr::ONE {
        coefficients
            .par_iter_mut()
            .with_min_len(MIN_BUTTERFLIES)
            .for_each(|coefficient| *coefficient *= factor);
    } else if half == 0 {
        coefficients.iter_mut().for_each(|coefficient| *coefficient *= factor);
    } else {
        let (even, odd) = coefficients.split_at_mut(half);
        let own_shift = if injected(Fault::CosetShift) && half == 4 { Fr::ONE } else { shift };
        let (even_factor, odd_factor, shift) = (factor, factor * own_shift, shift.square());
        if half < SEQUENTIAL {
            scale(even, even_factor, shift);
            scale(odd, odd_factor, shift);
        } else {
            rayon::join(|| scale(even, even_factor, shift), || scale(odd, odd_factor, shift));
        }
    }
}

/// base⁰ … base^(n−1).
fn powers(base: &Fr, n: usize) -> Vec<Fr> {
    let mut powers = vec![Fr::ONE; n];
    powers.par_chunks_mut(SEQUENTIAL).enumerate().for_each(|(chunk, powers)| {
        let mut power = base.pow_vartime([(chunk * SEQUENTIAL) as u64]);
        for slot in powers {
            *slot = power;
            power *= base;
        }
    });
    powers
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn random(n: usize) -> Vec<Fr> {
        let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
        (0..n).map(|_| Fr::random(&mut rng)).collect()
    }

    #[test]
    fn places_with_reversed_bits() {
        for log2_n in 0..14 {
            let n = 1u64 << log2_n;
            let mut values: Vec<Fr> = (0..n).map(Fr::from).collect();
            reverse_bits(&mut values, log2_n);
            for (index, value) in (0..n).zip(&values) {
                let reversed = (0..log2_n).fold(0, |sum, bit| sum << 1 | index >> bit & 1);
                assert_eq!(*value, Fr::from(reversed), "{index} of 2^{log2_n}");
            }
        }
    }

    #[test]
    fn small_sizes_agree_with_naive() {
        for log2_n in 0..8 {
            agrees_with_naive(Arithmetic::portable(), log2_n);
        }
        for engine in cuzk_field::testing::engines() {
            (0..10).for_each(|log2_n| agrees_with_naive(Arithmetic::eight(engine), log2_n));
        }
    }

    fn agrees_with_naive(arithmetic: Arithmetic, log2_n: u32) {
        {
            let n = 1 << log2_n;
            let transforms = CpuTransforms::new(arithmetic, Domain::for_rows(n).unwrap());
            let values = random(n);
            let mut natural = values.clone();
            transforms.interpolate(&mut natural);
            transforms.to_natural_order(&mut natural);
            assert_eq!(natural, cuzk_naive::inverse_ntt(&values, &Fr::ONE));

            let mut on_coset = values.clone();
            transforms.interpolate_on_coset(&mut on_coset);
            transforms.to_natural_order(&mut on_coset);
            let shift = Domain::coset_shift();
            assert_eq!(on_coset, cuzk_naive::inverse_ntt(&values, &shift));

            // to_natural_order is its own inverse.
            let mut back = on_coset.clone();
            transforms.to_natural_order(&mut back);
            transforms.evaluate_on_coset(&mut back);
            assert_eq!(back, values);
            assert_eq!(cuzk_naive::ntt(&on_coset, &shift), values);
        }
    }

    /// Above the sizes that one thread does alone, where naive transforms take too long: the round trip, and single
    /// values against the polynomial.
    #[test]
    fn large_sizes_round_trip_and_agree_with_evaluation() {
        let engines = cuzk_field::testing::engines().into_iter().map(Arithmetic::eight);
        for arithmetic in [Arithmetic::portable()].into_iter().chain(engines) {
            round_trip_and_evaluation(arithmetic, 4 * SEQUENTIAL);
        }
    }

    fn round_trip_and_evaluation(arithmetic: Arithmetic, n: usize) {
        let transforms = CpuTransforms::new(arithmetic, Domain::for_rows(n).unwrap());
        let values = random(n);
        let mut polynomial = values.clone();
        transforms.interpolate(&mut polynomial);
        let mut natural = polynomial.clone();
        transforms.to_natural_order(&mut natural);
        let omega = transforms.domain().omega();
        for index in [0, 1, n / 2 + 1, n - 1] {
            assert_eq!(cuzk_naive::evaluate(&natural, &omega.pow_vartime([index as u64])), values[index]);
        }
        let mut on_coset = polynomial.clone();
        transforms.evaluate_on_coset(&mut on_coset);
        let point = omega.pow_vartime([12_345]) * Domain::coset_shift();
        assert_eq!(cuzk_naive::evaluate(&natural, &point), on_coset[12_345]);
        transforms.interpolate_on_coset(&mut on_coset);
        assert_eq!(on_coset, polynomial);
    }
}
