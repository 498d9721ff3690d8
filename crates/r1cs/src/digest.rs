//! The digest of a circuit: SHA-256 over its rows.
//!
//! ```text
//! "cuzk r1cs 1\n"
//! for each of the circuit's own rows (not those of the inputs), for A, B, C:
//!     u32 number of terms whose coefficient is not zero
//!     for each, inputs ascending, then aux variables ascending:
//!         u32 variable: its index, with bit 31 set for an input (0 is ONE)
//!         u32 coefficient: its number in order of first occurrence, where ONE is 0 and −ONE is 1
//!         at the first occurrence of a number from 2 on: the coefficient, 32 bytes, canonical
//! u64 rows, u64 inputs with ONE, u64 aux variables
//! ```
//!
//! All integers and coefficients are little-endian. Two circuits with one digest have the same R1CS.

use std::fmt;

use bellpepper_core::{Index, LinearCombination, SynthesisError};
use sha2::{Digest as _, Sha256};

use crate::shape::CoefficientDictionary;
use crate::walk::{Row, Sink, Walkable};
use crate::{Error, Fr, Template, Term, Variable, is_zero};

/// The SHA-256 digest of a circuit's R1CS, displayed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CircuitDigest(pub [u8; 32]);

impl fmt::Display for CircuitDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for CircuitDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The digest of `circuit`, walked whole and without values: as long as [`crate::record`], in no memory.
pub fn circuit_digest(circuit: impl Walkable) -> Result<CircuitDigest, SynthesisError> {
    let mut walk =
        DigestWalk { rows: RowHasher::new(), dictionary: CoefficientDictionary::new(), terms: vec![] };
    circuit.walk_into(&mut walk)?;
    Ok(walk.rows.finish())
}

impl Template {
    /// The digest of the circuit that this template stands for; the same as [`circuit_digest`] of it. About 10 ns a
    /// term of all instances. Fails for a template that was read without C.
    pub fn circuit_digest(&self) -> Result<CircuitDigest, Error> {
        if !self.has_products() {
            return Err(Error::BadTemplate { problem: "it was read without its matrix C" });
        }
        let mut rows = RowHasher::new();
        self.for_each_row(|_, row| rows.side(row, &self.coefficients));
        (rows.n_inputs, rows.n_aux) = (self.n_inputs() as u64, self.n_aux() as u64);
        Ok(rows.finish())
    }
}

/// Hashes rows whose coefficients are numbered in any dictionary that begins with ONE and −ONE.
struct RowHasher {
    hasher: Sha256,
    buffer: Vec<u8>,
    /// For each number of the dictionary, one more than the number in the digest; 0 before its first occurrence.
    numbers: Vec<u32>,
    n_numbers: u32,
    n_sides: u64,
    n_inputs: u64,
    n_aux: u64,
}

impl RowHasher {
    /// Hashed at a time; stays in cache.
    const BUFFER_BYTES: usize = 1 << 16;

    fn new() -> Self {
        let buffer = b"cuzk r1cs 1\n".to_vec();
        let (numbers, n_numbers) = (vec![1, 2], 2);
        RowHasher { hasher: Sha256::new(), buffer, numbers, n_numbers, n_sides: 0, n_inputs: 1, n_aux: 0 }
    }

    /// The next of A, B, C of the next row.
    fn side(&mut self, row: &[Term], coefficients: &[Fr]) {
        self.n_sides += 1;
        self.buffer.extend_from_slice(&(row.len() as u32).to_le_bytes());
        for term in row {
            let number = term.coefficient as usize;
            let known = self.numbers.get(number).is_some_and(|number| *number != 0);
            if !known {
                if number >= self.numbers.len() {
                    self.numbers.resize(number + 1, 0);
                }
                self.n_numbers += 1;
                self.numbers[number] = self.n_numbers;
            }
            let words = u64::from(self.numbers[number] - 1) << 32 | u64::from(term.variable.to_bits());
            self.buffer.extend_from_slice(&words.to_le_bytes());
            if !known {
                self.buffer.extend_from_slice(&coefficients[number].to_bytes_le());
            }
        }
        if self.buffer.len() >= Self::BUFFER_BYTES {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn finish(mut self) -> CircuitDigest {
        for count in [self.n_sides / 3, self.n_inputs, self.n_aux] {
            self.buffer.extend_from_slice(&count.to_le_bytes());
        }
        self.hasher.update(&self.buffer);
        CircuitDigest(self.hasher.finalize().into())
    }
}

struct DigestWalk {
    rows: RowHasher,
    dictionary: CoefficientDictionary,
    terms: Vec<Term>,
}

impl DigestWalk {
    fn side(&mut self, combination: &LinearCombination<Fr>) {
        self.terms.clear();
        for (variable, coefficient) in combination.iter() {
            if is_zero(coefficient) {
                continue;
            }
            let variable = match variable.get_unchecked() {
                Index::Input(index) => Variable::input(index),
                Index::Aux(index) => Variable::aux(index),
            };
            let coefficient = self.dictionary.number(coefficient);
            self.terms.push(Term { variable, coefficient });
        }
        self.rows.side(&self.terms, self.dictionary.coefficients());
    }
}

impl Sink for DigestWalk {
    fn alloc(&mut self, _: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        self.rows.n_aux += 1;
        Ok(())
    }

    fn alloc_input(
        &mut self,
        _: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        self.rows.n_inputs += 1;
        Ok(())
    }

    fn enforce(&mut self, row: &mut dyn Row) {
        self.side(&row.a());
        self.side(&row.b());
        self.side(&row.c());
    }
}
