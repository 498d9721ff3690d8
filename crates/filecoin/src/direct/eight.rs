//! Poseidon of eight inputs at once, one in each lane: what [`Poseidon::hash`] writes, over `cuzk-field`.
//!
//! Elements are in blst's form, as they are written, and constant factors in the form whose products need no correction. The product of
//! two elements has to be multiplied by 16, which is a shift ([`Columns::times_16`]): a fifth of what bringing each scalar that is written
//! into blst's form would take.
//!
//! Ranges, in multiples of r (35.3 of which fit), by the table of [`cuzk_field::fr`]:
//!
//! | value | range | why |
//! |---|---|---|
//! | input, key, domain tag, factor | < 1 | canonical |
//! | element before its powers | < 2 | an input and a key; all others were reduced, to 1.001 |
//! | its square, before reduction | < 16 (1 + 2·2/35.3) = 17.9 | `times_16` of a product; it must be below 35 |
//! | fourth power, before reduction | < 16 (1 + 1.001²/35.3) = 16.5 | |
//! | fifth power and key, before reduction | < 16 (1 + 1.001·2/35.3) + 1 = 18.0 | |
//! | mixed element, before reduction | < 1 + 12·1.001/35.3 = 1.35 | [`dot`] of at most 12 |
//! | element that a partial round leaves alone, after n rounds | < 1.001 + 1.03 n | each adds a product, < 1 + 1.001/35.3 |
//! | the same where it is reduced, after 16 rounds | < 17.5 | so it stays carried, and below 35 |
//! | mixed element of a partial round, before reduction | < 1 + (1.001 + 11·17.5)/35.3 = 6.5 | |
//! | what is written | < 1 | reduced, then canonical |
//!
//! Columns: those of a product are below 2^57 and those of its 16-fold below 2^61; those of a `dot` are below 2^60. A key adds less than
//! 2^52. All are signed 63-bit numbers, as carrying asks for.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use cuzk_field::fr::{Columns, Fr8, Packed, Pair, dot, factor_limbs, limbs, pairs_mut, words};
use cuzk_field::lanes::Outlined;
use cuzk_field::{Kernel, Lanes};
use ff::Field;

use super::poseidon::Poseidon;

type Limbs = [u64; 5];

/// The constants of one width, in limbs: keys and the tag as elements, everything else as factors.
pub(super) struct Eight<const T: usize> {
    half_full_rounds: usize,
    keys: Vec<Limbs>,
    mixing: [[Limbs; T]; T],
    before_partial: [[Limbs; T]; T],
    sparse: Vec<([Limbs; T], [Limbs; T])>,
    tag: Limbs,
}

impl<const T: usize> Eight<T> {
    pub(super) fn new(poseidon: &Poseidon<T>) -> Self {
        let factors = |column: &[Fr; T]| column.each_ref().map(factor_limbs);
        Eight {
            half_full_rounds: poseidon.half_full_rounds,
            keys: poseidon.keys.iter().map(limbs).collect(),
            mixing: poseidon.mixing.each_ref().map(factors),
            before_partial: poseidon.before_partial.each_ref().map(factors),
            sparse: poseidon.sparse.iter().map(|(column, added)| (factors(column), factors(added))).collect(),
            tag: limbs(&poseidon.tag),
        }
    }
}

/// Eight permutations: N = T − 1 inputs each, and the places of all that they write.
pub(super) struct Permutations<'a, const T: usize, const N: usize> {
    pub(super) constants: &'a Eight<T>,
    pub(super) inputs: [&'a [Fr; N]; 8],
    pub(super) places: [&'a mut [Fr]; 8],
}

/// An element that partial rounds leave alone is reduced after so many: see the table above.
const ROUNDS_TO_REDUCTION: usize = 16;

impl<const T: usize, const N: usize> Kernel for Permutations<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        const { assert!(N + 1 == T) };
        let Permutations { constants, inputs, places } = self;
        let mut out = Out::new(places);
        let mut elements = [Fr8::<L>::splat(&constants.tag); T];
        for index in 0..N {
            let input = load(&inputs, index).columns().add(&columns(&constants.keys[index + 1])).carry();
            let key = &constants.keys[T + index + 1];
            elements[index + 1] = L::outline(Powers { value: input, key, itself: false, out: &mut out });
        }
        let mut keys = constants.keys[2 * T..].iter();
        for _ in 1..constants.half_full_rounds {
            elements = mix(&elements, &constants.mixing);
            write_all(&mut elements, &mut keys, &mut out);
        }
        elements = mix(&elements, &constants.before_partial);
        for (round, (column, added)) in constants.sparse.iter().enumerate() {
            let key = keys.next().expect("a key for each element that is written");
            let first = L::outline(Powers { value: elements[0], key, itself: true, out: &mut out });
            elements[0] = first;
            let mixed = L::outline(Mixed { elements: &elements, column });
            let last = round + 1 == constants.sparse.len();
            let reduce = last || (round + 1) % ROUNDS_TO_REDUCTION == 0;
            L::outline(AddMultiples { elements: &mut elements, added, reduce });
            elements[0] = mixed;
        }
        for _ in 1..constants.half_full_rounds {
            write_all(&mut elements, &mut keys, &mut out);
            elements = mix(&elements, &constants.mixing);
        }
        write_all(&mut elements, &mut keys, &mut out);
        let result = L::outline(Mixed { elements: &elements, column: &constants.mixing[1] });
        out.put(result);
        out.finish::<L>();
    }
}

/// After the last full round there is none.
const NO_KEY: Limbs = [0; 5];

