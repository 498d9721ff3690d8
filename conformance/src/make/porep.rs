//! Suites of PoRep: what decoders refuse, what the replica id refuses, and false vanilla proofs.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::Recipe;
use super::reference::StatementFile;
use super::suite::{Suite, exchange_first_two, failure};
use crate::Error;
use crate::case::{Arguments, Flag, Form, PROOF_BYTES};

const C1_FILE: &str = "c1.json";

/// Interactive PoRep as new sectors are sealed. It has the cases of the input formats, which are the same for all.
pub(super) const V1_1: Recipe = Recipe {
    name: "porep-2kib-v1_1",
    fixture: "porep --api v1_1 --miner 1000 --sector 1",
    input: C1_FILE,
    comment: "A sealed sector of 2 KiB is proved as upstream's prover proves it, to the byte.",
    flags: &[Flag::InsecureParameters],
    form: Form::Plain,
    arguments,
    cases: |suite| {
        write_undecodable(suite)?;
        write_false_identities(suite, "StackedDrg2KiBV1")?;
        write_false_statements(suite)?;
        let label = "/vanilla_proofs/StackedDrg2KiBV1/0/0/labeling_proofs/1/parents/36/0";
        let comment = "One bit of a hashed parent's label is flipped.";
        changed(suite, "label_parent_flipped", comment, label, flip_bit, "false_vanilla_proof")?;
        let element = "/vanilla_proofs/StackedDrg2KiBV1/0/0/comm_d_proofs/data/Single/path/path/0/hashes/0";
        let comment = "A sibling hash that is not an element of the field, at which upstream panics.";
        let not_in_field = |value: &mut Value| *value = json!(vec![255; 32]);
        changed(suite, "not_in_field", comment, element, not_in_field, "false_vanilla_proof")
    },
};

/// Synthetic PoRep: another way to draw the challenges; the circuit is the same.
pub(super) const SYNTHETIC: Recipe = Recipe {
    name: "porep-2kib-synthetic",
    fixture: "porep --api synthetic --miner 1000 --sector 1",
    input: C1_FILE,
    comment: "A sector of 2 KiB sealed for synthetic PoRep is proved as upstream's prover proves it, to the byte.",
    flags: &[Flag::InsecureParameters, Flag::DefaultsOnly, Flag::NotOnReference],
    form: Form::Plain,
    arguments,
    cases: |suite| {
        write_false_identities(suite, "StackedDrg2KiBV1_1")?;
        write_false_statements(suite)
    },
};

/// Non-interactive PoRep: thirteen partitions of the same circuit, whose aggregate is the proof. Its C1 outputs have 1.7 MB,
/// so few are kept.
pub(super) const NON_INTERACTIVE: Recipe = Recipe {
    name: "porep-2kib-ni",
    fixture: "porep --api ni --miner 1000 --sector 1",
    input: C1_FILE,
    comment: "The thirteen partitions of a non-interactive PoRep of 2 KiB are proved and aggregated as upstream does it, \
              to the byte.",
    flags: &[Flag::InsecureParameters, Flag::DefaultsOnly, Flag::NotOnReference],
    form: Form::Aggregate,
    arguments,
    cases: |suite| {
        suite.write_judgements_of_aggregate()?;
        let comment = "Partition 12 alone, not aggregated, which upstream's prover repeats in a run.";
        suite.one_partition("last_partition_alone", comment, 12)?;
        write_false_identities(suite, "StackedDrg2KiBV1_1")?;
        let comment = "The proofs of partitions 0 and 1 are exchanged: each is true of another partition.";
        let exchanged = exchange_first_two(&suite.proof)?;
        suite.judged("partitions_exchanged", comment, &exchanged, failure(1, "proof_invalid"))?;
        let comment = "The proof of the last partition is missing.";
        let shorter = &suite.proof[..suite.proof.len() - PROOF_BYTES];
        suite.judged("proof_of_partition_missing", comment, shorter, failure(2, "proof_length"))?;
        let partitions = "/vanilla_proofs/StackedDrg2KiBV1";
        let comment = "The last partition is missing.";
        changed(suite, "partition_missing", comment, partitions, drop_last, "wrong_count")?;
        let comment = "The first two partitions are exchanged, so that their challenges are not those drawn.";
        changed(suite, "c1_partitions_exchanged", comment, partitions, swap_first_two, "false_vanilla_proof")
    },
};

