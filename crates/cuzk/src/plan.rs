//! What a proof will take, told before anything is computed: host memory, and time on the processor.
//!
//! Partitions are proved with all threads each, so memory is that of one, and of another's witness where two are in flight.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use cuzk_cpu::{Arithmetic, CpuTransforms};
use cuzk_filecoin::{KnownCircuit, RegisteredProof};
use cuzk_groth16::{BG2Cuda, Domain, Fr, InFlight, Isa, Synthesis, Transforms, Tuning};
use serde::Serialize;

use crate::failure::Failure;
use crate::memory::{Available, size};

/// What a proof is made on.
pub(crate) struct On<'a> {
    pub(crate) backend: &'a str,
    pub(crate) tuning: &'a Tuning,
    /// The device's memory that a session may take, in bytes, where it is known.
    pub(crate) device_bytes: Option<usize>,
    /// Sessions that work side by side, each on a device; none on the processor.
    pub(crate) devices: usize,
    /// Whether parameters are computed for the run: their logarithms stay in host memory.
    pub(crate) computed: bool,
}

/// What a proof is expected to take.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    /// Host memory at the peak, in bytes.
    pub(crate) host_bytes: u64,
    /// What there is of it, and what keeps it from being more; `null` where the system does not tell.
    pub(crate) available: Option<Available>,
    /// Partitions that are worked on at a time: fewer than asked for where memory is short.
    pub(crate) in_flight: usize,
    /// One partition, parameters loaded, in ms, on the processor; `null` elsewhere.
    pub(crate) partition_ms: Option<f64>,
}

impl Plan {
    /// Of so many partitions with all threads of the pool; `butterfly` is what [`butterfly_seconds`] says, where the time is to be known.
    pub(crate) fn new(
        proof: &RegisteredProof,
        partitions: usize,
        on: &On<'_>,
        available: Option<Available>,
        butterfly: Option<f64>,
    ) -> Result<Self, Failure> {
        let circuit = Circuit::of(proof.known_circuit()?, on.tuning.synthesis);
        let threads = rayon::current_num_threads();
        let arithmetic = Arithmetic::of(on.tuning.isa)?;
        let way = Way::of(on, arithmetic);
        let one = way.bytes(&circuit, threads);
        let more = match (on.tuning.in_flight, &way) {
            (InFlight::One, _) | (_, Way::Reference) => 0,
            (InFlight::Two, _) => circuit.synthesized_bytes(on.tuning.synthesis),
        };
        // On a device, what all sessions have in common is small beside what each has.
        let bytes = |in_flight: usize, sessions: usize| {
            let waiting = (in_flight - sessions) as u64 * more;
            let proving = sessions as u64 * one + waiting;
            if on.computed { circuit.computed_bytes(proving) } else { proving }
        };
        let fits = |bytes| available.as_ref().is_none_or(|there| with_reserve(bytes) <= there.bytes);
        let most = on.devices.clamp(1, partitions.max(1));
        // The most sessions, then partitions that wait for them, that fit; one of each has to.
        let ways = (1..=most).rev().flat_map(|sessions| {
            let waiting = if more > 0 { sessions.min(partitions.saturating_sub(sessions)) } else { 0 };
            [(sessions + waiting, sessions), (sessions, sessions)]
        });
        let ways = ways.map(|(in_flight, sessions)| (in_flight, bytes(in_flight, sessions)));
        let (in_flight, host_bytes) =
            ways.clone().find(|(_, bytes)| fits(*bytes)).unwrap_or((1, bytes(1, 1)));
        Ok(Plan {
            host_bytes,
            available,
            in_flight,
            partition_ms: butterfly.map(|butterfly| circuit.milliseconds(arithmetic, butterfly, threads)),
        })
    }

    /// Refuses what would be killed for its memory, or would wait for a disk.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.available {
            Some(available) if available.bytes < with_reserve(self.host_bytes) => {
                let message = anyhow!(
                    "about {} of host memory are needed, and there are {} (by {}); free some, raise the limit, or prove \
                     elsewhere; `--memory SIZE` tries with so much whatever there is",
                    size(self.host_bytes),
                    size(available.bytes),
                    available.by
                );
                Err(Failure::environment("memory", message))
            }
            _ => Ok(()),
        }
    }

    /// What is needed and what there is, for people.
    pub(crate) fn memory(&self) -> String {
        let there = self.available.as_ref();
        let there =
            there.map_or_else(String::new, |there| format!(", {} there ({})", size(there.bytes), there.by));
        format!("about {} needed{there}", size(self.host_bytes))
    }

    /// One partition.
    pub(crate) fn partition(&self) -> Option<Duration> {
        self.partition_ms.map(|ms| Duration::from_secs_f64(ms / 1000.0))
    }
}

/// Large circuits take up to 3 % more than planned.
fn with_reserve(bytes: u64) -> u64 {
    bytes + bytes / 32
}

