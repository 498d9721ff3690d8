//! A·w and B·w from template and packed witness.
//!
//! A factor whose variables are all bits and whose coefficients are small is a small integer: it is summed in machine
//! words, for up to 64 rows of a run from one word of the bitmap a term, and turned into a scalar by a look into a table.
//! In PoRep that is 99 % of the factors. Elsewhere a bit costs an addition of its coefficient, a scalar a
//! multiplication unless its coefficient is ±1, ±2 or ±4.

use std::sync::Arc;

use cuzk_fault::{Fault, injected};
use ff::Field;
use rayon::prelude::*;

use crate::shape::{Place, ShapeTerm};
use crate::template::{Piece, Placement};
use crate::{Error, Fr, PackedWitness, Side, Template};

/// `(A·w, B·w)`, one value a row: the circuit's rows, then one for every input. On all threads of the current rayon pool;
/// the result does not depend on their number.
pub fn evaluate_packed(template: &Template, witness: &PackedWitness) -> Result<(Vec<Fr>, Vec<Fr>), Error> {
    let (mut a, mut b) = (vec![], vec![]);
    evaluate_packed_into(template, witness, &mut a, &mut b)?;
    Ok((a, b))
}

/// As [`evaluate_packed`], into vectors whose memory is used again. What they hold is lost; they are as long as there are
/// rows afterwards. The first touch of fresh memory takes longer than the evaluation: for 8 GB, 12 s of processor time
/// against 4 s (PoRep 32 GiB, 2-core Zen 3 guest, 2026-11-29).
pub fn evaluate_packed_into(
    template: &Template,
    witness: &PackedWitness,
    a: &mut Vec<Fr>,
    b: &mut Vec<Fr>,
) -> Result<(), Error> {
    witness.check_shape(template)?;
    for values in [&mut *a, &mut *b] {
        // In parallel, so that all threads touch new pages.
        (0..template.n_rows()).into_par_iter().map(|_| Fr::ZERO).collect_into_vec(values);
    }
    let (mut a_rest, mut b_rest) = (&mut a[..], &mut b[..]);
    let mut tasks = vec![];
    for rows in Rows::all(template, witness) {
        let (a_rows, a_after) = a_rest.split_at_mut(rows.piece.n_rows);
        let (b_rows, b_after) = b_rest.split_at_mut(rows.piece.n_rows);
        (a_rest, b_rest) = (a_after, b_after);
        tasks.push((rows, a_rows, b_rows));
    }
    if injected(Fault::RowsLeftOut) {
        tasks.pop();
    }
    tasks.into_par_iter().with_max_len(1).for_each(|(rows, a, b)| {
        rows.side(Side::A, a);
        rows.side(Side::B, b);
    });
    let first_input_row = template.n_rows() - template.n_inputs();
    if !injected(Fault::InputRows) {
        a[first_input_row..].copy_from_slice(&witness.inputs);
    }
    Ok(())
}

/// The first row at which `⟨A, w⟩ · ⟨B, w⟩` is not `⟨C, w⟩`; `None` when every row is satisfied. In no memory beyond a
/// few MB a thread, so that a circuit of any size can be checked. Fails for a template that was read without C.
pub fn first_unsatisfied(template: &Template, witness: &PackedWitness) -> Result<Option<usize>, Error> {
    witness.check_shape(template)?;
    if !template.has_products() {
        return Err(Error::BadTemplate { problem: "it was read without its matrix C" });
    }
    let rows = Rows::all(template, witness);
    Ok(rows.into_par_iter().with_max_len(1).find_map_first(|rows| rows.first_unsatisfied()))
}

/// One section at its place, with what its rows look up.
struct Scope<'a> {
    template: &'a Template,
    witness: &'a PackedWitness,
    placement: Placement<'a>,
    /// Imported header variables, by slot.
    imports: Vec<Fr>,
    integers: &'a SmallIntegers,
}

/// A piece of a section's rows, the unit of parallel work.
struct Rows<'a> {
    scope: Arc<Scope<'a>>,
    piece: Piece,
    /// The number of its first row in the circuit.
    first_row: usize,
}

