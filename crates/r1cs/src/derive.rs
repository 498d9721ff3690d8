//! Deriving a template from one walk of a circuit without values.
//!
//! The walk cuts the circuit into header and blocks where namespaces of a given name begin. The first block is recorded,
//! every later one is compared with it, row by row and term by term, while the walk goes on: the cut is a hint, the
//! comparison is the proof. A second thread does the recording and comparing, so that the walk waits for nothing.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use bellpepper_core::{Index, LinearCombination, SynthesisError};
use ff::Field;

use crate::bits::recognise_bits;
use crate::shape::{CoefficientDictionary, Place, ShapeDictionary, ShapeTerm};
use crate::template::{BitFactors, Parts, Run, Section};
use crate::walk::{Row, Sink, Walkable};
use crate::{Bitmap, Error, Fr, Side, Template, is_zero};

/// Where a circuit's blocks begin: at each namespace of this depth whose name has this prefix.
#[derive(Clone, Copy, Debug)]
pub struct BlockStart {
    /// 1 for a namespace that the circuit itself opens, 2 for one within such a namespace.
    pub depth: usize,
    /// How the name begins.
    pub prefix: &'static str,
}

/// Walks `circuit` without asking for values and returns its template with as many instances as it has blocks.
/// [`Template::with_instances`] extends it. Costs a little more than [`crate::record`] and keeps only the header and
/// one block; a second thread takes half of the work.
pub fn derive(circuit: impl Walkable, start: BlockStart) -> Result<Template, Error> {
    walk(circuit, Some(start))
}

/// As [`derive()`], without blocks: a header and no instance. For circuits that do not repeat.
pub fn derive_flat(circuit: impl Walkable) -> Result<Template, Error> {
    walk(circuit, None)
}

fn walk(circuit: impl Walkable, start: Option<BlockStart>) -> Result<Template, Error> {
    // As many batches as keep both threads busy while one of them is held up.
    const BATCHES_AHEAD: usize = 8;
    let (sender, batches) = sync_channel(BATCHES_AHEAD);
    let (used, recycled) = channel();
    std::thread::scope(|scope| {
        let compare = scope.spawn(move || Comparer::run(batches, used));
        let mut walker = Walker::new(start, sender, recycled);
        let walked = circuit.walk_into(&mut walker);
        let gave_up = walker.finish();
        let derived = compare.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match walked {
            Err(error) if !gave_up => Err(error.into()),
            // A failed comparison also ends the walk; its error says why.
            _ => derived?.into_template(),
        }
    })
}

/// A term as walked.
#[derive(Clone, Copy)]
struct RawTerm {
    variable: u32,
    /// 0 is ONE, 1 is −ONE, 2 + i is coefficient i of the batch.
    coefficient: u32,
}

/// The top bit of a raw variable tells an input.
const INPUT: u32 = 1 << 31;

/// Some thousand rows on their way from the walk to the comparison.
#[derive(Default)]
struct Batch {
    terms: Vec<RawTerm>,
    coefficients: Vec<Fr>,
    /// Where A, B, C of each row end in `terms`.
    rows: Vec<[u32; 3]>,
    cuts: Vec<Cut>,
}

/// The beginning of a block, or the end of the circuit.
#[derive(Clone, Copy)]
struct Cut {
    /// Rows of the batch before it.
    row: usize,
    n_inputs: u32,
    n_aux: u32,
}

impl Batch {
    /// 300 KB: stays in cache from one thread to the other.
    const ROWS: usize = 1 << 12;
    const TERMS: usize = 1 << 15;

    fn clear(&mut self) {
        self.terms.clear();
        self.coefficients.clear();
        self.rows.clear();
        self.cuts.clear();
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= Self::ROWS || self.terms.len() >= Self::TERMS
    }

    fn push(&mut self, combination: &LinearCombination<Fr>) -> u32 {
        for (variable, coefficient) in combination.iter() {
            let variable = match variable.get_unchecked() {
                Index::Input(index) => index as u32 | INPUT,
                Index::Aux(index) => index as u32,
            };
            let coefficient = if *coefficient == Fr::ONE {
                0
            } else if is_zero(coefficient) {
                continue;
            } else {
                self.coefficients.push(*coefficient);
                self.coefficients.len() as u32 + 1
            };
            self.terms.push(RawTerm { variable, coefficient });
        }
        self.terms.len() as u32
    }
}

