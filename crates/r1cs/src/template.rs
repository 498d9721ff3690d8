//! The template: the matrices of a circuit that is a header and a block repeated n times.
//!
//! Row j of instance k of the block is row j of the block with its own aux variables shifted by `k·block.n_aux`, its
//! own inputs by `k·block.n_inputs`, and its header variables taken from the instance's import table. For PoRep (a
//! block is a challenge) and PoSt (a sector) the table is the same for all instances; for Snap (a challenge) the
//! challenge's own bits in the header change. A circuit that does not repeat is a header without instances: the flat
//! form.
//!
//! Rows are stored as runs: rows of one shape whose bases follow one another. A and B lie apart from C, which neither
//! a witness nor the evaluation of A·w and B·w needs.

use crate::record::{Matrix, Term};
use crate::shape::{Place, ShapeTerm, TermLists};
use crate::{Bitmap, CircuitSize, ConstraintSystemMatrices, Densities, Error, Fr, Variable};

/// Rows of one shape whose bases follow one another: row i of the run has base `base + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the shape.
    pub shape: u32,
    /// Base of the first row.
    pub base: u32,
    /// Number of rows, at least 1.
    pub count: u16,
    /// Which factors have only bits and ONE for variables.
    pub bits: BitFactors,
}

/// Which of a row's factors A and B have only bits and ONE for variables: a small integer, then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitFactors(pub(crate) u8);

impl BitFactors {
    /// Whether all variables of this matrix's side are known to be bits or ONE. C is never looked at: false.
    #[inline]
    pub fn has(self, side: Side) -> bool {
        self.0 >> side as u8 & 1 == 1
    }
}

/// One of the three matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left factors.
    A = 0,
    /// Right factors.
    B = 1,
    /// Products.
    C = 2,
}

/// The header or the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub(crate) runs: Vec<Run>,
    pub(crate) n_rows: usize,
    pub(crate) n_inputs: usize,
    /// Which aux variables are 0 or 1 by construction; its length is the number of aux variables.
    pub(crate) bits: Bitmap,
    /// For each word of `bits`, the number of scalars before it.
    ranks: Vec<u32>,
    /// Where tasks of about [`Piece::ROWS`] rows begin.
    pub(crate) pieces: Vec<Piece>,
}

/// A piece of a section's rows, the unit of parallel work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) first_run: usize,
    pub(crate) end_run: usize,
    pub(crate) n_rows: usize,
}

impl Piece {
    /// About half a millisecond of evaluation, 2 MiB of results.
    const ROWS: usize = 1 << 15;
}

impl Section {
    pub(crate) fn new(runs: Vec<Run>, n_inputs: usize, bits: Bitmap) -> Self {
        let mut pieces = vec![];
        let (mut first_run, mut rows, mut n_rows) = (0, 0, 0);
        for (index, run) in runs.iter().enumerate() {
            rows += usize::from(run.count);
            if rows >= Piece::ROWS || index + 1 == runs.len() {
                pieces.push(Piece { first_run, end_run: index + 1, n_rows: rows });
                n_rows += rows;
                (first_run, rows) = (index + 1, 0);
            }
        }
        let ranks = bits
            .words()
            .iter()
            .scan(0, |before, word| {
                let rank = *before;
                *before += word.count_zeros();
                Some(rank)
            })
            .collect();
        Section { runs, n_rows, n_inputs, bits, ranks, pieces }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of aux variables.
    pub fn n_aux(&self) -> usize {
        self.bits.len()
    }

    /// Number of inputs; the header's includes ONE.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// The rows.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Which aux variables are 0 or 1 by construction.
    pub fn bits(&self) -> &Bitmap {
        &self.bits
    }

    /// Number of aux variables that are not bits.
    pub fn n_scalars(&self) -> usize {
        self.n_aux() - self.bits.count_ones()
    }

    /// The number of scalars before aux variable `index`.
    #[inline]
    pub(crate) fn scalar_rank(&self, index: usize) -> usize {
        let below = !self.bits.words()[index / 64] & ((1 << (index % 64)) - 1);
        self.ranks[index / 64] as usize + below.count_ones() as usize
    }
}

/// A circuit as header and repeated block. See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub(crate) coefficients: Vec<Fr>,
    /// A of shape s is list 2s, B is list 2s + 1.
    pub(crate) factors: TermLists,
    /// C of shape s is list s.
    pub(crate) products: Option<TermLists>,
    pub(crate) header: Section,
    pub(crate) block: Section,
    /// One table for all instances, or one for each.
    pub(crate) imports: Vec<Vec<u32>>,
    pub(crate) instances: usize,
    pub(crate) evaluation: EvaluationTables,
}

