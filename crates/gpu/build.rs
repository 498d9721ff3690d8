//! Compiles the kernels in `cuda/` with nvcc, where there is one, into fat binaries that the crate embeds.
//!
//! nvcc is `$CUZK_NVCC`, else `$CUDA_HOME/bin/nvcc`, else the first on the path (a change of which alone builds nothing again). Without one the crate has no kernels and says so when a
//! GPU is asked for; `CUZK_REQUIRE_NVCC=1` makes that an error of the build. `CUZK_CUDA_ARCHS=90` (a list with commas)
//! shortens developers' builds.
//!
//! `CUZK_KERNELS=DIR` takes kernels that were compiled before, of the same sources: all that this program leaves in `OUT_DIR`, which are
//! the fat binaries, `sources.txt` (a digest), `architectures.txt`, `cuda.txt` (the compiler's release), and what ptxas says of each
//! kernel's registers and stack, `resources.txt`, which tests/resources.rs reads. The program needs nothing but std, so that it can be
//! compiled alone to make them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files that become a binary each.
const KERNELS: [(&str, &str); 4] = [
    ("ntt", "ntt/ntt.cu"),
    ("r1cs", "r1cs/r1cs.cu"),
    ("msm", "msm/msm.cu"),
    ("fixed_base", "msm/fixed_base.cu"),
];
/// What they include, in `cuda/`.
const SOURCES: [&str; 6] = ["ec", "ff", "kernel.cuh", "msm", "ntt", "r1cs"];
/// Compute capabilities that a release has code for, and the newest of which it has PTX for later ones.
const ARCHITECTURES: &str = "80,86,89,90,100,120";

fn main() {
    let sources = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../cuda");
    for part in SOURCES {
        println!("cargo:rerun-if-changed={}", sources.join(part).display());
    }
    for variable in ["CUZK_KERNELS", "CUZK_NVCC", "CUDA_HOME", "CUZK_CUDA_ARCHS", "CUZK_REQUIRE_NVCC"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    let kernels = match (set("CUZK_KERNELS"), nvcc()) {
        (Some(folder), _) => {
            let folder = PathBuf::from(folder);
            println!("cargo:rerun-if-changed={}", folder.display());
            let compiled = fs::read_to_string(folder.join("sources.txt")).unwrap_or_default();
            let message = "CUZK_KERNELS: the kernels there are of other sources than these";
            assert!(compiled == digest(&sources), "{message}: {}", folder.display());
            Some(folder)
        }
        (None, Some(nvcc)) => {
            compile(&nvcc, &sources, &out);
            Some(out.clone())
        }
        (None, None) if set("CUZK_REQUIRE_NVCC").is_some_and(|value| value == "1") => {
            panic!(
                "CUZK_REQUIRE_NVCC=1, and no nvcc: set CUZK_NVCC to its path, or CUDA_HOME, or add it to PATH"
            )
        }
        (None, None) => None,
    };
    embed(kernels.as_deref(), &out);
}

/// A variable that is set to something.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// A digest (FNV-1a, 64 bits) of the names and the text of all sources: kernels and host code have to be of the same.
fn digest(sources: &Path) -> String {
    fn add(digest: u64, path: &Path) -> u64 {
        let mix = |digest: u64, bytes: &[u8]| {
            bytes
                .iter()
                .fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        };
        let digest = mix(digest, path.file_name().expect("a part has a name").as_encoded_bytes());
        if path.is_file() {
            let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            return mix(digest, &text);
        }
        let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a listed file").path()).collect();
        paths.sort();
        paths.iter().fold(digest, |digest, path| add(digest, path))
    }
    let digest = SOURCES.iter().fold(0xcbf2_9ce4_8422_2325, |digest, part| add(digest, &sources.join(part)));
    format!("{digest:016x}")
}

/// Writes the code that embeds what a folder holds, and leaves the resources where tests find them.
fn embed(folder: Option<&Path>, out: &Path) {
    let read = |name: &str| match folder {
        Some(folder) => {
            let path = folder.join(name);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        }
        None => String::new(),
    };
    let binaries = folder.map(|folder| {
        let entry = |(name, _)| format!("({name:?}, include_bytes!({:?}))", folder.join(fatbin(name)));
        format!("[{}]", KERNELS.map(entry).join(", "))
    });
    let code = format!(
        "pub(crate) const KERNELS: Option<[(&str, &[u8]); {}]> = {};\npub(crate) const ARCHITECTURES: &[u32] = \
         &[{}];\npub(crate) const CUDA: &str = {:?};\n",
        KERNELS.len(),
        binaries.map_or_else(|| "None".to_owned(), |binaries| format!("Some({binaries})")),
        read("architectures.txt").trim(),
        read("cuda.txt").trim(),
    );
    fs::write(out.join("kernels.rs"), code).expect("OUT_DIR can be written");
    fs::write(out.join("resources.txt"), read("resources.txt")).expect("OUT_DIR can be written");
}

fn fatbin(name: &str) -> String {
    format!("{name}.fatbin")
}

fn nvcc() -> Option<PathBuf> {
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
    let wanted = set("CUZK_CUDA_ARCHS").map(|list| list.into_string().expect("numbers and commas"));
    wanted.unwrap_or_else(|| ARCHITECTURES.to_owned())
}

/// Leaves all kernels and what is to be known of them.
fn compile(nvcc: &Path, sources: &Path, out: &Path) {
    let list = architectures();
    let architectures: Vec<&str> = list.split(',').map(str::trim).collect();
    let newest = architectures.last().expect("a split has a part");
    let mut flags: Vec<String> = architectures
        .iter()
        .map(|architecture| format!("-gencode=arch=compute_{architecture},code=sm_{architecture}"))
        .collect();
    flags.push(format!("-gencode=arch=compute_{newest},code=compute_{newest}"));
    let mut resources = String::new();
    for (name, source) in KERNELS {
        let messages = run(Command::new(nvcc)
            .args(["-std=c++20", "-O3", "-Xptxas=-v", "-fatbin", "-o"])
            .arg(out.join(fatbin(name)))
            .args(&flags)
            .arg(sources.join(source)))
        .1;
        for line in messages.lines().filter(|line| line.contains("warning")) {
            println!("cargo:warning={line}");
        }
        // But for times: the same kernels are to be the same bytes.
        for line in messages.lines().filter(|line| !line.contains("Compile time")) {
            resources.push_str(line);
            resources.push('\n');
        }
    }
    let write = |name: &str, text: &str| fs::write(out.join(name), text).expect("OUT_DIR can be written");
    write("resources.txt", &resources);
    write("architectures.txt", &list);
    write("sources.txt", &digest(sources));
    // "Cuda compilation tools, release 13.0, V13.0.88"
    let version = run(Command::new(nvcc).arg("--version")).0;
    write(
        "cuda.txt",
        version.split_once(", V").map_or("unknown", |(_, rest)| rest.lines().next().unwrap_or(rest)),
    );
}

/// What a command says on stdout and stderr; it has to succeed.
fn run(command: &mut Command) -> (String, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", output.status);
    (stdout, stderr)
}
