//! What can be wrong with a circuit, a template or a witness.

use bellpepper_core::SynthesisError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The circuit could not be walked.
    #[error("synthesis failed: {0}")]
    Synthesis(#[from] SynthesisError),

    /// A block of the circuit is not the first one shifted, so that no template describes it; its flat form does.
    #[error("block {block} of the circuit does not repeat block 0: row {row} of it: {what}")]
    DoesNotRepeat {
        /// The block, from 0.
        block: usize,
        /// The row within the block, from 0.
        row: usize,
        /// What differs.
        what: &'static str,
    },

    /// A template cannot be extended to more instances than were recorded.
    #[error("a template of {recorded} recorded blocks cannot stand for {asked}: {why}")]
    CannotExtend {
        /// Blocks that were recorded and compared.
        recorded: usize,
        /// Instances asked for.
        asked: usize,
        /// Why not.
        why: &'static str,
    },

    /// A variable that is 0 or 1 by construction has another value: the statement is false.
    #[error("aux variable {aux} (`{name}`, in {place}) must be 0 or 1 and is not: the statement is false")]
    NotABit {
        /// Its number among all aux variables.
        aux: usize,
        /// The name that the circuit gave it; empty where the witness did not come from a walk.
        name: String,
        /// The header, or which block.
        place: String,
    },

    /// A witness, a circuit or a vector of another shape than the template.
    #[error("{what}: {found} found, the template has {expected}")]
    OtherShape {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },

    /// Two blocks of one partition were walked with different headers.
    #[error("block {block} was walked with another header than block 0: the blocks are not of one statement")]
    OtherHeader {
        /// The block, from 0.
        block: usize,
    },

    /// Bytes that are not a template of this version.
    #[error("not a usable template: {problem}")]
    BadTemplate {
        /// What is wrong.
        problem: &'static str,
    },

    /// Reading or writing a template.
    #[error("reading or writing a template: {0}")]
    Io(#[from] std::io::Error),
}
