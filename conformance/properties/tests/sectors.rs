//! Random sectors of every kind: true statements, and both ways of synthesis leave the same witness, a and b.

use std::sync::LazyLock;

use cuzk_filecoin::fixture::{PorepFixture, PostFixture, SnapFixture};
use cuzk_filecoin::synthetic::C1Shape;
use cuzk_filecoin::{
    Input, Kind, MAX_INPUT_BYTES, Overrides, PorepApi, SectorSize, Statement, seal_of_size, update_of_size,
    window_post, winning_post,
};
use cuzk_r1cs::{PackedWitness, Template, evaluate_packed};
use proptest::prelude::*;

const SIZE: SectorSize = SectorSize::KiB2;

/// Which sector: everything that the generator can be told.
#[derive(Clone, Debug)]
struct Sector {
    kind: Kind,
    miner: u64,
    sector: u64,
    sectors: usize,
    seed: u64,
}

fn sector(kind: Kind) -> impl Strategy<Value = Sector> {
    (any::<u64>(), 0..u64::MAX / 2, 1usize..6, any::<u64>())
        .prop_map(move |(miner, sector, sectors, seed)| Sector { kind, miner, sector, sectors, seed })
}

impl Sector {
    fn statement(&self) -> Statement {
        let folder = tempfile::tempdir().unwrap();
        let Sector { kind, miner, sector, sectors, seed } = *self;
        let post = |registered_proof, sectors| {
            PostFixture { registered_proof, miner, sector, sectors, seed }.write_synthetic(folder.path())
        };
        let written = match kind {
            Kind::Porep => {
                let registered_proof = seal_of_size(SIZE, PorepApi::V1_1);
                PorepFixture { registered_proof, miner, sector, shape: C1Shape::Outer, seed }
                    .write_synthetic(folder.path())
            }
            Kind::WinningPost => post(winning_post(SIZE), 1),
            Kind::WindowPost => post(window_post(SIZE), sectors),
            Kind::Snap => SnapFixture { registered_proof: update_of_size(SIZE), market: false, seed }
                .write_synthetic(folder.path()),
        };
        written.unwrap();
        let input = Input::open(&folder.path().join("statement.json"), None, MAX_INPUT_BYTES).unwrap();
        Statement::new(input, &Overrides::default()).unwrap()
    }
}

fn holds(sector: &Sector, template: &Template) -> Result<(), TestCaseError> {
    let statement = sector.statement();
    statement.check().unwrap();
    statement.check_vanilla_proofs().unwrap();
    let partitions = statement.partitions();
    if sector.kind == Kind::WindowPost {
        prop_assert_eq!(partitions, sector.sectors.div_ceil(2));
    }
    for partition in 0..partitions {
        let witness = statement.witness(partition, template).unwrap();
        statement.check_witness(partition, template, &witness).unwrap();
        let enforced = statement.synthesize_presized(partition).unwrap();
        let (a, b) = evaluate_packed(template, &witness).unwrap();
        let packed = PackedWitness::pack(template, enforced.inputs, &enforced.aux).unwrap();
        // Too long to be shown.
        prop_assert!(witness == packed, "partition {partition}: another witness");
        prop_assert!(a == enforced.a && b == enforced.b, "partition {partition}: other rows");
    }
    Ok(())
}

/// The template of a kind, derived once for all its cases.
fn template(kind: Kind) -> &'static Template {
    static TEMPLATES: LazyLock<Vec<(Kind, Template)>> = LazyLock::new(|| {
        let of = |kind| {
            let sector = Sector { kind, miner: 1, sector: 1, sectors: 1, seed: 1 };
            (kind, sector.statement().registered_proof().derive_template().unwrap())
        };
        Kind::ALL.into_iter().map(of).collect()
    });
    &TEMPLATES.iter().find(|(of, _)| *of == kind).unwrap().1
}

proptest! {
    // A PoRep takes some 3 s on a core, the others less than one.
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn random_poreps(sector in sector(Kind::Porep)) {
        holds(&sector, template(Kind::Porep))?;
    }

    #[test]
    fn random_winning_posts(sector in sector(Kind::WinningPost)) {
        holds(&sector, template(Kind::WinningPost))?;
    }

    #[test]
    fn random_window_posts(sector in sector(Kind::WindowPost)) {
        holds(&sector, template(Kind::WindowPost))?;
    }

    #[test]
    fn random_updates(sector in sector(Kind::Snap)) {
        holds(&sector, template(Kind::Snap))?;
    }
}
