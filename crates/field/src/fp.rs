//! Fp = GF(p), p of 381 bits, eight elements at a time: 8 limbs of 52 bits, lane k of limb j is limb j of element k.
//!
//! Montgomery form with R = 2^416 (blst's R is 2^384). A value is *carried* when all limbs are in [0, 2^52), so below
//! 2^416, which is 2^35 p: there is no final subtraction anywhere, and ranges are multiples of p ("< k" is < k·p).
//!
//! | operation | operands | result |
//! |---|---|---|
//! | [`Fp8::mul`], [`Fp8::square`] | carried, < A and < B with A·B ≤ 2^30 | columns, 0 ≤ value < 1 + A·B·2^−35.3 < 1.03 |
//! | [`Columns::add`] | any | columns, the sum |
//! | [`Columns::sub`] with K | subtrahend ≤ K | columns, a − b + K·p |
//! | [`Columns::carry`] | 0 ≤ value < 2^35, every column a signed 63-bit number | carried, same value |
//! | [`Columns::reduce`] | 0.001 ≤ value < 7.9, columns 0 to 6 in ± 2^56 | carried, < 1.001 |
//! | [`Fp8::zeros`] | carried, < 6.9 | lanes that are 0 mod p |
//! | [`Fp8::from_scalars`] | blst's | carried, < 1.03 |
//! | [`Fp8::to_scalars`] | carried, < 2^30 | blst's, in [0, p) |
//! | [`Fp8::to_bytes`] | carried, < 2^30 | the integer in [0, p), big-endian |
//!
//! Columns come out of a multiplication below 2^58, the last two below 6·2^52, so sums of several still fit.

use blst::blst_fp;
use cuzk_fault::{Fault, injected};

use crate::eight::{Eight, EightColumns};
use crate::lanes::{Lanes, Outlined};
use crate::limbs::{
    MASK, add_row, array_of_lanes, broadcast, carry, join, montgomery, multiplication_step, negative_inverse,
    power_of_two, reduction_step, split, times,
};
use crate::portable::P;

/// p.
const P52: [u64; 8] = split(&P);
/// −1/p mod 2^52.
const INVERSE: u64 = negative_inverse(P52[0]);
/// k·p for k below 8 and what [`Columns::sub`] takes.
const MULTIPLES: [[u64; 8]; 65] = {
    let mut multiples = [[0; 8]; 65];
    let mut k = 0;
    while k < 65 {
        multiples[k] = times(&P52, k as u64);
        k += 1;
    }
    multiples
};
/// Limb j of k·p in lane k of row j.
const QUOTIENT_TABLE: [[u64; 8]; 8] = {
    let mut table = [[0; 8]; 8];
    let mut k = 0;
    while k < 8 {
        let mut j = 0;
        while j < 8 {
            table[j][k] = MULTIPLES[k][j];
            j += 1;
        }
        k += 1;
    }
    table
};
/// ⌊2^52/(p's highest limb + 1)⌋.
const QUOTIENT_FACTOR: u64 = (1 << 52) / (P52[7] + 1);
/// Bound of the carry into the highest column in [`Columns::reduce`].
const MISSING_CARRY: u64 = 16;
/// 2^448 mod p: a product with it goes from blst's form to ours, x·2^384 to x·2^416.
const FROM_BLST: [u64; 8] = split(&power_of_two(448, &P));
/// 2^384 mod p: back.
const TO_BLST: [u64; 8] = split(&power_of_two(384, &P));
/// 1: a product with it goes from our form to the integer.
const TO_INTEGER: [u64; 8] = [1, 0, 0, 0, 0, 0, 0, 0];
/// 2^416 mod p, the form of 1.
const ONE: [u64; 8] = split(&power_of_two(416, &P));

montgomery!(8, 17, P52, INVERSE; 0 1 2 3 4 5 6 7);

/// Eight carried elements.
#[derive(Clone, Copy)]
pub struct Fp8<L>(pub(crate) [L; 8]);

/// Eight elements in columns that are not carried.
#[derive(Clone, Copy)]
pub struct Columns<L>([L; 8]);

/// Eight elements in memory, limb by limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Packed(pub [[u64; 8]; 8]);

/// One element in memory: a cache line of 8 limbs, of a carried value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u64; 8]);

struct Multiply<'a, L> {
    a: &'a Fp8<L>,
    b: &'a Fp8<L>,
}

impl<L: Lanes> Outlined for Multiply<'_, L> {
    type Output = Columns<L>;

    #[inline(always)]
    fn run(self) -> Columns<L> {
        Columns(multiply_columns(&self.a.0, &self.b.0))
    }
}

struct Square<'a, L>(&'a Fp8<L>);

impl<L: Lanes> Outlined for Square<'_, L> {
    type Output = Columns<L>;

    #[inline(always)]
    fn run(self) -> Columns<L> {
        Columns(square_columns(&self.0.0))
    }
}

impl<L: Lanes> Eight<L> for Fp8<L> {
    type Scalar = blst_fp;
    type Row = Row;
    type Packed = Packed;
    type Bytes = [u8; 48];
    type Columns = Columns<L>;

    /// 0 in all lanes.
    #[inline(always)]
    fn zero() -> Self {
        Fp8([L::splat(0); 8])
    }

    /// 1 in all lanes.
    #[inline(always)]
    fn one() -> Self {
        Fp8(broadcast(&ONE))
    }

    /// From memory.
    #[inline(always)]
    fn load(from: &Packed) -> Self {
        Fp8(array_of_lanes!(8, j => L::load(&from.0[j])))
    }

