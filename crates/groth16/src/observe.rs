//! Phases, steps, and the observer that hears of them.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Digest;

macro_rules! names {
    ($(#[$meta:meta])* $type:ident { $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $type { $($(#[$variant_meta])* $variant,)* }

        impl $type {
            /// All of them, in order of occurrence.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            /// The name in reports and golden cases.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.name())
            }
        }
    };
}

names! {
    /// A timed step of proving; the names are the schema of reports. Phases can contain others (`synthesis` is
    /// `witness` and `evaluate`; `total` is everything).
    Phase {
        /// Reading and decoding the input.
        Decode = "decode",
        /// Identity, counts, ranges, vanilla proofs.
        Check = "check",
        /// Reading and converting the parameters.
        LoadParameters = "load_parameters",
        /// The assignment.
        Witness = "witness",
        /// A·w and B·w.
        Evaluate = "evaluate",
        /// Witness and evaluation, where one walk does both.
        Synthesis = "synthesis",
        /// From host to device.
        Upload = "upload",
        /// The transforms that yield h.
        Ntt = "ntt",
        /// The sum over the H query.
        MsmH = "msm_h",
        /// The sum over the L query, without the scalars 0 and 1.
        MsmL = "msm_l",
        /// The sum over the A query, without the scalars 0 and 1.
        MsmA = "msm_a",
        /// The sum over the B query in G1, without the scalars 0 and 1.
        MsmBG1 = "msm_b_g1",
        /// The sum over the B query in G2, without the scalars 0 and 1.
        MsmBG2 = "msm_b_g2",
        /// The terms of the last four sums whose scalar is 1.
        Bits = "bits",
        /// From the sums to the proof.
        Assemble = "assemble",
        /// From the proofs of all partitions to their aggregate, where there is one.
        Aggregate = "aggregate",
        /// Upstream's verifier on the proof.
        Verify = "verify",
        /// Writing the proof.
        Write = "write",
        /// From packed witness in host memory to five points in host memory.
        DeviceTotal = "device_total",
        /// Everything.
        Total = "total",
    }
}

names! {
    /// An intermediate value whose digest a golden case holds, in order of computation.
    Step {
        /// Inputs (ONE first), then aux variables.
        Witness = "witness",
        /// A·w, one value a row, not padded to the domain.
        A = "a",
        /// B·w.
        B = "b",
        /// a∘b, which is C·w for a satisfied statement.
        C = "c",
        /// The n − 1 coefficients of the quotient, lowest first.
        H = "h",
        /// Σ hⱼ·Hⱼ.
        MsmH = "msm_h",
        /// Σ wᵢ·Lᵢ.
        MsmL = "msm_l",
        /// Σ wᵢ·Aᵢ.
        MsmA = "msm_a",
        /// Σ wᵢ·Bᵢ in G1.
        MsmBG1 = "msm_b_g1",
        /// Σ wᵢ·Bᵢ in G2.
        MsmBG2 = "msm_b_g2",
    }
}

/// What a phase ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Threads of this program.
    Host,
    /// A device.
    Device,
}

/// Hears of phases and, on request, of digests of intermediate values. Methods may be called from any thread.
pub trait Observer: Sync {
    /// `phase` has begun.
    fn begin(&self, phase: Phase);

    /// `phase` has ended; it may come several times and its times add up.
    fn end(&self, phase: Phase, elapsed: Duration);

    /// `phase` ran on a device from `start` on, as the device's own clock has it. Told afterwards, instead of its beginning and
    /// end.
    fn on_device(&self, phase: Phase, start: Instant, elapsed: Duration) {
        let _ = start;
        self.begin(phase);
        self.end(phase, elapsed);
    }

    /// What a user should know about how the work is done.
    fn note(&self, message: String) {
        let _ = message;
    }

    /// Whether digests are to be computed; they cost a second or so at 2²² rows.
    fn wants_digests(&self) -> bool;

    /// The digest of an intermediate value. Called only when [`Observer::wants_digests`] says so.
    fn digest(&self, step: Step, digest: Digest);
}

/// An observer that ignores everything.
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _: Phase) {}
    fn end(&self, _: Phase, _: Duration) {}
    fn wants_digests(&self) -> bool {
        false
    }
    fn digest(&self, _: Step, _: Digest) {}
}

/// Runs `work` as `phase`.
pub fn timed<T>(observer: &dyn Observer, phase: Phase, work: impl FnOnce() -> T) -> T {
    observer.begin(phase);
    let start = Instant::now();
    let result = work();
    observer.end(phase, start.elapsed());
    result
}
