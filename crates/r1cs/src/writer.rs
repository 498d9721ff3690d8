//! Witnesses that are written, not walked: by code that knows the order in which a circuit allocates.

use rayon::prelude::*;

use crate::packed::check_count;
use crate::template::Section;
use crate::{Bitmap, Error, Fr, PackedWitness, Template};

/// Takes the aux variables of a section in order of allocation: bits as bits, everything else as scalars.
pub struct Writer<'a> {
    words: Vec<u64>,
    /// Bits that do not fill a word yet.
    last: u64,
    n_last: u32,
    scalars: &'a mut [Fr],
    /// Scalars written, also those that had no place.
    n_scalars: usize,
    /// Which variables are bits.
    is_bit: &'a Bitmap,
}

impl<'a> Writer<'a> {
    fn new(section: &'a Section, scalars: &'a mut [Fr]) -> Self {
        let words = Vec::with_capacity(section.n_aux() / 64 + 1);
        Writer { words, last: 0, n_last: 0, scalars, n_scalars: 0, is_bit: section.bits() }
    }

    /// The `n` lowest bits of `value`, the lowest first; the others must be 0.
    #[inline(always)]
    pub fn bits(&mut self, value: u64, n: u32) {
        debug_assert!(n <= 64 && (n == 64 || value >> n == 0));
        let last = self.last | value << self.n_last;
        let end = self.n_last + n;
        if end < 64 {
            self.last = last;
            self.n_last = end;
        } else {
            self.words.push(last);
            // In two steps, as a shift by 64 is none.
            self.last = value >> 1 >> (63 - self.n_last);
            self.n_last = end - 64;
        }
    }

    /// A small number: a bit in the circuits that are so small that it can be no more, else a scalar.
    pub fn number(&mut self, value: u64) {
        let index = 64 * self.words.len() + self.n_last as usize;
        match value <= 1 && index < self.is_bit.len() && self.is_bit.get(index) {
            true => self.bits(value, 1),
            false => self.scalar(Fr::from(value)),
        }
    }

    /// A value that need not be a bit.
    #[inline(always)]
    pub fn scalar(&mut self, value: Fr) {
        self.bits(0, 1);
        if let Some(place) = self.scalars.get_mut(self.n_scalars) {
            *place = value;
        }
        self.n_scalars += 1;
    }

    /// The bits, if all that was written is what the section has, each in its place.
    fn finish(self, section: &Section) -> Result<Bitmap, Error> {
        let Writer { mut words, last, n_last, n_scalars, .. } = self;
        let n_aux = 64 * words.len() + n_last as usize;
        if n_last > 0 {
            words.push(last);
        }
        check_count("aux variables that were written", n_aux, section.n_aux())?;
        check_count("scalars that were written", n_scalars, section.n_scalars())?;
        let scalar_places = words.iter().zip(section.bits().words());
        let misplaced = scalar_places.map(|(written, bits)| (written & !bits).count_ones() as usize).sum();
        check_count("bits in places of scalars", misplaced, 0)?;
        Ok(Bitmap::from_words(words, n_aux).expect("as many words as bits need, and none beyond"))
    }
}

/// Writes the header, and the blocks on all threads of the current rayon pool. The result does not depend on the number of threads.
pub fn write_blocks<E: From<Error> + Send>(
    template: &Template,
    inputs: Vec<Fr>,
    header: impl FnOnce(&mut Writer<'_>) -> Result<(), E>,
    block: impl Fn(usize, &mut Writer<'_>) -> Result<(), E> + Sync,
) -> Result<PackedWitness, E> {
    check_count("inputs", inputs.len(), template.n_inputs())?;
    let mut scalars = vec![Fr::from(0); template.n_scalars()];
    let (of_header, mut rest) = scalars.split_at_mut(template.header().n_scalars());
    // A block without scalars still has a slice, an empty one.
    let mut slices = vec![];
    for _ in 0..template.instances() {
        let (slice, after) = rest.split_at_mut(template.block().n_scalars());
        slices.push(slice);
        rest = after;
    }
    let mut writer = Writer::new(template.header(), of_header);
    header(&mut writer)?;
    let mut bits = writer.finish(template.header())?;
    let written: Vec<Bitmap> = (slices.into_par_iter().enumerate().with_max_len(1))
        .map(|(instance, slice)| {
            let mut writer = Writer::new(template.block(), slice);
            block(instance, &mut writer)?;
            Ok(writer.finish(template.block())?)
        })
        .collect::<Result<_, E>>()?;
    written.iter().for_each(|block| bits.append(block));
    Ok(PackedWitness { inputs, bits, scalars })
}
