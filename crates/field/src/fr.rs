//! Fr = GF(r), r of 255 bits, eight elements at a time: 5 limbs of 52 bits, lane k of limb j is limb j of element k.
//!
//! Multiplication is Montgomery's with R = 2^260. Elements stay the residues that blst stores (Montgomery form with
//! 2^256), and only constant factors ([`Fr8::factor`]) are in the form of 2^260: a product with one is a plain product.
//! A value is *carried* when all limbs are in [0, 2^52), so below 2^260 = 35.3 r; ranges are multiples of r.
//!
//! | operation | operands | result |
//! |---|---|---|
//! | [`Fr8::mul`], [`Fr8::square`] | carried, < A and < B | columns in [0, 2^57), 0 ≤ value < 1 + A·B/35.3 |
//! | [`dot`] of N ≤ 12 | carried, < A, and factors | columns in [0, 2^60), 0 ≤ value < 1 + N·A/35.3 |
//! | [`Columns::add`] | any | the sum |
//! | [`Columns::times_16`] | columns in [0, 2^57) | columns below 2^61, 16 times the value |
//! | [`Columns::sub`] with K | subtrahend ≤ K | a − b + K·r |
//! | [`Columns::carry`] | 0 ≤ value < 35, every column a signed 63-bit number | carried, same value |
//! | [`Columns::reduce`] | 0 ≤ value < 35, the same | carried, < 1.001 |
//! | [`Fr8::load_pairs`] | any 256-bit number, < 2.3 | carried, same value |
//! | [`Fr8::store_pairs`] | carried, < 2.2 | 256 bits, same value |
//! | [`Fr8::canonical`] | carried, < 2 | carried, < 1 |

use blstrs::Scalar;
use cuzk_fault::{Fault, injected};

use crate::lanes::Lanes;
use crate::limbs::{
    MASK, add_row, array_of_lanes, broadcast, carry, montgomery, multiplication_step, negative_inverse,
    power_of_two, reduction_step, split, times,
};

/// r, little-endian.
pub const R: [u64; 4] =
    [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];
const R52: [u64; 5] = split(&R);
const INVERSE: u64 = negative_inverse(R52[0]);
/// k·r for what [`Columns::sub`] takes.
const MULTIPLES: [[u64; 5]; 33] = {
    let mut multiples = [[0; 5]; 33];
    let mut k = 0;
    while k < 33 {
        multiples[k] = times(&R52, k as u64);
        k += 1;
    }
    multiples
};
/// 2^260 − r: adding q times it and dropping what is beyond 2^260 subtracts q·r.
const COMPLEMENT: [u64; 5] = {
    let mut complement = [0; 5];
    let mut borrow = 0;
    let mut j = 0;
    while j < 5 {
        let difference = (1u64 << 52).wrapping_sub(R52[j]).wrapping_sub(borrow);
        complement[j] = difference & MASK;
        borrow = 1 - (difference >> 52);
        j += 1;
    }
    complement
};
/// ⌊2^52/(r's highest limb + 1)⌋.
const QUOTIENT_FACTOR: u64 = (1 << 52) / (R52[4] + 1);
/// 2^264 mod r: a product with it goes from blst's form x·2^256 to x·2^260.
const TO_FACTOR: [u64; 5] = split(&power_of_two(264, &R));

montgomery!(5, 11, R52, INVERSE; 0 1 2 3 4);

/// Eight carried elements.
#[derive(Clone, Copy)]
pub struct Fr8<L>(pub(crate) [L; 5]);

/// Eight elements in columns that are not carried.
#[derive(Clone, Copy)]
pub struct Columns<L>([L; 5]);

/// Eight elements in memory, limb by limb; columns may be stored too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Packed(pub [[u64; 8]; 5]);

impl Packed {
    /// 0 in all lanes.
    pub const ZERO: Packed = Packed([[0; 8]; 5]);
}

/// Two neighbouring elements of blst's in memory: 4 words each, little-endian.
pub type Pair = [u64; 8];

impl<L: Lanes> Fr8<L> {
    /// From memory.
    #[inline(always)]
    pub fn load(from: &Packed) -> Self {
        Fr8(array_of_lanes!(5, j => L::load(&from.0[j])))
    }

