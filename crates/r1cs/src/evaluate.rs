//! The evaluating walk: `w`, `A·w` and `B·w` of a circuit with values.

use bellpepper_core::{LinearCombination, SynthesisError};
use cuzk_fault::{Fault, injected};
use ff::Field;

use crate::walk::{Row, Sink, Walkable, walk};
use crate::{Bitmap, Fr, is_zero};

/// Which variables occur, with a coefficient that is not zero, in A or B. A query of the parameters has one point
/// for each of these variables and none for the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Densities {
    /// Aux variables in A. (Every input is in A: see the crate's documentation.)
    pub a_aux: Bitmap,
    /// Inputs in B.
    pub b_inputs: Bitmap,
    /// Aux variables in B.
    pub b_aux: Bitmap,
}

/// What an evaluating walk leaves: the assignment and both left-hand vectors. `c` is `a∘b` for a satisfied system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synthesis {
    /// The inputs, ONE first.
    pub inputs: Vec<Fr>,
    /// The aux variables in order of allocation.
    pub aux: Vec<Fr>,
    /// `A·w`, one value a row: the circuit's rows, then one for every input.
    pub a: Vec<Fr>,
    /// `B·w`, as long as `a`.
    pub b: Vec<Fr>,
    /// Which variables occur in A and B.
    pub densities: Densities,
}

/// The first row at which `⟨A, w⟩ · ⟨B, w⟩` is not `⟨C, w⟩`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsatisfied {
    /// Row number, from 0.
    pub row: usize,
    /// The gadget path at which the circuit enforces it.
    pub path: String,
}

/// A synthesis whose rows were compared with C.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What [`evaluate`] would have returned.
    pub synthesis: Synthesis,
    /// `None` when every row is satisfied.
    pub unsatisfied: Option<Unsatisfied>,
}

/// Walks `circuit` with its values. Costs one multiplication in Fr for every term of A and B whose coefficient is
/// not ONE; C's linear combinations are not built.
pub fn evaluate(circuit: impl Walkable) -> Result<Synthesis, SynthesisError> {
    let mut evaluator = Evaluator::default();
    walk(circuit, &mut evaluator)?;
    Ok(evaluator.synthesis)
}

/// As [`evaluate`], into vectors of their final sizes: nothing is copied while they grow, and nothing is allocated
/// beyond what is used. Other sizes than the circuit's cost time or memory, and change nothing else.
pub fn evaluate_presized(circuit: impl Walkable, size: &CircuitSize) -> Result<Synthesis, SynthesisError> {
    let mut evaluator = Evaluator::default();
    let Synthesis { inputs, aux, a, b, densities } = &mut evaluator.synthesis;
    inputs.reserve_exact(size.n_inputs);
    aux.reserve_exact(size.n_aux);
    a.reserve_exact(size.n_rows);
    b.reserve_exact(size.n_rows);
    densities.a_aux.reserve_exact(size.n_aux);
    densities.b_aux.reserve_exact(size.n_aux);
    densities.b_inputs.reserve_exact(size.n_inputs);
    walk(circuit, &mut evaluator)?;
    Ok(evaluator.synthesis)
}

/// How this build keeps the terms of a linear combination: `vec`, as upstream does, or `smallvec-1`, `-2`, `-4`. Told
/// from the type's size, so that it is what was really built.
pub const fn linear_combination_storage() -> &'static str {
    match size_of::<LinearCombination<Fr>>() {
        96 => "vec",
        160 => "smallvec-1",
        240 => "smallvec-2",
        400 => "smallvec-4",
        _ => "unknown",
    }
}

/// The counts of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitSize {
    /// Number of rows, those of the inputs included.
    pub n_rows: usize,
    /// Number of inputs, ONE included.
    pub n_inputs: usize,
    /// Number of aux variables.
    pub n_aux: usize,
}

/// As [`evaluate`], and compares each row with C, at the cost of C's terms and of the names of the gadgets walked.
pub fn check(circuit: impl Walkable) -> Result<Checked, SynthesisError> {
    let mut evaluator = Evaluator { against_c: Some(AgainstC::default()), ..Evaluator::default() };
    walk(circuit, &mut evaluator)?;
    let unsatisfied = evaluator.against_c.and_then(|against_c| against_c.unsatisfied);
    Ok(Checked { synthesis: evaluator.synthesis, unsatisfied })
}

#[derive(Default)]
struct Evaluator {
    synthesis: Synthesis,
    /// The comparison with C, where it is asked for.
    against_c: Option<AgainstC>,
}

#[derive(Default)]
struct AgainstC {
    path: Vec<String>,
    unsatisfied: Option<Unsatisfied>,
}

impl Sink for Evaluator {
    fn alloc(&mut self, value: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        let synthesis = &mut self.synthesis;
        synthesis.aux.push(value()?);
        synthesis.densities.a_aux.push(false);
        synthesis.densities.b_aux.push(false);
        Ok(())
    }

    fn alloc_input(
        &mut self,
        value: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        self.synthesis.inputs.push(value()?);
        self.synthesis.densities.b_inputs.push(false);
        Ok(())
    }

    fn enforce(&mut self, row: &mut dyn Row) {
        let Synthesis { inputs, aux, densities, a: all_a, b: all_b } = &mut self.synthesis;
        let a = value(inputs, aux, &row.a(), |_| {}, |index| densities.a_aux.set(index));
        let b = value(
            inputs,
            aux,
            &row.b(),
            |index| densities.b_inputs.set(index),
            |index| densities.b_aux.set(index),
        );
        if let Some(AgainstC { path, unsatisfied: unsatisfied @ None }) = &mut self.against_c
            && value(inputs, aux, &row.c(), |_| {}, |_| {}) != a * b
        {
            let path = path.iter().cloned().chain([row.name()]).collect::<Vec<_>>().join("/");
            *unsatisfied = Some(Unsatisfied { row: all_a.len(), path });
        }
        let wrong = injected(Fault::EnforcedRow) && all_b.len() == 1000;
        all_a.push(a);
        all_b.push(if wrong { b + Fr::ONE } else { b });
    }

    fn enter(&mut self, name: &mut dyn FnMut() -> String) {
        if let Some(against_c) = &mut self.against_c {
            against_c.path.push(name());
        }
    }

    fn leave(&mut self) {
        if let Some(against_c) = &mut self.against_c {
            against_c.path.pop();
        }
    }
}

/// `⟨combination, w⟩`, calling back for every variable whose coefficient is not zero.
fn value(
    inputs: &[Fr],
    aux: &[Fr],
    combination: &LinearCombination<Fr>,
    mut input_seen: impl FnMut(usize),
    mut aux_seen: impl FnMut(usize),
) -> Fr {
    let mut sum = Fr::ZERO;
    for (&index, coefficient) in combination.iter_inputs() {
        if !is_zero(coefficient) {
            add_term(&mut sum, coefficient, &inputs[index]);
            input_seen(index);
        }
    }
    for (&index, coefficient) in combination.iter_aux() {
        if !is_zero(coefficient) {
            add_term(&mut sum, coefficient, &aux[index]);
            aux_seen(index);
        }
    }
    sum
}

/// `sum += coefficient · value`; most values are 0 or 1 and most coefficients 1, which need no multiplication.
#[inline]
fn add_term(sum: &mut Fr, coefficient: &Fr, value: &Fr) {
    if *coefficient == Fr::ONE {
        *sum += value;
    } else if *value == Fr::ONE {
        *sum += coefficient;
    } else if !is_zero(value) {
        *sum += *coefficient * value;
    }
}