impl<'a> Rows<'a> {
    /// All of the circuit's own rows, in order.
    fn all(template: &'a Template, witness: &'a PackedWitness) -> Vec<Self> {
        let header = template.placements().next().expect("the header comes first");
        let integers = SmallIntegers::get();
        let mut all = vec![];
        let mut first_row = 0;
        for placement in template.placements() {
            let value = |aux: &u32| aux_value(witness, &header, *aux as usize);
            let imports = placement.imports.iter().map(value).collect();
            let scope = Arc::new(Scope { template, witness, placement, imports, integers });
            for &piece in &placement.section.pieces {
                all.push(Rows { scope: scope.clone(), piece, first_row });
                first_row += piece.n_rows;
            }
        }
        all
    }

    /// One side of each row, into `out`, which holds zeros.
    fn side(&self, side: Side, mut out: &mut [Fr]) {
        for run in &self.scope.placement.section.runs[self.piece.first_run..self.piece.end_run] {
            let (of_run, rest) = out.split_at_mut(usize::from(run.count));
            out = rest;
            self.scope.factor(of_run, run.shape, side, run.base as usize, run.bits.has(side));
        }
    }

    fn first_unsatisfied(&self) -> Option<usize> {
        let [a, b, c] = [Side::A, Side::B, Side::C].map(|side| {
            let mut values = vec![Fr::ZERO; self.piece.n_rows];
            self.side(side, &mut values);
            values
        });
        let unsatisfied = (0..self.piece.n_rows).find(|&row| a[row] * b[row] != c[row])?;
        Some(self.first_row + unsatisfied)
    }
}

/// The value of an aux variable of the section at `placement`.
#[inline]
fn aux_value(witness: &PackedWitness, placement: &Placement, index: usize) -> Fr {
    let section = placement.section;
    if section.bits.get(index) {
        if witness.bits.get(placement.first_aux + index) { Fr::ONE } else { Fr::ZERO }
    } else {
        witness.scalars[placement.first_scalar + section.scalar_rank(index)]
    }
}

