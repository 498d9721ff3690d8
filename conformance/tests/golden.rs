//! The golden folder of this repository is in order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cuzk_conformance::case::{entries, name};
use cuzk_conformance::make;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden")
}

#[test]
fn the_golden_folder_has_no_faults() {
    let (cases, problems) = cuzk_conformance::lint::lint(&golden()).unwrap();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{cases} cases:\n{}", problems.join("\n"));
}

/// The files of a case, by name.
fn files(case: &Path) -> BTreeMap<String, Vec<u8>> {
    entries(case).unwrap().iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

/// The files of all cases of a suite.
fn cases(suite: &Path) -> BTreeMap<String, BTreeMap<String, Vec<u8>>> {
    entries(suite).unwrap().iter().map(|case| (name(case), files(case))).collect()
}

/// A case that was edited, or a change of the program whose suite was not made again, would show here.
#[test]
fn every_case_is_what_the_program_derives_from_the_valid_one() {
    let suites = entries(&golden()).unwrap().into_iter().filter(|path| path.is_dir());
    for committed in suites {
        let (suite, folder) = (name(&committed), tempfile::tempdir().unwrap());
        let valid = folder.path().join("valid");
        fs::create_dir(&valid).unwrap();
        for (file, bytes) in files(&committed.join("valid")) {
            fs::write(valid.join(file), bytes).unwrap();
        }
        make::derive(&suite, folder.path()).unwrap();
        let (derived, committed) = (cases(folder.path()), cases(&committed));
        let differing: Vec<&String> = (derived.keys().chain(committed.keys()))
            .filter(|case| derived.get(*case) != committed.get(*case))
            .collect();
        assert!(differing.is_empty(), "{suite}: {differing:?}");
    }
    assert!(make::derive("no-such-suite", Path::new("")).is_err());
}
