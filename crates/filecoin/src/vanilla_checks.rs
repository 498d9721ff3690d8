//! What upstream's verification of vanilla proofs takes on trust, or indexes into without asking. To be done before it.
//!
//! Upstream does not notice when
//!
//! * PoRep: the path to comm_d or comm_r_last does not lead to its root; the parents that a label hashes are not the
//!   labels in the opened columns; a column's index is another one; there are labeling proofs or parents too many, or
//!   expander parents too few;
//! * PoSt: `comm_r_last` beside the paths is not their root; in winning PoSt, any path but the first is false, when it
//!   is given the one sector that was drawn;
//! * Snap: the halves of the apex leaves, or of a half of them and so on, are exchanged.
//!
//! It panics on paths of another shape and on 32 bytes that are no element of Fr. What it does notice is left to it,
//! unless it comes free.
//!
//! Upstream keeps most of the fields private, so they are read through their serialization.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use ff::PrimeField;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::constants::{DRG_DEGREE, DefaultPieceDomain, DefaultPieceHasher, EXP_DEGREE};
use filecoin_proofs::types::{MerkleTreeTrait, PoStConfig, PoStType};
use filecoin_proofs_api::FallbackPoStSectorProof;
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_porep::stacked;
use storage_proofs_post::fallback::{self, generate_leaf_challenge, get_challenge_index};
use storage_proofs_update::constants::{TreeDDomain, TreeDHasher};
use storage_proofs_update::{Challenges, PartitionProof, PublicParams};

use crate::shape::{data_arities, replica_arities};
use crate::{Error, SectorSize};

/// Why a challenge is refused.
type Refusal = &'static str;

type PorepInputs<Tree> =
    stacked::PublicInputs<<<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain, DefaultPieceDomain>;
type PorepProof<Tree> = stacked::Proof<Tree, DefaultPieceHasher>;

/// Checks a PoRep's vanilla proofs, all partitions from 0, on all threads. The number of partitions is the caller's.
/// 90 ms for ten partitions at 32 GiB (2-core Zen 3 guest, 2026-11-29).
pub(crate) fn porep<Tree: 'static + MerkleTreeTrait>(
    size: SectorSize,
    params: &stacked::PublicParams<Tree>,
    inputs: &PorepInputs<Tree>,
    proofs: &[Vec<PorepProof<Tree>>],
) -> Result<(), Error> {
    let checks = PorepChecks::new(size, params);
    for (partition, challenges) in proofs.iter().enumerate() {
        let nodes = inputs.challenges(&params.challenges, params.graph.size(), Some(partition));
        count(partition, "challenges", challenges.len(), nodes.len())?;
        let roots = challenges.first().map(|proof| (proof.comm_c(), proof.comm_r_last()));
        let check = |proof: &PorepProof<Tree>, node| {
            checks.challenge(proof, node)?;
            require(
                Some((proof.comm_c(), proof.comm_r_last())) == roots,
                "its roots are not those of challenge 0",
            )
        };
        first_refusal(partition, challenges, |index, proof| check(proof, nodes[index]))?;
    }
    Ok(())
}

/// The index and the refusal of the first that is refused.
fn first_refusal<T: Sync>(
    partition: usize,
    proofs: &[T],
    check: impl Fn(usize, &T) -> Result<(), Refusal> + Sync,
) -> Result<(), Error> {
    let refused = proofs
        .par_iter()
        .enumerate()
        .find_map_first(|(challenge, proof)| check(challenge, proof).err().map(|what| (challenge, what)));
    match refused {
        Some((challenge, what)) => Err(Error::FalseVanillaProof { partition, challenge, what }),
        None => Ok(()),
    }
}

fn count(partition: usize, what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected || injected(Fault::ChallengeCount) {
        return Ok(());
    }
    Err(Error::Count { place: format!("partition {partition}"), what, found, expected })
}

fn require(holds: bool, otherwise: Refusal) -> Result<(), Refusal> {
    if holds || injected(Fault::VanillaUnchecked) { Ok(()) } else { Err(otherwise) }
}

/// `stacked::Column`.
#[derive(Deserialize)]
pub(crate) struct Column {
    index: u32,
    pub(crate) rows: Vec<[u8; 32]>,
}

