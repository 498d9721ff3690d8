//! Interactive PoRep.
//!
//! The order of making is forced: comm_d, which the replica id hashes; the replica id, which the challenges hash; the
//! challenged nodes' labels, layer by layer; then the trees over what is opened.

use std::collections::{BTreeMap, BTreeSet};

use blstrs::Scalar as Fr;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::constants::{DRG_DEGREE, DefaultPieceDomain, DefaultPieceHasher, EXP_DEGREE};
use filecoin_proofs::parameters::public_params;
use filecoin_proofs::types::MerkleTreeTrait;
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::merkle::MerkleProof;
use storage_proofs_porep::stacked::{
    self, Column, ColumnProof, EncodingProof, LabelingProof, ReplicaColumnProof, TOTAL_PARENTS, Tau,
    generate_replica_id,
};

use super::seeded::{Purpose, Seeded};
use super::tree::{MerkleTree, PeriodicTree, SparseTree, open};
use crate::identity::prover_id;
use crate::shape::{data_arities, replica_arities};
use crate::{Error, SectorSize};

/// Which sector to make.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticPorep {
    /// The registered proof; interactive PoRep of any size.
    pub registered_proof: RegisteredSealProof,
    /// The miner's actor id.
    pub miner: u64,
    /// The sector number.
    pub sector: u64,
    /// Data, ticket, interactive seed and everything that is not opened come from this.
    pub seed: u64,
}

type Vanilla<Tree> = stacked::Proof<Tree, DefaultPieceHasher>;

/// Makes the C1 output of all partitions. 2,600 columns and 180 leaves are opened at 32 and 64 GiB, about 20,000
/// Poseidon hashes: 1.3 s and 22 MB (2-core Zen 3 guest, 2026-11-29).
pub fn porep(sector: &SyntheticPorep) -> Result<SealCommitPhase1Output, Error> {
    let registered_proof = sector.registered_proof;
    let proof = || format!("{registered_proof:?}");
    if !registered_proof.as_v1_config().api_features.is_empty() {
        let reason = "its challenges hash comm_r, which commits to the labels at the challenged nodes, so only a \
                      sealed sector has them; its circuit is that of the interactive proof, and really sealed 2KiB \
                      and 8MiB sectors cover the rest";
        return Err(Error::NoSyntheticSector { proof: proof(), reason });
    }
    let size = SectorSize::from_bytes(registered_proof.sector_size().0)
        .ok_or_else(|| Error::Unsupported { registered_proof: proof() })?;
    match size {
        SectorSize::KiB2 => sector.make(size, VanillaSealProof::StackedDrg2KiBV1),
        SectorSize::MiB8 => sector.make(size, VanillaSealProof::StackedDrg8MiBV1),
        SectorSize::MiB512 => sector.make(size, VanillaSealProof::StackedDrg512MiBV1),
        SectorSize::GiB32 => sector.make(size, VanillaSealProof::StackedDrg32GiBV1),
        SectorSize::GiB64 => sector.make(size, VanillaSealProof::StackedDrg64GiBV1),
    }
    .map_err(Error::upstream("making a synthetic sector"))
}

/// Nodes of the data's pattern: 128 bytes, the smallest piece.
const PATTERN_NODES: u64 = 4;
/// A node's parents: those in its own layer, then those in the layer before.
type Parents = [u32; DRG_DEGREE + EXP_DEGREE];

