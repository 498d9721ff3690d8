//! Refuses faults on purpose in every profile but `faults`: a release build must not have them.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo tells the profile's own name only by the folder: <target>/<profile>/build/<package>/out.
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let of_profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    if env::var_os("CARGO_CFG_FAULT_INJECTION").is_some() && of_profile.is_none_or(|name| name != "faults") {
        println!("cargo::error=--cfg fault_injection is for `--profile faults` alone");
    }
}
