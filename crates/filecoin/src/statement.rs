//! What is proved: an input with the identity that it belongs to.

use std::fmt;
use std::str::FromStr;

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use cuzk_field::Engine;
use cuzk_groth16::{Blinding, Observer, Proof, VerifyingKey};
use cuzk_r1cs::{PackedWitness, Synthesis, Template};
use filecoin_proofs_api::{PoStType, RegisteredPoStProof, RegisteredSealProof, RegisteredUpdateProof};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::compound::Provable;
use crate::decode::{C1, Content, UpdateCommitments};
use crate::porep::{self, Porep, Prover};
use crate::post::{self, Post, Sectors};
use crate::reference::{ReferenceParameters, ReferenceProof};
use crate::registered::{self, RegisteredProof};
use crate::snap::{self, Partitions, Snap};
use crate::{Error, Input, ParameterSet, SectorSize};

/// The version of `statement.json` that this program writes and reads.
pub(crate) const STATEMENT_FILE_VERSION: u32 = 1;

/// A kind of proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Proof of replication.
    Porep,
    /// Winning proof of spacetime.
    WinningPost,
    /// Window proof of spacetime.
    WindowPost,
    /// Replica update (SnapDeals).
    Snap,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Porep, Kind::WinningPost, Kind::WindowPost, Kind::Snap];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Porep => "porep",
            Kind::WinningPost => "winning-post",
            Kind::WindowPost => "window-post",
            Kind::Snap => "snap",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Kind::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("`{text}` is no kind of proof; there are {}", known()))
    }
}

/// A `statement.json`: an input by name, with everything that the input does not carry. Accepted wherever an input is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementFile {
    /// The format's version.
    pub cuzk_statement: u32,
    /// The kind of proof.
    pub kind: Kind,
    /// The registered proof.
    pub registered_proof: String,
    /// The miner's actor id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub miner: Option<u64>,
    /// The sector number of a PoRep or a replica update.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sector: Option<u64>,
    /// The randomness of a PoSt.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "hex_option")]
    pub randomness: Option<[u8; 32]>,
    /// The commitment to the replica before an update.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "hex_option")]
    pub comm_r_old: Option<[u8; 32]>,
    /// The commitment to the replica after an update.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "hex_option")]
    pub comm_r_new: Option<[u8; 32]>,
    /// The commitment to the data after an update.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "hex_option")]
    pub comm_d_new: Option<[u8; 32]>,
    /// The input's file name, relative to this file.
    pub input: String,
    /// How the input was made, for the reader.
    pub made_by: String,
}

/// 32 bytes as hexadecimal digits.
mod hex_option {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        bytes: &Option<[u8; 32]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => serializer.serialize_str(&hex::encode(bytes)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<[u8; 32]>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes).map_err(|error| {
            serde::de::Error::custom(format_args!("{error}; 64 hexadecimal digits are needed"))
        })?;
        Ok(Some(bytes))
    }
}

/// What the command line says about a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The kind of proof.
    pub kind: Option<Kind>,
    /// The registered proof, by name or number.
    pub proof_type: Option<String>,
    /// The miner's actor id.
    pub miner: Option<u64>,
    /// The prover id, instead of a miner.
    pub prover_id: Option<[u8; 32]>,
    /// The porep id, instead of the registered proof's.
    pub porep_id: Option<[u8; 32]>,
    /// The sector number.
    pub sector: Option<u64>,
    /// The randomness of a PoSt.
    pub randomness: Option<[u8; 32]>,
    /// The commitment to the replica before an update.
    pub comm_r_old: Option<[u8; 32]>,
    /// The commitment to the replica after an update.
    pub comm_r_new: Option<[u8; 32]>,
    /// The commitment to the data after an update.
    pub comm_d_new: Option<[u8; 32]>,
}

/// Something that an input may not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The miner's actor id.
    Miner,
    /// The sector number.
    Sector,
    /// The randomness of a PoSt.
    Randomness,
    /// The commitment to the replica before an update.
    CommROld,
    /// The commitment to the replica after an update.
    CommRNew,
    /// The commitment to the data after an update.
    CommDNew,
}

