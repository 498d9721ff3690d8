//! Parameter files on disk: where they are, whether their digests are right, and test parameters.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cuzk_groth16::{FixedBase, GenerateError, Parameters, Trapdoor, generate};
use cuzk_r1cs::ColumnSums;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{FileIdentity, InnerProductKey, ParameterSet, SectorSize, inner_product_key};

/// The seed of the test parameters that golden cases are proved with.
pub const GOLDEN_SEED: [u8; 32] = *b"cuzk golden test parameters no.1";

/// Why a parameter file cannot be used, or could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Reading or writing failed.
    #[error("{}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Test parameters for a size that earns money.
    #[error(
        "test parameters are refused for {size} sectors: whoever knows their published seed can forge proofs; \
         fetch the official parameters instead; to measure, `prove --test-params --backend cuda` computes them on a device and writes none"
    )]
    Production {
        /// The sector size.
        size: SectorSize,
    },
    /// The note beside test parameters does not describe them.
    #[error("{}: {problem}; remove it, and --test-params generates it again", path.display())]
    BadNote {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Generation failed.
    #[error("generating test parameters")]
    Generate(#[from] GenerateError),
}

fn io_error(path: &Path) -> impl Fn(std::io::Error) -> StoreError + '_ {
    |source| StoreError::Io { path: path.to_owned(), source }
}

/// BLAKE2b-512 of a file, about 1 s a GB; `progress` hears of the bytes read.
pub fn hash_file(path: &Path, mut progress: impl FnMut(u64)) -> Result<[u8; 64], StoreError> {
    let mut file = File::open(path).map_err(io_error(path))?;
    let mut state = blake2b_simd::State::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).map_err(io_error(path))? {
            0 => return Ok(*state.finalize().as_array()),
            n => {
                state.update(&block[..n]);
                progress(n as u64);
            }
        }
    }
}

/// Digests of files that were hashed before, remembered by size, time of modification and inode in a file of the
/// user's cache directory.
#[derive(Debug)]
pub struct DigestMemory {
    path: PathBuf,
    entries: Vec<Remembered>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct DigestFile {
    cuzk_digests: u32,
    entries: Vec<Remembered>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    bytes: u64,
    modified: i64,
    modified_ns: i64,
    device: u64,
    inode: u64,
    blake2b_512: String,
}

const DIGEST_FILE_VERSION: u32 = 1;

impl DigestMemory {
    /// Loads what is remembered under `cache`; a missing or foreign file remembers nothing.
    pub fn load(cache: &Path) -> Self {
        let path = cache.join("parameter-digests.json");
        let read = |path: &Path| Some(serde_json::from_slice::<DigestFile>(&fs::read(path).ok()?).ok());
        let entries = match read(&path).flatten() {
            Some(file) if file.cuzk_digests == DIGEST_FILE_VERSION => file.entries,
            _ => vec![],
        };
        DigestMemory { path, entries }
    }

    /// The digest of a file that has not changed since it was hashed.
    pub fn recall(&self, path: &Path) -> Option<[u8; 64]> {
        let state = Remembered::of(path, String::new()).ok()?;
        let known = self.entries.iter().find(|known| {
            let blake2b_512 = known.blake2b_512.clone();
            **known == Remembered { blake2b_512, ..state.clone() }
        })?;
        hex::decode(&known.blake2b_512).ok()?.try_into().ok()
    }

    /// Hashes a file, unless it is remembered, and remembers the answer.
    pub fn hash(&mut self, path: &Path, progress: impl FnMut(u64)) -> Result<[u8; 64], StoreError> {
        if let Some(digest) = self.recall(path) {
            return Ok(digest);
        }
        let before = Remembered::of(path, String::new()).map_err(io_error(path))?;
        let digest = hash_file(path, progress)?;
        // A file that changed while it was read is not remembered.
        let after = Remembered::of(path, String::new()).map_err(io_error(path))?;
        if before == after {
            self.remember(Remembered { blake2b_512: hex::encode(digest), ..after })?;
        }
        Ok(digest)
    }

