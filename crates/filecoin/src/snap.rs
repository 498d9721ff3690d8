//! Replica updates (SnapDeals): the empty-sector update of `storage-proofs-update`.

use std::borrow::Cow;
use std::marker::PhantomData;

use cuzk_r1cs::{BlockStart, Writer};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB, SectorShape64GiB};
use filecoin_proofs::types::{MerkleTreeTrait, SectorUpdateConfig};
use filecoin_proofs_api::RegisteredUpdateProof;
use rayon::prelude::*;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_core::parameter_cache::CacheableParameters;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_update::constants::{TreeRHasher, h_select};
use storage_proofs_update::vanilla::phi;
use storage_proofs_update::{
    Challenges, EmptySectorUpdate, EmptySectorUpdateCircuit, EmptySectorUpdateCompound, PartitionProof,
    PublicInputs, PublicParams, SetupParams,
};

use crate::compound::{self, AnyCircuit, Blank, Compound, Provable};
use crate::decode::BincodeError;
use crate::direct::snap::{Public, SnapWriter};
use crate::identity::domain;
use crate::shape::size_of_path;
use crate::{Error, ParameterSet, SectorSize, vanilla_checks};

type Scheme<Tree> = EmptySectorUpdate<Tree>;
type Circuit<Tree> = EmptySectorUpdateCircuit<Tree>;
type Joined<Tree> = EmptySectorUpdateCompound<Tree>;

/// Vanilla proofs, one a partition, over one of the three shapes of tree.
pub(crate) enum Partitions {
    Base(Vec<PartitionProof<SectorShape2KiB>>),
    Sub(Vec<PartitionProof<SectorShape32GiB>>),
    Top(Vec<PartitionProof<SectorShape64GiB>>),
}

macro_rules! with_partitions {
    ($partitions:expr, $name:ident => $call:expr) => {
        match $partitions {
            Partitions::Base($name) => $call,
            Partitions::Sub($name) => $call,
            Partitions::Top($name) => $call,
        }
    };
}

impl std::fmt::Debug for Partitions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} partitions", self.len())
    }
}

/// A replica update statement.
#[derive(Debug)]
pub(crate) struct Snap {
    pub(crate) registered_proof: RegisteredUpdateProof,
    pub(crate) comm_r_old: [u8; 32],
    pub(crate) comm_r_new: [u8; 32],
    pub(crate) comm_d_new: [u8; 32],
    pub(crate) partitions: Partitions,
}

impl Partitions {
    /// Decodes elements of bincode, each of them to its last byte. Upstream's paths decode as any shape of tree, so the
    /// first path's length decides which it is.
    pub(crate) fn from_bincode(elements: &[Vec<u8>]) -> Result<Self, BincodeError> {
        use crate::decode::from_bincode_list as decode;
        let base = Partitions::Base(decode(elements)?);
        match base.guess() {
            Some(SectorSize::GiB32) => decode(elements).map(Partitions::Sub),
            Some(SectorSize::GiB64) => decode(elements).map(Partitions::Top),
            _ => Ok(base),
        }
    }

    /// Bincode of each partition.
    pub(crate) fn to_bincode(&self) -> Vec<Vec<u8>> {
        fn encode<Tree: MerkleTreeTrait<Hasher = TreeRHasher>>(
            partitions: &[PartitionProof<Tree>],
        ) -> Vec<Vec<u8>> {
            partitions.iter().map(|proof| bincode::serialize(proof).expect("lists and integers")).collect()
        }
        with_partitions!(self, partitions => encode(partitions))
    }

    pub(crate) fn len(&self) -> usize {
        with_partitions!(self, partitions => partitions.len())
    }

    /// The sector size, from the first partition's first path. The check compares all others.
    pub(crate) fn guess(&self) -> Option<SectorSize> {
        fn guess<Tree: MerkleTreeTrait<Hasher = TreeRHasher>>(
            partitions: &[PartitionProof<Tree>],
        ) -> Option<SectorSize> {
            size_of_path(partitions.first()?.challenge_proofs.first()?.proof_r_old.path().len())
        }
        with_partitions!(self, partitions => guess(partitions))
    }
}

impl Snap {
    fn params(&self) -> PublicParams {
        PublicParams::from_sector_size(self.registered_proof.sector_size().0)
    }

