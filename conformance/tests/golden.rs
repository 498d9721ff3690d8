//! The golden folder of this repository is in order.

use std::path::Path;

#[test]
fn the_golden_folder_has_no_faults() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    let (cases, problems) = cuzk_conformance::lint::lint(&golden).unwrap();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{cases} cases:\n{}", problems.join("\n"));
}
