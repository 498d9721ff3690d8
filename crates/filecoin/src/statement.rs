//! What is proved: an input with the identity that it belongs to.

use cuzk_groth16::{Proof, VerifyingKey};
use cuzk_r1cs::{ConstraintSystemMatrices, Synthesis};
use filecoin_proofs_api::RegisteredSealProof;
use serde::{Deserialize, Serialize};

use crate::identity::prover_id;
use crate::porep::Porep;
use crate::reference::{ReferenceParameters, ReferenceProof};
use crate::{Error, Input, ParameterSet, SectorSize};

/// The version of `statement.json` that this program writes and reads.
pub(crate) const STATEMENT_FILE_VERSION: u32 = 1;

/// A `statement.json`: an input by name, with everything that the input does not carry. Accepted wherever an input is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementFile {
    /// The format's version.
    pub cuzk_statement: u32,
    /// `porep`.
    pub kind: String,
    /// The registered proof, for the reader.
    pub registered_proof: String,
    /// The miner's actor id.
    pub miner: u64,
    /// The sector number.
    pub sector: u64,
    /// The input's file name, relative to this file.
    pub input: String,
    /// How the input was made, for the reader.
    pub made_by: String,
}

/// What the command line says about a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The miner's actor id.
    pub miner: Option<u64>,
    /// The sector number.
    pub sector: Option<u64>,
}

/// A statement to prove or verify.
#[derive(Debug)]
pub struct Statement {
    /// The miner's actor id.
    pub miner: u64,
    /// The sector number.
    pub sector: u64,
    pub(crate) size: SectorSize,
    pub(crate) porep: Porep,
}

impl Statement {
    /// Joins an input and what the command line says. An override of what the input says is taken; the check of the
    /// identity then tells whether it was right.
    pub fn new(input: Input, overrides: &Overrides) -> Result<Self, Error> {
        let file = input.statement_file.as_ref();
        let miner = overrides.miner.or(file.map(|file| file.miner));
        let miner = miner.ok_or(Error::Missing { what: "miner", flag: "--miner" })?;
        let sector = overrides.sector.or(file.map(|file| file.sector)).or(input.sector);
        let sector = sector.ok_or(Error::Missing { what: "sector number", flag: "--sector" })?;
        let size = input.sector_size()?;
        let registered_proof = input.phase1.registered_proof;
        if !registered_proof.as_v1_config().api_features.is_empty() {
            return Err(Error::Unsupported { registered_proof: format!("{registered_proof:?}") });
        }
        let porep = Porep { prover_id: prover_id(miner), phase1: input.phase1, layouts: input.layouts };
        Ok(Statement { miner, sector, size, porep })
    }

    /// The kind of proof.
    pub fn kind(&self) -> &'static str {
        "porep"
    }

    /// The registered proof.
    pub fn registered_proof(&self) -> RegisteredSealProof {
        self.porep.phase1.registered_proof
    }

    /// The sector size.
    pub fn sector_size(&self) -> SectorSize {
        self.size
    }

    /// The number of partitions, each of which is one Groth16 proof.
    pub fn partitions(&self) -> usize {
        usize::from(self.registered_proof().partitions())
    }

    /// Challenges in a partition.
    pub fn challenges(&self) -> Result<usize, Error> {
        self.porep.challenges()
    }

    /// The commitment to the unsealed data.
    pub fn comm_d(&self) -> [u8; 32] {
        self.porep.phase1.comm_d
    }

    /// The commitment to the replica.
    pub fn comm_r(&self) -> [u8; 32] {
        self.porep.phase1.comm_r
    }

    /// The replica id.
    pub fn replica_id(&self) -> [u8; 32] {
        self.porep.replica_id()
    }

    /// The parameter files of the circuit.
    pub fn parameter_set(&self) -> Result<ParameterSet, Error> {
        crate::porep::porep_parameter_set(self.registered_proof())
    }

    /// Milliseconds: the identity, then every count.
    pub fn check_identity(&self) -> Result<(), Error> {
        self.porep.check_identity(self.miner, self.sector)?;
        self.porep.check_counts(self.size, self.partitions())
    }

    /// Upstream's verification of the vanilla proofs, on all cores: about 5 ms a challenge. After
    /// [`Statement::check_identity`].
    pub fn check_vanilla_proofs(&self) -> Result<(), Error> {
        self.porep.check_vanilla_proofs()
    }

    /// Walks the circuit of a partition with its values. After [`Statement::check_identity`].
    pub fn synthesize(&self, partition: usize) -> Result<Synthesis, Error> {
        self.check_partition(partition)?;
        self.porep.synthesize(partition)
    }

    /// As [`Statement::synthesize`], and compares each constraint with C·w.
    pub fn synthesize_checked(&self, partition: usize) -> Result<Synthesis, Error> {
        self.check_partition(partition)?;
        let checked = self.porep.synthesize_checked(partition)?;
        match checked.unsatisfied {
            Some(unsatisfied) => {
                Err(Error::Unsatisfied { partition, row: unsatisfied.row, path: unsatisfied.path })
            }
            None => Ok(checked.synthesis),
        }
    }

    /// The matrices of the circuit, for parameter generation.
    pub fn record(&self) -> Result<ConstraintSystemMatrices, Error> {
        crate::porep::record_porep(self.registered_proof())
    }

    /// Proves a partition through unmodified bellperson.
    pub fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &cuzk_groth16::Blinding,
    ) -> Result<ReferenceProof, Error> {
        self.check_partition(partition)?;
        self.porep.prove_by_reference(partition, parameters, blinding)
    }

    /// Computes the same proof step by step over upstream's public pieces and reports the digest of each step.
    pub fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &cuzk_groth16::Blinding,
        observer: &dyn cuzk_groth16::Observer,
    ) -> Result<Proof, Error> {
        self.check_partition(partition)?;
        self.porep.digests_by_reference(partition, parameters, blinding, observer)
    }

    /// Upstream's verification of all partitions' proofs, 192 bytes each, with this key. A few milliseconds.
    pub fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error> {
        let expected = self.partitions() * Proof::BYTES;
        if proof.len() != expected {
            return Err(Error::ProofLength { found: proof.len(), partitions: self.partitions(), expected });
        }
        self.porep.verify(key, proof)
    }

    /// Verifies the proof of one partition, so that a false one can be named.
    pub fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &Proof) -> Result<(), Error> {
        self.check_partition(partition)?;
        self.porep.verify_partition(key, partition, proof)
    }

    fn check_partition(&self, asked: usize) -> Result<(), Error> {
        let partitions = self.partitions();
        if asked < partitions { Ok(()) } else { Err(Error::NoSuchPartition { asked, partitions }) }
    }
}
