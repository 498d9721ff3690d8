//! Whole proofs of the 2 KiB sector, with test parameters in the user's cache directory (generated when they are not
//! there). The bytes themselves are the conformance suite's business.

mod common;

use std::fs;
use std::path::Path;
use std::sync::Once;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{c1, cuzk, exit_code, files, golden, run, stderr, stdout};

/// Two tests must not generate the parameters at the same time.
fn test_parameters() {
    static GENERATED: Once = Once::new();
    GENERATED.call_once(|| {
        let output = run(&["params", "generate"]);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    });
}

/// Keys and types, so that a snapshot shows a change of the schema and nothing else.
fn skeleton(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), skeleton(value))).collect(),
        Value::Array(list) => list.iter().take(1).map(skeleton).collect(),
        Value::String(_) => "string".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "bool".into(),
        Value::Null => Value::Null,
    }
}

#[test]
fn a_proof_is_written_reported_and_verified() {
    test_parameters();
    let folder = tempfile::tempdir().unwrap();
    // Without -o the proof goes beside the input.
    let input = folder.path().join("c1.json");
    fs::copy(c1(), &input).unwrap();
    let input = input.display().to_string();
    let report = folder.path().join("report.json").display().to_string();
    let arguments =
        ["prove", &input, "--miner", "1000", "--test-params", "--check-witness", "--format", "base64"];
    let trace = folder.path().join("trace.json").display().to_string();
    let output = run(&[&arguments[..], &["--report", &report, "--trace", &trace, "--json"]].concat());
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("test parameters are insecure"));
    assert_eq!(files(folder.path()), ["c1.json", "c1.proof", "report.json", "trace.json"]);
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(&trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let event =
        |name: &str| events.iter().find(|event| event["name"] == name).expect("an event of the phase");
    let end = |event: &serde_json::Value| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap();
    // The file has microseconds with their fractions.
    assert!(end(event("decode")) <= event("verify")["ts"].as_f64().unwrap() + 1.0);
    assert!(events.iter().any(|event| event["ph"] == "M" && event["args"]["name"] == "host"));

    let on_stdout: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let in_file: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(on_stdout, in_file);
    // What the build is made of depends on where it is made.
    let mut in_file = in_file;
    let version = run(&["--version", "--json"]);
    let version: serde_json::Value = serde_json::from_slice(&version.stdout).unwrap();
    assert_eq!(in_file["tool"]["build"].take(), version["build"]);
    insta::assert_json_snapshot!("report-schema", skeleton(&in_file));

    let proof = folder.path().join("c1.proof").display().to_string();
    let verify =
        ["verify", &proof, "--format", "base64", "--statement", &input, "--miner", "1000", "--test-params"];
    let output = run(&verify);
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "verified: StackedDrg2KiBV1_1, miner 1000, sector 1\n");
    // The head of the parameter file is a verifying key, too; and a proof without a seed is another one each time.
    let parameters = in_file["parameters"]["path"].as_str().unwrap();
    let with_key = [
        "verify",
        &proof,
        "--format",
        "base64",
        "--statement",
        &input,
        "--miner",
        "1000",
        "--vk",
        parameters,
    ];
    assert_eq!(exit_code(&run(&with_key)), 0);
    assert_ne!(
        in_file["proof"]["sha256"],
        serde_json::from_slice::<serde_json::Value>(&fs::read(golden("valid/case.json")).unwrap()).unwrap()["expected"]
            ["proof"]["sha256"]
    );
}

#[test]
fn a_selftest_compares_proofs() {
    let output = run(&["selftest", "--backend", "cpu", "--repeat", "2", "--json"]);
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["repetitions"], 2);
    assert_eq!(report["prove_ms"].as_array().unwrap().len(), 2);
    assert_eq!(report["faults"], serde_json::json!([]));
    // Where there is a GPU, it is tested; where there is none, that is an error, and nothing is done instead.
    let output = run(&["selftest", "--backend", "cuda", "--repeat", "1"]);
    match exit_code(&output) {
        0 => assert!(stdout(&output).starts_with("cuda (")),
        _ => {
            assert_eq!(exit_code(&output), 3, "{}", stderr(&output));
            assert!(stderr(&output).starts_with("error[device_missing]: "), "{}", stderr(&output));
        }
    }
}

