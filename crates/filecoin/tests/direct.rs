//! Written witnesses against walked ones, value for value.

use std::path::Path;

use cuzk_field::{Engine, testing::engines};
use cuzk_filecoin::fixture::{PorepFixture, PostFixture, SnapFixture};
use cuzk_filecoin::synthetic::C1Shape;
use cuzk_filecoin::{
    Error, Input, Kind, MAX_INPUT_BYTES, Overrides, PorepApi, SectorSize, Statement, seal_of_size,
    update_of_size, window_post, winning_post,
};
use cuzk_r1cs::Template;

fn open(file: &Path) -> Statement {
    let input = Input::open(file, None, MAX_INPUT_BYTES).unwrap();
    Statement::new(input, &Overrides::default()).unwrap()
}

/// A synthetic statement.
fn synthetic(kind: Kind, size: SectorSize, sectors: usize, seed: u64) -> Statement {
    let folder = tempfile::tempdir().unwrap();
    let post = |registered_proof| {
        PostFixture { registered_proof, miner: 1000, sector: 7, sectors, seed }.write_synthetic(folder.path())
    };
    let written = match kind {
        Kind::Porep => {
            let registered_proof = seal_of_size(size, PorepApi::V1_1);
            PorepFixture { registered_proof, miner: 1000, sector: 7, shape: C1Shape::Outer, seed }
                .write_synthetic(folder.path())
        }
        Kind::WinningPost => post(winning_post(size)),
        Kind::WindowPost => post(window_post(size)),
        Kind::Snap => SnapFixture { registered_proof: update_of_size(size), market: false, seed }
            .write_synthetic(folder.path()),
    };
    written.unwrap();
    open(&folder.path().join("statement.json"))
}

/// Every value of these partitions by every arithmetic, and every constraint of the first.
fn assert_written_as_walked(statement: &Statement, partitions: &[usize]) {
    let template = statement.registered_proof().derive_template().unwrap();
    assert_written_by(&template, statement, partitions);
}

/// The same of the first blocks.
fn assert_blocks_written_as_walked(statement: &Statement, partition: usize, blocks: usize) {
    let template = statement.registered_proof().derive_template().unwrap();
    assert_written_by(&template.with_instances(blocks).unwrap(), statement, &[partition]);
}

fn assert_written_by(template: &Template, statement: &Statement, partitions: &[usize]) {
    let engines: Vec<Option<Engine>> = [None].into_iter().chain(engines().into_iter().map(Some)).collect();
    // Each witness is written over an earlier one, of which nothing may be left.
    let mut scalars = vec![];
    for partition in partitions {
        let walked = statement.witness(*partition, template).unwrap();
        for engine in &engines {
            let written = statement.write_witness(*partition, template, *engine, scalars).unwrap();
            let engine = engine.map_or("portable", Engine::name);
            let name = format!("{}, partition {partition}, {engine}", statement.registered_proof());
            assert_eq!(
                written.first_difference(&walked, template).unwrap(),
                None,
                "{name}: this variable is another"
            );
            assert!(written == walked, "{name}: other inputs");
            // One for all, as they are equal.
            if (partition, engine) == (&partitions[0], "portable") {
                statement.check_witness(*partition, template, &written).unwrap();
            }
            scalars = written.scalars;
            scalars.fill(cuzk_r1cs::Fr::from(3));
        }
    }
}

#[test]
fn golden_statements() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden");
    for (suite, partitions) in [
        ("porep-2kib-v1_1", &[0][..]),
        ("porep-2kib-synthetic", &[0]),
        ("porep-2kib-ni", &[0, 12]),
        ("winning-post-2kib-v1", &[0]),
        // The second partition has one sector twice.
        ("window-post-2kib-v1_2", &[0, 1]),
        ("snap-2kib-v1", &[0]),
    ] {
        assert_written_as_walked(&open(&golden.join(suite).join("valid/statement.json")), partitions);
    }
}

#[test]
fn random_sectors() {
    for seed in 1..6 {
        assert_written_as_walked(&synthetic(Kind::Porep, SectorSize::KiB2, 0, seed), &[0]);
        assert_written_as_walked(&synthetic(Kind::WindowPost, SectorSize::KiB2, 3, seed), &[0, 1]);
    }
}

#[test]
fn poreps_of_8_and_512_mib() {
    for size in [SectorSize::MiB8, SectorSize::MiB512] {
        assert_written_as_walked(&synthetic(Kind::Porep, size, 0, 1), &[0]);
    }
}

#[test]
fn blocks_of_poreps_of_32_and_64_gib() {
    for (size, partition, blocks) in [(SectorSize::GiB32, 9, 2), (SectorSize::GiB64, 0, 1)] {
        assert_blocks_written_as_walked(&synthetic(Kind::Porep, size, 0, 1), partition, blocks);
    }
}

#[test]
fn posts_of_every_size() {
    for size in [SectorSize::MiB8, SectorSize::MiB512] {
        assert_written_as_walked(&synthetic(Kind::WindowPost, size, 1, 1), &[0]);
    }
    for size in [SectorSize::GiB32, SectorSize::GiB64] {
        assert_blocks_written_as_walked(&synthetic(Kind::WindowPost, size, 1, 1), 0, 1);
    }
    for size in [SectorSize::MiB8, SectorSize::MiB512, SectorSize::GiB32, SectorSize::GiB64] {
        assert_written_as_walked(&synthetic(Kind::WinningPost, size, 1, 1), &[0]);
    }
}

#[test]
fn replica_updates() {
    for seed in 1..4 {
        assert_written_as_walked(&synthetic(Kind::Snap, SectorSize::KiB2, 0, seed), &[0]);
    }
    // Of several partitions.
    assert_written_as_walked(&synthetic(Kind::Snap, SectorSize::MiB8, 0, 1), &[0, 1]);
}

#[test]
#[ignore = "5 min: circuits of tens of millions of rows, which have to be walked whole"]
fn large_replica_updates() {
    for size in [SectorSize::MiB512, SectorSize::GiB32, SectorSize::GiB64] {
        assert_written_as_walked(&synthetic(Kind::Snap, size, 0, 1), &[0]);
    }
}

#[test]
fn a_difference_from_the_walk_has_the_name_of_its_gadget() {
    let statement = synthetic(Kind::WindowPost, SectorSize::KiB2, 1, 1);
    let template = statement.registered_proof().derive_template().unwrap();
    let mut written = statement.write_witness(0, &template, None, vec![]).unwrap();
    statement.check_written(0, &template, &written).unwrap();
    *written.scalars.last_mut().unwrap() += cuzk_r1cs::Fr::from(1);
    match statement.check_written(0, &template, &written) {
        Err(Error::WrittenOtherwise { partition: 0, variable }) => {
            let last = format!("aux variable {} (", template.n_aux() - 1);
            assert!(variable.starts_with(&last), "{variable}");
            assert!(variable.contains("/sector_1/challenge_inclusion_9/"), "{variable}");
        }
        other => panic!("{other:?}"),
    }
    *written.inputs.last_mut().unwrap() += cuzk_r1cs::Fr::from(1);
    match statement.check_written(0, &template, &written) {
        Err(Error::WrittenOtherwise { partition: 0, variable }) => assert!(variable.starts_with("input ")),
        other => panic!("{other:?}"),
    }
}