    fn remember(&mut self, entry: Remembered) -> Result<(), StoreError> {
        self.entries.retain(|known| known.path != entry.path);
        self.entries.push(entry);
        let file = DigestFile { cuzk_digests: DIGEST_FILE_VERSION, entries: self.entries.clone() };
        let json = serde_json::to_vec_pretty(&file).expect("strings and numbers");
        write_atomically(&self.path, |out| out.write_all(&json).map_err(io_error(&self.path)))
    }
}

impl Remembered {
    fn of(path: &Path, blake2b_512: String) -> std::io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Remembered {
            path: fs::canonicalize(path)?,
            bytes: metadata.size(),
            modified: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            device: metadata.dev(),
            inode: metadata.ino(),
            blake2b_512,
        })
    }
}

/// What is known of a parameter file without hashing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Not there.
    Missing,
    /// There, but its digest was not computed since it last changed.
    Unchecked {
        /// Its size.
        bytes: u64,
    },
    /// Hashed, and the digest is the manifest's.
    Good {
        /// Its size.
        bytes: u64,
    },
    /// Hashed, and the digest is another one.
    Bad {
        /// Its size.
        bytes: u64,
    },
}

impl FileState {
    /// The state of `identity` in `directory`.
    pub fn of(directory: &Path, identity: &FileIdentity, memory: &DigestMemory) -> Self {
        let path = directory.join(&identity.name);
        let Ok(metadata) = fs::metadata(&path) else { return FileState::Missing };
        let bytes = metadata.len();
        match memory.recall(&path).and_then(|digest| identity.matches(&digest)) {
            None => FileState::Unchecked { bytes },
            Some(true) => FileState::Good { bytes },
            Some(false) => FileState::Bad { bytes },
        }
    }
}

/// The note beside test parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestParametersNote {
    /// The format's version.
    pub cuzk_test_parameters: u32,
    /// A warning for whoever finds the file.
    pub insecure: String,
    /// The seed of the trapdoor, in hexadecimal.
    pub seed: String,
    /// Upstream's identifier of the circuit.
    pub circuit: String,
    /// The name of the parameter file.
    pub parameters: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its BLAKE2b-512, in hexadecimal.
    pub blake2b_512: String,
}

const NOTE_VERSION: u32 = 1;

/// Test parameters of one circuit and seed: a `.params` file, the `.vk` file and a note, in a folder of their own.
#[derive(Clone, Debug)]
pub struct TestParameters {
    folder: PathBuf,
    seed: [u8; 32],
    set: ParameterSet,
}

impl TestParameters {
    /// Where the test parameters of a circuit are under `cache`. Refused for production sector sizes.
    pub fn locate(cache: &Path, seed: [u8; 32], set: ParameterSet) -> Result<Self, StoreError> {
        Ok(TestParameters { folder: test_folder(cache, seed, set.sector_size)?, seed, set })
    }

    /// The parameter file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.set.parameters.name)
    }

    /// The verifying key's file.
    pub fn key_path(&self) -> PathBuf {
        self.folder.join(&self.set.verifying_key.name)
    }

    /// The note, if the parameters are there and are what the note says (by size; `params check` hashes them).
    pub fn existing(&self) -> Result<Option<TestParametersNote>, StoreError> {
        let note = TestParametersNote::read(&self.path(), self.seed)?;
        if note.is_some() {
            fs::metadata(self.key_path()).map_err(io_error(&self.key_path()))?;
        }
        Ok(note)
    }

    /// Generates the parameters of `system`. Each file appears whole or not at all, the note last.
    pub fn generate(
        &self,
        system: &dyn ColumnSums,
        fixed_base: &dyn FixedBase,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<TestParametersNote, StoreError> {
        fs::create_dir_all(&self.folder).map_err(io_error(&self.folder))?;
        let trapdoor = Trapdoor::from_seed(self.seed, &self.set.circuit);
        let generated = write_atomically(&self.path(), |out| {
            Ok::<_, StoreError>(generate(fixed_base, system, &trapdoor, out, progress)?)
        })?;
        write_all(&self.key_path(), &generated.verifying_key.to_bytes())?;
        let note = TestParametersNote::new(
            &self.path(),
            self.seed,
            &self.set.circuit,
            generated.n_bytes,
            &generated.blake2b_512,
        );
        note.write(&self.path())?;
        Ok(note)
    }
}

