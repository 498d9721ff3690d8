//! A replica update: a header, and a block for each challenge.
//!
//! Header: the partition with the choice of h, its bits, and the partition; comm_r_old, comm_d_new, comm_r_new; φ, the Poseidon of
//! comm_d_new and comm_r_old; comm_c and the roots of the old and the new replica's tree; the apex leaves; the siblings of the path from
//! their root to comm_d_new; comm_r_old and comm_r_new as hashes of comm_c and the roots; the tree over the apex leaves, and that path;
//! for each digest from which challenges are taken its number, the Poseidon of comm_r_new and the number, and 255 bits.
//!
//! Block: for each h the highest h bits of the challenge, and those or 0; their sum; ρ, the Poseidon of φ and that; the old and the new
//! leaf; the new leaf times ρ, and the old leaf and that; the siblings of the path to the old root, and then the path; the same to the
//! new root; the choice among the apex leaves, a half at a time; the siblings of the data's path, and then the path.
//!
//! Bits of the challenge are the header's, so a step of a path has none of its own.

use blstrs::Scalar as Fr;
use cuzk_field::Engine;
use cuzk_r1cs::Writer;
use ff::PrimeField;
use filecoin_proofs::types::MerkleTreeTrait;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_update::constants::{POSEIDON_CONSTANTS_GEN_RANDOMNESS, TreeRHasher, hs};
use storage_proofs_update::vanilla::ChallengeProof;
use storage_proofs_update::{PartitionProof, PublicParams};

use super::hashes::{Chain, Hashes};
use super::path::{
    Path, data_path, node, replica_path, write_data_step, write_pair_digest, write_siblings_and_steps,
};
use super::poseidon::{Poseidon, poseidon};
use super::{Node, element, write_bits_of};
use crate::Error;

/// What all blocks of a partition share.
pub(crate) struct SnapWriter {
    pub(crate) hashes: Hashes,
    /// Poseidon with the domain of the encoding's randomness.
    randomness: Poseidon<3>,
    params: PublicParams,
    public: Public,
    apex_leaves: Vec<Fr>,
    phi: Fr,
}

/// The public inputs of a partition.
pub(crate) struct Public {
    pub(crate) partition: usize,
    /// Which of the h counts, as one bit.
    pub(crate) h_select: u64,
    pub(crate) comm_r_old: Node,
    pub(crate) comm_d_new: Node,
    pub(crate) comm_r_new: Node,
    /// The Poseidon of the two before the last, as upstream has it.
    pub(crate) phi: Node,
}

impl SnapWriter {
    pub(crate) fn new<Tree: MerkleTreeTrait<Hasher = TreeRHasher>>(
        params: &PublicParams,
        public: Public,
        proof: &PartitionProof<Tree>,
        engine: Option<Engine>,
    ) -> Self {
        SnapWriter {
            hashes: Hashes::new(engine),
            randomness: poseidon!(POSEIDON_CONSTANTS_GEN_RANDOMNESS),
            params: params.clone(),
            phi: element(&public.phi),
            apex_leaves: proof.apex_leafs.iter().map(|leaf| element(&node(leaf))).collect(),
            public,
        }
    }

    pub(crate) fn header<Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(
        &self,
        proof: &PartitionProof<Tree>,
        out: &mut Writer<'_>,
    ) -> Result<(), Error> {
        let PublicParams { partition_bit_len, challenge_bit_len, sector_nodes, .. } = self.params;
        let partition = self.public.partition as u64;
        let choice = partition | self.public.h_select << partition_bit_len;
        out.scalar(Fr::from(choice));
        out.bits(choice, (partition_bit_len + hs(sector_nodes).len()) as u32);
        out.number(partition);
        let [comm_r_old, comm_d_new, comm_r_new] =
            [self.public.comm_r_old, self.public.comm_d_new, self.public.comm_r_new]
                .map(|root| element(&root));
        [comm_r_old, comm_d_new, comm_r_new].iter().for_each(|root| out.scalar(*root));
        self.randomness.write(&[comm_d_new, comm_r_old], out)?;

        let Some(first) = proof.challenge_proofs.first() else { return Ok(()) };
        let comm_c = element(&node(&proof.comm_c));
        let [root_r_old, root_r_new] =
            [first.proof_r_old.root(), first.proof_r_new.root()].map(|root| element(&node(&root)));
        [comm_c, root_r_old, root_r_new].iter().for_each(|root| out.scalar(*root));
        self.apex_leaves.iter().for_each(|leaf| out.scalar(*leaf));
        let from_apex = data_path(&first.proof_d_new).from(challenge_bit_len - partition_bit_len);
        from_apex.siblings().for_each(|sibling| out.scalar(element(sibling)));
        self.hashes.two.one.write(&[comm_c, root_r_old], out)?;
        self.hashes.two.one.write(&[comm_c, root_r_new], out)?;

        let mut row: Vec<Node> = proof.apex_leafs.iter().map(node).collect();
        while row.len() > 1 {
            row = row.chunks(2).map(|pair| write_pair_digest(&[pair[0], pair[1]], out)).collect();
        }
        write_data_steps(&from_apex, row[0], out);
        self.write_digests(comm_r_new, out)
    }

