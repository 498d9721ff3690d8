//! A PoSt: no header, and a block for each sector.
//!
//! Block: comm_r_last, comm_c, comm_r; the Poseidon of comm_c and comm_r_last; of each challenge the leaf and its path to comm_r_last.

use cuzk_r1cs::Writer;
use filecoin_proofs::types::MerkleTreeTrait;
use storage_proofs_post::fallback;

use super::element;
use super::path::{node, replica_path, write_replica_path};
use super::poseidon::Hashes;

/// What all blocks share.
pub(crate) struct PostWriter {
    hashes: Hashes,
}

impl PostWriter {
    pub(crate) fn new() -> Self {
        PostWriter { hashes: Hashes::new() }
    }

    /// The block of a sector. The vanilla proof was checked.
    pub(crate) fn block<Tree: 'static + MerkleTreeTrait>(
        &self,
        comm_r: &impl AsRef<[u8]>,
        proof: &fallback::SectorProof<Tree::Proof>,
        out: &mut Writer<'_>,
    ) {
        let [comm_r_last, comm_c, comm_r] =
            [node(&proof.comm_r_last), node(&proof.comm_c), node(comm_r)].map(|root| element(&root));
        [comm_r_last, comm_c, comm_r].iter().for_each(|root| out.scalar(*root));
        self.hashes.two.hash(&[comm_c, comm_r_last], out);
        for opened in &proof.inclusion_proofs {
            let path = replica_path(opened);
            out.scalar(path.leaf);
            write_replica_path(&self.hashes, &path, path.leaf, out);
        }
    }
}
