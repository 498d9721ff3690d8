//! The suite against a prover that does what a test says: every kind of difference is named, every planted fault of a
//! golden folder is found, and making the suite twice changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use cuzk_conformance::case::{CASE_FILE, CIRCUITS_FILE, CircuitsFile, case_folders, entries};
use cuzk_conformance::digest::sha256;
use cuzk_conformance::lint::lint;
use cuzk_conformance::make::make;
use cuzk_conformance::prover::Prover;
use cuzk_conformance::rows::{Row, Tuning};
use cuzk_conformance::run::{Count, Outcome, Runner};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The suite that the tests make: it has the most cases.
const SUITE: &str = "porep-2kib-v1_1";
const CASES: usize = 31;
const STEPS: [&str; 10] = ["witness", "a", "b", "c", "h", "msm_h", "msm_l", "msm_a", "msm_b_g1", "msm_b_g2"];

/// A fake prover and a golden folder that it agrees with.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: TempDir::new().unwrap() };
        let proof: Vec<u8> = (0..192).collect();
        let digests: BTreeMap<_, _> = STEPS.map(|step| (step, sha256(step.as_bytes()))).into();
        world.write("script", include_bytes!("fake_prover.sh"));
        world.write("proof.bin", &proof);
        // Real ones: some cases change values deep inside the C1 output.
        world.write("statement.json", include_bytes!("../../golden/porep-2kib-v1_1/valid/statement.json"));
        world.write("c1.json", include_bytes!("../../golden/porep-2kib-v1_1/valid/c1.json"));
        world.write_json(
            "report.json",
            &json!({
                "schema": "cuzk-report", "version": 1, "tool": {"name": "fake", "version": "7", "commit": "unknown key"},
                "backend": {"name": "BACKEND", "why": "asked"}, "tuning": {"ntt": "NTT"},
                "parameters": {"name": "p.params", "test_seed": "00".repeat(32), "blake2b_512": "11".repeat(64)},
                "partitions": [{"index": 0, "phases_ms": {}, "digests": digests}],
                "phases_ms": {"total": 1.5}, "peak_rss_bytes": 1024,
                "proof": {"bytes": 192, "sha256": sha256(&proof)}, "verified": true
            }),
        );
        world.write_json(
            "variants.json",
            &json!({"axes": [{"name": "ntt", "decided": "run", "values": [
                {"name": "six", "default": true}, {"name": "seven", "default": false}
            ]}]}),
        );
        world.fault("");
        // The executable is written by another process: were it open for writing here while a test beside this one
        // forks, running it would fail with "text file busy".
        let install = "cp script prover && chmod +x prover";
        let status = Command::new("sh").args(["-c", install]).current_dir(world.folder.path()).status();
        assert!(status.unwrap().success());
        make(&world.prover(), &world.golden(), SUITE).unwrap();
        world
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn golden(&self) -> PathBuf {
        self.path("golden")
    }

    fn case(&self, name: &str) -> PathBuf {
        self.golden().join(SUITE).join(name)
    }

    fn prover(&self) -> Prover {
        Prover::new(self.path("prover"), Duration::from_secs(5))
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        fs::write(self.path(file), bytes).unwrap();
    }

    fn write_json(&self, file: &str, value: &Value) {
        self.write(file, (serde_json::to_string_pretty(value).unwrap() + "\n").as_bytes());
    }

    /// Lets the prover run a line of shell after it has read its arguments.
    fn fault(&self, line: &str) {
        self.write("fault.sh", line.as_bytes());
    }

    fn edit_report(&self, edit: impl FnOnce(&mut Value)) {
        edit_json(&self.path("report.json"), edit);
    }

    fn run(&self, filter: &str) -> (Count, Vec<Outcome>) {
        let row = Row { backend: "cpu".to_owned(), tuning: "ntt=seven".parse::<Tuning>().unwrap() };
        run(&Runner::open(&self.golden()).unwrap(), &self.prover(), &[row], filter)
    }

    /// The one outcome of the case, as text.
    fn outcome(&self, case: &str) -> String {
        self.run(&format!("/{case}")).1[0].to_string()
    }

    fn program(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cuzk-conformance"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    /// Every file of the golden folder.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(path: PathBuf, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
            if path.is_dir() {
                entries(&path).unwrap().into_iter().for_each(|path| walk(path, into));
            } else {
                into.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
        let mut files = BTreeMap::new();
        walk(self.golden(), &mut files);
        files
    }
}