#[test]
fn killed_while_proving_it_leaves_nothing() {
    test_parameters();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.proof").display().to_string();
    for wait in [Duration::from_millis(300), Duration::from_secs(4)] {
        let mut child = cuzk()
            .args(["prove", &c1(), "--miner", "1000", "--test-params", "--quiet", "-o", &output])
            .spawn()
            .unwrap();
        sleep(wait);
        assert!(child.try_wait().unwrap().is_none(), "still proving after {wait:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn a_damaged_parameter_file_is_found_before_or_while_it_is_read() {
    test_parameters();
    let folder = tempfile::tempdir().unwrap();
    let generated: serde_json::Value =
        serde_json::from_slice(&run(&["params", "generate", "--quiet", "--json"]).stdout).unwrap();
    let name = generated["parameters"].as_str().unwrap();
    let path = stdout(&run(&["params", "generate", "--quiet"])).lines().next().unwrap().to_owned();
    let params = folder.path().join("params");
    fs::create_dir(&params).unwrap();
    let copy = params.join(name);
    fs::copy(path, &copy).unwrap();
    let prove = || {
        let output = folder.path().join("out.proof").display().to_string();
        let params = params.display().to_string();
        run(&["prove", &c1(), "--miner", "1000", "--params", &params, "--quiet", "-o", &output])
    };
    let size = fs::metadata(&copy).unwrap().len();
    let file = fs::File::options().write(true).open(&copy).unwrap();

    // A byte in the middle of the h query.
    std::os::unix::fs::FileExt::write_at(&file, &[0x55; 3], size / 8).unwrap();
    let refused = prove();
    assert_eq!(exit_code(&refused), 3);
    assert!(stderr(&refused).contains("of query h is not a point of the curve"), "{}", stderr(&refused));

    // Without its last byte.
    file.set_len(size - 1).unwrap();
    let start = Instant::now();
    let refused = prove();
    assert_eq!(exit_code(&refused), 3);
    let message = stderr(&refused);
    assert!(message.contains(&format!("{size} bytes expected")), "{message}");
    assert!(message.contains(&format!("{} found", size - 1)) && message.contains(name), "{message}");
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(!Path::new(&folder.path().join("out.proof")).exists());
}

/// Proves a statement with the golden test parameters, a seed and digests; the proof and the report.
fn prove_seeded(statement: &str, backend: &str, folder: &Path) -> (Vec<u8>, serde_json::Value) {
    prove_tuned(statement, backend, "", folder)
}

/// The same, tuned.
fn prove_tuned(statement: &str, backend: &str, tuning: &str, folder: &Path) -> (Vec<u8>, serde_json::Value) {
    let (proof, report) = (folder.join("seeded.proof"), folder.join("seeded.json"));
    let output = cuzk()
        .args(["prove", statement, "--test-params", "--backend", backend, "--digests", "--quiet"])
        .args(["--tune", tuning, "--insecure-seed", &"5a".repeat(32), "--report"])
        .arg(&report)
        .arg("-o")
        .arg(&proof)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{statement} on {backend}: {}", stderr(&output));
    (fs::read(proof).unwrap(), serde_json::from_slice(&fs::read(report).unwrap()).unwrap())
}

fn synthetic(kind: &str, seed: &str, out: &Path) -> String {
    let folder = out.display().to_string();
    let output = run(&["fixture", kind, "--synthetic", "--seed", seed, "--out", &folder]);
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    format!("{folder}/statement.json")
}

#[test]
fn posts_are_proved_as_upstream_does() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["winning-post", "window-post"] {
        let statement = synthetic(kind, "1", &folder.path().join(kind));
        let (proof, report) = prove_seeded(&statement, "cpu", folder.path());
        let (expected, reference) = prove_seeded(&statement, "reference", folder.path());
        assert_eq!(report["partitions"][0]["digests"], reference["partitions"][0]["digests"], "{kind}");
        assert_eq!(proof, expected, "{kind}");
        assert_eq!(reference["backend"]["name"], "reference");
        let made_by = report["statement"]["made_by"].as_str().unwrap();
        assert!(made_by.contains("synthetic"), "{made_by}");
        let proof_file = folder.path().join("seeded.proof").display().to_string();
        let verify =
            |statement: &str| run(&["verify", &proof_file, "--statement", statement, "--test-params"]);
        assert_eq!(exit_code(&verify(&statement)), 0);
        let other = synthetic(kind, "2", &folder.path().join("other"));
        assert_eq!(exit_code(&verify(&other)), 1, "another statement's proof");
    }
}

/// Proofs of every kind verify against what the chain knows of their statements, and against nothing else.
#[test]
fn golden_proofs_verify_without_a_statement() {
    // Else the first to verify a kind would generate them, and say so.
    for kind in ["porep", "winning-post", "window-post", "snap"] {
        let output = run(&["params", "generate", "--kind", kind]);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    }
    let json =
        |file: &Path| -> serde_json::Value { serde_json::from_slice(&fs::read(file).unwrap()).unwrap() };
    let verify = |suite: &str, flags: &[String]| {
        let proof = golden("..").join(suite).join("valid/proof.bin");
        let proof = cuzk().arg("verify").arg(proof).args(flags).arg("--test-params").output().unwrap();
        (exit_code(&proof), stderr(&proof))
    };
    let flag = |name: &str, value: &serde_json::Value| {
        [format!("--{name}"), value.as_str().map_or_else(|| value.to_string(), str::to_owned)]
    };
    let statement = |suite: &str| json(&golden("..").join(suite).join("valid/statement.json"));

    let c1 = json(&golden("valid/c1.json"));
    let inner = STANDARD.decode(c1["Phase1Out"].as_str().unwrap()).unwrap();
    let inner: serde_json::Value = serde_json::from_slice(&inner).unwrap();
    let hexadecimal = |name: &str| {
        let bytes: Vec<u8> = serde_json::from_value(inner[name].clone()).unwrap();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let of = statement("porep-2kib-v1_1");
    let mut porep = vec![flag("proof-type", &of["registered_proof"]), flag("miner", &of["miner"])];
    porep.push(flag("sector", &of["sector"]));
    for (name, key) in [("comm-r", "comm_r"), ("comm-d", "comm_d"), ("ticket", "ticket")] {
        porep.push(flag(name, &hexadecimal(key).into()));
    }
    let seed = flag("seed", &hexadecimal("seed").into());
    let other_seed = flag("seed", &hexadecimal("ticket").into());
    let with = |flags: &[[String; 2]], more: [String; 2]| [flags.concat(), more.to_vec()].concat();
    assert_eq!(verify("porep-2kib-v1_1", &with(&porep, seed)), (0, String::new()));
    assert_eq!(verify("porep-2kib-v1_1", &with(&porep, other_seed)).0, 1);
    let (exit_code, told) = verify("porep-2kib-v1_1", &porep.concat());
    assert!(exit_code == 2 && told.contains("give it with --seed"), "{told}");

    for suite in ["winning-post-2kib-v1", "window-post-2kib-v1_2"] {
        let of = statement(suite);
        let flags = [flag("proof-type", &of["registered_proof"]), flag("miner", &of["miner"])];
        let flags = with(&flags, flag("randomness", &of["randomness"]));
        let replicas = replicas(&golden("..").join(suite).join("valid/vanilla.json"));
        let all = replicas.iter().flat_map(|replica| ["--replica".to_owned(), replica.clone()]);
        let all: Vec<String> = flags.iter().cloned().chain(all).collect();
        assert_eq!(verify(suite, &all), (0, String::new()), "{suite}");
        let (exit_code, told) = verify(suite, &flags);
        assert!(exit_code == 2 && told.contains("--replica"), "{told}");
    }

    let of = statement("snap-2kib-v1");
    let names = ["proof-type", "comm-r-old", "comm-r-new", "comm-d-new"];
    let keys = ["registered_proof", "comm_r_old", "comm_r_new", "comm_d_new"];
    let snap = |keys: [&str; 4]| [0, 1, 2, 3].map(|i| flag(names[i], &of[keys[i]])).concat();
    assert_eq!(verify("snap-2kib-v1", &snap(keys)), (0, String::new()));
    assert_eq!(verify("snap-2kib-v1", &snap([keys[0], keys[2], keys[1], keys[3]])).0, 1);
}

/// `number:comm_r` of each sector of a vanilla file: the first 40 bytes of its bincode.
fn replicas(vanilla: &Path) -> Vec<String> {
    let elements: Vec<String> = serde_json::from_slice(&fs::read(vanilla).unwrap()).unwrap();
    let replica = |element: &String| {
        let bytes = STANDARD.decode(element).unwrap();
        let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        let comm_r: String = bytes[8..40].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{number}:{comm_r}")
    };
    elements.iter().map(replica).collect()
}

/// A window PoSt of four sectors has two partitions at 2 KiB: proved together or apart, but not one for the other.
#[test]
fn partitions_can_be_proved_and_verified_apart() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let statement = format!("{out}/statement.json");
    let fixture = run(&["fixture", "window-post", "--sectors", "4", "--out", &out]);
    assert_eq!(exit_code(&fixture), 0, "{}", stderr(&fixture));
    let seed = "5a".repeat(32);
    let prove = |partitions: &[&str]| {
        let output = cuzk()
            .args(["prove", &statement, "--test-params", "--insecure-seed", &seed, "--quiet", "-o", "-"])
            .args(["--format", "raw"])
            .args(partitions)
            .output()
            .unwrap();
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        output.stdout
    };
    let both = prove(&[]);
    assert_eq!(both.len(), 2 * 192);
    let second = prove(&["--partitions", "1"]);
    assert_eq!(second, both[192..]);
    assert_eq!(prove(&["--partitions", "1,0"]), both);

    let proof = format!("{out}/proof");
    let verify = |bytes: &[u8], partitions: &[&str]| {
        fs::write(&proof, bytes).unwrap();
        run(&[&["verify", &proof, "--statement", &statement, "--test-params"], partitions].concat())
    };
    for (bytes, partitions, expected) in [
        (&both[..], &[][..], 0),
        (&both[..], &["--partitions", "0-1"][..], 0),
        (&second[..], &["--partitions", "1"][..], 0),
        (&second[..], &["--partitions", "0"][..], 1),
        (&[&both[192..], &both[..192]].concat()[..], &[][..], 1),
        (&second[..], &[][..], 2),
        (&second[..], &["--partitions", "2"][..], 2),
    ] {
        let output = verify(bytes, partitions);
        assert_eq!(exit_code(&output), expected, "{partitions:?}: {}", stderr(&output));
    }
}

/// The partitions of one proof, each by a run of its own, make the proof of one run for all; what does not belong together does not.
#[test]
fn two_partitions_in_flight_are_those_of_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let statement = golden("../window-post-2kib-v1_2/valid/statement.json");
    let statement = statement.to_str().unwrap();
    let (expected, one) = prove_tuned(statement, "cpu", "in-flight=one", folder.path());
    for synthesis in ["direct", "template", "enforce"] {
        let tuning = format!("in-flight=two,synthesis={synthesis}");
        let (proof, two) = prove_tuned(statement, "cpu", &tuning, folder.path());
        assert_eq!((&one["plan"]["in_flight"], &two["plan"]["in_flight"]), (&1.into(), &2.into()));
        for partition in [0, 1] {
            let digests = |report: &serde_json::Value| report["partitions"][partition]["digests"].clone();
            assert_eq!(digests(&one), digests(&two), "{tuning}, partition {partition}");
        }
        assert_eq!(proof, expected, "{tuning}");
    }
}

