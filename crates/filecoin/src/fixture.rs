//! Inputs in files, deterministic from a seed: PoReps by really sealing a sector through filecoin-proofs, and every kind
//! without sealing.

use std::fs;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use filecoin_proofs_api::seal::{
    SealCommitPhase1Output, add_piece, seal_commit_phase1, seal_pre_commit_phase1, seal_pre_commit_phase2,
};
use filecoin_proofs_api::{
    PaddedBytesAmount, PoStType, RegisteredPoStProof, RegisteredSealProof, RegisteredUpdateProof,
    UnpaddedBytesAmount,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

use crate::identity::prover_id;
use crate::statement::STATEMENT_FILE_VERSION;
use crate::{Error, Kind, StatementFile, synthetic};

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

impl PorepFixture {
    /// Seals the sector in a temporary directory and writes `c1.json` (the outer shape) and `statement.json` to
    /// `folder`, which must exist. 0.1 s at 2 KiB. Upstream keeps a cache of the graph under
    /// `/var/tmp/filecoin-parents`.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let phase1 = self.seal().map_err(Error::upstream("sealing a sector"))?;
        let made_by = format!("really sealed with seed {} by filecoin-proofs 19.1.0", self.seed);
        self.write_phase1(folder, &phase1, made_by)
    }

    /// Makes the C1 output without sealing ([`synthetic::porep`]) and writes the same files: about 2 s at 32 GiB.
    pub fn write_synthetic(&self, folder: &Path) -> Result<(), Error> {
        let PorepFixture { registered_proof, miner, sector, seed } = *self;
        let phase1 = synthetic::porep(&synthetic::SyntheticPorep { registered_proof, miner, sector, seed })?;
        self.write_phase1(folder, &phase1, synthetic::made_by(seed))
    }

    fn write_phase1(
        &self,
        folder: &Path,
        phase1: &SealCommitPhase1Output,
        made_by: String,
    ) -> Result<(), Error> {
        write(&folder.join("c1.json"), |file| synthetic::write_c1(file, self.sector, phase1))?;
        let statement = StatementFile {
            miner: Some(self.miner),
            sector: Some(self.sector),
            ..StatementFile::new(Kind::Porep, format!("{:?}", self.registered_proof), "c1.json", made_by)
        };
        statement.write(folder)
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

/// A PoSt without sealing ([`synthetic`]): `vanilla.json` and `statement.json`.
#[derive(Clone, Copy, Debug)]
pub struct PostFixture {
    /// The registered proof, winning or window.
    pub registered_proof: RegisteredPoStProof,
    /// The miner's actor id.
    pub miner: u64,
    /// The number of the first sector.
    pub sector: u64,
    /// The number of sectors: one for a winning PoSt, at most a partition for a window PoSt.
    pub sectors: usize,
    /// Randomness and everything that is not opened come from this.
    pub seed: u64,
}

impl PostFixture {
    /// Writes both files to `folder`, which must exist.
    pub fn write_synthetic(&self, folder: &Path) -> Result<(), Error> {
        let PostFixture { registered_proof, sector, seed, .. } = *self;
        let winning = registered_proof.typ() == PoStType::Winning;
        let made = if winning {
            synthetic::winning_post(&synthetic::SyntheticWinningPost { registered_proof, sector, seed })?
        } else {
            synthetic::window_post(&synthetic::SyntheticWindowPost {
                registered_proof,
                partition: 0,
                first_sector: sector,
                sectors: self.sectors,
                seed,
            })?
        };
        write(&folder.join("vanilla.json"), |file| synthetic::write_vanilla_proofs(file, &made.proofs))?;
        let kind = if winning { Kind::WinningPost } else { Kind::WindowPost };
        let (name, made_by) = (format!("{registered_proof:?}"), synthetic::made_by(seed));
        let statement = StatementFile {
            miner: Some(self.miner),
            randomness: Some(made.randomness),
            ..StatementFile::new(kind, name, "vanilla.json", made_by)
        };
        statement.write(folder)
    }
}

/// A replica update without sealing ([`synthetic`]): `vanilla.json` and `statement.json`.
#[derive(Clone, Copy, Debug)]
pub struct SnapFixture {
    /// The registered proof.
    pub registered_proof: RegisteredUpdateProof,
    /// Replica and data come from this.
    pub seed: u64,
}

impl SnapFixture {
    /// Writes both files to `folder`, which must exist.
    pub fn write_synthetic(&self, folder: &Path) -> Result<(), Error> {
        let SnapFixture { registered_proof, seed } = *self;
        let made = synthetic::snap(&synthetic::SyntheticSnap { registered_proof, seed })?;
        write(&folder.join("vanilla.json"), |file| synthetic::write_vanilla_proofs(file, &made.proofs))?;
        let (name, made_by) = (format!("{registered_proof:?}"), synthetic::made_by(seed));
        let statement = StatementFile {
            comm_r_old: Some(made.comm_r_old),
            comm_r_new: Some(made.comm_r_new),
            comm_d_new: Some(made.comm_d_new),
            ..StatementFile::new(Kind::Snap, name, "vanilla.json", made_by)
        };
        statement.write(folder)
    }
}

impl StatementFile {
    fn new(kind: Kind, registered_proof: String, input: &str, made_by: String) -> Self {
        StatementFile {
            cuzk_statement: STATEMENT_FILE_VERSION,
            kind,
            registered_proof,
            miner: None,
            sector: None,
            randomness: None,
            comm_r_old: None,
            comm_r_new: None,
            comm_d_new: None,
            input: input.to_owned(),
            made_by,
        }
    }

    fn write(&self, folder: &Path) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(self).expect("strings and numbers");
        write(&folder.join("statement.json"), |mut file| {
            writeln!(file, "{json}").map_err(|error| Error::upstream("writing the statement")(error.into()))
        })
    }
}

fn write(path: &Path, content: impl FnOnce(fs::File) -> Result<(), Error>) -> Result<(), Error> {
    content(fs::File::create(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?)
}
