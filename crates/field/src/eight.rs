//! What Fp and Fp2, eight elements at a time, have in common: the coordinates of G1 and G2.
//!
//! Ranges are those that hold for both, in multiples of p and for each component:
//!
//! | operation | operands | result |
//! |---|---|---|
//! | [`Eight::mul`] | carried, < 2^10 | columns, < 4.1 |
//! | [`Eight::square`] | carried, < 64 | columns, < 2.1 |
//! | [`EightColumns::sub`] with K | subtrahend ≤ K | a − b + K·p |
//! | [`EightColumns::carry`] | 0 ≤ value < 2^30 | the same value, carried |
//! | [`EightColumns::reduce`] | 0.001 ≤ value < 7.9 | carried, < 1.001 |
//! | [`Eight::zeros`] | carried, < 6.9 | |

use blst::{blst_fp, blst_fp2};

use crate::fp::{Fp8, Packed, Row};
use crate::fp2::Fp28;
use crate::lanes::Lanes;
use crate::portable::Coordinate;

/// A field, one element at a time and eight at a time.
pub trait Field: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// One element, blst's.
    type Scalar: Coordinate;
    /// One element of the eight, in memory.
    type Row: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync;
    /// Eight elements in memory.
    type Packed: Copy + Send + Sync;
    /// One element as parameter files store it: big-endian, 48 bytes a component, the highest component first.
    type Bytes: AsRef<[u8]>;
    /// Eight elements 0 in memory.
    const ZERO: Self::Packed;
    /// Lane k of eight elements in memory as row k, without any engine.
    fn rows(packed: &Self::Packed) -> [Self::Row; 8];
    /// Eight elements in registers.
    type Eight<L: Lanes>: Eight<L, Scalar = Self::Scalar, Row = Self::Row, Packed = Self::Packed, Bytes = Self::Bytes>;
}

/// Eight elements, carried. All functions are lane by lane.
pub trait Eight<L: Lanes>: Copy {
    /// As [`Field::Scalar`].
    type Scalar: Coordinate;
    /// As [`Field::Row`].
    type Row: Copy + Default;
    /// As [`Field::Packed`].
    type Packed: Copy;
    /// As [`Field::Bytes`].
    type Bytes: AsRef<[u8]>;
    /// The same, not carried.
    type Columns: EightColumns<L, Carried = Self>;

    /// 0.
    fn zero() -> Self;
    /// 1.
    fn one() -> Self;
    /// From memory.
    fn load(from: &Self::Packed) -> Self;
    /// To memory.
    fn store(self, to: &mut Self::Packed);
    /// Element k from row k.
    fn gather(rows: [&Self::Row; 8]) -> Self;
    /// Element k to row k.
    fn to_rows(self) -> [Self::Row; 8];
    /// Product.
    fn mul(&self, other: &Self) -> Self::Columns;
    /// Square.
    fn square(&self) -> Self::Columns;
    /// As columns.
    fn columns(&self) -> Self::Columns;
    /// `yes` in the lanes of `mask`, `no` in the others.
    fn select(mask: u8, no: &Self, yes: &Self) -> Self;
    /// The lanes with nothing but zero limbs.
    fn all_limbs_zero(&self) -> u8;
    /// The lanes that are 0 mod p.
    fn zeros(&self) -> u8;
    /// From blst's form.
    fn from_scalars(elements: &[Self::Scalar; 8]) -> Self;
    /// To blst's form.
    fn to_scalars(&self) -> [Self::Scalar; 8];
    /// To the bytes of the integers in [0, p).
    fn to_bytes(&self) -> [Self::Bytes; 8];
}

/// Eight elements, not carried.
pub trait EightColumns<L: Lanes>: Copy {
    /// The same, carried.
    type Carried;

    /// Sum.
    fn add(&self, other: &Self) -> Self;
    /// a − b + K·p, in each component.
    fn sub<const K: usize>(&self, other: &Self) -> Self;
    /// Carried.
    fn carry(self) -> Self::Carried;
    /// Carried and below 1.001 p.
    fn reduce(self) -> Self::Carried;
}

/// Fp, the field of G1's coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fp;

/// Fp2, the field of G2's coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fp2;

impl Field for Fp {
    type Scalar = blst_fp;
    type Row = Row;
    type Packed = Packed;
    type Bytes = [u8; 48];
    const ZERO: Packed = Packed([[0; 8]; 8]);

    fn rows(packed: &Packed) -> [Row; 8] {
        std::array::from_fn(|lane| Row(std::array::from_fn(|limb| packed.0[limb][lane])))
    }

    type Eight<L: Lanes> = Fp8<L>;
}

impl Field for Fp2 {
    type Scalar = blst_fp2;
    type Row = [Row; 2];
    type Packed = [Packed; 2];
    type Bytes = [u8; 96];
    const ZERO: [Packed; 2] = [Fp::ZERO; 2];

    fn rows([first, second]: &[Packed; 2]) -> [[Row; 2]; 8] {
        let (first, second) = (Fp::rows(first), Fp::rows(second));
        std::array::from_fn(|lane| [first[lane], second[lane]])
    }

    type Eight<L: Lanes> = Fp28<L>;
}
