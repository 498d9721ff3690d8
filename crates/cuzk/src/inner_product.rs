//! The key with which proofs are aggregated: the official one, or a test key beside test parameters.

use std::path::PathBuf;

use anyhow::anyhow;
use cuzk_filecoin::store::{DigestMemory, TestInnerProductKey};
use cuzk_filecoin::{Aggregation, InnerProductKey, SectorSize, inner_product_key};

use crate::arguments::ParameterArguments;
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::progress::Progress;

/// Reads what an aggregation needs of the key.
pub(crate) fn open(
    parameters: &ParameterArguments,
    size: SectorSize,
    aggregation: &Aggregation<'_>,
    progress: &Progress,
) -> Result<(PathBuf, InnerProductKey), Failure> {
    let path = path(parameters, size, progress)?;
    let key = InnerProductKey::open(&path, aggregation.n_proofs())?;
    Ok((path, key))
}

/// Where the key is. A test key is generated if it is not there.
fn path(parameters: &ParameterArguments, size: SectorSize, progress: &Progress) -> Result<PathBuf, Failure> {
    let cache = cache_directory()?;
    if let Some(seed) = parameters.test_params {
        let key = TestInnerProductKey::locate(&cache, seed.0, size)?;
        if key.existing()?.is_none() {
            progress.say(&format!("generating an insecure test key: {}", key.path().display()));
            key.generate()?;
        }
        return Ok(key.path());
    }
    let directory = ParameterDirectory::find(parameters.params.as_deref());
    let wanted = inner_product_key();
    let path = directory.path.join(&wanted.name);
    if !path.exists() {
        return Err(directory.missing(&wanted.name, size));
    }
    if DigestMemory::load(&cache).recall(&path).and_then(|digest| wanted.matches(&digest)) == Some(false) {
        let message = anyhow!("{}: its digest is not the manifest's; fetch it again", path.display());
        return Err(Failure::environment("parameters", message));
    }
    Ok(path)
}
