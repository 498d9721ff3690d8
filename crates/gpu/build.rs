//! Compiles the kernels in `cuda/` with nvcc, where there is one, into fat binaries that the crate embeds.
//!
//! nvcc is `$CUZK_NVCC`, else `$CUDA_HOME/bin/nvcc`, else the first on the path (a change of which alone builds nothing again). Without one the crate has no kernels and says so when a
//! GPU is asked for; `CUZK_REQUIRE_NVCC=1` makes that an error of the build. `CUZK_CUDA_ARCHS=90` (a list with commas)
//! shortens developers' builds. What ptxas says of each kernel's registers and stack is kept in `resources.txt`, which
//! tests/resources.rs reads; it is empty without kernels.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files that become a binary each.
const KERNELS: [(&str, &str); 3] = [("ntt", "ntt/ntt.cu"), ("r1cs", "r1cs/r1cs.cu"), ("msm", "msm/msm.cu")];
/// Compute capabilities that a release has code for, and the newest of which it has PTX for later ones.
const ARCHITECTURES: &str = "80,86,89,90,100,120";

fn main() {
    let sources = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../cuda");
    for part in ["ec", "ff", "msm", "ntt", "r1cs", "kernel.cuh"] {
        println!("cargo:rerun-if-changed={}", sources.join(part).display());
    }
    for variable in ["CUZK_NVCC", "CUDA_HOME", "CUZK_CUDA_ARCHS", "CUZK_REQUIRE_NVCC"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    let kernels = match nvcc() {
        Some(nvcc) => compile(&nvcc, &sources, &out),
        None if env::var("CUZK_REQUIRE_NVCC").is_ok_and(|value| value == "1") => {
            panic!(
                "CUZK_REQUIRE_NVCC=1, and no nvcc: set CUZK_NVCC to its path, or CUDA_HOME, or add it to PATH"
            )
        }
        None => {
            fs::write(out.join("resources.txt"), "").expect("OUT_DIR can be written");
            "None".to_owned()
        }
    };
    let code = format!(
        "pub(crate) const KERNELS: Option<[(&str, &[u8]); {}]> = {kernels};\npub(crate) const ARCHITECTURES: &[u32] = &[{}];\n",
        KERNELS.len(),
        architectures()
    );
    fs::write(out.join("kernels.rs"), code).expect("OUT_DIR can be written");
}

fn nvcc() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = set("CUZK_NVCC") {
        return Some(path.into());
    }
    let at_home = set("CUDA_HOME").map(|home| Path::new(&home).join("bin/nvcc"));
    let on_path =
        env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join("nvcc")).collect::<Vec<_>>();
    at_home.into_iter().chain(on_path).find(|path| path.is_file())
}

/// Compute capabilities, with commas: 90 for 9.0.
fn architectures() -> String {
    let wanted = env::var("CUZK_CUDA_ARCHS").ok().filter(|wanted| !wanted.is_empty());
    wanted.unwrap_or_else(|| ARCHITECTURES.to_owned())
}

/// The expression with all binaries; writes the resources.
fn compile(nvcc: &Path, sources: &Path, out: &Path) -> String {
    let architectures = architectures();
    let architectures: Vec<&str> = architectures.split(',').map(str::trim).collect();
    let newest = architectures.last().expect("a split has a part");
    let mut flags: Vec<String> = architectures
        .iter()
        .map(|architecture| format!("-gencode=arch=compute_{architecture},code=sm_{architecture}"))
        .collect();
    flags.push(format!("-gencode=arch=compute_{newest},code=compute_{newest}"));
    let mut resources = String::new();
    let entries: Vec<String> = KERNELS
        .iter()
        .map(|(name, source)| {
            let binary = out.join(format!("{name}.fatbin"));
            let output = Command::new(nvcc)
                .args(["-std=c++20", "-O3", "-Xptxas=-v", "-fatbin", "-o"])
                .arg(&binary)
                .args(&flags)
                .arg(sources.join(source))
                .output()
                .unwrap_or_else(|error| panic!("{}: {error}", nvcc.display()));
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {source}: {}\n{messages}", nvcc.display(), output.status);
            for line in messages.lines().filter(|line| line.contains("warning")) {
                println!("cargo:warning={line}");
            }
            resources.push_str(&messages);
            format!("({name:?}, include_bytes!({:?}))", binary.display().to_string())
        })
        .collect();
    fs::write(out.join("resources.txt"), resources).expect("OUT_DIR can be written");
    format!("Some([{}])", entries.join(", "))
}