impl Unknown {
    /// Its name in [`Statement::public_data`].
    pub const fn name(self) -> &'static str {
        match self {
            Unknown::Miner => "miner",
            Unknown::Sector => "sector",
            Unknown::Randomness => "randomness",
            Unknown::CommROld => "comm_r_old",
            Unknown::CommRNew => "comm_r_new",
            Unknown::CommDNew => "comm_d_new",
        }
    }

    /// Lets zeros stand for it, so that the rest of an input can be looked at.
    pub fn fill_with_zeros(self, overrides: &mut Overrides) {
        match self {
            Unknown::Miner => overrides.miner = Some(0),
            Unknown::Sector => overrides.sector = Some(0),
            Unknown::Randomness => overrides.randomness = Some([0; 32]),
            Unknown::CommROld => overrides.comm_r_old = Some([0; 32]),
            Unknown::CommRNew => overrides.comm_r_new = Some([0; 32]),
            Unknown::CommDNew => overrides.comm_d_new = Some([0; 32]),
        }
    }
}

impl Input {
    /// What neither this input nor the command line says, of what a statement needs.
    pub fn unknown(&self, overrides: &Overrides) -> Vec<Unknown> {
        let file = self.statement_file.as_ref();
        let miner = overrides.miner.or(file.and_then(|file| file.miner)).or(self.miner).is_some();
        let known = match &self.content {
            Content::C1(_) => {
                let sector = overrides.sector.or(file.and_then(|file| file.sector)).or(self.sector).is_some();
                vec![(Unknown::Miner, miner || overrides.prover_id.is_some()), (Unknown::Sector, sector)]
            }
            Content::Post(_) => {
                let randomness = overrides.randomness.or(file.and_then(|file| file.randomness)).is_some();
                vec![(Unknown::Miner, miner), (Unknown::Randomness, randomness)]
            }
            Content::Snap { commitments, .. } => {
                let in_file = |pick: fn(&StatementFile) -> Option<[u8; 32]>| {
                    commitments.is_some() || file.and_then(pick).is_some()
                };
                vec![
                    (Unknown::CommROld, overrides.comm_r_old.is_some() || in_file(|file| file.comm_r_old)),
                    (Unknown::CommRNew, overrides.comm_r_new.is_some() || in_file(|file| file.comm_r_new)),
                    (Unknown::CommDNew, overrides.comm_d_new.is_some() || in_file(|file| file.comm_d_new)),
                ]
            }
        };
        known.into_iter().filter(|(_, known)| !known).map(|(unknown, _)| unknown).collect()
    }
}

/// A statement to prove or verify.
#[derive(Debug)]
pub struct Statement {
    pub(crate) body: Body,
    /// How its input was made, where a `statement.json` says it.
    pub(crate) made_by: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Body {
    Porep(Box<Porep>),
    Post(Post),
    Snap(Snap),
}

/// What a statement says publicly, by name, for reports and tables.
pub type PublicData = Vec<(&'static str, String)>;

impl Statement {
    /// Joins an input and what the command line says. The command line is taken where both say something; the checks then
    /// tell whether it was right.
    pub fn new(input: Input, overrides: &Overrides) -> Result<Self, Error> {
        let Input { miner, sector, statement_file: file, content, .. } = input;
        let named =
            overrides.proof_type.as_deref().or(file.as_ref().map(|file| file.registered_proof.as_str()));
        let miner = overrides.miner.or(file.as_ref().and_then(|file| file.miner)).or(miner);
        let sector = overrides.sector.or(file.as_ref().and_then(|file| file.sector)).or(sector);
        let body = match content {
            Content::C1(c1) => {
                let prover = overrides.prover_id.map(Prover::Id).or(miner.map(Prover::Miner));
                let prover =
                    prover.ok_or(Error::Missing { what: "miner", flag: "--miner (or --prover-id)" })?;
                let sector = sector.ok_or(Error::Missing { what: "sector number", flag: "--sector" })?;
                Body::Porep(Box::new(new_porep(*c1, prover, sector, overrides.porep_id, named)?))
            }
            Content::Post(sectors) => {
                let miner = miner.ok_or(Error::Missing { what: "miner", flag: "--miner" })?;
                let randomness = overrides.randomness.or(file.as_ref().and_then(|file| file.randomness));
                let randomness =
                    randomness.ok_or(Error::Missing { what: "randomness", flag: "--randomness" })?;
                let kind = overrides.kind.or(file.as_ref().map(|file| file.kind));
                Body::Post(new_post(sectors, miner, randomness, kind, named)?)
            }
            Content::Snap { partitions, commitments, proof_type } => {
                let commitments = update_commitments(commitments, file.as_ref(), overrides)?;
                let proof_type = proof_type.map(|number| number.to_string());
                Body::Snap(new_snap(partitions, commitments, named.or(proof_type.as_deref()))?)
            }
        };
        Ok(Statement { body, made_by: file.map(|file| file.made_by) })
    }

    /// How the input was made, where a `statement.json` says it: whether a sector was really sealed, above all.
    pub fn made_by(&self) -> Option<&str> {
        self.made_by.as_deref()
    }

    /// The kind of proof.
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Porep(_) => Kind::Porep,
            Body::Post(post) if post.is_winning() => Kind::WinningPost,
            Body::Post(_) => Kind::WindowPost,
            Body::Snap(_) => Kind::Snap,
        }
    }

