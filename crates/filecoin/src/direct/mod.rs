//! Witnesses without a walk: `synthesis = direct`.
//!
//! The gadgets of Filecoin's circuits allocate in a fixed order, and every value that they allocate is a bit of a word or an element of Fr
//! that plain arithmetic gives. So the values are computed and written in that order; no gadget is called and no closure built.
//! Each module says the order of its gadget, which is upstream's of the pinned version: only what is written for a circuit with a known
//! digest is of use ([`crate::templates::CachedTemplate::known`]).
//!
//! Nodes are 32 bytes, little-endian and canonical; `Fr` is in blst's form.

mod eight;
pub(crate) mod hashes;
mod path;
pub(crate) mod porep;
mod poseidon;
pub(crate) mod post;
mod sha256;
pub(crate) mod snap;

use blstrs::Scalar as Fr;
use cuzk_field::Engine;
use cuzk_r1cs::{PackedWitness, Template, Writer, write_blocks};
use ff::{Field, PrimeField};
use rayon::prelude::*;

use crate::Error;
use hashes::{Chain, Hashes};

/// An element of Fr as its bytes.
type Node = [u8; 32];

/// The element; what a hash leaves or a check has seen is one.
fn element(node: &Node) -> Fr {
    Fr::from_repr_vartime(*node).expect("a canonical element of Fr: checked before")
}

/// `AllocatedNum::to_bits_le`: 255 bits, without a proof that they are canonical.
fn write_bits_of(node: &Node, out: &mut Writer<'_>) {
    for (index, word) in node.chunks_exact(8).enumerate() {
        let bits = if index == 3 { 63 } else { 64 };
        out.bits(u64::from_le_bytes(word.try_into().expect("8 bytes")), bits);
    }
}

/// What the witness of a partition is written on.
pub(crate) struct Sheet<'t> {
    pub(crate) template: &'t Template,
    /// The public inputs, ONE first.
    pub(crate) inputs: Vec<Fr>,
    /// What runs eight-wide code, if anything does.
    pub(crate) engine: Option<Engine>,
    /// The scalars of an earlier witness, whose memory is used again: to touch new memory for the first time takes as long as to compute
    /// what is written there.
    pub(crate) spare: Vec<Fr>,
}

impl Sheet<'_> {
    /// Writes header and blocks; the chains of `at_once` blocks are computed together.
    pub(crate) fn write(
        self,
        hashes: &Hashes,
        at_once: usize,
        header: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>,
        block: impl for<'a> Fn(usize, &mut Writer<'a>) -> Result<Vec<Chain<'a>>, Error> + Sync,
    ) -> Result<PackedWitness, Error> {
        let Sheet { template, inputs, engine: _, spare: mut scalars } = self;
        if scalars.len() != template.n_scalars() {
            // By all threads, as the first touch of gigabytes takes one of them seconds.
            scalars = rayon::iter::repeat_n(Fr::ZERO, template.n_scalars()).collect();
        }
        let complete = |chains: Vec<Vec<Chain<'_>>>| hashes.complete(chains.into_iter().flatten().collect());
        let bits = write_blocks(template, &mut scalars, header, block, at_once, complete)?;
        PackedWitness::new(template, inputs, bits, scalars).map_err(Error::from)
    }
}

#[cfg(test)]
mod tests;
