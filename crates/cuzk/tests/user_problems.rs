//! What users of other provers ran into, by the numbers of our list. Those that no test can show are in the catalogue of errors
//! (`cuzk errors`): 1, 2 and 5 (a device that computes wrongly), 11 (a small device), 15 (locks of a device) and 25 (a daemon's state).

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{c1, cuzk, exit_code, files, golden, run, stderr, stdout};

fn post() -> String {
    golden("../window-post-2kib-v1_2/valid/statement.json").display().to_string()
}

/// Ends with this code, and says all of these.
fn assert_says(output: &Output, code: i32, words: &[&str]) {
    let text = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(exit_code(output), code, "{text}");
    words.iter().for_each(|word| assert!(text.contains(word), "`{word}` is not in: {text}"));
}

/// A place for a proof that will not be made.
fn nowhere() -> String {
    std::env::temp_dir().join(format!("cuzk-never-{}.proof", std::process::id())).display().to_string()
}

/// Test parameters of window PoSts: the `.params` file, generated where it is missing.
fn parameters() -> PathBuf {
    let generated = run(&["params", "generate", "--kind", "window-post", "--quiet"]);
    PathBuf::from(stdout(&generated).lines().next().expect("its path"))
}

/// Proves the window PoSt with the parameters in `params`.
fn prove_with(params: &Path, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cuzk();
    command.args(["prove", &post(), "--backend", "cpu", "-o"]).arg(folder.path().join("proof"));
    let output = command.arg("--params").arg(params).args(more).output().unwrap();
    let left = files(folder.path());
    assert_eq!(left.is_empty(), exit_code(&output) != 0, "{left:?}");
    output
}

#[test]
fn user_problem_03_a_card_is_tested_before_it_is_trusted() {
    assert_says(
        &run(&["selftest", "--backend", "auto", "--repeat", "1"]),
        0,
        &["1 proofs, 0 with other bytes"],
    );
}

#[test]
fn user_problem_04_a_corrupt_parameter_file_is_named_with_both_digests() {
    let folder = tempfile::tempdir().unwrap();
    let original = parameters();
    let copy = folder.path().join(original.file_name().unwrap());
    let mut bytes = fs::read(&original).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    fs::write(&copy, bytes).unwrap();
    let name = copy.display().to_string();
    assert_says(&prove_with(folder.path(), &[]), 3, &["error[parameters]", &name, "cuzk params check"]);
    // The note beside it, as it was generated.
    fs::copy(original.with_extension("json"), copy.with_extension("json")).unwrap();
    let check =
        cuzk().args(["params", "check", &name]).env("XDG_CACHE_HOME", folder.path()).output().unwrap();
    assert_says(&check, 3, &["error[parameters]", &name, "the digest is ", "wanted ", "generate it again"]);
}

#[test]
fn user_problem_06_a_partial_download_is_told_with_size_wanted_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let original = parameters();
    let bytes = fs::read(&original).unwrap();
    let half = bytes.len() / 2;
    fs::write(folder.path().join(original.file_name().unwrap()), &bytes[..half]).unwrap();
    let found = format!("{half} found");
    assert_says(
        &prove_with(folder.path(), &[]),
        3,
        &["truncated parameter file", "bytes expected", &found, "fetch"],
    );
}

#[test]
fn user_problem_07_missing_parameters_are_told_at_once_with_folder_and_who_set_it() {
    let output = cuzk()
        .args(["prove", &post(), "--backend", "cpu", "-o", &nowhere()])
        .env("FIL_PROOFS_PARAMETER_CACHE", "/nowhere/params")
        .output()
        .unwrap();
    let words = [
        "error[parameters_missing]",
        "/nowhere/params",
        "set by FIL_PROOFS_PARAMETER_CACHE",
        ".params",
        "lotus fetch-params 2KiB",
    ];
    assert_says(&output, 3, &words);
}

#[test]
fn user_problem_08_nothing_is_generated_by_accident_and_empty_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_says(
        &prove_with(folder.path(), &[]),
        3,
        &["error[parameters_missing]", "--test-params generates insecure"],
    );
    assert_eq!(files(folder.path()), Vec::<String>::new());
    let empty = folder.path().join(parameters().file_name().unwrap());
    fs::write(&empty, b"").unwrap();
    assert_says(&prove_with(folder.path(), &[]), 3, &["error[parameters]", "0 found"]);
}

