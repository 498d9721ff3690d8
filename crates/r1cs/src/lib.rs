//! Rank-1 constraint systems over the scalar field Fr of BLS12-381, r =
//! 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001.
//!
//! A system has `inputs` (the first is ONE), `aux` variables and rows `⟨Aⱼ, w⟩ · ⟨Bⱼ, w⟩ = ⟨Cⱼ, w⟩` for the
//! assignment `w = (inputs, aux)`. Ways of walking a circuit:
//!
//! * [`evaluate`] walks it with values and keeps `w`, `A·w` and `B·w` (`synthesis = enforce`); [`check`] does the
//!   same and compares `A·w ∘ B·w` with `C·w`, naming the first row that is not satisfied;
//! * [`record`] walks it without values and keeps the matrices;
//! * [`derive()`] walks it without values and keeps a [`Template`]: a header and a repeated block, whose repetition is
//!   proved row by row;
//! * [`walk_witness`] and [`walk_blocks`] walk it with values, ignore the rows, and keep a [`PackedWitness`], from which
//!   [`evaluate_packed`] computes `A·w` and `B·w` (`synthesis = template`), and [`first_unsatisfied`] compares each row
//!   with C; [`row_path`] names a row, and [`aux_path`] a variable.
//!
//! All append the rows that Groth16 as Filecoin uses it needs after the circuit's own: `inputᵢ · 0 = 0` for every
//! input, ONE included, so that every input has a point in the A query.
//!
//! This crate knows neither Filecoin nor curves; templates are read from and written to streams, not files.
#![forbid(unsafe_code)]

mod bitmap;
mod bits;
mod derive;
mod digest;
mod encode;
mod error;
mod evaluate;
mod packed;
mod product;
mod qap;
mod record;
mod shape;
mod template;
mod walk;
mod witness;
mod writer;

pub use bellpepper_core::{Circuit, SynthesisError};
pub use bitmap::Bitmap;
pub use blstrs::Scalar as Fr;
pub use derive::{BlockStart, derive, derive_flat};
pub use digest::{CircuitDigest, circuit_digest};
pub use encode::TemplateParts;
pub use error::Error;
pub use evaluate::{
    Checked, CircuitSize, Densities, Synthesis, Unsatisfied, check, evaluate, evaluate_presized,
    linear_combination_storage,
};
pub use packed::PackedWitness;
pub use product::{evaluate_packed, evaluate_packed_into, first_unsatisfied};
pub use qap::ColumnSums;
pub use record::{ConstraintSystemMatrices, Matrix, Term, Variable, record};
pub use shape::{Place, ShapeTerm};
pub use template::{BitFactors, Run, Section, Side, Template};
pub use walk::{Row, Sink, Walkable, aux_path, row_path, walk};
pub use witness::{walk_blocks, walk_witness};
pub use writer::{Writer, write_blocks};

/// Whether a value is 0, by comparing four words: walks ask it of every term, and `Field::is_zero` takes care to be
/// constant-time.
#[inline]
fn is_zero(value: &Fr) -> bool {
    *value == <Fr as ff::Field>::ZERO
}