#[test]
fn partitions_that_were_proved_apart_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, seed: &str| {
        let out = folder.path().join(name).display().to_string();
        let fixture = run(&["fixture", "window-post", "--sectors", "4", "--seed", seed, "--out", &out]);
        assert_eq!(exit_code(&fixture), 0, "{}", stderr(&fixture));
        format!("{out}/statement.json")
    };
    let (statement, other) = (make("a", "1"), make("b", "2"));
    let seed = "5a".repeat(32);
    let prove = |statement: &str, arguments: &[&str]| {
        let common = ["prove", statement, "--test-params", "--insecure-seed", &seed, "--quiet"];
        let output = run(&[&common, arguments].concat());
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    };
    prove(&statement, &[]);
    prove(&statement, &["--partitions", "0"]);
    prove(&statement, &["--partitions", "1"]);
    prove(&other, &["--partitions", "1"]);
    let beside = |statement: &str, name: &str| statement.replace("statement.json", name);
    let [first, second] = ["statement.0.part", "statement.1.part"].map(|name| beside(&statement, name));
    let foreign = beside(&other, "statement.1.part");
    let whole = fs::read(beside(&statement, "statement.proof")).unwrap();

    let joined = folder.path().join("joined").display().to_string();
    let join = |parts: &[&str]| {
        let common = ["--statement", &statement, "--test-params", "-o", &joined];
        run(&[&["join"], parts, &common[..]].concat())
    };
    let output = join(&[&second, &first]);
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read(&joined).unwrap(), whole);
    fs::remove_file(&joined).unwrap();

    // A digit of partition 1's proof.
    let text = fs::read_to_string(&second).unwrap();
    let proofs = text.rfind(":\"").unwrap() + 10;
    let other_digit = if text.as_bytes()[proofs] == b'A' { "B" } else { "A" };
    let damaged = folder.path().join("damaged.part").display().to_string();
    fs::write(&damaged, [&text[..proofs], other_digit, &text[proofs + 1..]].concat()).unwrap();
    for (parts, code, kind, said) in [
        (&[&first[..]][..], 2, "partition_missing", "--partitions 1"),
        (&[&first[..], &second, &first], 2, "partition_twice", "partition 0 is also in"),
        (&[&first[..], &foreign], 2, "partial_of_another_proof", "of the statement with digest"),
        (&[&first[..], &damaged], 1, "proof_invalid", "partition 1"),
        (&[&first[..], &statement], 2, "partial_unreadable", "no partial proof"),
    ] {
        let output = join(parts);
        let text = stderr(&output);
        assert_eq!(exit_code(&output), code, "{text}");
        assert!(text.contains(&format!("error[{kind}]")) && text.contains(said), "{text}");
        assert!(!Path::new(&joined).exists());
    }
    let output = run(&["verify", &first, "--statement", &statement, "--test-params"]);
    assert_eq!(exit_code(&output), 2);
    assert!(stderr(&output).contains("cuzk join"), "{}", stderr(&output));
}