#[test]
fn user_problem_09_memory_is_predicted_and_refused_before_the_kernel_kills() {
    let output = run(&[
        "prove",
        &c1(),
        "--miner",
        "1000",
        "--test-params",
        "--backend",
        "cpu",
        "--memory",
        "500MiB",
        "-o",
        "/dev/null",
    ]);
    assert_says(
        &output,
        3,
        &["error[memory]", "of host memory are needed", "there are 500 MiB (by --memory)"],
    );
    assert_says(&run(&["inspect", &c1()]), 0, &["memory       about "]);
}

#[test]
fn user_problem_10_a_gpu_that_was_asked_for_is_never_replaced_by_the_processor() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report").display().to_string();
    let proof = folder.path().join("proof").display().to_string();
    let prove = |backend: &str| {
        run(&["prove", &post(), "--test-params", "--backend", backend, "--report", &report, "-o", &proof])
    };
    let on = || -> serde_json::Value { serde_json::from_slice(&fs::read(&report).unwrap()).unwrap() };
    match prove("cuda") {
        output if exit_code(&output) == 0 => assert_eq!(on()["backend"]["name"], "cuda"),
        output => {
            assert_says(&output, 3, &["error[device_missing]"]);
            assert_eq!(files(folder.path()), Vec::<String>::new());
        }
    }
    assert_says(&prove("auto"), 0, &["auto: "]);
    assert!(on()["backend"]["why"].as_str().unwrap().starts_with("auto: "));
}

#[test]
fn user_problem_12_the_version_needs_no_driver_and_no_environment() {
    let output = cuzk().args(["--version", "--verbose"]).env_clear().output().unwrap();
    assert_says(&output, 0, &["kernels "]);
}

#[test]
fn user_problem_13_every_device_is_named_with_the_reason_it_is_skipped_for() {
    let output = run(&["doctor", "--backend", "cuda"]);
    let text = stdout(&output);
    let gpu: Vec<&str> = text.lines().filter(|line| line[9..].starts_with("gpu ")).collect();
    assert!(!gpu.is_empty(), "{text}");
    let usable = gpu.iter().any(|line| line.starts_with("ok"));
    assert_eq!(exit_code(&output) == 0, usable, "{text}");
    assert!(usable || gpu.iter().any(|line| line.starts_with("PROBLEM") && line.contains(':')), "{text}");
}

