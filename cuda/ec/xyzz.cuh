// Points of y² = x³ + b over F (BLS12-381's G1 over Fp, G2 over Fp2), neither b nor a subgroup being looked at.
//
// Formulas: madd-2008-s, add-2008-s, dbl-2008-s-1 and mdbl-2008-s-1 of the Explicit-Formulas Database, "XYZZ coordinates".
//
// | operation | products and squares in F |
// |-----------|---------------------------|
// | XYZZ += affine | 8 + 2 |
// | XYZZ += XYZZ | 12 + 2 |
// | 2·XYZZ | 6 + 3 (a = 0) |
#pragma once

#include "../ff/fp2.cuh"

namespace cuzk {

// Infinity is (0, 0), which is on neither curve.
template <class F>
struct Affine {
    F x, y;

    static CUZK_FN Affine infinity() { return {F::zero(), F::zero()}; }
    CUZK_FN bool is_infinity() const { return x.is_zero() && y.is_zero(); }
};

// x = X/ZZ, y = Y/ZZZ with ZZ³ = ZZZ²; infinity has ZZ = 0.
template <class F>
struct Xyzz {
    F x, y, zz, zzz;

    static CUZK_FN Xyzz infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
    static CUZK_FN Xyzz of(const Affine<F> &point) {
        if (point.is_infinity()) return infinity();
        return {point.x, point.y, F::one(), F::one()};
    }
    CUZK_FN bool is_infinity() const { return zz.is_zero(); }

    CUZK_FN void add(const Affine<F> &b) {
        if (b.is_infinity()) return;
        if (is_infinity()) {
            *this = of(b);
            return;
        }
        const F p = b.x * zz - x;
        const F r = b.y * zzz - y;
        if (p.is_zero()) {
            if (r.is_zero()) {
                // A copy, lest b itself have to lie in memory for the call.
                const Affine<F> copy = b;
                *this = twice(copy);
            } else {
                *this = infinity();
            }
            return;
        }
        finish(p, r, x, y);
    }

    CUZK_FN void add(const Xyzz &b) {
        if (b.is_infinity()) return;
        if (is_infinity()) {
            *this = b;
            return;
        }
        const F u = x * b.zz, s = y * b.zzz;
        const F p = b.x * zz - u;
        const F r = b.y * zzz - s;
        if (p.is_zero()) {
            if (r.is_zero()) {
                double_in_place();
            } else {
                *this = infinity();
            }
            return;
        }
        zz = zz * b.zz;
        zzz = zzz * b.zzz;
        finish(p, r, u, s);
    }

    // Called, not inlined, as it is rare.
    CUZK_CALL void double_in_place() {
        // No point of the curves has y = 0, and infinity has ZZ = 0, which stays so.
        const F u = y.doubled(), v = u.squared(), w = u * v, s = x * v, square = x.squared();
        const F m = square.doubled() + square;
        x = m.squared() - s.doubled();
        y = F::difference_of_products(m, s - x, w, y);
        zz = v * zz;
        zzz = w * zzz;
    }

  private:
    // From P = U₂ − U₁ ≠ 0, R = S₂ − S₁, U₁ and S₁, with ZZ and ZZZ the products of the operands'.
    CUZK_FN void finish(const F &p, const F &r, const F &u, const F &s) {
        const F pp = p.squared(), ppp = p * pp, q = u * pp;
        zz = zz * pp;
        zzz = zzz * ppp;
        // s may be y, which the last line alone overwrites.
        x = r.squared() - ppp - q.doubled();
        y = F::difference_of_products(r, q - x, s, ppp);
    }

    // Rare, so it must not cost registers where it is called.
    static CUZK_CALL Xyzz twice(const Affine<F> &point) {
        Xyzz sum = of(point);
        sum.double_in_place();
        return sum;
    }
};

using G1Affine = Affine<Fp>;
using G2Affine = Affine<Fp2>;
using G1 = Xyzz<Fp>;
using G2 = Xyzz<Fp2>;

}  // namespace cuzk
