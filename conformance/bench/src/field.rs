//! Multiplications of single elements' worth, on one thread.

use std::collections::BTreeMap;

use blst::{blst_fp, blst_fp2};
use blstrs::Scalar as Fr;
use cuzk_field::fr::{self, Fr8};
use cuzk_field::portable::Coordinate;
use cuzk_field::testing::Numbers;
use cuzk_field::{Eight, EightColumns, Engine, Field, Fp, Fp2, Kernel, Lanes};

use crate::inputs;
use crate::stopwatch::Comparison;

/// Multiplications on each side; eight independent chains in the lanes, two at a time, against blst's two chains.
const N: usize = 1 << 20;

/// Fp, Fp2 and Fr. Times are those of 2^20 multiplications.
pub(crate) fn multiplications(results: &mut BTreeMap<String, Comparison>, repetitions: usize) {
    let Some(engine) = Engine::avx512ifma() else {
        eprintln!("skipped: no AVX-512 IFMA, so there is nothing to compare with blst");
        return;
    };
    let mut numbers = Numbers::new(9);
    let elements: [blst_fp; 2] = [numbers.next_fp(), numbers.next_fp()];
    compare::<Fp>(results, engine, "fp", elements, repetitions);
    let elements = [blst_fp2 { fp: elements }, blst_fp2 { fp: [elements[1], elements[0]] }];
    compare::<Fp2>(results, engine, "fp2", elements, repetitions);
    compare_fr(results, engine, repetitions);
}

fn compare<F: Field>(
    results: &mut BTreeMap<String, Comparison>,
    engine: Engine,
    name: &str,
    elements: [F::Scalar; 2],
    repetitions: usize,
) {
    let chains = |[a, b]: [F::Scalar; 2], square: bool| {
        let (mut x, mut y) = (a, b);
        for _ in 0..N / 2 {
            (x, y) = if square { (x.square(), y.square()) } else { (x.mul(&a), y.mul(&a)) };
        }
        x.add(&y)
    };
    for square in [false, true] {
        let ours = || engine.run(Chains::<F> { elements, square });
        // Both sides do N/2 steps on two chains; ours has them in eight lanes, so 1/8 of the steps.
        let comparison = Comparison::of(repetitions, ours, || chains(elements, square));
        let operation = if square { "squarings" } else { "multiplications" };
        results.insert(format!("{name}: 2^20 {operation}, against blst"), comparison);
    }
}

struct Chains<F: Field> {
    elements: [F::Scalar; 2],
    square: bool,
}

impl<F: Field> Kernel for Chains<F> {
    type Output = [F::Scalar; 8];

    #[inline(always)]
    fn run<L: Lanes>(self) -> [F::Scalar; 8] {
        let a = F::Eight::<L>::from_scalars(&[self.elements[0]; 8]);
        let (mut x, mut y) = (a, F::Eight::<L>::from_scalars(&[self.elements[1]; 8]));
        if self.square {
            for _ in 0..N / 16 {
                (x, y) = (x.square().carry(), y.square().carry());
            }
        } else {
            for _ in 0..N / 16 {
                (x, y) = (x.mul(&a).carry(), y.mul(&a).carry());
            }
        }
        x.columns().add(&y.columns()).carry().to_scalars()
    }
}

fn compare_fr(results: &mut BTreeMap<String, Comparison>, engine: Engine, repetitions: usize) {
    let [a, b]: [Fr; 2] = inputs::scalars(2, 6).try_into().expect("two");
    let theirs = || {
        let (mut x, mut y) = (a, b);
        for _ in 0..N / 2 {
            (x, y) = (x * a, y * a);
        }
        x + y
    };
    let comparison = Comparison::of(repetitions, || engine.run(ChainsFr([a, b])), theirs);
    results.insert("fr: 2^20 multiplications, against blst".to_owned(), comparison);
}

struct ChainsFr([Fr; 2]);

impl Kernel for ChainsFr {
    type Output = [fr::Pair; 8];

    #[inline(always)]
    fn run<L: Lanes>(self) -> [fr::Pair; 8] {
        let a = Fr8::<L>::splat(&fr::factor_limbs(&self.0[0]));
        let (mut x, mut y) = (a, Fr8::<L>::splat(&fr::factor_limbs(&self.0[1])));
        for _ in 0..N / 16 {
            (x, y) = (x.mul(&a).carry(), y.mul(&a).carry());
        }
        Fr8::store_pairs([x.columns().reduce(), y.columns().reduce()])
    }
}
