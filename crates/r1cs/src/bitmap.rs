//! A growable set of bits, 64 to a word, the lowest bit of a word first.

/// A growable set of bits: which variables of a list have some property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` bits, all of them zero.
    pub fn zeros(len: usize) -> Self {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }

    /// Makes room for `additional` bits and no more.
    pub fn reserve_exact(&mut self, additional: usize) {
        self.words.reserve_exact((self.len + additional).div_ceil(64) - self.words.len());
    }

    /// Appends a bit.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.len += 1;
        if bit {
            self.set(self.len - 1);
        }
    }

    /// Sets bit `index`. Panics when `index >= self.len()`.
    pub fn set(&mut self, index: usize) {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Bit `index`. Panics when `index >= self.len()`.
    pub fn get(&self, index: usize) -> bool {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// The 64 bits from `position` on, the first in the lowest bit; zeros beyond the end.
    #[inline]
    pub fn word_at(&self, position: usize) -> u64 {
        let (index, shift) = (position / 64, position % 64);
        let low = self.words.get(index).copied().unwrap_or(0) >> shift;
        match shift {
            0 => low,
            _ => low | self.words.get(index + 1).copied().unwrap_or(0) << (64 - shift),
        }
    }

    /// Appends all bits of `other`. A few operations a word.
    pub fn append(&mut self, other: &Bitmap) {
        let shift = self.len % 64;
        self.words.reserve(other.words.len());
        for &word in &other.words {
            match shift {
                0 => self.words.push(word),
                _ => {
                    *self.words.last_mut().expect("a started word") |= word << shift;
                    self.words.push(word >> (64 - shift));
                }
            }
        }
        self.len += other.len;
        self.words.truncate(self.len.div_ceil(64));
    }

    /// The bits at `start..end`. Panics unless `start <= end <= self.len()`.
    pub fn slice(&self, start: usize, end: usize) -> Bitmap {
        assert!(start <= end && end <= self.len, "bits {start} to {end} of {}", self.len);
        let len = end - start;
        let mut words: Vec<u64> =
            (0..len.div_ceil(64)).map(|index| self.word_at(start + 64 * index)).collect();
        if let Some(last) = words.last_mut().filter(|_| !len.is_multiple_of(64)) {
            *last &= (1 << (len % 64)) - 1;
        }
        Bitmap { words, len }
    }

    /// The words, 64 bits each; bits beyond the end are zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// `len` bits from their words. `None` when the number of words does not fit or a bit beyond the end is set.
    pub fn from_words(words: Vec<u64>, len: usize) -> Option<Self> {
        let beyond = if len.is_multiple_of(64) { 0 } else { words.last()? >> (len % 64) };
        (words.len() == len.div_ceil(64) && beyond == 0).then_some(Bitmap { words, len })
    }

    /// How many bits there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bits are one.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The positions of the one bits, ascending.
    pub fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(word_index, &word)| {
            std::iter::successors((word != 0).then_some(word), |&rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| word_index * 64 + rest.trailing_zeros() as usize)
        })
    }
}

impl FromIterator<bool> for Bitmap {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let mut bitmap = Bitmap::default();
        bits.into_iter().for_each(|bit| bitmap.push(bit));
        bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_vector_of_bools(bits in proptest::collection::vec(any::<bool>(), 0..200)) {
            let bitmap: Bitmap = bits.iter().copied().collect();
            prop_assert_eq!(bitmap.len(), bits.len());
            prop_assert_eq!(bitmap.is_empty(), bits.is_empty());
            prop_assert_eq!(bitmap.count_ones(), bits.iter().filter(|bit| **bit).count());
            for (index, bit) in bits.iter().enumerate() {
                prop_assert_eq!(bitmap.get(index), *bit);
            }
            let positions: Vec<usize> = (0..bits.len()).filter(|&index| bits[index]).collect();
            prop_assert_eq!(bitmap.ones().collect::<Vec<_>>(), positions.clone());
            for position in 0..bits.len() + 70 {
                let expected = (0..64).filter(|i| bits.get(position + i) == Some(&true)).map(|i| 1 << i).sum();
                prop_assert_eq!(bitmap.word_at(position), expected);
            }
            prop_assert_eq!(Bitmap::from_words(bitmap.words().to_vec(), bits.len()), Some(bitmap.clone()));
            let mut again = Bitmap::zeros(bits.len());
            positions.iter().for_each(|&index| again.set(index));
            prop_assert_eq!(again, bitmap);
        }

        #[test]
        fn appended_and_cut_as_vectors_are(
            left in proptest::collection::vec(any::<bool>(), 0..150),
            right in proptest::collection::vec(any::<bool>(), 0..150),
            cut: [prop::sample::Index; 2],
        ) {
            let collect = |bits: &[bool]| bits.iter().copied().collect::<Bitmap>();
            let mut bitmap = collect(&left);
            bitmap.append(&collect(&right));
            let both = [left, right].concat();
            prop_assert_eq!(&bitmap, &collect(&both));
            let mut cut = cut.map(|index| index.index(both.len() + 1));
            cut.sort_unstable();
            prop_assert_eq!(bitmap.slice(cut[0], cut[1]), collect(&both[cut[0]..cut[1]]));
        }

        #[test]
        fn words_of_another_length_are_refused(words: Vec<u64>, len in 0usize..300) {
            let fits = words.len() == len.div_ceil(64);
            let clean = len % 64 == 0 || words.last().is_none_or(|last| last >> (len % 64) == 0);
            prop_assert_eq!(Bitmap::from_words(words, len).is_some(), fits && clean);
        }
    }
}