/// `stacked::LabelingProof` and `stacked::EncodingProof`.
#[derive(PartialEq, Eq, Deserialize)]
struct Label {
    parents: Vec<[u8; 32]>,
    layer_index: u32,
    node: u64,
}

/// Reads a type whose fields begin like those of `value`.
pub(crate) fn mirror<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, Refusal> {
    let bytes = bincode::serialize(value).map_err(|_| "it does not serialize")?;
    bincode::deserialize_from(&bytes[..]).map_err(|_| "it does not serialize")
}

struct PorepChecks<'a, Tree: 'static + MerkleTreeTrait> {
    params: &'a stacked::PublicParams<Tree>,
    data: Vec<usize>,
    replica: Vec<usize>,
}

impl<'a, Tree: 'static + MerkleTreeTrait> PorepChecks<'a, Tree> {
    fn new(size: SectorSize, params: &'a stacked::PublicParams<Tree>) -> Self {
        PorepChecks { params, data: data_arities(size), replica: replica_arities(size) }
    }

    fn challenge(&self, proof: &PorepProof<Tree>, node: usize) -> Result<(), Refusal> {
        let node = node as u64;
        path(&proof.comm_d_proofs, &self.data, node)?;
        require(proof.comm_d_proofs.verify(), "the path to comm_d does not lead to its root")?;
        path(&proof.comm_r_last_proof, &self.replica, node)?;
        require(proof.comm_r_last_proof.verify(), "the path to comm_r_last does not lead to its root")?;
        let columns = self.columns(proof, node)?;
        self.labels(proof, node, &columns)
    }

    /// The columns of the node's parents, in the graph's order.
    fn columns(&self, proof: &PorepProof<Tree>, node: u64) -> Result<Vec<Column>, Refusal> {
        let opened = &proof.replica_column_proofs;
        require(opened.drg_parents.len() == DRG_DEGREE, "it has not 6 DRG parents")?;
        require(opened.exp_parents.len() == EXP_DEGREE, "it has not 8 expander parents")?;
        let mut parents = [0; DRG_DEGREE + EXP_DEGREE];
        self.params
            .graph
            .parents(node as usize, &mut parents)
            .map_err(|_| "it has no parents in the graph")?;
        self.column(&opened.c_x, node as u32)?;
        let columns = opened.drg_parents.iter().chain(&opened.exp_parents);
        columns.zip(parents).map(|(column, parent)| self.column(column, parent)).collect()
    }

    fn column<P: MerkleProofTrait>(
        &self,
        proof: &stacked::ColumnProof<P>,
        node: u32,
    ) -> Result<Column, Refusal>
    where
        stacked::ColumnProof<P>: Serialize,
    {
        #[derive(Deserialize)]
        struct Opened<P> {
            column: Column,
            inclusion_proof: P,
        }
        let Opened { column, inclusion_proof } = mirror::<Opened<P>>(proof)?;
        require(column.index == node, "a column's index is not that of the challenge or parent")?;
        require(column.rows.len() == self.params.num_layers, "a column has not one row a layer")?;
        elements(&column.rows)?;
        path(&inclusion_proof, &self.replica, u64::from(node))?;
        Ok(column)
    }

    fn labels(&self, proof: &PorepProof<Tree>, node: u64, parents: &[Column]) -> Result<(), Refusal> {
        require(
            proof.labeling_proofs.len() == self.params.num_layers,
            "it has not one labeling proof a layer",
        )?;
        let mut last = None;
        for (below, labeling) in proof.labeling_proofs.iter().enumerate() {
            let label: Label = mirror(labeling)?;
            require(label.node == node, "a labeling proof's node is not the challenge")?;
            require(label.layer_index as usize == below + 1, "a labeling proof's layer is not its position")?;
            let in_layer = parents[..DRG_DEGREE].iter().map(|column| column.rows[below]);
            let in_layer_before = match below {
                0 => &[],
                _ => &parents[DRG_DEGREE..],
            };
            let in_layer_before = in_layer_before.iter().map(|column| column.rows[below - 1]);
            let opened: Vec<_> = in_layer.chain(in_layer_before).collect();
            require(label.parents.len() == stacked::TOTAL_PARENTS, "a label has not 37 parents")?;
            require(
                label.parents.iter().eq(opened.iter().cycle().take(stacked::TOTAL_PARENTS)),
                "a label's parents are not those in the opened columns",
            )?;
            last = Some(label);
        }
        let encoding: Label = mirror(&proof.encoding_proof)?;
        require(Some(encoding) == last, "the encoding proof is not the last layer's label")
    }
}