/// What evaluation looks up, computed once from the coefficients and shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EvaluationTables {
    /// Each coefficient as a small integer, or [`EvaluationTables::LARGE`].
    pub(crate) small: Vec<i64>,
    /// For each list of `factors`, whether all coefficients are small and their sum cannot overflow.
    pub(crate) list_is_small: Bitmap,
}

impl EvaluationTables {
    /// No small integer.
    pub(crate) const LARGE: i64 = i64::MIN;
    /// Small coefficients are below this in absolute value.
    const BOUND: u64 = 1 << 40;
    /// So many of them fit into an `i64` together.
    const MAX_TERMS: usize = 1 << 20;

    fn new(coefficients: &[Fr], factors: &TermLists) -> Self {
        let small: Vec<i64> = coefficients.iter().map(small_integer).collect();
        let list_is_small = (0..factors.len())
            .map(|list| {
                let terms = factors.get(list);
                terms.len() < Self::MAX_TERMS
                    && terms.iter().all(|term| small[term.coefficient()] != Self::LARGE)
            })
            .collect();
        EvaluationTables { small, list_is_small }
    }
}

/// The integer of least absolute value in this class modulo r, if it is small.
fn small_integer(value: &Fr) -> i64 {
    let magnitude = |value: &Fr| {
        let bytes = value.to_bytes_le();
        let (low, high) = bytes.split_at(8);
        let low = u64::from_le_bytes(low.try_into().expect("8 bytes"));
        (high.iter().all(|byte| *byte == 0) && low < EvaluationTables::BOUND).then_some(low as i64)
    };
    magnitude(value).or_else(|| magnitude(&-*value).map(|value| -value)).unwrap_or(EvaluationTables::LARGE)
}

/// The parts from which a template is put together.
pub(crate) struct Parts {
    pub(crate) coefficients: Vec<Fr>,
    pub(crate) factors: TermLists,
    pub(crate) products: Option<TermLists>,
    pub(crate) header: Section,
    pub(crate) block: Section,
    pub(crate) imports: Vec<Vec<u32>>,
    pub(crate) instances: usize,
}

impl Template {
    pub(crate) fn from_parts(parts: Parts) -> Self {
        let Parts { coefficients, factors, products, header, block, imports, instances } = parts;
        let evaluation = EvaluationTables::new(&coefficients, &factors);
        Template { coefficients, factors, products, header, block, imports, instances, evaluation }
    }

    /// The same circuit with another number of instances. Only where at least two blocks were compared and the import
    /// table is the same for all of them; otherwise the recorded number is the only one.
    pub fn with_instances(mut self, instances: usize) -> Result<Self, Error> {
        let recorded = self.instances;
        let refuse = |why| Err(Error::CannotExtend { recorded, asked: instances, why });
        match () {
            () if instances == recorded => {}
            () if recorded < 2 => return refuse("fewer than two blocks were compared"),
            () if self.imports.len() > 1 => {
                return refuse("its instances refer to different header variables");
            }
            () => self.instances = instances,
        }
        Ok(self)
    }

    /// The rows and variables that occur once.
    pub fn header(&self) -> &Section {
        &self.header
    }

    /// The rows and variables that occur in each instance.
    pub fn block(&self) -> &Section {
        &self.block
    }

    /// How often the block occurs.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// The header's aux variables that instance `instance` refers to, by slot.
    pub fn imports(&self, instance: usize) -> &[u32] {
        &self.imports[if self.imports.len() == 1 { 0 } else { instance }]
    }

    /// The distinct coefficients; 0 is ONE and 1 is −ONE.
    pub fn coefficients(&self) -> &[Fr] {
        &self.coefficients
    }

