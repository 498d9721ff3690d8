//! Every shape of input: the same statement from each, and damage that ends in an error or in the same statement.

use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_filecoin::fixture::{PorepFixture, PostFixture, SnapFixture};
use cuzk_filecoin::synthetic::C1Shape;
use cuzk_filecoin::{
    Error, Input, Kind, MAX_INPUT_BYTES, Overrides, PorepApi, SectorSize, Statement, seal_of_size,
    update_of_size, window_post, winning_post,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// An input in one shape, what it does not carry, and the digest of its statement.
struct Shape {
    name: &'static str,
    bytes: Vec<u8>,
    overrides: Overrides,
    digest: [u8; 32],
}

impl Shape {
    fn new(name: &'static str, bytes: Vec<u8>, overrides: Overrides) -> Self {
        let digest = statement(name, &bytes, &overrides).unwrap().digest();
        Shape { name, bytes, overrides, digest }
    }

    fn refusal(&self, overrides: Overrides) -> &'static str {
        statement(self.name, &self.bytes, &overrides).unwrap_err().kind()
    }
}

fn statement(name: &str, bytes: &[u8], overrides: &Overrides) -> Result<Statement, Error> {
    let statement = Statement::new(Input::decode(bytes, name, overrides.kind)?, overrides)?;
    statement.check()?;
    statement.check_vanilla_proofs()?;
    Ok(statement)
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// A really sealed PoRep of 2 KiB in every shape that carries it.
static POREP: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    porep_fixture(C1Shape::Outer).write(folder.path()).unwrap();
    let outer = read(folder.path(), "c1.json");
    let parsed: Value = serde_json::from_slice(&outer).unwrap();
    let inner = STANDARD.decode(parsed["Phase1Out"].as_str().unwrap()).unwrap();
    let inner_value: Value = serde_json::from_slice(&inner).unwrap();
    // serde_json sorts the keys of a Value: another order than upstream's.
    let market = json!({ "PoRep": inner_value, "SectorID": { "Number": 7, "Miner": 1000 }, "Snap": null });
    let miner = Overrides { miner: Some(1000), ..Overrides::default() };
    let sector = Overrides { sector: Some(7), ..miner.clone() };
    vec![
        Shape::new("outer", outer, miner),
        Shape::new("bincode", bincode_of(&inner), sector.clone()),
        Shape::new("inner", inner, sector.clone()),
        Shape::new("inner, keys sorted", inner_value.to_string().into_bytes(), sector),
        Shape::new("market", market.to_string().into_bytes(), Overrides::default()),
    ]
});

fn porep_fixture(shape: C1Shape) -> PorepFixture {
    let registered_proof = seal_of_size(SectorSize::KiB2, PorepApi::V1_1);
    PorepFixture { registered_proof, miner: 1000, sector: 7, shape, seed: 3 }
}

fn snap_fixture(market: bool) -> SnapFixture {
    SnapFixture { registered_proof: update_of_size(SectorSize::KiB2), market, seed: 2 }
}

/// Fixtures write each shape as the field does: what upstream's types and a request put together here say.
#[test]
fn fixtures_come_in_every_shape() {
    let written = |shape, file| {
        let folder = tempfile::tempdir().unwrap();
        porep_fixture(shape).write(folder.path()).unwrap();
        let input = Input::open(&folder.path().join("statement.json"), None, MAX_INPUT_BYTES).unwrap();
        let statement = Statement::new(input, &Overrides::default()).unwrap();
        assert_eq!(statement.digest(), POREP[0].digest, "{shape:?}");
        read(folder.path(), file)
    };
    let shape = |name| &POREP.iter().find(|shape| shape.name == name).unwrap().bytes;
    assert!(&written(C1Shape::Bincode, "c1.bin") == shape("bincode"));
    assert!(&written(C1Shape::Inner, "c1.json") == shape("inner"));
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    assert!(value(&written(C1Shape::Market, "c1.json")) == value(shape("market")));

    let folder = tempfile::tempdir().unwrap();
    snap_fixture(true).write_synthetic(folder.path()).unwrap();
    let market = OTHERS.iter().find(|shape| shape.name == "market snap").unwrap();
    assert!(value(&read(folder.path(), "vanilla.json")) == value(&market.bytes));
}

