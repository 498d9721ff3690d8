//! Proof of replication (stacked DRG).

use std::borrow::Cow;
use std::marker::PhantomData;

use cuzk_r1cs::{BlockStart, Writer};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::constants::{
    DefaultPieceHasher, SectorShape2KiB, SectorShape8MiB, SectorShape32GiB, SectorShape64GiB,
    SectorShape512MiB,
};
use filecoin_proofs::parameters::setup_params;
use filecoin_proofs::types::{MerkleTreeTrait, PoRepConfig};
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use rayon::prelude::*;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::drgraph::Graph;
use storage_proofs_porep::stacked::{
    self, ChallengeRequirements, SetupParams, StackedCircuit, StackedCompound, StackedDrg,
    generate_replica_id,
};

use crate::compound::{self, AnyCircuit, Blank, Blocks, Compound, Provable};
use crate::direct::porep::{PorepWriter, roots};
use crate::identity::domain;
use crate::{Error, ParameterSet, SectorSize, vanilla_checks};

type Scheme<Tree> = StackedDrg<'static, Tree, DefaultPieceHasher>;
type Circuit<Tree> = StackedCircuit<Tree, DefaultPieceHasher>;
type Joined<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
type Vanilla<Tree> = stacked::Proof<Tree, DefaultPieceHasher>;
type TreeDomain<Tree> = <<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain;
type PieceDomain = <DefaultPieceHasher as Hasher>::Domain;
type PublicInputs<Tree> = stacked::PublicInputs<TreeDomain<Tree>, PieceDomain>;

/// A PoRep statement: a C1 output and the prover that claims it.
#[derive(Debug)]
pub(crate) struct Porep {
    pub(crate) registered_proof: RegisteredSealProof,
    /// The registered proof's, unless overridden.
    pub(crate) porep_id: [u8; 32],
    pub(crate) prover: Prover,
    pub(crate) sector: u64,
    pub(crate) vanilla: VanillaSealProof,
    pub(crate) comm_r: [u8; 32],
    pub(crate) comm_d: [u8; 32],
    pub(crate) replica_id: [u8; 32],
    pub(crate) seed: [u8; 32],
    pub(crate) ticket: [u8; 32],
}

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prover {
    /// A miner by its actor id.
    Miner(u64),
    /// A prover id as it is hashed.
    Id([u8; 32]),
}

impl Prover {
    pub(crate) fn id(&self) -> [u8; 32] {
        match self {
            Prover::Miner(miner) => crate::prover_id(*miner),
            Prover::Id(id) => *id,
        }
    }
}

impl std::fmt::Display for Prover {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Prover::Miner(miner) => write!(formatter, "miner {miner}"),
            Prover::Id(id) => write!(formatter, "prover id {}", hex::encode(id)),
        }
    }
}

/// Calls a generic function with the vanilla proofs, whose type depends on the tree's shape.
macro_rules! with_vanilla {
    ($vanilla:expr, $proofs:ident: $tree:ident => $call:expr) => {
        match $vanilla {
            VanillaSealProof::StackedDrg2KiBV1($proofs) => {
                type $tree = SectorShape2KiB;
                $call
            }
            VanillaSealProof::StackedDrg8MiBV1($proofs) => {
                type $tree = SectorShape8MiB;
                $call
            }
            VanillaSealProof::StackedDrg512MiBV1($proofs) => {
                type $tree = SectorShape512MiB;
                $call
            }
            VanillaSealProof::StackedDrg32GiBV1($proofs) => {
                type $tree = SectorShape32GiB;
                $call
            }
            VanillaSealProof::StackedDrg64GiBV1($proofs) => {
                type $tree = SectorShape64GiB;
                $call
            }
        }
    };
}

/// The size that the variant's name says.
pub(crate) fn vanilla_size(vanilla: &VanillaSealProof) -> SectorSize {
    match vanilla {
        VanillaSealProof::StackedDrg2KiBV1(_) => SectorSize::KiB2,
        VanillaSealProof::StackedDrg8MiBV1(_) => SectorSize::MiB8,
        VanillaSealProof::StackedDrg512MiBV1(_) => SectorSize::MiB512,
        VanillaSealProof::StackedDrg32GiBV1(_) => SectorSize::GiB32,
        VanillaSealProof::StackedDrg64GiBV1(_) => SectorSize::GiB64,
    }
}

/// Bincode of filecoin-proofs' own C1 output: its fields one after the other.
pub(crate) fn write_bincode(
    out: impl std::io::Write,
    phase1: &SealCommitPhase1Output,
) -> Result<(), bincode::Error> {
    let SealCommitPhase1Output { vanilla_proofs, comm_r, comm_d, replica_id, seed, ticket, .. } = phase1;
    with_vanilla!(vanilla_proofs, proofs: Tree => {
        let proofs: &Vec<Vec<Vanilla<Tree>>> = proofs;
        bincode::serialize_into(out, &(proofs, comm_r, comm_d, replica_id, seed, ticket))
    })
}

