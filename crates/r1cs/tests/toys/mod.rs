//! Circuits for the tests: random ones with a header and repeated blocks, and the gates that yield bits.

use bellpepper_core::{Circuit, ConstraintSystem, LinearCombination, SynthesisError, Variable};
use cuzk_r1cs::Fr;
use ff::Field;
use proptest::prelude::*;

/// A random satisfied system of a header and blocks of the same rows. Each row has random combinations for A and B, and
/// in C a new variable with what makes it true. Rows mention ONE, inputs and variables of the header and of the block.
#[derive(Clone, Debug)]
pub(crate) struct Toy {
    pub(crate) seed: u64,
    /// One block for each; the number seeds its values.
    pub(crate) blocks: Vec<u64>,
    /// This block has a row with another coefficient.
    pub(crate) odd_block: Option<usize>,
    pub(crate) header: Part,
    pub(crate) block: Part,
    /// Header bits that belong to a block, allocated for all of them: Snap's challenge bits.
    pub(crate) moving_bits: usize,
    /// Synthesize only this block.
    pub(crate) only: Option<usize>,
    pub(crate) has_values: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    inputs: usize,
    bits: usize,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    a: Vec<(usize, usize)>,
    b: Vec<(usize, usize)>,
    c: Vec<(usize, usize)>,
    scale: usize,
}

/// Zero, small, large and arbitrary ones.
const N_COEFFICIENTS: usize = 14;

fn coefficient(number: usize) -> Fr {
    let power = |exponent: u64| Fr::from(2).pow_vartime([exponent]);
    match number % N_COEFFICIENTS {
        0 => Fr::ZERO,
        1 => -Fr::ONE,
        2 => Fr::from(2),
        3 => -Fr::from(2),
        4 => Fr::from(4),
        5 => -Fr::from(4),
        6 => Fr::from(100),
        7 => power(39),
        8 => -power(40),
        9 => power(100),
        10 => Fr::from(0xdead_beef).square().square(),
        _ => Fr::ONE,
    }
}

