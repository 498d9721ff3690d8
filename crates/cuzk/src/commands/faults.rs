//! `cuzk faults`: for the conformance suite, in builds with faults only.

use serde::Serialize;

use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Fault {
    name: &'static str,
    area: &'static str,
    what: &'static str,
    case: &'static str,
    tuning: &'static str,
    seen: &'static str,
}

pub(crate) fn run() -> Result<(), Failure> {
    let fault = |of: &cuzk_fault::Description| Fault {
        name: of.name,
        area: of.area,
        what: of.what,
        case: of.case,
        tuning: of.tuning,
        seen: of.seen,
    };
    let faults: Vec<Fault> = cuzk_fault::ALL.iter().filter(|of| !of.seen.is_empty()).map(fault).collect();
    output::print(&output::json(&serde_json::json!({ "variable": cuzk_fault::VARIABLE, "faults": faults })))
}
