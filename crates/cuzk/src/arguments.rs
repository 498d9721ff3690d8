//! The command line.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::devices::DeviceChoice;
use crate::partitions::PartitionList;
use clap::{Args, Parser, Subcommand, ValueEnum};
use cuzk_filecoin::synthetic::C1Shape;
use cuzk_filecoin::{
    CommitmentKind, Kind, MAX_INPUT_BYTES, Overrides, PorepApi, SectorSize, parse_commitment,
};

/// Proves what a Filecoin sealing pipeline leaves on disk: one command from a C1 output to a Groth16 proof that
/// verifies.
#[derive(Debug, Parser)]
#[command(name = "cuzk", version, disable_version_flag = true, arg_required_else_help = true, max_term_width = 110, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) version: VersionArguments,
    /// What goes to stderr: lines for people, or a JSON object a line, with `time`, `event` and `message`.
    #[arg(long, value_enum, global = true, default_value_t = LogFormat::Text, help_heading = "Talk")]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Instead of a command.
#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    /// Print the version.
    #[arg(short = 'V', long = "version")]
    pub(crate) wanted: bool,
    /// With --version: what the build is made of, as reports have it.
    #[arg(long, requires = "wanted")]
    pub(crate) verbose: bool,
    /// With --version: print it as JSON.
    #[arg(long, requires = "wanted")]
    pub(crate) json: bool,
}

/// What goes to stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// An object a line.
    Json,
}

const EXIT_CODES: &str = "Exit codes: 0 done (a proof is written only after it verified); 1 a proof did not verify; 2 refused \
before proving (usage, undecodable input, wrong identity, false vanilla proof); 3 the environment cannot do it \
(parameters, memory, disk); 130 and 143 stopped by SIGINT or SIGTERM, with nothing half written. A failure ends with a line \
`error[kind]: …` on stderr.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compute a proof, verify it, and write it.
    Prove(ProveArguments),
    /// Verify a proof, or an aggregate.
    Verify(VerifyArguments),
    /// Put the proofs of partitions together that were computed apart: on several machines, or one after the other.
    Join(JoinArguments),
    /// Make one proof of the finished proofs of several PoReps.
    Aggregate(AggregateArguments),
    /// Show what an input says.
    Inspect(InspectArguments),
    /// Look at this machine: what would keep a proof from being made, and what mends it?
    Doctor(DoctorArguments),
    /// Synthesize partitions and nothing else: counts, times, digests.
    Synth(SynthArguments),
    /// Make an input: by really sealing a sector, or without.
    Fixture(FixtureArguments),
    /// Find, check or generate parameter files.
    Params(ParamsArguments),
    /// List the optimizations that can be chosen.
    Variants(VariantsArguments),
    /// Prove one small statement again and again and compare the bytes: is this backend to be trusted? Generates test
    /// parameters where they are missing.
    Selftest(SelftestArguments),
    /// List all kinds of error: when each comes, and what mends it.
    Errors(ErrorsArguments),
    /// Print a shell's completions.
    Completions(CompletionsArguments),
    /// Print the manual page, or write those of all commands.
    Man(ManArguments),
    /// List, as JSON, the faults that this build can have on purpose.
    #[cfg(fault_injection)]
    Faults,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk errors memory")]
pub(crate) struct ErrorsArguments {
    /// Only this one: what stands in `error[kind]`.
    pub(crate) kind: Option<String>,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk completions bash > cuzk.bash")]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk man --out man1")]