/// The numbers that count.
struct Circuit {
    /// Points of the domain.
    n: u64,
    aux: u64,
    /// Scalars that are not bits.
    scalars: u64,
    g1_points: u64,
    g2_points: u64,
    /// Whether a witness takes a walk through the gadgets.
    walked: bool,
}

impl Circuit {
    fn of(known: &KnownCircuit, synthesis: Synthesis) -> Self {
        let n = known.rows.next_power_of_two() as u64;
        let (aux, b_points) = (known.aux as u64, known.b_points as u64);
        let g1_points = n - 1 + aux + known.a_points as u64 + b_points;
        let walked = synthesis != Synthesis::Direct;
        Circuit { n, aux, scalars: known.scalars as u64, g1_points, g2_points: b_points, walked }
    }

    /// What synthesis leaves of a partition.
    fn synthesized_bytes(&self, synthesis: Synthesis) -> u64 {
        match synthesis {
            Synthesis::Direct | Synthesis::Template => SCALAR * self.scalars + self.aux / 8,
            Synthesis::Enforce => SCALAR * (self.aux + 2 * self.n),
        }
    }

    /// With parameters that are computed for the run: what they keep, beside what proving takes; or what computing them takes.
    fn computed_bytes(&self, proving: u64) -> u64 {
        let kept = SCALAR * (self.g1_points - self.n);
        (kept + proving).max(DEVICE_BASE + SCALAR * (3 * self.aux + self.n))
    }

    /// A partition, from what one butterfly takes on one thread.
    fn milliseconds(&self, arithmetic: Arithmetic, butterfly: f64, threads: usize) -> f64 {
        // Butterflies that a uniform term of a sum in G1 takes the time of, and what a variable takes on one thread, in seconds, where its
        // witness is written or walked: by PoReps and updates of 2 KiB on 2, 8 and 16 threads of a 16-core Xeon with IFMA, 2026-11-30
        // (conformance/runs/2026-11-30-xeon-ifma-16/plan.json).
        let term = if is_portable(arithmetic) { 124.0 } else { 181.0 };
        let variable = if self.walked { 0.6e-6 } else { 0.15e-6 };
        /// By which a butterfly of a transform that no cache holds takes longer than one of those that are timed: without it, those PoReps
        /// were planned 0.7 to 1.1 times as long as they took.
        const LARGE: f64 = 1.25;
        /// Of the sums over L, A and B in G1, and B in G2, which costs three in G1.
        const SUMS_OF_SCALARS: u64 = 6;
        let butterflies = 3 * self.n * u64::from(self.n.ilog2());
        let terms = self.n + SUMS_OF_SCALARS * self.scalars;
        let shared = LARGE * butterfly * (butterflies as f64 + term * terms as f64);
        1000.0 * (shared / threads as f64 + variable * self.aux as f64)
    }
}

/// How memory is used.
enum Way<'a> {
    Portable,
    Eight,
    Device(&'a On<'a>),
    Reference,
}

const MIB: u64 = 1 << 20;
const SCALAR: u64 = 32;
/// The program itself, its tables, what allocators keep. This and all below: peaks of the four kinds at 2 KiB with both arithmetics
/// on 2, 8 and 16 threads of a 16-core Xeon, and on its H200, 2026-11-30 (conformance/runs/2026-11-30-xeon-ifma-16/plan.json).
const BASE: u64 = 18 * MIB;
/// What a thread's batches of additions take, where there is so much to do.
const THREAD: u64 = 4 * MIB;

impl<'a> Way<'a> {
    fn of(on: &'a On<'a>, arithmetic: Arithmetic) -> Self {
        match on.backend {
            "reference" => Way::Reference,
            "cuda" => Way::Device(on),
            _ if is_portable(arithmetic) => Way::Portable,
            _ => Way::Eight,
        }
    }