/// Whether a path has the tree's shape, belongs to a leaf of this index and consists of elements of Fr.
fn path<P: MerkleProofTrait>(proof: &P, arities: &[usize], leaf: u64) -> Result<(), Refusal> {
    let steps = proof.path();
    require(steps.len() == arities.len(), "a path is longer or shorter than its tree is high")?;
    let mut index = leaf;
    for ((siblings, position), arity) in steps.iter().zip(arities) {
        require(siblings.len() + 1 == *arity, "a path's step has the wrong number of siblings")?;
        require(*position as u64 == index % *arity as u64, "a path's index is not the challenge or parent")?;
        index /= *arity as u64;
        elements(siblings)?;
    }
    elements(&[proof.leaf(), proof.root()])
}

fn elements<B: AsRef<[u8]>>(values: &[B]) -> Result<(), Refusal> {
    let is_element = |value: &B| {
        let bytes: Result<[u8; 32], _> = value.as_ref().try_into();
        bytes.is_ok_and(|bytes| Fr::from_repr_vartime(bytes).is_some())
    };
    require(values.iter().all(is_element), "a value is not an element of Fr")
}

/// Checks the vanilla proofs of one partition of a PoSt, one a sector, before they are padded or, for winning PoSt,
/// taken apart, on all threads. The challenge in the error counts through all sectors. Hashes a winning PoSt's paths,
/// 10 a challenge at 32 GiB; a window PoSt's are left to upstream.
pub(crate) fn post<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
    size: SectorSize,
    config: &PoStConfig,
    randomness: PoseidonDomain,
    partition: usize,
    proofs: &[FallbackPoStSectorProof<Tree>],
) -> Result<(), Error> {
    if proofs.is_empty() || proofs.len() > config.sector_count {
        count(partition, "sectors", proofs.len(), config.sector_count)?;
    }
    let params = fallback::PublicParams {
        sector_size: size.bytes(),
        challenge_count: config.challenge_count,
        sector_count: config.sector_count,
        api_version: config.api_version,
    };
    let checks =
        PostChecks { params, kind: &config.typ, arities: replica_arities(size), randomness, partition };
    let refused =
        proofs.par_iter().enumerate().find_map_first(|(index, proof)| checks.sector(index, proof).err());
    refused.map_or(Ok(()), Err)
}

struct PostChecks<'a> {
    params: fallback::PublicParams,
    kind: &'a PoStType,
    arities: Vec<usize>,
    randomness: PoseidonDomain,
    partition: usize,
}

impl PostChecks<'_> {
    fn sector<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        &self,
        index: usize,
        proof: &FallbackPoStSectorProof<Tree>,
    ) -> Result<(), Error> {
        let partition = self.partition;
        let [sector] = &proof.vanilla_proof.sectors[..] else {
            return count(partition, "sectors in a sector's proof", proof.vanilla_proof.sectors.len(), 1);
        };
        let challenges = self.params.challenge_count;
        count(partition, "challenges of a sector", sector.inclusion_proofs.len(), challenges)?;
        let refused = |challenge: usize| {
            let challenge = index * challenges + challenge;
            move |what| Error::FalseVanillaProof { partition, challenge, what }
        };
        elements(&[sector.comm_c, sector.comm_r_last, proof.comm_r]).map_err(refused(0))?;
        let comm_r = <PoseidonHasher as Hasher>::Function::hash2(&sector.comm_c, &sector.comm_r_last);
        require(comm_r == proof.comm_r, "comm_r is not the hash of comm_c and comm_r_last")
            .map_err(refused(0))?;
        for (challenge, opened) in sector.inclusion_proofs.iter().enumerate() {
            let leaf = self.challenged_leaf(proof.sector_id.into(), index, challenge);
            path(opened, &self.arities, leaf).map_err(refused(challenge))?;
            require(opened.root() == sector.comm_r_last, "comm_r_last is not the root of its paths")
                .map_err(refused(challenge))?;
        }
        match self.kind {
            PoStType::Window => Ok(()),
            PoStType::Winning => first_refusal(partition, &sector.inclusion_proofs, |_, opened| {
                require(opened.verify(), "the path to comm_r_last does not lead to its root")
            }),
        }
    }

    fn challenged_leaf(&self, sector: u64, index: usize, challenge: usize) -> u64 {
        let fallback::PublicParams { api_version, challenge_count, sector_count, .. } = self.params;
        let position = self.partition * sector_count + index;
        let drawn = get_challenge_index(api_version, position, challenge_count, challenge);
        generate_leaf_challenge(&self.params, self.randomness, sector, drawn)
    }
}

