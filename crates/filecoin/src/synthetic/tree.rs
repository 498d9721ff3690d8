//! Merkle trees that are never held whole: nodes are addressed by level (0: the leaves) and index.
//!
//! A tree's shape is the list of its arities from the leaves up, e.g. nine times 8, then 8, then 2 for the replica trees
//! of a 64 GiB sector.

use std::collections::BTreeMap;

use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::{HashFunction, Hasher};
use rayon::prelude::*;
use storage_proofs_core::merkle::{MerkleProof, MerkleTreeTrait};

use super::seeded::{Purpose, Seeded};

/// A path from a leaf up: the other children of each ancestor, and which child the path comes from.
pub(super) type Path<D> = Vec<(Vec<D>, usize)>;

/// A replica tree's inclusion proof.
pub(super) type ReplicaProof<Tree> = MerkleProof<
    PoseidonHasher,
    <Tree as MerkleTreeTrait>::Arity,
    <Tree as MerkleTreeTrait>::SubTreeArity,
    <Tree as MerkleTreeTrait>::TopTreeArity,
>;

/// One hash.
pub(super) fn hash_children<H: Hasher>(children: &[H::Domain]) -> H::Domain {
    fn hash<D: filecoin_hashers::Domain, F: HashFunction<D>>(children: &[D]) -> D {
        F::default().multi_node(children, 0)
    }
    hash::<H::Domain, H::Function>(children)
}

/// A tree that has every node on the path of an opened leaf, and every sibling of one.
pub(super) trait MerkleTree {
    type Hasher: Hasher;

    fn arities(&self) -> &[usize];

    /// The node `index` of a level. Panics when the tree does not have it.
    fn node(&self, level: usize, index: u64) -> <Self::Hasher as Hasher>::Domain;

    fn root(&self) -> <Self::Hasher as Hasher>::Domain {
        self.node(self.arities().len(), 0)
    }

    fn path(&self, leaf: u64) -> Path<<Self::Hasher as Hasher>::Domain> {
        let mut index = leaf;
        let step = |(level, &arity): (usize, &usize)| {
            let (first, position) = (index - index % arity as u64, index % arity as u64);
            index /= arity as u64;
            let others = (0..arity as u64).filter(|child| *child != position);
            let siblings = others.map(|child| self.node(level, first + child)).collect();
            (siblings, position as usize)
        };
        self.arities().iter().enumerate().map(step).collect()
    }
}

/// The inclusion proof of a leaf of a replica tree.
pub(super) fn open<Tree: MerkleTreeTrait>(
    tree: &impl MerkleTree<Hasher = PoseidonHasher>,
    leaf: u64,
) -> ReplicaProof<Tree> {
    MerkleProof::from_parts(tree.node(0, leaf), tree.root(), tree.path(leaf))
}

/// A Poseidon tree in which some leaves are given and only their paths are computed; the other children of the nodes
/// on these paths come from the seed.
pub(super) struct SparseTree {
    arities: Vec<usize>,
    levels: Vec<Level>,
    root: PoseidonDomain,
}

/// The nodes of a level that have an opened leaf under them or under a sibling.
struct Level {
    /// Indices of their parents, ascending.
    parents: Vec<u64>,
    /// All children of these parents.
    children: Vec<PoseidonDomain>,
}

