// The arithmetic of `cuda/` on the host, as C functions for tests: see conformance/device-host. No part of the product.
//
// Nothing is checked here: lengths, ranges and alignment are the caller's duty.
#include "../msm/fixed_base.cuh"
#include "../msm/msm.cuh"
#include "../ntt/ntt.cuh"
#include "../r1cs/r1cs.cuh"

using namespace cuzk;

namespace {

// As `Operation` of conformance/device-host/src/lib.rs.
enum class Operation : uint32_t { Add, Subtract, Negate, NegateUnlessZero, Double, Multiply, Square, Equal };

template <class F>
F field(Operation operation, const F &a, const F &b) {
    switch (operation) {
        case Operation::Add: return a + b;
        case Operation::Subtract: return a - b;
        case Operation::Negate: return -a;
        case Operation::NegateUnlessZero: return a.negated_if(!b.is_zero());
        case Operation::Double: return a.doubled();
        case Operation::Multiply: return a * b;
        case Operation::Square: return a.squared();
        case Operation::Equal: return a == b ? F::one() : F::zero();
    }
    return F::zero();
}

// As `LazyOperation` of conformance/device-host/src/lib.rs.
enum class LazyOperation : uint32_t { Add, Subtract, Multiply, Reduce };

Fr lazy(LazyOperation operation, const Fr &a, const Fr &b) {
    switch (operation) {
        case LazyOperation::Add: return a.plus_lazy(b);
        case LazyOperation::Subtract: return a.minus_lazy(b);
        case LazyOperation::Multiply: return a.times_lazy(b);
        case LazyOperation::Reduce: return a.reduced();
    }
    return Fr::zero();
}

// Σ sᵢ·Pᵢ, with `buckets` for 2^(bits − 1) sums, as the kernels compute it but one window after the other, highest first.
template <class F>
Xyzz<F> msm(Xyzz<F> *buckets, const Affine<F> *bases, const Fr *scalars, uint32_t n, const Windows &windows) {
    const uint32_t n_buckets = 1u << (windows.bits - 1);
    Xyzz<F> sum = Xyzz<F>::infinity(), ones = Xyzz<F>::infinity();
    for (uint32_t window = windows.n; window-- > 0;) {
        for (uint32_t k = 0; k < n_buckets; k++) buckets[k] = Xyzz<F>::infinity();
        for (uint32_t i = 0; i < n; i++) {
            if (scalars[i].is_zero() || scalars[i] == Fr::one()) continue;
            Digits digits(magnitude_of(scalars[i]), windows);
            int32_t digit = 0;
            for (uint32_t j = 0; j <= window; j++) digit = digits.next(windows.bits, j + 1 == windows.n);
            if (digit == 0) continue;
            Affine<F> base = bases[i];
            base.y = base.y.negated_if(digit < 0);
            buckets[(digit < 0 ? -digit : digit) - 1].add(base);
        }
        for (uint32_t i = 0; i < windows.bits; i++) sum.double_in_place();
        // Σ (k + 1)·bucketₖ: bucketₖ is in `running` k + 1 times.
        Xyzz<F> running = Xyzz<F>::infinity();
        for (uint32_t k = n_buckets; k-- > 0;) {
            running.add(buckets[k]);
            sum.add(running);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (scalars[i] == Fr::one()) ones.add(bases[i]);
    }
    sum.add(ones);
    return sum;
}

// A pass over all its tiles, a block each, with 2·tile_elements halves in `tile`.
template <bool UP>
void ntt_pass(Fr *values, TileMemory::Half *halves, const Fr *table, const Pass &pass, uint32_t n_threads) {
    const uint32_t rows = 1u << pass.levels, columns = 1u << pass.log2_columns;
    const bool last = UP ? pass.first_level + pass.levels == pass.log2_n : pass.first_level == 0;
    TileMemory memory = {halves, halves + pass.tile_elements()};
    for (uint32_t number = 0; number < 1u << (pass.log2_n - pass.levels - pass.log2_columns); number++) {
        const Tile tile = {pass, number};
        for (uint32_t i = 0; i < rows * columns; i++) {
            memory.set(i, read(values + tile.element(i / columns, i % columns)));
        }
        // Between two barriers threads may run in any order: here the last comes first.
        for (uint32_t done = 0; done < pass.levels; done += ROUND_LEVELS) {
            for (uint32_t thread = n_threads; thread-- > 0;) {
                round_of_tile<UP>(memory, tile, table, done, thread, n_threads);
            }
        }
        for (uint32_t i = 0; i < rows * columns; i++) {
            const Fr value = memory.get(i);
            values[tile.element(i / columns, i % columns)] = last ? value.reduced() : value;
        }
    }
}

}  // namespace

extern "C" {

#define CUZK_FIELD(NAME, F)                                                                                      \
    void cuzk_host_##NAME(F *out, uint32_t operation, const F *a, const F *b) {                                  \
        *out = field(static_cast<Operation>(operation), *a, *b);                                                 \
    }                                                                                                            \
    void cuzk_host_##NAME##_difference_of_products(F *out, const F *a, const F *b, const F *c, const F *d) {     \
        *out = F::difference_of_products(*a, *b, *c, *d);                                                        \
    }                                                                                                            \
    void cuzk_host_##NAME##_inverse(F *value) { *value = inverse_of(*value); }