    /// Number of row shapes.
    pub fn n_shapes(&self) -> usize {
        self.factors.len() / 2
    }

    /// The terms of a shape's side. Panics for C when the template was read without it.
    #[inline]
    pub fn shape(&self, shape: u32, side: Side) -> &[ShapeTerm] {
        match side {
            Side::A | Side::B => self.factors.get(2 * shape as usize + side as usize),
            Side::C => self.products.as_ref().expect("a template with C").get(shape as usize),
        }
    }

    /// Whether C is there.
    pub fn has_products(&self) -> bool {
        self.products.is_some()
    }

    /// Number of inputs, ONE included.
    pub fn n_inputs(&self) -> usize {
        self.header.n_inputs + self.instances * self.block.n_inputs
    }

    /// Number of aux variables.
    pub fn n_aux(&self) -> usize {
        self.header.n_aux() + self.instances * self.block.n_aux()
    }

    /// Number of rows, those of the inputs included.
    pub fn n_rows(&self) -> usize {
        self.header.n_rows + self.instances * self.block.n_rows + self.n_inputs()
    }

    /// The counts of the circuit.
    pub fn size(&self) -> CircuitSize {
        CircuitSize { n_rows: self.n_rows(), n_inputs: self.n_inputs(), n_aux: self.n_aux() }
    }

    /// Number of aux variables that are not bits.
    pub fn n_scalars(&self) -> usize {
        self.header.n_scalars() + self.instances * self.block.n_scalars()
    }

    /// Which aux variables are 0 or 1 by construction, over the whole circuit.
    pub fn bits(&self) -> Bitmap {
        let mut bits = self.header.bits.clone();
        (0..self.instances).for_each(|_| bits.append(&self.block.bits));
        bits
    }

    /// The header, then every instance of the block, in order of rows.
    pub(crate) fn placements(&self) -> impl Iterator<Item = Placement<'_>> {
        let header = Placement {
            section: &self.header,
            imports: &[],
            first_aux: 0,
            first_scalar: 0,
            first_input: 0,
            instance: None,
        };
        let blocks = (0..self.instances).map(|instance| Placement {
            section: &self.block,
            imports: self.imports(instance),
            first_aux: self.header.n_aux() + instance * self.block.n_aux(),
            first_scalar: self.header.n_scalars() + instance * self.block.n_scalars(),
            first_input: self.header.n_inputs + instance * self.block.n_inputs,
            instance: Some(instance),
        });
        std::iter::once(header).chain(blocks)
    }

    /// The aux variable whose value is this scalar of a packed witness. One look at each variable of a section.
    pub(crate) fn aux_of_scalar(&self, scalar: usize) -> usize {
        let holds =
            |placement: &Placement<'_>| scalar < placement.first_scalar + placement.section.n_scalars();
        let placement = self.placements().find(holds).expect("the scalar of a witness of this circuit");
        let bits = &placement.section.bits;
        let mut scalars = (0..bits.len()).filter(|index| !bits.get(*index));
        let index = scalars.nth(scalar - placement.first_scalar).expect("it is one of this section's");
        placement.first_aux + index
    }

    /// Which variables occur in A and B. One look at each term of the header and of one block.
    pub fn densities(&self) -> Densities {
        let mut sections = [&self.header, &self.block].map(|section| SectionDensities::of(self, section));
        let mut densities = Densities {
            a_aux: std::mem::take(&mut sections[0].aux[0]),
            b_aux: std::mem::take(&mut sections[0].aux[1]),
            b_inputs: Bitmap::zeros(self.n_inputs()),
        };
        sections[0].header_inputs.ones().for_each(|input| densities.b_inputs.set(input));
        for placement in self.placements().skip(1) {
            let block = &sections[1];
            for (side, all) in [&mut densities.a_aux, &mut densities.b_aux].into_iter().enumerate() {
                block.imports[side].ones().for_each(|slot| all.set(placement.imports[slot] as usize));
                all.append(&block.aux[side]);
            }
            block.header_inputs.ones().for_each(|input| densities.b_inputs.set(input));
            block.block_inputs.ones().for_each(|input| densities.b_inputs.set(placement.first_input + input));
        }
        densities
    }

    /// The matrices row by row, as [`crate::record`] would have left them but for the order of the coefficients.
    pub fn to_matrices(&self) -> Result<ConstraintSystemMatrices, Error> {
        if !self.has_products() {
            return Err(Error::BadTemplate { problem: "it was read without its matrix C" });
        }
        let mut matrices = [Side::A, Side::B, Side::C].map(|_| Matrix::default());
        self.for_each_row(|side, row| matrices[side as usize].push_row(row));
        let [mut a, mut b, mut c] = matrices;
        for input in 0..self.n_inputs() {
            a.push_row(&[Term { variable: Variable::input(input), coefficient: 0 }]);
            b.push_row(&[]);
            c.push_row(&[]);
        }
        let coefficients = self.coefficients.clone();
        Ok(ConstraintSystemMatrices { n_inputs: self.n_inputs(), n_aux: self.n_aux(), coefficients, a, b, c })
    }

    /// Calls back for A, B and C of each row of the circuit's own, terms in order of variables.
    pub(crate) fn for_each_row(&self, mut row: impl FnMut(Side, &[Term])) {
        let mut terms = vec![];
        for placement in self.placements() {
            for run in &placement.section.runs {
                for base in run.base..run.base + u32::from(run.count) {
                    for side in [Side::A, Side::B, Side::C] {
                        terms.clear();
                        terms.extend(self.shape(run.shape, side).iter().map(|term| Term {
                            variable: placement.variable(term.place(), base),
                            coefficient: term.coefficient() as u32,
                        }));
                        // Where an import table changes, so may the order of the imported variables.
                        if !terms.is_sorted_by_key(|term| term.variable.order()) {
                            terms.sort_by_key(|term| term.variable.order());
                        }
                        row(side, &terms);
                    }
                }
            }
        }
    }
}