#[test]
fn user_problem_14_loading_synthesis_transforms_and_sums_are_timed_apart() {
    let output = prove_with(parameters().parent().unwrap(), &["--json", "--quiet"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for phase in [
        "decode",
        "check",
        "load_parameters",
        "witness",
        "evaluate",
        "ntt",
        "msm_h",
        "msm_l",
        "msm_b_g2",
        "verify",
        "total",
    ] {
        assert!(
            report["phases_ms"][phase].as_f64().is_some_and(|ms| ms > 0.0),
            "{phase}: {}",
            report["phases_ms"]
        );
    }
}

#[test]
fn user_problem_16_long_work_gives_signs_of_life() {
    // More than any machine does before it says something.
    let mut child = cuzk()
        .args(["selftest", "--backend", "cpu", "--repeat", "1000000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let beat = lines.take(100).find(|line| line.contains(" s: proof ") && line.contains(" in memory"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(beat.is_some());
}

#[test]
fn user_problem_17_a_failure_has_its_whole_chain_of_causes_and_a_code() {
    let missing = run(&["prove", "/nonexistent/c1.json", "-o", &nowhere()]);
    assert_says(
        &missing,
        2,
        &["error[input_unreadable]: ", "/nonexistent/c1.json", "No such file or directory"],
    );
    assert!(!stderr(&missing).contains("panicked"));
}

#[test]
fn user_problem_18_an_input_is_explained_and_a_missing_key_is_named() {
    assert_says(
        &run(&["inspect", &c1()]),
        0,
        &["a C1 output", "StackedDrg2KiBV1_1", "partitions   1", "comm_r"],
    );
    let missing = golden("c1_missing_key/c1.json").display().to_string();
    assert_says(&run(&["inspect", &missing]), 2, &["error[input_missing_key]", "Phase1Out"]);
}

#[test]
fn user_problem_19_storage_that_is_read_only_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("sector");
    fs::create_dir(&input).unwrap();
    for file in ["statement.json", "vanilla.json"] {
        fs::copy(golden("../window-post-2kib-v1_2/valid").join(file), input.join(file)).unwrap();
    }
    // Not even root can write to a read-only mount; where no namespace is to be had, the modes have to do.
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && ! touch \"$1\"/file 2>/dev/null && shift && exec \"$@\"";
    let inside = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--map-root-user", "--user", "sh", "-c", line, "sh"]).arg(&input);
        unshare.args(command).output()
    };
    fs::set_permissions(&input, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    let proof = folder.path().join("proof").display().to_string();
    let statement = input.join("statement.json").display().to_string();
    let prove = ["prove", &statement, "--test-params", "--backend", "cpu", "-o", &proof];
    let output = match inside(&["true"]) {
        Ok(tried) if tried.status.success() => {
            inside(&[&[env!("CARGO_BIN_EXE_cuzk")], &prove[..]].concat()).unwrap()
        }
        _ => run(&prove),
    };
    assert_says(&output, 0, &["verified"]);
    assert_eq!(files(&input), ["statement.json", "vanilla.json"]);
}

#[test]
fn user_problem_20_a_proof_has_to_have_its_whole_length() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(golden("../window-post-2kib-v1_2/valid/proof.bin")).unwrap();
    let proof = folder.path().join("proof");
    for bytes in [
        &whole[..192],
        &whole[..whole.len() - 1],
        &[&whole[..], &[0]].concat(),
        &[&whole[..], &whole[..]].concat(),
    ] {
        fs::write(&proof, bytes).unwrap();
        let output = run(&["verify", proof.to_str().unwrap(), "--statement", &post(), "--test-params"]);
        assert_says(&output, 2, &["error[proof_length]"]);
    }
    fs::write(&proof, whole).unwrap();
    assert_says(
        &run(&["verify", proof.to_str().unwrap(), "--statement", &post(), "--test-params"]),
        0,
        &["verified"],
    );
}

#[test]
fn user_problem_21_a_proof_that_does_not_verify_is_refused() {
    // What `prove` writes was verified before, by the same function.
    let proof = golden("proof_negated_c/proof.bin").display().to_string();
    let output = run(&["verify", &proof, "--statement", &c1(), "--miner", "1000", "--test-params"]);
    assert_says(&output, 1, &["error[proof_invalid]"]);
}

#[test]
fn user_problem_22_the_ordinary_build_runs_on_any_processor_and_says_what_it_uses() {
    let output = run(&["--version", "--verbose", "--json"]);
    let version: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let features = version["build"]["target_features"].as_array().unwrap();
    assert!(
        features.iter().all(|feature| ["fxsr", "sse", "sse2", "x87"].contains(&feature.as_str().unwrap())),
        "{version}"
    );
    assert_says(&run(&["doctor"]), 0, &["processor", "arithmetic "]);
}

#[test]
fn user_problem_23_the_same_proof_again_and_again_is_compared_bit_by_bit() {
    let output = run(&["selftest", "--backend", "cpu", "--repeat", "3", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (report["faults"].as_array().unwrap().len(), report["prove_ms"].as_array().unwrap().len()),
        (0, 3)
    );
}

#[test]
fn user_problem_24_what_does_not_belong_together_is_refused_before_any_work() {
    let output = run(&["prove", &c1(), "--miner", "1001", "--test-params", "-o", &nowhere()]);
    assert_says(&output, 2, &["error[wrong_identity]", "replica"]);
    let changed = golden("sibling_flipped/c1.json").display().to_string();
    let output = run(&["prove", &changed, "--miner", "1000", "--test-params", "-o", &nowhere()]);
    assert_says(&output, 2, &["error[false_vanilla_proof]"]);
}

#[test]
fn user_problem_26_what_a_kind_needs_is_told_for_the_machine() {
    let output = run(&["doctor", "--for", "winning-post-32GiB", "--backend", "cpu", "--params", "/nowhere"]);
    assert_says(&output, 3, &["memory", "for a partition on cpu", "no /nowhere/", "error[doctor]"]);
    assert!(parameters().exists());
    let output = run(&["doctor", "--for", "window-post-2KiB", "--test-params", "--backend", "cpu"]);
    assert_says(&output, 0, &["insecure test parameters"]);
}

#[test]
fn user_problem_27_an_aggregate_is_told_from_plain_proofs_by_its_length() {
    let suite = golden("../porep-2kib-ni/valid");
    let input = suite.join("c1.json").display().to_string();
    for (proof, form) in [("aggregate.bin", "aggregate"), ("proof.bin", "proof")] {
        let proof = suite.join(proof).display().to_string();
        let output =
            run(&["verify", &proof, "--statement", &input, "--miner", "1000", "--test-params", "--json"]);
        assert_says(&output, 0, &[&format!("\"form\": \"{form}\"")]);
    }
}