impl SyntheticPorep {
    fn make<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        &self,
        size: SectorSize,
        wrap: impl FnOnce(Vec<Vec<Vanilla<Tree>>>) -> VanillaSealProof,
    ) -> anyhow::Result<SealCommitPhase1Output> {
        let seeded = Seeded { seed: self.seed, sector: self.sector };
        let config = self.registered_proof.as_v1_config();
        let params = public_params::<Tree>(&config)?;
        let ticket = seeded.bytes(Purpose::Ticket, 0, 0);
        let seed = seeded.bytes(Purpose::InteractiveSeed, 0, 0);

        let pattern = (0..PATTERN_NODES).map(|node| seeded.bytes(Purpose::Data, 0, node).into()).collect();
        let tree_d = PeriodicTree::<DefaultPieceHasher>::new(data_arities(size), pattern);
        let comm_d: DefaultPieceDomain = tree_d.root();
        let replica_id = generate_replica_id::<PoseidonHasher, _>(
            &prover_id(self.miner),
            self.sector,
            &ticket,
            comm_d,
            &config.porep_id,
        );

        let inputs = stacked::PublicInputs {
            replica_id,
            tau: Some(Tau { comm_d, comm_r: PoseidonDomain::default() }), // interactive challenges do not ask
            k: None,
            seed: Some(seed),
        };
        let challenges: Vec<Vec<usize>> = (0..usize::from(config.partitions))
            .map(|k| inputs.challenges(&params.challenges, params.graph.size(), Some(k)))
            .collect();

        let parents = parents_of(&challenges, &params)?;
        let labels = Labels::new(seeded, replica_id, params.num_layers, parents);
        let opened = Opened::new(&labels, &tree_d, replica_arities(size))?;
        let vanilla = challenges
            .par_iter()
            .map(|nodes| nodes.par_iter().map(|node| opened.prove(*node as u64)).collect())
            .collect();

        let comm_r =
            <PoseidonHasher as Hasher>::Function::hash2(&opened.tree_c.root(), &opened.tree_r_last.root());
        Ok(SealCommitPhase1Output {
            registered_proof: self.registered_proof,
            vanilla_proofs: wrap(vanilla),
            comm_r: comm_r.into(),
            comm_d: comm_d.into(),
            replica_id,
            seed,
            ticket,
        })
    }
}

/// The parents of every challenged node, through upstream's graph: 3 to 6 µs a node.
fn parents_of<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
    challenges: &[Vec<usize>],
    params: &stacked::PublicParams<Tree>,
) -> anyhow::Result<BTreeMap<u64, Parents>> {
    challenges
        .par_iter()
        .flatten()
        .map(|node| {
            let mut parents = Parents::default();
            params.graph.parents(*node, &mut parents)?;
            Ok((*node as u64, parents))
        })
        .collect()
}

/// The labels of all nodes: real ones of the challenged nodes, and for the others whatever the seed gives.
struct Labels {
    seeded: Seeded,
    replica_id: PoseidonDomain,
    layers: usize,
    parents: BTreeMap<u64, Parents>,
    /// Of the challenged nodes, one a layer.
    computed: BTreeMap<u64, Vec<PoseidonDomain>>,
}

impl Labels {
    /// Layer by layer, nodes ascending: a node's parents in its own layer come before it.
    fn new(
        seeded: Seeded,
        replica_id: PoseidonDomain,
        layers: usize,
        parents: BTreeMap<u64, Parents>,
    ) -> Self {
        let computed = parents.keys().map(|node| (*node, Vec::with_capacity(layers))).collect();
        let nodes: Vec<u64> = parents.keys().copied().collect();
        let mut labels = Labels { seeded, replica_id, layers, parents, computed };
        for layer in 1..=layers {
            for node in &nodes {
                let label = labels.compute(layer, *node);
                labels.computed.entry(*node).or_default().push(label);
            }
        }
        labels
    }

    /// SHA-256 of replica id, layer, node and the parents' labels, cut to 254 bits.
    fn compute(&self, layer: usize, node: u64) -> PoseidonDomain {
        let mut hash = Sha256::new()
            .chain_update(self.replica_id)
            .chain_update((layer as u32).to_be_bytes())
            .chain_update(node.to_be_bytes())
            .chain_update([0; 20]);
        for parent in self.hashed_parents(layer, node) {
            hash.update(parent);
        }
        let mut label: [u8; 32] = hash.finalize().into();
        label[31] &= 0x3f;
        label.into()
    }

