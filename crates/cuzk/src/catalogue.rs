//! Every kind of error, and the problems of other provers that cannot occur here: what `cuzk errors` prints.

use std::fmt::Write;

use serde::Serialize;

/// A kind of error, as it stands in `error[kind]`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Kind {
    pub(crate) kind: &'static str,
    pub(crate) exit_code: u8,
    /// When it comes.
    pub(crate) when: &'static str,
    /// What mends it.
    pub(crate) mend: &'static str,
}

const fn kind(kind: &'static str, exit_code: u8, when: &'static str, mend: &'static str) -> Kind {
    Kind { kind, exit_code, when, mend }
}

/// By exit code, then by name.
pub(crate) const KINDS: &[Kind] = &[
    kind(
        "proof_invalid",
        1,
        "A proof does not verify: one that was given, or one that was computed twice and was wrong both times.",
        "A given one: compare miner, sector, ticket and seed with `cuzk inspect`. A computed one: `cuzk selftest`, `cuzk params check --deep`, another backend; keep the report.",
    ),
    kind(
        "reference_disagrees",
        1,
        "Upstream's prover and its own public pieces give different proofs.",
        "A fault of this machine's memory or processor: `cuzk selftest --backend reference`.",
    ),
    kind(
        "selftest",
        1,
        "`cuzk selftest` got other bytes than the processor's portable arithmetic.",
        "Do not prove with this backend: look at the card's memory and temperature, the driver, and this machine's memory.",
    ),
    kind(
        "written_otherwise",
        1,
        "The witness that was written is not the one that a walk through the circuit gives; the first variable that differs is named. With `--check-witness`.",
        "This program is wrong: prove with `--tune synthesis=template`, and please report it with the input.",
    ),
    kind(
        "bad_commitment",
        2,
        "A commitment is zero or no element of the field.",
        "Look at what wrote the input.",
    ),
    kind("circuit", 2, "The circuit could not be walked.", "Please report it with the input."),
    kind(
        "circuit_changed",
        2,
        "Upstream's circuit is not the one that this program knows.",
        "This build mixes versions: build it with its own `Cargo.lock`.",
    ),
    kind(
        "false_vanilla_proof",
        2,
        "A vanilla proof is false; partition, challenge and what differs are named.",
        "The sector's cache or replica is damaged, or the input was changed: make it again from the sector.",
    ),
    kind("fixture_too_big", 2, "Really sealing this size takes hours.", "`--synthetic`, or `--big`."),
    kind("input_ambiguous", 2, "The input can be read as more than one kind.", "`--kind`."),
    kind(
        "input_malformed",
        2,
        "A value in the input is not what belongs there; its place is named.",
        "Look at what wrote the input.",
    ),
    kind(
        "input_missing_key",
        2,
        "A key is missing in the input; which one is named.",
        "Look at what wrote the input.",
    ),
    kind(
        "input_not_json",
        2,
        "The input begins as JSON and is none; line and column are named.",
        "Look at what wrote the input.",
    ),
    kind("input_other_kind", 2, "The input is of another kind than `--kind` says.", "Leave `--kind` away."),
    kind(
        "input_too_large",
        2,
        "The input is larger than `--max-input`, before or after decompression.",
        "`--max-input MIB`, if it is to be so large.",
    ),
    kind("input_truncated", 2, "The input ends early.", "Copy it again: it was not finished."),
    kind(
        "input_unknown_shape",
        2,
        "The input is of no known shape; what was looked for is named.",
        "`cuzk prove --help` lists the shapes.",
    ),
    kind(
        "input_unreadable",
        2,
        "The input is not there, is no file, or cannot be read.",
        "The system's own message is in the line.",
    ),
    kind(
        "missing_argument",
        2,
        "The input does not carry something that is needed.",
        "The line names the flag.",
    ),
    kind(
        "no_aggregate",
        2,
        "These proofs do not aggregate.",
        "PoReps of one registered proof do, with all their partitions.",
    ),
    kind(
        "no_such_partition",
        2,
        "A partition in `--partitions` is not there.",
        "They are numbered from 0; `cuzk inspect` says how many there are.",
    ),
    kind(
        "no_synthetic_sector",
        2,
        "No synthetic sector of this kind can be made.",
        "A really sealed one, without `--synthetic`.",
    ),
    kind(
        "partial_of_another_proof",
        2,
        "A `.part` file is of another statement, or of other parameters.",
        "Join files of one `cuzk prove` command line that differs in `--partitions` alone.",
    ),
    kind(
        "partial_unreadable",
        2,
        "A `.part` file cannot be read.",
        "Copy it again, or prove its partitions again.",
    ),
    kind(
        "partition_missing",
        2,
        "No `.part` file has this partition.",
        "The line has the command that makes it.",
    ),
    kind("partition_twice", 2, "Two `.part` files have the same partition.", "Leave one of them away."),
    kind(
        "proof_length",
        2,
        "A proof has neither 192 bytes for each partition nor an aggregate's length.",
        "It was cut, or is in another `--format`.",
    ),
    kind(
        "proof_unreadable",
        2,
        "The file with the proof is not there, or not in `--format`.",
        "`--format raw|hex|base64|json`.",
    ),
    kind(
        "sector_sizes_differ",
        2,
        "The input says one sector size and its proof another.",
        "Look at what wrote the input.",
    ),
    kind(
        "test_parameters_refused",
        2,
        "Test parameters are asked for where proofs earn money.",
        "Fetch the official parameters; to measure, `prove --test-params --backend cuda` computes some for the run.",
    ),
    kind(
        "unknown_parameter_file",
        2,
        "A parameter file is not in upstream's manifest and has no note beside it.",
        "`--deep` looks at its points without a digest.",
    ),
    kind(
        "unknown_proof_type",
        2,
        "There is no such registered proof; those that there are are listed.",
        "Its number on chain, or proofs-api's name.",
    ),
    kind(
        "unsatisfied",
        2,
        "The witness does not satisfy the circuit, whose first such row is named. With `--check-witness`, or where a bit is none.",
        "The input is false in a way that its vanilla check does not see, or this program is wrong: please report it with the input.",
    ),
    kind("unsupported_proof_type", 2, "This registered proof cannot be proved.", "The line says why."),
    kind(
        "upstream",
        2,
        "A call of upstream's libraries failed; its own message follows.",
        "Please report it with the input.",
    ),
    kind("usage", 2, "The command line does not make sense.", "`cuzk COMMAND --help`."),
    kind(
        "wrong_count",
        2,
        "There are more or fewer of something than the registered proof has.",
        "`--proof-type`, or look at what wrote the input.",
    ),
    kind(
        "wrong_identity",
        2,
        "Miner, sector and ticket do not give the replica id in the input: a wrong miner or sector, almost always.",
        "`--miner`, `--sector`.",
    ),
    kind(
        "device",
        3,
        "The driver refused a call; function and code are named.",
        "`cuzk doctor`; the driver's log (`dmesg`); `cuzk selftest --backend cuda`.",
    ),
    kind(
        "device_memory",
        3,
        "The device has too little free memory.",
        "Free some; `--tune accumulation=xyzz`; `--backend cpu`.",
    ),
    kind(
        "device_missing",
        3,
        "There is no device that can be used; each is named with the reason.",
        "`cuzk doctor`; `--backend cpu`.",
    ),
    kind(
        "doctor",
        3,
        "`cuzk doctor` found what would stop the proof.",
        "The lines before say what mends it.",
    ),
    kind(
        "instructions",
        3,
        "This build is for another processor.",
        "The ordinary build chooses its instructions when it runs.",
    ),
    kind(
        "instructions_missing",
        3,
        "Instructions are asked for that the processor does not have.",
        "`--tune isa=auto`.",
    ),
    kind(
        "memory",
        3,
        "The proof would need more memory than there is.",
        "Free some, raise the limit, or prove elsewhere; `--memory SIZE` tries nevertheless.",
    ),
    kind(
        "no_cache_directory",
        3,
        "There is no home directory for what can be computed again.",
        "Set `HOME` or `XDG_CACHE_HOME`.",
    ),
    kind(
        "output",
        3,
        "Something could not be written: no folder, no space, no permission, a closed pipe.",
        "`cuzk doctor --output DIR`; the input is as it was, prove it again.",
    ),
    kind(
        "parameters",
        3,
        "A parameter file is damaged, truncated, changed while it was read, or of another circuit.",
        "`cuzk params check`, then fetch or generate it again.",
    ),
    kind(
        "parameters_missing",
        3,
        "A parameter file is not where it was looked for; folder and who set it are named.",
        "Fetch it, or `--params DIR`.",
    ),
    kind(
        "threads",
        3,
        "Threads cannot be had.",
        "`ulimit -u`, the control group's `pids.max`, or fewer `--threads`.",
    ),
    kind(
        "verifying_key",
        3,
        "The verifying key is of another circuit, or not the manifest's.",
        "Fetch it again, or `--vk FILE`.",
    ),
    kind(
        "stopped",
        130,
        "SIGINT (130) or SIGTERM (143) came.",
        "What was said to be written is whole; prove the rest again.",
    ),
];

