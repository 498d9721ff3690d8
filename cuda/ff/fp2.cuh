// Fp2 = Fp[u]/(u² + 1), an element c0 + c1·u. Ranges as in Fp.
//
// | operation | in Fp |
// |-----------|-------|
// | a·b | 3 products, 5 additions |
// | a²  | 2 products, 3 additions |
// | 1/a | 1 inverse, 2 products, 2 squares |
#pragma once

#include "fp.cuh"
#include "inverse.cuh"

namespace cuzk {

struct Fp2 {
    Fp c0, c1;

    static CUZK_FN Fp2 zero() { return {Fp::zero(), Fp::zero()}; }
    static CUZK_FN Fp2 one() { return {Fp::one(), Fp::zero()}; }
    CUZK_FN bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    CUZK_FN bool operator==(const Fp2 &b) const { return c0 == b.c0 && c1 == b.c1; }
    CUZK_FN Fp2 operator+(const Fp2 &b) const { return {c0 + b.c0, c1 + b.c1}; }
    CUZK_FN Fp2 operator-(const Fp2 &b) const { return {c0 - b.c0, c1 - b.c1}; }
    CUZK_FN Fp2 operator-() const { return {-c0, -c1}; }
    CUZK_FN Fp2 doubled() const { return {c0.doubled(), c1.doubled()}; }
    CUZK_FN Fp2 negated_if(bool negative) const { return {c0.negated_if(negative), c1.negated_if(negative)}; }

    CUZK_FN Fp2 operator*(const Fp2 &b) const {
        const Fp low = c0 * b.c0, high = c1 * b.c1;
        return {low - high, (c0 + c1) * (b.c0 + b.c1) - low - high};
    }

    static CUZK_FN Fp2 difference_of_products(const Fp2 &a, const Fp2 &b, const Fp2 &c, const Fp2 &d) {
        return a * b - c * d;
    }

    CUZK_FN Fp2 squared() const { return {(c0 + c1) * (c0 - c1), (c0 * c1).doubled()}; }
};

// With 1/0 = 0.
CUZK_FN Fp2 inverse_of(const Fp2 &a) {
    const Fp inverse_norm = inverse_of(a.c0.squared() + a.c1.squared());
    return {a.c0 * inverse_norm, -(a.c1 * inverse_norm)};
}

}  // namespace cuzk
