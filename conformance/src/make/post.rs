//! Suites of PoSt, winning and window: what the chain says is wrong, and false vanilla proofs.

use super::Recipe;
use super::bincode::{NODE, SectorLayout, decode, encode};
use super::reference::StatementFile;
use super::suite::{Suite, exchange_first_two, failure, flip_first_bit};
use crate::Error;
use crate::case::{Arguments, Flag, Form};

const VANILLA_FILE: &str = "vanilla.json";

/// Winning PoSt: 66 challenges of one sector.
pub(super) const WINNING: Recipe = Recipe {
    name: "winning-post-2kib-v1",
    fixture: "winning-post --miner 1000 --sector 1",
    input: VANILLA_FILE,
    comment: "A winning PoSt of a 2 KiB sector is proved as upstream's prover proves it, to the byte.",
    flags: &[Flag::InsecureParameters],
    form: Form::Plain,
    arguments,
    cases: |suite| {
        write_common(suite)?;
        suite.refused_type(
            "proof_type_of_another_size",
            "The registered proof of a larger sector, whose tree is higher than these paths are long.",
            "StackedDrgWinning8MiBV1",
            "false_vanilla_proof",
        )?;
        suite.refused_type(
            "proof_type_of_window",
            "The registered proof of a window PoSt, which has 10 challenges a sector and not 66.",
            "StackedDrgWindow2KiBV1_2",
            "wrong_count",
        )?;
        let comment = "The one sector stands there twice.";
        let elements = decode(&suite.input)?;
        suite.refused(
            "sector_doubled",
            comment,
            &encode(&[&elements[..], &elements].concat()),
            "wrong_count",
        )?;
        suite.refused("no_sectors", "A list of no sectors.", b"[]", "input_unknown_shape")?;
        let comment = "The vanilla proof has a character that base64 does not.";
        suite.refused("not_base64", comment, b"[\"AAA!\"]", "input_malformed")
    },
};

/// Window PoSt with three sectors: two partitions, the second filled up with its one sector.
pub(super) const WINDOW: Recipe = Recipe {
    name: "window-post-2kib-v1_2",
    fixture: "window-post --miner 1000 --sector 1 --sectors 3",
    input: VANILLA_FILE,
    comment: "Two partitions of a window PoSt, the second not full, are proved as upstream's prover proves them, to \
              the byte.",
    flags: &[Flag::InsecureParameters],
    form: Form::Plain,
    arguments,
    cases: |suite| {
        write_common(suite)?;
        let comment = "Partition 1 alone: the second 192 bytes of the whole proof.";
        suite.one_partition("second_partition_alone", comment, 1)?;
        suite.refused_type(
            "proof_type_of_another_size",
            "The registered proof of a larger sector, whose tree is higher than these paths are long.",
            "StackedDrgWindow8MiBV1_2",
            "false_vanilla_proof",
        )?;
        suite.refused_type(
            "proof_type_of_another_version",
            "The registered proof of the first version, which draws other challenges for all sectors but the first.",
            "StackedDrgWindow2KiBV1",
            "false_vanilla_proof",
        )?;
        suite.refused_type(
            "proof_type_of_winning",
            "The registered proof of a winning PoSt, which is of one sector.",
            "StackedDrgWinning2KiBV1",
            "wrong_count",
        )?;
        let comment = "The proofs of the two partitions are exchanged: each is true of the other partition.";
        let exchanged = exchange_first_two(&suite.proof)?;
        suite.judged("partitions_exchanged", comment, &exchanged, failure(1, "proof_invalid"))?;
        write_other_sectors(suite)
    },
};

/// Without the type, a prover would take the latest for the size, and another with each network upgrade.
fn arguments(statement: &StatementFile) -> Arguments {
    Arguments {
        miner: statement.miner,
        randomness: statement.randomness,
        proof_type: Some(statement.registered_proof.clone()),
        ..Arguments::default()
    }
}