/// Bincode of `filecoin_proofs`' own type, from the inner JSON.
fn bincode_of(inner: &[u8]) -> Vec<u8> {
    use filecoin_proofs::SealCommitPhase1Output;
    use filecoin_proofs::constants::SectorShape2KiB;
    let mut value: Value = serde_json::from_slice(inner).unwrap();
    value["vanilla_proofs"] = value["vanilla_proofs"]["StackedDrg2KiBV1"].take();
    let phase1: SealCommitPhase1Output<SectorShape2KiB> = serde_json::from_value(value).unwrap();
    bincode::serialize(&phase1).unwrap()
}

fn bytes32(statement: &Value, key: &str) -> Option<[u8; 32]> {
    Some(hex::decode(statement[key].as_str().unwrap()).unwrap().try_into().unwrap())
}

/// Winning, window, update, and the update in a market request.
static OTHERS: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let made = |write: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let statement: Value = serde_json::from_slice(&read(folder.path(), "statement.json")).unwrap();
        (read(folder.path(), "vanilla.json"), statement)
    };
    let post = |name, registered_proof, sectors| {
        let fixture = PostFixture { registered_proof, miner: 1000, sector: 5, sectors, seed: 2 };
        let (vanilla, statement) = made(&|folder| fixture.write_synthetic(folder).unwrap());
        let randomness = bytes32(&statement, "randomness");
        Shape::new(name, vanilla, Overrides { miner: Some(1000), randomness, ..Overrides::default() })
    };
    let fixture = snap_fixture(false);
    let (snap, statement) = made(&|folder| fixture.write_synthetic(folder).unwrap());
    let overrides = Overrides {
        comm_r_old: bytes32(&statement, "comm_r_old"),
        comm_r_new: bytes32(&statement, "comm_r_new"),
        comm_d_new: bytes32(&statement, "comm_d_new"),
        ..Overrides::default()
    };
    let list = |key| bytes32(&statement, key).unwrap().to_vec();
    let proofs: Value = serde_json::from_slice(&snap).unwrap();
    let market = json!({
        "SectorID": { "Miner": 1000, "Number": 1 },
        "PoRep": null,
        "Snap": {
            "ProofType": 0, "old_r": list("comm_r_old"), "new_r": list("comm_r_new"), "new_d": list("comm_d_new"),
            "Proofs": proofs,
        },
    });
    vec![
        post("winning", winning_post(SectorSize::KiB2), 1),
        post("window", window_post(SectorSize::KiB2), 2),
        Shape::new("snap", snap, overrides),
        Shape::new("market snap", market.to_string().into_bytes(), Overrides::default()),
    ]
});

#[test]
fn every_shape_of_a_statement_has_the_same_digest() {
    assert!(POREP.iter().all(|shape| shape.digest == POREP[0].digest));
    assert_eq!(OTHERS[2].digest, OTHERS[3].digest);
    let statements =
        OTHERS.iter().map(|shape| statement(shape.name, &shape.bytes, &shape.overrides).unwrap());
    let counts = statements.map(|of| (of.kind(), of.partitions(), of.challenges().unwrap()));
    let expected =
        [(Kind::WinningPost, 1, 66), (Kind::WindowPost, 1, 10), (Kind::Snap, 1, 10), (Kind::Snap, 1, 10)];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
}

#[test]
fn compressed_files_and_statement_files_are_the_same_statement() {
    let folder = tempfile::tempdir().unwrap();
    let outer = &POREP[0];
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    gzip.write_all(&outer.bytes).unwrap();
    let zstd =
        ruzstd::encoding::compress_to_vec(&outer.bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
    for (name, bytes) in [("c1.json.gz", gzip.finish().unwrap()), ("c1.json.zst", zstd)] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let input = Input::open(&path, None, MAX_INPUT_BYTES).unwrap();
        assert_eq!(Statement::new(input, &outer.overrides).unwrap().digest(), outer.digest);
        let statement = json!({
            "cuzk_statement": 1, "kind": "porep", "registered_proof": "StackedDrg2KiBV1_1", "miner": 1000,
            "sector": 7, "input": name, "made_by": "this test",
        });
        let path = folder.path().join("statement.json");
        std::fs::write(&path, statement.to_string()).unwrap();
        let input = Input::open(&path, None, MAX_INPUT_BYTES).unwrap();
        assert_eq!(Statement::new(input, &Overrides::default()).unwrap().digest(), outer.digest);
        let limit = outer.bytes.len() as u64 - 1;
        assert!(matches!(Input::open(&path, None, limit), Err(Error::TooLarge { .. })));
    }
}

