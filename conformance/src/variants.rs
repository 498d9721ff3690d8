//! Building the product once for each storage of linear combinations (axis `lc`).
//!
//! Upstream's `bellpepper-core` keeps a linear combination's terms in a `Vec`. A variant is built from a copy of its
//! source, from the registry's or a vendored folder, with three edits and one in the manifest, each of which has to match
//! exactly once, so that another version of upstream is noticed. The workspace is copied, too: cargo writes the patched
//! package into the lock file, and the product's own must not change. Nothing of upstream is kept in the repository.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Error;

/// How many terms a linear combination holds without an allocation: a `SmallVec`'s capacity, or none for a `Vec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LcStorage {
    /// Upstream's `Vec`.
    Vec,
    /// `SmallVec` with this capacity.
    SmallVec(u8),
}

impl LcStorage {
    /// All that are built.
    pub const ALL: [LcStorage; 4] =
        [LcStorage::Vec, LcStorage::SmallVec(1), LcStorage::SmallVec(2), LcStorage::SmallVec(4)];

    /// The value of axis `lc`.
    pub fn name(self) -> String {
        match self {
            LcStorage::Vec => "vec".to_owned(),
            LcStorage::SmallVec(capacity) => format!("smallvec-{capacity}"),
        }
    }

    /// The variant of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// Replaces `from`, which has to occur exactly once.
fn replace_once(path: &Path, text: &str, from: &str, to: &str) -> Result<String, Error> {
    match text.matches(from).count() {
        1 => Ok(text.replacen(from, to, 1)),
        found => {
            Err(Error::EditDoesNotMatch { path: path.to_owned(), pattern: from.trim().to_owned(), found })
        }
    }
}

/// Turns a copy of `bellpepper-core` into the variant.
fn edit(source: &Path, capacity: u8) -> Result<(), Error> {
    let small = format!("    values: smallvec::SmallVec<[(usize, T); {capacity}]>,\n");
    let edits = [
        ("src/lc.rs", "    values: Vec<(usize, T)>,\n", &small[..]),
        (
            "src/lc.rs",
            "            values: Vec::new(),\n",
            "            values: smallvec::SmallVec::new(),\n",
        ),
        (
            "src/lc.rs",
            "            values: vec![(index, value)],\n",
            "            values: smallvec::smallvec![(index, value)],\n",
        ),
        (
            "Cargo.toml",
            "[dependencies.thiserror]\n",
            "[dependencies.smallvec]\nversion = \"1\"\n\n[dependencies.thiserror]\n",
        ),
    ];
    for (file, from, to) in edits {
        let path = source.join(file);
        let text = fs::read_to_string(&path).map_err(io("read", &path))?;
        fs::write(&path, replace_once(&path, &text, from, to)?).map_err(io("write", &path))?;
    }
    Ok(())
}

/// What to build.
#[derive(Clone, Debug)]
pub struct VariantBuild {
    /// The root of the workspace.
    pub workspace: PathBuf,
    /// The folder for the binaries, the copies of the source, and cargo's target folder, which all variants share.
    pub out: PathBuf,
    /// Cargo's `--target`, if it is to be given.
    pub target: Option<String>,
}

impl VariantBuild {
    /// Builds the variants without network and returns one binary for each: `<out>/cuzk-<variant>`. A second build
    /// compiles only what has changed.
    pub fn run(&self, variants: &[LcStorage]) -> Result<Vec<PathBuf>, Error> {
        let lock = self.workspace.join("Cargo.lock");
        let lock_before = fs::read(&lock).map_err(io("read", &lock))?;
        let (upstream, copy) = (self.upstream()?, self.out.join("workspace"));
        copy_anew(&self.workspace, &copy, &self.out)?;
        let built = variants.iter().map(|variant| self.build(*variant, &copy, &upstream)).collect();
        let lock_after = fs::read(&lock).map_err(io("read", &lock))?;
        assert!(lock_before == lock_after, "the product's own lock file is never written");
        built
    }

    fn build(&self, variant: LcStorage, workspace: &Path, upstream: &Path) -> Result<PathBuf, Error> {
        let mut cargo = Command::new("cargo");
        // As a build of the workspace: building one package would choose other features of what lies below.
        cargo.current_dir(workspace).args([
            "build",
            "--release",
            "--offline",
            "--workspace",
            "--bin",
            "cuzk",
        ]);
        let mut built = self.out.join("target");
        cargo.arg("--target-dir").arg(&built);
        if let Some(target) = &self.target {
            cargo.args(["--target", target]);
            built.push(target);
        }
        // Cargo writes the patched package into the lock file, which the next variant must not see.
        let lock = Path::new("Cargo.lock");
        fs::copy(self.workspace.join(lock), workspace.join(lock)).map_err(io("copy", lock))?;
        if let LcStorage::SmallVec(capacity) = variant {
            let source = self.out.join(format!("bellpepper-core-{}", variant.name()));
            copy_anew(upstream, &source, &self.out)?;
            edit(&source, capacity)?;
            let path = toml_string(&source);
            cargo.args(["--config", &format!("patch.crates-io.bellpepper-core.path={path}")]);
        }
        run(&mut cargo)?;
        built.push("release/cuzk");
        let binary = self.out.join(format!("cuzk-{}", variant.name()));
        fs::copy(&built, &binary).map_err(io("copy", &built))?;
        Ok(binary)
    }

