//! What the environment says: the one place where its variables are read.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use cuzk_filecoin::SectorSize;
use directories::BaseDirs;

use crate::failure::Failure;

/// The variable by which all of Filecoin's provers find parameters.
const PARAMETERS_VARIABLE: &str = "FIL_PROOFS_PARAMETER_CACHE";
/// Where they look without it.
const PARAMETERS_DEFAULT: &str = "/var/tmp/filecoin-proof-parameters/";

/// The directory of the official parameters, and who said so.
#[derive(Debug)]
pub(crate) struct ParameterDirectory {
    pub(crate) path: PathBuf,
    pub(crate) set_by: &'static str,
}

impl ParameterDirectory {
    /// `--params`, else the variable, else the default.
    pub(crate) fn find(flag: Option<&Path>) -> Self {
        match (flag, std::env::var_os(PARAMETERS_VARIABLE)) {
            (Some(path), _) => ParameterDirectory { path: path.to_owned(), set_by: "--params" },
            (None, Some(path)) => ParameterDirectory { path: path.into(), set_by: PARAMETERS_VARIABLE },
            (None, None) => ParameterDirectory { path: PARAMETERS_DEFAULT.into(), set_by: "the default" },
        }
    }

    /// The failure for a file that is not there: where it was looked for, why there, and both ways out.
    pub(crate) fn missing(&self, name: &str, size: SectorSize) -> Failure {
        let directory = self.path.display();
        let set_by = self.set_by;
        let fetch = format!(
            "fetch it with `lotus fetch-params {size}`, `curio fetch-params {size}` or `paramfetch`, or say with \
             --params where it is"
        );
        let test = if size.is_production() {
            String::new()
        } else {
            format!("; for {size} sectors, --test-params generates insecure test parameters")
        };
        let message = anyhow!("no parameter file {name} in {directory} (set by {set_by}); {fetch}{test}");
        Failure::environment("parameters_missing", message)
    }
}

/// The directory for what can be computed again: test parameters, remembered digests.
pub(crate) fn cache_directory() -> Result<PathBuf, Failure> {
    let directories = BaseDirs::new()
        .ok_or_else(|| Failure::environment("no_cache_directory", anyhow!("no home directory: set HOME")))?;
    Ok(directories.cache_dir().join("cuzk"))
}