CUZK_FIELD(fp, Fp)
CUZK_FIELD(fp2, Fp2)
CUZK_FIELD(fr, Fr)
#undef CUZK_FIELD

void cuzk_host_fr_lazy(Fr *out, uint32_t operation, const Fr *a, const Fr *b) {
    *out = lazy(static_cast<LazyOperation>(operation), *a, *b);
}

#define CUZK_MONTGOMERY(NAME, F)                                                                                 \
    void cuzk_host_##NAME##_to_montgomery(F *value) { *value = value->to_montgomery(); }                         \
    void cuzk_host_##NAME##_from_montgomery(F *value) { *value = value->from_montgomery(); }
CUZK_MONTGOMERY(fp, Fp)
CUZK_MONTGOMERY(fr, Fr)
#undef CUZK_MONTGOMERY

#define CUZK_CURVE(NAME, F)                                                                                      \
    void cuzk_host_##NAME##_of(Xyzz<F> *out, const Affine<F> *point) { *out = Xyzz<F>::of(*point); }             \
    void cuzk_host_##NAME##_add_affine(Xyzz<F> *sum, const Affine<F> *b) { sum->add(*b); }                       \
    void cuzk_host_##NAME##_add(Xyzz<F> *sum, const Xyzz<F> *b) { sum->add(*b); }                                \
    void cuzk_host_##NAME##_double(Xyzz<F> *point) { point->double_in_place(); }                                 \
    void cuzk_host_##NAME##_encode(uint32_t *out, const Affine<F> *point) { encode(out, *point); }               \
    void cuzk_host_##NAME##_msm(Xyzz<F> *out, Xyzz<F> *buckets, const Affine<F> *bases,                          \
                                const Fr *scalars, uint32_t n, const Windows *windows) {                         \
        *out = msm(buckets, bases, scalars, n, *windows);                                                        \
    }                                                                                                            \
    void cuzk_host_##NAME##_add_groups(Affine<F> *out, Affine<F> *sums, F *products, const Affine<F> *bases,     \
                                       const uint32_t *references, uint32_t n_groups, uint32_t levels,           \
                                       uint32_t n_threads) {                                                     \
        for (uint32_t thread = 0; thread < n_threads && thread < n_groups; thread++) {                           \
            const GroupMemory<F> memory = {sums + thread, products + thread, n_threads};                         \
            Groups<F>{bases, references, memory, levels, thread, n_threads, n_groups}.add(out);                  \
        }                                                                                                        \
    }
CUZK_CURVE(g1, Fp)
CUZK_CURVE(g2, Fp2)
#undef CUZK_CURVE

// The references of a scalar, one a window.
void cuzk_host_references(uint32_t *out, const Fr *scalar, const Windows *windows) {
    references_of(out, *scalar, *windows);
}

// All digits of a scalar, lowest window first.
void cuzk_host_digits(int32_t *out, const Fr *scalar, const Windows *windows) {
    Digits digits(magnitude_of(*scalar), *windows);
    for (uint32_t i = 0; i < windows->n; i++) out[i] = digits.next(windows->bits, i + 1 == windows->n);
}

void cuzk_host_ntt_down(Fr *values, TileMemory::Half *tile, const Fr *table, const Pass *pass, uint32_t n_threads) {
    ntt_pass<false>(values, tile, table, *pass, n_threads);
}

void cuzk_host_ntt_up(Fr *values, TileMemory::Half *tile, const Fr *table, const Pass *pass, uint32_t n_threads) {
    ntt_pass<true>(values, tile, table, *pass, n_threads);
}

void cuzk_host_power(Fr *out, const Fr *base, uint64_t exponent) { *out = power(*base, exponent); }

void cuzk_host_factor(Fr *out, const Fr *w, const uint32_t *imports, const Placement *placement,
                      const uint64_t *terms, const uint32_t *ends, const Fr *coefficients, uint32_t list,
                      uint32_t base) {
    const Shapes shapes = {terms, ends, coefficients};
    *out = factor(w, imports, *placement, shapes, list, base);
}

}  // extern "C"
