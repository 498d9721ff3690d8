//! `cuzk-conformance`: the command line of the conformance suite.

#![forbid(unsafe_code)]

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use cuzk_conformance::bench::{Ended, Plan, Side, SideSpec, count, measure};
use cuzk_conformance::case::{Arguments, CaseFolder, json_schema, pretty};
use cuzk_conformance::faults::{self, Noticed, Tally};
use cuzk_conformance::gate::Gate;
use cuzk_conformance::html::{Binary, Page};
use cuzk_conformance::prover::Prover;
use cuzk_conformance::rows::{self, Coverage, Row, Tuning};
use cuzk_conformance::run::{Count, Outcome, Runner};
use cuzk_conformance::{lint, make, own, runs};
use tempfile::TempDir;

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
    /// Times two ways to the same proof in turn and says which phases are shown faster or slower. Exit code 0: the bytes agree; 1
    /// otherwise.
    Bench(BenchArgs),
    /// May a binary take another's place? Exit code 0: the new one gives the golden bytes in every case and row, and no phase is
    /// shown slower; 1 otherwise.
    Gate(GateArgs),
    /// Does the suite notice? Runs a build that can do wrong on purpose, each fault alone, and wants the step named that goes wrong.
    /// Exit code 0: every fault that was run was noticed, and one was; 1 otherwise.
    Faults(FaultsArgs),
    /// Tables the times of results that were kept, by machine and date.
    Runs(RunsArgs),
    /// Lists every fault of the golden folder. Exit code 0: none; 1 otherwise.
    Lint(GoldenArgs),
    /// Makes suites, their values by the binary's reference backend, and checks the binary with them.
    Make(MakeArgs),
    /// Prints the JSON schema of case.json, which golden/case.schema.json has to equal.
    Schema,
}

#[derive(Args)]
struct GoldenArgs {
    /// The golden folder [default: `golden`, or else the one that was installed with this program].
    #[arg(long, value_name = "DIR", default_value_os_t = default_golden(), hide_default_value = true)]
    golden: PathBuf,
}

/// `golden` here, or else what a package has beside its `bin`.
fn default_golden() -> PathBuf {
    let here = PathBuf::from("golden");
    let installed = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("share/cuzk/golden"));
    match installed().filter(|installed| !here.is_dir() && installed.is_dir()) {
        Some(installed) => installed,
        None => here,
    }
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
    /// Leave out the cases whose <suite>/<case> contains this; may be given several times.
    #[arg(long, value_name = "SUBSTRING")]
    skip: Vec<String>,
    /// A folder with the inputs of cases that name theirs by digest only; file names do not matter.
    #[arg(long, value_name = "DIR")]
    input_dir: Option<PathBuf>,
    /// A folder with the official parameters; without it the cases that need them are skipped.
    #[arg(long, value_name = "DIR")]
    params: Option<PathBuf>,
    /// What has to be there: backends (`cuda`), or values of axes (`avx512ifma`, with `--variants` or `--tune`). Every binary has to pass
    /// a case with each, so that a run in which all of them were skipped is no success.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    require: Vec<String>,
    /// Also write the outcomes as JSON.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Also write the outcomes as one page of HTML.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the outcomes as JSON on stdout when all are known, and the count on stderr.
    #[arg(long)]
    json: bool,
}

/// How two sides are timed.
#[derive(Args)]
struct TimingArgs {
    /// The valid cases on which both are timed; may be given several times.
    #[arg(long = "case", value_name = "SUITE/CASE", default_value = "winning-post-2kib-v1/valid")]
    cases: Vec<String>,
    /// A folder with the official parameters, for cases that need them.
    #[arg(long, value_name = "DIR")]
    params: Option<PathBuf>,
    /// A folder with the inputs of cases that name theirs by digest only.
    #[arg(long, value_name = "DIR")]
    input_dir: Option<PathBuf>,
    /// Pairs of runs. With noise of 5 % and now and then a disturbed run, 30 show 15 % nearly always.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// A difference up to this is none.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    margin: f64,
    /// The greatest chance that anything is called slower or faster that is not.
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = share)]
    error_rate: f64,
    /// Phases that take both sides less than this are not compared.
    #[arg(long, value_name = "MS", default_value_t = 5.0)]
    least_ms: f64,
    /// Print everything as JSON on stdout.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct BenchArgs {
    /// What is compared with: a binary, values of axes (`ntt=seven`), or both (`PATH@ntt=seven`); `backend=NAME` among the values
    /// chooses a backend for this side alone.
    a: SideSpec,
    /// The other.
    b: SideSpec,
    /// An input of your own instead of golden cases: both sides have to give the same bytes for it.
    #[arg(long, value_name = "FILE", conflicts_with = "cases")]
    input: Option<PathBuf>,
    /// The miner's actor id, where the input does not carry it.
    #[arg(long, value_name = "ID", requires = "input")]
    miner: Option<u64>,
    /// The sector number, where the input does not carry it.
    #[arg(long, value_name = "N", requires = "input")]
    sector: Option<u64>,
    /// The registered proof, where it is not the latest for its size.
    #[arg(long, value_name = "T", requires = "input")]
    proof_type: Option<String>,
    /// The backend of both, where they do not name theirs.
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    backend: String,
    /// Also count instructions and cache misses of a run of each: by the kernel, or else by cachegrind, which takes some fifty times as long
    /// and knows no AVX-512.
    #[arg(long)]
    count: bool,
    /// Compare only this phase; may be given several times.
    #[arg(long, value_name = "NAME")]
    phase: Vec<String>,
    /// Seconds after which a prover is killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    timeout: u64,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    golden: GoldenArgs,
}

