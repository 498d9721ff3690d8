//! [`Lanes`] as plain arrays: for tests of the kernels on machines without the instructions.
//!
//! Nothing is inlined into the kernels: they have thousands of these operations each and would take minutes to compile.

use crate::lanes::{Lanes, Outlined};

/// Eight words.
#[derive(Clone, Copy)]
pub(crate) struct Emulated([u64; 8]);

const LOW_52: u64 = (1 << 52) - 1;

impl Emulated {
    #[inline(always)]
    fn each(self, other: Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        Emulated(std::array::from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    fn mask(self, bit: impl Fn(u64) -> bool) -> u8 {
        self.0.iter().enumerate().fold(0, |mask, (lane, &value)| mask | u8::from(bit(value)) << lane)
    }
}

/// The 104 bits of the product of the low 52 bits of both.
#[inline(always)]
fn product_52(a: u64, b: u64) -> u128 {
    u128::from(a & LOW_52) * u128::from(b & LOW_52)
}

impl Lanes for Emulated {
    #[inline(never)]
    fn splat(value: u64) -> Self {
        Emulated([value; 8])
    }

    #[inline(never)]
    fn load(from: &[u64; 8]) -> Self {
        Emulated(*from)
    }

    #[inline(never)]
    fn store(self, to: &mut [u64; 8]) {
        *to = self.0;
    }

    #[inline(never)]
    fn add(self, other: Self) -> Self {
        self.each(other, u64::wrapping_add)
    }

    #[inline(never)]
    fn sub(self, other: Self) -> Self {
        self.each(other, u64::wrapping_sub)
    }

    #[inline(never)]
    fn and(self, other: Self) -> Self {
        self.each(other, |a, b| a & b)
    }

    #[inline(never)]
    fn or(self, other: Self) -> Self {
        self.each(other, |a, b| a | b)
    }

    #[inline(never)]
    fn xor(self, other: Self) -> Self {
        self.each(other, |a, b| a ^ b)
    }

    #[inline(never)]
    fn shl<const BITS: u32>(self) -> Self {
        Emulated(self.0.map(|value| value << BITS))
    }

    #[inline(never)]
    fn shr<const BITS: u32>(self) -> Self {
        Emulated(self.0.map(|value| value >> BITS))
    }

    #[inline(never)]
    fn sar<const BITS: u32>(self) -> Self {
        Emulated(self.0.map(|value| ((value as i64) >> BITS) as u64))
    }

    #[inline(never)]
    fn madd52lo(self, a: Self, b: Self) -> Self {
        self.add(a.each(b, |a, b| product_52(a, b) as u64 & LOW_52))
    }

    #[inline(never)]
    fn madd52hi(self, a: Self, b: Self) -> Self {
        self.add(a.each(b, |a, b| (product_52(a, b) >> 52) as u64))
    }

    #[inline(never)]
    fn select(mask: u8, no: Self, yes: Self) -> Self {
        Emulated(std::array::from_fn(|lane| if mask >> lane & 1 == 1 { yes.0[lane] } else { no.0[lane] }))
    }

    #[inline(never)]
    fn zeros(self) -> u8 {
        self.mask(|value| value == 0)
    }

    #[inline(never)]
    fn negatives(self) -> u8 {
        self.mask(|value| value >> 63 == 1)
    }

    #[inline(never)]
    fn permute(self, index: Self) -> Self {
        Emulated(index.0.map(|index| self.0[index as usize % 8]))
    }

    #[inline(never)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        std::array::from_fn(|column| Emulated(std::array::from_fn(|row| rows[row].0[column])))
    }

    #[inline(never)]
    fn outline<W: Outlined>(work: W) -> W::Output {
        work.run()
    }
}
