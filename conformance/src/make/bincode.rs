//! Vanilla proofs in base64, and where in their bincode the parts lie that cases change.
//!
//! Upstream writes integers in little-endian of fixed width, lengths as u64, 32-byte values as they are.

use std::ops::Range;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Error;

/// Length of a node of a tree, and of a commitment.
pub(super) const NODE: usize = 32;
/// The variant of upstream's Merkle proof over a tree without subtrees, as all trees of the test sizes are.
const SINGLE: u32 = 0;

/// The elements of a vanilla file: a JSON list of base64 strings.
pub(super) fn decode(vanilla: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let elements: Vec<String> =
        serde_json::from_slice(vanilla).map_err(Error::json(Path::new("vanilla.json")))?;
    let element = |text: &String| STANDARD.decode(text).map_err(|_| Error::ValidLacks("base64"));
    elements.iter().map(element).collect()
}

/// The vanilla file with these elements.
pub(super) fn encode(elements: &[Vec<u8>]) -> Vec<u8> {
    let elements: Vec<String> = elements.iter().map(|element| STANDARD.encode(element)).collect();
    serde_json::Value::from(elements).to_string().into_bytes()
}

/// A path from a leaf to its root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MerklePath {
    /// All of it.
    pub(super) range: Range<usize>,
    /// The sibling beside the leaf.
    pub(super) sibling: Range<usize>,
}

/// A sector's element of a PoSt: `FallbackPoStSectorProof`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SectorLayout {
    /// The number of paths.
    pub(super) count: Range<usize>,
    /// One a challenge.
    pub(super) paths: Vec<MerklePath>,
}

impl SectorLayout {
    /// Finds the parts of an element of one sector.
    pub(super) fn of(element: &[u8]) -> Result<Self, Error> {
        let mut walk = Walk { bytes: element, at: 0 };
        let mut layout = || {
            walk.skip(8 + NODE)?; // sector number, comm_r
            walk.expect(1, 8)?;
            let (count, n_paths) = walk.length()?;
            let paths = (0..n_paths).map(|_| walk.path()).collect::<Option<_>>()?;
            walk.skip(2 * NODE)?; // comm_c, comm_r_last
            walk.at_end().then_some(SectorLayout { count, paths })
        };
        layout().ok_or(Error::ValidLacks("sector of the layout that is changed"))
    }
}

/// A partition's element of a replica update: `PartitionProof`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartitionLayout {
    /// The leaves of the apex tree, one after the other.
    pub(super) apex_leaves: Range<usize>,
    /// The number of challenges.
    pub(super) count: Range<usize>,
    /// The three paths of each challenge: into the old replica, the new data and the new replica.
    pub(super) challenges: Vec<[MerklePath; 3]>,
}

impl PartitionLayout {
    /// Finds the parts of an element.
    pub(super) fn of(element: &[u8]) -> Result<Self, Error> {
        let mut walk = Walk { bytes: element, at: 0 };
        let mut layout = || {
            walk.skip(NODE)?; // comm_c
            let (_, n_leaves) = walk.length()?;
            let apex_leaves = walk.skip(n_leaves.checked_mul(NODE)?)?;
            let (count, n_challenges) = walk.length()?;
            let mut challenge = |_| Some([walk.path()?, walk.path()?, walk.path()?]);
            let challenges = (0..n_challenges).map(&mut challenge).collect::<Option<_>>()?;
            walk.at_end().then_some(PartitionLayout { apex_leaves, count, challenges })
        };
        layout().ok_or(Error::ValidLacks("partition of the layout that is changed"))
    }
}

/// A position in bincode.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Goes on, unless the bytes end before.
    fn skip(&mut self, n_bytes: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(n_bytes).filter(|end| *end <= self.bytes.len())?;
        let passed = self.at..end;
        self.at = end;
        Some(passed)
    }

    /// Reads an integer of at most 8 bytes.
    fn integer(&mut self, n_bytes: usize) -> Option<u64> {
        let mut integer = [0; 8];
        let range = self.skip(n_bytes)?;
        integer[..n_bytes].copy_from_slice(&self.bytes[range]);
        Some(u64::from_le_bytes(integer))
    }

    fn expect(&mut self, wanted: u64, n_bytes: usize) -> Option<()> {
        (self.integer(n_bytes)? == wanted).then_some(())
    }

    /// Reads the length of a list, none of whose elements is empty.
    fn length(&mut self) -> Option<(Range<usize>, usize)> {
        let start = self.at;
        let length = usize::try_from(self.integer(8)?).ok()?;
        (length <= self.bytes.len()).then_some((start..self.at, length))
    }

    fn path(&mut self) -> Option<MerklePath> {
        let start = self.at;
        self.expect(SINGLE.into(), 4)?;
        self.skip(2 * NODE)?; // root, leaf
        let (_, n_steps) = self.length()?;
        let mut sibling = None;
        for _ in 0..n_steps {
            let (_, n_siblings) = self.length()?;
            let siblings = self.skip(n_siblings.checked_mul(NODE)?)?;
            sibling.get_or_insert(siblings.start..siblings.start + NODE);
            self.skip(8)?; // index
        }
        Some(MerklePath { range: start..self.at, sibling: sibling? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of two steps with one and two siblings.
    fn path() -> Vec<u8> {
        let number = |number: u64| number.to_le_bytes().to_vec();
        let node = |byte: u8| vec![byte; NODE];
        let parts = [
            vec![0; 4],
            node(1),
            node(2),
            number(2),
            number(1),
            node(3),
            number(0),
            number(2),
            node(4),
            node(5),
            number(1),
        ];
        parts.concat()
    }

    #[test]
    fn the_parts_of_a_sector_are_found() {
        let head = [&[9; 8 + NODE][..], &1u64.to_le_bytes()].concat();
        let element = [&head[..], &2u64.to_le_bytes(), &path(), &path(), &[9; 2 * NODE]].concat();
        let layout = SectorLayout::of(&element).unwrap();
        assert_eq!(element[layout.count], 2u64.to_le_bytes());
        assert_eq!(layout.paths.len(), 2);
        for found in &layout.paths {
            assert_eq!(element[found.range.clone()], path());
            assert_eq!(element[found.sibling.clone()], [3; NODE]);
        }
        assert!(SectorLayout::of(&element[..element.len() - 1]).is_err());
        assert!(SectorLayout::of(&[&element[..], &[0]].concat()).is_err());
        assert!(SectorLayout::of(&[&head[..], &u64::MAX.to_le_bytes()].concat()).is_err());
    }

    #[test]
    fn the_parts_of_a_partition_are_found() {
        let leaves = [[6; NODE], [7; NODE]].concat();
        let head = [&[9; NODE][..], &2u64.to_le_bytes(), &leaves].concat();
        let element = [&head[..], &1u64.to_le_bytes(), &path(), &path(), &path()].concat();
        let layout = PartitionLayout::of(&element).unwrap();
        assert_eq!(element[layout.apex_leaves], leaves);
        assert_eq!(element[layout.count], 1u64.to_le_bytes());
        assert!(layout.challenges[0].iter().all(|found| element[found.range.clone()] == path()));
        assert!(PartitionLayout::of(&element[..element.len() - 1]).is_err());
    }

    #[test]
    fn elements_are_encoded_as_they_were() {
        let elements = vec![vec![1, 2, 3], vec![]];
        assert_eq!(decode(&encode(&elements)).unwrap(), elements);
        assert!(decode(b"[\"!\"]").is_err() && decode(b"{}").is_err());
    }
}