fn run(runner: &Runner, prover: &Prover, rows: &[Row], filter: &str) -> (Count, Vec<Outcome>) {
    let (mut count, mut outcomes) = (Count::default(), Vec::new());
    for folder in runner.select(filter) {
        outcomes.extend(runner.run(prover, folder, rows, &mut |_| ()).unwrap());
    }
    outcomes.iter().for_each(|outcome| count.add(&outcome.status));
    (count, outcomes)
}

fn edit_json(path: &Path, edit: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    edit(&mut value);
    fs::write(path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
}

#[test]
fn a_prover_that_agrees_passes_every_case() {
    let world = World::new();
    let (count, outcomes) = world.run("");
    assert_eq!(count, Count { passed: CASES, failed: 0, skipped: 0 }, "{outcomes:#?}");
    assert!(count.is_success());
}

#[test]
fn a_difference_of_the_report_is_named() {
    type Edit = fn(&mut Value);
    let differences: [(Edit, &str); 8] = [
        (|report| report["verified"] = json!(false), "the proof was not verified"),
        (
            |report| {
                report["tool"]["name"] = json!("cuzk");
                report["partitions"][0]["digests"] = json!(null);
            },
            "partition 0: witness is not reported",
        ),
        (|report| report["partitions"] = json!([]), "0 partitions, expected 1; partition 0 is not reported"),
        (|report| report["backend"]["name"] = json!("reference"), "backend reference was used"),
        (|report| report["tuning"]["ntt"] = json!("six"), "ntt=six was used"),
        (|report| report["tuning"] = json!({}), "does not say which ntt was used"),
        (|report| report["parameters"]["blake2b_512"] = json!("22".repeat(64)), "have BLAKE2b-512 2222"),
        (|report| report["proof"]["sha256"] = json!("33".repeat(32)), "the reported SHA-256 is not that"),
    ];
    for (edit, difference) in differences {
        let world = World::new();
        world.edit_report(edit);
        let outcome = world.outcome("valid");
        assert!(outcome.starts_with("FAILED") && outcome.contains(difference), "{outcome}");
    }
}

#[test]
fn the_first_step_that_differs_is_named() {
    for (at, step) in STEPS.iter().enumerate() {
        let world = World::new();
        world.edit_report(|report| {
            for later in &STEPS[at..] {
                report["partitions"][0]["digests"][later] = json!("44".repeat(32));
            }
        });
        let outcome = world.outcome("valid");
        assert!(outcome.ends_with(&format!(": partition 0: {step} differs first")), "{outcome}");
    }
}

#[test]
fn a_foreign_prover_may_keep_its_steps_to_itself() {
    let world = World::new();
    world.edit_report(|report| report["partitions"][0]["digests"] = json!(null));
    assert!(world.outcome("valid").starts_with("ok"));
}

#[test]
fn a_difference_of_behaviour_is_named() {
    let other_proof = r#"head -c 191 "$here/proof.bin" >other; printf x >>other; mv other "$here/proof.bin""#;
    let keep_output = r#"refuse() { echo x >"$out"; echo "error[$2]: x" >&2; exit "$1"; }"#;
    let differences = [
        ("valid", "touch .tmp1", "left the file .tmp1"),
        ("valid", other_proof, "the proof differs in partition 0, C, from byte 191"),
        ("valid", r#"echo >>"$here/proof.bin""#, "the proof has 193 bytes, expected 192"),
        ("valid", "exit 0", "unusable report"),
        ("valid", "refuse 3 memory", "ended with exit code 3: error[memory]: refused, expected exit code 0"),
        ("valid", "kill -9 $$", "was ended by a signal"),
        ("c1_truncated", keep_output, "left the file proof.bin"),
        ("c1_truncated", "exit 2", "no error kind on stderr, expected input_truncated"),
        ("c1_not_json", "refuse 2 usage", "error kind is usage, expected input_not_json"),
        ("input_is_folder", "refuse 2 usage", "error kind is usage, expected input_unreadable"),
        ("proof_bit_flip_a", "exit 0", "ended with exit code 0, expected exit code 1"),
        ("verify_by_statement", "refuse 1 proof_invalid", "expected exit code 0"),
    ];
    let world = World::new();
    let proof = fs::read(world.path("proof.bin")).unwrap();
    for (case, fault, difference) in differences {
        world.write("proof.bin", &proof);
        world.fault(fault);
        let outcome = world.outcome(case);
        assert!(outcome.starts_with("FAILED") && outcome.contains(difference), "{case}, {fault}: {outcome}");
    }
}

#[test]
fn a_prover_that_hangs_is_killed() {
    let world = World::new();
    world.fault("exec sleep 60");
    let mut prover = world.prover();
    prover.timeout = Duration::from_millis(200);
    let row = Row { backend: "cpu".to_owned(), tuning: Tuning::default() };
    let (_, outcomes) = run(&Runner::open(&world.golden()).unwrap(), &prover, &[row], "/valid");
    assert!(outcomes[0].to_string().contains("was killed after 0.2 s"), "{}", outcomes[0]);
}

#[test]
fn what_is_not_there_is_skipped_and_does_not_pass() {
    let world = World::new();
    let case = world.case("valid").join(CASE_FILE);
    edit_json(&case, |case| drop(case["inputs"][0].as_object_mut().unwrap().remove("file")));
    let (count, _) = world.run("/valid");
    assert_eq!(count, Count { passed: 0, failed: 0, skipped: 1 });
    assert!(!count.is_success());
    assert!(world.outcome("valid").contains("(--input-dir)"));

    let mut runner = Runner::open(&world.golden()).unwrap();
    runner.supply_inputs(world.folder.path()).unwrap();
    let rows = [Row { backend: "cpu".to_owned(), tuning: Tuning::default() }];
    assert_eq!(run(&runner, &world.prover(), &rows, "/valid").0.passed, 1);

    edit_json(&case, |case| drop(case["parameters"].as_object_mut().unwrap().remove("test_seed")));
    assert!(world.outcome("valid").contains("needs p.params (--params)"));
}

#[test]
fn what_is_required_has_to_pass() {
    let world = World::new();
    let run = |required: &str| {
        let arguments =
            ["run", "--binary", "prover", "--tune", "ntt=seven", "--filter", "/valid", "--require", required];
        world.program(&arguments)
    };
    for there in ["cpu", "seven", "cpu,seven"] {
        assert!(run(there).status.success(), "{there}");
    }
    for missing in ["cuda", "six", "cpu,avx512ifma"] {
        let output = run(missing);
        assert_eq!(output.status.code(), Some(1), "{missing}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("required, but no case passed with it: "), "{said}");
    }
}

#[test]
fn an_input_of_ones_own_is_timed_where_both_give_the_same_bytes() {
    let world = World::new();
    let bench = || {
        let sides = ["bench", "prover@ntt=six", "prover@ntt=seven", "--input", "c1.json", "--miner", "1000"];
        world.program(&[&sides[..], &["-n", "2", "--least-ms", "0", "--json"]].concat())
    };
    let output = bench();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let data: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(data["measured"][0]["case"], "own/input");
    assert_eq!(data["measured"][0]["phases"]["total"]["new"].as_array().unwrap().len(), 2, "{data}");
    // The other side gives another proof.
    world.fault(r#"[ $ntt != seven ] || { head -c 191 "$here/proof.bin" >other; printf x >>other; mv other "$here/proof.bin"; }"#);
    let output = bench();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("the proof differs in partition 0, C"), "{said}");
}

#[test]
fn a_fault_is_caught_only_by_its_step() {
    let world = World::new();
    let fault = |name: &str, seen: &str| json!({ "name": name, "area": "x", "what": "Wrong.", "case": format!("{SUITE}/valid"), "tuning": "ntt=six", "seen": seen });
    let listed =
        |faults: &[Value]| world.write_json("faults.json", &json!({ "variable": "WRONG", "faults": faults }));
    world.fault(
        r#"[ $command != faults ] || { cat "$here/faults.json"; exit 0; }
        case ${WRONG-} in
            late) sed s/NTT/other/ "$here/report.json" >edited; mv edited "$here/report.json" ;;
            loud) refuse 3 memory ;;
            slow) exec sleep 60 ;;
        esac"#,
    );
    let run = || {
        let output = world.program(&["faults", "--binary", "prover", "--timeout", "1", "--json"]);
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap()["count"].clone())
    };
    listed(&[fault("loud", "error[memory]")]);
    let count = |caught: usize, missed: usize| {
        let by_area = if caught > 0 { json!({ "x": caught }) } else { json!({}) };
        json!({ "caught": caught, "missed": missed, "skipped": 0, "caught_by_area": by_area })
    };
    assert_eq!(run(), (Some(0), count(1, 0)));
    listed(&[fault("loud", "partition 0: h differs first"), fault("slow", "partition 0: h differs first")]);
    assert_eq!(run(), (Some(1), count(0, 2)));
    listed(&[fault("quiet", "partition 0: h differs first"), fault("late", "ntt=other was used")]);
    assert_eq!(run(), (Some(1), count(1, 1)));
    // The last fault changed the prover for good: now it fails without one.
    let output = world.program(&["faults", "--binary", "prover"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("fails without any fault: ntt=other was used"),
        "{said}"
    );
}

