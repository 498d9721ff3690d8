//! Circuits for the tests: a small fixed one, and random ones.

use std::ops::Range;

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;
use ff::Field;
use proptest::prelude::*;

/// Five constraints on a public cubic: y = x³ + x + 5 with x public, too, and a bit that is in B.
#[derive(Clone, Copy)]
pub(crate) struct Five {
    pub(crate) x: u64,
    pub(crate) bit: bool,
}

impl Circuit<Fr> for Five {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let x_value = Fr::from(self.x);
        let x = cs.alloc_input(|| "x", || Ok(x_value))?;
        let square = cs.alloc(|| "x²", || Ok(x_value.square()))?;
        let cube = cs.alloc(|| "x³", || Ok(x_value.square() * x_value))?;
        let y = cs.alloc_input(|| "y", || Ok(x_value.square() * x_value + x_value + Fr::from(5)))?;
        let bit = cs.alloc(|| "bit", || Ok(Fr::from(u64::from(self.bit))))?;
        let copy = cs.alloc(|| "copy", || Ok(x_value * Fr::from(u64::from(self.bit))))?;
        cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, |lc| lc + square);
        cs.enforce(|| "cube", |lc| lc + square, |lc| lc + x, |lc| lc + cube);
        cs.enforce(|| "y", |lc| lc + cube + x + (Fr::from(5), CS::one()), |lc| lc + CS::one(), |lc| lc + y);
        cs.enforce(|| "boolean", |lc| lc + CS::one() - bit, |lc| lc + bit, |lc| lc);
        cs.enforce(|| "copy", |lc| lc + x, |lc| lc + bit, |lc| lc + copy);
        Ok(())
    }
}

/// A random satisfied system: for every row a, b are random combinations of what exists, and c a new variable with
/// their product. Some values are bits, some rows use only inputs, some have an empty side.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    inputs: Vec<Fr>,
    bits: Vec<bool>,
    rows: Vec<Row>,
    /// Adds one to this aux variable's value, if it exists; the system is then not satisfied.
    pub(crate) flipped: Option<usize>,
}

#[derive(Clone, Debug)]
struct Row {
    a: Vec<(usize, i8)>,
    b: Vec<(usize, i8)>,
}

fn row() -> impl Strategy<Value = Row> {
    let side = || proptest::collection::vec((any::<usize>(), -3i8..4), 0..4);
    (side(), side()).prop_map(|(a, b)| Row { a, b })
}

fn fr() -> impl Strategy<Value = Fr> {
    prop_oneof![
        Just(Fr::ZERO),
        Just(Fr::ONE),
        Just(-Fr::ONE),
        any::<[u64; 4]>()
            .prop_map(|limbs| limbs.iter().fold(Fr::ONE, |sum, limb| sum.square() + Fr::from(*limb)))
    ]
}

pub(crate) fn random_circuit(n_rows: Range<usize>) -> impl Strategy<Value = Random> {
    let inputs = proptest::collection::vec(fr(), 0..4);
    let bits = proptest::collection::vec(any::<bool>(), 0..6);
    let rows = proptest::collection::vec(row(), n_rows);
    (inputs, bits, rows).prop_map(|(inputs, bits, rows)| Random { inputs, bits, rows, flipped: None })
}

impl Random {
    pub(crate) fn n_aux(&self) -> usize {
        self.bits.len() + self.rows.len()
    }

    /// The public inputs, ONE excluded.
    pub(crate) fn public_inputs(&self) -> &[Fr] {
        &self.inputs
    }
}

fn coefficient(small: i8) -> Fr {
    let magnitude = Fr::from(u64::from(small.unsigned_abs()));
    if small < 0 { -magnitude } else { magnitude }
}

impl Circuit<Fr> for Random {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut variables = vec![(CS::one(), Fr::ONE)];
        let mut n_aux = 0;
        let flip = |value: Fr, n_aux: &mut usize| {
            *n_aux += 1;
            if self.flipped == Some(*n_aux - 1) { value + Fr::ONE } else { value }
        };
        for value in &self.inputs {
            variables.push((cs.alloc_input(|| "input", || Ok(*value))?, *value));
        }
        for bit in &self.bits {
            let value = flip(Fr::from(u64::from(*bit)), &mut n_aux);
            let variable = cs.alloc(|| "bit", || Ok(value))?;
            cs.enforce(|| "boolean", |lc| lc + CS::one() - variable, |lc| lc + variable, |lc| lc);
            variables.push((variable, Fr::from(u64::from(*bit))));
        }
        for row in &self.rows {
            let side = |terms: &[(usize, i8)]| {
                terms.iter().fold((LinearCombination::zero(), Fr::ZERO), |(lc, sum), (pick, small)| {
                    let (variable, value) = variables[pick % variables.len()];
                    (lc + (coefficient(*small), variable), sum + coefficient(*small) * value)
                })
            };
            let ((a, a_value), (b, b_value)) = (side(&row.a), side(&row.b));
            let product = a_value * b_value;
            let value = flip(product, &mut n_aux);
            let variable = cs.alloc(|| "product", || Ok(value))?;
            cs.enforce(|| "product", |_| a, |_| b, |lc| lc + variable);
            variables.push((variable, product));
        }
        Ok(())
    }
}

/// A circuit with a variable that no row mentions.
pub(crate) struct Unconstrained;

impl Circuit<Fr> for Unconstrained {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let used = cs.alloc(|| "used", || Ok(Fr::ONE))?;
        cs.alloc(|| "unused", || Ok(Fr::ONE))?;
        assert_eq!(used, Variable::new_unchecked(Index::Aux(0)));
        cs.enforce(|| "used", |lc| lc + used, |lc| lc + used, |lc| lc + used);
        Ok(())
    }
}
