//! What can go wrong in this crate and in backends.

use std::path::PathBuf;

use bellpepper_core::SynthesisError;

/// Why parameters could not be used or generated, or a proof not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The parameter file ends early.
    #[error(
        "{}: truncated parameter file: {expected} bytes expected up to the end of query {query}, {found} found; \
         fetch or generate it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The query at whose end the file would have to be.
        query: &'static str,
        /// Bytes that the counts in the file ask for, up to the end of that query.
        expected: u64,
        /// The size of the file in bytes.
        found: u64,
    },

    /// The parameter file goes on after its last query.
    #[error(
        "{}: {expected} bytes expected from the counts in the parameter file, {found} found: not a parameter file of \
         bellperson's Groth16, or damaged; fetch or generate it again",
        path.display()
    )]
    TrailingBytes {
        /// The file.
        path: PathBuf,
        /// Bytes that the counts in the file ask for.
        expected: u64,
        /// The size of the file in bytes.
        found: u64,
    },

    /// Bytes that are not a point, or not one that may stand there.
    #[error(
        "{}: point {index} of query {query} is {problem}: the parameter file is damaged; `cuzk params check` tells \
         whether its digest is right",
        path.display()
    )]
    BadPoint {
        /// The file.
        path: PathBuf,
        /// The query.
        query: &'static str,
        /// Which point of it, from 0.
        index: usize,
        /// What is wrong with it.
        problem: &'static str,
    },

    /// A parameter file that was written to while it was read.
    #[error("{}: the parameter file changed while it was read; prove again when nothing writes to it any more", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },

    /// Parameters of another circuit.
    #[error(
        "{}: query {query} has {found} points, the circuit needs {expected}: these are parameters of another circuit",
        path.display()
    )]
    OtherCircuit {
        /// The file.
        path: PathBuf,
        /// The query.
        query: &'static str,
        /// Points that the circuit needs.
        expected: usize,
        /// Points in the file.
        found: usize,
    },

    /// A partition whose circuit is not the one that the session was prepared for.
    #[error("the circuit changed between partitions: {what}")]
    ShapeChanged {
        /// What differs.
        what: &'static str,
    },

    /// More rows than Fr has roots of unity for.
    #[error("{rows} rows: at most 2^31 fit into an evaluation domain of Fr")]
    TooManyRows {
        /// The number of rows asked for.
        rows: usize,
    },

    /// Instructions were asked for that this processor does not have.
    #[error("this processor has no {isa}; leave `--tune isa` at `auto`, or say `portable`")]
    InstructionsMissing {
        /// The value of axis `isa`.
        isa: &'static str,
    },

    /// There is no device to prove on, or no code for one.
    #[error("no GPU to prove on: {reason}")]
    DeviceMissing {
        /// What is missing.
        reason: String,
    },

    /// A device has too little memory.
    #[error(
        "{device}: {:.2} GiB of its memory are needed at least for these parameters, and there are {:.2}, by `--device-memory` if \
         that was given; `--tune accumulation=xyzz` needs less, `--backend cpu` none",
        gib(*needed),
        gib(*available)
    )]
    DeviceMemory {
        /// Its number and name.
        device: String,
        /// Bytes that the session asks for.
        needed: usize,
        /// Bytes that are free.
        available: usize,
    },

    /// The driver refused a call.
    #[error("{device}: {call}: {problem}")]
    Device {
        /// Its number and name.
        device: String,
        /// The driver's function, and the kernel of a launch.
        call: &'static str,
        /// The driver's code and words.
        problem: String,
    },

    /// δ is the point at infinity.
    #[error("delta is the point at infinity: such parameters prove anything; they are refused")]
    DeltaAtInfinity,

    /// Bytes of a proof that are not a point of the subgroup of order r.
    #[error("point {point} of the proof is not a compressed point of the subgroup of order r")]
    BadProofPoint {
        /// A, B or C.
        point: &'static str,
    },

    /// A trapdoor with which parameters cannot be generated.
    #[error("unusable trapdoor: {problem}")]
    BadTrapdoor {
        /// What is wrong with it.
        problem: &'static str,
    },

    /// An aux variable in no row.
    #[error("aux variable {index} occurs in no constraint")]
    Unconstrained {
        /// The variable.
        index: usize,
    },

    /// The circuit could not be walked.
    #[error("synthesis failed")]
    Synthesis(#[from] SynthesisError),
}

fn gib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