impl SparseTree {
    /// Hashes each node on an opened path once, level by level, each level on all threads: at most the number of leaves
    /// times the number of levels. At least one leaf.
    pub(super) fn new(
        seeded: &Seeded,
        purpose: Purpose,
        arities: Vec<usize>,
        leaves: &BTreeMap<u64, PoseidonDomain>,
    ) -> Self {
        let mut known: Vec<(u64, PoseidonDomain)> =
            leaves.iter().map(|(index, leaf)| (*index, *leaf)).collect();
        let mut levels = Vec::with_capacity(arities.len());
        for (level, &arity) in arities.iter().enumerate() {
            let groups: Vec<_> = known.chunk_by(|a, b| a.0 / arity as u64 == b.0 / arity as u64).collect();
            let families: Vec<_> = groups
                .par_iter()
                .map(|group| {
                    let parent = group[0].0 / arity as u64;
                    let mut children: Vec<_> = (0..arity as u64)
                        .map(|child| seeded.node(purpose, level, parent * arity as u64 + child))
                        .collect();
                    for (index, node) in *group {
                        children[(index % arity as u64) as usize] = *node;
                    }
                    let hash = hash_children::<PoseidonHasher>(&children);
                    (parent, children, hash)
                })
                .collect();
            known = families.iter().map(|(parent, _, hash)| (*parent, *hash)).collect();
            let parents = known.iter().map(|(parent, _)| *parent).collect();
            let children = families.into_iter().flat_map(|(_, children, _)| children).collect();
            levels.push(Level { parents, children });
        }
        SparseTree { arities, levels, root: known[0].1 }
    }
}

impl MerkleTree for SparseTree {
    type Hasher = PoseidonHasher;

    fn arities(&self) -> &[usize] {
        &self.arities
    }

    fn node(&self, level: usize, index: u64) -> PoseidonDomain {
        let Some(arity) = self.arities.get(level) else { return self.root };
        let level = &self.levels[level];
        let arity = *arity as u64;
        let family =
            level.parents.binary_search(&(index / arity)).expect("a node on or beside an opened path");
        level.children[family * arity as usize + (index % arity) as usize]
    }
}

/// A complete tree whose leaves repeat with a short period, as do the nodes of each level. Period and arities are powers
/// of two.
pub(super) struct PeriodicTree<H: Hasher> {
    arities: Vec<usize>,
    levels: Vec<Vec<H::Domain>>,
}

impl<H: Hasher> PeriodicTree<H> {
    /// About one hash a level.
    pub(super) fn new(arities: Vec<usize>, pattern: Vec<H::Domain>) -> Self {
        let mut levels = vec![pattern];
        for (level, &arity) in arities.iter().enumerate() {
            let children = &levels[level];
            let parents = (0..children.len().div_ceil(arity)).map(|parent| {
                let family: Vec<_> =
                    (0..arity).map(|child| children[(parent * arity + child) % children.len()]).collect();
                hash_children::<H>(&family)
            });
            levels.push(parents.collect());
        }
        PeriodicTree { arities, levels }
    }
}

impl<H: Hasher> MerkleTree for PeriodicTree<H> {
    type Hasher = H;

    fn arities(&self) -> &[usize] {
        &self.arities
    }

    fn node(&self, level: usize, index: u64) -> H::Domain {
        let nodes = &self.levels[level];
        nodes[(index % nodes.len() as u64) as usize]
    }
}

/// A complete tree whose leaves are constant on aligned runs of equal length, a power of two, as are the nodes of each
/// level until a run is one node.
pub(super) struct RunTree<H: Hasher> {
    arities: Vec<usize>,
    levels: Vec<Runs<H::Domain>>,
}

/// A level of nodes, each value repeated.
struct Runs<D> {
    values: Vec<D>,
    length: u64,
}

impl<D: Copy> Runs<D> {
    fn node(&self, index: u64) -> D {
        self.values[(index / self.length) as usize]
    }
}

impl<H: Hasher> RunTree<H> {
    /// One hash a run and level, on all threads, as long as a run is longer than the arity.
    pub(super) fn new(arities: Vec<usize>, values: Vec<H::Domain>) -> Self {
        let leaves: u64 = arities.iter().map(|arity| *arity as u64).product();
        let mut levels = vec![Runs { length: leaves / values.len() as u64, values }];
        for (level, &arity) in arities.iter().enumerate() {
            let children = &levels[level];
            let arity = arity as u64;
            // Nodes of the next level that differ, and how long each is repeated.
            let length = (children.length / arity).max(1);
            let distinct = children.length * children.values.len() as u64 / arity / length;
            let hash = |run: u64| {
                let first = run * length * arity;
                let family: Vec<_> = (first..first + arity).map(|child| children.node(child)).collect();
                hash_children::<H>(&family)
            };
            let values = (0..distinct).into_par_iter().map(hash).collect();
            levels.push(Runs { values, length });
        }
        RunTree { arities, levels }
    }
}

