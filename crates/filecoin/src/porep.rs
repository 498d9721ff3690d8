//! Proof of replication (stacked DRG): statement, checks and circuit through upstream's public API.

use bellperson::groth16 as upstream;
use blstrs::{Bls12, Scalar as Fr};
use cuzk_groth16::{Blinding, Observer, Proof, VerifyingKey};
use cuzk_r1cs::{Checked, ConstraintSystemMatrices, Synthesis};
use filecoin_hashers::{Domain, HashFunction, Hasher};
use filecoin_proofs::constants::{
    DefaultPieceDomain, DefaultPieceHasher, SectorShape2KiB, SectorShape8MiB, SectorShape32GiB,
    SectorShape64GiB, SectorShape512MiB,
};
use filecoin_proofs::parameters::setup_params;
use filecoin_proofs::types::MerkleTreeTrait;
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use rayon::prelude::*;
use storage_proofs_core::compound_proof::{self, CompoundProof};
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::multi_proof::MultiProof;
use storage_proofs_porep::stacked::{
    self, ChallengeRequirements, StackedCircuit, StackedCompound, StackedDrg, generate_replica_id,
};

use crate::layout::{ChallengeLayout, Needed};
use crate::reference::{self, ReferenceParameters, ReferenceProof};
use crate::{Error, ParameterSet, SectorSize};

type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
type Circuit<Tree> = StackedCircuit<Tree, DefaultPieceHasher>;
type Drg<Tree> = StackedDrg<'static, Tree, DefaultPieceHasher>;
type Vanilla<Tree> = stacked::Proof<Tree, DefaultPieceHasher>;
type TreeDomain<Tree> = <<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain;
type PublicInputs<Tree> = stacked::PublicInputs<TreeDomain<Tree>, DefaultPieceDomain>;
type PublicParams<Tree> = compound_proof::PublicParams<'static, Drg<Tree>>;

/// A PoRep statement: a C1 output and the prover that claims it.
#[derive(Debug)]
pub(crate) struct Porep {
    pub(crate) prover_id: [u8; 32],
    pub(crate) phase1: SealCommitPhase1Output,
    pub(crate) layouts: Vec<Vec<ChallengeLayout>>,
}

/// Calls a function of [`Sized`]'s name with the vanilla proofs, whose type depends on the tree's shape.
macro_rules! with_vanilla {
    ($porep:expr, $method:ident($($argument:expr),*)) => {
        match &$porep.phase1.vanilla_proofs {
            VanillaSealProof::StackedDrg2KiBV1(proofs) => {
                $porep.typed::<SectorShape2KiB>(proofs)?.$method($($argument),*)
            }
            VanillaSealProof::StackedDrg8MiBV1(proofs) => {
                $porep.typed::<SectorShape8MiB>(proofs)?.$method($($argument),*)
            }
            VanillaSealProof::StackedDrg512MiBV1(proofs) => {
                $porep.typed::<SectorShape512MiB>(proofs)?.$method($($argument),*)
            }
            VanillaSealProof::StackedDrg32GiBV1(proofs) => {
                $porep.typed::<SectorShape32GiB>(proofs)?.$method($($argument),*)
            }
            VanillaSealProof::StackedDrg64GiBV1(proofs) => {
                $porep.typed::<SectorShape64GiB>(proofs)?.$method($($argument),*)
            }
        }
    };
}

