//! Inputs made by really sealing a sector through filecoin-proofs, deterministic from a seed.

use std::fs;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use filecoin_proofs_api::seal::{
    SealCommitPhase1Output, add_piece, seal_commit_phase1, seal_pre_commit_phase1, seal_pre_commit_phase2,
};
use filecoin_proofs_api::{PaddedBytesAmount, RegisteredSealProof, UnpaddedBytesAmount};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use serde::Serialize;

use crate::identity::prover_id;
use crate::statement::STATEMENT_FILE_VERSION;
use crate::{Error, SectorSize, StatementFile};

/// Which sector to seal.
#[derive(Clone, Copy, Debug)]
pub struct PorepFixture {
    /// The registered proof; interactive PoRep.
    pub registered_proof: RegisteredSealProof,
    /// The miner's actor id.
    pub miner: u64,
    /// The sector number.
    pub sector: u64,
    /// Data, ticket and interactive seed come from ChaCha20 seeded with this.
    pub seed: u64,
}

/// lotus-bench's C1 output.
#[derive(Serialize)]
struct Outer {
    #[serde(rename = "SectorNum")]
    sector: u64,
    #[serde(rename = "Phase1Out")]
    phase1: String,
    #[serde(rename = "SectorSize")]
    sector_size: u64,
}

/// The registered proof of an interactive PoRep: `1.0` is V1, `1.1` is V1_1.
pub fn registered_porep(size: SectorSize, api: PorepApi) -> RegisteredSealProof {
    use RegisteredSealProof::*;
    match (size, api) {
        (SectorSize::KiB2, PorepApi::V1) => StackedDrg2KiBV1,
        (SectorSize::MiB8, PorepApi::V1) => StackedDrg8MiBV1,
        (SectorSize::MiB512, PorepApi::V1) => StackedDrg512MiBV1,
        (SectorSize::GiB32, PorepApi::V1) => StackedDrg32GiBV1,
        (SectorSize::GiB64, PorepApi::V1) => StackedDrg64GiBV1,
        (SectorSize::KiB2, PorepApi::V1_1) => StackedDrg2KiBV1_1,
        (SectorSize::MiB8, PorepApi::V1_1) => StackedDrg8MiBV1_1,
        (SectorSize::MiB512, PorepApi::V1_1) => StackedDrg512MiBV1_1,
        (SectorSize::GiB32, PorepApi::V1_1) => StackedDrg32GiBV1_1,
        (SectorSize::GiB64, PorepApi::V1_1) => StackedDrg64GiBV1_1,
    }
}

/// Versions of interactive PoRep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PorepApi {
    /// API version 1.0.0.
    V1,
    /// API version 1.1.0.
    V1_1,
}

impl PorepFixture {
    /// Seals the sector in a temporary directory and writes `c1.json` (the outer shape) and `statement.json` to
    /// `folder`, which must exist. 0.1 s at 2 KiB. Upstream keeps a cache of the graph under
    /// `/var/tmp/filecoin-parents`.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let phase1 = self.seal().map_err(Error::upstream("sealing a sector"))?;
        let inner = serde_json::to_vec(&phase1).map_err(|error| encode_error(error.into()))?;
        let outer = Outer {
            sector: self.sector,
            phase1: STANDARD.encode(inner),
            sector_size: self.registered_proof.sector_size().0,
        };
        let statement = StatementFile {
            cuzk_statement: STATEMENT_FILE_VERSION,
            kind: "porep".to_owned(),
            registered_proof: format!("{:?}", self.registered_proof),
            miner: self.miner,
            sector: self.sector,
            input: "c1.json".to_owned(),
            made_by: format!("really sealed with seed {} by filecoin-proofs 19.1.0", self.seed),
        };
        let pretty = serde_json::to_string_pretty(&statement).map_err(|error| encode_error(error.into()))?;
        write(
            &folder.join("c1.json"),
            &serde_json::to_vec(&outer).map_err(|error| encode_error(error.into()))?,
        )?;
        write(&folder.join("statement.json"), format!("{pretty}\n").as_bytes())
    }

    fn seal(&self) -> anyhow::Result<SealCommitPhase1Output> {
        let proof = self.registered_proof;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let mut random = || {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            bytes[31] &= 0x3f; // an element of Fr
            bytes
        };
        let (ticket, seed) = (random(), random());
        let (prover_id, sector) = (prover_id(self.miner), self.sector.into());
        let folder = tempfile::tempdir()?;
        let (cache, sealed) = (folder.path().join("cache"), folder.path().join("sealed"));
        fs::create_dir(&cache)?;
        fs::File::create(&sealed)?;

        let piece_bytes = UnpaddedBytesAmount::from(PaddedBytesAmount(proof.sector_size().0));
        let mut piece = vec![0; piece_bytes.0 as usize];
        rng.fill_bytes(&mut piece);
        let mut staged = tempfile::NamedTempFile::new_in(folder.path())?;
        let (piece_info, _) = add_piece(proof, Cursor::new(piece), staged.as_file_mut(), piece_bytes, &[])?;
        staged.as_file_mut().seek(SeekFrom::Start(0))?;

        let pieces = [piece_info];
        let pre_commit = seal_pre_commit_phase1(
            proof,
            &cache,
            staged.path(),
            &sealed,
            prover_id,
            sector,
            ticket,
            &pieces,
        )?;
        let pre_commit = seal_pre_commit_phase2(pre_commit, &cache, &sealed)?;
        seal_commit_phase1(&cache, &sealed, prover_id, sector, ticket, seed, pre_commit, &pieces)
    }
}

fn encode_error(source: anyhow::Error) -> Error {
    Error::Upstream { doing: "encoding the C1 output", source }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let unwritable = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut file = fs::File::create(path).map_err(unwritable)?;
    file.write_all(bytes).map_err(unwritable)
}