impl Porep {
    fn config(&self) -> PoRepConfig {
        PoRepConfig { porep_id: self.porep_id, ..self.registered_proof.as_v1_config() }
    }

    fn setup(&self) -> Result<SetupParams, Error> {
        setup_params(&self.config()).map_err(Error::upstream("setting up the PoRep"))
    }

    pub(crate) fn partitions(&self) -> usize {
        usize::from(self.config().partitions)
    }

    pub(crate) fn challenges(&self) -> Result<usize, Error> {
        Ok(self.setup()?.challenges.num_challenges_per_partition())
    }

    /// The replica id, which hashes prover id, sector, ticket, comm_d and porep id.
    pub(crate) fn expected_replica_id(&self) -> Result<[u8; 32], Error> {
        type AnyTree = SectorShape2KiB; // the hasher is the same for all
        let comm_d: PieceDomain = domain("comm_d", &self.comm_d)?;
        let id = generate_replica_id::<<AnyTree as MerkleTreeTrait>::Hasher, _>(
            &self.prover.id(),
            self.sector,
            &self.ticket,
            comm_d,
            &self.porep_id,
        );
        let mut bytes = [0; 32];
        bytes.copy_from_slice(id.as_ref());
        Ok(bytes)
    }

    /// Compares the replica id with the one that the identity gives.
    pub(crate) fn check_identity(&self) -> Result<(), Error> {
        let _: TreeDomain<SectorShape2KiB> = domain("replica_id", &self.replica_id)?;
        let expected = self.expected_replica_id()?;
        if expected != self.replica_id {
            return Err(Error::WrongIdentity {
                found: hex::encode(self.replica_id),
                expected: hex::encode(expected),
                prover: self.prover.to_string(),
                sector: self.sector,
            });
        }
        Ok(())
    }

    /// Every count and field element, and what upstream does not notice ([`vanilla_checks`]); then the vanilla proofs
    /// may be handed to upstream.
    pub(crate) fn check_counts(&self) -> Result<(), Error> {
        let size = porep_size(self.registered_proof)?;
        if vanilla_size(&self.vanilla) != size {
            let registered_proof = format!("{:?}", self.registered_proof);
            let outer = vanilla_size(&self.vanilla).bytes();
            return Err(Error::SectorSizes { outer, registered_proof, inner: size });
        }
        for (name, bytes) in [("comm_d", self.comm_d), ("comm_r", self.comm_r)] {
            if bytes == [0; 32] {
                return Err(Error::Commitment { name, problem: "all zero, which no sector's commitment is" });
            }
        }
        with_vanilla!(&self.vanilla, proofs: Tree => self.check_own::<Tree>(size, proofs))
    }

