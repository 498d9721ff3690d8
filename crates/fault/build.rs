//! Turns faults on purpose on in the profile `faults`, and nowhere else: a release build must not have them.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(faults_allowed)");
    // Cargo tells the profile's own name only by the folder: …/<profile>/build/<package>/out.
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let of_profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let profile = of_profile.unwrap_or_default().to_string_lossy();
    // For the build scripts of dependents.
    println!("cargo::metadata=PROFILE={profile}");
    if profile == "faults" {
        println!("cargo::rustc-cfg=faults_allowed");
        println!("cargo::rustc-cfg=fault_injection");
    }
}
