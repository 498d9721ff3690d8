//! The backend: parameters on the device, or streamed to it where they do not fit; one partition at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use blstrs::{G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cudarc::driver::{CudaEvent, CudaSlice, CudaView};
use cuzk_cpu::Arithmetic;
use cuzk_cpu::msm::{Bases, Terms};
use cuzk_fault::{Fault, injected};
use cuzk_groth16::{
    Accumulation, BG2Cuda, Backend, Blinding, Columns, Error, MsmResults, Ntt, Observer, Parameters, Phase,
    Proof, Query, Session, Shape, Step, Tuning, VerifyingKey, WindowChoice, Work, assemble, digest_g1,
    digest_g2, digest_scalars, timed,
};
use cuzk_r1cs::Template;
use ff::Field;
use rayon::prelude::*;

use crate::device::{Device, Timeline};
use crate::layout::{FR_WORDS, values_of, words_of};
use crate::msm::{Capacity, DeviceCurve, DigitPlan, GROUPS_AT_A_TIME, Memory, Method, Order, Scalars, Sums};
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

/// Free memory that no plan takes: what the driver rounds allocations up by, and the stacks of all threads that can be resident,
/// which it takes at a kernel's first launch: 1,072 bytes for 132 × 2,048 threads of an H200 are 290 MB.
pub const RESERVE_BYTES: usize = 512 << 20;
/// Points that a thread reads at a time, 6 MB in G1, and that are then uploaded: a PoRep of 2 KiB takes the host 0.48 GB by so many on
/// 16 threads, and 1.05 GB by four times as many, which load no faster (0.92 and 1.00 s; Xeon with an H200, 2026-11-30).
pub const READ_POINTS: usize = 1 << 16;
/// Points of a streamed query on the device at a time, 96 MiB in G1, or fewer where there is little memory. A chunk's sum has some
/// 2 ms of steps in which few threads work.
const CHUNK_POINTS: [usize; 2] = [1 << 20, 1 << 18];

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn prepare(
        &self,
        shape: &Shape,
        template: Option<&Arc<Template>>,
        parameters: &Parameters,
        tuning: &Tuning,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Session>, Error> {
        timed(observer, Phase::LoadParameters, || {
            shape.check_parameters(parameters)?;
            let device = Device::open(self.device)?;
            let plan = Plan::new(&device, shape, template, tuning, self.memory_bytes)?;
            plan.tell(observer);
            let columns = Columns::of(shape);
            let load = |places: &Places<'_>, query| {
                load_points(&device, plan.residence, places, G1_WORDS, |range| {
                    Ok(words_of(&parameters.read_g1(query, range)?).to_vec())
                })
            };
            let b_places = Places::all(shape.n_points(Query::BG1));
            let b_g2 = match tuning.b_g2_cuda {
                BG2Cuda::Device => {
                    BG2::Device(load_points(&device, plan.residence, &b_places, G2_WORDS, |range| {
                        Ok(words_of(&parameters.read_g2(range)?).to_vec())
                    })?)
                }
                BG2Cuda::Host => {
                    let arithmetic = Arithmetic::of(tuning.isa)?;
                    BG2::Host(Bases::read(arithmetic, b_places.n, |range| parameters.read_g2(range))?)
                }
            };
            let (n, n_variables) = (shape.domain.n(), n_variables(shape));
            let l_places = Places { n: n_variables, of: Of::From(shape.n_inputs), n_points: shape.n_aux };
            let a_places = Places { n: n_variables, of: Of::Columns(&columns.a), n_points: columns.a.len() };
            let session = CudaSession {
                h: load(&Places::all(n - 1), Query::H)?,
                l: load(&l_places, Query::L)?,
                a: load(&a_places, Query::A)?,
                b_g1: load(&b_places, Query::BG1)?,
                b_g2,
                b_columns: device.upload(&columns.b)?,
                columns,
                transforms: Transforms::new(&device, shape.domain)?,
                w: device.allocate(n_variables * FR_WORDS)?,
                abc: device.allocate(3 * n * FR_WORDS)?,
                template: template.map(|template| DeviceTemplate::new(&device, template)).transpose()?,
                chunks: [device.allocate(plan.chunk_words)?, device.allocate(plan.chunk_words)?],
                memory: Memory::new(&device, &plan.capacity, &plan.method)?,
                method: plan.method,
                memory_bytes: plan.needed,
                uploader: Uploader::new(&device, tuning.pin)?,
                shape: shape.clone(),
                ntt: tuning.ntt,
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

fn n_variables(shape: &Shape) -> usize {
    shape.n_inputs + shape.n_aux
}

/// Where the points of the queries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Residence {
    /// In the device's memory.
    Device,
    /// In the host's, from where they come in chunks of so many points for every proof.
    Host {
        /// Points.
        chunk: usize,
    },
}

/// What goes where, decided before anything is allocated.
struct Plan {
    residence: Residence,
    method: Method,
    capacity: Capacity,
    chunk_words: usize,
    /// Bytes that a session takes, those that would keep the queries on the device, and those there are.
    needed: usize,
    needed_resident: usize,
    available: usize,
}

impl Plan {
    /// Everything on the device where there is room, else the queries in chunks; an error where not even that fits.
    fn new(
        device: &Device,
        shape: &Shape,
        template: Option<&Arc<Template>>,
        tuning: &Tuning,
        limit: Option<usize>,
    ) -> Result<Self, Error> {
        let (free, _) = device.memory()?;
        let free = free.saturating_sub(RESERVE_BYTES);
        let available = limit.map_or(free, |limit| limit.min(free));
        let like = match tuning.windows {
            WindowChoice::PerMsm => None,
            WindowChoice::Shared => Some(shape.domain.n() - 1),
        };
        let at_a_time = match tuning.accumulation {
            Accumulation::Xyzz => &GROUPS_AT_A_TIME[..1],
            Accumulation::Affine => &GROUPS_AT_A_TIME[..],
        };
        let plan = |residence, groups_at_a_time| {
            let method = Method { accumulation: tuning.accumulation, like, groups_at_a_time };
            Plan::of(device, shape, template, tuning.b_g2_cuda, residence, method)
        };
        let in_chunks = CHUNK_POINTS.map(|chunk| Residence::Host { chunk });
        let residences = [Residence::Device].into_iter().chain(in_chunks);
        let plans: Vec<Plan> = residences
            .flat_map(|residence| at_a_time.iter().map(move |&groups| (residence, groups)))
            .map(|(residence, groups)| plan(residence, groups))
            .collect();
        let of_residents = plans.iter().filter(|plan| plan.residence == Residence::Device);
        let needed_resident = of_residents.map(|plan| plan.needed).min().expect("one of them");
        let least = plans.iter().map(|plan| plan.needed).min().expect("one of them");
        let fitting = plans.into_iter().find(|plan| plan.needed <= available);
        fitting.map(|plan| Plan { needed_resident, available, ..plan }).ok_or_else(|| Error::DeviceMemory {
            device: device.name().to_owned(),
            needed: least,
            available,
        })
    }

    fn of(
        device: &Device,
        shape: &Shape,
        template: Option<&Arc<Template>>,
        b_g2: BG2Cuda,
        residence: Residence,
        method: Method,
    ) -> Self {
        let n_b = shape.n_points(Query::BG1);
        let n_b_g2 = if b_g2 == BG2Cuda::Device { n_b } else { 0 };
        // L and A have a place for every variable.
        let largest = (shape.domain.n() - 1).max(n_variables(shape)).max(n_b);
        let (most, chunk_words) = match residence {
            Residence::Device => (usize::MAX, 0),
            Residence::Host { chunk } => (chunk, chunk.min(largest) * G2_WORDS),
        };
        let capacity = Capacity::for_terms::<G1Projective>(device, largest.min(most), &method)
            .max(Capacity::for_terms::<G2Projective>(device, n_b_g2.min(most), &method));
        let g1_points = shape.domain.n() - 1 + 2 * n_variables(shape) + n_b;
        let queries = match residence {
            Residence::Device => 8 * (G1_WORDS * g1_points + G2_WORDS * n_b_g2),
            Residence::Host { .. } => 0,
        };
        let scalars = (6 * shape.domain.n() + n_variables(shape)) * 8 * FR_WORDS;
        let template = template.map_or(0, |template| DeviceTemplate::bytes(template));
        let needed = queries + scalars + template + 4 * n_b + 2 * 8 * chunk_words + capacity.bytes();
        Plan { residence, method, capacity, chunk_words, needed, needed_resident: 0, available: 0 }
    }

    fn tell(&self, observer: &dyn Observer) {
        let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
        if self.residence != Residence::Device {
            observer.note(format!(
                "the parameters come from host memory for every proof: to keep them on the device, {:.2} GiB of its memory \
                 would be needed, and there are {:.2} for this session ({:.2} are taken)",
                gib(self.needed_resident),
                gib(self.available),
                gib(self.needed)
            ));
        }
    }
}

/// Where a query's points are put among the places that have scalars; the others are infinity.
struct Places<'a> {
    n: usize,
    n_points: usize,
    of: Of<'a>,
}

enum Of<'a> {
    /// Point i is at place i and so many more.
    From(usize),
    /// At `columns[i]`, which ascend.
    Columns(&'a [u32]),
}

impl Places<'_> {
    /// A place a point.
    fn all(n: usize) -> Self {
        Places { n, n_points: n, of: Of::From(0) }
    }

    fn of(&self, point: usize) -> usize {
        match self.of {
            Of::From(first) => first + point,
            Of::Columns(columns) => columns[point] as usize,
        }
    }

    /// The places from the first of these points, or from the beginning, to the next point, or to the end.
    fn around(&self, points: &Range<usize>) -> Range<usize> {
        let start = if points.start == 0 { 0 } else { self.of(points.start) };
        let end = if points.end == self.n_points { self.n } else { self.of(points.end) };
        start..end
    }

    /// The words of these places, by `read` of the points.
    fn words(
        &self,
        points: Range<usize>,
        n_words: usize,
        read: impl Fn(Range<usize>) -> Result<Vec<u64>, Error>,
    ) -> Result<Vec<u64>, Error> {
        let places = self.around(&points);
        if points.len() == places.len() {
            return read(points);
        }
        let mut words = vec![0; places.len() * n_words];
        for (point, read) in points.clone().zip(read(points)?.chunks_exact(n_words)) {
            let place = (self.of(point) - places.start) * n_words;
            words[place..place + n_words].copy_from_slice(read);
        }
        Ok(words)
    }
}

/// Points from the parameter file, by blocks that are read on all threads.
fn load_points(
    device: &Device,
    residence: Residence,
    places: &Places<'_>,
    n_words: usize,
    read: impl Fn(Range<usize>) -> Result<Vec<u64>, Error> + Sync,
) -> Result<Points, Error> {
    let n = places.n_points;
    let all = places.n * n_words;
    let (n_on_device, n_on_host) = if residence == Residence::Device { (all, 0) } else { (0, all) };
    let (mut on_device, mut on_host) = (device.allocate(n_on_device)?, vec![0; n_on_host]);
    // As many blocks as there are threads are read at a time. A query without points has one block of none.
    let starts: Vec<usize> = (0..n.max(1)).step_by(READ_POINTS).collect();
    for starts in starts.chunks(rayon::current_num_threads()) {
        let block = |start: usize| start..n.min(start + READ_POINTS);
        let mut blocks: Vec<Vec<u64>> = (starts.par_iter())
            .map(|&start| places.words(block(start), n_words, &read))
            .collect::<Result<_, _>>()?;
        if injected(Fault::DevicePoints) {
            blocks[0][0] ^= 1;
        }
        for (&start, words) in starts.iter().zip(&blocks) {
            let first = places.around(&block(start)).start * n_words;
            match residence {
                Residence::Host { .. } => on_host[first..first + words.len()].copy_from_slice(words),
                Residence::Device => {
                    let mut place = on_device.slice_mut(first..first + words.len());
                    device.stream.memcpy_htod(words, &mut place).map_err(device.error("cuMemcpyHtoD"))?;
                }
            }
        }
        // The blocks must outlive their copies.
        device.synchronize()?;
    }
    Ok(match residence {
        Residence::Host { chunk } => Points::Streamed { words: on_host, n: places.n, chunk },
        Residence::Device => Points::Resident(on_device),
    })
}

/// The B query in G2.
enum BG2 {
    Device(Points),
    Host(Bases<G2Affine>),
}

struct CudaSession {
    /// First, so that what it copies has arrived before any memory is given back.
    uploader: Uploader,
    shape: Shape,
    ntt: Ntt,
    verifying_key: VerifyingKey,
    h: Points,
    /// A place for every variable, as in w; so has A.
    l: Points,
    a: Points,
    b_g1: Points,
    b_g2: BG2,
    columns: Columns,
    b_columns: CudaSlice<u32>,
    transforms: Transforms,
    /// The inputs, then the aux variables.
    w: CudaSlice<u64>,
    /// a, b and c, padded to the domain.
    abc: CudaSlice<u64>,
    /// Points of streamed queries: one is summed while the other is filled.
    chunks: [CudaSlice<u64>; 2],
    memory: Memory,
    method: Method,
    /// What all of it takes.
    memory_bytes: usize,
    template: Option<DeviceTemplate>,
    device: Device,
}

impl Session for CudaSession {
    fn device_memory_bytes(&self) -> Option<u64> {
        Some(self.memory_bytes as u64)
    }

    fn prove(&mut self, work: Work, blinding: &Blinding, observer: &dyn Observer) -> Result<Proof, Error> {
        let start = Instant::now();
        observer.begin(Phase::DeviceTotal);
        let sums = self.sums(&work, observer)?;
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
    fn sums(&mut self, work: &Work, observer: &dyn Observer) -> Result<MsmResults, Error> {
        let CudaSession { device, w, abc, chunks, template, transforms, memory, uploader, shape, .. } = self;
        let (h, l, a, b_g1) = (&self.h, &self.l, &self.a, &self.b_g1);
        let b_g2 = match &self.b_g2 {
            BG2::Device(points) => Some(points),
            BG2::Host(_) => None,
        };
        let (device, b_columns, like, ntt) = (&*device, &self.b_columns, self.method.like, self.ntt);
        let mut on_device = || {
            let mut timeline = Timeline::new(device, observer)?;
            evaluate(device, &mut timeline, uploader, template, transforms, shape, w, abc, work)?;
            report(device, observer, shape, w, abc)?;
            timeline.phase(Phase::Ntt, || transforms.quotient(device, abc, ntt))?;
            let groups = [vec![h], vec![l, a], [b_g1].into_iter().chain(b_g2).collect()];
            let mut feed = Feed::new(device, uploader, chunks, &groups);
            feed.advance()?;
            report_h(device, observer, shape, abc)?;

            let mut summer = Summer { device, memory, feed, timeline, like };
            let (n, log2_n) = (shape.domain.n(), shape.domain.log2_n());
            let of_h = Scalars { w: abc.as_view(), order: Order::Reversed(log2_n) };
            let of_w = Scalars { w: w.as_view(), order: Order::Same };
            let of_b = Scalars { w: w.as_view(), order: Order::Columns(b_columns) };
            let (h, _) = summer.sums::<G1Projective, G1Projective>(&of_h, n - 1, (Phase::MsmH, h), None)?;
            let (l, a) = summer.sums(&of_w, n_variables(shape), (Phase::MsmL, l), Some((Phase::MsmA, a)))?;
            let b_g2 = b_g2.map(|points| (Phase::MsmBG2, points));
            let (b_g1, b_g2) = summer.sums(&of_b, shape.n_points(Query::BG1), (Phase::MsmBG1, b_g1), b_g2)?;
            let Summer { mut timeline, feed, .. } = summer;
            timeline.add(Phase::Upload, feed.uploads);
            timeline.finish()?;
            Ok::<_, Error>(MsmResults {
                h: total(&h),
                l: total(&l),
                a: total(&a),
                b_g1: total(&b_g1),
                b_g2: total(&b_g2),
            })
        };
        match &self.b_g2 {
            BG2::Device(_) => on_device(),
            BG2::Host(bases) => {
                let scalars = host_scalars(work, &self.columns.b)?;
                let sum =
                    || timed(observer, Phase::MsmBG2, || Terms::new(bases, |index| scalars[index]).sum());
                let (sums, b_g2) = rayon::join(on_device, sum);
                Ok(MsmResults { b_g2, ..sums? })
            }
        }
    }
}

/// The sum over a query from those of its chunks.
fn total<P: DeviceCurve>(sums: &[Sums<P>]) -> P {
    sums.iter().fold(P::identity(), |total, sums| total + sums.combine())
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
        Work::Packed { witness, template: of_witness } => {
            let template = template.as_mut().expect("a session that was prepared with a template");
            assert!(template.is_of(of_witness), "a witness of another template");
            timeline.phase(Phase::Upload, || {
                template.upload(device, uploader, w, witness)?;
                device.wait(&uploader.arrival(device)?)
            })?;
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
                uploader.copy(device, &mut abc.slice_mut(n * FR_WORDS..), words_of(b))?;
                device.wait(&uploader.arrival(device)?)
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

/// The ranges of a query's points that are summed at a time.
fn ranges(n: usize, points: &Points) -> impl Iterator<Item = Range<usize>> {
    let at_a_time = match points {
        Points::Resident(_) => n.max(1),
        Points::Streamed { chunk, .. } => *chunk,
    };
    (0..n.max(1)).step_by(at_a_time).map(move |start| start..n.min(start + at_a_time))
}

/// Brings the chunks of streamed queries over, the next one while one is summed.
struct Feed<'a> {
    device: &'a Device,
    uploader: &'a mut Uploader,
    chunks: &'a mut [CudaSlice<u64>; 2],
    /// What is still to come, in the order of the sums.
    pieces: VecDeque<&'a [u64]>,
    /// Of each piece that was begun: since when it was under way, and when it had arrived.
    uploads: Vec<(CudaEvent, CudaEvent)>,
}

impl<'a> Feed<'a> {
    /// For queries that are summed chunk by chunk, group after group; those of a group, which have one plan, in turn.
    fn new(
        device: &'a Device,
        uploader: &'a mut Uploader,
        chunks: &'a mut [CudaSlice<u64>; 2],
        groups: &[Vec<&'a Points>],
    ) -> Self {
        let mut pieces = VecDeque::new();
        for group in groups {
            let streamed = group.iter().filter_map(|points| match points {
                Points::Resident(_) => None,
                Points::Streamed { words, n, .. } => Some((words, *n)),
            });
            let streamed: Vec<(&'a Vec<u64>, usize)> = streamed.collect();
            let Some((_, n)) = streamed.first() else { continue };
            for range in ranges(*n, group[0]) {
                let piece = |(words, n): &(&'a Vec<u64>, usize)| {
                    let n_words = words.len() / (*n).max(1);
                    &words[range.start * n_words..range.end * n_words]
                };
                pieces.extend(streamed.iter().map(piece));
            }
        }
        Feed { device, uploader, chunks, pieces, uploads: vec![] }
    }

    /// Begins to bring the next piece over, where there is one. The sum before the one under way must have been collected.
    fn advance(&mut self) -> Result<(), Error> {
        if let Some(piece) = self.pieces.pop_front() {
            let start = self.uploader.arrival(self.device)?;
            self.uploader.copy(self.device, &mut self.chunks[0].slice_mut(..), piece)?;
            self.uploads.push((start, self.uploader.arrival(self.device)?));
        }
        Ok(())
    }

    /// The piece that has been brought over, for work that is submitted from here on.
    fn take(&mut self) -> Result<CudaView<'_, u64>, Error> {
        self.chunks.swap(0, 1);
        let (_, arrival) = self.uploads.last().expect("a piece a sum");
        self.device.wait(arrival)?;
        Ok(self.chunks[1].as_view())
    }
}

/// What all sums of a proof use.
struct Summer<'a> {
    device: &'a Device,
    memory: &'a mut Memory,
    feed: Feed<'a>,
    timeline: Timeline<'a>,
    like: Option<usize>,
}

type Task<'a> = (Phase, &'a Points);
/// The sums over a query's chunks.
type ByChunk<P> = Vec<Sums<P>>;

impl Summer<'_> {
    /// The sums over one or two queries of `n` points, chunk by chunk, whose points have the same scalars. The first one's phase
    /// has the plan.
    fn sums<P: DeviceCurve, Q: DeviceCurve>(
        &mut self,
        scalars: &Scalars<'_>,
        n: usize,
        first: Task<'_>,
        second: Option<Task<'_>>,
    ) -> Result<(ByChunk<P>, ByChunk<Q>), Error> {
        let mut sums = (vec![], vec![]);
        for bases in ranges(n, first.1) {
            let Summer { device, memory, timeline, like, .. } = self;
            let plan = timeline.phase(first.0, || memory.plan::<P>(device, scalars, bases, *like))?;
            sums.0.push(self.sum(first, &plan)?);
            if let Some(second) = second {
                sums.1.push(self.sum(second, &plan)?);
            }
        }
        Ok(sums)
    }

    fn sum<P: DeviceCurve>(&mut self, (phase, points): Task<'_>, plan: &DigitPlan) -> Result<Sums<P>, Error> {
        let Summer { device, memory, feed, timeline, .. } = self;
        timeline.phase(phase, || {
            match points {
                Points::Resident(points) => memory.submit::<P>(device, &points.as_view(), plan)?,
                Points::Streamed { .. } => memory.submit::<P>(device, &feed.take()?, plan)?,
            }
            feed.advance()?;
            memory.collect(device, plan)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points with one word, their number and one more, so that infinity is a 0.
    fn placed(places: &Places<'_>, at_a_time: usize) -> Vec<u64> {
        let read = |points: Range<usize>| Ok(points.map(|point| point as u64 + 1).collect());
        let starts = (0..places.n_points.max(1)).step_by(at_a_time);
        let mut placed = vec![];
        for start in starts {
            let points = start..places.n_points.min(start + at_a_time);
            assert_eq!(places.around(&points).start, placed.len());
            placed.extend(places.words(points, 1, read).unwrap());
        }
        placed
    }

    #[test]
    fn every_place_has_its_point_or_infinity() {
        for at_a_time in 1..8 {
            assert_eq!(placed(&Places::all(5), at_a_time), [1, 2, 3, 4, 5]);
            let after = Places { n: 5, n_points: 3, of: Of::From(2) };
            assert_eq!(placed(&after, at_a_time), [0, 0, 1, 2, 3]);
            let columns = [1, 2, 5, 6];
            let some = Places { n: 9, n_points: 4, of: Of::Columns(&columns) };
            assert_eq!(placed(&some, at_a_time), [0, 1, 2, 0, 0, 3, 4, 0, 0]);
            let none = Places { n: 3, n_points: 0, of: Of::Columns(&[]) };
            assert_eq!(placed(&none, at_a_time), [0, 0, 0]);
        }
    }
}