/// A C1 output says everything but the miner.
fn arguments(statement: &StatementFile) -> Arguments {
    Arguments { miner: statement.miner, ..Arguments::default() }
}

/// The replica id hashes prover id, sector number, ticket, comm_d and, in the porep id, the registered proof's number: a
/// prover that recomputes it knows at once.
fn write_false_identities(suite: &Suite, other_version: &str) -> Result<(), Error> {
    let kind = "wrong_identity";
    let comment = "A miner other than the one that sealed: the replica id does not match.";
    suite.refused_arguments(
        "wrong_miner",
        comment,
        |arguments| arguments.miner = arguments.miner.map(|miner| miner + 1),
        kind,
    )?;
    let comment = "A sector number other than the one in the C1 output.";
    suite.refused_arguments("wrong_sector", comment, |arguments| arguments.sector = Some(2), kind)?;
    let comment = "A registered proof of another version, whose porep id gives another replica id.";
    suite.refused_type("proof_type_of_another_version", comment, other_version, kind)?;
    let comment = "The registered proof of a PoSt, which a C1 output cannot have.";
    suite.refused_type("proof_type_of_another_kind", comment, "StackedDrgWinning2KiBV1", "unknown_proof_type")
}

/// Files that no decoder may take for something else, nor need much time or memory for.
fn write_undecodable(suite: &Suite) -> Result<(), Error> {
    let c1 = &suite.input[..];
    let text = std::str::from_utf8(c1).map_err(|_| Error::ValidLacks("UTF-8"))?;
    let twice = text.replacen("{\"SectorNum\":1,", "{\"SectorNum\":1,\"SectorNum\":1,", 1);
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let cases: [(&str, &str, Vec<u8>, &str); 12] = [
        (
            "c1_truncated",
            "A C1 output that ends in the middle, as after an interrupted copy.",
            c1[..c1.len() / 2].to_vec(),
            "input_truncated",
        ),
        (
            "c1_not_json",
            "A file that is no C1 output at all.",
            b"This is a sentence.\n".to_vec(),
            "input_not_json",
        ),
        (
            "c1_missing_key",
            "A C1 output without its key SectorSize.",
            without_sector_size(c1)?,
            "input_missing_key",
        ),
        ("c1_empty", "An empty file.", vec![], "input_unknown_shape"),
        ("c1_key_twice", "A C1 output with the key SectorNum twice.", twice.into_bytes(), "input_malformed"),
        (
            "c1_deep_nesting",
            "Ten thousand lists in each other, to exhaust a recursive parser's stack.",
            [
                &b"{\"SectorNum\":"[..],
                &[b'['; 10_000],
                &[b']'; 10_000],
                b",\"Phase1Out\":\"\",\"SectorSize\":2048}",
            ]
            .concat(),
            "input_malformed",
        ),
        ("c1_bom", "A C1 output behind a byte order mark.", [b"\xef\xbb\xbf", c1].concat(), "input_not_json"),
        ("c1_utf16", "A C1 output in UTF-16.", utf16, "input_not_json"),
        (
            "c1_trailing_bytes",
            "A C1 output with something behind it.",
            [c1, b"{}"].concat(),
            "input_not_json",
        ),
        (
            "vanilla_huge_length",
            "A PoSt's vanilla proof whose list of sectors promises 2^60 elements.",
            format!("[\"{}\"]", STANDARD.encode([&[0; 40][..], &(1u64 << 60).to_le_bytes()].concat()))
                .into_bytes(),
            "input_unknown_shape",
        ),
        (
            "bincode_huge_length",
            "Bincode of a C1 output whose list of partitions promises 2^60 elements.",
            [&(1u64 << 60).to_le_bytes()[..], &[7; 100]].concat(),
            "input_unknown_shape",
        ),
        (
            "gzip_bomb",
            "300 MiB of zeros in gzip, more than an input may have.",
            GZIP_BOMB.clone(),
            "input_too_large",
        ),
    ];
    cases.iter().try_for_each(|(name, comment, bytes, kind)| suite.refused(name, comment, bytes, kind))?;
    suite.refused_folder("input_is_folder", "A folder in place of the C1 output.", "input_unreadable")
}

