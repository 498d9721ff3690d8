//! Templates of upstream's circuits against the recorder and the evaluating walk.

use std::fs;
use std::path::Path;

use cuzk_filecoin::fixture::{PorepFixture, PostFixture, SnapFixture};
use cuzk_filecoin::synthetic::C1Shape;
use cuzk_filecoin::templates::{Origin, TemplateCache};
use cuzk_filecoin::{
    Error, Input, Kind, KnownCircuit, MAX_INPUT_BYTES, Overrides, PorepApi, RegisteredProof, SectorSize,
    Statement, seal_of_size, update_of_size, window_post, winning_post,
};
use cuzk_r1cs::{ColumnSums, Fr, PackedWitness, Side, TemplateParts, evaluate_packed};

const SIZE: SectorSize = SectorSize::KiB2;

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// A true statement of 2 KiB: a really sealed sector for PoRep, a synthetic one else.
fn statement(kind: Kind) -> Statement {
    let folder = tempfile::tempdir().unwrap();
    write_fixture(kind, folder.path());
    let input = Input::open(&folder.path().join("statement.json"), None, MAX_INPUT_BYTES).unwrap();
    Statement::new(input, &Overrides::default()).unwrap()
}

fn write_fixture(kind: Kind, folder: &Path) {
    let post = |registered_proof, sectors| {
        let fixture = PostFixture { registered_proof, miner: 1000, sector: 7, sectors, seed: 3 };
        fixture.write_synthetic(folder)
    };
    let written = match kind {
        Kind::Porep => {
            let registered_proof = seal_of_size(SIZE, PorepApi::V1_1);
            PorepFixture { registered_proof, miner: 1000, sector: 7, shape: C1Shape::Outer, seed: 3 }
                .write(folder)
        }
        Kind::WinningPost => post(winning_post(SIZE), 1),
        // One sector of a partition of two, so that it is repeated.
        Kind::WindowPost => post(window_post(SIZE), 1),
        Kind::Snap => SnapFixture { registered_proof: update_of_size(SIZE), market: false, seed: 3 }
            .write_synthetic(folder),
    };
    written.unwrap();
}

