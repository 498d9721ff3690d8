// 1/a in a prime field, by divsteps: Bernstein and Yang, "Fast constant-time gcd computation and modular inversion" (2019), with
// δ starting at 1/2, for which (45907·b + 26313)/19929 steps are enough for b bits (Wuille and Maxwell, "safegcd-bounds").
//
// A step takes (δ, f, g), f odd, to (1 − δ, g, (g − f)/2) if δ > 0 and g is odd, else to (1 + δ, f, (g + (g mod 2)·f)/2). From
// f = m and g = a it ends with f = ±1 and g = 0. Thirty steps look at the lowest words alone; their matrix is then applied to
// f and g, and modulo m to d and e, which keep d·a = f and e·a = g up to a common factor.
//
// Numbers are limbs of 30 bits, of which the highest has the sign. Every thread takes the same steps: some 900 multiply-adds of
// 32 bits to 64 and 10,000 other instructions in Fp.
#pragma once

#include "mont.cuh"

namespace cuzk {

template <class P>
class Divsteps {
    static constexpr int BITS = 30;
    // Numbers are above −2m and below m.
    static constexpr int LIMBS = (32 * P::N + 2 + BITS - 1) / BITS;
    static constexpr int STEPS = (45907 * 32 * P::N + 26313) / 19929 + 1;
    static constexpr int ROUNDS = (STEPS + BITS - 1) / BITS;
    static constexpr uint32_t MASK = (1u << BITS) - 1;

    struct Number {
        int32_t limb[LIMBS];
    };
    // 2^30 times what thirty steps do: f to (u·f + v·g)/2^30, g to (q·f + r·g)/2^30. |u| + |v| and |q| + |r| are at most 2^30.
    struct Matrix {
        int32_t u, v, q, r;
    };

    // Bits 30·i to 30·i + 29 of N words.
    template <class Word>
    static constexpr CUZK_FN int32_t limb_of(int i, Word word) {
        const int first = BITS * i / 32, shift = BITS * i % 32;
        const uint64_t low = first < P::N ? word(first) : 0, high = first + 1 < P::N ? word(first + 1) : 0;
        return static_cast<int32_t>((low | high << 32) >> shift & MASK);
    }
    static constexpr CUZK_FN int32_t modulus(int i) {
        return limb_of(i, [](int j) { return P::modulus(j); });
    }

    static CUZK_FN Matrix steps(int32_t &delta, uint32_t f, uint32_t g) {
        // Unsigned, as they wrap where they are of no account: f and g above the bits that are still to come.
        uint32_t u = 1, v = 0, q = 0, r = 1;
#pragma unroll 6
        for (int i = 0; i < BITS; i++) {
            const bool odd = (g & 1) != 0, swap = odd && delta > 0;
            const uint32_t old_f = f, old_u = u, old_v = v;
            f = swap ? g : f, u = swap ? q : u, v = swap ? r : v;
            g = swap ? 0 - old_f : g, q = swap ? 0 - old_u : q, r = swap ? 0 - old_v : r;
            // δ is delta − 1/2.
            delta = (swap ? 1 - delta : delta) + 1;
            g = (g + (odd ? f : 0)) >> 1;
            q += odd ? u : 0, r += odd ? v : 0;
            u <<= 1, v <<= 1;
        }
        return {static_cast<int32_t>(u), static_cast<int32_t>(v), static_cast<int32_t>(q), static_cast<int32_t>(r)};
    }

    static CUZK_FN int64_t product(int32_t a, int32_t b) { return static_cast<int64_t>(a) * b; }

    // The multiple of m, above −2^31 and at most 2^30, that added to u·d + v·e makes the lowest limb zero, and the sum over 2^30 as much
    // above −2m and below m as d and e are: a negative one counts as itself and m.
    static CUZK_FN int32_t multiple(int32_t u, int32_t v, const Number &d, const Number &e) {
        const int32_t whole = (d.limb[LIMBS - 1] < 0 ? u : 0) + (e.limb[LIMBS - 1] < 0 ? v : 0);
        const uint32_t lowest = static_cast<uint32_t>(u) * static_cast<uint32_t>(d.limb[0]) +
                                static_cast<uint32_t>(v) * static_cast<uint32_t>(e.limb[0]);
        // P::inverse is −1/m: whole·m + lowest − k·m is zero for k = whole + lowest/m.
        const uint32_t k = static_cast<uint32_t>(whole) - lowest * P::inverse;
        return whole - static_cast<int32_t>(k & MASK);
    }

