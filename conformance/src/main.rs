//! `cuzk-conformance`: the command line of the conformance suite.

#![forbid(unsafe_code)]

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use cuzk_conformance::case::{json_schema, pretty};
use cuzk_conformance::prover::Prover;
use cuzk_conformance::rows::{self, Row, Tuning};
use cuzk_conformance::run::{Count, Outcome, Runner};
use cuzk_conformance::{lint, make};

/// Runs the golden cases against any prover binary.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the golden cases and names what differs. Exit code 0: none failed and at least one passed; 1 otherwise.
    Run(RunArgs),
    /// Lists every fault of the golden folder. Exit code 0: none; 1 otherwise.
    Lint(GoldenArgs),
    /// Makes suites, their values by the binary's reference backend, and checks the binary with them.
    Make(MakeArgs),
    /// Prints the JSON schema of case.json, which golden/case.schema.json has to equal.
    Schema,
}

#[derive(Args)]
struct GoldenArgs {
    /// The golden folder.
    #[arg(long, value_name = "DIR", default_value = "golden")]
    golden: PathBuf,
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    golden: GoldenArgs,
    /// Seconds after which a prover is killed and its case has failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    timeout: u64,
    /// A prover to run the cases against; may be given several times. Default: `cuzk` beside this program.
    #[arg(long, value_name = "PATH")]
    binary: Vec<PathBuf>,
    /// A backend to prove with; may be given several times, and each is a row of its own.
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    backend: Vec<String>,
    /// Values of optimization axes to prove with; may be given several times, and each is a row of its own.
    #[arg(long, value_name = "K=V,…", conflicts_with = "variants")]
    tune: Vec<Tuning>,
    /// Which values of the optimization axes become rows.
    #[arg(long, value_enum, default_value_t = Variants::Default)]
    variants: Variants,
    /// Run only the cases whose <suite>/<case> contains this.
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    filter: String,
    /// A folder with the inputs of cases that name theirs by digest only; file names do not matter.
    #[arg(long, value_name = "DIR")]
    input_dir: Option<PathBuf>,
    /// A folder with the official parameters; without it the cases that need them are skipped.
    #[arg(long, value_name = "DIR")]
    params: Option<PathBuf>,
    /// Print the outcomes as JSON on stdout when all are known, and the count on stderr.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct MakeArgs {
    /// The suites to make [default: all].
    #[arg(value_name = "SUITE", value_parser = PossibleValuesParser::new(make::suites()))]
    suites: Vec<String>,
    #[command(flatten)]
    golden: GoldenArgs,
    /// Seconds after which the prover is killed. Thirteen partitions by the reference take half an hour on two cores.
    #[arg(long, value_name = "SECONDS", default_value_t = 7200)]
    timeout: u64,
    /// The prover whose reference backend makes the expected values. Default: `cuzk` beside this program.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Variants {
    /// One row: the defaults, or what --tune says.
    Default,
    /// Every value of every axis that is decided at run, once: the defaults, and each other value alone.
    Each,
}

fn main() -> anyhow::Result<ExitCode> {
    let good = match Cli::parse().command {
        Command::Run(args) => run(&args)?,
        Command::Lint(args) => lint(&args)?,
        Command::Make(args) => make(args)?,
        Command::Schema => {
            print!("{}", pretty(&json_schema()));
            true
        }
    };
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(args: &RunArgs) -> anyhow::Result<bool> {
    let mut runner = Runner::open(&args.golden.golden)?;
    args.input_dir.iter().try_for_each(|folder| runner.supply_inputs(folder))?;
    args.params.iter().try_for_each(|folder| runner.supply_parameters(folder))?;
    let binaries = if args.binary.is_empty() { vec![neighbour()?] } else { args.binary.clone() };
    let (mut count, mut provers) = (Count::default(), Vec::new());
    for binary in binaries {
        let prover = prover(binary, args.timeout)?;
        if !args.json {
            println!("{}", prover.binary.display());
        }
        let outcomes = run_binary(args, &runner, &prover)?;
        outcomes.iter().for_each(|outcome| count.add(&outcome.status));
        provers.push(serde_json::json!({ "binary": prover.binary, "outcomes": outcomes }));
    }
    if args.json {
        let data = serde_json::json!({
            "schema": "cuzk-conformance", "version": 1, "count": count, "binaries": provers,
        });
        print!("{}", pretty(&data));
        eprintln!("{count}");
    } else {
        println!("{count}");
    }
    Ok(count.is_success())
}

fn run_binary(args: &RunArgs, runner: &Runner, prover: &Prover) -> anyhow::Result<Vec<Outcome>> {
    let rows = rows_of(args, prover)?;
    let mut show = |outcome: &Outcome| {
        if !args.json {
            println!("{outcome}");
        }
    };
    let mut outcomes = Vec::new();
    for folder in runner.select(&args.filter) {
        outcomes.extend(runner.run(prover, folder, &rows, &mut show)?);
    }
    Ok(outcomes)
}

fn rows_of(args: &RunArgs, prover: &Prover) -> anyhow::Result<Vec<Row>> {
    let tunings = match args.variants {
        Variants::Each => {
            let rows = rows::each(prover, &args.backend);
            return rows.context("--variants each asks the prover for its variants");
        }
        Variants::Default if args.tune.is_empty() => vec![Tuning::default()],
        Variants::Default => args.tune.clone(),
    };
    Ok(rows::product(&args.backend, &tunings))
}

fn lint(args: &GoldenArgs) -> anyhow::Result<bool> {
    let (cases, problems) = lint::lint(&args.golden)?;
    for problem in &problems {
        println!("{problem}");
    }
    println!("{cases} cases, {} problems", problems.len());
    Ok(problems.is_empty())
}

fn make(args: MakeArgs) -> anyhow::Result<bool> {
    let binary = args.binary.map_or_else(neighbour, Ok)?;
    let prover = prover(binary, args.timeout)?;
    let all = || make::suites().map(str::to_owned).to_vec();
    for suite in if args.suites.is_empty() { all() } else { args.suites } {
        for case in make::make(&prover, &args.golden.golden, &suite)? {
            println!("{case}");
        }
    }
    Ok(true)
}

/// The prover that was built or installed together with this program.
fn neighbour() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find this program's own file; give --binary")?;
    Ok(this.with_file_name(format!("cuzk{EXE_SUFFIX}")))
}

/// The path is made absolute because the prover runs in another folder.
fn prover(binary: PathBuf, timeout_seconds: u64) -> anyhow::Result<Prover> {
    let absolute = binary.canonicalize();
    let binary = absolute.with_context(|| format!("no prover at {}; give --binary", binary.display()))?;
    Ok(Prover { binary, timeout: Duration::from_secs(timeout_seconds) })
}