pub(crate) struct ManArguments {
    /// Write the pages of all commands to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// What an input does not carry.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What the input does not carry")]
pub(crate) struct IdentityArguments {
    /// The miner's actor id: 1000 for f01000.
    #[arg(long, value_name = "ID")]
    pub(crate) miner: Option<u64>,
    /// The sector number, where the input does not carry it, or instead of the one that it carries.
    #[arg(long, value_name = "N")]
    pub(crate) sector: Option<u64>,
    /// The randomness of a PoSt: 64 hexadecimal digits.
    #[arg(long, value_name = "HEX", value_parser = bytes)]
    pub(crate) randomness: Option<Bytes>,
    /// The registered proof, by its number on chain or proofs-api's name [default: the input's, or the latest for its
    /// sector size].
    #[arg(long, value_name = "T")]
    pub(crate) proof_type: Option<String>,
    /// comm_r before a replica update: hexadecimal, CID, or a commdr.txt.
    #[arg(long, value_name = "HEX|CID|FILE", value_parser = comm_r)]
    pub(crate) comm_r_old: Option<Bytes>,
    /// comm_r after a replica update: hexadecimal, CID, or a commdr.txt.
    #[arg(long, value_name = "HEX|CID|FILE", value_parser = comm_r)]
    pub(crate) comm_r_new: Option<Bytes>,
    /// comm_d after a replica update: hexadecimal, CID, or a commdr.txt.
    #[arg(long, value_name = "HEX|CID|FILE", value_parser = comm_d)]
    pub(crate) comm_d_new: Option<Bytes>,
    /// The porep id, instead of the registered proof's: 64 hexadecimal digits.
    #[arg(long, value_name = "HEX", value_parser = bytes)]
    pub(crate) porep_id: Option<Bytes>,
    /// The prover id, instead of a miner's: 64 hexadecimal digits.
    #[arg(long, value_name = "HEX", value_parser = bytes, conflicts_with = "miner")]
    pub(crate) prover_id: Option<Bytes>,
    /// The kind of proof, where an input can be read as more than one: porep, winning-post, window-post or snap.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
    /// The largest input that is read, before and after decompression, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = MAX_INPUT_BYTES >> 20)]
    pub(crate) max_input: u64,
}

impl IdentityArguments {
    pub(crate) fn overrides(&self) -> Overrides {
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
        Overrides {
            kind: self.kind,
            proof_type: self.proof_type.clone(),
            miner: self.miner,
            prover_id: bytes(self.prover_id),
            porep_id: bytes(self.porep_id),
            sector: self.sector,
            randomness: bytes(self.randomness),
            comm_r_old: bytes(self.comm_r_old),
            comm_r_new: bytes(self.comm_r_new),
            comm_d_new: bytes(self.comm_d_new),
        }
    }