#[derive(Args)]
struct GateArgs {
    /// The binary that is trusted.
    #[arg(long, value_name = "PATH")]
    old: PathBuf,
    /// The binary that is to take its place.
    #[arg(long, value_name = "PATH")]
    new: PathBuf,
    /// The backend of both.
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    backend: String,
    /// In which rows the new binary has to give the golden bytes.
    #[arg(long, value_enum, default_value_t = Variants::Each)]
    variants: Variants,
    /// Run only the cases whose <suite>/<case> contains this.
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    filter: String,
    /// Seconds after which a prover is killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    timeout: u64,
    /// Also write the summary there.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    golden: GoldenArgs,
}

#[derive(Args)]
struct FaultsArgs {
    #[command(flatten)]
    golden: GoldenArgs,
    /// The build with faults: cargo build --profile faults --bin cuzk
    #[arg(long, value_name = "PATH", default_value = "target/faults/cuzk")]
    binary: PathBuf,
    /// Run only the faults whose name contains this.
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    filter: String,
    /// Seconds after which the prover is killed and its fault counts as missed.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Print everything as JSON on stdout, and the count on stderr.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct RunsArgs {
    /// The folder of the runs, each a folder DATE-MACHINE with reports (`cuzk prove --report`) and benchmarks (`cuzk-bench`).
    #[arg(long, value_name = "DIR", default_value = "conformance/runs")]
    runs: PathBuf,
    /// Only what contains this: a machine, a proof, an axis, a phase.
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    filter: String,
    /// Print JSON.
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
    /// Every two values of every two axes together in some row.
    Pairwise,
    /// Every combination.
    All,
}

/// `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map_err(|error| error.to_string())? / unit;
    if (0.0..1.0).contains(&share) { Ok(share) } else { Err("not between 0 and 100 %".to_owned()) }
}

