//! `cuzk-variants-build`: one binary for each storage of linear combinations.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Parser;
use cuzk_conformance::variants::{LcStorage, VariantBuild};

/// Builds cuzk once for each storage of linear combinations in upstream's bellpepper-core: vec, smallvec-1, smallvec-2,
/// smallvec-4. Offline, from copies; neither the workspace nor its Cargo.lock is changed.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// The root of the workspace.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// Where the binaries go, the copies, and cargo's target folder.
    #[arg(long, value_name = "DIR", default_value = "target/variants")]
    out: PathBuf,
    /// The target, as cargo's `--target`; flags for rustc are then not for build scripts [default: this machine's].
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Which variants, separated by commas.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "vec,smallvec-1,smallvec-2,smallvec-4"
    )]
    variants: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let variants = cli
        .variants
        .iter()
        .map(|name| LcStorage::find(name).ok_or_else(|| anyhow!("no variant {name}")))
        .collect::<anyhow::Result<Vec<_>>>()?;
    std::fs::create_dir_all(&cli.out)?;
    let (workspace, out) = (cli.workspace.canonicalize()?, cli.out.canonicalize()?);
    for binary in (VariantBuild { workspace, out, target: cli.target }).run(&variants)? {
        println!("{}", binary.display());
    }
    Ok(())
}