    /// The registered proof.
    pub fn registered_proof(&self) -> RegisteredProof {
        match &self.body {
            Body::Porep(porep) => RegisteredProof::Seal(porep.registered_proof),
            Body::Post(post) => RegisteredProof::Post(post.registered_proof),
            Body::Snap(snap) => RegisteredProof::Update(snap.registered_proof),
        }
    }

    /// The sector size.
    pub fn sector_size(&self) -> Result<SectorSize, Error> {
        self.registered_proof().sector_size()
    }

    /// The number of partitions, each of which is one Groth16 proof.
    pub fn partitions(&self) -> usize {
        match &self.body {
            Body::Porep(porep) => porep.partitions(),
            Body::Post(post) => post.partitions(),
            Body::Snap(snap) => snap.partitions(),
        }
    }

    /// Challenges in a partition (of each sector, for a PoSt).
    pub fn challenges(&self) -> Result<usize, Error> {
        match &self.body {
            Body::Porep(porep) => porep.challenges(),
            Body::Post(post) => Ok(post.challenges()),
            Body::Snap(snap) => Ok(snap.challenges()),
        }
    }

    /// Identity and commitments: miner or prover id, sector(s), comm_r, … in hexadecimal.
    pub fn public_data(&self) -> PublicData {
        match &self.body {
            Body::Porep(porep) => {
                let prover = match porep.prover {
                    Prover::Miner(miner) => ("miner", miner.to_string()),
                    Prover::Id(id) => ("prover_id", hex::encode(id)),
                };
                vec![
                    prover,
                    ("sector", porep.sector.to_string()),
                    ("comm_r", hex::encode(porep.comm_r)),
                    ("comm_d", hex::encode(porep.comm_d)),
                    ("replica_id", hex::encode(porep.replica_id)),
                ]
            }
            Body::Post(post) => {
                let public = post.sectors.public();
                let mut data = vec![
                    ("miner", post.miner.to_string()),
                    ("randomness", hex::encode(post.randomness)),
                    ("sectors", public.len().to_string()),
                ];
                // The one sector of a winning PoSt; a window's are too many for a table.
                if let [(number, comm_r)] = public[..] {
                    data.extend([("sector", number.to_string()), ("comm_r", hex::encode(comm_r))]);
                }
                data
            }
            Body::Snap(snap) => vec![
                ("comm_r_old", hex::encode(snap.comm_r_old)),
                ("comm_r_new", hex::encode(snap.comm_r_new)),
                ("comm_d_new", hex::encode(snap.comm_d_new)),
            ],
        }
    }

