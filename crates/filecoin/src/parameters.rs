//! Which parameter files a circuit has, and their digests in upstream's manifest (`parameters.json` and
//! `srs-inner-product.json` of storage-proofs-core, embedded there).

use storage_proofs_core::parameter_cache::{
    PARAMETERS, ParameterData, SRS_KEY_EXT, SRS_PARAMETERS, SRS_SHARED_KEY_NAME, VERSION, parameter_id,
    verifying_key_id,
};

use crate::SectorSize;

/// A file of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Its name in the parameter directory.
    pub name: String,
    /// The first 16 bytes, in hexadecimal, of its BLAKE2b-512; `None` when upstream's manifest does not have the file.
    pub digest: Option<String>,
    /// The sector size that the manifest gives, in bytes; `None` for what serves all sizes.
    pub sector_bytes: Option<u64>,
}

impl FileIdentity {
    fn named(name: String) -> Self {
        let entry = PARAMETERS.get(&name).or(SRS_PARAMETERS.get(&name));
        FileIdentity {
            digest: entry.map(|entry| entry.digest.clone()),
            sector_bytes: entry.and_then(Self::sector_bytes),
            name,
        }
    }

    /// The manifest says 0 for what serves all sizes.
    fn sector_bytes(entry: &ParameterData) -> Option<u64> {
        Some(entry.sector_size).filter(|bytes| *bytes != 0)
    }

    /// Whether a BLAKE2b-512 is the manifest's; `None` when the manifest does not have the file.
    pub fn matches(&self, blake2b_512: &[u8; 64]) -> Option<bool> {
        self.digest.as_ref().map(|digest| *digest == hex::encode(&blake2b_512[..16]))
    }
}

/// The parameter files of one circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSet {
    /// Upstream's identifier of the circuit; the trapdoor of test parameters is derived from it.
    pub circuit: String,
    /// The sector size.
    pub sector_size: SectorSize,
    /// The `.params` file.
    pub parameters: FileIdentity,
    /// The `.vk` file.
    pub verifying_key: FileIdentity,
}

impl ParameterSet {
    pub(crate) fn new(circuit: String, sector_size: SectorSize) -> Self {
        ParameterSet {
            parameters: FileIdentity::named(parameter_id(&circuit)),
            verifying_key: FileIdentity::named(verifying_key_id(&circuit)),
            circuit,
            sector_size,
        }
    }
}

/// The key with which proofs are aggregated, one for all circuits.
pub fn inner_product_key() -> FileIdentity {
    FileIdentity::named(format!("v{VERSION}-{SRS_SHARED_KEY_NAME}.{SRS_KEY_EXT}"))
}

/// All files of upstream's manifests, by name.
pub fn manifest() -> Vec<FileIdentity> {
    PARAMETERS.keys().chain(SRS_PARAMETERS.keys()).cloned().map(FileIdentity::named).collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        PorepApi, RegisteredProof, SectorSize, seal_of_size, update_of_size, window_post, winning_post,
    };

    #[test]
    fn the_inner_product_key_is_in_the_manifest() {
        let key = super::inner_product_key();
        assert_eq!(key.name, "v28-fil-inner-product-v1.srs");
        assert_eq!(key.digest.as_deref(), Some("ae20310138f5ba81451d723f858e3797"));
    }

    /// The names that upstream's documentation and other provers give, and that each circuit of the manifest has both
    /// files.
    #[test]
    fn every_circuit_has_its_own_files_in_the_manifest() {
        let mut names = vec![];
        for size in SectorSize::ALL {
            for proof in [
                RegisteredProof::Seal(seal_of_size(size, PorepApi::V1_1)),
                RegisteredProof::Post(winning_post(size)),
                RegisteredProof::Post(window_post(size)),
                RegisteredProof::Update(update_of_size(size)),
            ] {
                let set = proof.parameter_set().unwrap();
                assert!(set.parameters.digest.is_some(), "{proof}: {}", set.parameters.name);
                assert!(set.verifying_key.digest.is_some(), "{proof}: {}", set.verifying_key.name);
                assert_eq!(set.parameters.sector_bytes, Some(size.bytes()), "{proof}");
                names.push(set.parameters.name);
            }
        }
        let of_32gib = ["sha256_hasher-82a357d2", "8-8-0-559e581f", "8-8-0-0377ded6", "8-8-0-3b7f44a9"];
        for (name, part) in names[12..16].iter().zip(of_32gib) {
            assert!(name.contains(part), "{name}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 20);
    }
}