    /// What challenges are taken from.
    fn write_digests(&self, comm_r_new: Fr, out: &mut Writer<'_>) -> Result<(), Error> {
        let PublicParams { partition_bit_len, challenge_bit_len, challenge_count, .. } = self.params;
        let in_a_digest = Fr::CAPACITY as usize / (challenge_bit_len - partition_bit_len);
        let digests = challenge_count.div_ceil(in_a_digest);
        for index in 0..digests {
            let number = (self.public.partition * digests + index) as u64;
            out.number(number);
            let digest = self.randomness.write(&[comm_r_new, Fr::from(number)], out)?;
            write_bits_of(&digest.to_repr(), out);
        }
        Ok(())
    }

    /// The block of a challenge, whose node is `challenge`, and what is left to be computed of it. The vanilla proof was checked.
    pub(crate) fn block<'a, Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(
        &self,
        proof: &ChallengeProof<Tree>,
        challenge: u64,
        out: &mut Writer<'a>,
    ) -> Result<Vec<Chain<'a>>, Error> {
        let high = self.write_high_bits(challenge, out);
        let rho = self.randomness.write(&[self.phi, high], out)?;
        let (old, new, data) = (
            replica_path(&proof.proof_r_old),
            replica_path(&proof.proof_r_new),
            data_path(&proof.proof_d_new),
        );
        let leaf_d_new = element(&data.leaf);
        let leaf_r_old = old.leaf;
        out.scalar(leaf_r_old);
        out.scalar(leaf_d_new);
        let product = leaf_d_new * rho;
        out.scalar(product);
        let leaf_r_new = leaf_r_old + product;
        out.scalar(leaf_r_new);
        let old = write_siblings_and_steps(&self.hashes, old, leaf_r_old, out)?;
        let new = write_siblings_and_steps(&self.hashes, new, leaf_r_new, out)?;

        let PublicParams { partition_bit_len, challenge_bit_len, apex_leaf_bit_len, .. } = self.params;
        let to_apex = challenge_bit_len - partition_bit_len - apex_leaf_bit_len;
        self.write_choice(challenge >> to_apex, apex_leaf_bit_len, out);
        let to_apex = data.up_to(to_apex);
        to_apex.siblings().for_each(|sibling| out.scalar(element(sibling)));
        write_data_steps(&to_apex, to_apex.leaf, out);
        Ok(vec![old, new])
    }

    /// The highest bits of the challenge for each h, of which one counts.
    fn write_high_bits(&self, challenge: u64, out: &mut Writer<'_>) -> Fr {
        let PublicParams { challenge_bit_len, sector_nodes, .. } = self.params;
        let mut chosen = 0;
        for (index, h) in hs(sector_nodes).into_iter().enumerate() {
            let high = challenge >> (challenge_bit_len - h);
            let or_zero = if self.public.h_select >> index & 1 == 1 { high } else { 0 };
            out.number(high);
            out.number(or_zero);
            chosen += or_zero;
        }
        out.number(chosen);
        Fr::from(chosen)
    }

    /// The apex leaf above the challenge: by each bit, the highest first, a half of those that are left.
    fn write_choice(&self, position: u64, bits: usize, out: &mut Writer<'_>) {
        let mut left = self.apex_leaves.clone();
        for bit in (0..bits).rev() {
            let half = left.len() / 2;
            let start = if position >> bit & 1 == 1 { half } else { 0 };
            left = left[start..start + half].to_vec();
            left.iter().for_each(|leaf| out.scalar(*leaf));
        }
    }
}

/// Steps of the data's tree whose siblings are there already.
fn write_data_steps(path: &Path<Node>, leaf: Node, out: &mut Writer<'_>) {
    path.steps().fold(leaf, |node, (siblings, index)| write_data_step(node, siblings[0], index == 1, out));
}
