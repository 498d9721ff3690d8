//! Transforms on the device, and the quotient h from a and b. See `cuda/ntt/ntt.cuh`.

use blstrs::Scalar as Fr;
use cudarc::driver::{CudaSlice, LaunchConfig};
use cuzk_fault::{Fault, injected};
use cuzk_groth16::{Domain, Error, Ntt};
use ff::Field;

use crate::device::{Device, blocks, grid, launch};
use crate::layout::{FR_WORDS, Pass, Scalar};

/// Threads of a block, as in `cuda/ntt/ntt.cu`.
const BLOCK: u32 = 256;
/// Elements of a tile: 32 KiB of shared memory. With 64 KiB, transforms of 2^24 took 4.27 ms for 4.25 (one H200, 2026-11-29).
const LOG2_TILE: u32 = 10;
/// Most levels of a pass; passes are as even as they go.
const PASS_LEVELS: u32 = 9;
/// As in `cuda/ntt/ntt.cu`.
const TWIDDLES_PER_THREAD: usize = 64;
const ELEMENT_BYTES: usize = 32;

/// The tables of a domain: three of n elements.
pub(crate) struct Transforms {
    domain: Domain,
    passes: Vec<Pass>,
    inverse: CudaSlice<u64>,
    coset: CudaSlice<u64>,
    coset_inverse: CudaSlice<u64>,
}

impl Transforms {
    pub(crate) fn new(device: &Device, domain: Domain) -> Result<Self, Error> {
        let invert = |value: Fr| value.invert().expect("roots and shifts are not zero");
        let (omega, shift) = (domain.omega(), Domain::coset_shift());
        let (omega_inverse, shift_inverse) = (invert(omega), invert(shift));
        let coset_root = if injected(Fault::DeviceRoots) { omega_inverse } else { omega };
        Ok(Transforms {
            domain,
            passes: passes(domain.log2_n()),
            inverse: twiddles(device, &domain, omega_inverse, Fr::ONE)?,
            coset: twiddles(device, &domain, coset_root, shift)?,
            coset_inverse: twiddles(device, &domain, omega_inverse, shift_inverse)?,
        })
    }

    /// h in bit-reversed order in the first vector of `abc`, from a, b and c in its three vectors of n elements.
    pub(crate) fn quotient(&self, device: &Device, abc: &mut CudaSlice<u64>, ntt: Ntt) -> Result<(), Error> {
        let n = self.domain.n();
        let n_inverse = self.domain.n_inverse();
        let divisor_inverse = self.domain.coset_vanishing_inverse();
        self.down(device, abc, 0, 3, &self.inverse)?;
        // The transforms leave a factor of n each; ab then has n², and another from its own interpolation.
        match ntt {
            Ntt::Six => {
                self.up(device, abc, 2)?;
                self.multiply(device, abc)?;
                self.down(device, abc, 0, 1, &self.coset_inverse)?;
                let ab_factor = n_inverse * n_inverse * n_inverse * divisor_inverse;
                self.subtract(device, abc, ab_factor, n_inverse * divisor_inverse, n)
            }
            Ntt::Seven => {
                self.up(device, abc, 3)?;
                self.multiply(device, abc)?;
                let ab_factor = n_inverse * n_inverse * n_inverse * divisor_inverse;
                self.subtract(device, abc, ab_factor, n_inverse * n_inverse * divisor_inverse, n)?;
                self.down(device, abc, 0, 1, &self.coset_inverse)
            }
        }
    }

    /// n times the coefficients of one vector's values, in bit-reversed order.
    pub(crate) fn interpolate(&self, device: &Device, values: &mut CudaSlice<u64>) -> Result<(), Error> {
        self.down(device, values, 0, 1, &self.inverse)
    }

    /// The values on the coset of one vector of coefficients in bit-reversed order.
    pub(crate) fn evaluate_on_coset(
        &self,
        device: &Device,
        values: &mut CudaSlice<u64>,
    ) -> Result<(), Error> {
        self.up(device, values, 1)
    }

    /// c = a∘b for the first `n_rows` elements, and zeros after them in all three.
    pub(crate) fn complete(
        &self,
        device: &Device,
        abc: &mut CudaSlice<u64>,
        n_rows: usize,
    ) -> Result<(), Error> {
        let n = self.domain.n();
        for vector in 0..2 {
            let (start, end) = ((vector * n + n_rows) as u64, ((vector + 1) * n) as u64);
            // Writes elements start to end, within the three vectors.
            launch!(device, "cuzk_clear", grid(n - n_rows, BLOCK), &mut *abc, &start, &end)?;
        }
        let (ab, mut c) = abc.split_at_mut(2 * n * FR_WORDS);
        let (a, b) = (ab.slice(..n * FR_WORDS), ab.slice(n * FR_WORDS..));
        let (n_rows, n_padded) = (n_rows as u64, n as u64);
        // Reads n_rows ≤ n elements of a and b and writes n of c.
        launch!(device, "cuzk_hadamard", grid(n, BLOCK), &mut c, &a, &b, &n_rows, &n_padded)
    }

