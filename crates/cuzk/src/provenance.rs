//! Where this build comes from: `--version --verbose`, and every report.

use std::fmt;

use cuzk_groth16::Tuning;
use serde::Serialize;

/// What a build is made of: what has to be known of a program whose figures or proofs are compared.
#[derive(Debug, Serialize)]
pub(crate) struct Build {
    /// The commit, with `-dirty` where files differed from it; `null` where the build had no git.
    revision: Option<&'static str>,
    /// The hash by which Nix knows the source, in builds by Nix.
    nar_hash: Option<&'static str>,
    /// What rustc says of its version.
    rustc: &'static str,
    target: &'static str,
    /// What `-C target-cpu` said; `null` for any processor of the target.
    target_cpu: Option<&'static str>,
    /// Instructions that the compiler was free to use anywhere; the arithmetic chooses more when it runs.
    target_features: Vec<&'static str>,
    /// cargo's; `faults` is a build that can do wrong on purpose.
    profile: &'static str,
    /// Axis `lc`, the one that is decided at build.
    lc: &'static str,
    /// Device code, if there is some.
    kernels: Option<Kernels>,
}

#[derive(Debug, Serialize)]
struct Kernels {
    /// nvcc's release.
    cuda: &'static str,
    /// Compute capabilities: 90 for 9.0.
    architectures: &'static [u32],
}

impl Build {
    /// This program's.
    pub(crate) fn here() -> Self {
        let known = |text: &'static str| (!text.is_empty()).then_some(text);
        let kernels = cuzk_gpu::kernels()
            .map(|cuzk_gpu::Kernels { cuda, architectures }| Kernels { cuda, architectures });
        Build {
            revision: known(env!("CUZK_BUILD_REVISION")),
            nar_hash: known(env!("CUZK_BUILD_NAR_HASH")),
            rustc: env!("CUZK_BUILD_RUSTC"),
            target: env!("CUZK_BUILD_TARGET"),
            target_cpu: known(env!("CUZK_BUILD_TARGET_CPU")),
            target_features: env!("CUZK_BUILD_TARGET_FEATURES").split(',').collect(),
            profile: env!("CUZK_BUILD_PROFILE"),
            lc: Tuning::lc(),
            kernels,
        }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels = match &self.kernels {
            Some(Kernels { cuda, architectures }) => format!("CUDA {cuda} for {architectures:?}"),
            None => "none (built without nvcc)".to_owned(),
        };
        writeln!(f, "revision         {}", self.revision.unwrap_or("unknown (built without git)"))?;
        writeln!(f, "flake narHash    {}", self.nar_hash.unwrap_or("none (not built by Nix)"))?;
        writeln!(f, "rustc            {}", self.rustc)?;
        writeln!(f, "target           {}", self.target)?;
        writeln!(f, "target-cpu       {}", self.target_cpu.unwrap_or("any"))?;
        writeln!(f, "target features  {}", self.target_features.join(" "))?;
        writeln!(f, "profile          {}", self.profile)?;
        writeln!(f, "lc               {}", self.lc)?;
        writeln!(f, "kernels          {kernels}")
    }
}