/// The test parameters of a circuit and seed without a file ([`Parameters::computed`]), also for production sector sizes: for
/// measurements.
pub fn computed_test_parameters(
    seed: [u8; 32],
    set: &ParameterSet,
    system: &dyn ColumnSums,
    fixed_base: Box<dyn FixedBase>,
) -> Result<Parameters, cuzk_groth16::Error> {
    let trapdoor = Trapdoor::from_seed(seed, &set.circuit);
    Parameters::computed(PathBuf::from(&set.parameters.name), fixed_base, system, &trapdoor)
}

/// A test key for aggregates ([`InnerProductKey`]) and a note, beside the test parameters of the same seed.
#[derive(Clone, Debug)]
pub struct TestInnerProductKey {
    folder: PathBuf,
    seed: [u8; 32],
}

impl TestInnerProductKey {
    /// Where the key of a seed is under `cache`. Refused for production sector sizes.
    pub fn locate(cache: &Path, seed: [u8; 32], size: SectorSize) -> Result<Self, StoreError> {
        Ok(TestInnerProductKey { folder: test_folder(cache, seed, size)?, seed })
    }

    /// The key's file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(inner_product_key().name)
    }

    /// The note, if the key is there and is what the note says (by size; `params check` hashes it).
    pub fn existing(&self) -> Result<Option<TestParametersNote>, StoreError> {
        TestParametersNote::read(&self.path(), self.seed)
    }

    /// Generates the key: its secrets come from ChaCha20 keyed with SHA-256 of "cuzk inner-product key" and the seed.
    /// 1 s, 590 KB. The file appears whole or not at all, the note last.
    pub fn generate(&self) -> Result<TestParametersNote, StoreError> {
        const NAME: &str = "cuzk inner-product key";
        let key = Sha256::new().chain_update(NAME).chain_update(self.seed).finalize();
        let mut bytes = vec![];
        InnerProductKey::write_test_key(&mut ChaCha20Rng::from_seed(key.into()), &mut bytes)
            .map_err(io_error(&self.path()))?;
        write_all(&self.path(), &bytes)?;
        let digest = *blake2b_simd::blake2b(&bytes).as_array();
        let note = TestParametersNote::new(&self.path(), self.seed, NAME, bytes.len() as u64, &digest);
        note.write(&self.path())?;
        Ok(note)
    }
}

impl TestParametersNote {
    fn new(path: &Path, seed: [u8; 32], circuit: &str, bytes: u64, blake2b_512: &[u8; 64]) -> Self {
        TestParametersNote {
            cuzk_test_parameters: NOTE_VERSION,
            insecure:
                "test parameters: their trapdoor is derived from the seed in this file, so anybody can forge \
                       proofs for them"
                    .to_owned(),
            seed: hex::encode(seed),
            circuit: circuit.to_owned(),
            parameters: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            bytes,
            blake2b_512: hex::encode(blake2b_512),
        }
    }

    /// The note beside a file, if it is there; the file must be what the note says.
    fn read(path: &Path, seed: [u8; 32]) -> Result<Option<Self>, StoreError> {
        let note_path = path.with_extension("json");
        let bytes = match fs::read(&note_path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(io_error(&note_path))?,
        };
        let bad = |path: &Path, problem: String| StoreError::BadNote { path: path.to_owned(), problem };
        let note: Self =
            serde_json::from_slice(&bytes).map_err(|error| bad(&note_path, error.to_string()))?;
        if note.cuzk_test_parameters != NOTE_VERSION || note.seed != hex::encode(seed) {
            return Err(bad(&note_path, "a note of another version or seed".to_owned()));
        }
        let found = fs::metadata(path).map_err(io_error(path))?.len();
        if found != note.bytes {
            let problem = format!("truncated or damaged: {} bytes expected, {found} found", note.bytes);
            return Err(bad(path, problem));
        }
        Ok(Some(note))
    }

    fn write(&self, path: &Path) -> Result<(), StoreError> {
        let json = serde_json::to_string_pretty(self).expect("strings and numbers");
        write_all(&path.with_extension("json"), format!("{json}\n").as_bytes())
    }
}

/// The folder of a seed's test parameters under `cache`. Refused for production sector sizes.
fn test_folder(cache: &Path, seed: [u8; 32], size: SectorSize) -> Result<PathBuf, StoreError> {
    if size.is_production() {
        return Err(StoreError::Production { size });
    }
    Ok(cache.join("test-parameters").join(hex::encode(seed)))
}

fn write_all(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_atomically(path, |out| out.write_all(bytes).map_err(io_error(path)))
}

