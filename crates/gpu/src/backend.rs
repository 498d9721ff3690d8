//! The backend: parameters resident on the device, one partition at a time.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use blstrs::{G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cudarc::driver::CudaSlice;
use cuzk_cpu::Arithmetic;
use cuzk_cpu::msm::{Bases, Terms};
use cuzk_groth16::{
    BG2Cuda, Backend, Blinding, Columns, Error, MsmResults, Observer, Parameters, Phase, Proof, Query,
    Session, Shape, Step, Tuning, VerifyingKey, WindowChoice, Work, assemble, digest_g1, digest_g2,
    digest_scalars, timed,
};
use cuzk_r1cs::Template;
use ff::Field;
use group::Group;
use rayon::prelude::*;

use crate::device::{Device, Timeline};
use crate::layout::{FR_WORDS, values_of, words_of};
use crate::msm::{Capacity, DeviceCurve, Memory, Order, Scalars};
use crate::ntt::Transforms;
use crate::r1cs::DeviceTemplate;
use crate::upload::{Points, Uploader};

/// Proves on one CUDA device.
#[derive(Clone, Copy, Debug)]
pub struct CudaBackend {
    /// The device's number.
    pub device: usize,
    /// The most of its memory in bytes that a session takes; all that is free without it.
    pub memory_bytes: Option<usize>,
}