    /// The folder of `bellpepper-core`'s source, as the lock file names it.
    fn upstream(&self) -> Result<PathBuf, Error> {
        #[derive(Deserialize)]
        struct Metadata {
            packages: Vec<Package>,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
            manifest_path: PathBuf,
        }
        // For this platform alone: what others need may never have been fetched.
        let version = run(Command::new("rustc").arg("-vV").stdout(Stdio::piped()))?;
        let version = String::from_utf8_lossy(&version).into_owned();
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.workspace).args(["metadata", "--format-version=1", "--offline", "--locked"]);
        cargo.args(["--filter-platform", host]);
        let json = run(cargo.stdout(Stdio::piped()))?;
        let metadata: Metadata = serde_json::from_slice(&json)
            .map_err(|source| Error::Json { path: "cargo metadata".into(), source })?;
        let package = metadata.packages.into_iter().find(|package| package.name == "bellpepper-core");
        let manifest = package.map(|package| package.manifest_path).unwrap_or_default();
        manifest.parent().map(Path::to_owned).ok_or(Error::Command {
            command: "cargo metadata".to_owned(),
            ended: "names no bellpepper-core".to_owned(),
        })
    }
}

/// Runs a command to its end and returns its standard output, if that is piped.
fn run(command: &mut Command) -> Result<Vec<u8>, Error> {
    let line = format!("{command:?}");
    let output = command.stderr(Stdio::inherit()).stdin(Stdio::null()).spawn();
    let output = output.and_then(|child| child.wait_with_output()).map_err(io("run", Path::new(&line)))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Error::Command { command: line, ended: output.status.to_string() }),
    }
}

/// Copies a folder to where nothing of it is left.
fn copy_anew(from: &Path, to: &Path, except: &Path) -> Result<(), Error> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(io("remove", to))?;
    }
    copy_tree(from, to, except)
}

/// Copies a folder, but for what git and cargo keep in it and for `except`.
fn copy_tree(from: &Path, to: &Path, except: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(io("make", to))?;
    for entry in fs::read_dir(from).map_err(io("list", from))? {
        let entry = entry.map_err(io("list", from))?;
        let (path, name) = (entry.path(), entry.file_name());
        if [".git", "target"].map(OsStr::new).contains(&&name[..]) || path == except {
            continue;
        }
        let copy = to.join(&name);
        if entry.file_type().map_err(io("look at", &path))?.is_dir() {
            copy_tree(&path, &copy, except)?;
        } else {
            fs::copy(&path, &copy).map_err(io("copy", &path))?;
            keep_time(&path, &copy).map_err(io("set the time of", &copy))?;
        }
    }
    Ok(())
}

/// A copy is as old as what it was copied from, so that cargo does not take it for changed.
fn keep_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    // Upstream's files may be read-only, and so are their copies, but for their owner's call.
    let mut permissions = fs::metadata(to)?.permissions();
    if permissions.readonly() {
        permissions.set_mode(permissions.mode() | 0o200);
        fs::set_permissions(to, permissions)?;
    }
    fs::File::options().write(true).open(to)?.set_modified(modified)
}

/// A path as a TOML string.
fn toml_string(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that the edits match, as upstream has them.
    fn fake_upstream(folder: &Path) {
        fs::create_dir(folder.join("src")).unwrap();
        let lc = "struct Indexer<T> {\n    values: Vec<(usize, T)>,\n}\nfn a() {\n        Indexer {\n            \
                  values: Vec::new(),\n        }\n}\nfn b() {\n        Indexer {\n            values: vec![(index, \
                  value)],\n        }\n}\n";
        fs::write(folder.join("src/lc.rs"), lc).unwrap();
        fs::write(folder.join("Cargo.toml"), "[package]\n\n[dependencies.thiserror]\nversion = \"1\"\n")
            .unwrap();
    }

    #[test]
    fn edits_match_once_or_the_pattern_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fake_upstream(folder.path());
        edit(folder.path(), 2).unwrap();
        let lc = fs::read_to_string(folder.path().join("src/lc.rs")).unwrap();
        assert!(lc.contains("SmallVec<[(usize, T); 2]>") && !lc.contains("Vec::new(),\n        Vec"));
        assert_eq!(lc.matches("smallvec::").count(), 3);
        assert!(
            fs::read_to_string(folder.path().join("Cargo.toml")).unwrap().contains("[dependencies.smallvec]")
        );
        // A second time there is nothing to replace.
        match edit(folder.path(), 2) {
            Err(Error::EditDoesNotMatch { pattern, found: 0, .. }) => {
                assert_eq!(pattern, "values: Vec<(usize, T)>,");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn upstreams_source_is_the_one_that_the_edits_match() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let build = VariantBuild { out: workspace.join("target/variants"), workspace, target: None };
        let folder = tempfile::tempdir().unwrap();
        copy_tree(&build.upstream().unwrap(), folder.path(), &build.out).unwrap();
        edit(folder.path(), 4).unwrap();
    }
}
