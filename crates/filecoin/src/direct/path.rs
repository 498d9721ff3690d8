//! Paths through trees, from a leaf to the root, as upstream's gadgets allocate them.
//!
//! A step of arity 8: 3 bits of the index; 7 siblings; 2 bits, neither of the lower two and both of them; 20 selections, in this order
//! for each place; Poseidon. A step of arity 2: 1 bit; 1 sibling; left and right; Poseidon. The bits do not depend on the nodes, so they
//! are written at once; selections and hashes are left to [`Hashes::complete`].
//!
//! A step of the data's tree: 1 bit; 1 sibling; left and right; 255 bits of each; SHA-256 of both, padded, 254 bits of which are an element.

use blstrs::Scalar as Fr;
use cuzk_r1cs::{Error, Writer};
use filecoin_hashers::Hasher;
use storage_proofs_core::merkle::MerkleProofTrait;

use super::hashes::{Chain, Hashes, Inputs, Start};
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
    #[cfg(test)]
    pub(super) fn new(leaf: T, steps: Vec<(Vec<T>, usize)>) -> Self {
        Path { leaf, steps }
    }

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

/// A step whose selections and hash are to be computed.
pub(super) struct Step<'a> {
    siblings: Vec<Fr>,
    index: usize,
    place: &'a mut [Fr],
}

/// Writes what is known of the steps to the root. The leaf is allocated before.
pub(super) fn write_replica_path<'a>(
    hashes: &Hashes,
    path: Path<Fr>,
    start: Start<'a>,
    out: &mut Writer<'a>,
) -> Result<Chain<'a>, Error> {
    let steps = path.steps.into_iter().map(|(siblings, index)| {
        out.bits(index as u64, (siblings.len() + 1).ilog2());
        siblings.iter().for_each(|sibling| out.scalar(*sibling));
        Step::write(hashes, siblings, index, out)
    });
    Ok(Chain { start, steps: steps.collect::<Result<_, _>>()? })
}

/// Selections of a step of arity 2 and 8.
const SELECTIONS_OF_TWO: usize = 2;
const SELECTIONS_OF_EIGHT: usize = 20;

impl<'a> Step<'a> {
    /// A step whose index and siblings are allocated.
    fn write(hashes: &Hashes, siblings: Vec<Fr>, index: usize, out: &mut Writer<'a>) -> Result<Self, Error> {
        let arity = siblings.len() + 1;
        let mut n_selections = SELECTIONS_OF_TWO;
        if arity == 8 {
            let low_bits = index & 3;
            out.bits(u64::from(low_bits == 0) | u64::from(low_bits == 3) << 1, 2);
            n_selections = SELECTIONS_OF_EIGHT;
        }
        let place = out.scalars(n_selections + hashes.n_scalars(arity))?;
        Ok(Step { siblings, index, place })
    }

    /// Writes the selections for a node; returns the inputs of the hash, and its place.
    pub(super) fn select(self, node: Fr) -> (Inputs, &'a mut [Fr]) {
        let Step { siblings, index, place } = self;
        match siblings[..] {
            [sibling] => {
                let (selections, place) = place.split_at_mut(SELECTIONS_OF_TWO);
                let pair = if index == 1 { [sibling, node] } else { [node, sibling] };
                selections.copy_from_slice(&pair);
                (Inputs::Two(pair), place)
            }
            [b, c, d, e, f, g, h] => {
                let (selections, place) = place.split_at_mut(SELECTIONS_OF_EIGHT);
                let inputs = select_eight(node, [b, c, d, e, f, g, h], index, selections);
                (Inputs::Eight(inputs), place)
            }
            _ => unreachable!("trees are of arity 2 or 8"),
        }
    }
}

/// All siblings, and then the steps, whose bits are allocated elsewhere.
pub(super) fn write_siblings_and_steps<'a>(
    hashes: &Hashes,
    path: Path<Fr>,
    leaf: Fr,
    out: &mut Writer<'a>,
) -> Result<Chain<'a>, Error> {
    path.siblings().for_each(|sibling| out.scalar(*sibling));
    let steps = path.steps.into_iter().map(|(siblings, index)| Step::write(hashes, siblings, index, out));
    Ok(Chain { start: Start::Leaf(leaf), steps: steps.collect::<Result<_, _>>()? })
}

/// `insert_8` of storage-proofs-core: `node` at `index` among its siblings, by selections between two.
fn select_eight(node: Fr, siblings: [Fr; 7], index: usize, selections: &mut [Fr]) -> [Fr; 8] {
    let [b, c, d, e, f, g, h] = siblings;
    let bit = |bit: usize| index >> bit & 1 == 1;
    let (low, middle, high) = (bit(0), bit(1), bit(2));
    let (neither, both) = (!low && !middle, low && middle);
    let mut places = selections.iter_mut();
    let mut select = |condition: bool, if_true: Fr, if_false: Fr| {
        let selected = if condition { if_true } else { if_false };
        *places.next().expect("20 selections") = selected;
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
