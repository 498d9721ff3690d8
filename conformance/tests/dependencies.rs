//! Third-party crates: each may be distributed, as its licence is one of those that `deny.toml` allows, and none is known to do harm,
//! by what `advisories.json` has of RustSec's database. That file names every crate that was looked up; a new one fails here until it is.
//! And each has the same features in every build, so that it is compiled once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use semver::{Version, VersionReq};
use serde::Deserialize;

/// The names between `allow = [` and `]`.
fn allowed(deny: &str) -> Vec<&str> {
    let list = deny.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    list.split('"').skip(1).step_by(2).collect()
}

/// Whether an SPDX expression can be met: `A OR B`, `A AND B`, `(…)`, `A WITH exception`; old manifests write `A/B`.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens = expression.split_whitespace().peekable();
    let met = any_of(&mut tokens, allowed);
    assert_eq!(tokens.next(), None, "{expression}");
    met
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(tokens: &mut Tokens<'_>, allowed: &[&str]) -> bool {
    let mut met = all_of(tokens, allowed);
    while tokens.next_if_eq(&"OR").is_some() {
        met |= all_of(tokens, allowed);
    }
    met
}

fn all_of(tokens: &mut Tokens<'_>, allowed: &[&str]) -> bool {
    let mut met = one(tokens, allowed);
    while tokens.next_if_eq(&"AND").is_some() {
        met &= one(tokens, allowed);
    }
    met
}

fn one(tokens: &mut Tokens<'_>, allowed: &[&str]) -> bool {
    let token = tokens.next().expect("a licence or a parenthesis");
    if token == "(" {
        let met = any_of(tokens, allowed);
        assert_eq!(tokens.next(), Some(")"));
        return met;
    }
    if tokens.next_if_eq(&"WITH").is_some() {
        // An exception permits more, never less.
        tokens.next();
    }
    allowed.contains(&token)
}

#[test]
fn expressions() {
    let met = |expression| is_met(expression, &["MIT", "Zlib"]);
    assert!(met("MIT") && met("GPL-3.0 OR MIT") && met("MIT/Apache-2.0") && met("MIT WITH x"));
    assert!(met("(MIT OR Apache-2.0) AND Zlib") && met("GPL-3.0 AND BSD OR Zlib"));
    assert!(!met("GPL-3.0") && !met("MIT AND GPL-3.0") && !met("(MIT OR Zlib) AND GPL-3.0 WITH x"));
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// None for our own.
    source: Option<String>,
}

fn packages() -> Vec<Package> {
    // Not `--offline`: what only other platforms need may not have been fetched yet.
    let arguments = ["metadata", "--format-version=1", "--locked"];
    let folder = env!("CARGO_MANIFEST_DIR");
    let output = Command::new("cargo").current_dir(folder).args(arguments).output().unwrap();
    let Metadata { packages } = serde_json::from_slice(&output.stdout).unwrap();
    assert!(packages.len() > 200, "{}", packages.len());
    packages
}

fn data(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn every_crate_may_be_distributed() {
    let deny = data("deny.toml");
    let allowed = allowed(&deny);
    assert!(allowed.contains(&"MIT"), "{allowed:?}");
    for Package { name, license, .. } in packages() {
        let licence = license.unwrap_or_else(|| panic!("{name} names no licence"));
        assert!(is_met(&licence, &allowed), "{name} is under {licence}, which deny.toml does not allow");
    }
}

#[derive(Deserialize)]
struct Advisories {
    /// Why a version is kept although an advisory concerns it, by the advisory's id.
    accepted: BTreeMap<String, String>,
    /// All crates that were looked up.
    looked_up: BTreeSet<String>,
    advisories: Vec<Advisory>,
}

#[derive(Deserialize)]
struct Advisory {
    id: String,
    package: String,
    patched: Vec<String>,
    unaffected: Vec<String>,
}

impl Advisory {
    fn concerns(&self, name: &str, version: &str) -> bool {
        let version = Version::parse(version).unwrap();
        let is_fine = |wanted: &String| VersionReq::parse(wanted).unwrap().matches(&version);
        self.package == name && !self.patched.iter().chain(&self.unaffected).any(is_fine)
    }
}

#[test]
fn no_crate_is_known_to_do_harm() {
    let Advisories { accepted, looked_up, advisories } =
        serde_json::from_str(&data("advisories.json")).unwrap();
    assert!(advisories.len() > 20, "{}", advisories.len());
    let mut unused: BTreeSet<&str> = accepted.keys().map(String::as_str).collect();
    for Package { name, version, source, .. } in packages() {
        if source.is_none() {
            continue;
        }
        assert!(looked_up.contains(&name), "look up {name}: what has RustSec's database of it?");
        for Advisory { id, .. } in advisories.iter().filter(|advisory| advisory.concerns(&name, &version)) {
            assert!(accepted.contains_key(id), "{name} {version}: {id}");
            unused.remove(&id[..]);
        }
    }
    assert_eq!(unused, BTreeSet::new(), "accepted, but of no concern any more");
}

#[test]
fn versions_are_compared() {
    let advisory = Advisory {
        id: String::new(),
        package: "a".to_owned(),
        patched: [">= 1.2.3", ">= 0.8.6, < 0.9.0"].map(str::to_owned).to_vec(),
        unaffected: ["< 0.2.0".to_owned()].to_vec(),
    };
    let concerns = |name, version| advisory.concerns(name, version);
    assert!(concerns("a", "1.2.2") && concerns("a", "0.8.5") && concerns("a", "0.9.0"));
    assert!(
        !concerns("a", "1.2.3")
            && !concerns("a", "0.8.6")
            && !concerns("a", "0.1.9")
            && !concerns("b", "1.0.0")
    );
}

/// Crates, versions and features of a build of this workspace.
fn features(build: &[&str]) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments = ["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"];
    let output = Command::new("cargo").current_dir(folder).args(arguments).args(build).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<_> = text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect();
    assert!(crates.len() > 200, "{}", String::from_utf8_lossy(&output.stderr));
    crates
}

/// Or the tests would compile upstream once more, which takes minutes.
#[test]
fn tests_and_programs_share_every_crate() {
    let (program, all) =
        (features(&["--edges", "normal,build"]), features(&["--workspace", "--edges", "normal,build,dev"]));
    assert_eq!(program.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new());
}
