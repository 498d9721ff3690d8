//! Parameter files in bellperson's format: reading.
//!
//! All points are uncompressed (G1 96 bytes, G2 192; big-endian coordinates, flag bits on top), all counts are
//! big-endian u32:
//!
//! ```text
//! α₁ β₁ β₂ γ₂ δ₁ δ₂   count ic   count h   count l   count a   count b_g1   count b_g2
//! ```
//!
//! `ic` belongs to the verifying key. `h` has n − 1 points, `l` one for every aux variable; `a` one for every input,
//! then one for every aux variable that occurs in A; `b_g1` and `b_g2` one for every input and aux variable that
//! occurs in B. A point at infinity stands nowhere in the queries.
//!
//! Files are read by positioned reads in blocks, never mapped: a file that shrinks under a mapping kills the process,
//! under a read it is an error with the file's name.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blstrs::{G1Affine, G2Affine};
use cuzk_fault::{Fault, injected};
use cuzk_r1cs::ColumnSums;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

use crate::generate::ComputedPoints;
use crate::{Error, FixedBase, Trapdoor};

/// One of the five queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// τⁱ·Z(τ)/δ in G1.
    H,
    /// (β·Aᵢ(τ) + α·Bᵢ(τ) + Cᵢ(τ))/δ in G1, for the aux variables.
    L,
    /// Aᵢ(τ) in G1.
    A,
    /// Bᵢ(τ) in G1.
    BG1,
    /// Bᵢ(τ) in G2.
    BG2,
}

impl Query {
    /// In the order of the file.
    pub const ALL: [Query; 5] = [Query::H, Query::L, Query::A, Query::BG1, Query::BG2];

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Query::H => "h",
            Query::L => "l",
            Query::A => "a",
            Query::BG1 => "b_g1",
            Query::BG2 => "b_g2",
        }
    }

    const fn point_bytes(self) -> usize {
        match self {
            Query::BG2 => G2Affine::BYTES,
            _ => G1Affine::BYTES,
        }
    }
}

/// Something that can be read at any offset, by several threads at once.
pub trait Source: Send + Sync {
    /// The size in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Fills `bytes` from `offset` on.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// When it was last written to; `None` for what nobody else can write to.
    fn modified(&self) -> io::Result<Option<SystemTime>> {
        Ok(None)
    }
}

impl Source for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }

    fn modified(&self) -> io::Result<Option<SystemTime>> {
        self.metadata()?.modified().map(Some)
    }
}

impl Source for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A point as parameter files store it.
pub(crate) trait Point: Copy + Send + Sync + PrimeCurveAffine {
    const BYTES: usize;

    /// Decodes a point and checks that it is on the curve; `None` if it is not one.
    fn decode_on_curve(bytes: &[u8]) -> Option<Self>;

    /// Decodes a point and checks that it is in the subgroup of order r.
    fn decode_in_subgroup(bytes: &[u8]) -> Option<Self>;

    fn encode(&self, bytes: &mut [u8]);
}

macro_rules! point {
    ($point:ty, $bytes:literal) => {
        impl Point for $point {
            const BYTES: usize = $bytes;

            fn decode_on_curve(bytes: &[u8]) -> Option<Self> {
                // blst's deserialization checks the curve equation although blstrs calls this "unchecked"; the test
                // `points_off_the_curve_are_refused` holds it to that.
                Option::from(<$point>::from_uncompressed_unchecked(bytes.try_into().ok()?))
            }

            fn decode_in_subgroup(bytes: &[u8]) -> Option<Self> {
                Option::from(<$point>::from_uncompressed(bytes.try_into().ok()?))
            }

            fn encode(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_uncompressed());
            }
        }
    };
}

point!(G1Affine, 96);
point!(G2Affine, 192);

/// The verifying key: what a verifier needs, and the head of every parameter file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    /// α in G1.
    pub alpha_g1: G1Affine,
    /// β in G1.
    pub beta_g1: G1Affine,
    /// β in G2.
    pub beta_g2: G2Affine,
    /// γ in G2.
    pub gamma_g2: G2Affine,
    /// δ in G1.
    pub delta_g1: G1Affine,
    /// δ in G2.
    pub delta_g2: G2Affine,
    /// (β·Aᵢ(τ) + α·Bᵢ(τ) + Cᵢ(τ))/γ in G1, one for every input, ONE first.
    pub ic: Vec<G1Affine>,
}

