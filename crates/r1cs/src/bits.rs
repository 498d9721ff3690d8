//! Which aux variables are 0 or 1 in every satisfying assignment, from the rows alone.
//!
//! Two rules. A row `(1 − b)·b = 0` makes b a bit: a quarter of a PoRep's variables. And in order of rows, a row whose
//! variables are ONE, at most five known bits, and one unknown u that occurs only in C makes u a bit if
//! `(A·B − rest of C) / coefficient(u)` is 0 or 1 for every assignment of the known bits; an assignment that breaks the
//! rows by which those bits were derived themselves does not count, where such a row has no other variables. (MAJ needs
//! that: its row has b∧c beside b and c.) The outputs of AND, XOR, CH, MAJ are found so: three quarters of the variables.
//!
//! The second rule is decided once for each shape and the rules by which its known bits were derived.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use ff::Field;

use crate::shape::{FxHasher, Place, ShapeTerm, TermLists};
use crate::template::{BitFactors, Run};
use crate::{Bitmap, Fr, Side};

/// Known bits that a row of the second rule may have.
const MAX_KNOWN: usize = 5;

/// Recognises the bits of the header, then of the block, and marks in their runs which factors consist of bits.
pub(crate) fn recognise_bits(
    coefficients: &[Fr],
    factors: &TermLists,
    products: &TermLists,
    sections: [(&mut Vec<Run>, &mut Bitmap); 2],
    imports: &[Vec<u32>],
) {
    let shapes = Shapes { coefficients, factors, products };
    let [(header_runs, header), (block_runs, block)] = sections;
    let mut rules = Rules::new(&shapes);
    let no_imports = Bitmap::default();
    rules.recognise(header_runs, header, &no_imports);
    *header_runs = mark(&shapes, header_runs, header, &no_imports);
    // A slot counts as a bit if it is one in every instance.
    let slots = imports.first().map_or(0, Vec::len);
    let import_bits: Bitmap =
        (0..slots).map(|slot| imports.iter().all(|table| header.get(table[slot] as usize))).collect();
    rules.recognise(block_runs, block, &import_bits);
    *block_runs = mark(&shapes, block_runs, block, &import_bits);
}

struct Shapes<'a> {
    coefficients: &'a [Fr],
    factors: &'a TermLists,
    products: &'a TermLists,
}

impl Shapes<'_> {
    fn side(&self, shape: u32, side: Side) -> &[ShapeTerm] {
        match side {
            Side::A | Side::B => self.factors.get(2 * shape as usize + side as usize),
            Side::C => self.products.get(shape as usize),
        }
    }

    fn sides(&self, shape: u32) -> [&[ShapeTerm]; 3] {
        [Side::A, Side::B, Side::C].map(|side| self.side(shape, side))
    }

    /// `(1 − b)·b = 0` with b the base itself.
    fn is_booleanity(&self, shape: u32) -> bool {
        let term = |term: &ShapeTerm| (term.place(), term.coefficient());
        let [a, b, c] = self.sides(shape).map(|terms| terms.iter().map(term).collect::<Vec<_>>());
        c.is_empty() && b == [(Place::Own(0), 0)] && a == [(Place::ONE, 0), (Place::Own(0), 1)]
    }
}

/// What the second rule can do with a shape.
struct Candidate {
    /// The distinct variables but ONE.
    places: Vec<Place>,
    /// For each, whether it could be the unknown: it is the section's own and occurs only in C.
    only_in_c: Vec<bool>,
}

/// A derivation that succeeded; the number is its position plus one.
struct Rule {
    shape: u32,
    /// The distance of the derived variable below the row's base.
    back: u32,
}

/// A shape, the position of its unknown, and for each known variable the number of the rule it was derived by, or 0.
type Key = (u32, u8, [u32; MAX_KNOWN + 1]);

struct Rules<'a> {
    shapes: &'a Shapes<'a>,
    candidates: Vec<Option<Option<Candidate>>>,
    booleanity: Vec<bool>,
    decided: HashMap<Key, Option<u32>, BuildHasherDefault<FxHasher>>,
    rules: Vec<Rule>,
}