struct Walker {
    start: Option<BlockStart>,
    depth: usize,
    n_inputs: u32,
    n_aux: u32,
    batch: Batch,
    /// `None` when the other side has given up.
    sender: Option<SyncSender<Batch>>,
    recycled: Receiver<Batch>,
}

impl Walker {
    fn new(start: Option<BlockStart>, sender: SyncSender<Batch>, recycled: Receiver<Batch>) -> Self {
        let (batch, sender) = (Batch::default(), Some(sender));
        Walker { start, depth: 0, n_inputs: 1, n_aux: 0, batch, sender, recycled }
    }

    fn cut(&mut self) {
        let cut = Cut { row: self.batch.rows.len(), n_inputs: self.n_inputs, n_aux: self.n_aux };
        self.batch.cuts.push(cut);
    }

    fn send(&mut self) {
        let mut next = self.recycled.try_recv().unwrap_or_default();
        next.clear();
        let batch = std::mem::replace(&mut self.batch, next);
        self.sender = self.sender.take().filter(|sender| sender.send(batch).is_ok());
    }

    /// Ends the circuit; returns whether the comparison had failed before.
    fn finish(mut self) -> bool {
        let gave_up = self.sender.is_none();
        self.cut();
        self.send();
        gave_up
    }

    /// Whether there can be another variable where there are `n`.
    fn goes_on(&self, n: u32) -> Result<(), SynthesisError> {
        // An error here only ends the walk early; the comparer has the reason.
        if self.sender.is_some() && n < INPUT { Ok(()) } else { Err(SynthesisError::Unsatisfiable) }
    }
}

impl Sink for Walker {
    fn alloc(&mut self, _: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        self.goes_on(self.n_aux)?;
        self.n_aux += 1;
        Ok(())
    }

    fn alloc_input(
        &mut self,
        _: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        self.goes_on(self.n_inputs)?;
        self.n_inputs += 1;
        Ok(())
    }

    fn enforce(&mut self, row: &mut dyn Row) {
        if self.sender.is_none() {
            return;
        }
        let ends = [row.a(), row.b(), row.c()].map(|side| self.batch.push(&side));
        self.batch.rows.push(ends);
        if self.batch.is_full() {
            self.send();
        }
    }

    fn enter(&mut self, name: &mut dyn FnMut() -> String) {
        self.depth += 1;
        if let Some(start) = self.start.filter(|start| start.depth == self.depth)
            && name().starts_with(start.prefix)
        {
            self.cut();
        }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// The first numbers of a section's own variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Origin {
    n_inputs: u32,
    n_aux: u32,
}

/// Rows recorded for a section.
#[derive(Default)]
struct Recorded {
    runs: Vec<Run>,
    n_rows: usize,
}

impl Recorded {
    fn push(&mut self, shape: u32, base: u32) {
        self.n_rows += 1;
        match self.runs.last_mut() {
            Some(run)
                if run.shape == shape && run.base + u32::from(run.count) == base && run.count < u16::MAX =>
            {
                run.count += 1;
            }
            _ => self.runs.push(Run { shape, base, count: 1, bits: BitFactors::default() }),
        }
    }
}

/// What the rows that arrive belong to.
#[derive(Clone, Copy)]
enum Current {
    Header,
    FirstBlock,
    /// Row `row` of block `block` comes next: row `offset` of run `run` of the first.
    LaterBlock {
        block: usize,
        row: usize,
        run: usize,
        offset: u16,
    },
}

struct Comparer {
    coefficients: CoefficientDictionary,
    shapes: ShapeDictionary,
    header: Recorded,
    block: Recorded,
    /// Variables of the header.
    header_ends: Origin,
    /// Own variables of a block.
    block_size: Origin,
    /// Where the current section's own variables begin.
    origin: Origin,
    current: Current,
    /// The header variable in each slot, for the first block and, as far as they are known, for later ones.
    imports: Vec<Vec<Option<u32>>>,
    slots: HashMap<u32, u32>,
    scratch: Vec<ShapeTerm>,
}

impl Comparer {
    fn run(batches: Receiver<Batch>, used: Sender<Batch>) -> Result<Self, Error> {
        let mut comparer = Comparer {
            coefficients: CoefficientDictionary::new(),
            shapes: ShapeDictionary::default(),
            header: Recorded::default(),
            block: Recorded::default(),
            header_ends: Origin::default(),
            block_size: Origin::default(),
            origin: Origin { n_inputs: 0, n_aux: 0 },
            current: Current::Header,
            imports: vec![],
            slots: HashMap::new(),
            scratch: vec![],
        };
        for batch in batches {
            comparer.batch(&batch)?;
            // The walk may be over.
            let _ = used.send(batch);
        }
        Ok(comparer)
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        let mut cuts = batch.cuts.iter().peekable();
        let mut start = 0;
        for (row, &[a, b, c]) in batch.rows.iter().enumerate() {
            while let Some(cut) = cuts.next_if(|cut| cut.row == row) {
                self.cut(cut)?;
            }
            let sides =
                [start..a, a..b, b..c].map(|side| &batch.terms[side.start as usize..side.end as usize]);
            self.row(sides, &batch.coefficients)?;
            start = c;
        }
        cuts.try_for_each(|cut| self.cut(cut))
    }

