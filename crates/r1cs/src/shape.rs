//! Row shapes: a row up to translation, and the dictionary of all shapes of a system.
//!
//! A row of a section (the header, or an instance of the block) is its shape and a base, the greatest aux variable of
//! its own section that it mentions. The shape names those variables by their distance below the base, all others
//! absolutely. A 32 GiB PoRep challenge has 7.2 million rows, and a few ten thousand shapes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use ff::Field;

use crate::Fr;

/// Which variable a term of a shape stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The aux variable of the row's own section that lies this far below the row's base.
    Own(u32),
    /// The header variable in this slot of the instance's import table. Only in the block.
    Import(u32),
    /// This input of the header; 0 is ONE.
    HeaderInput(u32),
    /// This input of the instance's own. Only in the block.
    BlockInput(u32),
}

impl Place {
    const TAG_SHIFT: u32 = 30;
    const INDEX: u32 = (1 << Self::TAG_SHIFT) - 1;

    /// The variable ONE.
    pub const ONE: Place = Place::HeaderInput(0);

    fn encode(self) -> u32 {
        let (tag, index) = match self {
            Place::Own(back) => (0, back),
            Place::Import(slot) => (1, slot),
            Place::HeaderInput(input) => (2, input),
            Place::BlockInput(input) => (3, input),
        };
        assert!(index <= Self::INDEX, "a section has fewer than 2^30 variables");
        tag << Self::TAG_SHIFT | index
    }

    #[inline]
    fn decode(code: u32) -> Self {
        let index = code & Self::INDEX;
        match code >> Self::TAG_SHIFT {
            0 => Place::Own(index),
            1 => Place::Import(index),
            2 => Place::HeaderInput(index),
            _ => Place::BlockInput(index),
        }
    }
}

/// A term of a shape: place in the upper half, number of the coefficient in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShapeTerm(u64);

impl ShapeTerm {
    /// A term.
    pub(crate) fn new(place: Place, coefficient: u32) -> Self {
        ShapeTerm(u64::from(place.encode()) << 32 | u64::from(coefficient))
    }

    /// Which variable.
    #[inline]
    pub fn place(self) -> Place {
        Place::decode((self.0 >> 32) as u32)
    }

    /// The number of the coefficient in the template's dictionary.
    #[inline]
    pub fn coefficient(self) -> usize {
        self.0 as u32 as usize
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        ShapeTerm(bits)
    }
}

/// Lists of terms, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermLists {
    pub(crate) terms: Vec<ShapeTerm>,
    pub(crate) ends: Vec<u32>,
}

