//! The golden cases against the `cuzk` of this workspace: every two values of two axes together on `cpu`, and upstream itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use cuzk_conformance::case::{Case, CaseFolder, Expected, Flag};
use cuzk_conformance::prover::Prover;
use cuzk_conformance::rows::{self, Coverage, REFERENCE, Row, Tuning};
use cuzk_conformance::run::{Count, Outcome, Runner, Status};

/// The rows of a case: NI-PoRep has its defaults alone, as upstream takes five minutes for one of its partitions. That its bytes are
/// upstream's is in the golden files.
fn rows_of<'a>(folder: &CaseFolder, rows: &'a [Row]) -> &'a [Row] {
    let (last, others) = rows.split_last().unwrap();
    assert_eq!(last.backend, REFERENCE);
    if folder.id.starts_with("porep-2kib-ni/") { others } else { rows }
}

/// How many outcomes a case has with these rows.
fn outcomes_of(case: &Case, rows: &[Row]) -> usize {
    let backends = rows.iter().map(|row| &row.backend).collect::<BTreeSet<_>>().len();
    match case.expected {
        // One a backend, where a case that is not for the reference is skipped with a reason.
        Expected::Proof(_) if case.flags.contains(&Flag::DefaultsOnly) => backends,
        Expected::Proof(_) => rows.len(),
        Expected::Failure(_) | Expected::Accepted(_) => 1,
    }
}

/// Runs a case; its outcomes.
fn outcomes(runner: &Runner, prover: &Prover, folder: &CaseFolder, rows: &[Row]) -> Vec<Outcome> {
    let (case, rows) = (folder.load().unwrap(), rows_of(folder, rows));
    let outcomes = runner.run(prover, folder, rows, &mut |outcome| println!("{outcome}")).unwrap();
    assert_eq!(outcomes.len(), outcomes_of(&case, rows), "{}", folder.id);
    for Outcome { status, row, .. } in &outcomes {
        // Nothing else may be skipped: not for want of instructions or of time.
        let may_be_skipped = row.as_ref().is_some_and(|row| row.contains("isa=avx512ifma"))
            || row.as_deref() == Some(REFERENCE) && case.flags.contains(&Flag::NotOnReference);
        assert!(may_be_skipped || !matches!(status, Status::Skipped { .. }), "{}", folder.id);
    }
    outcomes
}

#[test]
fn every_way_of_computing_a_proof_gives_upstreams_bytes() {
    let binary = Path::new(env!("CARGO_BIN_EXE_cuzk-conformance")).with_file_name("cuzk");
    assert!(
        binary.exists(),
        "no {}: `cargo test --workspace` builds it, as does `cargo build`",
        binary.display()
    );
    let prover = Prover::new(binary, Duration::from_secs(1200));
    let mut rows = rows::covering(&prover, &["cpu".to_owned()], Coverage::Pairwise, &[]).unwrap();
    rows.push(Row { backend: REFERENCE.to_owned(), tuning: Tuning::default() });

    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    let runner = Runner::open(&golden).unwrap();
    let mut count = Count::default();
    for folder in runner.select("") {
        let outcomes = outcomes(&runner, &prover, folder, &rows);
        outcomes.iter().for_each(|outcome| count.add(&outcome.status));
    }
    println!("{count}");
    assert!(count.is_success(), "{count}");
}
