//! Groth16 over BLS12-381 as Filecoin uses it: parameters, the interface of the backends, proof assembly.
//!
//! With the assignment `w = (inputs, aux)`, ONE first, and blinding factors r and s:
//!
//! ```text
//! A = α + Σ wᵢ·Aᵢ + r·δ
//! B = β + Σ wᵢ·Bᵢ + s·δ
//! C = Σ_aux wᵢ·Lᵢ + Σ hⱼ·Hⱼ + s·A + r·B₁ − rs·δ
//! ```
//!
//! (Groth, "On the Size of Pairing-based Non-interactive Arguments", Eurocrypt 2016, section 3.2; B₁ is B in G1.)
//! The capital letters on the right are the queries of the parameters ([`Parameters`]); h is the quotient of
//! [`quotient`]. This crate schedules, reads and writes; arithmetic on many elements at once is a backend's
//! ([`Backend`], [`Transforms`], [`FixedBase`]).
//!
//! Nothing here is constant-time; field and curve operations of the backends may take time that depends on the
//! witness.
#![forbid(unsafe_code)]

mod assemble;
mod backend;
mod digest;
mod domain;
mod error;
mod generate;
mod observe;
mod parameters;
mod proof;
pub mod quotient;
mod randomness;
mod tuning;

pub use assemble::{MsmResults, assemble};
pub use backend::{Backend, Columns, Session, Shape, Work};
pub use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
pub use digest::{Digest, digest_g1, digest_g2, digest_scalars};
pub use domain::Domain;
pub use error::Error;
pub use generate::{FixedBase, GenerateError, Generated, Trapdoor, encode_g1, encode_g2, generate};
pub use observe::{Lane, Observer, Phase, Silent, Step, timed};
pub use parameters::{Parameters, Query, Source, VerifyingKey};
pub use proof::Proof;
pub use quotient::Transforms;
pub use randomness::Blinding;
pub use tuning::{
    Accumulation, Axis, BG2Cpu, BG2Cuda, Decided, InFlight, Isa, Ntt, Pin, Presize, Synthesis, Tuning,
    TuningError, Value, WindowChoice,
};
