//! Proofs of spacetime (fallback PoSt): winning and window.
//!
//! A winning PoSt opens one sector at 66 challenges; its circuit has 66 sectors of one challenge, the one sector
//! repeated. A window PoSt opens many sectors at 10 challenges each; a partition that is not full repeats its last
//! sector.

use std::borrow::Cow;
use std::marker::PhantomData;

use cuzk_fault::{Fault, injected};
use cuzk_r1cs::{BlockStart, Writer};
use filecoin_hashers::poseidon::PoseidonHasher;
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB, SectorShape64GiB};
use filecoin_proofs::parameters::{window_post_setup_params, winning_post_setup_params};
use filecoin_proofs::types::{FallbackPoStSectorProof, MerkleTreeTrait, PoStConfig};
use filecoin_proofs_api::{PoStType, RegisteredPoStProof};
use rayon::prelude::*;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_post::fallback::{
    self, ChallengeRequirements, FallbackPoSt, FallbackPoStCircuit, FallbackPoStCompound, PublicSector,
    SectorProof,
};

use crate::compound::{self, AnyCircuit, Blank, Blocks, Compound, Provable};
use crate::decode::BincodeError;
use crate::direct::post::PostWriter;
use crate::identity::{domain, prover_id};
use crate::shape::size_of_path;
use crate::{Error, ParameterSet, SectorSize, vanilla_checks};

type Scheme<Tree> = FallbackPoSt<'static, Tree>;
type Circuit<Tree> = FallbackPoStCircuit<Tree>;
type Joined<Tree> = FallbackPoStCompound<Tree>;
type TreeDomain<Tree> = <<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain;

/// Vanilla proofs, one a sector, over one of the three shapes of tree.
#[derive(Debug)]
pub(crate) enum Sectors {
    Base(Vec<FallbackPoStSectorProof<SectorShape2KiB>>),
    Sub(Vec<FallbackPoStSectorProof<SectorShape32GiB>>),
    Top(Vec<FallbackPoStSectorProof<SectorShape64GiB>>),
}

/// Calls a generic function with the sectors of whatever shape.
macro_rules! with_sectors {
    ($sectors:expr, $name:ident => $call:expr) => {
        match $sectors {
            Sectors::Base($name) => $call,
            Sectors::Sub($name) => $call,
            Sectors::Top($name) => $call,
        }
    };
}

/// A PoSt statement.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) registered_proof: RegisteredPoStProof,
    pub(crate) miner: u64,
    pub(crate) randomness: [u8; 32],
    pub(crate) sectors: Sectors,
}

impl Sectors {
    /// Decodes elements of bincode, each of them to its last byte. Upstream's paths decode as any shape of tree, so the
    /// first path's length decides which it is.
    pub(crate) fn from_bincode(elements: &[Vec<u8>]) -> Result<Self, BincodeError> {
        use crate::decode::from_bincode_list as decode;
        let base = Sectors::Base(decode(elements)?);
        match base.guess() {
            Some((SectorSize::GiB32, _)) => decode(elements).map(Sectors::Sub),
            Some((SectorSize::GiB64, _)) => decode(elements).map(Sectors::Top),
            _ => Ok(base),
        }
    }

    /// Bincode of each sector.
    pub(crate) fn to_bincode(&self) -> Vec<Vec<u8>> {
        fn encode<Tree: 'static + MerkleTreeTrait>(
            sectors: &[FallbackPoStSectorProof<Tree>],
        ) -> Vec<Vec<u8>> {
            sectors.iter().map(|sector| bincode::serialize(sector).expect("lists and integers")).collect()
        }
        with_sectors!(self, sectors => encode(sectors))
    }

    pub(crate) fn len(&self) -> usize {
        with_sectors!(self, sectors => sectors.len())
    }

    /// Sector numbers and comm_r, in order.
    pub(crate) fn public(&self) -> Vec<(u64, [u8; 32])> {
        fn public<Tree: 'static + MerkleTreeTrait>(
            sectors: &[FallbackPoStSectorProof<Tree>],
        ) -> Vec<(u64, [u8; 32])> {
            let bytes = |domain: &TreeDomain<Tree>| {
                let mut bytes = [0; 32];
                bytes.copy_from_slice(domain.as_ref());
                bytes
            };
            sectors.iter().map(|sector| (sector.sector_id.into(), bytes(&sector.comm_r))).collect()
        }
        with_sectors!(self, sectors => public(sectors))
    }

    /// Sector size and number of challenges, from the first sector's first path. The check compares all others.
    pub(crate) fn guess(&self) -> Option<(SectorSize, usize)> {
        fn guess<Tree: 'static + MerkleTreeTrait>(
            sectors: &[FallbackPoStSectorProof<Tree>],
        ) -> Option<(SectorSize, usize)> {
            let opened = sectors.first()?.vanilla_proof.sectors.first()?;
            let steps = opened.inclusion_proofs.first()?.path().len();
            Some((size_of_path(steps)?, opened.inclusion_proofs.len()))
        }
        with_sectors!(self, sectors => guess(sectors))
    }
}