fn main() -> anyhow::Result<ExitCode> {
    let good = match Cli::parse().command {
        Command::Run(args) => run(&args)?,
        Command::Bench(args) => bench(&args)?,
        Command::Gate(args) => gate(&args)?,
        Command::Faults(args) => faults(&args)?,
        Command::Runs(args) => runs(&args)?,
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
    let (mut count, mut provers) = (Count::default(), Vec::<(Prover, Vec<Outcome>)>::new());
    for binary in binaries {
        let prover = prover(binary, args.timeout)?;
        if !args.json {
            println!("{}", prover.binary.display());
        }
        let outcomes = run_binary(args, &runner, &prover)?;
        outcomes.iter().for_each(|outcome| count.add(&outcome.status));
        provers.push((prover, outcomes));
    }
    if let Some(path) = &args.html {
        std::fs::write(path, page(args, &runner, count, &provers)?)
            .with_context(|| path.display().to_string())?;
    }
    let data = || {
        let binaries: Vec<_> = provers
            .iter()
            .map(|(prover, outcomes)| serde_json::json!({ "binary": prover.binary, "outcomes": outcomes }))
            .collect();
        pretty(&serde_json::json!({
            "schema": "cuzk-conformance", "version": 1, "count": count, "binaries": binaries,
        }))
    };
    if let Some(path) = &args.report {
        std::fs::write(path, data()).with_context(|| path.display().to_string())?;
    }
    if args.json {
        print!("{}", data());
        eprintln!("{count}");
    } else {
        println!("{count}");
    }
    let mut lacks = false;
    for (prover, outcomes) in &provers {
        for name in
            args.require.iter().filter(|name| !outcomes.iter().any(|outcome| outcome.passed_with(name)))
        {
            eprintln!("{}: required, but no case passed with it: {name}", prover.binary.display());
            lacks = true;
        }
    }
    Ok(count.is_success() && !lacks)
}

fn page(
    args: &RunArgs,
    runner: &Runner,
    count: Count,
    provers: &[(Prover, Vec<Outcome>)],
) -> anyhow::Result<String> {
    let binary = |(prover, outcomes): &'_ (Prover, Vec<Outcome>)| {
        let row = Row { backend: String::new(), tuning: Tuning::default() };
        Side { prover: prover.clone(), row }.identity().map(|identity| (identity, outcomes.clone()))
    };
    let binaries: Vec<_> = provers.iter().map(binary).collect::<Result<_, _>>()?;
    let binaries = binaries
        .iter()
        .map(|(identity, outcomes)| Binary {
            name: format!("{}: {}", identity.binary.display(), identity.version),
            sha256: identity.sha256.to_string(),
            outcomes,
        })
        .collect();
    let cases = args.select(runner).filter_map(|folder| folder.load().ok()).collect();
    let date = time::OffsetDateTime::now_utc().date().to_string();
    Ok(Page { machine: &machine(), date: &date, count, binaries, cases }.html())
}

/// The processor and the number of its threads that this program may use.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or("an unknown processor", |(_, name)| name);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{name}, {threads} threads, {}", std::env::consts::OS)
}

fn run_binary(args: &RunArgs, runner: &Runner, prover: &Prover) -> anyhow::Result<Vec<Outcome>> {
    let rows = rows_of(args, prover)?;
    let mut show = |outcome: &Outcome| {
        if !args.json {
            println!("{outcome}");
        }
    };
    let mut outcomes = Vec::new();
    for folder in args.select(runner) {
        outcomes.extend(runner.run(prover, folder, &rows, &mut show)?);
    }
    Ok(outcomes)
}

impl RunArgs {
    fn select<'a>(&self, runner: &'a Runner) -> impl Iterator<Item = &'a CaseFolder> {
        let skipped = |folder: &&CaseFolder| self.skip.iter().any(|part| folder.id.contains(part));
        runner.select(&self.filter).into_iter().filter(move |folder| !skipped(folder))
    }
}

fn rows_of(args: &RunArgs, prover: &Prover) -> anyhow::Result<Vec<Row>> {
    match args.variants {
        Variants::Default if !args.tune.is_empty() => Ok(rows::product(&args.backend, &args.tune)),
        variants => rows_of_variants(prover, &args.backend, variants, &args.require),
    }
}

fn rows_of_variants(
    prover: &Prover,
    backends: &[String],
    variants: Variants,
    required: &[String],
) -> anyhow::Result<Vec<Row>> {
    let coverage = match variants {
        Variants::Default => return Ok(rows::product(backends, &[Tuning::default()])),
        Variants::Each => Coverage::Each,
        Variants::Pairwise => Coverage::Pairwise,
        Variants::All => Coverage::All,
    };
    rows::covering(prover, backends, coverage, required)
        .context("--variants asks the prover for its variants")
}

impl TimingArgs {
    fn plan(&self) -> Plan {
        let TimingArgs { pairs, margin, error_rate, least_ms, .. } = *self;
        Plan { pairs: pairs as usize, margin, error_rate, least_ms, phases: vec![] }
    }

    fn runner(&self, golden: &Path) -> anyhow::Result<Runner> {
        let mut runner = Runner::open(golden)?;
        self.input_dir.iter().try_for_each(|folder| runner.supply_inputs(folder))?;
        self.params.iter().try_for_each(|folder| runner.supply_parameters(folder))?;
        Ok(runner)
    }

    fn folders<'a>(&self, runner: &'a Runner) -> anyhow::Result<Vec<&'a CaseFolder>> {
        Ok(self.cases.iter().map(|id| runner.case(id)).collect::<Result<_, _>>()?)
    }
}