impl Porep {
    pub(crate) fn replica_id(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.phase1.replica_id.as_ref());
        bytes
    }

    pub(crate) fn challenges(&self) -> Result<usize, Error> {
        let setup = setup_params(&self.phase1.registered_proof.as_v1_config());
        Ok(setup.map_err(Error::upstream("setting up"))?.challenges.num_challenges_per_partition())
    }

    /// Recomputes the replica id, which hashes prover id, sector, ticket, comm_d and porep id.
    pub(crate) fn check_identity(&self, miner: u64, sector: u64) -> Result<(), Error> {
        type AnyTree = SectorShape2KiB; // the hasher is the same for all
        let phase1 = &self.phase1;
        let porep_id = phase1.registered_proof.as_v1_config().porep_id;
        let expected: TreeDomain<AnyTree> = generate_replica_id::<<AnyTree as MerkleTreeTrait>::Hasher, _>(
            &self.prover_id,
            sector,
            &phase1.ticket,
            phase1.comm_d,
            &porep_id,
        );
        if expected.as_ref() as &[u8] != self.replica_id() {
            let found = hex::encode(self.replica_id());
            let expected = hex::encode(expected.as_ref() as &[u8]);
            return Err(Error::WrongIdentity { found, expected, miner, sector });
        }
        Ok(())
    }

    /// Compares every count in the vanilla proofs with what the circuit needs.
    pub(crate) fn check_counts(&self, size: SectorSize, partitions: usize) -> Result<(), Error> {
        let config = self.phase1.registered_proof.as_v1_config();
        let setup = setup_params(&config).map_err(Error::upstream("setting up"))?;
        let vanilla_size = match &self.phase1.vanilla_proofs {
            VanillaSealProof::StackedDrg2KiBV1(_) => SectorSize::KiB2,
            VanillaSealProof::StackedDrg8MiBV1(_) => SectorSize::MiB8,
            VanillaSealProof::StackedDrg512MiBV1(_) => SectorSize::MiB512,
            VanillaSealProof::StackedDrg32GiBV1(_) => SectorSize::GiB32,
            VanillaSealProof::StackedDrg64GiBV1(_) => SectorSize::GiB64,
        };
        if vanilla_size != size {
            let registered_proof = format!("{:?}", self.phase1.registered_proof);
            return Err(Error::SectorSizes { outer: vanilla_size.bytes(), registered_proof, inner: size });
        }
        let count = |place: String, what, found, expected| {
            if found == expected { Ok(()) } else { Err(Error::Count { place, what, found, expected }) }
        };
        count("the vanilla proofs".to_owned(), "partitions", self.layouts.len(), partitions)?;
        let needed = Needed { size, layers: setup.num_layers };
        let challenges = setup.challenges.num_challenges_per_partition();
        for (k, partition) in self.layouts.iter().enumerate() {
            count(format!("partition {k}"), "challenges", partition.len(), challenges)?;
            for (i, challenge) in partition.iter().enumerate() {
                challenge.check(&needed, &format!("partition {k}, challenge {i}"))?;
            }
        }
        for (name, bytes) in [("comm_d", self.phase1.comm_d), ("comm_r", self.phase1.comm_r)] {
            if bytes == [0; 32] {
                return Err(Error::Commitment { name, problem: "all zero, which no sector's commitment is" });
            }
        }
        Ok(())
    }

    pub(crate) fn check_vanilla_proofs(&self) -> Result<(), Error> {
        with_vanilla!(self, check())
    }

    pub(crate) fn synthesize(&self, partition: usize) -> Result<Synthesis, Error> {
        with_vanilla!(self, synthesize(partition))
    }

    pub(crate) fn synthesize_checked(&self, partition: usize) -> Result<Checked, Error> {
        with_vanilla!(self, synthesize_checked(partition))
    }

    pub(crate) fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error> {
        with_vanilla!(self, prove_by_reference(partition, parameters, blinding))
    }

    pub(crate) fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error> {
        with_vanilla!(self, digests_by_reference(partition, parameters, blinding, observer))
    }

    pub(crate) fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error> {
        with_vanilla!(self, verify(key, proof))
    }

    pub(crate) fn verify_partition(
        &self,
        key: &VerifyingKey,
        partition: usize,
        proof: &Proof,
    ) -> Result<(), Error> {
        with_vanilla!(self, verify_partition(key, partition, proof))
    }

    fn typed<'a, Tree: 'static + MerkleTreeTrait>(
        &self,
        vanilla: &'a [Vec<Vanilla<Tree>>],
    ) -> Result<Typed<'a, Tree>, Error> {
        let phase1 = &self.phase1;
        let domain = |name, result: Result<_, anyhow::Error>| {
            result.map_err(|_| Error::Commitment { name, problem: "not an element of Fr" })
        };
        let tree_domain = |name, bytes: &[u8]| {
            TreeDomain::<Tree>::try_from_bytes(bytes)
                .map_err(|_| Error::Commitment { name, problem: "not an element of Fr" })
        };
        let inputs = PublicInputs::<Tree> {
            replica_id: tree_domain("replica_id", &self.replica_id())?,
            tau: Some(stacked::Tau {
                comm_d: domain("comm_d", DefaultPieceDomain::try_from_bytes(&phase1.comm_d))?,
                comm_r: tree_domain("comm_r", &phase1.comm_r)?,
            }),
            k: None,
            seed: Some(phase1.seed),
        };
        Ok(Typed {
            vanilla,
            inputs,
            params: public_params::<Tree>(phase1.registered_proof)?,
            config: phase1.registered_proof,
        })
    }
}

