//! The golden cases against the `cuzk` of this workspace: every two values of two axes together on `cpu`, and upstream itself.

use std::path::Path;
use std::time::Duration;

use cuzk_conformance::case::{Case, Expected, Flag};
use cuzk_conformance::prover::Prover;
use cuzk_conformance::rows::{self, Coverage, REFERENCE, Row, Tuning};
use cuzk_conformance::run::{Count, Runner, Status};

/// How many outcomes a case has with these rows.
fn outcomes_of(case: &Case, rows: &[Row]) -> usize {
    match case.expected {
        // On `cpu` and on the reference, where a case that is not for that is skipped with a reason.
        Expected::Proof(_) if case.flags.contains(&Flag::DefaultsOnly) => 2,
        Expected::Proof(_) => rows.len(),
        Expected::Failure(_) | Expected::Accepted(_) => 1,
    }
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
        let case = folder.load().unwrap();
        let outcomes = runner.run(&prover, folder, &rows, &mut |outcome| println!("{outcome}")).unwrap();
        assert_eq!(outcomes.len(), outcomes_of(&case, &rows), "{}", folder.id);
        for outcome in outcomes {
            count.add(&outcome.status);
            let row = outcome.row.as_deref();
            // Nothing else may be skipped: not for want of instructions or of time.
            let may_be_skipped = row.is_some_and(|row| row.contains("isa=avx512ifma"))
                || row == Some(REFERENCE) && case.flags.contains(&Flag::NotOnReference);
            let skipped = matches!(outcome.status, Status::Skipped { .. });
            assert!(may_be_skipped || !skipped, "{outcome}");
        }
    }
    println!("{count}");
    assert!(count.is_success(), "{count}");
}