    /// To memory.
    #[inline(always)]
    pub fn store(self, to: &mut Packed) {
        for j in 0..5 {
            self.0[j].store(&mut to.0[j]);
        }
    }

    /// One factor in all lanes, from [`factor_limbs`].
    #[inline(always)]
    pub fn splat(limbs: &[u64; 5]) -> Self {
        Fr8(broadcast(limbs))
    }

    /// The elements of pair k in lane k: the first ones and the second ones.
    #[inline(always)]
    pub fn load_pairs(pairs: [&Pair; 8]) -> [Self; 2] {
        let words = L::transpose(array_of_lanes!(8, lane => L::load(pairs[lane])));
        let [a, b, c, d, e, f, g, h] = words;
        [Self::from_words([a, b, c, d]), Self::from_words([e, f, g, h])]
    }

    /// The inverse of [`Fr8::load_pairs`].
    #[inline(always)]
    pub fn store_pairs([first, second]: [Self; 2]) -> [Pair; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (first.to_words(), second.to_words());
        let mut pairs = [[0; 8]; 8];
        for (pair, lanes) in pairs.iter_mut().zip(L::transpose([a, b, c, d, e, f, g, h])) {
            lanes.store(pair);
        }
        pairs
    }

    #[inline(always)]
    fn from_words([a, b, c, d]: [L; 4]) -> Self {
        let mask = L::splat(MASK);
        Fr8([
            a.and(mask),
            a.shr::<52>().or(b.shl::<12>()).and(mask),
            b.shr::<40>().or(c.shl::<24>()).and(mask),
            c.shr::<28>().or(d.shl::<36>()).and(mask),
            d.shr::<16>(),
        ])
    }

    #[inline(always)]
    fn to_words(self) -> [L; 4] {
        let [a, b, c, d, e] = self.0;
        [
            a.or(b.shl::<52>()),
            b.shr::<12>().or(c.shl::<40>()),
            c.shr::<24>().or(d.shl::<28>()),
            d.shr::<36>().or(e.shl::<16>()),
        ]
    }

    /// a·b/2^260: the plain product where one of them is a factor. 100 operations of IFMA.
    #[inline(always)]
    pub fn mul(&self, other: &Self) -> Columns<L> {
        Columns(multiply_columns(&self.0, &other.0))
    }

    /// a²/2^260. 80 operations of IFMA.
    #[inline(always)]
    pub fn square(&self) -> Columns<L> {
        Columns(square_columns(&self.0))
    }

    /// As columns.
    #[inline(always)]
    pub fn columns(&self) -> Columns<L> {
        Columns(self.0)
    }

    /// As a constant factor: times 2^4, reduced.
    #[inline(always)]
    pub fn factor(&self) -> Self {
        let form: [L; 5] = broadcast(&TO_FACTOR);
        self.mul(&Fr8(form)).reduce().canonical()
    }

    /// In [0, r).
    #[inline(always)]
    pub fn canonical(&self) -> Self {
        let difference: [L; 5] = carry(array_of_lanes!(5, j => self.0[j].sub(L::splat(R52[j]))));
        let below_r = difference[4].negatives();
        Fr8(array_of_lanes!(5, j => L::select(below_r, difference[j], self.0[j])))
    }
}

impl<L: Lanes> Columns<L> {
    /// From memory.
    #[inline(always)]
    pub fn load(from: &Packed) -> Self {
        Columns(array_of_lanes!(5, j => L::load(&from.0[j])))
    }

    /// To memory.
    #[inline(always)]
    pub fn store(self, to: &mut Packed) {
        for j in 0..5 {
            self.0[j].store(&mut to.0[j]);
        }
    }

    /// a + b.
    #[inline(always)]
    pub fn add(&self, other: &Self) -> Self {
        Columns(array_of_lanes!(5, j => self.0[j].add(other.0[j])))
    }

    /// 16·a. A product of two elements in blst's form is x·y·2^252; this makes it the product in blst's form.
    #[inline(always)]
    pub fn times_16(&self) -> Self {
        Columns(array_of_lanes!(5, j => self.0[j].shl::<4>()))
    }

