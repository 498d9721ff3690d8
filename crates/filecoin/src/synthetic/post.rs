//! Winning and window PoSt.
//!
//! A sector's challenges hash the randomness, its number and, in window PoSt of the first version, its position: none
//! of its trees. So each sector is a sparse tree R-last over the challenged nodes, and a comm_c from the seed.

use std::collections::BTreeMap;

use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::types::{MerkleTreeTrait, PoStConfig, PoStType};
use filecoin_proofs::with_shape;
use filecoin_proofs_api::{FallbackPoStSectorProof, RegisteredPoStProof};
use rayon::prelude::*;
use storage_proofs_post::fallback::{self, SectorProof, generate_leaf_challenge, get_challenge_index};

use super::seeded::{Purpose, Seeded};
use super::tree::{MerkleTree, SparseTree, open};
use crate::shape::replica_arities;
use crate::{Error, SectorSize};

/// Which sector to prove in a block.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticWinningPost {
    /// The registered proof; a winning one.
    pub registered_proof: RegisteredPoStProof,
    /// The sector number.
    pub sector: u64,
    /// Randomness and everything that is not opened come from this.
    pub seed: u64,
}

/// Which sectors to prove in one partition of a deadline.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticWindowPost {
    /// The registered proof; a window one.
    pub registered_proof: RegisteredPoStProof,
    /// The partition within the deadline, from 0. The first version's challenges depend on it.
    pub partition: usize,
    /// The number of the first sector; the others follow.
    pub first_sector: u64,
    /// How many, from 1 to 2,349 at 32 GiB, 2,300 at 64 GiB and 2 at the test sizes. Whoever proves repeats the last
    /// one until the partition is full.
    pub sectors: usize,
    /// Randomness and everything that is not opened come from this.
    pub seed: u64,
}

/// A sector as the chain knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostSector {
    /// The sector number.
    pub sector: u64,
    /// The commitment to its replica.
    pub comm_r: [u8; 32],
}

/// The vanilla proofs of a partition and what they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostVanillaProofs {
    /// The chain's randomness.
    pub randomness: [u8; 32],
    /// The sectors, in the proofs' order.
    pub sectors: Vec<PostSector>,
    /// Bincode of upstream's `FallbackPoStSectorProof`, one a sector: 25 KB (window) or 164 KB (winning) at 32 GiB.
    pub proofs: Vec<Vec<u8>>,
}

/// Makes a winning PoSt's vanilla proof.
pub fn winning_post(post: &SyntheticWinningPost) -> Result<PostVanillaProofs, Error> {
    Partition::winning(post)?.encoded()
}

/// Makes one partition of a window PoSt. About 100 Poseidon hashes a sector at 32 GiB: 7 s and 62 MB for 2,349 sectors
/// (2-core Zen 3 guest, 2026-11-29).
pub fn window_post(post: &SyntheticWindowPost) -> Result<PostVanillaProofs, Error> {
    Partition::window(post)?.encoded()
}

/// Sectors in a row.
struct Partition {
    config: PoStConfig,
    size: SectorSize,
    seed: u64,
    /// The position of the first within the deadline.
    position: usize,
    sectors: Vec<u64>,
}

impl Partition {
    fn winning(post: &SyntheticWinningPost) -> Result<Self, Error> {
        Self::new(post.registered_proof, PoStType::Winning, post.seed, 0, vec![post.sector])
    }

    fn window(post: &SyntheticWindowPost) -> Result<Self, Error> {
        let room = post.registered_proof.sector_count();
        let count = |expected| Error::Count {
            place: format!("partition {}", post.partition),
            what: "sectors",
            found: post.sectors,
            expected,
        };
        if post.sectors == 0 {
            return Err(count(1));
        }
        if post.sectors > room {
            return Err(count(room));
        }
        let last = post.first_sector.checked_add(post.sectors as u64 - 1);
        let last = last.ok_or_else(|| Error::NoSyntheticSector {
            proof: format!("{:?}", post.registered_proof),
            reason: "sector numbers end at 2^64 - 1",
        })?;
        let sectors = (post.first_sector..=last).collect();
        Self::new(post.registered_proof, PoStType::Window, post.seed, post.partition * room, sectors)
    }