impl Post {
    fn config(&self) -> PoStConfig {
        self.registered_proof.as_v1_config()
    }

    pub(crate) fn is_winning(&self) -> bool {
        self.registered_proof.typ() == PoStType::Winning
    }

    /// Sectors that one partition opens.
    pub(crate) fn sectors_per_partition(&self) -> usize {
        if self.is_winning() { 1 } else { self.registered_proof.sector_count() }
    }

    pub(crate) fn partitions(&self) -> usize {
        self.sectors.len().div_ceil(self.sectors_per_partition()).max(1)
    }

    pub(crate) fn challenges(&self) -> usize {
        self.config().challenge_count
    }

    /// One sector of a winning PoSt, at least one of another, none twice.
    pub(crate) fn check_numbers(&self) -> Result<(), Error> {
        if self.is_winning() && self.sectors.len() != 1 {
            let (place, found) = ("the input".to_owned(), self.sectors.len());
            return Err(Error::Count { place, what: "sectors of a winning PoSt", found, expected: 1 });
        }
        if self.sectors.len() == 0 {
            return Err(Error::Count {
                place: "the input".to_owned(),
                what: "sectors",
                found: 0,
                expected: 1,
            });
        }
        let numbers = self.sectors.public();
        let mut sorted: Vec<u64> = numbers.iter().map(|(number, _)| *number).collect();
        sorted.sort_unstable();
        let twice = |pair: &&[u64]| pair[0] == pair[1] && !injected(Fault::SectorTwice);
        if let Some(pair) = sorted.windows(2).find(twice) {
            let place = format!("sector {}", pair[0]);
            return Err(Error::Count { place, what: "vanilla proofs", found: 2, expected: 1 });
        }
        Ok(())
    }

    /// Every count and field element, and what upstream does not notice ([`vanilla_checks`]); then the vanilla proofs
    /// may be handed to upstream.
    pub(crate) fn check_counts(&self) -> Result<(), Error> {
        self.check_numbers()?;
        with_sectors!(&self.sectors, sectors => self.check_own(sectors))
    }

