//! The curves eight points at a time, over [`cuzk_field`]'s engines.
//!
//! Additions are affine, with one inversion for a batch and eight independent additions in the lanes of a block. Sums
//! of many runs of points put a run in each lane, so that only the first level of additions gathers points from memory
//! and all later ones work on whole blocks.

mod batch;
mod buckets;
mod fixed_base;
mod ntt;
mod points;
mod runs;

pub(crate) use batch::Infinity;
pub(crate) use buckets::weighted_slab;
pub(crate) use fixed_base::Table;
pub(crate) use ntt::{MIN_LOG2_N, Transforms};
#[cfg(test)]
pub(crate) use points::pack;
pub(crate) use points::{PackedPoint, pack_block, unpack_one};
pub(crate) use runs::{Selection, sum_runs};
