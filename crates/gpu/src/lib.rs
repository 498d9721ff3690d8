//! The CUDA backend: evaluation, transforms and all five multi-scalar sums on a device; and multiples of the generators, for parameters.
//!
//! The kernels are in `cuda/`, by mathematics, with the same names as the modules here. The driver is loaded when a device
//! is first asked for; a program with this crate starts on machines without one. Kernels are compiled by the build where
//! there is an nvcc ([`has_kernels`]).
//!
//! Parameters stay on the device for a session, or come from host memory in chunks where they do not fit, the next one while one is
//! summed; of a partition, the packed witness goes in and five points out. All work of a session but uploads is on one stream, timed
//! by events on it, in memory that was planned before. Nothing is constant-time.
//!
//! Queries whose points have the same scalars share a plan: which points are in which bucket, and how buckets are divided among
//! threads. L and A have a place for every variable, so that one plan of all of w serves both; B has one in G1 and G2.
//!
//! # What the device can do, and what the kernels reach of it
//!
//! One H200 (132 multiprocessors, 1.98 GHz) does 8.25·10¹² multiply-adds of 32 to 64 bits a second. Measured on it, 2026-11-29 and
//! -30 (`conformance/runs/2026-11-29-h200`, `2026-11-30-h200`):
//!
//! | kernel | work | reached | ceiling |
//! |---|---|---|---|
//! | sums of groups, G1 (`accumulation=affine`) | 1,740 multiply-adds an addition | 3.2·10⁹ additions/s | 4.7·10⁹ |
//! | sum of parts, G1 (`accumulation=xyzz`) | 2,712 | 2.69·10⁹ | 3.04·10⁹ |
//! | transform of 2^24 | 124 a butterfly of 2^23 × 24 | 4.26 ms | 3.0 ms; 0.75 ms for 3.2 GB of memory traffic |
//! | sorting of the sum over H (2^22 terms, 15 windows) | 3 GB of memory traffic | 1.2 ms | 0.7 ms |
//!
//! Of a PoRep of 2 KiB (2^22 rows, 44 ms), the sum over H takes 23.5 ms, 17.2 of them groups and 2.8 their sums; the transforms
//! 6.3 ms. Groups wait for the last word of a carry chain before the next (0.32 instructions a cycle and scheduler, no memory above
//! 40 %): more threads would help, and registers allow no more. The sums over L, A and B have few terms besides ones, and their 2 to
//! 5 ms are mostly chains of dependent additions in few threads: a complete addition takes one thread 25 µs in G1.
//!
//! # Tried and dropped
//!
//! * Sorting digits straight into bins with an atomic counter a digit in shared memory and 8-byte writes: 3.4 ms for the sum over
//!   H; sorted by bin in shared memory first, 0.5 ms.
//! * Buckets weighed by running sums over several levels of eight: 4.9 ms for the 15 windows of the sum over H; one level of
//!   sixteen and then a sum for every bit of the number of a group, 2.1 ms.
//! * Groups of 60M references in G1, 16.0 ms: with the next pair's coordinates loaded or prefetched ahead 16.9 to 17.5 (in blocks of
//!   128, 16.9 without); five blocks of 128 threads, which spill, 19.3; barriers between the two ways of a level, no difference.
//! * Three levels of a transform in registers instead of two, with room for fewer threads: 4.86 ms for 4.69.
//! * Products with the second word of r as additions (it is 2^32 − 1): 4.79 ms for 4.69.
//! * The modulus in constant memory instead of immediate operands: 23.35 ms for 23.29 (sum), 4.34 ms for 4.28 (transform).

mod backend;
mod device;
mod fixed_base;
mod layout;
pub mod measure;
mod msm;
mod ntt;
mod r1cs;
mod upload;

pub use backend::{CudaBackend, READ_POINTS, RESERVE_BYTES};
pub use device::{DeviceReport, Kernels, check, devices, driver_release, has_kernels, kernels};
pub use fixed_base::CudaFixedBase;
