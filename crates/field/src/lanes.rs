//! A vector of eight 64-bit lanes: what the kernels are written over.
//!
//! Two types implement it: registers of AVX-512, and plain arrays that do lane by lane what the instructions do. The
//! second is for tests; it shows every limb range, carry and mask of a kernel on any machine.

/// Eight lanes of 64 bits. Arithmetic is modulo 2^64 in each lane; a `u8` is a mask with bit k for lane k.
///
/// Every method is `inline(always)` in its implementations, and so must be every function between a kernel's entry
/// and these: only the entry is compiled for the instruction set.
pub trait Lanes: Copy + Send + Sync + 'static {
    /// All lanes `value`.
    fn splat(value: u64) -> Self;
    /// From memory.
    fn load(from: &[u64; 8]) -> Self;
    /// To memory.
    fn store(self, to: &mut [u64; 8]);
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Shift to the left.
    fn shl<const BITS: u32>(self) -> Self;
    /// Shift to the right, zeros following.
    fn shr<const BITS: u32>(self) -> Self;
    /// Shift to the right, the sign following.
    fn sar<const BITS: u32>(self) -> Self;
    /// self + (a·b mod 2^52), of the low 52 bits of a and b.
    fn madd52lo(self, a: Self, b: Self) -> Self;
    /// self + ⌊a·b / 2^52⌋, of the low 52 bits of a and b.
    fn madd52hi(self, a: Self, b: Self) -> Self;
    /// `yes` in the lanes of `mask`, `no` in the others.
    fn select(mask: u8, no: Self, yes: Self) -> Self;
    /// The lanes that are 0.
    fn zeros(self) -> u8;
    /// The lanes whose highest bit is set.
    fn negatives(self) -> u8;
    /// Lane k becomes lane `index[k] mod 8` of `self`.
    fn permute(self, index: Self) -> Self;
    /// Lane j of result i is lane i of operand j.
    fn transpose(rows: [Self; 8]) -> [Self; 8];
    /// Runs work as a function of its own, compiled for the instruction set: operands and results go through memory, but
    /// a kernel with many multiplications stays small enough to compile.
    fn outline<W: Outlined>(work: W) -> W::Output;
}

/// Work for [`Lanes::outline`].
pub trait Outlined {
    /// What comes of it.
    type Output;

    /// Does it. Mark it `inline(always)`.
    fn run(self) -> Self::Output;
}

/// Work written over [`Lanes`], to be run by an [`crate::Engine`].
pub trait Kernel {
    /// What comes of it.
    type Output;

    /// Does it. Mark it `inline(always)`, with everything that it calls.
    fn run<L: Lanes>(self) -> Self::Output;
}
