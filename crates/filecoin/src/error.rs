//! What can be wrong with an input, a statement or a proof.

use std::path::PathBuf;

use crate::SectorSize;

/// Why an input was refused, or a proof does not verify. [`Error::kind`] is the stable name of each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The file is larger than any input of a known kind.
    #[error("{}: more than {limit} bytes, before or after decompression; --max-input raises the limit", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },

    /// The input ends in the middle of a JSON value.
    #[error(
        "{place} ends early, at line {line}, column {column}: the file is truncated; copy or make it again"
    )]
    Truncated {
        /// The file, or a part of it.
        place: String,
        /// Line of the end, from 1.
        line: usize,
        /// Column of the end, from 1.
        column: usize,
    },

    /// The input is not JSON.
    #[error(
        "{place} is not JSON: {message}; expected the C1 output of `lotus-bench simple commit1`, the inner \
             JSON of it, or a statement.json"
    )]
    NotJson {
        /// The file, or a part of it.
        place: String,
        /// What the parser said.
        message: String,
    },

    /// A key is not there.
    #[error("{place} has no key `{key}`; {shape} has the keys {keys}")]
    MissingKey {
        /// The file, or a part of it.
        place: String,
        /// The key.
        key: &'static str,
        /// What the input looks like.
        shape: &'static str,
        /// All keys of that shape.
        keys: String,
    },

    /// Nothing that is known.
    #[error("{place} is no known input: {found}; known are {known}")]
    UnknownShape {
        /// The file.
        place: String,
        /// What was found.
        found: String,
        /// The inputs that are known.
        known: &'static str,
    },

    /// A value of the wrong type or out of range.
    #[error("{place}: {message}")]
    Malformed {
        /// The file, or a part of it.
        place: String,
        /// What is wrong.
        message: String,
    },

    /// Two sizes for one sector.
    #[error(
        "the file says sector size {outer}, but its registered proof is {registered_proof}, which is {inner}"
    )]
    SectorSizes {
        /// The size beside the proofs.
        outer: u64,
        /// The registered proof.
        registered_proof: String,
        /// Its sector size.
        inner: SectorSize,
    },

    /// A registered proof without a circuit.
    #[error("{registered_proof} has no circuit in this version")]
    Unsupported {
        /// The registered proof.
        registered_proof: String,
    },

    /// A registered proof that there is not.
    #[error("`{name}` is no {of}; there are {known}")]
    UnknownProofType {
        /// What was asked for.
        name: String,
        /// The type of registered proof.
        of: &'static str,
        /// All of them.
        known: String,
    },

    /// Something that neither the file nor the command line says.
    #[error("the input does not say the {what}; give it with {flag}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// The flag that gives it.
        flag: &'static str,
    },

    /// The replica id is that of another miner or sector.
    #[error(
        "wrong miner or sector: the input's replica id is {found}, but {prover} and sector {sector} with its ticket, \
         comm_d and porep id give {expected}; check --miner, --sector and --proof-type"
    )]
    WrongIdentity {
        /// The replica id in the file, in hexadecimal.
        found: String,
        /// The replica id of what was asked for.
        expected: String,
        /// The prover asked for.
        prover: String,
        /// The sector.
        sector: u64,
    },

    /// Partitions, challenges, layers or paths of the wrong number.
    #[error("{place}: {found} {what} where {expected} are needed")]
    Count {
        /// Partition and challenge.
        place: String,
        /// What was counted.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number needed.
        expected: usize,
    },

    /// A commitment that no sector has.
    #[error("{name} is {problem}")]
    Commitment {
        /// Which one.
        name: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },

    /// A sector's vanilla PoSt proof that is false.
    #[error("the vanilla proof of sector {sector} (partition {partition}) is false: {what}")]
    FalseSectorProof {
        /// The partition, from 0.
        partition: usize,
        /// The sector number.
        sector: u64,
        /// What was found to be false.
        what: &'static str,
    },

    /// More than one reading of an input.
    #[error("{place} can be read as {readings}; say which with --kind")]
    Ambiguous {
        /// The file.
        place: String,
        /// What it could be.
        readings: String,
    },

    /// An input of another kind than was asked for.
    #[error("{place} is {found}, not {asked} as --kind or its statement.json says")]
    OtherKind {
        /// The file.
        place: String,
        /// What it is.
        found: String,
        /// What was asked for.
        asked: String,
    },

    /// A vanilla proof that upstream's verification does not accept.
    #[error("the vanilla proof of partition {partition}, challenge {challenge} is false: {what}")]
    FalseVanillaProof {
        /// The partition, from 0.
        partition: usize,
        /// The challenge within it, from 0.
        challenge: usize,
        /// What was found to be false.
        what: &'static str,
    },

    /// A partition that the statement does not have.
    #[error("partition {asked} of a statement with {partitions}")]
    NoSuchPartition {
        /// The partition asked for.
        asked: usize,
        /// How many there are.
        partitions: usize,
    },

    /// A proof of the wrong length.
    #[error("the proof has {found} bytes; {partitions} partitions × 192 = {expected} are needed")]
    ProofLength {
        /// Bytes found.
        found: usize,
        /// Partitions of the statement.
        partitions: usize,
        /// Bytes needed.
        expected: usize,
    },

    /// An aggregate of the wrong length.
    #[error("the aggregate has {found} bytes; one of {proofs} proofs has {expected}")]
    AggregateLength {
        /// Bytes found.
        found: usize,
        /// Proofs of the statements.
        proofs: usize,
        /// Bytes needed.
        expected: usize,
    },

    /// Proofs that cannot be aggregated together.
    #[error("no aggregate: {problem}")]
    Aggregation {
        /// Why not.
        problem: String,
    },

    /// An inner-product key file that cannot be used.
    #[error("{}: {problem}", path.display())]
    InnerProductKey {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },

    /// A proof that does not verify.
    #[error("the proof does not verify: {reason}")]
    ProofInvalid {
        /// Why.
        reason: String,
    },

    /// A circuit that does not accept its witness.
    #[error("the statement is false: partition {partition}, constraint {row} ({path}) is not satisfied")]
    Unsatisfied {
        /// The partition.
        partition: usize,
        /// The constraint.
        row: usize,
        /// Where the circuit enforces it.
        path: String,
    },

    /// A written witness that is not the walked one.
    #[error(
        "partition {partition}: the witness that was written differs from the walked one, first at {variable}; \
         `--tune synthesis=template` does without writing"
    )]
    WrittenOtherwise {
        /// The partition.
        partition: usize,
        /// The first variable with another value, and where the circuit allocates it.
        variable: String,
    },

    /// A sector that cannot be made without sealing it.
    #[error("{proof} has no synthetic sector: {reason}")]
    NoSyntheticSector {
        /// The registered proof.
        proof: String,
        /// Why not, and what to do instead.
        reason: &'static str,
    },

    /// Upstream refused something that passed all checks here.
    #[error("{doing}")]
    Upstream {
        /// What was being done.
        doing: &'static str,
        /// What it said.
        source: anyhow::Error,
    },

    /// A circuit that is not the one that is known.
    #[error(
        "upstream's {kind} circuit for {sector_size} is not the known one: {found} found, {expected} expected; if an \
         upgrade of upstream is meant to change it, write golden/circuits.json anew"
    )]
    CircuitChanged {
        /// The kind of proof.
        kind: crate::Kind,
        /// The sector size.
        sector_size: String,
        /// Counts or digest found.
        found: String,
        /// Counts or digest known.
        expected: String,
    },

    /// A template, a packed witness, or the circuit that they come from.
    #[error(transparent)]
    Circuit(#[from] cuzk_r1cs::Error),

    /// Proving or parameters.
    #[error(transparent)]
    Groth16(#[from] cuzk_groth16::Error),
}

impl Error {
    /// The stable name: golden cases and scripts match on it.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Unreadable { .. } => "input_unreadable",
            Error::TooLarge { .. } => "input_too_large",
            Error::Truncated { .. } => "input_truncated",
            Error::NotJson { .. } => "input_not_json",
            Error::MissingKey { .. } => "input_missing_key",
            Error::UnknownShape { .. } => "input_unknown_shape",
            Error::Malformed { .. } => "input_malformed",
            Error::SectorSizes { .. } => "sector_sizes_differ",
            Error::Unsupported { .. } => "unsupported_proof_type",
            Error::UnknownProofType { .. } => "unknown_proof_type",
            Error::Missing { .. } => "missing_argument",
            Error::WrongIdentity { .. } => "wrong_identity",
            Error::Count { .. } => "wrong_count",
            Error::Commitment { .. } => "bad_commitment",
            Error::Ambiguous { .. } => "input_ambiguous",
            Error::OtherKind { .. } => "input_other_kind",
            Error::FalseVanillaProof { .. } | Error::FalseSectorProof { .. } => "false_vanilla_proof",
            Error::NoSuchPartition { .. } => "no_such_partition",
            Error::ProofLength { .. } => "proof_length",
            Error::AggregateLength { .. } => "proof_length",
            Error::Aggregation { .. } => "no_aggregate",
            Error::InnerProductKey { .. } => "parameters",
            Error::ProofInvalid { .. } => "proof_invalid",
            Error::Unsatisfied { .. } | Error::Circuit(cuzk_r1cs::Error::NotABit { .. }) => "unsatisfied",
            Error::WrittenOtherwise { .. } => "written_otherwise",
            Error::CircuitChanged { .. } => "circuit_changed",
            Error::Circuit(_) => "circuit",
            Error::NoSyntheticSector { .. } => "no_synthetic_sector",
            Error::Upstream { .. } => "upstream",
            Error::Groth16(_) => "parameters",
        }
    }

    pub(crate) fn upstream(doing: &'static str) -> impl Fn(anyhow::Error) -> Error {
        move |source| Error::Upstream { doing, source }
    }
}
