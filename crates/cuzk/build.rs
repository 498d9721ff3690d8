//! Tells the program where it comes from, as environment variables of its compilation that `src/provenance.rs` reads.
//!
//! The revision is `$CUZK_REVISION`, for builds from a copy without git's data, else what git says; `$CUZK_NAR_HASH` is the
//! hash by which Nix knows the source.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../..");
    println!("cargo::rerun-if-env-changed=CUZK_REVISION");
    println!("cargo::rerun-if-env-changed=CUZK_NAR_HASH");
    // With a commit or a branch, and with whatever is compiled: then the tree may be as committed, or no longer.
    for path in [".git/HEAD", ".git/logs/HEAD", "Cargo.lock", "conformance", "crates", "cuda", "golden"] {
        if root.join(path).exists() {
            println!("cargo::rerun-if-changed={}", root.join(path).display());
        }
    }
    let said = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let of_cargo = |name: &str| env::var(name).unwrap_or_default();
    tell("REVISION", &said("CUZK_REVISION").or_else(|| revision(&root)).unwrap_or_default());
    tell("NAR_HASH", &said("CUZK_NAR_HASH").unwrap_or_default());
    tell(
        "RUSTC",
        &first_line(Command::new(env::var_os("RUSTC").expect("set by cargo")).arg("--version"))
            .unwrap_or_default(),
    );
    tell("TARGET", &of_cargo("TARGET"));
    tell("TARGET_CPU", &target_cpu(&of_cargo("CARGO_ENCODED_RUSTFLAGS")).unwrap_or_default());
    tell("TARGET_FEATURES", &of_cargo("CARGO_CFG_TARGET_FEATURE"));
    // The build script of cuzk-fault finds it out.
    let profile = of_cargo("DEP_CUZK_FAULT_PROFILE");
    if profile == "faults" {
        println!("cargo::rustc-cfg=fault_injection");
    }
    tell("PROFILE", &profile);
}

fn tell(name: &str, value: &str) {
    println!("cargo::rustc-env=CUZK_BUILD_{name}={value}");
}

/// The commit, with `-dirty` where tracked files differ from it; none outside a repository or without git.
fn revision(root: &Path) -> Option<String> {
    // A copy inside another repository is not that one's.
    root.join(".git").exists().then_some(())?;
    first_line(Command::new("git").current_dir(root).args([
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]))
}

/// The processor that rustc compiles for, if a flag names one.
fn target_cpu(flags: &str) -> Option<String> {
    // Flags are separated by a byte of their own, and `-C` may be a flag by itself; the last one counts.
    flags
        .rsplit('\x1f')
        .find_map(|flag| flag.trim_start_matches("-C").trim().strip_prefix("target-cpu=").map(str::to_owned))
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}
