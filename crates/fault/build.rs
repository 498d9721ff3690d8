//! Turns faults on purpose on in the profile `faults`, and nowhere else: a release build must not have them.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(faults_allowed)");
    // Cargo tells the profile's own name only by the folder: …/<profile>/build/<package>/out.
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let of_profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    if of_profile.is_some_and(|name| name == "faults") {
        println!("cargo::rustc-cfg=faults_allowed");
        println!("cargo::rustc-cfg=fault_injection");
        // For the build scripts of crates that have a cfg of their own for it.
        println!("cargo::metadata=ON=1");
    }
}
