//! Walking a circuit through one type, whatever is done with what is met.
//!
//! Upstream's circuits are generic over the constraint system, and each instantiation of a large one costs the compiler
//! tens of seconds. So they are instantiated for [`Walker`] alone, which hands everything to a [`Sink`].

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};

use crate::Fr;

/// What is done with the variables and rows of a circuit. Values, names and combinations that a sink does not ask for
/// are not computed.
pub trait Sink: Send {
    /// The circuit allocates an aux variable.
    fn alloc(&mut self, value: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError>;

    /// The circuit allocates an input.
    fn alloc_input(
        &mut self,
        value: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError>;

    /// The circuit enforces a row.
    fn enforce(&mut self, row: &mut dyn Row);

    /// The circuit enters a namespace.
    fn enter(&mut self, _name: &mut dyn FnMut() -> String) {}

    /// The circuit leaves the innermost namespace.
    fn leave(&mut self) {}
}

/// A row; each part may be asked for once.
pub trait Row {
    /// Its name within the innermost namespace.
    fn name(&mut self) -> String;
    /// The left factor.
    fn a(&mut self) -> LinearCombination<Fr>;
    /// The right factor.
    fn b(&mut self) -> LinearCombination<Fr>;
    /// The product.
    fn c(&mut self) -> LinearCombination<Fr>;
}

/// Walks `circuit`: ONE, the circuit itself, then a row `inputᵢ · 0 = 0` for each input.
pub fn walk<C: Circuit<Fr>>(circuit: C, sink: &mut dyn Sink) -> Result<(), SynthesisError> {
    let mut walker = Walker { sink, n_inputs: 0, n_aux: 0 };
    walker.alloc_input(|| "ONE", || Ok(<Fr as ff::Field>::ONE))?;
    circuit.synthesize(&mut walker)?;
    for index in 0..walker.n_inputs {
        let input = Variable::new_unchecked(Index::Input(index));
        walker.enforce(|| "input·0 = 0", |lc| lc + input, |lc| lc, |lc| lc);
    }
    Ok(())
}

struct Walker<'a> {
    sink: &'a mut dyn Sink,
    n_inputs: usize,
    n_aux: usize,
}

/// Calls a closure that can be called once.
fn once<T>(closure: impl FnOnce() -> T) -> impl FnMut() -> T {
    let mut closure = Some(closure);
    move || closure.take().expect("asked for once")()
}

struct Parts<N, A, B, C> {
    name: N,
    a: A,
    b: B,
    c: C,
}

impl<N, A, B, C> Row for Parts<N, A, B, C>
where
    N: FnMut() -> String,
    A: FnMut() -> LinearCombination<Fr>,
    B: FnMut() -> LinearCombination<Fr>,
    C: FnMut() -> LinearCombination<Fr>,
{
    fn name(&mut self) -> String {
        (self.name)()
    }

    fn a(&mut self) -> LinearCombination<Fr> {
        (self.a)()
    }

    fn b(&mut self) -> LinearCombination<Fr> {
        (self.b)()
    }

    fn c(&mut self) -> LinearCombination<Fr> {
        (self.c)()
    }
}

impl ConstraintSystem<Fr> for Walker<'_> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.sink.alloc(&mut once(value))?;
        self.n_aux += 1;
        Ok(Variable::new_unchecked(Index::Aux(self.n_aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.sink.alloc_input(&mut once(value))?;
        self.n_inputs += 1;
        Ok(Variable::new_unchecked(Index::Input(self.n_inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, name: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        self.sink.enforce(&mut Parts {
            name: once(|| name().into()),
            a: once(|| a(LinearCombination::zero())),
            b: once(|| b(LinearCombination::zero())),
            c: once(|| c(LinearCombination::zero())),
        });
    }

    fn push_namespace<NR, N>(&mut self, name: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
        self.sink.enter(&mut once(|| name().into()));
    }

    fn pop_namespace(&mut self) {
        self.sink.leave();
    }

    fn get_root(&mut self) -> &mut Self {
        self
    }
}
