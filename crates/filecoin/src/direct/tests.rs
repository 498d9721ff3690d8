//! What is written against what upstream's gadgets allocate: random and extreme values, every branch, every arithmetic.

use bellpepper_core::boolean::{AllocatedBit, Boolean};
use bellpepper_core::num::AllocatedNum;
use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use bellperson::gadgets::uint32::UInt32;
use blstrs::Scalar as Fr;
use cuzk_field::{Engine, testing::engines};
use cuzk_r1cs::{PackedWitness, Writer, derive_flat, walk_witness, write_blocks};
use ff::{Field, PrimeField};
use filecoin_hashers::{
    HashFunction, Hasher, POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11,
};
use filecoin_proofs::constants::DefaultPieceHasher;
use neptune::circuit::poseidon_hash;
use proptest::prelude::*;
use storage_proofs_core::gadgets::insertion::insert;
use storage_proofs_core::gadgets::uint64::UInt64;
use storage_proofs_core::util::reverse_bit_numbering;
use storage_proofs_porep::stacked::{TOTAL_PARENTS, create_label_circuit};

use super::hashes::{Chain, Hashes, Start};
use super::path::{Path, write_data_step, write_replica_path};
use super::porep::PorepWriter;
use super::{Node, write_bits_of};
use crate::Error;

/// 0, r − 1, the element with most bits set, and that whose words in blst's form are those of r − 1.
fn extremes() -> [Fr; 4] {
    let power = |exponent| Fr::from(2).pow_vartime([exponent]);
    [Fr::ZERO, -Fr::ONE, power(254) - Fr::ONE, -power(256).invert().unwrap()]
}

/// An element of Fr, often an extreme one.
fn elements() -> impl Strategy<Value = Fr> {
    let word = |sum: Fr, word: u64| sum * Fr::from(2).pow_vartime([64]) + Fr::from(word);
    prop_oneof![
        1 => Just(Fr::ONE),
        4 => prop::sample::select(extremes().to_vec()),
        4 => any::<[u64; 5]>().prop_map(move |words| words.into_iter().fold(Fr::ZERO, word)),
    ]
}

fn arithmetics() -> Vec<Option<Engine>> {
    [None].into_iter().chain(engines().into_iter().map(Some)).collect()
}

/// Compares what is written with what the circuit allocates. Chains are computed by every arithmetic.
fn assert_written(
    circuit: impl Circuit<Fr> + Clone,
    write: impl for<'a> Fn(&Hashes, &mut Writer<'a>) -> Result<Vec<Chain<'a>>, Error>,
) {
    let template = derive_flat(circuit.clone()).unwrap();
    let walked = walk_witness(&template, circuit).unwrap();
    for engine in arithmetics() {
        let hashes = Hashes::new(engine);
        let mut scalars = vec![Fr::ZERO; template.n_scalars()];
        let mut chains = vec![];
        let bits = write_blocks(
            &template,
            &mut scalars,
            |out| {
                chains = write(&hashes, out)?;
                Ok::<_, Error>(())
            },
            |_, _| Ok(()),
            1,
            |_| (),
        )
        .unwrap();
        hashes.complete(chains);
        let written = PackedWitness::new(&template, walked.inputs.clone(), bits, scalars).unwrap();
        let differs = written.first_difference(&walked, &template).unwrap();
        assert_eq!(differs, None, "{}", engine.map_or("portable", Engine::name));
    }
}

fn alloc(cs: &mut impl ConstraintSystem<Fr>, value: Fr) -> Result<AllocatedNum<Fr>, SynthesisError> {
    AllocatedNum::alloc(cs.namespace(|| "value"), || Ok(value))
}

fn alloc_all(
    cs: &mut impl ConstraintSystem<Fr>,
    values: &[Fr],
) -> Result<Vec<AllocatedNum<Fr>>, SynthesisError> {
    values.iter().map(|value| alloc(cs, *value)).collect()
}

fn hash(
    cs: &mut impl ConstraintSystem<Fr>,
    inputs: Vec<AllocatedNum<Fr>>,
) -> Result<AllocatedNum<Fr>, SynthesisError> {
    let cs = cs.namespace(|| "hash");
    match inputs.len() {
        2 => poseidon_hash(cs, inputs, &*POSEIDON_CONSTANTS_2),
        8 => poseidon_hash(cs, inputs, &*POSEIDON_CONSTANTS_8),
        _ => poseidon_hash(cs, inputs, &*POSEIDON_CONSTANTS_11),
    }
}

/// Columns, one after the other.
#[derive(Clone)]
struct Columns(Vec<Vec<Fr>>);

impl Circuit<Fr> for Columns {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for rows in &self.0 {
            let rows = alloc_all(cs, rows)?;
            hash(cs, rows)?;
        }
        Ok(())
    }
}

/// Eleven hashes, so that some lanes stay idle; one of them twice.
fn assert_columns(mut columns: Vec<Vec<Fr>>) {
    columns[9] = columns[4].clone();
    assert_written(Columns(columns.clone()), |hashes, out| {
        let chains = columns.iter().map(|rows| {
            rows.iter().for_each(|row| out.scalar(*row));
            Ok(Chain { start: hashes.column(rows, out)?, steps: vec![] })
        });
        chains.collect()
    });
}

/// A step of a path: the node, the bits of its index, its siblings, what is selected, the hash.
#[derive(Clone)]
struct OneStep {
    node: Fr,
    siblings: Vec<Fr>,
    index: usize,
}

