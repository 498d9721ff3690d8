//! Whole proofs of the 2 KiB sector, with test parameters in the user's cache directory (generated when they are not
//! there). The bytes themselves are the conformance suite's business.

mod common;

use std::fs;
use std::path::Path;
use std::sync::Once;
use std::thread::sleep;
use std::time::{Duration, Instant};

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
    let output = run(&[&arguments[..], &["--report", &report, "--json"]].concat());
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("test parameters are insecure"));
    assert_eq!(files(folder.path()), ["c1.json", "c1.proof", "report.json"]);

    let on_stdout: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let in_file: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(on_stdout, in_file);
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