impl<H: Hasher> MerkleTree for RunTree<H> {
    type Hasher = H;

    fn arities(&self) -> &[usize] {
        &self.arities
    }

    fn node(&self, level: usize, index: u64) -> H::Domain {
        self.levels[level].node(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root by hashing every leaf.
    fn root_of_all<H: Hasher>(arities: &[usize], leaves: Vec<H::Domain>) -> H::Domain {
        let hash_level =
            |nodes: Vec<H::Domain>, arity: &usize| nodes.chunks(*arity).map(hash_children::<H>).collect();
        arities.iter().fold(leaves, hash_level)[0]
    }

    fn follow<H: Hasher>(leaf: H::Domain, path: &Path<H::Domain>) -> H::Domain {
        path.iter().fold(leaf, |node, (siblings, position)| {
            let mut children = siblings.clone();
            children.insert(*position, node);
            hash_children::<H>(&children)
        })
    }

    const SEEDED: Seeded = Seeded { seed: 5, sector: 6 };

    fn leaf(index: u64) -> PoseidonDomain {
        SEEDED.node(Purpose::ReplicaNode, 0, index)
    }

    #[test]
    fn a_sparse_tree_with_all_leaves_is_the_tree() {
        for arities in [vec![8, 8], vec![8, 8, 2], vec![8, 4]] {
            let leaves: Vec<_> = (0..arities.iter().product::<usize>() as u64).map(leaf).collect();
            let opened = (0..).zip(leaves.iter().copied()).collect();
            let tree = SparseTree::new(&SEEDED, Purpose::TreeC, arities.clone(), &opened);
            assert_eq!(tree.root(), root_of_all::<PoseidonHasher>(&arities, leaves));
        }
    }

    #[test]
    fn all_paths_of_a_sparse_tree_lead_to_its_root() {
        let opened: BTreeMap<_, _> = [0, 1, 7, 8, 500, 1023].map(|index| (index, leaf(index))).into();
        let tree = SparseTree::new(&SEEDED, Purpose::TreeC, vec![8, 8, 8, 2], &opened);
        for (index, leaf) in opened {
            assert_eq!(tree.node(0, index), leaf);
            assert_eq!(follow::<PoseidonHasher>(leaf, &tree.path(index)), tree.root());
        }
    }

    #[test]
    fn a_periodic_tree_is_the_tree_of_its_pattern() {
        for period in [1, 2, 4, 16] {
            let arities = vec![2, 2, 2, 8];
            let pattern: Vec<_> = (0..period).map(leaf).collect();
            let leaves: Vec<_> = (0..64).map(|index| leaf(index % period)).collect();
            let tree = PeriodicTree::<PoseidonHasher>::new(arities.clone(), pattern);
            assert_eq!(tree.root(), root_of_all::<PoseidonHasher>(&arities, leaves.clone()));
            for (index, leaf) in (0..).zip(leaves) {
                assert_eq!(follow::<PoseidonHasher>(leaf, &tree.path(index)), tree.root());
            }
        }
    }

    #[test]
    fn a_run_tree_is_the_tree_of_its_runs() {
        for runs in [1, 2, 4, 16, 128] {
            let arities = vec![8, 8, 2];
            let values: Vec<_> = (0..runs).map(leaf).collect();
            let leaves: Vec<_> = (0..128).map(|index| leaf(index * runs / 128)).collect();
            let tree = RunTree::<PoseidonHasher>::new(arities.clone(), values);
            assert_eq!(tree.root(), root_of_all::<PoseidonHasher>(&arities, leaves.clone()));
            for (index, leaf) in (0..).zip(leaves) {
                assert_eq!(follow::<PoseidonHasher>(leaf, &tree.path(index)), tree.root());
            }
        }
    }
}
