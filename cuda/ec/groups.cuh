// Sums of groups of neighbouring points by affine additions, whose divisions a thread shares among all its groups.
//
// An addition λ = (y₂ − y₁)/(x₂ − x₁), x₃ = λ² − x₁ − x₂, y₃ = λ(x₁ − x₃) − y₁ takes a division, 2 products and a square, and
// shared among n additions a division takes 3 products and the nth part of an inverse: the product of all divisors is inverted,
// and what that gives for each is found on the way back. So 5 products and a square in F, where XYZZ takes 8 and 2.
//
// A group is 2^levels points, added in pairs level by level.
#pragma once

#include <cstddef>

#include "xyzz.cuh"

namespace cuzk {

// Set in a reference to a point that is to be negated.
constexpr uint32_t NEGATE = 0x80000000u;
// Instead of a reference where there is no point.
constexpr uint32_t NO_POINT = ~0u;

// What the sum of two points is divided by: x₂ − x₁, or 2y where they are the same. Zero where there is nothing to divide: one is
// infinity, or they are opposite.
template <class F>
CUZK_FN F divisor(const Affine<F> &a, const Affine<F> &b) {
    if (a.is_infinity() || b.is_infinity()) return F::zero();
    const F difference = b.x - a.x;
    if (!difference.is_zero()) return difference;
    // No point of the curves has y = 0.
    return a.y == b.y ? a.y.doubled() : F::zero();
}

// 3x². Rare, so it must not cost registers or much code where it is called.
template <class F>
CUZK_CALL F slope_at(const F &x) {
    const F square = x.squared();
    return square.doubled() + square;
}

// The sum of two points, by the inverse of their divisor that is not zero.
template <class F>
CUZK_FN Affine<F> sum_by_inverse(const Affine<F> &a, const Affine<F> &b, const F &inverse) {
    F numerator = b.y - a.y;
    if (a.x == b.x) {
        // A copy, lest a itself have to lie in memory for the call.
        const F copy = a.x;
        numerator = slope_at(copy);
    }
    const F slope = numerator * inverse;
    const F x = slope.squared() - a.x - b.x;
    return {x, slope * (a.x - x) - a.y};
}

// One thread's memory for its groups: `sums` and `products` of its k-th group are 2^(levels − 1) each, from k·2^(levels − 1) on,
// `stride` elements apart, so that neighbouring threads' lie side by side.
template <class F>
struct GroupMemory {
    Affine<F> *sums;
    F *products;
    uint32_t stride;
};

// The groups of one thread: numbers first, first + step, … below `end`. Group g is the points of references g·2^levels on.
template <class F>
struct Groups {
    const Affine<F> *bases;
    const uint32_t *references;
    GroupMemory<F> memory;
    uint32_t levels, first, step, end;

    // out[g] = the sum of group g, for all of them. 2^levels − 1 additions a group and an inverse a level.
    CUZK_FN void add(Affine<F> *out) const {
        for (uint32_t level = 0; level < levels; level++) {
            const uint32_t log2_pairs = levels - 1 - level;
            const uint32_t n_pairs = ((end - first + step - 1) / step) << log2_pairs;
            F product = F::one();
            for (uint32_t pair = 0; pair < n_pairs; pair++) {
                const F factor = divisor_of(level, pair);
                if (factor.is_zero()) continue;
                memory.products[static_cast<std::size_t>(pair) * memory.stride] = product;
                product = product * factor;
            }
            F inverse = inverse_of(product);
            for (uint32_t pair = n_pairs; pair-- > 0;) {
                const Affine<F> a = point(level, 2 * pair), b = point(level, 2 * pair + 1);
                const F factor = divisor(a, b);
                Affine<F> sum = Affine<F>::infinity();
                if (!factor.is_zero()) {
                    sum = sum_by_inverse(a, b, inverse * memory.products[static_cast<std::size_t>(pair) * memory.stride]);
                    inverse = inverse * factor;
                } else if (a.is_infinity()) {
                    sum = b;
                } else if (b.is_infinity()) {
                    sum = a;
                }
                if (log2_pairs == 0) {
                    out[first + pair * step] = sum;
                } else {
                    *place(level + 1, pair) = sum;
                }
            }
        }
    }

  private:
    // Where number `index` of all groups' sums after `level` ≥ 1 levels is: where the first of its pair was.
    CUZK_FN Affine<F> *place(uint32_t level, uint32_t index) const {
        return memory.sums + static_cast<std::size_t>(index << (level - 1)) * memory.stride;
    }

    CUZK_FN uint32_t reference(uint32_t index) const {
        const uint32_t group = first + (index >> levels) * step;
        return references[(static_cast<std::size_t>(group) << levels) + (index & ((1u << levels) - 1))];
    }

    CUZK_FN Affine<F> point(uint32_t level, uint32_t index) const {
        const uint32_t number = level == 0 ? reference(index) : 0;
        if (number == NO_POINT) return Affine<F>::infinity();
        const Affine<F> *from = level == 0 ? bases + (number & ~NEGATE) : place(level, index);
        return {from->x, from->y.negated_if(number & NEGATE)};
    }

    CUZK_FN F x_of(uint32_t level, uint32_t index) const {
        const uint32_t number = level == 0 ? reference(index) : 0;
        if (number == NO_POINT) return F::zero();
        return (level == 0 ? bases + (number & ~NEGATE) : place(level, index))->x;
    }

    // The divisor of a pair, mostly without a look at y.
    CUZK_FN F divisor_of(uint32_t level, uint32_t pair) const {
        const F a = x_of(level, 2 * pair), b = x_of(level, 2 * pair + 1);
        const F difference = b - a;
        if (!a.is_zero() && !b.is_zero() && !difference.is_zero()) return difference;
        return divisor(point(level, 2 * pair), point(level, 2 * pair + 1));
    }
};

}  // namespace cuzk
