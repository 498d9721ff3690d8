//! Walking a circuit for its witness alone: values are packed as they are allocated, rows are ignored.

use bellpepper_core::SynthesisError;
use ff::Field;
use rayon::prelude::*;

use crate::packed::{Packer, check_count, place_name};
use crate::walk::{Row, Sink, Walkable};
use crate::{Bitmap, Error, Fr, PackedWitness, Template};

/// Walks the whole circuit of `template` on one thread.
pub fn walk_witness(template: &Template, circuit: impl Walkable) -> Result<PackedWitness, Error> {
    WitnessWalk::run(template, circuit, 0, template.instances())
}

/// Walks the circuit's blocks on all threads of the current rayon pool. `block(k)` is the circuit of header and block k
/// alone; its header is walked again for each block, and compared with the first one's. The result does not depend on the
/// number of threads.
///
/// Holds the packed witness and, for each thread, one block of it.
pub fn walk_blocks<C, E>(
    template: &Template,
    block: impl Fn(usize) -> Result<C, E> + Sync,
) -> Result<PackedWitness, E>
where
    C: Walkable,
    E: From<Error> + Send,
{
    let (header, section) = (template.header(), template.block());
    let mut scalars = vec![Fr::ZERO; template.n_scalars()];
    let (header_scalars, block_scalars) = scalars.split_at_mut(header.n_scalars());

    // A block without scalars still has a slice, an empty one.
    let mut slices: Vec<&mut [Fr]> = vec![];
    let mut rest = block_scalars;
    for _ in 0..template.instances() {
        let (slice, after) = rest.split_at_mut(section.n_scalars());
        slices.push(slice);
        rest = after;
    }
    let walked: Vec<Block> = (slices.into_par_iter().enumerate().with_max_len(1))
        .map(|(instance, slice)| {
            let witness = WitnessWalk::run(template, block(instance)?, instance, 1)?;
            let (header_part, own) = witness.scalars.split_at(header.n_scalars());
            slice.copy_from_slice(own);
            Ok(Block {
                header_inputs: witness.inputs[..header.n_inputs()].to_vec(),
                header_bits: witness.bits.slice(0, header.n_aux()),
                header_scalars: header_part.to_vec(),
                inputs: witness.inputs[header.n_inputs()..].to_vec(),
                bits: witness.bits.slice(header.n_aux(), witness.bits.len()),
            })
        })
        .collect::<Result<_, E>>()?;

    let first = walked.first().ok_or(Error::OtherShape { what: "blocks", found: 0, expected: 1 })?;
    if let Some(block) = walked.iter().position(|block| !block.has_header_of(first)) {
        return Err(Error::OtherHeader { block }.into());
    }
    header_scalars.copy_from_slice(&first.header_scalars);
    let (mut inputs, mut bits) = (first.header_inputs.clone(), first.header_bits.clone());
    for block in &walked {
        inputs.extend_from_slice(&block.inputs);
        bits.append(&block.bits);
    }
    Ok(PackedWitness { inputs, bits, scalars })
}

/// What one block's walk leaves, but for its own scalars.
struct Block {
    header_inputs: Vec<Fr>,
    header_bits: Bitmap,
    header_scalars: Vec<Fr>,
    inputs: Vec<Fr>,
    bits: Bitmap,
}

impl Block {
    fn has_header_of(&self, other: &Block) -> bool {
        self.header_inputs == other.header_inputs
            && self.header_bits == other.header_bits
            && self.header_scalars == other.header_scalars
    }
}

/// The header and some blocks from `first_instance` on.
struct WitnessWalk<'t> {
    template: &'t Template,
    first_instance: usize,
    /// Blocks that are still to come after the current section.
    blocks_left: usize,
    n_inputs: usize,
    n_aux: usize,
    /// The current section's bits, and the next variable in it.
    section: &'t Bitmap,
    index: usize,
    /// The current section: `None` in the header.
    instance: Option<usize>,
    inputs: Vec<Fr>,
    packer: Packer,
    failure: Option<Error>,
}

impl<'t> WitnessWalk<'t> {
    fn run(
        template: &'t Template,
        circuit: impl Walkable,
        first_instance: usize,
        blocks: usize,
    ) -> Result<PackedWitness, Error> {
        let (header, block) = (template.header(), template.block());
        let mut walk = WitnessWalk {
            template,
            first_instance,
            blocks_left: blocks,
            n_inputs: header.n_inputs() + blocks * block.n_inputs(),
            n_aux: header.n_aux() + blocks * block.n_aux(),
            section: header.bits(),
            index: 0,
            instance: None,
            inputs: vec![Fr::ONE],
            packer: Packer::default(),
            failure: None,
        };
        walk.packer.scalars.reserve_exact(header.n_scalars() + blocks * block.n_scalars());
        let walked = circuit.walk_into(&mut walk);
        if let Some(failure) = walk.failure {
            return Err(failure);
        }
        walked?;
        check_count("inputs of the walked circuit", walk.inputs.len(), walk.n_inputs)?;
        check_count("aux variables of the walked circuit", walk.packer.bits.len(), walk.n_aux)?;
        Ok(PackedWitness { inputs: walk.inputs, bits: walk.packer.bits, scalars: walk.packer.scalars })
    }

    /// Whether the next aux variable is a bit.
    #[inline]
    fn next_is_bit(&mut self) -> Result<bool, Error> {
        while self.index == self.section.len() {
            let found = self.packer.bits.len() + 1;
            if self.blocks_left == 0 || self.template.block().n_aux() == 0 {
                return Err(Error::OtherShape { what: "aux variables", found, expected: self.n_aux });
            }
            self.blocks_left -= 1;
            self.instance = Some(self.instance.map_or(self.first_instance, |instance| instance + 1));
            (self.section, self.index) = (self.template.block().bits(), 0);
        }
        self.index += 1;
        Ok(self.section.get(self.index - 1))
    }

    fn fail(&mut self, failure: Error) -> SynthesisError {
        self.failure = Some(failure);
        // Only ends the walk; the failure says why.
        SynthesisError::Unsatisfiable
    }

    fn not_a_bit(&self, name: String) -> Error {
        let (header, block) = (self.template.header(), self.template.block());
        let first_aux = self.instance.map_or(0, |instance| header.n_aux() + instance * block.n_aux());
        Error::NotABit { aux: first_aux + self.index - 1, name, place: place_name(self.instance) }
    }
}

impl Sink for WitnessWalk<'_> {
    fn takes_rows(&self) -> bool {
        false
    }

    fn alloc(&mut self, value: &mut dyn FnMut() -> Result<Fr, SynthesisError>) -> Result<(), SynthesisError> {
        let is_bit = match self.next_is_bit() {
            Ok(is_bit) => is_bit,
            Err(failure) => return Err(self.fail(failure)),
        };
        if self.packer.push(&value()?, is_bit).is_err() {
            let failure = self.not_a_bit(String::new());
            return Err(self.fail(failure));
        }
        Ok(())
    }

    fn failed_at(&mut self, found: String) {
        if let Some(Error::NotABit { name, .. }) = &mut self.failure {
            *name = found;
        }
    }

    fn alloc_input(
        &mut self,
        value: &mut dyn FnMut() -> Result<Fr, SynthesisError>,
    ) -> Result<(), SynthesisError> {
        self.inputs.push(value()?);
        Ok(())
    }

    fn enforce(&mut self, _: &mut dyn Row) {}
}
