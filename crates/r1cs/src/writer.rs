//! Witnesses that are written, not walked: by code that knows the order in which a circuit allocates.

use rayon::prelude::*;

use crate::packed::check_count;
use crate::template::Section;
use crate::{Bitmap, Error, Fr, Template};

/// Takes the aux variables of a section in order of allocation: bits as bits, everything else as scalars.
pub struct Writer<'a> {
    words: Vec<u64>,
    /// Bits that do not fill a word yet.
    last: u64,
    n_last: u32,
    /// Where scalars still go.
    places: std::slice::IterMut<'a, Fr>,
    /// Scalars written, also those that had no place.
    n_scalars: usize,
    /// Which variables are bits.
    is_bit: &'a Bitmap,
}

impl<'a> Writer<'a> {
    fn new(section: &'a Section, scalars: &'a mut [Fr]) -> Self {
        let words = Vec::with_capacity(section.n_aux() / 64 + 1);
        let places = scalars.iter_mut();
        Writer { words, last: 0, n_last: 0, places, n_scalars: 0, is_bit: section.bits() }
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
        if let Some(place) = self.places.next() {
            *place = value;
        }
        self.n_scalars += 1;
    }

    /// The places of the next `n` values that need not be bits, to be filled before the witness is used. An error where the circuit has
    /// fewer.
    pub fn scalars(&mut self, n: usize) -> Result<&'a mut [Fr], Error> {
        let places = std::mem::take(&mut self.places).into_slice();
        let n_left = places.len();
        let Some((own, rest)) = places.split_at_mut_checked(n) else {
            return Err(Error::OtherShape { what: "scalars left to write", found: n, expected: n_left });
        };
        self.places = rest.iter_mut();
        self.n_scalars += n;
        for start in (0..n).step_by(64) {
            self.bits(0, 64.min(n - start) as u32);
        }
        Ok(own)
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

/// Writes the header, and the blocks on all threads of the current rayon pool; returns the bits. The result does not depend on the number
/// of threads.
///
/// `scalars` has a place for each scalar of the template. What a block leaves to be done is done by `complete`, for `at_once` blocks
/// together: it fills the places that [`Writer::scalars`] gave.
pub fn write_blocks<'a, C: Send, E: From<Error> + Send>(
    template: &'a Template,
    scalars: &'a mut [Fr],
    header: impl FnOnce(&mut Writer<'a>) -> Result<(), E>,
    block: impl Fn(usize, &mut Writer<'a>) -> Result<C, E> + Sync,
    at_once: usize,
    complete: impl Fn(Vec<C>) + Sync,
) -> Result<Bitmap, E> {
    check_count("scalars", scalars.len(), template.n_scalars())?;
    let (of_header, mut rest) = scalars.split_at_mut(template.header().n_scalars());
    // A block without scalars still has a slice, an empty one.
    let mut slices = vec![];
    for instance in 0..template.instances() {
        let (slice, after) = rest.split_at_mut(template.block().n_scalars());
        slices.push((instance, slice));
        rest = after;
    }
    let mut writer = Writer::new(template.header(), of_header);
    header(&mut writer)?;
    let mut bits = writer.finish(template.header())?;
    let write = |(instance, slice)| {
        let mut writer = Writer::new(template.block(), slice);
        let left = block(instance, &mut writer)?;
        Ok((writer.finish(template.block())?, left))
    };
    let mut groups = vec![];
    while !slices.is_empty() {
        let rest = slices.split_off(at_once.clamp(1, slices.len()));
        groups.push(std::mem::replace(&mut slices, rest));
    }
    let written: Vec<Vec<Bitmap>> = (groups.into_par_iter().with_max_len(1))
        .map(|group| {
            let written: Result<Vec<(Bitmap, C)>, E> =
                group.into_par_iter().with_max_len(1).map(write).collect();
            let (bits, left) = written?.into_iter().unzip();
            complete(left);
            Ok(bits)
        })
        .collect::<Result<_, E>>()?;
    written.iter().flatten().for_each(|block| bits.append(block));
    Ok(bits)
}
