//! Walking a circuit through one type, whatever is done with what is met.
//!
//! Upstream's circuits are generic over the constraint system, and each instantiation of a large one costs the compiler
//! tens of seconds. So they are instantiated for [`Walker`] alone, which hands everything to a [`Sink`].

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};

use crate::Fr;

/// What is done with the variables and rows of a circuit. Values, names and combinations that a sink does not ask for
/// are not computed.
pub trait Sink: Send {
    /// Whether rows and namespaces are looked at; if not, the circuit is walked faster and they are not told.
    fn takes_rows(&self) -> bool {
        true
    }

    /// The circuit allocates an aux variable.
    fn alloc(&mut self, value: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError>;

    /// The name within the innermost namespace of the variable at which [`Sink::alloc`] failed.
    fn failed_at(&mut self, _name: String) {}

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

/// What can be walked: a circuit, or something that hides the type of one.
pub trait Walkable {
    /// Walks the circuit's own variables and rows; ONE is input 0 and not told. Returns the number of inputs, ONE
    /// included.
    fn walk_into(self, sink: &mut dyn Sink) -> Result<usize, SynthesisError>;
}

impl<C: Circuit<Fr>> Walkable for C {
    fn walk_into(self, sink: &mut dyn Sink) -> Result<usize, SynthesisError> {
        let takes_rows = sink.takes_rows();
        let mut walker = Walker { sink, takes_rows, n_inputs: 1, n_aux: 0 };
        self.synthesize(&mut walker)?;
        Ok(walker.n_inputs)
    }
}

/// Walks `circuit`: ONE, the circuit itself, then a row `inputᵢ · 0 = 0` for each input.
pub fn walk(circuit: impl Walkable, sink: &mut dyn Sink) -> Result<(), SynthesisError> {
    sink.alloc_input(&mut || Ok(<Fr as ff::Field>::ONE))?;
    let n_inputs = circuit.walk_into(sink)?;
    for index in 0..n_inputs {
        let input = Variable::new_unchecked(Index::Input(index));
        sink.enforce(&mut Parts {
            name: || "input·0 = 0".to_owned(),
            a: || LinearCombination::zero() + input,
            b: LinearCombination::zero,
            c: LinearCombination::zero,
        });
    }
    Ok(())
}

/// The gadget path at which the circuit enforces its own row `row`; `None` when it has fewer. In no memory.
pub fn row_path(circuit: impl Walkable, row: usize) -> Result<Option<String>, SynthesisError> {
    let mut finder = PathFinder { wanted: Wanted::Row(row), path: vec![], found: None };
    circuit.walk_into(&mut finder)?;
    Ok(finder.found)
}

/// The gadget path at which the circuit allocates its aux variable `aux`; `None` when it has fewer. In no memory.
pub fn aux_path(circuit: impl Walkable, aux: usize) -> Result<Option<String>, SynthesisError> {
    let mut finder = PathFinder { wanted: Wanted::Aux(aux), path: vec![], found: None };
    let walked = circuit.walk_into(&mut finder);
    // The walk ends, as failed, where the variable is found.
    if finder.found.is_none() {
        walked?;
    }
    Ok(finder.found)
}

struct PathFinder {
    wanted: Wanted,
    path: Vec<String>,
    found: Option<String>,
}

/// What is looked for, by how many come before it.
enum Wanted {
    Row(usize),
    Aux(usize),
}

impl PathFinder {
    fn find(&mut self, name: String) {
        let path = self.path.iter().cloned().chain([name]);
        self.found = Some(path.collect::<Vec<_>>().join("/"));
    }
}

impl Sink for PathFinder {
    fn alloc(&mut self, _: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        match &mut self.wanted {
            Wanted::Aux(0) => Err(SynthesisError::Unsatisfiable),
            Wanted::Aux(before) => {
                *before -= 1;
                Ok(())
            }
            Wanted::Row(_) => Ok(()),
        }
    }

    fn failed_at(&mut self, name: String) {
        self.find(name);
    }

    fn alloc_input(
        &mut self,
        _: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        Ok(())
    }

    fn enforce(&mut self, row: &mut dyn Row) {
        match &mut self.wanted {
            Wanted::Row(0) if self.found.is_none() => self.find(row.name()),
            Wanted::Row(before) => *before = before.saturating_sub(1),
            Wanted::Aux(_) => {}
        }
    }

    fn enter(&mut self, name: &mut dyn FnMut() -> String) {
        self.path.push(name());
    }

    fn leave(&mut self) {
        self.path.pop();
    }
}

struct Walker<'a> {
    sink: &'a mut dyn Sink,
    takes_rows: bool,
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

    fn alloc<F, A, AR>(&mut self, name: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        if let Err(error) = self.sink.alloc(&mut once(value)) {
            self.sink.failed_at(name().into());
            return Err(error);
        }
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
        if !self.takes_rows {
            return;
        }
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
        if self.takes_rows {
            self.sink.enter(&mut once(|| name().into()));
        }
    }

    fn pop_namespace(&mut self) {
        if self.takes_rows {
            self.sink.leave();
        }
    }

    fn get_root(&mut self) -> &mut Self {
        self
    }
}