    /// At the peak, which is in the transforms or in the sum over H.
    fn bytes(&self, circuit: &Circuit, threads: usize) -> u64 {
        let &Circuit { n, aux, scalars, g1_points, g2_points, .. } = circuit;
        let threads = threads as u64;
        let points = |g1_bytes| g1_bytes * (g1_points + 2 * g2_points);
        let own = BASE + threads * THREAD.min(72 * n);
        // Windows that are sorted at the same time; of many, some are done before others begin.
        let (windows, more) = (threads.min(8), threads.clamp(8, 17) - 8);
        // A written witness stays for the next one to be written over.
        let kept = if circuit.walked { 0 } else { SCALAR * scalars + aux / 8 };
        let aux_bytes = SCALAR * aux + kept;
        match self {
            // a, b, c and the roots; or the roots, h, its terms, and what sorts each window.
            Way::Portable => {
                own + points(96) + aux_bytes + n * (4 * SCALAR).max(116 + 9 * windows + 3 * more)
            }
            Way::Eight => own + points(128) + aux_bytes + n * (165 + (17 * windows + 11 * more) / 2),
            Way::Reference => BASE + points(96) + SCALAR * aux + n * 4 * SCALAR,
            Way::Device(on) => {
                let block = |bytes, points: u64| bytes * points.min(threads * READ_POINTS);
                // Points as they are read, converted, and put in their places.
                let reading = block(3 * 96, n).max(block(2 * 192, g2_points));
                // A place for every variable in L and A.
                let queries = 96 * (n + 2 * aux + g2_points + 2 * g2_points);
                // The last are what the sums sort and add with, at the least.
                let resident = queries + SCALAR * (6 * n + aux) + SUM_BYTES * n.max(aux);
                // Where that does not fit, the queries stay here and are streamed.
                let streamed = on.device_bytes.is_some_and(|bytes| (bytes as u64) < resident);
                let queries = if streamed { queries } else { 0 };
                let b_g2 = if on.tuning.b_g2_cuda == BG2Cuda::Host { 256 * g2_points } else { 0 };
                let evaluated =
                    if on.tuning.synthesis == Synthesis::Enforce { SCALAR * (2 * n + aux) } else { 0 };
                let witness = SCALAR * scalars + aux / 8 + 4 * (g1_points - n);
                DEVICE_BASE + reading + witness + queries + b_g2 + evaluated
            }
        }
    }
}

/// The driver's own.
const DEVICE_BASE: u64 = 175 * MIB;
/// Of a term of the longest sum on a device: a PoRep of 2 KiB needs 3.63 GiB there in all (H200, 2026-11-30).
const SUM_BYTES: u64 = 460;
/// Points that a thread reads at a time: the backend's.
const READ_POINTS: u64 = cuzk_gpu::READ_POINTS as u64;

fn is_portable(arithmetic: Arithmetic) -> bool {
    arithmetic.name() == Arithmetic::portable().name()
}

/// What a butterfly takes here on one thread, in seconds, by some transforms of 2¹²: some milliseconds.
pub(crate) fn butterfly_seconds(isa: Isa) -> Result<f64, Failure> {
    const LEVELS: u32 = 12;
    let arithmetic = Arithmetic::of(isa)?;
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one_thread = one_thread.map_err(|error| Failure::environment("threads", error))?;
    let domain = Domain::for_rows(1 << LEVELS).expect("far below the largest domain");
    let best = one_thread.install(|| {
        let transforms = CpuTransforms::new(arithmetic, domain);
        let mut values = vec![Fr::from(1); 1 << LEVELS];
        let once = |_| {
            let start = Instant::now();
            transforms.interpolate(&mut values);
            start.elapsed()
        };
        (0..4).map(once).min().expect("four of them")
    });
    Ok(best.as_secs_f64() / f64::from(LEVELS << (LEVELS - 1)))
}

#[cfg(test)]
mod tests {
    use cuzk_filecoin::{Kind, SectorSize};

    use super::*;

    /// So many partitions in flight, and bytes, of a window PoSt of 32 GiB.
    fn planned(partitions: usize, devices: usize, in_flight: InFlight, there: Option<u64>) -> (usize, u64) {
        let tuning = Tuning { in_flight, ..Tuning::default() };
        let backend = if devices > 0 { "cuda" } else { "cpu" };
        let on = On { backend, tuning: &tuning, device_bytes: None, devices, computed: false };
        let proof = RegisteredProof::latest(Kind::WindowPost, SectorSize::GiB32);
        let available = there.map(|bytes| Available { bytes, by: "a test".to_owned() });
        let plan = Plan::new(&proof, partitions, &on, available, None).unwrap();
        (plan.in_flight, plan.host_bytes)
    }

    #[test]
    fn as_many_partitions_are_in_flight_as_fit() {
        use InFlight::{One, Two};
        for devices in [0, 1] {
            let (one, alone) = planned(5, devices, One, None);
            let (two, both) = planned(5, devices, Two, None);
            assert_eq!((one, two), (1, 2));
            assert!(both > alone);
            assert_eq!(planned(1, devices, Two, None), (1, alone));
            assert_eq!(planned(5, devices, Two, Some(with_reserve(both))), (2, both));
            assert_eq!(planned(5, devices, Two, Some(with_reserve(both) - 1)), (1, alone));
            // Refused afterwards.
            assert_eq!(planned(5, devices, Two, Some(0)), (1, alone));
        }
        let (_, alone) = planned(5, 1, One, None);
        let sessions = |partitions, in_flight, there| planned(partitions, 4, in_flight, there).0;
        assert_eq!(planned(5, 4, One, None), (4, 4 * alone));
        assert_eq!(sessions(3, One, None), 3);
        assert_eq!((sessions(5, Two, None), sessions(20, Two, None)), (5, 8));
        assert_eq!(sessions(5, One, Some(with_reserve(2 * alone))), 2);
        assert_eq!(sessions(0, Two, None), 1);
    }
}