    /// The largest input in bytes.
    pub(crate) fn max_input_bytes(&self) -> u64 {
        self.max_input.saturating_mul(1 << 20)
    }
}

/// Where the parameters are.
#[derive(Clone, Debug, Args)]
pub(crate) struct ParameterArguments {
    /// The directory of the official parameter files [default: $FIL_PROOFS_PARAMETER_CACHE, else
    /// /var/tmp/filecoin-proof-parameters].
    #[arg(long, value_name = "DIR", conflicts_with = "test_params")]
    pub(crate) params: Option<PathBuf>,
    /// Use insecure test parameters of a published seed (64 hexadecimal digits; without one, the seed of the golden
    /// cases), generated when they are not there. For 32 and 64 GiB `prove --backend cuda` computes them on the device and never
    /// writes them; elsewhere they are refused.
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = GOLDEN_SEED_HEX, value_parser = bytes)]
    pub(crate) test_params: Option<Bytes>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cuzk prove statement.json --test-params\n  cuzk prove statement.json --test-params --partitions 0\n  cuzk prove statement.json --test-params --partitions 1\n  echo statement.json | cuzk prove --stdin-list --test-params --format json"
)]
pub(crate) struct ProveArguments {
    /// C1 outputs, vanilla proofs, snark-market requests or statement.json files, also in gzip or zstd; `-` is stdin.
    /// Several are proved one after another, with parameters loaded once for each circuit.
    #[arg(required_unless_present = "stdin_list")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Read more inputs from stdin, a path a line, and prove each as it comes.
    #[arg(long)]
    pub(crate) stdin_list: bool,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) parameters: ParameterArguments,
    /// Only these partitions, numbered from 0: `0`, `0-4`, `0,3`. What is written is for `cuzk join`, or, with --format,
    /// their proofs one after the other.
    #[arg(long, value_name = "LIST")]
    pub(crate) partitions: Option<PartitionList>,
    /// Of a non-interactive PoRep, write the proofs of all partitions one after the other instead of their aggregate,
    /// as `cuzk aggregate` wants them.
    #[arg(long)]
    pub(crate) no_aggregate: bool,
    /// Where the proof goes; `-` is stdout [default: the input's name with the extension `proof`, or `part` after the partitions
    /// that are listed]. For one input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The form in which the proof is written [default: raw, or, with --partitions, a file for `cuzk join`]. `json` without -o prints a line an input on
    /// stdout and writes no file.
    #[arg(long, value_enum)]
    pub(crate) format: Option<ProofFormat>,
    /// What computes the proof.
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub(crate) backend: BackendChoice,
    /// The CUDA devices to prove on, numbered from 0: `0`, `0,1` or `all`. Partitions are spread over them; one that is named twice works on
    /// two at a time [default: the first of which no more than half is taken, else the emptiest].
    #[arg(long, value_name = "N,…|all")]
    pub(crate) device: Option<DeviceChoice>,
    /// The most memory of each device that a circuit's parameters and work take, in bytes or with KiB, MiB or GiB [default: what
    /// is free]. Where the parameters do not fit, they come from host memory in chunks for every proof.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) device_memory: Option<usize>,
    /// The host memory that may be taken, in bytes or with KiB, MiB or GiB [default: what is free within the limits of control
    /// groups and `ulimit -v`]. A proof that needs more is refused before anything is computed.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<usize>,
    /// Optimizations other than the defaults, as `axis=value,…`; `cuzk variants` lists them.
    #[arg(long, value_name = "K=V,…", default_value = "", hide_default_value = true)]
    pub(crate) tune: String,
    /// Threads to use [default: one for each processor]. Upstream's parts of `--backend reference` use all processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Derive r and s from this seed (64 hexadecimal digits), so that the proof can be reproduced. Such a proof is not
    /// zero-knowledge.
    #[arg(long, value_name = "HEX", value_parser = bytes)]
    pub(crate) insecure_seed: Option<Bytes>,
    /// Write a report (JSON): what was done, how long each phase took, what came of it. For several inputs, a report a
    /// line.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write when each phase ran, on the host and on a device, as a file for Perfetto or Chrome's `about:tracing`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Put the SHA-256 of the witness, a, b, c, h and of each multi-scalar sum into the report.
    #[arg(long)]
    pub(crate) digests: bool,
    /// Compare every constraint of the witness with C·w before proving, and name the first that is not satisfied. A witness that is
    /// written is also compared with a walk through the circuit, half a minute for a partition of 32GiB.
    #[arg(long)]
    pub(crate) check_witness: bool,
    /// Do not verify the vanilla proofs first. For benchmarks.
    #[arg(long)]
    pub(crate) skip_vanilla_check: bool,
    /// Print the report on stdout; for several inputs, a report a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no talk on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cuzk verify c1.proof --statement c1.json --miner 1000 --test-params\n  cuzk verify statement.proof --statement statement.json --test-params --json"
)]
pub(crate) struct VerifyArguments {
    /// The proof: 192 bytes for each partition, or an aggregate. Its length tells which.
    pub(crate) proof: PathBuf,
    /// What it proves: any input of `prove`. Of an aggregate of several PoReps, all of them in its order. Without it, what
    /// the chain knows: --proof-type and, of a PoRep, --miner, --sector, --comm-r, --comm-d, --ticket and --seed; of a
    /// PoSt, --miner, --randomness and --replica; of an update, its three commitments.
    #[arg(long = "statement", value_name = "INPUT", num_args = 1.., required_unless_present = "proof_type")]
    pub(crate) statements: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) chain: ChainArguments,
    /// The partitions that it proves, numbered from 0: `0`, `0-4`, `0,3` [default: all].
    #[arg(long, value_name = "LIST")]
    pub(crate) partitions: Option<PartitionList>,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) parameters: ParameterArguments,
    /// The verifying key: a `.vk` file, or a parameter file, of which only the head is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) vk: Option<PathBuf>,
    /// The form that the proof is in.
    #[arg(long, value_enum, default_value_t = ProofFormat::Raw)]
    pub(crate) format: ProofFormat,
    /// Print the result as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the chain knows of a statement, besides what [`IdentityArguments`] have.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is proved, without --statement")]
