//! The recorder: the matrices A, B and C of a circuit, without values.

use std::collections::HashMap;

use bellpepper_core::{Index, LinearCombination, SynthesisError};
use ff::Field;

use crate::walk::{Row, Sink, Walkable, walk};
use crate::{Fr, is_zero};

/// A variable of the system as a recorded matrix stores it: the top bit tells an input from an aux variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variable(u32);

impl Variable {
    const INPUT: u32 = 1 << 31;

    /// Input `index`; input 0 is ONE. Panics when `index >= 2³¹`.
    pub fn input(index: usize) -> Self {
        Variable(Self::INPUT | Self::small(index))
    }

    /// Aux variable `index`. Panics when `index >= 2³¹`.
    pub fn aux(index: usize) -> Self {
        Variable(Self::small(index))
    }

    fn small(index: usize) -> u32 {
        u32::try_from(index).ok().filter(|index| index & Self::INPUT == 0).expect("fewer than 2^31 variables")
    }

    /// Inputs ascending, then aux variables ascending, as recorded rows have them.
    pub(crate) fn order(self) -> u32 {
        self.0 ^ Self::INPUT
    }

    /// The number, with the top bit set for an input.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    /// The position in `w = (inputs, aux)` of a system with `n_inputs` inputs.
    pub fn column(self, n_inputs: usize) -> usize {
        let index = (self.0 & !Self::INPUT) as usize;
        if self.0 & Self::INPUT != 0 { index } else { n_inputs + index }
    }
}

/// One entry of a matrix: a variable and the number of its coefficient in the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The column.
    pub variable: Variable,
    /// Position in [`ConstraintSystemMatrices::coefficients`].
    pub coefficient: u32,
}

/// One of A, B, C, stored row after row. Coefficients that are zero are not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    terms: Vec<Term>,
    row_ends: Vec<usize>,
}

impl Matrix {
    /// The entries of row `row`: inputs ascending, then aux variables ascending.
    pub fn row(&self, row: usize) -> &[Term] {
        let start = row.checked_sub(1).map_or(0, |previous| self.row_ends[previous]);
        &self.terms[start..self.row_ends[row]]
    }

    /// Appends a row.
    pub(crate) fn push_row(&mut self, row: &[Term]) {
        self.terms.extend_from_slice(row);
        self.row_ends.push(self.terms.len());
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.row_ends.len()
    }

    /// The number of entries that are not zero.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }
}

/// The recorded system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintSystemMatrices {
    /// Number of inputs, ONE included.
    pub n_inputs: usize,
    /// Number of aux variables.
    pub n_aux: usize,
    /// The distinct coefficients that are not zero; 0 is ONE and 1 is −ONE.
    pub coefficients: Vec<Fr>,
    /// Left factors: the circuit's rows, then one for every input.
    pub a: Matrix,
    /// Right factors.
    pub b: Matrix,
    /// Products.
    pub c: Matrix,
}

impl ConstraintSystemMatrices {
    /// The number of rows, those of the inputs included.
    pub fn n_rows(&self) -> usize {
        self.a.n_rows()
    }

    /// `matrix · w` for one of this system's matrices. One multiplication in Fr a term.
    pub fn multiply(&self, matrix: &Matrix, inputs: &[Fr], aux: &[Fr]) -> Vec<Fr> {
        assert_eq!((inputs.len(), aux.len()), (self.n_inputs, self.n_aux), "assignment of another shape");
        let value = |term: &Term| {
            let column = term.variable.column(self.n_inputs);
            let value = inputs.get(column).unwrap_or_else(|| &aux[column - self.n_inputs]);
            self.coefficients[term.coefficient as usize] * value
        };
        (0..matrix.n_rows()).map(|row| matrix.row(row).iter().map(value).sum()).collect()
    }
}

/// Walks `circuit` without asking for values and returns its matrices.
pub fn record(circuit: impl Walkable) -> Result<ConstraintSystemMatrices, SynthesisError> {
    let mut recorder = Recorder::new();
    walk(circuit, &mut recorder)?;
    Ok(recorder.system)
}

struct Recorder {
    system: ConstraintSystemMatrices,
    numbers: HashMap<[u8; 32], u32>,
}

impl Recorder {
    fn new() -> Self {
        let system = ConstraintSystemMatrices {
            n_inputs: 0,
            n_aux: 0,
            coefficients: vec![],
            a: Matrix::default(),
            b: Matrix::default(),
            c: Matrix::default(),
        };
        let mut recorder = Recorder { system, numbers: HashMap::new() };
        recorder.number(&Fr::ONE);
        recorder.number(&-Fr::ONE);
        recorder
    }

    fn number(&mut self, coefficient: &Fr) -> u32 {
        let coefficients = &mut self.system.coefficients;
        *self.numbers.entry(coefficient.to_bytes_le()).or_insert_with(|| {
            coefficients.push(*coefficient);
            coefficients.len() as u32 - 1
        })
    }

    fn push_row(
        &mut self,
        matrix: fn(&mut ConstraintSystemMatrices) -> &mut Matrix,
        row: LinearCombination<Fr>,
    ) {
        for (variable, coefficient) in row.iter() {
            if is_zero(coefficient) {
                continue;
            }
            let variable = match variable.get_unchecked() {
                Index::Input(index) => Variable::input(index),
                Index::Aux(index) => Variable::aux(index),
            };
            let coefficient = self.number(coefficient);
            matrix(&mut self.system).terms.push(Term { variable, coefficient });
        }
        let matrix = matrix(&mut self.system);
        matrix.row_ends.push(matrix.terms.len());
    }
}

impl Sink for Recorder {
    fn alloc(&mut self, _: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        self.system.n_aux += 1;
        Ok(())
    }

    fn alloc_input(
        &mut self,
        _: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        self.system.n_inputs += 1;
        Ok(())
    }

    fn enforce(&mut self, row: &mut dyn Row) {
        self.push_row(|system| &mut system.a, row.a());
        self.push_row(|system| &mut system.b, row.b());
        self.push_row(|system| &mut system.c, row.c());
    }
}