fn public_params<Tree: 'static + MerkleTreeTrait>(
    registered_proof: RegisteredSealProof,
) -> Result<PublicParams<Tree>, Error> {
    let config = registered_proof.as_v1_config();
    let setup = || {
        let setup = compound_proof::SetupParams {
            vanilla_params: setup_params(&config)?,
            partitions: Some(usize::from(config.partitions)),
            priority: false,
        };
        <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::setup(&setup)
    };
    setup().map_err(Error::upstream("setting up the PoRep"))
}

/// The parameter files of a registered proof's circuit.
pub fn porep_parameter_set(registered_proof: RegisteredSealProof) -> Result<ParameterSet, Error> {
    let size = SectorSize::from_bytes(registered_proof.sector_size().0)
        .ok_or_else(|| Error::Unsupported { registered_proof: format!("{registered_proof:?}") })?;
    let circuit = registered_proof.circuit_identifier().map_err(Error::upstream("naming the circuit"))?;
    Ok(ParameterSet::new(circuit, size))
}

/// The matrices of a registered proof's circuit, for parameter generation: upstream's blank circuit, recorded.
pub fn record_porep(registered_proof: RegisteredSealProof) -> Result<ConstraintSystemMatrices, Error> {
    fn blank<Tree: 'static + MerkleTreeTrait>(
        registered_proof: RegisteredSealProof,
    ) -> Result<ConstraintSystemMatrices, Error> {
        let params = public_params::<Tree>(registered_proof)?;
        let circuit = <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::blank_circuit(
            &params.vanilla_params,
        );
        cuzk_r1cs::record(circuit).map_err(synthesis_error)
    }
    match SectorSize::from_bytes(registered_proof.sector_size().0) {
        Some(SectorSize::KiB2) => blank::<SectorShape2KiB>(registered_proof),
        Some(SectorSize::MiB8) => blank::<SectorShape8MiB>(registered_proof),
        Some(SectorSize::MiB512) => blank::<SectorShape512MiB>(registered_proof),
        Some(SectorSize::GiB32) => blank::<SectorShape32GiB>(registered_proof),
        Some(SectorSize::GiB64) => blank::<SectorShape64GiB>(registered_proof),
        None => Err(Error::Unsupported { registered_proof: format!("{registered_proof:?}") }),
    }
}

fn synthesis_error(error: cuzk_r1cs::SynthesisError) -> Error {
    Error::Groth16(cuzk_groth16::Error::Synthesis(error))
}

/// A PoRep statement over one shape of tree.
struct Typed<'a, Tree: 'static + MerkleTreeTrait> {
    vanilla: &'a [Vec<Vanilla<Tree>>],
    inputs: PublicInputs<Tree>,
    params: PublicParams<Tree>,
    config: RegisteredSealProof,
}