pub(crate) struct ChainArguments {
    /// The commitment to a PoRep's replica: hexadecimal, CID, or a commdr.txt.
    #[arg(long, value_name = "HEX|CID|FILE", value_parser = comm_r, conflicts_with = "statements")]
    pub(crate) comm_r: Option<Bytes>,
    /// The commitment to a PoRep's data: hexadecimal, CID, or a commdr.txt.
    #[arg(long, value_name = "HEX|CID|FILE", value_parser = comm_d, conflicts_with = "statements")]
    pub(crate) comm_d: Option<Bytes>,
    /// The randomness that a sector was sealed with: 64 hexadecimal digits.
    #[arg(long, value_name = "HEX", value_parser = bytes, conflicts_with = "statements")]
    pub(crate) ticket: Option<Bytes>,
    /// The randomness of a PoRep's challenges: 64 hexadecimal digits. Not needed for a non-interactive one.
    #[arg(long, value_name = "HEX", value_parser = bytes, conflicts_with = "statements")]
    pub(crate) seed: Option<Bytes>,
    /// A sector of a PoSt, as its number and comm_r (`7:HEX` or `7:CID`); once for each, in the proof's order.
    #[arg(long = "replica", value_name = "N:COMM_R", value_parser = replica, conflicts_with = "statements")]
    pub(crate) replicas: Vec<(u64, Bytes)>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cuzk join statement.0.part statement.1.part --statement statement.json --test-params"
)]
pub(crate) struct JoinArguments {
    /// Files that `prove --partitions` left, which together have each partition once.
    #[arg(value_name = "PART", required = true)]
    pub(crate) parts: Vec<PathBuf>,
    /// What is proved: the input that the parts were made of, or another shape of it.
    #[arg(long, value_name = "INPUT")]
    pub(crate) statement: PathBuf,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) parameters: ParameterArguments,
    /// The verifying key: a `.vk` file, or a parameter file, of which only the head is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) vk: Option<PathBuf>,
    /// Of a non-interactive PoRep, write the proofs of all partitions one after the other instead of their aggregate.
    #[arg(long)]
    pub(crate) no_aggregate: bool,
    /// Where the proof goes; `-` is stdout [default: the input's name with the extension `proof`].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The form in which the proof is written.
    #[arg(long, value_enum, default_value_t = ProofFormat::Raw)]
    pub(crate) format: ProofFormat,
    /// Print what was done as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// No talk on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk aggregate ni.json --miner 1000 --test-params -o ni.aggregate")]
pub(crate) struct AggregateArguments {
    /// What is proved: inputs of `prove`, PoReps of one registered proof.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Their plain proofs in the same order, 192 bytes for each partition [default: each input's name with the
    /// extension `proof`].
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) proofs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    #[command(flatten)]
    pub(crate) parameters: ParameterArguments,
    /// The verifying key: a `.vk` file, or a parameter file, of which only the head is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) vk: Option<PathBuf>,
    /// Where the aggregate goes; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The form of the proofs and of the aggregate.
    #[arg(long, value_enum, default_value_t = ProofFormat::Raw)]
    pub(crate) format: ProofFormat,
    /// Print what was done as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no talk on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cuzk inspect c1.json --miner 1000\n  gzip -c c1.json | cuzk inspect - --miner 1000 --json"
)]
pub(crate) struct InspectArguments {
    /// Any input of `prove`; `-` is stdin.
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    /// The directory of the official parameter files.
    #[arg(long, value_name = "DIR")]
    pub(crate) params: Option<PathBuf>,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A kind of proof and a sector size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) size: SectorSize,
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}", self.kind, self.size)
    }
}