impl VerifyingKey {
    /// The six points before `ic`, and its count.
    const FIXED_BYTES: usize = 3 * G1Affine::BYTES + 3 * G2Affine::BYTES + 4;

    /// Reads the key of a `.vk` file or at the head of a parameter file; the rest of the file is not read. Every point
    /// must be in the subgroup of order r.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Self::read(path, &file)
    }

    fn read(path: &Path, source: &dyn Source) -> Result<Self, Error> {
        let mut layout = Layout::new(path, source)?;
        let fixed = layout.take("verifying key", Self::FIXED_BYTES as u64)?;
        let mut bytes = vec![0; Self::FIXED_BYTES];
        layout.read(&mut bytes, fixed.start)?;
        let mut rest = &bytes[..];
        let mut index = 0..;
        let (alpha_g1, beta_g1) = (take(path, &mut rest, &mut index)?, take(path, &mut rest, &mut index)?);
        let (beta_g2, gamma_g2) = (take(path, &mut rest, &mut index)?, take(path, &mut rest, &mut index)?);
        let (delta_g1, delta_g2) = (take(path, &mut rest, &mut index)?, take(path, &mut rest, &mut index)?);
        let n_ic = u32::from_be_bytes(rest.try_into().expect("four bytes are left")) as usize;
        let extent = layout.take("ic", n_ic as u64 * G1Affine::BYTES as u64)?;
        let mut bytes = vec![0; n_ic * G1Affine::BYTES];
        layout.read(&mut bytes, extent.start)?;
        let mut rest = &bytes[..];
        let mut index = 0..;
        let delta_g1 = if injected(Fault::KeyOrder) { beta_g1 } else { delta_g1 };
        let ic = (0..n_ic).map(|_| take(path, &mut rest, &mut index)).collect::<Result<_, _>>()?;
        Ok(VerifyingKey { alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, ic })
    }

    /// The size of the encoded key.
    pub fn n_bytes(&self) -> usize {
        Self::FIXED_BYTES + self.ic.len() * G1Affine::BYTES
    }

    /// The bytes of a `.vk` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.n_bytes());
        bytes.extend(self.alpha_g1.to_uncompressed());
        bytes.extend(self.beta_g1.to_uncompressed());
        bytes.extend(self.beta_g2.to_uncompressed());
        bytes.extend(self.gamma_g2.to_uncompressed());
        bytes.extend(self.delta_g1.to_uncompressed());
        bytes.extend(self.delta_g2.to_uncompressed());
        bytes.extend((self.ic.len() as u32).to_be_bytes());
        self.ic.iter().for_each(|point| bytes.extend(point.to_uncompressed()));
        bytes
    }
}

/// Takes a point of the verifying key off the front of `bytes`.
fn take<P: Point>(
    path: &Path,
    bytes: &mut &[u8],
    index: &mut impl Iterator<Item = usize>,
) -> Result<P, Error> {
    let (point, rest) = bytes.split_at(P::BYTES);
    *bytes = rest;
    let index = index.next().expect("an endless range");
    P::decode_in_subgroup(point).ok_or_else(|| Error::BadPoint {
        path: path.to_owned(),
        query: "verifying key",
        index,
        problem: "not a point of the subgroup of order r",
    })
}

/// Walks over the parts of a file, checking each length against the file's size before anything is allocated.
struct Layout<'a> {
    path: &'a Path,
    source: &'a dyn Source,
    size: u64,
    end: u64,
}

impl<'a> Layout<'a> {
    fn new(path: &'a Path, source: &'a dyn Source) -> Result<Self, Error> {
        let size = source.size().map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Ok(Layout { path, source, size, end: 0 })
    }

    /// The next `n_bytes` bytes, which must be there.
    fn take(&mut self, query: &'static str, n_bytes: u64) -> Result<Range<u64>, Error> {
        let start = self.end;
        // A count is a u32 and a point at most 192 bytes, so five queries stay far below 2^64.
        self.end += n_bytes;
        if self.end > self.size {
            let path = self.path.to_owned();
            return Err(Error::Truncated { path, query, expected: self.end, found: self.size });
        }
        Ok(start..self.end)
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        self.source
            .read_exact_at(bytes, offset)
            .map_err(|source| Error::Io { path: self.path.to_owned(), source })
    }

