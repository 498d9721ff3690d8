//! `cuzk fixture`

use std::fs;

use anyhow::{Context, anyhow};
use cuzk_filecoin::fixture::{PorepFixture, PostFixture, SnapFixture};
use cuzk_filecoin::{Kind, SectorSize, seal_of_size, update_of_size, window_post, winning_post};

use crate::arguments::{
    FixtureArguments, FixtureKind, FixtureOutput, PorepFixtureArguments, PostFixtureArguments,
    SnapFixtureArguments,
};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &FixtureArguments) -> Result<(), Failure> {
    match &arguments.kind {
        FixtureKind::Porep(arguments) => porep(arguments),
        FixtureKind::WinningPost(arguments) => post(Kind::WinningPost, arguments),
        FixtureKind::WindowPost(arguments) => post(Kind::WindowPost, arguments),
        FixtureKind::Snap(arguments) => snap(arguments),
    }
}

fn porep(arguments: &PorepFixtureArguments) -> Result<(), Failure> {
    let output = &arguments.output;
    let fixture = PorepFixture {
        registered_proof: seal_of_size(output.sector_size, arguments.api.into()),
        miner: arguments.miner,
        sector: arguments.sector,
        shape: arguments.shape.into(),
        seed: output.seed,
    };
    prepare(output)?;
    if output.synthetic {
        fixture.write_synthetic(&output.out)?
    } else {
        fixture.write(&output.out)?
    }
    done(
        output,
        &format!("{:?}, miner {}, sector {}", fixture.registered_proof, fixture.miner, fixture.sector),
        fixture.file_name(),
    )
}

/// Far more than a deadline has.
const MAX_PARTITIONS: usize = 10;

fn post(kind: Kind, arguments: &PostFixtureArguments) -> Result<(), Failure> {
    let output = &arguments.output;
    let (registered_proof, partition, most) = match kind {
        Kind::WinningPost => (winning_post(output.sector_size), 1, 1),
        _ => {
            let proof = window_post(output.sector_size);
            (proof, proof.sector_count(), MAX_PARTITIONS * proof.sector_count())
        }
    };
    let sectors = arguments.sectors.unwrap_or(partition);
    if !(1..=most).contains(&sectors) {
        let message = anyhow!("{sectors} sectors: a fixture of {registered_proof:?} has 1 to {most}");
        return Err(Failure::refused("usage", message));
    }
    if arguments.sector.checked_add(sectors as u64).is_none() {
        let message = anyhow!("sector numbers from {} on leave no room for {sectors}", arguments.sector);
        return Err(Failure::refused("usage", message));
    }
    let fixture = PostFixture {
        registered_proof,
        miner: arguments.miner,
        sector: arguments.sector,
        sectors,
        seed: output.seed,
    };
    prepare(output)?;
    if output.synthetic {
        fixture.write_synthetic(&output.out)?
    } else {
        fixture.write(&output.out)?
    }
    done(
        output,
        &format!("{registered_proof:?}, miner {}, {sectors} sector(s)", fixture.miner),
        "vanilla.json",
    )
}

fn snap(arguments: &SnapFixtureArguments) -> Result<(), Failure> {
    let output = &arguments.output;
    let (registered_proof, market) = (update_of_size(output.sector_size), arguments.market);
    let fixture = SnapFixture { registered_proof, market, seed: output.seed };
    prepare(output)?;
    if output.synthetic {
        fixture.write_synthetic(&output.out)?
    } else {
        fixture.write(&output.out)?
    }
    done(output, &format!("{:?}", fixture.registered_proof), "vanilla.json")
}

/// Refuses what would take hours, and makes the folder.
fn prepare(output: &FixtureOutput) -> Result<(), Failure> {
    let size = output.sector_size;
    let too_big = |message| Err(Failure::refused("fixture_too_big", message));
    if !output.synthetic && size.is_production() {
        return too_big(anyhow!(
            "sealing {size} takes hours and hundreds of GiB; --synthetic makes one in seconds"
        ));
    }
    if !output.synthetic && size == SectorSize::MiB512 && !output.big {
        return too_big(anyhow!(
            "sealing {size} takes hours; --big allows it, --synthetic makes one in seconds"
        ));
    }
    make_folder(output)
}

fn make_folder(output: &FixtureOutput) -> Result<(), Failure> {
    fs::create_dir_all(&output.out)
        .with_context(|| output.out.display().to_string())
        .map_err(|error| Failure::environment("output", error))
}

fn done(output: &FixtureOutput, what: &str, file: &str) -> Result<(), Failure> {
    let how = if output.synthetic { "synthetic" } else { "really sealed" };
    let path = output.out.join(file);
    output::print(&format!(
        "{what}, seed {}: {how}; wrote {} and statement.json\n",
        output.seed,
        path.display()
    ))
}
