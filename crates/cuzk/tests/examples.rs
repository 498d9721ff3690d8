//! The examples that `--help` shows, as somebody would type them.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{golden, run, stderr, stdout};

/// The commands that a help text shows.
fn examples(command: &[&str]) -> Vec<String> {
    let help = stdout(&run(&[command, &["--help"][..]].concat()));
    let shown = help.split_once("Examples:\n").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    shown.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// A folder with what the examples name: a PoRep with its proof, and a window PoSt.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &Path, to: &str| fs::copy(from, folder.path().join(to)).unwrap();
    copy(&golden("valid/c1.json"), "c1.json");
    copy(&golden("valid/proof.bin"), "c1.proof");
    let porep = golden("../porep-2kib-ni/valid");
    copy(&porep.join("c1.json"), "ni.json");
    copy(&porep.join("proof.bin"), "ni.proof");
    let post = golden("../window-post-2kib-v1_2/valid");
    copy(&post.join("statement.json"), "statement.json");
    copy(&post.join("vanilla.json"), "vanilla.json");
    folder
}

#[test]
fn every_example_does_what_it_says() {
    let folder = folder();
    let binary = Path::new(env!("CARGO_BIN_EXE_cuzk")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    // Later ones use what earlier ones leave.
    let commands: [&[&str]; 14] = [
        &["prove"],
        &["verify"],
        &["join"],
        &["aggregate"],
        &["inspect"],
        &["doctor"],
        &["synth"],
        &["fixture"],
        &["params"],
        &["selftest"],
        &["errors"],
        &["completions"],
        &["man"],
        &["variants"],
    ];
    for command in commands {
        let examples = examples(command);
        assert!(!examples.is_empty(), "{command:?} has none");
        for example in examples {
            let mut shell = Command::new("sh");
            shell.args(["-c", &example]).current_dir(folder.path()).env("PATH", &path);
            let output = shell.env_remove("FIL_PROOFS_PARAMETER_CACHE").output().unwrap();
            assert!(output.status.success(), "{example}: {}", stderr(&output));
        }
    }
    for made in
        ["statement.proof", "statement.0.part", "ni.aggregate", "sector/c1.json", "cuzk.bash", "man1/cuzk.1"]
    {
        assert!(folder.path().join(made).exists(), "{made}");
    }
}
