//! Statements as the chain knows them: enough to verify a proof, not to make one.

use filecoin_proofs::types::{FallbackPoStSectorProof, MerkleTreeTrait};
use filecoin_proofs_api::seal::VanillaSealProof;
use storage_proofs_post::fallback;

use crate::identity::domain;
use crate::porep::{Porep, Prover, porep_size};
use crate::post::{Post, Sectors, post_size};
use crate::snap::{Partitions, Snap, snap_size};
use crate::statement::Body;
use crate::{Error, RegisteredProof, SectorSize, Statement, registered};

/// What a proof is about, without vanilla proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicStatement {
    /// A proof of replication.
    Porep {
        /// The miner's actor id.
        miner: u64,
        /// The sector number.
        sector: u64,
        /// The commitment to the replica.
        comm_r: [u8; 32],
        /// The commitment to the data.
        comm_d: [u8; 32],
        /// The randomness that the sector was sealed with.
        ticket: [u8; 32],
        /// The randomness of the challenges; a non-interactive PoRep has none.
        seed: Option<[u8; 32]>,
    },
    /// A proof of spacetime.
    Post {
        /// The miner's actor id.
        miner: u64,
        /// The randomness of the challenges.
        randomness: [u8; 32],
        /// Sector numbers and commitments to their replicas, in the proof's order.
        replicas: Vec<(u64, [u8; 32])>,
    },
    /// A replica update.
    Update {
        /// The commitment to the replica before.
        comm_r_old: [u8; 32],
        /// The commitment to the replica after.
        comm_r_new: [u8; 32],
        /// The commitment to the data after.
        comm_d_new: [u8; 32],
    },
}

impl Statement {
    /// A statement that can be verified, but neither checked nor proved. `proof_type` is the registered proof by name or
    /// number.
    pub fn from_public(public: &PublicStatement, proof_type: &str) -> Result<Self, Error> {
        let body = match public {
            PublicStatement::Porep { miner, sector, comm_r, comm_d, ticket, seed } => {
                let registered_proof = registered::seal(proof_type)?;
                let seed = match seed {
                    Some(seed) => *seed,
                    None if RegisteredProof::Seal(registered_proof).is_aggregated() => [0; 32],
                    None => return Err(Error::Missing { what: "seed", flag: "--seed" }),
                };
                let mut porep = Porep {
                    registered_proof,
                    porep_id: registered_proof.as_v1_config().porep_id,
                    prover: Prover::Miner(*miner),
                    sector: *sector,
                    vanilla: no_vanilla(porep_size(registered_proof)?),
                    comm_r: *comm_r,
                    comm_d: *comm_d,
                    replica_id: [0; 32],
                    seed,
                    ticket: *ticket,
                };
                porep.replica_id = porep.expected_replica_id()?;
                Body::Porep(Box::new(porep))
            }
            PublicStatement::Post { miner, randomness, replicas } => {
                let registered_proof = registered::post(proof_type)?;
                let sectors = without_openings(post_size(registered_proof)?, replicas)?;
                let mut randomness = *randomness;
                randomness[31] &= 0x3f; // as the chain's rules do
                let post = Post { registered_proof, miner: *miner, randomness, sectors };
                post.check_numbers()?;
                Body::Post(post)
            }
            PublicStatement::Update { comm_r_old, comm_r_new, comm_d_new } => {
                let registered_proof = registered::update(proof_type)?;
                let partitions = match snap_size(registered_proof)? {
                    SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => Partitions::Base(vec![]),
                    SectorSize::GiB32 => Partitions::Sub(vec![]),
                    SectorSize::GiB64 => Partitions::Top(vec![]),
                };
                Body::Snap(Snap {
                    registered_proof,
                    comm_r_old: *comm_r_old,
                    comm_r_new: *comm_r_new,
                    comm_d_new: *comm_d_new,
                    partitions,
                })
            }
        };
        Ok(Statement { body, made_by: None })
    }
}

fn no_vanilla(size: SectorSize) -> VanillaSealProof {
    match size {
        SectorSize::KiB2 => VanillaSealProof::StackedDrg2KiBV1(vec![]),
        SectorSize::MiB8 => VanillaSealProof::StackedDrg8MiBV1(vec![]),
        SectorSize::MiB512 => VanillaSealProof::StackedDrg512MiBV1(vec![]),
        SectorSize::GiB32 => VanillaSealProof::StackedDrg32GiBV1(vec![]),
        SectorSize::GiB64 => VanillaSealProof::StackedDrg64GiBV1(vec![]),
    }
}

fn without_openings(size: SectorSize, replicas: &[(u64, [u8; 32])]) -> Result<Sectors, Error> {
    fn sectors<Tree: 'static + MerkleTreeTrait>(
        replicas: &[(u64, [u8; 32])],
    ) -> Result<Vec<FallbackPoStSectorProof<Tree>>, Error> {
        let sector = |(number, comm_r): &(u64, [u8; 32])| {
            Ok(FallbackPoStSectorProof {
                sector_id: (*number).into(),
                comm_r: domain("comm_r", comm_r)?,
                vanilla_proof: fallback::Proof { sectors: vec![] },
            })
        };
        replicas.iter().map(sector).collect()
    }
    Ok(match size {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => Sectors::Base(sectors(replicas)?),
        SectorSize::GiB32 => Sectors::Sub(sectors(replicas)?),
        SectorSize::GiB64 => Sectors::Top(sectors(replicas)?),
    })
}
