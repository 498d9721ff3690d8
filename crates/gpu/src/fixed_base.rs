//! Multiples of the generators by many scalars, for parameter generation. See `cuda/msm/fixed_base.cuh`.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cudarc::driver::{CudaSlice, CudaView, LaunchConfig};
use cuzk_groth16::{Error, FixedBase};
use group::Curve;
use group::prime::PrimeCurveAffine;

use crate::device::{Device, blocks, grid, launch};
use crate::layout::{Alignment, FR_WORDS, Windows, Words, values_of, words_of};
use crate::msm::{DeviceCurve, GroupSums, N_COUNTS};

/// As in `cuda/msm/fixed_base.cu`.
const BLOCK: u32 = 256;
/// As many windows as a group of 2^LEVELS has references: a scalar's multiple is a group. Tables of 50 MB (G1) and 101 MB (G2).
const WINDOW_BITS: u32 = 16;
const LEVELS: u32 = 4;
/// Scalars at a time. Reasoned: groups enough for four a thread, which share the inverses; 0.4 GB on the device in G1.
const BATCH: usize = 1 << 18;

/// Fixed-base multiplication on a CUDA device. The tables are built on first use.
pub struct CudaFixedBase(Mutex<(Device, Tables)>);

#[derive(Default)]
struct Tables {
    g1: Option<Table<G1Projective>>,
    g2: Option<Table<G2Projective>>,
}

impl CudaFixedBase {
    /// Opens device `index`.
    pub fn open(index: usize) -> Result<Self, Error> {
        Ok(CudaFixedBase(Mutex::new((Device::open(index)?, Tables::default()))))
    }

    fn with<P: FixedCurve, T>(
        &self,
        work: impl FnOnce(&mut Table<P>, &Device) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (device, tables) = &mut *guard;
        device.bind()?;
        let table = match P::table(tables) {
            Some(table) => table,
            none => none.insert(Table::new(device)?),
        };
        work(table, device)
    }

    fn multiply<P: FixedCurve>(&self, scalars: &[Fr]) -> Result<Vec<P::AffineRepr>, Error> {
        let mut products = Vec::with_capacity(scalars.len());
        for scalars in scalars.chunks(BATCH) {
            // While the points are copied, the device is another thread's.
            let words = self.with::<P, _>(|table, device| table.multiply(device, scalars))?;
            products.extend(values_of(&words, P::AffineRepr::identity()));
        }
        Ok(products)
    }
}

impl FixedBase for CudaFixedBase {
    fn g1(&self, scalars: &[Fr]) -> Result<Vec<G1Affine>, Error> {
        self.multiply::<G1Projective>(scalars)
    }

    fn g2(&self, scalars: &[Fr]) -> Result<Vec<G2Affine>, Error> {
        self.multiply::<G2Projective>(scalars)
    }

    fn g1_encoded(&self, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        self.with::<G1Projective, _>(|table, device| table.multiply_encoded(device, scalars))
    }

    fn g2_encoded(&self, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        self.with::<G2Projective, _>(|table, device| table.multiply_encoded(device, scalars))
    }
}

/// A curve whose points a device encodes.
trait FixedCurve: DeviceCurve + Curve<AffineRepr: Words + PrimeCurveAffine> {
    fn table(tables: &mut Tables) -> &mut Option<Table<Self>>;
    fn encode(
        device: &Device,
        config: LaunchConfig,
        out: &CudaSlice<u8>,
        points: &CudaSlice<u64>,
        n: u32,
    ) -> Result<(), Error>;
}

macro_rules! fixed_curve {
    ($curve:ty, $table:ident, $encode:literal) => {
        impl FixedCurve for $curve {
            fn table(tables: &mut Tables) -> &mut Option<Table<Self>> {
                &mut tables.$table
            }

            fn encode(
                device: &Device,
                config: LaunchConfig,
                out: &CudaSlice<u8>,
                points: &CudaSlice<u64>,
                n: u32,
            ) -> Result<(), Error> {
                // n points in, as many bytes out as they have.
                launch!(device, $encode, config, out, points, &n)
            }
        }
    };
}
fixed_curve!(G1Projective, g1, "cuzk_fixed_encode_g1");
fixed_curve!(G2Projective, g2, "cuzk_fixed_encode_g2");

/// The table of a curve's generator, and memory for a batch.
struct Table<P> {
    windows: Windows,
    /// d·2^(cw)·G for each window w of the first d, then of the next.
    multiples: CudaSlice<u64>,
    scalars: CudaSlice<u64>,
    references: CudaSlice<u32>,
    sums: CudaSlice<u64>,
    scratch_sums: CudaSlice<u64>,
    scratch_products: CudaSlice<u64>,
    bytes: CudaSlice<u8>,
    groups_at_a_time: usize,
    curve: PhantomData<fn() -> P>,
}

impl<P: FixedCurve> Table<P> {
    const POINT_WORDS: usize = 2 * P::FIELD_WORDS;