impl TermLists {
    pub(crate) fn push(&mut self, list: &[ShapeTerm]) {
        self.terms.extend_from_slice(list);
        self.ends.push(u32::try_from(self.terms.len()).expect("fewer than 2^32 terms of shapes"));
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[ShapeTerm] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.terms[start..self.ends[index] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Numbers coefficients in the order in which they first occur; 0 is ONE and 1 is −ONE.
#[derive(Debug)]
pub(crate) struct CoefficientDictionary {
    coefficients: Vec<Fr>,
    numbers: HashMap<[u8; 32], u32, BuildHasherDefault<FxHasher>>,
    last: usize,
}

impl CoefficientDictionary {
    pub(crate) fn new() -> Self {
        let mut dictionary =
            CoefficientDictionary { coefficients: vec![], numbers: HashMap::default(), last: 0 };
        dictionary.look_up(&Fr::ONE);
        dictionary.look_up(&-Fr::ONE);
        dictionary
    }

    pub(crate) fn number(&mut self, coefficient: &Fr) -> u32 {
        // Powers of two come in the order in which they were numbered.
        let next = self.last + 1;
        if self.coefficients.get(next) == Some(coefficient) {
            self.last = next;
            return next as u32;
        }
        self.look_up(coefficient)
    }

    fn look_up(&mut self, coefficient: &Fr) -> u32 {
        let coefficients = &mut self.coefficients;
        let number = *self.numbers.entry(coefficient.to_bytes_le()).or_insert_with(|| {
            coefficients.push(*coefficient);
            coefficients.len() as u32 - 1
        });
        self.last = number as usize;
        number
    }

    pub(crate) fn get(&self, number: u32) -> &Fr {
        &self.coefficients[number as usize]
    }

    pub(crate) fn coefficients(&self) -> &[Fr] {
        &self.coefficients
    }

    pub(crate) fn into_coefficients(self) -> Vec<Fr> {
        self.coefficients
    }
}

/// Numbers shapes in the order in which they first occur.
#[derive(Debug, Default)]
pub(crate) struct ShapeDictionary {
    /// A, B, C of shape s are the lists 3s, 3s + 1, 3s + 2.
    lists: TermLists,
    numbers: HashMap<u64, u32, BuildHasherDefault<FxHasher>>,
    /// The shape that last followed each shape: mostly the one that follows it again.
    followers: Vec<u32>,
    last: usize,
}

impl ShapeDictionary {
    /// The number of the shape with these terms: A's up to `ends[0]`, then B's up to `ends[1]`, then C's.
    pub(crate) fn number(&mut self, terms: &[ShapeTerm], ends: [usize; 2]) -> u32 {
        let number = [Some(self.last), self.followers.get(self.last).map(|next| *next as usize)]
            .into_iter()
            .flatten()
            .find(|&guess| self.is(guess, terms, ends))
            .unwrap_or_else(|| self.look_up(terms, ends));
        if let Some(follower) = self.followers.get_mut(self.last) {
            *follower = number as u32;
        }
        self.last = number;
        number as u32
    }

    fn is(&self, shape: usize, terms: &[ShapeTerm], ends: [usize; 2]) -> bool {
        if 3 * shape >= self.lists.len() {
            return false;
        }
        let ends_here = &self.lists.ends[3 * shape..3 * shape + 3];
        let start = if shape == 0 { 0 } else { self.lists.ends[3 * shape - 1] as usize };
        ends_here[0] as usize - start == ends[0]
            && ends_here[1] as usize - start == ends[1]
            && self.lists.terms[start..ends_here[2] as usize] == *terms
    }

    fn look_up(&mut self, terms: &[ShapeTerm], ends: [usize; 2]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write_u64((ends[0] as u64) << 32 | ends[1] as u64);
        terms.iter().for_each(|term| hasher.write_u64(term.to_bits()));
        // Two shapes with one hash take neighbouring keys.
        let mut key = hasher.finish();
        while let Some(&found) = self.numbers.get(&key) {
            if self.is(found as usize, terms, ends) {
                return found as usize;
            }
            key = key.wrapping_add(1);
        }
        let number = self.lists.len() / 3;
        self.numbers.insert(key, u32::try_from(number).expect("fewer than 2^32 shapes"));
        self.followers.push(0);
        self.lists.push(&terms[..ends[0]]);
        self.lists.push(&terms[ends[0]..ends[1]]);
        self.lists.push(&terms[ends[1]..]);
        number
    }

    /// A, B or C (0, 1, 2) of a shape.
    pub(crate) fn list(&self, shape: u32, matrix: usize) -> &[ShapeTerm] {
        self.lists.get(3 * shape as usize + matrix)
    }

    /// The lists of A and B (2s, 2s + 1), and those of C (s).
    pub(crate) fn into_lists(self) -> (TermLists, TermLists) {
        let (mut factors, mut products) = (TermLists::default(), TermLists::default());
        for shape in 0..self.lists.len() / 3 {
            factors.push(self.lists.get(3 * shape));
            factors.push(self.lists.get(3 * shape + 1));
            products.push(self.lists.get(3 * shape + 2));
        }
        (factors, products)
    }
}

/// rustc's multiplicative hash. Keys come from our own circuits, nobody chooses them to collide.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FxHasher(u64);

impl Hasher for FxHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
