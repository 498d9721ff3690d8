// Multiples of one point by many scalars: what comes before and after the sums of groups (cuzk_msm_add_groups of msm.cu). See
// fixed_base.cuh for the method, and crates/gpu/src/fixed_base.rs for the order of launches.
#include "fixed_base.cuh"

#include "../kernel.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t BLOCK = 256;

}  // namespace

extern "C" {

// windows.n references for each of n scalars.
__global__ void __launch_bounds__(BLOCK)
    cuzk_fixed_references(uint32_t *references, const Fr *scalars, uint32_t n, Windows windows) {
    for (uint32_t i = thread_index(); i < n; i += n_threads()) {
        references_of(references + static_cast<size_t>(i) * windows.n, scalars[i], windows);
    }
}

#define CUZK_ENCODE(NAME, F)                                                                                     \
    /* n points as parameter files store them. */                                                                \
    __global__ void __launch_bounds__(BLOCK)                                                                     \
        cuzk_fixed_encode_##NAME(uint32_t *out, const Affine<F> *points, uint32_t n) {                           \
        constexpr size_t WORDS = sizeof(Affine<F>) / 4;                                                          \
        for (uint32_t i = thread_index(); i < n; i += n_threads()) encode(out + i * WORDS, points[i]);           \
    }
CUZK_ENCODE(g1, Fp)
CUZK_ENCODE(g2, Fp2)
#undef CUZK_ENCODE

}  // extern "C"
