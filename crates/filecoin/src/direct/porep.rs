//! A PoRep: a header, and a block for each challenge.
//!
//! Header: replica id and its 255 bits; comm_d, comm_r, comm_r_last, comm_c; their Poseidon of arity 2.
//!
//! Block: the data's leaf and its path to comm_d; of each parent (6 in the challenge's layer, 8 in the one before) the rows of its column,
//! the column's hash and its path to comm_c; the challenge, 64 bits; for each layer the bits of its parents and the label; the encoded
//! leaf and its path to comm_r_last; the hash of the labels and its path to comm_c.
//!
//! A label: 20 compressions of replica id, layer, node and 37 parents (6, or 14, again and again); 254 bits of the digest are an element.

use blstrs::Scalar as Fr;
use cuzk_field::Engine;
use cuzk_r1cs::Writer;
use filecoin_hashers::Hasher;
use filecoin_proofs::constants::DefaultPieceHasher;
use filecoin_proofs::types::MerkleTreeTrait;
use serde::Deserialize;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_porep::stacked;

use super::hashes::{Chain, Hashes, Start};
use super::path::{
    Path, block, data_path, node, padding, replica_path, write_data_path, write_digest, write_replica_path,
};
use super::sha256::{INITIAL, Shape, compress};
use super::{Node, element, write_bits_of};
use crate::Error;
use crate::vanilla_checks::{Column, mirror};

/// What all blocks share.
pub(crate) struct PorepWriter {
    pub(crate) hashes: Hashes,
    replica_id: Node,
    layers: usize,
}

/// Roots and commitments, as the header has them.
pub(crate) struct Roots {
    pub(crate) comm_d: Node,
    pub(crate) comm_r: Node,
    pub(crate) comm_r_last: Node,
    pub(crate) comm_c: Node,
}

/// What is opened of a node.
struct Opened {
    rows: Vec<Node>,
    path: Path<Fr>,
}

/// Parents in the label's own layer, before those in the layer below.
const DRG_DEGREE: usize = filecoin_proofs::constants::DRG_DEGREE;

impl PorepWriter {
    pub(crate) fn new(replica_id: &impl AsRef<[u8]>, layers: usize, engine: Option<Engine>) -> Self {
        PorepWriter { hashes: Hashes::new(engine), replica_id: node(replica_id), layers }
    }

    pub(crate) fn header(&self, roots: &Roots, out: &mut Writer<'_>) -> Result<(), Error> {
        out.scalar(element(&self.replica_id));
        write_bits_of(&self.replica_id, out);
        let [comm_d, comm_r, comm_r_last, comm_c] =
            [roots.comm_d, roots.comm_r, roots.comm_r_last, roots.comm_c].map(|root| element(&root));
        [comm_d, comm_r, comm_r_last, comm_c].iter().for_each(|root| out.scalar(*root));
        self.hashes.two.one.write(&[comm_c, comm_r_last], out)?;
        Ok(())
    }

    /// The block of a challenge, and what is left to be computed of it. The vanilla proof was checked.
    pub(crate) fn block<'a, Tree: 'static + MerkleTreeTrait>(
        &self,
        proof: &stacked::Proof<Tree, DefaultPieceHasher>,
        challenge: u64,
        out: &mut Writer<'a>,
    ) -> Result<Vec<Chain<'a>>, Error> {
        let data = data_path(&proof.comm_d_proofs);
        let leaf = element(&data.leaf);
        out.scalar(leaf);
        write_data_path(&data, out);

