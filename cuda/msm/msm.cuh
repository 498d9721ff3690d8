// Multi-scalar sums Σ sᵢ·Pᵢ by Pippenger's method: the parts that also run on a host.
//
// A scalar s is taken as ±|s| with |s| ≤ (r − 1)/2 < 2^254, so that no window more than 254 bits need is there. To |s| the
// offsets Σ 2^(c−1)·2^(ci) over all windows but the last are added once; digit i is then bits ci … ci + c − 1 less
// 2^(c−1), in [−2^(c−1), 2^(c−1)), with no carry from one digit to the next.
#pragma once

#include "../ec/groups.cuh"
#include "../ff/fr.cuh"

namespace cuzk {

// The windows of a sum: `n` of `bits` bits each, and the offsets' 256 bits.
struct Windows {
    uint32_t bits, n;
    uint32_t offsets[8];
};
static_assert(sizeof(Windows) == 40, "as crates/gpu/src/layout.rs has it");

// |s|, little-endian, with bit 255 set if s stands for −|s|.
struct alignas(16) Magnitude {
    uint32_t word[8];
};
static_assert(sizeof(Magnitude) == 32, "as crates/gpu/src/msm.rs has it");

CUZK_FN Magnitude magnitude_of(const Fr &scalar) {
    const Fr integer = scalar.from_montgomery();
    const Fr opposite = -integer;
    // s > (r − 1)/2 exactly if r − s < s.
    Carry carry;
    sub_start(carry, opposite.word[0], integer.word[0]);
#pragma unroll
    for (int i = 1; i < 8; i++) sub_chain(carry, opposite.word[i], integer.word[i]);
    const bool negative = sub_end(carry, 0, 0) != 0;
    Magnitude out;
#pragma unroll
    for (int i = 0; i < 8; i++) out.word[i] = negative ? opposite.word[i] : integer.word[i];
    if (negative) out.word[7] |= NEGATE;
    return out;
}

// A scalar's digits, lowest window first.
struct Digits {
    uint32_t sum[8];
    bool negative;

    CUZK_FN Digits(const Magnitude &scalar, const Windows &windows) {
        negative = (scalar.word[7] & NEGATE) != 0;
        Carry carry;
        sum[0] = add_start(carry, scalar.word[0], windows.offsets[0]);
#pragma unroll
        for (int i = 1; i < 7; i++) sum[i] = add_chain(carry, scalar.word[i], windows.offsets[i]);
        sum[7] = add_end(carry, scalar.word[7] & ~NEGATE, windows.offsets[7]);
    }

    // The next digit, shifted out; `last` for the highest window, which has no offset.
    CUZK_FN int32_t next(uint32_t bits, bool last) {
        const int32_t digit =
            static_cast<int32_t>(last ? sum[0] : sum[0] & ((1u << bits) - 1)) - (last ? 0 : 1 << (bits - 1));
#pragma unroll
        for (int i = 0; i < 7; i++) sum[i] = sum[i] >> bits | sum[i + 1] << (32 - bits);
        sum[7] >>= bits;
        return negative ? -digit : digit;
    }
};

}  // namespace cuzk
