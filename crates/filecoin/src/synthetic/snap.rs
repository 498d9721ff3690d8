//! Snap: the update of an empty sector with data.
//!
//! The challenges hash the new comm_r, so the new tree R must be known completely. With n nodes, the encoding is
//!
//! ```text
//! new[i] = old[i] + data[i] · ρ(⌊i · 2^h / n⌋)
//! ```
//!
//! where ρ hashes the old comm_r and the new comm_d. When old and data are constant on the 2^h runs of n / 2^h nodes, so
//! is new, and three complete trees take 2^h hashes a level.

use blstrs::Scalar as Fr;
use filecoin_hashers::poseidon::PoseidonHasher;
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::types::MerkleTreeTrait;
use filecoin_proofs::with_shape;
use filecoin_proofs_api::RegisteredUpdateProof;
use rayon::prelude::*;
use storage_proofs_core::merkle::MerkleProof;
use storage_proofs_update::constants::{TreeDHasher, TreeRDomain, h_default};
use storage_proofs_update::{
    ChallengeProof, Challenges, PartitionProof, PublicInputs, PublicParams, phi, rho,
};

use super::seeded::{Purpose, Seeded};
use super::tree::{MerkleTree, RunTree, open};
use crate::shape::{data_arities, replica_arities};
use crate::{Error, SectorSize};

/// Which sector to update. Its number and miner are no part of the statement.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticSnap {
    /// The registered proof.
    pub registered_proof: RegisteredUpdateProof,
    /// Replica and data come from this.
    pub seed: u64,
}

/// The vanilla proofs of an update and what they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapVanillaProofs {
    /// The commitment to the replica before the update.
    pub comm_r_old: [u8; 32],
    /// The commitment to the replica after it.
    pub comm_r_new: [u8; 32],
    /// The commitment to the data.
    pub comm_d_new: [u8; 32],
    /// Bincode of upstream's `PartitionProof`, one a partition: 16 of 562 KB at 32 GiB.
    pub proofs: Vec<Vec<u8>>,
}

/// Makes the vanilla proofs of all partitions. About 15,000 Poseidon hashes at 32 and 64 GiB: 1 s and 16 MB (2-core
/// Zen 3 guest, 2026-11-29).
pub fn snap(update: &SyntheticSnap) -> Result<SnapVanillaProofs, Error> {
    let registered_proof = update.registered_proof;
    let size = SectorSize::from_bytes(registered_proof.sector_size().0)
        .ok_or_else(|| Error::Unsupported { registered_proof: format!("{registered_proof:?}") })?;
    with_shape!(size.bytes(), encoded, update.seed, size)
        .map_err(Error::upstream("making a synthetic sector update"))
}

fn encoded<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
    seed: u64,
    size: SectorSize,
) -> anyhow::Result<SnapVanillaProofs> {
    let update = Update::new(seed, size);
    let partitions = 0..update.params.partition_count;
    let proofs = partitions.into_par_iter().map(|k| Ok(bincode::serialize(&update.prove::<Tree>(k))?));
    Ok(SnapVanillaProofs {
        proofs: proofs.collect::<anyhow::Result<_>>()?,
        comm_r_old: update.inputs.comm_r_old.into(),
        comm_r_new: update.inputs.comm_r_new.into(),
        comm_d_new: update.inputs.comm_d_new.into(),
    })
}

/// An update with its three trees.
struct Update {
    params: PublicParams,
    inputs: PublicInputs,
    comm_c: TreeRDomain,
    r_old: RunTree<PoseidonHasher>,
    d_new: RunTree<TreeDHasher>,
    r_new: RunTree<PoseidonHasher>,
}

impl Update {
    fn new(seed: u64, size: SectorSize) -> Self {
        let seeded = Seeded { seed, sector: 0 };
        let params = PublicParams::from_sector_size(size.bytes());
        let h = h_default(params.sector_nodes);
        let runs = 0..1u32 << h;
        let old = |run: u32| seeded.node(Purpose::ReplicaNode, 0, u64::from(run));
        let data = |run: u32| seeded.bytes(Purpose::Data, 0, u64::from(run));
        let comm_c = seeded.node(Purpose::CommC, 0, 0);
        let comm_r = |root| <PoseidonHasher as Hasher>::Function::hash2(&comm_c, &root);

        let r_old = RunTree::new(replica_arities(size), runs.clone().map(old).collect());
        let d_new = RunTree::<TreeDHasher>::new(
            data_arities(size),
            runs.clone().map(|run| data(run).into()).collect(),
        );
        let (comm_r_old, comm_d_new) = (comm_r(r_old.root()), d_new.root());
        let phi = phi(&comm_d_new, &comm_r_old);
        let new = |run| {
            let data = Fr::from(TreeRDomain::from(data(run)));
            (Fr::from(old(run)) + data * rho(&phi, run)).into()
        };
        let r_new = RunTree::new(replica_arities(size), runs.into_par_iter().map(new).collect());
        let comm_r_new = comm_r(r_new.root());
        let inputs = PublicInputs { k: 0, comm_r_old, comm_d_new, comm_r_new, h };
        Update { params, inputs, comm_c, r_old, d_new, r_new }
    }