    /// The labels that a label hashes: of the parents in the same layer and, but in the first, of those in the layer
    /// before, over and over.
    fn hashed_parents(&self, layer: usize, node: u64) -> Vec<PoseidonDomain> {
        let (drg, expander) = self.parents[&node].split_at(DRG_DEGREE);
        let mut labels: Vec<_> = drg.iter().map(|parent| self.label(layer, u64::from(*parent))).collect();
        if layer > 1 {
            labels.extend(expander.iter().map(|parent| self.label(layer - 1, u64::from(*parent))));
        }
        labels.into_iter().cycle().take(TOTAL_PARENTS).collect()
    }

    /// The label of a node in a layer, from 1.
    fn label(&self, layer: usize, node: u64) -> PoseidonDomain {
        match self.computed.get(&node) {
            Some(labels) => labels[layer - 1],
            None => self.seeded.node(Purpose::Label, layer, node),
        }
    }

    /// The labels of a node in all layers.
    fn column(&self, node: u64) -> Vec<PoseidonDomain> {
        (1..=self.layers).map(|layer| self.label(layer, node)).collect()
    }
}

/// Everything that is opened.
struct Opened<'a> {
    labels: &'a Labels,
    tree_d: &'a PeriodicTree<DefaultPieceHasher>,
    tree_c: SparseTree,
    tree_r_last: SparseTree,
}

impl<'a> Opened<'a> {
    fn new(
        labels: &'a Labels,
        tree_d: &'a PeriodicTree<DefaultPieceHasher>,
        arities: Vec<usize>,
    ) -> anyhow::Result<Self> {
        let challenged = labels.parents.keys().copied();
        let parents = labels.parents.values().flatten().map(|parent| u64::from(*parent));
        let nodes: BTreeSet<u64> = challenged.chain(parents).collect();
        let hash_column = |node: &u64| {
            let column = Column::<PoseidonHasher>::new(*node as u32, labels.column(*node))?;
            Ok((*node, column.hash().into()))
        };
        let columns: BTreeMap<_, _> = nodes.par_iter().map(hash_column).collect::<anyhow::Result<_>>()?;
        let encode = |node: &u64| {
            let key = Fr::from(labels.label(labels.layers, *node));
            (*node, (key + Fr::from(tree_d.node(0, *node))).into())
        };
        let replica: BTreeMap<_, _> = labels.parents.keys().map(encode).collect();
        let tree_c = SparseTree::new(&labels.seeded, Purpose::TreeC, arities.clone(), &columns);
        let tree_r_last = SparseTree::new(&labels.seeded, Purpose::TreeRLast, arities, &replica);
        Ok(Opened { labels, tree_d, tree_c, tree_r_last })
    }