impl<Tree: 'static + MerkleTreeTrait> Typed<'_, Tree> {
    fn circuit(&self, partition: usize) -> Result<Circuit<Tree>, Error> {
        let vanilla = &self.vanilla[partition];
        <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::circuit(
            &self.inputs,
            (),
            vanilla,
            &self.params.vanilla_params,
            Some(partition),
        )
        .map_err(Error::upstream("building the circuit"))
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, Error> {
        <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::generate_public_inputs(
            &self.inputs,
            &self.params.vanilla_params,
            Some(partition),
        )
        .map_err(Error::upstream("computing the public inputs"))
    }

    /// What upstream's `verify_all_partitions` checks, naming what is false.
    fn check(&self) -> Result<(), Error> {
        let params = &self.params.vanilla_params;
        let comm_r = self.inputs.tau.as_ref().map(|tau| tau.comm_r);
        let challenges: Vec<(usize, usize, &Vanilla<Tree>, usize)> = self
            .vanilla
            .iter()
            .enumerate()
            .flat_map(|(k, proofs)| {
                let nodes = self.inputs.challenges(&params.challenges, params.graph.size(), Some(k));
                proofs.iter().zip(nodes).enumerate().map(move |(i, (proof, node))| (k, i, proof, node))
            })
            .collect();
        challenges.par_iter().try_for_each(|&(partition, challenge, proof, node)| {
            let roots = <Tree::Hasher as Hasher>::Function::hash2(&proof.comm_c(), &proof.comm_r_last());
            let what = if Some(roots) != comm_r {
                "comm_r is not the hash of its comm_c and comm_r_last"
            } else if !proof.verify(params, &self.inputs, node, &params.graph) {
                "a path, a column, a label or the encoding does not verify"
            } else {
                return Ok(());
            };
            Err(Error::FalseVanillaProof { partition, challenge, what })
        })
    }

    fn synthesize(&self, partition: usize) -> Result<Synthesis, Error> {
        cuzk_r1cs::evaluate(self.circuit(partition)?).map_err(synthesis_error)
    }

    fn synthesize_checked(&self, partition: usize) -> Result<Checked, Error> {
        cuzk_r1cs::check(self.circuit(partition)?).map_err(synthesis_error)
    }

    fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error> {
        reference::prove(self.circuit(partition)?, parameters, blinding)
    }

    fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error> {
        reference::prove_in_steps(self.circuit(partition)?, parameters, blinding, observer)
    }

    fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error> {
        let key = prepared(key)?;
        let invalid = |reason: String| Error::ProofInvalid { reason };
        let proofs = MultiProof::new_from_bytes(self.params.partitions, proof, &key)
            .map_err(|error| invalid(format!("it is not made of points: {error:#}")))?;
        let requirements =
            ChallengeRequirements { minimum_challenges: self.config.as_v1_config().minimum_challenges() };
        let verified = <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::verify(
            &self.params,
            &self.inputs,
            &proofs,
            &requirements,
        )
        .map_err(|error| invalid(format!("{error:#}")))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }

    fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &Proof) -> Result<(), Error> {
        let invalid =
            |reason: String| Error::ProofInvalid { reason: format!("partition {partition}: {reason}") };
        let proof = upstream::Proof::<Bls12>::read(&proof.to_bytes()[..])
            .map_err(|error| invalid(format!("it is not made of points: {error}")))?;
        let verified = upstream::verify_proof(&prepared(key)?, &proof, &self.public_inputs(partition)?)
            .map_err(|error| invalid(error.to_string()))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }
}

fn prepared(key: &VerifyingKey) -> Result<upstream::PreparedVerifyingKey<Bls12>, Error> {
    let key = upstream::VerifyingKey::<Bls12>::read(&key.to_bytes()[..])
        .map_err(|error| Error::Upstream { doing: "reading the verifying key", source: error.into() })?;
    Ok(upstream::prepare_verifying_key(&key))
}
