//! The suite of replica updates: commitments that are wrong, and false vanilla proofs.

use super::Recipe;
use super::bincode::{NODE, PartitionLayout, decode, encode};
use super::reference::StatementFile;
use super::suite::{Suite, flip_first_bit};
use crate::Error;
use crate::case::{Arguments, Flag, Form};

const VANILLA_FILE: &str = "vanilla.json";

/// A replica update: one partition of ten challenges.
pub(super) const V1: Recipe = Recipe {
    name: "snap-2kib-v1",
    fixture: "snap",
    input: VANILLA_FILE,
    comment: "An update of a 2 KiB replica is proved as upstream's prover proves it, to the byte.",
    flags: &[Flag::InsecureParameters],
    form: Form::Plain,
    arguments,
    cases: |suite| {
        write_false_commitments(suite)?;
        suite.refused_type(
            "proof_type_of_another_kind",
            "The registered proof of a PoSt, which a replica update cannot have.",
            "StackedDrgWinning2KiBV1",
            "unknown_proof_type",
        )?;
        suite.refused_type(
            "proof_type_of_another_size",
            "The registered proof of a larger sector, whose update has four partitions.",
            "StackedDrg8MiBV1",
            "wrong_count",
        )?;
        write_false_vanilla_proofs(suite)
    },
};

fn arguments(statement: &StatementFile) -> Arguments {
    Arguments {
        proof_type: Some(statement.registered_proof.clone()),
        comm_r_old: statement.comm_r_old,
        comm_r_new: statement.comm_r_new,
        comm_d_new: statement.comm_d_new,
        ..Arguments::default()
    }
}

/// Nothing but the vanilla proof tells whether a commitment is the right one.
fn write_false_commitments(suite: &Suite) -> Result<(), Error> {
    let kind = "false_vanilla_proof";
    let comment = "The old and the new replica's commitment have changed places.";
    let swap = |arguments: &mut Arguments| {
        std::mem::swap(&mut arguments.comm_r_old, &mut arguments.comm_r_new);
    };
    suite.refused_arguments("commitments_swapped", comment, swap, kind)?;
    let comment = "One bit of the old replica's commitment is flipped.";
    let old = |arguments: &mut Arguments| arguments.comm_r_old = arguments.comm_r_old.map(flip_first_bit);
    suite.refused_arguments("comm_r_old_wrong", comment, old, kind)?;
    let comment = "One bit of the new data's commitment is flipped.";
    let data = |arguments: &mut Arguments| arguments.comm_d_new = arguments.comm_d_new.map(flip_first_bit);
    suite.refused_arguments("comm_d_new_wrong", comment, data, kind)
}

/// Changes in the one partition's element.
fn write_false_vanilla_proofs(suite: &Suite) -> Result<(), Error> {
    let elements = decode(&suite.input)?;
    let [partition] = &elements[..] else { return Err(Error::ValidLacks("single partition")) };
    let layout = PartitionLayout::of(partition)?;
    let [old, data, new] = layout.challenges.last().ok_or(Error::ValidLacks("challenge"))?;
    let refused = |name, comment, change: &dyn Fn(&mut Vec<u8>), kind| {
        let mut changed = partition.clone();
        change(&mut changed);
        suite.refused(name, comment, &encode(&[changed]), kind)
    };

    let paths = [
        ("sibling_flipped_old", "One bit of a sibling hash in the old replica's tree is flipped.", old),
        ("sibling_flipped_data", "One bit of a sibling hash in the new data's tree is flipped.", data),
        ("sibling_flipped_new", "One bit of a sibling hash in the new replica's tree is flipped.", new),
    ];
    for (name, comment, path) in paths {
        let flip: &dyn Fn(&mut Vec<u8>) = &|element| element[path.sibling.start] ^= 1;
        refused(name, comment, flip, "false_vanilla_proof")?;
    }
    let comment = "A sibling hash that is not an element of the field, at which upstream panics.";
    let fill: &dyn Fn(&mut Vec<u8>) = &|element| element[new.sibling.clone()].fill(255);
    refused("not_in_field", comment, fill, "false_vanilla_proof")?;
    let comment = "One bit of an apex leaf is flipped.";
    let apex: &dyn Fn(&mut Vec<u8>) = &|element| element[layout.apex_leaves.start] ^= 1;
    refused("apex_leaf_flipped", comment, apex, "false_vanilla_proof")?;
    let comment =
        "The halves of the apex leaves are exchanged, which upstream's own verification does not notice.";
    let (leaves, half) = (layout.apex_leaves.clone(), layout.apex_leaves.len() / 2);
    if partition[leaves.clone()][..half] == partition[leaves.clone()][half..] {
        return Err(Error::ValidLacks("apex leaves that differ"));
    }
    let exchange: &dyn Fn(&mut Vec<u8>) = &|element| element[leaves.clone()].rotate_left(half);
    refused("apex_leaves_exchanged", comment, exchange, "false_vanilla_proof")?;
    let comment = "The last challenge is missing.";
    let drop_challenge: &dyn Fn(&mut Vec<u8>) = &|element| {
        element.drain(old.range.start..new.range.end);
        element[layout.count.start] -= 1;
    };
    refused("challenge_missing", comment, drop_challenge, "wrong_count")?;
    let comment = "The element ends in the middle of a hash, and so is no vanilla proof.";
    let truncate: &dyn Fn(&mut Vec<u8>) = &|element| element.truncate(element.len() - NODE / 2);
    refused("element_truncated", comment, truncate, "input_unknown_shape")?;
    let comment = "The one partition stands there twice.";
    suite.refused("partition_doubled", comment, &encode(&[&elements[..], &elements].concat()), "wrong_count")
}