    pub(crate) fn partitions(&self) -> usize {
        self.params().partition_count
    }

    pub(crate) fn challenges(&self) -> usize {
        self.params().challenge_count
    }

    /// Every count and field element, and what upstream does not notice ([`vanilla_checks`]); then the vanilla proofs
    /// may be handed to upstream.
    pub(crate) fn check_counts(&self) -> Result<(), Error> {
        for (name, bytes) in [
            ("comm_r_old", self.comm_r_old),
            ("comm_r_new", self.comm_r_new),
            ("comm_d_new", self.comm_d_new),
        ] {
            if bytes == [0; 32] {
                return Err(Error::Commitment { name, problem: "all zero, which no sector's commitment is" });
            }
        }
        with_partitions!(&self.partitions, partitions => self.check_own(partitions))
    }

    fn check_own<Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(
        &self,
        partitions: &[PartitionProof<Tree>],
    ) -> Result<(), Error> {
        if partitions.len() != self.partitions() {
            let (place, expected) = ("the input".to_owned(), self.partitions());
            return Err(Error::Count { place, what: "partitions", found: partitions.len(), expected });
        }
        let (size, comm_r_new) = (snap_size(self.registered_proof)?, domain("comm_r_new", &self.comm_r_new)?);
        let partitions = partitions.iter().enumerate();
        partitions
            .into_iter()
            .try_for_each(|(partition, proof)| vanilla_checks::snap(size, comm_r_new, partition, proof))
    }

    /// Upstream's verification of each partition's vanilla proof, on all cores; a false one is looked at more closely.
    pub(crate) fn check_vanilla_proofs(&self) -> Result<(), Error> {
        with_partitions!(&self.partitions, partitions => self.check_partitions(partitions))
    }

    fn check_partitions<Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(
        &self,
        partitions: &[PartitionProof<Tree>],
    ) -> Result<(), Error> {
        let (params, inputs) = (self.params(), self.public_inputs()?);
        partitions.par_iter().enumerate().try_for_each(|(partition, proof)| {
            let inputs = Scheme::<Tree>::with_partition(inputs.clone(), Some(partition));
            if Scheme::<Tree>::verify(&params, &inputs, proof).unwrap_or(false) {
                return Ok(());
            }
            let (challenge, what) = what_is_false(&params, &inputs, proof);
            Err(Error::FalseVanillaProof { partition, challenge, what })
        })
    }

    fn public_inputs(&self) -> Result<PublicInputs, Error> {
        let config = SectorUpdateConfig::from_porep_config(&self.registered_proof.as_v1_config());
        Ok(PublicInputs {
            k: self.partitions(),
            comm_r_old: domain("comm_r_old", &self.comm_r_old)?,
            comm_d_new: domain("comm_d_new", &self.comm_d_new)?,
            comm_r_new: domain("comm_r_new", &self.comm_r_new)?,
            h: config.h,
        })
    }

    pub(crate) fn provable(&self) -> Result<Box<dyn Provable + '_>, Error> {
        with_partitions!(&self.partitions, partitions => self.compound(partitions))
    }

    fn compound<'a, Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(
        &self,
        partitions: &'a [PartitionProof<Tree>],
    ) -> Result<Box<dyn Provable + 'a>, Error> {
        let setup = SetupParams { sector_bytes: self.registered_proof.sector_size().0 };
        let n_partitions = Some(self.partitions());
        Ok(Box::new(Compound::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>> {
            params: compound::public_params::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>>(
                setup,
                n_partitions,
            )?,
            inputs: self.public_inputs()?,
            requirements: (),
            vanilla: Cow::Borrowed(partitions),
            // The bits of a challenge come from its place in a digest of several.
            block: None,
            writer: |all, partition, sheet| {
                let (params, public) = (&all.params.vanilla_params, &all.inputs);
                let proof = &all.vanilla[partition];
                let node = |root: &dyn AsRef<[u8]>| root.as_ref().try_into().expect("32 bytes");
                let writer = SnapWriter::new(
                    params,
                    Public {
                        partition,
                        h_select: h_select(params.sector_nodes, public.h),
                        comm_r_old: node(&public.comm_r_old),
                        comm_d_new: node(&public.comm_d_new),
                        comm_r_new: node(&public.comm_r_new),
                        phi: node(&phi(&public.comm_d_new, &public.comm_r_old)),
                    },
                    proof,
                    sheet.engine,
                );
                let challenges: Vec<u32> =
                    Challenges::new(params.sector_nodes, public.comm_r_new, partition).collect();
                let header = |out: &mut Writer<'_>| writer.header(proof, out);
                sheet.write(&writer.hashes, challenges.len(), header, |block, out| {
                    writer.block(&proof.challenge_proofs[block], u64::from(challenges[block]), out)
                })
            },
            circuit: PhantomData,
        }))
    }
}

