// Integers modulo an odd prime m of N words (N even), Montgomery form with R = 2^(32N), little-endian words.
//
// All values are in [0, m), in and out. The highest word of m must be below 2^31, so that sums of two fit N words.
//
// | operation | multiply-adds of 32 bits to 64 |
// |-----------|--------------------------------|
// | a·b       | 2N² + N (the last for the low halves that give the quotients) |
// | a²        | N(N + 1)/2 + N² + N |
// | a·b − c·d | 3N² + N: one reduction for both |
// | a + b, a − b, −a, 2a | none: 2N additions and N selections |
//
// Where m is 1 modulo 2^32, as in Fr, the quotients are negations and products with m's lowest word are additions: N² − N
// multiply-adds are left of a reduction's N² + N. (That Fr's second word is 2^32 − 1 could save N more; it does not pay:
// transforms of 2^24 took 4.69 ms without and 4.79 ms with that, one H200, 2026-11-29.)
//
// The product is kept in two rows of words whose 64-bit products do not overlap: `even` at column 0 and `odd` at column
// 1. A step adds a·b[i] and the multiple of m that clears column 0; dividing by 2^32 then swaps the rows' roles.
#pragma once

#include "word.cuh"

namespace cuzk {

// `P` has `N`, `modulus(i)`, `one(i)` = R mod m, `r2(i)` = R² mod m and `inverse` = −m⁻¹ mod 2^32, all constexpr.
template <class P>
struct alignas(16) Mont {
    static constexpr int N = P::N;
    static_assert(N % 2 == 0 && N >= 4, "rows of pairs of words");
    uint32_t word[N];

    static CUZK_FN Mont zero() {
        Mont out;
#pragma unroll
        for (int i = 0; i < N; i++) out.word[i] = 0;
        return out;
    }

    static CUZK_FN Mont one() {
        Mont out;
#pragma unroll
        for (int i = 0; i < N; i++) out.word[i] = P::one(i);
        return out;
    }

    CUZK_FN bool is_zero() const {
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < N; i++) any |= word[i];
        return any == 0;
    }