    /// An addition an entry.
    fn new(device: &Device) -> Result<Self, Error> {
        let windows = Windows::new(WINDOW_BITS);
        let (n_windows, largest_digit) = (windows.n as usize, 1 << (WINDOW_BITS - 1));
        assert_eq!(n_windows, 1 << LEVELS, "a window a reference");
        let threads = device.n_multiprocessors as usize * P::GROUP_BLOCK as usize;
        let groups_at_a_time = BATCH.div_ceil(threads);
        let scratch_words = (threads * groups_at_a_time * P::FIELD_WORDS) << (LEVELS - 1);
        let mut table = Table {
            windows,
            multiples: device.allocate(n_windows * largest_digit * Self::POINT_WORDS)?,
            scalars: device.allocate(BATCH * FR_WORDS)?,
            references: device.allocate(BATCH << LEVELS)?,
            sums: device.allocate(BATCH * Self::POINT_WORDS)?,
            scratch_sums: device.allocate(2 * scratch_words)?,
            scratch_products: device.allocate(scratch_words)?,
            bytes: device.allocate(8 * BATCH * Self::POINT_WORDS)?,
            groups_at_a_time,
            curve: PhantomData,
        };
        let next = |base: &P| Some((0..WINDOW_BITS).fold(*base, |base, _| base.double()));
        let bases: Vec<P::AffineRepr> = std::iter::successors(Some(P::generator()), next)
            .take(n_windows)
            .map(|base| base.to_affine())
            .collect();
        let mut first = table.multiples.slice_mut(..n_windows * Self::POINT_WORDS);
        device.stream.memcpy_htod(words_of(&bases), &mut first).map_err(device.error("cuMemcpyHtoD"))?;
        // The multiples by 1 … k, plus those by k, are those by k + 1 … 2k.
        let mut known = 1;
        while known < largest_digit {
            let n = known * n_windows;
            let last = (known - 1) * n_windows;
            let pairs = (0..n).flat_map(|entry| [entry as u32, (last + entry % n_windows) as u32]);
            table.set_references(device, &pairs.collect::<Vec<_>>())?;
            let sums = table.multiples.slice(n * Self::POINT_WORDS..2 * n * Self::POINT_WORDS);
            table.add_groups(device, n, 1, &sums)?;
            known *= 2;
        }
        Ok(table)
    }

    fn set_references(&mut self, device: &Device, references: &[u32]) -> Result<(), Error> {
        let mut slice = self.references.slice_mut(..references.len());
        device.stream.memcpy_htod(references, &mut slice).map_err(device.error("cuMemcpyHtoD"))
    }

    /// sums[g] = the sum of the entries of references g·2^levels on, for `n` groups.
    fn add_groups(
        &self,
        device: &Device,
        n: usize,
        levels: u32,
        sums: &CudaView<'_, u64>,
    ) -> Result<(), Error> {
        let mut counts = [0; N_COUNTS];
        counts[N_COUNTS - 1] = (n << levels) as u32;
        let counts = device.upload(&counts)?;
        let groups = GroupSums {
            sums,
            scratch_sums: &self.scratch_sums,
            scratch_products: &self.scratch_products,
            order: &self.references,
            counts: &counts,
            alignment: Alignment { levels },
            groups_at_a_time: self.groups_at_a_time,
        };
        let config = blocks(device.n_multiprocessors as usize, P::GROUP_BLOCK, 0);
        P::add_groups(device, config, &groups, &self.multiples.as_view())
    }

    /// Leaves the multiples of at most [`BATCH`] scalars in `sums`.
    fn multiply_batch(&mut self, device: &Device, scalars: &[Fr]) -> Result<(), Error> {
        let mut slice = self.scalars.slice_mut(..scalars.len() * FR_WORDS);
        device.stream.memcpy_htod(words_of(scalars), &mut slice).map_err(device.error("cuMemcpyHtoD"))?;
        let n = scalars.len() as u32;
        // n scalars in, 16 references each out.
        launch!(
            device,
            "cuzk_fixed_references",
            grid(scalars.len(), BLOCK),
            &self.references,
            &self.scalars,
            &n,
            &self.windows
        )?;
        self.add_groups(device, scalars.len(), LEVELS, &self.sums.as_view())
    }

    /// The words of the multiples of at most [`BATCH`] scalars.
    fn multiply(&mut self, device: &Device, scalars: &[Fr]) -> Result<Vec<u64>, Error> {
        self.multiply_batch(device, scalars)?;
        let sums = self.sums.slice(..scalars.len() * Self::POINT_WORDS);
        device.stream.clone_dtoh(&sums).map_err(device.error("cuMemcpyDtoH"))
    }

    fn multiply_encoded(&mut self, device: &Device, scalars: &[Fr]) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(8 * scalars.len() * Self::POINT_WORDS);
        for scalars in scalars.chunks(BATCH) {
            self.multiply_batch(device, scalars)?;
            let n = scalars.len();
            P::encode(device, grid(n, BLOCK), &self.bytes, &self.sums, n as u32)?;
            let encoded = self.bytes.slice(..8 * n * Self::POINT_WORDS);
            bytes.extend(device.stream.clone_dtoh(&encoded).map_err(device.error("cuMemcpyDtoH"))?);
        }
        Ok(bytes)
    }
}
