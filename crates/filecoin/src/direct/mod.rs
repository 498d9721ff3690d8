//! Witnesses without a walk: `synthesis = direct`.
//!
//! The gadgets of Filecoin's circuits allocate in a fixed order, and every value that they allocate is a bit of a word or an element of Fr
//! that plain arithmetic gives. So the values are computed and written in that order; no gadget is called and no closure built.
//! Each module says the order of its gadget, which is upstream's of the pinned version; a circuit that is not one of the known ones has
//! another template, and what is written would not fill it.
//!
//! Nodes are 32 bytes, little-endian and canonical; `Fr` is in blst's form.

mod path;
pub(crate) mod porep;
mod poseidon;
pub(crate) mod post;
mod sha256;
pub(crate) mod snap;

use blstrs::Scalar as Fr;
use cuzk_r1cs::Writer;
use ff::PrimeField;

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