/// Two good inputs around a bad one: two proofs, exit code 2, and the parameters loaded once.
#[test]
fn several_inputs_share_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let good = ["1", "2"].map(|seed| synthetic("winning-post", seed, &folder.path().join(seed)));
    let bad = folder.path().join("bad.json").display().to_string();
    fs::write(&bad, "{}").unwrap();
    let report = folder.path().join("reports").display().to_string();
    let inputs = ["prove", &good[0], &bad, &good[1]];
    let output = run(&[&inputs[..], &["--test-params", "--format", "json", "--report", &report]].concat());
    assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let lines: Vec<serde_json::Value> = stdout(&output).lines().map(json).collect();
    let codes: Vec<u64> = lines.iter().map(|line| line["exit_code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [0, 2, 0]);
    assert_eq!(lines[1]["error"]["kind"], "input_unknown_shape");
    let reports: Vec<serde_json::Value> = fs::read_to_string(&report).unwrap().lines().map(json).collect();
    let loads = reports.iter().map(|report| report["phases_ms"].get("load_parameters").is_some());
    assert_eq!(loads.collect::<Vec<_>>(), [true, false]);
    assert_ne!(lines[0]["proof"], lines[2]["proof"]);

    // The same through stdin, where files beside the inputs get the proofs.
    let mut child = cuzk()
        .args(["prove", "--stdin-list", "--test-params", "--quiet"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let list = format!("{}\n\n{}\n", good[0], good[1]);
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), list.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    for seed in ["1", "2"] {
        let proof = folder.path().join(seed).join("statement.proof");
        assert_eq!(fs::metadata(proof).unwrap().len(), 192);
    }
}

/// Whatever shape carries a statement, the proof under a seed is the same.
#[test]
fn every_shape_gives_the_same_proof() {
    for kind in ["winning-post", "window-post"] {
        every_shape_of(kind);
    }
}

fn every_shape_of(kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    let statement = synthetic(kind, "3", folder.path());
    let (expected, report) = prove_seeded(&statement, "cpu", folder.path());
    let public = &report["statement"];
    let vanilla = folder.path().join("vanilla.json");
    let compressed = folder.path().join("vanilla.json.gz");
    let gzip = std::process::Command::new("gzip").arg("-k").arg(&vanilla).status();
    let mut shapes = vec![vanilla];
    if gzip.is_ok_and(|status| status.success()) {
        shapes.push(compressed);
    }
    for shape in shapes {
        let output = cuzk()
            .arg("prove")
            .arg(&shape)
            .args(["--miner", public["miner"].as_str().unwrap()])
            .args(["--randomness", public["randomness"].as_str().unwrap()])
            .args(["--test-params", "--insecure-seed", &"5a".repeat(32), "--quiet", "-o", "-"])
            .output()
            .unwrap();
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert!(output.stdout == expected, "{}", shape.display());
    }
}