    CUZK_FN bool operator==(const Mont &b) const {
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < N; i++) any |= word[i] ^ b.word[i];
        return any == 0;
    }

    CUZK_FN Mont operator+(const Mont &b) const {
        Mont sum;
        Carry carry;
        sum.word[0] = add_start(carry, word[0], b.word[0]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) sum.word[i] = add_chain(carry, word[i], b.word[i]);
        sum.word[N - 1] = add_end(carry, word[N - 1], b.word[N - 1]);
        return sum.reduced();
    }

    CUZK_FN Mont doubled() const { return *this + *this; }

    CUZK_FN Mont operator-(const Mont &b) const {
        Mont difference;
        Carry carry;
        difference.word[0] = sub_start(carry, word[0], b.word[0]);
#pragma unroll
        for (int i = 1; i < N; i++) difference.word[i] = sub_chain(carry, word[i], b.word[i]);
        const uint32_t mask = sub_end(carry, 0, 0);
        difference.word[0] = add_start(carry, difference.word[0], P::modulus(0) & mask);
#pragma unroll
        for (int i = 1; i < N - 1; i++) {
            difference.word[i] = add_chain(carry, difference.word[i], P::modulus(i) & mask);
        }
        difference.word[N - 1] = add_end(carry, difference.word[N - 1], P::modulus(N - 1) & mask);
        return difference;
    }

    CUZK_FN Mont operator-() const { return zero() - *this; }

    CUZK_FN Mont negated_if(bool negative) const {
        const Mont opposite = -*this;
        Mont out;
#pragma unroll
        for (int i = 0; i < N; i++) out.word[i] = negative ? opposite.word[i] : word[i];
        return out;
    }

    CUZK_FN Mont operator*(const Mont &b) const { return product(b).reduced(); }

    // Operations on values in [0, 2m), for transforms: a product is not reduced to the end, and m must be below 2^255.
    //
    // | operation | in | out |
    // |-----------|----|-----|
    // | times_lazy | [0, 2m) by [0, m) | [0, 2m): below (2m·m)/2^(32N) + m |
    // | plus_lazy, minus_lazy | [0, 2m) | [0, 2m) |
    // | reduced | [0, 2m) | [0, m) |
    //
    // The words of a product's first factor take part in every step: rows hold sums below 2^(32N) only where it is below m.
    CUZK_FN Mont times_lazy(const Mont &b) const { return b.product(*this); }

    CUZK_FN Mont plus_lazy(const Mont &b) const {
        Mont sum, less;
        Carry carry;
        sum.word[0] = add_start(carry, word[0], b.word[0]);
#pragma unroll
        for (int i = 1; i < N; i++) sum.word[i] = add_chain(carry, word[i], b.word[i]);
        const uint32_t over = add_end(carry, 0, 0);
        less.word[0] = sub_start(carry, sum.word[0], twice_modulus(0));
#pragma unroll
        for (int i = 1; i < N; i++) less.word[i] = sub_chain(carry, sum.word[i], twice_modulus(i));
        // The borrow is paid by the word that the sum went over by.
        const bool below = sub_end(carry, over, 0) != 0;
#pragma unroll
        for (int i = 0; i < N; i++) less.word[i] = below ? sum.word[i] : less.word[i];
        return less;
    }

    CUZK_FN Mont minus_lazy(const Mont &b) const {
        Mont difference;
        Carry carry;
        difference.word[0] = sub_start(carry, word[0], b.word[0]);
#pragma unroll
        for (int i = 1; i < N; i++) difference.word[i] = sub_chain(carry, word[i], b.word[i]);
        const uint32_t mask = sub_end(carry, 0, 0);
        difference.word[0] = add_start(carry, difference.word[0], twice_modulus(0) & mask);
#pragma unroll
        for (int i = 1; i < N - 1; i++) {
            difference.word[i] = add_chain(carry, difference.word[i], twice_modulus(i) & mask);
        }
        difference.word[N - 1] = add_end(carry, difference.word[N - 1], twice_modulus(N - 1) & mask);
        return difference;
    }

    CUZK_FN Mont squared() const {
        Wide square;
        square.set_square(word);
        return square.reduced();
    }

    // a·b − c·d.
    static CUZK_FN Mont difference_of_products(const Mont &a, const Mont &b, const Mont &c, const Mont &d) {
        Wide left, right;
        left.set_product(a.word, b.word);
        right.set_product(c.word, d.word);
        left.subtract(right);
        return left.reduced();
    }

    // An integer below m·2^(32N), the result of a sum of products before its reduction.
    struct Wide {
        uint32_t word[2 * N];

        CUZK_FN void set_product(const uint32_t (&a)[N], const uint32_t (&b)[N]) {
            uint32_t odd[2 * N] = {};
#pragma unroll
            for (int i = 0; i < 2 * N; i++) word[i] = 0;
#pragma unroll
            for (int i = 0; i < N; i++) {
                add_row(word, a, b[i], i % 2, i);
                add_row(odd, a, b[i], 1 - i % 2, i - 1);
            }
            add_odd(odd);
        }

        CUZK_FN void set_square(const uint32_t (&a)[N]) {
            uint32_t odd[2 * N] = {};
#pragma unroll
            for (int i = 0; i < 2 * N; i++) word[i] = 0;
#pragma unroll
            for (int i = 0; i < N; i++) {
                add_row(word, a, a[i], i + 2, i);
                add_row(odd, a, a[i], i + 1, i - 1);
            }
            add_odd(odd);
#pragma unroll
            for (int i = 2 * N - 1; i > 0; i--) word[i] = word[i] << 1 | word[i - 1] >> 31;
            word[0] <<= 1;
            Carry carry;
            mad_start(carry, word[0], word[1], a[0], a[0], word[0], word[1]);
#pragma unroll
            for (int i = 1; i < N - 1; i++) {
                mad_chain(carry, word[2 * i], word[2 * i + 1], a[i], a[i], word[2 * i], word[2 * i + 1]);
            }
            mad_end(carry, word[2 * N - 2], word[2 * N - 1], a[N - 1], a[N - 1], word[2 * N - 2], word[2 * N - 1]);
        }

        // Modulo m·2^(32N).
        CUZK_FN void subtract(const Wide &b) {
            Carry carry;
            word[0] = sub_start(carry, word[0], b.word[0]);
#pragma unroll
            for (int i = 1; i < 2 * N; i++) word[i] = sub_chain(carry, word[i], b.word[i]);
            const uint32_t mask = sub_end(carry, 0, 0);
            word[N] = add_start(carry, word[N], P::modulus(0) & mask);
#pragma unroll
            for (int i = 1; i < N - 1; i++) word[N + i] = add_chain(carry, word[N + i], P::modulus(i) & mask);
            word[2 * N - 1] = add_end(carry, word[2 * N - 1], P::modulus(N - 1) & mask);
        }

        // Divided by 2^(32N).
        CUZK_FN Mont reduced() const {
            uint32_t even[N], odd[N] = {};
#pragma unroll
            for (int i = 0; i < N; i++) even[i] = word[i];
            clear_column(even, odd);
#pragma unroll
            for (int i = 1; i < N; i += 2) {
                reduction_step(odd, even);
                if (i + 1 < N) reduction_step(even, odd);
            }
            Mont low = collect(even, odd), out;
            Carry carry;
            out.word[0] = add_start(carry, low.word[0], word[N]);
#pragma unroll
            for (int i = 1; i < N - 1; i++) out.word[i] = add_chain(carry, low.word[i], word[N + i]);
            out.word[N - 1] = add_end(carry, low.word[N - 1], word[2 * N - 1]);
            return out.Mont::reduced();
        }

      private:
        // row += factor·a[first], factor·a[first + 2], … at columns offset + first, …; rows before reached no further than a
        // column less, so the carry ends in the column after.
        static CUZK_FN void add_row(uint32_t (&row)[2 * N], const uint32_t (&a)[N], uint32_t factor, int first,
                                    int offset) {
            if (first >= N) return;
            Carry carry;
            int j = first;
            mad_start(carry, row[offset + j], row[offset + j + 1], a[j], factor, row[offset + j], row[offset + j + 1]);
#pragma unroll
            for (j = first + 2; j < N; j += 2) {
                mad_chain(carry, row[offset + j], row[offset + j + 1], a[j], factor, row[offset + j], row[offset + j + 1]);
            }
            if (offset + j < 2 * N) row[offset + j] = add_end(carry, row[offset + j], 0);
        }

        CUZK_FN void add_odd(const uint32_t (&odd)[2 * N]) {
            Carry carry;
            word[1] = add_start(carry, word[1], odd[0]);
#pragma unroll
            for (int i = 2; i < 2 * N - 1; i++) word[i] = add_chain(carry, word[i], odd[i - 1]);
            word[2 * N - 1] = add_end(carry, word[2 * N - 1], odd[2 * N - 2]);
        }
    };

    // From the integer itself, below m.
    CUZK_FN Mont to_montgomery() const {
        Mont r2;
#pragma unroll
        for (int i = 0; i < N; i++) r2.word[i] = P::r2(i);
        return *this * r2;
    }

    // To the integer itself, below m.
    CUZK_FN Mont from_montgomery() const {
        Mont integer_one = zero();
        integer_one.word[0] = 1;
        return *this * integer_one;
    }

    // Below 2m in, below m out.
    CUZK_FN Mont reduced() const {
        Mont less;
        Carry carry;
        less.word[0] = sub_start(carry, word[0], P::modulus(0));
#pragma unroll
        for (int i = 1; i < N; i++) less.word[i] = sub_chain(carry, word[i], P::modulus(i));
        const bool below = sub_end(carry, 0, 0) != 0;
        Mont out;
#pragma unroll
        for (int i = 0; i < N; i++) out.word[i] = below ? word[i] : less.word[i];
        return out;
    }

  private:
    static constexpr CUZK_FN uint32_t twice_modulus(int i) {
        return P::modulus(i) << 1 | (i ? P::modulus(i - 1) >> 31 : 0);
    }

    // Below a·b/2^(32N) + m.
    CUZK_FN Mont product(const Mont &b) const {
        uint32_t even[N], odd[N];
#pragma unroll
        for (int j = 0; j < N; j += 2) {
            split(even[j], even[j + 1], static_cast<uint64_t>(word[j]) * b.word[0]);
            split(odd[j], odd[j + 1], static_cast<uint64_t>(word[j + 1]) * b.word[0]);
        }
        clear_column(even, odd);
#pragma unroll
        for (int i = 1; i < N; i += 2) {
            step(odd, even, b.word[i]);
            if (i + 1 < N) step(even, odd, b.word[i + 1]);
        }
        return collect(even, odd);
    }

    static CUZK_FN void split(uint32_t &low, uint32_t &high, uint64_t product) {
        low = static_cast<uint32_t>(product);
        high = static_cast<uint32_t>(product >> 32);
    }

    static constexpr bool UNIT = P::modulus(0) == 1;

    // The factor of m that makes column 0 zero.
    static CUZK_FN uint32_t quotient_of(uint32_t column) { return UNIT ? 0u - column : column * P::inverse; }

    // even += quotient·(m's even words), whose carry ends in odd's last word.
    static CUZK_FN void add_even_words(uint32_t (&even)[N], uint32_t (&odd)[N], uint32_t quotient) {
        Carry carry;
        if constexpr (UNIT) {
            even[0] = add_start(carry, even[0], quotient);
            even[1] = add_chain(carry, even[1], 0);
        } else {
            mad_start(carry, even[0], even[1], quotient, P::modulus(0), even[0], even[1]);
        }
#pragma unroll
        for (int j = 2; j < N; j += 2) {
            mad_chain(carry, even[j], even[j + 1], quotient, P::modulus(j), even[j], even[j + 1]);
        }
        odd[N - 1] = add_end(carry, odd[N - 1], 0);
    }

    // Adds the multiple of m that makes column 0 of even + 2^32·odd zero. Which words come first matters to ptxas: a G1 sum of
    // 63M points took 23.3 ms with the even ones and 23.5 ms with the odd ones first, a transform of 2^24 4.28 and 4.26 ms (one
    // H200, 2026-11-29).
    static CUZK_FN void clear_column(uint32_t (&even)[N], uint32_t (&odd)[N]) {
        const uint32_t quotient = quotient_of(even[0]);
        if constexpr (!UNIT) add_even_words(even, odd, quotient);
        Carry carry;
        mad_start(carry, odd[0], odd[1], quotient, P::modulus(1), odd[0], odd[1]);
#pragma unroll
        for (int j = 2; j < N - 2; j += 2) {
            mad_chain(carry, odd[j], odd[j + 1], quotient, P::modulus(j + 1), odd[j], odd[j + 1]);
        }
        mad_end(carry, odd[N - 2], odd[N - 1], quotient, P::modulus(N - 1), odd[N - 2], odd[N - 1]);
        if constexpr (UNIT) add_even_words(even, odd, quotient);
    }

    // As `step` with the factor 0.
    static CUZK_FN void reduction_step(uint32_t (&even)[N], uint32_t (&odd)[N]) {
        const uint32_t column = even[0] + odd[1];
        const uint32_t quotient = quotient_of(column);
        Carry carry;
        even[0] = add_start(carry, even[0], odd[1]);
        mad_chain(carry, odd[0], odd[1], quotient, P::modulus(1), odd[2], odd[3]);
#pragma unroll
        for (int j = 2; j < N - 2; j += 2) {
            mad_chain(carry, odd[j], odd[j + 1], quotient, P::modulus(j + 1), odd[j + 2], odd[j + 3]);
        }
        mad_end(carry, odd[N - 2], odd[N - 1], quotient, P::modulus(N - 1), 0, 0);
        add_even_words(even, odd, quotient);
    }

    // The rows' value over 2^32. N is even, so after the last step `odd` holds column 0, which is clear.
    static CUZK_FN Mont collect(const uint32_t (&even)[N], const uint32_t (&odd)[N]) {
        Mont out;
        Carry carry;
        out.word[0] = add_start(carry, even[0], odd[1]);
#pragma unroll
        for (int j = 1; j < N - 1; j++) out.word[j] = add_chain(carry, even[j], odd[j + 1]);
        out.word[N - 1] = add_end(carry, even[N - 1], 0);
        return out;
    }

    // Divides `even_before` + 2^32·`odd_before` by 2^32, which leaves the rows with their roles swapped (so the names
    // here are those after it), and adds a·factor and the multiple of m that clears column 0.
    CUZK_FN void step(uint32_t (&even)[N], uint32_t (&odd)[N], uint32_t factor) const {
        Carry carry;
        even[0] = add_start(carry, even[0], odd[1]);
#pragma unroll
        for (int j = 0; j < N - 2; j += 2) {
            mad_chain(carry, odd[j], odd[j + 1], word[j + 1], factor, odd[j + 2], odd[j + 3]);
        }
        mad_end(carry, odd[N - 2], odd[N - 1], word[N - 1], factor, 0, 0);
        mad_start(carry, even[0], even[1], word[0], factor, even[0], even[1]);
#pragma unroll
        for (int j = 2; j < N; j += 2) {
            mad_chain(carry, even[j], even[j + 1], word[j], factor, even[j], even[j + 1]);
        }
        odd[N - 1] = add_end(carry, odd[N - 1], 0);
        clear_column(even, odd);
    }
};

}  // namespace cuzk