    fn count(&mut self, query: &'static str) -> Result<u32, Error> {
        let extent = self.take(query, 4)?;
        let mut count = [0; 4];
        self.read(&mut count, extent.start)?;
        Ok(u32::from_be_bytes(count))
    }
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    n_points: usize,
}

/// The verifying key, and where the points of the queries come from.
pub struct Parameters {
    path: PathBuf,
    size: u64,
    verifying_key: VerifyingKey,
    points: Points,
}

enum Points {
    Stored(StoredPoints),
    Computed(ComputedPoints),
}

/// An open file.
struct StoredPoints {
    source: Box<dyn Source>,
    /// At the time of opening.
    modified: Option<SystemTime>,
    extents: [Extent; 5],
}

impl Parameters {
    /// Opens a file and checks its counts against its size: it must end exactly where its last query does. Reads the
    /// verifying key and the counts, nothing else.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Self::from_source(path.to_owned(), Box::new(file))
    }

    /// As [`Parameters::open`], over any source; `path` stands in messages.
    pub fn from_source(path: PathBuf, source: Box<dyn Source>) -> Result<Self, Error> {
        let modified = source.modified().map_err(|source| Error::Io { path: path.clone(), source })?;
        let verifying_key = VerifyingKey::read(&path, &*source)?;
        let mut layout = Layout::new(&path, &*source)?;
        layout.take("verifying key", verifying_key.n_bytes() as u64)?;
        let mut extents = [Extent { offset: 0, n_points: 0 }; 5];
        for (query, extent) in Query::ALL.into_iter().zip(&mut extents) {
            let n_points = layout.count(query.name())?;
            let bytes = layout.take(query.name(), u64::from(n_points) * query.point_bytes() as u64)?;
            *extent = Extent { offset: bytes.start, n_points: n_points as usize };
        }
        let (size, end) = (layout.size, layout.end);
        if end != size {
            return Err(Error::TrailingBytes { path, expected: end, found: size });
        }
        let points = Points::Stored(StoredPoints { source, modified, extents });
        Ok(Parameters { path, size, verifying_key, points })
    }

    /// Parameters for a known trapdoor that are nowhere written: the same as those of the file that [`crate::generate`] writes, with
    /// their discrete logarithms in memory, 32 bytes a point of L, A and B. Every read multiplies. `name` stands in messages.
    pub fn computed(
        name: PathBuf,
        fixed_base: Box<dyn FixedBase>,
        system: &dyn ColumnSums,
        trapdoor: &Trapdoor,
    ) -> Result<Self, Error> {
        let (verifying_key, points) = ComputedPoints::new(fixed_base, system, trapdoor)?;
        let of_query = |query: Query| 4 + points.n_points(query) * query.point_bytes();
        let size = verifying_key.n_bytes() + Query::ALL.map(of_query).iter().sum::<usize>();
        Ok(Parameters { path: name, size: size as u64, verifying_key, points: Points::Computed(points) })
    }

    /// Refuses a file that was written to since it was opened: what was read may be of two files. (One that was replaced by
    /// renaming another over it stays as it was for whoever has it open.)
    pub fn check_unchanged(&self) -> Result<(), Error> {
        let Points::Stored(stored) = &self.points else { return Ok(()) };
        let io_error = |source| Error::Io { path: self.path.clone(), source };
        let now = (stored.source.size().map_err(io_error)?, stored.source.modified().map_err(io_error)?);
        if now == (self.size, stored.modified) {
            Ok(())
        } else {
            Err(Error::Changed { path: self.path.clone() })
        }
    }

    /// Looks at every point of every query: on the curve, not at infinity, in the subgroup of order r. Proving looks at the
    /// first two only. 30 µs a point in G1 and 60 in G2, on all threads; `progress` hears of the bytes that were looked at.
    pub fn check_points(&self, progress: &(dyn Fn(u64) + Sync)) -> Result<(), Error> {
        // Computed ones are multiples of the generators, by scalars that are not 0.
        let Points::Stored(stored) = &self.points else { return Ok(()) };
        for query in Query::ALL {
            for start in (0..self.n_points(query)).step_by(CHECKED_POINTS) {
                let range = start..self.n_points(query).min(start + CHECKED_POINTS);
                let n_bytes = range.len() * query.point_bytes();
                match query {
                    Query::BG2 => drop(stored.read(&self.path, query, range, decode_fully::<G2Affine>)?),
                    _ => drop(stored.read(&self.path, query, range, decode_fully::<G1Affine>)?),
                }
                progress(n_bytes as u64);
            }
        }
        self.check_unchanged()
    }

    /// The file, for messages; where there is none, what it would be called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The verifying key.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// The number of points of a query.
    pub fn n_points(&self, query: Query) -> usize {
        match &self.points {
            Points::Stored(stored) => stored.extents[query as usize].n_points,
            Points::Computed(points) => points.n_points(query),
        }
    }

    /// Reads points of a query in G1. Each is checked to be on the curve and not at infinity; the subgroup is not
    /// checked. Reads and conversions run on all threads of the current rayon pool.
    ///
    /// Panics when `query` is in G2 or the range is not within the query.
    pub fn read_g1(&self, query: Query, range: Range<usize>) -> Result<Vec<G1Affine>, Error> {
        match &self.points {
            Points::Stored(stored) => stored.read(&self.path, query, range, decode),
            Points::Computed(points) => points.g1(query, range),
        }
    }

    /// As [`Parameters::read_g1`], for the query in G2.
    pub fn read_g2(&self, range: Range<usize>) -> Result<Vec<G2Affine>, Error> {
        match &self.points {
            Points::Stored(stored) => stored.read(&self.path, Query::BG2, range, decode),
            Points::Computed(points) => points.g2(range),
        }
    }
}