/// Points that are read and uploaded at a time: 24 MB in G1.
const READ_POINTS: usize = 1 << 18;
/// Points of a streamed query on the device at a time: 96 MiB in G1. A chunk's sum has some 2 ms of steps in which few threads
/// work.
const CHUNK_POINTS: usize = 1 << 20;

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn prepare(
        &self,
        shape: &Shape,
        parameters: &Parameters,
        tuning: &Tuning,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Session>, Error> {
        timed(observer, Phase::LoadParameters, || {
            shape.check_parameters(parameters)?;
            let device = Device::open(self.device)?;
            let plan = Plan::new(&device, shape, tuning, self.memory_bytes)?;
            let query = |query| {
                load_points(&device, plan.residence, parameters.n_points(query), G1_WORDS, |range| {
                    Ok(words_of(&parameters.read_g1(query, range)?).to_vec())
                })
            };
            let n_b_g2 = parameters.n_points(Query::BG2);
            let b_g2 = match tuning.b_g2_cuda {
                BG2Cuda::Device => {
                    BG2::Device(load_points(&device, plan.residence, n_b_g2, G2_WORDS, |range| {
                        Ok(words_of(&parameters.read_g2(range)?).to_vec())
                    })?)
                }
                BG2Cuda::Host => {
                    let arithmetic = Arithmetic::of(tuning.isa)?;
                    BG2::Host(Bases::read(arithmetic, n_b_g2, |range| parameters.read_g2(range))?)
                }
            };
            let columns = Columns::of(shape);
            let n = shape.domain.n();
            let session = CudaSession {
                h: query(Query::H)?,
                l: query(Query::L)?,
                a: query(Query::A)?,
                b_g1: query(Query::BG1)?,
                b_g2,
                a_columns: device.upload(&columns.a)?,
                b_columns: device.upload(&columns.b)?,
                columns,
                transforms: Transforms::new(&device, shape.domain)?,
                w: device.allocate((shape.n_inputs + shape.n_aux) * FR_WORDS)?,
                abc: device.allocate(3 * n * FR_WORDS)?,
                chunk: device.allocate(plan.chunk_words)?,
                memory: Memory::new(&device, &plan.capacity)?,
                uploader: Uploader::new(&device, tuning.pin)?,
                template: None,
                shape: shape.clone(),
                tuning: *tuning,
                verifying_key: parameters.verifying_key().clone(),
                device,
            };
            session.device.synchronize()?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }
}

/// 64-bit words of a point.
const G1_WORDS: usize = 12;
const G2_WORDS: usize = 24;

/// Where the points of the queries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Residence {
    /// In the device's memory.
    Device,
    /// In the host's, from where they come in chunks for every proof.
    Host,
}

/// What goes where, decided before anything is allocated.
struct Plan {
    residence: Residence,
    capacity: Capacity,
    chunk_words: usize,
}

impl Plan {
    /// Everything on the device where there is room, else the queries in chunks; an error where not even that fits.
    fn new(device: &Device, shape: &Shape, tuning: &Tuning, limit: Option<usize>) -> Result<Self, Error> {
        let (free, _) = device.memory()?;
        let available = limit.map_or(free, |limit| limit.min(free));
        let points = |query| shape.n_points(query) * 8 * G1_WORDS;
        let on_device = tuning.b_g2_cuda == BG2Cuda::Device;
        let b_g2 = if on_device { 2 * points(Query::BG2) } else { 0 };
        let queries = points(Query::H) + points(Query::L) + points(Query::A) + points(Query::BG1) + b_g2;
        let scalars = (6 * shape.domain.n() + shape.n_inputs + shape.n_aux) * 8 * FR_WORDS;
        let columns = 4 * (shape.n_points(Query::A) + shape.n_points(Query::BG1));
        let like = like(tuning, shape);
        let plan = |residence| {
            let most = match residence {
                Residence::Device => usize::MAX,
                Residence::Host => CHUNK_POINTS,
            };
            let largest = [Query::H, Query::L, Query::A].iter().map(|query| shape.n_points(*query)).max();
            let n_g1 = largest.expect("three of them").min(most);
            let mut capacity = Capacity::for_terms::<G1Projective>(device, n_g1, like);
            if on_device {
                let n_g2 = shape.n_points(Query::BG2).min(most);
                capacity = capacity.max(Capacity::for_terms::<G2Projective>(device, n_g2, like));
            }
            let (queries, chunk_words) = match residence {
                Residence::Device => (queries, 0),
                Residence::Host => (0, CHUNK_POINTS * G2_WORDS),
            };
            let needed = queries + scalars + columns + 8 * chunk_words + capacity.bytes();
            (Plan { residence, capacity, chunk_words }, needed)
        };
        let (resident, needed) = plan(Residence::Device);
        if needed <= available {
            return Ok(resident);
        }
        let (streamed, needed) = plan(Residence::Host);
        if needed <= available {
            return Ok(streamed);
        }
        Err(Error::DeviceMemory { device: device.name().to_owned(), needed, available })
    }
}

/// For how many terms windows are chosen, where not for those of each sum.
fn like(tuning: &Tuning, shape: &Shape) -> Option<usize> {
    match tuning.windows {
        WindowChoice::PerMsm => None,
        WindowChoice::Shared => Some(shape.domain.n() - 1),
    }
}

/// Points from the parameter file, by blocks that are read on all threads.
fn load_points(
    device: &Device,
    residence: Residence,
    n: usize,
    words: usize,
    read: impl Fn(Range<usize>) -> Result<Vec<u64>, Error> + Sync,
) -> Result<Points, Error> {
    let block = |start: usize| read(start..n.min(start + READ_POINTS));
    if residence == Residence::Host {
        let mut points = vec![0; n * words];
        points.par_chunks_mut(READ_POINTS * words).enumerate().try_for_each(|(index, points)| {
            points.copy_from_slice(&block(index * READ_POINTS)?);
            Ok::<_, Error>(())
        })?;
        return Ok(Points::Streamed(points));
    }
    let mut points = device.allocate(n * words)?;
    // As many blocks as there are threads are read at a time, then uploaded.
    let starts: Vec<usize> = (0..n).step_by(READ_POINTS).collect();
    for starts in starts.chunks(rayon::current_num_threads()) {
        let blocks: Vec<Vec<u64>> = starts.par_iter().map(|&start| block(start)).collect::<Result<_, _>>()?;
        for (start, block) in starts.iter().zip(&blocks) {
            let mut place = points.slice_mut(start * words..start * words + block.len());
            device.stream.memcpy_htod(block, &mut place).map_err(device.error("cuMemcpyHtoD"))?;
        }
        // The blocks must outlive their copies.
        device.synchronize()?;
    }
    Ok(Points::Resident(points))
}

/// The B query in G2.
enum BG2 {
    Device(Points),
    Host(Bases<G2Affine>),
}

struct CudaSession {
    shape: Shape,
    tuning: Tuning,
    verifying_key: VerifyingKey,
    h: Points,
    l: Points,
    a: Points,
    b_g1: Points,
    b_g2: BG2,
    columns: Columns,
    a_columns: CudaSlice<u32>,
    b_columns: CudaSlice<u32>,
    transforms: Transforms,
    /// The inputs, then the aux variables.
    w: CudaSlice<u64>,
    /// a, b and c, padded to the domain.
    abc: CudaSlice<u64>,
    /// Points of a streamed query.
    chunk: CudaSlice<u64>,
    memory: Memory,
    uploader: Uploader,
    template: Option<DeviceTemplate>,
    device: Device,
}

impl Session for CudaSession {
    fn prove(&mut self, work: Work, blinding: &Blinding, observer: &dyn Observer) -> Result<Proof, Error> {
        if let Work::Packed { template, .. } = &work {
            timed(observer, Phase::LoadParameters, || self.load_template(template))?;
        }
        let start = Instant::now();
        observer.begin(Phase::DeviceTotal);
        let sums = self.sums(work, observer)?;
        observer.end(Phase::DeviceTotal, start.elapsed());
        if observer.wants_digests() {
            let steps =
                [(Step::MsmH, sums.h), (Step::MsmL, sums.l), (Step::MsmA, sums.a), (Step::MsmBG1, sums.b_g1)];
            steps.iter().for_each(|(step, sum)| observer.digest(*step, digest_g1(sum)));
            observer.digest(Step::MsmBG2, digest_g2(&sums.b_g2));
        }
        timed(observer, Phase::Assemble, || assemble(&self.verifying_key, &sums, blinding))
    }
}

impl CudaSession {
    /// The template stays on the device until another one comes.
    fn load_template(&mut self, template: &Arc<Template>) -> Result<(), Error> {
        let counts = (template.n_rows(), template.n_inputs(), template.n_aux());
        assert_eq!(
            counts,
            (self.shape.n_rows, self.shape.n_inputs, self.shape.n_aux),
            "a template of another circuit"
        );
        if !self.template.as_ref().is_some_and(|loaded| loaded.is_of(template)) {
            self.template = None;
            self.template = Some(DeviceTemplate::new(&self.device, template)?);
            self.device.synchronize()?;
        }
        Ok(())
    }

    fn sums(&mut self, work: Work, observer: &dyn Observer) -> Result<MsmResults, Error> {
        let on_host = match &self.b_g2 {
            BG2::Device(_) => None,
            BG2::Host(bases) => Some((bases, host_scalars(&work, &self.columns.b)?)),
        };
        let CudaSession {
            device, w, abc, chunk, template, transforms, memory, uploader, shape, tuning, ..
        } = self;
        let (h, l, a, b_g1, b_g2) = (&self.h, &self.l, &self.a, &self.b_g1, &self.b_g2);
        let (a_columns, b_columns) = (&self.a_columns, &self.b_columns);
        let device = &*device;
        let mut on_device = || {
            let mut timeline = Timeline::new(device, observer)?;
            evaluate(device, &mut timeline, uploader, template, transforms, shape, w, abc, &work)?;
            report(device, observer, shape, w, abc)?;
            timeline.phase(Phase::Ntt, || transforms.quotient(device, abc, tuning.ntt))?;
            report_h(device, observer, shape, abc)?;
            let mut summer = Summer { device, memory, uploader, chunk, timeline, like: like(tuning, shape) };
            let log2_n = shape.domain.log2_n();
            let of_h = Scalars { w: abc.as_view(), order: Order::Reversed(log2_n) };
            let of_l = Scalars { w: w.slice(shape.n_inputs * FR_WORDS..), order: Order::Same };
            let of_a = Scalars { w: w.as_view(), order: Order::Columns(a_columns) };
            let of_b = Scalars { w: w.as_view(), order: Order::Columns(b_columns) };
            let n_b = shape.n_points(Query::BG1);
            let sums = MsmResults {
                h: summer.sum(Phase::MsmH, h, &of_h, shape.n_points(Query::H))?,
                l: summer.sum(Phase::MsmL, l, &of_l, shape.n_points(Query::L))?,
                a: summer.sum(Phase::MsmA, a, &of_a, shape.n_points(Query::A))?,
                b_g1: summer.sum(Phase::MsmBG1, b_g1, &of_b, n_b)?,
                b_g2: match b_g2 {
                    BG2::Device(points) => summer.sum(Phase::MsmBG2, points, &of_b, n_b)?,
                    BG2::Host(_) => G2Projective::identity(),
                },
            };
            summer.timeline.finish()?;
            Ok(sums)
        };
        match on_host {
            None => on_device(),
            Some((bases, scalars)) => {
                let sum =
                    || timed(observer, Phase::MsmBG2, || Terms::new(bases, |index| scalars[index]).sum());
                let (sums, b_g2) = rayon::join(on_device, sum);
                Ok(MsmResults { b_g2, ..sums? })
            }
        }
    }
}

/// The scalars of the B query, in host memory.
fn host_scalars(work: &Work, columns: &[u32]) -> Result<Vec<Fr>, Error> {
    let unpacked;
    let (inputs, aux) = match work {
        Work::Evaluated { inputs, aux, .. } => (inputs, aux),
        Work::Packed { witness, template } => {
            unpacked = witness.unpack_aux(template).expect("witness of another circuit");
            (&witness.inputs, &unpacked)
        }
    };
    let value = |column: &u32| {
        let column = *column as usize;
        *inputs.get(column).unwrap_or_else(|| &aux[column - inputs.len()])
    };
    Ok(columns.par_iter().with_min_len(1 << 12).map(value).collect())
}

/// w, a, b and c on the device.
#[allow(clippy::too_many_arguments)]
fn evaluate(
    device: &Device,
    timeline: &mut Timeline<'_>,
    uploader: &mut Uploader,
    template: &mut Option<DeviceTemplate>,
    transforms: &Transforms,
    shape: &Shape,
    w: &mut CudaSlice<u64>,
    abc: &mut CudaSlice<u64>,
    work: &Work,
) -> Result<(), Error> {
    let n = shape.domain.n();
    match work {
        Work::Packed { witness, .. } => {
            let template = template.as_mut().expect("loaded before");
            timeline.phase(Phase::Upload, || template.upload(device, uploader, w, witness))?;
            timeline.phase(Phase::Evaluate, || {
                template.evaluate(device, w, abc, n)?;
                transforms.complete(device, abc, shape.n_rows)
            })
        }
        Work::Evaluated { inputs, aux, a, b } => {
            assert_eq!(
                (inputs.len(), aux.len()),
                (shape.n_inputs, shape.n_aux),
                "witness of another circuit"
            );
            assert_eq!((a.len(), b.len()), (shape.n_rows, shape.n_rows), "rows of another circuit");
            timeline.phase(Phase::Upload, || {
                uploader.copy(device, &mut w.slice_mut(..), words_of(inputs))?;
                uploader.copy(device, &mut w.slice_mut(inputs.len() * FR_WORDS..), words_of(aux))?;
                uploader.copy(device, &mut abc.slice_mut(..), words_of(a))?;
                uploader.copy(device, &mut abc.slice_mut(n * FR_WORDS..), words_of(b))
            })?;
            timeline.phase(Phase::Evaluate, || transforms.complete(device, abc, shape.n_rows))
        }
    }
}

fn download(device: &Device, slice: &CudaSlice<u64>, first: usize, n: usize) -> Result<Vec<Fr>, Error> {
    let view = slice.slice(first * FR_WORDS..(first + n) * FR_WORDS);
    let words = device.stream.clone_dtoh(&view).map_err(device.error("cuMemcpyDtoH"))?;
    Ok(values_of(&words, Fr::ZERO))
}

/// The digests of w, a, b and c, where they are wanted.
fn report(
    device: &Device,
    observer: &dyn Observer,
    shape: &Shape,
    w: &CudaSlice<u64>,
    abc: &CudaSlice<u64>,
) -> Result<(), Error> {
    if observer.wants_digests() {
        let witness = download(device, w, 0, shape.n_inputs + shape.n_aux)?;
        observer.digest(Step::Witness, digest_scalars(&[&witness]));
        for (vector, step) in [Step::A, Step::B, Step::C].into_iter().enumerate() {
            let rows = download(device, abc, vector * shape.domain.n(), shape.n_rows)?;
            observer.digest(step, digest_scalars(&[&rows]));
        }
    }
    Ok(())
}

/// That of h.
fn report_h(
    device: &Device,
    observer: &dyn Observer,
    shape: &Shape,
    abc: &CudaSlice<u64>,
) -> Result<(), Error> {
    if observer.wants_digests() {
        let (n, log2_n) = (shape.domain.n(), shape.domain.log2_n());
        let reversed = download(device, abc, 0, n)?;
        let place = |index: usize| index.reverse_bits().checked_shr(usize::BITS - log2_n).unwrap_or(0);
        let h: Vec<Fr> = (0..n - 1).map(|index| reversed[place(index)]).collect();
        observer.digest(Step::H, digest_scalars(&[&h]));
    }
    Ok(())
}

/// What all sums of a proof use.
struct Summer<'a> {
    device: &'a Device,
    memory: &'a mut Memory,
    uploader: &'a mut Uploader,
    chunk: &'a mut CudaSlice<u64>,
    timeline: Timeline<'a>,
    like: Option<usize>,
}

impl Summer<'_> {
    fn sum<P: DeviceCurve>(
        &mut self,
        phase: Phase,
        points: &Points,
        scalars: &Scalars<'_>,
        n: usize,
    ) -> Result<P, Error> {
        let Summer { device, memory, uploader, chunk, timeline, like } = self;
        timeline.phase(phase, || match points {
            Points::Resident(points) => {
                let terms = memory.classify::<P>(device, scalars, 0..n, *like)?;
                Ok(memory.sum::<P>(device, &points.as_view(), &terms)?.combine())
            }
            Points::Streamed(points) => {
                let words = 2 * P::FIELD_WORDS;
                let mut sum = P::identity();
                for first in (0..n).step_by(CHUNK_POINTS) {
                    let bases = first..n.min(first + CHUNK_POINTS);
                    uploader.copy(
                        device,
                        &mut chunk.slice_mut(..),
                        &points[bases.start * words..bases.end * words],
                    )?;
                    let terms = memory.classify::<P>(device, scalars, bases, *like)?;
                    sum += memory.sum::<P>(device, &chunk.as_view(), &terms)?.combine();
                }
                Ok(sum)
            }
        })
    }
}
