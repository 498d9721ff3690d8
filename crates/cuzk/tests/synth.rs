//! `cuzk synth`: the same witness, a, b and c whatever the tuning, and what upstream's pieces make of the golden case.

mod common;

use std::fs;

use common::{c1, exit_code, files, golden, run, stderr, stdout};
use serde_json::Value;

/// Every way to synthesize, and numbers of threads.
const WAYS: [&[&str]; 5] = [
    &["--tune", "synthesis=template", "--threads", "1"],
    &["--tune", "synthesis=template", "--threads", "2"],
    &["--tune", "synthesis=template", "--threads", "3", "--check-witness"],
    &["--tune", "synthesis=enforce,presize=on"],
    &["--tune", "synthesis=enforce,presize=off", "--repeat", "2"],
];

fn synth(input: &str, more: &[&str]) -> Value {
    let output = run(&[&["synth", input, "--digests", "--json", "--quiet"], more].concat());
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The partitions' digests are the same in every way.
fn assert_all_ways_agree(input: &str, more: &[&str]) -> Value {
    let digests = |report: &Value| -> Vec<Value> {
        report["partitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|partition| partition["digests"].clone())
            .collect()
    };
    let first = synth(input, &[WAYS[0], more].concat());
    for way in &WAYS[1..] {
        assert_eq!(digests(&synth(input, &[way, more].concat())), digests(&first), "{way:?}");
    }
    first
}

#[test]
fn the_golden_porep_has_upstreams_digests_in_every_way() {
    let report = assert_all_ways_agree(&c1(), &["--miner", "1000"]);
    let case: Value = serde_json::from_slice(&fs::read(golden("valid/case.json")).unwrap()).unwrap();
    let partition = &report["partitions"][0];
    for step in ["witness", "a", "b", "c"] {
        let expected = &case["expected"]["digests"][0][step];
        assert!(expected.is_string(), "the golden case has {step}");
        assert_eq!(&partition["digests"][step], expected, "{step}");
    }
    assert_eq!(partition["constraints"], 2_687_921);
    assert_eq!((&partition["inputs"], &partition["aux"]), (&40.into(), &2_685_673.into()));
}

#[test]
fn the_other_kinds_are_the_same_in_every_way() {
    for kind in ["winning-post", "window-post", "snap"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().display().to_string();
        let output = run(&["fixture", kind, "--synthetic", "--out", &out]);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        assert_all_ways_agree(&format!("{out}/statement.json"), &[]);
    }
}

#[test]
fn partitions_are_picked_and_constraints_compared() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    run(&["fixture", "window-post", "--synthetic", "--sectors", "2", "--out", &out]);
    let statement = format!("{out}/statement.json");
    let report = folder.path().join("report.json").display().to_string();
    let output = run(&[
        "synth",
        &statement,
        "--partitions",
        "0",
        "--repeat",
        "3",
        "--check-witness",
        "--counters",
        "--report",
        &report,
    ]);
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let table = stdout(&output);
    for part in ["21866 constraints, 23 inputs", "every constraint satisfied", "3 repetitions", "counter"] {
        assert!(table.contains(part), "{table}");
    }
    assert_eq!(files(folder.path()), ["report.json", "statement.json", "vanilla.json"]);
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(report["schema"], "cuzk-synth");
    assert_eq!(report["partitions"][0]["satisfied"], true);
    assert_eq!(report["repetitions"].as_array().unwrap().len(), 3);
    for phase in ["witness", "evaluate", "synthesis", "check"] {
        let spread = &report["phases_ms"][phase];
        let time = |name: &str| spread[name].as_f64().unwrap();
        assert!(time("min") <= time("median") && time("median") <= time("max"), "{phase}: {spread}");
    }
    for (name, count) in report["counters"].as_object().unwrap() {
        assert!(count == "not supported" || count.as_f64().unwrap() > 0.0, "{name}: {count}");
    }

    let output = run(&["synth", &statement, "--partitions", "1"]);
    assert_eq!(exit_code(&output), 2);
    assert!(stderr(&output).contains("error[no_such_partition]: partition 1 of a statement with 1"));
}
