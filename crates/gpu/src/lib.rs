//! The CUDA backend: evaluation, transforms and all five multi-scalar sums on a device.
//!
//! The kernels are in `cuda/`, by mathematics, with the same names as the modules here. The driver is loaded when a device
//! is first asked for; a program with this crate starts on machines without one. Kernels are compiled by the build where
//! there is an nvcc ([`has_kernels`]).
//!
//! Parameters stay on the device for a session, or come from host memory in chunks where they do not fit; of a partition, the
//! packed witness goes in and five points come out. All work of a session is on one stream, timed by events on it, in memory
//! that was planned before. Nothing is constant-time.
//!
//! # What the device can do, and what the kernels reach of it
//!
//! One H200 (132 multiprocessors, 1.98 GHz) does 8.25·10¹² multiply-adds of 32 to 64 bits a second. Measured on it, 2026-11-29
//! (`conformance/runs/2026-11-29-h200`):
//!
//! | kernel | work | reached | ceiling |
//! |---|---|---|---|
//! | sum of parts, G1 | 2,712 multiply-adds an addition | 2.69·10⁹ additions/s | 3.04·10⁹ |
//! | transform of 2^24 | 124 a butterfly of 2^23 × 24 | 4.26 ms | 3.0 ms; 0.75 ms for 3.2 GB of memory traffic |
//! | sorting of the sum over H (2^22 terms, 15 windows) | 3 GB of memory traffic | 1.1 ms | 0.7 ms |
//!
//! Of a PoRep of 2 KiB (2^22 rows, 52 ms), the sum over H takes 28 ms, 23.5 of them its additions; the transforms 6.3 ms. The sums
//! over L, A and B have few terms besides ones, and their 2 to 8 ms are mostly chains of dependent additions in few threads:
//! a complete addition takes one thread 25 µs in G1.
//!
//! # Tried and dropped
//!
//! * Sorting digits straight into bins with an atomic counter a digit in shared memory and 8-byte writes: 3.4 ms for the sum over
//!   H; sorted by bin in shared memory first, 0.5 ms.
//! * Buckets weighed by running sums over several levels of eight: 4.9 ms for the 15 windows of the sum over H; one level of
//!   sixteen and then a sum for every bit of the number of a group, 2.1 ms.
//! * Three levels of a transform in registers instead of two, with room for fewer threads: 4.86 ms for 4.69.
//! * Products with the second word of r as additions (it is 2^32 − 1): 4.79 ms for 4.69.
//! * The modulus in constant memory instead of immediate operands: 23.35 ms for 23.29 (sum), 4.34 ms for 4.28 (transform).

mod backend;
mod device;
mod layout;
pub mod measure;
mod msm;
mod ntt;
mod r1cs;
mod upload;

pub use backend::CudaBackend;
pub use device::{DeviceReport, check, devices, has_kernels};
