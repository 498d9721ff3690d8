//! Runs the real binary.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The binary, with an environment that does not depend on the user's.
pub(crate) fn cuzk() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuzk"));
    command.env_remove("FIL_PROOFS_PARAMETER_CACHE").env_remove("COLUMNS").env_remove("RUST_BACKTRACE");
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    cuzk().args(arguments).output().expect("the binary runs")
}

pub(crate) fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/porep-2kib-v1_1").join(file)
}

pub(crate) fn c1() -> String {
    golden("valid/c1.json").display().to_string()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

pub(crate) fn exit_code(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

/// The files in a folder, by name.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