    fn new(
        registered_proof: RegisteredPoStProof,
        kind: PoStType,
        seed: u64,
        position: usize,
        sectors: Vec<u64>,
    ) -> Result<Self, Error> {
        let config = registered_proof.as_v1_config();
        let proof = || format!("{registered_proof:?}");
        if config.typ != kind {
            let reason = match kind {
                PoStType::Winning => "a winning PoSt was asked for",
                PoStType::Window => "a window PoSt was asked for",
            };
            return Err(Error::NoSyntheticSector { proof: proof(), reason });
        }
        let size = SectorSize::from_bytes(registered_proof.sector_size().0)
            .ok_or_else(|| Error::Unsupported { registered_proof: proof() })?;
        Ok(Partition { config, size, seed, position, sectors })
    }

    fn randomness(&self) -> [u8; 32] {
        Seeded { seed: self.seed, sector: 0 }.bytes(Purpose::Randomness, 0, 0)
    }

    fn encoded(&self) -> Result<PostVanillaProofs, Error> {
        with_shape!(self.size.bytes(), encoded, self).map_err(Error::upstream("encoding a synthetic sector"))
    }

    /// The vanilla proofs in upstream's type, sectors on all threads.
    fn proofs<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        &self,
    ) -> impl IndexedParallelIterator<Item = FallbackPoStSectorProof<Tree>> {
        self.sectors.par_iter().enumerate().map(|(index, sector)| self.prove(*sector, self.position + index))
    }

    fn challenges(&self, sector: u64, position: usize) -> Vec<u64> {
        let params = fallback::PublicParams {
            sector_size: self.size.bytes(),
            challenge_count: self.config.challenge_count,
            sector_count: self.config.sector_count,
            api_version: self.config.api_version,
        };
        let challenge = |index| {
            let index = get_challenge_index(params.api_version, position, params.challenge_count, index);
            generate_leaf_challenge(&params, PoseidonDomain::from(self.randomness()), sector, index)
        };
        (0..params.challenge_count).map(challenge).collect()
    }

    fn prove<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        &self,
        sector: u64,
        position: usize,
    ) -> FallbackPoStSectorProof<Tree> {
        let seeded = Seeded { seed: self.seed, sector };
        let challenges = self.challenges(sector, position);
        let leaves: BTreeMap<_, _> =
            challenges.iter().map(|node| (*node, seeded.node(Purpose::ReplicaNode, 0, *node))).collect();
        let tree = SparseTree::new(&seeded, Purpose::TreeRLast, replica_arities(self.size), &leaves);
        let (comm_c, comm_r_last) = (seeded.node(Purpose::CommC, 0, 0), tree.root());
        let inclusion_proofs = challenges.iter().map(|node| open::<Tree>(&tree, *node)).collect();
        FallbackPoStSectorProof {
            sector_id: sector.into(),
            comm_r: <PoseidonHasher as Hasher>::Function::hash2(&comm_c, &comm_r_last),
            vanilla_proof: fallback::Proof {
                sectors: vec![SectorProof { inclusion_proofs, comm_c, comm_r_last }],
            },
        }
    }
}

