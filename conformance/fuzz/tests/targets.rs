//! Everything that reads what others wrote. The corpus is the golden inputs and what is made here, the same each time.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blstrs::{G1Affine, G2Affine};
use cuzk_filecoin::fixture::PorepFixture;
use cuzk_filecoin::store::{DigestMemory, GOLDEN_SEED, TestParameters};
use cuzk_filecoin::synthetic::C1Shape;
use cuzk_filecoin::{
    CommitmentKind, Input, Kind, Overrides, PorepApi, RegisteredProof, SectorSize, Statement,
};
use cuzk_filecoin::{parse_commitment, seal_of_size};
use cuzk_fuzz::fuzz;
use cuzk_groth16::{Error, Parameters, Proof, Query, VerifyingKey};
use cuzk_r1cs::{Template, TemplateParts};
use flate2::Compression;
use flate2::write::GzEncoder;
use group::prime::PrimeCurveAffine;

/// Larger inputs would only be fewer cases in the same time.
const MAX_BYTES: u64 = 200_000;
/// What a compressed case may come to.
const MAX_DECOMPRESSED: usize = 4 << 20;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

/// Golden files by this name.
fn named(name: &str) -> Vec<Vec<u8>> {
    let folders =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = folders(golden()).flat_map(folders).map(|case| case.join(name));
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.metadata().is_ok_and(|file| file.is_file() && file.len() < MAX_BYTES))
        .collect();
    files.sort();
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// The C1 output of a synthetic sector.
fn c1(shape: C1Shape) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let registered_proof = seal_of_size(SectorSize::ALL[0], PorepApi::V1_1);
    let fixture = PorepFixture { registered_proof, miner: 1000, sector: 1, shape, seed: 1 };
    fixture.write_synthetic(folder.path()).unwrap();
    fs::read(folder.path().join(fixture.file_name())).unwrap()
}

/// Decodes, and where that is possible goes on to what is checked before anything is proved.
fn decode(bytes: &[u8], kind: Option<Kind>) {
    let Ok(input) = Input::decode(bytes, "a case", kind) else { return };
    let mut overrides = Overrides { miner: Some(1000), kind, ..Overrides::default() };
    input.unknown(&overrides).iter().for_each(|unknown| unknown.fill_with_zeros(&mut overrides));
    if let Ok(statement) = Statement::new(input, &overrides) {
        let _ = statement.check();
    }
}

#[test]
fn c1_outputs() {
    let corpus = || [named("c1.json"), [C1Shape::Inner, C1Shape::Market].map(c1).to_vec()].concat();
    fuzz("C1 outputs", corpus, 0, |bytes| decode(bytes, None));
}

#[test]
fn bincode() {
    fuzz("bincode", || vec![c1(C1Shape::Bincode)], 0, |bytes| decode(bytes, None));
}

#[test]
fn vanilla_proofs() {
    let kinds = [Some(Kind::WinningPost), Some(Kind::WindowPost), Some(Kind::Snap), None];
    let next = RefCell::new(kinds.iter().cycle());
    fuzz(
        "vanilla proofs",
        || named("vanilla.json"),
        0,
        |bytes| decode(bytes, *next.borrow_mut().next().expect("a cycle")),
    );
}

#[test]
fn statements_and_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case");
    let compressed = |bytes: &Vec<u8>| {
        let mut encoder = GzEncoder::new(vec![], Compression::fast());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap()
    };
    // A frame of zstd without compression: magic, a window of 1 KiB, one raw block.
    let raw = |bytes: &Vec<u8>| {
        let block = (bytes.len() as u32) << 3 | 1;
        [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58], &block.to_le_bytes()[..3], bytes].concat()
    };
    let corpus = || {
        let (statements, vanilla) = (named("statement.json"), named("vanilla.json"));
        let compressed = vanilla.iter().map(compressed).chain(statements.iter().map(raw)).collect();
        [statements.clone(), compressed].concat()
    };
    fuzz("statements and compressed files", corpus, MAX_DECOMPRESSED, |bytes| {
        fs::write(&path, bytes).unwrap();
        let _ = Input::open(&path, None, MAX_DECOMPRESSED as u64);
    });
}

/// A small parameter file.
fn parameters() -> Vec<u8> {
    let (g1, g2) = (G1Affine::generator(), G2Affine::generator());
    let ic = vec![g1; 3];
    let key =
        VerifyingKey { alpha_g1: g1, beta_g1: g1, beta_g2: g2, gamma_g2: g2, delta_g1: g1, delta_g2: g2, ic };
    let mut bytes = key.to_bytes();
    for (n, point) in [(7, &g1.to_uncompressed()[..]), (5, &g1.to_uncompressed()), (6, &g1.to_uncompressed())]
    {
        bytes.extend(u32::to_be_bytes(n));
        bytes.extend(point.repeat(n as usize));
    }
    for point in [&g1.to_uncompressed()[..], &g2.to_uncompressed()] {
        bytes.extend(4u32.to_be_bytes());
        bytes.extend(point.repeat(4));
    }
    bytes
}

