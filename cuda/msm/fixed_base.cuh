// Multiples of one point G by many scalars, the parts that also run on a host: a scalar's multiple is the sum of one entry a window of a
// table, which are a group of neighbouring references (ec/groups.cuh).
//
// The table has d·2^(bits·w)·G for d from 1 to 2^(bits − 1) and each window w, as number (d − 1)·n + w of them, so that the multiples of
// one d are neighbours, and those up to 2d come of those up to d by one addition each.
#pragma once

#include "msm.cuh"

namespace cuzk {

// The entries whose sum is the scalar's multiple: a reference for each window.
CUZK_FN void references_of(uint32_t *references, const Fr &scalar, const Windows &windows) {
    Digits digits(magnitude_of(scalar), windows);
    for (uint32_t window = 0; window < windows.n; window++) {
        const int32_t digit = digits.next(windows.bits, window + 1 == windows.n);
        const uint32_t magnitude = digit < 0 ? -digit : digit;
        references[window] = digit == 0 ? NO_POINT : ((magnitude - 1) * windows.n + window) | (digit < 0 ? NEGATE : 0);
    }
}

CUZK_FN uint32_t bytes_reversed(uint32_t word) {
    return word << 24 | (word & 0xff00) << 8 | (word >> 8 & 0xff00) | word >> 24;
}

// A coordinate as parameter files store it: its integer, big-endian; in Fp2 that of u first. Returns what comes after it.
CUZK_FN uint32_t *encode(uint32_t *out, const Fp &value) {
    const Fp integer = value.from_montgomery();
#pragma unroll
    for (int i = 0; i < 12; i++) out[i] = bytes_reversed(integer.word[11 - i]);
    return out + 12;
}

CUZK_FN uint32_t *encode(uint32_t *out, const Fp2 &value) { return encode(encode(out, value.c1), value.c0); }

// A point as parameter files store it: x and y, or at infinity 0x40 and zeros.
template <class F>
CUZK_FN void encode(uint32_t *out, const Affine<F> &point) {
    encode(encode(out, point.x), point.y);
    // Zeros were written, whose first byte is the lowest of the first word.
    if (point.is_infinity()) out[0] = 0x40;
}

}  // namespace cuzk