        let columns = &proof.replica_column_proofs;
        let parents = columns.drg_parents.iter().chain(&columns.exp_parents);
        let mut chains = vec![];
        let mut rows_of_parents = vec![];
        for parent in parents {
            let Opened { rows, path } = opened(parent)?;
            let elements: Vec<Fr> = rows.iter().map(element).collect();
            elements.iter().for_each(|row| out.scalar(*row));
            chains.push(self.write_column(&elements, path, out)?);
            rows_of_parents.push(rows);
        }
        out.bits(challenge, 64);
        let labels: Vec<Fr> = (1..=self.layers)
            .map(|layer| element(&self.write_label(layer, challenge, &rows_of_parents, out)))
            .collect();
        let encoded = *labels.last().expect("at least a layer") + leaf;
        out.scalar(encoded);
        let replica = replica_path(&proof.comm_r_last_proof);
        chains.push(write_replica_path(&self.hashes, replica, Start::Leaf(encoded), out)?);
        chains.push(self.write_column(&labels, opened(&columns.c_x)?.path, out)?);
        Ok(chains)
    }

    /// The hash of a column, and its path.
    fn write_column<'a>(
        &self,
        rows: &[Fr],
        path: Path<Fr>,
        out: &mut Writer<'a>,
    ) -> Result<Chain<'a>, Error> {
        let column = self.hashes.column(rows, out)?;
        Ok(write_replica_path(&self.hashes, path, column, out)?)
    }

    /// The bits of a label's parents, and the label.
    fn write_label(&self, layer: usize, node: u64, rows: &[Vec<Node>], out: &mut Writer<'_>) -> Node {
        let in_layer = rows[..DRG_DEGREE].iter().map(|rows| rows[layer - 1]);
        let below = if layer == 1 { &[] } else { &rows[DRG_DEGREE..] };
        let parents: Vec<Node> = in_layer.chain(below.iter().map(|rows| rows[layer - 2])).collect();
        parents.iter().for_each(|parent| write_bits_of(parent, out));
        self.write_label_of(layer, node, &parents, out)
    }

    /// The label of a node whose parents are these.
    pub(super) fn write_label_of(
        &self,
        layer: usize,
        node: u64,
        parents: &[Node],
        out: &mut Writer<'_>,
    ) -> Node {
        let mut state = INITIAL;
        let mut first = block(&self.replica_id, &[0; 32]);
        (first[8], first[9], first[10]) = (layer as u32, (node >> 32) as u32, node as u32);
        compress(&mut state, &first, &Shape::LABEL_FIRST, out);
        let repeated: Vec<&Node> = parents.iter().cycle().take(stacked::TOTAL_PARENTS).collect();
        let pairs = repeated.chunks_exact(2);
        let rest = pairs.remainder();
        for pair in pairs {
            compress(&mut state, &block(pair[0], pair[1]), &Shape::TWO, out);
        }
        let mut last = padding(8, MESSAGE_BITS);
        last[..8].copy_from_slice(&block(rest[0], &[0; 32])[..8]);
        compress(&mut state, &last, &Shape::LABEL_LAST, out);
        write_digest(&state, out)
    }
}

/// Of a label: a block of 64 bytes and 37 parents.
const MESSAGE_BITS: u32 = 8 * (64 + 32 * stacked::TOTAL_PARENTS as u32);

/// A column and its path. Upstream keeps the path to itself.
fn opened<P: MerkleProofTrait>(proof: &stacked::ColumnProof<P>) -> Result<Opened, Error>
where
    <P::Hasher as Hasher>::Domain: AsRef<[u8]>,
{
    #[derive(Deserialize)]
    struct Mirror<P> {
        column: Column,
        inclusion_proof: P,
    }
    let unreadable = |what| Error::Upstream { doing: "reading a column", source: anyhow::anyhow!("{what}") };
    let Mirror { column, inclusion_proof } = mirror::<Mirror<P>>(proof).map_err(unreadable)?;
    Ok(Opened { rows: column.rows, path: replica_path(&inclusion_proof) })
}

/// The four of a statement.
pub(crate) fn roots<Tree: 'static + MerkleTreeTrait>(
    comm_d: &impl AsRef<[u8]>,
    comm_r: &impl AsRef<[u8]>,
    proof: &stacked::Proof<Tree, DefaultPieceHasher>,
) -> Roots {
    Roots {
        comm_d: node(comm_d),
        comm_r: node(comm_r),
        comm_r_last: node(&proof.comm_r_last()),
        comm_c: node(&proof.comm_c()),
    }
}