impl Circuit<Fr> for OneStep {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let node = alloc(cs, self.node)?;
        let bit = |bit: u32| {
            let allocated = AllocatedBit::alloc(cs.namespace(|| "bit"), Some(self.index >> bit & 1 == 1));
            Ok(Boolean::from(allocated?))
        };
        let arity = self.siblings.len() + 1;
        let bits: Vec<Boolean> = (0..arity.ilog2()).map(bit).collect::<Result<_, SynthesisError>>()?;
        let siblings = alloc_all(cs, &self.siblings)?;
        let inputs = insert(&mut cs.namespace(|| "insert"), &node, &bits, &siblings)?;
        hash(cs, inputs)?;
        Ok(())
    }
}

fn assert_step(node: Fr, siblings: &[Fr], index: usize) {
    assert_written(OneStep { node, siblings: siblings.to_vec(), index }, |hashes, out| {
        out.scalar(node);
        let path = Path::new(node, vec![(siblings.to_vec(), index)]);
        Ok(vec![write_replica_path(hashes, path, Start::Leaf(node), out)?])
    });
}

/// A label: replica id with its bits, node, parents with their bits, the label.
#[derive(Clone)]
struct Label {
    replica_id: Fr,
    node: u64,
    layer: usize,
    parents: Vec<Fr>,
}

impl Circuit<Fr> for Label {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut bits_of = |value: Fr| {
            let number = alloc(cs, value)?;
            Ok(reverse_bit_numbering(number.to_bits_le(cs.namespace(|| "bits"))?))
        };
        let replica_id = bits_of(self.replica_id)?;
        let parents: Vec<Vec<Boolean>> =
            self.parents.into_iter().map(&mut bits_of).collect::<Result<_, SynthesisError>>()?;
        let node = UInt64::alloc(cs.namespace(|| "node"), Some(self.node))?;
        let repeated = parents.iter().cycle().take(TOTAL_PARENTS).cloned().collect();
        let layer = UInt32::constant(self.layer as u32);
        create_label_circuit(cs.namespace(|| "label"), &replica_id, repeated, layer, node)?;
        Ok(())
    }
}

fn assert_label(replica_id: Fr, node: u64, layer: usize, parents: &[Fr]) {
    let circuit = Label { replica_id, node, layer, parents: parents.to_vec() };
    assert_written(circuit, |_, out| {
        let writer = PorepWriter::new(&replica_id.to_repr(), layer, None);
        for value in [replica_id].iter().chain(parents) {
            out.scalar(*value);
            write_bits_of(&value.to_repr(), out);
        }
        out.bits(node, 64);
        let parents: Vec<Node> = parents.iter().map(PrimeField::to_repr).collect();
        writer.write_label_of(layer, node, &parents, out);
        Ok(vec![])
    });
}

/// A step of the data's tree: two nodes, what is selected, the digest.
#[derive(Clone)]
struct DataStep {
    node: Fr,
    sibling: Fr,
    right: bool,
}

impl Circuit<Fr> for DataStep {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let node = alloc(cs, self.node)?;
        let bit = AllocatedBit::alloc(cs.namespace(|| "bit"), Some(self.right))?;
        let sibling = alloc(cs, self.sibling)?;
        let pair = insert(&mut cs.namespace(|| "insert"), &node, &[bit.into()], &[sibling])?;
        let cs = cs.namespace(|| "hash");
        <DefaultPieceHasher as Hasher>::Function::hash2_circuit(cs, &pair[0], &pair[1])?;
        Ok(())
    }
}

fn assert_data_step(node: Fr, sibling: Fr, right: bool) {
    assert_written(DataStep { node, sibling, right }, |_, out| {
        out.scalar(node);
        out.bits(u64::from(right), 1);
        out.scalar(sibling);
        write_data_step(node.to_repr(), sibling.to_repr(), right, out);
        Ok(vec![])
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn columns_of_two(columns in prop::collection::vec(prop::collection::vec(elements(), 2), 11)) {
        assert_columns(columns);
    }

    #[test]
    fn columns_of_eleven(columns in prop::collection::vec(prop::collection::vec(elements(), 11), 11)) {
        assert_columns(columns);
    }

    #[test]
    fn steps_of_two(node in elements(), sibling in elements(), index in 0..2usize) {
        assert_step(node, &[sibling], index);
    }

    #[test]
    fn steps_of_eight(node in elements(), siblings in prop::collection::vec(elements(), 7), index in 0..8usize) {
        assert_step(node, &siblings, index);
    }

    #[test]
    fn labels(
        replica_id in elements(),
        node in prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
        layer in 1..12usize,
        parents in prop::collection::vec(elements(), 14),
    ) {
        let parents = if layer == 1 { &parents[..6] } else { &parents[..] };
        assert_label(replica_id, node, layer, parents);
    }

    #[test]
    fn steps_of_the_data(node in elements(), sibling in elements(), right in any::<bool>()) {
        assert_data_step(node, sibling, right);
    }
}

/// Every value the same extreme one, and every branch of the selections with all values different.
#[test]
fn extreme_values_and_every_branch() {
    for extreme in extremes() {
        assert_columns(vec![vec![extreme; 2]; 11]);
        assert_columns(vec![vec![extreme; 11]; 11]);
        assert_step(extreme, &[extreme; 7], 7);
        assert_label(extreme, u64::MAX, 1, &[extreme; 6]);
        assert_label(extreme, 0, 11, &[extreme; 14]);
        assert_data_step(extreme, extreme, true);
    }
    let siblings: Vec<Fr> = (1..8).map(Fr::from).collect();
    for index in 0..8 {
        assert_step(Fr::from(9), &siblings, index);
    }
    for index in 0..2 {
        assert_step(Fr::from(9), &siblings[..1], index);
    }
}