/// A problem that users of other provers have had, and why it does not occur here.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Problem {
    /// In our list of what users ran into, whose others have tests by their numbers (`tests/user_problems.rs`).
    pub(crate) numbers: &'static [u32],
    pub(crate) problem: &'static str,
    pub(crate) why_not: &'static str,
}

/// Those that a test cannot show.
pub(crate) const ELSEWHERE: &[Problem] = &[
    Problem {
        numbers: &[1, 2],
        problem: "A GPU now and then gives a point that is not on the curve, and the proof is found bad when it is committed on chain.",
        why_not: "Every partition's proof is verified before anything is written; a wrong one is named, computed once more, and counted in the report (`faults`). `cuzk-conformance faults` shows with a build that is wrong on purpose that it is noticed.",
    },
    Problem {
        numbers: &[5],
        problem: "Window PoSts fail now and then with a faulty card or driver.",
        why_not: "The same check and retry; `cuzk selftest` compares many proofs bit by bit.",
    },
    Problem {
        numbers: &[11],
        problem: "Proving ends on cards with 8 or 10 GB of memory.",
        why_not: "What a session takes is planned before anything is allocated; parameters come in chunks where they do not fit; else `error[device_memory]` says what is needed and what there is.",
    },
    Problem {
        numbers: &[15],
        problem: "Jobs wait for a lock file of the GPU, or two take the card at once and run out of memory.",
        why_not: "There is no lock file. A session takes what is free when it begins, `--device-memory` limits it, and one that does not fit ends with `error[device_memory]`.",
    },
    Problem {
        numbers: &[25],
        problem: "Several jobs in a daemon mix their data.",
        why_not: "There is no daemon: a process proves one input after the other, and holds nothing of the one before but parameters.",
    },
];