    // (a, b) becomes (u·a + v·b + s·m, q·a + r·b + t·m)/2^30, both of which are whole.
    static CUZK_FN void apply(const Matrix &matrix, Number &a, Number &b, int32_t s, int32_t t) {
        int64_t first = 0, second = 0;
#pragma unroll
        for (int i = 0; i < LIMBS; i++) {
            first += product(matrix.u, a.limb[i]) + product(matrix.v, b.limb[i]) + product(s, modulus(i));
            second += product(matrix.q, a.limb[i]) + product(matrix.r, b.limb[i]) + product(t, modulus(i));
            if (i > 0) {
                a.limb[i - 1] = static_cast<int32_t>(first & MASK);
                b.limb[i - 1] = static_cast<int32_t>(second & MASK);
            }
            first >>= BITS;
            second >>= BITS;
        }
        a.limb[LIMBS - 1] = static_cast<int32_t>(first);
        b.limb[LIMBS - 1] = static_cast<int32_t>(second);
    }

    // ±a + (m if that is below zero).
    static CUZK_FN void normalize(Number &a, bool negate) {
        const bool negative = (a.limb[LIMBS - 1] < 0) != negate;
        int32_t carry = 0;
#pragma unroll
        for (int i = 0; i < LIMBS; i++) {
            const int32_t limb = negate ? -a.limb[i] : a.limb[i];
            carry += limb + (negative ? modulus(i) : 0);
            const bool highest = i == LIMBS - 1;
            a.limb[i] = highest ? carry : static_cast<int32_t>(static_cast<uint32_t>(carry) & MASK);
            carry >>= BITS;
        }
    }

  public:
    // Of 0, 0.
    static CUZK_FN Mont<P> inverse(const Mont<P> &value) {
        Number f, g, d, e;
#pragma unroll
        for (int i = 0; i < LIMBS; i++) {
            f.limb[i] = modulus(i);
            g.limb[i] = limb_of(i, [&](int j) { return value.word[j]; });
            d.limb[i] = 0;
            // value is a·R for an a whose inverse, times R, is R²/value.
            e.limb[i] = limb_of(i, [](int j) { return P::r2(j); });
        }
        int32_t delta = 1;
#pragma unroll 1
        for (int round = 0; round < ROUNDS; round++) {
            // As many bits as there are steps.
            const Matrix matrix = steps(delta, static_cast<uint32_t>(f.limb[0]), static_cast<uint32_t>(g.limb[0]));
            const int32_t s = multiple(matrix.u, matrix.v, d, e), t = multiple(matrix.q, matrix.r, d, e);
            apply(matrix, d, e, s, t);
            apply(matrix, f, g, 0, 0);
        }
        // Above −2m and below m, then above −m and below m, then not below zero.
        normalize(d, false);
        normalize(d, f.limb[LIMBS - 1] < 0);
        Mont<P> out;
#pragma unroll
        for (int i = 0; i < P::N; i++) {
            // Word i begins in limb 32·i/30.
            const int first = 32 * i / BITS, shift = 32 * i % BITS;
            uint64_t bits = static_cast<uint64_t>(d.limb[first]) >> shift;
            bits |= static_cast<uint64_t>(first + 1 < LIMBS ? d.limb[first + 1] : 0) << (BITS - shift);
            if (shift + 2 > BITS) bits |= static_cast<uint64_t>(first + 2 < LIMBS ? d.limb[first + 2] : 0) << (2 * BITS - shift);
            out.word[i] = static_cast<uint32_t>(bits);
        }
        return out;
    }
};

template <class P>
CUZK_FN Mont<P> inverse_of(const Mont<P> &a) {
    return Divsteps<P>::inverse(a);
}

}  // namespace cuzk