fn encoded<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
    partition: &Partition,
) -> anyhow::Result<PostVanillaProofs> {
    let encode = |proof: FallbackPoStSectorProof<Tree>| {
        let sector = PostSector { sector: proof.sector_id.into(), comm_r: proof.comm_r.into() };
        Ok((sector, bincode::serialize(&proof)?))
    };
    let encoded: Vec<_> = partition.proofs::<Tree>().map(encode).collect::<anyhow::Result<_>>()?;
    let (sectors, proofs) = encoded.into_iter().unzip();
    Ok(PostVanillaProofs { randomness: partition.randomness(), sectors, proofs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB, SectorShape64GiB};
    use filecoin_proofs::parameters::{window_post_public_params, winning_post_public_params};
    use filecoin_proofs::single_partition_vanilla_proofs;
    use filecoin_proofs::types::VanillaProof;
    use filecoin_proofs_api::RegisteredPoStProof::*;
    use sha2::{Digest, Sha256};
    use storage_proofs_core::compound_proof::CompoundProof;
    use storage_proofs_core::proof::ProofScheme;
    use storage_proofs_post::fallback::{
        FallbackPoSt, FallbackPoStCircuit, FallbackPoStCompound, PublicSector, Sector,
    };

    use super::super::testing::Block;
    use crate::vanilla_checks;

    type PublicInputs = fallback::PublicInputs<PoseidonDomain>;

    fn window(
        registered_proof: RegisteredPoStProof,
        partition: usize,
        sectors: usize,
    ) -> SyntheticWindowPost {
        SyntheticWindowPost { registered_proof, partition, first_sector: 100, sectors, seed: 1 }
    }

    /// A partition padded by upstream and accepted by its verification and ours.
    struct Accepted<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>> {
        params: fallback::PublicParams,
        inputs: PublicInputs,
        proof: VanillaProof<Tree>,
    }

    impl<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>> Accepted<Tree> {
        fn new(config: &PoStConfig, partition: usize, made: &PostVanillaProofs) -> Self {
            let proofs: Vec<FallbackPoStSectorProof<Tree>> =
                made.proofs.iter().map(|bytes| bincode::deserialize(bytes).unwrap()).collect();
            let params = match config.typ {
                PoStType::Winning => winning_post_public_params::<Tree>(config).unwrap(),
                PoStType::Window => window_post_public_params::<Tree>(config).unwrap(),
            };
            let sector =
                |sector: &PostSector| PublicSector { id: sector.sector.into(), comm_r: sector.comm_r.into() };
            let mut inputs = PublicInputs {
                randomness: made.randomness.into(),
                prover_id: PoseidonDomain::default(),
                sectors: made.sectors.iter().map(sector).collect(),
                k: Some(partition),
            };
            let size = SectorSize::from_bytes(config.sector_size.0).unwrap();
            vanilla_checks::post(size, config, inputs.randomness, partition, &proofs).unwrap();
            let proof = single_partition_vanilla_proofs(config, &params, &inputs, &proofs).unwrap();
            if config.typ == PoStType::Winning {
                // With the one sector upstream looks at its first path only.
                inputs.sectors = vec![inputs.sectors[0].clone(); params.sector_count];
                assert!(FallbackPoSt::<Tree>::verify(&params, &inputs, &proof).unwrap());
            }
            Accepted { params, inputs, proof }
        }

        /// The circuit of one sector.
        fn block(&self, sector: usize) -> Block {
            let public_sector = &self.inputs.sectors[sector.min(self.inputs.sectors.len() - 1)];
            let circuit = Sector::<Tree>::circuit(public_sector, &self.proof.sectors[sector]).unwrap();
            type Scheme<Tree> = FallbackPoSt<'static, Tree>;
            let public = <FallbackPoStCompound<Tree> as CompoundProof<
                '_,
                Scheme<Tree>,
                FallbackPoStCircuit<Tree>,
            >>::generate_public_inputs(&self.inputs, &self.params, Some(0))
            .unwrap();
            Block::checked(&circuit, &public[sector * (1 + self.params.challenge_count)..])
        }
    }

    fn accepted_window<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        post: &SyntheticWindowPost,
    ) -> Accepted<Tree> {
        Accepted::new(&post.registered_proof.as_v1_config(), post.partition, &window_post(post).unwrap())
    }

    fn accepted_winning<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        registered_proof: RegisteredPoStProof,
    ) -> Accepted<Tree> {
        let post = SyntheticWinningPost { registered_proof, sector: 100, seed: 1 };
        Accepted::new(&registered_proof.as_v1_config(), 0, &winning_post(&post).unwrap())
    }

    #[test]
    fn window_posts_are_true() {
        for registered_proof in [StackedDrgWindow2KiBV1, StackedDrgWindow2KiBV1_2] {
            for partition in [0, 3] {
                accepted_window::<SectorShape2KiB>(&window(registered_proof, partition, 2));
            }
            // The second sector is padding.
            let padded = accepted_window::<SectorShape2KiB>(&window(registered_proof, 0, 1));
            assert_eq!(padded.block(0), padded.block(1));
        }
        accepted_window::<SectorShape2KiB>(&window(StackedDrgWindow8MiBV1_2, 1, 2));
        accepted_window::<SectorShape64GiB>(&window(StackedDrgWindow64GiBV1_2, 0, 2));
        let full_size = accepted_window::<SectorShape32GiB>(&window(StackedDrgWindow32GiBV1_2, 0, 3));
        let golden = Block {
            rows: 53_333,
            aux: 54_024,
            inputs: 11,
            assignment: "170f7d93bba7ca17bc939c7c3ef96540474b1da1650e5355d1484296f4f38ad3".to_owned(),
        };
        assert_eq!(full_size.block(2), golden);
        // The first version's challenges depend on the sector's position, and so on the partition.
        let partition = accepted_window::<SectorShape32GiB>(&window(StackedDrgWindow32GiBV1, 4, 2));
        assert_ne!(partition.inputs.sectors[0].comm_r, full_size.inputs.sectors[0].comm_r);
    }

    #[test]
    fn upstream_accepts_a_full_partition() {
        accepted_window::<SectorShape32GiB>(&window(StackedDrgWindow32GiBV1_2, 0, 2349));
    }

    #[test]
    fn winning_posts_are_true() {
        accepted_winning::<SectorShape2KiB>(StackedDrgWinning2KiBV1);
        accepted_winning::<SectorShape2KiB>(StackedDrgWinning8MiBV1);
        accepted_winning::<SectorShape64GiB>(StackedDrgWinning64GiBV1);
        let full_size = accepted_winning::<SectorShape32GiB>(StackedDrgWinning32GiBV1);
        let golden = Block {
            rows: 5_615,
            aux: 5_685,
            inputs: 2,
            assignment: "388cb3035a4f2487953aeafb40907a8c3b5978f7e47fea3caad9606d31cd0b7a".to_owned(),
        };
        assert_eq!(full_size.block(65), golden);
    }

    #[test]
    fn a_false_sector_is_not_satisfied() {
        let mut accepted = accepted_window::<SectorShape32GiB>(&window(StackedDrgWindow32GiBV1_2, 0, 1));
        accepted.proof.sectors[0].comm_r_last = accepted.proof.sectors[0].comm_c; // upstream does not notice
        assert!(
            FallbackPoSt::<SectorShape32GiB>::verify(&accepted.params, &accepted.inputs, &accepted.proof)
                .unwrap()
        );
        let block =
            Sector::<SectorShape32GiB>::circuit(&accepted.inputs.sectors[0], &accepted.proof.sectors[0])
                .unwrap();
        assert!(cuzk_r1cs::check(&block).unwrap().unsatisfied.is_some());
    }

    #[test]
    fn same_seed_same_bytes() {
        let digest = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let made = pool.install(|| {
                let window = window_post(&window(StackedDrgWindow32GiBV1_2, 0, 5)).unwrap();
                let winning =
                    SyntheticWinningPost { registered_proof: StackedDrgWinning32GiBV1, sector: 1, seed: 1 };
                [window, winning_post(&winning).unwrap()]
            });
            made.map(|made| {
                let mut file = Vec::new();
                super::super::write_vanilla_proofs(&mut file, &made.proofs).unwrap();
                hex::encode(Sha256::digest(&file))
            })
        };
        assert_eq!(digest(1), digest(3));
        // What a seed means does not change between versions.
        assert_eq!(
            digest(2),
            [
                "87bff24ee273edfdb5cb69526ca730cd1bd1361f30df5a35774ff8a7e0f42ef6",
                "5544da56973b0650d26fb8bf00edee09fd301b27618adf732ea15ff410f9c09f"
            ]
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let message = |post| window_post(&post).unwrap_err().to_string();
        let post = window(StackedDrgWindow32GiBV1_2, 0, 2350);
        assert_eq!(message(post), "partition 0: 2350 sectors where 2349 are needed");
        let post = window(StackedDrgWindow2KiBV1, 1, 0);
        assert_eq!(message(post), "partition 1: 0 sectors where 1 are needed");
        let post = window(StackedDrgWinning2KiBV1, 0, 1);
        assert!(message(post).ends_with("a window PoSt was asked for"));
        let post = SyntheticWindowPost { first_sector: u64::MAX, ..window(StackedDrgWindow2KiBV1, 0, 2) };
        assert!(message(post).ends_with("sector numbers end at 2^64 - 1"));
    }
}