#[test]
fn a_flag_leaves_a_row_out_and_says_why() {
    let world = World::new();
    let flags = |flag: &str| {
        let flags = json!(["insecure-parameters", flag]);
        edit_case(&world, "valid", |case| case["flags"] = flags);
    };
    flags("defaults-only");
    let outcome = world.outcome("valid");
    assert!(
        outcome.starts_with("skipped") && outcome.ends_with(": runs with the default tuning only"),
        "{outcome}"
    );
    flags("not-on-reference");
    assert!(world.outcome("valid").starts_with("ok"));
    let row = Row { backend: "reference".to_owned(), tuning: Tuning::default() };
    let (count, outcomes) = run(&Runner::open(&world.golden()).unwrap(), &world.prover(), &[row], "/valid");
    assert_eq!(count, Count { passed: 0, failed: 0, skipped: 1 });
    assert!(outcomes[0].to_string().contains("[reference]: upstream takes too long"), "{}", outcomes[0]);
}

#[test]
fn a_case_that_is_not_in_order_blames_itself() {
    let world = World::new();
    fs::write(world.case("valid").join("c1.json"), "{}").unwrap();
    assert!(world.outcome("valid").contains("c1.json: SHA-256 is"));
    fs::write(world.case("wrong_miner").join(CASE_FILE), "{}").unwrap();
    assert!(world.outcome("wrong_miner").contains("missing field"));
    edit_case(&world, "input_is_folder", |case| case["inputs"][0]["file"] = json!("../missing"));
    assert!(world.outcome("input_is_folder").contains("missing: is no folder"));
}

