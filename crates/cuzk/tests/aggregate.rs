//! Aggregates of PoReps, compared with upstream's own function, byte for byte.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{cuzk, exit_code, golden, run, stderr, stdout};
use filecoin_proofs_api::seal::{
    SealCommitPhase1Output, SealCommitPhase2Output, aggregate_seal_commit_proofs, get_seal_inputs,
    verify_aggregate_seal_commit_proofs,
};
use filecoin_proofs_api::{RegisteredAggregationProof, RegisteredSealProof};

const MINER: u64 = 1000;
const PROOF_TYPE: RegisteredSealProof = RegisteredSealProof::StackedDrg2KiBV1_1;
const SNARK_PACK: RegisteredAggregationProof = RegisteredAggregationProof::SnarkPackV2;

/// The variables by which the test tells the process that it starts what to work on.
const FOLDER: &str = "CUZK_TEST_AGGREGATE_FOLDER";
const PARAMETERS: &str = "FIL_PROOFS_PARAMETER_CACHE";
/// What that process leaves when upstream agreed.
const AGREED: &str = "agreed";

fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(exit_code(&output), 0, "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn phase1(file: &Path) -> SealCommitPhase1Output {
    let outer: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let inner = STANDARD.decode(outer["Phase1Out"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&inner).unwrap()
}

/// Sector 1 is the golden one, with its golden proof; sector 2 is sealed and proved here.
fn two_sectors(folder: &Path) -> [PathBuf; 2] {
    let sectors = [1, 2].map(|sector| folder.join(format!("sector-{sector}.json")));
    fs::copy(golden("valid/c1.json"), &sectors[0]).unwrap();
    fs::copy(golden("valid/proof.bin"), sectors[0].with_extension("proof")).unwrap();
    let sealed = folder.join("sealed");
    succeed(&["fixture", "porep", "--sector", "2", "--seed", "2", "--out", &sealed.display().to_string()]);
    fs::copy(sealed.join("c1.json"), &sectors[1]).unwrap();
    let input = sectors[1].display().to_string();
    succeed(&["prove", &input, "--miner", "1000", "--test-params", "--quiet"]);
    sectors
}

#[test]
fn aggregates_are_those_of_upstream_and_verify_in_their_order_only() {
    let note = succeed(&["params", "generate", "--json"]);
    let note: serde_json::Value = serde_json::from_str(&note).unwrap();
    let key = succeed(&["params", "generate", "--inner-product-key", "--quiet"]);
    let key = PathBuf::from(key.lines().next().unwrap());
    assert!(key.with_file_name(note["parameters"].as_str().unwrap()).exists(), "beside the parameters");

    let folder = tempfile::tempdir().unwrap();
    let inputs = two_sectors(folder.path()).map(|path| path.display().to_string());
    let aggregate = folder.path().join("aggregate.bin").display().to_string();
    let test = ["--miner", "1000", "--test-params"];
    let json =
        succeed(&[&["aggregate", &inputs[0], &inputs[1], "-o", &aggregate, "--json"][..], &test].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["proofs"], &json["verified"]), (&2.into(), &true.into()));
    let ours = fs::read(&aggregate).unwrap();

    let verify = |statements: &[&str]| {
        run(&[&["verify", &aggregate], &test[..], &["--statement"], statements].concat())
    };
    let verified = verify(&[&inputs[0], &inputs[1]]);
    assert_eq!(exit_code(&verified), 0, "{}", stderr(&verified));
    assert!(stdout(&verified).starts_with("verified (aggregate of 2 proofs): "), "{}", stdout(&verified));
    let swapped = verify(&[&inputs[1], &inputs[0]]);
    assert_eq!(exit_code(&swapped), 1, "{}", stderr(&swapped));
    let one = verify(&[&inputs[0]]);
    assert_eq!(exit_code(&one), 2);
    assert!(stderr(&one).contains("error[proof_length]"), "{}", stderr(&one));

    // Each byte matters, and none makes upstream panic.
    for position in [0, 300, 1488, 1491, 1492, 1500, ours.len() / 2, ours.len() - 1] {
        let mut damaged = ours.clone();
        damaged[position] ^= 1;
        fs::write(&aggregate, &damaged).unwrap();
        let refused = verify(&[&inputs[0], &inputs[1]]);
        assert_eq!(exit_code(&refused), 1, "byte {position}: {}", stderr(&refused));
    }

    fs::write(&aggregate, &ours).unwrap();
    let upstream = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "upstream_in_a_process_of_its_own"])
        .env(FOLDER, folder.path())
        .env(PARAMETERS, key.parent().unwrap())
        .status()
        .unwrap();
    assert!(upstream.success());
    // A filter that matches no test succeeds, too.
    assert!(folder.path().join(AGREED).exists(), "upstream was not asked");
}

