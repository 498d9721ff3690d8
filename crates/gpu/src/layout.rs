//! What host and device read alike: each structure here has its twin in `cuda/`, and both sides assert the size.

use blst::{blst_p1, blst_p1_affine, blst_p2, blst_p2_affine};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cudarc::driver::DeviceRepr;

/// 64-bit words of an element of Fr, little-endian, in Montgomery form with R = 2^256: what blst keeps is what `Mont` of
/// `cuda/ff/mont.cuh` keeps.
pub(crate) const FR_WORDS: usize = 4;

macro_rules! layout {
    ($($(#[$meta:meta])* struct $name:ident : $bytes:literal { $($field:ident: $type:ty),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }
        const _: () = assert!(size_of::<$name>() == $bytes);
        // SAFETY: plain integers in C's layout, without padding as the size shows; its twin in `cuda/` asserts the same.
        unsafe impl DeviceRepr for $name {}
    )* };
}

layout! {
    /// `Windows` of `cuda/msm/msm.cuh`.
    struct Windows: 40 { bits: u32, n: u32, offsets: [u32; 8] }
    /// `Bins` of `cuda/msm/msm.cu`.
    struct Bins: 8 { high_bits: u32, low_bits: u32 }
    /// `Alignment` of `cuda/msm/msm.cu`.
    struct Alignment: 4 { levels: u32 }
    /// `Pass` of `cuda/ntt/ntt.cuh`.
    struct Pass: 16 { log2_n: u32, first_level: u32, levels: u32, log2_columns: u32 }
    /// `Placement` of `cuda/r1cs/r1cs.cuh`.
    struct Placement: 24 { first_aux: u64, first_input: u64, header_aux: u64 }
    /// An element of Fr by value.
    struct Scalar: 32 { words: [u64; FR_WORDS] }
}

impl Scalar {
    pub(crate) fn of(value: &Fr) -> Self {
        let words = words_of(std::slice::from_ref(value));
        Scalar { words: words.try_into().expect("one element") }
    }
}

/// A type of blst's that is nothing but 64-bit words in Montgomery form.
///
/// # Safety
///
/// `Self` must consist of u64 without padding, any value of which is valid, and be aligned as u64.
pub(crate) unsafe trait Words: Copy {}

macro_rules! words {
    ($($type:ty = $raw:ty),*) => { $(
        const _: () = assert!(size_of::<$type>() == size_of::<$raw>() && align_of::<$type>() == align_of::<u64>());
        // SAFETY: blstrs' types are `repr(transparent)` over blst's, which are C structures of u64 alone.
        unsafe impl Words for $type {}
    )* };
}
words!(
    Fr = blst::blst_fr,
    G1Affine = blst_p1_affine,
    G2Affine = blst_p2_affine,
    G1Projective = blst_p1,
    G2Projective = blst_p2
);

/// The words of values, one after the other.
pub(crate) fn words_of<T: Words>(values: &[T]) -> &[u64] {
    // SAFETY: by the contract of `Words`, the memory of the slice is initialized u64 at u64's alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values) / 8) }
}

/// The values of words, where `any` is one of their type. Panics where these are no whole number of values.
pub(crate) fn values_of<T: Words>(words: &[u64], any: T) -> Vec<T> {
    let n_words = size_of::<T>() / 8;
    assert!(words.len().is_multiple_of(n_words), "parts of values");
    let mut values = vec![any; words.len() / n_words];
    for (value, words) in values.iter_mut().zip(words.chunks_exact(n_words)) {
        // SAFETY: `T` is `n_words` u64 by the contract of `Words`, and any of them are valid; being on a curve, or below a
        // modulus, is what the kernels promise, not a matter of memory.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), std::ptr::from_mut(value).cast(), n_words) };
    }
    values
}