/// Checks the vanilla proof of one partition of an update. About 20 SHA-256 a challenge.
pub(crate) fn snap<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
    size: SectorSize,
    comm_r_new: PoseidonDomain,
    partition: usize,
    proof: &PartitionProof<Tree>,
) -> Result<(), Error> {
    let params = PublicParams::from_sector_size(size.bytes());
    let (replica, data) = (replica_arities(size), data_arities(size));
    let apex_level = params.challenge_bit_len - params.partition_bit_len - params.apex_leaf_bit_len;
    count(partition, "challenges", proof.challenge_proofs.len(), params.challenge_count)?;
    count(partition, "apex leaves", proof.apex_leafs.len(), params.apex_leaf_count)?;
    let false_from_0 = |what| Error::FalseVanillaProof { partition, challenge: 0, what };
    elements(&proof.apex_leafs).and(elements(&[proof.comm_c])).map_err(false_from_0)?;
    let nodes: Vec<u32> = Challenges::new(params.sector_nodes, comm_r_new, partition).collect();
    first_refusal(partition, &proof.challenge_proofs, |challenge, opened| {
        let node = u64::from(nodes[challenge]);
        path(&opened.proof_r_old, &replica, node)?;
        path(&opened.proof_d_new, &data, node)?;
        path(&opened.proof_r_new, &replica, node)?;
        let below_apex = &opened.proof_d_new.path()[..apex_level];
        let apex_leaf = below_apex.iter().fold(opened.proof_d_new.leaf(), hash_with_sibling);
        let position = (node >> apex_level) as usize % params.apex_leaf_count;
        require(apex_leaf == proof.apex_leafs[position], "the apex leaf is not the one above the opened leaf")
    })
}

