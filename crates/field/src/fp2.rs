//! Fp2 = Fp\[u\]/(u² + 1), eight elements at a time: c₀ + c₁·u, each component as in [`crate::fp`].
//!
//! | operation | operands | result |
//! |---|---|---|
//! | [`Fp28::mul`] | carried, < 2^10 | columns, c₀ < 3.03, c₁ < 4.03 |
//! | [`Fp28::square`] | carried, < 64 | columns, c₀ < 1.03, c₁ < 2.06 |
//!
//! The rest is that of the components.

use blst::{blst_fp, blst_fp2};
use cuzk_fault::{Fault, injected};

use crate::eight::{Eight, EightColumns};
use crate::fp::{Columns, Fp8, Packed, Row};
use crate::lanes::Lanes;

/// Eight carried elements.
#[derive(Clone, Copy)]
pub struct Fp28<L>(pub(crate) [Fp8<L>; 2]);

/// Eight elements in columns that are not carried.
#[derive(Clone, Copy)]
pub struct Columns2<L>([Columns<L>; 2]);

impl<L: Lanes> Eight<L> for Fp28<L> {
    type Scalar = blst_fp2;
    type Row = [Row; 2];
    type Packed = [Packed; 2];
    type Bytes = [u8; 96];
    type Columns = Columns2<L>;

    /// 0 in all lanes.
    #[inline(always)]
    fn zero() -> Self {
        Fp28([Fp8::zero(), Fp8::zero()])
    }

    /// 1 in all lanes.
    #[inline(always)]
    fn one() -> Self {
        Fp28([Fp8::one(), Fp8::zero()])
    }

    /// From memory.
    #[inline(always)]
    fn load(from: &[Packed; 2]) -> Self {
        Fp28([Fp8::load(&from[0]), Fp8::load(&from[1])])
    }

    /// To memory.
    #[inline(always)]
    fn store(self, to: &mut [Packed; 2]) {
        self.0[0].store(&mut to[0]);
        self.0[1].store(&mut to[1]);
    }

    /// Element k from the rows k.
    #[inline(always)]
    fn gather(rows: [&[Row; 2]; 8]) -> Self {
        let (mut first, mut second) = ([&rows[0][0]; 8], [&rows[0][1]; 8]);
        for lane in 1..8 {
            (first[lane], second[lane]) = (&rows[lane][0], &rows[lane][1]);
        }
        Fp28([Fp8::gather(first), Fp8::gather(second)])
    }

    /// Element k to the rows k.
    #[inline(always)]
    fn to_rows(self) -> [[Row; 2]; 8] {
        let (first, second) = (self.0[0].to_rows(), self.0[1].to_rows());
        std::array::from_fn(|lane| [first[lane], second[lane]])
    }

    /// a·b by Karatsuba's method: 3 multiplications in Fp.
    #[inline(always)]
    fn mul(&self, other: &Self) -> Columns2<L> {
        let ([a0, a1], [b0, b1]) = (&self.0, &other.0);
        let (product0, product1) = (a0.mul(b0), a1.mul(b1));
        let (a, b) = (a0.columns().add(&a1.columns()).carry(), b0.columns().add(&b1.columns()).carry());
        let cross = a.mul(&b).sub::<3>(&product0.add(&product1));
        if injected(Fault::Fp2EightSign) {
            return Columns2([product0.add(&product1), cross]);
        }
        Columns2([product0.sub::<2>(&product1), cross])
    }

    /// a²: (c₀ + c₁)(c₀ − c₁) + 2·c₀·c₁·u, 2 multiplications in Fp.
    #[inline(always)]
    fn square(&self) -> Columns2<L> {
        let [c0, c1] = &self.0;
        let sum = c0.columns().add(&c1.columns()).carry();
        let difference = c0.columns().sub::<64>(&c1.columns()).carry();
        let product = c0.mul(c1);
        Columns2([sum.mul(&difference), product.add(&product)])
    }

    /// As columns.
    #[inline(always)]
    fn columns(&self) -> Columns2<L> {
        Columns2([self.0[0].columns(), self.0[1].columns()])
    }

    /// `yes` in the lanes of `mask`.
    #[inline(always)]
    fn select(mask: u8, no: &Self, yes: &Self) -> Self {
        Fp28([Fp8::select(mask, &no.0[0], &yes.0[0]), Fp8::select(mask, &no.0[1], &yes.0[1])])
    }

    /// The lanes that are 0 in all limbs.
    #[inline(always)]
    fn all_limbs_zero(&self) -> u8 {
        self.0[0].all_limbs_zero() & self.0[1].all_limbs_zero()
    }

    /// The lanes that are 0 mod p.
    #[inline(always)]
    fn zeros(&self) -> u8 {
        self.0[0].zeros() & self.0[1].zeros()
    }

    /// From blst's form.
    #[inline(always)]
    fn from_scalars(elements: &[blst_fp2; 8]) -> Self {
        let component = |c: usize| -> [blst_fp; 8] { elements.map(|element| element.fp[c]) };
        Fp28([Fp8::from_scalars(&component(0)), Fp8::from_scalars(&component(1))])
    }

    /// To blst's form.
    #[inline(always)]
    fn to_scalars(&self) -> [blst_fp2; 8] {
        let (first, second) = (self.0[0].to_scalars(), self.0[1].to_scalars());
        std::array::from_fn(|lane| blst_fp2 { fp: [first[lane], second[lane]] })
    }

    /// To the bytes of the integers, c₁ first.
    #[inline(always)]
    fn to_bytes(&self) -> [[u8; 96]; 8] {
        let (first, second) = (self.0[0].to_bytes(), self.0[1].to_bytes());
        std::array::from_fn(|lane| {
            let mut bytes = [0; 96];
            bytes[..48].copy_from_slice(&second[lane]);
            bytes[48..].copy_from_slice(&first[lane]);
            bytes
        })
    }
}

impl<L: Lanes> EightColumns<L> for Columns2<L> {
    type Carried = Fp28<L>;

    /// a + b.
    #[inline(always)]
    fn add(&self, other: &Self) -> Self {
        Columns2([self.0[0].add(&other.0[0]), self.0[1].add(&other.0[1])])
    }

    /// a − b + K·p in both components.
    #[inline(always)]
    fn sub<const K: usize>(&self, other: &Self) -> Self {
        Columns2([self.0[0].sub::<K>(&other.0[0]), self.0[1].sub::<K>(&other.0[1])])
    }

    /// Carried.
    #[inline(always)]
    fn carry(self) -> Fp28<L> {
        Fp28([self.0[0].carry(), self.0[1].carry()])
    }

    /// Carried and below 1.001 p.
    #[inline(always)]
    fn reduce(self) -> Fp28<L> {
        Fp28([self.0[0].reduce(), self.0[1].reduce()])
    }
}