    fn prove<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(&self, node: u64) -> Vanilla<Tree> {
        let labels = self.labels;
        let column =
            |node: u64| ColumnProof::new(node as u32, labels.column(node), open::<Tree>(&self.tree_c, node));
        let columns = |nodes: &[u32]| nodes.iter().map(|node| column(u64::from(*node))).collect();
        let (drg, expander) = labels.parents[&node].split_at(DRG_DEGREE);
        let labeling = |layer| LabelingProof::new(layer as u32, node, labels.hashed_parents(layer, node));
        let last = labels.layers;
        stacked::Proof {
            comm_d_proofs: MerkleProof::from_parts(
                self.tree_d.node(0, node),
                self.tree_d.root(),
                self.tree_d.path(node),
            ),
            comm_r_last_proof: open::<Tree>(&self.tree_r_last, node),
            replica_column_proofs: ReplicaColumnProof {
                c_x: column(node),
                drg_parents: columns(drg),
                exp_parents: columns(expander),
            },
            labeling_proofs: (1..=last).map(labeling).collect(),
            encoding_proof: EncodingProof::new(last as u32, node, labels.hashed_parents(last, node)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::C1Shape;
    use super::*;
    use filecoin_proofs::constants::{SectorShape2KiB, SectorShape8MiB, SectorShape32GiB, SectorShape64GiB};
    use filecoin_proofs_api::RegisteredSealProof::*;
    use storage_proofs_core::compound_proof::CompoundProof;
    use storage_proofs_core::proof::ProofScheme;
    use storage_proofs_porep::stacked::{StackedCircuit, StackedCompound, StackedDrg};

    use super::super::testing::Block;
    use crate::vanilla_checks;

    type Drg<Tree> = StackedDrg<'static, Tree, DefaultPieceHasher>;
    type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
    type Circuit<Tree> = StackedCircuit<Tree, DefaultPieceHasher>;
    type PublicInputs = stacked::PublicInputs<PoseidonDomain, DefaultPieceDomain>;

    fn made(registered_proof: RegisteredSealProof) -> SealCommitPhase1Output {
        porep(&SyntheticPorep { registered_proof, miner: 1000, sector: 7, seed: 1 }).unwrap()
    }

    fn inputs(phase1: &SealCommitPhase1Output) -> PublicInputs {
        let tau = Tau { comm_d: phase1.comm_d.into(), comm_r: phase1.comm_r.into() };
        stacked::PublicInputs {
            replica_id: phase1.replica_id,
            tau: Some(tau),
            k: None,
            seed: Some(phase1.seed),
        }
    }

    macro_rules! vanilla {
        ($phase1:expr, $variant:ident) => {
            match &$phase1.vanilla_proofs {
                VanillaSealProof::$variant(proofs) => proofs,
                _ => panic!("another size"),
            }
        };
    }

    /// Upstream's verification of the first partitions, and our own.
    fn verify<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        phase1: &SealCommitPhase1Output,
        proofs: &[Vec<Vanilla<Tree>>],
    ) {
        let params = public_params::<Tree>(&phase1.registered_proof.as_v1_config()).unwrap();
        assert!(Drg::<Tree>::verify_all_partitions(&params, &inputs(phase1), proofs).unwrap());
        let size = SectorSize::from_bytes(phase1.registered_proof.sector_size().0).unwrap();
        vanilla_checks::porep(size, &params, &inputs(phase1), proofs).unwrap();
    }

    #[test]
    fn upstream_accepts_every_partition_of_the_test_sizes() {
        for proof in [StackedDrg2KiBV1, StackedDrg2KiBV1_1] {
            let phase1 = made(proof);
            verify::<SectorShape2KiB>(&phase1, vanilla!(phase1, StackedDrg2KiBV1));
        }
        let phase1 = made(StackedDrg8MiBV1_1);
        verify::<SectorShape8MiB>(&phase1, vanilla!(phase1, StackedDrg8MiBV1));
        let phase1 = made(StackedDrg512MiBV1);
        verify::<SectorShape8MiB>(&phase1, vanilla!(phase1, StackedDrg512MiBV1));
    }

    /// The circuit of one challenge, after the header.
    fn block<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>>(
        phase1: &SealCommitPhase1Output,
        proofs: &[Vec<Vanilla<Tree>>],
        partition: usize,
        challenge: usize,
    ) -> Block {
        let params = public_params::<Tree>(&phase1.registered_proof.as_v1_config()).unwrap();
        let inputs = inputs(phase1);
        let one = proofs[partition][challenge..=challenge].to_vec();
        let circuit = <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::circuit(
            &inputs,
            (),
            &one,
            &params,
            Some(partition),
        )
        .unwrap();
        let mut public =
            <Compound<Tree> as CompoundProof<'_, Drg<Tree>, Circuit<Tree>>>::generate_public_inputs(
                &inputs,
                &params,
                Some(partition),
            )
            .unwrap();
        // The challenges' inputs follow those of the header.
        public.drain(HEADER_INPUTS..HEADER_INPUTS + challenge * CHALLENGE_INPUTS);
        Block::checked(circuit, &public)
    }

    const HEADER_INPUTS: usize = 3;
    const CHALLENGE_INPUTS: usize = 18;
    /// Rows, and as many aux variables, of the header.
    const HEADER: usize = 571;

    fn digest_of_c1(phase1: &SealCommitPhase1Output) -> String {
        let mut hash = Sha256::new();
        super::super::write_c1(&mut hash, C1Shape::Outer, 1000, 7, phase1).unwrap();
        hex::encode(hash.finalize())
    }

    #[test]
    fn the_32gib_sector_is_true() {
        let phase1 = made(StackedDrg32GiBV1_1);
        let proofs = vanilla!(phase1, StackedDrg32GiBV1);
        assert_eq!(proofs.iter().map(Vec::len).collect::<Vec<_>>(), [18; 10]);
        assert_eq!(digest_of_c1(&phase1), "0670809b74326871fa7e1f3abae1ea7c28d0dc8e80b9702e29e702ff3249d901");
        verify::<SectorShape32GiB>(&phase1, &proofs[..1]);
        let golden = Block {
            rows: HEADER + 7_237_665,
            aux: HEADER + 7_231_629,
            inputs: HEADER_INPUTS + CHALLENGE_INPUTS,
            assignment: "c187780690df0967347a7814a5e9abe9262c57630b849bd224e4edda17ee1d1e".to_owned(),
        };
        assert_eq!(block::<SectorShape32GiB>(&phase1, proofs, 3, 5), golden);
        // 18 blocks and a header are the whole circuit.
        assert_eq!(HEADER + 18 * 7_237_665, 130_278_541);
    }

    #[test]
    fn the_64gib_sector_is_true() {
        let phase1 = made(StackedDrg64GiBV1_1);
        let proofs = vanilla!(phase1, StackedDrg64GiBV1);
        assert_eq!(proofs.iter().map(Vec::len).collect::<Vec<_>>(), [18; 10]);
        assert_eq!(digest_of_c1(&phase1), "ba191b296303fc322c4a748d6fa986df9418947996cde70f4c09ca97a2caa0d2");
        verify::<SectorShape64GiB>(&phase1, &proofs[..1]);
        let golden = Block {
            rows: HEADER + 7_288_071,
            aux: HEADER + 7_282_004,
            inputs: HEADER_INPUTS + CHALLENGE_INPUTS,
            assignment: "65f552b3dfc16cbc0fef8eaee2776afadd4d1cc84037995a2b732c130a784218".to_owned(),
        };
        assert_eq!(block::<SectorShape64GiB>(&phase1, proofs, 9, 17), golden);
    }

    #[test]
    fn upstream_accepts_every_partition_of_the_production_sizes() {
        let phase1 = made(StackedDrg32GiBV1);
        verify::<SectorShape32GiB>(&phase1, vanilla!(phase1, StackedDrg32GiBV1));
        let phase1 = made(StackedDrg64GiBV1_1);
        verify::<SectorShape64GiB>(&phase1, vanilla!(phase1, StackedDrg64GiBV1));
    }

    /// A forger computes labels from parents of his choice and commits to other ones. Upstream's verification does not
    /// see it; the circuit would.
    #[test]
    fn hashed_parents_that_are_not_those_opened_are_refused_by_our_own_check() {
        let phase1 = made(StackedDrg2KiBV1_1);
        let config = phase1.registered_proof.as_v1_config();
        let params = public_params::<SectorShape2KiB>(&config).unwrap();
        let mut inputs = inputs(&phase1);
        let nodes = inputs.challenges(&params.challenges, params.graph.size(), Some(0));
        let parents = parents_of(std::slice::from_ref(&nodes), &params).unwrap();
        let seeded = Seeded { seed: 1, sector: 7 };
        let pattern = (0..PATTERN_NODES).map(|node| seeded.bytes(Purpose::Data, 0, node).into()).collect();
        let tree_d = PeriodicTree::<DefaultPieceHasher>::new(data_arities(SectorSize::KiB2), pattern);
        assert_eq!(<[u8; 32]>::from(tree_d.root()), phase1.comm_d);

        let honest = Labels::new(seeded, inputs.replica_id, params.num_layers, parents.clone());
        let mut committed = Labels::new(seeded, inputs.replica_id, params.num_layers, parents);
        committed.seeded.seed += 1; // other labels for all nodes that are not challenged
        let prove = |labels: &Labels| {
            let opened = Opened::new(labels, &tree_d, replica_arities(SectorSize::KiB2)).unwrap();
            let proofs: Vec<_> =
                nodes.iter().map(|node| opened.prove::<SectorShape2KiB>(*node as u64)).collect();
            let roots = (opened.tree_c.root(), opened.tree_r_last.root());
            (proofs, <PoseidonHasher as Hasher>::Function::hash2(&roots.0, &roots.1))
        };
        let (honest, _) = prove(&honest);
        let (mut forged, comm_r) = prove(&committed);
        for (forged, honest) in forged.iter_mut().zip(honest) {
            forged.labeling_proofs = honest.labeling_proofs;
            forged.encoding_proof = honest.encoding_proof;
        }
        inputs.tau = Some(Tau { comm_d: phase1.comm_d.into(), comm_r });
        assert!(Drg::verify_all_partitions(&params, &inputs, &[forged.clone()]).unwrap());
        let error = vanilla_checks::porep(SectorSize::KiB2, &params, &inputs, &[forged.clone()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the vanilla proof of partition 0, challenge 0 is false: a label's parents are not those in the opened columns"
        );
        type Compounds = Compound<SectorShape2KiB>;
        let circuit = <Compounds as CompoundProof<'_, Drg<_>, Circuit<_>>>::circuit(
            &inputs,
            (),
            &forged,
            &params,
            Some(0),
        );
        assert!(cuzk_r1cs::check(circuit.unwrap()).unwrap().unsatisfied.is_some());
    }

    #[test]
    fn same_seed_same_bytes() {
        let file = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let sector =
                SyntheticPorep { registered_proof: StackedDrg8MiBV1_1, miner: 1000, sector: 7, seed };
            let phase1 = pool.install(|| porep(&sector)).unwrap();
            let mut file = Vec::new();
            super::super::write_c1(&mut file, C1Shape::Outer, sector.miner, sector.sector, &phase1).unwrap();
            file
        };
        let one = file(1, 1);
        assert!(one == file(2, 1) && one == file(5, 1));
        assert!(one != file(2, 2));
        // What a seed means does not change between versions.
        assert_eq!(
            hex::encode(Sha256::digest(&one)),
            "747e9e9a2c42999ab4ba2a1cce5eaa110329e01ff65d95f52fd7c1e4bc8a6fe7"
        );
    }