impl Scope<'_> {
    /// One side of a run of rows.
    #[inline]
    fn factor(&self, out: &mut [Fr], shape: u32, side: Side, base: usize, all_bits: bool) {
        let terms = self.template.shape(shape, side);
        if terms.is_empty() {
            // `out` is zero already.
        } else if all_bits && self.template.evaluation.list_is_small.get(2 * shape as usize + side as usize) {
            self.integers(out, terms, base);
        } else {
            out.iter_mut().enumerate().for_each(|(row, out)| *out = self.scalar(terms, base + row));
        }
    }

    /// Rows of bits with small coefficients.
    fn integers(&self, out: &mut [Fr], terms: &[ShapeTerm], base: usize) {
        /// Terms whose words are held at once; nearly all rows have at most four.
        const HELD: usize = 8;
        let small = &self.template.evaluation.small;
        let mut constant = 0;
        let mut own = [(0, 0); HELD];
        let mut n_own = 0;
        let mut rest = None;
        for (position, term) in terms.iter().enumerate() {
            let coefficient = small[term.coefficient()];
            match term.place() {
                Place::Own(back) => {
                    if n_own == HELD {
                        rest = Some(&terms[position..]);
                        break;
                    }
                    own[n_own] = (self.placement.first_aux + base - back as usize, coefficient);
                    n_own += 1;
                }
                // An import's bit is 0 or 1; of the inputs only ONE counts as a bit.
                Place::Import(slot) if self.imports[slot as usize].is_zero_vartime() => {}
                Place::HeaderInput(_) if injected(Fault::RowConstant) => {}
                Place::Import(_) | Place::HeaderInput(_) | Place::BlockInput(_) => constant += coefficient,
            }
        }
        let own = &own[..n_own];
        for (chunk, out) in out.chunks_mut(64).enumerate() {
            let first = 64 * chunk;
            match (own, rest) {
                ([], None) => out.fill(self.integers.scalar(constant)),
                ([(position, 1)], None) if constant == 0 => {
                    let mut word = self.witness.bits.word_at(position + first);
                    for out in out {
                        *out = if word & 1 == 1 { Fr::ONE } else { Fr::ZERO };
                        word >>= 1;
                    }
                }
                (own, None) => {
                    let mut words = [0; HELD];
                    for (word, (position, _)) in words.iter_mut().zip(own) {
                        *word = self.witness.bits.word_at(position + first);
                    }
                    for (row, out) in out.iter_mut().enumerate() {
                        let sum = own.iter().zip(&words).fold(constant, |sum, ((_, coefficient), word)| {
                            sum + (coefficient & -((word >> row & 1) as i64))
                        });
                        *out = self.integers.scalar(sum);
                    }
                }
                (_, Some(_)) => {
                    let integer = |row| self.integer(terms, base + first + row);
                    out.iter_mut()
                        .enumerate()
                        .for_each(|(row, out)| *out = self.integers.scalar(integer(row)));
                }
            }
        }
    }

    /// One row of bits with small coefficients.
    fn integer(&self, terms: &[ShapeTerm], base: usize) -> i64 {
        let small = &self.template.evaluation.small;
        let bit = |place| match place {
            Place::Own(back) => self.witness.bits.get(self.placement.first_aux + base - back as usize),
            Place::Import(slot) => !self.imports[slot as usize].is_zero_vartime(),
            Place::HeaderInput(_) | Place::BlockInput(_) => true,
        };
        terms.iter().filter(|term| bit(term.place())).map(|term| small[term.coefficient()]).sum()
    }

    /// One row of any variables and coefficients.
    fn scalar(&self, terms: &[ShapeTerm], base: usize) -> Fr {
        let evaluation = &self.template.evaluation;
        let section = self.placement.section;
        let mut sum = Fr::ZERO;
        for term in terms {
            let coefficient = term.coefficient();
            let value = match term.place() {
                Place::Own(back) => {
                    let index = base - back as usize;
                    if section.bits.get(index) {
                        if self.witness.bits.get(self.placement.first_aux + index) {
                            sum += self.template.coefficients[coefficient];
                        }
                        continue;
                    }
                    &self.witness.scalars[self.placement.first_scalar + section.scalar_rank(index)]
                }
                Place::Import(slot) => &self.imports[slot as usize],
                Place::HeaderInput(input) => &self.witness.inputs[input as usize],
                Place::BlockInput(input) => &self.witness.inputs[self.placement.first_input + input as usize],
            };
            match evaluation.small[coefficient] {
                1 => sum += value,
                -1 => sum -= value,
                2 => sum += value.double(),
                -2 => sum -= value.double(),
                4 => sum += value.double().double(),
                -4 => sum -= value.double().double(),
                _ => sum += self.template.coefficients[coefficient] * value,
            }
        }
        sum
    }
}

/// Scalars for small integers.
struct SmallIntegers {
    /// −[`Self::BOUND`] to [`Self::BOUND`].
    scalars: Vec<Fr>,
}

impl SmallIntegers {
    /// Covers nearly all factors of a SHA-256 gadget; 4 KiB of table.
    const BOUND: i64 = 64;

    fn get() -> &'static Self {
        static TABLE: std::sync::LazyLock<SmallIntegers> = std::sync::LazyLock::new(|| SmallIntegers {
            scalars: (-SmallIntegers::BOUND..=SmallIntegers::BOUND).map(from_integer).collect(),
        });
        &TABLE
    }

    #[inline]
    fn scalar(&self, integer: i64) -> Fr {
        match self.scalars.get((integer + Self::BOUND) as usize) {
            Some(scalar) if integer >= -Self::BOUND => *scalar,
            _ => from_integer(integer),
        }
    }
}

fn from_integer(integer: i64) -> Fr {
    let magnitude = Fr::from(integer.unsigned_abs());
    if integer < 0 { -magnitude } else { magnitude }
}
