//! Templates as bytes.
//!
//! ```text
//! 16 bytes  "cuzk template\n\0\0"
//! u32       version, 1
//! 32 bytes  digest of the circuit
//! u64, 32   length and SHA-256 of the first section
//! u64, 32   length and SHA-256 of the second section
//!           first section: what a prover needs
//!           second section: C
//!
//! first section:  coefficients: u64 n, n × 32 bytes, canonical
//!                 shapes, A and B in turn: lists
//!                 header, block: u64 inputs, u64 aux, ⌈aux/64⌉ × u64 (bits),
//!                                u64 n, n × (u32 shape, u32 base, u16 count, u8 factors of bits)
//!                 imports: u64 tables, u64 slots, tables × slots × u32
//!                 u64 instances
//! second section: shapes, C: lists
//! lists:          u64 n, n × u32 (ends), u64 m, m × u64 (terms: place in the upper half, coefficient in the lower;
//!                 the top two bits of a place tell own, import, header input, block input)
//! ```
//!
//! All integers are little-endian. A section whose SHA-256 is right was written by this module, and is trusted.

use std::io::{Read, Write};

use cuzk_fault::{Fault, injected};
use ff::Field;
use sha2::{Digest as _, Sha256};

use crate::shape::{ShapeTerm, TermLists};
use crate::template::{BitFactors, Parts, Run, Section};
use crate::{Bitmap, CircuitDigest, Error, Fr, Template};

const MAGIC: [u8; 16] = *b"cuzk template\n\0\0";
const VERSION: u32 = 1;

/// Which of a template's sections to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateParts {
    /// What proving needs: all but C.
    Prover,
    /// C, too, for parameter generation and checks.
    All,
}

impl Template {
    /// Writes the template of the circuit with this digest. Fails for a template that was read without C.
    pub fn write(&self, digest: &CircuitDigest, out: &mut dyn Write) -> Result<(), Error> {
        let products = self
            .products
            .as_ref()
            .ok_or(Error::BadTemplate { problem: "it was read without its matrix C" })?;
        let sections = [self.encode(), encode_lists(products)];
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&digest.0)?;
        for section in &sections {
            out.write_all(&(section.len() as u64).to_le_bytes())?;
            out.write_all(&Sha256::digest(section))?;
        }
        sections.iter().try_for_each(|section| Ok(out.write_all(section)?))
    }

    /// Reads the template of the circuit with this digest. [`Error::BadTemplate`] says that the bytes are of another
    /// program, version or circuit, or damaged.
    pub fn read(digest: &CircuitDigest, parts: TemplateParts, input: &mut dyn Read) -> Result<Self, Error> {
        let bad = |problem| Error::BadTemplate { problem };
        let mut head = [0; 16 + 4 + 32 + 2 * (8 + 32)];
        input.read_exact(&mut head).map_err(|_| bad("it is shorter than the head of a template"))?;
        let (magic, rest) = head.split_at(16);
        let (version, rest) = rest.split_at(4);
        let (found, rest) = rest.split_at(32);
        let (first, second) = rest.split_at(40);
        if magic != MAGIC {
            return Err(bad("it is no template of this program"));
        } else if version != VERSION.to_le_bytes() {
            return Err(bad("it is of another version"));
        } else if found != digest.0 {
            return Err(bad("it is of another circuit"));
        }
        let first = read_section(first, input)?;
        let products = match parts {
            TemplateParts::Prover => None,
            TemplateParts::All => Some(read_section(second, input)?),
        };
        decode(&first, products.as_deref()).ok_or(bad("it is damaged"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Encoder::default();
        bytes.u64(self.coefficients.len());
        self.coefficients.iter().for_each(|coefficient| bytes.bytes(&coefficient.to_bytes_le()));
        bytes.bytes(&encode_lists(&self.factors));
        for section in [&self.header, &self.block] {
            bytes.u64(section.n_inputs());
            bytes.u64(section.n_aux());
            section.bits().words().iter().for_each(|word| bytes.bytes(&word.to_le_bytes()));
            bytes.u64(section.runs().len());
            for run in section.runs() {
                bytes.bytes(&run.shape.to_le_bytes());
                bytes.bytes(&run.base.to_le_bytes());
                bytes.bytes(&run.count.to_le_bytes());
                bytes.bytes(&[run.bits.0]);
            }
        }
        bytes.u64(self.imports.len());
        bytes.u64(self.imports[0].len());
        self.imports.iter().flatten().for_each(|aux| bytes.bytes(&aux.to_le_bytes()));
        bytes.u64(self.instances);
        bytes.0
    }
}

fn encode_lists(lists: &TermLists) -> Vec<u8> {
    let mut bytes = Encoder::default();
    bytes.u64(lists.ends.len());
    lists.ends.iter().for_each(|end| bytes.bytes(&end.to_le_bytes()));
    bytes.u64(lists.terms.len());
    lists.terms.iter().for_each(|term| bytes.bytes(&term.to_bits().to_le_bytes()));
    bytes.0
}

/// A section whose length and digest are `head`.
fn read_section(head: &[u8], input: &mut dyn Read) -> Result<Vec<u8>, Error> {
    let (length, digest) = head.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("8 bytes"));
    let mut section = vec![];
    // Grows with what is there, so that a false length takes no memory.
    input.take(length).read_to_end(&mut section)?;
    if section.len() as u64 != length {
        return Err(Error::BadTemplate { problem: "it ends early" });
    }
    if Sha256::digest(&section)[..] != *digest {
        return Err(Error::BadTemplate { problem: "it is damaged" });
    }
    Ok(section)
}

