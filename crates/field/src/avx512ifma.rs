//! [`Lanes`] as registers of AVX-512, with the 52-bit multiply-add of IFMA.
//!
//! Nothing outside this crate can name the type, and inside it only [`enter`] does, which runs after the features
//! were found: that is the argument of every `unsafe` block here.

use std::arch::x86_64::*;

use crate::lanes::{Kernel, Lanes, Outlined};

/// A register of 512 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Avx512Ifma(__m512i);

/// Whether this machine has what [`enter`] is compiled for.
pub(crate) fn detected() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("adx")
}

/// Runs a kernel, compiled for the features of [`detected`].
///
/// # Safety
///
/// [`detected`] must have said yes.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq,avx512vl,avx512bw,bmi2,adx")]
pub(crate) unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512Ifma>()
}

/// [`Lanes::outline`].
///
/// # Safety
///
/// [`detected`] must have said yes.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq,avx512vl,avx512bw,bmi2,adx")]
unsafe fn outlined<W: Outlined>(work: W) -> W::Output {
    work.run()
}

/// One intrinsic that touches no memory.
macro_rules! register {
    ($intrinsic:expr) => {
        // SAFETY: the instruction works on registers alone, and the machine has it: values of this type exist only
        // below `enter`.
        unsafe { $intrinsic }
    };
}

impl Lanes for Avx512Ifma {
    #[inline(always)]
    fn splat(value: u64) -> Self {
        Avx512Ifma(register!(_mm512_set1_epi64(value as i64)))
    }

    #[inline(always)]
    fn load(from: &[u64; 8]) -> Self {
        // SAFETY: 64 readable bytes; the load needs no alignment. The machine has the instruction, as in `register`.
        Avx512Ifma(unsafe { _mm512_loadu_si512(from.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, to: &mut [u64; 8]) {
        // SAFETY: 64 writable bytes; the store needs no alignment. The machine has the instruction, as in `register`.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Avx512Ifma(register!(_mm512_add_epi64(self.0, other.0)))
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Avx512Ifma(register!(_mm512_sub_epi64(self.0, other.0)))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Avx512Ifma(register!(_mm512_and_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Avx512Ifma(register!(_mm512_or_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Avx512Ifma(register!(_mm512_xor_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Self {
        Avx512Ifma(register!(_mm512_slli_epi64::<BITS>(self.0)))
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Self {
        Avx512Ifma(register!(_mm512_srli_epi64::<BITS>(self.0)))
    }

    #[inline(always)]
    fn sar<const BITS: u32>(self) -> Self {
        Avx512Ifma(register!(_mm512_srai_epi64::<BITS>(self.0)))
    }

    #[inline(always)]
    fn madd52lo(self, a: Self, b: Self) -> Self {
        Avx512Ifma(register!(_mm512_madd52lo_epu64(self.0, a.0, b.0)))
    }

    #[inline(always)]
    fn madd52hi(self, a: Self, b: Self) -> Self {
        Avx512Ifma(register!(_mm512_madd52hi_epu64(self.0, a.0, b.0)))
    }

    #[inline(always)]
    fn select(mask: u8, no: Self, yes: Self) -> Self {
        Avx512Ifma(register!(_mm512_mask_mov_epi64(no.0, mask, yes.0)))
    }

    #[inline(always)]
    fn zeros(self) -> u8 {
        register!(_mm512_testn_epi64_mask(self.0, self.0))
    }

    #[inline(always)]
    fn negatives(self) -> u8 {
        register!(_mm512_cmplt_epi64_mask(self.0, _mm512_setzero_si512()))
    }

    #[inline(always)]
    fn permute(self, index: Self) -> Self {
        Avx512Ifma(register!(_mm512_permutexvar_epi64(index.0, self.0)))
    }

    /// 24 shuffles, in three rounds over pairs 1, 2 and 4 rows apart.
    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        let r = [r0.0, r1.0, r2.0, r3.0, r4.0, r5.0, r6.0, r7.0];
        register!({
            // a[2i] = lanes 0, 2, 4, 6 of rows 2i and 2i + 1 alternating; a[2i + 1] = lanes 1, 3, 5, 7.
            let a = [
                _mm512_unpacklo_epi64(r[0], r[1]),
                _mm512_unpackhi_epi64(r[0], r[1]),
                _mm512_unpacklo_epi64(r[2], r[3]),
                _mm512_unpackhi_epi64(r[2], r[3]),
                _mm512_unpacklo_epi64(r[4], r[5]),
                _mm512_unpackhi_epi64(r[4], r[5]),
                _mm512_unpacklo_epi64(r[6], r[7]),
                _mm512_unpackhi_epi64(r[6], r[7]),
            ];
            // 0x88 takes the parts 0 and 2 (of 128 bits) of both operands, 0xdd the parts 1 and 3.
            let b = [
                _mm512_shuffle_i64x2::<0x88>(a[0], a[2]),
                _mm512_shuffle_i64x2::<0x88>(a[1], a[3]),
                _mm512_shuffle_i64x2::<0xdd>(a[0], a[2]),
                _mm512_shuffle_i64x2::<0xdd>(a[1], a[3]),
                _mm512_shuffle_i64x2::<0x88>(a[4], a[6]),
                _mm512_shuffle_i64x2::<0x88>(a[5], a[7]),
                _mm512_shuffle_i64x2::<0xdd>(a[4], a[6]),
                _mm512_shuffle_i64x2::<0xdd>(a[5], a[7]),
            ];
            [
                Avx512Ifma(_mm512_shuffle_i64x2::<0x88>(b[0], b[4])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0x88>(b[1], b[5])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0x88>(b[2], b[6])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0x88>(b[3], b[7])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0xdd>(b[0], b[4])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0xdd>(b[1], b[5])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0xdd>(b[2], b[6])),
                Avx512Ifma(_mm512_shuffle_i64x2::<0xdd>(b[3], b[7])),
            ]
        })
    }

    #[inline(always)]
    fn outline<W: Outlined>(work: W) -> W::Output {
        // SAFETY: the machine has the features, as in `register`.
        unsafe { outlined(work) }
    }
}
