//! `cuzk-variants-measure`: what the variants of synthesis cost, side by side.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Parser;
use cuzk_conformance::measure::{Measurement, Variant};

/// Runs `cuzk synth` of several builds, on one thread, in turn: digests have to agree, then time, memory and, where
/// valgrind is, simulated instruction and miss counts are compared.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// An input of `cuzk synth`.
    input: PathBuf,
    /// Binaries, as `cuzk-variants-build` leaves them.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    binaries: Vec<PathBuf>,
    /// What each binary is given as `--tune`.
    #[arg(
        long,
        value_name = "SETTINGS",
        num_args = 1..,
        default_values = ["synthesis=enforce,presize=on", "synthesis=enforce,presize=off"]
    )]
    tunings: Vec<String>,
    /// Also measure the first binary with this tuning, compare its digests, and list it last.
    #[arg(long, value_name = "SETTINGS", default_value = "synthesis=template")]
    beside: String,
    /// Runs of each; six or more give intervals.
    #[arg(long, value_name = "N", default_value_t = 8)]
    rounds: usize,
    /// Count with cachegrind, too: about a minute a variant for a 2 KiB PoRep.
    #[arg(long)]
    cachegrind: bool,
    /// Write everything as JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let Cli { input, binaries, tunings, beside, rounds, cachegrind, out } = Cli::parse();
    ensure!(rounds > 0, "no rounds");
    let input = input.canonicalize().with_context(|| input.display().to_string())?;
    let mut variants = vec![];
    for binary in &binaries {
        variants.extend(tunings.iter().map(|tuning| variant(binary, tuning)));
    }
    variants.push(variant(&binaries[0], &beside));
    let variants = variants.into_iter().collect::<anyhow::Result<_>>()?;
    let measurement = Measurement { input, variants, rounds, cachegrind };
    let measured = measurement.run(&mut |step| eprintln!("{step}"))?;
    if let Some(out) = out {
        let json = serde_json::to_string_pretty(&measured)?;
        std::fs::write(&out, json + "\n").with_context(|| out.display().to_string())?;
    }
    print!("{}", measured.table());
    Ok(())
}

fn variant(binary: &Path, tuning: &str) -> anyhow::Result<Variant> {
    let binary = binary.canonicalize().with_context(|| binary.display().to_string())?;
    let build = binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Variant { name: format!("{build} {tuning}"), binary, tuning: tuning.to_owned() })
}
