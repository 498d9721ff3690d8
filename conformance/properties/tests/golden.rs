//! Golden files with damage: an input is refused with an error that blames the input, or it still says what it said; a proof has other points
//! or none.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cuzk_filecoin::{Input, MAX_INPUT_BYTES, Overrides, Statement};
use cuzk_groth16::Proof;
use proptest::prelude::*;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

/// The inputs and proofs of all valid cases.
struct Files {
    /// Name, bytes, what the input does not carry, digest of the statement.
    inputs: Vec<(String, Vec<u8>, Overrides, [u8; 32])>,
    proofs: Vec<(String, Vec<u8>)>,
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let mut files = Files { inputs: vec![], proofs: vec![] };
    for suite in fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path()) {
        let folder = suite.join("valid");
        let Ok(proof) = fs::read(folder.join("proof.bin")) else { continue };
        let name = suite.file_name().unwrap().to_string_lossy().into_owned();
        files.proofs.push((name.clone(), proof));
        let given = [folder.join("statement.json"), folder.join("c1.json")];
        let given = given.iter().find(|path| path.exists()).unwrap();
        let miner = Overrides { miner: Some(1000), ..Overrides::default() };
        let input = Input::open(given, None, MAX_INPUT_BYTES).unwrap();
        // A statement file names the input; what it says beside it is what the command line would.
        let (path, overrides) = match input.statement_file.clone() {
            None => (given.clone(), miner),
            Some(said) => {
                let overrides = Overrides {
                    kind: Some(said.kind),
                    proof_type: Some(said.registered_proof),
                    miner: said.miner.or(Some(1000)),
                    sector: said.sector,
                    randomness: said.randomness,
                    comm_r_old: said.comm_r_old,
                    comm_r_new: said.comm_r_new,
                    comm_d_new: said.comm_d_new,
                    ..Overrides::default()
                };
                (folder.join(said.input), overrides)
            }
        };
        let bytes = fs::read(path).unwrap();
        let statement = checked(&bytes, &overrides).unwrap_or_else(|kind| panic!("{name}: {kind}"));
        files.inputs.push((name, bytes, overrides, statement.digest()));
    }
    assert_eq!(files.inputs.len(), 6, "suites with a valid case");
    files
});

/// The statement, or the kind of the error.
fn checked(bytes: &[u8], overrides: &Overrides) -> Result<Statement, &'static str> {
    let statement = || {
        let statement = Statement::new(Input::decode(bytes, "golden", overrides.kind)?, overrides)?;
        statement.check()?;
        statement.check_vanilla_proofs()?;
        Ok::<_, cuzk_filecoin::Error>(statement)
    };
    statement().map_err(|error| error.kind())
}

/// The kinds of errors that damage may end in: none of them blames the program, the machine or upstream.
const BLAMES_THE_INPUT: [&str; 13] = [
    "bad_commitment",
    "false_vanilla_proof",
    "input_malformed",
    "input_missing_key",
    "input_not_json",
    "input_other_kind",
    "input_truncated",
    "input_unknown_shape",
    "input_unreadable",
    "sector_sizes_differ",
    "unknown_proof_type",
    "wrong_count",
    "wrong_identity",
];

/// What happens to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// Bits of a byte flip.
    Flip(prop::sample::Index, u8),
    /// The file ends there.
    Cut(prop::sample::Index),
    /// Bytes are taken out.
    Remove(prop::sample::Index, usize),
    /// Bytes come twice.
    Repeat(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 1u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        index().prop_map(Damage::Cut),
        (index(), 1usize..100).prop_map(|(at, n)| Damage::Remove(at, n)),
        (index(), 1usize..100).prop_map(|(at, n)| Damage::Repeat(at, n)),
    ]
}

impl Damage {
    fn done(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let n = bytes.len();
        match self {
            Damage::Flip(at, bits) => bytes[at.index(n)] ^= bits,
            Damage::Cut(at) => bytes.truncate(at.index(n)),
            Damage::Remove(at, length) => {
                let at = at.index(n);
                bytes.drain(at..n.min(at + length));
            }
            Damage::Repeat(at, length) => {
                let at = at.index(n);
                let twice = bytes[at..n.min(at + length)].to_vec();
                bytes.splice(at..at, twice);
            }
        }
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_inputs_are_refused_or_say_the_same(which: prop::sample::Index, damage in damage()) {
        let (name, bytes, overrides, digest) = which.get(&FILES.inputs);
        match checked(&damage.done(bytes), overrides) {
            // Not everything in a file is part of the statement, such as spaces between keys; what is must be true.
            Ok(statement) => prop_assert_eq!(statement.digest(), *digest, "{} was taken with {:?}", name, damage),
            Err(kind) => prop_assert!(BLAMES_THE_INPUT.contains(&kind), "{}: {} with {:?}", name, kind, damage),
        }
    }

    #[test]
    fn damaged_proofs_are_no_points_or_other_points(
        which: prop::sample::Index,
        at: prop::sample::Index,
        bits in 1u8..,
    ) {
        let (name, bytes) = which.get(&FILES.proofs);
        let damaged = Damage::Flip(at, bits).done(bytes);
        prop_assert_eq!(bytes.len() % Proof::BYTES, 0, "{}", name);
        let at = at.index(bytes.len()) / Proof::BYTES * Proof::BYTES;
        let proof = |bytes: &[u8]| {
            let bytes: &[u8; Proof::BYTES] = bytes[at..at + Proof::BYTES].try_into().unwrap();
            Proof::from_bytes(bytes).map(|proof| (proof, proof.to_bytes() == *bytes))
        };
        let (before, is_canonical) = proof(bytes).unwrap();
        prop_assert!(is_canonical);
        if let Ok((after, is_canonical)) = proof(&damaged) {
            // Each point has one encoding.
            prop_assert!(is_canonical && after != before, "{} with {} at {}", name, bits, at);
        }
    }
}