#[test]
fn another_kind_or_other_public_data_is_refused() {
    for (shape, kind) in [(&POREP[0], Kind::Snap), (&OTHERS[0], Kind::Porep), (&OTHERS[2], Kind::WindowPost)]
    {
        assert_eq!(
            shape.refusal(Overrides { kind: Some(kind), ..shape.overrides.clone() }),
            "input_other_kind"
        );
    }
    let [winning, window, snap, _] = &OTHERS[..] else { panic!("four shapes") };
    for post in [winning, window] {
        let other = Overrides { randomness: Some([1; 32]), ..post.overrides.clone() };
        assert_eq!(post.refusal(other), "false_vanilla_proof");
    }
    let swapped = Overrides {
        comm_r_old: snap.overrides.comm_r_new,
        comm_r_new: snap.overrides.comm_r_old,
        ..snap.overrides.clone()
    };
    assert_eq!(snap.refusal(swapped), "false_vanilla_proof");
    let typed = |shape: &Shape, name: &str| {
        shape.refusal(Overrides { proof_type: Some(name.to_owned()), ..shape.overrides.clone() })
    };
    assert_eq!(typed(snap, "StackedDrg8MiBV1"), "wrong_count");
    assert_eq!(typed(window, "StackedDrgWindow2KiBV1"), "false_vanilla_proof");
    assert_eq!(typed(window, "StackedDrgWindow3KiBV1"), "unknown_proof_type");
}

/// Damages an input.
#[derive(Clone, Debug)]
enum Damage {
    Prefix(usize),
    Flip { byte: usize, bit: u8 },
    Splice { at: usize, from: usize, other: usize },
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Prefix),
        (any::<usize>(), 0u8..8).prop_map(|(byte, bit)| Damage::Flip { byte, bit }),
        (any::<usize>(), any::<usize>(), any::<usize>()).prop_map(|(at, from, other)| Damage::Splice {
            at,
            from,
            other
        }),
    ]
}

impl Damage {
    fn apply(&self, shapes: &[Shape], bytes: &[u8]) -> Vec<u8> {
        match *self {
            Damage::Prefix(n) => bytes[..n % bytes.len()].to_vec(),
            Damage::Flip { byte, bit } => {
                let mut damaged = bytes.to_vec();
                damaged[byte % bytes.len()] ^= 1 << bit;
                damaged
            }
            Damage::Splice { at, from, other } => {
                let other = &shapes[other % shapes.len()].bytes;
                [&bytes[..at % bytes.len()], &other[from % other.len()..]].concat()
            }
        }
    }
}

/// An error of exit code 2, or the same statement: never a panic, never another one.
fn survives(shapes: &[Shape], which: usize, damage: &Damage) -> Result<(), TestCaseError> {
    let shape = &shapes[which % shapes.len()];
    match statement(shape.name, &damage.apply(shapes, &shape.bytes), &shape.overrides) {
        Ok(statement) => prop_assert_eq!(statement.digest(), shape.digest, "{}", shape.name),
        Err(error) => {
            let environment = matches!(error, Error::Groth16(_) | Error::ProofInvalid { .. });
            prop_assert!(!environment, "{}: {}", shape.name, error);
        }
    }
    Ok(())
}

proptest! {
    // At least 2,000 for each shape.
    #![proptest_config(ProptestConfig::with_cases(12_000))]

    #[test]
    fn damaged_poreps_are_refused(which: usize, damage in damage()) {
        survives(&POREP, which, &damage)?;
    }

    #[test]
    fn damaged_posts_and_updates_are_refused(which: usize, damage in damage()) {
        survives(&OTHERS, which, &damage)?;
    }
}