/// A section at its place in the circuit.
#[derive(Clone, Copy)]
pub(crate) struct Placement<'a> {
    pub(crate) section: &'a Section,
    pub(crate) imports: &'a [u32],
    pub(crate) first_aux: usize,
    pub(crate) first_scalar: usize,
    pub(crate) first_input: usize,
    pub(crate) instance: Option<usize>,
}

impl Placement<'_> {
    fn variable(&self, place: Place, base: u32) -> Variable {
        match place {
            Place::Own(back) => Variable::aux(self.first_aux + (base - back) as usize),
            Place::Import(slot) => Variable::aux(self.imports[slot as usize] as usize),
            Place::HeaderInput(input) => Variable::input(input as usize),
            Place::BlockInput(input) => Variable::input(self.first_input + input as usize),
        }
    }
}

/// Which variables a section's A and B mention; arrays are indexed by [`Side`].
struct SectionDensities {
    aux: [Bitmap; 2],
    imports: [Bitmap; 2],
    /// In B; inputs in A have a row of their own.
    header_inputs: Bitmap,
    block_inputs: Bitmap,
}

impl SectionDensities {
    fn of(template: &Template, section: &Section) -> Self {
        let zeros = |len| [Bitmap::zeros(len), Bitmap::zeros(len)];
        let slots = template.imports.first().map_or(0, Vec::len);
        let mut densities = SectionDensities {
            aux: zeros(section.n_aux()),
            imports: zeros(slots),
            header_inputs: Bitmap::zeros(template.header.n_inputs),
            block_inputs: Bitmap::zeros(section.n_inputs),
        };
        for run in &section.runs {
            for side in [Side::A, Side::B] {
                for term in template.shape(run.shape, side) {
                    match term.place() {
                        Place::Own(back) => {
                            let first = (run.base - back) as usize;
                            let aux = &mut densities.aux[side as usize];
                            (first..first + usize::from(run.count)).for_each(|index| aux.set(index));
                        }
                        Place::Import(slot) => densities.imports[side as usize].set(slot as usize),
                        Place::HeaderInput(input) if side == Side::B => {
                            densities.header_inputs.set(input as usize);
                        }
                        Place::BlockInput(input) if side == Side::B => {
                            densities.block_inputs.set(input as usize);
                        }
                        Place::HeaderInput(_) | Place::BlockInput(_) => {}
                    }
                }
            }
        }
        densities
    }
}