fn bench(args: &BenchArgs) -> anyhow::Result<bool> {
    let side = |spec: &SideSpec| -> anyhow::Result<Side> {
        let binary = spec.binary.clone().map_or_else(neighbour, Ok)?;
        let row = Row::of(spec.tuning.clone(), &args.backend);
        Ok(Side { prover: prover(binary, args.timeout)?, row })
    };
    let sides = [side(&args.a)?, side(&args.b)?];
    let own = args.input.as_ref().map(|input| {
        let BenchArgs { miner, sector, proof_type, .. } = args;
        let arguments = Arguments {
            miner: *miner,
            sector: *sector,
            proof_type: proof_type.clone(),
            ..Arguments::default()
        };
        own::golden_folder(&sides[0], input, arguments, args.timing.params.as_deref())
    });
    let own = own.transpose()?;
    let runner = args.timing.runner(own.as_ref().map_or(&args.golden.golden, TempDir::path))?;
    let plan = Plan { phases: args.phase.clone(), ..args.timing.plan() };
    let (mut measured, mut wrong) = (vec![], vec![]);
    let folders = match &own {
        Some(_) => vec![runner.case(own::CASE)?],
        None => args.timing.folders(&runner)?,
    };
    for folder in folders {
        let mut progress = |step: &str| eprintln!("{step}");
        match measure(&runner, folder, &sides, &plan, &mut progress)? {
            Ended::Measured(mut found) if args.count => {
                match count(&runner, folder, &sides, &mut progress) {
                    Ok(counts) => found.counts = Some(counts),
                    // The times are worth having without.
                    Err(error) => found.warnings.push(error.to_string()),
                }
                measured.push(found);
            }
            Ended::Measured(found) => measured.push(found),
            Ended::Wrong(side, outcome) => wrong.push((["a", "b"][side], outcome)),
        }
    }
    if args.timing.json {
        let data = serde_json::json!({
            "schema": "cuzk-conformance-bench", "version": 1, "old": sides[0].identity()?, "new": sides[1].identity()?,
            "plan": plan, "measured": measured,
            "wrong": wrong.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(),
        });
        print!("{}", pretty(&data));
    } else {
        measured.iter().for_each(|measured| println!("{}", measured.table()));
    }
    wrong.iter().for_each(|(side, outcome)| eprintln!("{side}: {outcome}"));
    Ok(wrong.is_empty())
}

fn gate(args: &GateArgs) -> anyhow::Result<bool> {
    let runner = args.timing.runner(&args.golden.golden)?;
    let side = |binary: &PathBuf| -> anyhow::Result<Side> {
        let row = Row { backend: args.backend.clone(), tuning: Tuning::default() };
        Ok(Side { prover: prover(binary.clone(), args.timeout)?, row })
    };
    let (old, new) = (side(&args.old)?, side(&args.new)?);
    let rows = rows_of_variants(&new.prover, std::slice::from_ref(&args.backend), args.variants, &[])?;
    let gate = Gate {
        runner: &runner,
        old,
        new,
        rows,
        filter: args.filter.clone(),
        timed: args.timing.folders(&runner)?,
        plan: args.timing.plan(),
    };
    let judgement = gate.judge(&mut |step| eprintln!("{step}"))?;
    let summary = judgement.markdown();
    if let Some(path) = &args.markdown {
        std::fs::write(path, &summary).with_context(|| path.display().to_string())?;
    }
    if args.timing.json {
        print!("{}", pretty(&serde_json::to_value(&judgement)?));
    } else {
        print!("{summary}");
    }
    Ok(judgement.is_good())
}

fn faults(args: &FaultsArgs) -> anyhow::Result<bool> {
    let runner = Runner::open(&args.golden.golden)?;
    let prover = prover(args.binary.clone(), args.timeout)?;
    let mut show = |noticed: &Noticed| match args.json {
        true => eprintln!("{noticed}"),
        false => println!("{noticed}"),
    };
    let all = faults::find(&runner, &prover, &args.filter, &mut show)?;
    let tally = Tally::of(&all);
    if args.json {
        let data =
            serde_json::json!({ "schema": "cuzk-faults", "version": 1, "count": tally, "faults": all });
        print!("{}", pretty(&data));
        eprintln!("{tally}");
    } else {
        println!("{tally}");
    }
    Ok(tally.is_good())
}

fn runs(args: &RunsArgs) -> anyhow::Result<bool> {
    let all = runs::series(&args.runs, &args.filter)?;
    if args.json {
        let data = serde_json::json!({ "schema": "cuzk-runs", "version": 1, "series": all });
        print!("{}", pretty(&data));
    } else {
        all.iter().for_each(|series| println!("{series}"));
    }
    Ok(true)
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
    Ok(Prover::new(binary, Duration::from_secs(timeout_seconds)))
}