    fn check_own<Tree: 'static + MerkleTreeTrait>(
        &self,
        size: SectorSize,
        vanilla: &[Vec<Vanilla<Tree>>],
    ) -> Result<(), Error> {
        if vanilla.len() != self.partitions() {
            let (place, expected) = ("the vanilla proofs".to_owned(), self.partitions());
            return Err(Error::Count { place, what: "partitions", found: vanilla.len(), expected });
        }
        let params = self.public_params::<Tree>()?.vanilla_params;
        vanilla_checks::porep(size, &params, &self.public_inputs::<Tree>()?, vanilla)
    }

    /// What upstream's `verify_all_partitions` checks, naming what is false. After [`Porep::check_counts`].
    pub(crate) fn check_vanilla_proofs(&self) -> Result<(), Error> {
        with_vanilla!(&self.vanilla, proofs: Tree => self.check_partitions::<Tree>(proofs))
    }

    fn check_partitions<Tree: 'static + MerkleTreeTrait>(
        &self,
        vanilla: &[Vec<Vanilla<Tree>>],
    ) -> Result<(), Error> {
        let params = self.public_params::<Tree>()?.vanilla_params;
        let inputs = self.public_inputs::<Tree>()?;
        let comm_r = inputs.tau.as_ref().map(|tau| tau.comm_r);
        let challenges: Vec<(usize, usize, usize)> = (0..vanilla.len())
            .flat_map(|k| {
                let nodes = inputs.challenges(&params.challenges, params.graph.size(), Some(k));
                nodes.into_iter().enumerate().map(move |(i, node)| (k, i, node))
            })
            .collect();
        challenges.par_iter().try_for_each(|&(partition, challenge, node)| {
            let proof = &vanilla[partition][challenge];
            let root = <Tree::Hasher as Hasher>::Function::hash2(&proof.comm_c(), &proof.comm_r_last());
            let what = if Some(root) != comm_r {
                "comm_r is not the hash of its comm_c and comm_r_last"
            } else if !proof.verify(&params, &inputs, node, &params.graph) {
                "a path, a column, a label or the encoding does not verify"
            } else {
                return Ok(());
            };
            Err(Error::FalseVanillaProof { partition, challenge, what })
        })
    }

    fn public_params<Tree: 'static + MerkleTreeTrait>(
        &self,
    ) -> Result<storage_proofs_core::compound_proof::PublicParams<'static, Scheme<Tree>>, Error> {
        let partitions = Some(self.partitions());
        compound::public_params::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>>(self.setup()?, partitions)
    }

    fn public_inputs<Tree: 'static + MerkleTreeTrait>(&self) -> Result<PublicInputs<Tree>, Error> {
        Ok(PublicInputs::<Tree> {
            replica_id: domain("replica_id", &self.replica_id)?,
            tau: Some(stacked::Tau {
                comm_d: domain("comm_d", &self.comm_d)?,
                comm_r: domain("comm_r", &self.comm_r)?,
            }),
            k: None,
            seed: Some(self.seed),
        })
    }

    pub(crate) fn provable(&self) -> Result<Box<dyn Provable + '_>, Error> {
        with_vanilla!(&self.vanilla, proofs: Tree => self.compound::<Tree>(proofs))
    }

    fn compound<'a, Tree: 'static + MerkleTreeTrait>(
        &self,
        vanilla: &'a [Vec<Vanilla<Tree>>],
    ) -> Result<Box<dyn Provable + 'a>, Error> {
        Ok(Box::new(Compound::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>> {
            params: self.public_params::<Tree>()?,
            inputs: self.public_inputs::<Tree>()?,
            requirements: ChallengeRequirements { minimum_challenges: self.config().minimum_challenges() },
            vanilla: Cow::Borrowed(vanilla),
            block: Some(|all, partition, challenge| {
                let vanilla = vec![all.vanilla[partition][challenge].clone()];
                Compound::<_, _, Joined<Tree>>::build(
                    &all.params.vanilla_params,
                    &all.inputs,
                    &vanilla,
                    partition,
                )
            }),
            writer: |all, partition, sheet| {
                let params = &all.params.vanilla_params;
                let challenges =
                    all.inputs.challenges(&params.challenges, params.graph.size(), Some(partition));
                let vanilla = &all.vanilla[partition];
                let writer = PorepWriter::new(&all.inputs.replica_id, params.num_layers, sheet.engine);
                let header = |out: &mut Writer<'_>| {
                    // A statement without openings has no header, and is refused for what is missing.
                    if let (Some(first), Some(tau)) = (vanilla.first(), &all.inputs.tau) {
                        writer.header(&roots(&tau.comm_d, &tau.comm_r, first), out)?;
                    }
                    Ok(())
                };
                sheet.write(&writer.hashes, vanilla.len(), header, |block, out| {
                    writer.block(&vanilla[block], challenges[block] as u64, out)
                })
            },
            circuit: PhantomData,
        }))
    }
}

/// The sector size of a registered proof.
pub(crate) fn porep_size(registered_proof: RegisteredSealProof) -> Result<SectorSize, Error> {
    SectorSize::from_bytes(registered_proof.sector_size().0)
        .ok_or_else(|| Error::Unsupported { registered_proof: format!("{registered_proof:?}") })
}

/// The parameter files of a registered proof's circuit.
pub(crate) fn parameter_set(registered_proof: RegisteredSealProof) -> Result<ParameterSet, Error> {
    let circuit = registered_proof.circuit_identifier().map_err(Error::upstream("naming the circuit"))?;
    Ok(ParameterSet::new(circuit, porep_size(registered_proof)?))
}

/// A registered proof's circuit without values; a block is a challenge. All versions of PoRep have the same.
pub(crate) fn blank(registered_proof: RegisteredSealProof, blocks: Blocks) -> Result<Blank, Error> {
    fn blank<Tree: 'static + MerkleTreeTrait>(config: &PoRepConfig, blocks: Blocks) -> Result<Blank, Error> {
        let setup = setup_params(config).map_err(Error::upstream("setting up the PoRep"))?;
        let mut params =
            compound::public_params::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>>(setup, None)?.vanilla_params;
        let instances = params.challenges.num_challenges_per_partition();
        if blocks == Blocks::Two {
            params.challenges = stacked::Challenges::new_interactive(2);
        }
        let circuit: Circuit<Tree> =
            <Joined<Tree> as CompoundProof<Scheme<Tree>, Circuit<Tree>>>::blank_circuit(&params);
        let start = BlockStart { depth: 1, prefix: "challenge_" };
        Ok(Blank { circuit: AnyCircuit::new(circuit), start, instances })
    }
    let config = registered_proof.as_v1_config();
    match porep_size(registered_proof)? {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => blank::<SectorShape2KiB>(&config, blocks),
        SectorSize::GiB32 => blank::<SectorShape32GiB>(&config, blocks),
        SectorSize::GiB64 => blank::<SectorShape64GiB>(&config, blocks),
    }
}