fn hash_with_sibling(node: TreeDDomain, (siblings, position): &(Vec<TreeDDomain>, usize)) -> TreeDDomain {
    let hash2 = <TreeDHasher as Hasher>::Function::hash2;
    if *position == 0 { hash2(&node, &siblings[0]) } else { hash2(&siblings[0], &node) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB};
    use filecoin_proofs::parameters::{window_post_public_params, winning_post_public_params};
    use filecoin_proofs_api::seal::VanillaSealProof;
    use filecoin_proofs_api::{RegisteredPoStProof, RegisteredSealProof, RegisteredUpdateProof};
    use serde_json::{Value, json};
    use storage_proofs_core::proof::ProofScheme;
    use storage_proofs_post::fallback::PublicSector;
    use storage_proofs_update::EmptySectorUpdate;

    use crate::synthetic;

    /// A copy with the JSON value at a place changed.
    fn changed<T: Serialize + DeserializeOwned>(value: &T, place: &str, change: fn(&mut Value)) -> T {
        let mut json = serde_json::to_value(value).unwrap();
        change(json.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")));
        serde_json::from_value(json).unwrap()
    }

    fn flip_bit(byte: &mut Value) {
        *byte = json!(byte.as_u64().unwrap() ^ 1);
    }

    fn next_child(index: &mut Value) {
        *index = json!((index.as_u64().unwrap() + 1) % 8);
    }

    fn increment(number: &mut Value) {
        *number = json!(number.as_u64().unwrap() + 1);
    }

    fn no_element(bytes: &mut Value) {
        *bytes = json!(vec![255; 32]);
    }

    fn drop_last(list: &mut Value) {
        list.as_array_mut().unwrap().pop().unwrap();
    }

    fn repeat_last(list: &mut Value) {
        let list = list.as_array_mut().unwrap();
        list.push(list.last().unwrap().clone());
    }

    /// What upstream's verification says of a changed proof.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Upstream {
        Refuses,
        Accepts,
        Panics,
    }
    use Upstream::*;

    /// A change at a place, what upstream says of it, and a part of our refusal.
    type Case = (&'static str, fn(&mut Value), Upstream, &'static str);

    fn assert_as_expected(cases: &[Case], found: &[(Upstream, String)]) {
        let unexpected: Vec<_> = cases
            .iter()
            .zip(found)
            .filter(|((_, _, upstream, refusal), found)| found.0 != *upstream || !found.1.contains(refusal))
            .map(|((place, ..), found)| (place, found))
            .collect();
        assert!(unexpected.is_empty(), "{unexpected:#?}");
        assert_eq!(cases.len(), found.len());
    }

    fn porep_32gib() -> (PorepInputs<SectorShape32GiB>, Vec<Vec<PorepProof<SectorShape32GiB>>>) {
        let registered_proof = RegisteredSealProof::StackedDrg32GiBV1_1;
        let sector = synthetic::SyntheticPorep { registered_proof, miner: 1000, sector: 1, seed: 3 };
        let made = synthetic::porep(&sector).unwrap();
        let tau = stacked::Tau { comm_d: made.comm_d.into(), comm_r: made.comm_r.into() };
        let inputs = stacked::PublicInputs {
            replica_id: made.replica_id,
            tau: Some(tau),
            k: None,
            seed: Some(made.seed),
        };
        let VanillaSealProof::StackedDrg32GiBV1(proofs) = made.vanilla_proofs else { panic!("another size") };
        (inputs, proofs)
    }

    fn porep_params() -> stacked::PublicParams<SectorShape32GiB> {
        let config = RegisteredSealProof::StackedDrg32GiBV1_1.as_v1_config();
        filecoin_proofs::parameters::public_params(&config).unwrap()
    }

    #[test]
    fn every_change_of_a_porep_is_refused() {
        let cases = [
            (
                "/comm_d_proofs/data/Single/leaf/0",
                flip_bit as fn(&mut Value),
                Refuses,
                "the path to comm_d does",
            ),
            ("/comm_d_proofs/data/Single/root/0", flip_bit, Refuses, "the path to comm_d does"),
            (
                "/comm_d_proofs/data/Single/path/path/9/hashes/0/3",
                flip_bit,
                Accepts,
                "the path to comm_d does",
            ),
            (
                "/comm_d_proofs/data/Single/path/path/0/hashes/0",
                no_element,
                Accepts,
                "a value is not an element",
            ),
            ("/comm_d_proofs/data/Single/path/path", drop_last, Refuses, "a path is longer or shorter"),
            ("/comm_d_proofs/data/Single/path/path/3/hashes", repeat_last, Accepts, "a path's step has"),
            ("/comm_r_last_proof/data/Sub/leaf/0", flip_bit, Refuses, "the path to comm_r_last"),
            (
                "/comm_r_last_proof/data/Sub/base_proof/path/8/hashes/6/0",
                flip_bit,
                Accepts,
                "the path to comm_r_last",
            ),
            (
                "/comm_r_last_proof/data/Sub/sub_proof/path/0/hashes/0/0",
                flip_bit,
                Accepts,
                "the path to comm_r_last",
            ),
            (
                "/comm_r_last_proof/data/Sub/sub_proof/path/0/index",
                next_child,
                Refuses,
                "a path's index is not",
            ),
            ("/replica_column_proofs/c_x/column/rows/4/0", flip_bit, Refuses, "accepted"),
            ("/replica_column_proofs/c_x/column/index", increment, Accepts, "a column's index"),
            ("/replica_column_proofs/c_x/column/rows", repeat_last, Panics, "a column has not one row"),
            (
                "/replica_column_proofs/c_x/inclusion_proof/data/Sub/base_proof/path/0/index",
                next_child,
                Refuses,
                "a path's index",
            ),
            (
                "/replica_column_proofs/c_x/inclusion_proof/data/Sub/base_proof/path/2/hashes/1",
                no_element,
                Panics,
                "a value is not an element",
            ),
            ("/replica_column_proofs/drg_parents/5/column/rows/0/0", flip_bit, Refuses, "a label's parents"),
            ("/replica_column_proofs/drg_parents/5/column/index", increment, Accepts, "a column's index"),
            ("/replica_column_proofs/drg_parents", drop_last, Refuses, "it has not 6 DRG parents"),
            ("/replica_column_proofs/exp_parents", drop_last, Accepts, "it has not 8 expander parents"),
            ("/replica_column_proofs/exp_parents", repeat_last, Accepts, "it has not 8 expander parents"),
            (
                "/replica_column_proofs/exp_parents/7/inclusion_proof/data/Sub/base_proof/path/1/index",
                next_child,
                Refuses,
                "a path's index",
            ),
            ("/labeling_proofs", repeat_last, Accepts, "it has not one labeling proof a layer"),
            ("/labeling_proofs/10/parents/36/0", flip_bit, Refuses, "a label's parents"),
            ("/labeling_proofs/0/parents", drop_last, Refuses, "a label has not 37 parents"),
            ("/labeling_proofs/0/node", increment, Refuses, "a labeling proof's node"),
            ("/labeling_proofs/5/layer_index", increment, Refuses, "a labeling proof's layer"),
            ("/encoding_proof/parents/0/0", flip_bit, Refuses, "the encoding proof"),
            ("/encoding_proof/node", increment, Refuses, "the encoding proof"),
        ];
        let (inputs, proofs) = porep_32gib();
        let params = porep_params();
        let node = inputs.challenges(&params.challenges, params.graph.size(), Some(0))[0];
        let checks = PorepChecks::new(SectorSize::GiB32, &params);
        let proof = &proofs[0][0];
        let upstream = |proof: &PorepProof<SectorShape32GiB>| {
            let verify = || proof.verify(&params, &inputs, node, &params.graph);
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(verify)) {
                Ok(true) => Accepts,
                Ok(false) => Refuses,
                Err(_) => Panics,
            }
        };
        assert_eq!((upstream(proof), checks.challenge(proof, node)), (Accepts, Ok(())));
        let found = cases.each_ref().map(|&(place, change, _, _)| {
            let changed = changed(proof, place, change);
            (upstream(&changed), checks.challenge(&changed, node).err().unwrap_or("accepted").to_owned())
        });
        assert_as_expected(&cases, &found);
    }

    #[test]
    fn counts_and_roots_of_a_porep() {
        let (inputs, mut proofs) = porep_32gib();
        let params = porep_params();
        porep(SectorSize::GiB32, &params, &inputs, &proofs).unwrap();
        let swapped = proofs[3].pop().unwrap();
        let error = porep(SectorSize::GiB32, &params, &inputs, &proofs).unwrap_err();
        assert_eq!(error.to_string(), "partition 3: 17 challenges where 18 are needed");
        // Another challenge of the same sector.
        let other = proofs[4][0].clone();
        proofs[3].push(other);
        let error = porep(SectorSize::GiB32, &params, &inputs, &proofs).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the vanilla proof of partition 3, challenge 17 is false: a path's index is not the challenge or parent"
        );
        proofs[3][17] = swapped;
        porep(SectorSize::GiB32, &params, &inputs, &proofs).unwrap();
    }

    const WINNING: RegisteredPoStProof = RegisteredPoStProof::StackedDrgWinning8MiBV1;
    const WINDOW: RegisteredPoStProof = RegisteredPoStProof::StackedDrgWindow2KiBV1;
    type PostProof = FallbackPoStSectorProof<SectorShape2KiB>; // the shape of 8 MiB is the same

    /// Changes the last sector of a PoSt.
    fn refusals_of_a_post(
        registered_proof: RegisteredPoStProof,
        made: &synthetic::PostVanillaProofs,
        cases: &[Case],
    ) {
        let config = registered_proof.as_v1_config();
        let size = SectorSize::from_bytes(config.sector_size.0).unwrap();
        let decode = || -> Vec<PostProof> {
            made.proofs.iter().map(|bytes| bincode::deserialize(bytes).unwrap()).collect()
        };
        let proofs = decode();
        let params = match config.typ {
            PoStType::Winning => winning_post_public_params::<SectorShape2KiB>(&config).unwrap(),
            PoStType::Window => window_post_public_params::<SectorShape2KiB>(&config).unwrap(),
        };
        let randomness = PoseidonDomain::from(made.randomness);
        let both = |proofs: &[PostProof]| {
            let sectors =
                proofs.iter().map(|proof| PublicSector { id: proof.sector_id, comm_r: proof.comm_r });
            let inputs = fallback::PublicInputs {
                randomness,
                prover_id: PoseidonDomain::default(),
                sectors: sectors.collect(),
                k: Some(0),
            };
            let verify = || {
                filecoin_proofs::single_partition_vanilla_proofs(&config, &params, &inputs, proofs).is_ok()
            };
            let upstream = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(verify)) {
                Ok(true) => Accepts,
                Ok(false) => Refuses,
                Err(_) => Panics,
            };
            let ours = post(size, &config, randomness, 0, proofs).err();
            (upstream, ours.map_or("accepted".to_owned(), |error| error.to_string()))
        };
        assert_eq!(both(&proofs), (Accepts, "accepted".to_owned()));
        let last = proofs.len() - 1;
        let found: Vec<_> = cases
            .iter()
            .map(|&(place, change, _, _)| {
                let mut proofs = decode();
                proofs[last] = changed(&proofs[last], place, change);
                both(&proofs)
            })
            .collect();
        assert_as_expected(cases, &found);
    }

    #[test]
    fn every_change_of_a_window_post_is_refused() {
        let made = synthetic::window_post(&synthetic::SyntheticWindowPost {
            registered_proof: WINDOW,
            partition: 0,
            first_sector: 10,
            sectors: 2,
            seed: 1,
        });
        refusals_of_a_post(
            WINDOW,
            &made.unwrap(),
            &[
                (
                    "/comm_r/0",
                    flip_bit as fn(&mut Value),
                    Refuses,
                    "comm_r is not the hash of comm_c and comm_r_last",
                ),
                (
                    "/vanilla_proof/sectors/0/comm_c/0",
                    flip_bit,
                    Refuses,
                    "comm_r is not the hash of comm_c and comm_r_last",
                ),
                (
                    "/vanilla_proof/sectors/0/comm_r_last/0",
                    flip_bit,
                    Accepts,
                    "comm_r is not the hash of comm_c and comm_r_last",
                ),
                ("/vanilla_proof/sectors/0/comm_c", no_element, Panics, "a value is not an element of Fr"),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs",
                    drop_last,
                    Refuses,
                    "partition 0: 9 challenges of a sector where 10 are needed",
                ),
                (
                    "/vanilla_proof/sectors",
                    repeat_last,
                    Refuses,
                    "partition 0: 2 sectors in a sector's proof where 1 are needed",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/3/data/Single/root/0",
                    flip_bit,
                    Refuses,
                    "challenge 13 is false: comm_r_last is not the root of its paths",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/3/data/Single/path/path/1/index",
                    next_child,
                    Refuses,
                    "challenge 13 is false: a path's index is not the challenge or parent",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/3/data/Single/path/path/1/hashes",
                    drop_last,
                    Panics,
                    "challenge 13 is false: a path's step has the wrong number of siblings",
                ),
                ("/sector_id", increment, Refuses, "a path's index is not the challenge or parent"),
                // These two are left to upstream.
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/3/data/Single/leaf/0",
                    flip_bit,
                    Refuses,
                    "accepted",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/3/data/Single/path/path/0/hashes/1/0",
                    flip_bit,
                    Refuses,
                    "accepted",
                ),
            ],
        );
    }

    #[test]
    fn every_change_of_a_winning_post_is_refused() {
        let made = synthetic::winning_post(&synthetic::SyntheticWinningPost {
            registered_proof: WINNING,
            sector: 10,
            seed: 1,
        });
        refusals_of_a_post(
            WINNING,
            &made.unwrap(),
            &[
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/0/data/Single/leaf/0",
                    flip_bit as fn(&mut Value),
                    Refuses,
                    "challenge 0 is false: the path to comm_r_last does not lead to its root",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/1/data/Single/leaf/0",
                    flip_bit,
                    Accepts,
                    "challenge 1 is false: the path to comm_r_last does not lead to its root",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/65/data/Single/path/path/3/hashes/5/9",
                    flip_bit,
                    Accepts,
                    "challenge 65 is false: the path to comm_r_last does not lead to its root",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs/65/data/Single/path/path/3/index",
                    next_child,
                    Accepts,
                    "challenge 65 is false: a path's index is not the challenge or parent",
                ),
                (
                    "/vanilla_proof/sectors/0/inclusion_proofs",
                    drop_last,
                    Accepts,
                    "partition 0: 65 challenges of a sector where 66 are needed",
                ),
            ],
        );
    }

    #[test]
    fn every_change_of_a_snap_is_refused() {
        let cases: [Case; 13] = [
            (
                "/apex_leafs",
                |leaves| leaves.as_array_mut().unwrap().rotate_left(64),
                Accepts,
                "the apex leaf is not the one above the opened leaf",
            ),
            ("/apex_leafs/0/0", flip_bit, Refuses, "accepted"),
            ("/apex_leafs/127", no_element, Refuses, "a value is not an element of Fr"),
            ("/apex_leafs", drop_last, Refuses, "127 apex leaves where 128 are needed"),
            ("/challenge_proofs", drop_last, Refuses, "9 challenges where 10 are needed"),
            (
                "/challenge_proofs/4/proof_r_old/data/Single/path/path/2/index",
                next_child,
                Refuses,
                "challenge 4 is false: a path's index is not the challenge or parent",
            ),
            (
                "/challenge_proofs/4/proof_r_new/data/Single/path/path/2/index",
                next_child,
                Refuses,
                "challenge 4 is false: a path's index is not the challenge or parent",
            ),
            (
                "/challenge_proofs/4/proof_d_new/data/Single/path/path/2/hashes/0",
                no_element,
                Refuses,
                "challenge 4 is false: a value is not an element of Fr",
            ),
            (
                "/challenge_proofs/4/proof_d_new/data/Single/leaf/0",
                flip_bit,
                Refuses,
                "challenge 4 is false: the apex leaf is not the one above the opened leaf",
            ),
            // The rest is left to upstream.
            ("/challenge_proofs/4/proof_r_old/data/Single/leaf/0", flip_bit, Refuses, "accepted"),
            ("/challenge_proofs/4/proof_r_new/data/Single/leaf/0", flip_bit, Refuses, "accepted"),
            (
                "/challenge_proofs/4/proof_r_new/data/Single/path/path/5/hashes/6/0",
                flip_bit,
                Refuses,
                "accepted",
            ),
            ("/comm_c/0", flip_bit, Refuses, "accepted"),
        ];
        let registered_proof = RegisteredUpdateProof::StackedDrg8MiBV1;
        let made = synthetic::snap(&synthetic::SyntheticSnap { registered_proof, seed: 1 }).unwrap();
        let proof: PartitionProof<SectorShape2KiB> = bincode::deserialize(&made.proofs[2]).unwrap();
        let params = PublicParams::from_sector_size(8 << 20);
        let inputs = storage_proofs_update::PublicInputs {
            k: 2,
            comm_r_old: made.comm_r_old.into(),
            comm_d_new: made.comm_d_new.into(),
            comm_r_new: made.comm_r_new.into(),
            h: storage_proofs_update::constants::h_default(params.sector_nodes),
        };
        let both = |proof: &PartitionProof<SectorShape2KiB>| {
            let upstream = match EmptySectorUpdate::verify(&params, &inputs, proof) {
                Ok(true) => Accepts,
                _ => Refuses,
            };
            let ours = snap(SectorSize::MiB8, inputs.comm_r_new, 2, proof).err();
            (upstream, ours.map_or("accepted".to_owned(), |error| error.to_string()))
        };
        assert_eq!(both(&proof), (Accepts, "accepted".to_owned()));
        let found = cases.each_ref().map(|&(place, change, _, _)| both(&changed(&proof, place, change)));
        assert_as_expected(&cases, &found);
    }
}
