//! Creates golden suites: a fixture of a 2 KiB sector, its proof by upstream's prover, and what a prover has to refuse.
//! All of it is a function of the binary and the seeds, so that making a suite again changes nothing.
//!
//! A suite is made in two steps. The first runs the binary and leaves the case `valid`, whose values are upstream's.
//! The second derives every other case from it ([`derive()`]); what is expected of those is written down in the modules
//! of the kinds, never taken from a run. Then the binary has to agree with all of them before anything is replaced.

mod bincode;
mod porep;
mod post;
mod reference;
mod snap;
mod suite;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::Error;
use crate::case::{
    Arguments, Flag, Form, PARAMETERS_FILE, Parameters, ParametersFile, SCHEMA, SCHEMA_FILE, json_schema,
    pretty, read_json,
};
use crate::prover::Prover;
use crate::rows::{REFERENCE, Row, Tuning};
use crate::run::{Runner, Status};
use reference::StatementFile;
use suite::Suite;

/// The suites, in the order in which they are made.
const RECIPES: [&Recipe; 6] =
    [&porep::V1_1, &porep::SYNTHETIC, &post::WINNING, &post::WINDOW, &snap::V1, &porep::NON_INTERACTIVE];

/// How a suite is made.
struct Recipe {
    /// Name of the suite.
    name: &'static str,
    /// What follows `cuzk fixture`, but for sector size, seed and folder.
    fixture: &'static str,
    /// Name of the fixture's file that is proved.
    input: &'static str,
    /// The comment of the valid case.
    comment: &'static str,
    /// The flags of the valid case.
    flags: &'static [Flag],
    /// What comes of it.
    form: Form,
    /// What the command line of the valid case says, of what the fixture's statement does.
    arguments: fn(&StatementFile) -> Arguments,
    /// Writes the cases that belong to the kind.
    cases: fn(&Suite) -> Result<(), Error>,
}

impl Recipe {
    fn of(name: &str) -> Result<&'static Self, Error> {
        let found = RECIPES.into_iter().find(|recipe| recipe.name == name);
        found.ok_or_else(|| Error::UnknownSuite(name.to_owned()))
    }
}

/// The names of the suites that can be made.
pub fn suites() -> [&'static str; RECIPES.len()] {
    RECIPES.map(|recipe| recipe.name)
}

/// Makes a suite in a golden folder, with the schema and the suite's parameters, and returns the names of its cases.
/// Nothing is changed before the binary has agreed with every case.
pub fn make(prover: &Prover, golden: &Path, suite: &str) -> Result<Vec<String>, Error> {
    let recipe = Recipe::of(suite)?;
    fs::create_dir_all(golden).map_err(Error::io("create", golden))?;
    let staging =
        TempDir::with_prefix_in("staging-", golden).map_err(Error::io("make a folder in", golden))?;
    // The prover runs in other folders.
    let staged = staging.path().canonicalize().map_err(Error::io("open", staging.path()))?;
    let folder = staged.join(recipe.name);
    let valid = reference::write_valid(prover, recipe, &folder)?;
    derive(suite, &folder)?;
    let names = agree(prover, &staged)?;
    write_parameters(golden, [Some(valid.parameters), valid.inner_product_key])?;
    write(&golden.join(SCHEMA_FILE), pretty(&json_schema()).as_bytes())?;
    replace(&folder, &golden.join(recipe.name))?;
    Ok(names)
}

/// Writes every case of a suite but `valid` into its folder, from the `valid` that is there. No prover is run.
pub fn derive(suite: &str, folder: &Path) -> Result<(), Error> {
    let recipe = Recipe::of(suite)?;
    let suite = Suite::open(recipe, folder)?;
    suite.write_judgements()?;
    (recipe.cases)(&suite)
}

/// Runs the cases as anybody would run them, and returns their names. The valid one runs too: a prover whose reference
/// does not repeat itself would make a case that nobody can pass. One that is flagged as too long for that does not.
fn agree(prover: &Prover, staged: &Path) -> Result<Vec<String>, Error> {
    let runner = Runner::open(staged)?;
    let rows = [Row { backend: REFERENCE.to_owned(), tuning: Tuning::default() }];
    let (mut names, mut disagreements) = (Vec::new(), Vec::new());
    for folder in runner.select("") {
        let too_long = folder.load()?.flags.contains(&Flag::NotOnReference);
        for outcome in runner.run(prover, folder, &rows, &mut |_| ())? {
            let left_out = too_long && matches!(outcome.status, Status::Skipped { .. });
            if outcome.status != Status::Ok && !left_out {
                disagreements.push(outcome.to_string());
            }
        }
        names.push(folder.id.clone());
    }
    if disagreements.is_empty() { Ok(names) } else { Err(Error::Disagrees(disagreements.join("\n"))) }
}

/// Puts the suite's parameters into the common list, in place of those of the same name and seed.
fn write_parameters(golden: &Path, parameters: [Option<Parameters>; 2]) -> Result<(), Error> {
    let path = golden.join(PARAMETERS_FILE);
    let mut file = match path.exists() {
        true => read_json(&path)?,
        false => ParametersFile { schema: SCHEMA, parameters: vec![] },
    };
    for parameters in parameters.into_iter().flatten() {
        file.parameters.retain(|old| (&old.name, old.test_seed) != (&parameters.name, parameters.test_seed));
        file.parameters.push(parameters);
    }
    file.parameters.sort();
    write(&path, pretty(&file).as_bytes())
}

fn replace(new: &Path, old: &Path) -> Result<(), Error> {
    if old.exists() {
        fs::remove_dir_all(old).map_err(Error::io("remove", old))?;
    }
    fs::rename(new, old).map_err(Error::io("create", old))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::io("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(Error::io("write", path))
}