    /// SHA-256 of everything that is proved, in one form whatever the input's shape was: two inputs with the same digest
    /// are the same statement.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        field(self.registered_proof().to_string().as_bytes());
        match &self.body {
            Body::Porep(porep) => {
                field(&porep.prover.id());
                field(&porep.porep_id);
                field(&porep.sector.to_le_bytes());
                for bytes in [&porep.comm_r, &porep.comm_d, &porep.replica_id, &porep.seed, &porep.ticket] {
                    field(bytes);
                }
                field(&bincode::serialize(&porep.vanilla).expect("lists and integers"));
            }
            Body::Post(post) => {
                field(&post.miner.to_le_bytes());
                field(&post.randomness);
                post.sectors.to_bincode().iter().for_each(|sector| field(sector));
            }
            Body::Snap(snap) => {
                [&snap.comm_r_old, &snap.comm_r_new, &snap.comm_d_new]
                    .into_iter()
                    .for_each(|bytes| field(bytes));
                snap.partitions.to_bincode().iter().for_each(|partition| field(partition));
            }
        }
        hash.finalize().into()
    }

    /// The parameter files of the circuit.
    pub fn parameter_set(&self) -> Result<ParameterSet, Error> {
        self.registered_proof().parameter_set()
    }

    /// The identity in milliseconds, then every count and field element, and what upstream's verification of vanilla
    /// proofs takes on trust: 0.1 s for a PoRep of ten partitions.
    pub fn check(&self) -> Result<(), Error> {
        match &self.body {
            Body::Porep(porep) => {
                porep.check_identity()?;
                porep.check_counts()
            }
            Body::Post(post) => post.check_counts(),
            Body::Snap(snap) => snap.check_counts(),
        }
    }

    /// Upstream's verification of the vanilla proofs, on all cores: about 5 ms a challenge
    /// of a PoRep. After [`Statement::check`].
    pub fn check_vanilla_proofs(&self) -> Result<(), Error> {
        if injected(Fault::VanillaUnchecked) {
            return Ok(());
        }
        match &self.body {
            Body::Porep(porep) => porep.check_vanilla_proofs(),
            Body::Post(post) => post.check_vanilla_proofs(),
            Body::Snap(snap) => snap.check_vanilla_proofs(),
        }
    }

    /// Walks the circuit of a partition with its values, on one thread (`synthesis = enforce`). After
    /// [`Statement::check`].
    pub fn synthesize(&self, partition: usize) -> Result<Synthesis, Error> {
        let provable = self.provable(partition)?;
        Ok(cuzk_r1cs::evaluate(provable.circuit(partition)?).map_err(cuzk_r1cs::Error::from)?)
    }

    /// As [`Statement::synthesize`], into vectors of the circuit's known sizes.
    pub fn synthesize_presized(&self, partition: usize) -> Result<Synthesis, Error> {
        let size = self.registered_proof().known_circuit()?.size();
        let provable = self.provable(partition)?;
        let synthesis = cuzk_r1cs::evaluate_presized(provable.circuit(partition)?, &size);
        Ok(synthesis.map_err(cuzk_r1cs::Error::from)?)
    }

    /// As [`Statement::synthesize`], and compares each constraint with C·w.
    pub fn synthesize_checked(&self, partition: usize) -> Result<Synthesis, Error> {
        let provable = self.provable(partition)?;
        let checked = cuzk_r1cs::check(provable.circuit(partition)?).map_err(cuzk_r1cs::Error::from)?;
        match checked.unsatisfied {
            Some(unsatisfied) => {
                Err(Error::Unsatisfied { partition, row: unsatisfied.row, path: unsatisfied.path })
            }
            None => Ok(checked.synthesis),
        }
    }

    /// The witness of a partition by its circuit's template: blocks in parallel on the current rayon pool for PoRep and
    /// PoSt, on one thread for a replica update. The same whatever the number of threads. After [`Statement::check`].
    pub fn witness(&self, partition: usize, template: &Template) -> Result<PackedWitness, Error> {
        self.provable(partition)?.witness(partition, template)
    }

    /// As [`Statement::witness`], without a walk through the circuit (`synthesis = direct`): the same, value for value. Some
    /// milliseconds for a PoRep of 2 KiB, which takes a second to walk; 50 more in a process' first, for neptune's constants.
    ///
    /// A template with fewer instances than the circuit stands for its first blocks, which alone are written then.
    ///
    /// With an engine hashes are computed eight at a time. `spare` is the scalars of an earlier witness of this circuit, whose memory is
    /// used again; empty for a first one.
    pub fn write_witness(
        &self,
        partition: usize,
        template: &Template,
        engine: Option<Engine>,
        spare: Vec<Fr>,
    ) -> Result<PackedWitness, Error> {
        self.provable(partition)?.write_witness(partition, template, engine, spare)
    }

    /// The witnesses of several partitions, all at once: what keeps the threads busy where a partition's blocks do not.
    pub fn witnesses(&self, partitions: &[usize], template: &Template) -> Result<Vec<PackedWitness>, Error> {
        partitions.par_iter().map(|partition| self.witness(*partition, template)).collect()
    }

    /// Compares each constraint of a partition with C·w, on all threads of the current rayon pool, in no memory to speak
    /// of. The template must have been read with C.
    pub fn check_witness(
        &self,
        partition: usize,
        template: &Template,
        witness: &PackedWitness,
    ) -> Result<(), Error> {
        let Some(row) = cuzk_r1cs::first_unsatisfied(template, witness)? else { return Ok(()) };
        let path = cuzk_r1cs::row_path(self.provable(partition)?.circuit(partition)?, row);
        let path = path.map_err(cuzk_r1cs::Error::from)?.unwrap_or_default();
        Err(Error::Unsatisfied { partition, row, path })
    }

    /// Compares a written witness with the walked one, and names the gadget of the first variable that differs. Walks the circuit.
    pub fn check_written(
        &self,
        partition: usize,
        template: &Template,
        written: &PackedWitness,
    ) -> Result<(), Error> {
        let walked = self.witness(partition, template)?;
        let input = written.inputs.iter().zip(&walked.inputs).position(|(written, walked)| written != walked);
        if let Some(input) = input {
            return Err(Error::WrittenOtherwise { partition, variable: format!("input {input}") });
        }
        let Some(aux) = written.first_difference(&walked, template)? else { return Ok(()) };
        let path = cuzk_r1cs::aux_path(self.provable(partition)?.circuit(partition)?, aux);
        let path = path.map_err(cuzk_r1cs::Error::from)?.unwrap_or_default();
        Err(Error::WrittenOtherwise { partition, variable: format!("aux variable {aux} ({path})") })
    }

    /// Proves a partition through unmodified bellperson.
    pub fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error> {
        self.provable(partition)?.prove_by_reference(partition, parameters, blinding)
    }

    /// Computes the same proof step by step over upstream's public pieces and reports the digest of each step.
    pub fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error> {
        self.provable(partition)?.digests_by_reference(partition, parameters, blinding, observer)
    }

    /// Upstream's verification of the proofs of some partitions, 192 bytes each, with this key. A few milliseconds.
    /// After [`Statement::check`].
    pub fn verify(&self, key: &VerifyingKey, partitions: &[usize], proof: &[u8]) -> Result<(), Error> {
        let expected = partitions.len() * Proof::BYTES;
        let longest = if injected(Fault::ProofLength) { expected } else { proof.len() };
        let proof = &proof[..longest.min(proof.len())];
        if proof.len() != expected {
            return Err(Error::ProofLength { found: proof.len(), partitions: partitions.len(), expected });
        }
        if partitions.iter().copied().eq(0..self.partitions()) {
            return self.provable(0)?.verify(key, proof);
        }
        partitions.iter().zip(proof.chunks_exact(Proof::BYTES)).try_for_each(|(&partition, proof)| {
            self.provable(partition)?.verify_partition(key, partition, proof)
        })
    }

    /// Verifies the proof of one partition, so that a false one can be named.
    pub fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &Proof) -> Result<(), Error> {
        self.provable(partition)?.verify_partition(key, partition, &proof.to_bytes())
    }

    /// The public inputs of a partition's circuit, without ONE.
    pub(crate) fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, Error> {
        self.provable(partition)?.public_inputs(partition)
    }

    pub(crate) fn as_porep(&self) -> Option<&Porep> {
        match &self.body {
            Body::Porep(porep) => Some(porep),
            Body::Post(_) | Body::Snap(_) => None,
        }
    }

    fn provable(&self, asked: usize) -> Result<Box<dyn Provable + '_>, Error> {
        let partitions = self.partitions();
        if asked >= partitions {
            return Err(Error::NoSuchPartition { asked, partitions });
        }
        match &self.body {
            Body::Porep(porep) => porep.provable(),
            Body::Post(post) => post.provable(),
            Body::Snap(snap) => snap.provable(),
        }
    }
}