impl StoredPoints {
    /// Reads and decodes points; `path` is for messages.
    fn read<P: Point>(
        &self,
        path: &Path,
        query: Query,
        range: Range<usize>,
        decode: impl Fn(&[u8]) -> Result<P, &'static str> + Sync,
    ) -> Result<Vec<P>, Error> {
        let extent = self.extents[query as usize];
        assert_eq!(P::BYTES, query.point_bytes(), "query {} is in the other group", query.name());
        assert!(
            range.start <= range.end && range.end <= extent.n_points,
            "range beyond query {}",
            query.name()
        );
        let mut points = vec![P::identity(); range.len()];
        points.par_chunks_mut(BLOCK_POINTS).enumerate().try_for_each_init(
            Vec::new,
            |bytes, (block, points)| {
                let mut first = range.start + block * BLOCK_POINTS;
                if injected(Fault::BlockRepeated) && first == BLOCK_POINTS {
                    first = 0;
                }
                if injected(Fault::PointIndex) && query == Query::L {
                    first = first.saturating_sub(1);
                }
                bytes.resize(points.len() * P::BYTES, 0);
                self.source
                    .read_exact_at(bytes, extent.offset + (first * P::BYTES) as u64)
                    .map_err(|source| Error::Io { path: path.to_owned(), source })?;
                if injected(Fault::TransferBit) && query == Query::BG2 && first == 0 {
                    bytes[7 * P::BYTES + 100] ^= 1;
                }
                for (index, (point, bytes)) in points.iter_mut().zip(bytes.chunks_exact(P::BYTES)).enumerate()
                {
                    *point = decode(bytes).map_err(|problem| Error::BadPoint {
                        path: path.to_owned(),
                        query: query.name(),
                        index: first + index,
                        problem,
                    })?;
                }
                if injected(Fault::PointsExchanged) && query == Query::BG2 && first == 0 {
                    points.swap(3, 4);
                }
                if injected(Fault::PointSign) && query == Query::H && first == 0 {
                    points[7] = -points[7];
                }
                Ok::<_, Error>(())
            },
        )?;
        Ok(points)
    }
}

/// Points in a positioned read: 1.5 MiB in G1, large enough for a disk and small enough for a cache.
const BLOCK_POINTS: usize = 1 << 14;
/// Points that are looked at between two words of progress.
const CHECKED_POINTS: usize = 1 << 16;

fn decode<P: Point>(bytes: &[u8]) -> Result<P, &'static str> {
    let point = P::decode_on_curve(bytes).ok_or("not a point of the curve")?;
    if bool::from(point.is_identity()) { Err("at infinity") } else { Ok(point) }
}

fn decode_fully<P: Point>(bytes: &[u8]) -> Result<P, &'static str> {
    decode::<P>(bytes)?;
    P::decode_in_subgroup(bytes).ok_or("not in the subgroup of order r")
}