fn write_common(suite: &Suite) -> Result<(), Error> {
    // Challenges hash the randomness, so that a wrong one shows in the vanilla proof.
    suite.refused_arguments(
        "wrong_randomness",
        "One bit of the randomness is flipped, so that the challenges are not those that the vanilla proof opens.",
        |arguments| arguments.randomness = arguments.randomness.map(flip_first_bit),
        "false_vanilla_proof",
    )?;
    // The circuit has no prover id, nor do the challenges hash one: the chain puts the miner into the randomness. So a
    // prover cannot know, and upstream's proof is the same.
    suite.same_proof(
        "other_miner",
        "Another miner's number changes nothing: a PoSt depends on the miner through its randomness and sectors alone.",
        |arguments| arguments.miner = arguments.miner.map(|miner| miner + 1),
    )?;
    suite.refused_type(
        "proof_type_of_another_kind",
        "The registered proof of a replica update (and of a PoRep), which a PoSt cannot have.",
        "StackedDrg2KiBV1",
        "unknown_proof_type",
    )?;
    write_false_vanilla_proofs(suite)
}

/// Changes in the last sector's element.
fn write_false_vanilla_proofs(suite: &Suite) -> Result<(), Error> {
    let elements = decode(&suite.input)?;
    let last = elements.last().ok_or(Error::ValidLacks("sector"))?;
    let layout = SectorLayout::of(last)?;
    let path = layout.paths.last().ok_or(Error::ValidLacks("challenge"))?;
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut elements = elements.clone();
        elements.iter_mut().last().into_iter().for_each(change);
        encode(&elements)
    };
    let refused = |name, comment, change: &dyn Fn(&mut Vec<u8>), kind| {
        suite.refused(name, comment, &changed(change), kind)
    };

    let comment = "One bit of a sibling hash on the last challenge's path is flipped. Of a winning PoSt, upstream's own \
                   verification looks at the first path only.";
    let flip: &dyn Fn(&mut Vec<u8>) = &|element| element[path.sibling.start] ^= 1;
    refused("sibling_flipped", comment, flip, "false_vanilla_proof")?;
    let comment = "A sibling hash that is not an element of the field, at which upstream panics.";
    let fill: &dyn Fn(&mut Vec<u8>) = &|element| element[path.sibling.clone()].fill(255);
    refused("not_in_field", comment, fill, "false_vanilla_proof")?;
    let comment = "The last sector's last challenge is missing.";
    let drop_challenge: &dyn Fn(&mut Vec<u8>) = &|element| {
        element.drain(path.range.clone());
        element[layout.count.start] -= 1;
    };
    refused("challenge_missing", comment, drop_challenge, "wrong_count")?;
    let comment = "The last sector's element ends in the middle of a hash, and so is no vanilla proof.";
    let truncate: &dyn Fn(&mut Vec<u8>) = &|element| element.truncate(element.len() - NODE / 2);
    refused("element_truncated", comment, truncate, "input_unknown_shape")?;
    let comment = "The last sector's element has one byte more than a vanilla proof.";
    let extend: &dyn Fn(&mut Vec<u8>) = &|element| element.push(0);
    refused("element_extended", comment, extend, "input_unknown_shape")
}

/// Which sectors there are is said by nothing but the elements, so that a missing one makes another statement, which is
/// true but not that of the proof.
fn write_other_sectors(suite: &Suite) -> Result<(), Error> {
    let elements = decode(&suite.input)?;
    let [first, second, third] = &elements[..] else { return Err(Error::ValidLacks("three sectors")) };
    let list =
        |sectors: &[&Vec<u8>]| encode(&sectors.iter().map(|sector| (*sector).clone()).collect::<Vec<_>>());
    suite.judged_against(
        "sector_missing",
        "The proof of both partitions is verified against an input without the last sector: one partition.",
        &list(&[first, second]),
        failure(2, "proof_length"),
    )?;
    suite.judged_against(
        "sectors_exchanged",
        "The proof is verified against the same sectors in another order.",
        &list(&[second, first, third]),
        failure(1, "proof_invalid"),
    )?;
    let comment =
        "The last sector stands there twice, which fills the second partition as the prover does itself.";
    suite.refused("sector_doubled", comment, &list(&[first, second, third, third]), "wrong_count")
}