fn decode(first: &[u8], second: Option<&[u8]>) -> Option<Template> {
    let mut bytes = Decoder(first);
    let mut coefficients = bytes.list(|bytes| Option::<Fr>::from(Fr::from_bytes_le(&bytes.array()?)))?;
    if injected(Fault::StaleTemplate) {
        coefficients[1..].iter_mut().for_each(|coefficient| *coefficient = coefficient.double());
    }
    let factors = bytes.lists()?;
    let header = bytes.section()?;
    let block = bytes.section()?;
    let (tables, slots) = (bytes.u64()?, bytes.u64()?);
    let table = |bytes: &mut Decoder| (0..slots).map(|_| bytes.u32()).collect::<Option<Vec<u32>>>();
    let imports = (0..tables).map(|_| table(&mut bytes)).collect::<Option<Vec<_>>>()?;
    let instances = bytes.u64()?;
    let products = match second {
        Some(second) => Some(Decoder(second).lists()?),
        None => None,
    };
    let parts = Parts { coefficients, factors, products, header, block, imports, instances };
    bytes.0.is_empty().then(|| Template::from_parts(parts))
}

#[derive(Default)]
struct Encoder(Vec<u8>);

impl Encoder {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u64(&mut self, value: usize) {
        self.bytes(&(value as u64).to_le_bytes());
    }
}

struct Decoder<'a>(&'a [u8]);

impl Decoder<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn u64(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.u64()?;
        (0..n).map(|_| item(self)).collect()
    }

    fn lists(&mut self) -> Option<TermLists> {
        let ends = self.list(Self::u32)?;
        let terms = self.list(|bytes| Some(ShapeTerm::from_bits(u64::from_le_bytes(bytes.array()?))))?;
        Some(TermLists { terms, ends })
    }

    fn section(&mut self) -> Option<Section> {
        let (n_inputs, n_aux) = (self.u64()?, self.u64()?);
        let words = (0..n_aux.div_ceil(64)).map(|_| Some(u64::from_le_bytes(self.array()?)));
        let bits = Bitmap::from_words(words.collect::<Option<_>>()?, n_aux)?;
        let runs = self.list(|bytes| {
            let (shape, base) = (bytes.u32()?, bytes.u32()?);
            let count = u16::from_le_bytes(bytes.array()?);
            let [bits] = bytes.array()?;
            Some(Run { shape, base, count, bits: BitFactors(bits) })
        })?;
        Some(Section::new(runs, n_inputs, bits))
    }
}
