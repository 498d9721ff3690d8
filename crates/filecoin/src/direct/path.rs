//! Paths through trees, from a leaf to the root, as upstream's gadgets allocate them.
//!
//! A step of arity 8: 3 bits of the index; 7 siblings; 2 bits, neither of the lower two and both of them; 20 selections, in this order
//! for each place; Poseidon. A step of arity 2: 1 bit; 1 sibling; left and right; Poseidon.
//!
//! A step of the data's tree: 1 bit; 1 sibling; left and right; 255 bits of each; SHA-256 of both, padded, 254 bits of which are an element.

use blstrs::Scalar as Fr;
use cuzk_r1cs::Writer;
use filecoin_hashers::Hasher;
use storage_proofs_core::merkle::MerkleProofTrait;

use super::poseidon::Hashes;
use super::sha256::{INITIAL, Shape, compress};
use super::{Node, element, write_bits_of};

/// A leaf, and the siblings and the position among them for each step.
pub(super) struct Path<T> {
    pub(super) leaf: T,
    steps: Vec<(Vec<T>, usize)>,
}

/// The bytes of a node.
pub(super) fn node(value: &impl AsRef<[u8]>) -> Node {
    value.as_ref().try_into().expect("32 bytes")
}

/// A path through a tree over Poseidon.
pub(super) fn replica_path<P: MerkleProofTrait>(proof: &P) -> Path<Fr> {
    path(proof, |value| element(&node(value)))
}

/// A path through the tree over the data.
pub(super) fn data_path<P: MerkleProofTrait>(proof: &P) -> Path<Node> {
    path(proof, node)
}

fn path<P: MerkleProofTrait, T>(proof: &P, value: impl Fn(&<P::Hasher as Hasher>::Domain) -> T) -> Path<T> {
    let steps = proof.path().into_iter();
    let steps = steps.map(|(siblings, index)| (siblings.iter().map(&value).collect(), index));
    Path { leaf: value(&proof.leaf()), steps: steps.collect() }
}

impl<T> Path<T> {
    /// The siblings and the position among them of each step.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&[T], usize)> {
        self.steps.iter().map(|(siblings, index)| (&siblings[..], *index))
    }

    /// The siblings of all steps.
    pub(super) fn siblings(&self) -> impl Iterator<Item = &T> {
        self.steps.iter().flat_map(|(siblings, _)| siblings)
    }

    /// Its first steps.
    pub(super) fn up_to(mut self, steps: usize) -> Self {
        self.steps.truncate(steps);
        self
    }

    /// Its steps from this one on. The leaf stays that of the first.
    pub(super) fn from(mut self, step: usize) -> Self {
        self.steps.drain(..step);
        self
    }
}

/// Writes the steps from `leaf` to the root. The leaf is allocated before.
pub(super) fn write_replica_path(hashes: &Hashes, path: &Path<Fr>, leaf: Fr, out: &mut Writer<'_>) {
    path.steps().fold(leaf, |node, (siblings, index)| {
        out.bits(index as u64, (siblings.len() + 1).ilog2());
        siblings.iter().for_each(|sibling| out.scalar(*sibling));
        write_replica_step(hashes, node, siblings, index, out)
    });
}

/// A step whose index and siblings are allocated: selections, and the hash.
pub(super) fn write_replica_step(
    hashes: &Hashes,
    node: Fr,
    siblings: &[Fr],
    index: usize,
    out: &mut Writer<'_>,
) -> Fr {
    match siblings {
        [sibling] => hashes.two.hash(&write_two(node, *sibling, index == 1, out), out),
        siblings => {
            let siblings = siblings.try_into().expect("trees are of arity 2 or 8");
            hashes.eight.hash(&write_eight(node, siblings, index, out), out)
        }
    }
}

/// `insert_2`: left and right.
fn write_two(node: Fr, sibling: Fr, right: bool, out: &mut Writer<'_>) -> [Fr; 2] {
    let pair = if right { [sibling, node] } else { [node, sibling] };
    pair.iter().for_each(|value| out.scalar(*value));
    pair
}

/// `insert_8` of storage-proofs-core: `node` at `index` among its siblings, by selections between two.
fn write_eight(node: Fr, siblings: &[Fr; 7], index: usize, out: &mut Writer<'_>) -> [Fr; 8] {
    let [b, c, d, e, f, g, h] = *siblings;
    let bit = |bit: usize| index >> bit & 1 == 1;
    let (low, middle, high) = (bit(0), bit(1), bit(2));
    let (neither, both) = (!low && !middle, low && middle);
    out.bits(u64::from(neither) | u64::from(both) << 1, 2);
    let mut select = |condition: bool, if_true: Fr, if_false: Fr| {
        let selected = if condition { if_true } else { if_false };
        out.scalar(selected);
        selected
    };
    let inner = select(neither, node, b);
    let first = select(high, b, inner);
    let inner = select(low, node, b);
    let inner = select(middle, c, inner);
    let second = select(high, c, inner);
    let inner = select(low, d, node);
    let inner = select(middle, inner, c);
    let third = select(high, d, inner);
    let inner = select(both, node, d);
    let fourth = select(high, e, inner);
    let inner = select(neither, node, f);
    let fifth = select(high, inner, e);
    let inner = select(low, node, f);
    let inner = select(middle, g, inner);
    let sixth = select(high, inner, f);
    let inner = select(low, h, node);
    let inner = select(middle, inner, g);
    let seventh = select(high, inner, g);
    let inner = select(both, node, h);
    let eighth = select(high, inner, h);
    [first, second, third, fourth, fifth, sixth, seventh, eighth]
}

/// Writes the steps from the leaf to comm_d. The leaf is allocated before.
pub(super) fn write_data_path(path: &Path<Node>, out: &mut Writer<'_>) {
    path.steps().fold(path.leaf, |node, (siblings, index)| {
        out.bits(index as u64, 1);
        out.scalar(element(&siblings[0]));
        write_data_step(node, siblings[0], index == 1, out)
    });
}

/// A step whose index and sibling are allocated.
pub(super) fn write_data_step(node: Node, sibling: Node, right: bool, out: &mut Writer<'_>) -> Node {
    let pair = if right { [sibling, node] } else { [node, sibling] };
    pair.iter().for_each(|node| out.scalar(element(node)));
    write_pair_digest(&pair, out)
}

/// The bits of two nodes that are allocated, and their SHA-256.
pub(super) fn write_pair_digest(pair: &[Node; 2], out: &mut Writer<'_>) -> Node {
    pair.iter().for_each(|node| write_bits_of(node, out));
    let mut state = INITIAL;
    compress(&mut state, &block(&pair[0], &pair[1]), &Shape::TREE_FIRST, out);
    compress(&mut state, &padding(0, 512), &Shape::PADDING, out);
    write_digest(&state, out)
}

/// The words of two nodes.
pub(super) fn block(first: &Node, second: &Node) -> [u32; 16] {
    let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("4 bytes"));
    let mut words = first.chunks_exact(4).chain(second.chunks_exact(4)).map(word);
    std::array::from_fn(|_| words.next().expect("16 words"))
}

/// A block from word `from` on that ends a message of so many bits; zeros before.
pub(super) fn padding(from: usize, bits: u32) -> [u32; 16] {
    let mut words = [0; 16];
    words[from] = 1 << 31;
    words[15] = bits;
    words
}

/// The digest without its two highest bits as an element, which is allocated.
pub(super) fn write_digest(state: &[u32; 8], out: &mut Writer<'_>) -> Node {
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest[31] &= 0x3f;
    out.scalar(element(&digest));
    digest
}