    fn multiply(&self, device: &Device, abc: &mut CudaSlice<u64>) -> Result<(), Error> {
        let n = self.domain.n();
        let b = abc.slice(n * FR_WORDS..2 * n * FR_WORDS);
        let n_elements = n as u64;
        // In place: each thread reads a's element before it writes it.
        launch!(device, "cuzk_hadamard", grid(n, BLOCK), &*abc, &*abc, &b, &n_elements, &n_elements)
    }

    fn subtract(
        &self,
        device: &Device,
        abc: &mut CudaSlice<u64>,
        a_factor: Fr,
        c_factor: Fr,
        n: usize,
    ) -> Result<(), Error> {
        let (mut ab, c) = abc.split_at_mut(2 * n * FR_WORDS);
        let c = c.as_view();
        let (a_factor, c_factor, n_elements) = (Scalar::of(&a_factor), Scalar::of(&c_factor), n as u64);
        // n elements of each.
        launch!(device, "cuzk_difference", grid(n, BLOCK), &mut ab, &c, &a_factor, &c_factor, &n_elements)
    }

    fn down(
        &self,
        device: &Device,
        values: &mut CudaSlice<u64>,
        first: usize,
        n_vectors: u32,
        table: &CudaSlice<u64>,
    ) -> Result<(), Error> {
        let mut values = values.slice_mut(first * self.domain.n() * FR_WORDS..);
        for pass in self.passes.iter().rev() {
            // Every tile of every vector, each once; twiddles of levels below log2_n.
            launch!(device, "cuzk_ntt_down", tiles(pass, n_vectors), &mut values, table, pass)?;
        }
        Ok(())
    }

    fn up(&self, device: &Device, values: &mut CudaSlice<u64>, n_vectors: u32) -> Result<(), Error> {
        for pass in &self.passes {
            // As above.
            launch!(device, "cuzk_ntt_up", tiles(pass, n_vectors), &mut *values, &self.coset, pass)?;
        }
        Ok(())
    }
}

/// A block a tile, a row of blocks a vector.
fn tiles(pass: &Pass, n_vectors: u32) -> LaunchConfig {
    let log2_tile = pass.levels + pass.log2_columns;
    LaunchConfig {
        grid_dim: (1 << (pass.log2_n - log2_tile), n_vectors, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: (ELEMENT_BYTES << log2_tile) as u32,
    }
}

/// The passes, lowest levels first: as few and as even as they go.
fn passes(log2_n: u32) -> Vec<Pass> {
    let n_passes = log2_n.div_ceil(PASS_LEVELS);
    let bound = |pass: u32| log2_n * pass / n_passes;
    (0..n_passes)
        .map(|pass| {
            let (first_level, levels) = (bound(pass), bound(pass + 1) - bound(pass));
            let most = if pass == 0 { log2_n - levels } else { first_level };
            Pass { log2_n, first_level, levels, log2_columns: (LOG2_TILE - levels).min(most) }
        })
        .collect()
}

/// `[h + j]` = base^(n/2h·j)·shift^(n/2h) for h = 1, 2, 4, …, n/2.
fn twiddles(device: &Device, domain: &Domain, base: Fr, shift: Fr) -> Result<CudaSlice<u64>, Error> {
    let mut table = device.allocate::<u64>(domain.n() * FR_WORDS)?;
    for level in 0..domain.log2_n() {
        let power = |value: Fr| value.pow_vartime([1u64 << (domain.log2_n() - level - 1)]);
        let (root, factor) = (Scalar::of(&power(base)), Scalar::of(&power(shift)));
        let config = blocks((1usize << level).div_ceil(TWIDDLES_PER_THREAD * BLOCK as usize), BLOCK, 0);
        // Writes elements h to 2h − 1, h = 2^level ≤ n/2.
        launch!(device, "cuzk_ntt_twiddles", config, &mut table, &root, &factor, &level)?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_every_level_once_with_tiles_that_fit() {
        for log2_n in 0..32 {
            let passes = passes(log2_n);
            let mut level = 0;
            for pass in &passes {
                assert_eq!((pass.log2_n, pass.first_level), (log2_n, level));
                assert!((1..=PASS_LEVELS).contains(&pass.levels), "{pass:?}");
                assert!(pass.levels + pass.log2_columns <= LOG2_TILE.min(log2_n), "{pass:?}");
                assert!(level == 0 || pass.log2_columns <= level, "{pass:?}");
                level += pass.levels;
            }
            assert_eq!(level, log2_n);
        }
    }
}