    #[test]
    fn the_file_is_a_c1_output_of_this_sector() {
        let phase1 = made(StackedDrg2KiBV1_1);
        let mut file = Vec::new();
        super::super::write_c1(&mut file, C1Shape::Outer, 1000, 7, &phase1).unwrap();
        let input = crate::Input::decode(&file, "c1.json", None).unwrap();
        let overrides = crate::Overrides { miner: Some(1000), ..Default::default() };
        let statement = crate::Statement::new(input, &overrides).unwrap();
        assert!(statement.public_data().contains(&("sector", "7".to_owned())));
        statement.check().unwrap();
        statement.check_vanilla_proofs().unwrap();
    }

    #[test]
    fn other_kinds_are_refused() {
        for registered_proof in [
            StackedDrg2KiBV1_1_Feat_SyntheticPoRep,
            StackedDrg32GiBV1_1_Feat_SyntheticPoRep,
            StackedDrg32GiBV1_2_Feat_NonInteractivePoRep,
        ] {
            let sector = SyntheticPorep { registered_proof, miner: 1, sector: 1, seed: 1 };
            let error = porep(&sector).unwrap_err();
            assert_eq!(error.kind(), "no_synthetic_sector");
            let message = error.to_string();
            assert!(
                message.starts_with(&format!("{registered_proof:?} has no synthetic sector")),
                "{message}"
            );
            assert!(message.contains("challenges hash comm_r"), "{message}");
        }
    }
}