    /// a − b + K·r.
    #[inline(always)]
    pub fn sub<const K: usize>(&self, other: &Self) -> Self {
        Columns(array_of_lanes!(5, j => self.0[j].sub(other.0[j]).add(L::splat(MULTIPLES[K][j]))))
    }

    /// Carried.
    #[inline(always)]
    pub fn carry(self) -> Fr8<L> {
        Fr8(carry(self.0))
    }

    /// Carried and below 1.001 r. The highest limb of a carried value gives ⌊value/r⌋ or one less.
    #[inline(always)]
    pub fn reduce(self) -> Fr8<L> {
        let mut columns = carry(self.0);
        let quotient = L::splat(0).madd52hi(columns[4], L::splat(QUOTIENT_FACTOR));
        for j in 0..5 {
            columns[j] = columns[j].madd52lo(quotient, L::splat(COMPLEMENT[j]));
        }
        let upper_halves = if injected(Fault::FrEightReduction) { 3 } else { 4 };
        for j in 0..upper_halves {
            columns[j + 1] = columns[j + 1].madd52hi(quotient, L::splat(COMPLEMENT[j]));
        }
        let mut reduced = carry(columns);
        reduced[4] = reduced[4].and(L::splat(MASK));
        Fr8(reduced)
    }
}

/// The sum of each value times its factor (from [`factor_limbs`]). 50 N + 45 operations of IFMA, as the sum is reduced once: each of
/// its columns is at most 10 N terms below 2^52, and the reduction adds 10 more.
#[inline(always)]
pub fn dot<L: Lanes, const N: usize>(values: &[Fr8<L>; N], factors: &[[u64; 5]; N]) -> Columns<L> {
    const { assert!(N <= 12) };
    let modulus: [L; 5] = broadcast(&R52);
    let (inverse, mask) = (L::splat(INVERSE), L::splat(MASK));
    let mut t = [L::splat(0); 10];
    for k in 0..N {
        let (a, b): ([L; 5], [L; 5]) = (values[k].0, broadcast(&factors[k]));
        add_row!(5, t, a, b, 0);
        add_row!(5, t, a, b, 1);
        add_row!(5, t, a, b, 2);
        add_row!(5, t, a, b, 3);
        add_row!(5, t, a, b, 4);
    }
    macro_rules! reduce {
        ($($i:literal)*) => {
            $(
                let m = L::splat(0).madd52lo(t[$i], inverse);
                reduction_step!(5, t, m, modulus, mask, $i);
            )*
        };
    }
    reduce!(0 1 2 3 4);
    Columns(array_of_lanes!(5, j => t[5 + j]))
}

/// The limbs of an element in blst's form: what is added to elements.
pub fn limbs(scalar: &Scalar) -> [u64; 5] {
    split(&words(scalar))
}

/// A scalar's four words as blst stores them: Montgomery form with 2^256, in [0, r).
#[inline]
pub fn words(scalar: &Scalar) -> [u64; 4] {
    blst::blst_fr::from(*scalar).l
}

/// The limbs of a constant factor: a product with it is the plain product. 16·x in blst's form is x·2^260.
pub fn factor_limbs(scalar: &Scalar) -> [u64; 5] {
    split(&words(&(*scalar * Scalar::from(16))))
}

/// Scalars as pairs of their words; the last one is left out where their number is odd. Words that are written must be
/// canonical again ([`Fr8::canonical`]) before the scalars are used as such.
pub fn pairs_mut(scalars: &mut [Scalar]) -> &mut [Pair] {
    const _: () = assert!(size_of::<[Scalar; 2]>() == size_of::<Pair>());
    const _: () = assert!(align_of::<Scalar>() == align_of::<Pair>());
    let n_pairs = scalars.len() / 2;
    // SAFETY: blstrs' scalar is `repr(transparent)` over blst's, which is `repr(C)` with four words, so two of them
    // have the size and alignment of a pair and every bit pattern is a value of either; the slice covers memory of
    // `scalars` alone and borrows it.
    unsafe { std::slice::from_raw_parts_mut(scalars.as_mut_ptr().cast::<Pair>(), n_pairs) }
}