fn value(seed: u64, index: usize) -> Fr {
    match (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize + index {
        0 => Fr::ZERO,
        1 => Fr::ONE,
        n => (Fr::from(seed) + Fr::from(n as u64)).square().square().square(),
    }
}

fn row() -> impl Strategy<Value = Row> {
    let side = || {
        prop_oneof![
            4 => proptest::collection::vec((any::<usize>(), any::<usize>()), 0..4),
            1 => proptest::collection::vec((any::<usize>(), 11usize..14), 9..14),
        ]
    };
    (side(), side(), side(), 1..N_COEFFICIENTS).prop_map(|(a, b, c, scale)| Row { a, b, c, scale })
}

fn part(n_rows: std::ops::Range<usize>) -> impl Strategy<Value = Part> {
    (0usize..3, 0usize..80, proptest::collection::vec(row(), n_rows)).prop_map(|(inputs, bits, rows)| Part {
        inputs,
        bits,
        rows,
    })
}

pub(crate) fn random_toy() -> impl Strategy<Value = Toy> {
    let blocks = proptest::collection::vec(any::<u64>(), 0..5);
    (any::<u64>(), blocks, part(0..6), part(1..8), prop_oneof![Just(0), 1usize..4]).prop_map(
        |(seed, blocks, header, block, moving_bits)| Toy {
            seed,
            blocks,
            odd_block: None,
            header,
            block,
            moving_bits,
            only: None,
            has_values: true,
        },
    )
}

impl Toy {
    /// A fixed one with this number of blocks.
    pub(crate) fn example(blocks: u64) -> Self {
        let row = |a, b| Row { a: vec![(a, 11)], b: vec![(b, 11)], c: vec![], scale: 11 };
        let part = |inputs, bits| Part { inputs, bits, rows: vec![row(1, 2), row(3, 1), row(5, 9)] };
        Toy {
            seed: 5,
            blocks: (10..10 + blocks).collect(),
            odd_block: None,
            header: part(1, 3),
            block: part(2, 70),
            moving_bits: 0,
            only: None,
            has_values: true,
        }
    }

    /// Blocks that refer to header variables of their own.
    pub(crate) fn with_moving_imports(mut self) -> Self {
        self.moving_bits = 2;
        self
    }

    pub(crate) fn imports_move(&self) -> bool {
        self.moving_bits > 0
    }

    /// The same without values.
    pub(crate) fn blank(&self) -> Self {
        Toy { has_values: false, ..self.clone() }
    }

    /// The header and one block.
    pub(crate) fn only(&self, block: usize) -> Self {
        Toy { only: Some(block), ..self.clone() }
    }

    fn given(&self, value: Fr) -> Result<Fr, SynthesisError> {
        if self.has_values { Ok(value) } else { Err(SynthesisError::AssignmentMissing) }
    }

    fn bit<CS: ConstraintSystem<Fr>>(
        &self,
        cs: &mut CS,
        value: Fr,
        known: &mut Vec<(Variable, Fr)>,
    ) -> Result<(), SynthesisError> {
        let bit = cs.alloc(|| "bit", || self.given(value))?;
        cs.enforce(|| "boolean", |lc| lc + CS::one() - bit, |lc| lc + bit, |lc| lc);
        known.push((bit, value));
        Ok(())
    }

    /// Inputs, bits and rows, beside the variables that are known already.
    fn part<CS: ConstraintSystem<Fr>>(
        &self,
        cs: &mut CS,
        part: &Part,
        seed: u64,
        is_odd: bool,
        known: &mut Vec<(Variable, Fr)>,
    ) -> Result<(), SynthesisError> {
        for index in 0..part.inputs {
            let value = value(seed, index);
            known.push((cs.alloc_input(|| "input", || self.given(value))?, value));
        }
        for index in 0..part.bits {
            self.bit(cs, Fr::from(seed.rotate_left(index as u32) & 1), known)?;
        }
        for (index, row) in part.rows.iter().enumerate() {
            let side = |terms: &[(usize, usize)]| {
                terms.iter().fold((LinearCombination::zero(), Fr::ZERO), |(lc, sum), (pick, number)| {
                    let (variable, value) = known[pick % known.len()];
                    (lc + (coefficient(*number), variable), sum + coefficient(*number) * value)
                })
            };
            let ((mut a, mut a_value), (b, b_value)) = (side(&row.a), side(&row.b));
            if is_odd && index == 0 {
                a = a + (Fr::from(77), CS::one());
                a_value += Fr::from(77);
            }
            let (c, c_value) = side(&row.c);
            let scale = coefficient(row.scale);
            let product = (a_value * b_value - c_value) * scale.invert().unwrap();
            let variable = cs.alloc(|| "product", || self.given(product))?;
            cs.enforce(|| "product", |_| a, |_| b, |_| c + (scale, variable));
            known.push((variable, product));
        }
        Ok(())
    }
}

impl Circuit<Fr> for Toy {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut header = vec![(CS::one(), Fr::ONE)];
        self.part(cs, &self.header, self.seed, false, &mut header)?;
        let mut moving = vec![];
        for bit in 0..self.blocks.len() * self.moving_bits {
            self.bit(cs, Fr::from(self.seed >> (bit % 64) & 1), &mut moving)?;
        }
        for (index, seed) in self.blocks.iter().enumerate() {
            if self.only.is_some_and(|only| only != index) {
                continue;
            }
            let own = index * self.moving_bits..(index + 1) * self.moving_bits;
            let mut known = [&header[..], &moving[own]].concat();
            let cs = &mut cs.namespace(|| format!("block {index}"));
            self.part(cs, &self.block, *seed, self.odd_block == Some(index), &mut known)?;
        }
        Ok(())
    }
}

/// Two blocks of every gate that bellpepper's SHA-256 uses, and some rows that look like gates.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    pub(crate) inputs: [bool; 3],
    /// Variable `.1` of block `.0` gets the value 2.
    pub(crate) lie: Option<(usize, usize)>,
}

/// A [`Gates`] without values, or with one block only.
#[derive(Clone, Debug)]
pub(crate) struct SomeGates {
    gates: Gates,
    only: Option<usize>,
    has_values: bool,
}

impl Gates {
    /// The aux variables of a block, in order. Those that are no bits say so.
    pub(crate) const NAMES: [&'static str; 18] = [
        "a",
        "b",
        "c",
        "and",
        "xor",
        "nor",
        "and not",
        "ch",
        "b and c",
        "maj",
        "copy",
        "zero",
        "one",
        "no bit: sum",
        "no bit: twice",
        "no bit: maj of a free bc",
        "no bit: free",
        "no bit: square",
    ];

