//! A PoSt: no header, and a block for each sector.
//!
//! Block: comm_r_last, comm_c, comm_r; the Poseidon of comm_c and comm_r_last; of each challenge the leaf and its path to comm_r_last.

use cuzk_field::Engine;
use cuzk_r1cs::Writer;
use filecoin_proofs::types::MerkleTreeTrait;
use storage_proofs_post::fallback;

use super::element;
use super::hashes::{Chain, Hashes, Start};
use super::path::{node, replica_path, write_replica_path};
use crate::Error;

/// What all blocks share.
pub(crate) struct PostWriter {
    pub(crate) hashes: Hashes,
}

impl PostWriter {
    pub(crate) fn new(engine: Option<Engine>) -> Self {
        PostWriter { hashes: Hashes::new(engine) }
    }

    /// The block of a sector, and what is left to be computed of it. The vanilla proof was checked.
    pub(crate) fn block<'a, Tree: 'static + MerkleTreeTrait>(
        &self,
        comm_r: &impl AsRef<[u8]>,
        proof: &fallback::SectorProof<Tree::Proof>,
        out: &mut Writer<'a>,
    ) -> Result<Vec<Chain<'a>>, Error> {
        let [comm_r_last, comm_c, comm_r] =
            [node(&proof.comm_r_last), node(&proof.comm_c), node(comm_r)].map(|root| element(&root));
        [comm_r_last, comm_c, comm_r].iter().for_each(|root| out.scalar(*root));
        let commitment = self.hashes.column(&[comm_c, comm_r_last], out)?;
        let mut chains = vec![Chain { start: commitment, steps: vec![] }];
        for opened in &proof.inclusion_proofs {
            let path = replica_path(opened);
            let leaf = path.leaf;
            out.scalar(leaf);
            chains.push(write_replica_path(&self.hashes, path, Start::Leaf(leaf), out)?);
        }
        Ok(chains)
    }
}
