//! The packed witness: bits as bits, scalars as scalars.

use cuzk_fault::{Fault, injected};
use ff::Field;

use crate::{Bitmap, Error, Fr, Template, is_zero};

/// An assignment of a template's circuit. In PoRep 98 to 99 % of it are bits; in PoSt nearly all of it are scalars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedWitness {
    /// The inputs, ONE first.
    pub inputs: Vec<Fr>,
    /// One bit for each aux variable: its value where [`Template::bits`] says that it is a bit, else 0.
    pub bits: Bitmap,
    /// The values of the aux variables that are not bits, in order of variables.
    pub scalars: Vec<Fr>,
}

impl PackedWitness {
    /// From its parts, if their counts are the template's.
    pub fn new(template: &Template, inputs: Vec<Fr>, bits: Bitmap, scalars: Vec<Fr>) -> Result<Self, Error> {
        let witness = PackedWitness { inputs, bits, scalars };
        witness.check_shape(template)?;
        Ok(witness)
    }

    /// Packs an assignment, checking each value. `aux` in order of allocation, `inputs` with ONE first.
    pub fn pack(template: &Template, inputs: Vec<Fr>, aux: &[Fr]) -> Result<Self, Error> {
        check_count("inputs", inputs.len(), template.n_inputs())?;
        check_count("aux variables", aux.len(), template.n_aux())?;
        let mut packer = Packer::default();
        packer.scalars.reserve_exact(template.n_scalars());
        let mut rest = aux;
        for placement in template.placements() {
            let (own, after) = rest.split_at(placement.section.n_aux());
            rest = after;
            for (index, value) in own.iter().enumerate() {
                let is_bit = placement.section.bits.get(index);
                packer.push(value, is_bit).map_err(|NotABit| Error::NotABit {
                    aux: placement.first_aux + index,
                    name: String::new(),
                    place: place_name(placement.instance),
                })?;
            }
        }
        Ok(PackedWitness { inputs, bits: packer.bits, scalars: packer.scalars })
    }

    /// The aux variables as scalars: 32 bytes each.
    pub fn unpack_aux(&self, template: &Template) -> Result<Vec<Fr>, Error> {
        self.check_shape(template)?;
        let mut scalars = self.scalars.iter();
        let mut aux = Vec::with_capacity(template.n_aux());
        let mut lost = injected(Fault::WitnessBit);
        for placement in template.placements() {
            for index in 0..placement.section.n_aux() {
                aux.push(match placement.section.bits.get(index) {
                    true if self.bits.get(placement.first_aux + index) && !std::mem::take(&mut lost) => {
                        Fr::ONE
                    }
                    true => Fr::ZERO,
                    false => *scalars.next().expect("counted"),
                });
            }
        }
        Ok(aux)
    }

    /// The first aux variable that has another value in another witness of the same circuit.
    pub fn first_difference(&self, other: &Self, template: &Template) -> Result<Option<usize>, Error> {
        self.check_shape(template)?;
        other.check_shape(template)?;
        let mut words = self.bits.words().iter().zip(other.bits.words()).map(|(own, other)| own ^ other);
        let bit = words.position(|differs| differs != 0).map(|word| {
            let differs = self.bits.words()[word] ^ other.bits.words()[word];
            64 * word + differs.trailing_zeros() as usize
        });
        let scalar = self.scalars.iter().zip(&other.scalars).position(|(own, other)| own != other);
        let scalar = scalar.map(|scalar| template.aux_of_scalar(scalar));
        Ok(bit.into_iter().chain(scalar).min())
    }

    /// Refuses a witness of another circuit.
    pub fn check_shape(&self, template: &Template) -> Result<(), Error> {
        check_count("inputs", self.inputs.len(), template.n_inputs())?;
        check_count("aux variables", self.bits.len(), template.n_aux())?;
        check_count("aux variables that are not bits", self.scalars.len(), template.n_scalars())
    }
}

pub(crate) fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::OtherShape { what, found, expected }) }
}

pub(crate) fn place_name(instance: Option<usize>) -> String {
    instance.map_or_else(|| "the header".to_owned(), |instance| format!("block {instance}"))
}

/// A value for a bit that is neither 0 nor 1.
#[derive(Debug)]
pub(crate) struct NotABit;

/// Bits and scalars, as they come.
#[derive(Default)]
pub(crate) struct Packer {
    pub(crate) bits: Bitmap,
    pub(crate) scalars: Vec<Fr>,
}

impl Packer {
    #[inline]
    pub(crate) fn push(&mut self, value: &Fr, is_bit: bool) -> Result<(), NotABit> {
        let is_one = is_bit && *value == Fr::ONE;
        self.bits.push(is_one);
        if !is_bit {
            self.scalars.push(*value);
        } else if !is_one && !is_zero(value) {
            return Err(NotABit);
        }
        Ok(())
    }
}
