//! Rank-1 constraint systems over the scalar field Fr of BLS12-381, r =
//! 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001.
//!
//! A system has `inputs` (the first is ONE), `aux` variables and rows `⟨Aⱼ, w⟩ · ⟨Bⱼ, w⟩ = ⟨Cⱼ, w⟩` for the
//! assignment `w = (inputs, aux)`. Two ways of walking a circuit live here:
//!
//! * [`evaluate`] walks it with values and keeps `w`, `A·w` and `B·w` (`synthesis = enforce`); [`check`] does the
//!   same and compares `A·w ∘ B·w` with `C·w`, naming the first row that is not satisfied;
//! * [`record`] walks it without values and keeps the matrices.
//!
//! Both append the rows that Groth16 as Filecoin uses it needs after the circuit's own: `inputᵢ · 0 = 0` for every
//! input, ONE included, so that every input has a point in the A query.
//!
//! This crate knows neither Filecoin nor curves nor files.
#![forbid(unsafe_code)]

mod bitmap;
mod evaluate;
mod record;

pub use bellpepper_core::{Circuit, SynthesisError};
pub use bitmap::Bitmap;
pub use blstrs::Scalar as Fr;
pub use evaluate::{Checked, Densities, Synthesis, Unsatisfied, check, evaluate};
pub use record::{ConstraintSystemMatrices, Matrix, Term, Variable, record};