fn new_porep(
    c1: C1,
    prover: Prover,
    sector: u64,
    porep_id: Option<[u8; 32]>,
    named: Option<&str>,
) -> Result<Porep, Error> {
    let registered_proof = match (named, c1.registered_proof) {
        (Some(name), _) => registered::seal(name)?,
        (None, Some(registered_proof)) => registered_proof,
        (None, None) => registered::latest_seal(porep::vanilla_size(&c1.vanilla)),
    };
    Ok(Porep {
        registered_proof,
        porep_id: porep_id.unwrap_or_else(|| registered_proof.as_v1_config().porep_id),
        prover,
        sector,
        vanilla: c1.vanilla,
        comm_r: c1.comm_r,
        comm_d: c1.comm_d,
        replica_id: c1.replica_id,
        seed: c1.seed,
        ticket: c1.ticket,
    })
}

fn new_post(
    sectors: Sectors,
    miner: u64,
    randomness: [u8; 32],
    kind: Option<Kind>,
    named: Option<&str>,
) -> Result<Post, Error> {
    let unknown = || Error::Malformed {
        place: "the input".to_owned(),
        message: "paths of no sector size, or no sectors at all".to_owned(),
    };
    let (size, challenges) = sectors.guess().ok_or_else(unknown)?;
    let registered_proof: RegisteredPoStProof = match (named, kind) {
        (Some(name), _) => registered::post(name)?,
        (None, Some(Kind::WinningPost)) => registered::winning_post(size),
        (None, Some(_)) => registered::window_post(size),
        // 66 challenges of one sector against 10 of each.
        (None, None) if challenges == filecoin_proofs::constants::WINNING_POST_CHALLENGE_COUNT => {
            registered::winning_post(size)
        }
        (None, None) => registered::window_post(size),
    };
    let is_winning = registered_proof.typ() == PoStType::Winning;
    if let Some(kind) = kind.filter(|kind| (*kind == Kind::WinningPost) != is_winning) {
        let (place, found) = ("the input".to_owned(), format!("{registered_proof:?}"));
        return Err(Error::OtherKind { place, found, asked: kind.to_string() });
    }
    let mut randomness = randomness;
    if injected(Fault::RandomnessBackwards) {
        randomness.reverse();
    }
    // As the chain's rules do: 254 bits, so that it is an element of Fr.
    randomness[31] &= 0x3f;
    Ok(Post { registered_proof, miner, randomness, sectors })
}