    fn check_own<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        &self,
        sectors: &[FallbackPoStSectorProof<Tree>],
    ) -> Result<(), Error> {
        let (size, config) = (post_size(self.registered_proof)?, self.config());
        let randomness = domain("randomness", &self.randomness)?;
        let partitions = sectors.chunks(self.sectors_per_partition()).enumerate();
        partitions.into_iter().try_for_each(|(partition, sectors)| {
            vanilla_checks::post(size, &config, randomness, partition, sectors)
        })
    }

    /// Upstream's verification of each sector's vanilla proof, on all cores.
    pub(crate) fn check_vanilla_proofs(&self) -> Result<(), Error> {
        with_sectors!(&self.sectors, sectors => self.check_sectors(sectors))
    }

    fn check_sectors<Tree: 'static + MerkleTreeTrait>(
        &self,
        sectors: &[FallbackPoStSectorProof<Tree>],
    ) -> Result<(), Error> {
        let config = self.config();
        // A sector by itself: upstream numbers challenges by the sector's position, which is then the partition's.
        let single = fallback::PublicParams {
            sector_size: config.padded_sector_size().into(),
            challenge_count: config.challenge_count,
            sector_count: 1,
            api_version: config.api_version,
        };
        let inputs = self.public_inputs::<Tree>(sectors)?;
        let per_partition = self.sectors_per_partition();
        sectors.par_iter().enumerate().try_for_each(|(position, sector)| {
            let opened = &sector.vanilla_proof.sectors[0];
            let inputs = fallback::PublicInputs {
                sectors: vec![PublicSector { id: sector.sector_id, comm_r: sector.comm_r }],
                k: Some(position),
                ..inputs.clone()
            };
            let proof = fallback::Proof { sectors: vec![opened.clone()] };
            let root = opened.inclusion_proofs[0].root();
            let what = if <Tree::Hasher as Hasher>::Function::hash2(&opened.comm_c, &root) != sector.comm_r {
                "comm_r is not the hash of its comm_c and comm_r_last"
            } else if opened.inclusion_proofs.iter().any(|path| path.root() != opened.comm_r_last) {
                "a path does not lead to comm_r_last"
            } else if !Scheme::<Tree>::verify(&single, &inputs, &proof).unwrap_or(false) {
                "a path does not open the challenged node (wrong randomness, sector or proof type?)"
            } else {
                return Ok(());
            };
            Err(Error::FalseSectorProof {
                partition: position / per_partition,
                sector: sector.sector_id.into(),
                what,
            })
        })
    }

    fn public_inputs<Tree: 'static + MerkleTreeTrait>(
        &self,
        sectors: &[FallbackPoStSectorProof<Tree>],
    ) -> Result<fallback::PublicInputs<TreeDomain<Tree>>, Error> {
        let public =
            sectors.iter().map(|sector| PublicSector { id: sector.sector_id, comm_r: sector.comm_r });
        // The circuit of a winning PoSt has the one sector once for each challenge.
        let repeat = if self.is_winning() { self.challenges() } else { 1 };
        Ok(fallback::PublicInputs {
            randomness: domain("randomness", &self.randomness)?,
            prover_id: domain("prover id", &prover_id(self.miner))?,
            sectors: public.flat_map(|sector| std::iter::repeat_n(sector, repeat)).collect(),
            k: None,
        })
    }

    pub(crate) fn provable(&self) -> Result<Box<dyn Provable + '_>, Error> {
        with_sectors!(&self.sectors, sectors => self.compound(sectors))
    }

    fn compound<'a, Tree: 'static + MerkleTreeTrait>(
        &self,
        sectors: &'a [FallbackPoStSectorProof<Tree>],
    ) -> Result<Box<dyn Provable + 'a>, Error> {
        let config = self.config();
        let setup = setup_params(&config)?;
        let per_partition = setup.sector_count;
        let partitions = (!self.is_winning()).then(|| self.partitions());
        // A statement as the chain knows it has no openings.
        let opened = sectors.first().and_then(|sector| sector.vanilla_proof.sectors.first());
        let vanilla: Vec<fallback::Proof<Tree::Proof>> = if self.is_winning() {
            let one = |opened| fallback::Proof { sectors: one_challenge_each::<Tree>(opened) };
            opened.map(one).into_iter().collect()
        } else {
            sectors.chunks(per_partition).map(|sectors| full_partition(sectors, per_partition)).collect()
        };
        Ok(Box::new(Compound::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>> {
            params: compound::public_params::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>>(setup, partitions)?,
            inputs: self.public_inputs(sectors)?,
            requirements: ChallengeRequirements {
                minimum_challenge_count: config.challenge_count * config.sector_count,
            },
            vanilla: Cow::Owned(vanilla),
            block: Some(one_sector),
            writer: |all, partition, sheet| {
                let writer = PostWriter::new(sheet.engine);
                let public = public_sectors(all, partition);
                let opened = &all.vanilla[partition].sectors;
                let nothing = |_: &mut Writer<'_>| Ok(());
                let challenges = all.params.vanilla_params.challenge_count;
                sheet.write(&writer.hashes, PATHS_AT_ONCE.div_ceil(challenges), nothing, |block, out| {
                    match public.get(block).or(public.last()) {
                        Some(sector) => writer.block::<Tree>(&sector.comm_r, &opened[block], out),
                        None => Ok(vec![]),
                    }
                })
            },
            circuit: PhantomData,
        }))
    }
}

/// Paths whose hashes are computed together. Reasoned: a multiple of 8, all of a winning PoSt, and 200 KB of siblings.
const PATHS_AT_ONCE: usize = 80;

