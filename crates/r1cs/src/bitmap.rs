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
            let mut again = Bitmap::zeros(bits.len());
            positions.iter().for_each(|&index| again.set(index));
            prop_assert_eq!(again, bitmap);
        }
    }
}
