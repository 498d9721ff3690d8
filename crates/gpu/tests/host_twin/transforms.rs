//! Transforms by the device's passes, block by block and thread by thread, against the definition.

use blstrs::Scalar;
use cuzk_device_host::{Direction, Fr, Pass, ntt_pass, power};
use cuzk_naive::{evaluate, inverse_ntt, ntt, root_of_unity};
use ff::Field;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::{of_scalar, of_scalars, to_scalars};

/// How levels are split into passes, and how many threads a block has.
#[derive(Clone, Copy, Debug)]
struct Plan {
    pass_levels: u32,
    log2_tile: u32,
    n_threads: u32,
}

/// That of crates/gpu/src/ntt.rs.
const DEVICE: Plan = Plan { pass_levels: 9, log2_tile: 11, n_threads: 256 };

/// Others, whose passes and tiles are so small that small transforms have many of them, with full rounds and shorter ones.
const OTHERS: [Plan; 6] = [
    Plan { pass_levels: 9, log2_tile: 11, n_threads: 1 },
    Plan { pass_levels: 1, log2_tile: 1, n_threads: 1 },
    Plan { pass_levels: 2, log2_tile: 3, n_threads: 4 },
    Plan { pass_levels: 3, log2_tile: 4, n_threads: 3 },
    Plan { pass_levels: 4, log2_tile: 6, n_threads: 32 },
    Plan { pass_levels: 5, log2_tile: 5, n_threads: 7 },
];

/// The passes, lowest levels first, as crates/gpu/src/ntt.rs plans them.
fn passes(log2_n: u32, plan: &Plan) -> Vec<Pass> {
    let n_passes = log2_n.div_ceil(plan.pass_levels);
    let bound = |pass: u32| log2_n * pass / n_passes;
    let pass = |pass: u32| {
        let (first_level, levels) = (bound(pass), bound(pass + 1) - bound(pass));
        let most = if pass == 0 { log2_n - levels } else { first_level };
        Pass { log2_n, first_level, levels, log2_columns: (plan.log2_tile - levels).min(most) }
    };
    (0..n_passes).map(pass).collect()
}

/// `[h + j]` = base^(n/2h·j)·shift^(n/2h) for h = 1, 2, 4, …, n/2.
fn twiddles(log2_n: u32, base: &Scalar, shift: &Scalar) -> Vec<Fr> {
    let mut table = vec![Scalar::ZERO; 1 << log2_n];
    for level in 0..log2_n {
        let exponent = [1 << (log2_n - level - 1)];
        let (root, factor) = (base.pow_vartime(exponent), shift.pow_vartime(exponent));
        let powers = std::iter::successors(Some(factor), |power| Some(power * root));
        table[1 << level..2 << level].iter_mut().zip(powers).for_each(|(place, power)| *place = power);
    }
    of_scalars(&table)
}

/// n times the coefficients, in natural order, of what has these values on shift·D.
fn interpolated(values: &[Scalar], shift: &Scalar, plan: &Plan) -> Vec<Scalar> {
    let log2_n = values.len().ilog2();
    let invert = |value: Scalar| value.invert().expect("not zero");
    let table = twiddles(log2_n, &invert(root_of_unity(values.len())), &invert(*shift));
    let mut device = of_scalars(values);
    for pass in passes(log2_n, plan).iter().rev() {
        ntt_pass(&mut device, Direction::Down, &table, pass, plan.n_threads);
    }
    to_scalars(&reversed(&device))
}

/// The values on shift·D, from coefficients in natural order.
fn evaluated(coefficients: &[Scalar], shift: &Scalar, plan: &Plan) -> Vec<Scalar> {
    let log2_n = coefficients.len().ilog2();
    let table = twiddles(log2_n, &root_of_unity(coefficients.len()), shift);
    let mut device = reversed(&of_scalars(coefficients));
    for pass in &passes(log2_n, plan) {
        ntt_pass(&mut device, Direction::Up, &table, pass, plan.n_threads);
    }
    to_scalars(&device)
}

/// Element i at the place whose bits are those of i in reverse.
fn reversed(values: &[Fr]) -> Vec<Fr> {
    let unused = usize::BITS - values.len().ilog2();
    (0..values.len()).map(|i| values[i.reverse_bits().checked_shr(unused).unwrap_or(0)]).collect()
}

fn random(log2_n: u32, seed: u64) -> Vec<Scalar> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..1 << log2_n).map(|_| Scalar::random(&mut rng)).collect()
}

fn generator() -> Scalar {
    Scalar::from(7)
}

#[test]
fn every_size_up_to_2_12_agrees_with_the_definition() {
    for log2_n in 0..=12 {
        let values = random(log2_n, u64::from(log2_n));
        let n = Scalar::from(1 << log2_n);
        for shift in [Scalar::ONE, generator()] {
            let expected: Vec<Scalar> = inverse_ntt(&values, &shift).iter().map(|c| c * n).collect();
            assert!(interpolated(&values, &shift, &DEVICE) == expected, "2^{log2_n} values on {shift:?}");
            for plan in OTHERS {
                assert!(
                    interpolated(&values, &shift, &plan) == expected,
                    "2^{log2_n} values on {shift:?}, {plan:?}"
                );
            }
        }
        let expected = ntt(&values, &generator());
        assert!(evaluated(&values, &generator(), &DEVICE) == expected, "2^{log2_n} coefficients");
        for plan in OTHERS {
            assert!(evaluated(&values, &generator(), &plan) == expected, "2^{log2_n} coefficients, {plan:?}");
        }
    }
}

/// The least size for which a device's plan has three passes.
#[test]
fn three_passes_agree_with_evaluation_and_invert_each_other() {
    let log2_n = 19;
    assert_eq!(passes(log2_n, &DEVICE).len(), 3);
    let coefficients = random(log2_n, 19);
    let values = evaluated(&coefficients, &generator(), &DEVICE);
    let omega = root_of_unity(1 << log2_n);
    for index in [0, 1, 2, 511, 1 << 9, 12_345, 1 << 18, (1 << 19) - 1] {
        let x = omega.pow_vartime([index as u64]) * generator();
        assert_eq!(values[index], evaluate(&coefficients, &x), "element {index}");
    }
    let n = Scalar::from(1 << log2_n);
    let again = interpolated(&values, &generator(), &DEVICE);
    assert!(again.iter().zip(&coefficients).all(|(again, coefficient)| *again == coefficient * n));
}

proptest! {
    #[test]
    fn powers(base in crate::fields::any_fr(), exponent: u64, shift in 0u32..64) {
        let exponent = exponent >> shift;
        let expected = to_scalars(&[base])[0].pow_vartime([exponent]);
        prop_assert_eq!(power(&base, exponent), of_scalar(&expected));
    }
}