/// The circuit of one sector of a partition. A partition that is not full repeats its last sector.
fn one_sector<Tree: 'static + MerkleTreeTrait>(
    all: &Compound<Scheme<Tree>, Circuit<Tree>, Joined<Tree>>,
    partition: usize,
    sector: usize,
) -> Result<Circuit<Tree>, Error> {
    let params = &all.params.vanilla_params;
    let of_partition = public_sectors(all, partition);
    let public = of_partition.get(sector).or(of_partition.last()).into_iter().cloned().collect();
    let inputs = fallback::PublicInputs { sectors: public, k: None, ..all.inputs };
    let vanilla = fallback::Proof { sectors: vec![all.vanilla[partition].sectors[sector].clone()] };
    let params = fallback::PublicParams { sector_count: 1, ..params.clone() };
    Compound::<_, _, Joined<Tree>>::build(&params, &inputs, &vanilla, 0)
}

/// What is known of a partition's sectors, of which the last is repeated where there are too few.
fn public_sectors<'a, Tree: 'static + MerkleTreeTrait>(
    all: &'a Compound<'_, Scheme<Tree>, Circuit<Tree>, Joined<Tree>>,
    partition: usize,
) -> &'a [PublicSector<TreeDomain<Tree>>] {
    let per_partition = all.params.vanilla_params.sector_count;
    all.inputs.sectors.chunks(per_partition).nth(partition).unwrap_or_default()
}

fn setup_params(config: &PoStConfig) -> Result<fallback::SetupParams, Error> {
    match config.typ {
        PoStType::Winning => {
            winning_post_setup_params(config).map_err(Error::upstream("setting up the PoSt"))
        }
        PoStType::Window => Ok(window_post_setup_params(config)),
    }
}

/// A winning PoSt's opening, cut into one sector for each challenge, as its circuit wants it.
fn one_challenge_each<Tree: 'static + MerkleTreeTrait>(
    opened: &SectorProof<Tree::Proof>,
) -> Vec<SectorProof<Tree::Proof>> {
    let sector = |path: &_| SectorProof {
        inclusion_proofs: vec![Clone::clone(path)],
        comm_c: opened.comm_c,
        comm_r_last: opened.comm_r_last,
    };
    opened.inclusion_proofs.iter().map(sector).collect()
}

/// A window partition, filled up with its last sector.
fn full_partition<Tree: 'static + MerkleTreeTrait>(
    sectors: &[FallbackPoStSectorProof<Tree>],
    n_sectors: usize,
) -> fallback::Proof<Tree::Proof> {
    let mut openings: Vec<_> =
        sectors.iter().flat_map(|sector| sector.vanilla_proof.sectors.first().cloned()).collect();
    if let Some(last) = openings.last().cloned() {
        openings.resize(n_sectors, last);
    }
    fallback::Proof { sectors: openings }
}

/// The sector size of a registered proof.
pub(crate) fn post_size(registered_proof: RegisteredPoStProof) -> Result<SectorSize, Error> {
    SectorSize::from_bytes(registered_proof.sector_size().0)
        .ok_or_else(|| Error::Unsupported { registered_proof: format!("{registered_proof:?}") })
}

/// The parameter files of a registered proof's circuit.
pub(crate) fn parameter_set(registered_proof: RegisteredPoStProof) -> Result<ParameterSet, Error> {
    let circuit = registered_proof.circuit_identifier().map_err(Error::upstream("naming the circuit"))?;
    Ok(ParameterSet::new(circuit, post_size(registered_proof)?))
}

/// A registered proof's circuit without values; a block is a sector.
pub(crate) fn blank(registered_proof: RegisteredPoStProof, blocks: Blocks) -> Result<Blank, Error> {
    fn blank<Tree: 'static + MerkleTreeTrait>(config: &PoStConfig, blocks: Blocks) -> Result<Blank, Error> {
        let mut setup = setup_params(config)?;
        let instances = setup.sector_count;
        if blocks == Blocks::Two {
            setup.sector_count = 2;
        }
        let params = compound::public_params::<Scheme<Tree>, Circuit<Tree>, Joined<Tree>>(setup, None)?;
        let circuit: Circuit<Tree> =
            <Joined<Tree> as CompoundProof<Scheme<Tree>, Circuit<Tree>>>::blank_circuit(
                &params.vanilla_params,
            );
        let start = BlockStart { depth: 2, prefix: "sector_" };
        Ok(Blank { circuit: AnyCircuit::new(circuit), start, instances })
    }
    let config = registered_proof.as_v1_config();
    match post_size(registered_proof)? {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => blank::<SectorShape2KiB>(&config, blocks),
        SectorSize::GiB32 => blank::<SectorShape32GiB>(&config, blocks),
        SectorSize::GiB64 => blank::<SectorShape64GiB>(&config, blocks),
    }
}
