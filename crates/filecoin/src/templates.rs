//! Templates of the circuits of all kinds, from upstream's blank circuits, and their cache on disk.
//!
//! | kind | block | instances at 2 KiB, 32 GiB | import table |
//! |---|---|---|---|
//! | PoRep | a challenge | 2, 18 | constant |
//! | Winning PoSt | a sector with one challenge | 66, 66 | empty |
//! | Window PoSt | a sector with ten challenges | 2, 2349 | empty |
//! | Snap | a challenge | 10, 86 | changes with the instance |
//!
//! PoRep and PoSt are walked with two blocks and extended. Snap's header depends on the number of challenges, and its
//! import tables on the challenge: it is walked whole.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use cuzk_r1cs::{CircuitDigest, ConstraintSystemMatrices, Template, TemplateParts, circuit_digest, derive};

use crate::compound::{Blank, Blocks};
use crate::store::{StoreError, write_atomically};
use crate::{Error, KnownCircuit, RegisteredProof, porep, post, snap};

impl RegisteredProof {
    /// Derives the template of the circuit of one partition, proving row by row that it repeats. Seconds for a PoRep at
    /// 32 GiB, most of a minute for a replica update there; [`TemplateCache`] remembers it.
    pub fn derive_template(&self) -> Result<Template, Error> {
        let Blank { circuit, start, instances } = self.blank(Blocks::Two)?;
        Ok(derive(circuit, start)?.with_instances(instances)?)
    }

    /// The matrices of the circuit of one partition, flat: what templates are compared with. 150 bytes a row.
    pub fn record(&self) -> Result<ConstraintSystemMatrices, Error> {
        let recorded = cuzk_r1cs::record(self.blank(Blocks::All)?.circuit);
        Ok(recorded.map_err(cuzk_r1cs::Error::from)?)
    }

    /// The digest of the circuit by walking all of it, without a template.
    pub fn circuit_digest(&self) -> Result<CircuitDigest, Error> {
        let digest = circuit_digest(self.blank(Blocks::All)?.circuit);
        Ok(digest.map_err(cuzk_r1cs::Error::from)?)
    }

    fn blank(&self, blocks: Blocks) -> Result<Blank, Error> {
        match self {
            RegisteredProof::Seal(proof) => porep::blank(*proof, blocks),
            RegisteredProof::Post(proof) => post::blank(*proof, blocks),
            RegisteredProof::Update(proof) => snap::blank(*proof),
        }
    }
}

/// Templates kept in a folder, one file for each circuit's digest. The folder may be deleted at any time.
#[derive(Clone, Debug)]
pub struct TemplateCache {
    folder: PathBuf,
}

/// A template, and where it came from.
#[derive(Debug)]
pub struct CachedTemplate {
    /// The template.
    pub template: Template,
    /// Whether it was read or derived.
    pub origin: Origin,
    /// Whether it is the circuit that this program knows, by the digest of its R1CS: only then is its witness written.
    pub known: bool,
    /// What the user may want to know: a file that was ignored, or could not be written.
    pub note: Option<String>,
}

/// Where a template came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the cache.
    File,
    /// From upstream's blank circuit.
    Derived,
}

impl TemplateCache {
    /// The cache in this folder, which is made when something is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        TemplateCache { folder: folder.into() }
    }

    /// The file of a circuit.
    pub fn path(&self, circuit: &KnownCircuit) -> PathBuf {
        let KnownCircuit { kind, sector_size, sha256, .. } = circuit;
        self.folder.join(format!("{kind}-{sector_size}-{sha256}.template"))
    }

    /// The template of a circuit from its file, else derived and written for the next time. A file that is stale,
    /// foreign, damaged or cannot be read or written is ignored with a note. A derived template whose counts are not the
    /// known circuit's is an error: upstream has changed, and parameters with it. One with the same counts and another digest is not
    /// kept, and a note says so; comparing takes 10 ns a term.
    pub fn get(&self, proof: &RegisteredProof, parts: TemplateParts) -> Result<CachedTemplate, Error> {
        self.get_as(proof.known_circuit()?, proof, parts)
    }

    fn get_as(
        &self,
        circuit: &KnownCircuit,
        proof: &RegisteredProof,
        parts: TemplateParts,
    ) -> Result<CachedTemplate, Error> {
        let path = self.path(circuit);
        let ignored = match read(&path, circuit, parts) {
            Ok(template) => {
                return Ok(CachedTemplate { template, origin: Origin::File, known: true, note: None });
            }
            Err(cuzk_r1cs::Error::Io(error)) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => Some(format!("{}: ignored: {error}", path.display())),
        };
        let template = proof.derive_template()?;
        circuit.check_counts(&template)?;
        let digest = template.circuit_digest()?;
        let known = digest == circuit.digest();
        let unwritten = match known {
            true => self.keep(&path, circuit, &template),
            false => Some(format!(
                "the circuit of {proof} has digest {digest}, and this program knows {}: witnesses are walked \
                 (`synthesis=template`), not written",
                circuit.digest()
            )),
        };
        let notes: Vec<String> = ignored.into_iter().chain(unwritten).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(CachedTemplate { template, origin: Origin::Derived, known, note })
    }

    /// Writes a template for the next time; says why not.
    fn keep(&self, path: &Path, circuit: &KnownCircuit, template: &Template) -> Option<String> {
        let written = write_atomically(path, |out| {
            template.write(&circuit.digest(), out).map_err(|error| WriteError(error.to_string()))
        });
        written.err().map(|error| format!("the template was not kept: {}", error.0))
    }
}

fn read(path: &Path, circuit: &KnownCircuit, parts: TemplateParts) -> Result<Template, cuzk_r1cs::Error> {
    let mut file = BufReader::new(File::open(path)?);
    let template = Template::read(&circuit.digest(), parts, &mut file)?;
    match circuit.check_counts(&template) {
        Ok(()) => Ok(template),
        Err(_) => Err(cuzk_r1cs::Error::BadTemplate { problem: "its counts are not the circuit's" }),
    }
}

/// Why a template could not be written; only ever shown.
struct WriteError(String);

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        WriteError(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SectorSize, window_post};

    #[test]
    fn a_circuit_with_another_digest_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let cache = TemplateCache::new(folder.path());
        let proof = RegisteredProof::Post(window_post(SectorSize::KiB2));
        let circuit = proof.known_circuit().unwrap();
        let other = KnownCircuit { sha256: "00".repeat(32), ..circuit.clone() };

        let found = cache.get_as(&other, &proof, TemplateParts::Prover).unwrap();
        assert!(!found.known);
        let note = found.note.unwrap();
        assert!(note.contains(&circuit.sha256) && note.contains(&other.sha256), "{note}");
        assert!(!cache.path(&other).exists());

        let found = cache.get(&proof, TemplateParts::Prover).unwrap();
        assert!(found.known && found.note.is_none() && cache.path(circuit).exists());
    }
}