fn update_commitments(
    in_file: Option<UpdateCommitments>,
    statement: Option<&StatementFile>,
    overrides: &Overrides,
) -> Result<UpdateCommitments, Error> {
    let pick = |flag: Option<[u8; 32]>,
                in_statement: fn(&StatementFile) -> Option<[u8; 32]>,
                in_file,
                what,
                name| {
        let value = flag.or(statement.and_then(in_statement)).or(in_file);
        value.ok_or(Error::Missing { what, flag: name })
    };
    Ok(UpdateCommitments {
        comm_r_old: pick(
            overrides.comm_r_old,
            |file| file.comm_r_old,
            in_file.map(|file| file.comm_r_old),
            "old replica's commitment",
            "--comm-r-old",
        )?,
        comm_r_new: pick(
            overrides.comm_r_new,
            |file| file.comm_r_new,
            in_file.map(|file| file.comm_r_new),
            "new replica's commitment",
            "--comm-r-new",
        )?,
        comm_d_new: pick(
            overrides.comm_d_new,
            |file| file.comm_d_new,
            in_file.map(|file| file.comm_d_new),
            "new data's commitment",
            "--comm-d-new",
        )?,
    })
}

fn new_snap(
    partitions: Partitions,
    commitments: UpdateCommitments,
    named: Option<&str>,
) -> Result<Snap, Error> {
    let registered_proof: RegisteredUpdateProof = match named {
        Some(name) => registered::update(name)?,
        None => {
            let size = partitions.guess().ok_or_else(|| Error::Malformed {
                place: "the input".to_owned(),
                message: "paths of no sector size, or no partitions at all".to_owned(),
            })?;
            registered::update_of_size(size)
        }
    };
    let UpdateCommitments { comm_r_old, comm_r_new, comm_d_new } = commitments;
    Ok(Snap { registered_proof, comm_r_old, comm_r_new, comm_d_new, partitions })
}

impl RegisteredProof {
    /// The sector size.
    pub fn sector_size(&self) -> Result<SectorSize, Error> {
        match self {
            RegisteredProof::Seal(proof) => porep::porep_size(*proof),
            RegisteredProof::Post(proof) => post::post_size(*proof),
            RegisteredProof::Update(proof) => snap::snap_size(*proof),
        }
    }

    /// The parameter files of the circuit.
    pub fn parameter_set(&self) -> Result<ParameterSet, Error> {
        match self {
            RegisteredProof::Seal(proof) => porep::parameter_set(*proof),
            RegisteredProof::Post(proof) => post::parameter_set(*proof),
            RegisteredProof::Update(proof) => snap::parameter_set(*proof),
        }
    }
}

/// The registered seal proof of an interactive PoRep.
impl From<RegisteredSealProof> for RegisteredProof {
    fn from(proof: RegisteredSealProof) -> Self {
        RegisteredProof::Seal(proof)
    }
}