    pub(crate) fn blank(&self) -> SomeGates {
        SomeGates { gates: self.clone(), only: None, has_values: false }
    }

    pub(crate) fn only(&self, block: usize) -> SomeGates {
        SomeGates { gates: self.clone(), only: Some(block), has_values: true }
    }
}

impl Circuit<Fr> for Gates {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        SomeGates { gates: self, only: None, has_values: true }.synthesize(cs)
    }
}

impl Circuit<Fr> for SomeGates {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for block in (0..2).filter(|block| self.only.is_none_or(|only| only == *block)) {
            self.block(&mut cs.namespace(|| format!("block {block}")), block)?;
        }
        Ok(())
    }
}

impl SomeGates {
    fn block<CS: ConstraintSystem<Fr>>(&self, cs: &mut CS, block: usize) -> Result<(), SynthesisError> {
        let [a, b, c] = self.gates.inputs.map(u64::from);
        let maj = a & b | a & c | b & c;
        let values = [
            a,
            b,
            c,
            a & b,
            a ^ b,
            (1 - a) & (1 - b),
            a & (1 - b),
            if a == 1 { b } else { c },
            b & c,
            maj,
            a,
            0,
            1,
            a + b,
            2 * (a & b),
            a + c * (b + 1) - 2 * (a & c),
            5,
            25,
        ];
        let mut variables = vec![];
        for (index, (name, value)) in Gates::NAMES.iter().zip(values).enumerate() {
            let value = if self.gates.lie == Some((block, index)) { Fr::from(2) } else { Fr::from(value) };
            variables.push(cs.alloc(
                || *name,
                || if self.has_values { Ok(value) } else { Err(SynthesisError::AssignmentMissing) },
            )?);
        }
        let v = |name: &str| variables[Gates::NAMES.iter().position(|known| *known == name).unwrap()];
        let (a, b, c, bc, one, two) = (v("a"), v("b"), v("c"), v("b and c"), CS::one(), Fr::from(2));
        let half = two.invert().unwrap();
        for bit in [a, b, c] {
            cs.enforce(|| "boolean", |lc| lc + one - bit, |lc| lc + bit, |lc| lc);
        }
        cs.enforce(|| "and", |lc| lc + a, |lc| lc + b, |lc| lc + v("and"));
        cs.enforce(|| "xor", |lc| lc + (two, a), |lc| lc + b, |lc| lc + a + b - v("xor"));
        cs.enforce(|| "nor", |lc| lc + one - a, |lc| lc + one - b, |lc| lc + v("nor"));
        cs.enforce(|| "and not", |lc| lc + a, |lc| lc + one - b, |lc| lc + v("and not"));
        cs.enforce(|| "ch", |lc| lc + b - c, |lc| lc + a, |lc| lc + v("ch") - c);
        cs.enforce(|| "bc", |lc| lc + b, |lc| lc + c, |lc| lc + bc);
        cs.enforce(|| "maj", |lc| lc + b + c - bc - bc, |lc| lc + a, |lc| lc + v("maj") - bc);
        cs.enforce(|| "copy", |lc| lc + a, |lc| lc + one, |lc| lc + v("copy"));
        cs.enforce(|| "zero", |lc| lc, |lc| lc, |lc| lc + v("zero"));
        cs.enforce(|| "one", |lc| lc + one, |lc| lc + one, |lc| lc + (-Fr::ONE, v("one")) + (two, one));
        cs.enforce(|| "sum", |lc| lc + a + b, |lc| lc + one, |lc| lc + v("no bit: sum"));
        cs.enforce(|| "twice", |lc| lc + a, |lc| lc + b, |lc| lc + (half, v("no bit: twice")));
        // As MAJ, but what stands for b∧c is the copy of a, which b and c do not determine.
        let (copy, free) = (v("copy"), v("no bit: maj of a free bc"));
        cs.enforce(|| "free", |lc| lc + b + c - copy - copy, |lc| lc + c, |lc| lc + free - copy);
        let (s, square) = (v("no bit: free"), v("no bit: square"));
        cs.enforce(|| "square", |lc| lc + s, |lc| lc + s, |lc| lc + square);
        Ok(())
    }
}
