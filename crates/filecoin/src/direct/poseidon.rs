//! Poseidon as neptune's gadget allocates it, of width t = arity + 1.
//!
//! | step | scalars | |
//! |---|---|---|
//! | round 0 | the domain tag is a constant; of each input x: (x + k)², (x + k)⁴, (x + k)⁵ + the key after it | 3 (t − 1) |
//! | the other full rounds | of each element: itself after the mixing, its square, fourth power, fifth power + the key after it (none in the last round) | 4 t each |
//! | partial rounds | the same of element 0 alone | 4 each |
//! | result | element 1 after the last mixing | 1 |
//!
//! Keys and matrices are neptune's, compressed: one key for each element of the first round before and after it, then one for each that is
//! written; the mixing before the partial rounds is a matrix of its own, and those between them are sparse.

use blstrs::Scalar as Fr;
use cuzk_r1cs::Writer;
use ff::Field;

/// The constants of one width.
pub(super) struct Poseidon<const T: usize> {
    pub(super) half_full_rounds: usize,
    pub(super) keys: Vec<Fr>,
    /// Columns: element j of the result is the sum of all elements by column j.
    pub(super) mixing: [[Fr; T]; T],
    pub(super) before_partial: [[Fr; T]; T],
    /// Of each partial round: the column of element 0, and what of element 0 is added to each of the others.
    pub(super) sparse: Vec<([Fr; T], [Fr; T])>,
    /// The domain tag after round 0.
    pub(super) tag: Fr,
}

/// From neptune's constants, whose type has a name for each arity.
macro_rules! poseidon {
    ($constants:expr) => {{
        let constants = &*$constants;
        $crate::direct::poseidon::Poseidon::new(
            constants.half_full_rounds,
            &constants.compressed_round_constants,
            constants.domain_tag,
            [&constants.mds_matrices.m, &constants.pre_sparse_matrix],
            constants.sparse_matrixes.iter().map(|matrix| (&matrix.w_hat[..], &matrix.v_rest[..])),
        )
    }};
}

pub(super) use poseidon;

impl<const T: usize> Poseidon<T> {
    pub(super) fn new<'a>(
        half_full_rounds: usize,
        keys: &[Fr],
        domain_tag: Fr,
        matrices: [&Vec<Vec<Fr>>; 2],
        sparse: impl Iterator<Item = (&'a [Fr], &'a [Fr])>,
    ) -> Self {
        let columns = |rows: &Vec<Vec<Fr>>| std::array::from_fn(|j| std::array::from_fn(|i| rows[i][j]));
        let [mixing, before_partial] = matrices.map(columns);
        let sparse = sparse.map(|(column, rest)| {
            let added = |i| if i == 0 { Fr::ZERO } else { rest[i - 1] };
            (std::array::from_fn(|i| column[i]), std::array::from_fn(added))
        });
        Poseidon {
            half_full_rounds,
            keys: keys.to_vec(),
            mixing,
            before_partial,
            sparse: sparse.collect(),
            tag: fifth_power(domain_tag + keys[0]) + keys[T],
        }
    }

    /// How many scalars a permutation writes.
    pub(super) fn n_scalars(&self) -> usize {
        3 * (T - 1) + (2 * self.half_full_rounds - 1) * 4 * T + 4 * self.sparse.len() + 1
    }

    /// Writes a permutation and returns its result. `N` is T − 1.
    pub(super) fn write<const N: usize>(
        &self,
        inputs: &[Fr; N],
        out: &mut Writer<'_>,
    ) -> Result<Fr, cuzk_r1cs::Error> {
        Ok(self.hash(inputs, out.scalars(self.n_scalars())?))
    }

    /// Fills the place of a permutation, and returns its result.
    pub(super) fn hash<const N: usize>(&self, inputs: &[Fr; N], place: &mut [Fr]) -> Fr {
        assert_eq!(N + 1, T, "the inputs of another width");
        assert_eq!(place.len(), self.n_scalars(), "the place of another width");
        let out = &mut Slots(place.iter_mut());
        let mut elements = [self.tag; T];
        for (index, input) in inputs.iter().enumerate() {
            let key = self.keys[T + index + 1];
            elements[index + 1] = write_powers(*input + self.keys[index + 1], key, out);
        }
        let mut keys = self.keys[2 * T..].iter();
        let mut key = || *keys.next().expect("a key for each element that is written");
        for _ in 1..self.half_full_rounds {
            elements = mix(&elements, &self.mixing);
            elements.iter_mut().for_each(|element| *element = write_element(*element, key(), out));
        }
        elements = mix(&elements, &self.before_partial);
        for (column, added) in &self.sparse {
            let first = write_element(elements[0], key(), out);
            elements[0] = first;
            let mixed = dot(&elements, column);
            elements[1..]
                .iter_mut()
                .zip(&added[1..])
                .for_each(|(element, factor)| *element += first * factor);
            elements[0] = mixed;
        }
        for _ in 1..self.half_full_rounds {
            elements.iter_mut().for_each(|element| *element = write_element(*element, key(), out));
            elements = mix(&elements, &self.mixing);
        }
        elements.iter_mut().for_each(|element| *element = write_element(*element, Fr::ZERO, out));
        let result = dot(&elements, &self.mixing[1]);
        out.scalar(result);
        result
    }
}

/// Places one after the other.
struct Slots<'a>(std::slice::IterMut<'a, Fr>);

impl Slots<'_> {
    #[inline(always)]
    fn scalar(&mut self, value: Fr) {
        *self.0.next().expect("as many as are counted") = value;
    }
}

fn fifth_power(value: Fr) -> Fr {
    value.square().square() * value
}

/// Square, fourth power, and fifth power with the key after it, which is returned.
#[inline(always)]
fn write_powers(value: Fr, key: Fr, out: &mut Slots<'_>) -> Fr {
    let square = value.square();
    let fourth = square.square();
    let result = fourth * value + key;
    out.scalar(square);
    out.scalar(fourth);
    out.scalar(result);
    result
}

/// The same after the element itself.
#[inline(always)]
fn write_element(value: Fr, key: Fr, out: &mut Slots<'_>) -> Fr {
    out.scalar(value);
    write_powers(value, key, out)
}

fn mix<const T: usize>(elements: &[Fr; T], columns: &[[Fr; T]; T]) -> [Fr; T] {
    std::array::from_fn(|j| dot(elements, &columns[j]))
}

#[inline(always)]
fn dot<const T: usize>(elements: &[Fr; T], column: &[Fr; T]) -> Fr {
    let mut sum = elements[0] * column[0];
    for (element, factor) in elements[1..].iter().zip(&column[1..]) {
        sum += *element * factor;
    }
    sum
}