    fn prove<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        &self,
        k: usize,
    ) -> PartitionProof<Tree> {
        let PublicParams { partition_bit_len, apex_leaf_bit_len, apex_leaf_count, .. } = self.params;
        let apex_level = self.params.challenge_bit_len - partition_bit_len - apex_leaf_bit_len;
        let first_apex_leaf = k * apex_leaf_count;
        let prove = |challenge: u32| {
            let node = u64::from(challenge);
            ChallengeProof {
                proof_r_old: open::<Tree>(&self.r_old, node),
                proof_d_new: MerkleProof::from_parts(
                    self.d_new.node(0, node),
                    self.d_new.root(),
                    self.d_new.path(node),
                ),
                proof_r_new: open::<Tree>(&self.r_new, node),
            }
        };
        PartitionProof {
            comm_c: self.comm_c,
            apex_leafs: (first_apex_leaf..first_apex_leaf + apex_leaf_count)
                .map(|leaf| self.d_new.node(apex_level, leaf as u64))
                .collect(),
            challenge_proofs: Challenges::new(self.params.sector_nodes, self.inputs.comm_r_new, k)
                .map(prove)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB, SectorShape64GiB};
    use filecoin_proofs_api::RegisteredUpdateProof::*;
    use sha2::{Digest, Sha256};
    use storage_proofs_core::compound_proof::CompoundProof;
    use storage_proofs_core::proof::ProofScheme;
    use storage_proofs_update::{EmptySectorUpdate, EmptySectorUpdateCircuit, EmptySectorUpdateCompound};

    use super::super::testing::Block;
    use crate::vanilla_checks;

    fn inputs(made: &SnapVanillaProofs, params: &PublicParams, k: usize) -> PublicInputs {
        PublicInputs {
            k,
            comm_r_old: made.comm_r_old.into(),
            comm_d_new: made.comm_d_new.into(),
            comm_r_new: made.comm_r_new.into(),
            h: h_default(params.sector_nodes),
        }
    }

    /// Upstream's verification of some partitions, and our own.
    fn verify<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        registered_proof: RegisteredUpdateProof,
        partitions: &[usize],
    ) -> (PublicParams, SnapVanillaProofs) {
        let made = snap(&SyntheticSnap { registered_proof, seed: 1 }).unwrap();
        let params = PublicParams::from_sector_size(registered_proof.sector_size().0);
        assert_eq!(made.proofs.len(), params.partition_count);
        let size = SectorSize::from_bytes(registered_proof.sector_size().0).unwrap();
        for k in partitions {
            let proof: PartitionProof<Tree> = bincode::deserialize(&made.proofs[*k]).unwrap();
            let inputs = inputs(&made, &params, *k);
            assert!(EmptySectorUpdate::<Tree>::verify(&params, &inputs, &proof).unwrap());
            vanilla_checks::snap(size, inputs.comm_r_new, *k, &proof).unwrap();
        }
        (params, made)
    }

    #[test]
    fn upstream_accepts_every_size() {
        verify::<SectorShape2KiB>(StackedDrg2KiBV1, &[0]);
        verify::<SectorShape2KiB>(StackedDrg8MiBV1, &[0, 1, 2, 3]);
        verify::<SectorShape2KiB>(StackedDrg512MiBV1, &[0, 15]);
        verify::<SectorShape64GiB>(StackedDrg64GiBV1, &[0, 9]);
    }

    #[test]
    fn the_32gib_update_is_true() {
        type Tree = SectorShape32GiB;
        type Compound = EmptySectorUpdateCompound<Tree>;
        let (params, made) = verify::<Tree>(StackedDrg32GiBV1, &[0, 7, 15]);
        assert_eq!(made.proofs.len(), 16);
        // With fewer challenges only partition 0 keeps its digests.
        let inputs = inputs(&made, &params, 0);
        let mut proof: PartitionProof<Tree> = bincode::deserialize(&made.proofs[0]).unwrap();
        proof.challenge_proofs.truncate(1);
        let mut circuit = <Compound as CompoundProof<
            '_,
            EmptySectorUpdate<Tree>,
            EmptySectorUpdateCircuit<Tree>,
        >>::circuit(&inputs, (), &proof, &params, Some(0))
        .unwrap();
        let public = circuit.pub_inputs.to_vec();
        circuit.pub_params.challenge_count = 1;
        // A header with one digest, and a challenge.
        let golden = Block {
            rows: 5_946_177 + 873_235,
            aux: 5_940_019 + 872_481,
            inputs: 4,
            assignment: "6f8a110376a50b899749e397f24d0f16b9c3f56b9e3390b343403aa648275026".to_owned(),
        };
        assert_eq!(Block::checked(circuit, &public), golden);
    }

    #[test]
    fn upstream_accepts_every_partition_of_the_production_sizes() {
        let all: Vec<usize> = (0..16).collect();
        verify::<SectorShape32GiB>(StackedDrg32GiBV1, &all);
        verify::<SectorShape64GiB>(StackedDrg64GiBV1, &all);
    }

    #[test]
    fn same_seed_same_bytes() {
        let digest = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let update = SyntheticSnap { registered_proof: StackedDrg8MiBV1, seed };
            let made = pool.install(|| snap(&update)).unwrap();
            let mut file = Vec::new();
            super::super::write_vanilla_proofs(&mut file, &made.proofs).unwrap();
            hex::encode(Sha256::digest(&file))
        };
        assert_eq!(digest(1, 1), digest(3, 1));
        assert_ne!(digest(2, 1), digest(2, 2));
        // What a seed means does not change between versions.
        assert_eq!(digest(2, 1), "5b2c8ec847ac85aec7742750df83816dae4ec709b15184c3210e461d83aa85ca");
    }
}