#[test]
fn the_program_counts_and_exits() {
    let world = World::new();
    let run = world.program(&[
        "run",
        "--binary",
        "prover",
        "--variants",
        "each",
        "--backend",
        "cpu",
        "--backend",
        "cuda",
    ]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{text}");
    assert_eq!(text.lines().last(), Some("34 passed, 0 failed, 0 skipped"));
    for row in ["valid [cpu] ", "valid [cpu ntt=seven]", "valid [cuda] ", "valid [cuda ntt=seven]"] {
        assert!(text.contains(row), "{row}:\n{text}");
    }

    let run = world.program(&["run", "--binary", "prover", "--json", "--filter", "valid"]);
    let data: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(data["count"], json!({"passed": 1, "failed": 0, "skipped": 0}));
    assert_eq!(data["binaries"][0]["outcomes"][0]["status"], "ok");
    assert_eq!(data["binaries"][0]["outcomes"][0]["phases_ms"]["total"], 1.5);

    let nothing = world.program(&["run", "--binary", "prover", "--filter", "no such case"]);
    assert_eq!(nothing.status.code(), Some(1));
    world.fault("exit 3");
    let failing = world.program(&["run", "--binary", "prover"]);
    assert_eq!(failing.status.code(), Some(1));
    assert!(failing.stdout.ends_with(format!("\n0 passed, {CASES} failed, 0 skipped\n").as_bytes()));
    assert_eq!(world.program(&["lint"]).status.code(), Some(0));
}

#[test]
fn what_is_made_is_in_order_and_stays_the_same() {
    let world = World::new();
    let first = world.contents();
    assert_eq!(case_folders(&world.golden()).unwrap().len(), CASES);
    assert_eq!(lint_text(&world), Vec::<String>::new());
    make(&world.prover(), &world.golden(), SUITE).unwrap();
    assert_eq!(world.contents(), first);
}

#[test]
fn a_suite_that_the_binary_does_not_bear_out_is_not_made() {
    let faults = [
        (r#"[ $command != prove ] || backend=cpu"#, "golden values are taken from `reference` only"),
        (r#"[ $command != verify ] || refuse 2 usage"#, "proof_extended"),
        (r#"[ $command != fixture ] || refuse 3 disk"#, "error[disk]"),
    ];
    let world = World::new();
    let before = world.contents();
    for (fault, message) in faults {
        world.fault(fault);
        let error = make(&world.prover(), &world.golden(), SUITE).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(world.contents(), before);
    }
    world.fault("");
    world.edit_report(|report| report["partitions"][0]["digests"]["msm_a"] = json!(null));
    let error = make(&world.prover(), &world.golden(), SUITE).unwrap_err().to_string();
    assert!(error.contains("partitions[0].digests.msm_a"), "{error}");
}

fn lint_text(world: &World) -> Vec<String> {
    lint(&world.golden()).unwrap().1.iter().map(ToString::to_string).collect()
}

/// Plants a fault into a good golden folder and wants it found, and no other.
fn planted(plant: impl FnOnce(&World), message: &str) {
    let world = World::new();
    plant(&world);
    let found = lint_text(&world);
    assert!(found.len() == 1 && found[0].contains(message), "wanted `{message}`, found {found:#?}");
}

/// Plants a fault into the `case.json` of a case.
fn planted_in(case: &str, edit: impl FnOnce(&mut Value), message: &str) {
    planted(|world| edit_case(world, case, edit), message);
}

fn edit_case(world: &World, case: &str, edit: impl FnOnce(&mut Value)) {
    let path = world.case(case).join(CASE_FILE);
    let folders = case_folders(&world.golden()).unwrap();
    let folder = folders.iter().find(|folder| folder.id.ends_with(&format!("/{case}"))).unwrap();
    edit_json(&path, edit);
    // Keys in the order of the format again, so that formatting is not a second fault.
    if let Ok(case) = folder.load() {
        fs::write(&path, cuzk_conformance::case::pretty(&case)).unwrap();
    }
}

/// Puts another proof in place of the valid one, and its digest into the two cases that name it.
fn replace_proof(world: &World, proof: &[u8]) {
    fs::write(world.case("valid").join("proof.bin"), proof).unwrap();
    let digest = json!(sha256(proof));
    edit_case(world, "valid", |case| case["expected"]["proof"]["sha256"] = digest.clone());
    edit_case(world, "verify_by_statement", |case| case["inputs"][0]["sha256"] = digest.clone());
}

#[test]
fn faults_of_cases_are_found() {
    planted_in("valid", |case| case["unknown"] = json!(1), "does not parse: unknown field `unknown`");
    planted_in("valid", |case| case["schema"] = json!(2), "schema is 2, expected 1");
    planted_in("valid", |case| case["id"] = json!("other/valid"), "id is `other/valid`");
    planted_in("valid", |case| case["flags"] = json!([]), "the flag `insecure-parameters`");
    let how = "says how to prove although no proof is expected";
    planted_in("wrong_miner", |case| case["flags"] = json!(["insecure-parameters", "defaults-only"]), how);
    let twice = |case: &mut Value| case["flags"] = json!(["insecure-parameters", "insecure-parameters"]);
    planted_in("valid", twice, "a flag occurs twice");
    planted_in("valid", |case| case["randomness_seed"] = json!(null), "`randomness_seed` is absent");
    planted_in("valid", |case| case["result"] = json!("invalid"), "`expected` does not have the shape");
    planted_in("valid", |case| case["command"] = json!("destroy"), "does not parse");
    planted_in("valid", |case| case["expected"]["digests"] = json!([]), "digests of every partition");
    planted_in("valid", |case| case["arguments"]["partitions"] = json!("1"), "digests of every partition");
    planted_in("valid", |case| case["arguments"]["partitions"] = json!("0,1"), "digests of every partition");
    planted_in("wrong_miner", |case| case["arguments"]["partitions"] = json!("1-0"), "`1-0` is no list");
    planted_in(
        "wrong_miner",
        |case| case["inner_product_key"] = json!({"name": "k", "blake2b_512": "00".repeat(64)}),
        "parameters `k` are not in",
    );
    planted_in("valid", |case| case["expected"]["exit_code"] = json!(1), "exit code 1 cannot be expected");
    planted_in("valid", |case| case["parameters"]["name"] = json!("q"), "parameters `q` are not in");
    planted_in("valid", |case| case["inputs"][0]["sha256"] = json!("55".repeat(32)), "the case says 5555");
    planted_in("wrong_miner", |case| case["inputs"] = json!([]), "`prove` takes one file");
    let no_digest = |case: &mut Value| drop(case["inputs"][0].as_object_mut().unwrap().remove("sha256"));
    planted_in("wrong_miner", no_digest, "is named without a SHA-256 but is no folder");
    let nothing = |case: &mut Value| drop(case["inputs"][0].as_object_mut().unwrap().remove("file"));
    planted_in("input_is_folder", nothing, "an input has neither a file nor a SHA-256");
    let missing = |case: &mut Value| case["inputs"][0]["file"] = json!("../missing");
    planted_in("input_is_folder", missing, "is no folder");
    planted_in("wrong_miner", |case| case["expected"]["exit_code"] = json!(4), "exit code 4");
    planted_in(
        "wrong_miner",
        |case| case["expected"]["error_kind"] = json!("Wrong"),
        "`Wrong` is not in snake",
    );
    planted_in("wrong_miner", |case| case["inputs"][0]["file"] = json!("../../c1.json"), "outside its suite");
    planted_in("wrong_miner", |case| case["inputs"][0]["file"] = json!("/c1.json"), "outside its suite");
    let no_digest =
        |case: &mut Value| drop(case["expected"]["digests"][0].as_object_mut().unwrap().remove("h"));
    planted_in("valid", no_digest, "does not parse");
}

#[test]
fn faults_of_files_are_found() {
    let write = |path: PathBuf, text: &str| fs::write(path, text).unwrap();
    planted(
        |world| write(world.case("valid").join("extra"), ""),
        "extra: no case of the suite names this file",
    );
    planted(|world| write(world.golden().join("extra"), ""), "extra: does not belong here");
    planted(|world| write(world.golden().join(SUITE).join("extra"), ""), "extra: does not belong here");
    planted(|world| fs::remove_file(world.case("c1_truncated").join("c1.json")).unwrap(), "cannot be read");
    planted(|world| fs::create_dir(world.case("empty")).unwrap(), "empty/case.json: cannot be read");
    planted(|world| fs::create_dir(world.golden().join("Upper")).unwrap(), "folder names consist of");
    planted(
        |world| write(world.golden().join("case.schema.json"), "{}"),
        "is not the schema of this version",
    );
    planted(
        |world| {
            let path = world.golden().join("parameters.json");
            let text = fs::read_to_string(&path).unwrap();
            write(path, &text.replace("\"schema\": 1", "\"schema\": 2"));
        },
        "schema is 2, expected 1",
    );
    planted(
        |world| {
            let path = world.case("valid").join(CASE_FILE);
            write(path.clone(), fs::read_to_string(path).unwrap().trim_end());
        },
        "is not formatted",
    );
    planted(|world| replace_proof(world, &[7; 100]), "has 100 bytes, 1 partitions have 192");
    let aggregate = |world: &World, bytes: &[u8]| {
        edit_case(world, "valid", |case| case["expected"]["form"] = json!("aggregate"));
        edit_case(world, "valid", |case| case["inner_product_key"] = case["parameters"].clone());
        replace_proof(world, bytes);
    };
    planted(|world| aggregate(world, &[7; 192]), "has 192 bytes, 1 partitions have 5236");
    planted(
        |world| {
            aggregate(world, &[7; 5236]);
            edit_case(world, "valid", |case| case["inner_product_key"] = json!(null));
        },
        "no `inner_product_key` is named",
    );
    let empty = World::new();
    fs::remove_dir_all(empty.golden().join(SUITE)).unwrap();
    assert!(lint_text(&empty)[0].ends_with("no cases"));
}

#[test]
fn lint_finds_circuits_that_are_not_in_order() {
    let entry = |size: &str| {
        let sha256 = "00".repeat(32);
        json!({
            "kind": "snap", "sector_size": size, "rows": 1, "inputs": 1, "aux": 1, "scalars": 1, "a_points": 1,
            "b_points": 1, "sha256": sha256,
        })
    };
    let file =
        |schema: u32, circuits: &[serde_json::Value]| json!({ "schema": schema, "circuits": circuits });
    let plant =
        |text: String| move |world: &World| fs::write(world.golden().join(CIRCUITS_FILE), text).unwrap();
    let formatted = |value: &serde_json::Value| {
        let typed: CircuitsFile = serde_json::from_value(value.clone()).unwrap();
        cuzk_conformance::case::pretty(&typed)
    };
    let twice = file(1, &[entry("2KiB"), entry("2KiB")]);
    planted(plant(formatted(&twice)), "two circuits of one kind and size");
    planted(plant(formatted(&file(2, &[entry("2KiB")]))), "schema is 2");
    planted(plant(file(1, &[entry("2KiB")]).to_string()), "not formatted");
    planted(plant("{}".to_owned()), "missing field");
    let world = World::new();
    plant(formatted(&file(1, &[entry("2KiB"), entry("8MiB")])))(&world);
    assert_eq!(lint_text(&world), Vec::<String>::new());
}

/// Phases that the prover reports.
fn set_phases(world: &World, phases: &Value) {
    world.edit_report(|report| report["phases_ms"] = phases.clone());
}

/// The gate between two provers, by the cases of the first, with more arguments.
fn gate(old: &World, new: &World, more: &[&str]) -> (bool, String) {
    let new = new.path("prover").display().to_string();
    let case = format!("{SUITE}/valid");
    let fixed = ["gate", "--old", "prover", "--new", &new, "--filter", &case, "--case", &case, "-n", "12"];
    let output = old.program(&[&fixed[..], more].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

#[test]
fn the_gate_is_open_for_the_same_and_closed_for_a_slower_phase() {
    let (old, new) = (World::new(), World::new());
    let phases = |ntt: f64| json!({"ntt": ntt, "msm_h": 200.0, "decode": 1.0});
    set_phases(&old, &phases(100.0));
    for (ntt, open, verdict) in [
        (100.0, true, "| ntt | 100.0 ms | 100.0 ms | 1.000 (1.000 to 1.000) | no difference shown |"),
        // Within the margin of 5 %.
        (104.0, true, "| 1.040 (1.040 to 1.040) | no difference shown |"),
        (115.0, false, "| 1.150 (1.150 to 1.150) | **slower** |"),
        (80.0, true, "| 0.800 (0.800 to 0.800) | **faster** |"),
    ] {
        set_phases(&new, &phases(ntt));
        let (is_open, text) = gate(&old, &new, &[]);
        assert_eq!(is_open, open, "{text}");
        assert!(text.contains(verdict), "{text}");
        assert!(text.contains("2 passed, 0 failed, 0 skipped"), "{text}");
        assert_eq!(text.contains("slower: ntt"), !open, "{text}");
        assert!(text.contains("| msm_h |") && !text.contains("| decode |"), "{text}");
    }
    let (is_open, text) = gate(&old, &new, &["--margin", "30%", "--json"]);
    let judgement: Value = serde_json::from_str(&text).unwrap();
    assert!(is_open && judgement["plan"]["margin"] == 0.3, "{text}");
    let sha256 = judgement["old"]["sha256"].as_str().unwrap();
    assert_eq!(sha256, judgement["new"]["sha256"].as_str().unwrap());
}

#[test]
fn the_gate_is_closed_for_other_bytes() {
    let (old, new) = (World::new(), World::new());
    new.edit_report(|report| report["partitions"][0]["digests"]["msm_l"] = json!("44".repeat(32)));
    let markdown = old.path("summary.md");
    let (is_open, text) = gate(&old, &new, &["--markdown", &markdown.display().to_string()]);
    assert!(!is_open && text.contains("The gate is closed"), "{text}");
    assert!(text.contains("partition 0: msm_l differs first"), "{text}");
    assert_eq!(fs::read_to_string(markdown).unwrap(), text);
}

#[test]
fn two_tunings_are_timed_against_each_other() {
    let world = World::new();
    set_phases(&world, &json!({"ntt": "TIME"}));
    // The report has what --tune says, and other times with it.
    world.fault(r#"time=90; if [ "$ntt" = seven ]; then time=120; fi; sed "s/\"TIME\"/$time/" "$here/report.json" >r; mv r "$here/report.now"; here_report="$here/report.now""#);
    let script = fs::read_to_string(world.path("prover")).unwrap();
    let script = script
        .replace(r#""$here/report.json" >"$report""#, r#""${here_report-$here/report.json}" >"$report""#);
    fs::write(world.path("prover.sh"), script).unwrap();
    let install = "cp prover.sh prover2 && chmod +x prover2";
    assert!(
        Command::new("sh").args(["-c", install]).current_dir(world.folder.path()).status().unwrap().success()
    );
    let case = format!("{SUITE}/valid");
    let output = world.program(&[
        "bench",
        "prover2",
        "prover2@ntt=seven",
        "--case",
        &case,
        "-n",
        "12",
        "--phase",
        "ntt",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("| ntt | 90.0 ms | 120.0 ms | 1.333 (1.333 to 1.333) | **slower** |"), "{text}");
    assert!(!text.contains("| process |"), "{text}");
}

/// What a strict parser of HTML has to say of a page.
fn parse_errors(page: &str) -> Vec<String> {
    use html5ever::tendril::TendrilSink;
    let mut options = html5ever::ParseOpts::default();
    options.tokenizer.exact_errors = true;
    options.tree_builder.exact_errors = true;
    let dom = html5ever::parse_document(markup5ever_rcdom::RcDom::default(), options).one(page);
    dom.errors.borrow().iter().map(|error| error.to_string()).collect()
}

#[test]
fn a_run_is_a_page_that_stands_alone() {
    assert!(!parse_errors("<!DOCTYPE html><title>x</title><p></b>").is_empty(), "the parser finds faults");
    let world = World::new();
    set_phases(&world, &json!({"ntt": 100.0, "msm_h": 200.0, "total": 300.0}));
    world.fault(r#"if [ "$command" = verify ]; then echo 'error[<b>&"x"</b>]: odd' >&2; exit 7; fi"#);
    let output = world.program(&["run", "--binary", "prover", "--variants", "each", "--html", "page.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(world.path("page.html")).unwrap();
    assert_eq!(parse_errors(&page), [""; 0]);
    for outside in ["<script", "http", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let texts = [
        "<th>cpu</th><th>cpu ntt=seven</th>",
        "<span class=\"ok\">ok</span>",
        "<span class=\"failed\">FAILED</span>",
        "&lt;b&gt;&amp;&quot;x&quot;&lt;/b&gt;",
        "<title>msm_h 200 ms, ntt 100 ms</title>",
        "porep-2kib-v1_1/valid",
        "<th>msm_b_g2</th>",
    ];
    for text in texts {
        assert!(page.contains(text), "no {text} in {page}");
    }
}
