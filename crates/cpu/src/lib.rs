//! The CPU backend: transforms, multi-scalar sums and fixed-base multiplication over blst's field and curves.
//!
//! * [`CpuBackend`] computes proofs: full-size scalars go through Pippenger's method over batched affine additions,
//!   scalars that are 1 are summed apart, scalars that are 0 cost a look ([`msm`]); h comes from a parallel radix-2
//!   transform ([`CpuTransforms`]).
//! * [`CpuFixedBase`] multiplies the generators for parameter generation: signed windows from a table, added in
//!   affine coordinates with one inversion a batch.
//!
//! Work is spread over the current rayon pool. Nothing is constant-time.

mod arithmetic;
mod backend;
mod batch_add;
mod curve;
mod digits;
mod eight;
mod fixed_base;
mod huge;
pub mod msm;
mod ntt;
mod runs;

pub use arithmetic::Arithmetic;
pub use backend::CpuBackend;
pub use fixed_base::CpuFixedBase;
pub use ntt::CpuTransforms;
