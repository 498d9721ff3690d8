//! `cuzk fixture`

use std::fs;

use anyhow::{Context, anyhow};
use cuzk_filecoin::SectorSize;
use cuzk_filecoin::fixture::{PorepFixture, registered_porep};

use crate::arguments::{FixtureArguments, FixtureKind, PorepFixtureArguments};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &FixtureArguments) -> Result<(), Failure> {
    match &arguments.kind {
        FixtureKind::Porep(arguments) => porep(arguments),
    }
}

fn porep(arguments: &PorepFixtureArguments) -> Result<(), Failure> {
    let size = arguments.sector_size;
    if size.is_production() {
        return Err(Failure::refused(
            "fixture_too_big",
            anyhow!("sealing {size} takes hours and hundreds of GiB; use 2KiB or 8MiB"),
        ));
    }
    if size == SectorSize::MiB512 && !arguments.big {
        return Err(Failure::refused(
            "fixture_too_big",
            anyhow!("sealing {size} takes hours; --big allows it"),
        ));
    }
    let folder = &arguments.out;
    fs::create_dir_all(folder)
        .with_context(|| folder.display().to_string())
        .map_err(|error| Failure::environment("output", error))?;
    let fixture = PorepFixture {
        registered_proof: registered_porep(size, arguments.api.into()),
        miner: arguments.miner,
        sector: arguments.sector,
        seed: arguments.seed,
    };
    fixture.write(folder)?;
    output::print(&format!(
        "{:?}, miner {}, sector {}, seed {}: really sealed; wrote {} and statement.json\n",
        fixture.registered_proof,
        fixture.miner,
        fixture.sector,
        fixture.seed,
        folder.join("c1.json").display()
    ))
}
