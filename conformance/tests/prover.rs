//! The golden cases against the `cuzk` of this workspace: every value of every axis on `cpu`, and upstream itself.

use std::path::Path;
use std::time::Duration;

use cuzk_conformance::prover::Prover;
use cuzk_conformance::rows::{self, Row, Tuning};
use cuzk_conformance::run::{Count, Runner};

#[test]
fn every_way_of_computing_a_proof_gives_upstreams_bytes() {
    let binary = Path::new(env!("CARGO_BIN_EXE_cuzk-conformance")).with_file_name("cuzk");
    assert!(
        binary.exists(),
        "no {}: `cargo test --workspace` builds it, as does `cargo build`",
        binary.display()
    );
    let prover = Prover { binary, timeout: Duration::from_secs(1200) };
    let mut rows = rows::product(&["cpu".to_owned()], &rows::each(&prover).unwrap());
    rows.push(Row { backend: "reference".to_owned(), tuning: Tuning::default() });

    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    let runner = Runner::open(&golden).unwrap();
    let mut count = Count::default();
    for folder in runner.select("") {
        for outcome in runner.run(&prover, folder, &rows, &mut |outcome| println!("{outcome}")).unwrap() {
            count.add(&outcome.status);
        }
    }
    println!("{count}");
    // The valid case once in each row, the others once; rows whose instructions this machine lacks are skipped, and
    // `isa=avx512ifma` is the only such row.
    assert_eq!(count.failed, 0);
    assert!(count.skipped <= 1 && count.passed + count.skipped >= rows.len() + 9, "{count}");
}