/// Which challenge of a false partition is false, and how, as far as it can be told.
fn what_is_false<Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(
    params: &PublicParams,
    inputs: &PublicInputs,
    proof: &PartitionProof<Tree>,
) -> (usize, &'static str) {
    let hash2 = |left, right| <TreeRHasher as Hasher>::Function::hash2(left, right);
    let first = &proof.challenge_proofs[0];
    let (old, new) = (first.proof_r_old.root(), first.proof_r_new.root());
    if hash2(&proof.comm_c, &old) != inputs.comm_r_old {
        return (
            0,
            "comm_r_old is not the hash of its comm_c and the old tree's root (old and new swapped?)",
        );
    }
    if hash2(&proof.comm_c, &new) != inputs.comm_r_new {
        return (0, "comm_r_new is not the hash of its comm_c and the new tree's root");
    }
    let nodes = Challenges::new(params.sector_nodes, inputs.comm_r_new, inputs.k);
    let paths = proof.challenge_proofs.iter().zip(nodes);
    match paths
        .map(|(paths, node)| paths.verify_merkle_proofs(node, &old, &inputs.comm_d_new, &new))
        .position(|ok| !ok)
    {
        Some(challenge) => {
            (challenge, "a path does not open the challenged node or does not lead to its root")
        }
        None => (0, "an encoding or an apex path of this partition does not verify"),
    }
}

/// The sector size of a registered proof.
pub(crate) fn snap_size(registered_proof: RegisteredUpdateProof) -> Result<SectorSize, Error> {
    SectorSize::from_bytes(registered_proof.sector_size().0)
        .ok_or_else(|| Error::Unsupported { registered_proof: format!("{registered_proof:?}") })
}

/// The parameter files of a registered proof's circuit. (proofs-api's `RegisteredUpdateProof::circuit_identifier` names
/// the PoRep circuit of the size, in 19.1.0.)
pub(crate) fn parameter_set(registered_proof: RegisteredUpdateProof) -> Result<ParameterSet, Error> {
    fn identifier<Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(params: &PublicParams) -> String {
        <Joined<Tree> as CacheableParameters<Circuit<Tree>, PublicParams>>::cache_identifier(params)
    }
    let size = snap_size(registered_proof)?;
    let params = PublicParams::from_sector_size(size.bytes());
    let circuit = match size {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => identifier::<SectorShape2KiB>(&params),
        SectorSize::GiB32 => identifier::<SectorShape32GiB>(&params),
        SectorSize::GiB64 => identifier::<SectorShape64GiB>(&params),
    };
    Ok(ParameterSet::new(circuit, size))
}

/// A registered proof's circuit without values; a block is a challenge. The header depends on the number of challenges,
/// and what a block takes from it on which challenge it is, so that only the whole circuit tells.
pub(crate) fn blank(registered_proof: RegisteredUpdateProof) -> Result<Blank, Error> {
    fn blank<Tree: 'static + MerkleTreeTrait<Hasher = TreeRHasher>>(params: PublicParams) -> Blank {
        let instances = params.challenge_count;
        let circuit = AnyCircuit::new(Circuit::<Tree>::blank(params));
        let start = BlockStart { depth: 1, prefix: "get_challenge_high_bits (c_index=" };
        Blank { circuit, start, instances }
    }
    let params = PublicParams::from_sector_size(registered_proof.sector_size().0);
    Ok(match snap_size(registered_proof)? {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => blank::<SectorShape2KiB>(params),
        SectorSize::GiB32 => blank::<SectorShape32GiB>(params),
        SectorSize::GiB64 => blank::<SectorShape64GiB>(params),
    })
}
