//! Faults on purpose: what a conformance suite has to notice, or it shows nothing.
//!
//! A build of the profile `faults` can do one thing wrong: the [`Fault`] that the environment variable `CUZK_FAULT` names, at the
//! place where [`injected`] asks for it. All other builds have none of them: there [`injected`] is the constant `false`. The profile sets the
//! cfg `fault_injection` (`build.rs`), which compiles in no other, so no release build can have it.
//!
//! ```console
//! cargo build --profile faults --bin cuzk
//! cuzk-conformance faults --binary target/faults/cuzk
//! ```
#![forbid(unsafe_code)]

#[cfg(all(fault_injection, not(faults_allowed)))]
compile_error!("faults on purpose are for `--profile faults` alone");

/// The environment variable that names the fault; empty is as good as none.
pub const VARIABLE: &str = "CUZK_FAULT";

macro_rules! faults {
    ($($area:ident { $(#[doc = $what:literal] $fault:ident = $name:literal, $case:literal, $tuning:literal, $seen:literal;)* })*) => {
        /// Something that can be done wrong. Many of them go wrong for some data only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[doc = $what] $fault,)*)* }

        /// All of them, by area.
        #[cfg(fault_injection)]
        pub const ALL: &[Description] = &[$($(Description {
            fault: Fault::$fault,
            name: $name,
            area: stringify!($area),
            what: $what.trim_ascii(),
            case: $case,
            tuning: $tuning,
            seen: $seen,
        },)*)*];
    };
}

/// A fault, and how it is to be noticed.
#[cfg(fault_injection)]
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The fault.
    pub fault: Fault,
    /// Its name in `CUZK_FAULT`.
    pub name: &'static str,
    /// The part of the prover that does wrong.
    pub area: &'static str,
    /// What it does.
    pub what: &'static str,
    /// A golden case that shows it.
    pub case: &'static str,
    /// Values of axes for it, as `--tune` takes them; `backend=cuda` for a device.
    pub tuning: &'static str,
    /// What the suite has to say of that case: the step that goes wrong, in its words. Empty where it sees nothing.
    pub seen: &'static str,
}

// Every line: the fault's name, a golden case, values of axes, and what the suite has to say.
faults! {
    ff {
        /// Fp: the carry into the limb 3 of a sum is lost.
        FpCarry = "fp_carry", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
        /// Fp: a difference below 0 whose lowest limb is even is not brought back by p.
        FpBorrow = "fp_borrow", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
        /// Fp: 0 − y is y if limb 4 of y is odd.
        FpNegative = "fp_negative", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
        /// Fp, eight at a time: the carry into the highest limb is lost.
        FpEightCarry = "fp_eight_carry", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: msm_h differs first";
        /// Fr, eight at a time: reduction leaves out the upper halves of the products with the quotient.
        FrEightReduction = "fr_eight_reduction", "winning-post-2kib-v1/valid", "isa=avx512ifma,synthesis=template", "partition 0: h differs first";
        /// Fp2, eight at a time: u² is 1.
        Fp2EightSign = "fp2_eight_sign", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: msm_b_g2 differs first";
    }
    ec {
        /// Two equal points are taken for opposite ones.
        EqualX = "equal_x", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_l differs first";
        /// The sum of infinity in a bucket and a point is infinity.
        InfinityInBucket = "infinity_in_bucket", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
        /// Of every 1024th sum in a batch, x is that of the left operand's double.
        ChordOperand = "chord_operand", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
        /// The last of the chains of buckets is passed over.
        ChainLost = "chain_lost", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
        /// Eight at a time: equal points are taken for opposite ones.
        EightEqualX = "eight_equal_x", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: msm_l differs first";
        /// Eight at a time: the sum of infinity in lane 7 and a point is infinity.
        EightInfinityInLane = "eight_infinity_in_lane", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: msm_l differs first";
    }
    ntt {
        /// One root of one level is its neighbour.
        Twiddle = "twiddle", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: h differs first";
        /// The coset's shift is left out at one level of halving.
        CosetShift = "coset_shift", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: h differs first";
        /// Interpolation on the domain does not divide by n.
        NotDivided = "not_divided", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: h differs first";
        /// One pair of tiles stays in bit-reversed order.
        BitReversal = "bit_reversal", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: h differs first";
        /// Six transforms: c is not subtracted from a·b on the coset.
        CNotSubtracted = "c_not_subtracted", "winning-post-2kib-v1/valid", "ntt=six", "partition 0: h differs first";
        /// Seven transforms: the divisor has the other sign.
        Divisor = "divisor", "winning-post-2kib-v1/valid", "ntt=seven", "partition 0: h differs first";
        /// Eight at a time: the twiddles of odd and even columns are exchanged in one table.
        EightTwiddle = "eight_twiddle", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: h differs first";
        /// Eight at a time: the coset's factors of rows are not in bit-reversed order.
        EightRowScale = "eight_row_scale", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: h differs first";
    }
    msm {
        /// The highest window is skipped.
        WindowSkipped = "window_skipped", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// The windows above the lowest are shifted by a bit less.
        WindowShift = "window_shift", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// Negative digits count as positive ones.
        DigitSign = "digit_sign", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// A scalar above (r − 1)/2 with an odd lowest limb keeps its magnitude and loses its sign.
        ScalarSign = "scalar_sign", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// Terms with the greatest digit go to the bucket below.
        GreatestDigit = "greatest_digit", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// The last scalar 1 of each piece of 2^14 terms is passed over.
        OneLost = "one_lost", "winning-post-2kib-v1/valid", "", "partition 0: msm_l differs first";
        /// The last point of a run of odd length is passed over.
        OddPoint = "odd_point", "winning-post-2kib-v1/valid", "isa=portable", "partition 0: msm_h differs first";
    }
    r1cs {
        /// A template on disk whose coefficients are those of another version of the circuit is taken.
        StaleTemplate = "stale_template", "winning-post-2kib-v1/valid", "", "partition 0: a differs first";
        /// An off-by-one index of the variables that A's query has.
        DensityIndex = "density_index", "winning-post-2kib-v1/valid", "", "partition 0: msm_a differs first";
        /// Two neighbours of B's query are exchanged.
        DensityOrder = "density_order", "winning-post-2kib-v1/valid", "", "partition 0: msm_b_g1 differs first";
        /// Poseidon, eight at a time: the key after a fifth power is left out where it is odd.
        PoseidonEightKey = "poseidon_eight_key", "winning-post-2kib-v1/valid", "isa=avx512ifma", "partition 0: witness differs first";
        /// The first bit of the packed witness that is 1 is unpacked as 0.
        WitnessBit = "witness_bit", "winning-post-2kib-v1/valid", "", "partition 0: witness differs first";
        /// The last piece of rows is not evaluated.
        RowsLeftOut = "rows_left_out", "winning-post-2kib-v1/valid", "", "partition 0: a differs first";
        /// The rows of the inputs are left out.
        InputRows = "input_rows", "winning-post-2kib-v1/valid", "", "partition 0: a differs first";
        /// A row of bits leaves out its constant.
        RowConstant = "row_constant", "winning-post-2kib-v1/valid", "", "partition 0: a differs first";
        /// The walk that evaluates adds 1 to row 1000 of B.
        EnforcedRow = "enforced_row", "winning-post-2kib-v1/valid", "synthesis=enforce", "partition 0: b differs first";
    }
    parameters {
        /// The first block of a query is read again for the second.
        BlockRepeated = "block_repeated", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// L's blocks but the first are read one point too early.
        PointIndex = "point_index", "winning-post-2kib-v1/valid", "", "partition 0: msm_l differs first";
        /// A bit of a point in G2 flips between file and memory.
        TransferBit = "transfer_bit", "winning-post-2kib-v1/valid", "", "point 7 of query b_g2";
        /// Two points of B's query in G2 are exchanged.
        PointsExchanged = "points_exchanged", "winning-post-2kib-v1/valid", "", "partition 0: msm_b_g2 differs first";
        /// One point of H comes with the other sign.
        PointSign = "point_sign", "winning-post-2kib-v1/valid", "", "partition 0: msm_h differs first";
        /// The verifying key has β where δ belongs in G1.
        KeyOrder = "key_order", "winning-post-2kib-v1/valid", "", "the proof differs in partition 0, A";
    }
    pipeline {
        /// r and s are exchanged.
        BlindingExchanged = "blinding_exchanged", "winning-post-2kib-v1/valid", "", "the proof differs in partition 0, A";
        /// All partitions have the first one's r and s.
        BlindingRepeated = "blinding_repeated", "window-post-2kib-v1_2/valid", "", "the proof differs in partition 1, A";
        /// The proofs of partitions stand in reverse order.
        PartitionsExchanged = "partitions_exchanged", "window-post-2kib-v1_2/valid", "", "the proof differs in partition 0, A";
        /// Every partition has the first one's witness.
        WitnessRepeated = "witness_repeated", "window-post-2kib-v1_2/valid", "", "partition 1: witness differs first";
        /// C lacks −rs·δ.
        BlindingProduct = "blinding_product", "winning-post-2kib-v1/valid", "", "the proof differs in partition 0, C";
        /// C lacks the sum over L.
        SumLost = "sum_lost", "winning-post-2kib-v1/valid", "", "the proof differs in partition 0, C";
        /// The last row's c is a².
        ProductOfRows = "product_of_rows", "winning-post-2kib-v1/valid", "", "partition 0: c differs first";
        /// The sign of A's y is the other one in the proof's bytes.
        ProofSign = "proof_sign", "winning-post-2kib-v1/valid", "", "the proof differs in partition 0, A";
        /// The last byte of the proof is not written.
        ByteLost = "byte_lost", "winning-post-2kib-v1/valid", "", "the proof has 191 bytes";
    }
    decode {
        /// Bytes after a vanilla proof are ignored.
        TrailingBytes = "trailing_bytes", "winning-post-2kib-v1/element_extended", "", "ended with exit code 0, expected exit code 2";
        /// A sector may come twice.
        SectorTwice = "sector_twice", "window-post-2kib-v1_2/sector_doubled", "", "ended with exit code 0, expected exit code 2";
        /// Vanilla proofs are not verified.
        VanillaUnchecked = "vanilla_unchecked", "winning-post-2kib-v1/sibling_flipped", "", "ended with exit code 0, expected exit code 2";
        /// The randomness is read from its last byte on.
        RandomnessBackwards = "randomness_backwards", "winning-post-2kib-v1/valid", "", "error[false_vanilla_proof]";
        /// A proof may be longer than it is.
        ProofLength = "proof_length", "winning-post-2kib-v1/proof_extended", "", "ended with exit code 0, expected exit code 2";
        /// The number of a sector's challenges is not compared.
        ChallengeCount = "challenge_count", "winning-post-2kib-v1/challenge_missing", "", "error kind is false_vanilla_proof, expected wrong_count";
    }
    speed {
        /// Nothing is wrong, but the sum over H takes 15 % longer: for the gate, which times.
        SlowSum = "slow_sum", "winning-post-2kib-v1/valid", "", "";
    }
    gpu {
        /// A bit of the packed witness flips on its way to the device.
        UploadBit = "upload_bit", "winning-post-2kib-v1/valid", "backend=cuda", "partition 0: witness differs first";
        /// A bit of the first point of each query flips on its way to the device.
        DevicePoints = "device_points", "winning-post-2kib-v1/valid", "backend=cuda", "partition 0: msm_h differs first";
        /// The device's roots of unity are those of the inverse transform.
        DeviceRoots = "device_roots", "winning-post-2kib-v1/valid", "backend=cuda", "partition 0: h differs first";
    }
}

/// Whether this build has faults on purpose.
pub const ON: bool = cfg!(fault_injection);

/// Whether this run does that wrong.
#[cfg(fault_injection)]
#[inline]
pub fn injected(fault: Fault) -> bool {
    chosen() == Some(fault)
}

/// Whether this run does that wrong: a build without faults never does.
#[cfg(not(fault_injection))]
#[inline(always)]
pub const fn injected(_: Fault) -> bool {
    false
}

/// The fault of this run. A name that no fault has ends the program: a run without its fault would look like one that nobody noticed.
#[cfg(fault_injection)]
pub fn chosen() -> Option<Fault> {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<Fault>> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())?;
        let found = ALL.iter().find(|description| description.name == name);
        Some(found.unwrap_or_else(|| panic!("{VARIABLE}: no fault is called {name}")).fault)
    })
}

/// The fault of this run: none, as this build has none.
#[cfg(not(fault_injection))]
pub const fn chosen() -> Option<Fault> {
    None
}

/// Whether this run gives a wrong proof on purpose, which nobody but the suite is to notice.
pub fn spoils_proofs() -> bool {
    chosen().is_some_and(|fault| fault != Fault::SlowSum)
}