impl<'a> Rules<'a> {
    fn new(shapes: &'a Shapes<'a>) -> Self {
        let n = shapes.products.len();
        Rules {
            shapes,
            candidates: (0..n).map(|_| None).collect(),
            booleanity: (0..n as u32).map(|shape| shapes.is_booleanity(shape)).collect(),
            decided: HashMap::default(),
            rules: vec![],
        }
    }

    fn recognise(&mut self, runs: &[Run], bits: &mut Bitmap, import_bits: &Bitmap) {
        for run in runs.iter().filter(|run| self.booleanity[run.shape as usize]) {
            let first = run.base as usize;
            (first..first + usize::from(run.count)).for_each(|index| bits.set(index));
        }
        let mut derived_by = vec![0; bits.len()];
        for run in runs {
            let shapes = self.shapes;
            let slot = &mut self.candidates[run.shape as usize];
            if self.booleanity[run.shape as usize]
                || slot.get_or_insert_with(|| candidate(shapes, run.shape)).is_none()
            {
                continue;
            }
            for base in run.base..run.base + u32::from(run.count) {
                self.row(run.shape, base, bits, import_bits, &mut derived_by);
            }
        }
    }

    fn row(
        &mut self,
        shape: u32,
        base: u32,
        bits: &mut Bitmap,
        import_bits: &Bitmap,
        derived_by: &mut [u32],
    ) {
        let Some(Some(candidate)) = &self.candidates[shape as usize] else { return };
        let mut key: Key = (shape, u8::MAX, [0; MAX_KNOWN + 1]);
        let mut unknown = None;
        for (position, place) in candidate.places.iter().enumerate() {
            let (known, rule) = match *place {
                Place::Own(back) => {
                    let index = (base - back) as usize;
                    (bits.get(index), derived_by[index])
                }
                Place::Import(slot) => (import_bits.get(slot as usize), 0),
                Place::HeaderInput(_) | Place::BlockInput(_) => (false, 0),
            };
            if known {
                key.2[position] = rule;
            } else if unknown.is_none() && candidate.only_in_c[position] {
                unknown = Some(position);
            } else {
                return;
            }
        }
        let Some(unknown) = unknown else { return };
        let Place::Own(back) = candidate.places[unknown] else { return };
        key.1 = unknown as u8;
        let rule = match self.decided.get(&key) {
            Some(rule) => *rule,
            None => {
                let is_bit = self.derive(&key, &candidate.places);
                let rule = is_bit.then(|| {
                    self.rules.push(Rule { shape, back });
                    self.rules.len() as u32
                });
                self.decided.insert(key, rule);
                rule
            }
        };
        if let Some(rule) = rule {
            let index = (base - back) as usize;
            bits.set(index);
            derived_by[index] = rule;
        }
    }

    /// The truth table of a shape with this unknown, restricted by the rows that derived its known bits.
    fn derive(&self, key: &Key, places: &[Place]) -> bool {
        let (shape, unknown, rules) = (key.0, usize::from(key.1), key.2);
        let variable = |place: Place| places.iter().position(|known| *known == place);
        let conditions: Vec<Row> = (places.iter().zip(rules))
            .filter(|(_, rule)| *rule != 0)
            .filter_map(|(place, rule)| {
                let Place::Own(back) = *place else { return None };
                let rule = &self.rules[rule as usize - 1];
                // The rule's own base lies this far below this row's (or above, if negative).
                let shift = i64::from(back) - i64::from(rule.back);
                let there = |place| match place {
                    Place::Own(back) => variable(Place::Own(u32::try_from(shift + i64::from(back)).ok()?)),
                    other => variable(other),
                };
                self.read(rule.shape, there).filter(|row| !row.mentions(unknown))
            })
            .collect();
        let row = self.read(shape, variable).expect("all places of a candidate are known");
        let coefficient: Fr =
            row.sides[2].iter().filter(|term| term.0 == Some(unknown)).map(|term| term.1).sum();
        let Some(inverse) = Option::<Fr>::from(coefficient.invert()) else { return false };
        let known: Vec<usize> = (0..places.len()).filter(|position| *position != unknown).collect();
        (0..1u32 << known.len()).all(|assignment| {
            // The unknown counts as 0, which leaves the rest of C.
            let mut values = [false; MAX_KNOWN + 1];
            known
                .iter()
                .enumerate()
                .for_each(|(bit, &position)| values[position] = assignment >> bit & 1 == 1);
            if conditions.iter().any(|condition| !condition.excess(&values).is_zero_vartime()) {
                return true;
            }
            let value = row.excess(&values) * inverse;
            value.is_zero_vartime() || value == Fr::ONE
        })
    }