/// Lets `write` fill a new file, syncs it, and names it `path`: the file appears whole or not at all, also for a reader at
/// the same time. Where the file system can (all but network ones), the file has no name until it is whole, so that a program
/// that is killed while it writes leaves nothing; elsewhere it may leave a file `.cuzk-…` beside `path`.
pub fn write_atomically<T, E: From<StoreError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    let mut fresh = FreshFile::in_folder(folder).map_err(io_error(folder))?;
    let mut out = BufWriter::with_capacity(1 << 20, fresh.file());
    let value = write(&mut out)?;
    out.flush().map_err(io_error(path))?;
    drop(out);
    fresh.file().sync_all().map_err(io_error(path))?;
    fresh.name(folder, path).map_err(io_error(path))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_error(folder))?;
    Ok(value)
}

/// A file that is not where it will be yet.
enum FreshFile {
    Nameless(File),
    Named(tempfile::NamedTempFile),
}

impl FreshFile {
    fn in_folder(folder: &Path) -> std::io::Result<Self> {
        // It gets its name through /proc; without that it had better have one from the start.
        if Path::new("/proc/self/fd").is_dir() {
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            if let Ok(file) = rustix::fs::open(folder, flags, Mode::from_raw_mode(FILE_MODE)) {
                return Ok(FreshFile::Nameless(file.into()));
            }
        }
        // Also where the folder cannot be written to: this call's error tells.
        named_file(folder).map(FreshFile::Named)
    }

    fn file(&mut self) -> &mut File {
        match self {
            FreshFile::Nameless(file) => file,
            FreshFile::Named(file) => file.as_file_mut(),
        }
    }

    fn name(self, folder: &Path, path: &Path) -> std::io::Result<()> {
        match self {
            FreshFile::Nameless(mut file) => {
                let open = format!("/proc/self/fd/{}", file.as_raw_fd());
                let link = |name: &Path| {
                    Ok::<_, std::io::Error>(linkat(CWD, &*open, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
                };
                let replaced = match link(path) {
                    Ok(()) => return Ok(()),
                    // A link does not replace a file, and a renamed one does.
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        temporary_name().make_in(folder, link)
                    }
                    Err(error) => Err(error),
                };
                match replaced {
                    Ok(named) => drop(named.persist(path)?),
                    // Where the system does not let it be linked, it is copied.
                    Err(_) => {
                        let mut copy = named_file(folder)?;
                        file.rewind()?;
                        std::io::copy(&mut file, copy.as_file_mut())?;
                        copy.as_file().sync_all()?;
                        copy.persist(path)?;
                    }
                }
            }
            FreshFile::Named(file) => {
                file.persist(path)?;
            }
        }
        Ok(())
    }
}

/// Everybody may read what is written here.
const FILE_MODE: u32 = 0o644;

fn named_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    temporary_name().permissions(fs::Permissions::from_mode(FILE_MODE)).tempfile_in(folder)
}

fn temporary_name() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cuzk-");
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_remembered_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"content").unwrap();
        let expected = *blake2b_simd::blake2b(b"content").as_array();
        let cache = folder.path().join("cache");
        let mut memory = DigestMemory::load(&cache);
        assert_eq!(memory.recall(&file), None);
        let mut read = 0;
        assert_eq!(memory.hash(&file, |bytes| read += bytes).unwrap(), expected);
        assert_eq!(read, 7);
        // Not read again, not even by another process.
        let mut memory = DigestMemory::load(&cache);
        assert_eq!(memory.hash(&file, |_| panic!("remembered")).unwrap(), expected);
        fs::write(&file, b"another").unwrap();
        File::options().append(true).open(&file).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(memory.recall(&file), None);
        assert_eq!(memory.hash(&file, |_| ()).unwrap(), *blake2b_simd::blake2b(b"another").as_array());
        fs::write(cache.join("parameter-digests.json"), b"not ours").unwrap();
        assert_eq!(DigestMemory::load(&cache).recall(&file), None);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half").unwrap();
            Err::<(), _>(StoreError::BadNote { path: "x".into(), problem: "on purpose".to_owned() })
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        write_atomically(&path, |out| {
            // Where the file system can do it.
            let nameless = matches!(FreshFile::in_folder(folder.path()), Ok(FreshFile::Nameless(_)));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(!nameless));
            out.write_all(b"whole").map_err(io_error(&path))
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