#[inline(always)]
fn columns<L: Lanes>(limbs: &Limbs) -> Columns<L> {
    Fr8::splat(limbs).columns()
}

/// Input `index` of each lane.
#[inline(always)]
fn load<L: Lanes, const N: usize>(inputs: &[&[Fr; N]; 8], index: usize) -> Fr8<L> {
    let mut pairs = [[0; 8]; 8];
    for (pair, inputs) in pairs.iter_mut().zip(inputs) {
        pair[..4].copy_from_slice(&words(&inputs[index]));
    }
    let [a, b, c, d, e, f, g, h] = &pairs;
    Fr8::load_pairs([a, b, c, d, e, f, g, h])[0]
}

#[inline(always)]
fn mix<L: Lanes, const T: usize>(elements: &[Fr8<L>; T], columns: &[[Limbs; T]; T]) -> [Fr8<L>; T] {
    let mut mixed = *elements;
    for j in 0..T {
        mixed[j] = L::outline(Mixed { elements, column: &columns[j] });
    }
    mixed
}

/// A full round's powers of all elements.
#[inline(always)]
fn write_all<'k, L: Lanes, const T: usize>(
    elements: &mut [Fr8<L>; T],
    keys: &mut impl Iterator<Item = &'k Limbs>,
    out: &mut Out<'_>,
) {
    for element in elements {
        let key = keys.next().unwrap_or(&NO_KEY);
        *element = L::outline(Powers { value: *element, key, itself: true, out });
    }
}

/// The sum of all elements by a column, reduced.
struct Mixed<'a, L, const T: usize> {
    elements: &'a [Fr8<L>; T],
    column: &'a [Limbs; T],
}

impl<L: Lanes, const T: usize> Outlined for Mixed<'_, L, T> {
    type Output = Fr8<L>;

    #[inline(always)]
    fn run(self) -> Fr8<L> {
        dot(self.elements, self.column).reduce()
    }
}

/// Writes square, fourth power, and fifth power with the key, maybe after the element itself. Returns the last.
struct Powers<'a, 'p, L> {
    value: Fr8<L>,
    key: &'a Limbs,
    itself: bool,
    out: &'a mut Out<'p>,
}

impl<L: Lanes> Outlined for Powers<'_, '_, L> {
    type Output = Fr8<L>;

    #[inline(always)]
    fn run(self) -> Fr8<L> {
        let Powers { value, mut key, itself, out } = self;
        if injected(Fault::PoseidonEightKey) && key[0] % 2 == 1 {
            key = &NO_KEY;
        }
        let square = value.square().times_16().reduce();
        let fourth = square.square().times_16().reduce();
        let fifth = fourth.mul(&value).times_16().add(&columns(key)).reduce();
        if itself {
            out.put(value);
        }
        out.put(square);
        out.put(fourth);
        out.put(fifth);
        fifth
    }
}

/// Adds multiples of element 0 to the others.
struct AddMultiples<'a, L, const T: usize> {
    elements: &'a mut [Fr8<L>; T],
    added: &'a [Limbs; T],
    reduce: bool,
}

impl<L: Lanes, const T: usize> Outlined for AddMultiples<'_, L, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddMultiples { elements, added, reduce } = self;
        let first = elements[0];
        for j in 1..T {
            let sum = first.mul(&Fr8::splat(&added[j])).add(&elements[j].columns());
            elements[j] = if reduce { sum.reduce() } else { sum.carry() };
        }
    }
}

/// Where the scalars of all lanes go, two at a time.
struct Out<'a> {
    pairs: [&'a mut [Pair]; 8],
    /// The last scalar of each lane, where their number is odd.
    odd: [Option<&'a mut Fr>; 8],
    /// A scalar that waits for the next one.
    waiting: Packed,
    n: usize,
}

impl<'a> Out<'a> {
    #[inline(always)]
    fn new(places: [&'a mut [Fr]; 8]) -> Self {
        let mut odd = [const { None }; 8];
        let mut pairs: [&'a mut [Pair]; 8] = std::array::from_fn(|_| Default::default());
        for (lane, place) in places.into_iter().enumerate() {
            let (even, rest) = place.split_at_mut(place.len() / 2 * 2);
            odd[lane] = rest.first_mut();
            pairs[lane] = pairs_mut(even);
        }
        Out { pairs, odd, waiting: Packed::ZERO, n: 0 }
    }

    /// The next scalar of each lane, reduced.
    #[inline(always)]
    fn put<L: Lanes>(&mut self, value: Fr8<L>) {
        let value = value.canonical();
        if self.n.is_multiple_of(2) {
            value.store(&mut self.waiting);
        } else {
            let stored = Fr8::store_pairs([Fr8::load(&self.waiting), value]);
            for (pairs, pair) in self.pairs.iter_mut().zip(stored) {
                pairs[self.n / 2] = pair;
            }
        }
        self.n += 1;
    }

    /// Writes the last scalar of an odd number.
    #[inline(always)]
    fn finish<L: Lanes>(self) {
        let n_places = 2 * self.pairs[0].len() + usize::from(self.odd[0].is_some());
        assert_eq!(self.n, n_places, "the place of another width");
        if self.n.is_multiple_of(2) {
            return;
        }
        let waiting = Fr8::<L>::load(&self.waiting);
        let stored = Fr8::store_pairs([waiting, waiting]);
        for (lane, place) in self.odd.into_iter().enumerate() {
            let mut two = [Fr::ZERO; 2];
            pairs_mut(&mut two)[0] = stored[lane];
            if let Some(place) = place {
                *place = two[0];
            }
        }
    }
}
