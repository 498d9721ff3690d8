//! The fields of BLS12-381: Fp (381 bits) and Fp2 of the coordinates, Fr (255 bits) of the scalars.
//!
//! * [`portable`]: one element at a time, over blst's assembly, on any machine.
//! * [`fp`], [`fp2`], [`fr`]: eight elements at a time in limbs of 52 bits, written once over [`Lanes`] (eight lanes of
//!   64 bits) and run by an [`Engine`]: registers of AVX-512 with IFMA, found at run time, or plain arrays that do the
//!   same lane by lane, for tests.
//!
//! An ordinary build has all of it and needs no compiler flag: only [`Engine::run`] enters code that is compiled for
//! AVX-512, and an engine of that kind exists only where the processor has it. Nothing is constant-time.

#[cfg(target_arch = "x86_64")]
mod avx512ifma;
pub mod eight;
mod emulated;
mod engine;
pub mod fp;
pub mod fp2;
pub mod fr;
pub mod lanes;
mod limbs;
pub mod portable;
pub mod testing;

pub use eight::{Eight, EightColumns, Field, Fp, Fp2};
pub use engine::Engine;
pub use lanes::{Kernel, Lanes};