/// Upstream reads its parameter directory once in a process, from the environment.
#[test]
#[ignore = "started by the test above with the environment that it needs"]
fn upstream_in_a_process_of_its_own() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("started by the test above"));
    let sectors = [1, 2].map(|sector| folder.join(format!("sector-{sector}.json")));
    let outputs = [0, 1].map(|i| phase1(&sectors[i]));
    let comm_rs = [0, 1].map(|i| outputs[i].comm_r);
    let seeds = [0, 1].map(|i| outputs[i].seed);
    let proofs = [0, 1]
        .map(|i| SealCommitPhase2Output { proof: fs::read(sectors[i].with_extension("proof")).unwrap() });
    let aggregate = aggregate_seal_commit_proofs(PROOF_TYPE, SNARK_PACK, &comm_rs, &seeds, &proofs).unwrap();
    let ours = fs::read(folder.join("aggregate.bin")).unwrap();
    assert!(aggregate == ours, "upstream's aggregate is another one");

    let mut prover_id = [0; 32];
    (prover_id[0], prover_id[1]) = (0xe8, 0x07); // 1000 in LEB128
    assert_eq!(u64::from(prover_id[0] & 0x7f) | (u64::from(prover_id[1]) << 7), MINER);
    let inputs = [0, 1].map(|i| {
        let SealCommitPhase1Output { comm_r, comm_d, ticket, seed, .. } = outputs[i].clone();
        let sector = (i as u64 + 1).into();
        get_seal_inputs(PROOF_TYPE, comm_r, comm_d, prover_id, sector, ticket, seed).unwrap()
    });
    let verified =
        verify_aggregate_seal_commit_proofs(PROOF_TYPE, SNARK_PACK, ours, &comm_rs, &seeds, inputs.concat());
    assert!(verified.unwrap());
    fs::write(folder.join(AGREED), b"").unwrap();
}

#[test]
fn what_does_not_go_together_is_refused() {
    let c1 = common::c1();
    let refused = |arguments: &[&str], kind: &str| {
        let output = cuzk().args(arguments).args(["--miner", "1000", "--test-params"]).output().unwrap();
        assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains(kind), "{}", stderr(&output));
    };
    refused(&["aggregate", &c1, "-o", "-"], "error[no_aggregate]");
    refused(&["aggregate", &c1, &c1, "-o", "-"], "is there twice");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    succeed(&["fixture", "porep", "--sector", "2", "--out", &out]);
    let other = format!("{out}/c1.json");
    refused(&["aggregate", &c1, &other, "--proofs", "one", "-o", "-"], "error[usage]");
    succeed(&["fixture", "snap", "--out", &out]);
    let snap = format!("{out}/statement.json");
    refused(&["aggregate", &snap, &snap, "-o", "-"], "only proofs of PoReps");
    let truncated = folder.path().join("truncated").display().to_string();
    fs::write(&truncated, &fs::read(golden("valid/proof.bin")).unwrap()[1..]).unwrap();
    refused(
        &["aggregate", &c1, &other, "--proofs", &truncated, &truncated, "-o", "-"],
        "error[proof_length]",
    );
}
