//! Statements of any sector size without a sealed sector.
//!
//! A vanilla proof opens only the challenged nodes of a sector; what it does not open is free to choose. So a true
//! statement is made from real challenges, real graph parents and real hashes on every opened path, with values from a
//! seed everywhere else. It commits to no stored data. Nothing distinguishes it from a real one but what is written
//! beside it: [`made_by`].
//!
//! * [`porep`]: interactive PoRep. The other two kinds derive their challenges from comm_r, which commits to the
//!   labels at the challenged nodes: only sealing gets out of that circle, and [`porep`] refuses them.
//! * [`winning_post`], [`window_post`]: challenges depend on randomness, sector number and position only.
//! * [`snap`]: challenges depend on the new comm_r, so its trees are complete, but structured: constant on long runs.
//!
//! Same seed, same bytes, whatever the number of threads.

mod encode;
mod porep;
mod post;
mod seeded;
mod snap;
mod tree;

pub use encode::{C1Shape, write_c1, write_update_market, write_vanilla_proofs};
pub use porep::{SyntheticPorep, porep};
pub use post::{
    PostSector, PostVanillaProofs, SyntheticWindowPost, SyntheticWinningPost, window_post, winning_post,
};
pub use snap::{SnapVanillaProofs, SyntheticSnap, snap};

/// What a statement file says of an input made here.
pub fn made_by(seed: u64) -> String {
    format!("synthetic with seed {seed}: no sector was sealed, unopened nodes are made up")
}

#[cfg(test)]
mod testing {
    use ff::PrimeField;
    use sha2::{Digest, Sha256};

    /// What is golden of the circuit of a block.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Block {
        /// Without the rows that Groth16 adds.
        pub(super) rows: usize,
        pub(super) aux: usize,
        /// Without ONE.
        pub(super) inputs: usize,
        /// SHA-256 of the inputs and aux variables, 32 bytes little-endian each.
        pub(super) assignment: String,
    }

    impl Block {
        /// Walks the circuit and compares each row with C, and the inputs with `inputs`, which may go on.
        pub(super) fn checked<C: cuzk_r1cs::Circuit<cuzk_r1cs::Fr>>(
            circuit: C,
            inputs: &[cuzk_r1cs::Fr],
        ) -> Self {
            let checked = cuzk_r1cs::check(circuit).unwrap();
            assert_eq!(checked.unsatisfied, None);
            let walked = checked.synthesis;
            let found = &walked.inputs[1..];
            assert_eq!(found, &inputs[..found.len()]);
            let mut hash = Sha256::new();
            for value in walked.inputs.iter().chain(&walked.aux) {
                hash.update(value.to_repr());
            }
            Block {
                rows: walked.a.len() - walked.inputs.len(),
                aux: walked.aux.len(),
                inputs: found.len(),
                assignment: hex::encode(hash.finalize()),
            }
        }
    }
}