/// C1 outputs that decode and are false.
fn write_false_statements(suite: &Suite) -> Result<(), Error> {
    let challenge = "/vanilla_proofs/StackedDrg2KiBV1/0/0";
    let sibling = format!("{challenge}/comm_r_last_proof/data/Single/path/path/0/hashes/0/0");
    let comment = "One bit of a sibling hash on the path to comm_r_last is flipped, which upstream's own \
                   verification does not notice.";
    changed(suite, "sibling_flipped", comment, &sibling, flip_bit, "false_vanilla_proof")?;
    let challenges = "/vanilla_proofs/StackedDrg2KiBV1/0";
    let comment = "The second challenge is missing.";
    changed(suite, "challenge_missing", comment, challenges, drop_last, "wrong_count")?;
    let partitions = "/vanilla_proofs/StackedDrg2KiBV1";
    let comment = "The one partition stands there twice.";
    changed(suite, "partition_doubled", comment, partitions, repeat_last, "wrong_count")?;
    // The replica id hashes comm_d.
    let comment = "comm_r and comm_d have changed places.";
    changed(suite, "commitments_swapped", comment, "", swap_commitments, "wrong_identity")
}

/// A case whose C1 output is the valid one with the value at a JSON pointer of its inner JSON changed.
fn changed(
    suite: &Suite,
    name: &str,
    comment: &str,
    pointer: &str,
    change: fn(&mut Value),
    error_kind: &str,
) -> Result<(), Error> {
    let json = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(Error::json(Path::new(C1_FILE)));
    let lacks = || Error::ValidLacks("C1 output of the shape that is changed");
    let mut outer: Value = json(&suite.input)?;
    let inner = outer["Phase1Out"].as_str().and_then(|text| STANDARD.decode(text).ok()).ok_or_else(lacks)?;
    let mut inner: Value = json(&inner)?;
    change(inner.pointer_mut(pointer).ok_or_else(lacks)?);
    outer["Phase1Out"] = STANDARD.encode(inner.to_string()).into();
    suite.refused(name, comment, outer.to_string().as_bytes(), error_kind)
}

fn without_sector_size(c1: &[u8]) -> Result<Vec<u8>, Error> {
    let mut keys: BTreeMap<String, Value> =
        serde_json::from_slice(c1).map_err(Error::json(Path::new(C1_FILE)))?;
    keys.remove("SectorSize").ok_or(Error::ValidLacks("key `SectorSize`"))?;
    serde_json::to_vec(&keys).map_err(Error::json(Path::new(C1_FILE)))
}

fn flip_bit(byte: &mut Value) {
    *byte = json!(byte.as_u64().unwrap_or_default() ^ 1);
}

fn drop_last(list: &mut Value) {
    list.as_array_mut().and_then(Vec::pop);
}

fn repeat_last(list: &mut Value) {
    if let Some(list) = list.as_array_mut()
        && let Some(last) = list.last().cloned()
    {
        list.push(last);
    }
}

fn swap_first_two(list: &mut Value) {
    if let Some([first, second, ..]) = list.as_array_mut().map(Vec::as_mut_slice) {
        std::mem::swap(first, second);
    }
}

fn swap_commitments(phase1: &mut Value) {
    let comm_r = phase1["comm_r"].take();
    let comm_d = phase1["comm_d"].take();
    (phase1["comm_r"], phase1["comm_d"]) = (comm_d, comm_r);
}

/// 300 MiB of zeros, in 300 KiB: more than the 256 MiB that a prover reads. Compressed once a process, in about a second.
static GZIP_BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    let zeros = vec![0; 1 << 20];
    let written = (0..300).try_for_each(|_| encoder.write_all(&zeros)).and_then(|()| encoder.finish());
    written.expect("a vector takes all bytes")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sector_size_goes() {
        let left =
            without_sector_size(br#"{"SectorNum": 1, "SectorSize": 2048, "Phase1Out": "AA=="}"#).unwrap();
        let left: serde_json::Value = serde_json::from_slice(&left).unwrap();
        assert_eq!(left, serde_json::json!({"SectorNum": 1, "Phase1Out": "AA=="}));
        assert!(without_sector_size(b"{}").is_err());
    }
}