/// The page.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Errors\n\nWritten by `cuzk errors`. A failure ends with a line `error[kind]: …` on stderr; with `--log-format json`, with an \
         object that has `kind` and `exit_code`. Kinds are stable.\n",
    );
    let mut line = |text: &str| writeln!(page, "{text}").expect("writing to a string");
    let titles = [
        (1, "A proof did not verify"),
        (2, "Refused before proving"),
        (3, "The environment cannot do it"),
        (130, "Stopped"),
    ];
    for (code, title) in titles {
        line(&format!("\n## {title} (exit code {code})\n"));
        for Kind { kind, when, mend, .. } in KINDS.iter().filter(|kind| kind.exit_code == code) {
            line(&format!("- `{kind}` {when} *{mend}*"));
        }
    }
    line("\n## What users of other provers have met, and not here\n");
    for Problem { problem, why_not, .. } in ELSEWHERE {
        line(&format!("- {problem} *{why_not}*"));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The text of all sources under `folder`.
    fn sources(folder: &Path) -> String {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: std::path::PathBuf| match path.is_dir() {
            true => sources(&path),
            false if path.ends_with("catalogue.rs") => String::new(),
            false => std::fs::read_to_string(path).unwrap(),
        };
        entries.map(text).collect()
    }

    /// The first string after each of `calls`, where it follows at once.
    fn named<'a>(text: &'a str, calls: &[&str]) -> BTreeSet<&'a str> {
        let after = |call: &&str| text.split(*call).skip(1).map(str::trim_start).collect::<Vec<_>>();
        let name = |rest: &'a str| rest.strip_prefix('"')?.split_once('"').map(|(name, _)| name);
        let is_kind = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        calls.iter().flat_map(after).filter_map(name).filter(is_kind).collect()
    }

    #[test]
    fn every_kind_is_listed_once_and_is_there() {
        let listed: BTreeSet<&str> = KINDS.iter().map(|kind| kind.kind).collect();
        assert_eq!(listed.len(), KINDS.len());
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let ours = sources(&own.join("src"));
        let theirs = std::fs::read_to_string(own.join("../filecoin/src/error.rs")).unwrap();
        let calls = [
            "refused(",
            "environment(",
            "not_verified(",
            "Self::new(",
            "Error::InstructionsMissing { .. } =>",
            "Error::DeviceMissing { .. } =>",
            "Error::DeviceMemory { .. } =>",
            "Error::Device { .. } =>",
        ];
        let mut used = named(&ours, &calls);
        used.extend(named(theirs.split_once("pub fn kind").unwrap().1, &["=>"]));
        used.insert("instructions"); // of `main`, before anything else can run
        assert_eq!(used, listed);
    }

    #[test]
    fn every_problem_has_a_test_or_a_line() {
        let tests =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/user_problems.rs"))
                .unwrap();
        let tested = tests.split("fn user_problem_").skip(1).map(|rest| rest[..2].parse::<u32>().unwrap());
        let listed = ELSEWHERE.iter().flat_map(|problem| problem.numbers.iter().copied());
        let mut numbers: Vec<u32> = tested.chain(listed).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=27).collect::<Vec<_>>());
    }

    #[test]
    fn the_page_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ERRORS.md");
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == page(), "`cuzk errors > crates/cuzk/ERRORS.md` writes it");
    }
}