    /// To memory.
    #[inline(always)]
    fn store(self, to: &mut Packed) {
        for j in 0..8 {
            self.0[j].store(&mut to.0[j]);
        }
    }

    /// Element k from row k: 8 loads and a transposition.
    #[inline(always)]
    fn gather(rows: [&Row; 8]) -> Self {
        Fp8(L::transpose(array_of_lanes!(8, lane => L::load(&rows[lane].0))))
    }

    /// Element k to row k.
    #[inline(always)]
    fn to_rows(self) -> [Row; 8] {
        let mut rows = [Row::default(); 8];
        for (row, lanes) in rows.iter_mut().zip(L::transpose(self.0)) {
            lanes.store(&mut row.0);
        }
        rows
    }

    /// a·b. 256 operations of IFMA.
    #[inline(always)]
    fn mul(&self, other: &Self) -> Columns<L> {
        L::outline(Multiply { a: self, b: other })
    }

    /// a². 200 operations of IFMA.
    #[inline(always)]
    fn square(&self) -> Columns<L> {
        L::outline(Square(self))
    }

    /// As columns.
    #[inline(always)]
    fn columns(&self) -> Columns<L> {
        Columns(self.0)
    }

    /// `yes` in the lanes of `mask`.
    #[inline(always)]
    fn select(mask: u8, no: &Self, yes: &Self) -> Self {
        Fp8(array_of_lanes!(8, j => L::select(mask, no.0[j], yes.0[j])))
    }

    /// The lanes that are 0 in all limbs: how a coordinate of a point at infinity is written.
    #[inline(always)]
    fn all_limbs_zero(&self) -> u8 {
        let mut bits = self.0[0];
        for j in 1..8 {
            bits = bits.or(self.0[j]);
        }
        bits.zeros()
    }

    /// The lanes that are 0 mod p.
    #[inline(always)]
    fn zeros(&self) -> u8 {
        let p: [L; 8] = broadcast(&P52);
        let reduced = self.columns().add(&Columns(p)).reduce();
        // Below 1.001 p, 0 is 0 or p.
        let differences: [L; 8] = array_of_lanes!(8, j => reduced.0[j].xor(p[j]));
        reduced.all_limbs_zero() | Fp8(differences).all_limbs_zero()
    }

    /// From blst's form.
    #[inline(always)]
    fn from_scalars(elements: &[blst_fp; 8]) -> Self {
        let rows = elements.map(|element| Row(split(&element.l)));
        let form: [L; 8] = broadcast(&FROM_BLST);
        Fp8::<L>::gather(rows.each_ref()).mul(&Fp8(form)).carry()
    }

    /// To blst's form.
    #[inline(always)]
    fn to_scalars(&self) -> [blst_fp; 8] {
        self.words(&TO_BLST).map(|words| blst_fp { l: words })
    }

    /// To the bytes of the integers.
    #[inline(always)]
    fn to_bytes(&self) -> [[u8; 48]; 8] {
        self.words(&TO_INTEGER).map(|words| {
            let mut bytes = [0; 48];
            for (bytes, word) in bytes.chunks_exact_mut(8).zip(words.iter().rev()) {
                bytes.copy_from_slice(&word.to_be_bytes());
            }
            bytes
        })
    }
}

impl<L: Lanes> Fp8<L> {
    /// The product with `form`, in [0, p), in words of 64 bits.
    #[inline(always)]
    fn words(&self, form: &[u64; 8]) -> [[u64; 6]; 8] {
        let (form, p): ([L; 8], [L; 8]) = (broadcast(form), broadcast(&P52));
        let reduced = self.mul(&Fp8(form)).add(&Columns(p)).reduce();
        // From [0, 1.001 p) to [0, p).
        let difference: [L; 8] = carry(array_of_lanes!(8, j => reduced.0[j].sub(p[j])));
        let below_p = difference[7].negatives();
        Fp8::select(below_p, &Fp8(difference), &reduced).to_rows().map(|row| join(&row.0))
    }
}

impl<L: Lanes> EightColumns<L> for Columns<L> {
    type Carried = Fp8<L>;

    /// a + b.
    #[inline(always)]
    fn add(&self, other: &Self) -> Self {
        Columns(array_of_lanes!(8, j => self.0[j].add(other.0[j])))
    }

    /// a − b + K·p.
    #[inline(always)]
    fn sub<const K: usize>(&self, other: &Self) -> Self {
        Columns(array_of_lanes!(8, j => self.0[j].sub(other.0[j]).add(L::splat(MULTIPLES[K][j]))))
    }

    /// Carried.
    #[inline(always)]
    fn carry(self) -> Fp8<L> {
        let mut carried = carry(self.0);
        if injected(Fault::FpEightCarry) {
            carried[7] = self.0[7];
        }
        Fp8(carried)
    }

    /// Carried and below 1.001 p. ⌊value/p⌋ is estimated from below by the highest column, whose missing carry is in
    /// ± 16; p's highest limb is 106 513, so the estimate is short by less than 0.001.
    #[inline(always)]
    fn reduce(self) -> Fp8<L> {
        let mut columns = self.0;
        let highest = columns[7].sub(L::splat(MISSING_CARRY));
        let quotient = L::splat(0).madd52hi(highest, L::splat(QUOTIENT_FACTOR));
        for j in 0..8 {
            columns[j] = columns[j].sub(L::load(&QUOTIENT_TABLE[j]).permute(quotient));
        }
        Fp8(carry(columns))
    }
}