    /// Ends the current section; another block begins, or the circuit is at its end.
    fn cut(&mut self, cut: &Cut) -> Result<(), Error> {
        let here = Origin { n_inputs: cut.n_inputs, n_aux: cut.n_aux };
        let size =
            Origin { n_inputs: here.n_inputs - self.origin.n_inputs, n_aux: here.n_aux - self.origin.n_aux };
        self.current = match self.current {
            Current::Header => {
                self.header_ends = here;
                Current::FirstBlock
            }
            Current::FirstBlock => {
                self.block_size = size;
                Current::LaterBlock { block: 1, row: 0, run: 0, offset: 0 }
            }
            Current::LaterBlock { block, row, .. } => {
                if row != self.block.n_rows {
                    return Err(Error::DoesNotRepeat { block, row, what: "it has fewer rows" });
                }
                if size != self.block_size {
                    return Err(Error::DoesNotRepeat {
                        block,
                        row,
                        what: "it has another number of variables",
                    });
                }
                Current::LaterBlock { block: block + 1, row: 0, run: 0, offset: 0 }
            }
        };
        self.origin = here;
        Ok(())
    }

    fn row(&mut self, sides: [&[RawTerm]; 3], coefficients: &[Fr]) -> Result<(), Error> {
        match self.current {
            Current::Header | Current::FirstBlock => self.record(sides, coefficients),
            Current::LaterBlock { .. } => self.compare(sides, coefficients),
        }
    }

    fn record(&mut self, sides: [&[RawTerm]; 3], coefficients: &[Fr]) -> Result<(), Error> {
        let origin = if matches!(self.current, Current::Header) { 0 } else { self.origin.n_aux };
        let own = |variable: u32| (variable & INPUT == 0).then(|| variable.checked_sub(origin)).flatten();
        let last = |side: &[RawTerm]| side.last().and_then(|term| own(term.variable));
        let base = sides.iter().filter_map(|side| last(side)).max().unwrap_or(0);
        self.scratch.clear();
        let mut ends = [0; 3];
        for (side, end) in sides.into_iter().zip(&mut ends) {
            for term in side {
                let place = match own(term.variable) {
                    Some(index) => Place::Own(base - index),
                    None => self.outer_place(term.variable),
                };
                let coefficient = match term.coefficient {
                    0 => 0,
                    given => self.coefficients.number(&coefficients[given as usize - 2]),
                };
                self.scratch.push(ShapeTerm::new(place, coefficient));
            }
            *end = self.scratch.len();
        }
        let shape = self.shapes.number(&self.scratch, [ends[0], ends[1]]);
        match self.current {
            Current::Header => self.header.push(shape, base),
            _ => self.block.push(shape, base),
        }
        Ok(())
    }