    /// A shape's terms over numbered variables; `None` if one has no number. ONE has none and needs none.
    fn read(&self, shape: u32, variable: impl Fn(Place) -> Option<usize>) -> Option<Row> {
        let read = |terms: &[ShapeTerm]| {
            terms
                .iter()
                .map(|term| {
                    let coefficient = self.shapes.coefficients[term.coefficient()];
                    match term.place() {
                        Place::ONE => Some((None, coefficient)),
                        place => Some((Some(variable(place)?), coefficient)),
                    }
                })
                .collect::<Option<Vec<_>>>()
        };
        let [a, b, c] = self.shapes.sides(shape).map(read);
        Some(Row { sides: [a?, b?, c?] })
    }
}

/// Terms of A, B, C: a variable's number, or `None` for ONE, and the coefficient.
struct Row {
    sides: [Vec<(Option<usize>, Fr)>; 3],
}

impl Row {
    fn mentions(&self, variable: usize) -> bool {
        self.sides.iter().flatten().any(|term| term.0 == Some(variable))
    }

    /// A·B − C.
    fn excess(&self, values: &[bool]) -> Fr {
        let [a, b, c] = [0, 1, 2].map(|side: usize| {
            let set = self.sides[side].iter().filter(|term| term.0.is_none_or(|variable| values[variable]));
            set.map(|term| term.1).sum::<Fr>()
        });
        a * b - c
    }
}

fn candidate(shapes: &Shapes, shape: u32) -> Option<Candidate> {
    let mut candidate = Candidate { places: vec![], only_in_c: vec![] };
    for side in [Side::A, Side::B, Side::C] {
        for term in shapes.side(shape, side) {
            let place = term.place();
            match place {
                Place::ONE => continue,
                Place::HeaderInput(_) | Place::BlockInput(_) => return None,
                Place::Own(_) | Place::Import(_) => {}
            }
            if !candidate.places.contains(&place) {
                if candidate.places.len() > MAX_KNOWN {
                    return None;
                }
                candidate.places.push(place);
                candidate.only_in_c.push(side == Side::C && matches!(place, Place::Own(_)));
            }
        }
    }
    candidate.only_in_c.contains(&true).then_some(candidate)
}

/// Runs in which each row's factors are marked; a run is split where the marks change.
fn mark(shapes: &Shapes, runs: &[Run], bits: &Bitmap, import_bits: &Bitmap) -> Vec<Run> {
    let mut marked: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        for row in 0..run.count {
            let base = run.base + u32::from(row);
            let is_bit = |place| match place {
                Place::Own(back) => bits.get((base - back) as usize),
                Place::Import(slot) => import_bits.get(slot as usize),
                place => place == Place::ONE,
            };
            let all_bits = |side| shapes.side(run.shape, side).iter().all(|term| is_bit(term.place()));
            let bits = BitFactors(u8::from(all_bits(Side::A)) | u8::from(all_bits(Side::B)) << 1);
            match marked.last_mut().filter(|last| row > 0 && last.bits == bits) {
                Some(last) => last.count += 1,
                None => marked.push(Run { shape: run.shape, base, count: 1, bits }),
            }
        }
    }
    marked.shrink_to_fit();
    marked
}
