//! The evaluating walk: `w`, `A·w` and `B·w` of a circuit with values.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use ff::Field;

use crate::{Bitmap, Fr};

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
pub fn evaluate<C: Circuit<Fr>>(circuit: C) -> Result<Synthesis, SynthesisError> {
    let mut walk = Walk::new(());
    walk.run(circuit)?;
    Ok(walk.synthesis)
}

/// As [`evaluate`], and compares each row with C, at the cost of C's terms and of the names of the gadgets walked.
pub fn check<C: Circuit<Fr>>(circuit: C) -> Result<Checked, SynthesisError> {
    let mut walk = Walk::new(CompareWithC::default());
    walk.run(circuit)?;
    Ok(Checked { synthesis: walk.synthesis, unsatisfied: walk.rows.unsatisfied })
}

/// What a walk does with a row beyond evaluating A and B.
trait Rows: Send {
    fn enter(&mut self, name: impl FnOnce() -> String);
    fn leave(&mut self);
    fn row(&mut self, row: usize, name: impl FnOnce() -> String, expected: Fr, c: impl FnOnce() -> Fr);
}

/// Nothing: C is never evaluated.
impl Rows for () {
    fn enter(&mut self, _: impl FnOnce() -> String) {}
    fn leave(&mut self) {}
    fn row(&mut self, _: usize, _: impl FnOnce() -> String, _: Fr, _: impl FnOnce() -> Fr) {}
}

#[derive(Default)]
struct CompareWithC {
    path: Vec<String>,
    unsatisfied: Option<Unsatisfied>,
}

impl Rows for CompareWithC {
    fn enter(&mut self, name: impl FnOnce() -> String) {
        self.path.push(name());
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    fn row(&mut self, row: usize, name: impl FnOnce() -> String, expected: Fr, c: impl FnOnce() -> Fr) {
        if self.unsatisfied.is_none() && c() != expected {
            let path = self.path.iter().cloned().chain([name()]).collect::<Vec<_>>().join("/");
            self.unsatisfied = Some(Unsatisfied { row, path });
        }
    }
}

struct Walk<R> {
    synthesis: Synthesis,
    rows: R,
}

impl<R: Rows> Walk<R> {
    fn new(rows: R) -> Self {
        Walk { synthesis: Synthesis::default(), rows }
    }

    fn run<C: Circuit<Fr>>(&mut self, circuit: C) -> Result<(), SynthesisError> {
        self.alloc_input(|| "ONE", || Ok(Fr::ONE))?;
        circuit.synthesize(self)?;
        for index in 0..self.synthesis.inputs.len() {
            let input = Variable::new_unchecked(Index::Input(index));
            self.enforce(|| "input·0 = 0", |lc| lc + input, |lc| lc, |lc| lc);
        }
        Ok(())
    }
}

impl Synthesis {
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
            if !coefficient.is_zero_vartime() {
                add_term(&mut sum, coefficient, &inputs[index]);
                input_seen(index);
            }
        }
        for (&index, coefficient) in combination.iter_aux() {
            if !coefficient.is_zero_vartime() {
                add_term(&mut sum, coefficient, &aux[index]);
                aux_seen(index);
            }
        }
        sum
    }
}

/// `sum += coefficient · value`; most values are 0 or 1 and most coefficients 1, which need no multiplication.
#[inline]
fn add_term(sum: &mut Fr, coefficient: &Fr, value: &Fr) {
    if *coefficient == Fr::ONE {
        *sum += value;
    } else if *value == Fr::ONE {
        *sum += coefficient;
    } else if !value.is_zero_vartime() {
        *sum += *coefficient * value;
    }
}

impl<R: Rows> ConstraintSystem<Fr> for Walk<R> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let synthesis = &mut self.synthesis;
        synthesis.aux.push(value()?);
        synthesis.densities.a_aux.push(false);
        synthesis.densities.b_aux.push(false);
        Ok(Variable::new_unchecked(Index::Aux(synthesis.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let synthesis = &mut self.synthesis;
        synthesis.inputs.push(value()?);
        synthesis.densities.b_inputs.push(false);
        Ok(Variable::new_unchecked(Index::Input(synthesis.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, name: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let a = a(LinearCombination::zero());
        let b = b(LinearCombination::zero());
        let Synthesis { inputs, aux, densities, a: all_a, b: all_b } = &mut self.synthesis;
        let a = Synthesis::value(inputs, aux, &a, |_| {}, |index| densities.a_aux.set(index));
        let b = Synthesis::value(
            inputs,
            aux,
            &b,
            |index| densities.b_inputs.set(index),
            |index| densities.b_aux.set(index),
        );
        let c = || Synthesis::value(inputs, aux, &c(LinearCombination::zero()), |_| {}, |_| {});
        self.rows.row(all_a.len(), || name().into(), a * b, c);
        all_a.push(a);
        all_b.push(b);
    }

    fn push_namespace<NR, N>(&mut self, name: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
        self.rows.enter(|| name().into());
    }

    fn pop_namespace(&mut self) {
        self.rows.leave();
    }

    fn get_root(&mut self) -> &mut Self {
        self
    }
}