    /// The place of a variable that is an input or lies before the section's own.
    fn outer_place(&mut self, variable: u32) -> Place {
        let input = variable & !INPUT;
        match self.current {
            Current::Header => Place::HeaderInput(input),
            _ if variable & INPUT == 0 => {
                let first_block = self.imports.first_mut();
                let next = self.slots.len() as u32;
                let slot = *self.slots.entry(variable).or_insert(next);
                if slot == next {
                    match first_block {
                        Some(slots) => slots.push(Some(variable)),
                        None => self.imports.push(vec![Some(variable)]),
                    }
                }
                Place::Import(slot)
            }
            _ if input < self.header_ends.n_inputs => Place::HeaderInput(input),
            _ => Place::BlockInput(input - self.header_ends.n_inputs),
        }
    }

    fn compare(&mut self, sides: [&[RawTerm]; 3], coefficients: &[Fr]) -> Result<(), Error> {
        let Current::LaterBlock { block, row, run: run_index, offset } = &mut self.current else {
            unreachable!("only later blocks are compared")
        };
        let (block, here) = (*block, *row);
        let differs = |what| Err(Error::DoesNotRepeat { block, row: here, what });
        let Some(run) = self.block.runs.get(*run_index) else {
            return differs("it has more rows");
        };
        let base = run.base + u32::from(*offset);
        while self.imports.len() <= block {
            let slots = self.slots.len();
            self.imports.push(vec![None; slots]);
        }
        for (side, raw) in [Side::A, Side::B, Side::C].into_iter().zip(sides) {
            let expected = self.shapes.list(run.shape, side as usize);
            if expected.len() != raw.len() {
                return differs("another number of terms");
            }
            for (expected, raw) in expected.iter().zip(raw) {
                let repeats = match expected.place() {
                    Place::Own(back) => self.origin.n_aux + base - back == raw.variable,
                    Place::HeaderInput(input) => input | INPUT == raw.variable,
                    Place::BlockInput(input) => (self.origin.n_inputs + input) | INPUT == raw.variable,
                    Place::Import(slot) => {
                        raw.variable < self.header_ends.n_aux
                            && *self.imports[block][slot as usize].get_or_insert(raw.variable) == raw.variable
                    }
                };
                if !repeats {
                    return differs("another variable");
                }
                let same = match raw.coefficient {
                    0 => expected.coefficient() == 0,
                    given => {
                        self.coefficients.get(expected.coefficient() as u32)
                            == &coefficients[given as usize - 2]
                    }
                };
                if !same {
                    return differs("another coefficient");
                }
            }
        }
        *row += 1;
        *offset += 1;
        if *offset == run.count {
            (*run_index, *offset) = (*run_index + 1, 0);
        }
        Ok(())
    }

    fn into_template(self) -> Result<Template, Error> {
        // The end of the circuit was a cut, too.
        let instances = match self.current {
            Current::Header => unreachable!("the end of the walk is a cut"),
            Current::FirstBlock => 0,
            Current::LaterBlock { block, .. } => block,
        };
        let imports = self.import_tables(instances);
        let coefficients = self.coefficients.into_coefficients();
        let (factors, products) = self.shapes.into_lists();
        let section = |recorded: Recorded, size: Origin| {
            let bits = Bitmap::zeros(size.n_aux as usize);
            (recorded.runs, size.n_inputs as usize, bits)
        };
        let (mut header, mut block) =
            (section(self.header, self.header_ends), section(self.block, self.block_size));
        recognise_bits(
            &coefficients,
            &factors,
            &products,
            [(&mut header.0, &mut header.2), (&mut block.0, &mut block.2)],
            &imports,
        );
        Ok(Template::from_parts(Parts {
            coefficients,
            factors,
            products: Some(products),
            header: Section::new(header.0, header.1, header.2),
            block: Section::new(block.0, block.1, block.2),
            imports,
            instances,
        }))
    }

    /// The tables of all instances, or one if they are equal.
    fn import_tables(&self, instances: usize) -> Vec<Vec<u32>> {
        let complete = |slots: &Vec<Option<u32>>| {
            slots.iter().map(|slot| slot.expect("a row of a whole block names it")).collect::<Vec<u32>>()
        };
        let mut tables: Vec<Vec<u32>> = self.imports.iter().take(instances).map(complete).collect();
        if tables.is_empty() {
            tables.push(vec![]);
        }
        if tables.windows(2).all(|pair| pair[0] == pair[1]) {
            tables.truncate(1);
        }
        tables
    }
}
