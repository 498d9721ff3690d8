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
use filecoin_hashers::{POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11};

/// The constants of one width.
pub(super) struct Poseidon<const T: usize> {
    half_full_rounds: usize,
    keys: Vec<Fr>,
    /// Columns: element j of the result is the sum of all elements by column j.
    mixing: [[Fr; T]; T],
    before_partial: [[Fr; T]; T],
    /// Of each partial round: the column of element 0, and what of element 0 is added to each of the others.
    sparse: Vec<([Fr; T], [Fr; T])>,
    /// The domain tag after round 0.
    tag: Fr,
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

/// Poseidon of the arities that Filecoin has.
pub(super) struct Hashes {
    pub(super) two: Poseidon<3>,
    pub(super) eight: Poseidon<9>,
    pub(super) eleven: Poseidon<12>,
}

impl Hashes {
    pub(super) fn new() -> Self {
        Hashes {
            two: poseidon!(POSEIDON_CONSTANTS_2),
            eight: poseidon!(POSEIDON_CONSTANTS_8),
            eleven: poseidon!(POSEIDON_CONSTANTS_11),
        }
    }

    /// The hash of a column: two or eleven rows.
    pub(super) fn column(&self, rows: &[Fr], out: &mut Writer<'_>) -> Fr {
        match rows.try_into() {
            Ok(rows) => self.eleven.hash::<11>(rows, out),
            Err(_) => self.two.hash::<2>(rows.try_into().expect("two layers or eleven"), out),
        }
    }
}

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

    /// Writes a permutation and returns its result. `N` is T − 1.
    pub(super) fn hash<const N: usize>(&self, inputs: &[Fr; N], out: &mut Writer<'_>) -> Fr {
        assert_eq!(N + 1, T, "the inputs of another width");
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

fn fifth_power(value: Fr) -> Fr {
    value.square().square() * value
}

/// Square, fourth power, and fifth power with the key after it, which is returned.
#[inline(always)]
fn write_powers(value: Fr, key: Fr, out: &mut Writer<'_>) -> Fr {
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
fn write_element(value: Fr, key: Fr, out: &mut Writer<'_>) -> Fr {
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