#[test]
fn parameter_files() {
    let whole = Parameters::from_source("whole".into(), Box::new(parameters())).unwrap();
    whole.check_points(&|_| ()).unwrap();
    fuzz(
        "parameter files",
        || vec![parameters()],
        0,
        |bytes| {
            let Ok(parameters) = Parameters::from_source("a case".into(), Box::new(bytes.to_vec())) else {
                return;
            };
            let _ = parameters.check_points(&|_| ());
            let _ = parameters.read_g1(Query::H, 0..parameters.n_points(Query::H));
            let _ = parameters.read_g2(0..parameters.n_points(Query::BG2));
        },
    );
}

#[test]
fn a_parameter_file_that_changes_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.params");
    let open = || {
        fs::write(&path, parameters()).unwrap();
        Parameters::open(&path).unwrap()
    };
    let changed =
        |parameters: &Parameters| matches!(parameters.check_unchanged(), Err(Error::Changed { .. }));
    let file = || fs::File::options().write(true).open(&path).unwrap();
    let opened = open();
    assert!(!changed(&opened) && opened.check_points(&|_| ()).is_ok());
    // Written to, at a time that a clock can tell from the one before.
    file().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(changed(&opened) && opened.check_points(&|_| ()).is_err());
    // Cut: nothing is read that is not there.
    let opened = open();
    file().set_len(2_000).unwrap();
    assert!(matches!(opened.read_g2(0..4), Err(Error::Io { .. })) && changed(&opened));
    // Replaced: what was opened is still there, whole.
    let opened = open();
    let other = folder.path().join("other");
    fs::write(&other, b"other").unwrap();
    fs::rename(other, &path).unwrap();
    assert!(!changed(&opened) && opened.check_points(&|_| ()).is_ok());
}

#[test]
fn verifying_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.vk");
    fuzz(
        "verifying keys",
        || vec![parameters()[..868 + 3 * 96].to_vec()],
        0,
        |bytes| {
            fs::write(&path, bytes).unwrap();
            let _ = VerifyingKey::open(&path);
        },
    );
}

#[test]
fn templates() {
    let proof = RegisteredProof::latest(Kind::WindowPost, SectorSize::ALL[0]);
    let digest = proof.known_circuit().unwrap().digest();
    let corpus = || {
        let mut bytes = vec![];
        proof.derive_template().unwrap().write(&digest, &mut bytes).unwrap();
        assert!(Template::read(&digest, TemplateParts::All, &mut &bytes[..]).is_ok());
        vec![bytes]
    };
    fuzz("templates", corpus, 0, |bytes| {
        for parts in [TemplateParts::Prover, TemplateParts::All] {
            let _ = Template::read(&digest, parts, &mut &bytes[..]);
        }
    });
}

#[test]
fn proofs_and_commitments() {
    let corpus = || {
        let commitments =
            ["baga6ea4seaqjbi6zmoshk27kcwxklperaiuaq24jvy3b76bb7q6xta6km2ltely", &"5a".repeat(32)];
        [named("proof.bin"), commitments.map(|text| text.as_bytes().to_vec()).to_vec()].concat()
    };
    fuzz("proofs and commitments", corpus, 0, |bytes| {
        for chunk in bytes.chunks(Proof::BYTES) {
            let _ = chunk.try_into().map(Proof::from_bytes);
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = parse_commitment(CommitmentKind::Sealed, text);
            let _ = parse_commitment(CommitmentKind::Unsealed, text);
        }
    });
}

#[test]
fn notes_and_remembered_digests() -> io::Result<()> {
    let cache = tempfile::tempdir()?;
    let set = RegisteredProof::latest(Kind::WindowPost, SectorSize::ALL[0]).parameter_set().unwrap();
    let parameters = TestParameters::locate(cache.path(), GOLDEN_SEED, set).unwrap();
    fs::create_dir_all(parameters.path().parent().unwrap())?;
    fs::write(parameters.path(), b"any")?;
    let mut memory = DigestMemory::load(cache.path());
    memory.hash(&parameters.path(), |_| ()).unwrap();
    let remembered = cache.path().join("parameter-digests.json");
    let note = r#"{"cuzk_test_parameters": 1, "insecure": "", "seed": "63757a6b20676f6c64656e207465737420706172616d6574657273206e6f2e31",
        "circuit": "", "parameters": "a.params", "bytes": 3, "blake2b_512": ""}"#;
    let corpus = vec![fs::read(&remembered)?, note.as_bytes().to_vec()];
    fuzz(
        "notes and remembered digests",
        || corpus,
        0,
        |bytes| {
            fs::write(&remembered, bytes).unwrap();
            let _ = DigestMemory::load(cache.path()).recall(&parameters.path());
            fs::write(parameters.path().with_extension("json"), bytes).unwrap();
            let _ = parameters.existing();
        },
    );
    Ok(())
}