/// Whatever the template says is what the walk over the whole circuit says.
fn assert_template_equals_the_evaluating_walk(kind: Kind) {
    let statement = statement(kind);
    let template = statement.registered_proof().derive_template().unwrap();
    let synthesis = statement.synthesize(0).unwrap();
    assert!(statement.synthesize_presized(0).unwrap() == synthesis);
    assert_eq!(template.n_rows(), synthesis.a.len());
    assert!(template.densities() == synthesis.densities);

    let packed = PackedWitness::pack(&template, synthesis.inputs.clone(), &synthesis.aux).unwrap();
    for threads in [1, 2, 3] {
        let witness = in_pool(threads, || statement.witness(0, &template).unwrap());
        assert!(witness == packed, "{threads} threads: another witness");
        let (a, b) = in_pool(threads, || evaluate_packed(&template, &witness).unwrap());
        assert!(a == synthesis.a && b == synthesis.b, "{threads} threads: other rows");
    }
    assert!(packed.unpack_aux(&template).unwrap() == synthesis.aux);
    statement.check_witness(0, &template, &packed).unwrap();

    // A false witness is named as the walk over the whole circuit names it.
    let mut lie = packed;
    let last = lie.scalars.last_mut().unwrap();
    *last += Fr::from(1);
    match statement.check_witness(0, &template, &lie) {
        Err(Error::Unsatisfied { partition: 0, path, .. }) => assert!(path.contains('/'), "{path}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn porep_by_template_equals_the_evaluating_walk() {
    assert_template_equals_the_evaluating_walk(Kind::Porep);
}

#[test]
fn winning_post_by_template_equals_the_evaluating_walk() {
    assert_template_equals_the_evaluating_walk(Kind::WinningPost);
}

#[test]
fn window_post_by_template_equals_the_evaluating_walk() {
    assert_template_equals_the_evaluating_walk(Kind::WindowPost);
}

#[test]
fn snap_by_template_equals_the_evaluating_walk() {
    assert_template_equals_the_evaluating_walk(Kind::Snap);
}

/// On a really sealed sector, every variable that was not recognised as a bit has another value than 0 and 1.
#[test]
fn all_bits_of_a_porep_are_recognised() {
    let statement = statement(Kind::Porep);
    let template = statement.registered_proof().derive_template().unwrap();
    let aux = statement.synthesize(0).unwrap().aux;
    let recognised = template.bits();
    let is_bit = |value: &Fr| *value == Fr::from(0u64) || *value == Fr::from(1);
    assert!((0..template.n_aux()).all(|index| recognised.get(index) == is_bit(&aux[index])));
}

#[test]
fn the_porep_template_has_the_recorded_matrices() {
    let proof = RegisteredProof::latest(Kind::Porep, SIZE);
    let template = proof.derive_template().unwrap();
    let system = proof.record().unwrap();
    let again = template.to_matrices().unwrap();
    assert_eq!((again.n_inputs, again.n_aux), (system.n_inputs, system.n_aux));
    for (found, expected) in [(&again.a, &system.a), (&again.b, &system.b), (&again.c, &system.c)] {
        assert_eq!(found.n_rows(), expected.n_rows());
        for row in 0..found.n_rows() {
            let (found, expected) = (found.row(row), expected.row(row));
            assert_eq!(found.len(), expected.len(), "row {row}");
            for (found, expected) in found.iter().zip(expected) {
                assert_eq!(found.variable, expected.variable, "row {row}");
                let coefficients = (
                    again.coefficients[found.coefficient as usize],
                    system.coefficients[expected.coefficient as usize],
                );
                assert_eq!(coefficients.0, coefficients.1, "row {row}");
            }
        }
    }
    let rows: Vec<Fr> = (0..template.n_rows() as u64).map(|row| Fr::from(row) * Fr::from(row)).collect();
    for side in [Side::A, Side::B, Side::C] {
        assert!(template.column_sums(side, &rows) == system.column_sums(side, &rows), "{side:?}");
    }
}

/// `golden/circuits.json` against this upstream, by template.
fn assert_known(kind: Kind, size: SectorSize) {
    let template = RegisteredProof::latest(kind, size).derive_template().unwrap();
    let found = KnownCircuit::of(kind, size, &template).unwrap();
    assert_eq!(&found, KnownCircuit::find(kind, size));
}

#[test]
fn known_small_circuits_are_those_of_this_upstream() {
    for size in SectorSize::ALL {
        assert_known(Kind::WinningPost, size);
    }
    for size in [SectorSize::KiB2, SectorSize::MiB8, SectorSize::MiB512] {
        assert_known(Kind::WindowPost, size);
        assert_known(Kind::Porep, size);
    }
    for size in [SectorSize::KiB2, SectorSize::MiB8] {
        assert_known(Kind::Snap, size);
    }
}

#[test]
fn known_production_poreps_are_those_of_this_upstream() {
    assert_known(Kind::Porep, SectorSize::GiB32);
    assert_known(Kind::Porep, SectorSize::GiB64);
}

#[test]
fn known_production_window_posts_are_those_of_this_upstream() {
    assert_known(Kind::WindowPost, SectorSize::GiB32);
    assert_known(Kind::WindowPost, SectorSize::GiB64);
}

#[test]
fn the_known_32gib_snap_is_that_of_this_upstream() {
    assert_known(Kind::Snap, SectorSize::GiB32);
}

#[test]
#[ignore = "2 min: the other replica updates of tens of millions of rows"]
fn known_large_snaps_are_those_of_this_upstream() {
    assert_known(Kind::Snap, SectorSize::MiB512);
    assert_known(Kind::Snap, SectorSize::GiB64);
}

/// Every row of a partition of production shape, and the counts that are known of it.
#[test]
fn a_synthetic_32gib_porep_partition_is_satisfied() {
    let folder = tempfile::tempdir().unwrap();
    let registered_proof = seal_of_size(SectorSize::GiB32, PorepApi::V1_1);
    let fixture = PorepFixture { registered_proof, miner: 1000, sector: 7, shape: C1Shape::Outer, seed: 3 };
    fixture.write_synthetic(folder.path()).unwrap();
    let input = Input::open(&folder.path().join("statement.json"), None, MAX_INPUT_BYTES).unwrap();
    let statement = Statement::new(input, &Overrides::default()).unwrap();
    let template = statement.registered_proof().derive_template().unwrap();
    let witness = statement.witness(4, &template).unwrap();
    statement.check_witness(4, &template, &witness).unwrap();
    let constraints = template.n_rows() - template.n_inputs();
    assert_eq!((constraints, witness.inputs.len(), witness.bits.len()), (130_278_541, 328, 130_169_893));
}

/// The digest by walking the whole blank circuit, without a template.
#[test]
fn the_digest_of_a_template_is_that_of_its_circuit() {
    for kind in Kind::ALL {
        let digest = RegisteredProof::latest(kind, SIZE).circuit_digest().unwrap();
        assert_eq!(digest, KnownCircuit::find(kind, SIZE).digest(), "{kind}");
    }
}

#[test]
fn templates_are_kept_and_bad_files_are_ignored_with_a_note() {
    let proof = RegisteredProof::latest(Kind::WinningPost, SIZE);
    let folder = tempfile::tempdir().unwrap();
    let cache = TemplateCache::new(folder.path().join("templates"));
    let get = |parts| cache.get(&proof, parts).unwrap();
    let derived = get(TemplateParts::All);
    assert_eq!((derived.origin, derived.note), (Origin::Derived, None));
    let read = get(TemplateParts::All);
    assert_eq!((read.origin, read.note), (Origin::File, None));
    assert!(read.template == derived.template);
    assert!(!get(TemplateParts::Prover).template.has_products());

    let path = cache.path(proof.known_circuit().unwrap());
    let bytes = fs::read(&path).unwrap();
    for (bad, why) in [
        (b"something else".to_vec(), "shorter"),
        (bytes[..bytes.len() - 1].to_vec(), "ends early"),
        ([b"C", &bytes[1..]].concat(), "no template of this program"),
    ] {
        fs::write(&path, bad).unwrap();
        let derived = get(TemplateParts::All);
        assert_eq!(derived.origin, Origin::Derived);
        assert!(derived.note.as_ref().is_some_and(|note| note.contains(why)), "{:?}", derived.note);
        // It was written anew.
        assert_eq!(get(TemplateParts::All).origin, Origin::File);
    }

    // A folder that cannot be made.
    fs::write(folder.path().join("file"), "").unwrap();
    let nowhere = TemplateCache::new(folder.path().join("file"));
    let derived = nowhere.get(&proof, TemplateParts::All).unwrap();
    assert!(derived.note.is_some_and(|note| note.contains("was not kept")));
}