fn target(text: &str) -> Result<Target, String> {
    let parts =
        text.rsplit_once('-').ok_or("a kind of proof, a hyphen and a sector size are needed: porep-32GiB");
    let (kind, size) = parts?;
    Ok(Target { kind: kind.parse()?, size: size.parse()? })
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cuzk doctor\n  cuzk doctor --for window-post-2KiB --test-params --backend cpu"
)]
pub(crate) struct DoctorArguments {
    /// The proof that is to be made, such as porep-32GiB, winning-post-32GiB, window-post-64GiB or snap-2KiB: its parameters and
    /// its memory are looked at, and what would stop it ends with code 3.
    #[arg(long = "for", value_name = "KIND-SIZE", value_parser = target)]
    pub(crate) target: Option<Target>,
    #[command(flatten)]
    pub(crate) parameters: ParameterArguments,
    /// What is to compute the proof.
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub(crate) backend: BackendChoice,
    /// The folder that the proof is to be written to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk synth statement.json --partitions 0 --check-witness --repeat 3")]
pub(crate) struct SynthArguments {
    /// Any inputs of `prove`; `-` is stdin.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) identity: IdentityArguments,
    /// Only these partitions: `0`, `0-4`, `0,3`.
    #[arg(long, value_name = "LIST")]
    pub(crate) partitions: Option<PartitionList>,
    /// Synthesize so many times; times are medians.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) repeat: NonZeroUsize,
    /// Optimizations other than the defaults, as `axis=value,…`; `cuzk variants` lists them.
    #[arg(long, value_name = "K=V,…", default_value = "", hide_default_value = true)]
    pub(crate) tune: String,
    /// Threads to use [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Compare every constraint of the witness with C·w, and name the first that is not satisfied. A witness that is written is also
    /// compared with a walk through the circuit, half a minute for a partition of 32GiB.
    #[arg(long)]
    pub(crate) check_witness: bool,
    /// Do not verify the vanilla proofs first. For benchmarks.
    #[arg(long)]
    pub(crate) skip_vanilla_check: bool,
    /// Count cycles, instructions, cache and branch misses (a repetition's, --check-witness included), where the kernel
    /// and the processor can.
    #[arg(long)]
    pub(crate) counters: bool,
    /// Print the SHA-256 of witness, a, b and c of each partition. Takes 32 bytes of memory a constraint more.
    #[arg(long)]
    pub(crate) digests: bool,
    /// Write a report (JSON). For several inputs, a report a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the report on stdout instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cuzk fixture porep --out sector\n  cuzk fixture snap --synthetic --sector-size 8MiB --out update"
)]
pub(crate) struct FixtureArguments {
    #[command(subcommand)]
    pub(crate) kind: FixtureKind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FixtureKind {
    /// The C1 output of a sector: c1.json and statement.json.
    Porep(PorepFixtureArguments),
    /// The vanilla proof of a winning PoSt: vanilla.json and statement.json.
    WinningPost(PostFixtureArguments),
    /// The vanilla proofs of a window PoSt's sectors: vanilla.json and statement.json.
    WindowPost(PostFixtureArguments),
    /// The vanilla proofs of a replica update: vanilla.json and statement.json.
    Snap(SnapFixtureArguments),
}

/// How a fixture is made, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct FixtureOutput {
    /// The sector size. Really sealing 2KiB takes a tenth of a second, 8MiB about a minute, 512MiB (with --big) hours.
    #[arg(long, value_name = "SIZE", default_value = "2KiB")]
    pub(crate) sector_size: SectorSize,
    /// Make a true statement without sealing a sector: real challenges, real graph parents and real hashes on every
    /// opened path, made-up siblings elsewhere. Seconds at every size; said in statement.json.
    #[arg(long)]
    pub(crate) synthetic: bool,
    /// Really seal sizes that take hours.
    #[arg(long)]
    pub(crate) big: bool,
    /// Everything random follows from this number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The folder to write to; made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PorepFixtureArguments {
    #[command(flatten)]
    pub(crate) output: FixtureOutput,
    /// The variant of PoRep.
    #[arg(long, value_enum, default_value_t = ApiChoice::V1_1)]
    pub(crate) api: ApiChoice,
    /// The file to write: c1.json, or c1.bin for bincode.
    #[arg(long, value_enum, default_value_t = ShapeChoice::Outer)]
    pub(crate) shape: ShapeChoice,
    /// The miner's actor id.
    #[arg(long, value_name = "ID", default_value_t = 1000)]
    pub(crate) miner: u64,
    /// The sector number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) sector: u64,
}

#[derive(Debug, Args)]
pub(crate) struct PostFixtureArguments {
    #[command(flatten)]
    pub(crate) output: FixtureOutput,
    /// The miner's actor id.
    #[arg(long, value_name = "ID", default_value_t = 1000)]
    pub(crate) miner: u64,
    /// The number of the first sector.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) sector: u64,
    /// Sectors of a window PoSt; a partition holds 2349 at 32GiB, 2300 at 64GiB, else 2, and more sectors make more
    /// partitions [default: a partition].
    #[arg(long, value_name = "N")]
    pub(crate) sectors: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct SnapFixtureArguments {
    #[command(flatten)]
    pub(crate) output: FixtureOutput,
    /// Write curio's request to a snark market instead of an array of proofs.
    #[arg(long)]
    pub(crate) market: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk params list --sector-size 32GiB\n  cuzk params path --json")]
pub(crate) struct ParamsArguments {
    #[command(subcommand)]
    pub(crate) action: ParamsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ParamsAction {
    /// Show the directories in which parameter files are looked for, and who set them.
    Path(ParamsPathArguments),
    /// List the files of upstream's manifest and what is known of them here.
    List(ParamsListArguments),
    /// Hash files and compare with upstream's manifest (or, for test parameters, with the note beside them). The
    /// answer is remembered until a file changes.
    Check(ParamsCheckArguments),
    /// Generate insecure test parameters.
    Generate(ParamsGenerateArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ParamsPathArguments {
    /// The directory of the official parameter files.
    #[arg(long, value_name = "DIR")]
    pub(crate) params: Option<PathBuf>,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ParamsListArguments {
    /// The directory of the official parameter files.
    #[arg(long, value_name = "DIR")]
    pub(crate) params: Option<PathBuf>,
    /// Only files of this sector size.
    #[arg(long, value_name = "SIZE")]
    pub(crate) sector_size: Option<SectorSize>,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ParamsCheckArguments {
    /// Files to check [default: every file of the manifest that is in the directory, and all test parameters].
    pub(crate) files: Vec<PathBuf>,
    /// Also look at every point: on the curve, not at infinity, in the subgroup of order r. For files whose digest nobody knows, and
    /// for disks that are not to be trusted; five minutes of a core for 2KiB, some hours for 32GiB.
    #[arg(long)]
    pub(crate) deep: bool,
    /// The directory of the official parameter files.
    #[arg(long, value_name = "DIR")]
    pub(crate) params: Option<PathBuf>,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ParamsGenerateArguments {
    /// The kind of proof: porep, winning-post, window-post or snap.
    #[arg(long, value_name = "KIND", default_value_t = Kind::Porep)]
    pub(crate) kind: Kind,
    /// The sector size.
    #[arg(long, value_name = "SIZE", default_value = "2KiB")]
    pub(crate) sector_size: SectorSize,
    /// The key for aggregates instead, which serves all test sizes.
    #[arg(long, conflicts_with = "kind")]
    pub(crate) inner_product_key: bool,
    /// The seed of the trapdoor, 64 hexadecimal digits [default: the seed of the golden cases].
    #[arg(long, value_name = "SEED", default_value = GOLDEN_SEED_HEX, hide_default_value = true, value_parser = bytes)]
    pub(crate) test_params: Bytes,
    /// Generate them even if they are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Multiply the points on this CUDA device instead of the processor: the same bytes.
    #[arg(long, value_name = "N", conflicts_with = "inner_product_key")]
    pub(crate) device: Option<usize>,
    /// Print the note beside the parameters as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk variants")]
pub(crate) struct VariantsArguments {
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cuzk selftest --backend cpu --repeat 1")]
pub(crate) struct SelftestArguments {
    /// What computes the proofs.
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub(crate) backend: BackendChoice,
    /// The CUDA device to prove on, numbered from 0 [default: the first of which no more than half is taken, else the emptiest].
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<usize>,
    /// How many proofs.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub(crate) repeat: usize,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no talk on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What computes a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// The fastest that there is; which, and why, is said.
    Auto,
    /// The processor.
    Cpu,
    /// A CUDA device.
    Cuda,
    /// Unmodified bellperson, for comparison.
    Reference,
}

/// The form of a proof in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProofFormat {
    /// The bytes.
    Raw,
    /// Hexadecimal digits and a newline.
    Hex,
    /// Base64 with padding and a newline.
    Base64,
    /// `{"proof": base64}`.
    Json,
}

/// The variant of PoRep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiChoice {
    /// Interactive: registered proofs without a suffix.
    #[value(name = "v1")]
    V1,
    /// Interactive: registered proofs with the suffix V1_1.
    #[value(name = "v1_1")]
    V1_1,
    /// Registered proofs with the suffix V1_1_Feat_SyntheticPoRep. (Not to be confused with --synthetic.)
    Synthetic,
    /// Non-interactive: registered proofs with the suffix V1_2_Feat_NonInteractivePoRep.
    Ni,
}

/// The file in which a C1 output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeChoice {
    /// lotus-bench's: sector number, base64 of the inner JSON, sector size.
    Outer,
    /// The inner JSON by itself.
    Inner,
    /// curio's request to a snark market.
    Market,
    /// Bincode of filecoin-proofs' own type.
    Bincode,
}

impl From<ShapeChoice> for C1Shape {
    fn from(choice: ShapeChoice) -> Self {
        match choice {
            ShapeChoice::Outer => C1Shape::Outer,
            ShapeChoice::Inner => C1Shape::Inner,
            ShapeChoice::Market => C1Shape::Market,
            ShapeChoice::Bincode => C1Shape::Bincode,
        }
    }
}

impl From<ApiChoice> for PorepApi {
    fn from(choice: ApiChoice) -> Self {
        match choice {
            ApiChoice::V1 => PorepApi::V1,
            ApiChoice::V1_1 => PorepApi::V1_1,
            ApiChoice::Synthetic => PorepApi::Synthetic,
            ApiChoice::Ni => PorepApi::NonInteractive,
        }
    }
}

/// 32 bytes, on the command line as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) [u8; 32]);

fn bytes(text: &str) -> Result<Bytes, String> {
    let bytes = hex::decode(text).map_err(|error| format!("{error}; 64 hexadecimal digits are needed"))?;
    let found = bytes.len() * 2;
    bytes.try_into().map(Bytes).map_err(|_| format!("{found} digits; 64 hexadecimal digits are needed"))
}

fn comm_r(text: &str) -> Result<Bytes, String> {
    commitment(CommitmentKind::Sealed, text)
}

fn comm_d(text: &str) -> Result<Bytes, String> {
    commitment(CommitmentKind::Unsealed, text)
}

fn replica(text: &str) -> Result<(u64, Bytes), String> {
    let (number, comm_r) = text.split_once(':').ok_or("a sector number, a colon and a comm_r are needed")?;
    let number = number.parse().map_err(|_| format!("`{number}` is no sector number"))?;
    Ok((number, commitment(CommitmentKind::Sealed, comm_r)?))
}

/// A commitment, or the name of a file that holds it.
fn commitment(kind: CommitmentKind, text: &str) -> Result<Bytes, String> {
    let parsed = parse_commitment(kind, text);
    match (parsed, read_beginning(text)) {
        (Err(_), Ok(content)) => parse_commitment(kind, &content).map(Bytes),
        (parsed, _) => parsed.map(Bytes),
    }
}

/// As much of a file as a commdr.txt has at most: what is named may be anything.
fn read_beginning(path: &str) -> std::io::Result<String> {
    const MAX_BYTES: u64 = 1 << 12;
    let mut content = String::new();
    File::open(path)?.take(MAX_BYTES).read_to_string(&mut content)?;
    Ok(content)
}

/// `GOLDEN_SEED` in hexadecimal, as clap wants its defaults.
const GOLDEN_SEED_HEX: &str = "63757a6b20676f6c64656e207465737420706172616d6574657273206e6f2e31";

/// A number above 0.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// A size in bytes.
fn size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        other => return Err(format!("`{other}` is no unit; there are KiB, MiB and GiB")),
    };
    let number: usize =
        digits.parse().map_err(|_| format!("`{text}` is not a number with a unit, such as 8GiB"))?;
    number.checked_mul(unit).ok_or_else(|| format!("`{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use cuzk_filecoin::store::GOLDEN_SEED;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_default_seed_is_the_golden_one() {
        assert_eq!(bytes(GOLDEN_SEED_HEX), Ok(Bytes(GOLDEN_SEED)));
        assert_eq!(bytes("00").unwrap_err(), "2 digits; 64 hexadecimal digits are needed");
        assert!(bytes("zz").is_err());
    }
}
